//! Tests of single stages and crates whose inputs are YAML: they are here, above all of these, since no stage knows the
//! ones after it.

mod bound;
mod check_limits;
mod check_paths;
mod check_resized;
mod check_semantics;
mod check_values;
mod emit_flat_tensor;
mod emit_program;
mod emit_safetensors;
mod fold;
mod hints;
mod keys;
mod layout_data;
mod layout_memory;
mod layout_shared;
mod lifetimes;
mod optimize;
mod optimize_memory;
mod prune;
mod random_programs;
mod read_bundled_program;
mod read_flat_tensor;
mod read_program;
#[cfg(feature = "generate")]
mod reduce;
mod repeat;
mod resolve;
mod write;
