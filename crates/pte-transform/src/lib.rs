//! Changes programs in memory: moves data to `.ptd` files and back, sets weights, and removes parts without effect.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod externalize;
pub mod internalize;
pub mod named;
pub mod optimize;
pub mod pattern;
pub mod payloads;
pub mod prune;
pub mod weights;
