//! The releases of ExecuTorch whose operators are known, a folder each: tables and rows.
//!
//! # Adding an operator
//!
//! 1. Its line in `operators.table`, sorted by name. `lab/operators.py` writes it from the schema that torch prints;
//!    the form is described in `signature.rs`.
//! 2. A row in `aten.rs`, `prim.rs` or `quantized.rs`, sorted by name: its rule of inference, and each fact that
//!    differs from the defaults of `facts.rs`. If the result depends on data, the rule returns `Undetermined`, never a
//!    guess. A constraint is a variant of `Constraint`.
//! 3. At least ten cases of the rule in `tests/inference/cases.txt` (`lab/inference.py`, with torch), lines in
//!    `rules.txt` and `constraints.txt`.
//! 4. Measurements, which tests write and compare with the real runtime (`--ignored`): `types.table` by `element_types`
//!    (`BLESS=1 PTE_EMIT_OPERATOR=NAME`), `sharing.table` by `sharing::`, `temporary` of the row by `memory_trials::`,
//!    evaluations by `evaluation::`.
//!
//! An operator of a library is a line of `libraries.table` (`lab/operators.py LIBRARIES`), after the line with its
//! CMake target. It has a row in `libraries.rs` only if its results are inferred. Nothing is measured, because the
//! default runtime has no kernel for it.
//!
//! # Adding a release
//!
//! A folder with the tables of the release, generated and measured, and a `mod.rs` with its `Release`. `before` is the
//! previous release, whose rows hold for all operators that are not in `rows`. An operator without a line in
//! `operators.table` is removed; its row stays for older releases.

/// Declares rows: names of operators, their rule, and facts, of which flags have no value. The value of a fact is in
/// the scope that [`value!`] gives it.
macro_rules! rows {
    ($( $($name:literal)+ : $rule:expr $(, $fact:ident $($value:expr)? )* ; )*) => {
        &[$( (
            &[$($name),+],
            crate::facts::Facts::NONE.rule(Some($rule))$( .$fact(value!($fact $(, $value)?)) )*,
        ) ),*]
    };
}

/// Returns the value of a fact of a row.
macro_rules! value {
    ($flag:ident) => { true };
    (@$($scope:ident)::+, $value:expr) => {{
        #[allow(unused_imports)]
        use $($scope)::+::*;
        $value
    }};
    (conversion, $value:expr) => { value!(@crate::inference::out_type::Conversion, $value) };
    (samples, $value:expr) => { value!(@crate::facts::Samples, $value) };
    (products, $value:expr) => { Some(value!(@crate::facts::Products, $value)) };
    (gradients, $value:expr) => { value!(@crate::facts::Gradients, $value) };
    (constraints, $value:expr) => { value!(@crate::inference::constraints::Constraint, &$value) };
    (computation, $value:expr) => { Some(value!(@crate::inference::numbers, $value)) };
    (evaluation, $value:expr) => { Some(value!(@crate::evaluation, $value)) };
    (movement, $value:expr) => { Some(value!(@crate::movement, $value)) };
    (target, $value:expr) => { Some(value!(@crate::target, $value)) };
    (temporary, $value:expr) => { Some(value!(@crate::temporary::Temporary, $value)) };
    (narrower, $value:expr) => { Some(&$value) };
    (functions, $value:expr) => { &$value };
    (constant_names, $value:expr) => { &$value };
    (ignored, $value:expr) => { &$value };
    ($fact:ident, $value:expr) => { Some($value) };
}

pub mod v1_5_1;

pub use v1_5_1::RELEASE as CURRENT;

/// All releases.
#[cfg(test)]
pub(super) static RELEASES: &[&super::release::Release] = &[&v1_5_1::RELEASE];
