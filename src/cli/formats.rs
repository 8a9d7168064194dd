//! Output formats of the main command: one row for each, which arguments, file names, writing and validation use.
//! Extensions of the others.

use std::io;
use std::path::Path;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use pte_emit::{
    Assembly, ByteSink, Error, Format, OutputFile,
    check::{CheckOptions, Findings},
    inspect::ReportFormat,
    plan::Placement,
};

use super::exit::Failure;

/// Returns the format of an output by its extension, which is one of `known`; case is ignored. `None` without an
/// extension. `advice` ends the message about another one.
///
/// # Errors
/// An unknown extension.
pub fn of_output<F>(
    output: &Path,
    known: impl Iterator<Item = (&'static str, F)> + Clone,
    advice: &str,
) -> Result<Option<F>, Failure> {
    let Some(extension) = super::io::extension(output) else { return Ok(None) };
    let found = known.clone().find(|(name, _)| extension.eq_ignore_ascii_case(name));
    found.map(|(_, format)| Some(format)).ok_or_else(|| {
        let (extension, output, known) = (extension.display(), output.display(), listed(known.map(|(name, _)| name)));
        Failure::Usage(format!("unknown extension `.{extension}` of output {output}: expected {known}{advice}"))
    })
}

/// Formats of `report`, by extension.
pub const REPORTS: [(&str, ReportFormat); 3] =
    [("html", ReportFormat::Html), ("dot", ReportFormat::Dot), ("json", ReportFormat::ModelExplorer)];

/// Extensions of YAML.
pub const YAML: [(&str, ()); 2] = [("yaml", ()), ("yml", ())];

/// Lists extensions for a message: `.pte, .ptd or .bpte`.
fn listed(extensions: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<String> = extensions.map(|extension| format!(".{extension}")).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// Output format: row of [`FORMATS`].
#[derive(Debug)]
pub struct OutputFormat {
    /// File extension, and name in `--format`.
    pub extension: &'static str,
    /// Description in `--help`.
    doc: &'static str,
    /// True if it stores a program, false if it stores the data of an input without methods.
    pub has_methods: bool,
    /// True if it has no files for data with tags.
    pub is_single_file: bool,
    /// Returns the files of an assembly.
    pub files: Emit,
    /// Validates the files of an assembly.
    pub validate: Validate,
}

type Emit = for<'a> fn(&'a Assembly) -> Result<Vec<(OutputName<'a>, OutputContent<'a>)>, Error>;
type Validate = fn(&Assembly, &[(OutputName<'_>, OutputContent<'_>)], &CheckOptions) -> Result<Vec<Findings>, Error>;

/// All output formats. The first one with methods, and the first one without, are the defaults.
pub static FORMATS: &[OutputFormat] = &[
    OutputFormat {
        extension: Format::Program.extension(),
        doc: "Program",
        has_methods: true,
        is_single_file: false,
        files: |assembly| Ok(with_data(assembly.program_file().map(OutputContent::from), assembly)),
        validate: |assembly, _, options| assembly.check(options),
    },
    OutputFormat {
        extension: Format::FlatTensor.extension(),
        doc: "Weights",
        has_methods: false,
        is_single_file: false,
        files: |assembly| {
            let files = assembly.data_files();
            Ok(files.map(|(tag, file)| (tag.map_or(OutputName::Main, OutputName::Tagged), file.into())).collect())
        },
        validate: |assembly, _, options| assembly.check(options),
    },
    OutputFormat {
        extension: Format::BundledProgram.extension(),
        doc: "Bundled program: a program and its tests",
        has_methods: true,
        is_single_file: false,
        files: |assembly| {
            let bundle = assembly.bundled()?;
            let size = bundle.size().unwrap_or(u64::MAX);
            let content = OutputContent::new(size, move |out| bundle.write_to(out));
            Ok(with_data(Some(content), assembly))
        },
        validate: |assembly, files, options| {
            let mut bytes = Vec::new();
            let written = files.iter().take(1).try_for_each(|(_, bundle)| bundle.write(&mut bytes));
            written.map_err(|error| Error::io(&assembly.warnings.label(), "", &error))?;
            Ok(vec![assembly.check_bundled(&bytes, options)])
        },
    },
    OutputFormat {
        extension: Format::Safetensors.extension(),
        doc: "Weights in the format of Hugging Face",
        has_methods: false,
        is_single_file: true,
        files: |assembly| {
            let tensors = assembly.safetensors()?;
            let content = OutputContent::new(tensors.size(), move |out| tensors.write_to(out));
            Ok(vec![(OutputName::Main, content)])
        },
        validate: |assembly, _, options| assembly.check(options),
    },
];

/// Returns the main file, and the `.ptd` files of its data.
fn with_data<'a>(main: Option<OutputContent<'a>>, assembly: &'a Assembly) -> Vec<(OutputName<'a>, OutputContent<'a>)> {
    let mut files: Vec<_> = main.into_iter().map(|content| (OutputName::Main, content)).collect();
    files.extend(assembly.data_files().zip(&assembly.plan().external).map(|((tag, file), plan)| {
        let name = match tag {
            Some(tag) if plan.is_shard => OutputName::Shard(tag),
            Some(tag) => OutputName::Tagged(tag),
            None => OutputName::Data,
        };
        (name, file.into())
    }));
    files
}

impl OutputFormat {
    /// Returns the format with an extension; case is ignored.
    pub fn of_extension(extension: &str) -> Option<&'static OutputFormat> {
        FORMATS.iter().find(|format| format.extension.eq_ignore_ascii_case(extension))
    }

    /// Returns the default format of an input with or without methods.
    pub fn default_of(has_methods: bool) -> &'static OutputFormat {
        let same = FORMATS.iter().find(|format| format.has_methods == has_methods);
        same.expect("a format for both kinds of input")
    }

    /// Returns the formats that `select` accepts, for a message: `.pte, .ptd or .bpte`.
    pub fn list(select: impl Fn(&OutputFormat) -> bool) -> String {
        listed(FORMATS.iter().filter(|format| select(format)).map(|format| format.extension))
    }

    /// Returns the parser of `--format`.
    pub fn parser() -> impl TypedValueParser<Value = &'static OutputFormat> {
        let values = FORMATS.iter().map(|format| PossibleValue::new(format.extension).help(format.doc));
        let find = |name: String| OutputFormat::of_extension(&name).ok_or("expected a format");
        PossibleValuesParser::new(values).try_map(find)
    }
}

/// Name of an output file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputName<'a> {
    /// The path of `-o`.
    Main,
    /// The `.ptd` of `--external-data`, by default named like the main file.
    Data,
    /// A tag of data, in the folder of the main file.
    Tagged(&'a str),
    /// A part of the `.ptd` of `--external-data`, in its folder.
    Shard(&'a str),
}

/// Content of an output file.
pub struct OutputContent<'a> {
    /// Size in bytes.
    pub size: u64,
    /// Number of bytes for which a file needs disk space in advance: none if it has large holes.
    pub allocated: u64,
    /// Number of segments and their placement, in formats that have them.
    pub segments: Option<(usize, Placement)>,
    write: Box<WriteContent<'a>>,
}

type WriteContent<'a> = dyn Fn(&mut dyn ByteSink) -> io::Result<()> + 'a;

/// Least size in bytes of padding that may become holes.
const HOLE: u64 = 1 << 20;

impl<'a> OutputContent<'a> {
    /// Creates content of `size` bytes without segments.
    pub fn new(size: u64, write: impl Fn(&mut dyn ByteSink) -> io::Result<()> + 'a) -> OutputContent<'a> {
        OutputContent { size, allocated: size, segments: None, write: Box::new(write) }
    }

    /// Writes the content.
    ///
    /// # Errors
    /// Errors of `out`, and data that cannot be read.
    pub fn write(&self, out: &mut dyn ByteSink) -> io::Result<()> {
        (self.write)(out)
    }
}

impl<'a> From<OutputFile<'a>> for OutputContent<'a> {
    fn from(file: OutputFile<'a>) -> OutputContent<'a> {
        let segments = Some((file.segment_count(), file.placement().clone()));
        let size = file.size().unwrap_or(u64::MAX);
        let allocated = if file.padding() > HOLE { 0 } else { size };
        OutputContent { segments, allocated, ..OutputContent::new(size, move |out| file.write_to(out)) }
    }
}
