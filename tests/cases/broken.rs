//! Malformed files that no source can describe: lists whose items are all the same table, XNNPACK graphs with one
//! changed field. All other rules have a source in `examples/malformed` or `tests/golden/snapshots/check`.

use std::path::Path;

use pte_emit::check::RuleId;
use pte_model::format::program;
use pte_xnnpack::schema as xnnpack;

use crate::support::patch::Patch;
use crate::support::{root, sources};

/// `.pte` that violates a rule.
pub struct Broken {
    /// Id of the rule.
    pub rule: RuleId,
    /// Name of the snapshot.
    pub name: &'static str,
    /// Builds the file.
    pub bytes: fn() -> Vec<u8>,
}

pub const BROKEN: [Broken; 8] = [
    Broken { rule: RuleId::G_16, name: "a_million_segments", bytes: a_million_segments },
    Broken { rule: RuleId::G_17, name: "one_table_with_a_long_key_again_and_again", bytes: one_table_again_and_again },
    Broken { rule: RuleId::S_18, name: "two_lists_of_initial_bytes", bytes: two_lists_of_initial_bytes },
    Broken { rule: RuleId::D_12, name: "operation_on_an_unknown_value", bytes: operation_on_an_unknown_value },
    Broken { rule: RuleId::D_12, name: "output_is_an_input", bytes: output_is_an_input },
    Broken { rule: RuleId::D_15, name: "int8_without_a_scale", bytes: int8_without_a_scale },
    Broken { rule: RuleId::D_16, name: "convolution_of_integers", bytes: convolution_of_integers },
    Broken { rule: RuleId::D_17, name: "kernel_larger_than_its_filter", bytes: kernel_larger_than_its_filter },
];

fn a_million_segments() -> Vec<u8> {
    let mut file = base();
    repeated(&mut file, "segments", 1_000_000, None);
    file.bytes
}

fn one_table_again_and_again() -> Vec<u8> {
    let mut file = base();
    repeated(&mut file, "named_data", 4000, Some(10_000));
    file.bytes
}

fn two_lists_of_initial_bytes() -> Vec<u8> {
    let mut file = base();
    repeated(&mut file, "mutable_data_segments", 2, None);
    file.bytes
}

fn operation_on_an_unknown_value() -> Vec<u8> {
    xnnpack_graph(|graph| graph.set32("xnodes[0].xnode_union.output_id", 99))
}

fn kernel_larger_than_its_filter() -> Vec<u8> {
    xnnpack_graph(|graph| graph.set32("xnodes[1].xnode_union.kernel_height", 4))
}

fn int8_without_a_scale() -> Vec<u8> {
    xnnpack_graph(|graph| graph.set("xvalues[1].xvalue_union.datatype", &xnnpack::QINT8.to_le_bytes()))
}

fn convolution_of_integers() -> Vec<u8> {
    xnnpack_graph(|graph| graph.set("xvalues[1].xvalue_union.datatype", &xnnpack::INT32.to_le_bytes()))
}

fn output_is_an_input() -> Vec<u8> {
    xnnpack_graph(|graph| graph.set32("xnodes[0].xnode_union.output_id", 0))
}

/// Program with named data and an initial state. Without an extended header the FlatBuffer extends to the end of the
/// file, where tables can be appended.
const BASE: &str = "
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2, 2]}
      s: {tensor: float32, sizes: [2, 2], data: [5, 6, 7, 8], mutable: true}
      y: {tensor: float32, sizes: [2, 2]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::add.out, args: [x, s, 1], out: y}
named_data:
  blob: {hex: '2233'}
raw:
  set: {header.magic: {bytes: {hex: '00000000'}}}
";

fn base() -> Patch {
    let assembly = sources::assembly("base.yaml", BASE, Path::new(""));
    Patch::new(assembly.program_file().unwrap().to_vec().unwrap(), &program::PROGRAM)
}

/// Replaces a list of the root table by one of `count` items that are all the same table, with a string of this length
/// in its first field, or without fields.
fn repeated(file: &mut Patch, field: &str, count: usize, string: Option<usize>) {
    while !file.bytes.len().is_multiple_of(4) {
        file.bytes.push(0);
    }
    let (at, list) = (file.at(field), file.bytes.len());
    file.write(at, &((list - at) as u32).to_le_bytes());
    file.bytes.extend((count as u32).to_le_bytes());
    let vtable = list + 4 + 4 * count;
    let table = vtable + 8;
    for item in 0..count {
        file.bytes.extend(((table - (list + 4 + 4 * item)) as u32).to_le_bytes());
    }
    let (size, inline, slot): (u16, u16, u16) = if string.is_some() { (6, 8, 4) } else { (4, 4, 0) };
    [size, inline, slot, 0].iter().for_each(|word| file.bytes.extend(word.to_le_bytes()));
    file.bytes.extend(8i32.to_le_bytes());
    if let Some(length) = string {
        file.bytes.extend(4u32.to_le_bytes());
        file.bytes.extend((length as u32).to_le_bytes());
        file.bytes.extend(std::iter::repeat_n(b'a', length));
    }
    file.bytes.extend([0; 16]);
}

/// Program of ExecuTorch with an XNNPACK delegate, whose first graph is changed.
fn xnnpack_graph(change: impl FnOnce(&mut Patch)) -> Vec<u8> {
    let mut bytes = std::fs::read(root().join("tests/golden/upstream/bytes/conv_xnn/model.pte")).unwrap();
    let payload = bytes.windows(4).position(|word| word == b"XH00").unwrap() - 4;
    let word = |at: usize| u32::from_le_bytes(bytes[payload + at..payload + at + 4].try_into().unwrap()) as usize;
    let graph = payload + word(10)..payload + word(10) + word(14);
    let mut file = Patch::new(bytes[graph.clone()].to_vec(), &xnnpack::GRAPH);
    change(&mut file);
    bytes[graph].copy_from_slice(&file.bytes);
    bytes
}
