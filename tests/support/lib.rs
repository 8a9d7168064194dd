//! Shared code of the tests: cases that are files, runs of the command, snapshots, properties of sources and files.
#![allow(missing_docs, reason = "only tests use it")]

pub mod bundles;
pub mod case;
pub mod fields;
pub mod files;
pub mod folder;
pub mod malformed;
pub mod mutation;
pub mod patch;
pub mod program;
pub mod properties;
pub mod python;
pub mod recordings;
pub mod safetensors;
pub mod sections;
pub mod snapshot;
pub mod sources;
pub mod tree;
pub mod tree_changes;
pub mod xnnpack;

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::LazyLock;

use libtest_mimic::{Arguments, Failed, Trial};

/// A model of a file or of bytes; messages call bytes `name`.
pub fn model(name: &str, origin: &pte_model::data::Origin) -> pte_emit::Model {
    match origin {
        pte_model::data::Origin::File(path) => pte_emit::Model::open(path).unwrap(),
        other => pte_emit::Model::from_binary(name, &*other.head(other.len().unwrap()).unwrap()),
    }
}

/// Root folder of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("a folder of the repository")
}

/// The command: that which cargo built for the tests of the root, or builds here for the tests of another package.
pub static COMMAND: LazyLock<PathBuf> = LazyLock::new(|| {
    if let Some(path) = std::env::var_os("CARGO_BIN_EXE_pte-emit") {
        return path.into();
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--bin", "pte-emit", "--message-format", "json"]).current_dir(root());
    let output = cargo.output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let messages = String::from_utf8(output.stdout).expect("messages in UTF-8");
    let message = |line| serde_json::from_str::<serde_json::Value>(line).ok();
    let path = messages.lines().filter_map(message).find_map(|line| Some(line["executable"].as_str()?.to_owned()));
    path.expect("cargo names the command").into()
});

/// The path of [`COMMAND`] as a string.
pub fn command() -> &'static str {
    COMMAND.to_str().expect("a path in UTF-8")
}

thread_local! {
    /// Panic message of the test on this thread; empty before a panic.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Test that fails by a panic.
pub fn trial(name: impl Into<String>, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        PANIC.set(Some(String::new()));
        let result = panic::catch_unwind(AssertUnwindSafe(test));
        let message = PANIC.take().unwrap_or_default();
        result.map_err(|_| Failed::from(message))
    })
}

/// Runs groups of tests with the options of the command line. A filter is a part of `GROUP::NAME`. A panic is printed
/// once, with the other failures at the end.
pub fn run(groups: impl IntoIterator<Item = (&'static str, Vec<Trial>)>) -> ExitCode {
    let (options, filters) = split_filters(std::env::args());
    let arguments = Arguments::from_iter(options);
    let matches = |name: &str, filter: &String| if arguments.exact { name == filter } else { name.contains(filter) };
    let is_selected = &|group: &str, trial: &Trial| {
        let name = format!("{group}::{}", trial.name());
        filters.is_empty() || filters.iter().any(|filter| matches(&name, filter))
    };
    let groups = groups.into_iter().map(|(group, trials)| {
        let selected = trials.into_iter().filter(move |trial| is_selected(group, trial));
        selected.map(move |trial| trial.with_kind(group)).collect::<Vec<Trial>>()
    });
    let trials = groups.flatten().collect();
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let of_a_test = PANIC.with_borrow_mut(|stored| {
            let Some(stored) = stored else { return false };
            let message = info.payload_as_str().unwrap_or("a panic without a message");
            let location = info.location().map(|location| format!("\n(at {location})")).unwrap_or_default();
            *stored = format!("{message}{location}");
            true
        });
        if !of_a_test {
            print(info);
        }
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Splits the arguments of a test binary into options with their values, and filters, of which libtest-mimic takes only
/// one.
fn split_filters(arguments: impl Iterator<Item = String>) -> (Vec<String>, Vec<String>) {
    let (mut options, mut filters): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for (number, argument) in arguments.enumerate() {
        let is_value = options.last().is_some_and(|last| OPTIONS_WITH_VALUES.contains(&last.as_str()));
        let list = if number == 0 || is_value || argument.starts_with('-') { &mut options } else { &mut filters };
        list.push(argument);
    }
    (options, filters)
}

/// Options of libtest-mimic whose value is the next argument.
const OPTIONS_WITH_VALUES: [&str; 6] = ["-Z", "--color", "--format", "--logfile", "--skip", "--test-threads"];

/// All files below a folder with one of these extensions (any if empty), including hidden ones, sorted by path.
pub fn files_below(folder: &Path, extensions: &[&str]) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if extensions.is_empty() || has_extension(&path, extensions) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns true if a path has one of these extensions.
pub fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|found| extensions.iter().any(|extension| found == *extension))
}

/// Returns the seed of a random test, and prints it: of the environment variable, or else a fixed one.
pub fn seed(variable: &str, fixed: u64) -> u64 {
    let seed = std::env::var(variable).map_or(fixed, |text| text.parse().expect("the seed is a number"));
    println!("{variable}={seed} repeats this run");
    seed
}
