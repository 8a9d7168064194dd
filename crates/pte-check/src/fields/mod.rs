//! Checks single fields and the indices in them, with one file for each part of the three schemas.
//!
//! The tables have passed the verifier. They are read in place, which distinguishes absent from empty or zero fields
//! (docs/format.md, "Absent fields"). Control flow and memory are checked in `super::semantics`.

pub mod bundled;
mod delegates;
pub mod flat_tensor;
mod instructions;
pub mod program;
mod segments;
mod tensors;
mod values;

use super::RuleId;
use super::path::{Node, Reporter};
use pte_model::diagnostics::Counted;
use pte_model::format::dim_order::is_permutation;
use pte_model::format::flatbuffer::view::Vector;
use pte_model::program::MAX_DIMENSIONS;

/// Returns `true` if `index` is in `0..count`.
fn is_index(index: i64, count: usize) -> bool {
    u64::try_from(index).is_ok_and(|index| index < count as u64)
}

/// Checks that `order` has each dimension of `sizes` once.
fn check_dim_order(rule: RuleId, t: Node<'_, '_>, sizes: usize, order: Vector<'_, 1>, report: &mut Reporter<'_, '_>) {
    if sizes > MAX_DIMENSIONS || !is_permutation(order.iter(), sizes) {
        let found = format_args!("dim_order {} of {}", listed(order.iter()), Counted(sizes, "size"));
        report.add(rule, &t.path.field("dim_order"), order.at, found, "each dimension once, and at most 16");
    }
}

/// Formats a list for a message, shortened if it is long.
fn listed<T: std::fmt::Display>(items: impl Iterator<Item = T>) -> String {
    let mut out = String::from("[");
    for (index, item) in items.enumerate() {
        if index == 20 {
            out.push_str(", ...");
            break;
        }
        out.push_str(if index > 0 { ", " } else { "" });
        out.push_str(&item.to_string());
    }
    out + "]"
}
