//! `pte-emit completions SHELL`: prints a script with which a shell completes commands, options and their values.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::exit::{Exit, Failure};
use super::stdout;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Returns the script.
pub fn script(shell: Shell, command: &Command) -> String {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    generate(shell, &mut without_inputs(command), &name, &mut script);
    let script = String::from_utf8_lossy(&script);
    let files = format!(":: :_{name}_commands");
    script
        // The script for bash writes a hyphen in the name of the binary in two ways, so that nothing after a subcommand
        // is completed (issue 6421 of clap).
        .replace(&name.replace('-', "__subcmd__"), &name.replace('-', "__"))
        // For zsh, the first word may be an input of the default command, too; in the other shells it may anyway.
        .replace(&files, &format!(":: :{{_{name}_commands; _files}}"))
}

/// Returns the command without the inputs of the default command, which the script for zsh expects before the name of a
/// command.
fn without_inputs(command: &Command) -> Command {
    let options = command.get_arguments().filter(|argument| !argument.is_positional());
    let plain = Command::new(command.get_name().to_owned()).version(env!("CARGO_PKG_VERSION"));
    plain.args(options).subcommands(command.get_subcommands())
}

/// Prints the script to standard output.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(arguments: &CompletionsArguments, command: Command) -> Result<Exit, Failure> {
    let script = script(arguments.shell, &command);
    stdout::write("", |out| out.write_all(script.as_bytes())).map(|()| Exit::Ok)
}
