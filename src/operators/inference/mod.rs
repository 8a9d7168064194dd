//! Inference of what an operator produces: element type, sizes, dim_order and dynamism of its results, from those of its arguments.
//!
//! [`infer`] is a pure function of one call; it knows neither values nor instructions. The rules are stated once each, by family, in
//! the modules here; [`table`] names the rule of each operator, or the reason why its result depends on data. The results are those of
//! torch's meta functions, which the exporter declares; [`judge`] compares them.

mod broadcast;
mod call;
pub mod constraints;
mod convolution;
mod creation;
mod elementwise;
mod fft;
mod indexing;
mod join;
mod layout;
mod libraries;
mod matmul;
mod memory;
mod normalization;
mod operands;
pub mod out_type;
mod pad;
mod pooling;
mod prim;
mod promotion;
mod quantized;
mod reduction;
mod resample;
mod shape;
mod table;
#[cfg(test)]
mod testing;
mod types;
mod views;

pub use call::{Call, Rule};
#[cfg(feature = "cli")]
pub use table::data_dependent;
pub use table::rule;
pub use types::{Argument, Dim, InferenceError, IntMeta, InvalidArgument, ResultMeta, TensorMeta};

#[cfg(test)]
mod judge;
