//! The releases of ExecuTorch whose operators are known, a folder each: tables and rows.
//!
//! # Adding an operator
//!
//! 1. Its line in `operators.table`, sorted by name. `tools/operators.py` writes it from the schema that torch prints; the form is described in
//!    `signature.rs`.
//! 2. A row in `aten.rs`, `prim.rs` or `quantized.rs`, sorted by name: its rule of inference, and each fact that differs from the defaults of
//!    `facts.rs`. If the result depends on data, the rule returns `Undetermined`, never a guess. A constraint is a variant of `Constraint`.
//! 3. At least ten cases of the rule in `tests/inference/cases.txt` (`tools/inference.py`, with torch), lines in `rules.txt` and `constraints.txt`.
//! 4. Measurements, which tests write and compare with the real runtime (`--ignored`): `types.table` by `element_types`
//!    (`BLESS=1 PTE_EMIT_OPERATOR=NAME`), `sharing.table` by `sharing::`, `temporary` of the row by `memory_trials::`, evaluations by `evaluation::`.
//!
//! An operator of a library is a line of `libraries.table` (`tools/operators.py LIBRARIES`), after the line with its CMake target. It has a row in
//! `libraries.rs` only if its results are inferred. Nothing is measured, because the default runtime has no kernel for it.
//!
//! # Adding a release
//!
//! A folder with the tables of the release, generated and measured, and a `mod.rs` with its `Release`. `before` is the previous release, whose rows
//! hold for all operators that are not in `rows`. An operator without a line in `operators.table` is removed; its row stays for older releases.

pub mod v1_5_1;

pub use v1_5_1::RELEASE as CURRENT;

/// All releases.
#[cfg(test)]
pub(super) static RELEASES: &[&super::release::Release] = &[&v1_5_1::RELEASE];
