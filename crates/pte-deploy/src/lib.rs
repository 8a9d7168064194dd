//! Parts that a firmware or an application must contain to run programs: the programs as arrays in C or assembly, the
//! kernels that they call, and the sizes of memory in the form that build systems read.
//!
//! It opens no file and creates none: its results are texts, or go to a writer of the caller.

pub mod embed;
pub mod firmware;
pub mod kernels;
mod operator_name;
mod symbol;

pub use symbol::{Symbol, SymbolError};

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
