//! Prints a file as YAML, without the properties that assembling computes. The YAML is assembled to find the hints that
//! it needs, and to verify that it reproduces the file byte for byte.
//!
//! Weights are not loaded: the YAML refers to ranges of the file.

mod data;
mod extracted;
mod facts;
mod flat_tensor;
mod flatbuffer;
mod graph;
mod graph_inference;
mod hints;
mod layout;
mod nearest;
mod newer;
mod numbering;
mod options;
mod overrides;
pub(crate) mod payload;
mod printed;
mod program;
mod shared_constants;
mod shared_state;
mod stacktrace;
mod stats;
pub(crate) mod test_cases;
mod text;

use std::cell::RefCell;
use std::io;
use std::path::Path;

pub use extracted::ExtractedFile;
use extracted::ExtractedFiles;
use facts::MethodFacts;
use facts::names::SharedPlaces;
use graph::PayloadGraphs;
use hints::Hints;
use options::Printer;
pub use options::{Assembler, LargeData, PayloadForm, PrintOptions, Reproduction};
pub use printed::Printed;
pub use stats::PrintStats;

use pte_analysis::planning::MethodValues;
use pte_model::data::Origin;
use pte_model::format::Format;
use pte_model::program::Program;

/// Prints a file, whose format is detected by its identifier. Paths in the YAML are relative to `folder`.
///
/// # Errors
/// The file cannot be read, or has an unknown format.
pub fn print(origin: &Origin, folder: &Path, options: &PrintOptions, assembler: &Assembler<'_>) -> io::Result<Printed> {
    let extracted = RefCell::new(ExtractedFiles::default());
    let printer =
        Printer { folder, options, assembler, readable: data::readable(origin.len()?), extracted: &extracted };
    let mut printed = match origin.format()? {
        Some(Format::FlatTensor) => flat_tensor::print(origin, printer),
        Some(Format::BundledProgram) => program::print_bundled(origin, printer),
        Some(Format::Safetensors) => {
            let message = "expected a .pte, .ptd or .bpte file, found a .safetensors; convert it with `-o FILE.ptd`, and print that";
            Err(io::Error::other(message))
        }
        Some(Format::Program) | None => program::print(origin, printer),
    }?;
    // A digest stands for data; it is not a file.
    if options.large_data != LargeData::Hash {
        printed.files = extracted.into_inner().used_by(&printed.text);
    }
    Ok(printed)
}

/// Returns names and memory of the values of each method, as in the YAML of the program, which was read from a file.
pub fn values(program: &Program) -> Vec<MethodValues> {
    let payloads = PayloadGraphs::default();
    let shared = SharedPlaces::of(program);
    let values = |plan| MethodFacts::new(program, &payloads, &shared, plan, Hints::default()).values();
    program.plans().iter().map(values).collect()
}
