//! The files of ExecuTorch as data. `.pte` files are programs, `.ptd` files have weights, `.bpte` files are programs
//! with tests.
//!
//! ```text
//! bytes --reader--> Program
//! ```
//!
//! [`mod@format`] has the definitions of the formats: tables of the FlatBuffers schema, element types, headers.
//! [`program`] is what a program means: plain structs with numbers in place of names, without offsets in a file.
//! [`data`] is where constants come from: they are read when they are needed. [`reader`] reads untrusted files.
//! [`diagnostics`] are messages with codes and positions.
//!
//! The crate writes no files; `pte-emit` does.

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Bytes of a small `.pte`, for examples and tests: `y = relu(x @ weight.T + bias)`, as ExecuTorch's exporter writes
/// it. The input `x` has 1 x 4 elements, the output `y` has 1 x 3.
///
/// ```
/// use pte_model::format::Format;
///
/// assert_eq!(Format::identify(pte_model::LINEAR_PTE, pte_model::LINEAR_PTE.len() as u64), Some(Format::Program));
/// ```
pub const LINEAR_PTE: &[u8] = include_bytes!("../examples/linear.pte");

pub mod data;
pub mod diagnostics;
pub mod error;
pub mod format;
mod options;
pub mod program;
pub mod reader;
