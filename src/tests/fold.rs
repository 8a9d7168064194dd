//! Calls that folding makes constant, and calls that stay: programs as YAML, with the numbers of the constants
//! afterwards.

use super::resolve::forward;
use crate::{AssembleOptions, Model, check::CheckOptions};
use pte_model::data::number::{NumericValue, decode};
use pte_model::program::{EValue, Instruction, Program, TensorData};
use pte_transform::optimize::fold::{FoldOptions, Folded, fold};
use pte_transform::prune::prune;

/// A program after folding.
struct After {
    program: Program,
    folded: Folded,
    /// Operators that remain.
    operators: Vec<String>,
}

impl After {
    fn of(parts: &str, max_growth: u64) -> After {
        let yaml = forward(parts);
        let resolved = Model::from_yaml("test", &yaml, ".").resolve();
        let mut resolved = resolved.unwrap_or_else(|error| panic!("{error}\n{yaml}"));
        let methods = vec![true; resolved.program.plans().len()];
        let folded = fold(&mut resolved.program, &methods, FoldOptions { max_growth }).unwrap();
        for (remap, plan) in folded.remaps.iter().zip(resolved.program.plans()) {
            assert_eq!(remap.instructions.former().len(), plan.instructions().count());
        }
        prune(&mut resolved.program);
        let program = resolved.program.clone();
        let assembly = resolved.to_files(&AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
        let findings = assembly.check(&CheckOptions::default()).unwrap();
        assert!(!findings[0].has_errors(), "{parts}: {}", findings[0].list[0]);
        let plan = &program.plans()[0];
        let name = |instruction: &Instruction| match instruction.operator() {
            Some(id) => plan.operator(id).and_then(pte_model::program::Operator::full_name).unwrap_or_default(),
            None => instruction.key().to_owned(),
        };
        let operators = plan.instructions().map(name).collect();
        After { program, folded, operators }
    }

    /// Returns the numbers of the constants, in the order of their values.
    fn constants(&self) -> Vec<Vec<NumericValue>> {
        let tensors = self.program.plans()[0].tensors();
        let numbers = tensors.filter_map(|(_, tensor)| {
            let TensorData::Blob(blob) = tensor.data else { return None };
            let bytes = self.program.blob(blob).to_vec().unwrap();
            let size = tensor.scalar_type.info().unwrap().size as usize;
            Some(bytes.chunks(size).filter_map(|item| decode(tensor.scalar_type, item)).collect())
        });
        numbers.collect()
    }

    fn reasons(&self) -> Vec<&str> {
        self.folded.left.iter().map(|call| call.reason.as_str()).collect()
    }
}

/// Asserts which operators remain, and the constants after it as text.
#[track_caller]
fn assert_folded(parts: &str, max_growth: u64, operators: &[&str], constants: &[&str]) -> After {
    let after = After::of(parts, max_growth);
    assert_eq!(after.operators, operators, "{:#?}", after.folded);
    let found: Vec<String> = after
        .constants()
        .iter()
        .map(|numbers| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(found, constants);
    after
}

const WEIGHT: &str = "w: {tensor: float32, sizes: [2, 3], data: [1, 2, 3, 4, 5, 6]}";

#[test]
fn views_of_folded_results_are_constants() {
    let calls = "{kernel: aten::permute_copy.out, args: [w, [1, 0]], out: a}, {view: a, sizes: [2, 3], out: v},
        {kernel: aten::permute_copy.out, args: [v, [1, 0]], out: t}";
    let constants = ["1.0 5.0 4.0 3.0 2.0 6.0"];
    assert_folded(&linear("a: f32[3, 2], t: f32[3, 2],", calls, "t"), 0, &["aten::mm.out"], &constants);
    // The caller gets a view.
    let output = linear("a: f32[3, 2], t: f32[3, 2],", calls, "t").replace("outputs: [y]", "outputs: [y, v]");
    let after = After::of(&output, 1 << 20);
    assert_eq!(after.operators.len(), 3, "{:?}", after.folded);
    assert!(after.reasons().contains(&"the method returns a view of a result"), "{:?}", after.folded);
}

/// A product of `x` and a tensor of 3 rows and 2 columns that instructions make of the weight.
fn linear(values: &str, instructions: &str, weight: &str) -> String {
    format!(
        "values: {{{WEIGHT}, x: f32[1, 3], {values} y: f32[1, 2]}}, inputs: [x], outputs: [y],
        instructions: [{instructions}, {{kernel: aten::mm.out, args: [x, {weight}], out: y}}]"
    )
}

const TRANSPOSE: &str = "{kernel: aten::permute_copy.out, args: [w, [1, 0]], out: t}";

#[test]
fn transposed_weights_are_constants() {
    let after =
        assert_folded(&linear("t: f32[3, 2],", TRANSPOSE, "t"), 0, &["aten::mm.out"], &["1.0 4.0 2.0 5.0 3.0 6.0"]);
    assert_eq!(after.folded.calls.len(), 1);
    assert_eq!((after.folded.calls[0].step, after.folded.calls[0].bytes), (0, 24));
    assert_eq!(after.reasons(), [""; 0]);
    // Through other calls, and through a view.
    let calls = "{kernel: aten::clone.out, args: [w, null], out: c}, {kernel: aten::t_copy.out, args: [c], out: t}";
    assert_folded(
        &linear("c: f32[2, 3], t: f32[3, 2],", calls, "t"),
        0,
        &["aten::mm.out"],
        &["1.0 4.0 2.0 5.0 3.0 6.0"],
    );
    let view = "{view: w, sizes: [3, 2], out: v}";
    assert_folded(&linear("", view, "v"), 0, &["aten::mm.out"], &["1.0 2.0 3.0 4.0 5.0 6.0"]);
}

#[test]
fn constants_are_computed_through_calls() {
    let parts = |instructions: &str| {
        format!(
            "values: {{x: {{tensor: int64, sizes: [4]}}, a: {{tensor: int64, sizes: [4]}}, b: {{tensor: int64, sizes: [4]}}, c: {{tensor: int64, sizes: [8]}}, d: {{tensor: bool, sizes: [8]}}, e: {{tensor: int64, sizes: [8]}}, z: {{tensor: int64, sizes: [8]}}, f: {{tensor: int64, sizes: [4]}}, y: {{tensor: int64, sizes: [4]}}}},
            inputs: [x], outputs: [y],
            instructions: [{instructions} {{kernel: aten::add.out, args: [x, f, 1], out: y}}]"
        )
    };
    let calls = "{kernel: aten::arange.start_out, args: [0, 4, 1], out: a},
        {kernel: aten::add.out, args: [a, a, 1], out: b},
        {kernel: aten::cat.out, args: [{tensor_list: [a, b]}, 0], out: c},
        {kernel: aten::gt.Scalar_out, args: [c, 2], out: d},
        {kernel: aten::full.out, args: [[8], -1], out: z},
        {kernel: aten::where.self_out, args: [d, c, z], out: e},
        {kernel: aten::slice_copy.Tensor_out, args: [e, 0, 2, 6, 1], out: f},";
    assert_folded(&parts(calls), 0, &["aten::add.out"], &["-1 3 -1 -1"]);
}

#[test]
fn what_grows_the_file_stays() {
    let parts = "values: {w: {tensor: float32, sizes: [1, 100], data: {fill: 2}}, x: f32[100, 100], e: f32[100, 100], y: f32[100, 100]},
        inputs: [x], outputs: [y], instructions: [{kernel: aten::expand_copy.out, args: [w, [100, 100]], out: e},
        {kernel: aten::mul.out, args: [x, e], out: y}]";
    let after = After::of(parts, 0);
    assert_eq!(after.operators, ["aten::expand_copy.out", "aten::mul.out"]);
    assert!(after.reasons().contains(&"the file would grow"));
    let after = After::of(parts, 40_000);
    assert_eq!(after.operators, ["aten::mul.out"]);
    assert!(after.folded.growth > 39_000 && after.folded.growth <= 40_000, "{}", after.folded.growth);
    // A part of it does not need the whole.
    let sliced = parts.replace("y: f32[100, 100]", "s: f32[1, 100], y: f32[100, 100]").replace(
        "{kernel: aten::mul.out, args: [x, e]",
        "{kernel: aten::slice_copy.Tensor_out, args: [e, 0, 7, 8, 1], out: s}, {kernel: aten::mul.out, args: [x, s]",
    );
    let after = After::of(&sliced, 0);
    assert_eq!(after.operators, ["aten::mul.out"]);
    assert!(after.folded.growth <= 0);
    assert_eq!(after.program.blobs.len(), 1);
}

#[test]
fn a_constant_with_other_uses_stays() {
    // The transposed weight would be stored in addition.
    let large = |values: &str, instructions: &str| {
        format!(
            "values: {{w: {{tensor: float32, sizes: [20, 30], data: {{random: {{seed: 1}}}}}}, x: f32[30, 30], t: f32[30, 20], {values} a: f32[30, 20], y: f32[30, 30]}},
            inputs: [x], outputs: [y], instructions: [{{kernel: aten::permute_copy.out, args: [w, [1, 0]], out: t}},
            {{kernel: aten::mm.out, args: [x, t], out: a}}, {instructions} {{kernel: aten::mm.out, args: [a, w], out: y}}]"
        )
    };
    let stays = ["aten::permute_copy.out", "aten::mm.out", "aten::mm.out"];
    assert_eq!(After::of(&large("", ""), 0).operators, stays);
    assert_eq!(After::of(&large("", ""), 2400).operators, &stays[1..]);
    // Two equal transpositions are one constant.
    let again = "{kernel: aten::transpose_copy.int_out, args: [w, 0, 1], out: u}, {kernel: aten::add.out, args: [a, u, 1], out: a2},";
    let after =
        After::of(&large("u: f32[30, 20], a2: f32[30, 20],", again).replace("args: [a, w]", "args: [a2, w]"), 2400);
    assert_eq!(after.operators, ["aten::mm.out", "aten::add.out", "aten::mm.out"]);
    assert_eq!(after.program.blobs.len(), 2);
}

#[test]
fn several_results_are_folded_together() {
    let parts = |used: &str| {
        format!(
            "values: {{w: {{tensor: float32, sizes: [4], data: [1, 2, 3, 4]}}, x: f32[2], a: f32[2], b: f32[2], c: f32[2], y: f32[2]}},
            inputs: [x], outputs: [y], instructions: [{{kernel: aten::split_copy.Tensor_out, args: [w, 2, 0], out: [a, b]}},
            {{kernel: aten::add.out, args: [x, {used}, 1], out: y}}]"
        )
    };
    assert_folded(&parts("b"), 0, &["aten::add.out"], &["3.0 4.0"]);
    assert_folded(&parts("a"), 0, &["aten::add.out"], &["1.0 2.0"]);
}

#[test]
fn outputs_state_and_inputs_stay() {
    let output = format!(
        "values: {{{WEIGHT}, x: f32[1], t: f32[3, 2], y: f32[1]}}, inputs: [x], outputs: [t, y],
        instructions: [{TRANSPOSE}, {{kernel: aten::relu.out, args: [x], out: y}}]"
    );
    let after = After::of(&output, 1 << 20);
    assert_eq!(after.operators, ["aten::permute_copy.out", "aten::relu.out"]);
    assert!(after.reasons().contains(&"the method returns a result"));
    // A tensor that is written later is not a constant.
    let state =
        linear("s: {tensor: float32, sizes: [2, 3], mutable: true, data: {fill: 1}}, t: f32[3, 2],", TRANSPOSE, "t")
            .replace("args: [w,", "args: [s,")
            .replace("out: y}]", "out: y}, {kernel: aten::copy_, args: [s, w, false], out: r}]");
    assert_eq!(After::of(&state, 1 << 20).operators, ["aten::permute_copy.out", "aten::mm.out", "aten::copy_"]);
    // A result that an instruction changes in place.
    let changed =
        linear("t: f32[3, 2],", &format!("{TRANSPOSE}, {{kernel: aten::copy_, args: [t, x2, false], out: r}}"), "t")
            .replace("x: f32[1, 3],", "x: f32[1, 3], x2: f32[3, 2],")
            .replace("inputs: [x]", "inputs: [x, x2]");
    let after = After::of(&changed, 1 << 20);
    assert_eq!(after.operators, ["aten::permute_copy.out", "aten::copy_", "aten::mm.out"]);
    assert!(after.reasons().contains(&"other instructions write the memory of a result"));
    // Constants of another file.
    let external = linear("t: f32[3, 2],", TRANSPOSE, "t").replace("data: [1", "external: true, data: [1");
    assert_eq!(After::of(&external, 1 << 20).operators, ["aten::permute_copy.out", "aten::mm.out"]);
}

#[test]
fn branches_and_loops_keep_the_order_of_reads() {
    let branch = |read: &str| {
        format!(
            "values: {{{WEIGHT}, x: f32[1, 3], c: true, t: f32[3, 2], a: f32[1, 2], y: f32[1, 2]}}, inputs: [x, c], outputs: [y],
            instructions: [{{jump_false: {{cond: c, to: other}}}}, {TRANSPOSE}, {{kernel: aten::mm.out, args: [x, t], out: y}},
            {{jump_false: {{cond: false, to: end}}}},
            {{kernel: aten::full.out, args: [[1, 2], 0.5], out: y, label: other}},
            {{kernel: aten::relu.out, args: [{read}], out: a, label: end}}]"
        )
    };
    let after = After::of(&branch("y"), 0);
    assert!(!after.operators.contains(&"aten::permute_copy.out".to_owned()), "{:?}", after.folded);
    let jumps = after.program.plans()[0].instructions().filter_map(Instruction::destination).collect::<Vec<_>>();
    assert!(jumps.iter().all(|to| usize::try_from(*to).unwrap() <= after.operators.len()), "{jumps:?}");
    // A path reads the transposed weight without writing it.
    let after = After::of(&branch("t").replace("a: f32[1, 2]", "a: f32[3, 2]"), 1 << 20);
    assert!(after.reasons().contains(&"a path reads a result before it is written"), "{:?}", after.folded);
}

#[test]
fn a_delegate_reads_a_folded_constant() {
    let parts = format!(
        "values: {{{WEIGHT}, x: f32[1, 3], t: f32[3, 2], y: f32[1, 2]}}, inputs: [x], outputs: [y],
        delegates: {{d: {{backend: Custom, data: {{hex: '00'}}}}}},
        instructions: [{TRANSPOSE}, {{delegate: d, args: [x, t, y]}}]"
    );
    assert_folded(&parts, 0, &["delegate"], &["1.0 4.0 2.0 5.0 3.0 6.0"]);
}

#[test]
fn values_keep_their_indices() {
    let yaml = forward(&linear("t: f32[3, 2],", TRANSPOSE, "t"));
    let mut program = Model::from_yaml("test", &yaml, ".").resolve().unwrap().program;
    let before = program.plans()[0].values().len();
    fold(&mut program, &[false], FoldOptions::default()).unwrap();
    assert_eq!(program.plans()[0].instructions().count(), 2);
    let folded = fold(&mut program, &[true], FoldOptions::default()).unwrap();
    assert_eq!((program.plans()[0].values().len(), folded.remaps[0].instructions.former()), (before, &[1][..]));
    let value = &program.plans()[0].values()[folded.calls[0].constants[0]];
    assert!(matches!(value, EValue::Tensor(tensor) if matches!(tensor.data, TensorData::Blob(_))));
    // Nothing is left to fold.
    assert!(fold(&mut program, &[true], FoldOptions::default()).unwrap().calls.is_empty());
}
