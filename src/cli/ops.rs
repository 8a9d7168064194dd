//! `pte-emit ops [NAME]`: lists the known operators and the operations of XNNPACK graphs, or describes one.

use clap::Args;
use pte_emit::command::operators::{self, Listed};
use pte_emit::operators::{NodeDescription, OperatorArg, OperatorArgRole, OperatorDescription};

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

/// Prints the operators to standard output.
///
/// # Errors
/// A name that no operator contains; output that cannot be written.
pub fn run(arguments: &OpsArguments) -> Result<Exit, Failure> {
    let name = arguments.name.as_deref().filter(|name| !name.is_empty());
    let operators = listed(name)?;
    let printed = match &operators[..] {
        all if arguments.format.is_json() => json::text(&all),
        [one] => listed_text(one),
        several => several.iter().map(listed_row).collect(),
    };
    stdout::write("", |out| out.write_all(printed.as_bytes())).map(|()| Exit::Ok)
}

/// Returns the operator with this name, or else all whose names contain it; all without a name.
///
/// # Errors
/// A name that no operator contains.
pub fn listed(name: Option<&str>) -> Result<Vec<Listed>, Failure> {
    operators::listed(name).map_err(Failure::usage)
}

/// Line of the list: the name, and the library if it is not the default runtime.
fn listed_row(listed: &Listed) -> String {
    match listed {
        Listed::Operator(OperatorDescription { name, library: Some(library), .. }) => format!("{name} {library}\n"),
        Listed::Operator(OperatorDescription { name, library: None, .. }) => format!("{name}\n"),
        Listed::Node(node) => format!("{} XnnpackBackend\n", node.name),
    }
}

/// Description of an operator or operation.
fn listed_text(listed: &Listed) -> String {
    match listed {
        Listed::Operator(operator) => text(operator),
        Listed::Node(node) => node_text(node),
    }
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
    if !operator.element_types.is_empty() {
        let types = operator.arguments.iter().filter_map(|arg| operator.element_types.get_key_value(&*arg.name));
        let types: String = types.map(|(name, types)| format!("    {name}: {types}\n")).collect();
        text += &format!("  element types:\n{types}");
    }
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
