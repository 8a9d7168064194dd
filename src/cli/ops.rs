//! `pte-emit ops [NAME]`: lists the known operators, or describes one.

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::exit::{Exit, Failure};
use super::json;
use super::options::{FormatArguments, TextOrJson};
use super::stdout;
use crate::diagnostics::clipped;
use crate::operators::inference::{data_dependent, out_type, rule};
use crate::operators::{self, Arg, Base, Role, Signature};

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

/// An operator of the tables.
struct Operator {
    name: &'static str,
    library: Option<&'static str>,
    signature: Signature,
}

/// Prints the operators to standard output.
///
/// # Errors
/// A name that no operator contains; output that cannot be written.
pub fn run(arguments: &OpsArguments) -> Result<Exit, Failure> {
    let name = arguments.name.as_deref().filter(|name| !name.is_empty());
    let operators = match name {
        Some(name) => named(name)?,
        None => operators::names().filter_map(operator).collect(),
    };
    let text = match &operators[..] {
        all if arguments.format.is_json() => json::text(&all.iter().map(Operator::document).collect::<Vec<_>>()),
        [one] => one.text(),
        several => several.iter().map(Operator::row).collect(),
    };
    stdout::write("", |out| out.write_all(text.as_bytes())).map(|()| Exit::Ok)
}

fn operator(name: &'static str) -> Option<Operator> {
    Some(Operator { name, library: operators::library(name), signature: operators::find(name)? })
}

/// Returns the operator with this name, or else all whose names contain it.
fn named(name: &str) -> Result<Vec<Operator>, Failure> {
    let exact = operators::names().find(|known| known.eq_ignore_ascii_case(name));
    let part = name.to_ascii_lowercase();
    let contains = |known: &&str| known.to_ascii_lowercase().contains(&part);
    let found: Vec<Operator> = match exact {
        Some(exact) => operator(exact).into_iter().collect(),
        None => operators::names().filter(contains).filter_map(operator).collect(),
    };
    if found.is_empty() {
        let near = operators::similar_names(name);
        let help = if near.is_empty() { String::new() } else { format!("; nearest names: {}", near.join(", ")) };
        return Err(Failure::usage(format!("unknown operator `{}`{help}", clipped(name))));
    }
    Ok(found)
}

impl Operator {
    /// Line of the list: the name, and the library if it is not the default runtime.
    fn row(&self) -> String {
        match self.library {
            Some(library) => format!("{} {library}\n", self.name),
            None => format!("{}\n", self.name),
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n", self.name);
        if let Some(library) = self.library {
            text += &format!("  library: {library}, which the build has to link\n");
        }
        let lines = |title: &str, args: &mut dyn Iterator<Item = &Arg>| {
            let lines: String = args.map(|arg| format!("    {}\n", parameter(arg))).collect();
            if lines.is_empty() { lines } else { format!("  {title}:\n{lines}") }
        };
        text += &lines("arguments", &mut self.signature.ins());
        text += &lines("outs", &mut self.signature.outs());
        if let Some(result) = self.signature.result {
            text += &format!("  returns: {result}\n");
        }
        if let Some(results) = self.results() {
            text += &format!("  results: {results}\n");
        }
        text + &format!("  example:\n    {}\n", self.example())
    }

    fn document(&self) -> OperatorDocument<'_> {
        OperatorDocument {
            name: self.name,
            library: self.library,
            arguments: self.signature.args.iter().map(ArgumentDocument::new).collect(),
            returns: self.signature.result.map(|result| result.to_string()),
            results: self.results(),
            example: self.example(),
        }
    }

    /// Returns whether assembling infers the element types and sizes of the results; `None` if there are none.
    fn results(&self) -> Option<String> {
        if self.signature.result.is_none() && self.signature.outs().next().is_none() {
            return None;
        }
        Some(match (data_dependent(self.name), rule(self.name)) {
            (Some(reason), _) => format!("depends on data, declare it: {reason}"),
            (None, Some(_)) if out_type::converts(self.name) => {
                "inferred from the arguments; another element type is declared under `values`".to_owned()
            }
            (None, Some(_)) => "inferred from the arguments".to_owned(),
            (None, None) => "declare it".to_owned(),
        })
    }

    /// Instruction that calls the operator: values are called as the arguments, trailing arguments with defaults are
    /// left out.
    fn example(&self) -> String {
        let ins: Vec<&Arg> = self.signature.ins().collect();
        let given = ins.iter().rposition(|arg| arg.default.is_none()).map_or(0, |last| last + 1);
        let args: Vec<&str> = ins[..given].iter().map(|arg| &*arg.name).collect();
        let outs: Vec<&str> = self.signature.outs().map(|arg| &*arg.name).collect();
        let is_list = self.signature.outs().any(|arg| arg.kind.list);
        // An operator that works in place returns that argument.
        let in_place = ins.iter().find(|arg| arg.role == Role::InPlace).map(|arg| &*arg.name);
        let out = match (outs.as_slice(), self.signature.result) {
            ([out], _) if !is_list => format!(", out: {out}"),
            ([], Some(Base::Tensor)) => format!(", out: {}", in_place.unwrap_or(RESULT)),
            ([], Some(_)) => format!(", out: {RESULT}"),
            ([], None) => String::new(),
            (outs, _) => format!(", out: [{}]", outs.join(", ")),
        };
        format!("- {{kernel: {}, args: [{}]{out}}}", self.name, args.join(", "))
    }
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
