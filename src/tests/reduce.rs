//! Tests the parts that each pass removes, and their replacements.

use super::resolve::forward;
use crate::{Model, ScalarType};
use pte_model::program::test_cases::TestData;
use pte_model::program::{EValue, ExecutionPlan, Memory, Program, Tensor, TensorData, ValueId};
use pte_reduce::{Candidate, Stopped, reduce_program};
use pte_xnnpack::draft::{ConstantSource, Draft, DraftConstant};

fn candidate(parts: &str) -> Candidate {
    let source = Model::from_yaml("test", forward(parts), ".");
    let document = source.parse().unwrap_or_else(|error| panic!("{error}\n{parts}"));
    let resolved = document.resolve().unwrap_or_else(|error| panic!("{error}\n{parts}"));
    Candidate::new(resolved.program, resolved.tests)
}

/// Names of the operators and delegates that are called, in order.
fn calls(program: &Program) -> Vec<String> {
    let plans = program.plans().iter();
    let calls = plans.flat_map(|plan| {
        plan.instructions().map(|instruction| match instruction.operator() {
            Some(operator) => plan.operator(operator).unwrap().full_name().unwrap(),
            None => instruction.key().to_owned(),
        })
    });
    calls.collect()
}

/// Reduces a candidate as long as it calls these operators and has a property.
fn reduced(candidate: Candidate, needed: &[&str], property: impl Fn(&Candidate) -> bool) -> Candidate {
    let reduced = reduce_program(candidate, &mut |candidate| {
        let calls = calls(&candidate.program);
        Ok(needed.iter().all(|needed| calls.iter().any(|call| call == needed)) && property(candidate))
    });
    assert!(reduced.is_complete);
    assert_eq!(calls(&reduced.best.program), needed);
    reduced.best
}

fn plan(candidate: &Candidate) -> &ExecutionPlan {
    &candidate.program.plans()[0]
}

fn tensor(candidate: &Candidate, value: ValueId) -> &Tensor {
    plan(candidate).value(value).and_then(EValue::as_tensor).unwrap()
}

#[test]
fn a_result_that_is_still_read_becomes_an_input() {
    let parts = "values: {x: f32[4]}, inputs: [x], outputs: [c], instructions: [
        {kernel: aten::exp.out, args: [x], out: a}, {kernel: aten::neg.out, args: [a], out: b},
        {kernel: aten::relu.out, args: [b], out: c}]";
    let best = reduced(candidate(parts), &["aten::neg.out"], |_| true);
    let call = plan(&best).instructions().next().unwrap();
    assert_eq!(plan(&best).inputs, Some(vec![call.args()[0]]));
    assert_eq!(plan(&best).outputs, Some(vec![]));
    assert_eq!(plan(&best).values().len(), 2);
    assert_eq!(tensor(&best, call.args()[0]).sizes.as_deref(), Some(&[1][..]));
    // Outputs that are still written stay, if they are needed.
    let best = reduced(candidate(parts), &["aten::relu.out"], |best| {
        plan(best).outputs.as_ref().is_some_and(|list| list.len() == 1)
    });
    assert_eq!(plan(&best).outputs, Some(vec![plan(&best).instructions().next().unwrap().args()[1]]));
}

#[test]
fn external_constants_become_zeros_in_the_program() {
    let parts = "values: {x: f32[4], w: {tensor: float32, sizes: [4], external: true}}, inputs: [x], outputs: [c], instructions: [
        {kernel: aten::add.out, args: [x, w], out: c}]";
    let best = reduced(candidate(parts), &["aten::add.out"], |best| best.program.plans()[0].inputs.is_some());
    let weight = tensor(&best, plan(&best).instructions().next().unwrap().args()[1]);
    assert!(!weight.is_external());
    assert!(matches!(weight.data, TensorData::Blob(_)));
    assert_eq!(weight.sizes.as_deref(), Some(&[1][..]));
}

#[test]
fn the_base_of_a_view_becomes_the_input() {
    let parts = "values: {x: f32[4]}, inputs: [x], outputs: [c], instructions: [
        {kernel: aten::exp.out, args: [x], out: a}, {view: a, sizes: [2, 2], out: b},
        {kernel: aten::relu.out, args: [b], out: c}]";
    let best = reduced(candidate(parts), &["aten::relu.out"], |_| true);
    let read = plan(&best).instructions().next().unwrap().args()[0];
    let Memory::View { base } = tensor(&best, read).memory else { panic!("{:?}", tensor(&best, read)) };
    assert_eq!(plan(&best).inputs, Some(vec![ValueId(base as i32)]));
}

#[test]
fn what_is_read_before_it_is_written_stays_so() {
    let parts = "values: {x: f32[4]}, inputs: [x], outputs: [b], instructions: [
        {kernel: aten::exp.out, args: [x], out: a}, {kernel: aten::relu.out, args: [a], out: b}]";
    let mut reversed = candidate(parts);
    let chains = reversed.program.execution_plan.as_mut().unwrap()[0].chains.as_mut().unwrap();
    chains[0].instructions.as_mut().unwrap().reverse();
    let best = reduced(reversed, &["aten::relu.out"], |_| true);
    assert_eq!(plan(&best).inputs, Some(vec![]));
}

#[test]
fn arguments_that_a_delegate_writes_do_not_become_inputs() {
    let parts = "values: {x: f32[4], a: f32[4], b: f32[4]}, inputs: [x], outputs: [b],
        delegates: {one: {backend: A, data: {hex: 00ff}}, two: {backend: B, data: {hex: 11ee}}},
        instructions: [{delegate: one, args: [x, a]}, {delegate: two, args: [a, b]}]";
    let has_two = |best: &Candidate| plan(best).delegates().iter().any(|delegate| delegate.id.as_deref() == Some("B"));
    let best = reduced(candidate(parts), &["delegate"], has_two);
    let args = plan(&best).instructions().next().unwrap().args();
    assert_eq!(plan(&best).inputs, Some(vec![args[0]]));
    assert_eq!((plan(&best).delegates().len(), best.program.blobs[0].len()), (1, 0));
}

#[test]
fn operations_of_a_graph_are_removed_and_their_results_become_zeros() {
    let parts = "values: {x: f32[4], y: f32[4]}, inputs: [x], outputs: [y],
        delegates: {one: {backend: XnnpackBackend, graph: {
            values: {x: {datatype: fp32, sizes: [4]}, w: {datatype: fp32, data: [1, 2, 3, 4]}, y: {datatype: fp32, sizes: [4]}},
            inputs: [x], outputs: [y], nodes: [{abs: {input: x, output: a}}, {negate: {input: a, output: b}},
                {multiply: {input1: b, input2: w, output: c}}, {square: {input: c, output: d}},
                {exp: {input: d, output: e}}, {add: {input1: e, input2: c, output: y}}]}}},
        instructions: [{delegate: one, args: [x, y]}]";
    let graph = |candidate: &Candidate| {
        let delegate = plan(candidate).delegates().first()?;
        Draft::read(candidate.program.blob(delegate.processed)).ok()
    };
    let words = |draft: &Draft| draft.nodes.iter().map(|node| node.operation.word()).collect::<Vec<_>>();
    let needs_square = |best: &Candidate| graph(best).is_some_and(|draft| words(&draft).contains(&"square"));
    let best = reduced(candidate(parts), &["delegate"], needs_square);
    let draft = graph(&best).unwrap();
    // The last one writes an argument of the delegate.
    assert_eq!(words(&draft), ["square", "add"]);
    // x, c, d, e, y: `w` and the results of the others have no readers.
    assert_eq!(draft.values.len(), 5);
    let constants = draft.values.iter().filter_map(|value| value.constant.as_ref());
    // This function needs no named data, so that they are removed.
    let content = |constant: &DraftConstant| match &constant.source {
        ConstantSource::Data(data) => data.to_vec().unwrap(),
        ConstantSource::Key(key) => {
            assert_eq!(key, "zeros_of_16_bytes");
            vec![0; 16]
        }
    };
    let data: Vec<_> = constants.map(content).collect();
    assert_eq!(data, [vec![0; 16], vec![0; 16]]);

    let needs_weight = |best: &Candidate| graph(best).is_some_and(|draft| words(&draft).contains(&"multiply"));
    let best = reduced(candidate(parts), &["delegate"], needs_weight);
    let draft = graph(&best).unwrap();
    assert_eq!(words(&draft), ["multiply", "add"]);
    let is_zero = |constant: &DraftConstant| content(constant).iter().all(|byte| *byte == 0);
    assert!(draft.values.iter().filter_map(|value| value.constant.as_ref()).all(is_zero));
}

#[test]
fn items_of_lists_are_removed_and_the_sizes_of_results_follow() {
    let parts = "values: {x: f32[2, 4], y: f32[3, 4], z: f32[5, 4]}, inputs: [x, y, z], outputs: [c],
        instructions: [{kernel: aten::cat.out, args: [[x, y, z], 0], out: c}]";
    let result = |best: &Candidate| {
        let call = plan(best).instructions().next()?;
        tensor(best, *call.args().last()?).sizes.as_ref().map(|sizes| sizes.to_vec())
    };
    // Nothing is inferred from an empty list, which the operator rejects.
    let best = reduced(candidate(parts), &["aten::cat.out"], |best| {
        let has_items = plan(best).values().iter().any(|value| !value.as_tensors().is_empty());
        has_items && result(best).is_some_and(|sizes| sizes[0] >= 5)
    });
    assert_eq!(plan(&best).inputs.as_ref().map(Vec::len), Some(2));
    assert_eq!(result(&best), Some(vec![5, 1]));
}

#[test]
fn constants_are_cut_and_replaced_by_zeros() {
    let parts = "values: {a: {tensor: float32, sizes: [4], data: [1, 2, 3, 4]},
        b: {tensor: float32, sizes: [4], data: [5, 6, 7, 8]}, x: f32[4]}, inputs: [x], outputs: [d], instructions: [
        {kernel: aten::add.out, args: [a, x], out: c}, {kernel: aten::mul.out, args: [c, b], out: d}]";
    let has_five = |best: &Candidate| {
        let blob = plan(best).tensors().filter_map(|(_, tensor)| match tensor.data {
            TensorData::Blob(blob) => Some(best.program.blob(blob).read_at(0, 4).unwrap()),
            TensorData::None | TensorData::Elsewhere(_) => None,
        });
        blob.into_iter().any(|bytes| bytes == 5f32.to_le_bytes())
    };
    let best = reduced(candidate(parts), &["aten::add.out", "aten::mul.out"], has_five);
    let data: Vec<Vec<u8>> = best.program.blobs.iter().map(|blob| blob.to_vec().unwrap()).collect();
    assert_eq!(data, [0f32.to_le_bytes().to_vec(), 5f32.to_le_bytes().to_vec()]);
}

#[test]
fn tests_follow_the_inputs_of_their_method() {
    let parts = "values: {x: f32[2], z: f32[2]}, inputs: [x, z], outputs: [b], tests: [
        {inputs: [[1, 2], [3, 4]], outputs: [[1, 2]]}, {inputs: [[5, 6], [7, 8]], outputs: [[1, 2]]}],
        instructions: [{kernel: aten::exp.out, args: [x], out: a}, {kernel: aten::add.out, args: [a, z], out: b}]";
    let best = reduced(candidate(parts), &["aten::add.out"], |best| {
        best.tests.iter().flat_map(|tests| &tests.cases).any(|case| {
            case.inputs.iter().any(|input| match input {
                TestData::Tensor { data, .. } => data.read_at(0, 4).unwrap() == 7f32.to_le_bytes(),
                TestData::Null | TestData::Int(_) | TestData::Double(_) | TestData::Bool(_) | TestData::String(_) => {
                    false
                }
            })
        })
    });
    let [tests] = &best.tests[..] else { panic!("{:?}", best.tests) };
    let [case] = &tests.cases[..] else { panic!("{:?}", tests.cases) };
    // The input `x` has no reader, and `a` has become an input.
    assert_eq!((case.inputs.len(), case.outputs.is_none()), (2, true));
    let TestData::Tensor { scalar_type, data, .. } = &case.inputs[1] else { panic!() };
    assert_eq!((*scalar_type, data.to_vec().unwrap()), (ScalarType::FLOAT, vec![0; 4]));
}

#[test]
fn a_jump_to_a_removed_instruction_leads_to_the_next_one() {
    let parts = "values: {c: {bool: true}, x: f32[4]}, inputs: [x, c], outputs: [b], instructions: [
        {jump_false: {cond: c, to: end}}, {kernel: aten::exp.out, args: [x], out: a},
        {kernel: aten::neg.out, args: [x], out: b}, {label: end}, {kernel: aten::relu.out, args: [x], out: b}]";
    let best = reduced(candidate(parts), &["jump_false", "aten::relu.out"], |_| true);
    assert_eq!(plan(&best).instructions().next().unwrap().destination(), Some(1));
}

#[test]
fn the_same_answers_give_the_same_candidates_and_a_stop_keeps_the_best() {
    let parts = "values: {x: f32[4]}, inputs: [x], outputs: [c], instructions: [
        {kernel: aten::exp.out, args: [x], out: a}, {kernel: aten::neg.out, args: [a], out: b},
        {kernel: aten::relu.out, args: [b], out: c}]";
    let run = |most: usize| {
        let mut tried = Vec::new();
        let reduced = reduce_program(candidate(parts), &mut |candidate| {
            if tried.len() == most {
                return Err(Stopped);
            }
            tried.push(candidate.clone());
            Ok(calls(&candidate.program).iter().any(|call| call == "aten::neg.out"))
        });
        (tried, reduced.best, reduced.is_complete)
    };
    let (tried, best, is_complete) = run(usize::MAX);
    assert!(is_complete && tried.len() < 30, "{}", tried.len());
    assert_eq!((tried.clone(), best, true), run(usize::MAX));
    for most in 0..tried.len() {
        let (few, best, is_complete) = run(most);
        assert!(!is_complete && few == tried[..most]);
        assert!(calls(&best.program).iter().any(|call| call == "aten::neg.out"));
    }
}

#[test]
fn a_nan_in_a_program_or_a_test_does_not_repeat_the_passes_forever() {
    let parts = "values: {x: f32[2]}, inputs: [x], outputs: [y], tests: [{inputs: [{data: [1, 2]}]}],
        instructions: [{kernel: aten::full_like.out, args: [x, .nan, null], out: y}]";
    let mut whole = candidate(parts);
    whole.tests[0].cases[0].atol = f64::NAN;
    let mut candidates = 0;
    let reduced = reduce_program(whole, &mut |candidate| {
        candidates += 1;
        assert!(candidates < 1000);
        Ok(!candidate.tests.is_empty() && plan(candidate).values().contains(&EValue::Double(f64::NAN)))
    });
    assert!(reduced.is_complete && reduced.best.tests[0].cases[0].atol.is_nan());
}
