//! What the fields mean to the runtime: one file for each part of the three schemas, on tables whose structure holds.
//!
//! The tables are looked at as they are in the file, so that what is absent is told apart from what is empty or zero
//! (docs/format.md, "Absent fields"). What instructions do with values at run time is the business of `super::semantics`.

pub mod bundled;
mod delegates;
pub mod flat_tensor;
mod instructions;
pub mod program;
mod segments;
mod tensors;
mod values;

use std::collections::HashMap;

/// Where a name was seen first.
pub(super) type Names<'a> = HashMap<&'a [u8], usize>;

/// Whether an index leads to one of `count`.
fn inside(index: i64, count: usize) -> bool {
    u64::try_from(index).is_ok_and(|index| index < count as u64)
}

/// A list for a message, cut if it is long.
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
