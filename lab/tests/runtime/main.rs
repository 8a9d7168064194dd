//! Tests in the real ExecuTorch runtime (lab/conformance/README.md). Those that need it are ignored by default.

use pte_emit_lab as support;

mod adapters;
mod adversary;
mod bound;
mod cmake;
mod control_flow;
mod edit_programs;
mod errors;
mod evaluation;
mod firmware;
mod fixtures;
mod fold;
mod generate;
mod indices;
mod inference_runtime;
mod kernel_calls;
mod memory;
mod memory_trials;
mod mutants;
mod next_release;
mod numeric;
mod optimize_memory;
mod orders;
mod program_mutants;
mod run;
mod safetensors;
mod sharing;
mod weights;
mod xnnpack_graphs;
mod xnnpack_memory;
mod xnnpack_mutants;
