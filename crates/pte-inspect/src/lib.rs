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
mod flow;
pub mod graph;
pub mod inspection;
pub mod names;
pub mod payload_graph;
pub mod profile;
pub mod report;
pub mod size;
pub mod statistics;
pub mod summary;
mod targets;

pub use targets::Marks;

pub use pte_memory::Subject;
