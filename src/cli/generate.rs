//! `pte-emit generate --seed N -o FOLDER`: writes random programs; with `--corpus`, malformed ones.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use pte_emit::command::text::clipped;
use pte_emit::{
    AssembleOptions, Blob, Error, Model, PrintOptions, Resolved, generate::ProgramGenerator,
    operators::OperatorDescription,
};

use super::corpus;
use super::exit::{Exit, Failure};
use super::options::ForceArguments;
use super::outputs::{NewFolder, Outputs};

/// Arguments of `generate`.
#[derive(Debug, Args)]
pub struct GenerateArguments {
    /// Seed: the same programs for the same seed and version of pte-emit
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Number of programs
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=MAX_COUNT))]
    count: u64,
    /// Only operators whose names contain this
    #[arg(long, value_name = "PATTERN")]
    operators: Option<String>,
    /// Instructions of a method
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=MAX_INSTRUCTIONS))]
    instructions: u32,
    /// Programs of one call each, most of which violate what the kernel requires; not validated
    #[arg(long, conflicts_with = "instructions")]
    wild: bool,
    /// Format of the output; by default yaml
    #[arg(long, value_name = "FORMAT", value_enum)]
    to: Option<ProgramFormat>,
    /// Output: the folder of the files SEED-NUMBER.yaml or SEED-NUMBER.pte; created if it does not exist
    #[arg(short, long, value_name = "PATH", required_unless_present = "corpus")]
    output: Option<PathBuf>,
    #[command(flatten)]
    replace: ForceArguments,
    /// Files with one defect each instead, for fuzzers and tests of loaders: pte/, ptd/ and bpte/ in this folder, and
    /// manifest.json
    #[arg(long, value_name = "DIR", conflicts_with_all = ["seed", "count", "operators", "instructions", "wild", "to", "output"])]
    corpus: Option<PathBuf>,
}

/// Largest number of programs: their files are written together.
const MAX_COUNT: u64 = 100_000;

/// Largest number of instructions.
const MAX_INSTRUCTIONS: i64 = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProgramFormat {
    /// YAML, as `dump` prints it
    Yaml,
    /// Program
    Pte,
}

/// Writes the programs, or the files of the corpus: all or none.
///
/// # Errors
/// A pattern that no operator contains; an output that cannot be written.
pub fn run(arguments: &GenerateArguments) -> Result<Exit, Failure> {
    match (&arguments.corpus, &arguments.output) {
        (Some(folder), _) => corpus::run(folder, arguments.replace.force),
        (None, Some(folder)) => arguments.write(folder),
        (None, None) => Err(Failure::usage("-o is missing")),
    }
}

impl GenerateArguments {
    /// Writes the programs into a folder.
    fn write(&self, output: &Path) -> Result<Exit, Failure> {
        let mut generator = match self.wild {
            true => ProgramGenerator::wild(self.seed),
            false => ProgramGenerator::valid(self.seed, self.instructions as usize),
        };
        if let Some(pattern) = &self.operators
            && !generator.retain(|name| name.contains(pattern.as_str()))
        {
            return Err(Failure::Usage(not_generated(pattern)));
        }
        let folder = output.display().to_string();
        let new = NewFolder::create(output).map_err(|error| Error::io(&folder, "cannot create folder", &error))?;
        let mut outputs = Outputs::new(&*folder, self.replace.force);
        for number in 0..self.count {
            let (extension, bytes) = self.file(&generator, number)?;
            let path = output.join(Path::new(&format!("{}-{number}.{extension}", self.seed)));
            outputs.write_new(&path, &Blob::bytes(bytes))?;
        }
        outputs.commit()?;
        drop(new);
        Ok(Exit::Ok)
    }

    /// Returns the extension and the content of a file.
    fn file(&self, generator: &ProgramGenerator, number: u64) -> Result<(&'static str, Vec<u8>), Failure> {
        let assembly = Resolved::from(generator.program(number)).to_files(&AssembleOptions::default())?;
        let bytes = assembly.program_file().map(|file| file.to_vec()).transpose();
        let failed = |error: std::io::Error| Failure::reading("", &error);
        let bytes = bytes.map_err(failed)?.unwrap_or_default();
        match self.to.unwrap_or(ProgramFormat::Yaml) {
            ProgramFormat::Pte => Ok(("pte", bytes)),
            ProgramFormat::Yaml => {
                let printed = Model::from_binary("", &bytes).to_yaml(Path::new(""), &PrintOptions::default())?;
                Ok(("yaml", printed.text.into_bytes()))
            }
        }
    }
}

/// Returns the message for a pattern that no generated operator contains.
fn not_generated(pattern: &str) -> String {
    let message = format!("no generated operator of the default runtime contains `{}`", clipped(pattern));
    let known = OperatorDescription::names().find(|name| name.contains(pattern));
    match known.and_then(OperatorDescription::find) {
        None => format!("{message}; `pte-emit ops` lists all"),
        Some(OperatorDescription { name, library, .. }) => match library {
            Some(library) => format!("{message}; calls of the library `{library}` are not generated"),
            None => format!(
                "{message}; calls of `{name}` are not generated, because it needs another device or its results differ between runs"
            ),
        },
    }
}
