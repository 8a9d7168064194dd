//! `pte-emit tests add FILE --input NAME=VALUE -o FILE.bpte`: a program with one more test.
//!
//! `test` executes tests, and writes expected outputs into YAML.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pte_emit::command::text::{clipped, counted};
use pte_emit::run::{RunOptions, RunnerCommand};

use super::edit::EditArguments;
use super::exit::{Exit, Failure};
use super::interrupt;
use super::io::Messages;
use super::options;
use super::run::InputArguments;
use super::runner::{self, RunnerArguments};

/// Arguments of `tests`.
#[derive(Debug, Args)]
pub struct CasesArguments {
    #[command(subcommand)]
    command: CasesCommand,
}

#[derive(Debug, Subcommand)]
enum CasesCommand {
    /// Add a test with these inputs; with --bless, what the runtime returns for them are the expected outputs
    Add(AddArguments),
}

#[derive(Debug, Args)]
struct AddArguments {
    /// A .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    #[command(flatten)]
    inputs: InputArguments,
    /// Method; by default forward, or the only one that computes
    #[arg(long, value_name = "METHOD")]
    method: Vec<String>,
    /// Write what was found as what is expected: the outputs that the method has in the runtime
    #[arg(long)]
    bless: bool,
    #[command(flatten)]
    runner: RunnerArguments,
    #[command(flatten)]
    edit: EditArguments,
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, inputs that do not suit the method, no runner, an output that cannot be written.
pub fn run(arguments: &CasesArguments, messages: &Messages) -> Result<Exit, Failure> {
    let CasesCommand::Add(AddArguments { input, inputs, method, bless, runner, edit }) = &arguments.command;
    edit.check_extension("bpte", "tests are in a .bpte")?;
    let model = edit.open(input, messages)?;
    let command = if *bless { runner.command()? } else { RunnerCommand::new("") };
    interrupt::defer();
    let options = inputs.set(RunOptions::new(command).limits(runner.limits()), &[input], 1)?;
    let options = options.method(options::one_method(method)?);
    let resolved = model.resolve()?;
    let (method, mut case) = model.test_case(&options)?;
    if *bless {
        // `test` executes the tests of a method one after the other, so that state is that of the ones before.
        let before = resolved.tests.iter().filter(|tests| tests.method == method).flat_map(|tests| &tests.cases);
        let options = options.before(before.map(|case| case.inputs.clone()).collect());
        (_, case) = model.run(&options, runner::folder()?.path())?.to_test_case()?;
    }
    if interrupt::is_requested() {
        return Ok(Exit::Interrupted);
    }
    let expected = if *bless { "with the outputs of the runtime" } else { "without expected outputs" };
    let resolved = resolved.add_test(&method, case);
    let tests = resolved.tests.iter().filter(|tests| tests.method == method);
    let tests = counted(tests.map(|tests| tests.cases.len()).sum::<usize>(), "test");
    let done = format!("{tests} of `{}`, the last one {expected}\n", clipped(&method));
    edit.write(resolved, &edit.options()?, &[input], &done, messages)
}
