//! `pte-emit dump FILE`: prints a `.pte`, `.ptd` or `.bpte` as YAML.

use std::io::Write;
use std::path::{Component, Path, PathBuf};

use clap::{Args, ValueEnum};
use pte_emit::{
    Code, Error, ExtractedFile, LargeData, PayloadForm, PrintOptions, PrintStats, Printed, Reproduction, SCHEMA_LINE,
};

use super::exit::{Exit, Failure};
use super::formats::{self, YAML};
use super::io::{self, STREAM};
use super::options::ForceArguments;
use super::outputs::{NewFolder, Outputs, Replaced};
use super::stdout;

/// Arguments of `dump`.
#[derive(Debug, Args)]
pub struct DumpArguments {
    /// A .pte, .ptd or .bpte; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Output: a file; - is standard output, and the default
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    replace: ForceArguments,
    /// How to print large tensor data [default: refer; inline for standard input]
    #[arg(long, value_enum)]
    data: Option<DataMode>,
    /// Output folder for --data extract
    #[arg(long, value_name = "FOLDER", required_if_eq("data", "extract"))]
    folder: Option<PathBuf>,
    /// How to print payloads of delegates
    #[arg(long, value_enum, default_value_t)]
    payload: PayloadMode,
    /// Print computed values, too: indices, memory offsets, operator tables, layout
    #[arg(long)]
    explicit: bool,
    /// Omit all memory offsets, so that assembling plans the memory of the changed YAML again
    #[arg(long, conflicts_with_all = ["explicit", "exact"])]
    replan: bool,
    /// Print to standard error what the YAML had to state, and what is left to assembling
    #[arg(long)]
    stats: bool,
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
    /// As their SHA-256 digest, to compare dumps: the YAML cannot be assembled
    Hash,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum PayloadMode {
    /// As a graph, if its format is known
    #[default]
    Graph,
    /// As data
    Opaque,
}

impl From<PayloadMode> for PayloadForm {
    fn from(mode: PayloadMode) -> PayloadForm {
        match mode {
            PayloadMode::Graph => PayloadForm::Graph,
            PayloadMode::Opaque => PayloadForm::Opaque,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, or is not a binary file; an output that cannot be written, or with `--exact` differs.
pub fn run(arguments: &DumpArguments) -> Result<Exit, Failure> {
    let source = io::open_binary(&arguments.input)?;
    if let Some(target) = arguments.file()
        && io::canonical(target) == io::canonical(&arguments.input)
    {
        let message = format!("output {} is also the input and would be overwritten; name another", target.display());
        return Err(Failure::usage(message));
    }
    if let Some(target) = arguments.file() {
        let advice = "; `-o -` and a pipe write a file of another name";
        formats::of_output(target, YAML.into_iter(), advice)?;
    }
    if arguments.folder.is_some() && !matches!(arguments.data, Some(DataMode::Extract)) {
        return Err(Failure::usage("`--folder` is for `--data extract`"));
    }
    let file = arguments.reference()?;
    let (large_data, _new_folder) = arguments.large_data()?;
    let payload = arguments.payload.into();
    let mut options = PrintOptions::default();
    (options.explicit, options.large_data, options.payload, options.file) =
        (arguments.explicit, large_data, payload, file);
    if arguments.replan {
        options.reproduction = Reproduction::AllButOffsets;
    }
    let printed = source.to_yaml(&arguments.yaml_folder(), &options)?;
    arguments.write(&printed, source.name())?;
    if arguments.stats {
        // A closed standard error is not a reason to fail.
        let _ = std::io::stderr().write_all(statistics(source.name(), &printed.stats).as_bytes());
    }
    match printed.difference {
        Some(why) if arguments.exact => {
            let message = format!("the YAML does not reproduce the file byte for byte: {why}");
            Err(Error::input(Code::UnmetRequest, source.name(), message).into())
        }
        Some(_) | None => Ok(Exit::Ok),
    }
}

/// Returns the counts as lines.
fn statistics(name: &str, stats: &PrintStats) -> String {
    let rows = [
        ("values", stats.values),
        ("literals, printed at their use", stats.literals),
        ("results of instructions", stats.results),
        ("of them inferred", stats.inferred),
        ("views among the instructions", stats.views),
        ("positions stated (value:)", stats.positions),
        ("indices stated (index:)", stats.indices),
        ("places in planned memory stated (memory:)", stats.places),
        ("gradients stated (requires_grad:)", stats.gradients),
        ("calls printed as the whole stack", stats.stacks),
    ];
    let mut text = format!("{name}:\n");
    for (what, count) in rows {
        text += &format!("{count:>8} {what}\n");
    }
    text
}

impl DumpArguments {
    /// Output file; `None` is standard output.
    fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|output| output.as_os_str() != STREAM)
    }

    fn is_stdin(&self) -> bool {
        self.input.as_os_str() == STREAM
    }

    /// Folder of the printed YAML, which paths in it are relative to.
    fn yaml_folder(&self) -> PathBuf {
        self.file().and_then(Path::parent).unwrap_or(Path::new("")).to_owned()
    }

    fn canonical_yaml_folder(&self) -> Result<PathBuf, Failure> {
        let folder = self.yaml_folder();
        let folder = if folder.as_os_str().is_empty() { std::env::current_dir() } else { folder.canonicalize() };
        let output = self.file().unwrap_or(Path::new(STREAM)).display().to_string();
        folder.map_err(|error| Failure::writing(&output, &error))
    }

    /// Writes the YAML and the files that it refers to: all or none.
    fn write(&self, printed: &Printed, source: &str) -> Result<(), Failure> {
        let mut outputs = Outputs::new(source, self.replace.force);
        let folder = self.yaml_folder();
        for ExtractedFile { path, data, .. } in &printed.files {
            outputs.write_new(&folder.join(path), data)?;
        }
        // Digests of data are not values of the schema.
        let schema = if matches!(self.data, Some(DataMode::Hash)) { "" } else { SCHEMA_LINE };
        let size = (schema.len() as u64).saturating_add(printed.text.len() as u64);
        let print =
            |out: &mut dyn Write| [schema, &printed.text].iter().try_for_each(|part| out.write_all(part.as_bytes()));
        match self.file() {
            Some(path) => {
                outputs.write(path, Replaced::Nothing, size, &|_| (), |out| print(out))?;
            }
            None => stdout::write(source, print)?,
        }
        outputs.commit()
    }

    /// Placement of large data. Creates the folder of extracted data, which stays if it has files when the second value
    /// is dropped.
    fn large_data(&self) -> Result<(LargeData, NewFolder), Failure> {
        let without = |data| Ok((data, NewFolder::default()));
        match (self.data, &self.folder) {
            (Some(DataMode::Refer), _) if self.is_stdin() => {
                let message = "standard input has no name to refer to; expected `--data inline` or `--data extract`";
                Err(Failure::usage(message))
            }
            (Some(DataMode::Inline), _) => without(LargeData::Inline),
            (Some(DataMode::Hash), _) => without(LargeData::Hash),
            (None, _) if self.is_stdin() => without(LargeData::Inline),
            (Some(DataMode::Extract), Some(folder)) => {
                let created = NewFolder::create(folder).and_then(|new| Ok((new, folder.canonicalize()?)));
                let name = folder.display().to_string();
                let (new, path) = created.map_err(|error| Error::io(&name, "cannot create folder", &error))?;
                Ok((LargeData::Extract(relative(&self.canonical_yaml_folder()?, &path)), new))
            }
            (Some(DataMode::Refer | DataMode::Extract) | None, _) => without(LargeData::Refer),
        }
    }

    /// Path of the input as the YAML refers to it: relative to the folder of the YAML.
    fn reference(&self) -> Result<String, Failure> {
        if self.is_stdin() {
            return Ok(String::new());
        }
        let name = self.input.display().to_string();
        let file = self.input.canonicalize().map_err(|error| Failure::reading(&name, &error))?;
        let folder = self.canonical_yaml_folder()?;
        Ok(relative(&folder, &file).display().to_string())
    }
}

/// Returns the path of `to` relative to the folder `from`; both are canonical. `to` itself if they have no folder in
/// common.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let first = |path: &Path| path.components().position(|part| matches!(part, Component::Normal(_)));
    let has_common_folder =
        first(from).is_some_and(|at| from.components().take(at + 1).eq(to.components().take(at + 1)));
    io::relative(from, to).filter(|_| has_common_folder).unwrap_or_else(|| to.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_to_the_folder_of_the_yaml() {
        for (from, to, expected) in [
            ("/a/b", "/a/b/c", "c"),
            ("/a/b", "/a/b", ""),
            ("/a/b", "/a/c/d", "../c/d"),
            ("/a/b", "/a", ".."),
            ("/a/b", "/c", "/c"),
        ] {
            assert_eq!(relative(from.as_ref(), to.as_ref()), Path::new(expected), "{from} {to}");
        }
    }
}
