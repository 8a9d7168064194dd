//! The cases of `cases.txt`, which `tools/inference.py` writes and describes. The parent module imports the types of inference: this file
//! is a part of the unit tests of the rules, and of the tests in the runtime.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::operators::{self, ArgKind, Base, Signature};
use super::{Argument, Dim, IntMeta, ResultMeta, ScalarType, TensorMeta};

/// An argument as the file states it.
#[derive(Debug, Clone)]
pub enum Value<'t> {
    Argument(Argument<'t>),
    Doubles(Vec<f64>),
    Bools(Vec<bool>),
}

/// A result as the file states it.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    /// A result that the functional variant omits on request; the out has any properties.
    Omitted,
    Result(ResultMeta),
}

/// What the file states for a case.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Results(Vec<Expected>),
    Error,
    DataDependent,
}

/// A call.
#[derive(Debug)]
pub struct Case<'t> {
    /// The line.
    pub text: &'t str,
    /// The arguments.
    pub args: Vec<Value<'t>>,
    /// What torch infers.
    pub outcome: Outcome,
}

impl Value<'_> {
    pub fn argument(&self) -> Argument<'_> {
        match self {
            Value::Argument(argument) => argument.clone(),
            Value::Doubles(items) => Argument::Doubles(items),
            Value::Bools(items) => Argument::Bools(items),
        }
    }
}

impl Case<'_> {
    pub fn arguments(&self) -> Vec<Argument<'_>> {
        self.args.iter().map(Value::argument).collect()
    }
}

/// Returns the element type of an abbreviated name (`f32`).
fn dtype(text: &str) -> ScalarType {
    let name = match text {
        "b8" => "bool".to_owned(),
        _ => text.replacen('u', "uint", 1).replacen('i', if text.starts_with('u') { "i" } else { "int" }, 1),
    };
    let name = match name.split_at(1) {
        ("f", size) => format!("float{size}"),
        ("c", size) => format!("complex{size}"),
        ("b", size) if size.starts_with('f') => format!("bfloat{}", &size[1..]),
        _ => name,
    };
    ScalarType::parse(&name).unwrap_or_else(|| panic!("element type `{text}`"))
}

fn numbers(text: &str) -> Vec<i64> {
    text.split(',').filter(|item| !item.is_empty()).map(|item| item.parse().unwrap()).collect()
}

/// Returns the tensor of `f32[2,3]{1,0}`; `None` for another value.
fn tensor(text: &str) -> Option<TensorMeta> {
    let (name, rest) = text.split_once('[')?;
    let (sizes, order) = rest.split_once(']')?;
    if !name.chars().all(char::is_alphanumeric) || name.is_empty() {
        return None;
    }
    let sizes: Vec<Dim> = numbers(sizes).into_iter().map(Dim::fixed).collect();
    let dim_order = match order.strip_prefix('{').and_then(|order| order.strip_suffix('}')) {
        Some(order) => numbers(order).into_iter().map(|dim| u8::try_from(dim).unwrap()).collect(),
        None => (0..u8::try_from(sizes.len()).unwrap()).collect(),
    };
    Some(TensorMeta { scalar_type: dtype(name), sizes, dim_order })
}

/// Returns the items of a list between `<` and `>`.
fn items(text: &str) -> Option<impl Iterator<Item = &str>> {
    let inner = text.strip_prefix('<')?.strip_suffix('>')?;
    Some(inner.split(';').filter(|item| !item.is_empty()))
}

fn value<'t>(text: &'t str, kind: ArgKind) -> Value<'t> {
    let known = |int| Argument::Int(IntMeta::Exact(int));
    let argument = match text {
        "none" => Argument::Null,
        "true" | "false" => Argument::Bool(text == "true"),
        "contiguous" => known(0),
        "preserve" => known(1),
        "channels_last" => known(2),
        "channels_last_3d" => known(3),
        _ => {
            if let Some(items) = items(text) {
                Argument::Tensors(items.map(|item| tensor(item).map(Cow::Owned)).collect())
            } else if let Some(name) = text.strip_prefix('@') {
                known(dtype(name).0.into())
            } else if let Some(string) = text.strip_prefix('"') {
                Argument::Str(string.trim_end_matches('"'))
            } else if let Some(list) = text.strip_prefix('[').and_then(|list| list.strip_suffix(']')) {
                let items = list.split(',').filter(|item| !item.is_empty());
                if kind.base == Base::Float {
                    return Value::Doubles(items.map(|item| item.parse().unwrap()).collect());
                }
                if kind.base == Base::Bool {
                    return Value::Bools(items.map(|item| item == "true").collect());
                }
                Argument::Ints(numbers(list).into_iter().map(IntMeta::Exact).collect())
            } else if let Some(tensor) = tensor(text) {
                Argument::Tensor(Cow::Owned(tensor))
            } else if let Ok(int) = text.parse() {
                known(int)
            } else {
                Argument::Double(text.parse().unwrap_or_else(|_| panic!("argument `{text}`")))
            }
        }
    };
    Value::Argument(argument)
}

fn expected(text: &str) -> Expected {
    Expected::Result(match text {
        "none" => return Expected::Omitted,
        "scalar" => ResultMeta::Scalar,
        _ => match (items(text), tensor(text)) {
            (Some(items), _) => ResultMeta::Tensors(items.map(|item| tensor(item).unwrap()).collect()),
            (None, Some(tensor)) => ResultMeta::Tensor(tensor),
            (None, None) => ResultMeta::Int(IntMeta::Exact(text.parse().unwrap())),
        },
    })
}

fn case<'t>(text: &'t str, signature: &Signature) -> Case<'t> {
    let (args, results) = text.split_once("->").unwrap();
    let outcome = match results.trim() {
        "error" => Outcome::Error,
        "data-dependent" => Outcome::DataDependent,
        results => Outcome::Results(results.split_whitespace().map(expected).collect()),
    };
    let args = args.split_whitespace().zip(&signature.args).map(|(text, arg)| value(text, arg.kind)).collect();
    Case { text: text.trim(), args, outcome }
}

pub fn file() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/inference/cases.txt")).unwrap()
}

/// Returns the operators of the file, each with its signature and cases.
pub fn cases(file: &str) -> BTreeMap<&str, (Signature, Vec<Case<'_>>)> {
    let mut found: BTreeMap<&str, (Signature, Vec<Case<'_>>)> = BTreeMap::new();
    let mut operator = "";
    for line in file.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with(' ') {
            let (signature, cases) = found.get_mut(operator).unwrap();
            let case = case(line, signature);
            cases.push(case);
        } else {
            operator = line;
            found.insert(operator, (operators::find(operator).unwrap(), Vec::new()));
        }
    }
    found
}
