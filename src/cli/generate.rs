//! `pte-emit generate --seed N -o FOLDER`: writes random programs.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::exit::{Exit, Failure};
use super::outputs::{NewFolder, Outputs};
use crate::diagnostics::clipped;
use crate::error::Error;
use crate::generate::calls::{self, runs_on_cpu};
use crate::generate::lower::{self, BoundaryMemory};
use crate::generate::programs::{self, KnownOperator};
use crate::generate::random::Random;
use crate::generate::wild::wild;
use crate::model::Model;
use crate::operators;
use crate::pipeline::Options;
use crate::printer::PrintOptions;
use crate::program::Program;

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
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
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

/// Writes the programs: all or none.
///
/// # Errors
/// A pattern that no operator contains; an output that cannot be written.
pub fn run(arguments: &GenerateArguments) -> Result<Exit, Failure> {
    let mut operators = calls::operators();
    operators.retain(|(name, _)| arguments.wild || runs_on_cpu(name));
    if let Some(pattern) = &arguments.operators {
        operators.retain(|(name, _)| name.contains(pattern.as_str()));
        if operators.is_empty() {
            return Err(Failure::Usage(not_generated(pattern)));
        }
    }
    let folder = arguments.output.display().to_string();
    let new =
        NewFolder::create(&arguments.output).map_err(|error| Error::io(&folder, "cannot create folder", &error))?;
    let mut outputs = Outputs::new();
    for number in 0..arguments.count {
        let (extension, bytes) = arguments.file(&operators, number)?;
        let path = arguments.output.join(Path::new(&format!("{}-{number}.{extension}", arguments.seed)));
        let written = outputs.write(&path, bytes.len() as u64, &|_| (), |out| out.write_all(&bytes));
        written.map_err(|error| Failure::writing(&folder, &error))?;
    }
    outputs.commit().map_err(|error| Failure::writing(&folder, &error))?;
    drop(new);
    Ok(Exit::Ok)
}

impl GenerateArguments {
    /// Returns the extension and the content of a file.
    fn file(&self, operators: &[KnownOperator], number: u64) -> Result<(&'static str, Vec<u8>), Failure> {
        let mut random = Random::of_item(self.seed, number);
        let program = match self.wild {
            true => wild_program(&mut random, operators),
            false => programs::program(&mut random, operators, self.instructions as usize),
        };
        let bytes = program.to_files(&Options::default())?.program_file().map(|file| file.to_vec()).transpose();
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
    let message = format!("no operator of the default runtime on the CPU contains `{}`", clipped(pattern));
    match operators::names().find(|name| name.contains(pattern)) {
        None => format!("{message}; `pte-emit ops` lists all"),
        Some(name) => match operators::library(name) {
            Some(library) => format!("{message}; calls of the library `{library}` are not generated"),
            None => format!("{message}; calls of `{name}` are not generated, which needs another device"),
        },
    }
}

/// Returns a program of one call with random changes.
fn wild_program(random: &mut Random, operators: &[KnownOperator]) -> Program {
    let (name, signature) = &operators[random.below(operators.len())];
    let call = wild(random, name, signature);
    lower::program(&call, BoundaryMemory::random(random))
}
