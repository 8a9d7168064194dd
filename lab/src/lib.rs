//! Clients of the real ExecuTorch runtime and of Python packages, for the tests of this workspace (README.md), beside
//! what they share with the tests of the root.
#![allow(missing_docs, reason = "only tests use it")]

pub use pte_emit_test_support::*;

pub mod driver;
pub mod execution;
pub mod program_mutants;
pub mod runner;
pub mod schema;
pub mod structured;

/// Path that an environment variable states, relative to the root of the repository.
pub fn path_of(variable: &str) -> Option<std::path::PathBuf> {
    std::env::var_os(variable).map(|path| root().join(path))
}
