//! YAML 1.2 and JSON as a syntax tree whose nodes have byte ranges, `${NAME}` variables, repetition, and the layout of
//! YAML.
//!
//! [`tree`] is YAML's core schema without the features that hostile or ambiguous sources rely on: no tags, no merge
//! keys, no integers beyond 64 bits, and bounds on depth and aliases. It assigns no meaning to keys and values;
//! `pte-emit` does.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod bytes;
pub mod format;
pub mod quotes;
pub mod repeat;
mod runs;
pub mod source;
pub mod template;
pub mod tree;
