//! Changes programs in memory: moves constants to `.ptd` files and back, removes parts without effect, and lowers the bounds of inputs.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod bound;
pub mod externalize;
pub mod internalize;
pub mod optimize;
pub mod prune;
