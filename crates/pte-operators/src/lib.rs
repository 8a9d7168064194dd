//! The operators of the default runtime and of further libraries that ExecuTorch ships: one record each ([`Operator`]),
//! of one release.
//!
//! [`find`] is the only lookup by name; a release is a folder of `releases`. [`OperatorSet`] adds custom operators.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod description;
mod evaluate;
pub mod evaluation;
pub mod facts;
pub mod inference;
pub mod kinds;
mod lack;
pub mod movement;
mod release;
mod releases;
mod set;
mod signature;
mod similar;
pub mod target;
pub mod temporary;

pub use description::OperatorDescription;
pub use lack::Lack;
pub use release::{Operator, Release};
pub use releases::CURRENT;
pub use set::{LineError, OperatorSet};
pub use signature::{Arg, ArgKind, Base, Role, Signature};
pub use similar::similar_names;

use facts::Facts;

/// Returns the operator `name` (`aten::add.out`); `None` unless the runtime or a library of ExecuTorch registers it.
pub fn find(name: &str) -> Option<&'static Operator> {
    CURRENT.find(name)
}

/// Returns the facts of the operator `name`; [`Facts::NONE`] for an unknown one.
pub fn facts(name: &str) -> &'static Facts {
    find(name).map_or(&Facts::NONE, |operator| operator.facts)
}

/// Returns the library that a build has to link for the operator `name`. `None` for an operator of the default runtime,
/// and for an unknown one.
pub fn library(name: &str) -> Option<&'static str> {
    find(name)?.library
}

/// Returns all operators by name, in ascending order.
pub fn all() -> impl Iterator<Item = &'static Operator> {
    names().filter_map(find)
}

/// Returns all names in ascending order.
pub fn names() -> impl Iterator<Item = &'static str> {
    CURRENT.names()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_parsed() {
        let index = &find("aten::index.Tensor_out").unwrap().signature;
        assert_eq!(index.args[1].kind.to_string(), "Tensor?[]");
        let upsample = &find("aten::upsample_nearest2d.vec_out").unwrap().signature;
        assert_eq!(upsample.args[1].kind.to_string(), "int[]?");
        let copy = &find("aten::copy_").unwrap().signature;
        assert_eq!((copy.args[0].role, copy.result, copy.outs().count()), (Role::InPlace, Some(Base::Tensor), 0));
        assert!(find("aten::nonsense").is_none());
    }

    /// `kernels/prim_ops/register_prim_ops.cpp` of ExecuTorch has as many kernels.
    #[test]
    fn the_runtime_itself_registers_28_kernels() {
        assert_eq!(all().filter(|operator| operator.target() == target::PRIM_OPS).count(), 28);
        let optimized = all().filter(|operator| operator.target() == target::OPTIMIZED);
        let optimized: Vec<&str> = optimized.map(|operator| operator.name).collect();
        assert_eq!(optimized, ["aten::_fft_c2r.out", "aten::_fft_r2c.out", "aten::linear.out"]);
    }

    #[test]
    fn operators_of_libraries_are_known() {
        let update = &find("llama::update_cache.out").unwrap().signature;
        let roles: Vec<Role> = update.args.iter().map(|arg| arg.role).collect();
        assert_eq!(roles, [Role::In, Role::InPlace, Role::In, Role::Out]);
        assert_eq!(library("llama::update_cache.out"), Some("custom_ops"));
        assert_eq!(library("torchao::_linear_8bit_act_4bit_weight.out"), Some("torchao_ops_executorch"));
        assert_eq!(library("cortex_m::quantized_linear.out"), Some("cortex_m_ops_lib"));
        assert_eq!(library("cadence::quantized_matmul.out"), Some("cadence_ops_lib"));
        assert_eq!((library("aten::add.out"), library("llama::nonsense.out")), (None, None));
    }
}
