//! Questions about a source, answered as plain data or as a report of all of them. Binary files and YAML alike; YAML is assembled first.
//! The computation is in [`crate::inspect`], drawing in [`crate::report`].

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::annotate;
use crate::assembly::{Assembly, OutputFile};
use crate::check::{Finding, Findings};
use crate::data::Origin;
use crate::diagnostics::{Code, is_io};
use crate::diff::Difference;
use crate::error::Error;
use crate::format::container::Container;
use crate::format::{Format, container};
use crate::inspect::allocator::Abi;
use crate::inspect::file::FileFacts;
use crate::inspect::graph::ProgramGraph;
use crate::inspect::size::{self as sizes, Dimension};
use crate::inspect::summary::{Comparison, Contents, named_data_paths};
use crate::inspect::{Subject, memory as planned};
use crate::layout::MemoryPlan;
use crate::pipeline::{CheckOptions, DiffOptions, Options};
use crate::printer;
use crate::program::{ExecutionPlan, Program};
use crate::reader;
use crate::reader::flat_tensor::FlatTensorEntry;
use crate::report::{self as reports, ReportFormat};
use crate::source::{Source, SourceContent};

/// Options of [`memory`](crate::memory()).
///
/// ```
/// use pte_emit::{Abi, MemoryOptions, Source, memory};
///
/// let add = Source::open("examples/add.yaml".as_ref())?;
/// let mut options = MemoryOptions::default();
/// options.abi = Abi::Arm32;
/// assert!(memory(&add, &options)?.json().contains(r#""abi": "arm32""#));
/// # Ok::<(), pte_emit::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MemoryOptions {
    /// Binary interface of the runtime's build.
    pub abi: Abi,
    /// The program is loaded with `.ptd` files; one that refers to tensors in them always is.
    pub external: bool,
}

/// Memory that a program needs: the result of [`memory`](crate::memory()).
pub struct ProgramMemory(planned::MethodMemories);

impl ProgramMemory {
    /// The data.
    #[cfg(feature = "cli")]
    pub(crate) fn data(&self) -> &planned::MethodMemories {
        &self.0
    }

    /// Returns the memory as JSON, as `pte-emit memory --json` prints it (docs/inspect.md).
    pub fn json(&self) -> String {
        format!("{:#}\n", self.0.json())
    }
}

impl fmt::Debug for ProgramMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProgramMemory").field(&self.0).finish()
    }
}

/// Computes the memory that the methods of a program need: planned memory over time, and what loading takes from the method
/// allocator of the runtime.
///
/// ```
/// use pte_emit::{MemoryOptions, Source, memory};
///
/// let needed = memory(&Source::open("examples/add.yaml".as_ref())?, &MemoryOptions::default())?;
/// let json: serde_json::Value = serde_json::from_str(&needed.json()).unwrap();
/// assert_eq!(json["methods"][0]["planned"], 48);
/// assert_eq!(json["methods"][0]["method_allocator"]["bytes"], 384);
/// # Ok::<(), pte_emit::Error>(())
/// ```
///
/// # Errors
/// A file that cannot be read or is malformed; a file without a program; invalid YAML.
pub fn memory(source: &Source<'_>, options: &MemoryOptions) -> Result<ProgramMemory, Error> {
    let subject = Inspected::open(source)?;
    Ok(ProgramMemory(planned::MethodMemories::new(&subject.view(), options.external, options.abi)))
}

/// Options of [`size`](crate::size()).
///
/// ```
/// use pte_emit::{SizeDimension, SizeOptions};
///
/// assert_eq!(SizeOptions::default().dimensions, [SizeDimension::Segment, SizeDimension::Kind]);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SizeOptions {
    /// Levels of the tree, the first one below the root.
    pub dimensions: Vec<Dimension>,
}

impl Default for SizeOptions {
    fn default() -> SizeOptions {
        SizeOptions { dimensions: vec![Dimension::Segment, Dimension::Kind] }
    }
}

/// Where the bytes of a file are: a result of [`size`](crate::size()).
pub struct FileSize(sizes::SizeTree);

impl FileSize {
    /// The data.
    #[cfg(feature = "cli")]
    pub(crate) fn data(&self) -> &sizes::SizeTree {
        &self.0
    }

    /// Merges all but the largest `rows` rows of each level into one.
    #[cfg(feature = "cli")]
    pub(crate) fn limit(&mut self, rows: usize) {
        self.0.limit(rows);
    }

    /// Size of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.root.bytes
    }

    /// Returns the tree as JSON, as `pte-emit size --json` prints it (docs/inspect.md).
    pub fn json(&self) -> String {
        format!("{:#}\n", self.0.json())
    }
}

impl fmt::Debug for FileSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FileSize").field(&self.0).finish()
    }
}

/// Measures where the bytes of a file are, also of a malformed one. Each byte belongs to one leaf of the tree. Of YAML, measures
/// the files that it assembles to, each with its name: that of the source with another extension.
///
/// ```
/// use pte_emit::{SizeOptions, Source, size};
///
/// let files = size(&Source::open("examples/add.yaml".as_ref())?, &SizeOptions::default())?;
/// let (name, add) = &files[0];
/// assert!(name.ends_with("add.pte"));
/// let json: serde_json::Value = serde_json::from_str(&add.json()).unwrap();
/// assert_eq!(json["bytes"], add.bytes());
/// assert_eq!(json["children"][0]["name"], "FlatBuffer");
/// # Ok::<(), pte_emit::Error>(())
/// ```
///
/// # Errors
/// A file that cannot be read or is of an unknown format; invalid YAML.
pub fn size(source: &Source<'_>, options: &SizeOptions) -> Result<Vec<(String, FileSize)>, Error> {
    let name = source.label();
    let failed = |error: std::io::Error| Error::io(&name, "", &error);
    let measure = |file: &str, origin: &Origin, format: Format, names: &HashMap<String, String>| {
        sizes::SizeTree::new(file, origin, format, &options.dimensions, names).map(FileSize).map_err(failed)
    };
    let is_named = options.dimensions.contains(&Dimension::Tensor);
    match source.content() {
        SourceContent::Binary(origin) => {
            let (head, len) = (origin.head(container::HEAD).map_err(failed)?, origin.len().map_err(failed)?);
            let format = annotate::format(&head, len, Some(Path::new(source.name())));
            let format = format
                .ok_or_else(|| Error::input(Code::UnexpectedInput, &name, "expected a .pte, .ptd or .bpte file"))?;
            let prefix = if let Format::BundledProgram = format { "program." } else { "" };
            // A malformed file and a .ptd have no names.
            let program = Some(source).filter(|_| is_named).and_then(|source| Inspected::open(source).ok());
            let names = program.map_or_else(HashMap::new, |program| names(&program.view(), prefix));
            Ok(vec![(name.clone(), measure(&name, origin, format, &names)?)])
        }
        SourceContent::Text(_) => {
            let assembled = Assembled::new(source)?;
            // A malformed program has no names.
            let program = Some(&assembled).filter(|_| is_named).and_then(|assembled| assembled.program().ok());
            let names = program.map_or_else(HashMap::new, |program| names(&program.view(), ""));
            let files = assembled.files()?.into_iter();
            files
                .map(|(name, format, origin)| {
                    let size = measure(&name, &origin, format, &names)?;
                    Ok((name, size))
                })
                .collect()
        }
    }
}

/// Options of [`inspect`](crate::inspect()).
///
/// ```
/// assert!(!pte_emit::InspectOptions::default().data);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct InspectOptions {
    /// Compare all data, to find those that are stored twice; by default at most 16 MiB.
    pub data: bool,
}

/// What a file contains: a result of [`inspect`](crate::inspect()).
pub struct Inspection {
    facts: FileFacts,
    contents: Option<Contents>,
    keys: Vec<FlatTensorEntry>,
    tests: Vec<(String, usize)>,
    errors: Vec<String>,
}

impl Inspection {
    /// Facts of the file.
    #[cfg(feature = "cli")]
    pub(crate) fn facts(&self) -> &FileFacts {
        &self.facts
    }

    /// Contents of the program; `None` for a `.ptd`.
    #[cfg(feature = "cli")]
    pub(crate) fn contents(&self) -> Option<&Contents> {
        self.contents.as_ref()
    }

    /// Entries of a `.ptd`.
    #[cfg(feature = "cli")]
    pub(crate) fn keys(&self) -> &[FlatTensorEntry] {
        &self.keys
    }

    /// Methods with the number of their test cases, of a `.bpte`.
    #[cfg(feature = "cli")]
    pub(crate) fn tests(&self) -> &[(String, usize)] {
        &self.tests
    }

    /// What is wrong with a malformed file, of which the rest could be read; empty for any other.
    ///
    /// ```
    /// use pte_emit::{InspectOptions, Source, inspect};
    ///
    /// let files = inspect(&Source::binary("cut.pte", b"\x30\0\0\0ET12"), &InspectOptions::default())?;
    /// assert_eq!(files[0].1.errors().len(), 1);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    pub fn errors(&self) -> &[String] {
        &self.errors
    }

    fn value(&self, name: &str) -> serde_json::Value {
        let mut document = serde_json::json!({"version": INSPECT_VERSION, "file": name, "errors": self.errors});
        let parts = [Some(self.facts.json()), self.contents.as_ref().map(Contents::json)];
        for part in parts.into_iter().flatten() {
            let serde_json::Value::Object(part) = part else { continue };
            part.into_iter().for_each(|(key, value)| document[key] = value);
        }
        let key = |entry: &FlatTensorEntry| {
            let layout = entry.tensor_layout.as_ref();
            serde_json::json!({
                "key": entry.key,
                "bytes": entry.data.len(),
                "type": layout.map(|layout| layout.scalar_type.to_string()),
                "sizes": layout.map(|layout| &layout.sizes),
            })
        };
        if self.facts.container.format == Format::FlatTensor {
            document["keys"] = self.keys.iter().map(key).collect();
        }
        if self.facts.container.format == Format::BundledProgram {
            let tests = self.tests.iter().map(|(method, cases)| serde_json::json!({"method": method, "cases": cases}));
            document["tests"] = tests.collect();
        }
        document
    }

    /// Returns the contents as JSON, as `pte-emit inspect --json` prints them (docs/inspect.md). `name` is the name of the file in it.
    pub fn json(&self, name: &str) -> String {
        format!("{:#}\n", self.value(name))
    }
}

impl fmt::Debug for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspection").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// Version of the JSON of [`Inspection::json`].
const INSPECT_VERSION: u32 = 1;

/// Reads what a file contains: its header and segments, the methods of its program with inputs, outputs, operators, delegates and
/// memory, its constants, the keys of a `.ptd`, the tests of a `.bpte`. Reads metadata, and data only as far as
/// [`InspectOptions::data`] says. Of YAML, reads the files that it assembles to, each with its name. Of a malformed file, reads what can
/// be read; [`Inspection::errors`] has the rest.
///
/// ```
/// use pte_emit::{InspectOptions, Source, inspect};
///
/// let files = inspect(&Source::open("examples/add.yaml".as_ref())?, &InspectOptions::default())?;
/// let (name, add) = &files[0];
/// let json: serde_json::Value = serde_json::from_str(&add.json(name)).unwrap();
/// assert_eq!(json["methods"][0]["operators"]["aten::add.out"], 1);
/// assert_eq!(json["methods"][0]["inputs"][0]["type"], "float32 [2, 2]");
/// # Ok::<(), pte_emit::Error>(())
/// ```
///
/// # Errors
/// A file that cannot be read, is empty, or is of an unknown format; invalid YAML.
pub fn inspect(source: &Source<'_>, options: &InspectOptions) -> Result<Vec<(String, Inspection)>, Error> {
    let name = source.label();
    let failed = |error: std::io::Error| Error::io(&name, "", &error);
    let compare = if options.data { Comparison::All } else { Comparison::Little };
    let SourceContent::Binary(origin) = source.content() else {
        let assembled = Assembled::new(source)?;
        let files = assembled.files()?.into_iter().map(|(name, format, origin)| {
            let inspection = inspect_file(&name, &origin, format.container(), &assembled.names, compare)?;
            Ok((name, inspection))
        });
        return files.collect();
    };
    let len = origin.len().map_err(failed)?;
    if len == 0 {
        return Err(Error::input(Code::InvalidFile, &name, reader::program::EMPTY));
    }
    let head = origin.head(container::HEAD).map_err(failed)?;
    let format = annotate::format(&head, len, Some(Path::new(source.name())));
    let inspection = inspect_file(&name, origin, format.and_then(Format::container), &Names::default(), compare)?;
    Ok(vec![(name.clone(), inspection)])
}

/// Inspects a file. `names` are those of the YAML that it was assembled from.
fn inspect_file(
    name: &str,
    origin: &Origin,
    container: Option<&'static Container>,
    names: &Names,
    compare: Comparison,
) -> Result<Inspection, Error> {
    let failed = |error: std::io::Error| Error::io(name, "", &error);
    let container =
        container.ok_or_else(|| Error::input(Code::UnexpectedInput, name, "expected a .pte, .ptd or .bpte file"))?;
    let mut facts = FileFacts::read(container, origin).map_err(failed)?;
    let (mut contents, mut keys, mut tests, mut errors) = (None, Vec::new(), Vec::new(), Vec::new());
    // What is malformed is stated beside the rest.
    let mut stated = HashSet::new();
    let mut malformed = |error: std::io::Error| match is_io(&error) {
        true => Err(failed(error)),
        false => {
            let text = error.to_string();
            if stated.insert(text.clone()) {
                errors.push(text);
            }
            Ok(())
        }
    };
    match container.format {
        Format::FlatTensor => match reader::flat_tensor::read_part(origin) {
            Ok((found, wrong)) => {
                keys = found;
                wrong.into_iter().try_for_each(|text| malformed(std::io::Error::other(text)))?;
            }
            Err(error) => malformed(error)?,
        },
        Format::Program | Format::BundledProgram | Format::Safetensors => match read_part(origin) {
            Ok((program, wrong)) => {
                let inspected = Inspected::new(program, names.clone());
                contents = Some(Contents::new(&inspected.view(), compare).map_err(failed)?);
                wrong.into_iter().try_for_each(|text| malformed(std::io::Error::other(text)))?;
            }
            Err(error) => malformed(error)?,
        },
    }
    if container.format == Format::BundledProgram {
        match reader::bundled_program::read(origin) {
            Ok(bundled) => {
                let program = bundled.program_origin().map_err(failed)?;
                facts.set_program(FileFacts::read(&container::PROGRAM, &program).map_err(failed)?);
                tests = bundled.tests.into_iter().map(|tests| (tests.method, tests.cases.len())).collect();
            }
            Err(error) => malformed(error)?,
        }
    }
    Ok(Inspection { facts, contents, keys, tests, errors })
}

/// Options of [`report`](crate::report()).
///
/// ```
/// use pte_emit::{ReportFormat, ReportOptions};
///
/// assert_eq!(ReportOptions::default().format, ReportFormat::Html);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReportOptions {
    /// Format of the report.
    pub format: ReportFormat,
    /// Options of the findings in it.
    pub check: CheckOptions,
}

/// Levels of the tree of sizes in a report.
const REPORT_LEVELS: [Dimension; 3] = [Dimension::Segment, Dimension::Kind, Dimension::Tensor];

/// Number of children of a node of the tree of sizes in a report; the smaller ones are one node.
const REPORT_CHILDREN: usize = 200;

/// Writes a report of a source: what [`inspect`](crate::inspect()), [`size`](crate::size()), [`memory`](crate::memory()) and
/// [`check`](crate::check()) find, and the graphs of the methods, as one HTML file; or only the graphs, for another viewer. A malformed
/// file has a report of its sizes and findings. With an older version in `before`, the page shows what changed since then, too, or why
/// both cannot be compared.
///
/// ```
/// use pte_emit::{ReportFormat, ReportOptions, Source, report};
///
/// let add = Source::open("examples/add.yaml".as_ref())?;
/// let page = report(&add, None, &ReportOptions::default())?;
/// assert!(page.starts_with("<!doctype html>") && page.len() < 300_000);
///
/// let mut options = ReportOptions::default();
/// options.format = ReportFormat::Dot;
/// assert!(report(&add, None, &options)?.contains("aten::add.out"));
/// # Ok::<(), pte_emit::Error>(())
/// ```
///
/// # Errors
/// A file that cannot be read or is of an unknown format; a graph of a file without a program; invalid YAML.
pub fn report(source: &Source<'_>, before: Option<&Source<'_>>, options: &ReportOptions) -> Result<String, Error> {
    let name = source.label();
    let mut sizes = size(source, &SizeOptions { dimensions: REPORT_LEVELS.to_vec() })?;
    let findings = crate::check(source, &options.check)?;
    // The first file has the program.
    let about: Vec<&str> = findings.first().into_iter().flat_map(Findings::list).map(|f| &*f.location.path).collect();
    let program = Inspected::open(source);
    let changes = before.map(|before| crate::diff(before, source, &DiffOptions::default()));
    let (changes, comparison_error) = match changes.transpose() {
        Ok(changes) => (changes, None),
        Err(error) => (None, Some(error.to_string())),
    };
    // One that was removed has no path here.
    let path = |difference: &'_ Difference| difference.right.as_ref().map_or(String::new(), |part| part.path.clone());
    let changed: Vec<String> = changes.iter().flat_map(|changes| &changes.list).map(path).collect();
    let changed: Vec<&str> = changed.iter().map(String::as_str).collect();
    let graph = || {
        // A graph has no place for a message.
        if let (Some(error), Some(before)) = (&comparison_error, before) {
            let message = format!("cannot mark what changed since {}: {error}", before.label());
            return Err(Error::input(Code::UnmetRequest, &name, message));
        }
        match &program {
            Ok(program) => Ok(ProgramGraph::new(&program.view(), &about, &changed)),
            Err(error) => Err(error.clone()),
        }
    };
    match options.format {
        ReportFormat::Html => {}
        ReportFormat::Dot => return Ok(reports::dot::write(&graph()?, &name)),
        ReportFormat::ModelExplorer => {
            return Ok(format!("{:#}\n", reports::model_explorer::collection(&graph()?, &name)));
        }
    }
    let contents = inspect(source, &InspectOptions::default());
    let error = match &contents {
        Ok(files) => files.iter().find_map(|(_, file)| file.errors.first().cloned()),
        Err(error) => Some(error.to_string()),
    };
    let contents = contents.unwrap_or_default();
    let files = sizes.iter_mut().enumerate().map(|(number, (name, size))| {
        size.0.limit(REPORT_CHILDREN);
        let findings = findings.get(number);
        let list = findings.into_iter().flat_map(Findings::list).map(Finding::json);
        let truncated = findings.into_iter().flat_map(Findings::truncated);
        serde_json::json!({
            "name": name,
            "contents": contents.get(number).map(|(name, contents)| contents.value(name)),
            "size": size.0.json(),
            "findings": list.collect::<Vec<_>>(),
            "truncated": truncated.map(|(rule, count)| serde_json::json!({"rule": rule.id, "count": count})).collect::<Vec<_>>(),
        })
    });
    let files: Vec<serde_json::Value> = files.collect();
    let view = program.as_ref().ok().map(Inspected::view);
    let memory = view.as_ref().map(|view| planned::MethodMemories::new(view, false, Abi::default()).json());
    let graph = view.as_ref().map(|view| ProgramGraph::new(view, &about, &changed).json());
    let document = serde_json::json!({
        "name": name,
        "files": files,
        "memory": memory,
        "graph": graph,
        "error": error,
        "before": before.map(Source::label),
        "changes": changes.map(|changes| changes.json()),
        "comparison_error": comparison_error,
    });
    Ok(reports::html(&document))
}

/// Texts to show in place of the paths of values and of the owners of named data.
fn names(subject: &Subject<'_>, prefix: &str) -> HashMap<String, String> {
    let mut names = subject.named_paths(prefix);
    names.extend(named_data_paths(subject.program));
    names
}

/// Names that YAML states, by method.
#[derive(Clone, Default)]
struct Names {
    /// Of the values; `None` for a program that is not assembled from YAML.
    values: Option<Vec<Vec<Option<String>>>>,
    /// Of the delegates.
    delegates: Vec<Vec<String>>,
}

/// YAML that is assembled. Its files are read back, so that their figures are those of the files that it assembles to.
struct Assembled {
    /// Name in messages.
    label: String,
    /// Path without the extension.
    stem: PathBuf,
    /// Number of the document, if the source has several.
    document: Option<usize>,
    assembly: Assembly,
    names: Names,
}

impl Assembled {
    fn new(source: &Source<'_>) -> Result<Assembled, Error> {
        let assembly = crate::assemble(source, &Options::default())?;
        let delegates = match assembly.program().plans().iter().any(|plan| !plan.delegates().is_empty()) {
            true => crate::pipeline::parse(source)?.delegate_names(),
            false => Vec::new(),
        };
        let of_method = |(method, plan): (usize, &ExecutionPlan)| {
            let names = (0..plan.values().len()).map(|value| assembly.value_name(method, value).map(str::to_owned));
            names.collect()
        };
        let values = Some(assembly.program().plans().iter().enumerate().map(of_method).collect());
        let stem = Path::new(source.name()).with_extension("");
        let document = source.document_number();
        Ok(Assembled { label: source.label(), stem, document, names: Names { values, delegates }, assembly })
    }

    /// The files: name, format and content.
    fn files(&self) -> Result<Vec<(String, Format, Origin)>, Error> {
        let program = self.assembly.program_file().map(|file| (None, &container::PROGRAM, file));
        let data = self.assembly.data_files().map(|(tag, file)| (tag, &container::FLAT_TENSOR, file));
        let files = program.into_iter().chain(data).map(|(tag, container, file)| {
            let stem = tag.map_or_else(|| self.stem.clone(), |tag| self.stem.with_file_name(tag));
            let name = stem.with_extension(container.extension).display().to_string();
            let name = self.document.map_or_else(|| name.clone(), |number| format!("{name}: document {number}"));
            let origin = file.origin().map_err(|error| Error::io(&self.label, "", &error))?;
            Ok((name, container.format, origin))
        });
        files.collect()
    }

    /// The program as its file has it.
    fn program(&self) -> Result<Inspected, Error> {
        let read = |file: OutputFile<'_>| read_part(&file.origin()?).map(|(program, _)| program);
        let program = self.assembly.program_file().map(read).transpose();
        let program = program.map_err(|error| Error::io(&self.label, "", &error))?;
        Ok(Inspected::new(program.unwrap_or_default(), self.names.clone()))
    }
}

/// A program to inspect, as its file has it.
struct Inspected {
    program: Program,
    memory: Vec<MemoryPlan>,
    names: Names,
}

impl Inspected {
    fn open(source: &Source<'_>) -> Result<Inspected, Error> {
        match source.content() {
            SourceContent::Text(_) => Assembled::new(source)?.program(),
            SourceContent::Binary(origin) => {
                let failed = |error| Error::io(source.name(), "", &error);
                Ok(Inspected::new(read(origin).map_err(failed)?, Names::default()))
            }
        }
    }

    fn new(program: Program, names: Names) -> Inspected {
        let memory = program.plans().iter().map(MemoryPlan::stated).collect();
        Inspected { program, memory, names }
    }

    fn view(&self) -> Subject<'_> {
        let mut values = printer::values(&self.program);
        if let Some(names) = &self.names.values {
            // One with overrides may have other methods.
            let named = values.iter_mut().zip(names).filter(|(values, names)| values.memory.len() == names.len());
            named.for_each(|(values, names)| values.names.clone_from(names));
        }
        Subject::new(&self.program, &self.memory, values, self.names.delegates.clone())
    }
}

/// Reads the metadata of a `.pte`, or of the program of a `.bpte`.
fn read(origin: &Origin) -> std::io::Result<Program> {
    Ok(reader::program::read(&program_origin(origin)?)?.program)
}

/// Does the same for a program whose references to data may lead nowhere, and returns what is wrong with them.
fn read_part(origin: &Origin) -> std::io::Result<(Program, Vec<String>)> {
    let found = reader::program::read_part(&program_origin(origin)?)?;
    let wrong = found.missing.into_iter().map(|(at, text)| match at.path(&found.program) {
        path if path.is_empty() => text,
        path => format!("{path}: {text}"),
    });
    let wrong = wrong.collect();
    Ok((found.program, wrong))
}

/// Returns the program of a file: the file, or that in a `.bpte`.
fn program_origin(origin: &Origin) -> std::io::Result<Origin> {
    match origin.format()? {
        Some(Format::BundledProgram) => reader::bundled_program::read(origin)?.program_origin(),
        Some(Format::FlatTensor | Format::Safetensors) => {
            Err(std::io::Error::other("expected a program: a .pte or .bpte file, or YAML with methods"))
        }
        Some(Format::Program) | None => Ok(origin.clone()),
    }
}
