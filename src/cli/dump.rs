//! `pte-emit dump FILE`: prints a `.pte`, `.ptd` or `.bpte` as YAML.

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
    /// Output file; standard output by default
    #[arg(short, long, value_name = "FILE.yaml")]
    output: Option<PathBuf>,
    /// How to print large tensor data
    #[arg(long, value_enum, default_value = "refer")]
    data: DataMode,
    /// Output folder for --data extract
    #[arg(long, value_name = "FOLDER", required_if_eq("data", "extract"))]
    folder: Option<PathBuf>,
    /// Print computed values, too: indices, memory offsets, operator tables, layout
    #[arg(long)]
    explicit: bool,
    /// Exit with status 1 unless the output reproduces the input byte for byte
    #[arg(long)]
    exact: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DataMode {
    /// As numbers, or hexadecimal digits
    Inline,
    /// As a reference to a byte range of the input file
    Refer,
    /// As a reference to a new file for each blob
    Extract,
}

/// Runs the command.
pub fn run(arguments: &Arguments, messages: &Messages) -> Exit {
    let (large_data, file) = match large_data(arguments) {
        Ok(data) => data,
        Err(error) => {
            messages.error(&format!("{}: {error}", arguments.input.display()));
            return Exit::Io;
        }
    };
    if let Some(target) = &arguments.output
        && io::canonical(target) == io::canonical(&arguments.input)
    {
        messages
            .error(&format!("output {} is also the input and would be overwritten; name another", target.display()));
        return Exit::Usage;
    }
    let options = PrintOptions { explicit: arguments.explicit, large_data, file };
    let origin = Origin::File(arguments.input.as_path().into());
    let source = Source::of_origin(arguments.input.display().to_string(), origin);
    let folder = yaml_folder(arguments);
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
            messages.error(&format!(
                "{}: the YAML does not reproduce the file byte for byte: {why}",
                arguments.input.display()
            ));
            Exit::Input
        }
        _ => Exit::Ok,
    }
}

/// Folder of the printed YAML, which paths in it are relative to.
fn yaml_folder(arguments: &Arguments) -> PathBuf {
    arguments.output.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_owned()
}

/// Placement of large data, and the path of the input as the YAML refers to it: relative if the input is below the folder of the
/// YAML, else absolute.
fn large_data(arguments: &Arguments) -> std::io::Result<(LargeData, String)> {
    let large = match (arguments.data, &arguments.folder) {
        (DataMode::Inline, _) => LargeData::Inline,
        (DataMode::Refer, _) | (DataMode::Extract, None) => LargeData::Refer,
        (DataMode::Extract, Some(folder)) => {
            std::fs::create_dir_all(folder)?;
            LargeData::Extract(folder.canonicalize()?)
        }
    };
    let file = arguments.input.canonicalize()?;
    let folder = yaml_folder(arguments);
    let folder = if folder.as_os_str().is_empty() { std::env::current_dir()? } else { folder.canonicalize()? };
    let name = file.strip_prefix(&folder).unwrap_or(&file);
    Ok((large, name.display().to_string()))
}
