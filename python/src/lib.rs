//! Extension module of the Python package `pte_emit`: the API of the library as Python classes, and the command.
//!
//! A result of the library becomes JSON, which `pte_emit.results` turns into typed objects; docs/*.schema.json describe
//! both.

mod assembly;
mod buffer;
mod builder;
mod edit;
mod elements;
mod error;
mod instructions;
mod method;
mod model;
mod options;
mod program;
mod run;
mod tensors;
mod tools;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Extension module of `pte_emit`.
#[pymodule]
mod _pte_emit {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::assembly::{Assembly, assemble};
    #[pymodule_export]
    use super::builder::{BuilderValue, DType, MethodBuilder};
    #[pymodule_export]
    use super::edit::{
        bound, change_outputs, convert_io, embed, extract, merge, optimize, quantize_io, remove_metadata, rename,
        rename_weights, replace_payload, set_metadata, set_weights, strip,
    };
    #[pymodule_export]
    use super::elements::{Tensor, Value};
    #[pymodule_export]
    use super::instructions::{Delegate, Instruction};
    #[pymodule_export]
    use super::method::Method;
    #[pymodule_export]
    use super::model::{Model, installed_runner, open, restored};
    #[pymodule_export]
    use super::program::Program;
    #[pymodule_export]
    use super::tensors::{data_entries, dtypes, write_data};
    #[pymodule_export]
    use super::tools::{explain, generate, generate_corpus, json_schema, kernels, ops, reduce};

    /// Runs the command `pte-emit` with the arguments of a process; returns its exit status.
    #[pyfunction]
    fn main(py: Python<'_>, arguments: Vec<super::OsString>) -> u8 {
        py.detach(|| pte_emit::cli::main(arguments))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("EXECUTORCH", pte_emit::release::EXECUTORCH)
    }
}
