//! Small programs that violate rules about operators and semantics, with the locations of the findings; and programs
//! without findings.
//!
//! It only has defects that no file of examples/malformed has: tests/cases/golden.rs has the findings of those, and of
//! the files of the exporter. YAML is assembled and read; programs are edited if YAML cannot express the defect.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::{AssembleOptions, Model};
use pte_check::RuleId::{self, *};
use pte_check::rules::RULES;
use pte_check::semantics::check;
use pte_check::semantics::limits::Work;
use pte_check::{Findings, Location, Profile, RuleSeverity};
use pte_model::data::Origin;
use pte_model::format::ScalarType;
use pte_model::program::{
    Args, DelegateId, EValue, ExecutionPlan, ExtraTensorInfo, Instruction, Memory, Operator, OperatorId, Program,
    Tensor, TensorData, TensorShapeDynamism, ValueId,
};
use pte_model::reader;
use pte_operators::OperatorSet;

/// Assembles and reads a program; `method` is the YAML of a method `forward`.
pub(super) fn program(method: &str) -> Program {
    let text = format!("methods:\n  forward:\n{method}");
    let input = Model::from_yaml("test", &text, ".");
    let assembly = input.assemble(&AssembleOptions::default()).unwrap_or_else(|report| panic!("{report:?}\n{text}"));
    let bytes: Arc<[u8]> = assembly.program_file().unwrap().to_vec().unwrap().into();
    reader::program::read(&Origin::Bytes(bytes)).unwrap().program
}

pub(super) fn found(program: &Program) -> Vec<(RuleId, String)> {
    let mut findings = Findings::new(Profile::Strict);
    let mut set = OperatorSet::new();
    set.add("mine::many.out self:T a:f[]? b:b[] c:T[] d:T?[] e:s f:m? out:T! more:T!\nmine::count self:T -> i")
        .unwrap();
    check(program, &set, &BTreeSet::new(), &Work::default(), &mut findings, &|element| {
        Location::new(None, element.path(program))
    });
    findings.list.iter().map(|finding| (finding.rule.id, finding.location.path.clone())).collect()
}

/// Returns rules and paths of the findings in a method `forward`.
pub(super) fn found_in(method: &str) -> Vec<(RuleId, String)> {
    found(&program(method))
}

/// Returns the YAML of y = relu(x), z = exp(y). Values: x 0, y 1, z 2, then those of `values`.
pub(super) fn chain(values: &str, more: &str) -> String {
    format!(
        "    values:
      x: {{tensor: float32, sizes: [4], memory: {{pool: 1, offset: 0}}}}
      y: {{tensor: float32, sizes: [4], memory: {{pool: 1, offset: 64}}}}
      z: {{tensor: float32, sizes: [4], memory: {{pool: 1, offset: 128}}}}
{values}
    inputs: [x]
    outputs: [z]
    memory: {{non_const_buffer_sizes: [0, 4096]}}
    instructions:
      - {{kernel: aten::relu.out, args: [x], out: y}}
      - {{kernel: aten::exp.out, args: [y], out: z}}
{more}"
    )
}

type Edit = fn(&mut ExecutionPlan);
/// Rules, and the locations of their findings in the method.
type Expected = &'static [(RuleId, &'static str)];

fn edited(text: &str, edit: Edit) -> Program {
    let mut program = program(text);
    edit(&mut program.execution_plan.as_mut().unwrap()[0]);
    program
}

pub(super) fn instructions(plan: &mut ExecutionPlan) -> &mut Vec<Instruction> {
    plan.chains.as_mut().unwrap()[0].instructions.as_mut().unwrap()
}

fn args(plan: &mut ExecutionPlan, instruction: usize) -> &mut Args {
    match &mut instructions(plan)[instruction] {
        Instruction::KernelCall { args, .. } | Instruction::DelegateCall { args, .. } => args.as_mut().unwrap(),
        other => panic!("{other:?}"),
    }
}

pub(super) fn ids(numbers: &[i32]) -> Vec<ValueId> {
    numbers.iter().copied().map(ValueId).collect()
}

pub(super) fn add(plan: &mut ExecutionPlan, value: EValue) -> i32 {
    let values = plan.values.as_mut().unwrap();
    values.push(value);
    values.len() as i32 - 1
}

pub(super) fn add_tensor(plan: &mut ExecutionPlan, offset: u64, floats: i32) -> i32 {
    let mut tensor = Tensor::new(ScalarType::FLOAT, &[floats]);
    tensor.memory = Memory::At { pool: 1, offset };
    add(plan, EValue::Tensor(tensor))
}

pub(super) fn tensor(plan: &mut ExecutionPlan, value: usize) -> &mut Tensor {
    match &mut plan.values.as_mut().unwrap()[value] {
        EValue::Tensor(tensor) => tensor,
        other => panic!("{other:?}"),
    }
}

/// Appends a call of an operator to the first chain.
pub(super) fn call(plan: &mut ExecutionPlan, name: &str, args: &[i32]) {
    let operators = plan.operators.get_or_insert_default();
    operators.push(Operator::new(name));
    let op_index = OperatorId::of(operators.len() - 1);
    instructions(plan).push(Instruction::KernelCall { op_index, args: Some(ids(args).into()) });
}

pub(super) fn jump(plan: &mut ExecutionPlan, at: usize, condition: i32, to: i32) {
    let jump = Instruction::JumpFalseCall { cond_value_index: ValueId(condition), destination_instruction: to };
    instructions(plan).insert(at, jump);
}

/// Inserts a jump that is always taken.
fn always(plan: &mut ExecutionPlan, at: usize, to: i32) {
    let condition = add(plan, EValue::Bool(false));
    jump(plan, at, condition, to);
}

/// Edits of the program [`chain`], and the expected findings.
const VIOLATIONS: &[(&str, Edit, Expected)] = &[
    ("one argument too many", |p| args(p, 1).push(ValueId(0)), &[(O_1, "instructions[1]")]),
    ("no arguments", |p| args(p, 1).truncate(0), &[(O_1, "instructions[1]"), (X_2, "outputs[0]")]),
    (
        "an Int for a float",
        |p| {
            let int = add(p, EValue::Int(1));
            let q = add_tensor(p, 256, 4);
            call(p, "quantized_decomposed::quantize_per_tensor.out", &[2, int, int, int, int, int, q, q]);
        },
        &[(O_2, "instructions[2].args[1]")],
    ),
    (
        "None for a Scalar",
        |p| {
            let (none, t) = (add(p, EValue::Null), add_tensor(p, 256, 4));
            call(p, "aten::add.out", &[2, 2, none, t, t]);
        },
        &[(O_2, "instructions[2].args[2]")],
    ),
    (
        "a Bool in a list of ints",
        |p| {
            let (bool, t) = (add(p, EValue::Bool(true)), add_tensor(p, 256, 1));
            let list = add(p, EValue::IntList(Some(vec![i64::from(bool)])));
            call(p, "aten::amax.out", &[2, list, bool, t, t]);
        },
        &[(O_3, "instructions[2].args[1]")],
    ),
    (
        "a list of tensors for one with None in it",
        |p| {
            let (list, t) = (add(p, EValue::TensorList(Some(ids(&[0])))), add_tensor(p, 256, 4));
            call(p, "aten::index.Tensor_out", &[2, list, t, t]);
        },
        &[(O_2, "instructions[2].args[1]")],
    ),
    (
        "a Bool for a number of executorch_prim",
        |p| {
            let (bool, int) = (add(p, EValue::Bool(true)), add(p, EValue::Int(1)));
            let result = add(p, EValue::Int(0));
            call(p, "executorch_prim::add.Scalar", &[int, bool, result]);
        },
        &[(O_2, "instructions[2].args[1]")],
    ),
    (
        "kinds of added operators",
        |p| {
            let (t, u) = (add_tensor(p, 256, 4), add_tensor(p, 512, 4));
            let text = add(p, EValue::String(Some("text".into())));
            let (bools, none) = (add(p, EValue::BoolList(Some(vec![true]))), add(p, EValue::Null));
            let lists =
                (add(p, EValue::TensorList(Some(ids(&[2])))), add(p, EValue::OptionalTensorList(Some(ids(&[-1])))));
            let outs = add(p, EValue::TensorList(Some(ids(&[t, u]))));
            call(p, "mine::many.out", &[2, none, bools, lists.0, lists.1, text, none, t, u, outs]);
            call(p, "mine::many.out", &[2, text, none, lists.1, lists.0, none, text, t, u, outs]);
        },
        &[
            (O_2, "instructions[3].args[1]"),
            (O_2, "instructions[3].args[2]"),
            (O_2, "instructions[3].args[3]"),
            (O_2, "instructions[3].args[4]"),
            (O_2, "instructions[3].args[5]"),
            (O_2, "instructions[3].args[6]"),
        ],
    ),
    (
        "a list of other outs as the result",
        |p| {
            let (t, u) = (add_tensor(p, 256, 4), add_tensor(p, 512, 4));
            tensor(p, u as usize).scalar_type = ScalarType::LONG;
            let outs = add(p, EValue::TensorList(Some(ids(&[u, t]))));
            let (four, zero) = (add(p, EValue::Int(4)), add(p, EValue::Int(0)));
            let yes = add(p, EValue::Bool(true));
            call(p, "aten::topk.values", &[2, four, zero, yes, yes, t, u, outs]);
        },
        &[(O_4, "instructions[2].args[7]")],
    ),
    ("another tensor as the result", |p| args(p, 1)[2] = ValueId(1), &[(O_4, "instructions[1].args[2]")]),
    (
        "a list as the result of an int",
        |p| {
            let list = add(p, EValue::DoubleList(Some(vec![])));
            call(p, "mine::count", &[2, list]);
        },
        &[(O_6, "instructions[2].args[1]")],
    ),
    (
        "a tensor as the result of an int",
        |p| {
            let t = add_tensor(p, 256, 4);
            call(p, "mine::count", &[2, t]);
        },
        &[(O_6, "instructions[2].args[1]")],
    ),
    (
        "a stride of zero",
        |p| {
            let [zero, one] = [0, 1].map(|number| add(p, EValue::Int(number)));
            let sizes = add(p, EValue::IntList(Some(vec![i64::from(one)])));
            let stride = add(p, EValue::IntList(Some(vec![i64::from(one), i64::from(zero)])));
            let (yes, none, t) = (add(p, EValue::Bool(true)), add(p, EValue::Null), add_tensor(p, 256, 4));
            call(p, "aten::avg_pool2d.out", &[2, sizes, stride, sizes, yes, yes, none, t, t]);
        },
        &[(O_14, "instructions[2].args[2]")],
    ),
    (
        "floats as indices",
        |p| {
            let (minus, no, t) = (add(p, EValue::Int(-1)), add(p, EValue::Bool(false)), add_tensor(p, 256, 4));
            call(p, "aten::embedding.out", &[2, 2, minus, no, no, t, t]);
        },
        &[(O_14, "instructions[2].args[1]")],
    ),
    (
        "bits as numbers",
        |p| {
            let (one, t, a) = (add(p, EValue::Int(1)), add_tensor(p, 256, 4), add_tensor(p, 512, 4));
            tensor(p, a as usize).scalar_type = ScalarType::QUINT4X2;
            p.inputs.as_mut().unwrap().push(ValueId(a));
            call(p, "aten::mul.Scalar_out", &[a, one, t, t]);
        },
        &[(O_14, "instructions[2].args[0]")],
    ),
    (
        "float32 and uint16 in a sum",
        |p| {
            let (one, t) = (add(p, EValue::Int(1)), add_tensor(p, 256, 4));
            let a = add_tensor(p, 512, 4);
            tensor(p, a as usize).scalar_type = ScalarType::UINT16;
            p.inputs.as_mut().unwrap().push(ValueId(a));
            call(p, "aten::add.out", &[2, a, one, t, t]);
        },
        &[(O_14, "instructions[2].args[1]")],
    ),
    (
        "a divisor that a move replaces for the next execution",
        |p| {
            let [seven, one, zero, quotient] = [7, 1, 0, 0].map(|number| add(p, EValue::Int(number)));
            call(p, "executorch_prim::floordiv.int", &[seven, one, quotient]);
            instructions(p).push(Instruction::MoveCall { move_from: ValueId(zero), move_to: ValueId(one) });
        },
        &[(O_14, "instructions[2].args[1]"), (X_22, "instructions[2].args[1]")],
    ),
    (
        "a divisor that is 0 in the first execution only",
        |p| {
            let [seven, zero, quotient, room] = [7, 0, 0, 0].map(|number| add(p, EValue::Int(number)));
            let x = add_tensor(p, 256, 1);
            tensor(p, x as usize).scalar_type = ScalarType::LONG;
            p.inputs.as_mut().unwrap().push(ValueId(x));
            call(p, "executorch_prim::floordiv.int", &[seven, zero, quotient]);
            call(p, "aten::_local_scalar_dense", &[x, room]);
            instructions(p).push(Instruction::MoveCall { move_from: ValueId(room), move_to: ValueId(zero) });
        },
        &[(O_14, "instructions[2].args[1]"), (X_22, "instructions[2].args[1]")],
    ),
    (
        "a loop whose condition is a comparison of constants",
        |p| {
            let [one, two] = [1, 2].map(|number| add(p, EValue::Int(number)));
            let more = add(p, EValue::Bool(false));
            call(p, "executorch_prim::gt.Scalar", &[one, two, more]);
            jump(p, 3, more, 2);
        },
        &[(X_10, "instructions[3]")],
    ),
    (
        "a softmax of none, and a product of empty vectors",
        |p| {
            let (zero, no) = (add(p, EValue::Int(0)), add(p, EValue::Bool(false)));
            let (x, y) = (add_tensor(p, 256, 0), add_tensor(p, 512, 0));
            p.inputs.as_mut().unwrap().push(ValueId(x));
            call(p, "aten::_log_softmax.out", &[x, zero, no, y, y]);
            call(p, "aten::bmm.out", &[x, x, y, y]);
        },
        &[(O_14, "instructions[2].args[0]"), (O_14, "instructions[3].args[0]")],
    ),
    (
        "the greatest of none",
        |p| {
            let (none, no, x, y) =
                (add(p, EValue::Null), add(p, EValue::Bool(false)), add_tensor(p, 256, 0), add_tensor(p, 512, 1));
            *tensor(p, y as usize) =
                Tensor { memory: Memory::At { pool: 1, offset: 512 }, ..Tensor::new(ScalarType::LONG, &[]) };
            p.inputs.as_mut().unwrap().push(ValueId(x));
            call(p, "aten::argmax.out", &[x, none, no, y, y]);
        },
        &[(O_14, "instructions[2].args[0]")],
    ),
    (
        "a size as a dimension",
        |p| {
            let (x, dim) = (add_tensor(p, 256, 4), add(p, EValue::Int(0)));
            tensor(p, x as usize).shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
            p.inputs.as_mut().unwrap().push(ValueId(x));
            call(p, "aten::sym_size.int", &[x, dim, dim]);
        },
        &[(O_14, "instructions[2].args[1]"), (X_22, "instructions[2].args[1]")],
    ),
    (
        "the size of a dimension that is not there",
        |p| {
            let (minus, room) = (add(p, EValue::Int(-1)), add(p, EValue::Int(0)));
            call(p, "aten::sym_size.int", &[2, minus, room]);
        },
        &[(O_14, "instructions[2].args[1]")],
    ),
    (
        "a range that is longer than its out",
        |p| {
            let (start, end, step) = (add(p, EValue::Int(-1)), add(p, EValue::Double(3.5)), add(p, EValue::Int(1)));
            call(p, "aten::arange.start_out", &[start, end, step, 2, 2]);
        },
        &[(O_12, "instructions[2].args[3]")],
    ),
    (
        "a quantization into a tensor of floats of another size",
        |p| {
            let (int, float, q) = (add(p, EValue::Int(1)), add(p, EValue::Double(1.0)), add_tensor(p, 256, 5));
            call(p, "quantized_decomposed::quantize_per_tensor.out", &[2, float, int, int, int, int, q, q]);
        },
        &[(O_8, "instructions[2].args[6]"), (O_8, "instructions[2].args[5]"), (O_8, "instructions[2].args[6]")],
    ),
    (
        "a quantization beyond the type, in a dimension that is not there",
        |p| {
            let [axis, least, most, code] = [1, -129, 128, 1].map(|number| add(p, EValue::Int(number)));
            let (scales, zeros, q) = (add_tensor(p, 512, 4), add_tensor(p, 576, 4), add_tensor(p, 256, 4));
            for (value, scalar_type) in [(scales, ScalarType::DOUBLE), (zeros, ScalarType::LONG), (q, ScalarType::CHAR)]
            {
                tensor(p, value as usize).scalar_type = scalar_type;
            }
            for value in [scales, zeros] {
                p.inputs.as_mut().unwrap().push(ValueId(value));
            }
            let args = [2, scales, zeros, axis, least, most, code, q, q];
            call(p, "quantized_decomposed::quantize_per_channel.out", &args);
        },
        &[(O_8, "instructions[2].args[4]"), (O_8, "instructions[2].args[5]"), (O_8, "instructions[2].args[3]")],
    ),
    (
        "an unknown operator, once for two calls",
        |p| {
            call(p, "mine::unknown.out", &[2]);
            call(p, "mine::unknown.out", &[2]);
        },
        &[(O_5, "operators[2]")],
    ),
    (
        "an operator of a library, once for two calls, whose arguments are checked",
        |p| {
            call(p, "llama::fallback.out", &[0, 2, 2]);
            call(p, "llama::fallback.out", &[0]);
        },
        &[(O_5, "operators[2]"), (O_1, "instructions[3]")],
    ),
    (
        "a tensor that is written later, in memory that is not its own",
        |p| {
            let (t, u) = (add_tensor(p, 256, 4), add_tensor(p, 256, 8));
            call(p, "aten::relu.out", &[0, u, u]);
            call(p, "aten::relu.out", &[t, 1, 1]);
            call(p, "aten::relu.out", &[0, t, t]);
        },
        &[(O_15, "instructions[2].args[1]"), (X_1, "instructions[3].args[0]")],
    ),
    (
        "the first two instructions swapped",
        |p| {
            tensor(p, 1).memory = Memory::At { pool: 1, offset: 0 };
            tensor(p, 1).sizes = Some([8][..].into());
            let t = add_tensor(p, 0, 4);
            call(p, "aten::relu.out", &[2, t, t]);
            instructions(p).swap(0, 1);
        },
        &[
            (O_15, "instructions[0].args[1]"),
            (O_15, "instructions[1].args[1]"),
            (X_1, "instructions[0].args[0]"),
            (X_25, "instructions[1].args[1]"),
        ],
    ),
    (
        "an output that nothing writes",
        |p| {
            let t = add_tensor(p, 256, 4);
            p.outputs.as_mut().unwrap()[0] = ValueId(t);
        },
        &[(X_2, "outputs[0]")],
    ),
    (
        "an output without memory that nothing writes",
        |p| {
            let t = add_tensor(p, 256, 4);
            tensor(p, t as usize).memory = Memory::None;
            p.outputs.as_mut().unwrap()[0] = ValueId(t);
        },
        &[(X_2, "outputs[0]")],
    ),
    (
        "a tensor that has a name for memory",
        |p| {
            tensor(p, 1).memory = Memory::None;
            let named = ExtraTensorInfo { fully_qualified_name: Some("t".into()), ..ExtraTensorInfo::default() };
            tensor(p, 1).extra_tensor_info = Some(Box::new(named));
        },
        &[(X_3, "values[1]")],
    ),
    (
        "a tensor over part of another one that is read later",
        |p| {
            let t = add_tensor(p, 72, 4);
            call(p, "aten::relu.out", &[0, t, t]);
            instructions(p).swap(1, 2);
        },
        &[(X_4, "instructions[1].args[1]")],
    ),
    (
        "a tensor over part of indices that are read later",
        |p| {
            let (indices, t, out) = (add_tensor(p, 512, 4), add_tensor(p, 520, 4), add_tensor(p, 640, 4));
            tensor(p, indices as usize).scalar_type = ScalarType::INT;
            let (none, no) = (add(p, EValue::Int(-1)), add(p, EValue::Bool(false)));
            call(p, "aten::relu.out", &[0, indices, indices]);
            call(p, "aten::relu.out", &[0, t, t]);
            call(p, "aten::embedding.out", &[2, indices, none, no, no, out, out]);
        },
        &[(X_20, "instructions[3].args[1]")],
    ),
    (
        "an input that is returned, and overwritten at its own offset",
        |p| {
            let (x, over) = (add_tensor(p, 256, 4), add_tensor(p, 256, 4));
            p.inputs.as_mut().unwrap().push(ValueId(x));
            p.outputs.as_mut().unwrap().push(ValueId(x));
            call(p, "aten::relu.out", &[0, over, over]);
        },
        &[(X_4, "instructions[2].args[1]")],
    ),
    (
        "a larger tensor at the offset of one that is read later",
        |p| {
            let t = add_tensor(p, 64, 8);
            call(p, "aten::relu.out", &[0, t, t]);
            instructions(p).swap(1, 2);
        },
        &[(X_4, "instructions[1].args[1]")],
    ),
    (
        "a result over part of its argument",
        |p| tensor(p, 1).memory = Memory::At { pool: 1, offset: 8 },
        &[(X_25, "instructions[0].args[1]")],
    ),
    (
        "a larger result at the offset of its argument",
        |p| {
            let (zero, list) = (add(p, EValue::Int(0)), add(p, EValue::TensorList(Some(ids(&[2, 2])))));
            let t = add_tensor(p, 128, 8);
            call(p, "aten::cat.out", &[list, zero, t, t]);
        },
        // The output is read after the call.
        &[(X_25, "instructions[2].args[2]"), (X_4, "instructions[2].args[2]")],
    ),
    (
        "a result over a view of its argument",
        |p| {
            let view = add_tensor(p, 0, 2);
            tensor(p, view as usize).memory = Memory::None;
            tensor(p, view as usize).sizes = Some([2, 2][..].into());
            tensor(p, view as usize).dim_order = Some([0, 1][..].into());
            let two = add(p, EValue::Int(2));
            let sizes = add(p, EValue::IntList(Some(vec![i64::from(two); 2])));
            let (t, axes) = (add_tensor(p, 128, 2), add(p, EValue::IntList(Some(Vec::new()))));
            tensor(p, t as usize).sizes = Some([2, 2][..].into());
            tensor(p, t as usize).dim_order = Some([0, 1][..].into());
            call(p, "executorch_prim::et_view.default", &[2, sizes, view]);
            call(p, "aten::flip.out", &[view, axes, t, t]);
        },
        // The tensor is an output that is written.
        &[(X_25, "instructions[3].args[2]"), (X_4, "instructions[3].args[2]")],
    ),
    (
        "two of several results over an argument",
        |p| {
            let (t, u) = (add_tensor(p, 128, 1), add_tensor(p, 512, 1));
            tensor(p, u as usize).scalar_type = ScalarType::LONG;
            let outs = add(p, EValue::TensorList(Some(ids(&[t, u]))));
            let (one, zero, yes) = (add(p, EValue::Int(1)), add(p, EValue::Int(0)), add(p, EValue::Bool(true)));
            call(p, "aten::topk.values", &[2, one, zero, yes, yes, t, u, outs]);
        },
        &[(X_25, "instructions[2].args[5]"), (X_4, "instructions[2].args[5]")],
    ),
    (
        "a counter that is null until the loop computes it",
        |p| {
            let (i, one, more) = (add(p, EValue::Null), add(p, EValue::Int(1)), add(p, EValue::Bool(false)));
            call(p, "executorch_prim::add.Scalar", &[i, one, i]);
            call(p, "executorch_prim::gt.Scalar", &[i, one, more]);
            jump(p, 4, more, 2);
        },
        &[(X_23, "instructions[2].args[0]")],
    ),
    (
        "an item of a list that one branch replaces",
        |p| {
            let (i, one, more) = (add(p, EValue::Int(1)), add(p, EValue::Int(1)), add(p, EValue::Bool(false)));
            let (list, t, no) = (add(p, EValue::IntList(Some(vec![i64::from(i)]))), add_tensor(p, 256, 1), more);
            call(p, "executorch_prim::gt.Scalar", &[one, one, more]);
            call(p, "executorch_prim::add.Scalar", &[one, one, i]);
            call(p, "executorch_prim::sym_float.Scalar", &[one, i]);
            call(p, "aten::sum.IntList_out", &[2, list, no, one, t, t]);
            jump(p, 4, more, 6);
        },
        &[(X_23, "instructions[6].args[1]")],
    ),
    (
        "a view on one branch",
        |p| {
            let (view, t) = (add_tensor(p, 0, 4), add_tensor(p, 256, 4));
            tensor(p, view as usize).memory = Memory::None;
            let (four, more) = (add(p, EValue::Int(4)), add(p, EValue::Bool(false)));
            let sizes = add(p, EValue::IntList(Some(vec![i64::from(four)])));
            call(p, "executorch_prim::gt.Scalar", &[four, four, more]);
            call(p, "executorch_prim::et_view.default", &[0, sizes, view]);
            call(p, "aten::relu.out", &[view, t, t]);
            jump(p, 3, more, 5);
        },
        &[(X_24, "instructions[5].args[0]")],
    ),
    (
        "a tensor at the offset of one that is read later",
        |p| {
            let t = add_tensor(p, 64, 4);
            call(p, "aten::relu.out", &[0, t, t]);
            instructions(p).swap(1, 2);
        },
        &[(X_5, "instructions[1].args[1]")],
    ),
    (
        "a tensor over state",
        |p| {
            let (state, t, no) = (add_tensor(p, 256, 4), add_tensor(p, 264, 4), add(p, EValue::Bool(false)));
            call(p, "aten::relu.out", &[state, 1, 1]);
            call(p, "aten::copy_", &[state, 1, no, state]);
            call(p, "aten::relu.out", &[0, t, t]);
        },
        &[(X_21, "instructions[2].args[0]"), (X_4, "instructions[4].args[1]")],
    ),
    (
        "a loop overwrites memory that its next iteration reads",
        |p| {
            let t = add_tensor(p, 72, 4);
            call(p, "aten::relu.out", &[0, t, t]);
            let (more, one) = (add(p, EValue::Bool(true)), add(p, EValue::Int(1)));
            call(p, "executorch_prim::lt.Scalar", &[one, one, more]);
            jump(p, 4, more, 1);
        },
        &[(X_4, "instructions[2].args[1]"), (X_10, "instructions[4]")],
    ),
    (
        "a tensor over memory that the target of a move has",
        |p| {
            let (source, target) = (add_tensor(p, 256, 4), add_tensor(p, 320, 4));
            let (over, last) = (add_tensor(p, 256, 4), add_tensor(p, 384, 4));
            call(p, "aten::relu.out", &[0, source, source]);
            instructions(p).push(Instruction::MoveCall { move_from: ValueId(source), move_to: ValueId(target) });
            call(p, "aten::relu.out", &[0, over, over]);
            call(p, "aten::relu.out", &[target, last, last]);
        },
        &[(X_4, "instructions[4].args[1]")],
    ),
    (
        "two overlapping results",
        |p| {
            let (t, u) = (add_tensor(p, 256, 4), add_tensor(p, 260, 4));
            let outs = add(p, EValue::TensorList(Some(ids(&[t, u]))));
            let (one, yes) = (add(p, EValue::Int(1)), add(p, EValue::Bool(true)));
            call(p, "aten::topk.values", &[2, one, one, yes, yes, t, u, outs]);
        },
        &[(X_6, "instructions[2].args[6]")],
    ),
    ("a result that is an input", |p| call(p, "aten::relu.out", &[2, 0, 0]), &[(X_8, "instructions[2].args[1]")]),
    ("unreachable instructions", |p| always(p, 1, 3), &[(X_28, "outputs[0]"), (X_9, "instructions[2]")]),
    ("an endless loop", |p| always(p, 2, 1), &[(X_10, "instructions[2]")]),
    (
        "a loop that does not write its condition",
        |p| {
            let (more, one) = (add(p, EValue::Bool(true)), add(p, EValue::Int(1)));
            call(p, "executorch_prim::lt.Scalar", &[one, one, more]);
            call(p, "aten::exp.out", &[1, 2, 2]);
            jump(p, 4, more, 3);
        },
        &[(X_10, "instructions[4]"), (X_11, "instructions[4]")],
    ),
    ("a duplicate output", |p| p.outputs.as_mut().unwrap().push(ValueId(2)), &[(X_12, "outputs[1]")]),
    (
        "values that nothing uses",
        |p| {
            add(p, EValue::Int(0));
            add(p, EValue::Int(0));
        },
        &[(X_14, "values[3]")],
    ),
    (
        "state that nothing writes",
        |p| {
            let t = add_tensor(p, 256, 4);
            call(p, "aten::relu.out", &[t, 1, 1]);
        },
        &[(X_19, "instructions[2].args[0]")],
    ),
    (
        "state without initial data, that is read, then written",
        |p| {
            let (t, u) = (add_tensor(p, 256, 4), add_tensor(p, 512, 4));
            for state in [t, u] {
                call(p, "aten::relu.out", &[state, 1, 1]);
                call(p, "aten::relu.out", &[0, state, state]);
            }
        },
        &[(X_21, "instructions[2].args[0]")],
    ),
    (
        "state without initial data, that a copy overwrites, and one that it is copied to",
        |p| {
            let (t, u) = (add_tensor(p, 256, 4), add_tensor(p, 512, 4));
            let no = add(p, EValue::Bool(false));
            call(p, "aten::copy_", &[t, 0, no, t]);
            call(p, "aten::relu.out", &[u, t, t]);
            call(p, "aten::copy_", &[u, t, no, u]);
        },
        &[(X_21, "instructions[3].args[0]")],
    ),
    (
        "counters that are never set back",
        |p| {
            let (i, n, one) = (add(p, EValue::Int(0)), add(p, EValue::Int(0)), add(p, EValue::Int(1)));
            call(p, "executorch_prim::add.Scalar", &[i, one, i]);
            call(p, "executorch_prim::add.Scalar", &[n, one, n]);
        },
        &[(X_22, "instructions[2].args[0]")],
    ),
    (
        "a counter of a loop that is set back at the end, and one that is not",
        |p| {
            let (i, n, one) = (add(p, EValue::Int(0)), add(p, EValue::Int(0)), add(p, EValue::Int(1)));
            let more = add(p, EValue::Bool(false));
            call(p, "executorch_prim::add.Scalar", &[i, one, i]);
            call(p, "executorch_prim::add.Scalar", &[n, one, n]);
            call(p, "executorch_prim::eq.Scalar", &[i, one, more]);
            jump(p, 5, more, 2);
            call(p, "executorch_prim::sub.Scalar", &[i, one, i]);
        },
        &[(X_22, "instructions[3].args[0]")],
    ),
];

#[test]
fn each_rule_finds_its_violation() {
    let text = chain("", "");
    assert_eq!(found(&program(&text)), []);
    for (what, edit, expected) in VIOLATIONS {
        let mut found = found(&edited(&text, *edit));
        // The tensors of an edit have other sizes than the results of its operators. O-14 and O-15 have examples of
        // their own.
        found.retain(|(id, _)| ![O_14, O_15].contains(id) || expected.iter().any(|(expected, _)| expected == id));
        found.sort();
        let mut expected: Vec<_> = expected.iter().map(|(id, path)| (*id, format!("methods.forward.{path}"))).collect();
        expected.sort();
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn a_zero_point_is_in_the_quantized_range() {
    let text = |tensor: &str, zeros: &str, range: [i64; 2]| {
        let (constant, argument) = if zeros == "null" { ("[0, 0]", "null") } else { (zeros, "zeros") };
        let ([least, most], (quantized, rest)) = (range, tensor.split_once(' ').unwrap_or((tensor, "")));
        format!(
            "    values:
      w: {{tensor: {quantized}, data: [[1, 2], [3, 4]]{rest}}}
      scales: {{tensor: float64, data: [0.5, 0.125]}}
      zeros: {{tensor: int64, data: {constant}}}
      y: {{tensor: float32, sizes: [2, 2]}}
    outputs: [y]
    instructions:
      - kernel: quantized_decomposed::dequantize_per_channel.out
        args: [w, scales, {argument}, 0, {least}, {most}, {quantized}]
        out: y
"
        )
    };
    let at = |argument: usize| (O_8, format!("methods.forward.instructions[0].args[{argument}]"));
    let cases = [
        ("int8", "[-128, 127]", [-128, 127], vec![]),
        ("int8", "[0, 128]", [-128, 127], vec![at(2)]),
        ("int8", "null", [0, 127], vec![]),
        ("int8", "null", [1, 127], vec![at(2)]),
        ("int8", "[100, 101]", [100, 110], vec![]),
        // The kernels for other types and orders of dimensions do not compare.
        ("uint8", "null", [1, 255], vec![]),
        ("int8 , dim_order: [1, 0]", "null", [1, 127], vec![]),
    ];
    for (tensor, zeros, range, expected) in cases {
        let mut found = found(&program(&text(tensor, zeros, range)));
        found.retain(|(id, _)| *id == O_8);
        assert_eq!(found, expected, "{tensor} {zeros} {range:?}");
    }
    // The assembler rejects a range beyond the type.
    let mut beyond = program(&text("int8", "[100, 100]", [100, 110]));
    let plan = &mut beyond.execution_plan.as_mut().unwrap()[0];
    for value in plan.values.iter_mut().flatten() {
        if let EValue::Int(int @ (100 | 110)) = value {
            *int += 100;
        }
    }
    assert_eq!(found(&beyond), [at(2), at(4)]);
}

#[test]
fn rules_about_data() {
    let with_constant = chain("      w: {tensor: float32, data: [1, 2, 3, 4], index: 3}", "");
    let constant = |edit: Edit| found(&edited(&with_constant, edit));
    let at = |id, path: &str| vec![(id, format!("methods.forward.{path}"))];
    assert_eq!(constant(|_| {}), at(X_13, "values[3]"));
    assert_eq!(constant(|p| call(p, "aten::relu.out", &[3, 1, 1])), []);
    let state = |p: &mut ExecutionPlan| tensor(p, 3).memory = Memory::At { pool: 1, offset: 256 };
    let mut overwritten = program(&with_constant);
    let plan = &mut overwritten.execution_plan.as_mut().unwrap()[0];
    state(plan);
    call(plan, "aten::relu.out", &[2, 3, 3]);
    assert_eq!(found(&overwritten), at(X_17, "values[3]"));
    // A view of the state, which is a tensor at its offset, reads it.
    fn view(plan: &mut ExecutionPlan, calls: &[[i32; 3]]) {
        tensor(plan, 3).memory = Memory::At { pool: 1, offset: 256 };
        let view = Tensor { data: TensorData::None, ..tensor(plan, 3).clone() };
        plan.values.as_mut().unwrap().push(EValue::Tensor(view));
        calls.iter().for_each(|args| call(plan, "aten::relu.out", args));
    }
    assert_eq!(constant(|p| view(p, &[])), [at(X_13, "values[3]"), at(X_14, "values[4]")].concat());
    assert_eq!(constant(|p| view(p, &[[4, 2, 2]])), []);
    assert_eq!(constant(|p| view(p, &[[4, 2, 2], [1, 3, 3]])), []);

    let mut named = program(&chain("", ""));
    let data = named.add_blob(pte_model::data::Blob::bytes(vec![0u8]));
    named.named_data = Some(vec![pte_model::program::NamedData { key: "k".into(), data, alignment: 1 }]);
    assert_eq!(found(&named), [(X_16, "named_data[0]".into())]);
}

/// Changes of a valid program after which it is still valid, though rare.
const UNUSUAL: &[(&str, Edit)] = &[
    ("a tensor over memory that the target of a move had until its last read", |p| {
        let (source, target) = (add_tensor(p, 256, 4), add_tensor(p, 320, 4));
        let (over, last) = (add_tensor(p, 256, 4), add_tensor(p, 384, 4));
        call(p, "aten::relu.out", &[0, source, source]);
        instructions(p).push(Instruction::MoveCall { move_from: ValueId(source), move_to: ValueId(target) });
        call(p, "aten::relu.out", &[target, last, last]);
        call(p, "aten::relu.out", &[0, over, over]);
    }),
    ("memory that is used again", |p| {
        let t = add_tensor(p, 0, 4);
        call(p, "aten::relu.out", &[1, t, t]);
    }),
    ("a result at the offset of its argument", |p| tensor(p, 2).memory = Memory::At { pool: 1, offset: 64 }),
    ("a view that no instruction creates", |p| {
        let (view, zero) = (add_tensor(p, 72, 2), add(p, EValue::Int(0)));
        let views = add(p, EValue::TensorList(Some(ids(&[view, view]))));
        let t = add_tensor(p, 256, 4);
        call(p, "aten::cat.out", &[views, zero, t, t]);
    }),
    ("a view on each of two branches", |p| {
        let (view, t) = (add_tensor(p, 0, 4), add_tensor(p, 256, 4));
        tensor(p, view as usize).memory = Memory::None;
        let (four, more, no) = (add(p, EValue::Int(4)), add(p, EValue::Bool(false)), add(p, EValue::Bool(false)));
        let sizes = add(p, EValue::IntList(Some(vec![i64::from(four)])));
        call(p, "executorch_prim::gt.Scalar", &[four, four, more]);
        call(p, "executorch_prim::et_view.default", &[0, sizes, view]);
        call(p, "executorch_prim::et_view.default", &[1, sizes, view]);
        call(p, "aten::relu.out", &[view, t, t]);
        jump(p, 3, more, 6);
        jump(p, 5, no, 7);
    }),
    ("a null that is replaced before it is read", |p| {
        let (i, one, t) = (add(p, EValue::Null), add(p, EValue::Int(1)), add_tensor(p, 256, 4));
        call(p, "executorch_prim::add.Scalar", &[one, one, i]);
        call(p, "aten::add.out", &[2, 1, i, t, t]);
    }),
    ("a result that is its own argument", |p| call(p, "aten::relu.out", &[2, 2, 2])),
    ("state, read first and written in place", |p| {
        let (state, one, no) = (add_tensor(p, 256, 4), add(p, EValue::Int(1)), add(p, EValue::Bool(false)));
        call(p, "aten::add.out", &[state, 2, one, 1, 1]);
        call(p, "aten::copy_", &[state, 1, no, state]);
    }),
    ("the branches of an if in the same memory", |p| {
        let (t, u) = (add_tensor(p, 256, 4), add_tensor(p, 264, 4));
        let condition = add(p, EValue::Bool(true));
        let (one, no) = (add(p, EValue::Int(1)), add(p, EValue::Bool(false)));
        call(p, "executorch_prim::lt.Scalar", &[one, one, condition]);
        call(p, "aten::relu.out", &[0, t, t]);
        call(p, "aten::relu.out", &[t, 1, 1]);
        call(p, "aten::relu.out", &[0, u, u]);
        call(p, "aten::relu.out", &[u, 1, 1]);
        // To the second branch, and from the first branch over it.
        jump(p, 3, condition, 7);
        jump(p, 6, no, 9);
    }),
    ("a loop that counts", |p| {
        let (i, one, more) = (add(p, EValue::Int(0)), add(p, EValue::Int(1)), add(p, EValue::Bool(false)));
        call(p, "executorch_prim::add.Scalar", &[i, one, i]);
        call(p, "executorch_prim::gt.Scalar", &[i, one, more]);
        jump(p, 4, more, 1);
    }),
    ("a value that gets another kind", |p| {
        let (a, b, c) = (add(p, EValue::Int(1)), add(p, EValue::Double(0.5)), add(p, EValue::Int(0)));
        let q = add_tensor(p, 256, 4);
        call(p, "executorch_prim::add.Scalar", &[a, b, c]);
        tensor(p, q as usize).scalar_type = ScalarType::CHAR;
        call(p, "quantized_decomposed::quantize_per_tensor.out", &[2, c, a, a, a, a, q, q]);
    }),
    ("a jump to the end", |p| {
        let more = add(p, EValue::Bool(true));
        jump(p, 2, more, 3);
    }),
    ("a tensor without bytes in no memory", |p| {
        let t = add_tensor(p, 0, 0);
        tensor(p, t as usize).memory = Memory::None;
        call(p, "aten::relu.out", &[t, t, t]);
    }),
    ("a constant as an output", |p| {
        tensor(p, 2).memory = Memory::None;
        tensor(p, 2).data = TensorData::Elsewhere(Some(0));
        instructions(p).clear();
    }),
];

#[test]
fn unusual_programs_are_accepted() {
    let text = chain("", "");
    for (what, edit) in UNUSUAL {
        let program = edited(&text, *edit);
        let mut findings = Findings::new(Profile::Strict);
        check(&program, &OperatorSet::new(), &BTreeSet::new(), &Work::default(), &mut findings, &|element| {
            Location::new(None, element.path(&program))
        });
        let found = findings.list.iter().filter(|finding| finding.rule.severity != RuleSeverity::Note);
        let found: Vec<String> = found.map(ToString::to_string).collect();
        assert_eq!(found, Vec::<String>::new(), "{what}");
    }
}

/// The arguments that may share bytes with the out are known only for kernels of the runtime, not for those that
/// `--ops` replaces.
#[test]
fn nothing_is_known_of_the_kernel_of_a_replaced_operator() {
    let program = edited(&chain("", ""), |p| tensor(p, 1).memory = Memory::At { pool: 1, offset: 8 });
    let found = |operators: &str| {
        let (mut findings, mut set) = (Findings::new(Profile::Strict), OperatorSet::new());
        set.add(operators).unwrap();
        check(&program, &set, &BTreeSet::new(), &Work::default(), &mut findings, &|element| {
            Location::new(None, element.path(&program))
        });
        findings.list.iter().map(|finding| finding.rule.id).collect::<Vec<_>>()
    };
    assert_eq!(found(""), [X_25]);
    assert_eq!(found("aten::relu.out self:T out:T!"), [X_4]);
}

#[test]
fn indices_out_of_range_are_skipped() {
    let text = chain("", "");
    for index in [-1, 99, i32::MIN, i32::MAX] {
        let mut program = program(&text);
        let plan = &mut program.execution_plan.as_mut().unwrap()[0];
        plan.inputs = Some(ids(&[index]));
        plan.outputs = Some(ids(&[index, 2]));
        add(plan, EValue::IntList(Some(vec![i64::from(index), i64::MAX, i64::MIN])));
        add(plan, EValue::TensorList(Some(ids(&[index]))));
        add(plan, EValue::TensorList(None));
        tensor(plan, 1).memory = Memory::At { pool: u32::MAX, offset: u64::MAX - 2 };
        tensor(plan, 2).sizes = None;
        args(plan, 0).fill(ValueId(index));
        call(plan, "aten::relu.out", &[3, 4, 5]);
        call(plan, "aten::copy_", &[index, index, index, index]);
        call(plan, "aten::cat.out", &[4, index, 1, index]);
        let list = instructions(plan);
        list.push(Instruction::KernelCall { op_index: OperatorId(index), args: None });
        list.push(Instruction::DelegateCall {
            delegate_index: DelegateId(index),
            args: Some(Args::from(&[index, 3, 4, 5])),
        });
        list.push(Instruction::MoveCall { move_from: ValueId(index), move_to: ValueId(0) });
        list.push(Instruction::MoveCall { move_from: ValueId(0), move_to: ValueId(index) });
        list.push(Instruction::FreeCall { value_index: ValueId(index) });
        list.push(Instruction::JumpFalseCall { cond_value_index: ValueId(index), destination_instruction: index });
        plan.operators.as_mut().unwrap().push(Operator::default());
        // The lists of the first call are of a wrong kind; invalid indices are reported by other rules.
        let at = |path: &str| format!("methods.forward.instructions[2].{path}");
        let expected = [(O_2, at("args[0]")), (O_2, at("args[1]")), (O_4, at("args[2]"))];
        assert_eq!(found(&program), expected, "{index}");
    }
    assert_eq!(found(&Program::default()), []);
    let empty = Program { execution_plan: Some(vec![ExecutionPlan::default()]), ..Program::default() };
    assert_eq!(found(&empty), []);
}

/// An Int that many calls read is known, whatever their number.
#[test]
fn numbers_with_many_uses_are_known() {
    let mut program = program(&chain("", ""));
    let plan = &mut program.execution_plan.as_mut().unwrap()[0];
    let [least, one, sum, most] = [-1000, 1, 0, 127].map(|number| add(plan, EValue::Int(number)));
    for _ in 0..200 {
        call(plan, "executorch_prim::add.Scalar", &[least, one, sum]);
    }
    let (scale, zero) = (add(plan, EValue::Double(1.0)), add(plan, EValue::Int(0)));
    let char_type = add(plan, EValue::Int(ScalarType::CHAR.0.into()));
    let out = add_tensor(plan, 256, 4);
    tensor(plan, out as usize).scalar_type = ScalarType::CHAR;
    let name = "quantized_decomposed::quantize_per_tensor.out";
    call(plan, name, &[0, scale, zero, least, most, char_type, out, out]);
    assert!(
        found(&program).contains(&(O_8, "methods.forward.instructions[202].args[3]".into())),
        "{:?}",
        found(&program)
    );
}

/// A call of an operator with several outs ends with a list of them.
#[test]
fn a_list_of_no_outs_is_reported() {
    let mut program = program(
        "    values: {x: {tensor: float32, sizes: [8]}}\n    inputs: [x]\n    outputs: [v, i]\n    instructions:\n      \
         - {kernel: aten::topk.values, args: [x, 3], out: [v, i]}\n",
    );
    assert_eq!(found(&program), []);
    let plan = &mut program.execution_plan.as_mut().unwrap()[0];
    let list = args(plan, 0).last().unwrap().0 as usize;
    plan.values.as_mut().unwrap()[list] = EValue::TensorList(Some(Vec::new()));
    assert_eq!(found(&program), [(O_4, "methods.forward.instructions[0].args[7]".to_owned())]);
}

#[test]
fn every_rule_here_has_a_test() {
    let folders = ["", "/security"].map(|folder| format!("{}/examples/malformed{folder}", env!("CARGO_MANIFEST_DIR")));
    let examples = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let examples = examples.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let rule = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        text.strip_prefix("# ").and_then(|text| text.split_once(" | ")).expect("a rule in the first line").0.to_owned()
    };
    let examples: BTreeSet<String> = examples.map(rule).collect();
    let ours = RULES.iter().map(|rule| rule.id).filter(|id| id.as_str().starts_with(['O', 'X']));
    let untested: BTreeSet<RuleId> = ours
        .filter(|id| !examples.contains(id.as_str()))
        .filter(|id| !VIOLATIONS.iter().any(|(_, _, expected)| expected.iter().any(|(other, _)| other == id)))
        .collect();
    // examples/malformed/delegate_never_called.yaml violates X-15, too; check_values.rs tests X-30, other tests of this
    // file the others.
    assert_eq!(untested, [X_13, X_15, X_16, X_17, X_18, X_30].into());
}
