//! Random calls and programs over the table of operators, the same for a seed on every machine: what tests of a runtime need.
//!
//! [`calls`] are accepted by the rules of inference; [`wild`] changes them, so that some violate what kernels require. [`lower`] makes
//! programs of both. Nothing here validates a program or runs it.

mod arguments;
pub mod calls;
pub mod lower;
pub mod operand;
pub mod random;
pub mod wild;
