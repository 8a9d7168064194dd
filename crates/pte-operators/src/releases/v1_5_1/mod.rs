//! ExecuTorch 1.5.1.
//!
//! `operators.table` and `libraries.table` are written by `lab/operators.py`, `types.table` and `sharing.table` are
//! measured in the real runtime; their first lines, or the tool, say how. The rows are written by hand.

mod aten;
mod libraries;
mod prim;
mod quantized;

use super::super::release::{Release, Tables};

/// The operators of ExecuTorch 1.5.1.
pub static RELEASE: Release = Release::new(
    "1.5.1",
    Tables {
        operators: include_str!("operators.table"),
        libraries: include_str!("libraries.table"),
        types: include_str!("types.table"),
        sharing: include_str!("sharing.table"),
        without_temporary: libraries::WITHOUT_TEMPORARY,
        rows: &[aten::ROWS, libraries::ROWS, prim::ROWS, quantized::ROWS],
        before: None,
    },
);
