//! Client of the conformance runner (`lab/conformance/README.md`): starts it with a whole script, reads its answers.
//! The words of the protocol are those of `pte-run`.
//!
//! [`run`] returns a crash of the runner as an error; it does not panic.

use std::io::{Seek, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

pub use pte_run::OutputValue as Value;
pub use pte_run::value::{quoted as quote, words as spell};

/// Options of loading a program.
#[derive(Debug, Clone, Copy)]
pub struct Mode {
    /// `full` or `minimal`.
    pub verify: &'static str,
    /// `file`, `mmap` or `buffer`.
    pub loader: &'static str,
}

/// Path of the runner: `PTE_EMIT_CONFORMANCE_RUNNER`, by default the one that `fetch.sh` builds.
///
/// # Panics
/// If there is none; the messages of `fetch.sh` go to stderr.
pub fn locate() -> PathBuf {
    if let Some(path) = std::env::var_os("PTE_EMIT_CONFORMANCE_RUNNER") {
        return path.into();
    }
    let script = crate::root().join("lab/conformance/fetch.sh");
    let output = Command::new(script).stderr(Stdio::inherit()).output().expect("lab/conformance/fetch.sh starts");
    assert!(output.status.success(), "lab/conformance/fetch.sh failed; see its messages above");
    let text = String::from_utf8(output.stdout).expect("a path in UTF-8");
    PathBuf::from(text.lines().last().expect("lab/conformance/fetch.sh prints the runner's path"))
}

/// Result of a run of the runner.
pub struct Ended {
    /// Exit status.
    pub status: ExitStatus,
    /// Answers.
    pub answers: Vec<String>,
    /// ExecuTorch's log.
    log: String,
}

/// Starts the runner and waits for its end.
///
/// # Errors
/// A runner that does not start.
pub fn start(runner: &Path, pte: &Path, ptds: &[PathBuf], mode: Mode, script: &str) -> Result<Ended, String> {
    // Through files: a runner that stops reading its input or has a long log cannot cause a deadlock.
    let mut input = tempfile::tempfile().map_err(|error| error.to_string())?;
    input.write_all(script.as_bytes()).and_then(|()| input.rewind()).map_err(|error| error.to_string())?;
    let mut command = Command::new(runner);
    command.arg(pte).args(["--verify", mode.verify, "--loader", mode.loader]);
    for ptd in ptds {
        command.arg("--data").arg(ptd);
    }
    let output = command.stdin(Stdio::from(input)).output().map_err(|error| {
        // The usual cause is a wrong PTE_EMIT_CONFORMANCE_RUNNER.
        format!("{} does not start: {error}", runner.display())
    })?;
    let answers = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(Ended { status: output.status, answers, log })
}

/// Runs a script and returns the answers: one for the start and one for each line of the script; `outputs` has more
/// lines if it succeeds.
///
/// # Errors
/// A runner that does not start or ends with an error.
pub fn run(runner: &Path, pte: &Path, ptds: &[PathBuf], mode: Mode, script: &str) -> Result<Vec<String>, String> {
    let Ended { status, answers, log } = start(runner, pte, ptds, mode, script)?;
    if status.success() {
        return Ok(answers);
    }
    let last = answers.last().map_or("nothing", String::as_str);
    let log: Vec<&str> = log.lines().rev().take(3).collect();
    let log: String = log.iter().rev().fold(String::new(), |text, line| text + "\n    " + line);
    Err(format!("the runner ended with {status} after `{last}`; its log ends with:{log}"))
}

/// Parses the value of an answer, without the leading `output I`. `None` if it is malformed.
pub fn read(words: &str) -> Option<Value> {
    Value::parse(words)
}
