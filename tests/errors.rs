//! The mistakes that people make: each text under `tests/golden/errors/` has one, and its `.stderr` is the message
//! that it must get, whole. `BLESS=1 cargo test` accepts the messages as they are.
//!
//! Texts called `warn_*` are assembled, with a warning. What the command prints around a report is `cli.rs`'s work.

use std::fs;
use std::panic;
use std::path::{Path, PathBuf};

use pte_emit::{Options as AssembleOptions, Source, assemble};

#[path = "../src/golden.rs"]
mod golden;

/// The texts, in the order of their names; the folder of data files is not among them.
fn texts() -> Vec<PathBuf> {
    let folder = fs::read_dir(golden::path("errors")).unwrap().map(|entry| entry.unwrap().path());
    let mut texts: Vec<PathBuf> =
        folder.filter(|path| path.extension().is_some_and(|e| e == "yaml" || e == "json")).collect();
    texts.sort();
    texts
}

/// What the library says about a text; `Err` if it accepts what is wrong, or refuses what it should only warn about.
fn message(path: &Path) -> Result<String, &'static str> {
    let file = path.file_name().unwrap().to_str().unwrap();
    let text = fs::read_to_string(path).unwrap();
    // A relative folder, so that no message has a path of this machine in it.
    let input = Source::yaml(file, &text, Path::new("tests/golden/errors"));
    let warning = file.starts_with("warn_");
    match assemble(&input, &AssembleOptions::default()) {
        Ok(assembly) if warning && !assembly.warnings.diagnostics.is_empty() => Ok(assembly.warnings.to_string()),
        Ok(_) if warning => Err("no warning"),
        Ok(_) => Err("accepted without an error"),
        Err(_) if warning => Err("an error, not a warning"),
        Err(report) => Ok(pte_emit::cli::render::report(report.report(), false)),
    }
}

#[test]
fn every_mistake_gets_its_message() {
    let texts = texts();
    assert!(texts.len() >= 60, "only {} texts", texts.len());
    let mut wrong = Vec::new();
    for path in &texts {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let outcome = panic::catch_unwind(|| message(path));
        let problem = match outcome {
            Ok(Ok(rendered)) => {
                // The comparison panics with the difference on the terminal; the list below names them all.
                let golden = format!("errors/{name}.stderr");
                panic::catch_unwind(|| golden::check(&golden, &rendered)).is_err().then_some("another message")
            }
            Ok(Err(problem)) => Some(problem),
            Err(_) => Some("a panic"),
        };
        wrong.extend(problem.map(|problem| format!("{name}: {problem}")));
    }
    assert!(wrong.is_empty(), "{} of {} texts:\n{}", wrong.len(), texts.len(), wrong.join("\n"));
}

/// A message nobody produces any more says that its text was lost.
#[test]
fn every_message_has_its_text() {
    let texts = texts();
    let folder = fs::read_dir(golden::path("errors")).unwrap().map(|entry| entry.unwrap().path());
    let alone: Vec<PathBuf> = folder
        .filter(|path| path.extension().is_some_and(|extension| extension == "stderr"))
        .filter(|path| !texts.iter().any(|text| text.file_stem() == path.file_stem()))
        .collect();
    assert!(alone.is_empty(), "messages without a text: {alone:?}");
}
