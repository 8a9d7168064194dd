//! Tests that every value and instruction is read as it was emitted, and that content that no program can represent is
//! an error.

use std::io;
use std::sync::Arc;

use super::resolve::{assembled, forward};
use crate::emitter;
use crate::layout::{self, LayoutConfig, Storage};
use pte_model::data::{Blob, Origin, dedup};
use pte_model::format::ScalarType;
use pte_model::format::serializer::Serializer;
use pte_model::program::*;
use pte_model::program::{DeviceType, StorageLayout, TensorDataLocation, TensorShapeDynamism};
use pte_model::reader::program::{ProgramContents, ProgramHeader, header, read, read_cut};

fn origin(bytes: Vec<u8>) -> Origin {
    Origin::Bytes(Arc::from(bytes))
}

/// A `.pte` with this program.
pub fn file(program: &Program, options: &LayoutConfig) -> Vec<u8> {
    let same = dedup::find(&program.blobs).unwrap();
    let plan = layout::plan(program, &same, options).unwrap();
    let flatbuffer = emitter::program::emit(program, &plan, options, None).unwrap();
    let placement = layout::file::program(flatbuffer.len() as u64, &plan.segments, options).unwrap();
    emitter::Metadata { flatbuffer, placement }.file(&plan.segments, &program.blobs).to_vec().unwrap()
}

fn read_back(program: &Program, options: &LayoutConfig) -> ProgramContents {
    read(&origin(file(program, options))).unwrap()
}

/// A program with one method of these values, all of whose lists are empty.
fn of_values(values: Vec<EValue>) -> Program {
    let plan = ExecutionPlan {
        name: Some("forward".into()),
        container_meta_type: Some(ContainerMetadata { encoded_inp_str: Some("in".into()), encoded_out_str: None }),
        values: Some(values),
        inputs: Some(vec![]),
        outputs: Some(vec![]),
        chains: Some(vec![]),
        operators: Some(vec![]),
        delegates: Some(vec![]),
        memory: MemoryRequest { non_const_buffer_sizes: Some(vec![0, 1 << 40]), ..MemoryRequest::default() },
    };
    Program { execution_plan: Some(vec![plan]), ..Program::default() }
}

fn value_round_trips(value: EValue) {
    for builder in Serializer::ALL {
        let program = of_values(vec![value.clone()]);
        let found = read_back(&program, &LayoutConfig { builder, ..LayoutConfig::default() });
        assert_eq!(found.program.plans(), program.plans(), "{builder:?}");
    }
}

// ----------------------------------------------------------------------------------------------------------------
// values

#[test]
fn numbers_round_trip() {
    [EValue::Null, EValue::Int(0), EValue::Int(i64::MIN), EValue::Bool(false), EValue::Bool(true)]
        .into_iter()
        .for_each(value_round_trips);
    [EValue::Double(0.0), EValue::Double(-1.5), EValue::Double(f64::INFINITY)].into_iter().for_each(value_round_trips);
}

#[test]
fn a_nan_keeps_its_bits() {
    // W-16
    let bits = 0xfff0_0000_0000_0001;
    let found = read_back(&of_values(vec![EValue::Double(f64::from_bits(bits))]), &LayoutConfig::default());
    let [EValue::Double(x)] = found.program.plans()[0].values() else { panic!("{:?}", found.program) };
    assert_eq!(x.to_bits(), bits);
}

#[test]
fn strings_round_trip_absent_or_empty() {
    [None, Some("".into()), Some("ä\0b".into())].into_iter().for_each(|text| value_round_trips(EValue::String(text)));
}

#[test]
fn lists_round_trip_absent_or_empty() {
    [None, Some(vec![]), Some(vec![i64::MAX, -1])]
        .into_iter()
        .for_each(|items| value_round_trips(EValue::IntList(items)));
    [None, Some(vec![]), Some(vec![0.0, -2.5])]
        .into_iter()
        .for_each(|items| value_round_trips(EValue::DoubleList(items)));
    [None, Some(vec![]), Some(vec![true, false])]
        .into_iter()
        .for_each(|items| value_round_trips(EValue::BoolList(items)));
    [None, Some(vec![]), Some([3, 0].map(ValueId).to_vec())]
        .into_iter()
        .for_each(|items| value_round_trips(EValue::TensorList(items)));
    [None, Some(vec![]), Some(vec![ValueId::NONE, ValueId(2)])]
        .into_iter()
        .for_each(|items| value_round_trips(EValue::OptionalTensorList(items)));
}

/// A tensor without data in planned memory.
fn tensor(sizes: &[i32]) -> Tensor {
    Tensor { memory: Memory::At { pool: 1, offset: 3 << 33 | 64 }, ..Tensor::new(ScalarType::HALF, sizes) }
}

#[test]
fn tensors_round_trip() {
    value_round_trips(EValue::Tensor(tensor(&[])));
    value_round_trips(EValue::Tensor(tensor(&[2, 0, 3, 4, 5, 6])));
    value_round_trips(EValue::Tensor(Tensor { memory: Memory::None, ..tensor(&[1]) }));
    value_round_trips(EValue::Tensor(Tensor {
        storage_offset: -7,
        dim_order: Some(vec![1, 0].into()),
        requires_grad: true,
        layout: StorageLayout::SPARSE,
        shape_dynamism: TensorShapeDynamism::DYNAMIC_UNBOUND,
        ..tensor(&[2, 3])
    }));
}

#[test]
fn a_tensor_without_lists_round_trips() {
    let mut program =
        of_values(vec![EValue::Tensor(Tensor { sizes: None, dim_order: None, memory: Memory::None, ..tensor(&[]) })]);
    program.execution_plan.as_mut().unwrap()[0].name = None;
    assert_eq!(read_back(&program, &LayoutConfig::default()).program.plans(), program.plans());
}

#[test]
fn extra_tensor_info_round_trips() {
    let extra = ExtraTensorInfo {
        mutable_data_segments_idx: u64::MAX,
        fully_qualified_name: Some("a.b".into()),
        location: TensorDataLocation::SEGMENT,
        device_type: DeviceType::CUDA,
        device_index: -1,
        tag: None,
    };
    value_round_trips(EValue::Tensor(Tensor {
        extra_tensor_info: Some(Box::new(extra)),
        memory: Memory::None,
        ..tensor(&[1])
    }));
}

#[test]
fn an_external_tensor_keeps_its_number() {
    let extra = ExtraTensorInfo {
        fully_qualified_name: Some("k".into()),
        location: TensorDataLocation::EXTERNAL,
        ..ExtraTensorInfo::default()
    };
    let data = TensorData::Elsewhere(Some(9));
    let external = Tensor { extra_tensor_info: Some(Box::new(extra)), data, memory: Memory::None, ..tensor(&[1]) };
    value_round_trips(EValue::Tensor(external));
}

// ----------------------------------------------------------------------------------------------------------
// instructions

fn chains_round_trip(chains: Option<Vec<Chain>>) {
    for builder in Serializer::ALL {
        let mut program = of_values(vec![EValue::Null]);
        program.execution_plan.as_mut().unwrap()[0].chains = chains.clone();
        let found = read_back(&program, &LayoutConfig { builder, ..LayoutConfig::default() });
        assert_eq!(found.program.plans()[0].chains, chains, "{builder:?}");
    }
}

fn instruction_round_trips(instruction: Instruction) {
    chains_round_trip(Some(vec![Chain { instructions: Some(vec![instruction]), ..Chain::default() }]));
}

#[test]
fn instructions_round_trip() {
    let args = || [None, Some(Args::default()), Some(Args::from(&[0, -1, 5, 6, 7, 8, i32::MAX]))];
    args()
        .into_iter()
        .for_each(|args| instruction_round_trips(Instruction::KernelCall { op_index: OperatorId(7), args }));
    args()
        .into_iter()
        .for_each(|args| instruction_round_trips(Instruction::DelegateCall { delegate_index: DelegateId(-2), args }));
    instruction_round_trips(Instruction::MoveCall { move_from: ValueId(1), move_to: ValueId(2) });
    instruction_round_trips(Instruction::JumpFalseCall { cond_value_index: ValueId(3), destination_instruction: 4 });
    instruction_round_trips(Instruction::FreeCall { value_index: ValueId(5) });
}

#[test]
fn chains_round_trip_absent_or_empty() {
    chains_round_trip(None);
    chains_round_trip(Some(vec![]));
    chains_round_trip(Some(vec![
        Chain::default(),
        Chain { inputs: Some(vec![ValueId(1)]), outputs: Some(vec![]), ..Chain::default() },
    ]));
    let frame = StackFrame { filename: Some("f.py".into()), lineno: 4, name: None, context: Some("".into()) };
    let stacktrace = Some(vec![None, Some(vec![]), Some(vec![frame])]);
    chains_round_trip(Some(vec![Chain { instructions: Some(vec![]), stacktrace, ..Chain::default() }]));
}

#[test]
fn an_absent_list_of_methods_and_of_values_stays_absent() {
    let program = Program { version: 3, ..Program::default() };
    let found = read_back(&program, &LayoutConfig::default()).program;
    assert_eq!((found.version, found.execution_plan), (3, None));
    let plan = ExecutionPlan {
        memory: MemoryRequest { non_const_buffer_sizes: Some(vec![]), ..MemoryRequest::default() },
        ..ExecutionPlan::default()
    };
    let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
    assert_eq!(read_back(&program, &LayoutConfig::default()).program.plans(), program.plans());
}

// ------------------------------------------------------------------------------------------------------------------
// data

/// A constant, a state, two delegates and a named blob, of different bytes.
fn with_data() -> Program {
    let mut program = of_values(Vec::new());
    let mut blob = |bytes: &[u8]| program.add_blob(Blob::bytes(bytes));
    let constant = Tensor { data: TensorData::Blob(blob(&[1, 2])), memory: Memory::None, ..tensor(&[1]) };
    let state = Tensor { data: TensorData::Blob(blob(&[3, 4])), ..tensor(&[1]) };
    let spec = |key: Option<&str>, value: Option<&[u8]>| CompileSpec {
        key: key.map(str::to_owned),
        value: value.map(<[u8]>::to_vec),
    };
    let delegate = |processed, inline| BackendDelegate {
        id: Some("B".into()),
        processed,
        inline,
        compile_specs: Some(vec![spec(Some("k"), Some(&[9])), spec(None, None)]),
    };
    let delegates =
        vec![delegate(blob(&[5, 6, 7]), Some(false)), delegate(blob(&[8]), Some(true)), delegate(blob(&[]), None)];
    program.named_data = Some(vec![NamedData { key: "n".into(), data: blob(&[10; 5]), alignment: 1 }]);
    let plan = &mut program.execution_plan.as_mut().unwrap()[0];
    plan.values = Some(vec![EValue::Tensor(constant), EValue::Tensor(state)]);
    plan.delegates = Some(delegates);
    program
}

/// The bytes of the data of a program, in the order of values, delegates and named data.
fn contents(program: &Program) -> Vec<Vec<u8>> {
    let plan = &program.plans()[0];
    let tensors = plan.tensors().filter_map(|(_, tensor)| match tensor.data {
        TensorData::Blob(blob) => Some(blob),
        _ => None,
    });
    let blobs = tensors.chain(plan.delegates().iter().map(|delegate| delegate.processed));
    let blobs = blobs.chain(program.named_data.iter().flatten().map(|data| data.data));
    blobs.map(|blob| program.blob(blob).to_vec().unwrap()).collect()
}

#[test]
fn data_round_trip_in_segments_and_inline() {
    let program = with_data();
    let bytes = [vec![1, 2], vec![3, 4], vec![5, 6, 7], vec![8], vec![], vec![10; 5]];
    for constants in [Storage::Segment, Storage::Inline] {
        let found = read_back(&program, &LayoutConfig { constants, ..LayoutConfig::default() });
        assert_eq!(contents(&found.program), bytes);
        assert_eq!(found.inline_constants, constants == Storage::Inline);
        let inline = |program: &Program| program.plans()[0].delegates().iter().map(|d| d.inline).collect::<Vec<_>>();
        assert_eq!(inline(&found.program), inline(&program));
        let specs = |program: &Program| program.plans()[0].delegates()[0].compile_specs.clone();
        assert_eq!(specs(&found.program), specs(&program));
    }
}

#[test]
fn the_layout_of_a_file_is_found() {
    let found = read_back(&with_data(), &LayoutConfig::default());
    // Constants, states, payload, named data.
    assert_eq!(found.segments, [(0, 2), (128, 2), (256, 3), (384, 5)]);
    assert_eq!((found.constant_offsets, found.named_segments), (vec![0, 0], vec![3]));
    assert_eq!(found.header.unwrap().segment_data_size, Some(389));
}

#[test]
fn shared_data_stay_shared() {
    let yaml = forward("values: {a: {tensor: int8, data: [1]}, b: {tensor: int8, data: [1]}}, outputs: [a, b]");
    let bytes = assembled(&yaml).program_file().unwrap().to_vec().unwrap();
    assert_eq!(read(&origin(bytes)).unwrap().program.blobs.len(), 1);
}

// ----------------------------------------------------------------------------------------------------------------
// header

/// The first bytes of a file with a header of this stated length and these fields.
fn head(length: u32, fields: [u64; 3]) -> Vec<u8> {
    let mut bytes = b"\x30\0\0\0ET12eh00".to_vec();
    bytes.extend(length.to_le_bytes());
    bytes.extend(fields.map(u64::to_le_bytes).concat());
    bytes.resize(64, 0);
    bytes
}

#[test]
fn a_header_has_its_fields_and_a_short_one_no_data_size() {
    let expected = |length, segment_data_size| {
        Some(ProgramHeader { length, program_size: 1, segment_base_offset: 2, segment_data_size })
    };
    assert_eq!(header(&head(32, [1, 2, 3])).unwrap(), expected(32, Some(3)));
    // H-6
    assert_eq!(header(&head(u32::MAX, [1, 2, 3])).unwrap(), expected(u32::MAX, Some(3)));
    assert_eq!(header(&head(24, [1, 2, 3])).unwrap(), expected(24, None));
    assert_eq!(header(&head(31, [1, 2, 3])).unwrap(), expected(31, None));
}

#[test]
fn a_header_of_less_than_24_bytes_is_an_error() {
    assert!(header(&head(23, [1, 2, 3])).is_err());
    assert!(header(&head(32, [1, 2, 3])[..20]).is_err());
}

#[test]
fn without_the_magic_there_is_no_header() {
    let mut bytes = head(0, [1, 2, 3]);
    bytes[11] = b'1';
    assert_eq!(header(&bytes).unwrap(), None);
    assert_eq!(header(b"\x30\0\0\0ET").unwrap(), None);
}

// --------------------------------------------------------------------------------------------------------- hostile
// files

/// Reads a program with this override, a path and its value.
fn overridden(yaml: &str, set: &str) -> io::Result<ProgramContents> {
    let (path, value) = set.split_once(": ").unwrap();
    let assembly = assembled(&format!("{yaml}raw: {{set: {{\"{path}\": {value}}}}}\n"));
    read(&origin(assembly.program_file().unwrap().to_vec().unwrap()))
}

/// Overrides, and the field that the error names.
const HOSTILE: &[(&str, &str)] = &[
    ("methods.forward.values.w.data_buffer_idx: 9", "Tensor.data_buffer_idx"),
    ("methods.forward.values.w.sizes[0]: 1000000", "Tensor.data_buffer_idx"),
    ("methods.forward.values.w.sizes[0]: -1", "Tensor.data_buffer_idx"),
    ("methods.forward.values.w.sizes.@length: 100000", "Tensor.sizes"),
    ("methods.forward.values.w.requires_grad: 2", "Tensor.requires_grad"),
    ("methods.forward.values.w.val_type: 0", "EValue.val_type"),
    ("methods.forward.values.n.val: absent", "EValue.val"),
    ("methods.forward.instructions[0].instr_args: null", "Instruction.instr_args"),
    ("methods.forward.delegates[0].processed: absent", "BackendDelegate.processed"),
    ("methods.forward.delegates[0].processed.index: 44", "BackendDelegateDataReference.index"),
    ("methods.forward.delegates[0].processed.location: 2", "BackendDelegateDataReference.location"),
    ("methods.forward.name: {bytes: {hex: ff}}", "ExecutionPlan.name"),
    ("methods.forward.name.@terminator: 1", "ExecutionPlan.name"),
    ("constant_segment.segment_index: 70", "SubsegmentOffsets.segment_index"),
    ("named_data[0].segment_index: 70", "NamedData.segment_index"),
];

const WITH_ALL: &str = "values: {w: {tensor: int8, data: [1]}, n: 5}, outputs: [w], instructions: [{free: w}],
    delegates: {d: {backend: B, data: {text: p}}}";

#[test]
fn what_no_program_can_hold_is_an_error_at_the_field() {
    assert_eq!(HOSTILE.len(), 15);
    let yaml = format!("{}named_data: {{k: {{hex: ff}}}}\n", forward(WITH_ALL));
    for (set, field) in HOSTILE {
        let error = overridden(&yaml, set).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{field}:")), "{set}: {error}");
    }
}

#[test]
fn what_a_newer_schema_may_have_is_read() {
    let read = |set: &str| overridden(&forward(WITH_ALL), set).unwrap().program;
    let program = read("methods.forward.values.w.val_type: 12");
    assert_eq!(program.plans()[0].values()[0], EValue::Unknown(12));
    assert_eq!(program.newer_paths(), "`methods.forward.values[0]`");
    let program = read("methods.forward.instructions[0].instr_args_type: 6");
    assert_eq!(program.plans()[0].instructions().next(), Some(&Instruction::Unknown { tag: 6 }));
    assert_eq!(program.newer_paths(), "`methods.forward.instructions[0]`");
    let program = read("methods.forward.values.w.scalar_type: 99");
    let data = &program.plans()[0].values()[0].as_tensor().unwrap().data;
    assert!(matches!(data, TensorData::Blob(blob) if program.blob(*blob).len() == 1));
}

#[test]
fn null_without_a_table_is_null() {
    // M-3
    let found = overridden(&forward("outputs: [null]"), "methods.forward.values[0].val: absent").unwrap();
    assert_eq!(found.program.plans()[0].values(), [EValue::Null]);
}

#[test]
fn data_behind_the_end_of_the_file_are_an_error() {
    let yaml = forward("values: {w: {tensor: int8, data: [1, 2, 3]}}, outputs: [w]");
    let bytes = assembled(&yaml).program_file().unwrap().to_vec().unwrap();
    assert!(read(&origin(bytes.clone())).is_ok());
    assert!(read(&origin(bytes[..bytes.len() - 1].to_vec())).is_err());
}

#[test]
fn in_a_file_that_is_cut_off_missing_data_are_zeros() {
    let yaml = forward("values: {w: {tensor: int8, data: [1, 2, 3]}}, outputs: [w]");
    let bytes = assembled(&yaml).program_file().unwrap().to_vec().unwrap();
    let found = read_cut(&origin(bytes[..bytes.len() - 1].to_vec())).unwrap();
    assert_eq!(contents(&found.program), [[0, 0, 0]]);
    assert_eq!(contents(&read_cut(&origin(bytes)).unwrap().program), [[1, 2, 3]]);
}

#[test]
fn no_cut_of_the_metadata_makes_it_panic() {
    let bytes = file(&with_data(), &LayoutConfig::default());
    let end = header(&bytes).unwrap().unwrap().program_size as usize;
    for len in (0..end).step_by(7) {
        assert!(read(&origin(bytes[..len].to_vec())).is_err(), "{len}");
    }
}

#[test]
fn data_without_a_use_and_in_another_order_are_found() {
    let tensors = "values: {v: {tensor: int8, data: [1]}, w: {tensor: int8, data: [2]}, x: {tensor: int8, data: [3]},
        s: {tensor: int8, data: [4], mutable: true}, t: {tensor: int8, data: [5], mutable: true}}, outputs: [v],
        delegates: {a: {backend: B, data: {text: p}, inline: true}, b: {backend: B, data: {text: q}, inline: true},
        c: {backend: B, data: {text: r}}}";
    let yaml = format!("{}named_data: {{k: {{hex: ff}}}}\n", forward(tensors));
    let buffer = |value: &str, index: u32| format!("methods.forward.values.{value}.data_buffer_idx: {index}");
    let payload = |delegate: u32, index: u32| format!("methods.forward.delegates[{delegate}].processed.index: {index}");
    for (overrides, expected) in [
        (String::new(), None),
        (buffer("x", 1), Some("constant 3 is not used")),
        (
            [buffer("w", 3), buffer("x", 2)].join(", "),
            Some("constant 2 is not at its place in the order of the first use"),
        ),
        (buffer("t", 1), Some("initial state 2 is not used")),
        (payload(0, 1), Some("inline payload 0 is not used")),
        (
            [payload(0, 1), payload(1, 0)].join(", "),
            Some("inline payload 0 is not at its place in the order of the first use"),
        ),
        (payload(2, 3), Some("segment 2 is not used")),
    ] {
        let set: String = overrides
            .split(", ")
            .filter_map(|one| one.split_once(": "))
            .map(|(path, value)| format!("\"{path}\": {value}, "))
            .collect();
        let assembly = assembled(&format!("{yaml}raw: {{set: {{{set}}}}}\n"));
        let found = read(&origin(assembly.program_file().unwrap().to_vec().unwrap())).unwrap();
        assert_eq!(found.data.irregularity(found.segments.len()).as_deref(), expected, "{overrides}");
    }
}
