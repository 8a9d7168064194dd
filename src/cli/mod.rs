//! Command line: arguments, inputs and outputs, exit statuses. One file per command; what several share is in
//! files such as `options`, `sources`, `outputs` and `io`.
//!
//! Everything that does not concern files and terminals is in the rest of the library, of which this module uses the
//! public API only. It is public, but not part of that API: the binary and the Python package run it, and the public
//! modules have what functions in Python share with the commands.

mod amounts;
mod annotate;
mod arrays;
mod assemble;
pub mod atomic;
mod bound;
mod cases;
mod change_outputs;
pub mod check;
mod completions;
pub mod corpus;
mod delegates;
mod depfile;
pub mod destination;
mod diff;
mod dump;
mod edit;
mod embed;
pub mod exit;
pub mod explain;
mod extract;
pub mod findings;
mod firmware;
mod fmt;
pub mod formats;
mod generate;
mod golden;
mod help;
mod inputs_outputs;
mod inspect;
mod interrupt;
mod io;
mod json;
mod kernels;
mod lsp;
mod man;
mod manifest;
mod memory;
mod merge;
mod metadata;
pub mod ops;
mod optimize;
mod options;
pub mod outputs;
mod paint;
mod payload;
mod profile;
mod reduce;
mod releases;
mod rename;
mod report;
mod run;
pub mod runner;
mod runners;
mod schema;
mod size;
mod sources;
mod stdout;
mod strip;
mod summary;
mod test;
mod view;
mod weights;

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use pte_emit::release::EXECUTORCH;

use exit::Exit;

/// Assembles YAML (or JSON) into ExecuTorch .pte programs and .ptd weights.
///
/// The output is byte for byte what ExecuTorch 1.5.1's exporter writes for the same program. What the YAML leaves out
/// (indices, offsets, memory, operator tables, segments, headers) is computed. docs/yaml-reference.md describes all
/// keys.
#[derive(Debug, Parser)]
#[command(name = "pte-emit", version = version(), args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    assemble: assemble::AssembleArguments,
    /// Use colours in messages
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
    /// Print errors only: no warnings, no progress, no summary
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Assemble YAML into .pte and .ptd files; the default command.
    ///
    /// JSON, too; and rewrite .pte, .ptd, .bpte and .safetensors files.
    Assemble(Box<assemble::AssembleArguments>),
    /// Print a file as YAML that reproduces it byte for byte.
    Dump(dump::DumpArguments),
    /// Lay YAML out as `dump` prints it, with its comments.
    ///
    /// Its meaning stays.
    Fmt(fmt::FmtArguments),
    /// Validate .pte, .ptd and .bpte files, or those of YAML.
    Check(check::CheckArguments),
    /// Explain errors and logs of ExecuTorch, rules of `check`.
    ///
    /// Codes of messages, too.
    Explain(Box<explain::ExplainArguments>),
    /// Explain every byte of a .pte, .ptd or .bpte.
    Annotate(annotate::AnnotateArguments),
    /// Print inputs, outputs, operators, delegates, constants.
    Inspect(inspect::InspectArguments),
    /// Print the memory that a program needs.
    ///
    /// Planned memory over time, the method allocator of the runtime, and what delegates allocate.
    Memory(memory::MemoryArguments),
    /// Print the kernels and backends that a build has to link.
    Kernels(kernels::KernelsArguments),
    /// Print where the bytes of files are.
    Size(size::SizeArguments),
    /// List, show, extract or replace the payloads of delegates.
    Payload(payload::PayloadArguments),
    /// List the weights by name, or replace their bytes.
    Weights(weights::WeightsArguments),
    /// Print a hash of each tensor and payload.
    ///
    /// The hashes do not depend on the files that data are in.
    Manifest(manifest::ManifestArguments),
    /// Compare the contents of a file with a manifest.
    Verify(manifest::VerifyArguments),
    /// Compare two files: meaning, layout, data.
    ///
    /// They are .pte, .ptd, .bpte, .safetensors or YAML files.
    Diff(diff::DiffArguments),
    /// Compare a produced file with the YAML that a test expects.
    ///
    /// Or write it into the YAML, whose comments stay.
    Golden(golden::GoldenArguments),
    /// Print times of an ETDump by instruction and operator.
    ///
    /// An ETDump of the runtime records when instructions and delegates began and ended. A second one of the same
    /// program is compared with it.
    Profile(profile::ProfileArguments),
    /// Write a page for a browser, or graphs for other viewers.
    ///
    /// A page has graphs, memory plan, sizes, tables and findings.
    Report(report::ReportArguments),
    /// Open a report in a browser.
    ///
    /// The page is a file in a temporary folder; it needs no server and no network.
    View(view::ViewArguments),
    /// Reduce planned memory and instructions, not the outputs.
    Optimize(optimize::OptimizeArguments),
    /// List operators, or print their arguments and results.
    ///
    /// Of an operator, an instruction that calls it, too; also operations of XNNPACK graphs.
    Ops(ops::OpsArguments),
    /// Write random or malformed programs, for tests of runtimes.
    Generate(generate::GenerateArguments),
    /// Find a small program with which a command fails, too.
    ///
    /// The command exits with it as it does with FILE.
    Reduce(reduce::ReduceArguments),
    /// Write programs and .ptd files as arrays in C or assembly.
    Embed(embed::EmbedArguments),
    /// Merge the methods of programs; equal data are stored once.
    Merge(merge::MergeArguments),
    /// Write some methods of a program, with what they need.
    Extract(extract::ExtractArguments),
    /// Rename methods of a program.
    Rename(rename::RenameArguments),
    /// Remove what the runtime does not need.
    ///
    /// Stack traces, names, debug handles, tests and unused parts.
    Strip(strip::StripArguments),
    /// Print, set or remove metadata.
    ///
    /// Constant methods, and named data with keys such as `metadata.author`.
    Metadata(metadata::MetadataArguments),
    /// Return more or fewer values of a method.
    ///
    /// Such as intermediate results. Memory is planned again.
    Outputs(change_outputs::ChangeOutputsArguments),
    /// Change the types of inputs and outputs, or normalise inputs.
    Io(inputs_outputs::IoArguments),
    /// Add a test to a program, which becomes a .bpte.
    Tests(Box<cases::CasesArguments>),
    /// Lower the bounds of dynamic inputs, or make them static.
    ///
    /// Memory is planned again.
    Bound(Box<bound::BoundArguments>),
    /// Write pool sizes, operators and arrays for a project.
    ///
    /// The place of the program for a linker, too.
    Firmware(firmware::FirmwareArguments),
    /// Run the tests of YAML in a runtime, compare the outputs.
    ///
    /// Or write the outputs as the expected ones.
    Test(test::TestArguments),
    /// Execute a method in the runtime, and print its outputs.
    Run(run::RunArguments),
    /// Install the runtime that executes programs, or remove it.
    Runner(runners::RunnersArguments),
    /// Answer an editor: messages, completion, types as you type.
    ///
    /// A language server on standard input and output (LSP).
    Lsp(lsp::LspArguments),
    /// Print the JSON Schema of the YAML.
    Schema,
    /// Print the completions of a shell.
    Completions(completions::CompletionsArguments),
    /// Print the manual page of a command, or write all pages.
    Man(man::ManArguments),
}

/// Returns the version, and the release of ExecuTorch whose format is written.
fn version() -> String {
    format!("{} (ExecuTorch {EXECUTORCH})", env!("CARGO_PKG_VERSION"))
}

/// Prints the text of `--help` or `--version` to standard output.
fn print_text(rendered: &StyledStr) -> Exit {
    let color = ColorChoice::Auto;
    let text = if io::colours(color, &std::io::stdout()) { rendered.ansi().to_string() } else { rendered.to_string() };
    let written = stdout::write("", |out| out.write_all(text.as_bytes()));
    written.map_or_else(|failure| failure.report(&io::Messages::new(color, false)), |()| Exit::Ok)
}

/// Moves the options of all commands before the name of a command after it, where clap expects them.
fn arranged(mut arguments: Vec<OsString>, command: &clap::Command) -> Vec<OsString> {
    let mut at = 1;
    while let Some(word) = arguments.get(at).and_then(|word| word.to_str()) {
        at += match word {
            "-q" | "--quiet" => 1,
            "--color" => 2,
            _ if word.starts_with("--color=") => 1,
            _ => break,
        };
    }
    if arguments.get(at).is_some_and(|word| command.find_subcommand(word).is_some()) {
        arguments[1..=at].rotate_right(1);
    }
    arguments
}

/// Returns the text of `--help`, which `arguments` request.
fn help(arguments: Vec<OsString>) -> StyledStr {
    let command = Cli::command();
    let word = |at: usize| arguments.get(at).and_then(|word| word.to_str());
    let name = word(if word(1) == Some("help") { 2 } else { 1 });
    if name.and_then(|name| command.find_subcommand(name)).is_none() {
        let (mut root, is_short) = (help::root(&command), arguments.iter().any(|word| word == "-h"));
        return if is_short { root.render_help() } else { root.render_long_help() };
    }
    let shown = help::with_notes(command).try_get_matches_from(arguments);
    shown.err().map(|text| text.render()).unwrap_or_default()
}

/// Runs the command with the arguments of a process, the first of which is its name. Returns the exit status.
pub fn main(arguments: Vec<OsString>) -> u8 {
    let command = Cli::command();
    if arguments.len() <= 1 {
        eprint!("{}", help::screen(&command));
        return Exit::Usage as u8;
    }
    let arguments = arranged(arguments, &command);
    let matches = match command.try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(mut error) if error.use_stderr() => {
            // clap lists the subcommands only if there is no word in the place of one.
            if error.kind() == ErrorKind::InvalidSubcommand
                && let Some(command) =
                    arguments[1].to_str().and_then(|name| Cli::command().find_subcommand(name).cloned())
            {
                let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
                let tip = format!("the subcommands are {}", names.join(", ")).into();
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
            }
            let _ = error.print();
            return Exit::Usage as u8;
        }
        Err(text) if text.kind() == ErrorKind::DisplayHelp => return print_text(&help(arguments)) as u8,
        // The text of `--version`.
        Err(text) => return print_text(&text.render()) as u8,
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    // With the signal blocked, writing beyond the limit of the file size (`ulimit -f`) fails, as on a full disk.
    // Threads inherit the mask.
    #[cfg(unix)]
    let _ = nix::sys::signal::SigSet::from(nix::sys::signal::Signal::SIGXFSZ).thread_block();
    // An interrupted command leaves no temporary files.
    let _ = ctrlc::set_handler(|| {
        if interrupt::request() {
            return;
        }
        let _lock = outputs::remove_unfinished();
        std::process::exit(Exit::Interrupted as i32);
    });
    let messages = io::Messages::new(cli.color, cli.quiet);
    let done = execute(cli, &messages);
    // An interrupt stops a runner, which is a failure for the command.
    let exit = done.unwrap_or_else(|failure| match interrupt::is_requested() {
        true => Exit::Interrupted,
        false => failure.report(&messages),
    });
    exit as u8
}

/// Runs a command.
fn execute(cli: Cli, messages: &io::Messages) -> Result<Exit, exit::Failure> {
    match cli.command {
        Some(Command::Assemble(arguments)) => Ok(assemble::run(*arguments, messages)),
        Some(Command::Dump(arguments)) => dump::run(&arguments),
        Some(Command::Fmt(arguments)) => fmt::run(&arguments, messages),
        Some(Command::Check(arguments)) => check::run(&arguments, messages),
        Some(Command::Explain(arguments)) => explain::run(&arguments, messages),
        Some(Command::Annotate(arguments)) => annotate::run(&arguments, messages),
        Some(Command::Inspect(arguments)) => inspect::run(&arguments, messages),
        Some(Command::Memory(arguments)) => memory::run(&arguments, messages),
        Some(Command::Kernels(arguments)) => kernels::run(&arguments, messages),
        Some(Command::Size(arguments)) => size::run(&arguments, messages),
        Some(Command::Payload(arguments)) => payload::run(&arguments, messages),
        Some(Command::Weights(arguments)) => weights::run(&arguments, messages),
        Some(Command::Manifest(arguments)) => manifest::run(&arguments, messages),
        Some(Command::Verify(arguments)) => manifest::verify(&arguments, messages),
        Some(Command::Diff(arguments)) => Ok(diff::run(&arguments, messages)),
        Some(Command::Golden(arguments)) => golden::run(&arguments, messages),
        Some(Command::Profile(arguments)) => profile::run(&arguments, messages),
        Some(Command::Report(arguments)) => report::run(&arguments, messages),
        Some(Command::View(arguments)) => view::run(&arguments, messages),
        Some(Command::Optimize(arguments)) => optimize::run(&arguments, messages),
        Some(Command::Ops(arguments)) => ops::run(&arguments),
        Some(Command::Generate(arguments)) => generate::run(&arguments),
        Some(Command::Reduce(arguments)) => reduce::run(&arguments, messages),
        Some(Command::Embed(arguments)) => embed::run(&arguments, messages),
        Some(Command::Merge(arguments)) => merge::run(&arguments, messages),
        Some(Command::Extract(arguments)) => extract::run(&arguments, messages),
        Some(Command::Rename(arguments)) => rename::run(&arguments, messages),
        Some(Command::Strip(arguments)) => strip::run(&arguments, messages),
        Some(Command::Metadata(arguments)) => metadata::run(&arguments, messages),
        Some(Command::Outputs(arguments)) => change_outputs::run(&arguments, messages),
        Some(Command::Io(arguments)) => inputs_outputs::run(&arguments, messages),
        Some(Command::Tests(arguments)) => cases::run(&arguments, messages),
        Some(Command::Bound(arguments)) => bound::run(&arguments, messages),
        Some(Command::Firmware(arguments)) => firmware::run(&arguments, messages),
        Some(Command::Test(arguments)) => test::run(&arguments, messages),
        Some(Command::Run(arguments)) => run::run(&arguments, messages),
        Some(Command::Runner(arguments)) => runners::run(&arguments, messages),
        Some(Command::Lsp(arguments)) => lsp::run(&arguments),
        Some(Command::Schema) => schema::run(),
        Some(Command::Completions(arguments)) => completions::run(&arguments, Cli::command()),
        Some(Command::Man(arguments)) => man::run(&arguments, &Cli::command()),
        None => {
            let command = Cli::command();
            let known = cli.assemble.reject_unknown_command(command.get_subcommands().map(clap::Command::get_name));
            known.map(|()| assemble::run(cli.assemble, messages))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use clap::{Arg, Command, CommandFactory, ValueEnum};
    use clap_complete::Shell;

    use super::Cli;
    use super::help::Example;

    /// Options of a command and of its subcommands, by the full names of the commands. clap words `--help` itself.
    fn collect(command: &Command, name: &str, all: &mut Vec<(String, Arg)>) {
        for child in command.get_subcommands().filter(|child| child.get_name() != "help") {
            collect(child, &format!("{name} {}", child.get_name()), all);
        }
        let options = command.get_arguments().filter(|option| !option.is_positional() && option.get_id() != "help");
        all.extend(options.map(|option| (name.to_owned(), option.clone())));
    }

    fn options() -> Vec<(String, Arg)> {
        let mut cli = Cli::command();
        cli.build();
        let mut all = Vec::new();
        collect(&cli, "pte-emit", &mut all);
        all
    }

    /// Text before details, which may depend on the command.
    fn summary(option: &Arg) -> String {
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        help.split([':', ';']).next().unwrap_or_default().to_owned()
    }

    #[test]
    fn an_option_has_one_meaning() {
        let mut known: BTreeMap<String, (String, String)> = BTreeMap::new();
        for (command, option) in options() {
            let (names, defaults) = (option.get_value_names(), option.get_default_values());
            let (short, action) = (option.get_short(), option.get_action());
            let meaning = format!("{} {short:?} {names:?} {defaults:?} {action:?}", summary(&option));
            let long = option.get_long().expect("options have long names").to_owned();
            let (first, expected) = known.entry(long.clone()).or_insert((command.clone(), meaning.clone()));
            assert_eq!(*expected, meaning, "--{long} of `{first}` and of `{command}`");
        }
        assert!(["quiet", "format", "json", "with", "limit"].iter().all(|long| known.contains_key(*long)));
    }

    /// A value of an option, such as `text` of `--format`, has one description.
    #[test]
    fn a_value_of_an_option_has_one_meaning() {
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for (command, option) in options() {
            for value in option.get_possible_values() {
                let help = value.get_help().map(ToString::to_string).unwrap_or_default();
                let name = format!("--{} {}", option.get_long().unwrap_or_default(), value.get_name());
                assert_eq!(*known.entry(name.clone()).or_insert_with(|| help.clone()), help, "{name} of `{command}`");
            }
        }
    }

    /// YAML from strangers can be confined wherever YAML is read, and every command can be quiet.
    #[test]
    fn commands_have_the_same_options() {
        let commands = |long: &str| -> BTreeSet<String> {
            let all = options().into_iter().filter(|(_, option)| option.get_long() == Some(long));
            all.map(|(command, _)| command.trim_start_matches("pte-emit").trim_start().to_owned()).collect()
        };
        let readers = commands("define");
        assert!(readers.contains("check") && readers.contains("payload list"));
        for long in ["confine", "max-size", "with", "ops"] {
            let others: Vec<String> = readers.symmetric_difference(&commands(long)).cloned().collect();
            // `fmt` keeps variables, and assembles to try which keys are computed.
            let expected: &[&str] = if matches!(long, "confine" | "max-size") { &["fmt"] } else { &[] };
            assert_eq!(others, expected, "commands with only one of --define and --{long}: flatten `SourceArguments`");
        }
        let all: BTreeSet<String> = commands("color");
        assert!(all.is_superset(&readers) && all.contains("schema"));
        let loud: Vec<&String> = all.iter().filter(|command| !commands("quiet").contains(*command)).collect();
        assert_eq!(loud, [""; 0], "commands without --quiet");
    }

    /// The names of commands and options, as in what is typed.
    #[test]
    fn completions_and_manual_pages_have_all_commands_and_options() {
        let scripts = Shell::value_variants().iter().map(|shell| super::completions::script(*shell, &Cli::command()));
        let scripts: Vec<String> = scripts.collect();
        let pages = super::man::pages(&Cli::command());
        for (command, option) in options() {
            let long = option.get_long().expect("options have long names");
            let (file, page) =
                pages.iter().find(|(file, _)| *file == format!("{}.1", command.replace(' ', "-"))).unwrap();
            assert!(page.replace("\\-", "-").contains(&format!("--{long}")), "{file}: --{long}");
            for word in command.split(' ').chain([long]) {
                assert!(scripts.iter().all(|script| script.contains(word)), "{command}: {word}");
            }
        }
    }

    /// Each command is in one group of docs/commands.md, with two examples, and each subcommand has one. The examples
    /// are valid command lines; tests/repository/docs.rs runs them.
    #[test]
    fn every_command_has_a_group_and_examples() {
        let root = Cli::command();
        let mut groups: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut lines: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for example in Example::all() {
            let (command, words) = (example.command(&root).get_name(), shell_words(example.line));
            let leaf = format!("{command} {}", words.get(2).map_or("", String::as_str));
            for name in [command, &leaf] {
                groups.entry(name.to_owned()).or_default().insert(example.group);
                lines.entry(name.to_owned()).or_default().insert(example.line);
            }
            let end = words.iter().position(|word| [">", "<"].contains(&&**word)).unwrap_or(words.len());
            let parsed = root.clone().try_get_matches_from(&words[..end]);
            assert!(parsed.is_ok(), "{}: {}", example.line, parsed.unwrap_err());
            assert!(example.line.len() <= 78 && example.comment.len() <= 74, "80 columns: {example:?}");
        }
        for command in root.get_subcommands() {
            let name = command.get_name();
            assert_eq!(groups.get(name).map(BTreeSet::len), Some(1), "docs/commands.md: groups of `{name}`");
            let least = if command.get_arguments().next().is_some() || command.has_subcommands() { 2 } else { 1 };
            assert!(lines[name].len() >= least, "docs/commands.md has {least} examples of `{name}`");
            for child in command.get_subcommands() {
                assert!(lines.contains_key(&format!("{name} {}", child.get_name())), "{name} {}", child.get_name());
            }
        }
    }

    /// Splits a line of docs/commands.md as a shell does.
    fn shell_words(line: &str) -> Vec<String> {
        let quotes = |c: char| c == '\'' || c == '"';
        let parts = line.split(quotes).enumerate().flat_map(|(number, part)| match number % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        parts.collect()
    }

    /// 80 columns, and a screen of a terminal.
    #[test]
    fn the_first_screen_is_short_and_every_help_has_examples_and_exit_statuses() {
        let root = Cli::command();
        let screen = super::help::screen(&root);
        assert!((24..=48).contains(&screen.lines().count()), "{screen}");
        assert!(screen.lines().all(|line| line.len() <= 80) && !screen.contains("align"), "{screen}");
        for command in root.get_subcommands() {
            let line = format!(" {:<12}{}\n", command.get_name(), command.get_about().unwrap());
            assert_eq!(screen.matches(&line).count(), 1, "{line}{screen}");
            for help in [&["--help"][..], &["-h"]] {
                let words = ["pte-emit", command.get_name()].iter().chain(help).map(Into::into).collect();
                let text = super::help(words).to_string();
                assert!(
                    text.contains("\nExamples:\n  pte-emit ") && text.contains("\nExit status:\n  0    "),
                    "{text}"
                );
            }
        }
        let status = |command: &str| super::help(vec!["pte-emit".into(), command.into(), "-h".into()]).to_string();
        assert!(status("check").contains("  1    errors, or with `--deny-warnings` warnings\n"), "{}", status("check"));
        for short in [false, true] {
            let flag = if short { "-h" } else { "--help" };
            let text = super::help(vec!["pte-emit".into(), flag.into()]).to_string();
            assert!(text.contains(&super::help::groups(&root)) && text.contains("\nOutput:\n"), "{text}");
        }
    }

    #[test]
    fn the_version_has_the_release_of_executorch() {
        assert_eq!(Cli::command().render_version(), "pte-emit 0.2.0 (ExecuTorch 1.5.1)\n");
    }
}
