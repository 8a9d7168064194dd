//! Evaluation of calls whose arguments are constants: the exact bytes that the kernels of the default runtime write.
//!
//! An [`Evaluation`] is a pure function of one call, and a fact of its operator. It refuses whatever is not the same in
//! every build of the kernels: results that are NaN, whose bits depend on the processor; products and sums that a
//! processor may fuse; and quotients that the optimized and the portable kernels round differently. It also refuses
//! tensors in an order of memory that a kernel does not follow. The result is a blob, which is not in memory if it is
//! large and only reorders a part of one argument.
//!
//! `lab/tests/runtime/evaluation.rs` of the repository compares the bytes with those of the real runtime.

pub(super) mod arithmetic;
mod call;
pub(super) mod creation;
mod elements;
mod error;
pub(super) mod indexing;
pub(super) mod movement;
mod numbers;
mod strided;

pub use call::{ArgumentData, ConstantCall, Evaluation, nbytes};
pub use error::Unevaluated;

pub(super) use error::{Result, refuse};

#[cfg(test)]
mod tests;
