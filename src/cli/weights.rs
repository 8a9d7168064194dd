//! `pte-emit weights list|set|rename FILE`: weights by name.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use pte_emit::command::text::{clipped, counted, escaped, first_names};
use pte_emit::{
    Assembly, Code, Error, Report, Resolved,
    edit::NameRule,
    weights::{SetWeightsOptions, Weight, WeightChanges, WeightList},
};

use super::edit::EditArguments;
use super::exit::{Exit, Failure};
use super::io::Messages;
use super::json;
use super::options::{FormatArguments, TextOrJson};
use super::sources::{SourceArguments, Sources};
use super::stdout;

/// Arguments of `weights`.
#[derive(Debug, Args)]
pub struct WeightsArguments {
    #[command(subcommand)]
    command: WeightsCommand,
}

#[derive(Debug, Subcommand)]
enum WeightsCommand {
    /// List the weights: names, types, sizes, hashes, location, users, and which are stored twice
    List(ListArguments),
    /// Replace the bytes of constants by those of tensors with the same names
    Set(SetArguments),
    /// Give weights other names, in a program or in a .ptd or .safetensors
    Rename(RenameArguments),
}

#[derive(Debug, Args)]
struct RenameArguments {
    /// A .pte, .ptd, .bpte, .safetensors or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Name of a weight and its new name, as in 'encoder.*=enc.*'
    #[arg(value_name = "NAME=OTHER", required = true)]
    rules: Vec<NameRule>,
    #[command(flatten)]
    edit: EditArguments,
}

#[derive(Debug, Args)]
struct ListArguments {
    /// A .pte, .ptd, .bpte, .safetensors or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
    #[command(flatten)]
    sources: SourceArguments,
}

/// Rules that assign tensors of a source to constants.
#[derive(Debug, Args)]
pub struct MapArguments {
    /// Name of a constant, and that of its tensor in the source, as in 'encoder.*=enc_*'; may be repeated
    #[arg(long, value_name = "NAME=SOURCE")]
    map: Vec<NameRule>,
    /// The weights that FILE has now, in a .safetensors, .ptd or .npy: constants have the names of the tensors with the
    /// same bytes
    #[arg(long, value_name = "WEIGHTS")]
    like: Option<PathBuf>,
    /// Keep the bytes of constants without a source, and ignore tensors without a constant
    #[arg(long)]
    pub partial: bool,
}

impl MapArguments {
    /// Returns the options of the library.
    pub fn options(&self) -> SetWeightsOptions {
        SetWeightsOptions::default().map(self.map.iter().cloned().collect()).like(self.like.clone())
    }

    /// Files that the command reads.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.like.as_deref().into_iter()
    }
}

#[derive(Debug, Args)]
struct SetArguments {
    /// A .pte, .ptd, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// The new weights: a .safetensors, .ptd or .npy
    #[arg(long, value_name = "WEIGHTS")]
    from: PathBuf,
    #[command(flatten)]
    map: MapArguments,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
    #[command(flatten)]
    edit: EditArguments,
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read or is malformed, weights that do not fit, output that cannot be written.
pub fn run(arguments: &WeightsArguments, messages: &Messages) -> Result<Exit, Failure> {
    match &arguments.command {
        WeightsCommand::List(arguments) => list(arguments, messages),
        WeightsCommand::Set(arguments) => set(arguments, messages),
        WeightsCommand::Rename(RenameArguments { input, rules, edit }) => {
            let (resolved, renamed) = edit.open(input, messages)?.resolve()?.rename_weights(rules.clone())?;
            let mut done = String::new();
            for weight in renamed.iter().take(SHOWN) {
                let _ = writeln!(done, "renamed `{}` to `{}`", clipped(&weight.from), clipped(&weight.to));
            }
            if renamed.len() > SHOWN {
                let _ = writeln!(done, "{} in total", counted(renamed.len() as u64, "weight"));
            }
            edit.write(resolved, &edit.options()?, &[input], &done, messages)
        }
    }
}

fn list(arguments: &ListArguments, messages: &Messages) -> Result<Exit, Failure> {
    let sources = Sources::checked(&arguments.sources)?;
    let found = |count| format!("expected one program, found {}", counted(count, "document"));
    let model = sources.open_one(&arguments.input, found)?;
    sources.warn_unused(messages);
    let list = model.weights()?;
    let text = if arguments.format.is_json() { json::text(&list) } else { list_text(&list) };
    stdout::write(model.name(), |out| out.write_all(text.as_bytes())).map(|()| Exit::Ok)
}

/// Number of renamed weights in a summary.
const SHOWN: usize = 20;

/// Digits of a hash in text.
const DIGITS: usize = 12;

fn list_text(list: &WeightList) -> String {
    let mut out = String::new();
    for weight in &list.weights {
        let _ = writeln!(out, "{}", escaped(&row(weight)));
    }
    for twice in &list.stored_twice {
        let copies = twice.copies.iter().map(|copy| {
            let place = place(copy.location.name(), copy.file.as_deref(), copy.offset);
            format!("{} in {place}", first_names(copy.names.iter().map(String::as_str)))
        });
        let copies: Vec<String> = copies.collect();
        let count = twice.copies.len();
        let _ = writeln!(
            out,
            "stored {}: {}, sha256 {}: {}",
            if count == 2 { "twice".to_owned() } else { format!("{count} times") },
            counted(twice.bytes, "byte"),
            &twice.sha256[..DIGITS],
            copies.join("; ")
        );
    }
    out
}

fn row(weight: &Weight) -> String {
    let mut parts = Vec::new();
    if let (Some(scalar_type), Some(sizes)) = (weight.scalar_type, &weight.sizes) {
        let sizes: Vec<String> = sizes.iter().map(i32::to_string).collect();
        parts.push(format!("{scalar_type} [{}]", sizes.join(", ")));
    }
    if let Some(order) = &weight.dim_order {
        let order: Vec<String> = order.iter().map(u8::to_string).collect();
        parts.push(format!("dim_order [{}]", order.join(", ")));
    }
    parts.push(counted(weight.bytes, "byte"));
    parts.push(match &weight.sha256 {
        Some(hash) => format!("sha256 {}", &hash[..DIGITS]),
        None => "data in a .ptd that was not given".to_owned(),
    });
    let place = place(weight.location.name(), weight.file.as_deref(), weight.offset);
    parts.push(format!("{} in {place}", weight.kind.name()));
    if !weight.used_by.is_empty() {
        parts.push(format!("used by {}", weight.used_by.join(", ")));
    }
    format!("{}: {}", weight.name, parts.join(", "))
}

fn place(location: &str, file: Option<&str>, offset: Option<u64>) -> String {
    let file = file.map_or(String::new(), |file| format!(" {file}"));
    let offset = offset.map_or(String::new(), |offset| format!(" at {offset}"));
    format!("{location}{file}{offset}")
}

fn set(arguments: &SetArguments, messages: &Messages) -> Result<Exit, Failure> {
    let edit = &arguments.edit;
    let model = edit.open(&arguments.input, messages)?;
    let mut main = model.resolve()?;
    let mut others: Vec<Resolved> = Vec::new();
    for path in &edit.sources.with {
        others.push(pte_emit::Model::open_binary(path).resolve()?);
    }
    let changes = main.weight_changes(&others, &arguments.from, &arguments.map.options())?;
    print_changes(&changes, edit.dry_run, &arguments.format, model.name())?;
    check(&changes, arguments.map.partial, model.name())?;
    main.set_weights(0, &changes);
    let options = edit.options()?;
    let assembly = main.to_files(&options)?;
    let mut written: Vec<(PathBuf, Assembly)> = Vec::new();
    for (number, (mut other, path)) in others.into_iter().zip(&edit.sources.with).enumerate() {
        other.set_weights(number + 1, &changes);
        written.push((path.clone(), other.to_files(&options)?));
    }
    let mut inputs: Vec<&Path> = vec![&arguments.input, &arguments.from];
    inputs.extend(arguments.map.files());
    edit.write_files(&assembly, &written, &inputs, &summary(&changes), messages)
}

/// Prints what setting weights does on standard output, if nothing else is written there.
pub fn print_changes(
    changes: &WeightChanges,
    dry_run: bool,
    format: &FormatArguments<TextOrJson>,
    name: &str,
) -> Result<(), Failure> {
    if !dry_run {
        return Ok(());
    }
    let text = if format.is_json() { json::text(changes) } else { table(changes) };
    stdout::write(name, |out| out.write_all(text.as_bytes()))
}

/// Formats the mapping, and the names that are not part of it.
fn table(changes: &WeightChanges) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        let _ = writeln!(out, "{}", escaped(&text));
    };
    for set in &changes.set {
        let mut notes = String::new();
        if set.transposed {
            notes += ", transposed";
        }
        if set.reordered {
            notes += ", reordered";
        }
        line(format!("{} <- {}: {}, {}{notes}", set.name, set.source, set.shape, counted(set.bytes, "byte")));
    }
    for mismatch in &changes.mismatches {
        line(format!("{} <- {}: {} is not {}", mismatch.name, mismatch.source, mismatch.found, mismatch.expected));
    }
    for unset in &changes.unset {
        let reason = if unset.ambiguous.is_empty() { "no source" } else { "ambiguous source" };
        line(format!("{}: {}, {reason}", unset.name, unset.shape));
    }
    for unused in &changes.unused {
        line(format!("{} of the source: {}, no constant", unused.name, unused.shape));
    }
    for unsettable in &changes.unsettable {
        line(format!("{}: cannot be set: {}", unsettable.name, unsettable.reason));
    }
    out
}

/// Returns all reasons why weights cannot be set as one error.
///
/// # Errors
/// There are some.
pub fn check(changes: &WeightChanges, partial: bool, name: &str) -> Result<(), Failure> {
    let problems = changes.problems(partial);
    if problems.is_empty() {
        return Ok(());
    }
    const MAX: usize = 20;
    let more = problems.len().saturating_sub(MAX);
    let mut messages: Vec<_> =
        problems.into_iter().take(MAX).map(|problem| Code::UnmetRequest.whole(problem)).collect();
    if more > 0 {
        let message = format!("{} more; `--dry-run` lists all", counted(more as u64, "problem"));
        messages.push(Code::UnmetRequest.whole(message));
    }
    if let Some(last) = messages.last_mut().filter(|_| !changes.unsettable.is_empty()) {
        let reasons = changes.unsettable.iter().take(3);
        let reasons: Vec<String> =
            reasons.map(|weight| format!("`{}`: {}", clipped(&weight.name), weight.reason)).collect();
        let count = changes.unsettable.len() as u64;
        last.help = Some(format!("{} cannot be set: {}", counted(count, "other entry"), reasons.join("; ")));
    }
    Err(Error::new(Report::new(name, "", messages)).into())
}

/// Summary of the weights that are set.
pub fn summary(changes: &WeightChanges) -> String {
    let bytes = changes.set.iter().map(|set| set.bytes).fold(0, u64::saturating_add);
    let mut text = format!("set {} with {}", counted(changes.set.len() as u64, "constant"), counted(bytes, "byte"));
    for (count, noun, what) in [
        (changes.unset.len(), "constant", ["keeps its bytes", "keep their bytes"]),
        (changes.unused.len(), "tensor", ["of the source is ignored", "of the source are ignored"]),
        (changes.unsettable.len(), "other entry", ["cannot be set"; 2]),
    ] {
        if count > 0 {
            let _ = write!(text, "; {} {}", counted(count as u64, noun), what[usize::from(count > 1)]);
        }
    }
    text + "\n"
}
