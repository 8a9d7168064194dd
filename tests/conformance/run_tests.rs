//! Runs the tests of YAML files in the real ExecuTorch runtime, which the first run downloads: `cargo run --example run_tests -- FILE.yaml...`
//!
//! Each document is assembled, loaded with full verification, and executed with the inputs of its tests; the outputs are compared with the
//! expected ones. Exit status 1 for a difference, a file without expected outputs, or an invalid one.

#[path = "../support/execution.rs"]
mod execution;
#[path = "../support/files.rs"]
mod files;
#[path = "../support/runner.rs"]
#[allow(dead_code, reason = "the tests of the package use the rest")]
mod runner;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pte_emit::{Model, Options};
use pte_model::diagnostics::{counted, escaped};

fn main() -> ExitCode {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if files.is_empty() || files.iter().any(|file| file.as_os_str() == "--help") {
        eprintln!("usage: run_tests FILE.yaml...");
        return ExitCode::from(2);
    }
    let runner = runner::locate();
    let mut failed = false;
    for file in &files {
        if let Err(messages) = run(&runner, file) {
            failed = true;
            messages.iter().for_each(|message| eprintln!("{}", escaped_lines(message)));
        }
    }
    ExitCode::from(u8::from(failed))
}

/// Escapes a message, whose own line breaks stay.
fn escaped_lines(message: &str) -> String {
    message.lines().map(escaped).collect::<Vec<_>>().join("\n")
}

/// Runs the tests of all documents of a file, with the defaults of its variables.
fn run(runner: &Path, file: &Path) -> Result<(), Vec<String>> {
    let invalid = |error: pte_emit::Error| vec![error.to_string()];
    let sources = Model::open(file).map_err(invalid)?.documents(&BTreeMap::new()).map_err(invalid)?.models;
    let mut failures = Vec::new();
    for (number, source) in (1..).zip(&sources) {
        let name = match sources.len() {
            1 => file.display().to_string(),
            _ => format!("{}: document {number}", file.display()),
        };
        let assembly = match source.assemble(&Options::default()) {
            Ok(assembly) => assembly,
            Err(error) => {
                failures.push(error.to_string());
                continue;
            }
        };
        let mode = runner::Mode { verify: "full", loader: "file" };
        match execution::run_tests(runner, &assembly, mode) {
            Ok(0) => failures.push(format!("{name}: no test has expected outputs")),
            Ok(compared) => println!("{}: {} as expected", escaped(&name), counted(compared as u64, "output")),
            Err(messages) => failures.extend(messages.iter().map(|message| format!("{name}: {message}"))),
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}
