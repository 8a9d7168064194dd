//! `pte-emit ops [NAME]`: lists the known operators and the operations of XNNPACK graphs, or describes one.

use clap::Args;
use pte_emit::command::text::clipped;
use pte_emit::operators::{NodeDescription, OperatorArg, OperatorArgRole, OperatorDescription};
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::json;
use super::options::{FormatArguments, TextOrJson};
use super::stdout;

/// Arguments of `ops`.
#[derive(Debug, Args)]
pub struct OpsArguments {
    /// Operator, such as aten::add.out or xnnpack::conv2d, or a part of the names of several, in any case, which are
    /// listed; without it, all are
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
}

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

    fn name(&self) -> &str {
        match self {
            Listed::Operator(operator) => operator.name,
            Listed::Node(node) => &node.name,
        }
    }

    /// Line of the list: the name, and the library if it is not the default runtime.
    fn row(&self) -> String {
        match self {
            Listed::Operator(OperatorDescription { name, library: Some(library), .. }) => format!("{name} {library}\n"),
            Listed::Operator(OperatorDescription { name, library: None, .. }) => format!("{name}\n"),
            Listed::Node(node) => format!("{} XnnpackBackend\n", node.name),
        }
    }

    fn text(&self) -> String {
        match self {
            Listed::Operator(operator) => text(operator),
            Listed::Node(node) => node_text(node),
        }
    }
}

/// Prints the operators to standard output.
///
/// # Errors
/// A name that no operator contains; output that cannot be written.
pub fn run(arguments: &OpsArguments) -> Result<Exit, Failure> {
    let name = arguments.name.as_deref().filter(|name| !name.is_empty());
    let operators = listed(name)?;
    let printed = match &operators[..] {
        all if arguments.format.is_json() => json::text(&all),
        [one] => one.text(),
        several => several.iter().map(Listed::row).collect(),
    };
    stdout::write("", |out| out.write_all(printed.as_bytes())).map(|()| Exit::Ok)
}

/// Returns the operator with this name, or else all whose names contain it; all without a name.
///
/// # Errors
/// A name that no operator contains.
pub fn listed(name: Option<&str>) -> Result<Vec<Listed>, Failure> {
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
        return Err(Failure::usage(format!("unknown operator `{}`{help}", clipped(name))));
    }
    Ok(all)
}

fn node_text(node: &NodeDescription) -> String {
    let mut text = format!("{}\n  an operation of an XNNPACK graph\n  keys:\n", node.name);
    for key in &node.keys {
        let needed = if key.required { "" } else { ", may be left out" };
        text += &format!("    {}: {}{needed}. {}\n", key.name, key.kind, key.description);
    }
    text + &format!("  example:\n    {}\n", node.example)
}

fn text(operator: &OperatorDescription) -> String {
    let mut text = format!("{}\n", operator.name);
    if let Some(library) = operator.library {
        text += &format!("  library: {library}, which the build has to link\n");
    }
    let lines = |title: &str, is_out: bool| {
        let args = operator.arguments.iter().filter(|arg| (arg.role == OperatorArgRole::Out) == is_out);
        let lines: String = args.map(|arg| format!("    {}\n", parameter(arg))).collect();
        if lines.is_empty() { lines } else { format!("  {title}:\n{lines}") }
    };
    text += &lines("arguments", false);
    text += &lines("outs", true);
    if let Some(result) = &operator.returns {
        text += &format!("  returns: {result}\n");
    }
    if let Some(results) = &operator.results {
        text += &format!("  results: {results}\n");
    }
    text + &format!("  example:\n    {}\n", operator.example)
}

/// Formats an argument: name, type, default.
fn parameter(arg: &OperatorArg) -> String {
    let default = arg.default.as_ref().map_or(String::new(), |default| format!(" = {default}"));
    let in_place = if arg.role == OperatorArgRole::InPlace { ", written in place" } else { "" };
    format!("{}: {}{default}{in_place}", arg.name, arg.kind)
}
