//! Access of rules to the arguments of a call, by position and type.

use super::types::{Argument, InferenceError, IntMeta, InvalidArgument, ResultMeta, TensorMeta};
use crate::{Base, Signature};
use pte_model::format::ScalarType;

/// The rule of an operator: its results, one for each out in the order of the schema, or the returned one.
pub type Rule = fn(&Call<'_>) -> Result<Vec<ResultMeta>>;

/// A call of an operator: its signature and arguments.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    signature: &'a Signature,
    args: &'a [Argument<'a>],
}

/// Category of a number argument for type promotion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarCategory {
    /// A truth value.
    Bool,
    /// An integer.
    Integer,
    /// A floating point number.
    Floating,
}

type Result<T> = std::result::Result<T, InferenceError>;

impl<'a> Call<'a> {
    /// Returns a call with arguments in the order of the schema; those that are missing at the end have their defaults.
    pub fn new(signature: &'a Signature, args: &'a [Argument<'a>]) -> Call<'a> {
        Call { signature, args }
    }

    /// Returns an error about an argument.
    pub fn invalid<T>(&self, argument: usize, found: impl Into<String>, expected: impl Into<String>) -> Result<T> {
        Err(InferenceError::Invalid(InvalidArgument { argument, found: found.into(), expected: expected.into() }))
    }

    /// Returns an error about an argument that is unknown, or of the wrong kind.
    fn rejected<T>(&self, argument: usize, found: &Argument<'_>) -> Result<T> {
        if *found == Argument::Unknown {
            return Err(InferenceError::Undetermined("an argument is unknown"));
        }
        let expected = self.signature.args.get(argument).map_or_else(String::new, |arg| arg.kind.to_string());
        self.invalid(argument, found.kind(), expected)
    }

    /// Returns the name of an argument in the schema.
    pub fn name(&self, at: usize) -> &str {
        self.signature.args.get(at).map_or("", |arg| &arg.name)
    }

    /// Returns the base type of an argument in the schema.
    pub fn base(&self, at: usize) -> Option<Base> {
        self.signature.args.get(at).map(|arg| arg.kind.base)
    }

    /// Returns an argument; `None` if it has its default.
    pub fn argument(&self, at: usize) -> Option<&'a Argument<'a>> {
        self.args.get(at)
    }

    /// Returns the default of an argument.
    fn default(&self, at: usize) -> serde_json::Value {
        let text = self.signature.args.get(at).and_then(|arg| arg.default.as_deref());
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// Returns a tensor.
    ///
    /// # Errors
    /// None, another kind, or a tensor of unknown properties.
    pub fn tensor(&self, at: usize) -> Result<&'a TensorMeta> {
        self.optional_tensor(at)?.map_or_else(|| self.rejected(at, &Argument::Null), Ok)
    }

    /// Returns a tensor, or `None` for None.
    ///
    /// # Errors
    /// Another kind, or a tensor of unknown properties.
    pub fn optional_tensor(&self, at: usize) -> Result<Option<&'a TensorMeta>> {
        match self.argument(at) {
            None | Some(Argument::Null) => Ok(None),
            Some(Argument::Tensor(tensor)) => Ok(Some(tensor)),
            Some(other) => self.rejected(at, other),
        }
    }

    /// Returns the tensors of a list, with `None` for None.
    ///
    /// # Errors
    /// Another kind, or tensors of unknown properties.
    pub fn tensors(&self, at: usize) -> Result<Vec<Option<&'a TensorMeta>>> {
        match self.argument(at) {
            Some(Argument::Tensors(items)) => Ok(items.iter().map(Option::as_deref).collect()),
            None => self.rejected(at, &Argument::Unknown),
            Some(other) => self.rejected(at, other),
        }
    }

    /// Returns an integer, or `None` for None.
    ///
    /// # Errors
    /// Another kind.
    pub fn optional_int(&self, at: usize) -> Result<Option<IntMeta>> {
        match self.argument(at) {
            None => Ok(self.default(at).as_i64().map(IntMeta::Exact)),
            Some(Argument::Null) => Ok(None),
            Some(Argument::Int(int)) => Ok(Some(*int)),
            Some(Argument::Bool(value)) => Ok(Some(IntMeta::Exact((*value).into()))),
            Some(Argument::Unknown) => Ok(Some(IntMeta::Unknown)),
            Some(other) => self.rejected(at, other),
        }
    }

    /// Returns an integer.
    ///
    /// # Errors
    /// None, or another kind.
    pub fn int(&self, at: usize) -> Result<IntMeta> {
        self.optional_int(at)?.map_or_else(|| self.rejected(at, &Argument::Null), Ok)
    }

    /// Returns an integer that is known.
    ///
    /// # Errors
    /// None, another kind, or an integer that is not known.
    pub fn exact(&self, at: usize) -> Result<i64> {
        exact(self.int(at)?)
    }

    /// Returns the integers of a list, or `None` for None. A single integer is a list of one.
    ///
    /// # Errors
    /// Another kind, or a list of unknown length.
    pub fn optional_ints(&self, at: usize) -> Result<Option<Vec<IntMeta>>> {
        match self.argument(at) {
            None => match self.default(at) {
                serde_json::Value::Array(items) => {
                    Ok(Some(items.iter().filter_map(serde_json::Value::as_i64).map(IntMeta::Exact).collect()))
                }
                other => Ok(other.as_i64().map(|int| vec![IntMeta::Exact(int)])),
            },
            Some(Argument::Null) => Ok(None),
            Some(Argument::Ints(items)) => Ok(Some(items.clone())),
            Some(Argument::Int(int)) => Ok(Some(vec![*int])),
            Some(other) => self.rejected(at, other),
        }
    }

    /// Returns the integers of a list.
    ///
    /// # Errors
    /// None, another kind, or a list of unknown length.
    pub fn ints(&self, at: usize) -> Result<Vec<IntMeta>> {
        self.optional_ints(at)?.map_or_else(|| self.rejected(at, &Argument::Null), Ok)
    }

    /// Returns the integers of a list that are all known.
    ///
    /// # Errors
    /// None, another kind, or an integer that is not known.
    pub fn exact_ints(&self, at: usize) -> Result<Vec<i64>> {
        self.ints(at)?.into_iter().map(exact).collect()
    }

    /// Returns a truth value.
    ///
    /// # Errors
    /// Another kind, or an unknown value.
    pub fn bool(&self, at: usize) -> Result<bool> {
        match self.argument(at) {
            None => Ok(self.default(at).as_bool().unwrap_or_default()),
            Some(Argument::Null) => Ok(false),
            Some(Argument::Bool(value)) => Ok(*value),
            Some(other) => self.rejected(at, other),
        }
    }

    /// Returns the items of a list of truth values, or `None` for None.
    ///
    /// # Errors
    /// Another kind, or an unknown value.
    pub fn optional_bools(&self, at: usize) -> Result<Option<&'a [bool]>> {
        match self.argument(at) {
            None | Some(Argument::Null) => Ok(None),
            Some(Argument::Bools(items)) => Ok(Some(items)),
            Some(other) => self.rejected(at, other),
        }
    }

    /// Returns the numbers of a list of floating point numbers, or `None` for None.
    ///
    /// # Errors
    /// Another kind, or an unknown value.
    pub fn optional_doubles(&self, at: usize) -> Result<Option<&'a [f64]>> {
        match self.argument(at) {
            None | Some(Argument::Null) => Ok(None),
            Some(Argument::Doubles(items)) => Ok(Some(items)),
            Some(other) => self.rejected(at, other),
        }
    }

    /// Returns a number as floating point, or `None` for None or an integer that is not known.
    ///
    /// # Errors
    /// Another kind, or an unknown value.
    pub fn optional_double(&self, at: usize) -> Result<Option<f64>> {
        match self.argument(at) {
            None => Ok(self.default(at).as_f64()),
            Some(Argument::Null) => Ok(None),
            Some(Argument::Double(value)) => Ok(Some(*value)),
            Some(Argument::Int(IntMeta::Exact(int))) => Ok(Some(*int as f64)),
            Some(Argument::Bool(value)) => Ok(Some(f64::from(u8::from(*value)))),
            Some(Argument::Unknown | Argument::Int(_)) => {
                Err(InferenceError::Undetermined("a number is known at run time only"))
            }
            Some(other) => self.rejected(at, other),
        }
    }

    /// Returns `true` if the schema has a Scalar at this position.
    pub fn is_scalar(&self, at: usize) -> bool {
        self.signature.args.get(at).is_some_and(|arg| arg.kind.base == Base::Scalar)
    }

    /// Returns the category of a Scalar, or `None` for None.
    ///
    /// # Errors
    /// Another kind, or an unknown value.
    pub fn optional_scalar(&self, at: usize) -> Result<Option<ScalarCategory>> {
        match self.argument(at) {
            None => Ok(match self.default(at) {
                serde_json::Value::Null => None,
                serde_json::Value::Bool(_) => Some(ScalarCategory::Bool),
                serde_json::Value::Number(number) if number.is_f64() => Some(ScalarCategory::Floating),
                _ => Some(ScalarCategory::Integer),
            }),
            Some(Argument::Null) => Ok(None),
            Some(Argument::Bool(_)) => Ok(Some(ScalarCategory::Bool)),
            Some(Argument::Int(_)) => Ok(Some(ScalarCategory::Integer)),
            Some(Argument::Double(_)) => Ok(Some(ScalarCategory::Floating)),
            Some(other) => self.rejected(at, other),
        }
    }

    /// Returns the category of a Scalar.
    ///
    /// # Errors
    /// None, another kind, or an unknown value.
    pub fn scalar(&self, at: usize) -> Result<ScalarCategory> {
        self.optional_scalar(at)?.map_or_else(|| self.rejected(at, &Argument::Null), Ok)
    }

    /// Returns the Int that a Scalar is, or `None` for a number of another kind and for an unknown one.
    ///
    /// # Errors
    /// None, or another kind.
    pub fn scalar_int(&self, at: usize) -> Result<Option<IntMeta>> {
        match self.argument(at) {
            Some(Argument::Int(int)) => Ok(Some(*int)),
            Some(Argument::Bool(_) | Argument::Double(_) | Argument::Unknown) => Ok(None),
            None => self.rejected(at, &Argument::Null),
            Some(other) => self.rejected(at, other),
        }
    }

    /// Returns `true` if an argument is None, or its default is.
    pub fn is_none(&self, at: usize) -> bool {
        match self.argument(at) {
            None => self.default(at).is_null(),
            Some(arg) => *arg == Argument::Null,
        }
    }

    /// Returns a string, or `None` for None and for a default.
    ///
    /// # Errors
    /// Another kind, or an unknown value.
    pub fn optional_str(&self, at: usize) -> Result<Option<&'a str>> {
        match self.argument(at) {
            None | Some(Argument::Null) => Ok(None),
            Some(Argument::Str(text)) => Ok(Some(text)),
            Some(other) => self.rejected(at, other),
        }
    }

    /// Returns an element type, or `None` for None.
    ///
    /// # Errors
    /// Another kind, or an integer that is not an element type.
    pub fn dtype(&self, at: usize) -> Result<Option<ScalarType>> {
        let Some(int) = self.optional_int(at)? else { return Ok(None) };
        let IntMeta::Exact(int) = int else { return Err(InferenceError::Undetermined("an element type is unknown")) };
        match i8::try_from(int).map(ScalarType) {
            Ok(scalar_type) if scalar_type.info().is_some() => Ok(Some(scalar_type)),
            Ok(_) | Err(_) => self.invalid(at, int.to_string(), "an element type"),
        }
    }
}

/// Returns an integer that is known.
fn exact(int: IntMeta) -> Result<i64> {
    match int {
        IntMeta::Exact(int) => Ok(int),
        IntMeta::AtMost(_) | IntMeta::Unknown => {
            Err(InferenceError::Undetermined("an integer is known at run time only"))
        }
    }
}

impl Argument<'_> {
    /// Returns the kind in words.
    fn kind(&self) -> &'static str {
        match self {
            Argument::Null => "None",
            Argument::Int(_) => "an int",
            Argument::Bool(_) => "a bool",
            Argument::Double(_) => "a float",
            Argument::Str(_) => "a str",
            Argument::Tensor(_) => "a Tensor",
            Argument::Ints(_) => "a list of ints",
            Argument::Doubles(_) => "a list of floats",
            Argument::Bools(_) => "a list of bools",
            Argument::Tensors(_) => "a list of Tensors",
            Argument::Unknown => "an unknown value",
        }
    }
}
