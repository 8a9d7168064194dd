//! Explanations of errors, messages, rules and codes, with what they are about in programs: the document of `explain`.

use serde::Serialize;

use crate::facade::explain::{Circumstances, ExplainOptions};
use crate::facade::model::Model;
use pte_check::{FoundMessage, LogMessage, Recognized, Rule, RuntimeError, recognize};
use pte_model::diagnostics::{Code, clipped, nearest};
use pte_model::error::Error;

/// Item of the result: a subject, and what it is about in the program of `--model`.
#[derive(Serialize)]
#[cfg_attr(all(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Explanation {
    #[serde(flatten)]
    /// Subject.
    pub explained: Explained,
    /// What it is about in the programs of `--model`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Circumstances>,
}

/// Subject that `explain` explains.
#[derive(Serialize)]
#[cfg_attr(all(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Explained {
    /// An error of the runtime.
    Error {
        /// The error.
        #[serde(flatten)]
        error: &'static RuntimeError,
        /// Rules of `check` whose violation can cause it.
        rules: Vec<&'static str>,
    },
    /// A message of ExecuTorch's log.
    Message {
        /// Its text in the log.
        message: String,
        /// What it means.
        #[serde(flatten)]
        kind: &'static LogMessage,
        /// Number of its error; `None` if it is no error, or does not have it.
        error: Option<u32>,
    },
    /// A rule of `check`.
    Rule {
        /// The rule.
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

impl Explanation {
    /// Explains subjects, and what they are about in programs.
    ///
    /// # Errors
    /// A model that cannot be read.
    pub fn of(found: &[Recognized], models: &[Model], options: &ExplainOptions) -> Result<Vec<Explanation>, Error> {
        let item = |found| Explanation { explained: Explained::of(found), programs: Vec::new() };
        let mut explained: Vec<Explanation> = found.iter().map(item).collect();
        for model in models {
            for (item, about) in explained.iter_mut().zip(model.explain(found, options)?) {
                item.programs.push(about);
            }
        }
        Ok(explained)
    }
}

/// Finds what the texts name, or what they are together: a line without quotes. Without texts, all errors of the
/// runtime. `-` is the log, if there is one.
///
/// # Errors
/// A message about a text without anything known.
pub fn named(texts: &[String], log: Option<&str>) -> Result<Vec<Recognized>, String> {
    if texts.is_empty() {
        return Ok(RuntimeError::all().iter().map(Recognized::Error).collect());
    }
    let mut found = Vec::new();
    for text in texts {
        let log = log.filter(|_| text == "-");
        let of_text = recognize(log.unwrap_or(text));
        if of_text.is_empty() {
            let together = recognize(&texts.join(" "));
            return if together.is_empty() { Err(unknown(text, log.is_some())) } else { Ok(together) };
        }
        found.extend(of_text);
    }
    Ok(found)
}

/// Message about a text without anything known.
fn unknown(text: &str, is_log: bool) -> String {
    let errors = RuntimeError::all().iter().map(|error| error.name);
    let near = nearest(text, errors.chain(Code::ALL.iter().map(|code| code.name())));
    let help = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let what = match is_log {
        true => "no known code, rule or message in standard input".to_owned(),
        false => format!("unknown code, rule or message `{}`", clipped(text)),
    };
    format!(
        "{what}: expected an error of ExecuTorch, such as 0x14 or OperatorMissing, a line of its log, a rule of \
         `check`, such as X-4, or a code of the assembler, such as Y-5{help}"
    )
}

impl Explained {
    fn of(found: &Recognized) -> Explained {
        match found {
            Recognized::Error(error) => Explained::of_error(error),
            Recognized::Rule(id) => Explained::of_rule(id.rule()),
            Recognized::Code(code) => {
                Explained::Code { code: code.as_str(), name: code.name(), meaning: code.description() }
            }
            Recognized::Message(FoundMessage { message, text, error, .. }) => {
                Explained::Message { message: text.clone(), kind: message, error: error.map(|error| error.code) }
            }
        }
    }

    fn of_error(error: &'static RuntimeError) -> Explained {
        Explained::Error { error, rules: error.rules().map(|rule| rule.id.as_str()).collect() }
    }

    fn of_rule(rule: &'static Rule) -> Explained {
        let is_caused = |error: &&RuntimeError| error.rules().any(|caused| caused.id == rule.id);
        let errors = RuntimeError::all().iter().filter(is_caused).map(|error| error.code).collect();
        Explained::Rule { rule, example: rule.example, errors }
    }
}
