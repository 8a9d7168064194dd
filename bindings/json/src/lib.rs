//! Commands of pte-emit with JSON requests and answers, which the bindings for other languages share.
//!
//! A request is an object with the name of a command and its options: `{"command": "check", "input": "model.pte"}`. The
//! commands and their options are a table in `commands`; `bindings/npm/src/index.ts` has a method for each. The result
//! has the JSON form of the command line, as the schemas in docs/ describe it.
//!
//! A call reads the files of its host, and those in `files` of the request, and no others.

mod commands;
mod language;
mod request;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

pub use pte_emit::command::files::{HostFile, HostFiles};
pub use pte_emit::command::read_exact_at;

use pte_emit::Error;
use pte_emit::command::files::with_files;
use pte_emit::command::findings::{FileFindings, FindingsDocument, json};
use serde::Serialize;
use serde_json::value::RawValue;

/// Answer to a request.
#[derive(Debug, Default)]
pub struct Answer {
    /// `{"result": ..., "files": [{"name": ..., "bytes": ...}]}`, or `{"error": {"message": ..., "files": ...}}`, whose
    /// `files` are those of docs/check.schema.json.
    pub json: String,
    /// Files of the result: name and content.
    pub files: Vec<(String, Vec<u8>)>,
}

#[derive(Serialize)]
struct ResultDocument<'a> {
    result: Box<RawValue>,
    files: Vec<FileDocument<'a>>,
}

#[derive(Serialize)]
struct FileDocument<'a> {
    name: &'a str,
    bytes: usize,
}

#[derive(Serialize)]
struct ErrorDocument<'a> {
    error: ErrorContent<'a>,
}

#[derive(Serialize)]
struct ErrorContent<'a> {
    message: String,
    #[serde(flatten)]
    findings: FindingsDocument<'a>,
}

/// Answers a request, with the files of the host. A panic, which is a defect of pte-emit, is an error of the answer.
pub fn call(request: &str, files: &HostFiles) -> Answer {
    match catch_unwind(AssertUnwindSafe(|| answer(request, files.clone()))) {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => failed(&error),
        Err(panic) => failed_internally(&panicked(&*panic)),
    }
}

/// Returns the answer to something that is not a request.
pub fn refused(message: &str) -> Answer {
    failed(&request::error(message))
}

/// Returns the answer that pte-emit has a defect.
fn failed_internally(message: &str) -> Answer {
    failed(&request::error(format!("internal error of pte-emit: {message}")))
}

fn answer(request: &str, host: HostFiles) -> Result<Answer, Error> {
    let request = request::Request::parse(request, host)?;
    let mut files = request.host.clone();
    for (name, text) in request.files()? {
        files.add(name.as_ref(), Arc::new(Arc::<[u8]>::from(text.as_bytes())));
    }
    let outcome = with_files(files, || commands::run(&request))?;
    let result = RawValue::from_string(outcome.result).map_err(|error| request::error(error.to_string()))?;
    let names = outcome.files.iter().map(|(name, bytes)| FileDocument { name, bytes: bytes.len() }).collect();
    Ok(Answer { json: text(&ResultDocument { result, files: names }), files: outcome.files })
}

fn failed(error: &Error) -> Answer {
    let findings = [FileFindings::of_report(error.report().clone())];
    let error = ErrorContent { message: error.to_string(), findings: json(&findings) };
    Answer { json: text(&ErrorDocument { error }), files: Vec::new() }
}

/// Returns the message of a panic.
fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("panic").to_owned()
}

/// Returns a document as JSON. No document has a map whose keys are not strings.
fn text(document: &impl Serialize) -> String {
    serde_json::to_string(document).unwrap_or_default()
}

#[cfg(test)]
mod tests;
