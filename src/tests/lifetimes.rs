//! One test for each row of docs/format.md, "Lifetimes", and for loops. Instruction `i` is at time `i + 1`.

use super::resolve::{Sample, forward, resolved};
use pte_analysis::method::Method;
use pte_analysis::planning::{Lifetimes, lifetimes};
use pte_model::program::Memory;

fn of(parts: &str) -> (Sample, Lifetimes) {
    let sample = resolved(&forward(parts));
    let lifetimes = lifetimes(&Method::new(sample.plan()));
    (sample, lifetimes)
}

/// Returns first and last time of some values.
fn spans<const N: usize>(parts: &str, names: [&str; N]) -> [(u32, u32); N] {
    let (sample, lifetimes) = of(parts);
    names.map(|name| lifetimes.of(sample.index(name)))
}

/// x -> a -> b -> y, times 1 to 3; the outputs are taken at 4.
const CHAIN: &str = "values: {x: f32[4], a: f32[4], b: f32[4], y: f32[4], unused: f32[4]}, inputs: [x], outputs: [y],
    instructions: [{kernel: aten::relu.out, args: [x], out: a}, {kernel: aten::exp.out, args: [a], out: b},
    {kernel: aten::abs.out, args: [b], out: y}]";

#[test]
fn a_value_lives_from_its_first_mention_to_its_last() {
    assert_eq!(spans(CHAIN, ["a", "b"]), [(1, 2), (2, 3)]);
}

#[test]
fn an_input_lives_from_the_start() {
    assert_eq!(spans(CHAIN, ["x"]), [(0, 1)]);
}

#[test]
fn an_output_lives_to_the_end() {
    assert_eq!(spans(CHAIN, ["y"]), [(3, 4)]);
}

/// Layer norms of x, whose means and deviations nothing reads, among instructions that need only x.
fn norms(delegate: &str) -> [(u32, u32); 4] {
    let norm = |results: &str| {
        format!("{{kernel: aten::native_layer_norm.out, args: [x, [4], null, null, 1.0], out: [{results}]}}")
    };
    let parts = format!(
        "values: {{x: f32[4], p: f32[4], y: f32[4]}}, inputs: [x], outputs: [y],
        delegates: {{part: {{backend: B, data: {{hex: \"00\"}}}}}},
        instructions: [{}, {{kernel: aten::exp.out, args: [x], out: e}}, {}, {{kernel: aten::abs.out, args: [e], out: f}},
        {{kernel: aten::add.out, args: [f, b], out: h}}, {delegate}, {{kernel: aten::add.out, args: [a, h], out: y}}]",
        norm("a, m, d"),
        norm("b, n, s"),
    );
    spans(&parts, ["m", "d", "n", "s"])
}

#[test]
fn results_that_nothing_reads_live_until_they_are_taken_apart() {
    // `abs` needs `exp`, which comes after the first norm and before the second one; `add` needs the second norm.
    let delegate = "{delegate: part, args: [h, p]}";
    assert_eq!(norms(delegate), [(1, 3), (1, 3), (3, 4), (3, 4)]);
}

#[test]
fn without_delegates_they_are_taken_apart_at_once() {
    let kernel = "{kernel: aten::exp.out, args: [h], out: p}";
    assert_eq!(norms(kernel), [(1, 1), (1, 1), (3, 3), (3, 3)]);
}

/// The tensors of a split or an unbind live from the call that writes the list to their own last use.
#[test]
fn the_items_of_a_written_list_live_from_the_call() {
    let values = "x: f32[4], a: f32[2], b: f32[2], c: f32[2], y: f32[2]";
    let after = "{kernel: aten::relu.out, args: [b], out: c}, {kernel: aten::add.out, args: [a, c], out: y}";
    for (lists, split) in [
        ("", "args: [x, 2], out: [a, b]"),
        ("", "args: [x, 2, 0, [a, b], [a, b]]"),
        (", l: {tensor_list: [a, b]}", "args: [x, 2, 0, l, l]"),
        (", l: {tensor_list: [a, b]}, r: {tensor_list: [a, b]}", "args: [x, 2, 0, l, r]"),
    ] {
        let parts = format!(
            "values: {{{values}{lists}}}, inputs: [x], outputs: [y],
            instructions: [{{kernel: aten::split_copy.Tensor_out, {split}}}, {after}]"
        );
        assert_eq!(spans(&parts, ["x", "a", "b", "c"]), [(0, 1), (1, 3), (1, 2), (2, 3)], "{split}");
    }
}

#[test]
fn a_value_without_mention_lives_at_the_start_only() {
    assert_eq!(spans(CHAIN, ["unused"]), [(0, 0)]);
}

#[test]
fn a_mutable_buffer_lives_all_the_time() {
    let parts =
        "values: {s: {tensor: float32, sizes: [4], mutable: true}, x: f32[4], y: f32[4]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::relu.out, args: [x], out: y}, {kernel: aten::add.out, args: [x, s], out: y},
        {free: x}]";
    assert_eq!(spans(parts, ["s"]), [(0, 4)]);
}

#[test]
fn an_output_that_is_an_input_written_in_place_lives_to_its_last_mention() {
    let parts = "values: {x: f32[4], y: f32[4]}, inputs: [x], outputs: [x, y], instructions: [
        {kernel: aten::relu.out, args: [x], out: y}, {kernel: aten::copy_, args: [x, y], out: x},
        {kernel: aten::exp.out, args: [y], out: y}]";
    assert_eq!(spans(parts, ["x", "y"]), [(0, 2), (1, 4)]);
}

#[test]
fn items_of_a_list_live_while_the_list_is_used() {
    let parts = "values: {a: f32[2], b: f32[2], y: f32[4], x: f32[2], pair: {tensor_list: [a, b]}}, inputs: [x],
        outputs: [y], instructions: [{kernel: aten::relu.out, args: [x], out: a}, {kernel: aten::exp.out, args: [x], out: b},
        {kernel: aten::relu.out, args: [x], out: x}, {kernel: aten::cat.out, args: [pair], out: y}]";
    assert_eq!(spans(parts, ["a", "b"]), [(1, 4), (2, 4)]);
}

#[test]
fn the_base_of_a_view_lives_while_the_view_is_used() {
    let parts = "values: {a: f32[4], v: {tensor: float32, sizes: [4], view_of: a}, x: f32[4], y: f32[4]}, inputs: [x],
        outputs: [y], instructions: [{kernel: aten::relu.out, args: [x], out: a}, {kernel: aten::relu.out, args: [x], out: y},
        {kernel: aten::exp.out, args: [v], out: y}]";
    assert_eq!(spans(parts, ["a", "v"]), [(1, 3), (3, 3)]);
}

#[test]
fn the_target_of_a_move_lives_from_the_innermost_jump_whose_branch_it_is_in() {
    // Times: outer jump 1, relu 2, inner jump 3, move 4.
    let parts = "values: {c: {tensor: bool, sizes: []}, x: f32[4], a: f32[4], y: f32[4], z: f32[4]}, inputs: [c, x],
        instructions: [{jump_false: {cond: c, to: end}}, {kernel: aten::relu.out, args: [x], out: a},
        {jump_false: {cond: c, to: end}}, {move: {from: a, to: y}}, {label: end}]";
    assert_eq!(spans(parts, ["y", "a"]), [(3, 4), (2, 4)]);
}

#[test]
fn a_branch_ends_at_the_destination_of_its_jump() {
    let parts = "values: {c: {tensor: bool, sizes: []}, x: f32[4], y: f32[4]}, inputs: [c, x],
        instructions: [{jump_false: {cond: c, to: behind}}, {free: x}, {label: behind, move: {from: x, to: y}}]";
    assert_eq!(spans(parts, ["y"]), [(3, 3)]);
}

#[test]
fn arguments_of_delegates_and_freed_values_are_mentioned() {
    let parts = "values: {x: f32[4], y: f32[4]}, inputs: [x], delegates: {d: {backend: B, data: {text: p}}},
        instructions: [{free: x}, {delegate: d, args: [x, y]}, {free: y}]";
    assert_eq!(spans(parts, ["x", "y"]), [(0, 2), (2, 3)]);
}

#[test]
fn times_count_over_all_chains_and_jumps_count_in_their_own() {
    let parts = "values: {c: {tensor: bool, sizes: []}, x: f32[4], y: f32[4]}, inputs: [c, x], chains: [
        {instructions: [{free: x}, {free: x}]},
        {instructions: [{jump_false: {cond: c, to: 2}}, {move: {from: x, to: y}}]}]";
    assert_eq!(spans(parts, ["x", "y"]), [(0, 4), (3, 4)]);
}

// -----------------------------------------------------------------------------------------------------------------
// loops

/// Times: `before` 1, the head 2, `inside` 3, the jump back 4, `behind` (the instruction after the loop) 5.
fn looping(inside: &str) -> String {
    format!(
        "values: {{c: {{tensor: bool, sizes: []}}, x: f32[4], a: f32[4], t: f32[4], y: f32[4]}}, inputs: [c, x], outputs: [y],
        instructions: [{{kernel: aten::relu.out, args: [x], out: a}}, {{label: top, kernel: aten::logical_not.out, args: [c], out: c}},
        {inside}, {{jump_false: {{cond: c, to: top}}}}, {{kernel: aten::relu.out, args: [x], out: y}}]"
    )
}

#[test]
fn what_exists_before_a_loop_and_is_used_in_it_lives_to_the_jump_back() {
    assert_eq!(spans(&looping("{kernel: aten::exp.out, args: [a], out: t}"), ["a"]), [(1, 4)]);
}

#[test]
fn what_a_round_writes_before_it_reads_it_does_not_live_longer() {
    assert_eq!(spans(&looping("{kernel: aten::exp.out, args: [a], out: t}"), ["t"]), [(3, 3)]);
}

#[test]
fn what_a_loop_reads_before_it_writes_it_lives_for_the_whole_loop() {
    // By its index, since a name is not read before something is written.
    let (sample, lifetimes) = of(&looping("{kernel: aten::exp.out, args: [{index: 2}, {index: 1}]}"));
    assert_eq!((sample.index("t"), lifetimes.of(2)), (2, (2, 4)));
}

#[test]
fn what_a_jump_inside_a_loop_may_skip_lives_for_the_whole_loop() {
    // Times: jump 1, write 2, read 3, jump back 4.
    let parts = "values: {c: {tensor: bool, sizes: []}, x: f32[4], t: f32[4], y: f32[4]}, inputs: [c, x], outputs: [y],
        instructions: [{label: top, jump_false: {cond: c, to: read}}, {kernel: aten::relu.out, args: [x], out: t},
        {label: read, kernel: aten::relu.out, args: [t], out: y}, {jump_false: {cond: c, to: top}}]";
    assert_eq!(spans(parts, ["t"]), [(1, 4)]);
    let straight = parts.replace("jump_false: {cond: c, to: read}", "free: c");
    assert_eq!(spans(&straight, ["t"]), [(2, 3)]);
}

// -----------------------------------------------------------------------------------------------------------
// write-backs

/// Two buffers and an input; the buffers are written back in the order of `targets`.
fn write_backs(targets: [&str; 2]) -> Vec<String> {
    let [first, second] = targets;
    let (sample, lifetimes) = of(&format!(
        "values: {{s: {{tensor: float32, sizes: [4], mutable: true}}, t: {{tensor: float32, sizes: [4], mutable: true}},
        x: f32[4], y: f32[4]}}, inputs: [x], instructions: [{{kernel: aten::copy_, args: [{first}, x], out: {first}}},
        {{kernel: aten::copy_, args: [{second}, x], out: {second}}}, {{kernel: aten::relu.out, args: [x], out: y}},
        {{kernel: aten::copy_, args: [y, x], out: y}}]"
    ));
    let name =
        |value: &usize| ["s", "t", "x", "y"].into_iter().find(|name| sample.index(name) == *value).unwrap().into();
    lifetimes.write_backs.iter().map(name).collect()
}

#[test]
fn write_backs_are_in_the_order_of_the_last_writes() {
    assert_eq!(write_backs(["s", "t"]), ["s", "t"]);
    assert_eq!(write_backs(["t", "s"]), ["t", "s"]);
}

#[test]
fn an_input_is_written_back_and_an_intermediate_result_is_not() {
    assert_eq!(write_backs(["x", "x"]), ["x"]);
}

/// Nested branches, the innermost 3,000 deep: those below a limit belong to the one around them.
#[test]
fn parts_deep_inside_each_other_belong_to_one_around_them() {
    const DEPTH: usize = 3000;
    let jumps = (0..DEPTH).map(|depth| format!("{{jump_false: {{cond: c, to: {}}}}}", DEPTH + 2 * (DEPTH - depth) - 1));
    let tail = "{kernel: aten::abs.out, args: [x], out: y}";
    let tails = (0..DEPTH).map(|level| {
        let end = DEPTH + 2 * level + 2;
        format!("{{jump_false: {{cond: never, to: {end}}}}}, {tail}")
    });
    let instructions = jumps.chain(tails).collect::<Vec<_>>().join(", ");
    let parts = format!(
        "values: {{x: f32[4], c: {{tensor: bool, sizes: []}}, never: {{bool: false}}, y: f32[4]}}, inputs: [x, c], outputs: [y],
        instructions: [{instructions}]"
    );
    let (_, lifetimes) = of(&parts);
    let regions = lifetimes.regions();
    assert_eq!(regions.list.len(), 1 + 2 * 16);
    let innermost = regions.innermost(DEPTH as u32);
    assert_eq!(regions.time_in(0, DEPTH as u32), 1, "one moment of the method");
    assert_eq!(regions.time_in(innermost, DEPTH as u32), DEPTH as u32, "not a part of its own");
}

/// The runtime makes the result of an operator that works in place the tensor that it wrote.
#[test]
fn a_tensor_written_in_place_lives_as_long_as_the_result_of_the_call() {
    let parts = "values: {x: f32[4]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::neg.out, args: [x], out: a}, {kernel: aten::copy_, args: [a, x], out: q},
        {kernel: aten::exp.out, args: [x], out: b}, {kernel: aten::add.out, args: [q, b], out: y}]";
    assert_eq!(spans(parts, ["a"]), [(1, 4)]);
}

/// The runtime makes the target of a move the tensor that is moved.
#[test]
fn a_moved_tensor_lives_as_long_as_the_target() {
    let parts = "values: {x: f32[4]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::neg.out, args: [x], out: a}, {move: {from: a, to: q}},
        {kernel: aten::exp.out, args: [x], out: b}, {kernel: aten::add.out, args: [q, b], out: y}]";
    assert_eq!(spans(parts, ["a"]), [(1, 4)]);
}

/// An execution needs what the one before has left, also if it is read through a view only, before it is overwritten.
#[test]
fn what_is_read_through_a_view_before_its_base_is_written_is_state() {
    let parts =
        "values: {s: {tensor: float32, sizes: [4], mutable: true, data: {fill: 1}}, w: {view_of: s, sizes: [2, 2]},
        x: f32[2, 2], y: f32[2, 2], z: f32[4]}, inputs: [x, z], outputs: [y],
        instructions: [{kernel: aten::add.out, args: [w, x], out: y}, {kernel: aten::copy_, args: [s, z], out: s}]";
    let (sample, _) = of(parts);
    let requested: Vec<Memory> = sample
        .plan()
        .values()
        .iter()
        .map(|value| value.as_tensor().map_or(Memory::None, |tensor| tensor.memory))
        .collect();
    let execution = Method::new(sample.plan()).execution(&requested);
    assert!(execution.is_state[sample.index("s")] && !execution.is_state[sample.index("y")]);
}
