//! Runs programs in a runner: a process that loads a `.pte` in a runtime, and answers commands on its standard input by
//! lines on its standard output. docs/runners.md of the repository describes the protocol.
//!
//! A [`Session`] is a process that runs one program, within [`RunLimits`]. Whatever the process does, each call returns
//! in time with an answer or a [`RunError`]: the process is untrusted. [`compare`] compares the outputs of a test with
//! the expected ones.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod command;
pub mod compare;
mod error;
pub mod install;
mod log;
mod process;
mod session;
pub mod value;

pub use command::RunnerCommand;
pub use error::{RunError, RunErrorKind};
pub use process::{RunLimits, StopFlag};
pub use session::{START, Session};
pub use value::OutputValue;
