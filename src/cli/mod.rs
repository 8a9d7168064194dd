//! The command line: arguments, inputs and outputs, exit codes. One file per command; what they share is in `io`.
//!
//! Everything that is not about files and terminals is the library's.

mod annotate;
mod assemble;
mod check;
mod dump;
mod exit;
mod io;
pub mod outputs;
pub mod render;
mod schema;
mod summary;

use std::process::ExitCode;

use exit::Exit;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

/// The exit status of a command that was interrupted, as shells have it.
const INTERRUPTED: i32 = 130;

const AFTER_HELP: &str = "\
Examples:
  pte-emit model.yaml -o model.pte                    a program
  pte-emit model.yaml -o model.pte --external-data    a program, and its weights in model.ptd
  pte-emit weights.yaml -o weights.ptd                a text without methods: weights alone
  pte-emit weights.safetensors -o weights.ptd         weights of others; -o weights.safetensors the other way
  pte-emit examples/*.yaml -o out/                    several programs into a folder
  pte-emit - < model.yaml > model.pte                 from standard input to standard output
  pte-emit dump model.pte                             a program as text
  pte-emit check model.pte --with model.ptd           what is wrong with a program, before it is loaded
  pte-emit annotate model.pte | less                  what every byte of a file is
  pte-emit schema > pte-emit.schema.json              for an editor that completes and checks

Exit status:
  0    all outputs are written; nothing is wrong with what is checked
  1    an input is wrong; nothing of it is written
  2    the command line is wrong
  3    something cannot be read or written; nothing of it is written
  130  interrupted; nothing is left behind";

/// Turns a readable YAML (or JSON) text into ExecuTorch .pte programs and .ptd weights.
///
/// The output is byte for byte what ExecuTorch 1.5.1's exporter writes for the same program. What the text leaves out
/// (indices, offsets, memory, operator tables, segments, headers) is computed. docs/yaml-reference.md describes the
/// text.
#[derive(Debug, Parser)]
#[command(name = "pte-emit", version, after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    assemble: assemble::Arguments,
    /// Colours in messages.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print a .pte, .ptd or .bpte as a text that gives it back, bit for bit.
    Dump(dump::Arguments),
    /// Say what is wrong with .pte, .ptd and .bpte files, or with what texts would become.
    Check(check::Arguments),
    /// Explain every byte of a .pte, .ptd or .bpte.
    Annotate(annotate::Arguments),
    /// Print the JSON Schema of the text.
    Schema,
}

/// Runs the command.
pub fn main() -> ExitCode {
    let matches = match Cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { Exit::Usage as u8 } else { 0 });
        }
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    // Whoever interrupts the command finds nothing of what it had begun.
    let _ = ctrlc::set_handler(|| {
        let _nobody_goes_on = outputs::remove_unfinished();
        std::process::exit(INTERRUPTED);
    });
    let exit = match cli.command {
        Some(Command::Dump(arguments)) => dump::run(&arguments, &io::Messages::new(cli.color)),
        Some(Command::Check(arguments)) => check::run(&arguments, &io::Messages::new(cli.color)),
        Some(Command::Annotate(arguments)) => annotate::run(&arguments, cli.color, &io::Messages::new(cli.color)),
        Some(Command::Schema) => schema::run(),
        None => assemble::run(cli.assemble, &io::Messages::new(cli.color)),
    };
    ExitCode::from(exit as u8)
}
