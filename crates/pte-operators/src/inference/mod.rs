//! Infers the results of an operator: their element types, sizes, dim_order and dynamism follow from those of the
//! arguments.
//!
//! A [`Rule`] is a pure function of one call; it knows neither values nor instructions. The rules are stated once each,
//! by family, in the modules here; a release names the rule of each operator. The results are those of torch's meta
//! functions, which the exporter declares.

mod broadcast;
mod call;
pub mod constraints;
pub(super) mod convolution;
pub(super) mod creation;
pub(super) mod elementwise;
pub(super) mod fft;
pub(super) mod indexing;
pub(super) mod join;
mod layout;
pub(super) mod libraries;
pub(super) mod matmul;
pub(super) mod memory;
pub(super) mod normalization;
pub mod numbers;
mod operands;
pub mod out_type;
pub(super) mod pad;
pub(super) mod pooling;
pub(super) mod prim;
pub(crate) mod promotion;
pub(super) mod quantized;
pub(super) mod reduction;
pub(super) mod resample;
mod shape;
#[cfg(test)]
mod testing;
mod types;
pub(super) mod views;

pub use call::{Call, Rule, ScalarCategory};
pub(crate) use shape::wrap_dim;
pub use types::{Argument, Dim, InferenceError, IntMeta, InvalidArgument, ResultMeta, TensorMeta};

#[cfg(test)]
mod judge;
