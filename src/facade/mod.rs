//! The facade: opened sources, the questions that they answer, changes of programs, and programs built in Rust.
//! `lib.rs` exports it. It has no logic of the stages, which are modules beside it, nor of the crates.

pub mod bless;
pub mod builder;
pub mod deploy;
pub mod documents;
pub mod edit;
pub mod explain;
pub mod firmware;
pub mod for_runtime;
pub mod formatting;
pub mod golden;
pub mod inspection;
pub mod kernels;
pub mod model;
pub mod numeric;
pub mod payload;
pub mod profile;
pub mod running;
pub mod source;
pub mod target;
pub mod tensors;
pub mod testing;
