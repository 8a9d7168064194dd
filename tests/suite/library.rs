//! Behaviour of the library that differs from that of the command.

use std::path::Path;

use pretty_assertions::assert_eq;
use pte_emit::program::{
    Args, BackendDelegate, Chain, DelegateId, EValue, ExecutionPlan, ExternalData, Instruction, Memory, NamedData,
    OperatorId, Program, Tensor, TensorData, TensorShapeDynamism, ValueId,
};
use pte_emit::{Argument, AssembleOptions, Assembly, Blob, BlobId, MethodBuilder, Model, Resolved, ScalarType, Value};

// Its main function is run by nobody here.
#[allow(dead_code)]
#[path = "../../examples/library.rs"]
mod example;

/// `assemble` takes one document; the command splits a file with `documents`.
#[test]
fn a_second_document_is_an_error() {
    let text = "methods: {}\n---\nmethods: {}\n";
    let input = Model::from_yaml("two.yaml", text, Path::new(""));
    let message = input.assemble(&AssembleOptions::default()).unwrap_err().to_string();
    let expected = "two.yaml:3:1: error: the file has several documents; expected one";
    assert!(message.starts_with(expected), "{message}");
}

/// examples/library.rs builds without YAML what this YAML says, and gives the same bytes.
#[test]
fn a_program_built_in_rust_is_that_of_its_yaml() {
    let yaml = "
methods:
  forward:
    values:
      weight: {tensor: float32, data: [[1, 0, 2, 0], [0, 1, 0, 3], [1, 1, 1, 1]]}
      bias: {tensor: float32, data: [0.1, 0.2, 0.3]}
      x: {tensor: float32, sizes: [1, 4]}
      wt: {tensor: float32, sizes: [4, 3]}
      mm: {tensor: float32, sizes: [1, 3]}
      y: {tensor: float32, sizes: [1, 3]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::permute_copy.out, args: [weight, [1, 0]], out: wt}
      - {kernel: aten::addmm.out, args: [bias, x, wt], out: mm}
      - {kernel: aten::relu.out, args: [mm], out: y}
";
    let from_yaml = Model::from_yaml("linear.yaml", yaml, "").assemble(&AssembleOptions::default()).unwrap();
    let built = example::linear().unwrap().to_files(&AssembleOptions::default()).unwrap();
    let bytes = |assembly: &Assembly| assembly.program_file().unwrap().to_vec().unwrap();
    assert!(bytes(&from_yaml) == bytes(&built));
}

const FLOAT: ScalarType = ScalarType::FLOAT;

/// Returns the messages of the error for these methods, without `error: `.
fn errors(methods: impl IntoIterator<Item = MethodBuilder>) -> Vec<String> {
    let error = Resolved::from_methods(methods).unwrap_err();
    error.diagnostics().iter().map(|diagnostic| diagnostic.message.clone()).collect()
}

/// Returns the message for a method `f` that `build` adds to, and that has the output `y`.
fn error_of(build: impl FnOnce(&mut MethodBuilder)) -> String {
    let mut method = MethodBuilder::new("f");
    build(&mut method);
    let [message] = &*errors([method]) else { panic!("one message") };
    message.clone()
}

#[test]
fn duplicate_method_names_are_an_error() {
    let methods = ["f", "g", "f"].map(MethodBuilder::new);
    assert_eq!(errors(methods), ["duplicate method name `f`"]);
}

/// Tensors and numbers, of which the builder states nothing, one by its name, or one by its dynamism.
#[test]
fn results_of_a_builder_are_inferred() {
    let mut forward = MethodBuilder::new("forward");
    let x = forward.input(FLOAT, &[4, 2]);
    let rows = forward.call_inferred("aten::sym_size.int", &[x.into(), 0.into()]);
    let [values, indices] = [forward.inferred(), forward.inferred()];
    forward.name(indices, "top.indices");
    forward.call_into("aten::topk.values", &[x.into(), 1.into()], &[values, indices]);
    let large = forward.call_inferred("aten::gt.Scalar_out", &[values.into(), 0.5.into()]);
    forward.dynamic(large);
    for value in [rows, indices, large] {
        forward.output(value);
    }
    let program = Resolved::from_methods([forward]).unwrap().program;
    let plan = &program.plans()[0];
    let outputs = plan.outputs.iter().flatten();
    let outputs: Vec<&EValue> = outputs.map(|output| plan.value(*output).unwrap()).collect();
    let [rows, EValue::Tensor(indices), EValue::Tensor(large)] = outputs[..] else { panic!("{outputs:?}") };
    assert!(matches!(rows, EValue::Int(_)), "{rows:?}");
    assert_eq!((indices.scalar_type, indices.sizes.as_deref()), (ScalarType::LONG, Some(&[4, 1][..])));
    let name = indices.extra_tensor_info.as_ref().and_then(|info| info.fully_qualified_name.as_deref());
    assert_eq!(name, Some("top.indices"));
    assert_eq!((large.scalar_type, large.shape_dynamism), (ScalarType::BOOL, TensorShapeDynamism::DYNAMIC_BOUND));
}

#[test]
fn results_that_are_not_inferred_are_errors() {
    let unknown = error_of(|f| _ = f.call_inferred("my::op.out", &[]));
    let reason = "the sizes of `result of instruction 0 (my::op.out)` are not known";
    assert!(unknown.starts_with("method `f`, instruction 0 (my::op.out)") && unknown.contains(reason), "{unknown}");
    let declared = error_of(|f| {
        let x = f.input(FLOAT, &[2]);
        f.call("aten::relu.out", &[x.into()], FLOAT, &[3]);
    });
    assert!(declared.contains("is declared with [3], but aten::relu.out of"), "{declared}");
}

/// The same program as YAML has the same warning.
#[test]
fn warnings_of_a_builder_are_kept() {
    let mut forward = MethodBuilder::new("forward");
    let x = forward.input(FLOAT, &[2]);
    let y = forward.call("aten::relu_typo.out", &[x.into()], FLOAT, &[2]);
    forward.output(y);
    let assembly = Resolved::from_methods([forward]).unwrap().to_files(&AssembleOptions::default()).unwrap();
    let [warning] = &*assembly.warnings.diagnostics else { panic!("one warning") };
    let expected = "method `forward`, instruction 0 (aten::relu_typo.out): ";
    assert!(warning.message.starts_with(expected), "{}", warning.message);
    assert_eq!(warning.help.as_deref(), Some("did you mean `aten::relu.out`?"));
}

#[test]
fn errors_of_a_builder_name_the_method_and_the_call_or_value() {
    let of_a_size = error_of(|f| _ = f.input(FLOAT, &[2, -2]));
    assert_eq!(of_a_size, "method `f`, input 0: a size cannot be -2");
    let of_data = error_of(|f| {
        let w = f.constant(&[3], &[1.0f32, 2.0]);
        f.name(w, "fc.weight");
    });
    assert_eq!(of_data, "method `f`, constant 0 (fc.weight): the data have 8 bytes, float32 [3] has 12 bytes");
    let of_an_argument = error_of(|f| {
        let x = f.input(FLOAT, &[2]);
        f.call("aten::relu.out", &[x.into()], FLOAT, &[2]);
        f.call("aten::add.out", &[x.into(), "2".into()], FLOAT, &[2]);
    });
    let expected =
        "method `f`, instruction 1 (aten::add.out), argument 1: expected Tensor for `other`, found the string `2`";
    assert_eq!(of_an_argument, expected);
    let of_a_result = error_of(|f| {
        let (x, y) = (f.input(FLOAT, &[2, 2]), f.tensor(FLOAT, &[2, 2]));
        f.call_into("aten::topk.values", &[x.into(), 1.into()], &[y, y]);
    });
    assert!(of_a_result.starts_with("method `f`, instruction 0 (aten::topk.values), result 1: "), "{of_a_result}");
    assert!(of_a_result.contains("`tensor 0`"), "{of_a_result}");
    let of_an_output = error_of(|f| {
        let y = f.tensor(FLOAT, &[2, 2]);
        f.output(y);
    });
    assert_eq!(of_an_output, "method `f`, output 0: nothing writes the output `tensor 0`");
}

#[test]
fn values_of_another_builder_are_errors() {
    type Use = fn(&mut MethodBuilder, Value);
    let uses: [(Use, &str); 8] = [
        (|f, value| f.name(value, "w"), "method `f`: cannot set the name `w`"),
        (|f, value| f.dynamic(value), "method `f`: cannot mark a tensor as dynamic"),
        (|f, value| f.output(value), "method `f`, output 0"),
        (|f, value| _ = f.call("m::a", &[value.into()], FLOAT, &[1]), "method `f`, instruction 0 (m::a), argument 0"),
        (|f, value| f.call_into("m::a", &[], &[value]), "method `f`, instruction 0 (m::a), result 0"),
        (
            |f, value| f.call_into("m::a", &[Argument::list(&[None, Some(value)])], &[]),
            "method `f`, instruction 0 (m::a), argument 0[1]",
        ),
        (|f, value| f.call_into("m::a", &[[value].into()], &[]), "method `f`, instruction 0 (m::a), argument 0[0]"),
        (|f, value| f.call_delegate("Mine", [], &[value]), "method `f`, instruction 0 (Mine), argument 0"),
    ];
    let mut other = MethodBuilder::new("other");
    let values = [other.input(FLOAT, &[1]), other.input(FLOAT, &[1])];
    for (number, (use_of, expected)) in uses.into_iter().enumerate() {
        // A value that would be out of range, and one that would be another value.
        for value in values {
            let message = error_of(|f| {
                f.input(FLOAT, &[1]);
                use_of(f, value);
            });
            assert_eq!(message, format!("{expected}: the value is one of another MethodBuilder"), "use {number}");
        }
    }
}

#[test]
fn constants_and_arguments_of_all_types() {
    let mut forward = MethodBuilder::new("forward");
    let half = [half::f16::from_f32(1.0), half::f16::from_f32(-2.0)];
    let brain = [half::bf16::from_f32(1.0)];
    let constants = [
        forward.constant(&[3], &[true, false, true]),
        forward.constant(&[2], &half),
        forward.constant(&[1], &brain),
        forward.constant_bytes(ScalarType::parse("uint16").unwrap(), &[2], [1, 0, 2, 0]),
        forward.state_bytes(ScalarType::parse("qint8").unwrap(), &[2], vec![3, 4]),
    ];
    let lists = [[0.5, 2.0].into(), [true, false].into(), [constants[0], constants[1]].into(), [1, 2].into()];
    forward.call_into("mine::all", &lists, &[]);
    let empty: [Argument; 3] = [[0.0; 0].into(), [false; 0].into(), [0i64; 0].into()];
    forward.call_into("mine::all", &empty, &[]);
    constants.into_iter().for_each(|value| forward.output(value));

    let program = Resolved::from_methods([forward]).unwrap().program;
    let plan = &program.plans()[0];
    let of = |(index, tensor): (usize, &Tensor)| match tensor.data {
        TensorData::Blob(blob) if index < 5 => (tensor.scalar_type.to_string(), program.blob(blob).to_vec().unwrap()),
        _ => panic!("a constant or a state"),
    };
    let found: Vec<(String, Vec<u8>)> = plan.tensors().map(of).collect();
    let expected = [
        ("bool", vec![1, 0, 1]),
        ("float16", vec![0, 0x3c, 0, 0xc0]),
        ("bfloat16", vec![0x80, 0x3f]),
        ("uint16", vec![1, 0, 2, 0]),
        ("qint8", vec![3, 4]),
    ];
    assert_eq!(found, expected.map(|(name, bytes)| (name.to_owned(), bytes)));
    for value in [
        EValue::DoubleList(Some(vec![0.5, 2.0])),
        EValue::BoolList(Some(vec![true, false])),
        EValue::TensorList(Some(vec![ValueId(0), ValueId(1)])),
        EValue::DoubleList(Some(vec![])),
        EValue::BoolList(Some(vec![])),
        EValue::IntList(Some(vec![])),
    ] {
        assert!(plan.values().contains(&value), "{value:?} in {:?}", plan.values());
    }
}

/// A method `forward` with these values.
fn method(values: Vec<EValue>) -> ExecutionPlan {
    let mut method = ExecutionPlan::new("forward");
    method.values = Some(values);
    method
}

fn constant(data: BlobId) -> EValue {
    let mut tensor = Tensor::new(FLOAT, &[1]);
    (tensor.data, tensor.memory) = (TensorData::Blob(data), Memory::None);
    EValue::Tensor(tensor)
}

fn planning_error(program: &Program) -> String {
    pte_emit::Resolved::from(program.clone()).to_files(&AssembleOptions::default()).unwrap_err().to_string()
}

#[test]
fn planning_errors_of_a_program_without_a_source_begin_with_the_path() {
    let mut program = Program::default();
    let data = program.add_blob(Blob::bytes([0; 8]));
    program.execution_plan = Some(vec![method(vec![EValue::Null, constant(data)])]);
    let expected = "error: methods.forward.values[1]: the tensor has 4 bytes, its data have 8 bytes";
    assert_eq!(planning_error(&program), expected);

    program.named_data = Some(vec![NamedData::new("a", data), NamedData::new("a", data)]);
    program.execution_plan = None;
    assert_eq!(planning_error(&program), "error: named_data[1]: duplicate key `a` (first defined here: named_data[0])");
}

#[test]
fn unknown_blobs_are_errors_with_the_path() {
    let missing = BlobId(7);
    let of_method = |change: fn(&mut ExecutionPlan)| {
        let mut forward = method(vec![EValue::Null]);
        change(&mut forward);
        Program::new(vec![forward])
    };
    let delegate = |plan: &mut ExecutionPlan| {
        plan.delegates = Some(vec![BackendDelegate::new("b", BlobId(7))]);
    };
    let (mut of_named, mut of_external) = (Program::default(), Program::default());
    of_named.named_data = Some(vec![NamedData::new("k", missing)]);
    of_external.external_data = vec![ExternalData::new("k", missing)];
    let cases = [
        (of_method(|plan| plan.values = Some(vec![constant(BlobId(7))])), "methods.forward.values[0]"),
        (of_method(delegate), "methods.forward.delegates[0]"),
        (of_named, "named_data[0]"),
        (of_external, "external_data[0]"),
    ];
    for (program, path) in cases {
        assert_eq!(planning_error(&program), format!("error: {path}: unknown blob 7: the program has 0 blobs"));
    }
}

/// The size limit includes padding: writing it would fill the memory.
#[test]
fn a_large_alignment_exceeds_the_size_limit() {
    let mut program = Program::new(vec![method(vec![])]);
    let data = [program.add_blob(Blob::bytes([1])), program.add_blob(Blob::bytes([2]))];
    let named = |(key, data): (&str, BlobId)| {
        let mut named = NamedData::new(key, data);
        named.alignment = 1 << 40;
        named
    };
    program.named_data = Some(["a", "b"].into_iter().zip(data).map(named).collect());
    let message = planning_error(&program);
    assert!(message.contains("named_data[") && message.contains("1099511627777 bytes"), "{message}");
    let options = AssembleOptions::default().max_size(u64::MAX);
    assert!(pte_emit::Resolved::from(program.clone()).to_files(&options).is_ok(), "the limit can be raised");
}

/// Programs that no stage may panic on: results are errors, or files that the runtime rejects.
#[test]
fn inconsistent_programs_do_not_panic() {
    let tensor = |change: fn(&mut Tensor)| {
        let mut tensor = Tensor::new(FLOAT, &[4]);
        change(&mut tensor);
        method(vec![EValue::Tensor(tensor)])
    };
    let with = |change: fn(&mut ExecutionPlan)| {
        let mut plan = method(vec![EValue::Tensor(Tensor::new(FLOAT, &[4])), EValue::IntList(Some(vec![9, -1]))]);
        change(&mut plan);
        plan
    };
    fn calls(plan: &mut ExecutionPlan, instruction: Instruction) {
        plan.chains = Some(vec![Chain::new(vec![instruction])]);
    }
    let plans = [
        tensor(|tensor| tensor.memory = Memory::View { base: 0 }),
        tensor(|tensor| tensor.memory = Memory::View { base: 99 }),
        tensor(|tensor| tensor.memory = Memory::View { base: u32::MAX }),
        tensor(|tensor| tensor.memory = Memory::Auto { pool: Some(0), persistent: false, shared: None }),
        tensor(|tensor| tensor.memory = Memory::Auto { pool: Some(u32::MAX), persistent: true, shared: None }),
        tensor(|tensor| tensor.memory = Memory::At { pool: 0, offset: 0 }),
        tensor(|tensor| tensor.memory = Memory::At { pool: u32::MAX, offset: u64::MAX }),
        tensor(|tensor| tensor.memory = Memory::At { pool: 1, offset: u64::MAX }),
        tensor(|tensor| tensor.sizes = None),
        tensor(|tensor| tensor.sizes = Some([i32::MAX; 4].as_slice().into())),
        tensor(|tensor| tensor.sizes = Some([-1].as_slice().into())),
        tensor(|tensor| tensor.scalar_type = ScalarType(-128)),
        tensor(|tensor| tensor.dim_order = None),
        tensor(|tensor| tensor.dim_order = Some(vec![255; 300].into())),
        tensor(|tensor| tensor.data = TensorData::Elsewhere(Some(u32::MAX))),
        tensor(|tensor| tensor.shape_dynamism.0 = -1),
        with(|plan| plan.memory.alignment = Some(0)),
        with(|plan| plan.memory.alignment = Some(u64::MAX)),
        with(|plan| plan.memory.padding = Some(u64::MAX)),
        with(|plan| plan.memory.reserved = vec![u64::MAX; 3]),
        with(|plan| plan.memory.non_const_buffer_sizes = Some(vec![])),
        with(|plan| plan.memory.non_const_buffer_sizes = Some(vec![i64::MIN, -1])),
        with(|plan| plan.inputs = Some([-1, i32::MAX].map(ValueId).to_vec())),
        with(|plan| plan.outputs = Some([i32::MIN, 7].map(ValueId).to_vec())),
        with(|plan| plan.values = None),
        with(|plan| plan.chains = None),
        with(|plan| calls(plan, Instruction::MoveCall { move_from: ValueId(-1), move_to: ValueId(i32::MAX) })),
        with(|plan| calls(plan, Instruction::FreeCall { value_index: ValueId(77) })),
        with(|plan| {
            calls(plan, Instruction::JumpFalseCall { cond_value_index: ValueId(-9), destination_instruction: -3 })
        }),
        with(|plan| {
            calls(plan, Instruction::DelegateCall { delegate_index: DelegateId(5), args: Some(Args::from(&[-1, 99])) })
        }),
        with(|plan| {
            calls(plan, Instruction::KernelCall { op_index: OperatorId(5), args: Some(Args::from(&[-1, 99])) })
        }),
    ];
    for plan in plans {
        let program = Program::new(vec![plan]);
        if let Ok(assembly) = pte_emit::Resolved::from(program.clone()).to_files(&AssembleOptions::default()) {
            assembly.program_file().unwrap().to_vec().unwrap();
        }
    }
    let mut program = Program::default();
    let data = program.add_blob(Blob::bytes([1, 2]));
    for alignment in [0, 3, u64::MAX] {
        let (mut named, mut external) = (NamedData::new("k", data), ExternalData::new("e", data));
        (named.alignment, external.alignment) = (alignment, alignment);
        let mut other = named.clone();
        other.key = "l".to_owned();
        program.named_data = Some(vec![named, other]);
        program.external_data = vec![external];
        program.execution_plan = Some(vec![method(vec![])]);
        let _ = pte_emit::Resolved::from(program.clone()).to_files(&AssembleOptions::default());
    }
}

#[test]
fn a_safetensors_has_no_methods() {
    let source = Model::from_yaml("getter.yaml", "methods: {get_eps: {outputs: [1.0e-5]}}", "");
    let error = source.assemble(&AssembleOptions::default()).unwrap().safetensors().unwrap_err().to_string();
    assert_eq!(error, "getter.yaml: error: a .safetensors has no methods, the program has 1 method");
}

#[test]
fn a_program_without_methods_cannot_be_bundled() {
    let source = Model::from_yaml("weights.yaml", "named_data: {k: {data: {text: a}}}", "");
    let error = source.assemble(&AssembleOptions::default()).unwrap().bundled().unwrap_err().to_string();
    assert_eq!(error, "weights.yaml: error: a bundled program needs methods");
}
