//! Tests the changes that make methods need less memory: results in the memory of an argument, and the order of
//! instructions. `lab/tests/runtime/optimize_memory.rs` compares outputs in the real runtime.

use super::resolve::{forward, resolved};
use crate::{Model, edit::MinimizeOptions};
use pte_analysis::operators::MethodOperators;
use pte_model::program::{StackFrame, ValueId};
use pte_transform::optimize::order::reorder;
use pte_transform::optimize::reuse::reuse;

/// The results that get the memory of an argument, as `result=argument`.
fn reused(values: &str, inputs: &str, outputs: &str, instructions: &[&str]) -> String {
    let parts = method(values, inputs, outputs, instructions);
    let sample = resolved(&forward(&parts));
    let mut plan = sample.plan().clone();
    let operators = MethodOperators::known(&plan);
    let name = |value: usize| {
        let names = ["a", "b", "c", "d", "x", "y", "z", "k", "v", "w"]
            .into_iter()
            .filter(|name| parts.contains(&format!("{name}: ")));
        names.into_iter().find(|name| sample.index(name) == value).unwrap_or("?")
    };
    let found = reuse(&mut plan, &operators);
    found.iter().map(|found| format!("{}={}", name(found.value), name(found.base))).collect::<Vec<_>>().join(" ")
}

/// Instructions are `operator args out`, with `;` between arguments, or YAML in braces.
fn method(values: &str, inputs: &str, outputs: &str, instructions: &[&str]) -> String {
    let instruction = |text: &&str| match text.split(' ').collect::<Vec<_>>()[..] {
        [operator, args, out] if !text.starts_with('{') => {
            format!("{{kernel: aten::{operator}, args: [{}], out: {out}}}", args.replace(';', ", "))
        }
        _ => (*text).to_owned(),
    };
    let instructions: Vec<String> = instructions.iter().map(instruction).collect();
    format!(
        "values: {{{values}}}, inputs: [{inputs}], outputs: [{outputs}], instructions: [{}]",
        instructions.join(", ")
    )
}

const FOUR: &str = "x: f32[4, 4], a: f32[4, 4], b: f32[4, 4], c: f32[4, 4], y: f32[4, 4]";

#[test]
fn a_result_gets_the_memory_of_an_argument_that_nothing_reads_later() {
    let chain = ["mm.out x;x a", "relu.out a b", "add.out x;b;1 c", "exp.out c y"];
    assert_eq!(reused(FOUR, "x", "y", &chain), "b=a c=a y=a");
    // Both arguments of a call are the same tensor.
    assert_eq!(reused(FOUR, "x", "y", &["mm.out x;x a", "mul.out a;a y"]), "y=a");
    // The first one that is not used later.
    assert_eq!(reused(FOUR, "x", "y, a", &["mm.out x;x a", "mm.out x;a b", "add.out a;b;1 y"]), "y=b");
}

#[test]
fn memory_that_is_needed_is_not_reused() {
    let none = |values: &str, outputs: &str, instructions: &[&str]| {
        assert_eq!(reused(values, "x", outputs, instructions), "", "{instructions:?}");
    };
    // Of an input, of an argument that is read later or that is an output.
    none(FOUR, "y", &["relu.out x y"]);
    none(FOUR, "y", &["mm.out x;x a", "relu.out a b", "mm.out a;b y"]);
    none(FOUR, "a, y", &["mm.out x;x a", "relu.out a y"]);
    // Of kernels that do not work in place.
    none(FOUR, "y", &["mm.out x;x a", "mm.out a;a y"]);
    none(FOUR, "y", &["mm.out x;x a", "permute_copy.out a;[1,0] y"]);
    // Of arguments with other sizes, or another type.
    none("x: f32[4, 4], a: f32[1, 4], y: f32[4, 4]", "y", &["sum.IntList_out x;[0];true a", "add.out a;x;1 y"]);
    none("x: f32[4, 4], a: f32[4, 4], y: {tensor: bool, sizes: [4, 4]}", "y", &["mm.out x;x a", "gt.Scalar_out a;0 y"]);
    // Of tensors whose actual sizes may differ although their bounds do not.
    let dynamic = "x: {tensor: float32, sizes: [4, 4], dynamism: dynamic_bound}, a: {tensor: float32, sizes: [4, 4], dynamism: dynamic_bound},
        b: {tensor: float32, sizes: [4, 4], dynamism: dynamic_bound}, y: {tensor: float32, sizes: [4, 4], dynamism: dynamic_bound}";
    none(dynamic, "y", &["exp.out x a", "abs.out x b", "mul.out a;b y"]);
    assert_eq!(reused(dynamic, "x", "y", &["exp.out x a", "relu.out a y"]), "y=a");
    // Of state, and of the argument of a move that is used later.
    let state = "x: f32[4, 4], k: {tensor: float32, sizes: [4, 4], mutable: true}, y: f32[4, 4]";
    none(state, "y", &["relu.out k y", "copy_ k;x;false k"]);
}

#[test]
fn views_need_the_memory_of_their_base() {
    let values = "x: f32[4, 4], a: f32[4, 4], v: {view_of: a, sizes: [16]}, b: f32[16], w: {view_of: b, sizes: [4, 4]}, y: f32[4, 4]";
    // A result of a view that is the last use of its base; a view of the result.
    assert_eq!(reused(values, "x", "y", &["mm.out x;x a", "relu.out v b", "exp.out w y"]), "b=a y=a");
    assert_eq!(reused(values, "x", "y, a", &["mm.out x;x a", "relu.out v b", "exp.out w y"]), "y=b");
}

#[test]
fn content_of_the_previous_iteration_is_not_overwritten() {
    let values = "x: f32[4, 4], a: f32[4, 4], b: f32[4, 4], y: f32[4, 4], c: {tensor: bool, sizes: []}";
    // The next iteration reads a, which the loop does not write again.
    let carried = [
        "mm.out x;x a",
        "{label: again, kernel: aten::relu.out, args: [a], out: b}",
        "mm.out b;b y",
        "{jump_false: {cond: c, to: again}}",
    ];
    assert_eq!(reused(values, "x, c", "y", &carried), "");
    let inside = [
        "{label: again, kernel: aten::mm.out, args: [x, x], out: a}",
        "relu.out a b",
        "mm.out b;b y",
        "{jump_false: {cond: c, to: again}}",
    ];
    assert_eq!(reused(values, "x, c", "y", &inside), "b=a");
}

/// Operators of a method in the new order, with the bytes that are alive before and after.
fn reordered(values: &str, inputs: &str, outputs: &str, instructions: &[&str]) -> (Vec<u32>, [u64; 2]) {
    let sample = resolved(&forward(&method(values, inputs, outputs, instructions)));
    let mut plan = sample.plan().clone();
    let chain = &mut plan.chains.as_mut().unwrap()[0];
    let count = chain.instructions.as_ref().unwrap().len();
    let line = |number: usize| StackFrame { lineno: number as i32, ..StackFrame::default() };
    chain.stacktrace = Some((0..count).map(|number| Some(vec![line(number)])).collect());
    let before: Vec<Vec<ValueId>> = plan.instructions().map(|instruction| instruction.args().to_vec()).collect();
    let operators = MethodOperators::known(&plan);
    let done = reorder(&mut plan, &operators);
    let order = if done.order.is_empty() { (0..count as u32).collect() } else { done.order.clone() };
    // Arguments and stack traces move with their instructions.
    let chain = &plan.chains.as_ref().unwrap()[0];
    for (position, former) in order.iter().enumerate() {
        assert_eq!(chain.instructions.as_ref().unwrap()[position].args(), before[*former as usize]);
        assert_eq!(chain.stacktrace.as_ref().unwrap()[position].as_ref().unwrap()[0].lineno, *former as i32);
    }
    (done.order, [done.before, done.after])
}

#[test]
fn independent_subgraphs_are_computed_one_after_the_other() {
    let values = "x: f32[1], a: f32[64], b: f32[64], c: f32[1], d: f32[1], y: f32[1]";
    let breadth = [
        "expand_copy.out x;[64];false a",
        "expand_copy.out x;[64];false b",
        "mean.out a;[0];true;null c",
        "mean.out b;[0];true;null d",
        "add.out c;d;1 y",
    ];
    let (order, alive) = reordered(values, "x", "y", &breadth);
    assert_eq!(alive, [528, 288]);
    assert!(order == [0, 2, 1, 3, 4] || order == [1, 3, 0, 2, 4], "{order:?}");
    // Nothing is gained: the order stays.
    let depth = [breadth[0], breadth[2], breadth[1], breadth[3], breadth[4]];
    assert_eq!(reordered(values, "x", "y", &depth), (Vec::new(), [288, 288]));
}

#[test]
fn reads_and_writes_stay_in_their_order() {
    let values = "x: f32[1], k: {tensor: float32, sizes: [1], mutable: true}, a: f32[64], b: f32[64], c: f32[1], d: f32[1], y: f32[1]";
    // The second expansion reads what the first one must not read.
    let state = [
        "expand_copy.out k;[64];false a",
        "{kernel: aten::copy_, args: [k, x, false], out: k}",
        "expand_copy.out k;[64];false b",
        "mean.out a;[0];true;null c",
        "mean.out b;[0];true;null d",
        "add.out c;d;1 y",
    ];
    let (order, alive) = reordered(values, "x", "y", &state);
    let position = |step: u32| order.iter().position(|other| *other == step).unwrap();
    assert!(position(0) < position(1) && position(1) < position(2) && alive[1] < alive[0], "{order:?} {alive:?}");
    // Unknown operators may depend on each other.
    let values = "x: f32[1], a: f32[64], b: f32[64], c: f32[1], d: f32[1], y: f32[1]";
    let unknown = [
        "{kernel: mine::one.out, args: [x], out: a}",
        "{kernel: mine::one.out, args: [x], out: b}",
        "{kernel: mine::two.out, args: [a], out: c}",
        "{kernel: mine::two.out, args: [b], out: d}",
        "add.out c;d;1 y",
    ];
    assert_eq!(reordered(values, "x", "y", &unknown).0, Vec::<u32>::new());
}

#[test]
fn instructions_do_not_move_across_jumps() {
    let values = "x: f32[1], q: {tensor: bool, sizes: []}, a: f32[64], b: f32[64], c: f32[1], d: f32[1], y: f32[1]";
    let instructions = [
        "expand_copy.out x;[64];false a",
        "expand_copy.out x;[64];false b",
        "{jump_false: {cond: q, to: end}}",
        "{label: end, kernel: aten::mean.out, args: [a, [0], true, null], out: c}",
        "mean.out b;[0];true;null d",
        "add.out c;d;1 y",
    ];
    assert_eq!(reordered(values, "x, q", "y", &instructions).0, Vec::<u32>::new());
}

#[test]
fn methods_with_explicit_offsets_stay() {
    let parts = method(
        "x: f32[4, 4], a: {tensor: float32, sizes: [4, 4], memory: {pool: 1, offset: 4096}}, y: f32[4, 4]",
        "x",
        "y",
        &["mm.out x;x a", "relu.out a y"],
    );
    let mut resolved = Model::from_yaml("test", forward(&parts), ".").resolve().unwrap();
    let before = resolved.program.clone();
    let methods = resolved.minimize_memory(&MinimizeOptions::default());
    assert_eq!(methods[0].kept.as_deref(), Some("1 tensor at offsets that no planner gives"));
    assert_eq!(resolved.program, before);
}
