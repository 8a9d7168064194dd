//! Methods of [`Model`] that prepare programs for firmware and applications. [`pte_deploy`] writes the results.

use std::io;
use std::path::Path;

use crate::detected::layout;
use crate::facade::inspection::program_origin;
use crate::facade::model::{Model, ModelFile};
use pte_deploy::embed::{EmbeddedFile, MethodFacts, ProgramFacts};
use pte_memory::ProgramNeeds;
use pte_memory::abi::Abi;
use pte_model::data::{Blob, Origin};
use pte_model::diagnostics::{Code, Report};
use pte_model::error::Error;
use pte_model::format::{Format, container};
use pte_model::program::Program;
use pte_model::reader;

pte_model::options! {
    /// Options of [`Model::embedded_files`].
    ///
    /// ```
    /// assert!(!pte_emit::deploy::EmbeddedFileOptions::default().facts);
    /// ```
    #[derive(Debug, Clone, Default)]
    pub struct EmbeddedFileOptions {
        /// Collect the figures of programs: memory, inputs and outputs, and a hash of the file, which is read as a
        /// whole.
        pub facts: bool,
        /// The program is loaded with `.ptd` files, as of
        /// [`MemoryOptions::external`](crate::memory::MemoryOptions::external).
        pub external: bool,
    }
}

impl Model {
    /// Returns the files of this source as arrays for [`Embedding`](crate::deploy::Embedding): the binary file, or the
    /// program that YAML assembles to with its `.ptd` files. Symbols are made of the names of the files.
    ///
    /// The result consists of [`EmbeddedFile`], [`ProgramFacts`], [`MethodFacts`],
    /// [`InterfaceFacts`](crate::deploy::InterfaceFacts), [`TensorFacts`](crate::deploy::TensorFacts) and
    /// [`TensorQuantization`](crate::deploy::TensorQuantization).
    ///
    /// The alignment of an array is the largest that the file was written with: of its segments, of its constants, and
    /// of entries of its named data.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::deploy::EmbeddedFileOptions;
    ///
    /// let options = EmbeddedFileOptions::default().facts(true);
    /// let add = Model::open("examples/add.yaml")?.embedded_files(&options)?.remove(0);
    /// assert_eq!((add.symbol.as_str(), add.alignment), ("add_pte", 16));
    /// let forward = &add.facts.as_ref().unwrap().methods[0];
    /// let [bits64, bits32] = &forward.memory;
    /// assert_eq!((bits64.planned, bits64.method_allocator.bytes), (48, 384));
    /// assert!(bits32.method_allocator.bytes < 384);
    /// assert_eq!(forward.inputs[0].tensor.as_ref().unwrap().sizes, [2, 2]);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A file cannot be read, is malformed, or is none of `.pte`, `.ptd` and `.bpte`; the YAML is invalid.
    pub fn embedded_files(&self, options: &EmbeddedFileOptions) -> Result<Vec<EmbeddedFile>, Error> {
        let files = self.files()?;
        let is_alone = files.len() == 1;
        let external = options.external || !is_alone;
        let assembled = if self.is_text() { self.assembly()?.name.as_deref() } else { None };
        let mut out: Vec<EmbeddedFile> = Vec::new();
        for ModelFile { name, format, origin } in files {
            let error = |error: io::Error| self.source().unreadable(&error);
            let format = match (self.is_text(), origin.format().map_err(error)?) {
                // A file with overrides of its YAML may have no format.
                (true, found) => found.or(format),
                (false, found) => found,
            };
            let content = whole(&origin).map_err(error)?;
            let (requirements, is_program) = match format {
                Some(Format::Program | Format::BundledProgram) => (program_alignments(&origin).map_err(error)?, true),
                Some(Format::FlatTensor) => (data_alignments(&origin).map_err(error)?, false),
                Some(Format::Safetensors) | None => return Err(self.not_embeddable()),
            };
            let name = match assembled.filter(|_| out.is_empty()) {
                Some(assembled) if is_program => format!("{assembled}.{}", container::PROGRAM.extension),
                Some(assembled) => format!("{assembled}.{}", container::FLAT_TENSOR.extension),
                None => file_name(&name),
            };
            let mut file = EmbeddedFile::new(&name, content, &requirements);
            file.is_companion = !out.is_empty();
            if options.facts && is_program {
                file.facts = Some(self.program_facts(&file.content, external)?);
            }
            out.push(file);
        }
        match out.is_empty() {
            true => Err(self.not_embeddable()),
            false => Ok(out),
        }
    }

    /// Returns the content of a binary file as an array, whatever it is.
    ///
    /// ```
    /// let file = pte_emit::Model::open_binary("examples/add.yaml").embedded_bytes()?;
    /// assert_eq!((file.symbol.as_str(), file.alignment), ("add_yaml", 16));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read, or the source is YAML.
    pub fn embedded_bytes(&self) -> Result<EmbeddedFile, Error> {
        let Some(origin) = self.origin() else { return Err(self.not_embeddable()) };
        let content = whole(origin).map_err(|error| self.source().unreadable(&error))?;
        Ok(EmbeddedFile::new(&file_name(self.name()), content, &[]))
    }

    fn not_embeddable(&self) -> Error {
        let message = "expected a .pte, .ptd or .bpte file, or YAML with methods or data";
        let help = "`embed --any` embeds any file";
        Error::new(Report::new(self.name(), "", vec![Code::UnexpectedInput.whole(message.to_owned()).help(help)]))
    }

    /// Checks the number of figures before there is memory for them: many methods can share a list.
    fn check_figures(&self, program: &Program, needs: &ProgramNeeds) -> Result<(), Error> {
        let ports = program.plans().iter().flat_map(|plan| [&plan.inputs, &plan.outputs]);
        let ports = ports.map(|list| list.as_ref().map_or(0, Vec::len));
        let pools = needs.methods(Abi::default()).iter().map(|method| method.pool_sizes().len());
        let count = ports.chain(pools).fold(0, usize::saturating_add);
        if count <= MAX_FIGURES {
            return Ok(());
        }
        let message = format!(
            "the program has {count} inputs, outputs and pools of memory; the figures of at most {MAX_FIGURES} are written"
        );
        Err(Error::input(Code::LimitExceeded, self.name(), message))
    }

    fn program_facts(&self, content: &Blob, external: bool) -> Result<ProgramFacts, Error> {
        let digest = content.digest().map_err(|error| self.source().unreadable(&error))?;
        let (inspected, needs) = self.needs(content.len(), external)?;
        self.check_figures(&inspected.program, &needs)?;
        let subject = inspected.view();
        let [bits64, bits32] = needs.memory.map(|memory| memory.methods);
        let methods = inspected.program.plans().iter().zip(bits64.into_iter().zip(bits32)).enumerate();
        let methods = methods.map(|(method, (plan, (bits64, bits32)))| {
            let names = subject.values.get(method).map_or(&[][..], |values| &values.names);
            let name = |value: usize| names.get(value).cloned().flatten().unwrap_or_default();
            MethodFacts::new(plan, [bits64, bits32], subject.quantizations(method).as_ref(), &name)
        });
        Ok(ProgramFacts::new(digest, needs.kernels.operators.len(), methods.collect()))
    }
}

/// Most inputs, outputs and pools of a program, each of which has macros.
const MAX_FIGURES: usize = 1 << 14;

fn whole(origin: &Origin) -> io::Result<Blob> {
    let len = origin.len()?;
    origin.blob(0, len, len).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Returns the name of a file without its folder.
fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Returns the alignments in a program, or in that of a `.bpte`, as far as its offsets show them.
fn program_alignments(origin: &Origin) -> io::Result<Vec<u64>> {
    let Some(program) = program_origin(origin)? else { return Ok(Vec::new()) };
    let mut found = reader::program::read(&program)?;
    let options = layout::placement(&mut found)?.map(|placement| placement.alignments());
    let named = found.program.named_data.iter().flatten().map(|entry| entry.alignment);
    let has_segments = found.segments.iter().any(|(_, size)| *size > 0);
    Ok(named.chain(options.into_iter().flatten().filter(|_| has_segments)).collect())
}

/// Returns the alignments in a `.ptd`.
fn data_alignments(origin: &Origin) -> io::Result<Vec<u64>> {
    let found = layout::flat_tensor(origin)?;
    let entries = found.program.external_data.iter().map(|entry| entry.alignment);
    Ok(entries.chain([found.options.segment_alignment]).collect())
}
