//! Facts about each release of ExecuTorch, measured with its runtime: a folder of tables per release in `releases/`.
//!
//! It states what was measured and compares nothing: `pte-check` compares programs with it. `lab/releases/` measures,
//! and describes the tables.

mod answer;
mod facts;
mod known;
mod version;

pub use answer::Answer;
pub use facts::{ExampleAnswer, FactsError, Release, TABLES};
pub use known::UnknownRelease;
pub use version::{NotAVersion, Version};

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
