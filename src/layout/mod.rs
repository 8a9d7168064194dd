//! Assigns offsets to all data of a program: [`Program`] to [`Plan`]. It only needs sizes, performs no I/O, and reads
//! no data.
//!
//! A plan does not include the length of the FlatBuffer, which is only known after emitting; [`file::Placement`] adds
//! it.

pub mod align;
pub mod data;
mod error;
pub mod exporter;
pub mod external;
pub mod file;
mod first_fit;
mod greedy;
pub mod memory;
mod minimal;
pub mod options;
mod plan;
pub mod segments;
pub mod shared;
mod skyline;

pub use align::{align_up, lcm};
pub use error::LayoutError;
pub use external::{ExternalFile, ExternalNamedData};
pub use options::{HeaderMode, LayoutConfig, Shards, Storage, Strings};
pub use plan::{DelegateData, Plan};
use pte_analysis::method::Method;
use pte_model::data::BlobId;
use pte_model::program::{MemoryPlan, Program};
pub use segments::{Piece, Segment};
use shared::SharedState;

/// Returns the plan of a program. `same[i]` is the first blob with the bytes of blob `i`
/// ([`pte_model::data::dedup::find`]).
///
/// # Errors
/// All [`LayoutError`]s.
pub fn plan(program: &Program, same: &[BlobId], options: &LayoutConfig) -> Result<Plan, Vec<LayoutError>> {
    let (memory, mut errors) = match plan_memory(program) {
        Ok(memory) => (memory, Vec::new()),
        Err(errors) => (vec![MemoryPlan::default(); program.plans().len()], errors),
    };
    match place_data(program, same, options, memory) {
        Ok(plan) if errors.is_empty() => Ok(plan),
        Ok(_) => Err(errors),
        Err(more) => {
            errors.extend(more);
            Err(errors)
        }
    }
}

/// Plans the memory of all methods.
///
/// # Errors
/// All [`LayoutError`]s of the state that methods share, and of each method.
pub fn plan_memory(program: &Program) -> Result<Vec<MemoryPlan>, Vec<LayoutError>> {
    let mut errors = Vec::new();
    let methods = Method::of_program(program);
    let shared = SharedState::plan(program, &methods).unwrap_or_else(|found| {
        errors.push(found);
        SharedState::default()
    });
    let mut memory = Vec::with_capacity(program.plans().len());
    for (index, method) in methods.iter().enumerate() {
        match memory::plan(index, method, &shared) {
            Ok(plan) => memory.push(plan),
            Err(found) => errors.extend(found),
        }
    }
    if errors.is_empty() { Ok(memory) } else { Err(errors) }
}

/// Assigns the data of a program to segments and files, with a given memory plan.
pub(crate) fn place_data(
    program: &Program,
    same: &[BlobId],
    options: &LayoutConfig,
    memory: Vec<MemoryPlan>,
) -> Result<Plan, Vec<LayoutError>> {
    let mut data = data::Collector::new(program, same, options);
    data.collect_tensors();
    data.collect_delegates();
    data.collect_named_data();
    data.finish(memory)
}
