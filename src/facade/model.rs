//! The facade of the library. A [`Model`] is an opened source. It is assembled at most once, answers questions, and
//! gives its stages.
//!
//! The questions about contents, sizes and memory are in [`crate::facade::inspection`], those about payloads in
//! [`crate::facade::payload`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::assembly::{Assembly, OutputFile};
use crate::facade::source::{self, Source, SourceContent};
use crate::pipeline::{AssembleOptions, Document, Resolved};
use crate::printer::{self, LargeData, PrintOptions, Printed, Reproduction};
use pte_check::{CheckOptions, DataFile, Findings};
use pte_diff::{DiffArea, DiffData, Differences, Side};
use pte_inspect::annotate::{self, AnnotateOptions};
use pte_model::data::{Blob, Origin};
use pte_model::diagnostics::Code;
use pte_model::diagnostics::Severity;
use pte_model::error::Error;
use pte_model::format::foreign::Diagnosis;
use pte_model::format::{Format, container};
use pte_model::program::element::Part;
use pte_model::program::{ExecutionPlan, Program};
use pte_model::reader;
use pte_payload::flat;
use pte_releases::Release;

/// Maximum number of documents of a YAML file: each takes work of its own, and its outputs are files of their own.
pub const MAX_DOCUMENTS: usize = 1000;

/// Opened source: YAML, JSON, a `.pte`, `.ptd`, `.bpte` or `.safetensors`. It has a name for messages, and a folder
/// that the paths in it are relative to.
///
/// YAML is assembled when a question first needs it, and only once. Questions about YAML are answered for the files
/// that it assembles to. Binary files are read lazily. A clone shares the content and the assembly.
///
/// ```
/// use pte_emit::Model;
/// use pte_emit::check::CheckOptions;
/// use pte_emit::inspect::{InspectOptions, SizeOptions};
/// use pte_emit::memory::{Abi, MemoryOptions};
///
/// let linear = Model::open("examples/linear.yaml")?;
/// assert!(!linear.check(&CheckOptions::default())?[0].1.has_errors());
/// assert_eq!(linear.program()?.plans()[0].name.as_deref(), Some("forward"));
/// let bytes = linear.assembly()?.program_file().unwrap().to_vec()?;
///
/// let file = Model::from_binary("linear.pte", bytes);
/// assert!(file.diff(&linear, &Default::default())?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Model {
    source: Arc<Source>,
    options: Arc<AssembleOptions>,
    answers: Arc<Answers>,
}

/// Results that are computed once for a source and its options.
#[derive(Default)]
struct Answers {
    assembly: OnceLock<Result<Assembly, Error>>,
    /// Program of a binary file.
    program: OnceLock<Result<Program, Error>>,
}

/// A file of a source: the binary file, or one that YAML assembles to.
pub(crate) struct ModelFile {
    /// Name. An assembled file has the name of the source with the extension of its format.
    pub name: String,
    /// Format; `None` if it is unknown.
    pub format: Option<Format>,
    /// Content.
    pub origin: Origin,
}

/// Documents of a YAML stream with variables substituted: the result of [`Model::documents`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Documents {
    /// Sources, one per document.
    pub models: Vec<Model>,
    /// Names of the definitions that the YAML uses.
    pub used: BTreeSet<String>,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Opening.
impl Model {
    /// Creates a model of a source that was assembled already.
    pub(crate) fn assembled_from(source: Arc<Source>, assembly: Assembly) -> Model {
        let answers = Answers { assembly: OnceLock::from(Ok(assembly)), ..Answers::default() };
        Model { source, options: Arc::default(), answers: Arc::new(answers) }
    }

    pub(crate) fn new(source: Source) -> Model {
        Model { source: Arc::new(source), options: Arc::default(), answers: Arc::default() }
    }

    /// Opens a file. Binary formats are recognised by their first bytes and read lazily. All other files are read as
    /// YAML, with paths relative to the folder of the file; [`Model::documents`] splits it if it has several documents
    /// or variables (`${NAME}`).
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// let add = Model::open("examples/add.yaml")?;
    /// assert!(add.is_text());
    /// assert_eq!((add.name(), add.folder().to_str()), ("examples/add.yaml", Some("examples")));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read, or it is neither of a known format nor UTF-8.
    pub fn open(path: impl AsRef<Path>) -> Result<Model, Error> {
        Source::open(path.as_ref()).map(Model::new)
    }

    /// Opens a file as a binary one, whatever its first bytes are. It is read lazily: a missing file is an error of the
    /// first question.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// assert!(!Model::open_binary("examples/add.yaml").is_text());
    /// ```
    pub fn open_binary(path: impl AsRef<Path>) -> Model {
        let path = path.as_ref();
        Model::new(Source::binary(path.display().to_string(), Origin::File(path.into())))
    }

    /// Creates a model of bytes of unknown format. Binary formats are recognised by their first bytes; everything else
    /// is read as YAML, with paths relative to `folder`. `name` is used in messages.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// assert!(Model::from_bytes("-", "methods: {}", ".")?.is_text());
    /// assert!(!Model::from_bytes("-", b"\x30\0\0\0ET12", ".")?.is_text());
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The bytes are neither of a known format nor UTF-8.
    pub fn from_bytes(
        name: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
        folder: impl Into<PathBuf>,
    ) -> Result<Model, Error> {
        Source::of_bytes(name.into(), bytes.into(), folder.into()).map(Model::new)
    }

    /// Creates a model of YAML or JSON. `name` is used in messages; paths in the YAML are relative to `folder`.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// let model = Model::from_yaml("add.yaml", "methods: {}", "models");
    /// assert_eq!((model.name(), model.text()), ("add.yaml", Some("methods: {}")));
    /// ```
    pub fn from_yaml(name: impl Into<String>, text: impl AsRef<str>, folder: impl Into<PathBuf>) -> Model {
        Model::new(Source::text_of(name.into(), text.as_ref().into(), folder.into()))
    }

    /// Creates a model of a `.pte`, `.ptd`, `.bpte` or `.safetensors` in memory. `name` is used in messages.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// assert_eq!(Model::from_binary("add.pte", b"\x30\0\0\0ET12").text(), None);
    /// ```
    pub fn from_binary(name: impl Into<String>, bytes: impl AsRef<[u8]>) -> Model {
        Model::new(Source::binary(name.into(), Origin::Bytes(bytes.as_ref().into())))
    }

    /// Sets the options for assembling, which [`Model::assembly`] and the questions about YAML use. Discards what was
    /// assembled with other options.
    ///
    /// ```
    /// use pte_emit::{AssembleOptions, Model};
    ///
    /// let options = AssembleOptions::default().external_data(true);
    /// let linear = Model::open("examples/linear.yaml")?.with_options(options);
    /// assert_eq!(linear.assembly()?.data_files().count(), 1);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    #[must_use]
    pub fn with_options(mut self, options: AssembleOptions) -> Model {
        (self.options, self.answers) = (Arc::new(options), Arc::default());
        self
    }

    /// Sets the `.ptd` files that the program is loaded with, in addition to those that YAML assembles to; they replace
    /// those of an earlier call. Questions about the program, comparisons and tests use them, and
    /// [`AssembleOptions::internal_data`] moves their data into the program. Of several files with a key, the first one
    /// counts.
    ///
    /// ```
    /// use pte_emit::{AssembleOptions, Model};
    ///
    /// let linear = Model::open("examples/linear.yaml")?;
    /// let split = linear.assemble(&AssembleOptions::default().external_data(true))?;
    /// let file = std::env::temp_dir().join(format!("linear-{}.ptd", std::process::id()));
    /// std::fs::write(&file, split.data_files().next().unwrap().1.to_vec()?)?;
    ///
    /// let program = Model::from_binary("linear.pte", split.program_file().unwrap().to_vec()?)
    ///     .with_data_files([&file]);
    /// assert_eq!((program.data_files(), program.weights()?.weights[0].bytes), (&[file.clone()][..], 48));
    /// let inside = program.assemble(&AssembleOptions::default().internal_data(true))?;
    /// assert!(inside.program().plans()[0].tensors().all(|(_, tensor)| !tensor.is_external()));
    /// # std::fs::remove_file(&file)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_data_files(mut self, files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Model {
        Arc::make_mut(&mut self.source).data_files = files.into_iter().map(Into::into).collect();
        self
    }

    /// Confines the files that the YAML refers to: a file outside `folder`, after symbolic links are resolved, is an
    /// error. Use this for untrusted YAML, which could otherwise embed any file with `file: /etc/passwd`. The folder
    /// must not change while its files are read.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// let yaml = "named_data: {x: {file: Cargo.toml}}";
    /// let model = Model::from_yaml("x.yaml", yaml, ".").confined_to("examples");
    /// let error = model.assembly().unwrap_err();
    /// assert!(error.to_string().contains("not in the folder examples"));
    /// ```
    #[must_use]
    pub fn confined_to(mut self, folder: impl Into<PathBuf>) -> Model {
        Arc::make_mut(&mut self.source).files.confined_to = Some(folder.into());
        self.answers = Arc::default();
        self
    }

    /// Splits YAML into its documents, and replaces `${NAME}` and `${NAME:default}` with definitions and defaults. A
    /// binary file is one document.
    ///
    /// ```
    /// use pte_emit::{Documents, Model};
    ///
    /// let definitions = [("N".to_owned(), "4".to_owned())].into();
    /// let yaml = Model::from_yaml("n.yaml", "name: n${N}\n---\nname: m${M:2}\n", ".");
    /// let Documents { models, .. } = yaml.documents(&definitions)?;
    /// assert_eq!(models.len(), 2);
    /// assert_eq!((models[1].document(), models[1].label()), (Some(2), "n.yaml: document 2".to_owned()));
    /// assert!(models[1].text().unwrap().contains("name: m2"));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A variable has neither a definition nor a default; more than 1,000 documents.
    pub fn documents(&self, definitions: &BTreeMap<String, String>) -> Result<Documents, Error> {
        let text = self.source.text();
        let undefined = |errors: Vec<pte_yaml::tree::SyntaxError>| {
            let starts = pte_yaml::template::documents(text);
            let message = |mut error: pte_yaml::tree::SyntaxError| {
                if starts.len() > 1 {
                    let line = text[..error.span.start].matches('\n').count();
                    let number = starts.iter().filter(|(lines, _)| *lines <= line).count();
                    error.message = format!("document {number}: {}", error.message);
                }
                error.diagnostic()
            };
            self.source.error(errors.into_iter().map(message).collect())
        };
        let filled = pte_yaml::template::fill(text, definitions).map_err(undefined)?;
        let used = filled.used.into_iter().map(str::to_owned).collect();
        let documents = pte_yaml::template::documents(&filled.text);
        if matches!((&filled.text, &documents[..]), (Cow::Borrowed(_), [_])) {
            return Ok(Documents { models: vec![self.clone()], used });
        }
        if documents.len() > MAX_DOCUMENTS {
            let message = format!("{} documents, expected at most {MAX_DOCUMENTS}: split the file", documents.len());
            return Err(Error::input(Code::LimitExceeded, self.name(), message));
        }
        let mut start = 0;
        let mut all_quoted = filled.quoted_numbers.iter().peekable();
        let part = |(index, (lines_before, text)): (usize, &(usize, &str))| {
            // The documents are adjacent.
            let range = start..start + text.len();
            start = range.end;
            let quoted = std::iter::from_fn(|| all_quoted.next_if(|quoted| range.contains(&quoted.start)));
            let source = Source {
                name: self.source.name.clone(),
                files: self.source.files.clone(),
                data_files: self.source.data_files.clone(),
                content: SourceContent::Text((*text).into()),
                lines_before: *lines_before,
                document: (documents.len() > 1).then_some(index + 1),
                quoted_numbers: quoted.map(|quoted| quoted.start - range.start..quoted.end - range.start).collect(),
                is_edited: false,
            };
            Model { source: Arc::new(source), options: self.options.clone(), answers: Arc::default() }
        };
        Ok(Documents { models: documents.iter().enumerate().map(part).collect(), used })
    }
}

/// The source.
impl Model {
    /// Returns the name that messages use.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// Returns the name for messages about the source as a whole. It includes the number of the document if the file
    /// has several.
    pub fn label(&self) -> String {
        self.source.label()
    }

    /// Returns the number of the document in its file, counted from 1; `None` if the file has only one.
    pub fn document(&self) -> Option<usize> {
        self.source.document
    }

    /// Returns the `.ptd` files of [`Model::with_data_files`].
    pub fn data_files(&self) -> &[PathBuf] {
        &self.source.data_files
    }

    /// Returns the folder that paths in the source are relative to.
    pub fn folder(&self) -> &Path {
        &self.source.files.folder
    }

    /// Returns true for YAML or JSON, false for a binary file.
    pub fn is_text(&self) -> bool {
        self.text().is_some()
    }

    /// Returns the YAML or JSON; `None` for a binary file.
    pub fn text(&self) -> Option<&str> {
        Some(self.source.text()).filter(|_| self.origin().is_none())
    }

    /// Returns the first `len` bytes of the content, or all of it if it is shorter.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// assert_eq!(Model::open_binary("examples/add.yaml").head(6)?, b"# yaml");
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn head(&self, len: u64) -> Result<Vec<u8>, Error> {
        let Some(origin) = self.origin() else { return Ok(self.source.text().bytes().take(len as usize).collect()) };
        origin.head(len).map(|head| head.to_vec()).map_err(|error| self.source.unreadable(&error))
    }

    /// Returns the format of a binary file by its first bytes; `None` for YAML, and for a file of another format or a
    /// damaged one.
    ///
    /// ```
    /// use pte_emit::{Format, Model};
    ///
    /// assert_eq!(Model::from_binary("add.pte", b"\x30\0\0\0ET12\0").format()?, Some(Format::Program));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn format(&self) -> Result<Option<Format>, Error> {
        let format = self.origin().map_or(Ok(None), Origin::format);
        format.map_err(|error| self.source.unreadable(&error))
    }

    /// Returns the format of a payload of a delegate that is a file of its own, such as one of `payload extract`, by
    /// its first bytes.
    ///
    /// ```
    /// let payload = pte_emit::Model::open("examples/xnnpack_linear.yaml")?.payloads()?[0].data.to_vec().unwrap();
    /// assert_eq!(pte_emit::Model::from_binary("part0", payload).payload_format()?, Some("XNNPACK"));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn payload_format(&self) -> Result<Option<&'static str>, Error> {
        let head = self.head(pte_payload::HEAD as u64)?;
        // Without the name of a backend, only the bytes count.
        Ok(pte_xnnpack::FORMATS.recognise("", &head).map(|format| format.name()))
    }

    /// Returns the size of the content in bytes.
    ///
    /// ```
    /// assert_eq!(pte_emit::Model::from_yaml("m.yaml", "methods: {}", ".").content_size()?, 11);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn content_size(&self) -> Result<u64, Error> {
        let size = self.origin().map_or(Ok(self.source.text().len() as u64), Origin::len);
        size.map_err(|error| self.source.unreadable(&error))
    }

    /// Returns the content of a binary file.
    pub(crate) fn origin(&self) -> Option<&Origin> {
        match &self.source.content {
            SourceContent::Text(_) => None,
            SourceContent::Binary(origin) => Some(origin),
        }
    }

    /// Returns the options of assembling.
    pub(crate) fn options(&self) -> &AssembleOptions {
        &self.options
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Returns a model of other YAML in place of this one, which may refer to files that do not exist yet.
    pub(crate) fn edited(&self, text: &str, planned: Arc<BTreeMap<PathBuf, Blob>>) -> Model {
        let mut source = Source { content: SourceContent::Text(text.into()), ..(*self.source).clone() };
        source.files.planned = planned;
        Model { source: Arc::new(source), options: self.options.clone(), answers: Arc::default() }
    }
}

/// Stages.
impl Model {
    /// Parses YAML or JSON. This validates keys and kinds of nodes, but does not resolve names.
    ///
    /// The stages can be run one by one. [`Resolved::program`] can be changed before it is planned:
    ///
    /// ```
    /// use pte_emit::{AssembleOptions, Assembly, Document, Model, Planned, Resolved};
    ///
    /// let source = Model::from_yaml("getter.yaml", "{name: eps, methods: {get_eps: {outputs: [1.0e-5]}}}", ".");
    /// let document: Document = source.parse()?;
    /// let mut resolved: Resolved = document.resolve()?;
    /// let methods = resolved.program.execution_plan.as_mut().unwrap();
    /// methods[0].name = Some("epsilon".to_owned());
    /// let planned: Planned = resolved.plan(&AssembleOptions::default())?;
    /// let assembly: Assembly = planned.emit()?;
    /// assert_eq!(assembly.name.as_deref(), Some("eps"));
    /// assert_eq!(assembly.program().plans()[0].name.as_deref(), Some("epsilon"));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The YAML has a syntax error (the first one is reported), or unknown keys or values of a wrong kind (all are
    /// reported). The source is a binary file.
    pub fn parse(&self) -> Result<Document, Error> {
        Document::parse(&self.source)
    }

    /// Parses and resolves YAML, or reads a binary file and its layout options: a `.pte`, a `.ptd`, the program and the
    /// tests of a `.bpte`, or the tensors of a `.safetensors`. Weights are not read.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// let bytes = Model::open("examples/linear.yaml")?.assembly()?.program_file().unwrap().to_vec()?;
    /// let program = Model::from_binary("linear.pte", bytes).resolve()?.program;
    /// let method = &program.plans()[0];
    /// assert_eq!(method.name.as_deref(), Some("forward"));
    /// assert_eq!(method.tensors().count(), 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The YAML is invalid (all errors are reported), or a data file cannot be opened. A binary file cannot be read or
    /// is malformed.
    pub fn resolve(&self) -> Result<Resolved, Error> {
        match self.source.content {
            SourceContent::Text(_) => self.parse()?.resolve(),
            SourceContent::Binary(_) => Resolved::read(&self.source),
        }
    }

    /// Resolves the source to a program that can be changed. A binary file is first printed as YAML. Only its unusual
    /// offsets and indices are then explicit, and the rest is planned again after the change. A changed program is not
    /// validated, and results are not inferred again: call [`Assembly::check`].
    ///
    /// ```
    /// use pte_emit::{AssembleOptions, Model, Resolved};
    /// use pte_emit::check::CheckOptions;
    ///
    /// let bytes = Model::open("examples/linear.yaml")?.assembly()?.program_file().unwrap().to_vec()?;
    /// let file = Model::from_binary("linear.pte", bytes);
    /// let mut resolved: Resolved = file.resolve_for_changes()?;
    /// resolved.program.execution_plan.as_mut().unwrap()[0].name = Some("linear".to_owned());
    /// let assembly = resolved.to_files(&AssembleOptions::default())?;
    /// assert!(!assembly.check(&CheckOptions::default())?[0].has_errors());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read or printed, or the YAML is invalid.
    pub fn resolve_for_changes(&self) -> Result<Resolved, Error> {
        self.resolve_printed(Reproduction::File)
    }

    /// Does the same with a file that is printed in another way.
    pub(crate) fn resolve_printed(&self, reproduction: Reproduction) -> Result<Resolved, Error> {
        if self.is_text() {
            return self.resolve();
        }
        let options = PrintOptions::default().large_data(LargeData::Refer).reproduction(reproduction);
        let options = options.file(self.name().to_owned());
        let printed = self.to_yaml(Path::new(""), &options)?;
        let yaml = Model::from_yaml(self.name(), printed.text, "").documents(&BTreeMap::new())?;
        let resolved = yaml.models.first().map_or_else(|| Ok(Resolved::from(Program::default())), Model::resolve);
        resolved.map(|resolved| resolved.of_file(self.source.clone()))
    }

    /// Assembles the source, or writes a binary file again, with these options in place of those of
    /// [`Model::with_options`]. Every call runs all stages.
    ///
    /// ```
    /// use pte_emit::{AssembleOptions, Model};
    ///
    /// let linear = Model::open("examples/linear.yaml")?;
    /// let options = AssembleOptions::default().external_data(true);
    /// assert_eq!(linear.assembly()?.data_files().count(), 0);
    /// assert_eq!(linear.assemble(&options)?.data_files().count(), 1);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The source is invalid (all errors are reported), or a data file cannot be read.
    pub fn assemble(&self, options: &AssembleOptions) -> Result<Assembly, Error> {
        #[cfg(test)]
        tests::ASSEMBLED.with_borrow_mut(|assembled| assembled.push(self.label()));
        let resolved = self.resolve()?;
        // New tensors of a binary file get memory from a planner, not after that of the others.
        match options.for_runtime.as_ref().filter(|_| !self.is_text()) {
            Some(release) if resolved.needs_memory_for(release)? => self.resolve_for_changes()?.to_files(options),
            Some(_) | None => resolved.to_files(options),
        }
    }

    /// Returns the assembly with the options of [`Model::with_options`]. It is computed once; clones share it.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// let model = Model::from_yaml("m.yaml", "methods: {forward: {outputs: [x]}}", ".");
    /// let error = model.assembly().unwrap_err();
    /// assert_eq!(error.io_kind(), None);
    /// assert!(error.diagnostics()[0].message.contains("`x`"));
    /// assert!(error.to_string().starts_with("m.yaml:1:"));
    /// ```
    ///
    /// # Errors
    /// As [`Model::assemble`].
    pub fn assembly(&self) -> Result<&Assembly, Error> {
        self.answers.assembly.get_or_init(|| self.assemble(&self.options)).as_ref().map_err(Error::clone)
    }

    /// Returns the program. A program of YAML has the offsets of planned tensors, and its data where the options
    /// request them.
    ///
    /// # Errors
    /// As [`Model::resolve`] and [`Model::assemble`].
    pub fn program(&self) -> Result<&Program, Error> {
        if self.is_text() {
            return self.assembly().map(Assembly::program);
        }
        let program = self.answers.program.get_or_init(|| Ok(self.resolve()?.program));
        program.as_ref().map_err(Error::clone)
    }

    /// Returns the names of the values of each method: those of the YAML, or those that [`Model::to_yaml`] prints.
    ///
    /// ```
    /// let linear = pte_emit::Model::open("examples/linear.yaml")?;
    /// assert_eq!(linear.value_names()?[0][0].as_deref(), Some("weight"));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Model::program`].
    pub fn value_names(&self) -> Result<Vec<Vec<Option<String>>>, Error> {
        let program = self.program()?;
        if !self.is_text() {
            return Ok(printer::values(program).into_iter().map(|values| values.names).collect());
        }
        let assembly = self.assembly()?;
        let name = |method, value| assembly.value_name(method, value).map(str::to_owned);
        let names = |(method, plan): (usize, &ExecutionPlan)| {
            (0..plan.values().len()).map(|value| name(method, value)).collect()
        };
        Ok(program.plans().iter().enumerate().map(names).collect())
    }

    /// Returns the `.pte` in a `.bpte`, byte for byte.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// let linear = Model::open("examples/linear.yaml")?;
    /// let bpte = Model::from_binary("linear.bpte", linear.assembly()?.bundled()?.to_vec()?);
    /// assert_eq!(bpte.bundled_program()?.to_vec()?, linear.assembly()?.program_file().unwrap().to_vec()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read, or is not a `.bpte`.
    pub fn bundled_program(&self) -> Result<Blob, Error> {
        let origin =
            self.origin().ok_or_else(|| Error::input(Code::UnexpectedInput, self.name(), "expected a .bpte"))?;
        let bundled = reader::bundled_program::read(origin).map_err(|error| self.source.unreadable(&error))?;
        Ok(bundled.program)
    }

    /// Returns the binary file, or the files that YAML assembles to, the program first.
    ///
    /// # Errors
    /// As [`Model::assemble`]; or a file cannot be read.
    pub(crate) fn files(&self) -> Result<Vec<ModelFile>, Error> {
        let unreadable = |error: io::Error| self.source.unreadable(&error);
        if let SourceContent::Binary(origin) = &self.source.content {
            let (head, len) = (origin.head(container::HEAD).map_err(unreadable)?, origin.len().map_err(unreadable)?);
            let format = annotate::format(&head, len, Some(Path::new(self.name())));
            return Ok(vec![ModelFile { name: self.label(), format, origin: origin.clone() }]);
        }
        let file = |(name, format, file): (String, Format, OutputFile<'_>)| {
            Ok(ModelFile { name, format: Some(format), origin: file.origin().map_err(unreadable)? })
        };
        self.assembled(self.assembly()?).map(file).collect()
    }

    /// Returns the files like [`Model::files`]; an error for a file of something else.
    pub(crate) fn known_files(&self) -> Result<Vec<ModelFile>, Error> {
        let other = self.origin().and_then(|origin| source::diagnosis(origin, Diagnosis::of_unknown));
        match other {
            Some(other) => Err(source::is_other(&self.label(), "a .pte, .ptd or .bpte file", other)),
            None => self.files(),
        }
    }

    /// Returns the files of the assembly with their names and formats, the program first.
    fn assembled<'a>(&self, assembly: &'a Assembly) -> impl Iterator<Item = (String, Format, OutputFile<'a>)> {
        let stem = Path::new(self.name()).with_extension("");
        let program = assembly.program_file().map(|file| (None, &container::PROGRAM, file));
        let data = assembly.data_files().map(|(tag, file)| (tag, &container::FLAT_TENSOR, file));
        program.into_iter().chain(data).map(move |(tag, container, file)| {
            let stem = tag.map_or_else(|| stem.clone(), |tag| stem.with_file_name(tag));
            let name = stem.with_extension(container.extension).display().to_string();
            let name = self.document().map_or_else(|| name.clone(), |number| format!("{name}: document {number}"));
            (name, container.format, file)
        })
    }

    /// Returns the binary file, or the first file that YAML assembles to.
    fn main_file(&self) -> Result<ModelFile, Error> {
        let none = || Error::input(Code::UnexpectedInput, self.name(), "expected a source with methods or data");
        self.files()?.into_iter().next().ok_or_else(none)
    }
}

/// Questions.
impl Model {
    /// Prints the file as YAML that reproduces it byte for byte, and assembles that YAML to verify it; see [`Printed`].
    /// For a YAML source, prints the first file that it assembles to. Paths in the printed YAML are relative to
    /// `folder`.
    ///
    /// ```
    /// use pte_emit::{LargeData, Model, PrintOptions};
    ///
    /// let bytes = Model::open("examples/linear.yaml")?.assembly()?.program_file().unwrap().to_vec()?;
    /// let options = PrintOptions::default().large_data(LargeData::Inline).file("linear.pte".to_owned());
    /// let printed = Model::from_binary("linear.pte", bytes).to_yaml(".".as_ref(), &options)?;
    /// assert_eq!(printed.difference, None);
    /// assert!(printed.text.contains("kernel: aten::relu.out"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A file that cannot be read, or is of an unknown format; invalid YAML.
    pub fn to_yaml(&self, folder: &Path, options: &PrintOptions) -> Result<Printed, Error> {
        let printed = printer::print(&self.main_file()?.origin, folder, options, &assemble_printed);
        printed.map_err(|error| self.source.unreadable(&error))
    }

    /// Validates a binary file, or the files that YAML assembles to. Returns the findings of each file with its name,
    /// the program first. Reads only metadata unless [`CheckOptions::data`] is set.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::check::{CheckOptions, RuleId};
    ///
    /// let findings = Model::from_binary("empty.pte", b"no program").check(&CheckOptions::default())?;
    /// let (name, empty) = &findings[0];
    /// assert!(name == "empty.pte" && empty.has_errors());
    /// assert_eq!(empty.list[0].rule.id, RuleId::H_1);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// A program whose weights are in a `.ptd`, and a custom operator:
    ///
    /// ```
    /// use pte_emit::{AssembleOptions, Model};
    /// use pte_emit::check::{CheckOptions, DataFile, Profile};
    ///
    /// let mut options = AssembleOptions::default().external_data(true);
    /// let linear = Model::open("examples/linear.yaml")?.with_options(options);
    /// let program = Model::from_binary("linear.pte", linear.assembly()?.program_file().unwrap().to_vec()?);
    /// let (_, weights) = linear.assembly()?.data_files().next().unwrap();
    ///
    /// let mut options = CheckOptions::default().profile(Profile::Portable);
    /// options.operators.add("my::scale.out self:T factor:f out:T!").unwrap();
    /// options.with = vec![DataFile::from_bytes("linear.ptd", weights.to_vec()?)?];
    /// assert!(!program.check(&options)?[0].1.has_errors());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Findings about graphs of delegates have a [`SourcePosition`](crate::check::SourcePosition) in the YAML:
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::check::{CheckOptions, RuleId};
    ///
    /// let yaml = "methods: {forward: {
    ///   values: {x: {tensor: float32, sizes: [2]}, y: {tensor: float32, sizes: [2]}},
    ///   delegates: {part: {backend: XnnpackBackend, graph: {
    ///     values: {x: {datatype: fp32, sizes: [2]}, y: {datatype: fp32, sizes: [2]}},
    ///     inputs: [x], outputs: [y],
    ///     nodes: [{abs: {input: x, output: y}}, {abs: {input: y, output: x}}]}}},
    ///   inputs: [x], outputs: [y], instructions: [{delegate: part, args: [x, y]}]}}";
    /// let findings = Model::from_yaml("model.yaml", yaml, ".").check(&CheckOptions::default())?;
    /// let finding = findings[0].1.list.iter().find(|finding| finding.rule.id == RuleId::D_12).unwrap();
    /// let source = finding.source.as_ref().unwrap();
    /// assert_eq!(source.path, "methods.forward.delegates.part.graph.nodes[1]");
    /// assert_eq!((source.line, source.column), (6, 43));
    /// assert!(yaml[source.span.start..].starts_with("{abs: {input: y"));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A file cannot be read, or the YAML is invalid. Findings are not errors.
    pub fn check(&self, options: &CheckOptions) -> Result<Vec<(String, Findings)>, Error> {
        let mut findings = self.check_for(options, std::slice::from_ref(&options.runtime))?;
        Ok(findings.pop().unwrap_or_default())
    }

    /// Validates like [`Model::check`], once for several releases, which replace that of the options; `None` stands for
    /// no release. Returns the findings of each.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::check::{CheckOptions, Work};
    /// use pte_emit::release::Release;
    ///
    /// let releases = ["0.4.0", "1.5.1"].map(|name| Some(Release::find(name).unwrap()));
    /// // All checks with these options share the work of one.
    /// let options = CheckOptions::default().work(Work::default());
    /// let found = Model::open("examples/linear.yaml")?.check_for(&options, &releases)?;
    /// assert!(found.iter().all(|files| !files[0].1.has_errors()));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Model::check`].
    pub fn check_for(
        &self,
        options: &CheckOptions,
        releases: &[Option<Release>],
    ) -> Result<Vec<Vec<(String, Findings)>>, Error> {
        let options = &*self.loaded(options)?;
        let SourceContent::Binary(origin) = &self.source.content else {
            let assembly = self.assembly()?;
            let names: Vec<String> = self.assembled(assembly).map(|(name, ..)| name).collect();
            let found = assembly.check_for(options, releases)?;
            return Ok(found.into_iter().map(|found| names.iter().cloned().zip(found).collect()).collect());
        };
        let findings =
            pte_check::file_for(origin, options, releases).map_err(|error| self.source.unreadable(&error))?;
        Ok(findings.into_iter().map(|findings| vec![(self.label(), findings)]).collect())
    }

    /// Returns options of a validation with the files of [`Model::with_data_files`], unless they have others.
    pub(crate) fn loaded<'o>(&self, options: &'o CheckOptions) -> Result<Cow<'o, CheckOptions>, Error> {
        match (&*self.source.data_files, &*options.with) {
            ([], _) | (_, [_, ..]) => Ok(Cow::Borrowed(options)),
            (files, []) => {
                let files = files.iter().map(DataFile::open).collect::<Result<_, Error>>()?;
                Ok(Cow::Owned(options.clone().with(files)))
            }
        }
    }

    /// Compares this source with a newer one. Elements are aligned by names and structure, not by index.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::diff::{DiffArea, DiffKind, DiffOptions, DiffTopic};
    ///
    /// let yaml = std::fs::read_to_string("examples/linear.yaml")?;
    /// let left = Model::from_yaml("linear.yaml", &yaml, "examples");
    /// let right = Model::from_yaml("gelu.yaml", yaml.replace("aten::relu.out", "aten::hardtanh.out"), "examples");
    ///
    /// let found = left.diff(&right, &DiffOptions::default())?;
    /// assert!(!found.is_empty() && found.len() == found.of(DiffArea::Meaning).count());
    /// let changed = found.list.iter().find(|difference| difference.topic == DiffTopic::Instruction).unwrap();
    /// assert_eq!((changed.area.name(), changed.kind), ("meaning", DiffKind::Changed));
    /// assert!(changed.right.as_ref().unwrap().value.starts_with("aten::hardtanh.out("));
    /// assert!(left.diff(&left, &DiffOptions::default())?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Weights have statistics:
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::diff::{DiffKind, DiffOptions, DiffTopic};
    ///
    /// let weights = |last: &str| {
    ///     let yaml = format!("named_data: {{bias: {{tensor: float32, data: [1, {last}]}}}}");
    ///     Model::from_yaml("weights.yaml", yaml, ".")
    /// };
    /// let found = weights("2").diff(&weights("4"), &DiffOptions::default())?;
    /// let difference = &found.list[0];
    /// assert_eq!((&*difference.path, difference.kind), ("keys.bias", DiffKind::Changed));
    /// assert_eq!(difference.topic, DiffTopic::ExternalData);
    /// assert_eq!(difference.left.as_ref().unwrap().value, "float32 [2], 8 bytes");
    /// let data = difference.data.as_ref().unwrap();
    /// assert_eq!((data.elements, data.differing, data.max_abs), (2, Some(1), Some(2f64)));
    /// assert!(serde_json::to_string(&found).unwrap().contains(r#""mean_abs":1.0"#));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A file cannot be read or is malformed, or the YAML is invalid. Differences are not errors.
    pub fn diff(&self, newer: &Model, options: &DiffOptions) -> Result<Differences, Error> {
        let mut sides = [self.side()?, newer.side()?];
        load(&mut sides, [self, newer])?;
        let areas = options.only.map_or(DiffArea::ALL.to_vec(), |area| vec![area]);
        let name = format!("{} and {}", self.label(), newer.label());
        let schema = options.schema.as_ref().map(|schema| {
            let invalid = |message: String| Error::input(Code::InvalidGraph, &schema.name, message);
            flat::bfbs::read(&schema.bytes).map_err(invalid)
        });
        let found = pte_diff::compare([&sides[0], &sides[1]], &areas, options.data, schema.transpose()?);
        let mut found = found.map_err(|error| Error::io(&name, "", &error))?;
        let names = sides.map(|side| value_names(&side));
        for difference in &mut found.list {
            for (part, names) in [&mut difference.left, &mut difference.right].into_iter().zip(&names) {
                part.iter_mut().for_each(|part| part.name = names.get(&part.path).cloned());
            }
        }
        Ok(found)
    }

    /// Returns the source as a side of a comparison.
    pub(crate) fn side(&self) -> Result<Side, Error> {
        let side = match &self.source.content {
            // A version without the file.
            SourceContent::Binary(Origin::File(path)) if pte_diff::is_null_device(path) => Ok(Side::default()),
            SourceContent::Binary(origin) => Side::of_file(origin),
            SourceContent::Text(_) => crate::assembly::side::of(self.assembly()?),
        };
        side.map_err(|error| self.source.unreadable(&error))
    }

    /// Explains every byte of a `.pte`, `.ptd` or `.bpte`, even if it is malformed. For YAML, explains the first file
    /// that it assembles to.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::inspect::AnnotateOptions;
    ///
    /// let mut out = Vec::new();
    /// Model::from_binary("cut.pte", b"\x30\0\0\0ET12").annotate(&AnnotateOptions::default(), &mut out)?;
    /// assert!(String::from_utf8(out).unwrap().contains("-> 0x00000030: beyond the end of the file"));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read or is of an unknown format, the YAML is invalid, or `out` returns an error.
    pub fn annotate(&self, options: &AnnotateOptions, out: &mut dyn io::Write) -> Result<(), Error> {
        let ModelFile { format, origin, .. } = self.main_file()?;
        let format = format
            .ok_or_else(|| Error::input(Code::UnexpectedInput, self.name(), "expected a .pte, .ptd or .bpte file"))?;
        annotate::annotate(&origin, format, options, out).map_err(|error| self.source.unreadable(&error))
    }
}

impl Assembly {
    /// Validates the files before they are written: the program, if there is one, then each `.ptd`. The program is
    /// validated with these `.ptd` files and those of the options.
    ///
    /// # Errors
    /// Data of small files with overrides that cannot be read; with [`CheckOptions::data`], elements that cannot be
    /// converted to the type of their tensor, since the files cannot be written.
    pub fn check(&self, options: &CheckOptions) -> Result<Vec<Findings>, Error> {
        let mut findings = self.check_for(options, std::slice::from_ref(&options.runtime))?;
        Ok(findings.pop().unwrap_or_default())
    }

    /// Validates like [`Assembly::check`], for several releases ([`Model::check_for`]).
    ///
    /// # Errors
    /// Those of [`Assembly::check`].
    pub(crate) fn check_for(
        &self,
        options: &CheckOptions,
        releases: &[Option<Release>],
    ) -> Result<Vec<Vec<Findings>>, Error> {
        crate::assembly::check::assembly(self, options, releases).map_err(|error| self.error(&error))
    }

    /// Validates the bytes of [`Assembly::bundled`], and the program in them.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::check::CheckOptions;
    ///
    /// let linear = Model::open("examples/linear.yaml")?;
    /// let (assembly, options) = (linear.assembly()?, CheckOptions::default());
    /// assert!(!assembly.check_bundled(&assembly.bundled()?.to_vec()?, &options).has_errors());
    /// assert!(!assembly.check(&options)?[0].has_errors());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_bundled(&self, bundled: &[u8], options: &CheckOptions) -> Findings {
        crate::assembly::check::bundled_assembly(self, bundled, options)
    }
}

/// Assembles printed YAML as the command does, but without a size limit, because its data already exist.
fn assemble_printed(yaml: &str, folder: &Path, extracted: &BTreeMap<PathBuf, Blob>) -> Result<Assembly, String> {
    let options = AssembleOptions { max_size: Some(u64::MAX), ..AssembleOptions::default() };
    let planned = extracted.iter().map(|(path, data)| (folder.join(path), data.clone())).collect();
    let mut source = Source::text_of("dump".to_owned(), yaml.into(), folder.to_owned());
    source.files.planned = Arc::new(planned);
    let first = |error: Error| {
        let first = error.diagnostics().iter().find(|diagnostic| diagnostic.severity == Severity::Error);
        first.map_or_else(|| error.to_string(), |first| first.message.clone())
    };
    let documents = Model::new(source).documents(&BTreeMap::new()).map_err(first)?;
    let [model] = &documents.models[..] else { return Err("it is several documents".into()) };
    model.assemble(&options).map_err(first)
}

/// Returns the names of values by path: of the YAML, or those that `dump` prints.
pub(crate) fn value_names(side: &Side) -> HashMap<String, String> {
    let printed = if side.has_value_names() { Vec::new() } else { printer::values(&side.program) };
    let mut names = HashMap::new();
    for (method, plan) in side.program.plans().iter().enumerate() {
        for value in 0..plan.values().len() {
            let name = || printed.get(method)?.names.get(value)?.as_deref();
            if let Some(name) = side.value_name(method, value).or_else(name) {
                names.insert(side.path(method, Part::Value(value)), name.to_owned());
            }
        }
    }
    names
}

/// Reads the entries of a `.ptd`.
pub(crate) fn data_entries(path: &Path) -> Result<Vec<reader::flat_tensor::FlatTensorEntry>, Error> {
    let entries = reader::flat_tensor::read(&Origin::File(path.into()));
    entries.map_err(|error| Error::io(&path.display().to_string(), "", &error))
}

/// Loads `.ptd` files with the programs of a comparison. For YAML that is compared with a file, these include the files
/// that it assembles to.
fn load(sides: &mut [Side; 2], models: [&Model; 2]) -> Result<(), Error> {
    let with = models.map(|model| &model.source.data_files);
    if with.iter().all(|files| files.is_empty()) {
        return Ok(());
    }
    let has_own = [0, 1].map(|side: usize| sides[side].external.is_some());
    for (number, side) in sides.iter_mut().enumerate() {
        let mut keys = Vec::new();
        for path in with[number] {
            keys.extend(data_entries(path)?.into_iter().map(|entry| (entry.key, entry.data)));
        }
        if has_own[number] && !has_own[1 - number] {
            let own = side.external.iter().flatten();
            keys.extend(own.map(|entry| (entry.key.clone(), entry.data.clone())));
        } else if with[number].is_empty() {
            continue;
        }
        side.load(keys).map_err(|error| models[number].source.unreadable(&error))?;
    }
    Ok(())
}

pte_model::options! {
    /// Options of [`Model::diff`].
    ///
    /// ```
    /// use pte_emit::diff::{DiffArea, DiffData, DiffOptions};
    ///
    /// let mut options = DiffOptions::default();
    /// assert_eq!((options.data, options.only), (DiffData::Statistics, None));
    /// options.data = DiffData::None;
    /// options.only = Some(DiffArea::Meaning);
    /// ```
    #[derive(Debug, Clone, Default)]
    pub struct DiffOptions {
        /// Extent to which data are compared.
        pub data: DiffData,
        /// The only area to compare; `None` for all.
        pub only: Option<DiffArea>,
        /// Schema of the payloads of a backend of your own, which are compared by it.
        pub schema: Option<PayloadSchema>,
    }
}

/// A schema of FlatBuffers in binary form, which `flatc --binary --schema` writes.
///
/// ```
/// use pte_emit::Model;
/// use pte_emit::diff::{DiffOptions, PayloadSchema};
///
/// let model = |name: &str| {
///     let data = format!("{{flatbuffer: {{schema: npu.bfbs, root: {{layers: [{{name: {name}}}]}}}}}}");
///     let delegate = format!("delegates: {{npu: {{backend: NpuBackend, data: {data}}}}}");
///     let text = format!("methods: {{forward: {{{delegate}, instructions: [{{delegate: npu, args: []}}]}}}}");
///     Model::from_yaml(name, text, "examples/data")
/// };
/// let bytes = std::fs::read("examples/data/npu.bfbs").unwrap();
/// let options = DiffOptions::default().schema(Some(PayloadSchema { name: "npu.bfbs".to_owned(), bytes }));
/// let found = model("a").diff(&model("b"), &options)?;
/// assert_eq!(found.list[0].path, "methods.forward.delegates[0].layers[0].name");
/// # Ok::<(), pte_emit::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadSchema {
    /// Name in messages, such as `npu.bfbs`.
    pub name: String,
    /// Content of the file.
    pub bytes: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::facade::inspection::{InspectOptions, MemoryOptions, SizeOptions};
    use crate::inspect::ReportOptions;

    thread_local! {
        /// Labels of the sources that this thread has assembled.
        pub static ASSEMBLED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }

    /// Returns how often `ask` assembles a source.
    fn assemblies(ask: impl Fn(&Model) -> Result<(), Error>) -> usize {
        let model = Model::open("examples/linear.yaml").unwrap();
        ASSEMBLED.take();
        ask(&model).unwrap_or_else(|error| panic!("{error}"));
        ASSEMBLED.take().iter().filter(|name| **name == model.label()).count()
    }

    #[test]
    fn yaml_is_assembled_once_for_a_report() {
        assert_eq!(assemblies(|model| model.report(None, &ReportOptions::default()).map(drop)), 1);
    }

    #[test]
    fn yaml_is_assembled_once_for_all_questions() {
        let count = assemblies(|model| {
            model.check(&CheckOptions::default())?;
            model.clone().inspect(&InspectOptions::default())?;
            model.size(&SizeOptions::default())?;
            model.memory(&MemoryOptions::default())?;
            model.report(None, &ReportOptions::default())?;
            model.diff(model, &DiffOptions::default())?;
            model.payloads()?;
            model.annotate(&AnnotateOptions::default(), &mut Vec::new())?;
            model.program()?;
            let printed = model.to_yaml(Path::new("."), &PrintOptions::default())?;
            assert!(printed.text.contains("aten::addmm.out"));
            Ok(())
        });
        assert_eq!(count, 1);
    }

    #[test]
    fn other_options_assemble_again() {
        let twice = |model: &Model| {
            let options = AssembleOptions { external_data: true, ..AssembleOptions::default() };
            assert_eq!(model.check(&CheckOptions::default())?.len(), 1);
            assert_eq!(model.clone().with_options(options).check(&CheckOptions::default())?.len(), 2);
            Ok(())
        };
        assert_eq!(assemblies(twice), 2);
    }

    #[test]
    fn questions_name_the_same_files() {
        let options = AssembleOptions { external_data: true, ..AssembleOptions::default() };
        let yaml = Model::open("examples/linear.yaml").unwrap().with_options(options);
        let bytes = yaml.assembly().unwrap().program_file().unwrap().to_vec().unwrap();
        for (model, count) in [(Model::from_binary("linear.pte", bytes), 1), (yaml, 2)] {
            let checked = model.check(&CheckOptions::default()).unwrap().into_iter().map(|(name, _)| name);
            let sizes = model.size(&SizeOptions::default()).unwrap().into_iter().map(|(name, _)| name);
            let names: Vec<String> = checked.collect();
            assert_eq!((names.len(), &names), (count, &sizes.collect()));
        }
    }

    /// Bindings to other languages store these types.
    #[test]
    fn owned_types_are_shared_between_threads() {
        fn is_shared<T: Send + Sync + 'static>() {}
        is_shared::<(Model, Document, Resolved, crate::Planned, Assembly, Error, crate::payload::Payload)>();
        is_shared::<(
            Findings,
            Differences,
            Printed,
            crate::inspect::Inspection,
            crate::inspect::FileSize,
            crate::memory::ProgramMemory,
        )>();
    }
}
