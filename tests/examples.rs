//! The examples as texts: each is short and says what it shows, is assembled without a warning and always to the same
//! bytes, and means the same to another YAML parser.
//!
//! Whether they compute what they say is `conformance.rs`'s work; that the schema takes them, `schema.rs`'s.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use pte_emit::ir::tree::{self, Tree};
use pte_emit::{Options as AssembleOptions, Source, assemble};

const SCHEMA_LINE: &str = "# yaml-language-server: $schema=../pte-emit.schema.json";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// The examples by name.
fn examples() -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let texts = entries.filter(|path| path.extension().is_some_and(|e| e == "yaml"));
    texts
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap()))
        .collect()
}

/// All files that a text becomes, by tag.
fn files(name: &str, text: &str, folder: &Path) -> Vec<(Option<String>, Vec<u8>)> {
    let input = Source::yaml(name, text, folder);
    let assembly = assemble(&input, &AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(assembly.warnings.diagnostics.is_empty(), "{}", assembly.warnings.to_string());
    let program = assembly.program_file().unwrap_or_else(|| panic!("{name} has no methods"));
    let data = assembly.data_files().map(|(tag, file)| (tag.map(str::to_owned), file.to_vec().unwrap()));
    [(Some(".pte".to_owned()), program.to_vec().unwrap())].into_iter().chain(data).collect()
}

#[test]
fn examples_say_what_they_show() {
    let examples = examples();
    assert!(examples.len() >= 18, "{} examples", examples.len());
    for (name, text) in &examples {
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(SCHEMA_LINE), "{name}");
        assert!(
            lines.next().is_some_and(|line| line.starts_with("# ") && line.len() > 20),
            "{name} says what it shows"
        );
        assert!(text.is_ascii() && text.ends_with('\n') && !text.contains(" \n"), "{name} is plain text");
    }
    let data = fs::read_dir(folder().join("data")).unwrap().map(|entry| entry.unwrap().path());
    let texts = examples.keys().map(|name| folder().join(name));
    for path in texts.chain(data) {
        assert!(fs::metadata(&path).unwrap().len() < 64 << 10, "{} is small", path.display());
        let used = path.parent() == Some(&folder()) || {
            let file = format!("data/{}", path.file_name().unwrap().to_str().unwrap());
            examples.values().any(|text| text.contains(&file))
        };
        assert!(used, "an example uses {}", path.display());
    }
}

#[test]
fn examples_always_give_the_same_bytes() {
    let elsewhere = tempfile::tempdir().unwrap();
    fs::create_dir(elsewhere.path().join("data")).unwrap();
    for entry in fs::read_dir(folder().join("data")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, elsewhere.path().join("data").join(path.file_name().unwrap())).unwrap();
    }
    for (name, text) in &examples() {
        let first = files(name, text, &folder());
        // No diff of bytes on failure: it would fill the screen.
        assert!(files(name, text, &folder()) == first, "{name} is assembled to other bytes the second time");
        assert!(files("other.yaml", text, elsewhere.path()) == first, "{name} has other bytes in another folder");
    }
}

#[test]
fn examples_mean_the_same_to_another_parser() {
    for (name, text) in &examples() {
        let ours = tree::parse(text).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let theirs: Tree<'_> = serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        // As text, because what is not a number is not equal to itself, and zeros of either sign are.
        assert_eq!(format!("{ours:#?}"), format!("{:#?}", theirs.0), "{name}");
    }
}
