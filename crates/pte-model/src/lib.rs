//! The files of ExecuTorch as data. `.pte` files are programs, `.ptd` files have weights, `.bpte` files are programs with tests.
//!
//! ```text
//! bytes --reader--> Program
//! ```
//!
//! [`format`] has what the formats define: tables of the FlatBuffers schema, element types, headers. [`program`] is what a program
//! means: plain structs with numbers in place of names, without offsets in a file. [`data`] is where constants come from: they are
//! read when they are needed. [`reader`] reads files that nobody vouches for. [`diagnostics`] are messages with codes and positions.
//!
//! The crate writes no files; `pte-emit` does.

pub mod data;
pub mod diagnostics;
pub mod error;
pub mod format;
pub mod program;
pub mod reader;
