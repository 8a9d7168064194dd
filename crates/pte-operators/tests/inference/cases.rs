//! The cases of `cases.txt`, which `lab/inference.py` writes and describes. The parent module imports the types of
//! inference: this file is a part of the unit tests of the rules, and of the tests in the runtime.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{ArgKind, Base, Signature, find};
use super::{Argument, Dim, DimOrder, IntMeta, ResultMeta, ScalarType, TensorMeta};

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

/// Outcome that the file states for a case.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Results(Vec<Expected>),
    Error,
    DataDependent,
}

/// A call with the outcome that torch gave.
#[derive(Debug)]
pub struct Case<'t> {
    /// Line of the file.
    pub text: &'t str,
    /// Arguments of the call.
    pub args: Vec<Value<'t>>,
    /// Outcome in torch.
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

/// Returns the items of a list; empty for an empty text.
fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|item| !item.is_empty())
}

/// Returns the Int of `3`, `<=3` or `?`; `None` for another value.
fn int(text: &str) -> Option<IntMeta> {
    match text.strip_prefix("<=") {
        Some(most) => most.parse().ok().map(IntMeta::AtMost),
        None if text == "?" => Some(IntMeta::Unknown),
        None => text.parse().ok().map(IntMeta::Exact),
    }
}

fn dim(text: &str) -> Dim {
    match int(text) {
        Some(IntMeta::Exact(size)) => Dim::fixed(size),
        Some(IntMeta::AtMost(size)) => Dim { size, dynamic: true },
        Some(IntMeta::Unknown) | None => panic!("size `{text}`"),
    }
}

/// Returns the tensor of `f32[2,3]{1,0}`; `None` for another value.
fn tensor(text: &str) -> Option<TensorMeta> {
    let (name, rest) = text.split_once('[')?;
    let (sizes, order) = rest.split_once(']')?;
    if !name.chars().all(char::is_alphanumeric) || name.is_empty() {
        return None;
    }
    let sizes: Vec<Dim> = listed(sizes).map(dim).collect();
    let dim_order = match order.strip_prefix('{').and_then(|order| order.strip_suffix('}')) {
        Some(order) => listed(order).map(|dim| dim.parse().unwrap()).collect(),
        None => DimOrder::contiguous(sizes.len()),
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
        "unknown" => Argument::Unknown,
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
                let items = listed(list);
                if kind.base == Base::Float {
                    return Value::Doubles(items.map(|item| item.parse().unwrap()).collect());
                }
                if kind.base == Base::Bool {
                    return Value::Bools(items.map(|item| item == "true").collect());
                }
                Argument::Ints(items.map(|item| int(item).unwrap()).collect())
            } else if let Some(tensor) = tensor(text) {
                Argument::Tensor(Cow::Owned(tensor))
            } else if let Some(int) = int(text) {
                Argument::Int(int)
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
        "int" => ResultMeta::Int(IntMeta::Unknown),
        _ => match (items(text), tensor(text)) {
            (Some(items), _) => ResultMeta::Tensors(items.map(|item| tensor(item).unwrap()).collect()),
            (None, Some(tensor)) => ResultMeta::Tensor(tensor),
            (None, None) => ResultMeta::Int(int(text).unwrap()),
        },
    })
}

fn case<'t>(text: &'t str, signature: &Signature) -> Case<'t> {
    let (args, outcome) = text.split_once("->").unwrap();
    let outcome = match outcome.trim() {
        "error" => Outcome::Error,
        "data-dependent" => Outcome::DataDependent,
        text => Outcome::Results(results(text)),
    };
    Case { text: text.trim(), args: arguments(args, signature), outcome }
}

/// Returns arguments in the order of the schema.
pub fn arguments<'t>(text: &'t str, signature: &Signature) -> Vec<Value<'t>> {
    text.split_whitespace().zip(&signature.args).map(|(text, arg)| value(text, arg.kind)).collect()
}

/// Returns results.
pub fn results(text: &str) -> Vec<Expected> {
    text.split_whitespace().map(expected).collect()
}

pub fn file() -> String {
    // Relative to this file: tests of two packages include it.
    include_str!("cases.txt").to_owned()
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
            let known = find(operator).unwrap_or_else(|| panic!("cases of the unknown operator `{operator}`"));
            found.insert(operator, (known.signature.clone(), Vec::new()));
        }
    }
    found
}
