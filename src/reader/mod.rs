//! Bytes -> Program: files of others, which nobody trusts. Every access is checked, work is bounded by the file's size,
//! and weights are not loaded: they stay ranges of the file.
//!
//! A file that can be read is not yet one that the runtime accepts, let alone one that makes sense.

pub mod bundled_program;
pub mod flat_tensor;
pub mod npy;
pub mod program;
pub mod safetensors;
