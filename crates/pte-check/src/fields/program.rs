//! Checks the root table of a `.pte`: version, methods and named data (`P-`, `M-20` to `M-28`).

use super::super::finding::shown;
use super::super::header::CheckedHeader;
use super::super::path::{FirstByName, LIST, Node, Reporter, add, slot};
use super::flat_tensor::ExternalKeys;
use super::is_index;
use super::segments::ProgramData;
use super::tensors::{TensorContext, is_external};
use super::values;
use crate::RuleId::*;
use pte_model::format::flatbuffer::view::{Table, Tables};
use pte_model::format::program::{
    DeviceType, KernelType, evalue, execution_plan, named_data, non_const_buffer_device, program, tensor,
};
use pte_model::format::serializer::PROGRAM_VERSION;
use pte_model::format::table::Union;

/// Checks a program.
pub fn check(bytes: &[u8], header: &CheckedHeader, external: &ExternalKeys, report: &mut Reporter<'_, '_>) {
    let Some(root) = Node::root(bytes) else { return };
    report.equals(P_1, root, slot!(program::version), Table::u32, PROGRAM_VERSION);
    super::segments::check(root, slot!(program::segments), header, report);
    let data = ProgramData::new(root, header, report);
    check_named_data(root, external, report);
    let list = slot!(program::execution_plan);
    let plans = report.required(P_V1, root, list, Table::tables, "a list of methods");
    if plans.is_some_and(|plans| plans.len() == 0) {
        report.field(P_2, root, list, "no methods", "at least one");
    }
    let mut names = FirstByName::new();
    root.each(list, |index, plan| {
        report.unique([P_4, P_3], plan, slot!(execution_plan::name), &mut names, ("method", index));
        check_plan(plan, data, external, report);
    });
}

/// Checks `named_data`.
fn check_named_data(root: Node<'_, '_>, external: &ExternalKeys, report: &mut Reporter<'_, '_>) {
    let list = slot!(program::named_data);
    let Some(segments) = root.tables(program::segments) else {
        if root.has(list.0) {
            report.field(P_N1, root, list, "named_data without segments", "a list of segments");
        }
        return;
    };
    let mut names = FirstByName::new();
    root.each(list, |index, entry| {
        let key = slot!(named_data::key);
        let name = report.unique([N_1, N_2], entry, key, &mut names, ("entry", index));
        if let Some(other) = name.and_then(|name| external.entries.get(name)) {
            let (name, file) = (shown(&entry, named_data::key), &external.files[other.file]);
            let found = format_args!("duplicate key {name:?}, also in {file}");
            report.field(N_31, entry, key, found, "each key in one file only");
        }
        report.index(N_3, entry, slot!(named_data::segment_index), Table::u32, ("segment", segments.len()));
    });
}

fn check_plan(plan: Node<'_, '_>, data: ProgramData<'_>, external: &ExternalKeys, report: &mut Reporter<'_, '_>) {
    let sizes = slot!(execution_plan::non_const_buffer_sizes);
    report.present(G_22, plan, &[sizes, slot!(execution_plan::inputs), slot!(execution_plan::outputs)], LIST);
    let pools = plan.i64s(sizes.0);
    if let Some(pools) = pools {
        let path = plan.path.field(sizes.1);
        for (index, size) in pools.iter().enumerate().skip(1).filter(|(_, size)| *size > i64::MAX as u64) {
            report.add(G_23, &path.item(index), pools.offset(index), size as i64, "at least 0");
        }
    }
    check_devices(plan, pools.map_or(0, |pools| pools.len()), report);
    let values = report.required(M_1, plan, slot!(execution_plan::values), Table::tables, LIST);
    let Some(values) = values else { return };
    let bool_lists = values::check(plan, &values, &TensorContext { data, external, pools }, report);
    check_inputs_and_outputs(plan, &values, report);
    let called = super::instructions::check(plan, values, &bool_lists, report);
    report.present(M_20, plan, &[slot!(execution_plan::delegates)], LIST);
    super::delegates::check(plan, &called, &data, report);
}

fn check_devices(plan: Node<'_, '_>, pools: usize, report: &mut Reporter<'_, '_>) {
    plan.each(slot!(execution_plan::non_const_buffer_device), |_, entry| {
        let buffer = entry.i32(non_const_buffer_device::buffer_idx);
        let kind = entry.i8(non_const_buffer_device::device_type);
        let device = entry.i8(non_const_buffer_device::device_index);
        if buffer < 1 || !is_index(buffer.into(), pools) || DeviceType::SCHEMA.name_of(kind).is_none() || device < 0 {
            let found = format_args!("buffer {buffer} on a device of type {kind}, index {device}");
            let expected = format_args!("buffer 1 to {}, type 0 or 1, index at least 0", pools.saturating_sub(1));
            report.add(G_24, entry.path, entry.at, found, expected);
        }
    });
}

/// Returns `true` if a value is a constant tensor, which must not be written.
fn is_constant(values: &Tables<'_>, index: usize) -> bool {
    let value = values.get(index).filter(|value| value.u8(evalue::val_type) == KernelType::Tensor.tag());
    let Some(t) = value.and_then(|value| value.child(evalue::val)) else { return false };
    let external = t.child(tensor::extra_tensor_info).is_some_and(|extra| is_external(&extra));
    !t.has(tensor::allocation_info) && (external || t.u32(tensor::data_buffer_idx) > 0)
}

fn check_inputs_and_outputs(plan: Node<'_, '_>, values: &Tables<'_>, report: &mut Reporter<'_, '_>) {
    for (slot, name) in [slot!(execution_plan::inputs), slot!(execution_plan::outputs)] {
        let path = plan.path.field(name);
        let Some(list) = plan.i32s(slot) else { continue };
        let mut seen = std::collections::HashSet::new();
        for (position, index) in list.iter().enumerate() {
            let (path, at) = (path.item(position), list.offset(position));
            if !is_index(index.into(), values.len()) {
                report.out_of_range(M_26, &path, at, "value", index, values.len());
                continue;
            }
            if slot == execution_plan::outputs {
                continue;
            }
            if !seen.insert(index) {
                add!(report, G_21, &path, at, "duplicate input values[{index}]", "another value");
            }
            let kind = values::kind(values, index as usize);
            let is_valid = match kind {
                Some(
                    KernelType::Null
                    | KernelType::Int
                    | KernelType::Bool
                    | KernelType::Double
                    | KernelType::Tensor
                    | KernelType::String,
                ) => true,
                Some(
                    KernelType::IntList
                    | KernelType::DoubleList
                    | KernelType::BoolList
                    | KernelType::TensorList
                    | KernelType::OptionalTensorList,
                )
                | None => false,
            };
            if !is_valid {
                let found = format_args!("values[{index}] of kind {}", values::name(kind));
                report.add(M_28, &path, at, found, "a Tensor, Int, Double, Bool, String or Null");
            } else if is_constant(values, index as usize) {
                add!(report, M_27, &path, at, "values[{index}], a constant", "a mutable tensor");
            }
        }
    }
}
