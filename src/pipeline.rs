//! Stages from a source to its files, one function each. [`crate::Model::assemble`] runs all of them.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, btree_map};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::assembly::origins::Origins;
use crate::assembly::{self, Assembly};
use crate::detected;
use crate::facade::edit::layouts;
use crate::facade::source::{Source, SourceContent};
use crate::ir::document::ParsedDocument;
use crate::ir::resolve::InvalidTest;
use crate::ir::{self, NodeDiagnostic};
use crate::layout::options::LayoutOptions;
use crate::layout::{self, LayoutConfig, LayoutError, Plan, Shards};
use crate::overrides::fields::{OverrideMessage, OverrideReport};
use crate::overrides::{self, Overrides};
use crate::printer;
use pte_model::data::{BlobId, Origin, dedup};
use pte_model::diagnostics::counted;
use pte_model::diagnostics::{self, Code, Severity};
use pte_model::error::Error;
use pte_model::format::Format;
use pte_model::program::element::{Element, Part};
use pte_model::program::test_cases::MethodTests;
use pte_model::program::{Memory, MemoryPlan, Program};
use pte_model::reader;
use pte_releases::Release;
use pte_transform::externalize::{ExternalRequest, ExternalRule, ValueNames};
use pte_transform::for_release::WrittenFor;
use pte_transform::internalize::{InternalRequest, Internalized};
use pte_transform::pattern::Pattern;
use pte_transform::prune::{OverwrittenResult, PrunedParts};
use pte_transform::remap::Remap;
use pte_yaml::tree::{NodeId, SourceNode};

/// Default of [`AssembleOptions::max_size`] in bytes: a typo such as `sizes: [1000000, 1000000]` must not fill a disk.
pub const DEFAULT_MAX_SIZE: u64 = 64 << 30;

pte_model::options! {
    /// Options of assembling, for [`Model::assemble`](crate::Model::assemble),
    /// [`Model::with_options`](crate::Model::with_options) and [`Resolved::plan`]. They override those of the source.
    ///
    /// ```
    /// use pte_emit::AssembleOptions;
    /// use pte_emit::edit::Pattern;
    /// use pte_emit::plan::{Alignment, Storage};
    ///
    /// let mut options = AssembleOptions::default()
    ///     .external_data(true)
    ///     .external(vec!["encoder.ptd=encoder.*".parse().unwrap()])
    ///     .internal(vec![Pattern::new("head.*")])
    ///     .max_size(pte_emit::DEFAULT_MAX_SIZE / 2);
    /// options.layout.segment_alignment = Some(Alignment::Page);
    /// options.layout.constants = Some(Storage::Inline);
    /// ```
    #[derive(Debug, Clone, Default)]
    pub struct AssembleOptions {
        /// Layout options, which override those of the source.
        pub layout: LayoutOptions,
        /// Store all constants in a `.ptd`, and the named data that delegates refer to.
        pub external_data: bool,
        /// Store constants and named data with these names in these `.ptd` files. Of several rules that match, the
        /// first one applies.
        pub external: Vec<ExternalRule>,
        /// Store the data of the files in [`AssembleOptions::with`] in the program.
        pub internal_data: bool,
        /// Store the data of these keys in the program. The other data of [`AssembleOptions::with`] stay external.
        pub internal: Vec<Pattern>,
        /// `.ptd` files with data that the program refers to; if there are none, those of the model are used.
        pub with: Vec<PathBuf>,
        /// Fail if the data, with the padding between them, exceed this total size in bytes; `None` is
        /// [`DEFAULT_MAX_SIZE`].
        pub max_size: Option<u64>,
        /// Split the `.ptd` without a tag into several files.
        pub shards: Option<Shards>,
        /// Release of ExecuTorch that the files are written for; it replaces the one of the source.
        pub for_runtime: Option<Release>,
        /// Remove what has no effect: calls of known operators with unused results, and unreferenced values, operators
        /// and delegates with their data. The remaining ones are renumbered; this also closes gaps between indices that
        /// the source requests. `named_data` and state with a name are kept. Without this option, unused values are
        /// reported as warnings.
        pub prune: bool,
    }
}

self_cell::self_cell!(
    /// A source with its decoded content, which borrows strings of it.
    struct DecodedSource {
        owner: Arc<Source>,
        #[covariant]
        dependent: ParsedDocument,
    }
);

/// YAML or JSON as a syntax tree with typed nodes: the result of [`Model::parse`](crate::Model::parse).
pub struct Document {
    decoded: DecodedSource,
    messages: Vec<NodeDiagnostic>,
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document").field("name", &self.decoded.borrow_owner().name).finish_non_exhaustive()
    }
}

/// Program, tests and options of a source: the result of [`Model::resolve`](crate::Model::resolve) and of
/// [`Document::resolve`].
///
/// ```
/// use pte_emit::program::test_cases::{MethodTests, TestCase, TestData};
/// use pte_emit::{AssembleOptions, Model};
///
/// let source = Model::from_yaml("seven.yaml", "methods: {seven: {outputs: [7]}}", ".");
/// let mut resolved = source.parse()?.resolve()?;
/// let case = TestCase::new(Vec::new(), Some(vec![TestData::Int(7)]));
/// resolved.tests.push(MethodTests::new("seven", vec![case]));
/// let assembly = resolved.plan(&AssembleOptions::default())?.emit()?;
/// assert_eq!(assembly.tests[0].cases.len(), 1);
/// # Ok::<(), pte_emit::Error>(())
/// ```
#[derive(Debug)]
pub struct Resolved {
    /// Program.
    pub program: Program,
    /// Tests of its methods.
    pub tests: Vec<MethodTests>,
    /// File name of the outputs without an extension, if the source sets one (`name:`).
    pub name: Option<String>,
    /// Layout options of the source.
    pub layout: LayoutConfig,
    /// Release of ExecuTorch that the files are written for, if the source states one (`runtime:`).
    pub runtime: Option<Release>,
    /// Layouts of the binary inputs of a merge, if they are already those of a release.
    pub(crate) former: Vec<LayoutConfig>,
    /// Layout options that the source states.
    pub(crate) stated: LayoutOptions,
    overrides: Overrides,
    has_methods: bool,
    pub(crate) source: Arc<Source>,
    pub(crate) origins: Origins,
    /// Warnings so far.
    pub(crate) messages: Vec<NodeDiagnostic>,
    /// Warnings about gaps between the requested indices of values, unless the program is pruned.
    gaps: Vec<NodeDiagnostic>,
    /// Names of unknown operators that were reported as warnings.
    pub(crate) reported_operators: BTreeSet<String>,
    /// Files that were read to resolve the source.
    pub(crate) files: BTreeSet<PathBuf>,
}

/// Program with the offsets of all its data: the result of [`Resolved::plan`].
#[derive(Debug)]
pub struct Planned {
    resolved: Resolved,
    plan: Plan,
    pruned: Vec<PrunedParts>,
    written_for: Option<WrittenFor>,
    /// Limit of the data with their padding, in bytes.
    limit: u64,
}

impl Document {
    /// Parses YAML or JSON; see [`crate::Model::parse`].
    ///
    /// # Errors
    /// All unknown keys and values of a wrong kind; the first syntax error.
    pub(crate) fn parse(source: &Arc<Source>) -> Result<Document, Error> {
        let SourceContent::Text(_) = source.content else {
            return Err(Error::input(
                Code::UnexpectedInput,
                &source.name,
                "expected YAML or JSON, found a binary file",
            ));
        };
        let mut messages = Vec::new();
        let decoded = DecodedSource::try_new(source.clone(), |source| {
            let syntax = |error: pte_yaml::tree::SyntaxError| source.error(vec![error.diagnostic()]);
            let mut tree = pte_yaml::tree::parse(source.text()).map_err(syntax)?;
            let copies = pte_yaml::repeat::expand(&mut tree, source.text()).map_err(syntax)?;
            let (document, found) = decoded(source, tree, copies.strings)?;
            messages = found;
            Ok(document)
        })?;
        Ok(Document { decoded, messages })
    }

    /// Resolves names, numbers values in the order of the exporter, and opens data files.
    ///
    /// # Errors
    /// A name is unknown or a value invalid (all are reported), or a data file cannot be opened.
    pub fn resolve(self) -> Result<Resolved, Error> {
        let (mut resolved, invalid_tests) = self.resolve_with_invalid_tests()?;
        if invalid_tests.is_empty() {
            return Ok(resolved);
        }
        let mut messages = ir::Messages::default();
        messages.extend(std::mem::take(&mut resolved.messages));
        messages.extend(invalid_tests.into_iter().flat_map(|test| test.diagnostics));
        messages.sort();
        Err(Error::new(resolved.source.report_nodes(messages.into_list())))
    }

    /// Does the same as [`Document::resolve`], and returns the tests with errors, which the result does not have.
    ///
    /// # Errors
    /// Those of [`Document::resolve`], except of tests.
    pub(crate) fn resolve_with_invalid_tests(self) -> Result<(Resolved, Vec<InvalidTest>), Error> {
        let Document { decoded, messages } = self;
        resolved(decoded.borrow_owner(), decoded.borrow_dependent(), messages)
    }
}

/// Decodes the tree of a source, without repetitions. `strings` are its numbers that counters became.
fn decoded<'a>(
    source: &Source,
    mut tree: SourceNode<'a>,
    strings: HashMap<NodeId, String>,
) -> Result<(ParsedDocument<'a>, Vec<NodeDiagnostic>), Error> {
    let span = |id| source.spans().and_then(|spans| spans.get(id));
    let mut all = pte_yaml::template::unquote(&mut tree, &source.quoted_numbers, span);
    all.extend(strings);
    let (document, messages) = ir::decode::decode(tree, all);
    // Resolving would report names of undecoded nodes as unknown.
    let has_errors = messages.iter().any(NodeDiagnostic::is_error);
    if has_errors { Err(Error::new(source.report_nodes(messages))) } else { Ok((document, messages)) }
}

/// Resolves a decoded source; see [`Document::resolve_with_invalid_tests`].
fn resolved(
    source: &Arc<Source>,
    document: &ParsedDocument<'_>,
    mut messages: Vec<NodeDiagnostic>,
) -> Result<(Resolved, Vec<InvalidTest>), Error> {
    let resolved = ir::resolve::resolve(document, &source.files);
    let mut resolved = resolved.map_err(|messages| Error::new(source.report_nodes(messages)))?;
    messages.append(&mut resolved.diagnostics);
    let mut layout = LayoutConfig::default();
    resolved.options.apply(&mut layout);
    let found = Resolved {
        program: resolved.program,
        tests: resolved.tests,
        name: document.name.as_ref().map(|name| name.value.to_string()),
        layout,
        runtime: resolved.runtime,
        former: Vec::new(),
        stated: resolved.options,
        overrides: resolved.overrides,
        has_methods: resolved.has_methods,
        source: source.clone(),
        origins: resolved.origins,
        messages,
        gaps: resolved.gaps,
        reported_operators: resolved.reported_operators,
        files: resolved.files,
    };
    Ok((found, resolved.invalid_tests))
}

fn read_origin(origin: &Origin) -> io::Result<Resolved> {
    Ok(match origin.recognized_format()? {
        Some(Format::BundledProgram) => {
            let bundled = reader::bundled_program::read(origin)?;
            reader::newer::refuse_bundle(origin)?;
            let (program, layout) = detected::layout::program_with_layout(&bundled.program_origin()?)?;
            Resolved { tests: bundled.tests, layout, ..Resolved::from(program) }
        }
        Some(Format::FlatTensor) => {
            let detected::layout::RecoveredFlatTensor { program, options, .. } = detected::layout::flat_tensor(origin)?;
            reader::newer::refuse_flat_tensor(origin)?;
            Resolved { layout: options, has_methods: false, ..Resolved::from(program) }
        }
        Some(Format::Safetensors) => {
            Resolved { has_methods: false, ..Resolved::from(reader::safetensors::read(origin)?) }
        }
        Some(Format::Program) | None => {
            let (program, layout) = detected::layout::program_with_layout(origin)?;
            Resolved { layout, ..Resolved::from(program) }
        }
    })
}

impl From<Program> for Resolved {
    /// Wraps a program that was built without a source, with default layout options. A program without a list of
    /// methods is emitted as a `.ptd`.
    fn from(program: Program) -> Self {
        Resolved {
            has_methods: program.execution_plan.is_some(),
            program,
            tests: Vec::new(),
            name: None,
            layout: LayoutConfig::default(),
            runtime: None,
            former: Vec::new(),
            stated: LayoutOptions::default(),
            overrides: Overrides::default(),
            source: Arc::default(),
            origins: Origins::default(),
            messages: Vec::new(),
            gaps: Vec::new(),
            reported_operators: BTreeSet::new(),
            files: BTreeSet::new(),
        }
    }
}

impl Resolved {
    /// Resolves a source whose tree is known, as [`Document::parse`] and [`Document::resolve_with_invalid_tests`] do.
    ///
    /// # Errors
    /// Those of both.
    pub(crate) fn of_tree(
        source: &Arc<Source>,
        tree: SourceNode<'_>,
        strings: HashMap<NodeId, String>,
    ) -> Result<(Resolved, Vec<InvalidTest>), Error> {
        let (document, messages) = decoded(source, tree, strings)?;
        resolved(source, &document, messages)
    }

    /// Reads a binary file and its layout options; see [`crate::Model::resolve`].
    ///
    /// # Errors
    /// A file that cannot be read or is malformed.
    pub(crate) fn read(source: &Arc<Source>) -> Result<Resolved, Error> {
        let SourceContent::Binary(origin) = &source.content else {
            return Err(Error::input(
                Code::UnexpectedInput,
                &source.name,
                "expected a .pte, .ptd, .bpte or .safetensors file, found YAML",
            ));
        };
        let mut resolved = read_origin(origin).map_err(|error| source.unreadable(&error))?;
        resolved.source = source.clone();
        Ok(resolved)
    }

    /// Moves data into or out of `.ptd` files as requested, plans memory and assigns offsets. Data are read only as far
    /// as deduplication needs them.
    ///
    /// # Errors
    /// The data exceed [`AssembleOptions::max_size`], cannot be read, or are missing in the files of
    /// [`AssembleOptions::with`]. Memory plans contradict each other. An offset does not fit its field.
    pub fn plan(self, options: &AssembleOptions) -> Result<Planned, Error> {
        let mut resolved = self;
        options.layout.check().map_err(|message| resolved.error(vec![Code::InvalidLayoutOption.whole(message)]))?;
        let runtime = options.for_runtime.clone().or_else(|| resolved.runtime.clone());
        let mut former = std::mem::take(&mut resolved.former);
        // YAML has no former layout.
        if former.is_empty() && !resolved.origins.has_positions() {
            former.push(resolved.layout.clone());
        }
        if let Some(release) = &runtime {
            resolved.lay_out_for(release, options)?;
        }
        options.layout.apply(&mut resolved.layout);
        resolved.layout.shards = options.shards.clone();
        let limit = options.max_size.unwrap_or(DEFAULT_MAX_SIZE);
        check_blobs(&resolved.program).map_err(|errors| resolved.error(resolved.layout_messages(errors)))?;
        override_payloads(&mut resolved)?;
        let pruned = prune(&mut resolved, options.prune);
        check_newer_parts(&resolved.program)
            .map_err(|message| resolved.error(vec![Code::UnmetRequest.whole(message)]))?;
        check_size(&resolved, limit).map_err(|errors| resolved.error(resolved.layout_messages(errors)))?;
        if options.max_size.is_none() {
            check_overlap(&resolved.program).map_err(|error| resolved.error(resolved.layout_messages(vec![error])))?;
        }
        move_inside(&mut resolved, options).map_err(|error| resolved.source.unreadable(&error))?;
        let mut written_for = runtime.as_ref().map(|release| resolved.rewrite_for(release)).transpose()?;
        let same = move_outside(&mut resolved, options).map_err(|error| resolved.source.unreadable(&error))?;
        if let Some(release) = &runtime {
            resolved.finish_for(release, &same)?;
        }
        if let Some(written) = written_for.as_mut().filter(|_| resolved.has_methods) {
            written.layout = layouts::changes(&resolved.program, &former, &resolved.layout);
        }
        let plan = layout::plan(&resolved.program, &same, &resolved.layout)
            .and_then(|plan| check_padded_size(&resolved.program, &plan, limit).map(|()| plan));
        match plan {
            Ok(plan) => Ok(Planned { resolved, plan, pruned, written_for, limit }),
            Err(errors) => Err(resolved.error(resolved.layout_messages(errors))),
        }
    }

    /// Returns the name that the source gives to a value of a method.
    ///
    /// ```
    /// let linear = pte_emit::Model::open("examples/linear.yaml")?.resolve()?;
    /// assert_eq!(linear.value_name(0, 0), Some("weight"));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    pub fn value_name(&self, method: usize, value: usize) -> Option<&str> {
        self.origins.name(method, value)
    }

    /// Sets the names of values, by method and index: keys of data without a name of their own, and words of messages.
    ///
    /// ```
    /// let linear = pte_emit::Model::open("examples/linear.yaml")?.resolve()?;
    /// let resolved = pte_emit::Resolved::from(linear.program).with_value_names([vec![Some("w".to_owned())]]);
    /// assert_eq!(resolved.value_name(0, 0), Some("w"));
    ///
    /// let resolved = resolved.with_data_files(vec!["weights.ptd".into()]);
    /// assert_eq!(resolved.data_files().len(), 1);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    #[must_use]
    pub fn with_value_names(mut self, names: impl IntoIterator<Item = Vec<Option<String>>>) -> Resolved {
        self.origins = Origins::of_names(names);
        self
    }

    /// Returns the `.ptd` files that the program is loaded with; see [`crate::Model::with_data_files`].
    pub fn data_files(&self) -> &[PathBuf] {
        &self.source.data_files
    }

    /// Sets the `.ptd` files that the program is loaded with.
    #[must_use]
    pub fn with_data_files(mut self, files: Vec<PathBuf>) -> Resolved {
        Arc::make_mut(&mut self.source).data_files = files;
        self
    }

    /// Returns the name that the source gives to a delegate of a method.
    pub(crate) fn delegate_name(&self, method: usize, delegate: usize) -> Option<&str> {
        Some(&self.origins.methods.get(method)?.delegates.get(delegate)?.name)
    }

    /// Returns `true` if the source has field overrides, which name parts of the program by their indices.
    pub(crate) fn has_overrides(&self) -> bool {
        self.overrides != Overrides::default()
    }

    /// Returns an error about data that cannot be read.
    pub(crate) fn unreadable(&self, error: &io::Error) -> Error {
        self.source.unreadable(error)
    }

    pub(crate) fn error(&self, messages: Vec<NodeDiagnostic>) -> Error {
        Error::new(self.source.report_nodes(messages))
    }

    /// Returns the name of the source, for messages about it as a whole.
    pub(crate) fn label(&self) -> String {
        self.source.label()
    }

    /// Plans the memory of all methods and states the result in the program, so that a change of one method leaves the
    /// memory of the others as it is. A program that was read from a file is not changed.
    ///
    /// # Errors
    /// Memory plans contradict each other; `raw:` overrides, which belong to the file that the source describes.
    pub(crate) fn with_stated_memory(self) -> Result<Resolved, Error> {
        let mut resolved = self.without_overrides()?;
        if resolved.program.plans().iter().all(|plan| MemoryPlan::stated(plan).is_whole(plan)) {
            return Ok(resolved);
        }
        let same: Vec<BlobId> = (0..resolved.program.blobs.len()).map(|blob| BlobId(blob as u32)).collect();
        let plan = layout::plan(&resolved.program, &same, &resolved.layout);
        let plan = plan.map_err(|errors| resolved.error(resolved.layout_messages(errors)))?;
        for (method, memory) in resolved.program.execution_plan.iter_mut().flatten().zip(plan.memory) {
            memory.state_in(method);
        }
        Ok(resolved)
    }

    /// Returns the program itself if it can be edited.
    ///
    /// # Errors
    /// `raw:` overrides, which belong to the files of the source; unknown blobs of a program that was built.
    pub(crate) fn without_overrides(self) -> Result<Resolved, Error> {
        if self.overrides != Overrides::default() {
            let message =
                "the source has `raw:`, which changes the bytes of its own files; assemble it, and edit the file";
            return Err(self.error(vec![Code::UnmetRequest.whole(message)]));
        }
        check_blobs(&self.program).map_err(|errors| self.error(self.layout_messages(errors)))?;
        Ok(self)
    }

    /// Replaces program and tests by edited ones. Elements have no positions in the source any more.
    pub(crate) fn edited(self, program: Program, tests: Vec<MethodTests>) -> Resolved {
        Resolved {
            tests,
            name: self.name,
            layout: self.layout,
            runtime: self.runtime,
            stated: self.stated,
            source: self.source,
            messages: self.messages,
            reported_operators: self.reported_operators,
            files: self.files,
            ..Resolved::from(program)
        }
    }

    /// Converts errors of the layout to messages, in the order of the source. A message about an element without a
    /// position in a source begins with its path.
    pub(crate) fn layout_messages(&self, errors: Vec<LayoutError>) -> Vec<NodeDiagnostic> {
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

/// Rejects a program whose elements with parts of a newer schema are not where they were, and memory that would be
/// planned around instructions of unknown effect.
///
/// # Errors
/// A message that names the parts.
fn check_newer_parts(program: &Program) -> Result<(), String> {
    if !program.keeps_newer_parts() {
        let paths = program.newer_paths();
        return Err(format!("the change would lose parts of a newer schema, or give them to other elements: {paths}"));
    }
    let unplanned = program.plans().iter().filter(|plan| plan.has_unknown_instruction());
    for plan in unplanned {
        if plan.tensors().any(|(_, tensor)| matches!(tensor.memory, Memory::Auto { .. })) {
            let name = diagnostics::clipped(plan.name.as_deref().unwrap_or_default());
            return Err(format!(
                "the memory of method `{name}` cannot be planned, because it has an instruction of a newer schema; state `memory` for all of its tensors"
            ));
        }
    }
    Ok(())
}

/// Applies the field overrides in payloads of delegates, which change no sizes.
///
/// # Errors
/// An override cannot be applied.
fn override_payloads(resolved: &mut Resolved) -> Result<(), Error> {
    let mut report = OverrideReport::default();
    let Resolved { program, overrides, origins, messages, .. } = resolved;
    overrides::payload::apply(&mut overrides.main, program, origins, &mut report);
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

/// Removes the unused parts of a program if `requested`. Otherwise, warns about unused values of a source, and about
/// gaps between the indices that it requests.
fn prune(resolved: &mut Resolved, requested: bool) -> Vec<PrunedParts> {
    let Resolved { program, origins, .. } = resolved;
    if requested {
        let pruned = pte_transform::prune::prune(program);
        let parts = |(method, remap): (usize, &Remap)| {
            let is_removed = |(_, value): &(String, usize)| remap.values.former().binary_search(value).is_err();
            let mut parts = PrunedParts::from(remap);
            parts.names = origins.values(method).into_iter().filter(is_removed).map(|(name, _)| name).collect();
            parts
        };
        let parts = pruned.iter().enumerate().map(parts).collect();
        origins.retain(&pruned);
        return parts;
    }
    resolved.messages.append(&mut resolved.gaps);
    // A program without a source stays as it was read or built.
    if resolved.origins.has_positions() {
        let unused = pte_transform::prune::unused_parts(&resolved.program);
        let warnings = unused.iter().enumerate().flat_map(|(method, unused)| {
            let overwritten = overwritten_warnings(resolved, method, &unused.overwritten);
            unused_warnings(resolved, method, &unused.values).into_iter().chain(overwritten)
        });
        let mut kept = ir::Messages::default();
        kept.extend(warnings);
        resolved.messages.extend(kept.into_list());
    }
    Vec::new()
}

/// Returns a warning about the unused values of a method that have names; in an editor, one about each.
fn unused_warnings(resolved: &Resolved, method: usize, unused: &[usize]) -> Vec<NodeDiagnostic> {
    let name = |value: &usize| Some((*value, resolved.origins.name(method, *value)?));
    let mut named: Vec<(NodeId, &str)> = unused
        .iter()
        .filter_map(name)
        .filter_map(|(value, name)| Some((resolved.origins.node(Element::Method(method, Part::Value(value)))?, name)))
        .collect();
    named.sort_unstable();
    let plan = resolved.program.plans().get(method);
    let method = plan.and_then(|plan| plan.name.as_deref()).map_or("".into(), diagnostics::clipped);
    let together = if resolved.source.is_edited { 1 } else { named.len().max(1) };
    let warning = |named: &[(NodeId, &str)]| {
        let names = diagnostics::first_names(named.iter().map(|(_, name)| *name));
        let noun = if named.len() == 1 { "value" } else { "values" };
        let warning = Code::Unused.warning(named[0].0, format!("unused {noun} in method `{method}`: {names}"));
        warning.label("unused").help("`--prune` removes unused values, and the instructions that only write them")
    };
    named.chunks(together).map(warning).collect()
}

/// Returns a warning about each result of a method that is overwritten before it is read, if its value has a name.
fn overwritten_warnings(resolved: &Resolved, method: usize, overwritten: &[OverwrittenResult]) -> Vec<NodeDiagnostic> {
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

/// Moves data of `.ptd` files into the program.
fn move_inside(resolved: &mut Resolved, options: &AssembleOptions) -> io::Result<()> {
    let has_own_data = resolved.program.blobs.iter().any(|blob| !blob.is_empty());
    let has_alignment = has_own_data || resolved.origins.has_positions() || options.layout.segment_alignment.is_some();
    let Resolved { program, messages, layout, source, .. } = resolved;
    let inside = InternalRequest { patterns: options.internal.clone(), all: options.internal_data };
    if inside.is_empty() && options.with.is_empty() {
        return Ok(());
    }
    let with = if options.with.is_empty() { &source.data_files } else { &options.with };
    let done = pte_transform::internalize::internalize(program, with, &inside)?;
    restore_alignments(program, with, &done)?;
    // A program without data does not show the alignment that it would have with them.
    if let (false, false, Some(file)) = (has_alignment, inside.is_empty(), with.first()) {
        let found = detected::layout::common_alignment(&Origin::File(file.as_path().into()))?;
        layout.segment_alignment = found.unwrap_or(layout.segment_alignment);
    }
    messages.extend(done.dropped.into_iter().map(|(file, key)| {
        let (file, key) = (with[file].display(), diagnostics::clipped(&key));
        let message = format!("dropped `{key}` of {file}: a program has no metadata of a .safetensors");
        NodeDiagnostic { severity: Severity::Warning, ..Code::DroppedMetadata.whole(message) }
    }));
    if !done.unused.is_empty() {
        let keys = diagnostics::first_names(done.unused.iter().map(String::as_str));
        let message = format!("not moved, because no delegate refers to it: {keys}");
        messages.push(NodeDiagnostic { severity: Severity::Warning, ..Code::Unused.whole(message) });
    }
    Ok(())
}

/// Moves data to `.ptd` files. Returns for each blob the first one with the same bytes.
fn move_outside(resolved: &mut Resolved, options: &AssembleOptions) -> io::Result<Vec<BlobId>> {
    let Resolved { program, origins, messages, source, .. } = resolved;
    let same = match source.is_edited {
        true => (0..program.blobs.len()).map(|blob| BlobId(blob as u32)).collect(),
        false => dedup::find(&program.blobs).map_err(|(_, error)| error)?,
    };
    let outside = ExternalRequest { rules: options.external.clone(), rest: options.external_data };
    if outside.rest || !outside.rules.is_empty() {
        let key = |method, value| origins.name(method, value).map(str::to_owned);
        let printed = LazyCell::new(|| printer::values(program));
        let shown = |method: usize, value: usize| {
            let name = || printed.get(method)?.names.get(value)?.clone();
            key(method, value).or_else(name)
        };
        let names = ValueNames { key: &key, shown: &shown };
        let moves = pte_transform::externalize::find(program, &same, &outside, &names).map_err(io::Error::other)?;
        drop(printed);
        if !moves.outputs.is_empty() {
            let names = diagnostics::first_names(moves.outputs.iter().map(String::as_str));
            let message =
                format!("`--external-data`: outputs and what has their data stay in the program (G-34): {names}");
            messages.push(NodeDiagnostic { severity: Severity::Warning, ..Code::UnmetRequest.whole(message) });
        }
        pte_transform::externalize::externalize(program, moves);
    }
    Ok(same)
}

/// Sets the alignments of named data that were moved into a program to those of their files.
fn restore_alignments(program: &mut Program, files: &[PathBuf], done: &Internalized) -> io::Result<()> {
    let mut alignments: BTreeMap<usize, HashMap<String, u64>> = BTreeMap::new();
    for (file, entry) in &done.named_data {
        let of_file = match alignments.entry(*file) {
            btree_map::Entry::Occupied(found) => found.into_mut(),
            btree_map::Entry::Vacant(entry) => {
                let found = detected::layout::flat_tensor(&Origin::File(files[*file].as_path().into()))?;
                entry.insert(found.program.external_data.into_iter().map(|data| (data.key, data.alignment)).collect())
            }
        };
        let entry = program.named_data.as_mut().and_then(|list| list.get_mut(*entry));
        if let Some(entry) = entry
            && let Some(alignment) = of_file.get(&entry.key)
        {
            entry.alignment = *alignment;
        }
    }
    Ok(())
}

impl Planned {
    /// Builds the metadata of all files and applies the field overrides of `raw:`. Data are read when the files are
    /// written.
    ///
    /// # Errors
    /// An override is of an unknown field, the metadata exceed 2 GiB, or data inside the FlatBuffer cannot be read.
    pub fn emit(self) -> Result<Assembly, Error> {
        let Planned { mut resolved, plan, pruned, written_for, limit } = self;
        let program = std::mem::take(&mut resolved.program);
        let (tests, overrides) = (std::mem::take(&mut resolved.tests), std::mem::take(&mut resolved.overrides));
        let (layout, origins) = (resolved.layout.clone(), &resolved.origins);
        let values = |method| origins.values(method);
        let emitted = assembly::emit(program, plan, layout, tests, overrides, resolved.has_methods, &values);
        let (mut assembly, outcome) = emitted.map_err(|error| resolved.source.unreadable(&error))?;
        let (mut errors, warnings) = override_messages(outcome, origins);
        errors.extend(assembly.patches_beyond_the_end().into_iter().map(|(number, patch, size)| {
            let patch =
                format!("patch of {} at offset {}", diagnostics::counted(patch.bytes.len() as u64, "byte"), patch.at);
            let mut diagnostic =
                Code::InvalidOverride.whole(format!("{patch} exceeds the file size of {}", counted(size, "byte")));
            diagnostic.at = origins.patch(number);
            diagnostic
        }));
        let padding = assembly.padding();
        if padding > 0 && assembly.data_size() > limit {
            errors.push(NodeDiagnostic { at: origins.header(), ..Code::LimitExceeded.whole(padded(padding, limit)) });
        }
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
        if let SourceContent::Text(text) = &resolved.source.content {
            (assembly.source, assembly.lines_before) = (text.clone(), resolved.source.lines_before);
        }
        assembly.origins = resolved.origins;
        assembly.pruned = pruned;
        assembly.written_for = written_for;
        assembly.reported_operators = resolved.reported_operators;
        assembly.files = resolved.files;
        Ok(assembly)
    }
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

/// Returns an error at the largest data if the total exceeds `limit` bytes: data of the program, of tests, and of field
/// overrides.
fn check_size(resolved: &Resolved, limit: u64) -> Result<(), Vec<LayoutError>> {
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

/// Total size in bytes up to which data may be ranges of the same bytes.
const MAX_OVERLAP: u64 = 64 << 20;

/// Number of times that data may have the same bytes in total.
const MAX_OVERLAP_FACTOR: u64 = 16;

/// Returns an error if data overlap so much that a small file, in which many constants are ranges of the same bytes,
/// would become a large one: each of them is written on its own.
fn check_overlap(program: &Program) -> Result<(), LayoutError> {
    let (total, covered) = dedup::overlap(program.blob_references().map(|(_, blob)| program.blob(blob)));
    if total <= MAX_OVERLAP || total / MAX_OVERLAP_FACTOR <= covered {
        return Ok(());
    }
    let message = format!(
        "the data are ranges that overlap: {} are written for {}; remove what is unused with the option `prune`, or state \
         the size that is meant with `max-size`",
        counted(total, "byte"),
        counted(covered, "byte")
    );
    Err(LayoutError::new(Code::LimitExceeded, Element::Program, message))
}

fn method(program: &Program, name: &str) -> Element {
    let number = program.method_index(Some(name));
    number.map_or(Element::Program, |number| Element::Method(number, Part::Whole))
}

/// Returns an error at the data with the largest alignment if the data with the padding between them exceed `limit`
/// bytes.
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
    let message = padded(total, limit);
    Err(vec![LayoutError::new(Code::LimitExceeded, largest.map_or(Element::Program, |(element, _)| element), message)])
}

/// Message about data that exceed a limit with their padding.
fn padded(size: u64, limit: u64) -> String {
    let size = counted(size, "byte");
    format!(
        "the data and their padding have {size} or more in total, more than the limit of {limit}, which the option `max-size` raises"
    )
}
