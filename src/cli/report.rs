//! `pte-emit report FILE [FILE_B]`: a page for a browser, or the graphs of the methods for another viewer.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::exit::{Exit, Failure};
use super::io::{self, Definitions};
use super::outputs::Outputs;
use super::stdout;
use crate::diagnostics::Code;
use crate::error::Error;
use crate::inspection::ReportOptions;
use crate::pipeline::{CheckOptions, Options};
use crate::report::ReportFormat;
use crate::source::{Source, SourceContent};

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// A .pte, .ptd, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// A newer version of FILE: the report is about it, and shows what changed
    #[arg(value_name = "FILE_B")]
    newer: Option<PathBuf>,
    /// Output file; without it, or with -, standard output
    #[arg(short = 'o', long, value_name = "OUTPUT")]
    output: Option<PathBuf>,
    /// Format of the report
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "html")]
    format: FormatName,
    /// A .ptd that is loaded with the program, for the findings
    #[arg(long, value_name = "PTD")]
    with: Vec<PathBuf>,
    /// Define the value of ${NAME} in the input
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = io::definition)]
    definitions: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatName {
    /// A page for a browser, which needs no network
    Html,
    /// The graphs of the methods, for Graphviz
    Dot,
    /// The graphs of the methods and of XNNPACK payloads as JSON, for Model Explorer
    ModelExplorer,
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, or has several documents; an input without a program, for a graph; output that cannot be written.
pub fn run(arguments: &ReportArguments) -> Result<Exit, Failure> {
    let format = match arguments.format {
        FormatName::Html => ReportFormat::Html,
        FormatName::Dot => ReportFormat::Dot,
        FormatName::ModelExplorer => ReportFormat::ModelExplorer,
    };
    let check = CheckOptions { with: arguments.with.clone(), ..CheckOptions::default() };
    let options = ReportOptions { format, check };
    if arguments.newer.as_ref().is_some_and(|newer| io::reads_stream_twice(&[newer, &arguments.input])) {
        return Err(Failure::usage("standard input can be only one of both inputs"));
    }
    let definitions = Definitions::new(&arguments.definitions);
    let first = open(&arguments.input, &definitions)?;
    let newer = arguments.newer.as_deref().map(|path| open(path, &definitions)).transpose()?;
    let output = arguments.output.as_deref().filter(|path| path.as_os_str() != io::STREAM);
    if let Some(output) = output {
        arguments.check_output(output, [Some(&first), newer.as_ref()].into_iter().flatten())?;
    }
    let report = match &newer {
        Some(newer) => crate::report(newer, Some(&first), &options)?,
        None => crate::report(&first, None, &options)?,
    };
    match output {
        Some(path) => {
            let mut outputs = Outputs::new();
            let written = outputs.write(path, report.len() as u64, &|_| (), |out| out.write_all(report.as_bytes()));
            written.and_then(|()| outputs.commit()).map_err(|error| Failure::writing("", &error))?;
        }
        None => stdout::write("", |out| out.write_all(report.as_bytes()))?,
    }
    Ok(Exit::Ok)
}

impl ReportArguments {
    /// Returns an error if the output would replace an input, or a file that the YAML of one refers to.
    fn check_output<'s>(
        &self,
        output: &Path,
        sources: impl Iterator<Item = &'s Source<'static>>,
    ) -> Result<(), Failure> {
        let inputs = [Some(&self.input), self.newer.as_ref()].into_iter().flatten().chain(&self.with);
        io::check_output(output, inputs.map(PathBuf::as_path)).map_err(Failure::Usage)?;
        // A new file replaces nothing.
        if !output.exists() {
            return Ok(());
        }
        for source in sources.filter(|source| matches!(source.content(), SourceContent::Text(_))) {
            // What is wrong with it is reported later.
            let Ok(assembly) = crate::assemble(source, &Options::default()) else { continue };
            let mut files = Vec::new();
            assembly.program().blobs.iter().for_each(|blob| blob.each_file(&mut |path| files.push(path)));
            io::check_output(output, files.into_iter()).map_err(Failure::Usage)?;
        }
        Ok(())
    }
}

/// Opens an input of one document.
fn open(path: &Path, definitions: &Definitions) -> Result<Source<'static>, Failure> {
    // By extension: a file with a damaged identifier is not YAML.
    let source = io::open_any(path)?;
    let name = source.name().to_owned();
    let mut documents = definitions.documents(source)?;
    match (documents.pop(), documents.len()) {
        (Some(document), 0) => Ok(document),
        (_, others) => {
            Err(Error::input(Code::UnexpectedInput, &name, format!("expected one document, found {}", others + 1))
                .into())
        }
    }
}
