//! For every rule a file that breaks it: small texts, assembled, then changed as a program or as bytes.

use std::path::Path;

use pte_emit::check::DataFile;
use pte_emit::data::Origin;
use pte_emit::delegate::xnnpack;
use pte_emit::format::{ScalarType, bundled_program, flat_tensor, program};
use pte_emit::program::{
    CompileSpec, EValue, ExecutionPlan, ExtraTensorInfo, Instruction, Memory, NonConstBufferDevice, Program, Tensor,
    TensorData, contiguous,
};
use pte_emit::{Assembly, Options as AssembleOptions, Source, assemble};

use super::patch::Patch;
use super::program_file::write;

/// A file that breaks a rule.
pub struct Case {
    /// The rule.
    pub rule: &'static str,
    /// What was done.
    pub what: &'static str,
    /// The file.
    pub bytes: Vec<u8>,
    /// The `.ptd` files given with it.
    pub with: Vec<DataFile>,
}

/// A program with something of each kind.
const BASE: &str = r#"
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2, 2]}
      w: {tensor: float32, sizes: [2, 2], data: [1, 2, 3, 4]}
      v: {tensor: int8, sizes: [3], data: [1, 2, 3]}
      s: {tensor: float32, sizes: [2, 2], data: [5, 6, 7, 8], mutable: true}
      n: {int: 7}
      d: {double: 0.5}
      b: {bool: true}
      t: {string: text}
      il: {int_list: [1, 2]}
      dl: {double_list: [1, 2]}
      bl: {bool_list: [true, false]}
      tl: {tensor_list: [x, w]}
      ol: {optional_tensor_list: [x, null]}
      y: {tensor: float32, sizes: [2, 2]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::add.out, args: [x, w, 1], out: y}
      - {kernel: aten::add.out, args: [y, s, 1], out: y}
      - {delegate: part, args: [x, y]}
      - {jump_false: {cond: b, to: end}}
      - {move: {from: x, to: y}, label: end}
    delegates:
      part: {backend: Toy, data: {hex: "02000000aabb"}, compile_specs: [{key: k, value: v}]}
named_data:
  blob: {hex: "2233"}
"#;

/// A program without data.
const ADD: &str = "
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2, 2]}
      y: {tensor: float32, sizes: [2, 2]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::relu.out, args: [x], out: y}
";

/// A program with delegates alone.
const DELEGATES: &str = r#"
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2, 2]}
      y: {tensor: float32, sizes: [2, 2]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {delegate: one, args: [x, y]}
      - {delegate: two, args: [x, y]}
    delegates:
      one: {backend: Toy, data: {hex: "02000000aabb"}}
      two: {backend: Toy, data: {hex: "02000000ccdd"}}
"#;

/// A program with tests.
const TESTED: &str = "
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2, 2]}
      n: {int: 7}
      y: {tensor: float32, sizes: [2, 2]}
    inputs: [x, n]
    outputs: [y]
    instructions:
      - {kernel: aten::relu.out, args: [x], out: y}
    tests:
      - {inputs: [[[1, 2], [3, 4]], 7], outputs: [[[1, 2], [3, 4]]]}
";

fn assembly(text: &str) -> Assembly {
    let input = Source::yaml("broken.yaml", text, Path::new("."));
    assemble(&input, &AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The file of a text that is changed as a program.
fn edited(text: &str, edit: impl FnOnce(&mut Program)) -> Vec<u8> {
    let Assembly { mut program, options, .. } = assembly(text);
    edit(&mut program);
    write(&program, &options)
}

/// The file of a text that is changed as bytes.
fn patched(text: &str, patch: impl FnOnce(&mut Patch)) -> Vec<u8> {
    let mut file = Patch::new(edited(text, |_| {}), &program::PROGRAM);
    patch(&mut file);
    file.bytes
}

/// The file of a text without its header, changed as bytes: its segments are a part of the program then.
fn headless(text: &str, patch: impl FnOnce(&mut Patch)) -> Vec<u8> {
    patched(text, |file| {
        file.write(8, &[0; 4]);
        patch(file);
    })
}

fn with_layout(text: &str, layout: &str) -> String {
    format!("{text}\nlayout: {{{layout}}}\n")
}

/// The `.bpte` of a text, changed.
fn bundled(patch: impl FnOnce(&mut Patch)) -> Vec<u8> {
    let bytes = assembly(TESTED).bundled().unwrap().flatbuffer().to_vec();
    let mut file = Patch::new(bytes, &bundled_program::BUNDLED_PROGRAM);
    patch(&mut file);
    file.bytes
}

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(super::root().join("tests/golden/bytes").join(name)).unwrap()
}

fn patched_golden(name: &str, patch: impl FnOnce(&mut Patch)) -> Vec<u8> {
    let mut file = Patch::new(golden(name), &program::PROGRAM);
    patch(&mut file);
    file.bytes
}

/// A program that returns a constant.
fn constant(scalar_type: &str, data: &str) -> String {
    let size = if scalar_type == "bool" { 3 } else { 2 };
    format!(
        "methods: {{forward: {{values: {{c: {{tensor: {scalar_type}, sizes: [{size}], data: {{{data}}}}}}}, outputs: [c]}}}}"
    )
}

/// A program that ExecuTorch wrote for XNNPACK; the payload, and the graph in it, changed.
fn payload(patch: impl FnOnce(&mut [u8], &mut Patch)) -> Vec<u8> {
    let mut bytes = golden("conv_xnn/model.pte");
    let payload = bytes.windows(4).position(|word| word == b"XH00").unwrap() - 4;
    let word = |at: usize| u32::from_le_bytes(bytes[payload + at..payload + at + 4].try_into().unwrap()) as usize;
    let graph = payload + word(10)..payload + word(10) + word(14);
    let mut file = Patch::new(bytes[graph.clone()].to_vec(), &xnnpack::GRAPH);
    patch(&mut bytes[payload..], &mut file);
    bytes[graph].copy_from_slice(&file.bytes);
    bytes
}

/// A `.ptd` that ExecuTorch wrote, changed: the constants `a` and `b` of `a * x + b`.
fn data(patch: impl FnOnce(&mut Patch)) -> Vec<u8> {
    let mut file = Patch::new(golden("addmul_ext/_default_external_constant.ptd"), &flat_tensor::FLAT_TENSOR);
    patch(&mut file);
    file.bytes
}

fn given(bytes: Vec<u8>) -> DataFile {
    DataFile::open("weights.ptd", &Origin::Bytes(bytes.into())).unwrap()
}

fn plan(program: &mut Program) -> &mut ExecutionPlan {
    &mut program.execution_plan.as_mut().unwrap()[0]
}

/// The number of the nth value of a kind.
fn index(program: &Program, kind: &str, nth: usize) -> usize {
    let values = program.plans()[0].values().iter().enumerate();
    values.filter(|(_, value)| value.kind() == kind).nth(nth).unwrap().0
}

fn value<'p>(program: &'p mut Program, kind: &str) -> &'p mut EValue {
    let index = index(program, kind, 0);
    &mut plan(program).values.as_mut().unwrap()[index]
}

/// The nth tensor: x, w, v, s, y.
fn tensor(program: &mut Program, nth: usize) -> &mut Tensor {
    let index = index(program, "Tensor", nth);
    match &mut plan(program).values.as_mut().unwrap()[index] {
        EValue::Tensor(tensor) => tensor,
        other => panic!("{other:?}"),
    }
}

fn instruction(program: &mut Program, at: usize) -> &mut Instruction {
    &mut plan(program).chains.as_mut().unwrap()[0].instructions.as_mut().unwrap()[at]
}

fn shape(program: &mut Program, scalar_type: i8, sizes: &[i32]) {
    let tensor = tensor(program, 0);
    tensor.scalar_type = ScalarType(scalar_type);
    tensor.dim_order = Some(contiguous(sizes.len()));
    tensor.sizes = Some(sizes.into());
    tensor.memory = Memory::None;
}

/// `ADD` with its output high up in planned memory, changed.
fn placed(patch: impl FnOnce(&mut Patch)) -> Vec<u8> {
    let bytes = edited(ADD, |p| {
        plan(p).memory.non_const_buffer_sizes = Some(vec![0, 1 << 33]);
        tensor(p, 1).memory = Memory::At { pool: 1, offset: (1 << 32) + 16 };
    });
    let mut file = Patch::new(bytes, &program::PROGRAM);
    patch(&mut file);
    file.bytes
}

/// Where `placed` has the output.
const PLACE: &str = "execution_plan[0].values[1].val.allocation_info";

fn extra(edit: impl FnOnce(&mut ExtraTensorInfo)) -> Vec<u8> {
    edited(ADD, |p| {
        let mut extra = ExtraTensorInfo::default();
        edit(&mut extra);
        tensor(p, 0).extra_tensor_info = Some(extra.into());
    })
}

fn arg(file: &Patch, kind: &str) -> usize {
    let origin = Origin::Bytes(file.bytes.clone().into());
    index(&pte_emit::reader::program::read(&origin).unwrap().program, kind, 0)
}

/// The path of the first value of a kind.
fn path(file: &Patch, kind: &str) -> String {
    format!("execution_plan[0].values[{}]", arg(file, kind))
}

/// Lets a field share the place of another in the same table.
fn alias(file: &mut Patch, field: &str, other: &str) {
    let (entry, from) = (file.entry(field), file.entry(other));
    let bytes = [file.bytes[from], file.bytes[from + 1]];
    file.write(entry, &bytes);
}

/// Replaces a list of the root by one of `count` items that are all the same table, with a text of some length in its
/// first field, or without fields. Needs a program that goes on to the end of the file.
fn repeated(file: &mut Patch, field: &str, count: usize, text: Option<usize>) {
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
    let (size, inline, slot): (u16, u16, u16) = if text.is_some() { (6, 8, 4) } else { (4, 4, 0) };
    [size, inline, slot, 0].iter().for_each(|word| file.bytes.extend(word.to_le_bytes()));
    file.bytes.extend(8i32.to_le_bytes());
    if let Some(length) = text {
        file.bytes.extend(4u32.to_le_bytes());
        file.bytes.extend((length as u32).to_le_bytes());
        file.bytes.extend(std::iter::repeat_n(b'a', length));
    }
    file.bytes.extend([0; 16]);
}

/// A change to a header, which a file has at byte 8.
fn header(at: usize, bytes: &[u8]) -> Vec<u8> {
    patched(BASE, |f| f.write(at, bytes))
}

fn header64(at: usize, number: u64) -> Vec<u8> {
    header(at, &number.to_le_bytes())
}

fn data64(at: usize, number: u64) -> Vec<u8> {
    data(|f| f.write(at, &number.to_le_bytes()))
}

/// The first file that breaks a rule.
pub fn of(rule: &str) -> Vec<u8> {
    all().into_iter().find(|case| case.rule == rule).unwrap().bytes
}

type Row = (&'static str, &'static str, Vec<u8>);

/// All files.
pub fn all() -> Vec<Case> {
    let rows = headers().into_iter().chain(structures()).chain(programs()).chain(methods()).chain(bundles());
    let alone = rows.map(|(rule, what, bytes)| Case { rule, what, bytes, with: Vec::new() });
    alone.chain(external()).collect()
}

fn headers() -> Vec<Row> {
    vec![
        ("H-1", "40 bytes of a program", edited(BASE, |_| {})[..40].to_vec()),
        ("H-3", "the header eh01", header(8, b"eh01")),
        ("H-4", "a header length of 16", header(12, &[16])),
        ("H-5", "a header length of 24", header(12, &[24])),
        ("H-7", "a segment_data_size of 2^64 - 1", header64(32, u64::MAX)),
        ("H-8", "the last byte cut off", {
            let mut bytes = edited(BASE, |_| {});
            bytes.pop();
            bytes
        }),
        ("H-9", "data of no size from 2^40", {
            let mut file = Patch::new(header64(24, 1 << 40), &program::PROGRAM);
            file.write(32, &[0; 8]);
            file.bytes
        }),
        ("H-10", "a program_size of 2^40", header64(16, 1 << 40)),
        ("H-12", "a program_size of 0", header64(16, 0)),
        ("H-13", "the identifier ET13", header(4, b"ET13")),
        ("H-14", "a root offset of 4", header(0, &4u32.to_le_bytes())),
        ("G-1", "segments from byte 8", header64(24, 8)),
        ("G-2", "segments from byte 0", header64(24, 0)),
        ("G-3", "a byte appended", {
            let mut bytes = edited(BASE, |_| {});
            bytes.push(0);
            bytes
        }),
        (
            "G-5",
            "a tensor of 8 GiB",
            edited(
                &ADD.replace("x: {tensor: float32, sizes: [2, 2]", "x: {tensor: float32, sizes: [65536, 32768]"),
                |_| {},
            ),
        ),
        ("H-20", "40 bytes of a .ptd", data(|f| f.bytes.truncate(40))),
        ("H-21", "the header FH00", data(|f| f.write(8, b"FH00"))),
        ("H-22", "a header length of 32", data(|f| f.write(12, &[32]))),
        ("H-23", "the last byte cut off", data(|f| _ = f.bytes.pop())),
        ("H-24", "a flatbuffer_size of 2^40", data64(24, 1 << 40)),
        ("H-25", "the identifier FT02", data(|f| f.write(4, b"FT02"))),
        ("H-27", "no named_data", data(|f| f.drop("named_data"))),
        ("G-6", "a version that is not 0", data(|f| alias(f, "version", "segments"))),
        ("G-7", "8 bytes inserted", {
            data(|f| {
                let size = u64::from_le_bytes(f.bytes[24..32].try_into().unwrap());
                f.write(16, &8u64.to_le_bytes());
                f.write(24, &(size + 40).to_le_bytes());
            })
        }),
        ("G-8", "segments from byte 0", data64(32, 0)),
        (
            "N-2",
            "two entries with one key",
            data(|f| {
                let (first, second) = (f.target("named_data[0].key") + 4, f.target("named_data[1].key") + 4);
                f.bytes[second] = f.bytes[first];
            }),
        ),
        ("N-11", "keys that are absent", data(|f| f.drop("named_data[0].key"))),
        ("N-12", "a segment that is not there", data(|f| f.set32("named_data[1].segment_index", 9))),
        ("N-16", "the element type 30", data(|f| f.set("named_data[0].tensor_layout.scalar_type", &[30]))),
        ("N-17", "a negative size", data(|f| f.set32("named_data[0].tensor_layout.sizes[0]", -1))),
        ("N-18", "a dimension twice", data(|f| f.set("named_data[0].tensor_layout.dim_order[1]", &[0]))),
        ("N-19", "a segment of 4 bytes", data(|f| f.set64("segments[0].size", 4))),
        (
            "N-30",
            "no keys",
            data(|f| {
                let list = f.target("named_data");
                f.write(list, &[0; 4]);
            }),
        ),
        ("H-30", "the identifier BP07", bundled(|f| f.write(4, b"BP07"))),
        ("H-31", "8 bytes of a .bpte", bundled(|f| f.bytes.truncate(8))),
    ]
}

fn structures() -> Vec<Row> {
    let plan = "execution_plan[0]";
    vec![
        (
            "F-1",
            "metadata of 11 bytes",
            data(|f| {
                f.write(16, &0u64.to_le_bytes());
                f.write(24, &11u64.to_le_bytes());
            }),
        ),
        ("F-2", "an odd root offset", header(0, &[edited(BASE, |_| {})[0] | 1])),
        (
            "F-5",
            "a vtable far away",
            patched(BASE, |f| {
                let at = f.target(plan);
                f.write(at, &i32::MAX.to_le_bytes());
            }),
        ),
        (
            "F-6",
            "a table that says it has 4 bytes",
            patched(BASE, |f| {
                let at = f.vtable_of("named_data[0]");
                f.write(at + 2, &[4, 0]);
            }),
        ),
        (
            "F-7",
            "a field one byte farther",
            patched(BASE, |f| {
                let at = f.entry("named_data[0].segment_index");
                f.bytes[at] += 1;
            }),
        ),
        ("F-8", "an offset of 0", patched(BASE, |f| f.set32("execution_plan", 0))),
        (
            "F-9",
            "a list of very many inputs",
            patched(BASE, |f| {
                let at = f.target("execution_plan[0].inputs");
                f.write(at, &0x1000_0000u32.to_le_bytes());
            }),
        ),
        ("F-10", "an item of 0", patched(BASE, |f| f.set32("execution_plan[0].values[1]", 0))),
        (
            "F-11",
            "a name without an end",
            patched(BASE, |f| {
                let at = f.target("execution_plan[0].name") + 4 + "forward".len();
                f.bytes[at] = b'x';
            }),
        ),
        (
            "G-10",
            "a vtable of 2 bytes",
            patched(BASE, |f| {
                let at = f.vtable_of("named_data[0]");
                f.write(at, &[2, 0]);
            }),
        ),
        (
            "G-11",
            "a list of 8-byte numbers four bytes farther",
            patched(BASE, |f| {
                let items = format!("{}.val.items", path(f, "IntList"));
                let offset = f.target(&items) - f.at(&items) + 4;
                f.set32(&items, offset as i32);
            }),
        ),
        (
            "G-12",
            "an inline payload four bytes farther",
            patched(&with_layout(DELEGATES, "delegates: inline"), |f| {
                let data = "backend_delegate_data[0].data";
                let offset = f.target(data) - f.at(data) + 4;
                f.set32(data, offset as i32);
            }),
        ),
        (
            "G-13",
            "a name that is not UTF-8",
            patched(BASE, |f| {
                let at = f.target("execution_plan[0].name") + 4;
                f.bytes[at] = 0xff;
            }),
        ),
        (
            "G-14",
            "a zero byte in a name",
            patched(BASE, |f| {
                let at = f.target("execution_plan[0].name") + 6;
                f.bytes[at] = 0;
            }),
        ),
        ("G-15", "a Bool of 2", patched(BASE, |f| f.set(&format!("{}.val.bool_val", path(f, "Bool")), &[2]))),
        ("G-16", "a million segments", patched(ADD, |f| repeated(f, "segments", 1_000_000, None))),
        (
            "G-17",
            "one table with a long key, again and again",
            headless(BASE, |f| repeated(f, "named_data", 4000, Some(10_000))),
        ),
        ("G-18", "a header length of 400", header(12, &400u32.to_le_bytes())),
    ]
}

fn programs() -> Vec<Row> {
    vec![
        ("P-1", "version 1", edited(BASE, |p| p.version = 1)),
        ("P-V1", "no list of methods", patched(BASE, |f| f.drop("execution_plan"))),
        ("P-2", "no methods", edited(ADD, |p| p.execution_plan = Some(Vec::new()))),
        (
            "P-3",
            "two methods of one name",
            edited(ADD, |p| {
                let twin = plan(p).clone();
                p.execution_plan.as_mut().unwrap().push(twin);
            }),
        ),
        ("P-4", "a method without a name", edited(ADD, |p| plan(p).name = None)),
        ("P-N1", "named data without segments", patched(BASE, |f| f.drop("segments"))),
        ("P-C1", "constants inside the FlatBuffer", edited(&with_layout(BASE, "constants: inline"), |_| {})),
        ("P-C3", "constants in both places", patched(BASE, |f| alias(f, "constant_buffer", "named_data"))),
        ("P-C4", "constants without segments", patched(BASE, |f| f.drop("segments"))),
        (
            "P-C5",
            "constants in a segment that is not there",
            patched(BASE, |f| alias(f, "constant_segment.segment_index", "constant_segment.offsets")),
        ),
        ("P-C6", "constants and no header", headless(BASE, |_| {})),
        (
            "P-C7",
            "one constant, which is empty",
            edited(&ADD.replace("y: {", "w: {tensor: float32, sizes: [0], data: []}\n      y: {"), |_| {}),
        ),
        ("P-K1", "constant 9", patched(BASE, |f| f.set32("execution_plan[0].values[1].val.data_buffer_idx", 9))),
        ("P-K2", "a segment of 4 bytes", patched(BASE, |f| f.set64("segments[0].size", 4))),
        (
            "P-K3",
            "constant 9 inside the FlatBuffer",
            patched(&with_layout(BASE, "constants: inline"), |f| {
                f.set32("execution_plan[0].values[1].val.data_buffer_idx", 9)
            }),
        ),
        (
            "P-K5",
            "constants inside the FlatBuffer beside an empty list",
            patched(BASE, |f| {
                let list = f.target("constant_segment.offsets");
                f.write(list, &1u32.to_le_bytes());
                alias(f, "constant_buffer", "named_data");
            }),
        ),
        (
            "P-K6",
            "constants at odd places",
            patched(BASE, |f| {
                f.set64("constant_segment.offsets[1]", 3);
                f.set64("constant_segment.offsets[2]", 1);
            }),
        ),
        ("G-20", "a constant inside another", patched(BASE, |f| f.set64("constant_segment.offsets[2]", 8))),
        ("S-1", "a payload in a segment, and no header", headless(DELEGATES, |_| {})),
        ("S-2", "a payload in a segment, and no segments", patched(DELEGATES, |f| f.drop("segments"))),
        (
            "S-3",
            "a payload in segment 9",
            patched(DELEGATES, |f| f.set32("execution_plan[0].delegates[1].processed.index", 9)),
        ),
        ("S-4", "a segment at 2^64 - 1", patched(BASE, |f| f.set64("segments[3].offset", u64::MAX))),
        ("S-5", "a segment of 1000 bytes", patched(BASE, |f| f.set64("segments[3].size", 1000))),
        ("S-6", "two segments at one place", patched(BASE, |f| f.set64("segments[2].offset", 8))),
        ("S-10", "initial bytes and no header", headless(BASE, |_| {})),
        ("S-11", "no list of initial bytes", patched(BASE, |f| f.drop("mutable_data_segments"))),
        (
            "S-12",
            "initial bytes number 9",
            patched(BASE, |f| f.set32("execution_plan[0].values[3].val.data_buffer_idx", 9)),
        ),
        ("S-13", "initial bytes in segment 9", patched(BASE, |f| f.set32("mutable_data_segments[0].segment_index", 9))),
        (
            "S-14",
            "initial bytes at 2^64 - 1",
            patched(BASE, |f| f.set64("mutable_data_segments[0].offsets[1]", u64::MAX)),
        ),
        ("S-15", "initial bytes at 8", patched(BASE, |f| f.set64("mutable_data_segments[0].offsets[1]", 8))),
        ("S-18", "two lists of initial bytes", headless(BASE, |f| repeated(f, "mutable_data_segments", 2, None))),
        ("N-1", "a key that is absent", patched(BASE, |f| f.drop("named_data[0].key"))),
        ("N-3", "a key in segment 9", patched(BASE, |f| f.set32("named_data[0].segment_index", 9))),
        ("D-1", "a delegate without a backend", edited(BASE, |p| plan(p).delegates.as_mut().unwrap()[0].id = None)),
        ("D-3", "a delegate without a payload", patched(BASE, |f| f.drop("execution_plan[0].delegates[0].processed"))),
        (
            "D-4",
            "inline payloads without a list",
            patched(&with_layout(DELEGATES, "delegates: inline"), |f| f.drop("backend_delegate_data")),
        ),
        (
            "D-5",
            "inline payload 9",
            patched(&with_layout(DELEGATES, "delegates: inline"), |f| {
                f.set32("execution_plan[0].delegates[1].processed.index", 9)
            }),
        ),
        (
            "D-5",
            "inline payloads without data",
            patched(&with_layout(DELEGATES, "delegates: inline"), |f| f.drop("backend_delegate_data[0].data")),
        ),
        (
            "D-7",
            "a payload at place 2",
            patched(BASE, |f| f.set("execution_plan[0].delegates[0].processed.location", &[2])),
        ),
        (
            "D-9",
            "an option without key and value",
            edited(BASE, |p| {
                plan(p).delegates.as_mut().unwrap()[0].compile_specs = Some(vec![CompileSpec::default()]);
            }),
        ),
        ("T-40", "a bool that is 2", edited(&constant("bool", "hex: '000201'"), |_| {})),
        ("T-41", "a weight that is no number", edited(&constant("float16", "hex: '003c007e'"), |_| {})),
        ("D-11", "a graph longer than its payload", payload(|payload, _| payload[14..18].fill(0x7f))),
        ("D-12", "a graph without a root", payload(|_, graph| graph.bytes[..4].fill(0x7f))),
        ("D-12", "an operation on a value that is not there", {
            payload(|_, graph| graph.set32("xnodes[0].xnode_union.output_id", 99))
        }),
        (
            "D-12",
            "a kernel that is larger than its filter",
            payload(|_, graph| graph.set32("xnodes[1].xnode_union.kernel_height", 4)),
        ),
        (
            "D-12",
            "a result that goes to an input",
            payload(|_, graph| graph.set32("xnodes[0].xnode_union.output_id", 0)),
        ),
        (
            "D-13",
            "data under another key",
            patched_golden("conv_xnn/model.pte", |f| {
                let key = f.target("named_data[0].key");
                f.write(key + 4, b"?");
            }),
        ),
        (
            "D-14",
            "a call with one argument",
            patched_golden("conv_xnn/model.pte", |f| {
                let args = f.target("execution_plan[0].chains[0].instructions[0].instr_args.args");
                f.write(args, &[1]);
            }),
        ),
        (
            "D-10",
            "a delegate that nobody calls",
            edited(DELEGATES, |p| {
                _ = plan(p).chains.as_mut().unwrap()[0].instructions.as_mut().unwrap().pop();
            }),
        ),
    ]
}

fn methods() -> Vec<Row> {
    let args = |at, wrong: Option<Vec<i32>>| {
        edited(BASE, |p| match instruction(p, at) {
            Instruction::KernelCall { args, .. } | Instruction::DelegateCall { args, .. } => {
                *args = wrong.map(Into::into)
            }
            other => panic!("{other:?}"),
        })
    };
    vec![
        ("G-22", "no inputs", edited(BASE, |p| plan(p).inputs = None)),
        (
            "G-23",
            "a buffer of -1 bytes",
            patched(BASE, |f| f.set64("execution_plan[0].non_const_buffer_sizes[1]", u64::MAX)),
        ),
        (
            "G-24",
            "the device of buffer 9",
            edited(BASE, |p| {
                let device = NonConstBufferDevice { buffer_idx: 9, device_type: 1, device_index: 0 };
                plan(p).memory.non_const_buffer_device = Some(vec![device]);
            }),
        ),
        ("M-1", "no values", patched(ADD, |f| f.drop("execution_plan[0].values"))),
        ("M-2", "values that are absent", patched(ADD, |f| f.drop("execution_plan[0].values[0].val"))),
        ("M-5", "a String without a text", edited(BASE, |p| *value(p, "String") = EValue::String(None))),
        ("M-6", "a BoolList without items", edited(BASE, |p| *value(p, "BoolList") = EValue::BoolList(None))),
        ("M-7", "an IntList of value 99", edited(BASE, |p| *value(p, "IntList") = EValue::IntList(Some(vec![99, -1])))),
        ("M-8", "an IntList of a Tensor", edited(BASE, |p| *value(p, "IntList") = EValue::IntList(Some(vec![0])))),
        (
            "M-8",
            "an IntList of a Bool, in a kernel call",
            edited(BASE, |p| {
                let (list, item) = (index(p, "IntList", 0), index(p, "Bool", 0));
                *value(p, "IntList") = EValue::IntList(Some(vec![item as i64]));
                *instruction(p, 0) = Instruction::KernelCall { op_index: 0, args: Some(vec![0, list as i32].into()) };
            }),
        ),
        (
            "G-29",
            "an IntList of a later value",
            edited(BASE, |p| {
                let last = plan(p).values().iter().rposition(|value| value.kind() == "Int").unwrap();
                *value(p, "IntList") = EValue::IntList(Some(vec![last as i64]));
            }),
        ),
        (
            "M-9",
            "a TensorList of a later value, an Int, and itself",
            edited(BASE, |p| {
                let (own, int, last) = (index(p, "TensorList", 0), index(p, "Int", 0), index(p, "Tensor", 4));
                *value(p, "TensorList") =
                    EValue::TensorList(Some([last, int, own].iter().map(|at| *at as i32).collect()));
            }),
        ),
        (
            "M-11",
            "an OptionalTensorList of -2",
            edited(BASE, |p| {
                *value(p, "OptionalTensorList") = EValue::OptionalTensorList(Some(vec![-1, -2]));
            }),
        ),
        ("M-13", "a value of kind 12", patched(BASE, |f| f.set(&format!("{}.val_type", path(f, "Int")), &[12]))),
        ("M-20", "no list of delegates", edited(BASE, |p| plan(p).delegates = None)),
        ("M-21", "no chains", edited(BASE, |p| plan(p).chains = Some(Vec::new()))),
        (
            "M-22",
            "a chain without instructions",
            edited(BASE, |p| plan(p).chains.as_mut().unwrap()[0].instructions = None),
        ),
        ("M-25", "no operators", edited(BASE, |p| plan(p).operators = None)),
        ("M-26", "input 99", edited(BASE, |p| plan(p).inputs = Some(vec![99]))),
        ("M-27", "a constant as input", edited(BASE, |p| plan(p).inputs = Some(vec![0, 1]))),
        ("G-21", "an input twice", edited(BASE, |p| plan(p).inputs = Some(vec![0, 0]))),
        (
            "M-28",
            "a list as input",
            edited(BASE, |p| {
                let list = index(p, "IntList", 0);
                plan(p).inputs = Some(vec![list as i32]);
            }),
        ),
        ("T-1", "a storage offset", edited(ADD, |p| tensor(p, 0).storage_offset = 4)),
        ("T-2", "the element type 30", edited(ADD, |p| shape(p, 30, &[2, 2]))),
        ("T-3", "a tensor without a bound", edited(ADD, |p| tensor(p, 1).shape_dynamism = 2)),
        ("T-4", "shape_dynamism 3", edited(ADD, |p| tensor(p, 0).shape_dynamism = 3)),
        (
            "T-5",
            "no sizes",
            edited(ADD, |p| {
                shape(p, 6, &[]);
                tensor(p, 0).sizes = None;
            }),
        ),
        ("T-6", "17 dimensions", edited(ADD, |p| shape(p, 6, &[1; 17]))),
        (
            "T-7",
            "a short dim_order",
            edited(ADD, |p| {
                shape(p, 6, &[2, 2]);
                tensor(p, 0).dim_order = Some(vec![0].into());
            }),
        ),
        ("T-8", "a negative size", edited(ADD, |p| shape(p, 6, &[2, -1]))),
        (
            "T-9",
            "a dimension twice",
            edited(ADD, |p| {
                shape(p, 6, &[2, 2]);
                tensor(p, 0).dim_order = Some(vec![0, 0].into());
            }),
        ),
        ("T-11", "a stride of 2^32", edited(ADD, |p| shape(p, 0, &[2, 65536, 65536]))),
        ("T-12", "2^64 elements", edited(ADD, |p| shape(p, 6, &[65536; 4]))),
        ("P-V4", "a zero behind a product of 2^64", edited(ADD, |p| shape(p, 6, &[i32::MAX, i32::MAX, 4, 0]))),
        ("T-13", "a device of type 7", extra(|extra| extra.device_type = 7)),
        ("G-25", "data at place 2", extra(|extra| extra.location = 2)),
        ("G-26", "entry 1 of mutable_data_segments", extra(|extra| extra.mutable_data_segments_idx = 1)),
        ("T-21", "buffer 0", placed(|f| f.set32(&format!("{PLACE}.memory_id"), 0))),
        (
            "T-22",
            "an offset of 2^64 - 1",
            placed(|f| {
                f.set32(&format!("{PLACE}.memory_offset_low"), -1);
                f.set32(&format!("{PLACE}.memory_offset_high"), -1);
            }),
        ),
        ("T-23", "an offset behind the buffer", placed(|f| f.set32(&format!("{PLACE}.memory_offset_high"), 2))),
        ("T-24", "an offset of 2^32 + 16", placed(|_| {})),
        ("T-25", "an odd offset", placed(|f| f.set32(&format!("{PLACE}.memory_offset_low"), 1))),
        (
            "T-31",
            "external data without a key",
            edited(ADD, |p| {
                shape(p, 6, &[2, 2]);
                tensor(p, 0).data = TensorData::Elsewhere(Some(0));
                tensor(p, 0).extra_tensor_info =
                    Some(ExtraTensorInfo { location: 1, ..ExtraTensorInfo::default() }.into());
            }),
        ),
        (
            "I-1",
            "instructions that are absent",
            patched(ADD, |f| f.drop("execution_plan[0].chains[0].instructions[0].instr_args")),
        ),
        (
            "I-2",
            "an instruction of kind 6",
            patched(BASE, |f| f.set("execution_plan[0].chains[0].instructions[3].instr_args_type", &[6])),
        ),
        ("I-3", "a kernel called with value 99", args(0, Some(vec![0, 99]))),
        ("I-3", "a kernel called without args", args(0, None)),
        (
            "I-4",
            "operator 9",
            edited(BASE, |p| *instruction(p, 0) = Instruction::KernelCall { op_index: 9, args: Some(vec![0].into()) }),
        ),
        (
            "I-5",
            "an operator without an overload",
            edited(BASE, |p| plan(p).operators.as_mut().unwrap()[0].overload = None),
        ),
        ("I-6", "a long name", edited(BASE, |p| plan(p).operators.as_mut().unwrap()[0].name = Some("a".repeat(120)))),
        (
            "I-7b",
            "a call with 219 tensors",
            edited(ADD, |p| {
                shape(p, 6, &[]);
                *instruction(p, 0) = Instruction::KernelCall { op_index: 0, args: Some(vec![0; 219].into()) };
            }),
        ),
        ("I-10", "a delegate called with value 99", args(2, Some(vec![99]))),
        (
            "I-22",
            "delegate 9",
            edited(BASE, |p| {
                *instruction(p, 2) = Instruction::DelegateCall { delegate_index: 9, args: Some(vec![].into()) }
            }),
        ),
        (
            "I-11",
            "a condition that is not there",
            edited(BASE, |p| {
                *instruction(p, 3) = Instruction::JumpFalseCall { cond_value_index: 99, destination_instruction: 4 };
            }),
        ),
        (
            "I-23",
            "an Int as condition",
            edited(BASE, |p| {
                let cond_value_index = index(p, "Int", 0) as i32;
                *instruction(p, 3) = Instruction::JumpFalseCall { cond_value_index, destination_instruction: 4 };
            }),
        ),
        (
            "I-24",
            "a jump to instruction 99",
            edited(BASE, |p| {
                let cond_value_index = index(p, "Bool", 0) as i32;
                *instruction(p, 3) = Instruction::JumpFalseCall { cond_value_index, destination_instruction: 99 };
            }),
        ),
        (
            "I-12",
            "a move to value 99",
            edited(BASE, |p| *instruction(p, 4) = Instruction::MoveCall { move_from: 0, move_to: 99 }),
        ),
        (
            "I-25",
            "a Tensor moved over an Int",
            edited(BASE, |p| {
                let move_to = index(p, "Int", 0) as i32;
                *instruction(p, 4) = Instruction::MoveCall { move_from: 0, move_to };
            }),
        ),
        ("I-13", "value 99 freed", edited(BASE, |p| *instruction(p, 4) = Instruction::FreeCall { value_index: 99 })),
        (
            "I-26",
            "a planned tensor freed",
            edited(BASE, |p| *instruction(p, 4) = Instruction::FreeCall { value_index: 0 }),
        ),
    ]
}

fn bundles() -> Vec<Row> {
    let case = "method_test_suites[0].test_cases[0]";
    let field = |name: &str| format!("{case}.{name}");
    vec![
        ("B-2", "no program", bundled(|f| f.drop("program"))),
        ("G-9", "version 1", bundled(|f| f.set32("version", 1))),
        ("B-3", "tests without inputs", bundled(|f| f.drop(&field("inputs")))),
        (
            "B-4",
            "tests of another method",
            bundled(|f| {
                let at = f.target("method_test_suites[0].method_name") + 4;
                f.bytes[at] = b'F';
            }),
        ),
        (
            "B-6",
            "one input for a method of two",
            bundled(|f| {
                let list = f.target(&field("inputs"));
                f.write(list, &1u32.to_le_bytes());
            }),
        ),
        ("B-7", "an input of kind 5", bundled(|f| f.set(&field("inputs[1].val_type"), &[5]))),
        (
            "B-8",
            "a tensor of another type, and another number",
            bundled(|f| {
                f.set(&field("inputs[0].val.scalar_type"), &[3]);
                f.set64(&field("inputs[1].val.int_val"), 8);
            }),
        ),
        (
            "B-9",
            "8 bytes for a tensor of 16",
            bundled(|f| {
                let data = f.target(&field("inputs[0].val.data"));
                f.write(data, &8u32.to_le_bytes());
            }),
        ),
        (
            "G-31",
            "an output in another order",
            bundled(|f| {
                f.set(&field("expected_outputs[0].val.dim_order[0]"), &[1]);
                f.set(&field("expected_outputs[0].val.dim_order[1]"), &[0]);
            }),
        ),
        ("B-10", "an output of another type", bundled(|f| f.set(&field("expected_outputs[0].val.scalar_type"), &[3]))),
    ]
}

/// What is wrong between a program and its `.ptd` files.
fn external() -> Vec<Case> {
    let case = |rule, what, with: Vec<Vec<u8>>| Case {
        rule,
        what,
        bytes: golden("addmul_ext/model.pte"),
        with: with.into_iter().map(given).collect(),
    };
    let named = ADD.to_owned() + "named_data: {a: {hex: \"00\"}}\n";
    vec![
        case("T-30", "no .ptd", vec![]),
        case("T-32", "the .ptd of another model", vec![golden("lora_tags/first.ptd")]),
        case(
            "T-33",
            "another element type in the .ptd",
            vec![data(|f| f.set("named_data[0].tensor_layout.scalar_type", &[3]))],
        ),
        case("T-34", "a segment of 4 bytes", vec![data(|f| f.set64("segments[0].size", 4))]),
        case("N-15", "keys without layouts", vec![data(|f| f.drop("named_data[0].tensor_layout"))]),
        case("N-32", "the same .ptd twice", vec![data(|_| {}), data(|_| {})]),
        case("G-30", "a damaged .ptd", vec![data(|f| f.write(8, b"FH00"))]),
        Case { bytes: edited(&named, |_| {}), ..case("N-31", "a key in both files", vec![data(|_| {})]) },
    ]
}
