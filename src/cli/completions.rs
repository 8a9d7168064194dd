//! `pte-emit completions SHELL`: prints a script with which a shell completes commands, options and their values.

use clap::builder::PossibleValuesParser;
use clap::{Args, Command};
use clap_complete::{Shell, generate};
use pte_emit::Code;
use pte_emit::check::{Rule, RuntimeError, Target};
use pte_emit::operators::{NodeDescription, OperatorDescription};
use pte_emit::release::Release;

use super::exit::{Exit, Failure};
use super::stdout;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Options that take the path of a file or a folder, too.
const NAMES_OR_PATHS: [&str; 3] = ["target", "runtime", "for_runtime"];

/// Returns the names that an argument takes, beside values that only the command knows.
fn names(command: &str, argument: &str) -> Option<Vec<String>> {
    let owned = |name: &str| name.to_owned();
    let releases = || Release::known().map(|release| release.version().to_string());
    Some(match (command, argument) {
        (_, "target") => Target::ready_names().chain(["all"]).map(owned).collect(),
        (_, "print_target") => Target::ready_names().map(owned).collect(),
        (_, "runtime") => releases().chain(["all".to_owned()]).collect(),
        (_, "for_runtime") => releases().collect(),
        ("explain", "texts") => {
            let errors = RuntimeError::all().iter();
            let errors = errors.flat_map(|error| [format!("0x{:02x}", error.code), owned(error.name)]);
            let rules = Rule::all().iter().map(|rule| owned(rule.id.as_str()));
            errors.chain(rules).chain(Code::ALL.iter().map(|code| owned(code.as_str()))).collect()
        }
        ("ops", "name") => {
            let nodes = NodeDescription::all().into_iter().map(|node| node.name.to_string());
            OperatorDescription::names().map(owned).chain(nodes).collect()
        }
        _ => return None,
    })
}

/// Returns the command with these names as the values of its arguments.
fn with_names(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|argument| match names(&name, argument.get_id().as_str()) {
        Some(names) => argument.value_parser(PossibleValuesParser::new(names)),
        None => argument,
    });
    command.mut_subcommands(with_names)
}

/// Returns the script.
pub fn script(shell: Shell, command: &Command) -> String {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    generate(shell, &mut with_names(without_inputs(command)), &name, &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    for option in NAMES_OR_PATHS {
        let names = names("", option).unwrap_or_default();
        script = match shell {
            Shell::Zsh => script
                .replace(&format!(":({})'", names.join(" ")), &format!(":{{compadd - {}; _files}}'", names.join(" "))),
            Shell::Fish => with_files(&script, &format!(" -l {} ", option.replace('_', "-"))),
            _ => script,
        };
    }
    match shell {
        // Names of operators are words.
        Shell::Bash => script += "COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}\n",
        // The script for fish has values of options only.
        Shell::Fish => {
            for (command, argument) in [("explain", "texts"), ("ops", "name")] {
                let names = names(command, argument).unwrap_or_default().join(" ");
                script += &format!("complete -c {name} -n '__fish_seen_subcommand_from {command}' -a '{names}'\n");
            }
        }
        _ => {}
    }
    let files = format!(":: :_{name}_commands");
    script
        // The script for bash writes a hyphen in the name of the binary in two ways, so that nothing after a subcommand
        // is completed (issue 6421 of clap).
        .replace(&name.replace('-', "__subcmd__"), &name.replace('-', "__"))
        // For zsh, the first word may be an input of the default command, too; in the other shells it may anyway.
        .replace(&files, &format!(":: :{{_{name}_commands; _files}}"))
}

/// Returns a script for fish whose lines with an option complete files, too.
fn with_files(script: &str, option: &str) -> String {
    script
        .split_inclusive('\n')
        .map(|line| if line.contains(option) { line.replace(" -r -f ", " -r -F ") } else { line.to_owned() })
        .collect()
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
