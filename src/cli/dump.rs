//! `pte-emit dump FILE`: a `.pte`, `.ptd` or `.bpte` as text.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::exit::Exit;
use super::io::{self, Messages};
use super::outputs::Outputs;
use crate::data::Origin;
use crate::printer::{LargeData, PrintOptions};
use crate::source::Source;

/// Arguments of `dump`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A .pte, .ptd or .bpte
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Where to write the text; standard output if left out
    #[arg(short, long, value_name = "TEXT")]
    output: Option<PathBuf>,
    /// What becomes of data beyond a few numbers
    #[arg(long, value_enum, default_value = "refer")]
    data: DataMode,
    /// The folder for `--data extract`
    #[arg(long, value_name = "FOLDER", required_if_eq("data", "extract"))]
    folder: Option<PathBuf>,
    /// State everything, leave nothing to be computed
    #[arg(long)]
    explicit: bool,
    /// Exit with 1 if the text does not give the file back bit for bit
    #[arg(long)]
    exact: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DataMode {
    /// Numbers, or hexadecimal digits
    Inline,
    /// A range of the file that is dumped
    Refer,
    /// Files of their own
    Extract,
}

/// Prints the text.
pub fn run(arguments: &Arguments, messages: &Messages) -> Exit {
    let (large_data, file) = match data(arguments) {
        Ok(data) => data,
        Err(error) => {
            messages.error(&format!("{}: {error}", arguments.input.display()));
            return Exit::Io;
        }
    };
    if let Some(target) = &arguments.output
        && io::place(target) == io::place(&arguments.input)
    {
        messages.error(&format!("{} is read for this text and would be lost; name another", target.display()));
        return Exit::Usage;
    }
    let options = PrintOptions { explicit: arguments.explicit, large_data, file };
    let origin = Origin::File(arguments.input.as_path().into());
    let source = Source::of_origin(arguments.input.display().to_string(), origin);
    let folder = text_folder(arguments);
    let printed = match crate::pipeline::print(&source, &folder, &options) {
        Ok(printed) => printed,
        Err(error) => {
            messages.report(error.report());
            return Exit::of(&error);
        }
    };
    let written = match &arguments.output {
        Some(path) => {
            let mut outputs = Outputs::new();
            outputs
                .write(path, printed.text.len() as u64, &|_| (), |out| out.write_all(printed.text.as_bytes()))
                .and_then(|()| outputs.commit())
        }
        None => io::write_to_stdout(|out| out.write_all(printed.text.as_bytes())),
    };
    if let Err(error) = written {
        messages.error(&error.to_string());
        return Exit::Io;
    }
    match printed.difference {
        Some(why) if arguments.exact => {
            messages.error(&format!("{}: the text does not give the file back: {why}", arguments.input.display()));
            Exit::Input
        }
        _ => Exit::Ok,
    }
}

/// Where the text is, or will be.
fn text_folder(arguments: &Arguments) -> PathBuf {
    arguments.output.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_owned()
}

/// What becomes of large data, and how the text calls the file: relative to the text if it lies beside it, else by its
/// whole path.
fn data(arguments: &Arguments) -> std::io::Result<(LargeData, String)> {
    let large = match (arguments.data, &arguments.folder) {
        (DataMode::Inline, _) => LargeData::Inline,
        (DataMode::Refer, _) | (DataMode::Extract, None) => LargeData::Refer,
        (DataMode::Extract, Some(folder)) => {
            std::fs::create_dir_all(folder)?;
            LargeData::Extract(folder.canonicalize()?)
        }
    };
    let file = arguments.input.canonicalize()?;
    let folder = text_folder(arguments);
    let folder = if folder.as_os_str().is_empty() { std::env::current_dir()? } else { folder.canonicalize()? };
    let name = file.strip_prefix(&folder).unwrap_or(&file);
    Ok((large, name.display().to_string()))
}
