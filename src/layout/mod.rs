//! Program -> [`Plan`]: where every byte goes. Sizes in, offsets out; no I/O, and no byte is looked at.
//!
//! A plan leaves one thing open: how long the FlatBuffer is, which only its making tells. [`file::Placement`] closes it.

pub mod align;
pub mod data;
mod error;
pub mod external;
pub mod file;
mod first_fit;
mod greedy;
mod lifetimes;
pub mod memory;
pub mod options;
mod plan;
pub mod segments;
mod skyline;

use crate::data::BlobId;
use crate::program::Program;
pub use align::{align_up, lcm};
pub use error::LayoutError;
pub use external::ExternalFile;
pub use memory::MemoryPlan;
pub use options::{Header, Options, Shards, Storage, Strings};
pub use plan::{DelegateData, Plan};
pub use segments::Segment;

/// Plans a program. `same[i]` is the first blob with the bytes of blob `i` ([`crate::data::dedup::find`]).
///
/// # Errors
/// All [`LayoutError`]s that are found.
pub fn plan(program: &Program, same: &[BlobId], options: &Options) -> Result<Plan, Vec<LayoutError>> {
    let mut errors = Vec::new();
    let mut memory = Vec::with_capacity(program.plans().len());
    for (method, execution_plan) in program.plans().iter().enumerate() {
        memory.push(memory::plan(method, execution_plan).unwrap_or_else(|found| {
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

/// Places the data of a program whose memory is planned.
pub(crate) fn place_data(
    program: &Program,
    same: &[BlobId],
    options: &Options,
    memory: Vec<MemoryPlan>,
) -> Result<Plan, Vec<LayoutError>> {
    let mut data = data::Collector::new(program, same, options);
    data.collect_tensors();
    data.collect_delegates();
    data.collect_named_data();
    data.finish(memory)
}
