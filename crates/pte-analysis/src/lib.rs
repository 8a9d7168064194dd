//! Analyses of the instructions of a method, which the crates above share: operators, accesses to values, jumps and
//! basic blocks, aliases, lifetimes, and results that are known before the method runs.
//!
//! They report nothing and assign no memory; only [`resizing`] changes programs.
//!
//! # Unknown operators and delegates
//!
//! An argument of a delegate, or of an operator whose signature is not known, is
//! [`AccessKind::Unknown`](operators::AccessKind::Unknown). If an analysis must decide, the argument is written if it
//! is a tensor without content at this point, and read otherwise: see [`Access::reads`](access::Access::reads) and
//! [`Access::writes`](access::Access::writes). Arguments of a delegate before the first one without content are its
//! inputs (E-12). If a mistake would remove something, the argument may be written in either case, and the call has an
//! effect. If the results of a call are needed separately, they begin at
//! [`outs_of_unknown`](operators::outs_of_unknown).
//!
//! Three users ask something else about such a call, and have a rule of their own on the kinds of this crate:
//! [`planning::lifetimes`] follows the exporter, which knows all operators; the printer of `pte-emit` decides which
//! values `dump` declares as results; `pte-diff` compares calls by the types of what may be a result.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod access;
pub mod aliases;
pub mod blocks;
pub mod inference;
pub mod kernels;
pub mod lifetimes;
pub mod method;
pub mod moved;
pub mod operators;
pub mod planning;
pub mod quantization;
pub mod resizing;
pub mod storage;
