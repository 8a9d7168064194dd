//! `pte-emit ops [NAME]`: lists the known operators, or describes one.

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::exit::{Exit, Failure};
use super::json;
use super::options::{FormatArguments, TextOrJson};
use super::stdout;
use crate::diagnostics::clipped;
use crate::operators::{self, Arg, Base, Operator, Role};

/// Arguments of `ops`.
#[derive(Debug, Args)]
pub struct OpsArguments {
    /// Operator, such as aten::add.out, or a part of the names of several, in any case, which are listed; without it, all are
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
}

/// Name of a returned value in an example.
const RESULT: &str = "result";

/// Prints the operators to standard output.
///
/// # Errors
/// A name that no operator contains; output that cannot be written.
pub fn run(arguments: &OpsArguments) -> Result<Exit, Failure> {
    let name = arguments.name.as_deref().filter(|name| !name.is_empty());
    let operators = match name {
        Some(name) => named(name)?,
        None => operators::all().collect(),
    };
    let printed = match &operators[..] {
        all if arguments.format.is_json() => {
            json::text(&all.iter().map(|operator| document(operator)).collect::<Vec<_>>())
        }
        [one] => text(one),
        several => several.iter().map(|operator| row(operator)).collect(),
    };
    stdout::write("", |out| out.write_all(printed.as_bytes())).map(|()| Exit::Ok)
}

/// Returns the operator with this name, or else all whose names contain it.
fn named(name: &str) -> Result<Vec<&'static Operator>, Failure> {
    let exact = operators::names().find(|known| known.eq_ignore_ascii_case(name)).and_then(operators::find);
    let part = name.to_ascii_lowercase();
    let contains = |known: &&Operator| known.name.to_ascii_lowercase().contains(&part);
    let found: Vec<&Operator> = match exact {
        Some(exact) => vec![exact],
        None => operators::all().filter(contains).collect(),
    };
    if found.is_empty() {
        let near = operators::similar_names(name);
        let help = if near.is_empty() { String::new() } else { format!("; nearest names: {}", near.join(", ")) };
        return Err(Failure::usage(format!("unknown operator `{}`{help}", clipped(name))));
    }
    Ok(found)
}

/// Line of the list: the name, and the library if it is not the default runtime.
fn row(operator: &Operator) -> String {
    match operator.library {
        Some(library) => format!("{} {library}\n", operator.name),
        None => format!("{}\n", operator.name),
    }
}

fn text(operator: &Operator) -> String {
    let mut text = format!("{}\n", operator.name);
    if let Some(library) = operator.library {
        text += &format!("  library: {library}, which the build has to link\n");
    }
    let lines = |title: &str, args: &mut dyn Iterator<Item = &Arg>| {
        let lines: String = args.map(|arg| format!("    {}\n", parameter(arg))).collect();
        if lines.is_empty() { lines } else { format!("  {title}:\n{lines}") }
    };
    text += &lines("arguments", &mut operator.signature.ins());
    text += &lines("outs", &mut operator.signature.outs());
    if let Some(result) = operator.signature.result {
        text += &format!("  returns: {result}\n");
    }
    if let Some(results) = results(operator) {
        text += &format!("  results: {results}\n");
    }
    text + &format!("  example:\n    {}\n", example(operator))
}

fn document(operator: &Operator) -> OperatorDocument<'_> {
    OperatorDocument {
        name: operator.name,
        library: operator.library,
        arguments: operator.signature.args.iter().map(ArgumentDocument::new).collect(),
        returns: operator.signature.result.map(|result| result.to_string()),
        results: results(operator),
        example: example(operator),
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

/// Instruction that calls the operator: values are called as the arguments, trailing arguments with defaults are
/// left out.
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

/// Formats an argument: name, type, default.
fn parameter(arg: &Arg) -> String {
    let default = arg.default.as_ref().map_or(String::new(), |default| format!(" = {default}"));
    let in_place = if arg.role == Role::InPlace { ", written in place" } else { "" };
    format!("{}: {}{default}{in_place}", arg.name, arg.kind)
}

/// An operator in JSON; docs/operators.md describes the keys.
#[derive(Serialize)]
struct OperatorDocument<'o> {
    name: &'o str,
    library: Option<&'o str>,
    arguments: Vec<ArgumentDocument<'o>>,
    returns: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<String>,
    example: String,
}

#[derive(Serialize)]
struct ArgumentDocument<'o> {
    name: &'o str,
    #[serde(rename = "type")]
    kind: String,
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<Value>,
}

impl ArgumentDocument<'_> {
    fn new(arg: &Arg) -> ArgumentDocument<'_> {
        let role = match arg.role {
            Role::In => "in",
            Role::InPlace => "in_place",
            Role::Out => "out",
        };
        // The default of a table is JSON, which a test of the tables verifies.
        let default = arg.default.as_ref().map(|default| serde_json::from_str(default).unwrap_or_default());
        ArgumentDocument { name: &arg.name, kind: arg.kind.to_string(), role, default }
    }
}
