//! `pte-emit explain CODE|RULE...`: what an error of the runtime, a rule of `check` or a code of the assembler means,
//! and what to do.

use std::fmt::Write;

use clap::Args;
use pte_emit::command::text::{clipped, nearest};
use pte_emit::{
    Code,
    check::{Profile, Rule, RuleId, RuntimeError},
};
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::json;
use super::options::{FormatArguments, TextOrJson};
use super::stdout;

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// Errors of ExecuTorch by number or name, such as 0x14, 20 or OperatorMissing, rules of check, such as X-4, and
    /// codes of the assembler, such as Y-5; without any, the errors of ExecuTorch are listed
    #[arg(value_name = "CODE|RULE")]
    names: Vec<String>,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
}

/// Subject that `explain` explains.
#[derive(Serialize)]
#[cfg_attr(all(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Explained {
    /// An error of the runtime.
    Error {
        #[serde(flatten)]
        error: &'static RuntimeError,
        /// Rules of `check` whose violation can cause it.
        rules: Vec<&'static str>,
    },
    /// A rule of `check`.
    Rule {
        #[serde(flatten)]
        rule: &'static Rule,
        /// Example of a violation.
        example: &'static str,
        /// Numbers of the errors of the runtime that a violation can cause.
        errors: Vec<u32>,
    },
    /// A code of the assembler.
    Code {
        /// Code, such as `Y-5`.
        code: &'static str,
        /// Name, such as `unknown-key`.
        name: &'static str,
        /// Meaning, in one sentence.
        meaning: &'static str,
    },
}

/// Prints the explanations.
///
/// # Errors
/// An unknown name; output that cannot be written.
pub fn run(arguments: &ExplainArguments) -> Result<Exit, Failure> {
    let explained: Vec<Explained> = match &arguments.names[..] {
        [] => RuntimeError::all().iter().map(Explained::of_error).collect(),
        names => names.iter().map(|name| explain(name)).collect::<Result<_, _>>()?,
    };
    let printed = match () {
        () if arguments.format.is_json() => json::text(&explained),
        () if arguments.names.is_empty() => RuntimeError::all().iter().map(row).collect(),
        () => explained.iter().map(Explained::text).collect::<Vec<String>>().join("\n"),
    };
    stdout::write("", |out| out.write_all(printed.as_bytes())).map(|()| Exit::Ok)
}

/// Finds an error, a rule or a code by its name.
fn explain(name: &str) -> Result<Explained, Failure> {
    let upper = name.to_ascii_uppercase();
    if let Some(error) = RuntimeError::find(name) {
        return Ok(Explained::of_error(error));
    }
    if let Ok(id) = name.parse::<RuleId>().or_else(|_| upper.parse::<RuleId>()) {
        return Ok(Explained::of_rule(id.rule()));
    }
    let code = Code::ALL.iter().find(|code| code.as_str() == upper || code.name().eq_ignore_ascii_case(name));
    if let Some(code) = code {
        return Ok(Explained::Code { code: code.as_str(), name: code.name(), meaning: code.description() });
    }
    let errors = RuntimeError::all().iter().map(|error| error.name);
    let near = nearest(name, errors.chain(Code::ALL.iter().map(|code| code.name())));
    let help = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    Err(Failure::usage(format!(
        "unknown code or rule `{}`: expected an error of ExecuTorch, such as 0x14 or OperatorMissing, a rule of `check`, such as X-4, or a \
         code of the assembler, such as Y-5{help}",
        clipped(name)
    )))
}

/// Line of the list of errors.
fn row(error: &RuntimeError) -> String {
    format!("{:#04x}  {:31}  {}\n", error.code, error.name, error.meaning)
}

impl Explained {
    fn of_error(error: &'static RuntimeError) -> Explained {
        Explained::Error { error, rules: error.rules().map(|rule| rule.id.as_str()).collect() }
    }

    fn of_rule(rule: &'static Rule) -> Explained {
        let is_caused = |error: &&RuntimeError| error.rules().any(|caused| caused.id == rule.id);
        let errors = RuntimeError::all().iter().filter(is_caused).map(|error| error.code).collect();
        Explained::Rule { rule, example: rule.example, errors }
    }

    fn text(&self) -> String {
        match self {
            Explained::Error { error, rules } => error_text(error, rules),
            Explained::Rule { rule, errors, .. } => rule_text(rule, errors),
            Explained::Code { code, name, meaning } => format!(
                "{code} {name}: {meaning}\n  a message of the assembler; it points at the source, and says what was found and expected\n"
            ),
        }
    }
}

/// Longest line of a list of rules, in characters.
const WIDTH: usize = 100;

fn error_text(error: &RuntimeError, rules: &[&str]) -> String {
    let mut out = format!("{} {:#04x} ({}): {}\n", error.name, error.code, error.code, error.meaning);
    if !error.causes.is_empty() {
        let _ = writeln!(out, "  causes: {}", error.causes);
    }
    let _ = writeln!(out, "  what to do: {}", error.remedy);
    if !rules.is_empty() {
        out += "  rules of `check` whose violation causes it:\n";
        let mut line = String::new();
        for rule in rules {
            if line.len() + rule.len() > WIDTH {
                let _ = writeln!(out, "    {}", line.trim_end());
                line.clear();
            }
            line += rule;
            line.push(' ');
        }
        let _ = writeln!(out, "    {}", line.trim_end());
    }
    out
}

fn rule_text(rule: &Rule, errors: &[u32]) -> String {
    let mut out = format!("{} ({}): {}\n", rule.id, rule.severity, rule.title);
    let _ = writeln!(out, "  reason: {}", rule.why);
    let _ = writeln!(out, "  the runtime: {}", rule.runtime);
    let _ = writeln!(out, "  example: {}", rule.example);
    let profiles = [Profile::Strict, Profile::Portable, Profile::Aten, Profile::Bits32, Profile::Legacy];
    let applies: Vec<String> =
        profiles.into_iter().filter(|profile| rule.applies(*profile)).map(|profile| profile.to_string()).collect();
    if applies.len() < profiles.len() {
        let _ = writeln!(out, "  profiles of `check`: {}", applies.join(", "));
    }
    for error in RuntimeError::all().iter().filter(|error| errors.contains(&error.code)) {
        let _ = writeln!(out, "  {} {:#04x}: {}", error.name, error.code, error.remedy);
    }
    out
}
