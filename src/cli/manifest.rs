//! `pte-emit manifest FILE...` and `pte-emit verify FILE MANIFEST`: a hash for each tensor and payload, whatever file
//! it is in.

use std::path::{Path, PathBuf};

use clap::Args;
use pte_emit::command::text::{counted, escaped};
use pte_emit::{
    Code, Error, Format,
    weights::{Manifest, ManifestDifference, ManifestDifferenceKind, compare_manifests, parse_manifest},
};
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::io::{self, Messages, STREAM};
use super::json;
use super::options::{FormatArguments, TextOrJson};
use super::sources::{SourceArguments, Sources};
use super::stdout;

/// Arguments of `manifest`.
#[derive(Debug, Args)]
pub struct ManifestArguments {
    /// A .pte, .bpte or YAML with its .ptd files, or weights alone; - is standard input
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    sources: SourceArguments,
}

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// A .pte, .ptd, .bpte, .safetensors or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Output of `manifest`
    #[arg(value_name = "MANIFEST")]
    manifest: PathBuf,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
    #[command(flatten)]
    sources: SourceArguments,
}

/// JSON output of `verify`.
#[derive(Serialize)]
#[cfg_attr(all(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct VerifyDocument {
    /// Name of the file.
    file: String,
    /// Number of entries of the manifest.
    entries: usize,
    /// Differences, by kind and name; empty if the file has the contents of the manifest.
    differences: Vec<ManifestDifference>,
}

/// Prints a manifest.
///
/// # Errors
/// An input that cannot be read or is malformed, several programs, output that cannot be written.
pub fn run(arguments: &ManifestArguments, messages: &Messages) -> Result<Exit, Failure> {
    let (input, with) = split(&arguments.inputs)?;
    let (name, manifest) = read(&input, &with, &arguments.sources, messages)?;
    let text = json::text(&manifest);
    stdout::write(&name, |out| out.write_all(text.as_bytes())).map(|()| Exit::Ok)
}

/// Splits the inputs into the program and its `.ptd` files.
///
/// # Errors
/// Several programs.
fn split(inputs: &[PathBuf]) -> Result<(PathBuf, Vec<PathBuf>), Failure> {
    let is_data = |path: &&PathBuf| {
        let format = if path.as_os_str() == STREAM { Ok(None) } else { io::open_any(path)?.format() };
        format.map(|format| format == Some(Format::FlatTensor))
    };
    let (mut data, mut others) = (Vec::new(), Vec::new());
    for input in inputs {
        if inputs.len() > 1 && is_data(&input)? { data.push(input.clone()) } else { others.push(input.clone()) }
    }
    match (&others[..], &data[..]) {
        ([input], _) => Ok((input.clone(), data)),
        ([], [_, ..]) => {
            let message = "several .ptd files without a program: print a manifest of each";
            Err(Failure::usage(message))
        }
        _ => {
            let message = "a manifest is that of one program with its .ptd files; print a manifest of each program";
            Err(Failure::usage(message))
        }
    }
}

fn read(
    input: &Path,
    with: &[PathBuf],
    arguments: &SourceArguments,
    messages: &Messages,
) -> Result<(String, Manifest), Failure> {
    let sources = Sources::checked(arguments)?;
    let found = |count| format!("expected one program, found {}", counted(count, "document"));
    let model = sources.open_one(input, found)?;
    sources.warn_unused(messages);
    let model = model.with_data_files(with.iter().chain(&arguments.with));
    Ok((model.name().to_owned(), model.manifest()?))
}

/// Maximum size of a manifest in bytes.
const MAX_MANIFEST: u64 = 256 << 20;

/// Compares a file with a manifest.
///
/// # Errors
/// An input that cannot be read or is malformed, output that cannot be written. Differences are not errors.
pub fn verify(arguments: &VerifyArguments, messages: &Messages) -> Result<Exit, Failure> {
    let path = &arguments.manifest;
    let name = path.display().to_string();
    let unreadable = |error: std::io::Error| Failure::reading(&name, &error);
    if path.metadata().map_err(unreadable)?.len() > MAX_MANIFEST {
        let message = format!("a manifest has at most {MAX_MANIFEST} bytes");
        return Err(Error::input(Code::LimitExceeded, &name, message).into());
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::input(Code::UnexpectedInput, &name, "not a manifest of `pte-emit manifest`: not UTF-8"))?;
    let expected = parse_manifest(&name, &text)?;
    let (file, found) = read(&arguments.input, &[], &arguments.sources, messages)?;
    let differences = compare_manifests(&expected, &found);
    let is_equal = differences.is_empty();
    let document = VerifyDocument { file: file.clone(), entries: expected.entries.len(), differences };
    let text = if arguments.format.is_json() { json::text(&document) } else { lines(&document) };
    stdout::write(&file, |out| out.write_all(text.as_bytes()))?;
    Ok(if is_equal { Exit::Ok } else { Exit::Input })
}

fn lines(document: &VerifyDocument) -> String {
    let out: String = document.differences.iter().map(|one| format!("{}\n", escaped(&one.line()))).collect();
    let count = |kind| document.differences.iter().filter(|one| one.difference == kind).count();
    let [differ, missing, added] =
        [ManifestDifferenceKind::Differs, ManifestDifferenceKind::Missing, ManifestDifferenceKind::Added].map(count);
    let entries = counted(document.entries as u64, "entry");
    let file = escaped(&document.file);
    out + &format!("{file}: {entries}, {differ} differ, {missing} missing, {added} added\n")
}
