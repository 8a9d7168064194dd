//! Changes programs in memory: moves data to `.ptd` files and back, sets weights, removes parts without effect,
//! optimizes, merges programs, extracts, renames, strips and describes their methods, and lowers the bounds of inputs.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod bound;
pub mod converted_io;
pub mod error;
pub mod externalize;
pub mod extract;
pub mod for_release;
pub mod internalize;
pub mod keys;
pub mod merge;
pub mod metadata;
pub mod optimize;
pub mod outputs;
pub mod pattern;
pub mod payloads;
pub mod prune;
pub mod quantized_io;
pub mod remap;
pub mod rename;
pub mod strip;
pub mod weights;
