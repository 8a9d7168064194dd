//! `pte-emit ops [NAME]`: lists the known operators, or describes one.

use clap::Args;
use pte_emit::text::clipped;
use pte_emit::{OperatorArg, OperatorArgRole, OperatorDescription};

use super::exit::{Exit, Failure};
use super::json;
use super::options::{FormatArguments, TextOrJson};
use super::stdout;

/// Arguments of `ops`.
#[derive(Debug, Args)]
pub struct OpsArguments {
    /// Operator, such as aten::add.out, or a part of the names of several, in any case, which are listed; without it, all are
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
    let operators = match name {
        Some(name) => named(name)?,
        None => OperatorDescription::names().filter_map(OperatorDescription::find).collect(),
    };
    let printed = match &operators[..] {
        all if arguments.format.is_json() => json::text(&all),
        [one] => text(one),
        several => several.iter().map(row).collect(),
    };
    stdout::write("", |out| out.write_all(printed.as_bytes())).map(|()| Exit::Ok)
}

/// Returns the operator with this name, or else all whose names contain it.
fn named(name: &str) -> Result<Vec<OperatorDescription>, Failure> {
    let exact = OperatorDescription::names().find(|known| known.eq_ignore_ascii_case(name));
    let part = name.to_ascii_lowercase();
    let found: Vec<&str> = match exact {
        Some(exact) => vec![exact],
        None => OperatorDescription::names().filter(|known| known.to_ascii_lowercase().contains(&part)).collect(),
    };
    if found.is_empty() {
        let near = OperatorDescription::similar_names(name);
        let help = if near.is_empty() { String::new() } else { format!("; nearest names: {}", near.join(", ")) };
        return Err(Failure::usage(format!("unknown operator `{}`{help}", clipped(name))));
    }
    Ok(found.into_iter().filter_map(OperatorDescription::find).collect())
}

/// Line of the list: the name, and the library if it is not the default runtime.
fn row(operator: &OperatorDescription) -> String {
    match operator.library {
        Some(library) => format!("{} {library}\n", operator.name),
        None => format!("{}\n", operator.name),
    }
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
