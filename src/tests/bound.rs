//! Consequences of lower bounds, and values that do not fit them, by case.

use super::resolve::forward;
use crate::pipeline::Resolved;
use crate::{
    AssembleOptions, Error, Model,
    check::CheckOptions,
    edit::{BoundOptions, BoundReport},
};
use pte_model::program::TensorShapeDynamism;

fn options(inputs: &[&str]) -> BoundOptions {
    BoundOptions::default().inputs(inputs.iter().map(|input| input.parse().unwrap()).collect())
}

/// Replaces `dyn[4, 2]` by a tensor with these bounds.
fn method(parts: &str) -> String {
    let mut pieces = parts.split("dyn[");
    let mut out = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let (sizes, rest) = piece.split_once(']').unwrap();
        out += &format!("{{tensor: float32, sizes: [{sizes}], dynamism: dynamic_bound}}{rest}");
    }
    forward(&out)
}

fn bound(yaml: &str, options: &BoundOptions) -> Result<(Resolved, BoundReport), Error> {
    let mut resolved = Model::from_yaml("test", yaml, ".").resolve().unwrap_or_else(|error| panic!("{error}\n{yaml}"));
    let report = resolved.bound(options)?;
    Ok((resolved, report))
}

/// Sizes of all named tensors that are planned, in order: `x [2, 4]?` is dynamic. The program is valid.
fn sizes(resolved: Resolved) -> String {
    let plan = &resolved.program.plans()[0];
    let shown = resolved.origins.values(0).into_iter().filter_map(|(name, value)| {
        let tensor =
            plan.values()[value].as_tensor().filter(|tensor| tensor.data == pte_model::program::TensorData::None)?;
        let mark = if tensor.shape_dynamism == TensorShapeDynamism::STATIC { "" } else { "?" };
        Some(format!("{name} {:?}{mark}", tensor.sizes.as_deref().unwrap()))
    });
    let shown = shown.collect::<Vec<_>>().join(" ");
    let assembly = resolved.to_files(&AssembleOptions::default()).unwrap();
    let findings = assembly.check(&CheckOptions::default()).unwrap();
    assert!(!findings[0].has_errors(), "{:?}", findings[0].list);
    shown
}

#[track_caller]
fn follows(parts: &str, inputs: &[&str], expected: &str) -> BoundReport {
    let (resolved, report) = bound(&method(parts), &options(inputs)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(sizes(resolved), expected);
    report
}

#[track_caller]
fn refused(parts: &str, inputs: &[&str], expected: &[&str]) {
    let error = bound(&method(parts), &options(inputs)).map(|(resolved, _)| sizes(resolved)).unwrap_err();
    let found: Vec<&str> = error.diagnostics().iter().map(|diagnostic| &*diagnostic.message).collect();
    assert_eq!(found, expected);
}

const VIEWED: &str = "values: {x: dyn[8, 2, 5], v: dyn[8, 10], y: dyn[10, 8]}, inputs: [x], outputs: [y],
    instructions: [{kernel: aten::sym_size.int, args: [x, 0], out: n}, {kernel: aten::view_copy.out, args: [x, [n, 10]], out: v},
    {kernel: aten::permute_copy.out, args: [v, [1, 0]], out: y}]";

#[test]
fn sizes_follow_from_numbers_of_the_run_time() {
    let report = follows(VIEWED, &["x=3x2x5"], "x [3, 2, 5]? v [3, 10]? y [10, 3]?");
    assert_eq!((report.bounded.tensors, report.bounded.made_static), (3, 0));
    let report = follows(VIEWED, &["0=3x_x_!"], "x [3, 2, 5] v [3, 10] y [10, 3]");
    assert_eq!((report.bounded.tensors, report.bounded.made_static), (3, 3));
    let report = follows(VIEWED, &["x=8x2x5"], "x [8, 2, 5]? v [8, 10]? y [10, 8]?");
    assert_eq!(report.bounded.tensors, 0);
}

#[test]
fn all_inputs_become_static() {
    let mut options = options(&["x=3x2x5"]);
    options.all_static = true;
    let (resolved, report) = bound(&method(VIEWED), &options).unwrap();
    assert!(report.bounded.inputs[0].made_static);
    assert_eq!(sizes(resolved), "x [3, 2, 5] v [3, 10] y [10, 3]");
}

/// A dynamic size of 1 stays dynamic, so that nothing after it becomes static.
#[test]
fn a_bound_of_one_is_dynamic() {
    follows(VIEWED, &["x=1x2x5"], "x [1, 2, 5]? v [1, 10]? y [10, 1]?");
}

#[test]
fn numbers_that_no_longer_fit_are_errors() {
    let parts = "values: {x: dyn[8, 4], y: dyn[32]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::view_copy.out, args: [x, [32]], out: y}]";
    let message = "method `forward`, instruction 0 (`aten::view_copy.out`): sizes [32] for argument `size`, expected sizes of the 16 elements of [4, 4] of `self`";
    refused(parts, &["x=4x4"], &[message]);
    let parts = "values: {x: dyn[8, 4], w: {tensor: float32, sizes: [8, 4], data: {fill: 1}}, a: dyn[8, 4], y: dyn[8, 4]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::add.out, args: [x, w, 1], out: a}, {kernel: aten::relu.out, args: [a], out: y}]";
    let message = "method `forward`, instruction 0 (`aten::add.out`): sizes [8, 4] for argument `other`, expected sizes that broadcast with [4, 4] of `self`";
    refused(parts, &["x=4x4"], &[message]);
}

#[test]
fn a_static_result_keeps_its_sizes() {
    let parts = "values: {x: dyn[8, 4], y: f32[6, 4]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::slice_copy.Tensor_out, args: [x, 0, 0, 6, 1], out: y}]";
    follows(parts, &["x=6x4"], "x [6, 4]? y [6, 4]");
    let message = "method `forward`, instruction 0 (`aten::slice_copy.Tensor_out`): the result is [4, 4], expected the sizes [6, 4] of `y`, which is static";
    refused(parts, &["x=4x4"], &[message]);
}

/// All instructions that do not fit are reported, but not those that only follow.
#[test]
fn several_instructions_are_reported_once() {
    let parts = "values: {x: dyn[8], w: {tensor: float32, sizes: [8], data: {fill: 1}}, a: dyn[8], b: dyn[8], y: dyn[8]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::add.out, args: [x, w, 1], out: a}, {kernel: aten::mul.out, args: [x, w], out: b},
        {kernel: aten::mul.out, args: [a, b], out: y}]";
    let error = bound(&method(parts), &options(&["x=4"])).map(|_| ()).unwrap_err();
    let found: Vec<&str> = error.diagnostics().iter().map(|diagnostic| &diagnostic.message[..40]).collect();
    assert_eq!(found, ["method `forward`, instruction 0 (`aten::", "method `forward`, instruction 1 (`aten::"]);
}

#[test]
fn results_that_depend_on_data_stay_dynamic() {
    let parts = "values: {x: dyn[8, 4], p: {tensor: int64, sizes: [32, 2], dynamism: dynamic_bound}, s: dyn[32]}, inputs: [x], outputs: [p, s],
        instructions: [{kernel: aten::nonzero.out, args: [x], out: p}, {kernel: aten::gt.Scalar_out, args: [x, 0], out: m},
        {kernel: aten::masked_select.out, args: [x, m], out: s}]";
    follows(parts, &["x=2x4!"], "x [2, 4] p [8, 2]? m [2, 4] s [8]?");
}

#[test]
fn results_of_unknown_operators_keep_their_bounds() {
    let parts = "values: {x: dyn[8], a: dyn[8], y: dyn[8]}, inputs: [x], outputs: [y],
        instructions: [{kernel: my::op.out, args: [x], out: a}, {kernel: aten::add.out, args: [a, x, 1], out: y}]";
    let report = follows(parts, &["x=4"], "x [4]? a [8]? y [4]?");
    let kept = &report.bounded.kept[0];
    assert_eq!(
        (&*kept.instruction, &*kept.operator, &*kept.reason),
        ("instruction 0", "my::op.out", "the operator is not known")
    );
}

/// A tensor that two branches write has the larger bound.
#[test]
fn branches_agree_on_a_bound() {
    let branches = |first: &str, second: &str| {
        format!(
            "values: {{x: dyn[8], w: {{tensor: float32, sizes: [8], data: {{fill: 1}}}}, c: {{tensor: bool, sizes: [], data: [true]}}, y: dyn[8]}},
            inputs: [x], outputs: [y], instructions: [{{jump_false: {{cond: c, to: other}}}}, {{kernel: aten::relu.out, args: [{first}], out: y}},
            {{jump_false: {{cond: false, to: end}}}}, {{label: other, kernel: aten::neg.out, args: [{second}], out: y}}, {{label: end}}]"
        )
    };
    follows(&branches("x", "x"), &["x=4"], "x [4]? y [4]?");
    follows(&branches("x", "w"), &["x=4"], "x [4]? y [8]?");
    follows(&branches("w", "x"), &["x=4!"], "x [4] y [8]?");
}

#[test]
fn moves_have_the_bounds_of_their_sources() {
    let parts = "values: {x: dyn[8], a: dyn[8], b: dyn[8], c: {tensor: bool, sizes: [], data: [true]}, r: dyn[8], y: dyn[8]}, inputs: [x], outputs: [y],
        instructions: [{jump_false: {cond: c, to: other}}, {kernel: aten::relu.out, args: [x], out: a}, {move: {from: a, to: r}},
        {jump_false: {cond: false, to: end}}, {label: other, kernel: aten::neg.out, args: [x], out: b}, {move: {from: b, to: r}},
        {label: end, kernel: aten::exp.out, args: [r], out: y}]";
    follows(parts, &["x=4"], "x [4]? r [4]? a [4]? b [4]? y [4]?");
}

#[test]
fn inputs_are_checked_together() {
    let parts = "values: {x: dyn[8, 4], w: f32[4], n: 3, y: dyn[8, 4]}, inputs: [x, w, n], outputs: [y],
        instructions: [{kernel: aten::add.out, args: [x, w, 1], out: y}]";
    refused(
        parts,
        &["x=9x0", "w=3", "n=1", "z=2", "7=1", "x=4x4", "1=1x2"],
        &[
            "the input `x` cannot have size 9 of dimension 0, above the bound 8, and size 0 of dimension 1",
            "the input `w` cannot have size 3 of dimension 0, which is always 4",
            "the input `n` is not a tensor, but Int",
            "method `forward` has no input `z`",
            "method `forward` has no input `7`",
            "two bounds of the input `x`",
            "two bounds of the input `w`",
        ],
    );
}

const GRAPH: &str = "delegates: {d: {backend: XnnpackBackend, graph: {values: {a: {datatype: fp32, sizes: [8, 4]}}, inputs: [a], outputs: [c],
    nodes: [{negate: {input: a, output: b}}, {static_reshape: {input: b, output: c, new_shape: [SHAPE]}}]}}},
    values: {x: dyn[8, 4], m: dyn[16, 2], y: dyn[16, 2]}, inputs: [x], outputs: [y],
    instructions: [{delegate: d, args: [x, m]}, {kernel: aten::relu.out, args: [m], out: y}]";

#[test]
fn graphs_of_xnnpack_have_the_new_sizes() {
    let report = follows(&GRAPH.replace("SHAPE", "0, 2"), &["x=3x4"], "x [3, 4]? m [6, 2]? y [6, 2]?");
    assert_eq!(report.bounded.delegates[0].values, 3);
    follows(&GRAPH.replace("SHAPE", "0, 2"), &["x=3x4!"], "x [3, 4] m [6, 2] y [6, 2]");
    let message = "method `forward`, instruction 0 (delegate 0 of XnnpackBackend): operation 1 (static_reshape): `new_shape`: [16, 2], for an input of sizes [3, 4]";
    refused(&GRAPH.replace("SHAPE", "16, 2"), &["x=3x4"], &[message]);
}

#[test]
fn payloads_of_other_backends_stay() {
    let parts = "delegates: {d: {backend: Other, data: {text: p}}}, values: {x: dyn[8], w: f32[8], a: f32[8], y: dyn[8]}, inputs: [x, w], outputs: [a, y],
        instructions: [{delegate: d, args: [ARG, a]}, {kernel: aten::relu.out, args: [x], out: y}]";
    follows(&parts.replace("ARG", "w"), &["x=3"], "x [3]? w [8] a [8] y [3]?");
    let message = "method `forward`, instruction 0 (delegate 0 of Other): the payload is compiled for the sizes of its arguments, and only those of XNNPACK can be changed";
    refused(&parts.replace("ARG", "x"), &["x=3"], &[message]);
}

#[test]
fn one_of_several_methods_changes() {
    let yaml = "methods:\n  a: {inputs: [x], outputs: [y], values: &v {x: {tensor: float32, sizes: [8], dynamism: dynamic_bound}, y: {tensor: float32, sizes: [8], dynamism: dynamic_bound}},
    instructions: &i [{kernel: aten::relu.out, args: [x], out: y}]}\n  b: {inputs: [x], outputs: [y], values: *v, instructions: *i}\n";
    let error = |options: &BoundOptions| bound(yaml, options).map(|_| ()).unwrap_err().to_string();
    assert!(error(&options(&["x=4"])).contains("the program has 2 methods"));
    let named = |name: &str| {
        let mut options = options(&["x=4"]);
        options.method = Some(name.to_owned());
        options
    };
    assert!(error(&named("c")).contains("unknown method `c`"));
    let (resolved, report) = bound(yaml, &named("b")).unwrap();
    assert_eq!(report.method, "b");
    let sizes: Vec<_> =
        resolved.program.plans().iter().map(|plan| plan.tensors().next().unwrap().1.sizes.clone()).collect();
    assert_eq!(sizes.iter().flatten().map(|sizes| sizes[0]).collect::<Vec<_>>(), [8, 4]);
}
