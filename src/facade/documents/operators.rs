//! The known operators and operations of XNNPACK graphs: the document of `ops`.

use serde::Serialize;

use crate::ir::nodes::NodeDescription;
use pte_model::diagnostics::clipped;
use pte_operators::OperatorDescription;

/// Subjects that `ops` lists.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Listed {
    /// An operator of a kernel.
    Operator(OperatorDescription),
    /// An operation of an XNNPACK graph.
    Node(NodeDescription),
}

impl Listed {
    /// Returns all operators by name, and then all operations of graphs.
    fn all() -> Vec<Listed> {
        let operators = OperatorDescription::names().filter_map(OperatorDescription::find).map(Listed::Operator);
        operators.chain(NodeDescription::all().into_iter().map(Listed::Node)).collect()
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        match self {
            Listed::Operator(operator) => operator.name,
            Listed::Node(node) => &node.name,
        }
    }
}

/// Returns the operator with this name, or else all whose names contain it; all without a name.
///
/// # Errors
/// A message about a name that no operator contains.
pub fn listed(name: Option<&str>) -> Result<Vec<Listed>, String> {
    let mut all = Listed::all();
    let Some(name) = name else { return Ok(all) };
    if let Some(exact) = all.iter().position(|known| known.name().eq_ignore_ascii_case(name)) {
        return Ok(vec![all.swap_remove(exact)]);
    }
    let part = name.to_ascii_lowercase();
    all.retain(|known| known.name().to_ascii_lowercase().contains(&part));
    if all.is_empty() {
        let near = OperatorDescription::similar_names(name);
        let help = if near.is_empty() { String::new() } else { format!("; nearest names: {}", near.join(", ")) };
        return Err(format!("unknown operator `{}`{help}", clipped(name)));
    }
    Ok(all)
}
