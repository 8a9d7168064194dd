//! Operations of XNNPACK graphs as plain data, for `ops`. The keys are those of the grammar.

use serde::Serialize;

use super::shape::shape_of;
use pte_model::format::Kind;
use pte_model::format::table::Union;
use pte_xnnpack::schema::{OPTIONAL_OPERAND, Operation, field_key};

/// Start of the names of operations, which have no namespace in YAML.
const NAMESPACE: &str = "xnnpack::";

/// An operation of an XNNPACK graph: the keys of its node in YAML.
///
/// ```
/// use pte_emit::operators::{NodeDescription, NodeKey};
///
/// let conv = NodeDescription::all().into_iter().find(|node| node.name == "xnnpack::conv2d").unwrap();
/// assert_eq!(conv.example, "- {conv2d: {input: input, filter: filter, output: output}}");
/// let stride: &NodeKey = conv.keys.iter().find(|key| key.name == "subsampling_height").unwrap();
/// assert_eq!((stride.kind, stride.required), ("integer", false));
/// assert_eq!(stride.description, "Vertical stride; 1 if it is left out.");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NodeDescription {
    /// Name with the prefix `xnnpack::`; the key of a node is the rest.
    pub name: String,
    /// Keys in the order of XNNPACK's schema.
    pub keys: Vec<NodeKey>,
    /// Node with the keys that it needs.
    pub example: String,
}

/// A key of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NodeKey {
    /// Name.
    pub name: &'static str,
    /// Kind of its value: `value`, `result` (a value that the operation writes), `integer`, `number` or `integers` (a
    /// list).
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The node needs it.
    pub required: bool,
    /// Meaning.
    pub description: &'static str,
}

impl NodeDescription {
    /// Returns all operations, in the order of XNNPACK's schema.
    pub fn all() -> Vec<NodeDescription> {
        Operation::ALL.iter().map(|operation| NodeDescription::of(*operation)).collect()
    }

    fn of(operation: Operation) -> NodeDescription {
        let table = operation.table();
        let mut keys = Vec::with_capacity(table.fields.len());
        for (slot, field) in table.fields.iter().enumerate() {
            let operand = operation.operands().find(|operand| usize::from(operand.slot) == slot);
            let kind = match (&operand, field.kind) {
                (Some(operand), _) => {
                    if operand.is_output {
                        "result"
                    } else {
                        "value"
                    }
                }
                // An input that the operation does not have: concatenations share a table.
                (None, _) if field.name.ends_with("_id") => continue,
                (None, Kind::Float) => "number",
                (None, Kind::UInts) => "integers",
                (None, _) => "integer",
            };
            let name = field_key(table, slot);
            let doc = shape_of(operation).keys.iter().find(|key| key.name == name).map_or("", |key| key.doc);
            let required = operand.as_ref().is_some_and(|operand| operand.name != OPTIONAL_OPERAND);
            let description = match operand {
                Some(operand) if operand.is_output => "The value that it writes.",
                Some(_) => "A value that it reads.",
                None => doc,
            };
            keys.push(NodeKey { name, kind, required, description });
        }
        let needed: Vec<String> =
            keys.iter().filter(|key| key.required).map(|key| format!("{0}: {0}", key.name)).collect();
        let example = format!("- {{{}: {{{}}}}}", operation.word(), needed.join(", "));
        NodeDescription { name: format!("{NAMESPACE}{}", operation.word()), keys, example }
    }
}
