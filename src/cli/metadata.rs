//! `pte-emit metadata get|set|remove FILE`: the values of constant methods, and named data whose keys begin with
//! `metadata.`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use pte_emit::command::text::{clipped, clipped_to, escaped_json};
use pte_emit::{
    Code, Error, Resolved,
    edit::{METADATA_PREFIX, MetadataChange, MetadataEntry, MetadataOptions},
};
use serde::{Serialize, Serializer};

use super::edit::EditArguments;
use super::exit::{Exit, Failure};
use super::io::{Messages, STREAM};
use super::json;
use super::options::{FormatArguments, TextOrJson};
use super::sources::{SourceArguments, Sources};
use super::stdout;

/// Arguments of `metadata`.
#[derive(Debug, Args)]
pub struct MetadataArguments {
    #[command(subcommand)]
    command: MetadataCommand,
}

#[derive(Debug, Subcommand)]
enum MetadataCommand {
    /// Print metadata: all entries, or those of some keys
    Get(GetArguments),
    /// Set entries: constant methods, or named data of keys that begin with `metadata.`
    Set(SetArguments),
    /// Remove entries
    Remove(RemoveArguments),
}

#[derive(Debug, Args)]
struct GetArguments {
    /// A .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Keys or patterns, in which * stands for any characters; all by default
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
    #[command(flatten)]
    sources: SourceArguments,
}

#[derive(Debug, Args)]
struct SetArguments {
    /// A .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Entries; a value is a number, true, false, a list in JSON, a tensor such as {tensor: int64, data: [1, 8]}, or
    /// text; @PATH is the content of a file as text
    #[arg(value_name = "KEY=VALUE", required = true, value_parser = assignment)]
    entries: Vec<(String, String)>,
    /// Change the types of entries, too
    #[arg(long)]
    change_types: bool,
    #[command(flatten)]
    edit: EditArguments,
}

#[derive(Debug, Args)]
struct RemoveArguments {
    /// A .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Keys or patterns, in which * stands for any characters
    #[arg(value_name = "KEY", required = true)]
    keys: Vec<String>,
    #[command(flatten)]
    edit: EditArguments,
}

/// Size in bytes up to which the file of a value is read.
const MAX_VALUE: u64 = 16 << 20;

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, an unknown key, a value of another type, output that cannot be written.
pub fn run(arguments: &MetadataArguments, messages: &Messages) -> Result<Exit, Failure> {
    match &arguments.command {
        MetadataCommand::Get(arguments) => get(arguments, messages),
        MetadataCommand::Set(arguments) => set(arguments, messages),
        MetadataCommand::Remove(arguments) => remove(arguments, messages),
    }
}

/// Parses `KEY=VALUE`.
fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".into()),
    }
}

fn get(arguments: &GetArguments, messages: &Messages) -> Result<Exit, Failure> {
    let GetArguments { input, keys, format, sources } = arguments;
    let sources = Sources::checked(sources)?;
    let model = sources.open_one(input, |found| format!("expected one program, found {found} documents"))?;
    sources.warn_unused(messages);
    let resolved = model.resolve()?;
    let entries = if keys.is_empty() { resolved.metadata()? } else { resolved.find_metadata(keys)? };
    let mut out = String::new();
    if format.is_json() {
        out = json::text(&Entries(&entries));
    } else {
        for MetadataEntry { key, value, .. } in &entries {
            let _ = writeln!(out, "{} = {}", clipped(key), escaped_json(&value.to_string()));
        }
    }
    stdout::write("", |to| to.write_all(out.as_bytes())).map(|()| Exit::Ok)
}

/// Entries as a map, in their order.
struct Entries<'a>(&'a [MetadataEntry]);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|entry| (&entry.key, &entry.value)))
    }
}

fn set(arguments: &SetArguments, messages: &Messages) -> Result<Exit, Failure> {
    let SetArguments { input, entries, change_types, edit } = arguments;
    let mut read: Vec<&Path> = vec![input];
    let mut resolved = edit.open(input, messages)?.resolve()?;
    let mut changes = Vec::new();
    for (key, value) in entries {
        let path = value.strip_prefix('@').map(Path::new);
        let text = match path {
            Some(path) => content(path)?,
            None => value.clone(),
        };
        read.extend(path);
        let options = MetadataOptions::default().verbatim(path.is_some()).change_type(*change_types);
        let change;
        (resolved, change) = resolved.set_metadata(key, &text, &options)?;
        changes.push(change);
    }
    finish(edit, resolved, &read, &changes, messages)
}

/// Reads a file as text.
fn content(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    if path.as_os_str() == STREAM {
        return Err(Failure::usage("`@-`: expected the path of a file"));
    }
    let unreadable = |error| Failure::reading(&name, &error);
    let size = path.metadata().map_err(unreadable)?.len();
    if size > MAX_VALUE {
        let message = format!("{size} bytes, expected text of at most {MAX_VALUE}");
        return Err(Error::input(Code::LimitExceeded, &name, message).into());
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    String::from_utf8(bytes).map_err(|_| Error::input(Code::UnexpectedInput, &name, "expected text in UTF-8").into())
}

fn remove(arguments: &RemoveArguments, messages: &Messages) -> Result<Exit, Failure> {
    let RemoveArguments { input, keys, edit } = arguments;
    let (resolved, changes) = edit.open(input, messages)?.resolve()?.remove_metadata(keys)?;
    finish(edit, resolved, &[input], &changes, messages)
}

/// Writes the program with changed metadata.
fn finish(
    edit: &EditArguments,
    resolved: Resolved,
    read: &[&Path],
    changes: &[MetadataChange],
    messages: &Messages,
) -> Result<Exit, Failure> {
    let mut done = String::new();
    for MetadataChange { key, before, after, .. } in changes {
        let [before, after] =
            [before, after].map(|value| value.as_ref().map(|value| clipped_to(&value.to_string(), 60)));
        let key = clipped(key);
        let kind = if key.starts_with(METADATA_PREFIX) { "named data" } else { "constant method" };
        let _ = match (before, after) {
            (Some(before), Some(after)) if before == after => writeln!(done, "{kind} {key} = {after}, as before"),
            (Some(before), Some(after)) => writeln!(done, "{kind} {key} = {after}, was {before}"),
            (None, Some(after)) => writeln!(done, "{kind} {key} = {after}, new"),
            (Some(before), None) => writeln!(done, "{kind} {key} = {before} removed"),
            (None, None) => Ok(()),
        };
    }
    edit.write(resolved, &edit.options()?, read, &done, messages)
}
