//! Checks the values of a method: presence, kinds, and the items of lists (`M-`).

use super::super::path::{LIST, Node, Reporter, add, slot};
use super::is_index;
use super::tensors::TensorContext;
use crate::RuleId::*;
use pte_model::format::flatbuffer::view::{Table, Tables};
use pte_model::format::program::{
    KernelType, bool_list, double_list, evalue, execution_plan, int_list, optional_tensor_list, string, tensor_list,
};
use pte_model::format::table::Union;

/// Returns the kind of a value; `None` if the index is out of range or the tag is unknown.
pub fn kind(values: &Tables<'_>, index: usize) -> Option<KernelType> {
    values.get(index).and_then(|value| KernelType::of_tag(value.u8(evalue::val_type)))
}

/// Returns the name of a kind in the schema.
pub fn name(kind: Option<KernelType>) -> &'static str {
    kind.map_or("none", |kind| kind.table().name)
}

/// Checks all values. Returns the indices of the IntLists that contain Bools, which only delegates may read.
pub fn check(
    plan: Node<'_, '_>,
    values: &Tables<'_>,
    context: &TensorContext<'_, '_>,
    report: &mut Reporter<'_, '_>,
) -> Vec<usize> {
    let mut bool_lists = Vec::new();
    plan.each(slot!(execution_plan::values), |index, value| {
        let tag = value.u8(evalue::val_type);
        let at = value.near(evalue::val_type);
        let kind = KernelType::of_tag(tag);
        if kind.is_none() && value.has(evalue::val) {
            let expected = format_args!("1 to {}", KernelType::MEMBERS.len());
            return report.add(M_13, value.path, at, format_args!("val_type {tag}"), expected);
        }
        if kind == Some(KernelType::Null) {
            return;
        }
        let (Some(kind), Some(child)) = (kind, value.child(evalue::val)) else {
            return add!(report, M_2, value.path, at, "val_type {tag} without val", "a value");
        };
        let child = Node::new(child, value.path);
        match kind {
            KernelType::Tensor => context.check(child, report),
            KernelType::String => report.present(M_5, child, &[slot!(string::string_val)], "a string (may be empty)"),
            KernelType::DoubleList => report.present(M_6, child, &[slot!(double_list::items)], LIST),
            KernelType::BoolList => report.present(M_6, child, &[slot!(bool_list::items)], LIST),
            KernelType::IntList => {
                if int_list(values, child, index, report) {
                    bool_lists.push(index);
                }
            }
            KernelType::TensorList => check_tensor_list(values, child, index, false, report),
            KernelType::OptionalTensorList => check_tensor_list(values, child, index, true, report),
            // No further constraints.
            KernelType::Null | KernelType::Int | KernelType::Bool | KernelType::Double => {}
        }
    });
    bool_lists
}

/// Checks an IntList, whose items are indices of values. Returns `true` if it contains a Bool.
fn int_list(values: &Tables<'_>, list: Node<'_, '_>, own: usize, report: &mut Reporter<'_, '_>) -> bool {
    let items = slot!(int_list::items);
    let path = list.path.field(items.1);
    let items = report.required(M_7, list, items, Table::i64s, "a list of indices of values");
    let Some(items) = items else { return false };
    let mut bool_lists = false;
    // A negative item is larger than any index after its conversion to unsigned.
    for (position, item) in items.iter().enumerate() {
        let (path, at) = (path.item(position), items.offset(position));
        if item >= values.len() as u64 {
            let expected = format_args!("the index of an Int, less than {}", values.len());
            report.add(M_7, &path, at, format_args!("value {}", item as i64), expected);
            continue;
        }
        match kind(values, item as usize) {
            Some(KernelType::Int | KernelType::Bool) if item as usize > own => {
                add!(report, G_29, &path, at, "value {item}", "an index less than {own}, the index of the list");
            }
            Some(KernelType::Int) => {}
            Some(KernelType::Bool) => bool_lists = true,
            other => {
                let found = format_args!("values[{item}] of kind {}", name(other));
                report.add(M_8, &path, at, found, "the index of an Int");
            }
        }
    }
    bool_lists
}

/// Checks a TensorList or, if `optional`, an OptionalTensorList.
fn check_tensor_list(
    values: &Tables<'_>,
    list: Node<'_, '_>,
    own: usize,
    optional: bool,
    report: &mut Reporter<'_, '_>,
) {
    let (rule, slot) = match optional {
        true => (M_11, slot!(optional_tensor_list::items)),
        false => (M_9, slot!(tensor_list::items)),
    };
    let path = list.path.field(slot.1);
    let items = report.required(rule, list, slot, Table::i32s, "a list of indices of tensors");
    let Some(items) = items else { return };
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
            Some(KernelType::Tensor) => {}
            Some(KernelType::Null) if optional => {}
            other => {
                let found = format_args!("values[{item}] of kind {}", name(other));
                report.add(rule, &path, at, found, "the index of a tensor");
            }
        }
    }
}
