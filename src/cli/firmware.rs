//! `pte-emit firmware FILE --for PLATFORM -o FOLDER`: files for the project of a firmware.

use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use pte_emit::command::is_generated_firmware_file;
use pte_emit::command::text::{counted, escaped};
use pte_emit::deploy::{Firmware, FirmwareFile, FirmwareOptions, FirmwarePlatform, Section, Symbol};

use super::exit::{Exit, Failure};
use super::io::{self, Messages};
use super::json;
use super::options::{ForceArguments, FormatArguments, TextOrJson};
use super::outputs::{NewFolder, Outputs, Replaced};
use super::sources::{SourceArguments, Sources};
use super::stdout;

/// Arguments of `firmware`.
#[derive(Debug, Args)]
pub struct FirmwareArguments {
    /// A .pte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Platform of the project
    #[arg(long = "for", value_name = "PLATFORM", value_parser = platform_parser())]
    platform: FirmwarePlatform,
    /// Output: a folder; it is created
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    #[command(flatten)]
    replace: ForceArguments,
    /// Method; of several, pools have room for the largest, loaded alone. Its name or a pattern, in which * stands for
    /// any characters; may be repeated [default: the first method]
    #[arg(long, value_name = "METHOD")]
    method: Vec<String>,
    /// Name of an array; of that with the program, instead of model_pte, or for cmake of one made of the name of the
    /// file
    #[arg(long, value_name = "NAME", value_parser = Symbol::new)]
    symbol: Vec<Symbol>,
    /// Section of the arrays, instead of the default: for zephyr and cmsis network_model_sec, for others none
    #[arg(long, value_name = "NAME", value_parser = Section::new)]
    section: Option<Section>,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
    #[command(flatten)]
    sources: SourceArguments,
}

/// Parses the name of a platform.
fn platform_parser() -> impl TypedValueParser<Value = FirmwarePlatform> {
    let help = |platform: FirmwarePlatform| platform.doc().trim_end_matches('.');
    let values = FirmwarePlatform::ALL.iter().map(|platform| PossibleValue::new(platform.name()).help(help(*platform)));
    let find = |name: String| {
        FirmwarePlatform::ALL.iter().copied().find(|platform| platform.name() == name).ok_or("expected a platform")
    };
    PossibleValuesParser::new(values).try_map(find)
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, or is not a program; an unknown method; a file that the command did not write in the
/// place of a generated one.
pub fn run(arguments: &FirmwareArguments, messages: &Messages) -> Result<Exit, Failure> {
    if arguments.symbol.len() > 1 {
        return Err(Failure::usage("`--symbol` names the array of one program; omit the others"));
    }
    let sources = Sources::checked(&arguments.sources)?;
    let source = sources.open_one(&arguments.input, |found| format!("expected one program, found {found}"))?;
    sources.warn_unused(messages);
    let folder = &arguments.output;
    // Dropped at the end: without a file in it, it is removed.
    let _created =
        NewFolder::create(folder).map_err(|error| Failure::writing(&folder.display().to_string(), &error))?;
    let options = FirmwareOptions::new(arguments.platform)
        .methods(arguments.method.clone())
        .symbol(arguments.symbol.first().cloned())
        .section(arguments.section.clone())
        .external(!arguments.sources.with.is_empty())
        .path(relative(folder, &arguments.input));
    let firmware = source.firmware(&options)?;
    let changed = changed(folder, &firmware.files);
    for warning in &firmware.warnings {
        messages.warning(warning);
    }
    let mut outputs = Outputs::new("", arguments.replace.force);
    let own = Replaced::Generated(|head| is_generated_firmware_file(head.as_bytes()));
    changed.iter().try_for_each(|file| outputs.write_text(&folder.join(&file.path), own, &file.text))?;
    outputs.commit()?;
    if arguments.format.is_json() {
        stdout::write("", |out| out.write_all(json::text(&firmware).as_bytes()))?;
    }
    messages.summary(&summary(folder, &firmware, &changed));
    Ok(Exit::Ok)
}

/// Returns the path of the input relative to a folder, with `/` between its parts; `None` if there is none, or it is
/// not Unicode.
fn relative(folder: &Path, input: &Path) -> Option<String> {
    if input.as_os_str() == io::STREAM {
        return None;
    }
    let path = io::with_slashes(&io::relative(&folder.canonicalize().ok()?, &input.canonicalize().ok()?)?)?;
    (!path.contains(char::is_control)).then_some(path)
}

/// Returns the files that differ from those in the folder.
fn changed<'f>(folder: &Path, files: &'f [FirmwareFile]) -> Vec<&'f FirmwareFile> {
    let is_same = |file: &FirmwareFile| {
        // No more than the text has is read.
        let mut content = Vec::new();
        let found = fs::File::open(folder.join(&file.path));
        let read = found.and_then(|found| found.take(file.text.len() as u64 + 1).read_to_end(&mut content));
        read.is_ok() && content == file.text.as_bytes()
    };
    files.iter().filter(|file| !is_same(file)).collect()
}

/// What was done.
fn summary(folder: &Path, firmware: &Firmware, changed: &[&FirmwareFile]) -> String {
    let mut out = String::new();
    for file in &firmware.files {
        let verb = if changed.iter().any(|changed| changed.path == file.path) { "wrote" } else { "unchanged:" };
        let _ = writeln!(out, "{verb} {}", escaped(&folder.join(&file.path).display().to_string()));
    }
    for pool in &firmware.pools {
        let least = if pool.at_least { "at least " } else { "" };
        let bits = pool.pointer_bytes.map_or_else(String::new, |bytes| format!(", {}-bit", bytes.saturating_mul(8)));
        let _ = writeln!(out, "  {}: {least}{}{bits}", pool.name, counted(pool.bytes, "byte"));
    }
    out
}
