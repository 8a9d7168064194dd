//! Instructions that `optimize` removes and keeps, by pass: programs before and after, as YAML.

use super::resolve::forward;
use crate::{
    AssembleOptions, Model,
    edit::{OptimizeOptions, OptimizePass},
};
use pte_model::program::{ExecutionPlan, Memory};

/// Method after an optimization with one pass.
fn optimized(parts: &str, pass: OptimizePass) -> ExecutionPlan {
    let yaml = forward(parts);
    let mut resolved = Model::from_yaml("test", &yaml, ".").resolve().unwrap_or_else(|error| panic!("{error}\n{yaml}"));
    let options = OptimizeOptions::default().passes(vec![pass]);
    let done = resolved.optimize(&options).unwrap();
    let [before, after] = done.methods[0].instructions;
    let changes = done.methods[0].changes.iter().filter(|change| change.change.noun().is_some());
    assert_eq!(changes.count(), before - after, "{:?}", done.methods[0].changes);
    let assembly = resolved.to_files(&AssembleOptions::default()).unwrap();
    let findings = assembly.check(&crate::check::CheckOptions::default()).unwrap();
    assert!(!findings[0].has_errors(), "{parts}: {}", findings[0].list[0]);
    assembly.program().plans()[0].clone()
}

fn method(parts: &str) -> ExecutionPlan {
    let yaml = forward(parts);
    let assembly = Model::from_yaml("test", &yaml, ".").assemble(&AssembleOptions::default());
    assembly.unwrap_or_else(|error| panic!("{error}\n{yaml}")).program().plans()[0].clone()
}

/// Asserts that the identity pass changes a method to another one.
#[track_caller]
fn assert_identity(parts: &str, expected: &str) {
    pretty_assertions::assert_eq!(optimized(parts, OptimizePass::Identity), method(expected), "{parts}");
}

/// Asserts that the identity pass changes nothing.
#[track_caller]
fn assert_stays(parts: &str) {
    assert_identity(parts, parts);
}

/// A method of `x` and `y` with these instructions.
fn with(values: &str, instructions: &str) -> String {
    format!(
        "values: {{x: f32[2, 3], {values} y: f32[2, 3]}}, inputs: [x], outputs: [y], instructions: [{instructions}]"
    )
}

#[test]
fn copies_that_change_nothing_are_removed() {
    let last = "{kernel: aten::relu.out, args: [x], out: y}";
    let expected = with("", last);
    for copy in [
        "{kernel: aten::clone.out, args: [x, null], out: a}",
        "{kernel: aten::alias_copy.out, args: [x], out: a}",
        "{kernel: aten::permute_copy.out, args: [x, [0, 1]], out: a}",
        "{kernel: aten::expand_copy.out, args: [x, [2, -1]], out: a}",
        "{kernel: aten::slice_copy.Tensor_out, args: [x, 1, 0, 9223372036854775807, 1], out: a}",
        "{kernel: aten::view_copy.out, args: [x, [2, 3]], out: a}",
    ] {
        let used = last.replace("[x]", "[a]");
        assert_identity(&with("a: f32[2, 3],", &format!("{copy}, {used}")), &expected);
    }
}

#[test]
fn chains_of_copies_count_as_one() {
    let transposed = "{kernel: aten::permute_copy.out, args: [x, [1, 0]], out: a}";
    let back = "{kernel: aten::transpose_copy.int_out, args: [a, 0, 1], out: b}";
    assert_identity(
        &with(
            "a: f32[3, 2], b: f32[2, 3],",
            &format!("{transposed}, {back}, {{kernel: aten::relu.out, args: [b], out: y}}"),
        ),
        &with("", "{kernel: aten::relu.out, args: [x], out: y}"),
    );
    // The transposed tensor is used, too.
    let used = "{kernel: aten::mm.out, args: [b, a], out: c}, {kernel: aten::mm.out, args: [c, b], out: y}";
    assert_identity(
        &with("a: f32[3, 2], b: f32[2, 3], c: f32[2, 2],", &format!("{transposed}, {back}, {used}")),
        &with("a: f32[3, 2], c: f32[2, 2],", &format!("{transposed}, {}", used.replace('b', "x"))),
    );
}

#[test]
fn copies_with_other_sizes_are_views() {
    let view = "{kernel: aten::view_copy.out, args: [r, [3, 2]], out: a}";
    let parts = |values: &str, view: &str| {
        format!(
            "values: {{x: f32[2, 3], r: f32[2, 3], {values}, y: f32[3, 2]}}, inputs: [x], outputs: [y],
            instructions: [{{kernel: aten::relu.out, args: [x], out: r}}, {view} {{kernel: aten::neg.out, args: [a], out: y}}]"
        )
    };
    let changed = optimized(&parts("a: f32[3, 2]", &format!("{view},")), OptimizePass::Identity);
    assert_eq!(changed.instructions().count(), 2);
    let expected = method(&parts("a: {tensor: float32, sizes: [3, 2], view_of: r}", ""));
    assert_eq!(changed.tensors().count(), expected.tensors().count());
    let view = |plan: &ExecutionPlan| {
        plan.tensors().filter(|(_, tensor)| matches!(tensor.memory, Memory::View { .. })).count()
    };
    assert_eq!((view(&changed), view(&expected)), (1, 1));
}

#[test]
fn equal_calls_are_made_once() {
    let call = |out: &str| format!("{{kernel: aten::exp.out, args: [x], out: {out}}}");
    let sum = "{kernel: aten::add.out, args: [a, b], out: y}";
    assert_identity(
        &with("a: f32[2, 3], b: f32[2, 3],", &format!("{}, {}, {sum}", call("a"), call("b"))),
        &with("a: f32[2, 3],", &format!("{}, {}", call("a"), sum.replace('b', "a"))),
    );
    // Random numbers differ.
    let random = |out: &str| format!("{{kernel: aten::rand.out, args: [[2, 3]], out: {out}}}");
    assert_stays(&with("a: f32[2, 3], b: f32[2, 3],", &format!("{}, {}, {sum}", random("a"), random("b"))));
}

#[test]
fn copies_that_keep_what_is_overwritten_stay() {
    let copy = "{kernel: aten::clone.out, args: [s, null], out: a}";
    let values = "s: {tensor: float32, sizes: [2, 3], mutable: true, data: {fill: 1}}, a: f32[2, 3],";
    let used = "{kernel: aten::relu.out, args: [a], out: y}";
    let overwrite = "{kernel: aten::copy_, args: [s, x, false], out: r}";
    assert_stays(&with(values, &format!("{copy}, {overwrite}, {used}")));
    assert_identity(
        &with(values, &format!("{copy}, {used}, {overwrite}")),
        &with(&values.replace(" a: f32[2, 3],", ""), &format!("{}, {overwrite}", used.replace("[a]", "[s]"))),
    );
}

#[test]
fn outputs_have_memory_of_their_own() {
    // An output that is an input, or the same output twice, would be other memory for the caller.
    assert_stays(&with("", "{kernel: aten::clone.out, args: [x, null], out: y}"));
    let copied = "values: {x: f32[4], a: f32[4], y: f32[4]}, inputs: [x], outputs: [a, y],
        instructions: [{kernel: aten::relu.out, args: [x], out: a}, {kernel: aten::clone.out, args: [a, null], out: y}]";
    assert_stays(copied);
    assert_identity(
        &copied.replace("outputs: [a, y]", "outputs: [y]"),
        "values: {x: f32[4], y: f32[4]}, inputs: [x], outputs: [y], instructions: [{kernel: aten::relu.out, args: [x], out: y}]",
    );
}

#[test]
fn results_of_other_paths_stay() {
    let parts = "values: {x: f32[4], c: true, a: f32[4], b: f32[4], y: f32[4]}, inputs: [x, c], outputs: [y],
        instructions: [{jump_false: {cond: c, to: other}}, {kernel: aten::exp.out, args: [x], out: a},
        {kernel: aten::neg.out, args: [a], out: y}, {jump_false: {cond: false, to: end}},
        {kernel: aten::exp.out, args: [x], out: b, label: other}, {kernel: aten::relu.out, args: [b], out: y},
        {kernel: aten::clone.out, args: [y, null], out: a, label: end}]";
    let changed = optimized(parts, OptimizePass::Identity);
    // The last call is unused; the two equal calls are on different paths.
    assert_eq!(changed.instructions().count(), 6);
}

#[test]
fn views_of_values_that_are_moved_stay() {
    // The content of `m` is that of the moved value, not in the memory that is planned for `m`.
    let parts = "values: {x: f32[2, 2], c: {tensor: bool, sizes: [1]}}, inputs: [x, c], outputs: [o],
        instructions: [{jump_false: {cond: c, to: e}}, {kernel: aten::abs.out, args: [x], out: a}, {move: {from: a, to: m}},
        {jump_false: {cond: false, to: f}}, {label: e, kernel: aten::neg.out, args: [x], out: b}, {move: {from: b, to: m}},
        {label: f, kernel: aten::view_copy.out, args: [m, [4]], out: v}, {kernel: aten::sin.out, args: [v], out: o}]";
    assert_eq!(optimized(parts, OptimizePass::Identity).instructions().count(), 8);
}

#[test]
fn bases_of_views_keep_their_memory() {
    // A view of the copy cannot be one of the constant, which has no planned memory.
    let parts =
        "values: {x: f32[2, 2], k: {tensor: float32, data: [[0.5, 2.0], [3.0, -4.0]]}}, inputs: [x], outputs: [o],
        instructions: [{kernel: aten::clone.out, args: [k, null], out: a}, {view: a, sizes: [4], out: b},
        {kernel: aten::view_copy.out, args: [b, [2, 2]], out: c}, {kernel: aten::add.out, args: [c, x, 1], out: o}]";
    assert_eq!(optimized(parts, OptimizePass::Identity).instructions().count(), 2);
}
