//! Edits of resolved programs: methods of [`crate::Resolved`], whose results are planned and emitted like any other program.
//!
//! The changes themselves are in `pte-transform`; here they are applied to a program with its names, tests and layout options.

mod optimize;
mod payload;
mod weights;

pub use optimize::{Optimization, OptimizeOptions, OptimizePass, OptimizedInstruction, OptimizedMethod};
pub use payload::PayloadContent;
pub use weights::{SetWeightsOptions, parse_manifest};
