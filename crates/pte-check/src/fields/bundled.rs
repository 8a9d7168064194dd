//! Checks the test cases of a `.bpte` against the methods of its program (`B-`). Methods are not run.

use std::collections::HashMap;

use super::super::finding::shown;
use super::super::path::{FirstByName, LIST, Node, Reporter, slot};
use super::{check_dim_order, is_index, listed};
use crate::RuleId::*;
use pte_model::diagnostics::Counted;
use pte_model::format::ScalarType;
use pte_model::format::bundled_program::{
    ValueType, bool_, bundled_method_test_case, bundled_method_test_suite, bundled_program, double, int, tensor, value,
};
use pte_model::format::flatbuffer::view::{Table, Tables};
use pte_model::format::program::{self as schema, KernelType};
use pte_model::format::serializer::BUNDLED_PROGRAM_VERSION;
use pte_model::format::table::Union;
use pte_model::program::test_cases::Tolerance;
use pte_model::program::{TensorShapeDynamism, nbytes};

/// Alignment in bytes that the runtime requires of a program in memory.
const PROGRAM_ALIGNMENT: usize = 16;

/// Difference from the value in the program that the runtime accepts of a Double that is set.
const INPUT_TOLERANCE: Tolerance = Tolerance { atol: 1e-4, rtol: 1e-5 };

/// Checks the program's alignment. Returns its offset and size in bytes, if there is a program.
pub fn check_program(bytes: &[u8], report: &mut Reporter<'_, '_>) -> Option<(usize, usize)> {
    let root = Node::root(bytes)?;
    let slot = slot!(bundled_program::program);
    let program = report.required(B_2, root, slot, Table::u8s, "a program")?;
    if program.at % PROGRAM_ALIGNMENT != 0 {
        let (path, expected) = (root.path.field(slot.1), format_args!("a multiple of {PROGRAM_ALIGNMENT}"));
        report.add(B_2, &path, program.at, format_args!("a program at byte {:#x}", program.at), expected);
    }
    Some((program.at, program.len()))
}

/// Checks the test cases. `inner` is the program, or `None` if it is malformed.
pub fn check(bytes: &[u8], inner: Option<&[u8]>, report: &mut Reporter<'_, '_>) {
    let Some(root) = Node::root(bytes) else { return };
    report.equals(G_9, root, slot!(bundled_program::version), Table::u32, BUNDLED_PROGRAM_VERSION);
    let plans = inner.and_then(Table::root).and_then(|root| root.tables(schema::program::execution_plan));
    let mut methods: HashMap<&[u8], Table<'_>> = HashMap::new();
    for plan in plans.iter().flat_map(|plans| plans.iter()) {
        if let Some(name) = plan.text(schema::execution_plan::name) {
            methods.entry(name).or_insert(plan);
        }
    }
    let list = slot!(bundled_program::method_test_suites);
    report.present(B_3, root, &[list], LIST);
    let mut names = FirstByName::new();
    root.each(list, |index, suite| {
        let slot = slot!(bundled_method_test_suite::method_name);
        let name = report.required(B_3, suite, slot, Table::text, "the name of a method");
        let Some(name) = name else { return };
        let shown = shown(&suite, slot.0);
        if let Some(first) = names.insert(name, index) {
            let found = format_args!("duplicate method {shown:?}, also suite {first}");
            report.field(B_4, suite, slot, found, "one suite per method");
        }
        let plan = methods.get(name).copied();
        if plans.is_some() && plan.is_none() {
            report.field(B_4, suite, slot, format_args!("unknown method {shown:?}"), "a method of the program");
        }
        let cases = slot!(bundled_method_test_suite::test_cases);
        report.present(B_3, suite, &[cases], LIST);
        suite.each(cases, |_, case| check_case(case, plan, report));
    });
}

fn check_case(case: Node<'_, '_>, plan: Option<Table<'_>>, report: &mut Reporter<'_, '_>) {
    let lists = [
        (slot!(bundled_method_test_case::inputs), schema::execution_plan::inputs),
        (slot!(bundled_method_test_case::expected_outputs), schema::execution_plan::outputs),
    ];
    for (slot, of_plan) in lists {
        let Some(list) = report.required(B_3, case, slot, Table::tables, LIST) else { continue };
        let outputs = slot.0 == bundled_method_test_case::expected_outputs;
        let indices = plan.and_then(|plan| plan.i32s(of_plan));
        let values = plan.and_then(|plan| plan.tables(schema::execution_plan::values));
        if let Some(indices) = indices
            && indices.len() != list.len()
            && !(outputs && list.len() == 0)
        {
            let rule = if outputs { B_10 } else { B_6 };
            let expected = format_args!("{}, the number of {} of the method", indices.len(), slot.1);
            report.field(rule, case, slot, Counted(list.len() as u64, "value"), expected);
        }
        case.each(slot, |position, item| {
            let own = indices.and_then(|indices| indices.get(position)).zip(values);
            let own = own.filter(|(index, values)| is_index((*index).into(), values.len()));
            let own = own.and_then(|(index, values): (i32, Tables<'_>)| values.get(index as usize));
            check_value(item, own, outputs, report);
        });
    }
}

/// Checks a test value against the method's value `own`.
fn check_value(t: Node<'_, '_>, own: Option<Table<'_>>, output: bool, report: &mut Reporter<'_, '_>) {
    let path = t.path;
    let tag = t.u8(value::val_type);
    let at = t.near(value::val_type);
    let rule = if output { B_10 } else { B_7 };
    let (Some(kind), Some(child)) = (ValueType::of_tag(tag), t.child(value::val)) else {
        let found = format_args!("val_type {tag}, or no val");
        let members = ValueType::MEMBERS.len();
        return report.add(rule, path, at, found, format_args!("val_type 1 to {members}, and a val"));
    };
    let child = Node::new(child, path);
    if kind == ValueType::Tensor {
        check_tensor(child, report);
    } else if output {
        let expected = format_args!("a Tensor ({})", ValueType::Tensor.tag());
        report.add(rule, path, at, format_args!("val_type {tag}"), expected);
    }
    let Some(own) = own else { return };
    let own_kind = KernelType::of_tag(own.u8(schema::evalue::val_type));
    let Some(own) = own.child(schema::evalue::val) else { return };
    let same_kind = match kind {
        ValueType::Tensor => KernelType::Tensor,
        ValueType::Int => KernelType::Int,
        ValueType::Bool => KernelType::Bool,
        ValueType::Double => KernelType::Double,
    };
    let rule = if output { B_10 } else { B_8 };
    if own_kind != Some(same_kind) {
        let expected = format_args!("kind {}, as in the method", super::values::name(own_kind));
        return report.add(rule, path, at, format_args!("val_type {tag}"), expected);
    }
    // Expected outputs that are not tensors were reported above.
    if output && kind != ValueType::Tensor {
        return;
    }
    let differs = match kind {
        ValueType::Tensor => return compare(child, own, output, report),
        ValueType::Int => (child.i64(int::int_val) != own.i64(schema::int::int_val))
            .then(|| (child.i64(int::int_val).to_string(), own.i64(schema::int::int_val).to_string())),
        ValueType::Bool => (child.u8(bool_::bool_val) != own.u8(schema::bool_::bool_val))
            .then(|| (child.u8(bool_::bool_val).to_string(), own.u8(schema::bool_::bool_val).to_string())),
        ValueType::Double => {
            let (a, b) = (child.f64(double::double_val), own.f64(schema::double::double_val));
            (!INPUT_TOLERANCE.accepts(b, a)).then(|| (format!("{a:?}"), format!("{b:?}")))
        }
    };
    if let Some((found, expected)) = differs {
        report.add(rule, path, child.at, found, format_args!("{expected}, the value in the program"));
    }
}

/// Checks the shape and size of a test tensor.
fn check_tensor(t: Node<'_, '_>, report: &mut Reporter<'_, '_>) {
    let scalar_type = ScalarType(t.i8(tensor::scalar_type));
    let parts = (t.i32s(tensor::sizes), t.u8s(tensor::dim_order), t.u8s(tensor::data));
    let (Some(sizes), Some(order), Some(data)) = parts else {
        return report.add(B_9, t.path, t.at, "a tensor without sizes, dim_order or data", "all three (may be empty)");
    };
    check_dim_order(B_9, t, sizes.len(), order, report);
    let numbers: Vec<i32> = sizes.iter().collect();
    match nbytes(scalar_type, &numbers) {
        Some(bytes) if bytes == data.len() as u64 => {}
        Some(bytes) => {
            let expected = format_args!("{bytes}, the size of the tensor");
            report.add(B_9, &t.path.field("data"), data.at, Counted(data.len(), "byte"), expected);
        }
        None => {
            let found = format_args!("sizes {} of type {scalar_type}", listed(sizes.iter()));
            report.add(B_9, &t.path.field("sizes"), sizes.at, found, "sizes of at least 0 and a known type");
        }
    }
}

/// Checks the type and shape of a test tensor against the method's tensor `own`.
fn compare(t: Node<'_, '_>, own: Table<'_>, output: bool, report: &mut Reporter<'_, '_>) {
    let rule = if output { B_10 } else { B_8 };
    let (found, expected) = (ScalarType(t.i8(tensor::scalar_type)), ScalarType(own.i8(schema::tensor::scalar_type)));
    let (sizes, own_sizes) = (t.i32s(tensor::sizes), own.i32s(schema::tensor::sizes));
    let (Some(sizes), Some(own_sizes)) = (sizes, own_sizes) else { return };
    let fits = match TensorShapeDynamism(own.i8(schema::tensor::shape_dynamism)) {
        TensorShapeDynamism::STATIC => sizes.iter().eq(own_sizes.iter()),
        // Dimensions may change as long as the number of elements does not grow.
        _ => {
            let numel = |sizes: &mut dyn Iterator<Item = i32>| {
                sizes.fold(1u128, |n, size| n.saturating_mul(size.max(0) as u128))
            };
            sizes.len() == own_sizes.len() && numel(&mut sizes.iter()) <= numel(&mut own_sizes.iter())
        }
    };
    if found != expected || !fits {
        let found = format_args!("{found} {}", listed(sizes.iter()));
        let expected = format_args!("{expected} {}, as in the method", listed(own_sizes.iter()));
        return report.add(rule, t.path, t.at, found, expected);
    }
    let (order, own_order) = (t.u8s(tensor::dim_order), own.u8s(schema::tensor::dim_order));
    if let (true, Some(order), Some(own_order)) = (output, order, own_order)
        && !order.iter().eq(own_order.iter())
    {
        let expected = format_args!("{}, as in the method", listed(own_order.iter()));
        report.add(G_31, &t.path.field("dim_order"), order.at, listed(order.iter()), expected);
    }
}
