//! Tests the resolution of documents: the numbering of values, stacks, kinds of literals, labels, and messages at the
//! invalid node. Other unit tests use the programs of this module.

use crate::assembly::Assembly;
use crate::{AssembleOptions, Model};
use pte_model::diagnostics::Severity;
use pte_model::program::test_cases::TestData;
use pte_model::program::{
    BackendDelegate, EValue, ExecutionPlan, Instruction, Memory, Operator, OperatorId, Program, Tensor, TensorData,
    TensorDataLocation, ValueId,
};

/// A program from YAML, with the names of the values of its first method.
pub(crate) struct Sample {
    pub(crate) program: Program,
    names: Vec<(String, usize)>,
}

impl Sample {
    /// The first method.
    pub(crate) fn plan(&self) -> &ExecutionPlan {
        &self.program.plans()[0]
    }

    /// Number of a value of the first method.
    pub(crate) fn index(&self, name: &str) -> usize {
        self.names.iter().find(|(other, _)| other == name).unwrap_or_else(|| panic!("no value `{name}`")).1
    }

    fn value(&self, name: &str) -> &EValue {
        &self.plan().values()[self.index(name)]
    }

    fn tensor(&self, name: &str) -> &Tensor {
        match self.value(name) {
            EValue::Tensor(tensor) => tensor,
            other => panic!("{other:?}"),
        }
    }
}

/// YAML of a method `forward` with these parts, in flow style. `f32[2, 3]` stands for `{tensor: float32, sizes: [2,
/// 3]}`.
pub(crate) fn forward(parts: &str) -> String {
    format!("methods: {{forward: {{{}}}}}\n", tensors(parts))
}

/// Replaces `f32[2, 3]` by `{tensor: float32, sizes: [2, 3]}`.
pub(crate) fn tensors(yaml: &str) -> String {
    let mut pieces = yaml.split("f32[");
    let mut out = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let (sizes, rest) = piece.split_once(']').unwrap();
        out.push_str(&format!("{{tensor: float32, sizes: [{sizes}]}}{rest}"));
    }
    out
}

/// The program of YAML without errors.
pub(crate) fn resolved(yaml: &str) -> Sample {
    let source = Model::from_yaml("test", yaml, ".");
    let resolved = source.resolve().unwrap_or_else(|error| panic!("{error}\n{yaml}"));
    let ir = crate::ir::decode::decode(pte_yaml::tree::parse(yaml).unwrap(), Default::default()).0;
    let names = crate::ir::resolve::resolve(&ir, &crate::ir::files::FileAccess::default()).unwrap().origins.values(0);
    Sample { program: resolved.program, names }
}

/// The program and the plan of YAML without errors.
pub(crate) fn assembled(yaml: &str) -> Assembly {
    Model::from_yaml("test", yaml, ".")
        .assemble(&AssembleOptions::default())
        .unwrap_or_else(|error| panic!("{error}\n{yaml}"))
}

/// The parts of the source that the errors of all stages point to.
pub(crate) fn errors(yaml: &str) -> Vec<String> {
    let error = match Model::from_yaml("test", yaml, ".").assemble(&AssembleOptions::default()) {
        Ok(_) => panic!("no error\n{yaml}"),
        Err(error) => error,
    };
    let errors = error.diagnostics().iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    errors.map(|error| error.at.clone().map_or("(whole)".into(), |at| yaml[at].to_owned())).collect()
}

/// The values of a method in their order: the name, or the content of one without a name.
fn listing(parts: &str) -> Vec<String> {
    let sample = resolved(&forward(parts));
    let of = |(index, value): (usize, &EValue)| {
        let name = sample.names.iter().find(|(_, other)| *other == index);
        name.map_or_else(|| format!("{value:?}"), |(name, _)| name.clone())
    };
    sample.plan().values().iter().enumerate().map(of).collect()
}

fn instructions(sample: &Sample) -> &[Instruction] {
    sample.plan().chains.as_ref().unwrap()[0].instructions.as_deref().unwrap()
}

/// The stack of the last call of a method.
fn stack(parts: &str) -> Vec<i32> {
    match instructions(&resolved(&forward(parts))).last() {
        Some(Instruction::KernelCall { args, .. } | Instruction::DelegateCall { args, .. }) => {
            args.as_ref().unwrap().iter().map(|arg| arg.0).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// The value that an operator outside of the table gets for a literal.
fn untyped(literal: &str) -> EValue {
    let parts = format!(
        "values: {{x: f32[4], w: f32[4]}}, inputs: [x, w], instructions: [{{kernel: mine::f, args: [{literal}]}}]"
    );
    resolved(&forward(&parts)).plan().values().last().unwrap().clone()
}

/// Jumps of a method, as condition and destination.
fn jumps(parts: &str) -> Vec<(i32, i32)> {
    let sample = resolved(&forward(parts));
    let jump = |instruction: &Instruction| match instruction {
        Instruction::JumpFalseCall { cond_value_index, destination_instruction } => {
            Some((cond_value_index.0, *destination_instruction))
        }
        _ => None,
    };
    instructions(&sample).iter().filter_map(jump).collect()
}

// -------------------------------------------------------------------------------------------------------------
// numbering

#[test]
fn values_that_no_instruction_produces_come_first_as_declared() {
    let parts = "values: {y: f32[2], w: {tensor: float32, data: [1, 2]}, x: f32[2]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::mul.out, args: [x, w], out: y}]";
    assert_eq!(listing(parts), ["w", "x", "y"]);
}

#[test]
fn an_out_is_numbered_before_the_literals_of_its_call() {
    let parts = "values: {x: f32[2], y: f32[2]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::add.out, args: [x, x, 3], out: y}]";
    assert_eq!(listing(parts), ["x", "y", "Int(3)"]);
}

#[test]
fn a_result_is_numbered_after_the_literals_of_its_call() {
    let parts = "values: {x: f32[2], n: 0}, inputs: [x], outputs: [n],
        instructions: [{kernel: aten::sym_size.int, args: [x, 0], out: n}]";
    assert_eq!(listing(parts), ["x", "Int(0)", "n"]);
}

#[test]
fn items_are_numbered_before_their_list() {
    // E-5
    let parts = "values: {x: f32[2, 2], y: f32[1, 1]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::sum.IntList_out, args: [x, [1, 0], true, null], out: y}]";
    assert_eq!(listing(parts), ["x", "y", "Int(1)", "Int(0)", "IntList(Some([2, 3]))", "Bool(true)", "Null"]);
}

#[test]
fn items_of_a_declared_list_are_numbered_before_it() {
    let sample = resolved(&forward("values: {n: 3, list: {int_list: [5, n]}}, outputs: [list]"));
    assert_eq!(sample.plan().values(), [EValue::Int(3), EValue::Int(5), EValue::IntList(Some(vec![1, 0]))]);
}

/// The runtime rejects a list before its items (M-9).
#[test]
fn tensors_of_a_declared_list_are_numbered_before_it() {
    let parts = "values: {x: f32[2], y: f32[2], v: {view_of: x, sizes: [2]}, l: {tensor_list: [y, v, x]}},
        inputs: [x], outputs: [l], instructions: [{kernel: aten::neg.out, args: [x], out: y}]";
    assert_eq!(listing(parts)[..4], ["x", "y", "v", "l"]);
}

#[test]
fn equal_literals_are_different_values() {
    // E-4
    let parts = "values: {x: f32[2], y: f32[2], z: f32[2]}, inputs: [x], outputs: [z], instructions: [
        {kernel: aten::add.out, args: [x, x, 1], out: y}, {kernel: aten::add.out, args: [y, x, 1], out: z}]";
    assert_eq!(listing(parts), ["x", "y", "Int(1)", "z", "Int(1)"]);
}

#[test]
fn a_view_is_numbered_at_its_first_use_before_what_the_instruction_produces() {
    let parts =
        "values: {v: {tensor: float32, sizes: [2, 2], view_of: x}, z: f32[2, 2], y: f32[4], x: f32[4]}, inputs: [x],
        outputs: [z], instructions: [
        {kernel: aten::relu.out, args: [x], out: y}, {kernel: aten::relu.out, args: [v], out: z}]";
    assert_eq!(listing(parts), ["x", "y", "v", "z"]);
}

const CONDITION: &str = "values: {x: f32[2], c: true, y: f32[2], b: f32[2], a: f32[2]}, inputs: [x, c], outputs: [y],
    instructions: [{jump_false: {cond: c, to: else}}, {kernel: aten::abs.out, args: [x], out: a},
    {move: {from: a, to: y}}, {jump_false: {cond: false, to: end}},
    {label: else, kernel: aten::exp.out, args: [x], out: b}, {move: {from: b, to: y}}, {label: end}]";

#[test]
fn what_branches_move_to_is_numbered_at_the_jump_in_front_and_a_literal_condition_at_its_destination() {
    // E-10
    assert_eq!(listing(CONDITION), ["x", "c", "y", "a", "b", "Bool(false)"]);
}

#[test]
fn what_stands_behind_a_label_is_numbered_after_the_condition_of_the_jump_to_it() {
    let with = |before: &str, last: &str| {
        let parts = CONDITION.replace("c: true,", "c: true, n: 7,");
        listing(&parts.replace("{label: end}", &format!("{before}{last}")))
    };
    let view = |label: &str| format!("{{{label}view: y, sizes: [2, 1], out: v}}");
    let end = "{label: end, kernel: aten::abs.out, args: [v], out: w}";
    let known = ["x", "c", "y", "a", "b"];
    let expected = |behind: [&'static str; 4]| [&known[..], &behind].concat();
    assert_eq!(with(&format!("{{value: n}}, {}, ", view("")), end), expected(["n", "v", "Bool(false)", "w"]));
    let end = "{kernel: aten::abs.out, args: [v], out: w}";
    assert_eq!(
        with(&format!("{{value: n}}, {}, ", view("label: end, ")), end),
        expected(["n", "Bool(false)", "v", "w"])
    );
    let end = with("{label: end, value: n}, ", &view(""));
    assert_eq!(end, [&known[..], &["Bool(false)", "n", "v"]].concat());
}

#[test]
fn a_literal_condition_of_a_backward_jump_is_numbered_at_the_jump() {
    let parts = "values: {x: f32[2], y: f32[2], z: f32[2]}, inputs: [x], outputs: [z], instructions: [
        {label: top, kernel: aten::abs.out, args: [x], out: y}, {jump_false: {cond: true, to: top}},
        {kernel: aten::abs.out, args: [y], out: z}]";
    assert_eq!(listing(parts), ["x", "y", "Bool(true)", "z"]);
}

#[test]
fn literal_outputs_are_numbered_last() {
    let parts = "values: {x: f32[2], y: f32[2]}, inputs: [x], outputs: [7, y],
        instructions: [{kernel: aten::add.out, args: [x, x, 1], out: y}]";
    assert_eq!(listing(parts), ["x", "y", "Int(1)", "Int(7)"]);
}

#[test]
fn a_mutable_tensor_keeps_its_declared_position_though_it_is_written() {
    let parts = "values: {y: f32[2], s: {tensor: float32, sizes: [2], mutable: true}, x: f32[2]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::relu.out, args: [x], out: y}, {kernel: aten::copy_, args: [s, y, false], out: s}]";
    assert_eq!(listing(parts), ["s", "x", "y", "Bool(false)"]);
}

#[test]
fn outputs_of_a_delegate_are_numbered_at_the_call() {
    let parts = "values: {z: f32[2], y: f32[2], x: f32[2]}, inputs: [x], outputs: [z],
        delegates: {d: {backend: B, data: {text: p}}}, instructions: [{delegate: d, args: [x, y, z]}]";
    assert_eq!(listing(parts), ["x", "y", "z"]);
}

#[test]
fn an_index_overrides_the_number_and_the_others_fill_the_rest() {
    let parts =
        "values: {a: f32[2], b: {tensor: float32, sizes: [2], index: 0}, c: f32[2], d: f32[2]}, inputs: [a, b, c, d],
        outputs: [1]";
    assert_eq!(listing(parts), ["b", "a", "c", "d", "Int(1)"]);
    let parts = "values: {n: {int: 5, index: 2}, x: f32[2]}, inputs: [x], outputs: [9]";
    assert_eq!(listing(parts), ["x", "Int(9)", "n"]);
}

// ----------------------------------------------------------------------------------------------------------------
// stacks

#[test]
fn the_out_of_an_out_variant_is_on_the_stack_twice() {
    // E-8: x, x, alpha, out, result.
    let parts = "values: {x: f32[2], y: f32[2]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::add.out, args: [x, x], out: y}]";
    assert_eq!(stack(parts), [0, 0, 2, 1, 1]);
}

#[test]
fn defaults_that_are_left_out_are_those_of_the_schema() {
    let parts = "values: {x: f32[2], y: f32[2]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::leaky_relu.out, args: [x], out: y}]";
    assert_eq!(listing(parts), ["x", "y", "Double(0.01)"]);
    let parts = parts.replace("leaky_relu", "gelu");
    assert_eq!(listing(&parts), ["x", "y", "String(Some(\"none\"))"]);
}

#[test]
fn several_outs_are_repeated_as_one_list() {
    // E-8: self, k, dim, largest, sorted, values, indices, list.
    let parts = "values: {x: f32[4], v: f32[2], i: {tensor: int64, sizes: [2]}}, inputs: [x], outputs: [v, i],
        instructions: [{kernel: aten::topk.values, args: [x, 2], out: [v, i]}]";
    assert_eq!(stack(parts), [0, 3, 4, 5, 6, 1, 2, 7]);
    assert_eq!(listing(parts)[3..], ["Int(2)", "Int(-1)", "Bool(true)", "Bool(true)", "TensorList(Some([1, 2]))"]);
}

#[test]
fn an_out_that_is_a_list_gives_two_lists() {
    // E-8: self, split_size, dim, out, result.
    let parts = "values: {x: f32[4], a: f32[2], b: f32[2]}, inputs: [x], outputs: [a, b],
        instructions: [{kernel: aten::split_copy.Tensor_out, args: [x, 2], out: [a, b]}]";
    assert_eq!(stack(parts), [0, 3, 4, 5, 6]);
    assert_eq!(listing(parts)[5..], ["TensorList(Some([1, 2]))", "TensorList(Some([1, 2]))"]);
}

#[test]
fn an_operator_in_place_ends_with_its_tensor() {
    let parts = "values: {s: {tensor: float32, sizes: [2], mutable: true}, x: f32[2]}, inputs: [x],
        instructions: [{kernel: aten::copy_, args: [s, x], out: s}]";
    assert_eq!(stack(parts), [0, 1, 2, 0]);
}

#[test]
fn an_unknown_operator_is_an_out_variant_if_its_overload_ends_in_out() {
    let parts = "values: {x: f32[2], y: f32[2]}, inputs: [x], outputs: [y],
        instructions: [{kernel: mine::f.my_out, args: [x, 5], out: y}]";
    assert_eq!((listing(parts), stack(parts)), (vec!["x".into(), "y".into(), "Int(5)".into()], vec![0, 2, 1, 1]));
    let parts = parts.replace("f.my_out", "f");
    assert_eq!((listing(&parts), stack(&parts)), (vec!["x".into(), "Int(5)".into(), "y".into()], vec![0, 1, 2]));
}

#[test]
fn a_stack_without_out_stays_as_it_is() {
    let parts = "values: {x: f32[2], y: f32[2]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::relu.out, args: [x, y, {index: 77}]}]";
    assert_eq!(stack(parts), [0, 1, 77]);
}

/// The tensors of an explicit list of outs are written, and numbered as with `out`.
#[test]
fn the_items_of_an_out_list_are_written() {
    let parts = |lists: &str, call: &str| {
        format!(
            "values: {{x: f32[4], a: f32[2], b: f32[2], y: f32[2]{lists}}}, inputs: [x], outputs: [y], instructions: [
            {{kernel: {call}}}, {{kernel: aten::add.out, args: [a, b], out: y}}]"
        )
    };
    let implicit = parts("", "aten::split_copy.Tensor_out, args: [x, 2], out: [a, b]");
    let explicit = parts("", "aten::split_copy.Tensor_out, args: [x, 2, 0, [a, b], [a, b]]");
    assert_eq!(resolved(&forward(&explicit)).plan(), resolved(&forward(&implicit)).plan());
    for call in [
        "aten::split_copy.Tensor_out, args: [x, 2, 0, l, l]",
        "aten::split_with_sizes_copy.out, args: [x, [2, 2], 0, l, l]",
        "aten::unbind_copy.int_out, args: [x, 0, l, l]",
        "mine::split.out, args: [x, l]",
    ] {
        let sample = resolved(&forward(&parts(", l: {tensor_list: [a, b]}", call)));
        let [a, b, y] = ["a", "b", "y"].map(|name| sample.index(name));
        assert!(a < b && b < y, "{call}: {a}, {b}, {y}");
    }
}

#[test]
fn the_operator_table_has_each_operator_once_in_the_order_of_first_use() {
    // E-9
    let sample = resolved(&forward(
        "values: {x: f32[2], a: f32[2], b: f32[2], c: f32[2], l: {int_list: [2]}}, inputs: [x], outputs: [c], instructions: [
        {kernel: aten::relu.out, args: [x], out: a}, {kernel: aten::abs.out, args: [a], out: b},
        {kernel: aten::relu.out, args: [b], out: c}, {kernel: mine::f, args: [c]},
        {kernel: executorch_prim::et_view.default, args: [c, l, a]}]",
    ));
    let operator = |name: &str, overload: &str| Operator { name: Some(name.into()), overload: Some(overload.into()) };
    let expected = [
        operator("aten::relu", "out"),
        operator("aten::abs", "out"),
        operator("mine::f", ""),
        operator("executorch_prim::et_view", "default"),
    ];
    assert_eq!(sample.plan().operators.as_deref().unwrap(), expected);
    let Instruction::KernelCall { op_index, .. } = instructions(&sample)[2] else { panic!() };
    assert_eq!(op_index, OperatorId(0));
}

// --------------------------------------------------------------------------------------------------------------
// literals

#[test]
fn a_literal_becomes_a_value_by_the_type_of_the_argument() {
    // E-6: an int for a float is a Double, an int for a Scalar an Int.
    let parts = "values: {x: f32[2], y: f32[1]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::_pdist_forward.out, args: [x, 1], out: y}]";
    assert_eq!(listing(parts)[2..], ["Double(1.0)"]);
    let parts = parts.replace("_pdist_forward", "leaky_relu").replace("f32[1]", "f32[2]");
    assert_eq!(listing(&parts)[2..], ["Int(1)"]);
}

#[test]
fn dtypes_and_memory_formats_are_ints() {
    // E-6; float64 is number 7, preserve number 1.
    let parts = "values: {x: f32[2], y: {tensor: float64, sizes: []}}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::mean.dtype_out, args: [x, float64], out: y}]";
    assert_eq!(listing(parts)[2..], ["Int(7)"]);
    let parts = parts.replace("mean.dtype_out, args: [x, float64]", "clone.out, args: [x, preserve]");
    let parts = parts.replace("{tensor: float64, sizes: []}", "f32[2]");
    assert_eq!(listing(&parts)[2..], ["Int(1)"]);
}

#[test]
fn an_empty_list_has_the_kind_of_the_argument() {
    let parts = "values: {x: f32[2], y: f32[]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::sum.IntList_out, args: [x, []], out: y}]";
    assert_eq!(listing(parts)[2], "IntList(Some([]))");
    assert_eq!(untyped("[]"), EValue::TensorList(Some(vec![])));
}

#[test]
fn a_list_without_a_type_has_the_kind_of_its_items() {
    // E-6; the BoolList is listed in docs/format.md, "Differences from the exporter".
    assert_eq!(untyped("[7]"), EValue::IntList(Some(vec![2])));
    assert_eq!(untyped("[1.5, 2.0]"), EValue::DoubleList(Some(vec![1.5, 2.0])));
    assert_eq!(untyped("[true, false]"), EValue::BoolList(Some(vec![true, false])));
    assert_eq!(untyped("[w, x]"), EValue::TensorList(Some(vec![ValueId(1), ValueId(0)])));
    assert_eq!(untyped("[w, null]"), EValue::OptionalTensorList(Some(vec![ValueId(1), ValueId::NONE])));
}

#[test]
fn optional_tensors_of_a_schema_make_an_optional_list() {
    let parts = "values: {x: f32[2], i: {tensor: int64, sizes: [1]}, y: f32[1]}, inputs: [x, i], outputs: [y],
        instructions: [{kernel: aten::index.Tensor_out, args: [x, [i]], out: y}]";
    assert_eq!(listing(parts)[3], "OptionalTensorList(Some([1]))");
}

#[test]
fn a_word_for_a_str_is_a_string() {
    let parts = "values: {x: f32[2], y: f32[2]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::gelu.out, args: [x, tanh], out: y}]";
    assert_eq!(listing(parts)[2], "String(Some(\"tanh\"))");
}

// -------------------------------------------------------------------------------------------------------------- jumps

#[test]
fn a_label_is_the_index_of_its_instruction_and_a_final_one_their_number() {
    assert_eq!(jumps(CONDITION), [(1, 4), (5, 6)]);
}

#[test]
fn a_number_as_destination_stays_as_it_is() {
    let parts = "values: {x: {tensor: bool, sizes: []}}, inputs: [x], instructions: [{jump_false: {cond: x, to: 99}}]";
    assert_eq!(jumps(parts), [(0, 99)]);
}

#[test]
fn each_chain_has_labels_of_its_own() {
    let parts = "values: {x: {tensor: bool, sizes: []}}, inputs: [x], chains: [
        {instructions: [{free: x}, {label: a, jump_false: {cond: x, to: a}}]},
        {instructions: [{label: a, jump_false: {cond: x, to: a}}]}]";
    let sample = resolved(&forward(parts));
    let last =
        |chain: usize| sample.plan().chains.as_ref().unwrap()[chain].instructions.as_ref().unwrap().last().cloned();
    let jump = |destination_instruction| {
        Some(Instruction::JumpFalseCall { cond_value_index: ValueId(0), destination_instruction })
    };
    assert_eq!((last(0), last(1)), (jump(1), jump(0)));
}

#[test]
fn one_stack_trace_gives_every_instruction_an_entry() {
    // E-3
    let frees = "values: {x: f32[2]}, inputs: [x], instructions: [{free: x}, {free: x, stacktrace: [{lineno: 4}]}]";
    let trace = |parts: &str| resolved(&forward(parts)).plan().chains.as_ref().unwrap()[0].stacktrace.clone();
    let traces = trace(frees).unwrap();
    assert_eq!((traces.len(), traces[0].as_deref()), (2, Some(&[][..])));
    assert_eq!(traces[1].as_ref().unwrap()[0].lineno, 4);
    assert_eq!(trace(&frees.replace(", stacktrace: [{lineno: 4}]", "")), None);
}

// --------------------------------------------------------------------------------------------------------------
// tensors

#[test]
fn memory_of_a_tensor_follows_from_what_it_is() {
    let sample = resolved(&forward(
        "values: {x: f32[2], w: {tensor: float32, data: [1]}, s: {tensor: float32, data: [1], mutable: true},
        d: {tensor: float32, sizes: [2], dynamism: dynamic_unbound}, n: {tensor: float32, sizes: [2], memory: none},
        p: {tensor: float32, sizes: [2], memory: {pool: 2}}, at: {tensor: float32, sizes: [2], memory: {pool: 3, offset: 64}},
        e: {tensor: float32, sizes: [2], external: true}},
        inputs: [x, d, n, p, at], outputs: [w, s, e]",
    ));
    let memory = |name| sample.tensor(name).memory;
    assert_eq!(memory("x"), Memory::Auto { pool: None, persistent: false, shared: None });
    assert_eq!(memory("w"), Memory::None);
    assert_eq!(memory("s"), Memory::Auto { pool: None, persistent: true, shared: None });
    assert_eq!(memory("d"), Memory::None);
    assert_eq!(memory("n"), Memory::None);
    assert_eq!(memory("p"), Memory::Auto { pool: Some(2), persistent: false, shared: None });
    assert_eq!(memory("at"), Memory::At { pool: 3, offset: 64 });
    assert_eq!(memory("e"), Memory::None);
}

#[test]
fn inputs_and_outputs_that_are_not_planned_have_no_memory() {
    let parts = "values: {x: f32[2], y: f32[2], z: f32[2]}, inputs: [x], outputs: [z], instructions: [
        {kernel: aten::relu.out, args: [x], out: y}, {kernel: aten::relu.out, args: [y], out: z}]";
    let unplanned = |what: &str| {
        let sample = resolved(&forward(&format!("{parts}, memory: {{{what}: unplanned}}")));
        ["x", "y", "z"].map(|name| sample.tensor(name).memory == Memory::None)
    };
    assert_eq!(unplanned("inputs"), [true, false, false]);
    assert_eq!(unplanned("outputs"), [false, false, true]);
}

#[test]
fn a_view_shares_the_memory_or_the_data_of_its_base() {
    let sample = resolved(&forward(
        "values: {w: {tensor: float32, data: [1, 2]}, vw: {tensor: float32, sizes: [2, 1], view_of: w}, x: f32[4],
        vx: {tensor: float32, sizes: [2, 2], view_of: x}, vvx: {tensor: float32, sizes: [4], view_of: vx}},
        inputs: [x], outputs: [vw, vx, vvx]",
    ));
    assert_eq!(sample.tensor("vx").memory, Memory::View { base: sample.index("x") as u32 });
    assert_eq!(sample.tensor("vvx").memory, Memory::View { base: sample.index("x") as u32 });
    let (TensorData::Blob(own), TensorData::Blob(base)) = (&sample.tensor("vw").data, &sample.tensor("w").data) else {
        panic!("no data")
    };
    assert_eq!(sample.program.blob(*own).to_vec().unwrap(), sample.program.blob(*base).to_vec().unwrap());
    assert_eq!(sample.tensor("vw").memory, Memory::None);
}

#[test]
fn extra_tensor_info_is_there_only_for_a_name_external_data_or_a_device() {
    // E-15
    let sample = resolved(&forward(
        "values: {x: f32[2], named: {tensor: float32, sizes: [2], name: a.b}, e: {tensor: float32, sizes: [2], external: true},
        g: {tensor: float32, sizes: [2], device: \"cuda:1\"}, c: {tensor: float32, sizes: [2], device: cpu}},
        inputs: [x, named, g, c], outputs: [e]",
    ));
    let extra = |name| sample.tensor(name).extra_tensor_info.as_deref();
    assert_eq!((extra("x"), extra("c")), (None, None));
    assert_eq!(extra("named").unwrap().fully_qualified_name.as_deref(), Some("a.b"));
    let external = extra("e").unwrap();
    assert_eq!(
        (external.fully_qualified_name.as_deref(), external.location),
        (Some("e"), TensorDataLocation::EXTERNAL)
    );
    let device = extra("g").unwrap();
    assert_eq!((device.device().to_string().as_str(), device.fully_qualified_name.as_deref()), ("cuda:1", None));
}

#[test]
fn sizes_are_those_of_nested_data() {
    let sample = resolved(&forward("values: {w: {tensor: int8, data: [[1, 2, 3], [4, 5, 6]]}}, outputs: [w]"));
    assert_eq!(sample.tensor("w").sizes.as_deref(), Some(&[2, 3][..]));
    assert_eq!(sample.tensor("w").dim_order.as_deref(), Some(&[0, 1][..]));
}

#[test]
fn a_delegate_keeps_its_specs_in_order_and_a_word_stands_for_its_bytes() {
    let sample = resolved(&forward(
        "values: {x: f32[2]}, inputs: [x], delegates: {d: {backend: B, inline: true, data: {hex: '0102'},
        compile_specs: [{key: z, value: fp16}, {key: a, value: {hex: ff}}]}}, instructions: [{delegate: d, args: [x]}]",
    ));
    let [BackendDelegate { id, processed, inline, compile_specs }] = sample.plan().delegates() else { panic!() };
    assert_eq!((id.as_deref(), *inline), (Some("B"), Some(true)));
    assert_eq!(sample.program.blob(*processed).to_vec().unwrap(), [1, 2]);
    let specs = compile_specs.as_ref().unwrap();
    let spec = |index: usize| (specs[index].key.as_deref().unwrap(), specs[index].value.as_deref().unwrap());
    assert_eq!((specs.len(), spec(0), spec(1)), (2, ("z", &b"fp16"[..]), ("a", &[0xff][..])));
}

#[test]
fn a_constant_method_has_no_metadata_of_inputs() {
    let sample = resolved(&forward("outputs: [1, 2]"));
    let meta = sample.plan().container_meta_type.clone().unwrap();
    assert_eq!(meta.encoded_inp_str.as_deref(), Some(""));
    assert_eq!(sample.plan().outputs.as_deref(), Some(&[0, 1].map(ValueId)[..]));
}

#[test]
fn an_empty_list_of_named_data_is_not_an_absent_one() {
    let named = |more: &str| resolved(&format!("methods: {{f: {{outputs: [1]}}}}\n{more}")).program.named_data;
    assert_eq!(named(""), None);
    assert_eq!(named("named_data: {}"), Some(vec![]));
    assert_eq!(named("named_data: {a: {data: {hex: ff}, external: true}}"), None);
}

// ----------------------------------------------------------------------------------------------------------------
// errors

/// Methods with one error each, and the part of the source that the error is at.
const WRONG: &[(&str, &str)] = &[
    // Names.
    ("values: {x: f32[2]}, inputs: [y]", "y"),
    ("values: {x: f32[2]}, inputs: [x, x]", "x"),
    ("values: {x: f32[2]}, inputs: [x], outputs: [other]", "other"),
    ("values: {x: f32[2]}, inputs: [x], instructions: [{free: gone}]", "gone"),
    ("values: {x: f32[2]}, inputs: [x], instructions: [{delegate: nobody, args: [x]}]", "nobody"),
    (
        "values: {x: {tensor: bool, sizes: []}}, inputs: [x], instructions: [{jump_false: {cond: x, to: nowhere}}]",
        "nowhere",
    ),
    ("values: {x: f32[2]}, inputs: [x], instructions: [{label: one, free: x}, {label: two}, {label: one}]", "one"),
    ("values: {v: {tensor: float32, sizes: [2], view_of: base}}, inputs: [v]", "base"),
    // Numbers.
    ("values: {x: {int: 1, index: 1}, y: {int: 2, index: 01}}", "01"),
    // Content.
    ("values: {x: f32[2], y: f32[2]}, outputs: [x], instructions: [{kernel: aten::relu.out, args: [y], out: x}]", "y"),
    ("values: {x: f32[2]}, outputs: [x]", "x"),
    (
        "values: {c: {tensor: float32, data: [1]}, x: f32[1]}, inputs: [x], instructions: [{kernel: aten::relu.out, args: [x], out: c}]",
        "c",
    ),
    ("values: {c: {tensor: float32, data: [1]}}, inputs: [c]", "c"),
    // Calls.
    (
        "values: {x: f32[2], y: f32[2]}, inputs: [x], outputs: [y], instructions: [{kernel: aten::relu.out, args: [x, 55], out: y}]",
        "55",
    ),
    (
        "values: {x: f32[2], y: f32[2]}, inputs: [x], outputs: [y], instructions: [{kernel: aten::mul.out, args: [x], out: y}]",
        "aten::mul.out",
    ),
    (
        "values: {x: f32[2], y: f32[2], z: f32[2]}, inputs: [x], outputs: [y], instructions: [{kernel: aten::relu.out, args: [x], out: [y, z]}]",
        "y",
    ),
    ("values: {x: f32[2], n: 1}, inputs: [x], instructions: [{kernel: aten::relu.out, args: [x], out: n}]", "n"),
    (
        "values: {x: f32[2], y: f32[2]}, inputs: [x], outputs: [y], instructions: [{kernel: aten::relu.out, args: [1.5], out: y}]",
        "1.5",
    ),
    ("values: {x: f32[2]}, inputs: [x], instructions: [{kernel: mine::f, args: [[1, true]]}]", "true"),
    ("values: {x: f32[2]}, inputs: [x], instructions: [{jump_false: {cond: 3, to: 0}}]", "3"),
    ("values: {x: f32[2]}, inputs: [x], instructions: [{jump_false: {cond: x, to: 0}}]", "x"),
    // Tensors.
    ("values: {x: {tensor: float32, sizes: [2], memory: {pool: 0}}}, inputs: [x]", "x"),
    ("values: {x: {tensor: float32, sizes: [2], memory: {pool: 4097}}}, inputs: [x]", "x"),
    ("values: {c: {tensor: float32, data: [1], memory: auto}}, outputs: [c]", "c"),
    ("values: {c: {tensor: float32, data: [1], mutable: true, memory: none}}, outputs: [c]", "c"),
    ("values: {c: {tensor: float32, data: {hex: ff}, sizes: [1]}}, outputs: [c]", "{"),
    ("values: {x: {tensor: float32}}, inputs: [x]", "x"),
    ("values: {c: {tensor: float32, data: [1, 2]}, v: {tensor: float32, sizes: [3], view_of: c}}, outputs: [v]", "c"),
    ("values: {n: 1, v: {tensor: float32, sizes: [1], view_of: n}}, outputs: [v]", "n"),
];

#[test]
fn an_error_is_at_the_node_that_is_wrong() {
    assert_eq!(WRONG.len(), 29);
    for (parts, at) in WRONG {
        assert_eq!(errors(&forward(parts)), [*at], "{parts}");
    }
}

#[test]
fn the_second_of_two_equal_names_is_the_error() {
    let yaml = "methods:\n  forward:\n    values:\n      x: 1\n      \"x\": 2\n    outputs: [1]\n";
    assert_eq!(errors(yaml), ["\"x\""]);
}

#[test]
fn views_in_a_circle_are_errors() {
    let parts = "values: {a: {tensor: float32, sizes: [1], view_of: b}, b: {tensor: float32, sizes: [1], view_of: a}},
        inputs: [a, b]";
    // One cycle is one error, at its first view.
    assert_eq!(errors(&forward(parts)), ["b"]);
}

#[test]
fn all_errors_are_reported_in_the_order_of_the_source() {
    let parts = "values: {x: f32[2]}, inputs: [first], outputs: [second], instructions: [{free: third}]";
    assert_eq!(errors(&forward(parts)), ["first", "second", "third"]);
}

#[test]
fn each_of_several_mistakes_is_reported_once() {
    let values = "x: f32[2, 3], w: f32[4, 3], a: f32[2, 5], b: {tensor: int32}, v: {view_of: a, sizes: [5, 2]}, s: {view_of: x, sizes: [5]}, \
                  last: {tensor: float32}";
    let calls = [
        // Declarations that contradict their instructions, and what depends on them.
        "aten::relu.out, args: [x], out: a",
        "aten::relu.out, args: [x], out: a",
        "aten::neg.out, args: [a], out: b",
        "aten::add.out, args: [x, v], out: c",
        "aten::cat.out, args: [[x, a], 0], out: d",
        // A view with another number of elements.
        "aten::neg.out, args: [s], out: e",
        "aten::add.out, args: [x, e], out: f",
        // Sizes, and a name, that an operator does not take.
        "aten::mm.out, args: [x, w], out: g",
        "aten::exp.out, args: [g], out: h",
        "aten::add.out, args: [x, wrong], out: i",
        "aten::abs.out, args: [i], out: j",
        "aten::permute_copy.out, args: [x, [0, 2]], out: k",
        // An unknown operator.
        "mine::f, args: [x], out: l",
        "aten::abs.out, args: [l], out: m",
        "aten::permute_copy.out, args: [m, [0, 7]], out: n",
        // A result without its instruction.
        "aten::abs.out, args: [x], out: o",
    ];
    // The declarations of `a` and `s`, and the dimensions.
    let expected = ["[", "[", "w", "wrong", "[", "l"];
    let instructions: Vec<String> = calls.iter().map(|call| format!("{{kernel: {call}}}")).collect();
    let method = |instructions: &str| {
        forward(&format!(
            "values: {{{values}}}, inputs: [x, w], outputs: [c, d, f, h, j, k, n], instructions: [{instructions}]"
        ))
    };
    let values = |yaml: &str| yaml.replace(", last: {tensor: float32}", "");
    assert_eq!(errors(&values(&method(&instructions.join(", ")))), expected);
    // Nothing is inferred after an error outside of the instructions.
    assert_eq!(errors(&method(&instructions.join(", "))), ["last", "wrong"]);
}

#[test]
fn a_declaration_without_its_instruction_is_one_error() {
    for (outputs, instruction, at) in [
        ("[y]", "{kernel: aten::add.out, args: [x, t], out: y}", "t"),
        ("[y, t]", "{kernel: aten::abs.out, args: [x], out: y}", "t"),
        ("[y]", "{kernel: aten::abs.out, args: [x], out: y}", "t"),
    ] {
        let parts = format!(
            "values: {{x: f32[2], t: {{tensor: float32}}}}, inputs: [x], outputs: {outputs}, instructions: [{instruction}]"
        );
        assert_eq!(errors(&forward(&parts)), [at], "{parts}");
    }
}

#[test]
fn a_result_of_an_unknown_operator_may_be_determined_by_another_call() {
    let parts = |between: &str| {
        format!(
            "values: {{x: f32[2]}}, inputs: [x], outputs: [y],
            instructions: [{{kernel: mine::f, args: [x], out: y}}, {between}{{kernel: aten::abs.out, args: [x], out: y}}]"
        )
    };
    resolved(&forward(&parts("")));
    // The element type and the sizes of `z` follow from those of `y`, which are not known yet.
    assert_eq!(errors(&forward(&parts("{kernel: aten::abs.out, args: [y], out: z}, "))), ["z"]);
}

// ----------------------------------------------------------------------------------------------------------- method
// tests

/// The inputs of the only test of a method with one input.
fn test_input(value: &str, given: &str) -> Vec<TestData> {
    let yaml = forward(&format!("values: {{x: {value}}}, inputs: [x], outputs: [], tests: [{{inputs: [{given}]}}]"));
    let source = Model::from_yaml("test", &yaml, ".");
    let resolved = source.resolve().unwrap();
    let [tests] = &*resolved.tests else { panic!("{:?}", resolved.tests) };
    tests.cases[0].inputs.clone()
}

#[test]
fn a_test_gives_values_of_the_kinds_of_the_inputs() {
    assert_eq!(test_input("1.5", "1"), [TestData::Double(1.0)]);
    assert_eq!(test_input("3", "3"), [TestData::Int(3)]);
    assert_eq!(test_input("true", "false"), [TestData::Bool(false)]);
    let [TestData::Tensor { data, sizes, .. }] = &*test_input("{tensor: int16, sizes: []}", "-2") else { panic!() };
    assert_eq!((data.to_vec().unwrap(), sizes.len()), (vec![0xfe, 0xff], 0));
}

#[test]
fn a_dynamic_tensor_takes_the_sizes_that_a_test_gives() {
    let value = "{tensor: float32, sizes: [2, 3], dynamism: dynamic_bound}";
    // I-27: the bound is on the number of elements.
    let [TestData::Tensor { sizes, .. }] = &*test_input(value, "[[1], [2], [3], [4], [5], [6]]") else { panic!() };
    assert_eq!(*sizes, [6, 1]);
    let test = format!("values: {{x: {value}}}, inputs: [x], tests: [{{inputs: [[[1, 2, 3, 4, 5, 6, 7]]]}}]");
    assert_eq!(errors(&forward(&test)).len(), 1);
}

#[test]
fn a_test_that_does_not_fit_its_method_is_an_error() {
    for (value, given) in [("3", "[1.5]"), ("true", "[1]"), ("f32[2]", "[[1, 2, 3]]"), ("f32[2]", "[[1, 2], [1, 2]]")] {
        let test = format!("values: {{x: {value}}}, inputs: [x], tests: [{{inputs: {given}}}]");
        assert_eq!(errors(&forward(&test)).len(), 1, "{value}: {given}");
    }
}
