//! Commands of an editor about a method: other commands of pte-emit, whose output is the answer.
//!
//! They run in a process of their own, so that a program that hangs or crashes in a runtime does not end the server.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use pte_emit::language::LensKind;
use serde_json::{Value, json};

use super::documents::{path_of, uri_of};

/// Names of the commands.
pub const COMMANDS: &[(&str, LensKind)] = &[
    ("pte-emit.run", LensKind::Run),
    ("pte-emit.test", LensKind::Test),
    ("pte-emit.bless", LensKind::Bless),
    ("pte-emit.memory", LensKind::Memory),
    ("pte-emit.report", LensKind::Report),
];

/// Returns the name of the command for a question.
pub fn name_of(kind: LensKind) -> &'static str {
    COMMANDS.iter().find(|(_, known)| *known == kind).map_or("", |(name, _)| name)
}

/// Returns the arguments of a command for a saved file and a method, and the file that it writes.
fn arguments(kind: LensKind, file: &str, method: &str) -> (Vec<String>, Option<PathBuf>) {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match kind {
        LensKind::Run => (words(&["run", file, &format!("--method={method}")]), None),
        LensKind::Test => (words(&["test", file, &format!("--select={method}")]), None),
        LensKind::Bless => (words(&["test", "--bless", file, &format!("--select={method}")]), None),
        LensKind::Report => {
            let name = format!("pte-emit-report-{}.html", std::process::id());
            let page = std::env::temp_dir().join(name);
            (words(&["report", file, "-o", &page.display().to_string(), "--force"]), Some(page))
        }
        LensKind::Memory => (words(&["memory", file]), None),
    }
}

/// Runs a command: its name, and the URI of the file and the method as arguments. The answer has the text that it
/// prints, its exit status, and the URI of the file that it writes.
///
/// # Errors
/// An unknown command, a text that is not saved, a process that cannot be started.
pub fn execute(params: &Value) -> Result<Value, String> {
    let name = params["command"].as_str().unwrap_or_default();
    let Some((_, kind)) = COMMANDS.iter().find(|(known, _)| *known == name) else {
        let known: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
        return Err(format!("unknown command `{name}`: expected one of {}", known.join(", ")));
    };
    let uri = params["arguments"][0].as_str().unwrap_or_default();
    let method = params["arguments"][1].as_str().unwrap_or_default();
    let path = path_of(uri).ok_or_else(|| format!("`{uri}` is no file: save the text first"))?;
    let (arguments, page) = arguments(*kind, &path.display().to_string(), method);
    let own = std::env::current_exe().map_err(|error| format!("cannot find the command: {error}"))?;
    let mut command = Command::new(&own);
    // The Python package runs the server in Python's process.
    if own.file_stem().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("python")) {
        command.args(["-m", "pte_emit"]);
    }
    let output = command.args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot start {}: {error}", own.display()))?;
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    let page = page.filter(|page| output.status.success() && page.exists()).map(|page| uri_of(&page));
    Ok(json!({"text": text, "status": output.status.code(), "file": page}))
}
