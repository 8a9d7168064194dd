//! Types of the result of `inspect`.

use serde::Serialize;

use super::file::FileFacts;
use super::summary::ProgramSummary;
use pte_model::format::ScalarType;
use pte_model::program::test_cases::MethodTests;
use pte_model::reader::flat_tensor::FlatTensorEntry;

/// Version of the serialised form.
const VERSION: u32 = 1;

/// Contents of a file, a result of [`Model::inspect`](crate::Model::inspect): its [`FileFacts`], and depending on its
/// format a [`ProgramSummary`], [`KeySummary`]s and [`TestsSummary`]s.
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
    ///
    /// ```
    /// use pte_emit::{InspectOptions, Model};
    ///
    /// let files = Model::from_binary("cut.pte", b"\x30\0\0\0ET12").inspect(&InspectOptions::default())?;
    /// assert_eq!(files[0].1.errors.len(), 1);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
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

impl From<&MethodTests> for TestsSummary {
    fn from(tests: &MethodTests) -> TestsSummary {
        TestsSummary { method: tests.method.clone(), cases: tests.cases.len() }
    }
}
