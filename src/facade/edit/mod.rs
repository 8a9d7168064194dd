//! Edits of resolved programs: methods of [`crate::Resolved`], whose results are planned and emitted like any other
//! program.
//!
//! The changes themselves are in `pte-transform`; here they are applied to a program with its names, tests and layout
//! options.

mod bound;
pub mod layouts;
mod optimize;
mod payload;
mod programs;
mod weights;

pub use bound::BoundReport;
pub use payload::PayloadContent;
pub use programs::Stripped;
pub use weights::{SetWeightsOptions, parse_manifest};
