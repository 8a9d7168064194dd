//! The RAM that a program needs in the runtime, each figure once: planned memory over time, the method allocator, the
//! temporary allocator, buffers of the caller, delegates, files that a loader reads, and what the runners of ExecuTorch
//! take. It plans no memory.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod abi;
pub mod allocator;
pub mod boundary;
pub mod delegates;
pub mod figures;
pub mod labels;
pub mod loading;
pub mod memory;
mod program_memory;
pub mod runner;
mod subject;
mod sweep;
pub mod temporary;
pub mod totals;

pub use program_memory::ProgramNeeds;
pub use subject::{Subject, shape};
