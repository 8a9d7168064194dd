//! `pte-emit report FILE [FILE_B]`: a page for a browser, or the graphs of the methods for another viewer.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use pte_emit::{
    inspect::{ReportFormat, ReportOptions},
    profile::Recording,
};

use super::exit::{Exit, Failure};
use super::formats::{self, REPORTS};
use super::io::{self, Messages};
use super::options::ForceArguments;
use super::outputs::{Outputs, Replaced};
use super::sources::{SourceArguments, Sources};
use super::stdout;

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    #[command(flatten)]
    content: ContentArguments,
    /// Output: a file; - is standard output, and the default
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Format of the output; by default that of its extension, .html, .dot or .json (model-explorer), without one html
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<FormatName>,
    #[command(flatten)]
    replace: ForceArguments,
}

/// Arguments of `report` and `view`: what a report is about.
#[derive(Debug, Args)]
pub struct ContentArguments {
    /// A .pte, .ptd, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// A newer version of FILE: the report is about it, and shows what changed
    #[arg(value_name = "FILE_B")]
    pub newer: Option<PathBuf>,
    /// Read all constant data, and show statistics of the tensors; html
    #[arg(long)]
    data_statistics: bool,
    /// Times of an ETDump that the runtime recorded of the program, beside the graph; html
    #[arg(long, value_name = "ETDUMP")]
    etdump: Option<PathBuf>,
    /// Method; its name or a pattern, in which * stands for any characters; may be repeated. Needed if several have the
    /// recorded instructions
    #[arg(long, value_name = "METHOD", requires = "etdump")]
    method: Vec<String>,
    #[command(flatten)]
    sources: SourceArguments,
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
/// An input that cannot be read, or has several documents; an input without a program, for a graph; output that cannot
/// be written.
pub fn run(arguments: &ReportArguments, messages: &Messages) -> Result<Exit, Failure> {
    let output = arguments.output.as_deref().filter(|path| path.as_os_str() != io::STREAM);
    let format = match (arguments.to, output) {
        (Some(FormatName::Html), _) => ReportFormat::Html,
        (Some(FormatName::Dot), _) => ReportFormat::Dot,
        (Some(FormatName::ModelExplorer), _) => ReportFormat::ModelExplorer,
        (None, Some(output)) => {
            let advice = "; use `--to FORMAT` to write a file of another name";
            formats::of_output(output, REPORTS.into_iter(), advice)?.unwrap_or(ReportFormat::Html)
        }
        (None, None) => ReportFormat::Html,
    };
    if output.is_none() && format == ReportFormat::Html {
        stdout::check_terminal("a page of HTML")?;
    }
    let report = arguments.content.report(format, output, messages)?;
    match output {
        Some(path) => {
            let replaced = match format {
                ReportFormat::Html => Replaced::Generated(|head| head.contains("<title>pte-emit report</title>")),
                ReportFormat::Dot | ReportFormat::ModelExplorer => Replaced::Nothing,
            };
            let mut outputs = Outputs::new("", arguments.replace.force);
            outputs.write_text(path, replaced, &report)?;
            outputs.commit()?;
        }
        None => stdout::write("", |out| out.write_all(report.as_bytes()))?,
    }
    Ok(Exit::Ok)
}

impl ContentArguments {
    /// Returns the report. `output` is the file that it will be written to.
    ///
    /// # Errors
    /// An input that cannot be read, or has several documents; an input without a program, for a graph; an output that
    /// is one of the inputs.
    pub fn report(&self, format: ReportFormat, output: Option<&Path>, messages: &Messages) -> Result<String, Failure> {
        let mut options = ReportOptions::default()
            .format(format)
            .check(self.sources.validator()?)
            .data_statistics(self.data_statistics);
        if self.newer.as_ref().is_some_and(|newer| io::reads_stream_twice(&[newer, &self.input])) {
            return Err(Failure::usage("standard input can be only one of both inputs"));
        }
        let sources = Sources::new(&self.sources);
        let open = |path: &Path| sources.open_one(path, |found| format!("expected one document, found {found}"));
        let first = open(&self.input)?;
        let newer = self.newer.as_deref().map(open).transpose()?;
        sources.warn_unused(messages);
        if let Some(output) = output {
            let models = [Some(&first), newer.as_ref()].into_iter().flatten();
            self.sources.check_output(output, self.inputs(), models)?;
        }
        if let Some(path) = &self.etdump {
            let (recording, program) = (Recording::open(path)?, newer.as_ref().unwrap_or(&first));
            options.profile = Some(program.profile(&recording, &self.method)?);
            options.timeline = Some(program.timeline(&recording, &self.method)?);
        }
        let progress = self.data_statistics.then(|| messages.spinner());
        progress.iter().for_each(|bar| bar.set_message("reading all data"));
        let report = match &newer {
            Some(newer) => newer.report(Some(&first), &options),
            None => first.report(None, &options),
        };
        progress.iter().for_each(|bar| bar.finish_and_clear());
        Ok(report?)
    }

    /// Returns the input, and the newer version of it.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.input), self.newer.as_ref()].into_iter().flatten().map(PathBuf::as_path)
    }
}
