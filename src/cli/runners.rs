//! `pte-emit runner install|list|path|remove`: runners in the user's cache folder, which all commands that execute
//! programs find.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use pte_emit::command::text::escaped;
use pte_emit::run::{InstallOptions, InstalledRunner, RUNNER_RELEASE, RunnerCommand, TestOptions};
use pte_emit::{Code, Error, Model, Report};

use super::exit::{Exit, Failure};
use super::interrupt;
use super::io::Messages;
use super::runner;
use super::stdout;

/// Arguments of `runner`.
#[derive(Debug, Args)]
pub struct RunnersArguments {
    #[command(subcommand)]
    command: RunnersCommand,
}

#[derive(Debug, Subcommand)]
enum RunnersCommand {
    /// Build the runner of a release with ExecuTorch's Python package and the C++ compiler of the machine. The package
    /// is that of python3, or downloaded by pip: 20 MB, without torch
    Install(InstallArguments),
    /// Print the installed runners
    List,
    /// Print the path of an installed runner
    Path(ReleaseArguments),
    /// Remove an installed runner
    Remove(ReleaseArguments),
}

#[derive(Debug, Args)]
struct InstallArguments {
    #[command(flatten)]
    release: ReleaseArguments,
    /// Wheel of ExecuTorch's Python package, or a folder: the unpacked wheel, or one with `include` and shared
    /// libraries in `lib`
    #[arg(long, alias = "from", value_name = "PATH")]
    package: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct ReleaseArguments {
    /// Release of ExecuTorch, from 1.5.0
    #[arg(value_name = "RELEASE", default_value = RUNNER_RELEASE)]
    release: String,
}

/// Program that a new runner executes.
const PROGRAM: &str = "methods: {forward: {values: {x: {tensor: float32, sizes: [2]}}, inputs: [x], outputs: [z],
    instructions: [{kernel: aten::add.out, args: [x, x], out: z}], tests: [{inputs: [[1, 2]], outputs: [[2, 4]]}]}}";

/// Runs the command.
///
/// # Errors
/// What an installation misses; a release that is not installed.
pub fn run(arguments: &RunnersArguments, messages: &Messages) -> Result<Exit, Failure> {
    let Some(folder) = runner::runners() else {
        return Err(Failure::usage(
            "there is no home folder: name a folder for runners by the variable PTE_EMIT_CACHE",
        ));
    };
    let installed = |release: &str| {
        folder.find(release).ok_or_else(|| {
            let message = "no such runner is installed; `pte-emit runner install` installs one";
            Failure::from(Error::input(Code::UnmetRequest, &format!("ExecuTorch {}", escaped(release)), message))
        })
    };
    let out = match &arguments.command {
        RunnersCommand::Install(arguments) => {
            // What is not finished is removed.
            interrupt::defer();
            let options =
                InstallOptions::default().release(arguments.release.release.clone()).from(arguments.package.clone());
            let options = options.compiler(runner::variable("CXX")).python(runner::variable(runner::PYTHON));
            let mut report = |step: &str| messages.summary(&format!("{step}\n"));
            let runner = folder.install(&options, &mut report, &executes);
            if interrupt::is_requested() {
                return Ok(Exit::Interrupted);
            }
            let InstalledRunner { release, path, .. } = match runner {
                Ok(runner) => runner,
                Err(error) => {
                    let mut failed = Code::UnmetRequest.whole(escaped(&error.to_string()));
                    failed.help = error.help;
                    messages.report(&Report::new("runner install", "", vec![failed]));
                    return Ok(Exit::Input);
                }
            };
            messages.summary(&format!("installed the runner of ExecuTorch {release}: {}\n", path.display()));
            return Ok(Exit::Ok);
        }
        RunnersCommand::List => folder.installed().iter().fold(String::new(), |mut out, runner| {
            let _ = writeln!(out, "{}  {}", runner.release, runner.path.display());
            out
        }),
        RunnersCommand::Path(arguments) => format!("{}\n", installed(&arguments.release)?.path.display()),
        RunnersCommand::Remove(arguments) => {
            let path = installed(&arguments.release)?.path.display().to_string();
            folder.remove(&arguments.release).map_err(|error| Failure::writing(&path, &error))?;
            messages.summary(&format!("removed {path}\n"));
            return Ok(Exit::Ok);
        }
    };
    stdout::write("", |to| to.write_all(out.as_bytes())).map(|()| Exit::Ok)
}

/// Executes a program in a new runner.
fn executes(runner: &RunnerCommand) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let options = TestOptions::new(runner.clone());
    let report = Model::from_yaml("add.yaml", PROGRAM, ".").run_tests(folder.path(), &options);
    let report = report.map_err(|error| error.to_string())?;
    match report.tests.iter().find_map(|test| test.error.as_ref()) {
        Some(error) => Err(error.message.clone()),
        None if report.is_success() => Ok(()),
        None => Err("its result is wrong".to_owned()),
    }
}
