//! Types of the result of `inspect`.

use serde::Serialize;

use super::file::FileFacts;
use super::summary::ProgramSummary;
use pte_model::format::ScalarType;
use pte_model::program::test_cases::MethodTests;
use pte_model::reader::flat_tensor::FlatTensorEntry;

/// Version of the serialised form.
const VERSION: u32 = 1;

/// Contents of a file: its [`FileFacts`], and depending on its format a [`ProgramSummary`], [`KeySummary`]s and
/// [`TestsSummary`]s.
///
/// ```
/// use pte_inspect::file::FileFacts;
/// use pte_inspect::inspection::Inspection;
/// use pte_inspect::summary::{Comparison, ProgramSummary};
/// use pte_memory::Subject;
/// use pte_model::data::Origin;
/// use pte_model::format::container;
/// use pte_model::program::MemoryPlan;
/// use pte_model::reader;
///
/// let origin = Origin::Bytes(pte_model::LINEAR_PTE.into());
/// let facts = FileFacts::read(&container::PROGRAM, &origin)?;
/// let mut inspection = Inspection::new("linear.pte", facts);
///
/// let program = reader::program::read(&origin)?.program;
/// let memory: Vec<MemoryPlan> = program.plans().iter().map(MemoryPlan::stated).collect();
/// let subject = Subject::new(&program, &memory, Vec::new(), Vec::new());
/// inspection.contents = Some(ProgramSummary::new(&subject, Comparison::Little)?);
///
/// let json = serde_json::to_value(&inspection)?;
/// assert_eq!(json["file"], "linear.pte");
/// assert_eq!(json["methods"][0]["operators"]["aten::addmm.out"], 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Inspection {
    /// Version of the serialised form: it grows when a key changes.
    #[cfg_attr(feature = "schema", schemars(extend("const" = VERSION)))]
    pub version: u32,
    /// Name of the file.
    pub file: String,
    /// Messages about the parts of a malformed file that could not be read; empty if all of it was read.
    pub errors: Vec<String>,
    /// Facts of the file.
    #[serde(flatten)]
    pub facts: FileFacts,
    /// Contents of the program; `None` for a `.ptd`, and for a program that cannot be read.
    #[serde(flatten)]
    pub contents: Option<ProgramSummary>,
    /// Entries of a `.ptd`; `None` for other files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<KeySummary>>,
    /// Tests of a `.bpte`, by method; `None` for other files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<Vec<TestsSummary>>,
}

impl Inspection {
    /// Creates the inspection of a file with these facts, without contents.
    pub fn new(file: &str, facts: FileFacts) -> Inspection {
        let file = file.to_owned();
        Inspection { version: VERSION, file, errors: Vec::new(), facts, contents: None, keys: None, tests: None }
    }
}

/// Entry of a `.ptd`, part of an [`Inspection`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct KeySummary {
    /// Key.
    pub key: String,
    /// Size of its data in bytes.
    pub bytes: u64,
    /// Element type; `None` for data that are not a tensor.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub scalar_type: Option<ScalarType>,
    /// Size of each dimension; `None` for data that are not a tensor.
    pub sizes: Option<Vec<i32>>,
}

impl KeySummary {
    /// Returns the summary of an entry, without its data.
    #[doc(hidden)]
    pub fn of(entry: FlatTensorEntry) -> KeySummary {
        let FlatTensorEntry { key, data, tensor_layout } = entry;
        let (scalar_type, sizes) = tensor_layout.map(|layout| (layout.scalar_type, layout.sizes)).unzip();
        KeySummary { key, bytes: data.len(), scalar_type, sizes }
    }
}

/// Tests of a method in a `.bpte`, part of an [`Inspection`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TestsSummary {
    /// Name of the method.
    pub method: String,
    /// Number of test cases.
    pub cases: usize,
}

#[doc(hidden)]
impl From<&MethodTests> for TestsSummary {
    fn from(tests: &MethodTests) -> TestsSummary {
        TestsSummary { method: tests.method.clone(), cases: tests.cases.len() }
    }
}
