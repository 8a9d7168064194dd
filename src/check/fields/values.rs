//! The values of a method: presence, kinds, and the items of lists (`M-`).

use super::super::path::Reporter;
use super::is_index;
use super::tensors::TensorContext;
use crate::format::flatbuffer::verify::DefectSink;
use crate::format::flatbuffer::view::{Table, Tables};
use crate::format::path::Trail;
use crate::format::program::{KERNEL_TYPES, evalue, int_list, optional_tensor_list, string, tensor_list};

/// Tags of the union `KernelTypes`.
pub mod tag {
    #![allow(missing_docs)]
    pub const NULL: u8 = 1;
    pub const INT: u8 = 2;
    pub const BOOL: u8 = 3;
    pub const DOUBLE: u8 = 4;
    pub const TENSOR: u8 = 5;
    pub const STRING: u8 = 6;
    pub const INT_LIST: u8 = 7;
    pub const DOUBLE_LIST: u8 = 8;
    pub const BOOL_LIST: u8 = 9;
    pub const TENSOR_LIST: u8 = 10;
    pub const OPTIONAL_TENSOR_LIST: u8 = 11;
}

/// Returns the tag of a value; 0 if the index is out of range.
pub fn kind(values: &Tables<'_>, index: usize) -> u8 {
    values.get(index).map_or(0, |value| value.u8(evalue::val_type))
}

/// Returns the name of a kind in the schema.
pub fn name(tag: u8) -> &'static str {
    usize::from(tag).checked_sub(1).and_then(|tag| KERNEL_TYPES.get(tag)).map_or("none", |table| table.name)
}

/// Checks all values. Returns the indices of the IntLists that contain Bools: only delegates may read them.
pub fn check(
    values: Tables<'_>,
    context: &TensorContext<'_, '_>,
    path: &Trail<'_>,
    report: &mut Reporter<'_, '_>,
) -> Vec<usize> {
    let mut bool_lists = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let path = path.item(index);
        let kind = value.u8(evalue::val_type);
        let at = value.near(evalue::val_type);
        let known = usize::from(kind).wrapping_sub(1) < KERNEL_TYPES.len();
        if !known && value.has(evalue::val) {
            let expected = format_args!("1 to {}", KERNEL_TYPES.len());
            report.add("M-13", &path, at, format_args!("val_type {kind}"), expected);
            continue;
        }
        if kind == tag::NULL {
            continue;
        }
        let Some(child) = value.child(evalue::val) else {
            report.add("M-2", &path, at, format_args!("val_type {kind} without val"), format_args!("a value"));
            continue;
        };
        match kind {
            tag::TENSOR => context.check(child, &path, report),
            tag::STRING if !child.has(string::string_val) => {
                report.add(
                    "M-5",
                    &path.field("string_val"),
                    child.at,
                    format_args!("no string_val"),
                    format_args!("a string (may be empty)"),
                );
            }
            tag::DOUBLE_LIST | tag::BOOL_LIST if !child.has(0) => {
                report.missing_list("M-6", &path, "items", child.at);
            }
            tag::INT_LIST if int_list(&values, child, index, &path, report) => bool_lists.push(index),
            tag::TENSOR_LIST => check_tensor_list(&values, child, index, false, &path, report),
            tag::OPTIONAL_TENSOR_LIST => check_tensor_list(&values, child, index, true, &path, report),
            // Other kinds have no further constraints, or were reported above as unknown.
            _ => {}
        }
    }
    bool_lists
}

/// Checks an IntList, whose items are indices of values. Returns `true` if it contains a Bool.
fn int_list(values: &Tables<'_>, list: Table<'_>, own: usize, path: &Trail<'_>, report: &mut Reporter<'_, '_>) -> bool {
    let path = path.field("items");
    let Some(items) = list.i64s(int_list::items) else {
        report.add("M-7", &path, list.at, format_args!("no items"), format_args!("a list of indices of values"));
        return false;
    };
    let mut bool_lists = false;
    // A negative item is larger than any index once it is unsigned.
    for (position, item) in items.iter().enumerate() {
        let (path, at) = (path.item(position), items.offset(position));
        if item >= values.len() as u64 {
            let expected = format_args!("the index of an Int, less than {}", values.len());
            report.add("M-7", &path, at, format_args!("value {}", item as i64), expected);
            continue;
        }
        match kind(values, item as usize) {
            tag::INT | tag::BOOL if item as usize > own => {
                let expected = format_args!("an index less than {own}, the index of the list");
                report.add("G-29", &path, at, format_args!("value {item}"), expected);
            }
            tag::INT => {}
            tag::BOOL => bool_lists = true,
            other => {
                let found = format_args!("values[{item}] of kind {}", name(other));
                report.add("M-8", &path, at, found, format_args!("the index of an Int"));
            }
        }
    }
    bool_lists
}

/// Checks a TensorList or, if `optional`, an OptionalTensorList.
fn check_tensor_list(
    values: &Tables<'_>,
    list: Table<'_>,
    own: usize,
    optional: bool,
    path: &Trail<'_>,
    report: &mut Reporter<'_, '_>,
) {
    let (rule, slot) = match optional {
        true => ("M-11", optional_tensor_list::items),
        false => ("M-9", tensor_list::items),
    };
    let path = path.field("items");
    let Some(items) = list.i32s(slot) else {
        return report.add(
            rule,
            &path,
            list.at,
            format_args!("no items"),
            format_args!("a list of indices of tensors"),
        );
    };
    for (position, item) in items.iter().enumerate() {
        if optional && item == -1 {
            continue;
        }
        let (path, at) = (path.item(position), items.offset(position));
        if !is_index(item.into(), own) {
            let expected = format_args!("the index of a tensor, less than {own}, the index of the list");
            report.add(rule, &path, at, format_args!("value {item}"), expected);
            continue;
        }
        match kind(values, item as usize) {
            tag::TENSOR => {}
            tag::NULL if optional => {}
            other => {
                let found = format_args!("values[{item}] of kind {}", name(other));
                report.add(rule, &path, at, found, format_args!("the index of a tensor"));
            }
        }
    }
}
