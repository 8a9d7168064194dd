//! Compares two programs or files. The result is a list of plain data.
//!
//! Elements are aligned by names and structure, never by index: `align` aligns instructions, and `values` matches
//! values by their roles. Other numbers or another memory plan therefore change nothing in the area of the meaning. A
//! bad alignment reports more differences, but never loses one.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod align;
mod bytes;
mod contents;
mod data;
mod dead;
mod delegates;
mod difference;
mod flat;
mod graph;
mod layout;
pub mod lines;
mod memory;
mod methods;
mod newer;
mod numeric;
mod side;
mod text;
mod values;
mod view;

use std::io;
use std::sync::Arc;

pub use data::DiffData;
pub use difference::{
    DataStatistics, DiffArea, DiffKind, DiffTopic, DiffTotals, Difference, Differences, DifferingPart,
};
pub use methods::{MethodCorrespondence, correspondence};
pub use numeric::{
    DifferingElement, InstructionComparison, MethodComparison, RecordedStep, Trace, TraceError, ValueComparison,
    compare_traces, recorded_values,
};
pub use side::{ExternalEntry, Side, is_null_device};
pub use text::{DiffRow, DiffStyle, DiffText};

use data::Found;
use pte_payload::flat::schema::Schema;

/// Maximum number of bytes that are read, as a multiple of the size of the larger file. Only overlapping ranges of a
/// hostile file need more.
const MAX_READS: u64 = 4;

/// Compares two sides in these areas. `schema` is that of payloads whose format is not known.
///
/// # Errors
/// Data that cannot be read.
pub fn compare(
    sides: [&Side; 2],
    areas: &[DiffArea],
    mode: DiffData,
    schema: Option<Schema>,
) -> io::Result<Differences> {
    let [left, right] = sides.map(Side::totals);
    let limit = sides.map(Side::data_size).into_iter().fold(0, u64::max).saturating_mul(MAX_READS);
    let mut found = Found::new(Differences::new(left, right, areas), limit, schema.map(Arc::new));
    methods::compare(sides, &mut found);
    newer::compare(sides, &mut found);
    layout::compare(sides, &mut found);
    found.add_files(sides);
    let covered = found.ranges();
    found.compare(mode)?;
    layout::compare_rest(sides, &covered, mode == DiffData::None, &mut found)?;
    Ok(found.differences.finish())
}
