//! Reads untrusted binary files into the program model. Every access is checked, the work is bounded by the size of the
//! file, and weights are not loaded, but become ranges of the file.
//!
//! It is not a validator: the runtime may reject a file that can be read.

pub mod bundled_program;
pub mod flat_tensor;
pub mod newer;
pub mod npy;
pub mod program;
pub mod root;
pub mod safetensors;
mod table;
