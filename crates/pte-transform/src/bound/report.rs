//! Options, results and errors of [`super::bound`].

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::error::EditError;
use pte_model::diagnostics::{Code, Diagnostic};

pte_model::options! {
    /// New bounds of the inputs of a method.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct BoundOptions {
        /// The method; `None` for the only one of the program.
        pub method: Option<String>,
        /// New bounds.
        pub inputs: Vec<InputBound>,
        /// All inputs become static, also those without a new bound.
        pub all_static: bool,
    }
}

/// New bound of an input. As text, it is `x=1x64`, and `x=1x64!` if it becomes static; `_` keeps the size of a
/// dimension.
///
/// ```
/// use pte_transform::bound::InputBound;
///
/// let bound: InputBound = "x=1x_x64!".parse().unwrap();
/// assert_eq!((&*bound.input, &bound.sizes[..], bound.is_static), ("x", &[Some(1), None, Some(64)][..], true));
/// assert!("x".parse::<InputBound>().unwrap_err().contains("NAME=SIZES"));
/// assert!("x=1x-2".parse::<InputBound>().unwrap_err().contains("`-2`"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputBound {
    /// Name of the input, or its number from 0.
    pub input: String,
    /// Size of each dimension; `None` to keep it.
    pub sizes: Vec<Option<i32>>,
    /// The input gets exactly these sizes.
    pub is_static: bool,
}

impl FromStr for InputBound {
    type Err = String;

    fn from_str(text: &str) -> Result<InputBound, String> {
        let Some((input, sizes)) = text.rsplit_once('=').filter(|(input, _)| !input.is_empty()) else {
            return Err("expected NAME=SIZES, such as x=1x64, or x=1x64! for an input that becomes static".to_owned());
        };
        let (sizes, is_static) = sizes.strip_suffix('!').map_or((sizes, false), |sizes| (sizes, true));
        let size = |word: &str| match word {
            "_" => Ok(None),
            _ if word.starts_with('+') => Err(format!("`{word}`: expected a number")),
            _ => word.parse::<u32>().ok().and_then(|size| i32::try_from(size).ok()).map(Some).ok_or_else(|| {
                format!(
                    "`{word}` among the sizes of `{input}`: expected a number below 2147483648, or `_` to keep a size"
                )
            }),
        };
        let sizes = if sizes.is_empty() { Ok(Vec::new()) } else { sizes.split('x').map(size).collect() };
        Ok(InputBound { input: input.to_owned(), sizes: sizes?, is_static })
    }
}

/// Result of [`bound`](crate::bound::bound).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Bounded {
    /// Index of the method.
    #[serde(skip)]
    pub method: usize,
    /// The inputs with new bounds, or that became static.
    pub inputs: Vec<BoundedInput>,
    /// Number of tensors whose sizes or dynamism changed, with the inputs.
    pub tensors: usize,
    /// Number of them that became static, with the inputs.
    pub made_static: usize,
    /// Delegates whose payloads changed.
    pub delegates: Vec<BoundedDelegate>,
    /// Calls whose results keep their bounds, because they cannot be inferred.
    pub kept: Vec<KeptResults>,
}

/// An input with a new bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BoundedInput {
    /// Name.
    pub name: String,
    /// Former sizes.
    pub before: Vec<i32>,
    /// New sizes.
    pub after: Vec<i32>,
    /// The input was dynamic, and is static.
    pub made_static: bool,
}

/// A delegate whose payload changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BoundedDelegate {
    /// Index.
    pub delegate: usize,
    /// Backend.
    pub backend: String,
    /// Number of values of its graph whose sizes changed.
    pub values: usize,
}

/// A call whose results keep their bounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct KeptResults {
    /// The instruction, as in messages: `instruction 3`.
    pub instruction: String,
    /// Full name of the operator.
    pub operator: String,
    /// Reason why its results are not inferred.
    pub reason: String,
}

/// Reason why bounds cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundError {
    /// Value found, and its location.
    pub message: String,
    /// Values that are possible.
    pub help: Option<String>,
}

impl fmt::Display for BoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<BoundError> for Diagnostic {
    fn from(error: BoundError) -> Diagnostic {
        let mut diagnostic = Code::UnmetRequest.whole(error.message);
        diagnostic.help = error.help;
        diagnostic
    }
}

impl From<BoundError> for EditError {
    fn from(error: BoundError) -> EditError {
        EditError::Request(vec![error.into()])
    }
}

impl BoundError {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> BoundError {
        BoundError { message: message.into(), help: Some(help.into()) }
    }
}
