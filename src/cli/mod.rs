//! Command line: arguments, inputs and outputs, exit statuses. One file per command; what several share is in
//! files such as `options`, `sources`, `outputs` and `io`.
//!
//! Everything that does not concern files and terminals is in the rest of the library, of which this module uses the
//! public API only. It is public, but not part of that API: the binary and the Python package run it, and the public
//! modules have what functions in Python share with the commands.

mod amounts;
mod annotate;
mod assemble;
pub mod atomic;
mod bound;
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
pub mod formats;
mod generate;
mod inspect;
mod interrupt;
mod io;
mod json;
mod kernels;
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
mod weights;

use std::ffi::OsString;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use pte_emit::release::EXECUTORCH;

use exit::Exit;

const AFTER_HELP: &str = "\
Examples:
  pte-emit assemble model.yaml -o model.pte           a program
  pte-emit model.yaml -o model.pte                    the same: `assemble` is the default command
  pte-emit model.yaml -o model.pte --external-data    a program, and its weights in model.ptd
  pte-emit weights.yaml -o weights.ptd                weights only, from YAML without methods
  pte-emit weights.safetensors -o weights.ptd         convert weights; -o weights.safetensors for the reverse
  pte-emit examples/*.yaml -o out/                    several programs into a folder
  pte-emit - < model.yaml > model.pte                 from standard input to standard output
  pte-emit dump model.pte                             a program as YAML
  pte-emit check model.pte --with model.ptd           validate a program before it is loaded
  pte-emit check model.pte --format sarif             the same for code scanning; also json, github
  pte-emit check model.pte --target board.yaml        whether it runs there: operators, backends, memory
  pte-emit check model.pte --runtime all              which releases of ExecuTorch run it; `--runtime 0.7` says why not
  pte-emit explain 0x14 X-4                           errors of the runtime, and rules of `check`
  pte-emit explain - --model model.pte < log.txt      messages of a log, and what they are about in a program
  pte-emit annotate model.pte | less                  explain every byte of a file
  pte-emit inspect model.pte                          what is in a file
  pte-emit memory model.pte                           how much RAM its methods need, and when
  pte-emit kernels model.pte --format list            the operators that a build has to select; also yaml, header
  pte-emit size model.pte -d segment,tensor           where the bytes of a file are
  pte-emit payload list model.pte                     the payloads of delegates; `show` and `extract`, too
  pte-emit weights list model.pte                     the weights: names, sizes, hashes, users
  pte-emit weights set model.pte --from w.safetensors -o new.pte
                                                      other weights, by name; `--dry-run` prints the mapping
  pte-emit model.pte -o split.pte --external-data 'enc.ptd=encoder.*'
                                                      some weights in a .ptd
  pte-emit manifest model.pte > model.json            a hash of each tensor and payload
  pte-emit verify model.pte model.json                status 1 if the contents differ
  pte-emit payload replace model.pte forward/part0 new.bin -o new.pte
                                                      another payload of a delegate
  pte-emit diff old.pte new.pte                       what changed: meaning, layout, data
  pte-emit diff old.pte new.pte --budget size=+1%,planned=+0,kernel_calls=0,operators=0
                                                      status 1 only if it grew by more
  pte-emit report model.pte -o model.html             all of it as a page for a browser, with the graph
  pte-emit profile model.pte trace.etdump             time by instruction, operator and delegate; two ETDumps are compared
  pte-emit ops conv                                   the operators, and operations of XNNPACK graphs, whose names contain conv; of one, its arguments
  pte-emit generate --seed 1 --count 10 -o random/    random valid programs, for tests of a runtime
  pte-emit generate --corpus malformed/               files with one defect each, for fuzzers and tests of loaders
  pte-emit reduce crash.pte --test './run {}' -o small.yaml
                                                      a small program for which ./run exits as with crash.pte
  pte-emit optimize model.pte -o small.pte            the same outputs with less planned memory
  pte-emit merge enc.pte dec.pte -o both.pte --rename enc:forward=encode --rename dec:forward=decode
                                                      the methods of both in one program, equal data once
  pte-emit extract both.pte --method 'enc*' -o e.pte  some methods, with what they need
  pte-emit rename e.pte --method encode=forward -o f.pte
                                                      other names for methods
  pte-emit strip model.pte -o small.pte               without stack traces, names, debug handles, tests, unused parts
  pte-emit metadata set model.pte get_vocab_size=32000 -o m.pte
                                                      constant methods; `get` and `remove`, too
  pte-emit bound model.pte --input x=1x256 -o small.pte
                                                      less memory: the largest x is [1, 256]
  pte-emit embed model.pte -o model --facts           the program as an array: model.c and model.h
  pte-emit firmware model.pte --for zephyr -o app/    sizes of memory pools, operators and the place of the program for a build
  pte-emit test model.yaml --runner ./runner          run the tests of a source in a runtime; `--bless` writes the outputs
  pte-emit schema > pte-emit.schema.json              JSON Schema, for editors
  pte-emit completions bash                           completions of a shell; `man` writes manual pages

Exit status:
  0    success: all outputs are written; `check` found no errors, `diff` and `verify` no differences
  1    invalid input: no output is written; `check` errors; `diff`, `verify` or `test` differences
  2    invalid command line; `diff` cannot read or compare its inputs
  3    I/O error: an input, data file or output cannot be opened, read or written; closed pipe
  130  interrupted: temporary files are removed; no output is written, except by `reduce`";

/// Assembles YAML (or JSON) into ExecuTorch .pte programs and .ptd weights.
///
/// The output is byte for byte what ExecuTorch 1.5.1's exporter writes for the same program. What the YAML leaves out
/// (indices, offsets, memory, operator tables, segments, headers) is computed. docs/yaml-reference.md describes all
/// keys.
#[derive(Debug, Parser)]
#[command(name = "pte-emit", version = version(), after_help = AFTER_HELP, args_conflicts_with_subcommands = true, arg_required_else_help = true)]
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
    /// Assemble YAML (or JSON) into .pte programs and .ptd weights; the default command.
    Assemble(Box<assemble::AssembleArguments>),
    /// Print a .pte, .ptd or .bpte as YAML that reproduces it byte for byte.
    Dump(dump::DumpArguments),
    /// Validate .pte, .ptd and .bpte files, or the files that YAML assembles to.
    Check(check::CheckArguments),
    /// Explain errors and logs of ExecuTorch, rules of `check` and codes of messages.
    Explain(Box<explain::ExplainArguments>),
    /// Explain every byte of a .pte, .ptd or .bpte.
    Annotate(annotate::AnnotateArguments),
    /// Print what files contain: inputs, outputs, operators, delegates, constants, memory.
    Inspect(inspect::InspectArguments),
    /// Print the memory that a program needs: planned memory over time, and the method allocator of the runtime.
    Memory(memory::MemoryArguments),
    /// Print the kernels and backends that a build of the runtime needs for programs.
    Kernels(kernels::KernelsArguments),
    /// Print where the bytes of a file are, as a tree.
    Size(size::SizeArguments),
    /// List, describe, extract or replace the payloads of delegates.
    Payload(payload::PayloadArguments),
    /// List the weights by name, or replace their bytes.
    Weights(weights::WeightsArguments),
    /// Print a hash of each tensor and payload, whatever file it is in.
    Manifest(manifest::ManifestArguments),
    /// Compare the contents of a file with a manifest.
    Verify(manifest::VerifyArguments),
    /// Compare two .pte, .ptd, .bpte, .safetensors or YAML files.
    Diff(diff::DiffArguments),
    /// Print the time by instruction, operator and delegate that an ETDump of the runtime has
    ///
    /// An ETDump records when instructions began and ended. A second one of the same program is compared with it.
    Profile(profile::ProfileArguments),
    /// Write a page for a browser: graphs, memory plan, sizes, tables, findings; or graphs for another viewer.
    Report(report::ReportArguments),
    /// Write a program with less planned memory and fewer instructions, and the same outputs.
    Optimize(optimize::OptimizeArguments),
    /// List the known operators, or print their arguments, results and an instruction that calls them.
    Ops(ops::OpsArguments),
    /// Write random programs, or malformed ones, for tests of a runtime.
    Generate(generate::GenerateArguments),
    /// Find a small program for which a command still exits as it does with FILE.
    Reduce(reduce::ReduceArguments),
    /// Write programs and .ptd files as arrays in C or assembly, for firmware and applications.
    Embed(embed::EmbedArguments),
    /// Merge programs: the methods of all inputs, with equal data stored once.
    Merge(merge::MergeArguments),
    /// Write some methods of a program, with what they need.
    Extract(extract::ExtractArguments),
    /// Rename methods of a program.
    Rename(rename::RenameArguments),
    /// Remove what the runtime does not need: stack traces, names, debug handles, tests, unused parts.
    Strip(strip::StripArguments),
    /// Print, set or remove metadata: constant methods, and named data with keys such as `metadata.author`.
    Metadata(metadata::MetadataArguments),
    /// Lower the bounds of dynamic inputs, and plan memory again; or make inputs static.
    Bound(Box<bound::BoundArguments>),
    /// Write files for the project of a firmware: sizes of memory pools, operators, the place of the program.
    Firmware(firmware::FirmwareArguments),
    /// Run the tests of YAML files in a runtime, and compare the outputs; or write them as the expected ones.
    Test(test::TestArguments),
    /// Execute a method in the runtime, and print its outputs
    Run(run::RunArguments),
    /// Install the runtime in which programs are executed, or list and remove what is installed
    Runner(runners::RunnersArguments),
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
fn print_text(text: &clap::Error) -> Exit {
    let color = ColorChoice::Auto;
    let rendered = text.render();
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

/// Runs the command with the arguments of a process, the first of which is its name. Returns the exit status.
pub fn main(arguments: Vec<OsString>) -> u8 {
    let command = Cli::command();
    let arguments = arranged(arguments, &command);
    let matches = match command.try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) if error.use_stderr() => {
            let _ = error.print();
            return Exit::Usage as u8;
        }
        // The text of `--help` or `--version`.
        Err(text) => return print_text(&text) as u8,
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
    let done = match cli.command {
        Some(Command::Assemble(arguments)) => Ok(assemble::run(*arguments, &messages)),
        Some(Command::Dump(arguments)) => dump::run(&arguments),
        Some(Command::Check(arguments)) => check::run(&arguments, &messages),
        Some(Command::Explain(arguments)) => explain::run(&arguments, &messages),
        Some(Command::Annotate(arguments)) => annotate::run(&arguments, &messages),
        Some(Command::Inspect(arguments)) => inspect::run(&arguments, &messages),
        Some(Command::Memory(arguments)) => memory::run(&arguments, &messages),
        Some(Command::Kernels(arguments)) => kernels::run(&arguments, &messages),
        Some(Command::Size(arguments)) => size::run(&arguments, &messages),
        Some(Command::Payload(arguments)) => payload::run(&arguments, &messages),
        Some(Command::Weights(arguments)) => weights::run(&arguments, &messages),
        Some(Command::Manifest(arguments)) => manifest::run(&arguments, &messages),
        Some(Command::Verify(arguments)) => manifest::verify(&arguments, &messages),
        Some(Command::Diff(arguments)) => Ok(diff::run(&arguments, &messages)),
        Some(Command::Profile(arguments)) => profile::run(&arguments, &messages),
        Some(Command::Report(arguments)) => report::run(&arguments, &messages),
        Some(Command::Optimize(arguments)) => optimize::run(&arguments, &messages),
        Some(Command::Ops(arguments)) => ops::run(&arguments),
        Some(Command::Generate(arguments)) => generate::run(&arguments),
        Some(Command::Reduce(arguments)) => reduce::run(&arguments, &messages),
        Some(Command::Embed(arguments)) => embed::run(&arguments, &messages),
        Some(Command::Merge(arguments)) => merge::run(&arguments, &messages),
        Some(Command::Extract(arguments)) => extract::run(&arguments, &messages),
        Some(Command::Rename(arguments)) => rename::run(&arguments, &messages),
        Some(Command::Strip(arguments)) => strip::run(&arguments, &messages),
        Some(Command::Metadata(arguments)) => metadata::run(&arguments, &messages),
        Some(Command::Bound(arguments)) => bound::run(&arguments, &messages),
        Some(Command::Firmware(arguments)) => firmware::run(&arguments, &messages),
        Some(Command::Test(arguments)) => test::run(&arguments, &messages),
        Some(Command::Run(arguments)) => run::run(&arguments, &messages),
        Some(Command::Runner(arguments)) => runners::run(&arguments, &messages),
        Some(Command::Schema) => schema::run(),
        Some(Command::Completions(arguments)) => completions::run(&arguments, Cli::command()),
        Some(Command::Man(arguments)) => man::run(&arguments, Cli::command(), AFTER_HELP),
        None => {
            let command = Cli::command();
            let known = cli.assemble.reject_unknown_command(command.get_subcommands().map(clap::Command::get_name));
            known.map(|()| assemble::run(cli.assemble, &messages))
        }
    };
    let exit = done.unwrap_or_else(|failure| failure.report(&messages));
    exit as u8
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use clap::{Arg, Command, CommandFactory, ValueEnum};
    use clap_complete::Shell;

    use super::Cli;

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
            assert_eq!(others, [""; 0], "commands with only one of --define and --{long}: flatten `SourceArguments`");
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
        let pages = super::man::pages(Cli::command(), super::AFTER_HELP);
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

    #[test]
    fn the_help_and_the_documentation_have_all_commands() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let pages = std::fs::read_dir(root.join("docs")).unwrap().map(|page| page.unwrap().path());
        let pages = pages.filter(|page| page.extension().is_some_and(|extension| extension == "md"));
        let pages: String = pages.map(|page| std::fs::read_to_string(page).unwrap()).collect();
        let words = |text: &str| -> BTreeSet<String> {
            text.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect()
        };
        let known = [("AFTER_HELP", words(super::AFTER_HELP)), ("docs/", words(&pages))];
        let commands: BTreeSet<String> = options().into_iter().map(|(command, _)| command).collect();
        for command in commands {
            for (name, known) in &known {
                assert!(command.split(' ').skip(1).all(|word| known.contains(word)), "{name} has no `{command}`");
            }
        }
    }

    #[test]
    fn the_version_has_the_release_of_executorch() {
        assert_eq!(Cli::command().render_version(), "pte-emit 0.2.0 (ExecuTorch 1.5.1)\n");
    }
}
