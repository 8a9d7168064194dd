//! Stages from a source to its files, one function each. [`crate::assemble`] runs all of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::annotate::{self, AnnotateOptions};
use crate::assembly::{self, Assembly, BundledFile, PrunedNames};
use crate::check::{self, DataFile, Findings, Profile};
use crate::data::{Blob, BlobId, Origin, dedup};
use crate::diagnostics::{self, Severity};
use crate::diagnostics::{Code, counted};
use crate::diff::{self, DiffArea, DiffData, Differences, Side};
use crate::emitter::safetensors::{self, Safetensors};
use crate::error::Error;
use crate::format::{Format, container};
use crate::ir::files::FileAccess;
use crate::ir::resolve::origins::Origins;
use crate::ir::tree::NodeId;
use crate::ir::{self, NodeDiagnostic, document};
use crate::layout::options::OptionOverrides;
use crate::layout::{self, LayoutError, Plan, Shards};
use crate::operators::OperatorSet;
use crate::printer::{self, PrintOptions, Printed};
use crate::program::Program;
use crate::program::element::{Element, Part};
use crate::program::positions::Calls;
use crate::program::test_cases::MethodTests;
use crate::raw::fields::{OverrideMessage, OverrideReport};
use crate::raw::{self, Overrides};
use crate::reader;
use crate::recover;
use crate::source::{Source, SourceContent, SourceText};
use crate::transform;
use crate::transform::prune::{OverwrittenResult, PrunedMethod};
#[cfg(feature = "cli")]
use crate::transform::reduce::Candidate;

/// Default of [`Options::max_size`] in bytes: a typo such as `sizes: [1000000, 1000000]` must not fill a disk.
pub const DEFAULT_MAX_SIZE: u64 = 64 << 30;

/// Options of [`crate::assemble`] and [`plan`]. They override those of the source.
///
/// ```
/// use pte_emit::Options;
///
/// let mut options = Options::default();
/// options.external_data = true;
/// options.max_size = Some(pte_emit::DEFAULT_MAX_SIZE / 2);
/// options.layout.set("segment_alignment", "4K").unwrap();
/// assert!(options.layout.set("segment_alignment", "many").is_err());
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// Layout options, which override those of the source.
    pub layout: OptionOverrides,
    /// Store all constants in a `.ptd`.
    pub external_data: bool,
    /// Store the data of the files in `with` in the program.
    pub internal_data: bool,
    /// `.ptd` files with data that the program refers to.
    pub with: Vec<PathBuf>,
    /// Fail if the data, with the padding between them, exceed this total size in bytes; `None` is [`DEFAULT_MAX_SIZE`].
    pub max_size: Option<u64>,
    /// Splits the `.ptd` without a tag into several files.
    pub shards: Option<Shards>,
    /// Remove what has no effect: calls of known operators whose results nothing uses; values, operators and delegates
    /// that nothing refers to, with their data. The others are renumbered, also where the indices that the source
    /// requests leave gaps. `named_data` and state with a name stay. Without this option, unused values are reported as
    /// warnings.
    pub prune: bool,
}

/// YAML or JSON as a syntax tree with typed nodes: the result of [`parse`].
pub struct Document<'s> {
    source: SourceText<'s>,
    files: &'s FileAccess,
    document: document::ParsedDocument<'s>,
    messages: Vec<NodeDiagnostic>,
}

impl fmt::Debug for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document").field("name", &self.source.name).finish_non_exhaustive()
    }
}

/// Program, tests and options of a source: the result of [`resolve`] and of [`read`].
#[derive(Debug)]
pub struct Resolved<'s> {
    /// Program.
    pub program: Program,
    /// Tests of its methods.
    pub tests: Vec<MethodTests>,
    /// File name of the outputs without an extension, if the source has one (`name:`).
    pub name: Option<String>,
    layout: layout::LayoutConfig,
    overrides: Overrides,
    has_methods: bool,
    source: SourceText<'s>,
    origins: Origins<'s>,
    /// Warnings so far.
    pub(crate) messages: Vec<NodeDiagnostic>,
    /// Warnings about gaps between the requested indices of values, unless the program is pruned.
    gaps: Vec<NodeDiagnostic>,
    /// Names of unknown operators that a warning reports.
    pub(crate) reported_operators: BTreeSet<String>,
}

/// Program with the offsets of all its data: the result of [`plan`]; [`parse`] has an example.
#[derive(Debug)]
pub struct Planned<'s> {
    resolved: Resolved<'s>,
    plan: Plan,
    pruned: Vec<PrunedNames>,
}

/// Documents of a YAML stream with variables substituted: the result of [`documents`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Documents<'s> {
    /// Sources, one per document.
    pub sources: Vec<Source<'s>>,
    /// Names of the definitions that the YAML uses.
    pub used: BTreeSet<String>,
}

/// Splits YAML into its documents, and replaces `${NAME}` and `${NAME:default}` by definitions and defaults.
///
/// ```
/// use pte_emit::{Source, documents};
///
/// let definitions = [("N".to_owned(), "4".to_owned())].into();
/// let both = documents(Source::yaml("n.yaml", "name: n${N}\n---\nname: m${M:2}\n", "."), &definitions).unwrap();
/// assert_eq!(both.sources.len(), 2);
/// assert!(both.sources[1].text().unwrap().contains("name: m2"));
/// ```
///
/// # Errors
/// Undefined variables without a default.
pub fn documents<'s>(source: Source<'s>, definitions: &BTreeMap<String, String>) -> Result<Documents<'s>, Error> {
    let text = source.text().unwrap_or_default();
    let filled = ir::template::fill(text, definitions);
    let undefined = |errors: Vec<ir::tree::SyntaxError>| {
        let starts = ir::template::documents(text);
        let message = |mut error: ir::tree::SyntaxError| {
            if starts.len() > 1 {
                let line = text[..error.span.start].matches('\n').count();
                let number = starts.iter().filter(|(lines, _)| *lines <= line).count();
                error.message = format!("document {number}: {}", error.message);
            }
            error.diagnostic()
        };
        source.about().error(errors.into_iter().map(message).collect())
    };
    let ir::template::Expansion { text: filled, used, quoted_numbers } = filled.map_err(undefined)?;
    let used = used.into_iter().map(str::to_owned).collect();
    let documents = ir::template::documents(&filled);
    let is_whole = matches!((&filled, &documents[..]), (Cow::Borrowed(_), [_]));
    let number = |index: usize| (documents.len() > 1).then_some(index + 1);
    let mut start = 0;
    let part = |(index, (lines, text)): (usize, &(usize, &str))| {
        // The documents are adjacent.
        let range = start..start + text.len();
        start = range.end;
        let quoted = quoted_numbers.iter().filter(|quoted| range.contains(&quoted.start));
        let quoted = quoted.map(|quoted| quoted.start - range.start..quoted.end - range.start).collect();
        source.document((*text).to_owned(), *lines, number(index), quoted)
    };
    let parts = (!is_whole).then(|| documents.iter().enumerate().map(part).collect());
    Ok(Documents { sources: parts.unwrap_or_else(|| vec![source]), used })
}

/// Returns the JSON Schema of the YAML, for completion and validation in editors.
///
/// ```
/// assert!(pte_emit::json_schema().contains("https://json-schema.org"));
/// ```
pub fn json_schema() -> String {
    format!("{:#}\n", ir::json_schema::schema())
}

/// Parses YAML or JSON. Validates keys and kinds of nodes; names are not resolved.
///
/// The stages one by one; [`Resolved::program`] can be changed before it is planned:
///
/// ```
/// use pte_emit::{Options, Source, emit, parse, plan, resolve};
///
/// let source = Source::yaml("getter.yaml", "{name: eps, methods: {get_eps: {outputs: [1.0e-5]}}}", ".");
/// let mut resolved = resolve(parse(&source)?)?;
/// let methods = resolved.program.execution_plan.as_mut().unwrap();
/// methods[0].name = Some("epsilon".to_owned());
/// let assembly = emit(plan(resolved, &Options::default())?)?;
/// assert_eq!(assembly.name.as_deref(), Some("eps"));
/// assert_eq!(assembly.program().plans()[0].name.as_deref(), Some("epsilon"));
/// # Ok::<(), pte_emit::Error>(())
/// ```
///
/// # Errors
/// All unknown keys and values of a wrong kind; the first syntax error.
pub fn parse<'s>(source: &'s Source<'_>) -> Result<Document<'s>, Error> {
    let Some(text) = source.text() else {
        return Err(Error::input(Code::UnexpectedInput, source.name(), "expected YAML or JSON, found a binary file"));
    };
    let syntax = |error: ir::tree::SyntaxError| source.about().error(vec![error.diagnostic()]);
    let mut tree = ir::tree::parse(text).map_err(syntax)?;
    let strings = ir::template::unquote(&mut tree, text, source.quoted_numbers());
    let (document, messages) = ir::decode::decode(tree, strings);
    if messages.iter().any(|message| message.severity == Severity::Error) {
        // Resolving would report names of undecoded nodes as unknown.
        return Err(Error::new(source.about().report_nodes(messages)));
    }
    Ok(Document { source: source.about(), files: source.files(), document, messages })
}

impl Document<'_> {
    /// Returns the names of the delegates of each method.
    pub(crate) fn delegate_names(&self) -> Vec<Vec<String>> {
        let methods = self.document.methods.iter().flatten();
        let names = |method: &document::Method<'_>| method.delegates.iter().map(|d| d.name.value.to_string()).collect();
        methods.map(names).collect()
    }
}

impl Planned<'_> {
    /// Returns the program.
    pub(crate) fn program(&self) -> &Program {
        &self.resolved.program
    }
}

/// Resolves names, numbers values in the order of the exporter, opens data files.
///
/// # Errors
/// All unknown names and invalid values; data files that cannot be opened.
pub fn resolve(document: Document<'_>) -> Result<Resolved<'_>, Error> {
    let Document { source, files, document, mut messages } = document;
    let resolved = ir::resolve::resolve(&document, files);
    let mut resolved = resolved.map_err(|messages| Error::new(source.report_nodes(messages)))?;
    messages.append(&mut resolved.diagnostics);
    let mut layout = layout::LayoutConfig::default();
    resolved.options.apply(&mut layout);
    Ok(Resolved {
        program: resolved.program,
        tests: resolved.tests,
        name: document.name.map(|name| name.value.into_owned()),
        layout,
        overrides: resolved.overrides,
        has_methods: resolved.has_methods,
        source,
        origins: resolved.origins,
        messages,
        gaps: resolved.gaps,
        reported_operators: resolved.reported_operators,
    })
}

/// Reads a binary file and its layout options: a `.pte`, a `.ptd`, the program and the tests of a `.bpte`, or the tensors of a
/// `.safetensors`. Weights are not read.
///
/// ```
/// use pte_emit::{Options, Source, assemble, read};
///
/// let yaml = Source::open("examples/linear.yaml".as_ref())?;
/// let bytes = assemble(&yaml, &Options::default())?.program_file().unwrap().to_vec()?;
///
/// let file = Source::binary("linear.pte", &bytes);
/// let program = read(&file)?.program;
/// let method = &program.plans()[0];
/// assert_eq!(method.name.as_deref(), Some("forward"));
/// assert_eq!(method.tensors().count(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A file that cannot be read or is malformed.
pub fn read<'s>(source: &'s Source<'_>) -> Result<Resolved<'s>, Error> {
    let SourceContent::Binary(origin) = source.content() else {
        return Err(Error::input(
            Code::UnexpectedInput,
            source.name(),
            "expected a .pte, .ptd, .bpte or .safetensors file, found YAML",
        ));
    };
    let mut resolved = read_origin(origin).map_err(|error| Error::io(source.name(), "", &error))?;
    resolved.source = source.about();
    Ok(resolved)
}

fn read_origin<'s>(origin: &Origin) -> io::Result<Resolved<'s>> {
    let by_name = || origin.format_by_name().filter(|format| *format == Format::Safetensors);
    Ok(match origin.format()?.or_else(by_name) {
        Some(Format::BundledProgram) => {
            let bundled = reader::bundled_program::read(origin)?;
            let (program, layout) = recover::layout::program_with_layout(&bundled.program_origin()?)?;
            Resolved { tests: bundled.tests, layout, ..Resolved::from(program) }
        }
        Some(Format::FlatTensor) => {
            let recover::layout::RecoveredFlatTensor { program, options, .. } = recover::layout::flat_tensor(origin)?;
            Resolved { layout: options, has_methods: false, ..Resolved::from(program) }
        }
        Some(Format::Safetensors) => {
            Resolved { has_methods: false, ..Resolved::from(reader::safetensors::read(origin)?) }
        }
        Some(Format::Program) | None => {
            let (program, layout) = recover::layout::program_with_layout(origin)?;
            Resolved { layout, ..Resolved::from(program) }
        }
    })
}

/// Reads the program of a binary file, without its layout.
///
/// # Errors
/// A file that cannot be read or is malformed.
pub(crate) fn read_program(origin: &Origin) -> io::Result<Program> {
    match origin.format()? {
        Some(Format::BundledProgram) => {
            let bundled = reader::bundled_program::read(origin)?;
            Ok(reader::program::read(&bundled.program_origin()?)?.program)
        }
        Some(Format::FlatTensor | Format::Safetensors) => {
            Err(io::Error::other("expected a program (.pte, .bpte), found tensors without methods"))
        }
        Some(Format::Program) | None => Ok(reader::program::read(origin)?.program),
    }
}

impl From<Program> for Resolved<'_> {
    /// Wraps a program built without a source, with default layout options. One without a list of methods is emitted as a `.ptd`.
    fn from(program: Program) -> Self {
        Resolved {
            has_methods: program.execution_plan.is_some(),
            program,
            tests: Vec::new(),
            name: None,
            layout: layout::LayoutConfig::default(),
            overrides: Overrides::default(),
            source: SourceText::default(),
            origins: Origins::default(),
            messages: Vec::new(),
            gaps: Vec::new(),
            reported_operators: BTreeSet::new(),
        }
    }
}

impl Resolved<'_> {
    fn error(&self, messages: Vec<NodeDiagnostic>) -> Error {
        Error::new(self.source.report_nodes(messages))
    }

    fn io(&self, error: &io::Error) -> Error {
        Error::io(&self.source.label(), "", error)
    }

    /// Converts errors of the layout to messages, in the order of the source. A message about an element without a position in a source
    /// begins with its path.
    fn layout_messages(&self, errors: Vec<LayoutError>) -> Vec<NodeDiagnostic> {
        let message = |LayoutError { code, at, message, related, help }: LayoutError| {
            let node = self.origins.node(at);
            let mut text = match (node, &*at.path(&self.program)) {
                (Some(_), _) | (None, "") => message,
                (None, path) => format!("{path}: {message}"),
            };
            let mut positions = Vec::new();
            if let Some((at, label)) = related.map(|related| *related) {
                match self.origins.node(at) {
                    Some(node) => positions.push((node, label)),
                    None => text += &format!(" ({label}: {})", at.path(&self.program)),
                }
            }
            let help = help.filter(|_| node.is_some()).map(str::to_owned);
            NodeDiagnostic { at: node, related: positions, help, ..code.whole(text) }
        };
        let mut messages: Vec<NodeDiagnostic> = errors.into_iter().map(message).collect();
        messages.sort_by_key(|message| message.at);
        messages
    }
}

/// Moves data into or out of `.ptd` files as requested, plans memory and assigns offsets. Data are read only as far as deduplication
/// needs them.
///
/// # Errors
/// Data that exceed [`Options::max_size`], that cannot be read or are missing in the files of [`Options::with`]; contradictory memory
/// plans; offsets that do not fit their fields.
pub fn plan<'s>(mut resolved: Resolved<'s>, options: &Options) -> Result<Planned<'s>, Error> {
    options.layout.apply(&mut resolved.layout);
    resolved.layout.shards = options.shards.clone();
    let limit = options.max_size.unwrap_or(DEFAULT_MAX_SIZE);
    check_blobs(&resolved.program).map_err(|errors| resolved.error(resolved.layout_messages(errors)))?;
    override_payloads(&mut resolved)?;
    let pruned = prune(&mut resolved, options.prune);
    check_size(&resolved, limit).map_err(|errors| resolved.error(resolved.layout_messages(errors)))?;
    let same = move_data(&mut resolved, options).map_err(|error| resolved.io(&error))?;
    let plan = layout::plan(&resolved.program, &same, &resolved.layout)
        .and_then(|plan| check_padded_size(&resolved.program, &plan, limit).map(|()| plan));
    match plan {
        Ok(plan) => Ok(Planned { resolved, plan, pruned }),
        Err(errors) => Err(resolved.error(resolved.layout_messages(errors))),
    }
}

/// Applies the field overrides in payloads of delegates, which change no sizes.
///
/// # Errors
/// Overrides that cannot be applied.
fn override_payloads(resolved: &mut Resolved<'_>) -> Result<(), Error> {
    let mut report = OverrideReport::default();
    let Resolved { program, overrides, origins, messages, .. } = resolved;
    raw::payload::apply(&mut overrides.main, program, origins, &mut report);
    let (errors, warnings) = override_messages(report, origins);
    messages.extend(warnings);
    if errors.is_empty() { Ok(()) } else { Err(resolved.error(errors)) }
}

/// Returns the errors and the warnings about overrides, with their positions.
fn override_messages(report: OverrideReport, origins: &Origins) -> (Vec<NodeDiagnostic>, Vec<NodeDiagnostic>) {
    let at = |OverrideMessage { number, message }: OverrideMessage, severity, code: Code| NodeDiagnostic {
        severity,
        at: origins.field_override(number),
        ..code.whole(message)
    };
    let errors = report.errors.into_iter().map(|error| at(error, Severity::Error, Code::InvalidOverride));
    let warnings = report.warnings.into_iter().map(|warning| at(warning, Severity::Warning, Code::IneffectiveOverride));
    (errors.collect(), warnings.collect())
}

/// Removes the unused parts of a program if `requested`, else warns about unused values of a source, and about gaps between the indices
/// that it requests.
fn prune(resolved: &mut Resolved<'_>, requested: bool) -> Vec<PrunedNames> {
    let Resolved { program, origins, .. } = resolved;
    if requested {
        let names = |(method, counts): (usize, PrunedMethod)| {
            let removed = |(_, value): &(String, usize)| counts.values.binary_search(value).is_err();
            let names = origins.values(method).into_iter().filter(removed).map(|(name, _)| name).collect();
            origins.retain(method, &counts.values, &counts.delegates, counts.removed_instructions == 0);
            PrunedNames { counts, names }
        };
        return transform::prune::prune(program).into_iter().enumerate().map(names).collect();
    }
    resolved.messages.append(&mut resolved.gaps);
    // A program without a source is as it was read or built.
    if !resolved.origins.methods.is_empty() {
        let unused = transform::prune::unused_parts(&resolved.program);
        let warnings = unused.iter().enumerate().flat_map(|(method, unused)| {
            let overwritten = overwritten_warnings(resolved, method, &unused.overwritten);
            unused_warning(resolved, method, &unused.values).into_iter().chain(overwritten)
        });
        let warnings: Vec<NodeDiagnostic> = warnings.collect();
        resolved.messages.extend(warnings);
    }
    Vec::new()
}

/// Returns a warning about the unused values of a method that have names.
fn unused_warning(resolved: &Resolved<'_>, method: usize, unused: &[usize]) -> Option<NodeDiagnostic> {
    let name = |value: &usize| Some((*value, resolved.origins.name(method, *value)?));
    let mut named: Vec<(NodeId, &str)> = unused
        .iter()
        .filter_map(name)
        .filter_map(|(value, name)| Some((resolved.origins.node(Element::Method(method, Part::Value(value)))?, name)))
        .collect();
    named.sort_unstable();
    let (first, _) = *named.first()?;
    let names = diagnostics::first_names(named.iter().map(|(_, name)| *name));
    let noun = if named.len() == 1 { "value" } else { "values" };
    let method = resolved.program.plans().get(method)?.name.as_deref().map_or("".into(), diagnostics::clipped);
    let warning = Code::Unused.warning(first, format!("unused {noun} in method `{method}`: {names}"));
    Some(warning.label("unused").help("`--prune` removes unused values, and the instructions that only write them"))
}

/// Returns a warning about each result of a method that is overwritten before it is read, if its value has a name.
fn overwritten_warnings(
    resolved: &Resolved<'_>,
    method: usize,
    overwritten: &[OverwrittenResult],
) -> Vec<NodeDiagnostic> {
    if overwritten.is_empty() {
        return Vec::new();
    }
    let chains = resolved.program.plans().get(method).and_then(|plan| plan.chains.as_deref()).unwrap_or_default();
    let counts = chains.iter().map(|chain| chain.instructions.as_ref().map_or(0, Vec::len));
    let parts = counts.enumerate().flat_map(|(chain, count)| (0..count).map(move |at| Part::Instruction(chain, at)));
    let parts: Vec<Part> = parts.collect();
    let node = |step: usize| resolved.origins.node(Element::Method(method, *parts.get(step)?));
    let warning = |of: &OverwrittenResult| {
        let name = diagnostics::clipped(resolved.origins.name(method, of.value)?);
        let warning =
            Code::Unused.warning(node(of.step)?, format!("the result `{name}` is overwritten before it is read"));
        let warning = warning.label("unused result").related(node(of.by)?, "overwritten here");
        Some(warning.help("`--prune` removes instructions whose results nothing reads"))
    };
    overwritten.iter().filter_map(warning).collect()
}

/// Moves data into or out of `.ptd` files. Returns for each blob the first one with the same bytes.
fn move_data(resolved: &mut Resolved<'_>, options: &Options) -> io::Result<Vec<BlobId>> {
    let Resolved { program, origins, messages, .. } = resolved;
    if options.internal_data || !options.with.is_empty() {
        let dropped = transform::internalize::internalize(program, &options.with, options.internal_data)?;
        messages.extend(dropped.into_iter().map(|(file, key)| {
            let (file, key) = (file.display(), diagnostics::clipped(&key));
            let message = format!("dropped `{key}` of {file}: a program has no metadata of a .safetensors");
            NodeDiagnostic { severity: Severity::Warning, ..Code::DroppedMetadata.whole(message) }
        }));
    }
    let same = dedup::find(&program.blobs).map_err(|(_, error)| error)?;
    if options.external_data {
        let name = |method, value| origins.name(method, value).map(str::to_owned);
        transform::externalize::externalize(program, &same, name);
    }
    Ok(same)
}

/// Builds the metadata of all files and applies the field overrides of `raw:`. Data are read when the files are written.
///
/// # Errors
/// Overrides of unknown fields; metadata larger than 2 GiB; data inside the FlatBuffer that cannot be read.
pub fn emit(planned: Planned<'_>) -> Result<Assembly, Error> {
    let Planned { mut resolved, plan, pruned } = planned;
    let program = std::mem::take(&mut resolved.program);
    let (tests, overrides) = (std::mem::take(&mut resolved.tests), std::mem::take(&mut resolved.overrides));
    let (layout, origins) = (resolved.layout.clone(), &resolved.origins);
    let values = |method| origins.values(method);
    let emitted = assembly::emit(program, plan, layout, tests, overrides, resolved.has_methods, &values);
    let (mut assembly, outcome) = emitted.map_err(|error| resolved.io(&error))?;
    let (mut errors, warnings) = override_messages(outcome, origins);
    errors.extend(assembly.patches_beyond_the_end().into_iter().map(|(number, patch, size)| {
        let patch =
            format!("patch of {} at offset {}", diagnostics::counted(patch.bytes.len() as u64, "byte"), patch.at);
        let mut diagnostic =
            Code::InvalidOverride.whole(format!("{patch} exceeds the file size of {}", counted(size, "byte")));
        diagnostic.at = origins.patch(number);
        diagnostic
    }));
    if !errors.is_empty() {
        errors.sort_by_key(|error| error.at);
        return Err(resolved.error(errors));
    }
    let mut messages = std::mem::take(&mut resolved.messages);
    messages.extend(warnings);
    // Messages of all stages in the order of the source.
    messages.sort_by_key(|message| message.at);
    assembly.warnings = resolved.source.report_nodes(messages);
    assembly.name = resolved.name;
    let calls = Calls::of(assembly.program());
    assembly.delegates = resolved.origins.delegates(&calls, |nodes| resolved.source.positions(nodes));
    assembly.value_names = resolved.origins.into_names();
    assembly.pruned = pruned;
    assembly.reported_operators = resolved.reported_operators;
    Ok(assembly)
}

/// Files in other formats.
impl Assembly {
    /// Returns the program and its tests as a `.bpte`.
    ///
    /// ```
    /// use pte_emit::{Options, Source, assemble};
    ///
    /// let assembly = assemble(&Source::open("examples/linear.yaml".as_ref())?, &Options::default())?;
    /// let bundled = assembly.bundled()?;
    /// assert_eq!(&bundled.flatbuffer()[4..8], b"BP08");
    /// let mut bpte = Vec::new();
    /// bundled.write(&mut bpte)?;
    /// assert_eq!(bundled.size(), Some(bpte.len() as u64));
    /// assert_eq!(bundled.to_vec()?, bpte);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A source without methods, tests with values that the format does not support, data that cannot be read, overrides of unknown
    /// fields.
    pub fn bundled(&self) -> Result<BundledFile, Error> {
        self.bundle().map_err(|error| self.error(&error))
    }

    /// Returns the tensors of an assembly without methods as a `.safetensors` file.
    ///
    /// ```
    /// use pte_emit::{Options, Source, assemble};
    ///
    /// let yaml = "named_data: {bias: {tensor: float32, sizes: [2], data: [0.5, -0.5]}}";
    /// let weights = assemble(&Source::yaml("weights.yaml", yaml, "."), &Options::default())?.safetensors()?;
    /// let mut file = Vec::new();
    /// weights.write(&mut file)?;
    /// assert_eq!(file.len() as u64, weights.size());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An assembly with methods; a blob that is not a tensor, an element type that the format does not have: the message names the key.
    pub fn safetensors(&self) -> Result<Safetensors, Error> {
        self.tensors().map_err(|error| self.error(&error))
    }

    /// Does the same as [`Assembly::safetensors`]; the error does not name the source.
    pub(crate) fn tensors(&self) -> io::Result<Safetensors> {
        match self.program_file() {
            None => safetensors::emit(&self.program),
            Some(_) => {
                let methods = diagnostics::counted(self.program.plans().len() as u64, "method");
                Err(io::Error::other(format!("a .safetensors has no methods, the program has {methods}")))
            }
        }
    }

    /// Returns an error about the source.
    fn error(&self, error: &io::Error) -> Error {
        Error::io(&self.warnings.label(), "", error)
    }
}

/// Prints a binary file as YAML that reproduces it byte for byte, and assembles that YAML to verify it; see
/// [`Printed`]. Paths in the YAML are relative to `folder`.
///
/// ```
/// use pte_emit::{LargeData, Options, PrintOptions, Source, assemble, print};
///
/// let yaml = Source::open("examples/linear.yaml".as_ref())?;
/// let bytes = assemble(&yaml, &Options::default())?.program_file().unwrap().to_vec()?;
///
/// let mut options = PrintOptions::default();
/// options.large_data = LargeData::Inline;
/// options.file = "linear.pte".to_owned();
/// let printed = print(&Source::binary("linear.pte", &bytes), ".".as_ref(), &options)?;
/// assert_eq!(printed.difference, None);
/// assert!(printed.text.contains("kernel: aten::relu.out"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A file that cannot be read, or is of an unknown format.
pub fn print(source: &Source<'_>, folder: &Path, options: &PrintOptions) -> Result<Printed, Error> {
    let SourceContent::Binary(origin) = source.content() else {
        return Err(Error::input(
            Code::UnexpectedInput,
            source.name(),
            "expected a .pte, .ptd or .bpte file, found YAML",
        ));
    };
    printer::print(origin, folder, options, &assemble_printed).map_err(|error| Error::io(source.name(), "", &error))
}

/// Assembles printed YAML as the command does, without a size limit: its data exist already.
fn assemble_printed(yaml: &str, folder: &Path, extracted: &BTreeMap<PathBuf, Blob>) -> Result<Assembly, String> {
    let options = Options { max_size: Some(u64::MAX), ..Options::default() };
    let planned = extracted.iter().map(|(path, data)| (folder.join(path), data.clone())).collect();
    let source = Source::yaml("dump", yaml, folder).with_planned_files(Arc::new(planned));
    let first = |error: Error| {
        let first = error.diagnostics().iter().find(|diagnostic| diagnostic.severity == Severity::Error);
        first.map_or_else(|| error.to_string(), |first| first.message.clone())
    };
    let documents = documents(source, &BTreeMap::new()).map_err(first)?;
    let [source] = &documents.sources[..] else { return Err("it is several documents".into()) };
    crate::assemble(source, &options).map_err(first)
}

/// Returns the program of a source for `reduce`, and its layout options. A binary file is printed and resolved, so that
/// only its unusual properties are explicit: a changed program is planned anew.
///
/// # Errors
/// A file that cannot be read, or printed; invalid YAML.
#[cfg(feature = "cli")]
pub(crate) fn reducible(source: &Source<'_>) -> Result<(Candidate, layout::LayoutConfig), Error> {
    if source.is_text() {
        let Resolved { program, tests, layout, .. } = resolve(parse(source)?)?;
        return Ok((Candidate { program, tests }, layout));
    }
    let mut options = PrintOptions::default();
    (options.large_data, options.file) = (printer::LargeData::Refer, source.name().to_owned());
    let printed = print(source, Path::new(""), &options)?;
    let yaml = documents(Source::yaml(source.name(), printed.text, ""), &BTreeMap::new())?;
    yaml.sources.first().map_or_else(|| Ok(Default::default()), reducible)
}

/// Plans and emits a program with the layout options of [`reducible`], without a source.
///
/// # Errors
/// Those of [`plan`] and [`emit`].
#[cfg(feature = "cli")]
pub(crate) fn rebuild(candidate: &Candidate, layout: &layout::LayoutConfig) -> Result<Assembly, Error> {
    let Candidate { program, tests } = candidate.clone();
    let resolved = Resolved { tests, layout: layout.clone(), ..Resolved::from(program) };
    emit(plan(resolved, &Options::default())?)
}

/// Options of [`check`].
///
/// ```
/// use pte_emit::{CheckOptions, OperatorSet, Profile, Source, check};
///
/// let mut operators = OperatorSet::new();
/// operators.add("my::scale.out self:T factor:f out:T!").unwrap();
/// let mut options = CheckOptions::default();
/// options.profile = Profile::Portable;
/// options.operators = operators;
/// let findings = check(&Source::open("examples/linear.yaml".as_ref())?, &options)?;
/// assert_eq!(findings.len(), 1);
/// assert!(!findings[0].has_errors());
/// # Ok::<(), pte_emit::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CheckOptions {
    /// Runtime build that the file is for.
    pub profile: Profile,
    /// `.ptd` files with data that the program refers to.
    pub with: Vec<PathBuf>,
    /// Validate constants and initial states, too; only metadata by default.
    pub data: bool,
    /// Custom operators, in addition to those that the runtime registers.
    pub operators: OperatorSet,
}

/// Validates a binary file, or the files that YAML assembles to. Returns one list of findings per file, the program first. Reads only
/// metadata, unless [`CheckOptions::data`] is set.
///
/// ```
/// use pte_emit::{CheckOptions, Source, check};
///
/// let findings = check(&Source::binary("empty.pte", b"no program"), &CheckOptions::default()).unwrap();
/// assert!(findings[0].has_errors());
/// assert_eq!(findings[0].list()[0].rule.id.as_str(), "H-1");
/// ```
///
/// # Errors
/// A file that cannot be read; invalid YAML. Findings are not errors.
pub fn check(source: &Source<'_>, options: &CheckOptions) -> Result<Vec<Findings>, Error> {
    let unreadable = |error: io::Error| Error::io(&source.label(), "", &error);
    let open = |path: &PathBuf| {
        let name = path.display().to_string();
        DataFile::open(&name, &Origin::File(path.as_path().into())).map_err(|error| Error::io(&name, "", &error))
    };
    let with = options.with.iter().map(open).collect::<Result<_, Error>>()?;
    let (profile, data, operators) = (options.profile, options.data, options.operators.clone());
    let rules = check::ValidatorOptions { profile, with, data, operators, ..check::ValidatorOptions::default() };
    match source.content() {
        SourceContent::Binary(origin) => Ok(vec![check::file(origin, &rules).map_err(unreadable)?]),
        SourceContent::Text(_) => {
            let assembly = crate::assemble(source, &Options::default())?;
            check::assembly(&assembly, &rules).map_err(unreadable)
        }
    }
}

/// Options of [`diff`](diff()).
///
/// ```
/// use pte_emit::{DiffArea, DiffData, DiffOptions};
///
/// let mut options = DiffOptions::default();
/// assert_eq!((options.data, options.only), (DiffData::Statistics, None));
/// options.data = DiffData::None;
/// options.only = Some(DiffArea::Meaning);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DiffOptions {
    /// How data are compared.
    pub data: DiffData,
    /// The only area to compare; `None` for all.
    pub only: Option<DiffArea>,
    /// By side: `.ptd` files that are loaded with the program. The data of its tensors are looked up in them and compared.
    pub with: [Vec<PathBuf>; 2],
}

/// Compares two programs or files: binary files, or what YAML assembles to. Elements are aligned by names and by structure, not by index.
///
/// ```
/// use pte_emit::{DiffArea, DiffKind, DiffOptions, DiffTopic, Source, diff};
///
/// let yaml = std::fs::read_to_string("examples/linear.yaml")?;
/// let left = Source::yaml("linear.yaml", &yaml, "examples");
/// let right = Source::yaml("gelu.yaml", yaml.replace("aten::relu.out", "aten::hardtanh.out"), "examples");
///
/// let found = diff(&left, &right, &DiffOptions::default())?;
/// assert!(!found.is_empty() && found.len() == found.of(DiffArea::Meaning).count());
/// let changed = found.list.iter().find(|difference| difference.topic == DiffTopic::Instruction).unwrap();
/// assert_eq!((changed.area.name(), changed.kind), ("meaning", DiffKind::Changed));
/// assert!(changed.right.as_ref().unwrap().value.starts_with("aten::hardtanh.out("));
/// assert!(diff(&left, &left, &DiffOptions::default())?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A file that cannot be read or is malformed; invalid YAML. Differences are not errors.
pub fn diff(left: &Source<'_>, right: &Source<'_>, options: &DiffOptions) -> Result<Differences, Error> {
    let mut sides = [side(left)?, side(right)?];
    load(&mut sides, [left, right], &options.with)?;
    let areas = options.only.map_or(DiffArea::ALL.to_vec(), |area| vec![area]);
    let name = format!("{} and {}", left.label(), right.label());
    diff::compare([&sides[0], &sides[1]], &areas, options.data).map_err(|error| Error::io(&name, "", &error))
}

/// Loads `.ptd` files with the programs of a comparison. YAML that is compared with a file brings its own.
fn load(sides: &mut [Side; 2], sources: [&Source<'_>; 2], with: &[Vec<PathBuf>; 2]) -> Result<(), Error> {
    if with.iter().all(Vec::is_empty) {
        return Ok(());
    }
    let has_own = [0, 1].map(|side: usize| sides[side].external.is_some());
    for (number, side) in sides.iter_mut().enumerate() {
        let mut keys = Vec::new();
        for path in &with[number] {
            let name = path.display().to_string();
            let entries = reader::flat_tensor::read(&Origin::File(path.as_path().into()));
            let entries = entries.map_err(|error| Error::io(&name, "", &error))?;
            keys.extend(entries.into_iter().map(|entry| (entry.key, entry.data)));
        }
        if has_own[number] && !has_own[1 - number] {
            let own = side.external.iter().flatten();
            keys.extend(own.map(|entry| (entry.key.clone(), entry.data.clone())));
        } else if with[number].is_empty() {
            continue;
        }
        side.load(keys).map_err(|error| Error::io(&sources[number].label(), "", &error))?;
    }
    Ok(())
}

/// Returns a source as a side of a comparison.
fn side(source: &Source<'_>) -> Result<Side, Error> {
    let unreadable = |error: io::Error| Error::io(&source.label(), "", &error);
    match source.content() {
        // A version without the file.
        SourceContent::Binary(Origin::File(path)) if diff::is_null_device(path) => Ok(Side::default()),
        SourceContent::Binary(origin) => Side::of_file(origin).map_err(unreadable),
        SourceContent::Text(_) => Side::of_assembly(&crate::assemble(source, &Options::default())?).map_err(unreadable),
    }
}

/// Explains every byte of a `.pte`, `.ptd` or `.bpte`, also of a malformed one.
///
/// ```
/// use pte_emit::{AnnotateOptions, Source, annotate};
///
/// let mut out = Vec::new();
/// annotate(&Source::binary("cut.pte", b"\x30\0\0\0ET12"), &AnnotateOptions::default(), &mut out).unwrap();
/// assert!(String::from_utf8(out).unwrap().contains("-> 0x00000030: beyond the end of the file"));
/// ```
///
/// # Errors
/// A file that cannot be read or is of an unknown format; errors of `out`.
pub fn annotate(source: &Source<'_>, options: &AnnotateOptions, out: &mut dyn io::Write) -> Result<(), Error> {
    let name = source.name();
    let io = |error: io::Error| Error::io(name, "", &error);
    let unknown = || Error::input(Code::UnexpectedInput, name, "expected a .pte, .ptd or .bpte file");
    let SourceContent::Binary(origin) = source.content() else { return Err(unknown()) };
    let (head, len) = (origin.head(container::HEAD).map_err(io)?, origin.len().map_err(io)?);
    let format = annotate::format(&head, len, Some(Path::new(name))).ok_or_else(unknown)?;
    annotate::annotate(origin, format, options, out).map_err(io)
}

/// Returns an error for each reference to a blob that the program does not have. Later stages index the blobs.
fn check_blobs(program: &Program) -> Result<(), Vec<LayoutError>> {
    let count = program.blobs.len();
    let unknown = program.blob_references().filter(|(_, blob)| blob.0 as usize >= count);
    let error = |(at, blob): (Element, BlobId)| {
        let blobs = diagnostics::counted(count as u64, "blob");
        LayoutError::new(Code::UnknownName, at, format!("unknown blob {}: the program has {blobs}", blob.0))
    };
    let errors: Vec<LayoutError> = unknown.map(error).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Returns an error at the largest data if the total exceeds `limit` bytes: data of the program, of tests, and of field overrides.
fn check_size(resolved: &Resolved<'_>, limit: u64) -> Result<(), Vec<LayoutError>> {
    let Resolved { program, tests, overrides, .. } = resolved;
    let total = assembly::data_size(program, tests, overrides);
    if total <= limit {
        return Ok(());
    }
    let references = program.blob_references().map(|(element, blob)| (program.blob(blob).len, element));
    let tests = tests.iter().map(|tests| (tests.size(), method(program, &tests.method)));
    let other = [overrides.size(), program.compile_spec_size()].map(|size| (size, Element::Program));
    let largest = references.chain(tests).chain(other).max_by_key(|(size, _)| *size);
    let message = format!(
        "the data have {} in total, more than the limit of {limit}, which the option `max-size` raises",
        counted(total, "byte")
    );
    Err(vec![LayoutError::new(Code::LimitExceeded, largest.map_or(Element::Program, |(_, element)| element), message)])
}

fn method(program: &Program, name: &str) -> Element {
    let number = program.plans().iter().position(|plan| plan.name.as_deref() == Some(name));
    number.map_or(Element::Program, |number| Element::Method(number, Part::Whole))
}

/// Returns an error at the data with the largest alignment if the data with the padding between them exceed `limit` bytes.
fn check_padded_size(program: &Program, plan: &Plan, limit: u64) -> Result<(), Vec<LayoutError>> {
    let files = std::iter::once(&plan.segments).chain(plan.external.iter().map(|file| &file.segments));
    let total = files.map(|segments| layout::segments::total(segments)).fold(0, u64::saturating_add);
    if total <= limit {
        return Ok(());
    }
    let named = program.named_data.iter().flatten().enumerate();
    let named = named.map(|(number, data)| (Element::NamedData(number), data.alignment));
    let external = program.external_data.iter().enumerate();
    let external = external.map(|(number, data)| (Element::ExternalData(number), data.alignment));
    let largest = named.chain(external).max_by_key(|(_, alignment)| *alignment).filter(|(_, alignment)| *alignment > 1);
    let message = format!(
        "the data and their padding have {} in total, more than the limit of {limit}, which the option `max-size` raises",
        counted(total, "byte")
    );
    Err(vec![LayoutError::new(Code::LimitExceeded, largest.map_or(Element::Program, |(element, _)| element), message)])
}
