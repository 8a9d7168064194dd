//! Tests which tensors are planned, the sizes of the pools, and contradictory plans (docs/format.md, "Memory planner").
//! Offsets follow from the greedy algorithm: the largest tensor comes first, and of equal sizes the later value.

use super::resolve::{Sample, errors, forward, resolved};
use crate::layout::LayoutError;
use crate::layout::shared::SharedState;
use pte_analysis::method::Method;
use pte_model::program::MemoryPlan;
use pte_model::program::{DeviceType, EValue, ExecutionPlan, Memory, MemoryPlanner, NonConstBufferDevice};

fn plan(plan: &ExecutionPlan) -> Result<MemoryPlan, Vec<LayoutError>> {
    crate::layout::memory::plan(0, &Method::new(plan), &SharedState::default())
}

fn planned(parts: &str) -> (Sample, MemoryPlan) {
    let sample = resolved(&forward(parts));
    let plan = plan(sample.plan()).unwrap_or_else(|errors| panic!("{errors:?}"));
    (sample, plan)
}

/// Pool and offset of some values.
fn places<const N: usize>(parts: &str, names: [&str; N]) -> [Option<(u32, u64)>; N] {
    let (sample, plan) = planned(parts);
    names.map(|name| plan.places[sample.index(name)])
}

fn sizes(parts: &str) -> Vec<i64> {
    planned(parts).1.sizes
}

/// x -> a -> b -> y, 16 bytes each, followed by more parts.
fn chain(more: &str) -> String {
    format!(
        "values: {{x: f32[4], a: f32[4], b: f32[4], y: f32[4]}}, inputs: [x], outputs: [y], instructions: [
        {{kernel: aten::relu.out, args: [x], out: a}}, {{kernel: aten::exp.out, args: [a], out: b}},
        {{kernel: aten::abs.out, args: [b], out: y}}]{more}"
    )
}

/// x -> y, of these sizes, followed by more parts.
fn relu(size: u32, more: &str) -> String {
    format!(
        "values: {{x: f32[{size}], y: f32[{size}]}}, inputs: [x], outputs: [y],
        instructions: [{{kernel: aten::relu.out, args: [x], out: y}}]{more}"
    )
}

#[test]
fn tensors_share_memory_unless_they_live_at_the_same_time() {
    // y and a share an object, and so do b and x.
    let expected = [Some((1, 16)), Some((1, 0)), Some((1, 16)), Some((1, 0))];
    assert_eq!(places(&chain(""), ["x", "a", "b", "y"]), expected);
    let (_, plan) = planned(&chain(""));
    assert_eq!((plan.sizes, plan.unshared), (vec![0, 32], 64));
}

#[test]
fn memory_that_a_move_leaves_until_the_next_execution_is_not_shared() {
    // In an execution with `p` after one without, `abs` writes the memory of `b`, while `a` is alive.
    let parts = |planner: &str| {
        format!(
            "values: {{p: {{tensor: bool, sizes: []}}, x: f32[2], m: f32[2], n: f32[2]}}, inputs: [p, x], outputs: [m, n],
            memory: {{planner: {planner}}}, instructions: [{{jump_false: {{cond: p, to: E}}}},
            {{kernel: aten::exp.out, args: [x], out: a}}, {{kernel: aten::abs.out, args: [x], out: n}},
            {{move: {{from: a, to: m}}}}, {{jump_false: {{cond: false, to: X}}}},
            {{label: E, kernel: aten::exp.out, args: [x], out: b}}, {{kernel: aten::cos.out, args: [x], out: m}},
            {{move: {{from: b, to: n}}}}, {{label: X}}]"
        )
    };
    for planner in MemoryPlanner::ALL.map(MemoryPlanner::word) {
        let mut places = places(&parts(planner), ["a", "b", "m", "n"]);
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[0] != pair[1]), "{planner}: {places:?}");
    }
}

#[test]
fn the_naive_planner_shares_no_memory_in_branches() {
    let parts = "values: {c: {tensor: bool, sizes: []}, x: f32[4], y: f32[4]}, inputs: [c, x], outputs: [y],
        memory: {planner: naive}, instructions: [{jump_false: {cond: c, to: E}},
        {kernel: aten::exp.out, args: [x], out: a}, {move: {from: a, to: y}}, {jump_false: {cond: false, to: X}},
        {label: E, kernel: aten::cos.out, args: [x], out: b}, {move: {from: b, to: y}}, {label: X}]";
    let mut places = places(parts, ["c", "x", "y", "a", "b"]);
    places.sort_unstable();
    assert_eq!(places, [0, 16, 32, 48, 64].map(|offset| Some((1, offset))));
}

#[test]
fn sizes_are_rounded_up_to_the_alignment() {
    assert_eq!(sizes(&relu(1, "")), [0, 32]);
    assert_eq!(sizes(&relu(5, "")), [0, 64]);
    assert_eq!(sizes(&relu(1, ", memory: {alignment: 64}")), [0, 128]);
}

// --------------------------------------------------------------------------------------------------- what is planned

#[test]
fn constants_external_tensors_and_tensors_without_bounds_are_not_planned() {
    let parts = "values: {w: {tensor: float32, data: [1]}, e: {tensor: float32, sizes: [1], external: true},
        d: {tensor: float32, sizes: [1], dynamism: dynamic_unbound}, n: {tensor: float32, sizes: [1], memory: none}, x: f32[1]},
        inputs: [d, n, x], outputs: [w, e]";
    assert_eq!(places(parts, ["w", "e", "d", "n", "x"]), [None, None, None, None, Some((1, 0))]);
}

#[test]
fn an_external_tensor_that_is_mutable_is_planned() {
    let parts = "values: {e: {tensor: float32, sizes: [1], external: true, mutable: true}}, outputs: [e]";
    assert_eq!(places(parts, ["e"]), [Some((1, 0))]);
}

#[test]
fn dynamic_tensors_with_bounds_are_planned_with_their_bounds() {
    let parts = "values: {d: {tensor: float32, sizes: [8], dynamism: dynamic_bound}}, inputs: [d]";
    assert_eq!((places(parts, ["d"]), sizes(parts)), ([Some((1, 0))], vec![0, 32]));
}

#[test]
fn unplanned_inputs_and_outputs_have_no_memory() {
    assert_eq!(places(&relu(4, ", memory: {inputs: unplanned}"), ["x", "y"]), [None, Some((1, 0))]);
    assert_eq!(places(&relu(4, ", memory: {outputs: unplanned}"), ["x", "y"]), [Some((1, 0)), None]);
    assert_eq!(sizes(&relu(4, ", memory: {inputs: unplanned, outputs: unplanned}")), [0, 0]);
}

#[test]
fn a_method_that_plans_nothing_has_an_empty_pool_and_a_constant_method_has_none() {
    // docs/format.md, "Pools and devices"; E-2.
    assert_eq!(sizes("values: {w: {tensor: float32, data: [1]}}, outputs: [w], instructions: [{free: w}]"), [0, 0]);
    assert_eq!(sizes("outputs: [1]"), [0]);
}

#[test]
fn views_are_where_their_base_is() {
    let parts =
        "values: {v: {tensor: float32, sizes: [2, 2], view_of: y}, x: f32[4], y: f32[4]}, inputs: [x], outputs: [v],
        instructions: [{kernel: aten::relu.out, args: [x], out: y}]";
    assert_eq!(places(parts, ["x", "y", "v"]), [Some((1, 16)), Some((1, 0)), Some((1, 0))]);
    let (_, plan) = planned(parts);
    assert_eq!((plan.sizes, plan.unshared), (vec![0, 32], 32));
}

#[test]
fn a_view_with_more_bytes_than_its_base_is_an_error() {
    let parts = "values: {v: {tensor: float32, sizes: [5], view_of: x}, x: f32[4]}, inputs: [x], outputs: [v]";
    // At its sizes.
    assert_eq!(errors(&forward(parts)), ["["]);
}

// ------------------------------------------------------------------------------------------------------ explicit
// offsets

#[test]
fn planned_tensors_follow_the_last_explicit_one_of_the_pool() {
    let parts = "values: {a: {tensor: float32, sizes: [1], memory: {pool: 1, offset: 64}}, x: f32[4],
        p: {tensor: float32, sizes: [4], memory: {pool: 2}}}, inputs: [a, x, p]";
    assert_eq!(places(parts, ["a", "x", "p"]), [Some((1, 64)), Some((1, 80)), Some((2, 0))]);
    assert_eq!(sizes(parts), [0, 96, 16]);
}

/// Two tensors of 16 bytes at these offsets that live at the same time.
fn both_at(first: u32, second: u32) -> String {
    let at = |offset: u32| format!("{{tensor: float32, sizes: [4], memory: {{pool: 1, offset: {offset}}}}}");
    forward(&format!("values: {{x: {}, y: {}}}, inputs: [x, y]", at(first), at(second)))
}

#[test]
fn tensors_with_offsets_may_overlap() {
    for (first, second) in [(0, 16), (32, 32), (0, 12), (12, 0)] {
        assert!(plan(resolved(&both_at(first, second)).plan()).is_ok(), "{first} {second}");
    }
}

#[test]
fn tensors_that_do_not_live_at_the_same_time_may_overlap() {
    let at = |offset: u32| format!("{{tensor: float32, sizes: [4], memory: {{pool: 1, offset: {offset}}}}}");
    let parts = chain("").replace("x: f32[4]", &format!("x: {}", at(0))).replace("b: f32[4]", &format!("b: {}", at(4)));
    assert_eq!(places(&parts, ["x", "b"]), [Some((1, 0)), Some((1, 4))]);
}

#[test]
fn an_offset_beyond_64_bits_is_an_error() {
    let parts =
        "values: {x: {tensor: float32, sizes: [4], memory: {pool: 1, offset: 9223372036854775800}}}, inputs: [x]";
    assert_eq!(errors(&forward(parts)), ["x"]);
}

#[test]
fn a_tensor_with_more_bytes_than_64_bits_count_is_an_error() {
    let parts = "values: {x: {tensor: float32, sizes: [2147483647, 2147483647, 4]}}, inputs: [x]";
    assert_eq!(errors(&forward(parts)), ["x"]);
}

// ------------------------------------------------------------------------------------------------- padding and
// reserved

/// A method that calls a delegate of this backend on x and y, 16 bytes each.
fn delegate(backend: &str, more: &str) -> String {
    format!(
        "values: {{x: f32[4], y: f32[4]}}, inputs: [x], outputs: [y], delegates: {{d: {{backend: {backend}, data: {{text: p}}}}}},
        instructions: [{{delegate: d, args: [x, y]}}]{more}"
    )
}

#[test]
fn a_called_xnnpack_delegate_adds_64_bytes() {
    assert_eq!(sizes(&delegate("XnnpackBackend", "")), [0, 32 + 64]);
    assert_eq!(sizes(&delegate("my_xnnPACK_backend", "")), [0, 32 + 64]);
    assert_eq!(sizes(&delegate("CoreMLBackend", "")), [0, 32]);
}

#[test]
fn an_xnnpack_delegate_that_is_not_called_adds_nothing() {
    let parts = delegate("XnnpackBackend", "")
        .replace("delegate: d, args: [x, y]", "kernel: aten::relu.out, args: [x], out: y");
    assert_eq!(sizes(&parts), [0, 32]);
}

#[test]
fn padding_is_added_to_used_pools_only() {
    let parts =
        delegate("XnnpackBackend", "").replace("y: f32[4]", "y: {tensor: float32, sizes: [4], memory: {pool: 3}}");
    assert_eq!(sizes(&parts), [0, 16 + 64, 0, 16 + 64]);
}

#[test]
fn stated_padding_replaces_the_default() {
    assert_eq!(sizes(&delegate("XnnpackBackend", ", memory: {padding: 0}")), [0, 32]);
    assert_eq!(sizes(&relu(4, ", memory: {padding: 10}")), [0, 42]);
}

#[test]
fn padding_follows_explicit_tensors_too() {
    let parts =
        "values: {x: {tensor: float32, sizes: [4], memory: {pool: 1, offset: 16}}}, inputs: [x], memory: {padding: 64}";
    assert_eq!(sizes(parts), [0, 96]);
}

#[test]
fn reserved_bytes_stay_free_at_the_start_of_each_pool() {
    let parts = "values: {x: f32[4], p: {tensor: float32, sizes: [4], memory: {pool: 2}}}, inputs: [x, p], memory: {reserved: [64, 32]}";
    assert_eq!(places(parts, ["x", "p"]), [Some((1, 64)), Some((2, 32))]);
    assert_eq!(sizes(parts), [0, 80, 48]);
}

// --------------------------------------------------------------------------------------------------------- stated
// sizes

#[test]
fn stated_sizes_are_kept_if_every_tensor_fits() {
    assert_eq!(sizes(&relu(4, ", memory: {non_const_buffer_sizes: [0, 1000]}")), [0, 1000]);
    // T-21: the tensors end at byte 20, not at a multiple of 16.
    assert_eq!(sizes("values: {x: f32[5]}, inputs: [x], memory: {non_const_buffer_sizes: [0, 20]}"), [0, 20]);
}

#[test]
fn a_stated_size_that_is_too_small_is_an_error_at_the_tensor() {
    let stated = |sizes: &str| errors(&forward(&relu(4, &format!(", memory: {{non_const_buffer_sizes: {sizes}}}"))));
    assert_eq!(stated("[0, 31]"), ["x"]);
    assert_eq!(stated("[0]"), ["x", "y"]);
    assert_eq!(stated("[0, 32, -1]"), ["forward"]);
}

#[test]
fn a_plan_that_is_stated_equals_what_states_it() {
    let (mut sample, plan) = planned(&relu(4, ""));
    let method = &mut sample.program.execution_plan.as_mut().unwrap()[0];
    assert!(!plan.is_stated_by(method));
    method.memory.non_const_buffer_sizes = Some(plan.sizes.clone());
    for (value, place) in method.values.as_mut().unwrap().iter_mut().zip(&plan.places) {
        let (EValue::Tensor(tensor), Some((pool, offset))) = (value, *place) else { panic!("two planned tensors") };
        tensor.memory = Memory::At { pool, offset };
    }
    assert!(plan.is_stated_by(method));
    assert_eq!(MemoryPlan::stated(method), MemoryPlan { unshared: 0, ..plan });
}

// ----------------------------------------------------------------------------------------------------------
// write-backs

/// y = relu(s), s = y; followed by more parts.
fn write_back(outputs: &str) -> String {
    format!(
        "values: {{s: {{tensor: float32, sizes: [4], mutable: true}}, y: f32[4]}}, {outputs},
        instructions: [{{kernel: aten::relu.out, args: [s], out: y}}, {{kernel: aten::copy_, args: [s, y], out: s}}]"
    )
}

#[test]
fn the_result_of_a_write_back_takes_room_of_its_own_at_the_outputs() {
    // s lives all the time, y and the result at the outputs.
    assert_eq!(sizes(&write_back("outputs: [y]")), [0, 48]);
    // Without the output, y ends before the result begins.
    assert_eq!(sizes(&write_back("outputs: []")), [0, 32]);
}

#[test]
fn an_unplanned_output_leaves_write_backs_unplanned() {
    assert_eq!(sizes(&write_back("outputs: [y], memory: {outputs: unplanned}")), [0, 16]);
}

// ---------------------------------------------------------------------------------------------------- pools and
// devices

#[test]
fn pools_of_another_device_follow_those_of_the_cpu() {
    let parts = "values: {g: {tensor: float32, sizes: [8], device: \"cuda:1\"}, x: f32[4],
        p: {tensor: float32, sizes: [4], memory: {pool: 2}}, h: {tensor: float32, sizes: [16], device: cuda}}, inputs: [g, x, p, h]";
    let (sample, plan) = planned(parts);
    let pool = |name: &str| plan.places[sample.index(name)].unwrap().0;
    assert_eq!([pool("x"), pool("p"), pool("h"), pool("g")], [1, 2, 3, 4]);
    assert_eq!(plan.sizes, [0, 16, 16, 64, 32]);
    let device =
        |buffer_idx, index| NonConstBufferDevice { buffer_idx, device_type: DeviceType::CUDA, device_index: index };
    assert_eq!(plan.devices, Some(vec![device(3, 0), device(4, 1)]));
}

#[test]
fn devices_are_absent_if_everything_is_on_the_cpu() {
    // W-15
    assert_eq!(planned(&relu(4, "")).1.devices, None);
}

#[test]
fn a_pool_cannot_be_chosen_for_another_device() {
    let parts = "values: {g: {tensor: float32, sizes: [8], device: cuda, memory: {pool: 2}}}, inputs: [g]";
    assert_eq!(errors(&forward(parts)), ["g"]);
}

#[test]
fn tensors_of_two_devices_cannot_be_in_one_pool() {
    let parts = "values: {x: f32[4], g: {tensor: float32, sizes: [4], device: cuda, memory: {pool: 1, offset: 64}}}, inputs: [x, g]";
    assert_eq!(errors(&forward(parts)), ["x"]);
}

#[test]
fn more_pools_than_a_list_is_computed_for_must_be_stated() {
    let at = |more: &str| {
        format!("values: {{x: {{tensor: float32, sizes: [1], memory: {{pool: 4096, offset: 0}}}}}}, inputs: [x]{more}")
    };
    assert_eq!(sizes(&at("")).len(), 4097);
    let mut sample = resolved(&forward(&at("")));
    let method = &mut sample.program.execution_plan.as_mut().unwrap()[0];
    let Some(EValue::Tensor(tensor)) = method.values.as_mut().unwrap().first_mut() else { panic!() };
    tensor.memory = Memory::At { pool: 4097, offset: 0 };
    assert_eq!(plan(method).unwrap_err().len(), 1);
}

/// Offsets and size of pool 1 with `planner: minimal`, of some values.
fn minimal<const N: usize>(parts: &str, names: [&str; N]) -> ([Option<u64>; N], i64) {
    let (sample, plan) = planned(&format!("{parts}, memory: {{planner: minimal}}"));
    (names.map(|name| plan.places[sample.index(name)].map(|(_, offset)| offset)), plan.sizes[1])
}

#[test]
fn the_minimal_planner_needs_what_is_alive_at_once() {
    // a has 64 bytes, b and c 48 each: the greedy planner places c above the object of a.
    let parts = "values: {x: f32[1], a: f32[16], s: f32[1], b: f32[12], c: f32[12], y: f32[12]}, inputs: [x], outputs: [y],
        instructions: [{kernel: aten::expand_copy.out, args: [x, [16], false], out: a}, {kernel: aten::mean.out, args: [a, [0], true, null], out: s},
        {kernel: aten::expand_copy.out, args: [s, [12], false], out: b}, {kernel: aten::exp.out, args: [b], out: c},
        {kernel: aten::abs.out, args: [c], out: y}]";
    assert_eq!(minimal(parts, []).1, 96);
    assert!(sizes(parts)[1] > 96);
}

#[test]
fn the_minimal_planner_gives_targets_of_moves_the_memory_of_their_source() {
    let parts = "values: {c: {tensor: bool, sizes: []}, x: f32[4], s: f32[4], t: f32[4], y: f32[4], z: f32[4]}, inputs: [c, x], outputs: [z],
        instructions: [{jump_false: {cond: c, to: else}}, {kernel: aten::sin.out, args: [x], out: s}, {move: {from: s, to: y}},
        {jump_false: {cond: false, to: end}}, {label: else, kernel: aten::cos.out, args: [x], out: t}, {move: {from: t, to: y}},
        {label: end, kernel: aten::exp.out, args: [y], out: z}]";
    let (places, size) = minimal(parts, ["s", "t", "y"]);
    assert_eq!(places[2], places[0]);
    assert_ne!(places[1], places[0]);
    assert_eq!(size, 48);
}

#[test]
fn the_minimal_planner_keeps_state_and_what_views_and_outputs_need() {
    // The state k is overwritten first, but another method may read it.
    let parts = "values: {x: f32[4], k: {tensor: float32, sizes: [4], mutable: true}, a: f32[4], v: {view_of: a}, b: f32[4], y: f32[4]},
        inputs: [x], outputs: [y, x], instructions: [{kernel: aten::exp.out, args: [x], out: a}, {kernel: aten::copy_, args: [k, x, false]},
        {kernel: aten::abs.out, args: [x], out: b}, {kernel: aten::add.out, args: [v, b, 1], out: y}]";
    let (places, size) = minimal(parts, ["x", "k", "a", "v", "b", "y"]);
    assert_eq!(places[2], places[3]);
    let mut distinct = [places[0], places[1], places[2], places[4], places[5]];
    distinct.sort_unstable();
    assert!(distinct.windows(2).all(|pair| pair[0] != pair[1]), "{places:?}");
    assert_eq!(size, 80);
}

/// A result that both branches write is used after them, so that no other branch may be planned over it.
#[test]
fn results_of_branches_that_are_used_after_them_belong_to_the_method() {
    let branch = |x: &str, y: &str, end: usize| {
        format!(
            "{{jump_false: {{cond: c, to: else_{end}}}}}, {{kernel: aten::sin.out, args: [{x}], out: {y}}}, {{jump_false: {{cond: false, to: end_{end}}}}},
            {{label: else_{end}, kernel: aten::cos.out, args: [{x}], out: {y}}}, {{label: end_{end}}}"
        )
    };
    let parts = format!(
        "values: {{c: {{tensor: bool, sizes: []}}, x: f32[4], y: f32[4], z: f32[4]}}, inputs: [c, x], outputs: [y, z], instructions: [{}, {}]",
        branch("x", "y", 0),
        branch("x", "z", 1)
    );
    let [x, y, z] = places(&parts, ["x", "y", "z"]);
    assert!(x != y && x != z && y != z, "{x:?} {y:?} {z:?}");
}
