//! Tests the presence of fields of a program (W-14, W-15), and the order of the objects. The tests of
//! `pte_model::reader::program` compare the values of fields by reading emitted files.

use super::resolve::{assembled, forward};
use pte_model::format::flatbuffer::{follow, view::Table};
use pte_model::format::program::*;

/// The FlatBuffer of the program of YAML.
fn emitted(yaml: &str) -> Vec<u8> {
    assembled(yaml).program_file().unwrap().emitted.flatbuffer.to_vec()
}

/// The FlatBuffer of a method `forward`.
fn method(parts: &str) -> Vec<u8> {
    emitted(&forward(parts))
}

fn plan(bytes: &[u8]) -> Table<'_> {
    Table::root(bytes).unwrap().tables(program::execution_plan).unwrap().get(0).unwrap()
}

/// The union member of a value.
fn value(bytes: &[u8], index: usize) -> Table<'_> {
    plan(bytes).tables(execution_plan::values).unwrap().get(index).unwrap().child(evalue::val).unwrap()
}

fn present(table: Table<'_>, slots: u16) -> Vec<u16> {
    (0..slots).filter(|slot| table.has(*slot)).collect()
}

/// Offset of the object that a field refers to.
fn target(bytes: &[u8], table: Table<'_>, slot: u16) -> usize {
    follow(bytes, table.offset(slot).unwrap()).unwrap()
}

#[test]
fn a_program_has_all_lists_but_states_and_named_data() {
    // W-15: version 0, mutable_data_segments (6) and named_data (7) are absent.
    let bytes = method("outputs: [1]");
    let root = Table::root(&bytes).unwrap();
    assert_eq!(present(root, 8), [1, 2, 3, 4, 5]);
    let empty = [program::constant_buffer, program::backend_delegate_data].map(|slot| root.tables(slot).unwrap().len());
    assert_eq!(empty, [0, 0]);
}

#[test]
fn a_program_without_data_has_one_segment_of_0_bytes() {
    // W-2
    let bytes = method("outputs: [1]");
    let root = Table::root(&bytes).unwrap();
    let segments = root.tables(program::segments).unwrap();
    assert_eq!((segments.len(), present(segments.get(0).unwrap(), 2)), (1, vec![]));
    let constants = root.child(program::constant_segment).unwrap();
    assert_eq!(constants.u64s(subsegment_offsets::offsets).unwrap().iter().collect::<Vec<_>>(), [0]);
}

#[test]
fn states_and_named_data_are_present_if_there_are_some() {
    let parts = "values: {s: {tensor: int8, data: [1], mutable: true}}, outputs: [s]";
    let bytes = emitted(&format!("{}named_data: {{k: {{hex: ff}}}}\nversion: 3\n", forward(parts)));
    let root = Table::root(&bytes).unwrap();
    assert_eq!(present(root, 8), [0, 1, 2, 3, 4, 5, 6, 7]);
    let state = root.tables(program::mutable_data_segments).unwrap().get(0).unwrap();
    assert_eq!(state.u32(subsegment_offsets::segment_index), 1);
    let named = root.tables(program::named_data).unwrap().get(0).unwrap();
    assert_eq!((named.text(named_data::key), named.u32(named_data::segment_index)), (Some(&b"k"[..]), 2));
}

#[test]
fn a_method_has_every_field_but_the_devices() {
    // W-15
    let bytes = method("outputs: [1]");
    assert_eq!(present(plan(&bytes), 10), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    let inputs = plan(&bytes).i32s(execution_plan::inputs).unwrap().len();
    let delegates = plan(&bytes).tables(execution_plan::delegates).unwrap().len();
    assert_eq!((inputs, delegates), (0, 0));
}

#[test]
fn devices_are_present_if_a_pool_is_not_on_the_cpu() {
    let bytes = method("values: {x: {tensor: int8, sizes: [1], device: \"cuda:2\"}}, inputs: [x]");
    let devices = plan(&bytes).tables(execution_plan::non_const_buffer_device).unwrap();
    let device = devices.get(0).unwrap();
    let fields = (device.i32(0), device.i8(1), device.i8(2));
    assert_eq!((devices.len(), fields), (1, (1, 1, 2)));
}

#[test]
fn a_chain_has_empty_inputs_and_outputs_and_no_stack_traces() {
    // E-3
    let bytes = method("values: {x: f32[1]}, inputs: [x], instructions: [{free: x}]");
    let chain = plan(&bytes).tables(execution_plan::chains).unwrap().get(0).unwrap();
    assert_eq!(present(chain, 4), [chain::inputs, chain::outputs, chain::instructions]);
    assert_eq!(chain.i32s(chain::inputs).unwrap().len(), 0);
}

#[test]
fn null_has_an_empty_table_and_zeros_are_left_out() {
    // W-14
    let bytes = method("outputs: [null, 0, false, -0.0, 5]");
    let fields: Vec<_> = (0..5).map(|index| present(value(&bytes, index), 1)).collect();
    assert_eq!(fields, [vec![], vec![], vec![], vec![], vec![0]]);
    assert_eq!(value(&bytes, 4).i64(int::int_val), 5);
}

#[test]
fn offsets_in_planned_memory_are_two_halves() {
    // E-16: 3 * 2^32 + 64.
    let bytes =
        method("values: {x: {tensor: float32, sizes: [1], memory: {pool: 2, offset: 12884901952}}}, inputs: [x]");
    let allocation = value(&bytes, 0).child(tensor::allocation_info).unwrap();
    assert_eq!([0, 1, 2].map(|slot| allocation.u32(slot)), [2, 64, 3]);
}

#[test]
fn constants_have_no_allocation_and_plain_tensors_no_extra_info() {
    let bytes = method("values: {w: {tensor: float32, data: [1]}}, outputs: [w]");
    // scalar_type, sizes, dim_order, data_buffer_idx
    assert_eq!(present(value(&bytes, 0), 10), [0, 2, 3, 5]);
}

#[test]
fn payloads_in_segments_and_inline_ones_differ_in_location() {
    let reference = |layout: &str| {
        let parts = "delegates: {d: {backend: B, data: {text: p}}}, outputs: [1]";
        let bytes = emitted(&format!("{}layout: {{delegates: {layout}}}\n", forward(parts)));
        let delegate = plan(&bytes).tables(execution_plan::delegates).unwrap().get(0).unwrap();
        let reference = delegate.child(backend_delegate::processed).unwrap();
        let inline = Table::root(&bytes).unwrap().tables(program::backend_delegate_data).unwrap().len();
        (reference.i8(0), reference.u32(1), inline)
    };
    assert_eq!(reference("segment"), (1, 1, 0));
    assert_eq!(reference("inline"), (0, 0, 1));
}

#[test]
fn inline_constants_are_aligned() {
    // W-13
    let parts = "values: {w: {tensor: int8, data: [1, 2, 3]}}, outputs: [w]";
    let bytes = emitted(&format!("{}layout: {{constants: inline, tensor_alignment: 256}}\n", forward(parts)));
    let buffers = Table::root(&bytes).unwrap().tables(program::constant_buffer).unwrap();
    let storage = [0, 1].map(|index| buffers.get(index).unwrap().u8s(buffer::storage).unwrap());
    assert_eq!((buffers.len(), storage[0].len(), storage[1].at % 256), (2, 0, 0));
    assert_eq!(storage[1].iter().collect::<Vec<_>>(), [1, 2, 3]);
}

// -----------------------------------------------------------------------------------------------------------------
// order

const FULL: &str =
    "values: {x: f32[4], y: f32[4]}, inputs: [x], outputs: [y], delegates: {d: {backend: B, data: {text: p}}},
    instructions: [{delegate: d, args: [x, y]}, {kernel: aten::relu.out, args: [x], out: y}, {free: y}]";

#[test]
fn children_are_written_by_ascending_slot_in_both_orders() {
    for builder in ["exir", "flatc"] {
        let bytes = emitted(&format!("{}layout: {{builder: {builder}}}\n", forward(FULL)));
        let plan = plan(&bytes);
        let targets: Vec<usize> = (0..9).map(|slot| target(&bytes, plan, slot)).collect();
        assert!(targets.windows(2).all(|pair| pair[0] > pair[1]), "{builder}: {targets:?}");
        assert!(targets[8] > plan.at, "{builder}: children are written before their table");
    }
}

#[test]
fn elements_are_written_first_to_last_and_before_their_vector() {
    let bytes = method(FULL);
    let chain = plan(&bytes).tables(execution_plan::chains).unwrap().get(0).unwrap();
    let instructions: Vec<usize> = chain.tables(chain::instructions).unwrap().iter().map(|table| table.at).collect();
    let vector = target(&bytes, chain, chain::instructions);
    let [first, second, third] = *instructions else { panic!("three instructions") };
    assert!(first > second && second > third && third > vector);
}

#[test]
fn the_tag_of_a_union_is_written_before_its_value() {
    let bytes = method(FULL);
    let value = plan(&bytes).tables(execution_plan::values).unwrap().get(0).unwrap();
    assert!(value.offset(evalue::val_type) > value.offset(evalue::val));
    assert_eq!(value.u8(evalue::val_type), 5);
}
