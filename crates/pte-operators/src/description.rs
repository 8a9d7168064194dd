//! Operators as plain data, for `ops`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::inference::constraints::element_types;
use super::{Arg, Base, Operator, Role, find, names, similar};

/// An operator that ExecuTorch ships: its arguments and results, and how YAML calls it.
///
/// ```
/// use pte_operators::{OperatorDescription, Role};
///
/// let add = OperatorDescription::find("aten::add.out").unwrap();
/// assert_eq!((add.arguments.len(), add.arguments[3].role), (4, Role::Out));
/// assert_eq!(add.arguments[2].default.as_deref(), Some("1"));
/// assert!(OperatorDescription::names().any(|name| name == add.name));
/// assert_eq!(OperatorDescription::similar_names("aten::ad.out")[0], add.name);
/// assert!(add.element_types["self"].starts_with("uint8, int8, "));
/// assert_eq!(add.example, "- {kernel: aten::add.out, args: [self, other], out: out}");
/// ```
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OperatorDescription {
    /// Name with the overload: `aten::add.out`.
    pub name: &'static str,
    /// Library (CMake target) that a build has to link; `None` for an operator of the default runtime.
    pub library: Option<&'static str>,
    /// Arguments in the order of the stack.
    pub arguments: &'static [Arg],
    /// Element types that the kernel of the default runtime takes, in words, by the name of the argument. Measured;
    /// arguments without a constraint are left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub element_types: BTreeMap<&'static str, String>,
    /// Type of the result; `None` for an operator with outs.
    pub returns: Option<String>,
    /// How assembling infers element types and sizes of the results, in words; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    /// Instruction that calls the operator: values are called as the arguments, trailing arguments with defaults are
    /// left out.
    pub example: String,
}

/// Name of a returned value in an example.
const RESULT: &str = "result";

impl OperatorDescription {
    /// Returns the operator with this name; `None` for an unknown one.
    pub fn find(name: &str) -> Option<OperatorDescription> {
        find(name).map(OperatorDescription::new)
    }

    /// Returns all names in ascending order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        names()
    }

    /// Returns the names that an unknown one was probably meant to be, the most likely first.
    pub fn similar_names(name: &str) -> Vec<&'static str> {
        similar::similar_names(name)
    }

    fn new(operator: &'static Operator) -> OperatorDescription {
        let args = operator.signature.args.iter().enumerate();
        let types = |at: usize| element_types(&operator.constraints, &operator.signature, at);
        OperatorDescription {
            name: operator.name,
            library: operator.library,
            arguments: &operator.signature.args,
            element_types: args.filter_map(|(at, arg)| Some((&*arg.name, types(at)?))).collect(),
            returns: operator.signature.result.map(|result| result.to_string()),
            results: results(operator),
            example: example(operator),
        }
    }
}

/// Returns whether assembling infers the element types and sizes of the results; `None` if there are none.
fn results(operator: &Operator) -> Option<String> {
    if operator.signature.result.is_none() && operator.signature.outs().next().is_none() {
        return None;
    }
    Some(match (operator.facts.data_dependent, operator.facts.rule) {
        (Some((reason, _)), _) => format!("depends on data, declare it: {reason}"),
        (None, Some(_)) if operator.facts.conversion.changes_kind() => {
            "inferred from the arguments; another element type is declared under `values`".to_owned()
        }
        (None, Some(_)) => "inferred from the arguments".to_owned(),
        (None, None) => "declare it".to_owned(),
    })
}

/// Returns the instruction of [`OperatorDescription::example`].
fn example(operator: &Operator) -> String {
    let ins: Vec<&Arg> = operator.signature.ins().collect();
    let given = ins.iter().rposition(|arg| arg.default.is_none()).map_or(0, |last| last + 1);
    let args: Vec<&str> = ins[..given].iter().map(|arg| &*arg.name).collect();
    let outs: Vec<&str> = operator.signature.outs().map(|arg| &*arg.name).collect();
    let is_list = operator.signature.outs().any(|arg| arg.kind.list);
    // An operator that works in place returns that argument.
    let in_place = ins.iter().find(|arg| arg.role == Role::InPlace).map(|arg| &*arg.name);
    let out = match (outs.as_slice(), operator.signature.result) {
        ([out], _) if !is_list => format!(", out: {out}"),
        ([], Some(Base::Tensor)) => format!(", out: {}", in_place.unwrap_or(RESULT)),
        ([], Some(_)) => format!(", out: {RESULT}"),
        ([], None) => String::new(),
        (outs, _) => format!(", out: [{}]", outs.join(", ")),
    };
    format!("- {{kernel: {}, args: [{}]{out}}}", operator.name, args.join(", "))
}
