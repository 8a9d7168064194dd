//! Cases that are files: an input, whose first comment lines may override the default commands of its folder.
//!
//! ```text
//! # run: pte-emit %s -o %t/model.pte
//! # run: pte-emit annotate --part headers %t/model.pte
//! # exit: 1
//! # warns: T-1, T-3
//! ```
//!
//! As in LLVM's lit, `%s` is the input and `%t` an empty folder for outputs. The output of the last command is the
//! case's; those before must succeed. `exit` is the exit status of the last command; `warns` lists the warnings that
//! must appear, by rule.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::folder::Done;

/// Input with the settings in its first lines.
pub struct Case {
    /// Path of the input.
    pub input: PathBuf,
    settings: Vec<(String, String)>,
}

/// Inputs of a folder of the package (not of its subfolders), sorted by name.
///
/// # Panics
/// If there are none: tests of inputs that are not found would succeed.
pub fn inputs(folder: &str) -> Vec<Case> {
    let entries = fs::read_dir(super::root().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| super::has_extension(path, &["yaml", "json"]));
    paths.sort();
    assert!(!paths.is_empty(), "no inputs in {folder}");
    paths.iter().map(|path| Case::read(path)).collect()
}

impl Case {
    /// Reads the first lines of an input.
    pub fn read(input: &Path) -> Case {
        let bytes = fs::read(input).unwrap_or_else(|error| panic!("{}: {error}", input.display()));
        let text = String::from_utf8_lossy(&bytes);
        let head = text.lines().map_while(|line| line.strip_prefix("# "));
        let setting = |line: &str| {
            let (key, value) = line.split_once(": ")?;
            ["run", "exit", "warns"].contains(&key).then(|| (key.to_owned(), value.trim().to_owned()))
        };
        Case { input: input.to_owned(), settings: head.filter_map(setting).collect() }
    }

    /// File name without its extension.
    pub fn name(&self) -> &str {
        self.input.file_stem().unwrap().to_str().unwrap()
    }

    fn all(&self, key: &str) -> impl Iterator<Item = &str> {
        self.settings.iter().filter(move |(found, _)| found == key).map(|(_, value)| value.as_str())
    }

    /// Commands of the case, by default these.
    pub fn commands(&self, default: &[&str]) -> Vec<String> {
        let own: Vec<String> = self.all("run").map(str::to_owned).collect();
        if own.is_empty() { default.iter().map(|&command| command.to_owned()).collect() } else { own }
    }

    /// Expected exit status, by default this one.
    pub fn exit(&self, default: i32) -> i32 {
        self.all("exit").next().map_or(default, |status| status.parse().expect("`# exit:` has a number"))
    }

    /// Expected warnings.
    pub fn warns(&self) -> BTreeSet<String> {
        self.all("warns").flat_map(|list| list.split(", ")).map(str::to_owned).collect()
    }

    /// Runs the commands in the folder of the input; `%s` is its file name.
    pub fn run(&self, default: &[&str]) -> Run {
        let name = self.input.file_name().unwrap().to_str().unwrap();
        run(&self.commands(default), name, self.input.parent().unwrap())
    }

    /// Runs the commands in a temporary folder; `%s` is the absolute path of the input.
    pub fn run_apart(&self, default: &[&str]) -> Run {
        let apart = tempfile::tempdir().unwrap();
        run(&self.commands(default), self.input.to_str().unwrap(), apart.path())
    }
}

/// Result of the commands of a case.
pub struct Run {
    /// Exit status of the last command; `None` for a signal.
    pub code: Option<i32>,
    /// Standard output of the last command, with `%t` for the folder of outputs.
    pub stdout: String,
    /// Standard error of the last command, with `%t` for the folder of outputs.
    pub stderr: String,
    /// Warnings of all commands: ids of rules, or messages without a rule.
    pub warnings: BTreeSet<String>,
    outputs: TempDir,
}

/// Runs commands in a folder.
pub fn run(commands: &[String], source: &str, folder: &Path) -> Run {
    let outputs = tempfile::tempdir().unwrap();
    let target = outputs.path().to_str().unwrap();
    let mut warnings = BTreeSet::new();
    let mut last = None;
    for command in commands {
        if let Some(done) = last.take() {
            let Done { command, code, stderr, .. } = done;
            assert_eq!(code, Some(0), "{command}\n{stderr}");
        }
        let mut words = command.split_whitespace().map(|word| word.replace("%s", source).replace("%t", target));
        assert_eq!(words.next().as_deref(), Some("pte-emit"), "`{command}` runs pte-emit");
        for folder in command.split_whitespace().filter_map(|word| word.strip_prefix("%t/")) {
            fs::create_dir_all(outputs.path().join(folder).parent().unwrap()).unwrap();
        }
        let arguments: Vec<String> = words.collect();
        let mut process = Command::new(super::command());
        process.args(&arguments).current_dir(folder).stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
        process.env("PTE_EMIT_CACHE", "cache");
        let done = Done::of(&[command.trim_start_matches("pte-emit ")], process.output().unwrap());
        warnings.extend(done.stderr.lines().filter_map(warning));
        last = Some(done);
    }
    let Done { code, stdout, stderr, .. } = last.expect("a case has a command");
    let stdout = String::from_utf8(stdout).expect("the output is UTF-8").replace(target, "%t");
    Run { code, stdout, stderr: stderr.replace(target, "%t"), warnings, outputs }
}

/// `warning: model.yaml: invalid[T-1]: ...` -> `T-1`; `warning[Y-40]: MESSAGE: LIST` -> `MESSAGE`.
fn warning(line: &str) -> Option<String> {
    let message = line.strip_prefix("warning")?;
    let coded = message.strip_prefix('[').and_then(|coded| Some(coded.split_once("]: ")?.1));
    let message = coded.or_else(|| message.strip_prefix(": "))?;
    let id = message.split_once('[').and_then(|(_, rest)| rest.split_once("]: ")).map(|(id, _)| id);
    let message = || message.split_once(": ").map_or(message, |(message, _)| message);
    Some(id.unwrap_or_else(message).to_owned())
}

impl Run {
    /// Asserts the exit status of the last command.
    #[track_caller]
    pub fn exits(&self, code: i32) {
        assert_eq!(self.code, Some(code), "exit status\n{}{}", self.stdout, self.stderr);
    }

    /// Files below `%t` with their relative paths.
    pub fn outputs(&self) -> Vec<(String, Vec<u8>)> {
        let paths = super::files_below(self.outputs.path(), &[]);
        let relative = |path: &PathBuf| path.strip_prefix(self.outputs.path()).unwrap().to_str().unwrap().to_owned();
        paths.iter().map(|path| (relative(path), fs::read(path).unwrap())).collect()
    }
}
