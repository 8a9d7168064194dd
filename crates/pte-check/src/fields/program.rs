//! Checks the root table of a `.pte`: version, methods and named data (`P-`, `M-20` to `M-28`).

use super::super::finding::shown;
use super::super::header::CheckedHeader;
use super::super::path::{FirstByName, Reporter, add};
use super::flat_tensor::ExternalKeys;
use super::is_index;
use super::segments::ProgramData;
use super::tensors::{TensorContext, is_external};
use super::values;
use crate::RuleId::*;
use pte_model::format::flatbuffer::view::{Table, Tables};
use pte_model::format::path::Trail;
use pte_model::format::program::{
    DEVICE_TYPE, KernelType, evalue, execution_plan, named_data, non_const_buffer_device, program, tensor,
};
use pte_model::format::serializer::PROGRAM_VERSION;
use pte_model::format::table::Union;

/// Checks a program.
pub fn check(bytes: &[u8], header: &CheckedHeader, external: &ExternalKeys, report: &mut Reporter<'_, '_>) {
    let Some(root) = Table::root(bytes) else { return };
    let path = &Trail::ROOT;
    let version = root.u32(program::version);
    report.differs(P_1, path, ("version", root, program::version, version), PROGRAM_VERSION);
    if let Some(segments) = root.tables(program::segments) {
        super::segments::check(segments, header, &path.field("segments"), report);
    }
    let data = ProgramData::new(root, header, report);
    check_named_data(root, external, report);
    let list = path.field("execution_plan");
    let Some(plans) = root.tables(program::execution_plan) else {
        return report.missing(P_V1, path, "execution_plan", root.at, "a list of methods");
    };
    if plans.len() == 0 {
        let at = root.near(program::execution_plan);
        report.add(P_2, &list, at, "no methods", "at least one");
    }
    let mut names = FirstByName::new();
    for (index, plan) in plans.iter().enumerate() {
        let path = list.item(index);
        let name = ("name", &plan, execution_plan::name);
        report.unique([P_4, P_3], &path, name, &mut names, ("method", index));
        check_plan(plan, data, external, &path, report);
    }
}

/// Checks `named_data`.
fn check_named_data(root: Table<'_>, external: &ExternalKeys, report: &mut Reporter<'_, '_>) {
    let list = Trail::ROOT.field("named_data");
    let Some(named) = root.tables(program::named_data) else { return };
    let Some(segments) = root.tables(program::segments) else {
        let at = root.near(program::named_data);
        return report.add(P_N1, &list, at, "named_data without segments", "a list of segments");
    };
    let mut names = FirstByName::new();
    for (index, entry) in named.iter().enumerate() {
        let path = list.item(index);
        let key = ("key", &entry, named_data::key);
        let key = report.unique([N_1, N_2], &path, key, &mut names, ("entry", index));
        if let Some(other) = key.and_then(|key| external.entries.get(key)) {
            let (key, file) = (shown(&entry, named_data::key), &external.files[other.file]);
            let (at, found) = (entry.near(named_data::key), format_args!("duplicate key {key:?}, also in {file}"));
            report.add(N_31, &path.field("key"), at, found, "each key in one file only");
        }
        let segment = entry.u32(named_data::segment_index);
        if segment as usize >= segments.len() {
            let at = entry.near(named_data::segment_index);
            report.out_of_range(N_3, &path.field("segment_index"), at, "segment", segment, segments.len());
        }
    }
}

fn check_plan(
    plan: Table<'_>,
    data: ProgramData<'_>,
    external: &ExternalKeys,
    path: &Trail<'_>,
    report: &mut Reporter<'_, '_>,
) {
    let lists = [
        (execution_plan::non_const_buffer_sizes, "non_const_buffer_sizes"),
        (execution_plan::inputs, "inputs"),
        (execution_plan::outputs, "outputs"),
    ];
    for (slot, name) in lists.into_iter().filter(|(slot, _)| !plan.has(*slot)) {
        report.missing_list(G_22, path, name, plan.near(slot));
    }
    let pools = plan.i64s(execution_plan::non_const_buffer_sizes);
    if let Some(pools) = pools {
        let path = path.field("non_const_buffer_sizes");
        for (index, size) in pools.iter().enumerate().skip(1).filter(|(_, size)| *size > i64::MAX as u64) {
            report.add(G_23, &path.item(index), pools.offset(index), size as i64, "at least 0");
        }
    }
    check_devices(plan, pools.map_or(0, |pools| pools.len()), path, report);
    let Some(values) = plan.tables(execution_plan::values) else {
        return report.missing_list(M_1, path, "values", plan.at);
    };
    let context = TensorContext { data, external, pools };
    let bool_lists = values::check(values, &context, &path.field("values"), report);
    check_inputs_and_outputs(plan, &values, path, report);
    let called = super::instructions::check(plan, values, &bool_lists, path, report);
    match plan.tables(execution_plan::delegates) {
        Some(delegates) => super::delegates::check(delegates, &called, &data, &path.field("delegates"), report),
        None => report.missing_list(M_20, path, "delegates", plan.at),
    }
}

fn check_devices(plan: Table<'_>, pools: usize, path: &Trail<'_>, report: &mut Reporter<'_, '_>) {
    let list = path.field("non_const_buffer_device");
    let devices = plan.tables(execution_plan::non_const_buffer_device);
    for (index, entry) in devices.iter().flat_map(|devices| devices.iter()).enumerate() {
        let buffer = entry.i32(non_const_buffer_device::buffer_idx);
        let kind = entry.i8(non_const_buffer_device::device_type);
        let device = entry.i8(non_const_buffer_device::device_index);
        if buffer < 1 || !is_index(buffer.into(), pools) || DEVICE_TYPE.name_of(kind).is_none() || device < 0 {
            let found = format_args!("buffer {buffer} on a device of type {kind}, index {device}");
            let expected = format_args!("buffer 1 to {}, type 0 or 1, index at least 0", pools.saturating_sub(1));
            report.add(G_24, &list.item(index), entry.at, found, expected);
        }
    }
}

/// Returns `true` if a value is a constant tensor, which must not be written.
fn is_constant(values: &Tables<'_>, index: usize) -> bool {
    let value = values.get(index).filter(|value| value.u8(evalue::val_type) == KernelType::Tensor.tag());
    let Some(t) = value.and_then(|value| value.child(evalue::val)) else { return false };
    let external = t.child(tensor::extra_tensor_info).is_some_and(|extra| is_external(&extra));
    !t.has(tensor::allocation_info) && (external || t.u32(tensor::data_buffer_idx) > 0)
}

fn check_inputs_and_outputs(plan: Table<'_>, values: &Tables<'_>, path: &Trail<'_>, report: &mut Reporter<'_, '_>) {
    let lists = [(execution_plan::inputs, "inputs"), (execution_plan::outputs, "outputs")];
    for (slot, name) in lists {
        let path = path.field(name);
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
