//! `pte-emit payload list|show|extract|replace FILE`: the payloads of the delegates of a program.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use pte_emit::command::text::{clipped, counted, escaped, escaped_json, first_names};
use pte_emit::{
    Code, Error, LargeData, PrintOptions,
    payload::{Payload, PayloadChange, PayloadContent},
};

use super::edit::EditArguments;
use super::exit::{Exit, Failure};
use super::io::{self, Messages, STREAM};
use super::json;
use super::options::{ForceArguments, FormatArguments, TextOrJson};
use super::outputs::{Outputs, Replaced};
use super::sources::{SourceArguments, Sources};
use super::stdout;
use super::weights::{self, MapArguments};

/// Arguments of `payload`.
#[derive(Debug, Args)]
pub struct PayloadArguments {
    #[command(subcommand)]
    command: PayloadCommand,
}

#[derive(Debug, Subcommand)]
enum PayloadCommand {
    /// List the payloads: method and delegate, backend, format, size, number of calls
    List(ListArguments),
    /// Describe payloads by their formats, as YAML
    Show(ShowArguments),
    /// Write the bytes of a payload to a file
    Extract(ExtractArguments),
    /// Replace a payload, by a file, by an XNNPACK graph in YAML, or with other weights
    Replace(Box<ReplaceArguments>),
}

/// The file with the payloads.
#[derive(Debug, Args)]
struct InputArguments {
    /// A .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    #[command(flatten)]
    sources: SourceArguments,
}

#[derive(Debug, Args)]
struct ListArguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
}

#[derive(Debug, Args)]
struct ShowArguments {
    #[command(flatten)]
    input: InputArguments,
    /// Payload, as `payload list` names it, or METHOD and the index of the delegate; all by default
    #[arg(value_name = "METHOD/DELEGATE")]
    payload: Option<String>,
    /// Read payloads by this schema: a .bfbs, which `flatc --binary --schema` writes
    #[arg(long, value_name = "BFBS")]
    schema: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
}

#[derive(Debug, Args)]
struct ExtractArguments {
    #[command(flatten)]
    input: InputArguments,
    /// Payload, as `payload list` names it, or METHOD and the index of the delegate; needed if there are several
    #[arg(value_name = "METHOD/DELEGATE")]
    payload: Option<String>,
    /// Output: a file; - is standard output
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    #[command(flatten)]
    replace: ForceArguments,
}

#[derive(Debug, Args)]
struct ReplaceArguments {
    /// A .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Payload, as `payload list` names it, or METHOD and the index of the delegate
    #[arg(value_name = "METHOD/DELEGATE")]
    payload: String,
    /// The new payload: its bytes, or YAML with an XNNPACK graph under the key `graph:`, whose constants become named
    /// data
    #[arg(value_name = "NEW", required_unless_present = "weights", conflicts_with = "weights")]
    new: Option<PathBuf>,
    /// Weights of the XNNPACK graph, by name: a .safetensors, .ptd or .npy
    #[arg(long, value_name = "WEIGHTS")]
    weights: Option<PathBuf>,
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
/// An input that cannot be read or is malformed, an unknown payload, output that cannot be written.
pub fn run(arguments: &PayloadArguments, messages: &Messages) -> Result<Exit, Failure> {
    match &arguments.command {
        PayloadCommand::List(arguments) => list(arguments, messages),
        PayloadCommand::Show(arguments) => show(arguments, messages),
        PayloadCommand::Extract(arguments) => extract(arguments, messages),
        PayloadCommand::Replace(arguments) => replace(arguments, messages),
    }
}

impl InputArguments {
    fn payloads(&self, messages: &Messages) -> Result<Input, Failure> {
        let path = &self.input;
        if let Some(format) = io::payload_format(path) {
            let message = format!("expected a program with payloads, found a payload of the format {format}");
            return Err(Error::input(Code::UnexpectedInput, &path.display().to_string(), message).into());
        }
        let sources = Sources::checked(&self.sources)?;
        let found = |count| format!("expected one program, found {}", counted(count, "document"));
        let source = sources.open_one(path, found)?;
        sources.warn_unused(messages);
        if source.payloads()?.is_empty() {
            messages.summary(&format!("{}: no delegates\n", escaped(source.name())));
        }
        Ok(Input { payloads: source.payloads()?, name: source.name().to_owned() })
    }
}

/// The payloads of an input.
struct Input {
    name: String,
    payloads: Vec<Payload>,
}

impl Input {
    /// Returns the payload with a name, or a method and an index.
    fn find(&self, wanted: &str) -> Result<&Payload, Failure> {
        let by_index = |payload: &&Payload| {
            let Some((method, index)) = wanted.rsplit_once('/') else { return false };
            payload.method == method && index.parse() == Ok(payload.index)
        };
        let by_name = self.payloads.iter().find(|payload| payload.path == wanted);
        by_name.or_else(|| self.payloads.iter().find(by_index)).ok_or_else(|| {
            let message = format!("unknown payload `{}`; {}", clipped(wanted), self.known());
            Error::input(Code::UnknownName, &self.name, message).into()
        })
    }

    /// Returns the names of all payloads for a message.
    fn known(&self) -> String {
        let names: Vec<&str> = self.payloads.iter().map(|payload| &*payload.path).collect();
        match &names[..] {
            [] => "there are no payloads".to_owned(),
            [name] => format!("there is `{}`", clipped(name)),
            names => format!("there are {}", first_names(names.iter().copied())),
        }
    }
}

/// Name of a format that is not known.
const UNKNOWN: &str = "unknown format";

fn list(arguments: &ListArguments, messages: &Messages) -> Result<Exit, Failure> {
    let input = arguments.input.payloads(messages)?;
    let payloads = &input.payloads;
    let text = if arguments.format.is_json() {
        json::text(payloads)
    } else {
        let row = |payload: &Payload| {
            let Payload { path, backend, same_as, .. } = payload;
            let (size, calls) = (counted(payload.data.len(), "byte"), counted(payload.calls as u64, "call"));
            let same = same_as.as_ref().map_or(String::new(), |same| format!(", same data as {same}"));
            let format = payload.format.unwrap_or(UNKNOWN);
            format!("{}\n", escaped(&format!("{path}: {backend}, {format}, {size}, {calls}{same}")))
        };
        payloads.iter().map(row).collect()
    };
    stdout::write(&input.name, |out| out.write_all(text.as_bytes())).map(|()| Exit::Ok)
}

fn show(arguments: &ShowArguments, messages: &Messages) -> Result<Exit, Failure> {
    let input = arguments.input.payloads(messages)?;
    let shown: Vec<&Payload> = match &arguments.payload {
        Some(name) => vec![input.find(name)?],
        None => input.payloads.iter().collect(),
    };
    let (file, is_json) = (arguments.input.input.display().to_string(), arguments.format.is_json());
    let schema = match &arguments.schema {
        Some(path) if is_json => {
            let message = "`--schema` prints YAML, expected no `--json`";
            return Err(Error::input(Code::UnmetRequest, &path.display().to_string(), message).into());
        }
        Some(path) => {
            let name = path.display().to_string();
            let schema = std::fs::read(path).map_err(|error| Failure::reading(&name, &error))?;
            Some((name, schema))
        }
        None => None,
    };
    let mut options = PrintOptions::default();
    if arguments.input.input.as_os_str() != STREAM {
        (options.large_data, options.file) = (LargeData::Refer, file);
    }
    // Payloads are written one by one: their graphs can be large.
    let mut failed = None;
    let written = stdout::write(&input.name, |out| {
        if is_json {
            out.write_all(b"[")?;
        }
        for (position, payload) in shown.iter().enumerate() {
            // Data that several delegates share are described once.
            let is_shared = arguments.payload.is_none();
            let text = match &schema {
                // Of several payloads, those of a known format are described by it.
                Some((name, schema)) if shown.len() == 1 || payload.format.is_none() => {
                    payload.yaml_by_schema(name, schema, &options)
                }
                Some(_) => payload.yaml(is_shared, &options),
                None if is_json => json_text(payload, is_shared),
                None => payload.yaml(is_shared, &options),
            };
            let text = text.map_err(|error| {
                let kind = error.io_kind().unwrap_or(std::io::ErrorKind::InvalidData);
                failed = Some(error);
                std::io::Error::from(kind)
            })?;
            if is_json {
                out.write_all(if position > 0 { b",\n" } else { b"\n" })?;
            }
            out.write_all(text.as_bytes())?;
        }
        if is_json { out.write_all(b"\n]\n") } else { Ok(()) }
    });
    match (failed, written) {
        (Some(error), Err(_)) => Err(error.into()),
        (_, written) => written.map(|()| Exit::Ok),
    }
}

fn json_text(payload: &Payload, is_shared: bool) -> Result<String, Error> {
    // The order of the facts is that of the description.
    let text = serde_json::to_string_pretty(&payload.summary(is_shared)?).unwrap_or_default();
    Ok(format!("  {}", escaped_json(&text).replace('\n', "\n  ")))
}

fn extract(arguments: &ExtractArguments, messages: &Messages) -> Result<Exit, Failure> {
    let input = arguments.input.payloads(messages)?;
    let payload = match (&arguments.payload, &input.payloads[..]) {
        (Some(name), _) => input.find(name)?,
        (None, [payload]) => payload,
        (None, _) => {
            let message = format!("expected METHOD/DELEGATE: {}", input.known());
            return Err(Error::input(Code::UnmetRequest, &input.name, message).into());
        }
    };
    let (target, data) = (&*arguments.output, &payload.data);
    if target.as_os_str() == STREAM {
        stdout::check_terminal("a binary file")?;
        return stdout::write(&input.name, |out| data.copy_to(out)).map(|()| Exit::Ok);
    }
    if io::canonical(target) == io::canonical(&arguments.input.input) {
        let message = format!("output {} is also the input and would be overwritten; name another", target.display());
        return Err(Failure::Usage(message));
    }
    let bar = messages.progress(data.len());
    let mut outputs = Outputs::new(&*input.name, arguments.replace.force);
    outputs.write(target, Replaced::Binary, data.len(), &|bytes| bar.inc(bytes), |out| out.blob(data))?;
    outputs.commit()?;
    bar.finish_and_clear();
    Ok(Exit::Ok)
}

fn replace(arguments: &ReplaceArguments, messages: &Messages) -> Result<Exit, Failure> {
    let edit = &arguments.edit;
    let model = edit.open(&arguments.input, messages)?;
    let mut resolved = model.resolve()?;
    let delegate = resolved.find_delegate(Some(&arguments.payload))?;
    let mut inputs: Vec<&Path> = vec![&arguments.input];
    let mut done = String::new();
    let content = match (&arguments.new, &arguments.weights) {
        (_, Some(from)) => {
            inputs.push(from);
            inputs.extend(arguments.map.files());
            let (changes, content) = resolved.payload_weights(delegate, from, &arguments.map.options())?;
            weights::print_changes(&changes, edit.dry_run, &arguments.format, model.name())?;
            weights::check(&changes, arguments.map.partial, model.name())?;
            done += &weights::summary(&changes);
            content
        }
        (Some(new), None) => {
            inputs.push(new);
            match io::is_source_name(new) {
                true => PayloadContent::of_graph(&edit.open(new, messages)?)?,
                false => PayloadContent::of_file(new)?,
            }
        }
        (None, None) => return Err(Failure::usage("expected a new payload, or `--weights`")),
    };
    let change = resolved.replace_payload(delegate, content)?;
    if edit.dry_run && arguments.format.is_json() && arguments.weights.is_none() {
        let text = json::text(&change);
        stdout::write(model.name(), |out| out.write_all(text.as_bytes()))?;
    }
    done += &change_text(&change);
    edit.write(resolved, &edit.options()?, &inputs, &done, messages)
}

/// Formats the replaced parts.
fn change_text(change: &PayloadChange) -> String {
    let bytes = |count: u64| counted(count, "byte");
    let mut out =
        format!("{}: {} in place of {}\n", clipped(&change.payload), bytes(change.bytes), bytes(change.old_bytes));
    for (keys, what) in [
        (&change.added, "added"),
        (&change.removed, "removed, because no delegate refers to it"),
        (&change.kept, "kept, because delegates of other backends may refer to it"),
    ] {
        if !keys.is_empty() {
            let names = first_names(keys.iter().map(String::as_str));
            out += &format!("named data {what}: {names}\n");
        }
    }
    out
}
