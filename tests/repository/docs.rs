//! Tests of README.md, CONTRIBUTING.md and docs/: every YAML block assembles without a warning, every `sh` block runs,
//! here or in `.ci/run`, generated tables are up to date (`BLESS=1 cargo test --test repository docs::` updates them).
//! guide.rs runs the blocks of docs/guide/.
//!
//! The Rust block of docs/library.md is a documentation test of src/lib.rs; lab/tests/cases/conformance.rs runs the
//! examples in the real runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use pretty_assertions::assert_eq;
use pte_check::semantics::limits::{LIMITS, Limit};
use pte_emit::{AssembleOptions, Code, Diagnostic, Error, MethodBuilder, Model, Resolved};

use crate::guide;
use crate::support::{files_below, malformed, root, sections, snapshot};

pub fn pages() -> Vec<PathBuf> {
    let mut pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root().join(name)).to_vec();
    pages.extend(files_below(&root().join("docs"), &["md"]));
    pages.sort();
    pages
}

/// Fenced blocks of a language, with their line numbers.
fn blocks(page: &str, language: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String, bool)> = None;
    for (number, line) in page.lines().enumerate() {
        // Blocks in lists are indented.
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(info)) => open = Some((number + 1, String::new(), info == language)),
            (Some(_), Some(_)) => {
                if let Some((number, text, true)) = open.take() {
                    blocks.push((number, text));
                }
            }
            (Some((_, text, _)), None) => *text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "every block is closed");
    blocks
}

#[test]
fn every_yaml_block_assembles() {
    let mut count = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for (line, block) in blocks(&text, "yaml") {
            let name = format!("{}:{line}", page.display());
            let documents = Model::from_yaml(&name, block, root()).documents(&Default::default());
            for source in documents.unwrap_or_else(|error| panic!("{error}")).models {
                let assembly = source.assemble(&AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(assembly.warnings.to_string(), "", "{name}");
            }
            count += 1;
        }
    }
    assert!(count > 0, "no YAML block was found");
}

/// Runs the blocks in sequence in a folder with the examples, with the built binary for `pte-emit` and `cargo run --`.
/// `cargo test` is skipped: it is running already.
#[test]
fn every_command_runs() {
    let folder = tempfile::tempdir().unwrap();
    copy(&root().join("examples"), &folder.path().join("examples"));
    let binary = Path::new(env!("CARGO_BIN_EXE_pte-emit"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut count = 0;
    for page in pages().into_iter().filter(|page| !page.starts_with(guide::folder())) {
        let text = std::fs::read_to_string(&page).unwrap();
        for (line, block) in blocks(&text, "sh") {
            let script = block.replace("cargo run -- ", "pte-emit ").replace("cargo test\n", "true\n");
            if script.contains("cargo ") {
                for command in block.lines() {
                    assert!(is_run_by_ci(command), "{}:{line}: .ci/run does not run `{command}`", page.display());
                }
                continue;
            }
            let output = Command::new("sh")
                .args(["-e", "-c", &script])
                .current_dir(&folder)
                .env("PATH", &path)
                // Of `view`.
                .env("BROWSER", "true")
                .env("TMPDIR", folder.path())
                .output()
                .unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            let stdout = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{}:{line}: {script}\n{stdout}{stderr}", page.display());
            count += 1;
        }
    }
    assert!(count > 0, "no command was found");
    assert!(folder.path().join("tour/model.pte").exists() && folder.path().join("tour/split.ptd").exists());
}

/// Returns true for a command that `.ci/run` runs, alone or as a part of another command. Environment variables and
/// comments are ignored.
fn is_run_by_ci(line: &str) -> bool {
    let command = line.split(" #").next().unwrap().trim();
    let (assignments, command) = command.split_at(command.find("cargo ").unwrap_or(0));
    let ci = std::fs::read_to_string(root().join(".ci/run")).unwrap();
    let commands = ci.lines().map(|line| line.split_at(line.find("cargo ").unwrap_or(0)).1);
    let is_assignment = |word: &str| word.split_once('=').is_some_and(|(name, _)| !name.is_empty());
    assignments.split_whitespace().all(is_assignment)
        && (command == ".ci/run"
            || commands.clone().any(|line| line == command)
            || TestCommand::parse(command).is_some_and(|command| {
                command.exists() && commands.filter_map(TestCommand::parse).any(|line| line.includes(&command))
            }))
}

/// Tests that a `cargo test` or `cargo lab` command selects.
struct TestCommand<'a> {
    /// Folder of the test targets.
    tests: &'static str,
    ignored: bool,
    /// Options that select packages and targets, with their values.
    targets: BTreeSet<(&'a str, &'a str)>,
    filters: Vec<&'a str>,
}

impl<'a> TestCommand<'a> {
    /// Parses a command; `None` for other commands, and for options that it does not know.
    fn parse(command: &'a str) -> Option<TestCommand<'a>> {
        let folders = [("cargo test", "tests"), ("cargo lab", "lab/tests")];
        let (words, tests) =
            folders.into_iter().find_map(|(name, tests)| Some((command.strip_prefix(name)?, tests)))?;
        let mut words = words.split_whitespace();
        let mut parsed = TestCommand { tests, ignored: false, targets: BTreeSet::new(), filters: Vec::new() };
        while let Some(word) = words.next() {
            match word {
                "--locked" | "--no-fail-fast" | "--nocapture" | "--list" | "--" => {}
                "--ignored" => parsed.ignored = true,
                "--lib" | "--bins" => drop(parsed.targets.insert((word, ""))),
                "--test" | "--bin" | "-p" => drop(parsed.targets.insert((word, words.next()?))),
                filter if !filter.starts_with('-') => parsed.filters.push(filter),
                _ => return None,
            }
        }
        Some(parsed)
    }

    /// Returns true if all test targets and packages that it names exist, and the modules of its filters.
    fn exists(&self) -> bool {
        let folder = |target: &(&str, &str)| match *target {
            ("--test", name) => Some(root().join(self.tests).join(name).join("main.rs")),
            ("-p", "pte-emit") => None,
            ("-p", name) => Some(root().join("crates").join(name).join("Cargo.toml")),
            _ => None,
        };
        let tests: Vec<&str> =
            self.targets.iter().filter(|(kind, _)| *kind == "--test").map(|(_, name)| *name).collect();
        let modules = self.filters.iter().filter_map(|filter| Some(filter.split_once("::")?.0));
        let mut modules = modules.filter(|_| !tests.is_empty());
        self.targets.iter().filter_map(folder).all(|path| path.exists())
            && modules.all(|module| {
                tests.iter().any(|test| root().join(format!("{}/{test}/{module}.rs", self.tests)).exists())
            })
    }

    /// Returns true if it runs all tests that another command runs. A filter is a part of the name of a test.
    fn includes(&self, other: &TestCommand) -> bool {
        let is_filtered = |filter: &&str| self.filters.iter().any(|own| filter.contains(own));
        (self.tests, self.ignored) == (other.tests, other.ignored)
            && (self.targets.is_empty() || self.targets == other.targets)
            && (self.filters.is_empty() || !other.filters.is_empty() && other.filters.iter().all(is_filtered))
    }
}

#[test]
fn commands_of_ci_are_recognized() {
    for command in [
        "cargo test --locked",
        "cargo test --test cases check/H-14  # some of them",
        "cargo test -p pte-check -p pte-emit --lib",
        "BLESS=1 cargo test --no-fail-fast",
        "BLESS=1 cargo lab --test cases malformed::linear -- --ignored",
        "A=1 cargo lab --test runtime -- --ignored --nocapture xnnpack_mutants::",
        "cargo clippy --workspace --all-targets --all-features --locked -- -D warnings",
        ".ci/run",
    ] {
        assert!(is_run_by_ci(command), "{command}");
    }
    for command in [
        "cargo test --test no_such_test",
        "cargo test --test suite no_such_module::",
        "cargo test -p no-such-crate",
        "cargo test --no-such-option",
        "cargo test --test suite cli:: -- --ignored",
        "cargo lab --test runtime -- --ignored",
        "cargo build",
        "echo cargo test",
    ] {
        assert!(!is_run_by_ci(command), "{command}");
    }
}

/// README.md is a page: two screens of 55 lines.
#[test]
fn the_readme_is_short() {
    let lines = std::fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(lines <= 110, "{lines} lines: move the rest to docs/");
}

#[test]
fn the_picture_shows_the_bytes_of_an_example() {
    let text = std::fs::read_to_string(root().join("examples/linear.yaml")).unwrap();
    let input = Model::from_yaml("linear.yaml", &text, root().join("examples"));
    let assembly = input.assemble(&AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let bytes = assembly.program_file().unwrap().to_vec().unwrap();
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    for row in 0..3 {
        let hex: Vec<String> = bytes[16 * row..16 * row + 16].iter().map(|byte| format!("{byte:02x}")).collect();
        let line = format!("{:04x}  {}", 16 * row, hex.join(" "));
        assert!(readme.contains(&line), "README.md lacks `{line}`");
    }
    let memory = &assembly.plan().memory[0];
    assert!(readme.contains(&format!("{} bytes for {} of tensors", memory.sizes[1], memory.unshared)));
    let base = assembly.program_file().unwrap().placement().segment_base_offset;
    assert!(readme.contains(&format!("then at {base:04x}")));
}

/// `pte_model::LINEAR_PTE` is the file of examples/linear.yaml.
#[test]
fn the_example_of_the_crates_is_up_to_date() {
    let assembly = Model::open(root().join("examples/linear.yaml")).unwrap().assemble(&AssembleOptions::default());
    let bytes = assembly.unwrap().program_file().unwrap().to_vec().unwrap();
    assert!(bytes.len() < 4096, "the examples need a small file");
    let path = root().join("crates/pte-model/examples/linear.pte");
    if snapshot::blessing() {
        return std::fs::write(path, bytes).unwrap();
    }
    assert!(
        bytes == pte_model::LINEAR_PTE,
        "{} is not up to date; `BLESS=1 cargo test --test repository the_example` writes it",
        path.display()
    );
}

/// Copies a folder.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Reasons why `dump` does not reproduce a malformed file: parts of messages, and what they mean.
const NOT_REPRODUCED: [(&[&str], &str); 7] = [
    (
        &[
            "points outside",
            "points into",
            "invalid vtable",
            "exceeds the file",
            "exceed the file",
            "end of the file",
            "no terminator",
        ],
        "cannot be read: an offset, a vtable, a list or a string leads out of the file, or the file ends too early",
    ),
    (
        &["unknown kind", "unknown instruction", "unknown location", "missing "],
        "cannot be read: a value, an instruction or data of an unknown kind, or without content",
    ),
    (&["out of range"], "cannot be read: a constant, a payload, a segment or data that do not exist"),
    (&["exceed its data", "bytes, expected"], "cannot be read: a tensor is larger than its data"),
    (&["invalid bool", "not UTF-8"], "cannot be read: a bool other than 0 and 1, a string that is not UTF-8"),
    (&["file identifier", "0.6 or older"], "cannot be read: the file identifier or the tables of another version"),
    (
        &["cannot express", "differs outside"],
        "is dumped, but YAML cannot express all of it: a .ptd without keys, a constant without a header, tests whose version, method, inputs or types do not match the program",
    ),
];

/// The reasons are the snapshots of tests/cases/malformed.rs, which verifies that all other files are reproduced.
#[test]
fn the_files_that_dump_does_not_reproduce_are_up_to_date() {
    let paths: BTreeMap<String, String> =
        malformed::cases().iter().map(|case| (case.name().to_owned(), malformed::relative(&case.input))).collect();
    let mut groups = vec![Vec::new(); NOT_REPRODUCED.len()];
    for (name, message) in snapshot::cases("malformed.cases") {
        let name = name.strip_suffix(".txt").unwrap();
        let group = NOT_REPRODUCED.iter().position(|(parts, _)| parts.iter().any(|part| message.contains(part)));
        let group =
            group.unwrap_or_else(|| panic!("{name}: NOT_REPRODUCED in {} has no reason for {message}", file!()));
        groups[group].push(format!("[{name}](../examples/malformed/{}.yaml)", paths[name]));
    }
    let rows = NOT_REPRODUCED
        .iter()
        .zip(&groups)
        .map(|((_, meaning), files)| format!("| {meaning} | {} |\n", files.join(", ")));
    let table = format!("\n| reason | files |\n|---|---|\n{}\n", rows.collect::<String>());
    assert!(groups.iter().all(|files| !files.is_empty()), "a reason without files");
    let path = root().join("docs/dump.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, after) = text.split_once("<!-- not reproduced -->\n").expect("docs/dump.md has the marker");
    let (_, after) = after.split_once("<!-- end -->").expect("the marker ends");
    let updated = format!("{before}<!-- not reproduced -->\n{table}<!-- end -->{after}");
    crate::support::snapshot::update(&path, &updated, "BLESS=1 cargo test --test repository docs::");
}

/// The default runtime first, then the libraries with the namespaces of their operators.
#[test]
fn the_table_of_libraries_is_up_to_date() {
    let path = root().join("docs/operators.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, after) = text.split_once("<!-- libraries -->\n").expect("docs/operators.md has the marker");
    let (_, after) = after.split_once("<!-- end -->").expect("the marker ends");
    let mut libraries: BTreeMap<Option<&str>, BTreeMap<&str, u32>> = BTreeMap::new();
    for name in pte_operators::names() {
        let namespace = name.split_once("::").unwrap().0;
        *libraries.entry(pte_operators::library(name)).or_default().entry(namespace).or_default() += 1;
    }
    let rows = libraries.iter().map(|(library, namespaces)| {
        let library = library.map_or("the default runtime".to_owned(), |library| format!("`{library}`"));
        let counts: Vec<String> = namespaces.iter().map(|(name, count)| format!("{count} of `{name}`")).collect();
        format!("| {library} | {} |\n", counts.join(", "))
    });
    let table = format!("\n| library | operators |\n|---|---|\n{}\n", rows.collect::<String>());
    let updated = format!("{before}<!-- libraries -->\n{table}<!-- end -->{after}");
    crate::support::snapshot::update(&path, &updated, "BLESS=1 cargo test --test repository docs::");
}

#[test]
fn the_list_of_evaluated_operators_is_up_to_date() {
    let path = root().join("docs/operators.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, after) = text.split_once("<!-- evaluated -->\n").expect("docs/operators.md has the marker");
    let (_, after) = after.split_once("<!-- end evaluated -->").expect("the marker ends");
    let mut namespaces: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for operator in pte_operators::all().filter(|operator| operator.facts.evaluation.is_some()) {
        let (namespace, name) = operator.name.split_once("::").unwrap();
        namespaces.entry(namespace).or_default().push(format!("`{name}`"));
    }
    let rows = namespaces.iter().map(|(namespace, names)| format!("| `{namespace}` | {} |\n", names.join(", ")));
    let table = format!("\n| namespace | operators |\n|---|---|\n{}\n", rows.collect::<String>());
    let updated = format!("{before}<!-- evaluated -->\n{table}<!-- end evaluated -->{after}");
    crate::support::snapshot::update(&path, &updated, "BLESS=1 cargo test --test repository docs::");
}

/// Compares the outputs in docs/inspect.md with those of the command in the comment before each, run in a folder with
/// `model.pte` from examples/linear.yaml.
#[test]
fn the_outputs_of_commands_are_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    copy(&root().join("examples"), &folder.path().join("examples"));
    let run = |arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pte-emit"));
        let output = command.args(arguments.split(' ')).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run("examples/linear.yaml -o model.pte");
    let path = root().join("docs/inspect.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut updated = String::new();
    let mut rest = &*text;
    let mut count = 0;
    while let Some((before, after)) = rest.split_once("<!-- ") {
        let (arguments, after) = after.split_once(" -->\n```text\n").expect("a block follows");
        let (_, after) = after.split_once("```\n").expect("the block ends");
        updated += &format!("{before}<!-- {arguments} -->\n```text\n{}```\n", run(arguments));
        rest = after;
        count += 1;
    }
    updated += rest;
    assert!(count > 0, "no output was found in {}", path.display());
    crate::support::snapshot::update(&path, &updated, "BLESS=1 cargo test --test repository docs::");
}

#[test]
fn the_limits_are_up_to_date() {
    let path = root().join("docs/check.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, after) = text.split_once("<!-- limits -->\n").expect("docs/check.md has the marker");
    let (_, after) = after.split_once("<!-- end -->").expect("the marker ends");
    let mut table = "| counted | limit | for each access | reached by |\n|---|---:|---:|---|\n".to_owned();
    for Limit { unit, least, per_access, reached_by } in LIMITS {
        table += &format!("| {unit}s | {least} | {per_access} | {reached_by} |\n");
    }
    let updated = format!("{before}<!-- limits -->\n{table}<!-- end -->{after}");
    crate::support::snapshot::update(&path, &updated, "BLESS=1 cargo test --test repository limits");
}

/// Codes of messages of the command line, which has no sources in `tests/golden/snapshots/errors` for them:
/// tests/suite/cli.rs and tests/suite/reduce.rs have the messages.
const CODES_OF_COMMANDS: [(Code, &str); 3] = [
    (
        Code::NotExecutable,
        "a call of `aten::relu.out` has a tensor of 17 dimensions, but the runtime supports 16 at most (T-6)",
    ),
    (Code::UnmetRequest, "the YAML does not reproduce the file byte for byte"),
    (Code::OperatorList, "line 1: unknown argument type `Q`; expected a letter of docs/rules.md, such as T for Tensor"),
];

/// The messages of a source, whether it assembles or not.
fn messages(source: Model) -> Vec<Diagnostic> {
    let assembled = |source: &Model| match source.assemble(&AssembleOptions::default()) {
        Ok(assembly) => assembly.warnings.diagnostics,
        Err(error) => error.diagnostics().to_vec(),
    };
    match source.documents(&BTreeMap::new()) {
        Ok(documents) => documents.models.iter().flat_map(assembled).collect(),
        Err(error) => error.diagnostics().to_vec(),
    }
}

/// The codes with their shortest message in the sources of `tests/golden/snapshots/errors`, and in what no source has:
/// options and calls of the library.
fn messages_by_code() -> BTreeMap<Code, String> {
    let sources: Vec<PathBuf> = sections::errors().into_iter().map(|case| case.input).collect();
    let mut found: Vec<Diagnostic> = sources
        .iter()
        .flat_map(|path| match Model::open(path) {
            Ok(source) => messages(source),
            Err(error) => error.diagnostics().to_vec(),
        })
        .collect();
    let confined = Model::from_yaml("x.yaml", "named_data: {x: {file: Cargo.toml}}", root()).confined_to("docs");
    found.extend(messages(confined));
    let not_text = Model::from_bytes("x.yaml", vec![0xff], root()).unwrap_err();
    for error in [not_text, foreign_value()] {
        found.extend(error.diagnostics().to_vec());
    }
    let here = format!("{}/", root().display());
    let mut shortest: BTreeMap<Code, String> =
        CODES_OF_COMMANDS.map(|(code, message)| (code, message.to_owned())).into();
    for diagnostic in found {
        let mut message = diagnostic.message;
        for folder in sources.iter().filter_map(|path| path.parent()) {
            message = message.replace(&format!("{}/", folder.display()), "");
        }
        let message = message.replace(&here, "");
        let known = shortest.entry(diagnostic.code).or_insert_with(|| message.clone());
        if (message.len(), &message) < (known.len(), known) {
            *known = message;
        }
    }
    shortest
}

/// The error of a method with a value of another one.
fn foreign_value() -> Error {
    let mut other = MethodBuilder::new("other");
    let x = other.input(pte_emit::ScalarType::FLOAT, &[1]);
    let mut method = MethodBuilder::new("forward");
    method.output(x);
    Resolved::from_methods([method]).unwrap_err()
}

#[test]
fn the_codes_are_up_to_date() {
    let examples = messages_by_code();
    let without: Vec<&str> =
        Code::ALL.iter().filter(|code| !examples.contains_key(code)).map(|code| code.name()).collect();
    assert!(without.is_empty(), "no source in tests/golden/snapshots/errors has a message of {}", without.join(", "));
    let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    assert_eq!(names.len(), Code::ALL.len(), "names are unique");
    let row = |code: &Code| {
        let example = examples[code].replace('|', "\\|");
        format!("| {code} | `{}` | {} | {example} |\n", code.name(), code.description())
    };
    let rows: String = Code::ALL.iter().map(row).collect();
    let path = root().join("docs/diagnostics.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, after) = text.split_once("<!-- codes -->\n").expect("docs/diagnostics.md has the marker `codes`");
    let (_, after) = after.split_once("<!-- end -->").expect("the marker ends");
    let head = "| code | name | problem | example |\n|---|---|---|---|\n";
    let updated = format!("{before}<!-- codes -->\n{head}{rows}<!-- end -->{after}");
    crate::support::snapshot::update(&path, &updated, "BLESS=1 cargo test --test repository docs::");
}
