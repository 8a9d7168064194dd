//! `pte-emit golden PRODUCED GOLDEN.yaml`: compares a produced file with the YAML that a test expects; `--bless` writes
//! the YAML. The library compares and merges; this file reads, draws and writes.

use std::path::{Path, PathBuf};

use clap::Args;
use pte_emit::command::DiffStyle;
use pte_emit::command::text::{counted, escaped};
use pte_emit::diff::DiffKind;
use pte_emit::{ExtractedFile, Golden, NewGolden};

use super::diff::{ComparisonArguments, painted};
use super::exit::{Exit, Failure};
use super::io::{Messages, STREAM};
use super::options::{ForceArguments, LimitArguments};
use super::outputs::{Outputs, Replaced};
use super::runner::variable;
use super::sources::{SourceArguments, Sources};
use super::stdout;

/// Arguments of `golden`.
#[derive(Debug, Args)]
pub struct GoldenArguments {
    /// A .pte, .ptd, .bpte or YAML file; - is standard input
    #[arg(value_name = "PRODUCED")]
    produced: PathBuf,
    /// YAML of the file that is expected, with large data in files next to it
    #[arg(value_name = "GOLDEN.yaml")]
    golden: PathBuf,
    /// Write what was found as what is expected: PRODUCED into the YAML, where it differs or is missing; the same as
    /// BLESS=1 in the environment
    #[arg(long)]
    bless: bool,
    #[command(flatten)]
    replace: ForceArguments,
    #[command(flatten)]
    comparison: ComparisonArguments,
    #[command(flatten)]
    limit: LimitArguments,
    #[command(flatten)]
    sources: SourceArguments,
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read or assembled; a golden YAML that does not exist or cannot be written.
pub fn run(arguments: &GoldenArguments, messages: &Messages) -> Result<Exit, Failure> {
    let GoldenArguments { produced, golden: path, .. } = arguments;
    if path.as_os_str() == STREAM {
        return Err(Failure::usage("the golden YAML is a file that `--bless` writes, found `-`"));
    }
    let sources = Sources::checked(&arguments.sources)?;
    let open = |path: &Path| sources.open_one(path, |count| format!("{}, expected one", counted(count, "document")));
    let produced = open(produced)?;
    let model = if path.exists() { Some(open(path)?) } else { None };
    sources.warn_unused(messages);
    let golden = Golden::new(path, model)?;
    let options = arguments.comparison.options()?;
    if arguments.bless || variable("BLESS").is_some_and(|value| ["1", "true", "yes"].iter().any(|yes| value == *yes)) {
        let new = golden.blessed(&produced, &options)?;
        return bless(path, &golden, new, arguments.replace.force, messages).map(|()| Exit::Ok);
    }
    let Some(found) = golden.compare(&produced, &options)? else { return Ok(Exit::Ok) };
    let text = found.text(arguments.limit.rows());
    let paint = messages.paint();
    let mut out = text.totals_text() + &text.areas_text(|style, text| painted(paint, style, text));
    for line in found.diff.lines() {
        let style = match line.as_bytes().first() {
            Some(b'-') => DiffStyle::Mark(DiffKind::Removed),
            Some(b'+') => DiffStyle::Mark(DiffKind::Added),
            Some(b'@') => DiffStyle::Mark(DiffKind::Moved),
            _ => {
                out += &format!("{line}\n");
                continue;
            }
        };
        out += &format!("{}\n", painted(paint, style, line));
    }
    out += &format!("`--bless` writes this change into {}\n", escaped(&found.names[0]));
    stdout::write("", |to| to.write_all(out.as_bytes()))?;
    Ok(Exit::Input)
}

/// Writes the golden YAML and its data, or nothing. Files in the folder of data that the YAML did not name are only
/// replaced with `force`; those that it no longer names are removed.
fn bless(
    path: &Path,
    golden: &Golden,
    new: Option<NewGolden>,
    force: bool,
    messages: &Messages,
) -> Result<(), Failure> {
    let name = path.display().to_string();
    let Some(new) = new else {
        messages.summary(&format!("{}: unchanged\n", escaped(&name)));
        return Ok(());
    };
    let mut outputs = Outputs::new(&*name, force);
    let replaced = |file: &ExtractedFile| match new.own.contains(&file.path) {
        true => Replaced::Any,
        false => Replaced::Nothing,
    };
    let _folders = outputs.write_extracted(path, &new.files, replaced)?;
    outputs.write_text(path, Replaced::Any, &new.text)?;
    outputs.commit()?;
    golden.remove_unused(&new)?;
    messages.summary(&format!("{}: written\n", escaped(&name)));
    Ok(())
}
