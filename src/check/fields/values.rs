//! The values of a method: each present, of a known kind, and lists that refer to what they may refer to (`M-`).

use super::super::path::Reporter;
use crate::format::flatbuffer::verify::Report;
use crate::format::path::Trail;
use super::inside;
use super::tensors::Around;
use crate::format::program::{KERNEL_TYPES, evalue, int_list, optional_tensor_list, string, tensor_list};
use crate::format::flatbuffer::view::{Table, Tables};

/// Tags of the union of kinds.
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

/// The kind of a value; 0 if there is no such value.
pub fn kind(values: &Tables<'_>, index: usize) -> u8 {
    values.get(index).map_or(0, |value| value.u8(evalue::val_type))
}

/// What a kind is called.
pub fn name(tag: u8) -> &'static str {
    usize::from(tag).checked_sub(1).and_then(|tag| KERNEL_TYPES.get(tag)).map_or("nothing", |table| table.name)
}

/// Looks at all values. Gives the lists of integers that hold truth values: no kernel may read them.
pub fn check(
    values: Tables<'_>,
    around: &Around<'_, '_>,
    path: &Trail<'_>,
    report: &mut Reporter<'_, '_>,
) -> Vec<usize> {
    let mut odd = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let path = path.item(index);
        let kind = value.u8(evalue::val_type);
        let at = value.near(evalue::val_type);
        let known = usize::from(kind).wrapping_sub(1) < KERNEL_TYPES.len();
        if !known && value.has(evalue::val) {
            let expected = format_args!("1 to {}", KERNEL_TYPES.len());
            report.add("M-13", &path, at, format_args!("a value of kind {kind}"), expected);
            continue;
        }
        if kind == tag::NULL {
            continue;
        }
        let Some(child) = value.child(evalue::val) else {
            report.add(
                "M-2",
                &path,
                at,
                format_args!("a value of kind {kind} that is missing"),
                format_args!("a value"),
            );
            continue;
        };
        match kind {
            tag::TENSOR => around.check(child, &path, report),
            tag::STRING if !child.has(string::string_val) => {
                report.add("M-5", &path.field("string_val"), child.at, format_args!("no text"), format_args!("one"));
            }
            tag::DOUBLE_LIST | tag::BOOL_LIST if !child.has(0) => {
                report.add("M-6", &path.field("items"), child.at, format_args!("no items"), format_args!("a list"));
            }
            tag::INT_LIST if ints(&values, child, index, &path, report) => odd.push(index),
            tag::TENSOR_LIST => tensors(&values, child, index, false, &path, report),
            tag::OPTIONAL_TENSOR_LIST => tensors(&values, child, index, true, &path, report),
            _ => {}
        }
    }
    odd
}

/// A list of integers, which are values of their own. Whether there is a truth value among them.
fn ints(values: &Tables<'_>, list: Table<'_>, own: usize, path: &Trail<'_>, report: &mut Reporter<'_, '_>) -> bool {
    let path = path.field("items");
    let Some(items) = list.i64s(int_list::items) else {
        report.add("M-7", &path, list.at, format_args!("no items"), format_args!("a list of indices of values"));
        return false;
    };
    let mut odd = false;
    // The items as they are: a negative one is larger than any index.
    for (position, item) in items.iter().enumerate() {
        let (path, at) = (path.item(position), items.place(position));
        if item >= values.len() as u64 {
            let expected = format_args!("0 to {}, the index of an Int", values.len().saturating_sub(1));
            report.add("M-7", &path, at, format_args!("value {}", item as i64), expected);
            continue;
        }
        match kind(values, item as usize) {
            tag::INT | tag::BOOL if item as usize > own => {
                let expected = format_args!("less than {own}, the list's own index");
                report.add("G-29", &path, at, format_args!("value {item}"), expected);
            }
            tag::INT => {}
            tag::BOOL => odd = true,
            other => {
                let found = format_args!("value {item}, {}", name(other));
                report.add("M-8", &path, at, found, format_args!("the index of an Int"));
            }
        }
    }
    odd
}

/// A list of tensors, or of tensors and None.
fn tensors(
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
        let (path, at) = (path.item(position), items.place(position));
        if !inside(item.into(), own) {
            let expected = format_args!("the index of a tensor before the list, which is value {own}");
            report.add(rule, &path, at, format_args!("value {item}"), expected);
            continue;
        }
        match kind(values, item as usize) {
            tag::TENSOR => {}
            tag::NULL if optional => {}
            other => {
                let found = format_args!("value {item}, {}", name(other));
                report.add(rule, &path, at, found, format_args!("the index of a tensor"));
            }
        }
    }
}
