//! [`Model::report`]: the answers of the other methods of [`Model`] on one page, or as a graph. Nothing is computed
//! here; [`pte_report`] draws.

use std::path::Path;

use super::report_text;
use super::{InspectOptions, Inspected, SizeOptions};
use crate::facade::model::{DiffOptions, Model, ModelFile};
use pte_check::{CheckOptions, Findings};
use pte_diff::Difference;
use pte_inspect::inspection::Inspection;
use pte_inspect::profile::{TimeProfile, Timeline};
use pte_inspect::size::{FileSize, SizeDimension};
use pte_memory::allocator::RuntimeKind;
use pte_memory::memory::{ProgramMemory, needs_data_files};
use pte_model::diagnostics::Code;
use pte_model::error::Error;
use pte_model::program::Program;
use pte_report::bytes::ReportedBytes;
use pte_report::document::VERSION;
use pte_report::graph::ProgramGraph;
use pte_report::statistics::StatisticsCache;
use pte_report::{self as reports, BaseProgram, ReportDocument, ReportFormat, ReportedFile};

pte_model::options! {
    /// Options of [`Model::report`].
    ///
    /// ```
    /// use pte_emit::inspect::{ReportFormat, ReportOptions};
    ///
    /// assert_eq!(ReportOptions::default().format, ReportFormat::Html);
    /// ```
    #[derive(Debug, Clone, Default)]
    pub struct ReportOptions {
        /// Format of the report.
        pub format: ReportFormat,
        /// Options of the validation whose findings it shows.
        pub check: CheckOptions,
        /// Read all constant data, and show statistics of their elements: minimum, maximum, mean, zeros and a
        /// histogram.
        pub data_statistics: bool,
        /// Times of [`Model::profile`], which an HTML page shows next to the graph.
        pub profile: Option<TimeProfile>,
        /// Events of [`Model::timeline`], which an HTML page shows.
        pub timeline: Option<Timeline>,
    }
}

/// Levels of the trees of sizes in a report.
const REPORT_LEVELS: [&[SizeDimension]; 2] =
    [&[SizeDimension::Segment, SizeDimension::Kind, SizeDimension::Tensor], &[SizeDimension::Tensor]];

/// Maximum number of children of a node in the tree of sizes of a report. Any further, smaller children are joined to
/// one node.
const REPORT_CHILDREN: usize = 200;

/// The same for the list of tensors that layers consist of.
const REPORT_TENSORS: usize = 2000;

impl Model {
    /// Returns a report of a source as one HTML page, with the results of [`Model::inspect`], [`Model::size`],
    /// [`Model::memory`] and [`Model::check`], and the graphs of the methods; or only the graphs, in the format of
    /// another viewer. The page of a malformed file has only its sizes and findings. If `before` is an older version,
    /// the page also shows the differences, or why the two cannot be compared.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::inspect::{ReportFormat, ReportOptions};
    ///
    /// let add = Model::open("examples/add.yaml")?;
    /// let page = add.report(None, &ReportOptions::default())?;
    /// assert!(page.starts_with("<!doctype html>") && page.len() < 300_000);
    ///
    /// let options = ReportOptions::default().format(ReportFormat::Dot);
    /// assert!(add.report(None, &options)?.contains("aten::add.out"));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read or is of an unknown format, the YAML is invalid, or a graph is requested of a file
    /// without a program.
    pub fn report(&self, before: Option<&Model>, options: &ReportOptions) -> Result<String, Error> {
        self.reported(before, options, writer(options.format), reports::html)
    }

    /// Returns the data of the page of [`Model::report`] as JSON: docs/report.schema.json. The bindings, which are
    /// small, do not contain the page.
    ///
    /// # Errors
    /// Those of [`Model::report`].
    #[doc(hidden)]
    pub fn report_json(&self, before: Option<&Model>, options: &ReportOptions) -> Result<String, Error> {
        self.reported(before, options, None, |document| serde_json::to_string(document).unwrap_or_default())
    }

    fn reported(
        &self,
        before: Option<&Model>,
        options: &ReportOptions,
        graph: Option<GraphWriter>,
        page: impl FnOnce(&ReportDocument) -> String,
    ) -> Result<String, Error> {
        let name = title(self);
        let [sizes, tensors] = REPORT_LEVELS.map(|levels| self.size(&SizeOptions { dimensions: levels.to_vec() }));
        let (sizes, tensors) = (sizes?, tensors?);
        let findings = self.check(&options.check)?;
        // The first file has the program.
        let about: Vec<&str> =
            findings.first().into_iter().flat_map(|(_, findings)| &findings.list).map(|f| &*f.location.path).collect();
        // A malformed program is shown as far as it can be read; a file that cannot be read is an error.
        let program = unless_io(Inspected::of(self))?;
        let changes = before.map(|before| before.diff(self, &DiffOptions::default()));
        let (changes, comparison_error) = match changes.transpose() {
            Ok(changes) => (changes, None),
            Err(error) => (None, Some(error.to_string())),
        };
        // A removed element has no path on this side.
        let differences = changes.iter().flat_map(|changes| &changes.list);
        let changed: Vec<&str> = differences.map(|found| found.right.as_ref().map_or("", |part| &*part.path)).collect();
        if let Some(write) = graph {
            // A graph has no place for a message.
            if let (Some(error), Some(before)) = (&comparison_error, before) {
                let message = format!("cannot mark what changed since {}: {error}", before.label());
                return Err(Error::input(Code::UnmetRequest, &name, message));
            }
            return Ok(write(&ProgramGraph::new(&program?.view(), &about, &changed), &name));
        }
        let inspected = InspectOptions { check: options.check.clone(), ..InspectOptions::default() };
        let contents = unless_io(self.inspect(&inspected))?;
        let error = match &contents {
            Ok(files) => files.iter().find_map(|(_, file)| file.errors.first().cloned()),
            Err(error) => Some(error.to_string()),
        };
        let view = program.as_ref().ok().map(Inspected::view);
        let memory = program.as_ref().ok().map(|inspected| memory(self, inspected)).transpose()?;
        // Each byte of the files is read once for its statistics.
        let read = sizes.iter().map(|(_, size)| size.bytes).fold(0, u64::saturating_add);
        let text = view.as_ref().map(|view| {
            let metadata =
                contents.as_ref().ok().and_then(|files| files.first()).map_or(0, |(_, file)| file.facts.metadata_bytes);
            report_text::text(self, view, metadata)
        });
        let mut statistics = options.data_statistics.then(|| StatisticsCache::new(read));
        let graph =
            view.as_ref().map(|view| ProgramGraph::with_statistics(view, &about, &changed, statistics.as_mut()));
        let base = before.zip(graph.as_ref()).zip(changes.as_ref()).map(|((before, graph), changes)| {
            // A file without a program has no graph.
            unless_io(base(before, self, graph, &changes.list)).map(Result::ok)
        });
        let base = base.transpose()?.flatten();
        let program = program.as_ref().ok().map(|inspected| &inspected.program);
        let mut contents = contents.unwrap_or_default().into_iter();
        let mut findings = findings.into_iter().map(|(_, findings)| findings);
        let files = sizes.into_iter().zip(tensors).map(|((name, size), (_, tensors))| {
            let contents = contents.next().map(|(_, contents)| contents);
            let findings = findings.next().unwrap_or_else(|| Findings::new(options.check.profile));
            reported_file(shown(name), [size, tensors], contents, findings)
        });
        Ok(page(&ReportDocument {
            version: VERSION,
            files: files.collect(),
            memory,
            graph,
            profile: options.profile.clone(),
            timeline: options.timeline.clone(),
            text,
            bytes: bytes(self, program)?,
            base,
            error,
            before: before.map(title),
            changes,
            comparison_error,
            data_statistics: options.data_statistics,
            name,
        }))
    }
}

/// Function that writes a graph for another viewer, with the name of the file.
type GraphWriter = fn(&ProgramGraph, &str) -> String;

/// Returns what writes the graph for another viewer; `None` for the page.
fn writer(format: ReportFormat) -> Option<GraphWriter> {
    match format {
        ReportFormat::Html => None,
        ReportFormat::Dot => Some(reports::dot::write),
        ReportFormat::ModelExplorer => Some(reports::model_explorer::write),
    }
}

/// Returns a file, with trees of sizes that are not too large for a page.
fn reported_file(
    name: String,
    [mut size, mut tensors]: [FileSize; 2],
    mut contents: Option<Inspection>,
    findings: Findings,
) -> ReportedFile {
    size.limit(REPORT_CHILDREN);
    tensors.limit(REPORT_TENSORS);
    (size.file, tensors.file) = (name.clone(), name.clone());
    contents.iter_mut().for_each(|contents| contents.file.clone_from(&name));
    ReportedFile { name, contents, size, tensors, findings }
}

/// Returns the bytes of the first file; `None` for one of an unknown format.
fn bytes(model: &Model, program: Option<&Program>) -> Result<Option<ReportedBytes>, Error> {
    let Some(ModelFile { format: Some(format), origin, .. }) = model.files()?.into_iter().next() else {
        return Ok(None);
    };
    ReportedBytes::read(&origin, format, program).map(Some).map_err(|error| model.source().unreadable(&error))
}

/// Returns the memory of a program, as far as the `.ptd` files that it assembles to can be read.
fn memory(model: &Model, inspected: &Inspected) -> Result<ProgramMemory, Error> {
    // Without the sizes of a malformed .ptd, the memory is "at least".
    let data_files = unless_io(model.data_file_sizes())?.unwrap_or_default();
    let loaded = inspected.loaded.with_data_files(&data_files, needs_data_files(&inspected.program));
    Ok(ProgramMemory::new(&inspected.view(), loaded, RuntimeKind::default()))
}

/// Returns the program of the older one of two models, with what of it corresponds to the newer one.
fn base(before: &Model, newer: &Model, graph: &ProgramGraph, changes: &[Difference]) -> Result<BaseProgram, Error> {
    let inspected = Inspected::of(before)?;
    let path = |difference: &Difference| difference.left.as_ref().map_or(String::new(), |part| part.path.clone());
    let changed: Vec<String> = changes.iter().map(path).collect();
    let changed: Vec<&str> = changed.iter().map(String::as_str).collect();
    let base = ProgramGraph::new(&inspected.view(), &[], &changed);
    let sides = [before.side()?, newer.side()?];
    Ok(BaseProgram::new(base, memory(before, &inspected)?, graph, pte_diff::correspondence([&sides[0], &sides[1]])))
}

/// Returns a result, but an error of reading a file as an error.
fn unless_io<T>(result: Result<T, Error>) -> Result<Result<T, Error>, Error> {
    match result {
        Err(error) if error.io_kind().is_some() => Err(error),
        result => Ok(result),
    }
}

/// Returns the name of a model in a page, which others see.
fn title(model: &Model) -> String {
    shown(model.label())
}

/// Returns the path of a file; of an absolute one, which names folders of this machine, the last part.
fn shown(path: String) -> String {
    match Path::new(&path).file_name().filter(|_| Path::new(&path).is_absolute()) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => path,
    }
}
