//! Computes contents, sizes and memory of a program as plain data. It reads metadata, and data only to
//! compare them; the command line prints the results. `serde` serialises them, and their JSON Schemas follow from the
//! types.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod annotate;
pub mod calls;
pub mod constant_calls;
pub mod delegation;
pub mod file;
pub mod inspection;
pub mod names;
pub mod profile;
pub mod size;
pub mod summary;

pub use pte_memory::Subject;
