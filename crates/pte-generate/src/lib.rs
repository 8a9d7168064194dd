//! Random calls and programs over the table of operators, the same for a seed on every machine: what tests of a runtime
//! need.
//!
//! [`calls`] are accepted by the rules of inference, and [`programs`] are chains of them; [`wild`] changes calls, so
//! that some violate what kernels require. [`lower`] makes values and instructions of all. Nothing here validates a
//! program or runs it.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod arguments;
pub mod calls;
mod generator;
pub mod inferred;
pub mod lower;
pub mod operand;
pub mod programs;
pub mod random;
pub mod wild;

pub use generator::ProgramGenerator;
