//! Emits programs that are built without a source.

use pte_emit::program::Program;
use pte_emit::{AssembleOptions, Assembly, Error, Resolved, plan::LayoutConfig};
use pte_generate::calls::repeatable;
use pte_generate::programs::KnownOperator;

/// Returns the repeatable operators with an in-place form, whose results may share the memory of an argument.
pub fn in_place_operators() -> Vec<KnownOperator> {
    let in_place =
        |(name, _): &KnownOperator| !pte_operators::find(name).is_none_or(|operator| operator.in_place.is_empty());
    repeatable().into_iter().filter(in_place).collect()
}

/// Emits a program with these layout options.
pub fn write(program: &Program, layout: &LayoutConfig) -> Vec<u8> {
    let mut resolved = Resolved::from(program.clone());
    resolved.layout = layout.clone();
    let assembly = resolved.to_files(&AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assembly.program_file().unwrap().to_vec().unwrap()
}

/// Plans a program and emits its files, with the default options.
pub fn files(program: &Program) -> Result<Assembly, Error> {
    Resolved::from(program.clone()).to_files(&AssembleOptions::default())
}
