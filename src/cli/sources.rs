//! Arguments about the sources of a command, and reading sources with them. All commands that read YAML have the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::Args;
use pte_emit::command::workers::lock;
use pte_emit::{
    AssembleOptions, Code, Error, Model, Report,
    check::{CheckOptions, DataFile},
    command::is_variable_name,
    operators::OperatorSet,
};

use super::exit::Failure;
use super::io::{self, Messages};

/// Heading of the arguments in `--help`. It belongs to each of them: global options would inherit that of a command.
const HEADING: &str = "Sources";

/// Arguments for YAML from strangers, of all commands that assemble YAML.
#[derive(Debug, Args)]
pub struct ConfineArguments {
    /// Folder that contains all files that YAML refers to; others are errors. For YAML from strangers
    #[arg(help_heading = HEADING, long, value_name = "FOLDER", value_parser = existing_folder)]
    confine: Option<PathBuf>,
    /// Fail if the data of YAML exceed this total size; 64 GiB by default
    #[arg(help_heading = HEADING, long, value_name = "BYTES", value_parser = io::size)]
    max_size: Option<u64>,
}

impl ConfineArguments {
    /// Limits the files and the data of a source.
    pub fn limited(&self, source: Model) -> Model {
        let source = source.with_options(AssembleOptions::default().max_size(self.max_size));
        match &self.confine {
            Some(folder) => source.confined_to(folder),
            None => source,
        }
    }
}

/// Arguments of all commands that read YAML.
#[derive(Debug, Args)]
pub struct SourceArguments {
    /// Define the value of ${NAME} in YAML
    #[arg(help_heading = HEADING, short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = definition)]
    definitions: Vec<(String, String)>,
    #[command(flatten)]
    limits: ConfineArguments,
    /// .ptd with data that the program refers to; may be repeated
    #[arg(help_heading = HEADING, long, value_name = "FILE.ptd")]
    pub with: Vec<PathBuf>,
    /// List of custom operators, one per line, such as my::scale.out self:T factor:f=1 out:T!; types are T Tensor, S
    /// Scalar, i int, f float, b bool, s str, d ScalarType, m MemoryFormat, followed by [] list, ? optional, ! out,
    /// & in place; ->T is a result
    #[arg(help_heading = HEADING, long, value_name = "FILE")]
    ops: Vec<PathBuf>,
}

impl SourceArguments {
    /// Files that the options name.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.with.iter().chain(&self.ops)
    }

    /// Options of assembling YAML.
    pub fn options(&self) -> AssembleOptions {
        AssembleOptions::default().max_size(self.limits.max_size)
    }

    /// Folder of `--confine`.
    pub fn confined_to(&self) -> Option<&Path> {
        self.limits.confine.as_deref()
    }

    /// Options of validation: opens the files of `--with` and reads those of `--ops`.
    ///
    /// # Errors
    /// A file that cannot be read; a malformed list of operators.
    pub fn validator(&self) -> Result<CheckOptions, Error> {
        let options = CheckOptions::default()
            .with(self.with.iter().map(DataFile::open).collect::<Result<_, _>>()?)
            .operators(self.operators()?);
        Ok(options)
    }

    /// Checks that an output replaces neither an input nor a file that the inputs read: those of `--with`, and those
    /// that the YAML of `models` refers to.
    ///
    /// # Errors
    /// An output that would.
    pub fn check_output<'m>(
        &'m self,
        output: &Path,
        inputs: impl Iterator<Item = &'m Path>,
        models: impl Iterator<Item = &'m Model>,
    ) -> Result<(), Failure> {
        io::check_output(output, inputs.chain(self.with.iter().map(PathBuf::as_path))).map_err(Failure::Usage)?;
        // A new file replaces nothing.
        if !output.exists() {
            return Ok(());
        }
        for model in models.filter(|model| model.is_text()) {
            // Defects of it are reported later.
            let Ok(assembly) = model.assembly() else { continue };
            let mut files = Vec::new();
            assembly.data_sources(&mut |path| files.push(path));
            io::check_output(output, files.into_iter()).map_err(Failure::Usage)?;
        }
        Ok(())
    }

    /// Reads the files of `--ops`: lists of custom operators.
    ///
    /// # Errors
    /// A file that cannot be read; all malformed lines of the first file that has some.
    pub fn operators(&self) -> Result<OperatorSet, Error> {
        let mut operators = OperatorSet::new();
        for path in &self.ops {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path).map_err(|error| Error::io(&name, "", &error))?;
            operators.add(&text).map_err(|errors| {
                let diagnostics = errors.iter().map(|error| Code::OperatorList.whole(error.to_string())).collect();
                Error::new(Report::new(&name, "", diagnostics))
            })?;
        }
        Ok(operators)
    }
}

/// Reads the sources of a command, and records which definitions they use.
pub struct Sources<'a> {
    arguments: &'a SourceArguments,
    definitions: BTreeMap<String, String>,
    used: Mutex<BTreeSet<String>>,
}

impl<'a> Sources<'a> {
    /// Begins without a source. Of several definitions of a name, the last one counts.
    pub fn new(arguments: &'a SourceArguments) -> Sources<'a> {
        Sources { arguments, definitions: arguments.definitions.iter().cloned().collect(), used: Mutex::default() }
    }

    /// Starts a command that does not validate or assemble its inputs. An option that needs one of these is an error.
    ///
    /// # Errors
    /// Those of [`SourceArguments::validator`].
    pub fn checked(arguments: &'a SourceArguments) -> Result<Sources<'a>, Error> {
        arguments.validator().map(|_| Sources::new(arguments))
    }

    /// Opens an input of any format, and returns its documents; a binary file is one.
    ///
    /// # Errors
    /// An input that cannot be read; undefined names.
    pub fn open(&self, path: &Path) -> Result<Vec<Model>, Error> {
        self.documents(io::open_any(path)?)
    }

    /// Opens an input of one document. `expected` formats the message about another number of documents.
    ///
    /// # Errors
    /// Those of [`Sources::open`]; several documents.
    pub fn open_one(&self, path: &Path, expected: impl Fn(u64) -> String) -> Result<Model, Error> {
        let mut documents = self.open(path)?;
        match (documents.pop(), documents.len() as u64) {
            (Some(document), 0) => Ok(document),
            (last, others) => {
                let name = last.map_or_else(String::new, |source| source.name().to_owned());
                Err(Error::input(Code::UnexpectedInput, &name, expected(others + 1)))
            }
        }
    }

    /// Returns the documents of a source with definitions substituted. The files that YAML refers to are in the folder
    /// of `--confine`, its data within `--max-size`.
    ///
    /// # Errors
    /// Undefined names.
    pub fn documents(&self, source: Model) -> Result<Vec<Model>, Error> {
        let source = self.arguments.limits.limited(source).with_data_files(&self.arguments.with);
        let documents = source.documents(&self.definitions)?;
        lock(&self.used).extend(documents.used);
        Ok(documents.models)
    }

    /// Returns the names of definitions that no source uses, of those read so far.
    pub fn unused(&self) -> Vec<&str> {
        let used = lock(&self.used);
        self.definitions.keys().filter(|name| !used.contains(*name)).map(String::as_str).collect()
    }

    /// Warns of definitions that no source uses.
    pub fn warn_unused(&self, messages: &Messages) {
        for name in self.unused() {
            messages.warning(&format!("unused definition `-D {name}`: no input contains ${{{name}}}"));
        }
    }
}

/// Parses `NAME=VALUE`.
fn definition(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if is_variable_name(name) => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE, with a name of letters, digits and _".into()),
    }
}

/// Parses the path of a folder.
fn existing_folder(text: &str) -> Result<PathBuf, String> {
    let folder = PathBuf::from(text);
    if folder.is_dir() { Ok(folder) } else { Err("expected an existing folder".into()) }
}
