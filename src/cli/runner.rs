//! Arguments about the runner: the process that executes programs in a runtime.

use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use pte_emit::run::{RunLimits, RunnerCommand};

use super::exit::Failure;
use super::interrupt;
use super::options;

/// Arguments of all commands that execute programs.
#[derive(Debug, Args)]
pub struct RunnerArguments {
    /// Command that starts the runtime, as in a shell but without expansions; the path of a program follows it. By
    /// default that of the environment variable PTE_EMIT_RUNNER, or else the Python package, if ExecuTorch is installed
    /// beside it
    #[arg(long, value_name = "COMMAND")]
    runner: Option<String>,
    /// Time limit of a run; one that exceeds it is an error
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = options::seconds)]
    timeout: Duration,
}

/// Environment variable with the command of a runner.
const RUNNER: &str = "PTE_EMIT_RUNNER";

/// Environment variable with the Python that has the package; its command sets it.
const PYTHON: &str = "PTE_EMIT_PYTHON";

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
        if let Some(text) = &self.runner {
            return parse("--runner", text);
        }
        if let Ok(text) = std::env::var(RUNNER)
            && !text.is_empty()
        {
            return parse(RUNNER, &text);
        }
        let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
        // Without an import of torch, which takes seconds.
        let probe =
            "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, ('executorch', 'pte_emit'))))";
        let mut process = Command::new(&python);
        process.args(["-c", probe]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if process.status().is_ok_and(|status| status.success()) {
            return Ok(RunnerCommand::new(python).with_arguments(["-m", "pte_emit.runner"]));
        }
        Err(Failure::Usage(format!(
            "there is no runner: name one by `--runner COMMAND` or {RUNNER}, or install ExecuTorch for {} by \
             `pip install 'pte-emit[runtime]'`; docs/runners.md has the protocol and a runner in C++",
            python.display()
        )))
    }
}
