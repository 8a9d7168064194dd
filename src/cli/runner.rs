//! Arguments about the runner: the process that executes programs in a runtime.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use pte_emit::run::{RUNNER_RELEASE, RunLimits, RunnerCommand, RunnerFolder};
use tempfile::TempDir;

use super::exit::Failure;
use super::interrupt;
use super::options;

/// Arguments of all commands that execute programs.
#[derive(Debug, Args)]
pub struct RunnerArguments {
    /// Command that starts the runtime, as in a shell but without expansions; the path of a program follows it. By
    /// default that of the environment variable PTE_EMIT_RUNNER, or else that of `pte-emit runner install`, or the
    /// Python package, if ExecuTorch is installed beside it. A release stands for its installed runner
    #[arg(long, value_name = "COMMAND")]
    runner: Option<String>,
    /// Time limit of a run; one that exceeds it is an error
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = options::seconds)]
    timeout: Duration,
}

/// Environment variable with the command of a runner.
const RUNNER: &str = "PTE_EMIT_RUNNER";

/// Environment variable with the Python that has the package; its command sets it.
pub const PYTHON: &str = "PTE_EMIT_PYTHON";

/// Returns the value of a variable that is not empty.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the folder of runners of the user: `runners` below `$PTE_EMIT_CACHE`, or below `pte-emit` in the folder for
/// caches of the system. `None` if there is no home folder.
pub fn runners() -> Option<RunnerFolder> {
    let set = |name: &str| variable(name).map(PathBuf::from);
    let of_system = || match () {
        () if cfg!(windows) => set("LOCALAPPDATA"),
        () if cfg!(target_os = "macos") => set("HOME").map(|home| home.join("Library/Caches")),
        () => set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache"))),
    };
    let cache = set("PTE_EMIT_CACHE").or_else(|| Some(of_system()?.join("pte-emit")))?;
    Some(RunnerFolder::new(cache.join("runners")))
}

/// Name of a recording of the runner in messages.
pub const ETDUMP: &str = "the ETDump of the runner";

/// Reads a recording of the runner.
pub fn etdump(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::reading(ETDUMP, &error))
}

/// Creates the folder of the files that a runner reads and writes; it is removed when the result is dropped.
pub fn folder() -> Result<TempDir, Failure> {
    let folder = tempfile::Builder::new().prefix("pte-emit-run-").tempdir();
    folder.map_err(|error| Failure::writing("the folder of a program", &error))
}

impl RunnerArguments {
    /// Returns the limits of a run, which an interrupt ends.
    pub fn limits(&self) -> RunLimits {
        let mut limits = RunLimits::default();
        (limits.time, limits.stop) = (self.timeout, interrupt::flag());
        limits
    }

    /// Returns the command of the runner: as requested, of the environment, or the Python package.
    ///
    /// # Errors
    /// There is no runner, or its command is malformed.
    pub fn command(&self) -> Result<RunnerCommand, Failure> {
        let parse = |origin: &str, text: &str| {
            RunnerCommand::parse(text).map_err(|error| Failure::Usage(format!("{origin}: {error}")))
        };
        let folder = runners();
        let installed = |release: &str| folder.as_ref()?.find(release).map(|runner| runner.command());
        if let Some(text) = &self.runner {
            if !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.') {
                return installed(text).ok_or_else(|| {
                    Failure::Usage(format!("--runner: the runner of ExecuTorch {text} is not installed; `pte-emit runner list` prints those that are"))
                });
            }
            return parse("--runner", text);
        }
        if let Some(text) = variable(RUNNER).and_then(|text| text.into_string().ok()) {
            return parse(RUNNER, &text);
        }
        if let Some(command) = installed(RUNNER_RELEASE) {
            return Ok(command);
        }
        let python = variable(PYTHON).unwrap_or_else(|| "python3".into());
        // Without an import of torch, which takes seconds.
        let probe =
            "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, ('executorch', 'pte_emit'))))";
        let mut process = Command::new(&python);
        process.args(["-c", probe]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if process.status().is_ok_and(|status| status.success()) {
            return Ok(RunnerCommand::new(python).with_arguments(["-m", "pte_emit.runner"]));
        }
        Err(Failure::usage(
            "there is no runner: `pte-emit runner install` builds one with ExecuTorch's package; `--runner COMMAND` or \
             PTE_EMIT_RUNNER names another (docs/runners.md)",
        ))
    }
}
