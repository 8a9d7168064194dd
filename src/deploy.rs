//! Methods of [`Model`] that prepare programs for firmware and applications. [`pte_deploy`] writes the results.

use std::io;
use std::path::Path;

use crate::inspection::{Inspected, MemoryOptions};
use crate::model::{Model, ModelFile};
use crate::recover::layout;
use pte_analysis::kernels::ProgramKernels;
use pte_deploy::embed::{Bytes, EmbeddedFile, MethodFacts, ProgramFacts};
use pte_inspect::allocator::Abi;
use pte_inspect::memory::{MethodFootprint, ProgramMemory};
use pte_model::data::{Blob, Origin};
use pte_model::diagnostics::{Code, Report};
use pte_model::error::Error;
use pte_model::format::{Format, container};
use pte_model::program::Program;
use pte_model::reader;

/// Options of [`Model::embedded_files`].
///
/// ```
/// assert!(!pte_emit::EmbeddedFileOptions::default().facts);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct EmbeddedFileOptions {
    /// Collect the figures of programs: memory, inputs and outputs, and a hash of the file, which is read as a whole.
    pub facts: bool,
    /// The program is loaded with `.ptd` files, as of [`MemoryOptions::external`](crate::MemoryOptions::external).
    pub external: bool,
}

impl Model {
    /// Returns the files of this source as arrays for [`Embedding`](crate::Embedding): the binary file, or the program that YAML assembles to
    /// with its `.ptd` files. Symbols are made of the names of the files.
    ///
    /// The result consists of [`EmbeddedFile`], [`ProgramFacts`], [`MethodFacts`], [`InterfaceFacts`](crate::InterfaceFacts),
    /// [`TensorFacts`](crate::TensorFacts) and [`TensorQuantization`](crate::TensorQuantization).
    ///
    /// The alignment of an array is the largest that the file was written with: of its segments, of its constants, and of entries of its
    /// named data.
    ///
    /// ```
    /// use pte_emit::{EmbeddedFileOptions, Model};
    ///
    /// let mut options = EmbeddedFileOptions::default();
    /// options.facts = true;
    /// let add = Model::open("examples/add.yaml")?.embedded_files(&options)?.remove(0);
    /// assert_eq!((add.symbol.as_str(), add.alignment), ("add_pte", 16));
    /// let forward = &add.facts.as_ref().unwrap().methods[0];
    /// assert_eq!((&forward.pools[..], forward.method_allocator.bits64), (&[48][..], 384));
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
            let error = |error: io::Error| Error::io(self.name(), "", &error);
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
    fn check_figures(&self, program: &Program, memory: &ProgramMemory) -> Result<(), Error> {
        let ports = program.plans().iter().flat_map(|plan| [&plan.inputs, &plan.outputs]);
        let ports = ports.map(|list| list.as_ref().map_or(0, Vec::len));
        let pools = memory.methods.iter().map(pool_count);
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
        let inspected = Inspected::of(self)?;
        let subject = inspected.view();
        let digest = content.digest().map_err(|error| Error::io(self.name(), "", &error))?;
        let [bits64, bits32] = [Abi::Bits64, Abi::Arm32]
            .map(|abi| self.memory(&MemoryOptions { abi, external, ..MemoryOptions::default() }));
        let (bits64, bits32) = (bits64?, bits32?);
        self.check_figures(subject.program, &bits64)?;
        let methods = subject.program.plans().iter().enumerate().zip(bits64.methods.iter().zip(&bits32.methods));
        let methods = methods.map(|((method, plan), (wide, narrow))| {
            let names = subject.values.get(method).map_or(&[][..], |values| &values.names);
            let name = |value: usize| names.get(value).cloned().flatten().unwrap_or_default();
            let mut facts = MethodFacts::new(plan, pools(wide), name);
            let [bits64, bits32] = [wide, narrow].map(|method| method.method_allocator.bytes);
            facts.method_allocator = Bytes { bits64, bits32 };
            facts.is_lower_bound = wide.method_allocator.at_least;
            let [bits64, bits32] = [wide, narrow].map(|method| method.temporary_allocator.bytes);
            facts.temporary_allocator = Bytes { bits64, bits32 };
            facts.is_temporary_lower_bound = wide.temporary_allocator.at_least;
            facts
        });
        Ok(ProgramFacts::new(digest, ProgramKernels::of(subject.program).operators.len(), methods.collect()))
    }
}

/// Most inputs, outputs and pools of a program, each of which has macros.
const MAX_FIGURES: usize = 1 << 14;

/// Returns the size in bytes of each pool, from pool 1 on. Empty pools have no row in the footprint.
fn pools(method: &MethodFootprint) -> Vec<u64> {
    let mut sizes = vec![0; pool_count(method)];
    method.pools.iter().for_each(|pool| sizes[pool.pool - 1] = pool.bytes);
    sizes
}

fn pool_count(method: &MethodFootprint) -> usize {
    method.pools.iter().map(|pool| pool.pool).max().unwrap_or(0)
}

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
    let program = match origin.format()? {
        Some(Format::BundledProgram) => reader::bundled_program::read(origin)?.program_origin()?,
        _ => origin.clone(),
    };
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
