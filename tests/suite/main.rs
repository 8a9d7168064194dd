//! Tests of the library and of the command line.

#[path = "../support/mod.rs"]
mod support;

mod accesses;
mod annotate;
mod bound;
mod bundled;
mod check;
mod cli;
mod cli_errors;
mod cli_options;
mod corpus;
mod diff;
mod dump;
mod edit_programs;
mod edits;
mod embed;
mod explain;
mod faults;
mod firmware;
mod fixtures;
mod for_runtime;
mod hostile_names;
mod inference_exported;
mod inspect;
mod kernels;
mod library;
mod memory;
mod never_panics;
mod next_release;
mod numeric;
mod outputs;
mod payloads;
mod profile;
mod reader;
mod reduce;
mod report;
mod runtime_releases;
mod safetensors;
mod schema;
mod shells;
mod target;
mod weights;
mod work;
mod xnnpack_payloads;
