//! One test per example, named by its file: it is short and has a description, assembles without a warning and always
//! to the same bytes, is parsed to the same tree by another YAML parser, and its files pass the other commands.
//!
//! `cargo test --test cases examples::linear` runs those whose name contains the word. lab/tests/cases executes the
//! examples.

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Trial;
use pte_model::data::Origin;

use crate::support::case::{Case, inputs};
use crate::support::{files_below, properties, root, sources, trial};

const SCHEMA_LINE: &str = "# yaml-language-server: $schema=../pte-emit.schema.json";

/// The cases, by name.
pub fn trials() -> Vec<Trial> {
    let mut tests: Vec<Trial> = examples().into_iter().map(test).collect();
    tests.push(trial("data_are_small_and_used", data_are_small_and_used));
    tests
}

fn folder() -> PathBuf {
    root().join("examples")
}

fn examples() -> Vec<Case> {
    inputs("examples")
}

fn test(case: Case) -> Trial {
    trial(case.name().to_owned(), move || example(&case.input))
}

fn example(path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    has_a_description(&text);
    properties::parsers_agree(&text);
    properties::survives_dump(&text, &folder()).unwrap_or_else(|problem| panic!("dump: {problem}"));
    let assembly = sources::assembled(path);
    assert_eq!(assembly.warnings.to_string(), "");
    assert!(assembly.program_file().is_some(), "it has no methods");
    properties::check_accepts(&assembly);
    let files = sources::files(&assembly);
    // `assert!`: a diff of bytes would be too long.
    assert!(files == sources::files(&sources::assembled(path)), "assembling again yields other bytes");
    assert!(files == in_another_folder(&text), "assembling in another folder yields other bytes");
    let written = tempfile::tempdir().unwrap();
    for (number, (extension, bytes)) in files.into_iter().enumerate() {
        let file = written.path().join(format!("{number}.{extension}"));
        fs::write(&file, &bytes).unwrap();
        properties::every_byte_is_explained(&Origin::Bytes(bytes.into()), extension);
        properties::dump_reproduces(&file);
    }
}

fn has_a_description(text: &str) {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(SCHEMA_LINE));
    assert!(
        lines.next().is_some_and(|line| line.starts_with("# ") && line.len() > 20),
        "the second line is not a description"
    );
    assert!(
        text.is_ascii() && text.ends_with('\n') && !text.contains(" \n"),
        "it is not ASCII, has trailing spaces, or no newline at the end"
    );
    assert!(text.len() < 64 << 10, "it has {} bytes", text.len());
}

/// Assembles a source with another name in another folder.
fn in_another_folder(text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let copy_of_folder = tempfile::tempdir().unwrap();
    for data in files_below(&folder().join("data"), &[]) {
        let copy = copy_of_folder.path().join(data.strip_prefix(folder()).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(data, copy).unwrap();
    }
    sources::files(&sources::assembly("other.yaml", text, copy_of_folder.path()))
}

fn data_are_small_and_used() {
    let mut sources: Vec<String> = examples().iter().map(|case| fs::read_to_string(&case.input).unwrap()).collect();
    // Recordings of executions and schemas are read by commands of the documentation.
    let pages = ["docs/profile.md", "docs/guide/payload.md"];
    sources.extend(pages.map(|page| fs::read_to_string(crate::support::root().join(page)).unwrap()));
    let data = files_below(&folder().join("data"), &[]);
    assert_eq!(data.len(), 8);
    for path in data {
        assert!(fs::metadata(&path).unwrap().len() < 64 << 10, "{} is large", path.display());
        let name = path.strip_prefix(folder()).unwrap().to_str().unwrap();
        assert!(sources.iter().any(|source| source.contains(name)), "no example reads {name}");
    }
}
