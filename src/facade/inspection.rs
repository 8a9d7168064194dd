//! Methods of [`Model`] that answer questions about contents, sizes and memory as plain data; `report` is a page with
//! all answers. They take binary files and YAML, which is assembled first. The answers are computed in
//! [`pte_inspect`].

pub(crate) mod report;
mod report_text;

use std::collections::{HashMap, HashSet};

use crate::assembly::{Assembly, OutputFile};
use crate::facade::model::{Model, ModelFile};
use crate::facade::source::SourceContent;
use crate::facade::source::diagnosis;
use crate::printer;
use pte_check::{CheckOptions, Requirements};
use pte_inspect::delegation::Delegation;
use pte_inspect::file::FileFacts;
use pte_inspect::inspection::{Inspection, KeySummary, TestsSummary};
use pte_inspect::names::owner_names;
use pte_inspect::size::{FileSize, SizeDimension};
use pte_inspect::summary::{Comparison, ProgramSummary, payload_graphs, required_keys};
use pte_memory::allocator::{Abi, RuntimeKind};
use pte_memory::loading::LoadedProgram;
use pte_memory::memory::{ProgramMemory, needs_data_files};
use pte_memory::{ProgramNeeds, Subject};
use pte_model::data::Origin;
use pte_model::diagnostics::{Code, is_io};
use pte_model::error::Error;
use pte_model::format::container::Container;
use pte_model::format::foreign::Diagnosis;
use pte_model::format::{Format, container};
use pte_model::program::MemoryPlan;
use pte_model::program::{ExecutionPlan, Program};
use pte_model::reader;
use pte_payload::memory::Processor;
use pte_releases::Release;

pte_model::options! {
    /// Options of [`Model::memory`].
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::memory::{Abi, MemoryOptions};
    ///
    /// let add = Model::open("examples/add.yaml")?;
    /// let options = MemoryOptions::default().abi(Abi::Arm32);
    /// let needed = add.memory(&options)?;
    /// assert_eq!((needed.abi, needed.processor), (Abi::Arm32, Abi::Arm32.processor()));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    #[derive(Debug, Clone, Default)]
    pub struct MemoryOptions {
        /// Binary interface that the runtime is built for.
        pub abi: Abi,
        /// Assume that the program is loaded with `.ptd` files. This is always assumed if it has tensors in them, or
        /// files of [`Model::with_data_files`]: their metadata count for loaders that read files into RAM.
        pub external: bool,
        /// Processor that executes delegates; `None` is [`Abi::processor`].
        pub processor: Option<Processor>,
    }
}

impl Model {
    /// Computes the memory that the methods of a program need: planned memory over time, the method allocator and the
    /// temporary allocator of the runtime, buffers of the caller, files in RAM, and the totals.
    ///
    /// The result consists of [`ProgramMemory`](crate::memory::ProgramMemory),
    /// [`MethodFootprint`](crate::memory::MethodFootprint), [`MemoryPool`](crate::memory::MemoryPool),
    /// [`MemoryPeak`](crate::memory::MemoryPeak), [`PlannedTensor`](crate::memory::PlannedTensor),
    /// [`MethodAllocator`](crate::memory::MethodAllocator), [`TemporaryAllocator`](crate::memory::TemporaryAllocator),
    /// [`BoundaryBuffers`](crate::memory::BoundaryBuffers), [`BoundaryTensor`](crate::memory::BoundaryTensor),
    /// [`LoadedProgram`](crate::memory::LoadedProgram), [`LoadedMethod`](crate::memory::LoadedMethod) and
    /// [`MemoryTotal`](crate::memory::MemoryTotal). [`MemoryFigure`](crate::memory::MemoryFigure) returns its figures
    /// by name, as [`MemoryAmount`](crate::memory::MemoryAmount).
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::memory::{MemoryFigure, MemoryOptions};
    ///
    /// let needed = Model::open("examples/add.yaml")?.memory(&MemoryOptions::default())?;
    /// let forward = &needed.methods[0];
    /// assert_eq!((forward.planned, forward.method_allocator.bytes), (48, 384));
    /// assert_eq!((forward.temporary_allocator.bytes, forward.inputs.bytes), (200, 0));
    /// assert_eq!(MemoryFigure::Total.of(&needed).bytes, 48 + 384 + 200);
    ///
    /// // Figures that are sums, and files in RAM and the heap of delegates in parts.
    /// let parts = MemoryFigure::Total.parts().iter().filter_map(|part| part.of_method(forward));
    /// assert_eq!(parts.map(|part| part.bytes).sum::<u64>(), forward.total.bytes);
    /// assert_eq!(needed.loaded.parts().iter().map(|(bytes, _)| bytes).sum::<u64>(), needed.loaded.bytes);
    /// assert_eq!(forward.loaded.parts().map(|(bytes, _)| bytes), [0, 0]);
    /// assert!(forward.heap_shares().is_empty());
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// The memory of its delegates is in [`DelegateFootprint`](crate::memory::DelegateFootprint),
    /// [`HeapShare`](crate::memory::HeapShare), [`DelegateMemory`](crate::memory::DelegateMemory),
    /// [`DelegatePart`](crate::memory::DelegatePart) and [`DelegateAccuracy`](crate::memory::DelegateAccuracy), for a
    /// [`Processor`].
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::memory::{DelegateAccuracy, Held, MemoryOptions, MemorySource, Processor};
    ///
    /// let options = MemoryOptions::default().processor(Processor::X86Avx512);
    /// let needed = Model::open("examples/xnnpack_linear.yaml")?.memory(&options)?;
    /// let delegate = needed.methods[0].delegates[0].memory.as_ref().expect("it is counted");
    /// assert_eq!(delegate.accuracy, DelegateAccuracy::Percent(5));
    /// let loaded = delegate.bytes(MemorySource::Heap, &[Held::Load]);
    /// assert!(loaded > 2000 && loaded <= delegate.total());
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read, is malformed or has no program, or the YAML is invalid.
    pub fn memory(&self, options: &MemoryOptions) -> Result<ProgramMemory, Error> {
        let subject = Inspected::of(self)?;
        let mut sizes = self.data_file_sizes()?;
        for path in &self.source().data_files {
            let name = path.display().to_string();
            let frame = reader::flat_tensor::frame(&Origin::File(path.as_path().into()));
            sizes.push(frame.map_err(|error| Error::io(&name, "", &error))?.metadata);
        }
        let loaded = subject.loaded.with_data_files(&sizes, needs_data_files(&subject.program));
        let external = options.external || !self.source().data_files.is_empty();
        let processor = options.processor.unwrap_or(options.abi.processor());
        Ok(ProgramMemory::new(&subject.view(), loaded, RuntimeKind { external, abi: options.abi, processor }))
    }

    /// Reads the program of a file of `bytes` bytes, with what it needs. `external`: it is loaded with `.ptd` files.
    ///
    /// # Errors
    /// The file cannot be read, is malformed or has no program, or the YAML is invalid.
    pub(crate) fn needs(&self, bytes: u64, external: bool) -> Result<(Inspected, ProgramNeeds), Error> {
        let inspected = Inspected::with_program(self)?.ok_or_else(|| {
            Error::input(Code::UnexpectedInput, &self.label(), "expected a program: the YAML has no methods")
        })?;
        let needs = ProgramNeeds::new(&inspected.view(), inspected.loaded, bytes, external);
        Ok((inspected, needs))
    }

    /// Returns the sizes in bytes of the metadata of the `.ptd` files that YAML assembles to.
    fn data_file_sizes(&self) -> Result<Vec<u64>, Error> {
        let SourceContent::Text(_) = &self.source().content else { return Ok(Vec::new()) };
        let size = |file: OutputFile<'_>| Ok(reader::flat_tensor::frame(&file.origin()?)?.metadata);
        let sizes = self.assembly()?.data_files().map(|(_, file)| size(file)).collect::<std::io::Result<Vec<u64>>>();
        sizes.map_err(|error| self.source().unreadable(&error))
    }
}

pte_model::options! {
    /// Options of [`Model::size`].
    ///
    /// ```
    /// use pte_emit::inspect::{SizeDimension, SizeOptions};
    ///
    /// assert_eq!(SizeOptions::default().dimensions, [SizeDimension::Tensor]);
    /// ```
    #[derive(Debug, Clone)]
    pub struct SizeOptions {
        /// Levels of the tree. The first one is directly below the root.
        pub dimensions: Vec<SizeDimension>,
    }
}

impl Default for SizeOptions {
    fn default() -> SizeOptions {
        SizeOptions { dimensions: vec![SizeDimension::Tensor] }
    }
}

impl Model {
    /// Computes a tree of the sizes of all parts of a file, even if it is malformed. Each byte belongs to one leaf.
    /// Returns one tree with the name of its file; for YAML, one per file that it assembles to, named like the source
    /// with the extension of the format.
    ///
    /// The result consists of [`FileSize`](crate::inspect::FileSize) and [`SizeNode`](crate::inspect::SizeNode).
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::inspect::SizeOptions;
    ///
    /// let mut files = Model::open("examples/add.yaml")?.size(&SizeOptions::default())?;
    /// let (name, add) = &mut files[0];
    /// assert!(name.ends_with("add.pte"));
    /// assert_eq!(add.bytes, add.children.iter().map(|child| child.bytes).sum::<u64>());
    /// assert!(add.children.iter().any(|child| child.name == "x (methods.forward.values[0])"));
    /// add.limit(2);
    /// assert!(add.children.len() <= 3);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read or is of an unknown format, or the YAML is invalid.
    pub fn size(&self, options: &SizeOptions) -> Result<Vec<(String, FileSize)>, Error> {
        let files = self.known_files()?;
        let is_named = options.dimensions.contains(&SizeDimension::Tensor);
        let is_bundled = files.first().is_some_and(|file| file.format == Some(Format::BundledProgram));
        let prefix = if is_bundled { "program." } else { "" };
        // Values of a malformed file or of a .ptd have no names.
        let program = Some(self).filter(|_| is_named).and_then(|model| Inspected::of(model).ok());
        let names = program.map_or_else(HashMap::new, |program| owner_names(&program.view(), prefix));
        let measure = |ModelFile { name, format, origin }: ModelFile| {
            let format = format
                .ok_or_else(|| Error::input(Code::UnexpectedInput, &name, "expected a .pte, .ptd or .bpte file"))?;
            let size = FileSize::new(&name, &origin, format, &options.dimensions, &names);
            let size = size.map_err(|error| self.source().unreadable(&error))?;
            Ok((name, size))
        };
        files.into_iter().map(measure).collect()
    }
}

pte_model::options! {
    /// Options of [`Model::inspect`].
    ///
    /// ```
    /// assert!(!pte_emit::inspect::InspectOptions::default().data);
    /// ```
    #[derive(Debug, Clone, Default)]
    pub struct InspectOptions {
        /// Compare all data to find duplicates. By default at most 16 MiB are compared.
        pub data: bool,
        /// Options of the validation for each release, which must have no errors: `.ptd` files, custom operators.
        pub check: CheckOptions,
    }
}

impl Model {
    /// Returns the contents of a file: its header and segments, the methods of its program with inputs, outputs,
    /// operators, delegates and memory, its constants, the keys of a `.ptd`, the tests of a `.bpte`, the releases with
    /// which [`Model::check`] finds no error. Reads only metadata, and the data that [`InspectOptions::data`] allows.
    /// The result has one entry with the name of its file; for YAML, one per file that it assembles to. If a file is
    /// malformed, [`Inspection::errors`] says which parts could not be read.
    ///
    /// The result consists of [`Inspection`](crate::inspect::Inspection), [`FileFacts`](crate::inspect::FileFacts),
    /// [`HeaderFacts`](crate::inspect::HeaderFacts), [`SerializerKind`](crate::inspect::SerializerKind),
    /// [`SegmentFacts`](crate::inspect::SegmentFacts), [`KeySummary`](crate::inspect::KeySummary),
    /// [`TestsSummary`](crate::inspect::TestsSummary), [`ProgramSummary`](crate::inspect::ProgramSummary),
    /// [`NeededRelease`](crate::inspect::NeededRelease), [`ConstantsSummary`](crate::inspect::ConstantsSummary),
    /// [`MethodSummary`](crate::inspect::MethodSummary), [`InterfaceSummary`](crate::inspect::InterfaceSummary),
    /// [`StateSummary`](crate::inspect::StateSummary), [`AllocatorSummary`](crate::inspect::AllocatorSummary),
    /// [`DelegateSummary`](crate::inspect::DelegateSummary), [`DelegateInterface`](crate::inspect::DelegateInterface)
    /// and [`DuplicateData`](crate::inspect::DuplicateData).
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::inspect::InspectOptions;
    ///
    /// let files = Model::open("examples/add.yaml")?.inspect(&InspectOptions::default())?;
    /// let (name, add) = &files[0];
    /// assert!(name.ends_with("add.pte"));
    /// let method = &add.contents.as_ref().unwrap().methods[0];
    /// assert_eq!(method.operators, [("aten::add.out".to_owned(), 1)]);
    /// assert_eq!(method.inputs[0].kind, "float32 [2, 2]");
    /// let json = serde_json::to_value(add).unwrap();
    /// assert_eq!(json["methods"][0]["operators"]["aten::add.out"], 1);
    ///
    /// let files = Model::from_binary("truncated.pte", b"\x30\0\0\0ET12").inspect(&InspectOptions::default())?;
    /// assert_eq!(files[0].1.errors.len(), 1);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read, is empty or of an unknown format, or the YAML is invalid.
    pub fn inspect(&self, options: &InspectOptions) -> Result<Vec<(String, Inspection)>, Error> {
        let compare = if options.data { Comparison::All } else { Comparison::Little };
        let names = if self.is_text() { Names::of(self.assembly()?) } else { Names::default() };
        if let Some(origin) = self.origin()
            && origin.len().map_err(|error| self.source().unreadable(&error))? == 0
        {
            return Err(Error::input(Code::InvalidFile, &self.label(), reader::program::EMPTY));
        }
        let inspect = |ModelFile { name, format, origin }: ModelFile| {
            let releases = |program: &Program| self.releases(program, &options.check).ok();
            let container = format.and_then(Format::container);
            let inspection = inspect_file(&name, &origin, container, &names, compare, &releases)?;
            Ok((name, inspection))
        };
        self.known_files()?.into_iter().map(inspect).collect()
    }

    /// Returns the known releases that have what the program requires, and with which [`Model::check`] finds no error.
    fn releases(&self, program: &Program, options: &CheckOptions) -> Result<Vec<String>, Error> {
        let requirements = Requirements::of(program);
        let mut options = self.loaded(options)?.into_owned();
        if let SourceContent::Text(_) = &self.source().content {
            options.reported.clone_from(self.assembly()?.unknown_operators());
        }
        let releases = Release::known().filter(|release| requirements.are_met_by(release));
        let releases: Vec<Option<Release>> = releases.map(Some).collect();
        // The program is the first file; the others are inspected on their own.
        let found = self.check_for(&options, &releases)?;
        let valid = found.iter().map(|files| !files.first().is_some_and(|(_, found)| found.has_errors()));
        let running = releases.iter().flatten().zip(valid).filter(|(_, is_valid)| *is_valid);
        Ok(running.map(|(release, _)| release.version().to_string()).collect())
    }
}

impl Model {
    /// Counts the work of a program by operator, delegated or not: calls, multiply-accumulate operations, and bytes
    /// that are read and written.
    ///
    /// The result consists of [`MethodWork`](crate::inspect::MethodWork),
    /// [`OperatorWork`](crate::inspect::OperatorWork) and [`Workload`](crate::inspect::Workload).
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::inspect::{Delegation, MethodWork, OperatorWork, Workload};
    ///
    /// // addmm of x [1, 4] and wt [4, 3]: 12 products.
    /// let found: Delegation = Model::open("examples/linear.yaml")?.delegation()?;
    /// let forward: &MethodWork = &found.methods[0];
    /// let first: &OperatorWork = &forward.operators[0];
    /// assert_eq!((&*first.operator, first.backend.as_deref()), ("aten::addmm.out", None));
    /// let Workload { calls, macs, read, written, .. } = first.work;
    /// assert_eq!((calls, macs, read, written), (1, 12, 4 * (3 + 4 + 12), 4 * 3));
    /// assert_eq!(first.work.bytes(), 4 * (3 + 4 + 12 + 3));
    /// assert_eq!(forward.delegated, Workload::default());
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read, is malformed or has no program, or the YAML is invalid.
    pub fn delegation(&self) -> Result<Delegation, Error> {
        let expected = || Error::input(Code::UnexpectedInput, &self.label(), "expected a program");
        let (program, _) = stored_program(self)?.ok_or_else(expected)?;
        Ok(Delegation::of(&program))
    }
}

/// Inspects a file. `names` has the names in the YAML that it was assembled from.
fn inspect_file(
    name: &str,
    origin: &Origin,
    container: Option<&'static Container>,
    names: &Names,
    compare: Comparison,
    releases: &dyn Fn(&Program) -> Option<Vec<String>>,
) -> Result<Inspection, Error> {
    let failed = |error: std::io::Error| Error::io(name, "", &error);
    let container =
        container.ok_or_else(|| Error::input(Code::UnexpectedInput, name, "expected a .pte, .ptd or .bpte file"))?;
    let facts = FileFacts::read(container, origin).map_err(failed)?;
    let mut found = Inspection::new(name, facts);
    // The errors are reported in addition to what could be read.
    let mut stated = HashSet::new();
    let mut malformed = |error: std::io::Error| match is_io(&error) {
        true => Err(failed(error)),
        false => {
            let text = error.to_string();
            if stated.insert(text.clone()) {
                found.errors.push(text);
            }
            Ok(())
        }
    };
    match container.format {
        Format::FlatTensor => {
            let keys = found.keys.insert(Vec::new());
            match reader::flat_tensor::read_part(origin) {
                Ok((entries, wrong)) => {
                    keys.extend(entries.into_iter().map(KeySummary::of));
                    wrong.into_iter().try_for_each(|text| malformed(std::io::Error::other(text)))?;
                }
                Err(error) => malformed(error)?,
            }
        }
        Format::Program | Format::BundledProgram | Format::Safetensors => match read_part(origin) {
            Ok((program, wrong, loaded)) => {
                let inspected = Inspected::new(program, names.clone(), loaded);
                let mut contents = ProgramSummary::new(&inspected.view(), compare).map_err(failed)?;
                contents.releases = releases(&inspected.program);
                found.contents = Some(contents);
                wrong.into_iter().try_for_each(|text| malformed(std::io::Error::other(text)))?;
            }
            Err(error) => malformed(error)?,
        },
    }
    if container.format == Format::BundledProgram {
        let tests = found.tests.insert(Vec::new());
        match reader::bundled_program::read(origin) {
            Ok(bundled) => {
                let program = bundled.program_origin().map_err(failed)?;
                found.facts.set_program(FileFacts::read(&container::PROGRAM, &program).map_err(failed)?);
                tests.extend(bundled.tests.iter().map(TestsSummary::from));
            }
            Err(error) => malformed(error)?,
        }
    }
    if let Some(diagnosis) = diagnosis(origin, Diagnosis::of).filter(|_| !found.errors.is_empty()) {
        found.errors.insert(0, diagnosis.to_string());
    }
    Ok(found)
}

/// Names in the YAML, by method.
#[derive(Clone, Default)]
struct Names {
    /// Names of the values; `None` for a program that is not assembled from YAML.
    values: Option<Vec<Vec<Option<String>>>>,
    /// Names of the delegates.
    delegates: Vec<Vec<String>>,
}

impl Names {
    fn of(assembly: &Assembly) -> Names {
        let of_method = |(method, plan): (usize, &ExecutionPlan)| {
            let names = (0..plan.values().len()).map(|value| assembly.value_name(method, value).map(str::to_owned));
            names.collect()
        };
        let values = assembly.program().plans().iter().enumerate().map(of_method).collect();
        Names { values: Some(values), delegates: assembly.origins.delegate_names() }
    }
}

/// A program to inspect, as it is stored in its file.
pub(crate) struct Inspected {
    pub(crate) program: Program,
    memory: Vec<MemoryPlan>,
    names: Names,
    /// Bytes of its file, without `.ptd` files, that are in RAM if a loader reads them there.
    pub(crate) loaded: LoadedProgram,
}

impl Inspected {
    /// Reads the program of a binary file, or of the file that YAML assembles to. The assembled file is read back
    /// because the figures must be those of the file.
    pub(crate) fn of(model: &Model) -> Result<Inspected, Error> {
        Ok(Inspected::with_program(model)?
            .unwrap_or_else(|| Inspected::new(Program::default(), Names::default(), LoadedProgram::default())))
    }

    /// Like [`Inspected::of`], but `None` for YAML without methods.
    pub(crate) fn with_program(model: &Model) -> Result<Option<Inspected>, Error> {
        let Some((program, loaded)) = stored_program(model)? else { return Ok(None) };
        let names = if model.is_text() { Names::of(model.assembly()?) } else { Names::default() };
        Ok(Some(Inspected::new(program, names, loaded)))
    }

    fn new(program: Program, names: Names, loaded: LoadedProgram) -> Inspected {
        let memory = program.plans().iter().map(MemoryPlan::stated).collect();
        Inspected { program, memory, names, loaded }
    }

    /// Returns the keys that the runtime looks up in `.ptd` files.
    pub(crate) fn required_keys(&self) -> Vec<String> {
        required_keys(&self.program, &payload_graphs(&self.view()))
    }

    pub(crate) fn view(&self) -> Subject<'_> {
        let mut values = printer::values(&self.program);
        if let Some(names) = &self.names.values {
            // A program with overrides may have other methods than its YAML.
            let named = values.iter_mut().zip(names).filter(|(values, names)| values.memory.len() == names.len());
            named.for_each(|(values, names)| values.names.clone_from(names));
        }
        Subject::new(&self.program, &self.memory, values, self.names.delegates.clone())
    }
}

/// Reads the program of a binary file, or of the file that YAML assembles to, with its overrides, and the bytes that a
/// loader reads of it; `None` for YAML without methods.
pub(crate) fn stored_program(model: &Model) -> Result<Option<(Program, LoadedProgram)>, Error> {
    if let SourceContent::Binary(origin) = &model.source().content {
        return read(origin).map(Some).map_err(|error| model.source().unreadable(&error));
    }
    let read = |file: OutputFile<'_>| read_part(&file.origin()?).map(|(program, _, loaded)| (program, loaded));
    let program = model.assembly()?.program_file().map(read).transpose();
    program.map_err(|error| model.source().unreadable(&error))
}

/// Reads the metadata of a `.pte`, or of the program of a `.bpte`, and the bytes that a loader reads of it.
fn read(origin: &Origin) -> std::io::Result<(Program, LoadedProgram)> {
    let origin = expect_program(origin)?;
    let found = reader::program::read(&origin)?;
    let loaded = LoadedProgram::new(&found, origin.len()?);
    Ok((found.program, loaded))
}

/// Reads the metadata like [`read`], but accepts invalid references to data; returns the errors in them, too.
fn read_part(origin: &Origin) -> std::io::Result<(Program, Vec<String>, LoadedProgram)> {
    let origin = expect_program(origin)?;
    let found = reader::program::read_part(&origin)?;
    let loaded = LoadedProgram::new(&found, origin.len()?);
    let wrong = found.missing.into_iter().map(|(at, text)| match at.path(&found.program) {
        path if path.is_empty() => text,
        path => format!("{path}: {text}"),
    });
    let wrong = wrong.collect();
    Ok((found.program, wrong, loaded))
}

fn expect_program(origin: &Origin) -> std::io::Result<Origin> {
    let expected = "expected a program: a .pte or .bpte file, or YAML with methods";
    program_origin(origin)?.ok_or_else(|| std::io::Error::other(expected))
}

/// Returns the program of a file: the file itself, or the one that a `.bpte` contains; `None` for tensors without
/// methods.
pub(crate) fn program_origin(origin: &Origin) -> std::io::Result<Option<Origin>> {
    match origin.format()? {
        Some(Format::BundledProgram) => reader::bundled_program::read(origin)?.program_origin().map(Some),
        Some(Format::FlatTensor | Format::Safetensors) => Ok(None),
        Some(Format::Program) | None => Ok(Some(origin.clone())),
    }
}
