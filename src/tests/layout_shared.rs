//! State that methods share has one place.

use super::resolve::resolved;
use crate::layout::memory::plan;
use crate::layout::shared::*;
use pte_analysis::method::Method;
use pte_model::program::EValue;
use pte_model::program::Memory;

const PUSH: &str = "
  push:
    values:
      s: {tensor: float32, sizes: [3], mutable: true, memory: {pool: 2}}
      t: {tensor: float32, sizes: [9], mutable: true, memory: {pool: 2}}
      x: {tensor: float32, sizes: [9]}
    inputs: [x]
    outputs: [x]
    instructions:
      - {kernel: aten::copy_, args: [t, x], out: t}
";
const GET: &str = "
  get:
    values:
      t: {tensor: float32, sizes: [9], mutable: true, memory: {pool: 2}}
    outputs: [y]
    instructions:
      - {kernel: aten::clone.out, args: [t, null], out: y}
";

/// Returns the place of each value in pool 2, by method, and the sizes of the pools.
fn places(methods: &str) -> Vec<(Vec<u64>, Vec<i64>)> {
    let sample = resolved(&format!("methods:{methods}"));
    let methods = Method::of_program(&sample.program);
    let shared = SharedState::plan(&sample.program, &methods).unwrap();
    let of = |(index, method): (usize, &Method<'_>)| {
        let planned = plan(index, method, &shared).unwrap();
        let in_pool = planned.places.iter().flatten().filter(|(pool, _)| *pool == 2);
        (in_pool.map(|(_, offset)| *offset).collect(), planned.sizes)
    };
    methods.iter().enumerate().map(of).collect()
}

#[test]
fn state_of_the_same_key_is_at_the_same_place_in_all_methods() {
    // `t` is written, `s` is not; each takes a multiple of 16 bytes. The write-back takes 48 bytes in pool 1.
    let expected = [(vec![48, 0], vec![0, 96, 64]), (vec![0], vec![0, 48, 64])];
    assert_eq!(places(&format!("{PUSH}{GET}")), expected);
    assert_eq!(places(&format!("{GET}{PUSH}")), [expected[1].clone(), expected[0].clone()]);
}

#[test]
fn names_in_the_file_come_before_keys() {
    let named = |methods: &str, key: &str| {
        methods.replace(&format!("{key}: {{tensor"), &format!("{key}: {{name: model.t, tensor"))
    };
    let renamed = named(GET, "t").replace(" t: {", " cache: {").replace("[t, null]", "[cache, null]");
    assert_eq!(places(&format!("{}{renamed}", named(PUSH, "t")))[1].0, [0]);
    // Two states with the same name in a method are not shared: each method is planned separately.
    let twice = named(&named(PUSH, "s"), "t");
    assert_eq!(places(&format!("{twice}{GET}"))[0].1.len(), 3);
}

#[test]
fn all_methods_but_constant_ones_get_the_pool() {
    let stateless = "
  relu:
    values: {x: {tensor: float32, sizes: [4]}}
    inputs: [x]
    outputs: [y]
    instructions: [{kernel: aten::relu.out, args: [x], out: y}]
  version: {values: {v: 3}, outputs: [v]}
";
    let sizes: Vec<Vec<i64>> = places(&format!("{GET}{stateless}")).into_iter().map(|(_, sizes)| sizes).collect();
    assert_eq!(sizes, [vec![0, 48, 48], vec![0, 32, 48], vec![0]]);
}

#[test]
fn only_stated_padding_is_added() {
    let call = "
  run:
    values:
      s: {tensor: float32, sizes: [5], mutable: true, memory: {pool: 2}}
      x: {tensor: float32, sizes: [4]}
      y: {tensor: float32, sizes: [4]}
    inputs: [x]
    outputs: [y]
    delegates: {d: {backend: XnnpackBackend, data: {hex: a0}}}
    instructions: [{delegate: d, args: [s, x, y]}]
";
    assert_eq!(places(call)[0].1, [0, 32 + 64, 32]);
    let padded = call.replace("    inputs: [x]", "    memory: {padding: 16}\n    inputs: [x]");
    assert_eq!(places(&padded)[0].1, [0, 32 + 16, 32 + 16]);
}

#[test]
fn a_pool_with_anything_else_is_planned_by_each_method() {
    let other = GET.replace("    outputs: [y]", "      y: {memory: {pool: 2}}\n    outputs: [y]");
    assert_eq!(places(&format!("{PUSH}{other}"))[0], (vec![48, 0], vec![0, 96, 64]));
    assert_eq!(places(&format!("{PUSH}{other}"))[1].1, [0, 0, 96]);
}

#[test]
fn the_order_of_the_methods_can_be_stated() {
    let own = "
  first:
    values: {u: {tensor: float32, sizes: [4], mutable: true, memory: {pool: 2}}}
    memory: {shared_order: 0}
    outputs: [u]
    instructions: [{kernel: aten::relu.out, args: [u], out: u}]
";
    let push = PUSH.replace("    inputs: [x]", "    memory: {shared_order: 1}\n    inputs: [x]");
    assert_eq!(places(&format!("{push}{own}")), [(vec![64, 16], vec![0, 96, 80]), (vec![0], vec![0, 0, 80])]);
}

#[test]
fn state_beyond_64_bits_is_an_error() {
    let mut program = resolved(&format!("methods:{GET}")).program;
    let values = program.execution_plan.as_mut().unwrap()[0].values.as_mut().unwrap();
    let mut tensor = values.iter().find_map(EValue::as_tensor).unwrap().clone();
    tensor.sizes = Some(vec![i32::MAX, i32::MAX].into());
    tensor.scalar_type = pte_model::format::ScalarType::FLOAT;
    for number in 0..2 {
        tensor.memory = Memory::Auto { pool: Some(2), persistent: true, shared: Some(number) };
        values.push(EValue::Tensor(tensor.clone()));
    }
    values.drain(..values.len() - 2);
    assert!(SharedState::plan(&program, &Method::of_program(&program)).is_err());
}
