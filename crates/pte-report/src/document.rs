//! The document of a report: results of other crates, and the graphs. The page of a report shows it, and
//! docs/report.schema.json describes it.

use serde::Serialize;

use crate::bytes::ReportedBytes;
use crate::graph::ProgramGraph;
use crate::text::ReportedText;
use pte_check::Findings;
use pte_diff::{Differences, MethodCorrespondence};
use pte_inspect::inspection::Inspection;
use pte_inspect::profile::{TimeProfile, Timeline};
use pte_inspect::size::FileSize;
use pte_memory::memory::ProgramMemory;

/// Version of the serialised form.
pub const VERSION: u32 = 1;

/// Data of a report. Elements refer to each other by their indices in the lists.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportDocument {
    /// Version of the serialised form: it grows when a key is removed or changes its meaning.
    #[cfg_attr(feature = "schema", schemars(extend("const" = VERSION)))]
    pub version: u32,
    /// Name of the source.
    pub name: String,
    /// The file, or the files that YAML assembles to. The first one has the program.
    pub files: Vec<ReportedFile>,
    /// Memory of the program, as `pte-emit memory --json` prints it; `None` if it cannot be read.
    pub memory: Option<ProgramMemory>,
    /// Graphs of the program; `None` if it cannot be read.
    pub graph: Option<ProgramGraph>,
    /// Times that the runtime recorded, as `pte-emit profile --json` prints them; `None` if they were not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<TimeProfile>,
    /// Single events that the runtime recorded; `None` if they were not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// The program as YAML, as `pte-emit dump` prints it; `None` without a program.
    pub text: Option<ReportedText>,
    /// Bytes of the first file; `None` if it cannot be read.
    pub bytes: Option<ReportedBytes>,
    /// First error of a malformed file.
    pub error: Option<String>,
    /// Name of an older version to compare with.
    pub before: Option<String>,
    /// Differences from the older version, as `pte-emit diff --json` prints them.
    pub changes: Option<Differences>,
    /// The program of the older version; `None` without one, or if it cannot be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<BaseProgram>,
    /// Reason why the two cannot be compared.
    pub comparison_error: Option<String>,
    /// The graphs have the statistics of constant data.
    pub data_statistics: bool,
}

/// A file of a [`ReportDocument`].
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportedFile {
    /// Name.
    pub name: String,
    /// Contents, as `pte-emit inspect --json` prints them; `None` if they cannot be read.
    pub contents: Option<Inspection>,
    /// Sizes of its parts, by segment, kind and tensor.
    pub size: FileSize,
    /// Sizes of its tensors and other elements.
    pub tensors: FileSize,
    /// Findings of `check`.
    #[serde(flatten)]
    pub findings: Findings,
}

/// The older one of two programs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BaseProgram {
    /// Its graphs. Differences are marked as in the graphs of the newer program.
    pub graph: ProgramGraph,
    /// Its memory, as [`ReportDocument::memory`].
    pub memory: ProgramMemory,
    /// By method of the newer program: the method of the older one with the same name, if there is one.
    pub methods: Vec<Option<BaseMethod>>,
}

/// A method of a [`BaseProgram`]. Its instructions and values that no index leads to were removed.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BaseMethod {
    /// Index in the older program.
    pub method: usize,
    /// By instruction of the newer method: index of the same instruction in the older one; `None` if it was added.
    pub nodes: Vec<Option<usize>>,
    /// By value of the newer method: index of the same value in the older one; `None` if it was added.
    pub values: Vec<Option<usize>>,
}

impl BaseProgram {
    /// Joins two programs: `found` has what of the older one and the newer one corresponds.
    pub fn new(
        graph: ProgramGraph,
        memory: ProgramMemory,
        newer: &ProgramGraph,
        found: Vec<MethodCorrespondence>,
    ) -> BaseProgram {
        let mut methods: Vec<Option<BaseMethod>> = newer.methods.iter().map(|_| None).collect();
        for MethodCorrespondence { methods: (method, number), instructions, values } in found {
            let (Some(newer), Some(entry)) = (newer.methods.get(number), methods.get_mut(number)) else { continue };
            *entry = Some(BaseMethod {
                method,
                nodes: by_newer(newer.nodes.len(), &instructions),
                values: by_newer(newer.values.len(), &values),
            });
        }
        BaseProgram { graph, memory, methods }
    }
}

/// Returns the older index of each newer one.
fn by_newer(count: usize, pairs: &[(usize, usize)]) -> Vec<Option<usize>> {
    let mut found = vec![None; count];
    for (older, newer) in pairs {
        if let Some(entry) = found.get_mut(*newer) {
            *entry = Some(*older);
        }
    }
    found
}
