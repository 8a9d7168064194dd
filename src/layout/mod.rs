//! Assigns offsets to all data of a program: [`Program`] to [`Plan`]. It only needs sizes, performs no I/O, and reads
//! no data.
//!
//! A plan does not include the length of the FlatBuffer, which is only known after emitting; [`file::Placement`] adds
//! it.

pub mod align;
pub mod data;
mod error;
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
use pte_analysis::operators::MethodOperators;
use pte_model::data::BlobId;
use pte_model::program::{MemoryPlan, Program};
pub use segments::{Piece, Segment};
use shared::SharedState;

/// Returns the plan of a program. `same[i]` is the first blob with the bytes of blob `i` ([`pte_model::data::dedup::find`]).
///
/// # Errors
/// All [`LayoutError`]s.
pub fn plan(program: &Program, same: &[BlobId], options: &LayoutConfig) -> Result<Plan, Vec<LayoutError>> {
    let mut errors = Vec::new();
    let mut memory = Vec::with_capacity(program.plans().len());
    let operators = MethodOperators::of_program(program);
    let shared = SharedState::plan(program, &operators).unwrap_or_else(|found| {
        errors.push(found);
        SharedState::default()
    });
    for (method, (execution_plan, operators)) in program.plans().iter().zip(&operators).enumerate() {
        memory.push(memory::plan(method, execution_plan, operators, &shared).unwrap_or_else(|found| {
            errors.extend(found);
            MemoryPlan::default()
        }));
    }
    match place_data(program, same, options, memory) {
        Ok(plan) if errors.is_empty() => Ok(plan),
        Ok(_) => Err(errors),
        Err(more) => {
            errors.extend(more);
            Err(errors)
        }
    }
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
