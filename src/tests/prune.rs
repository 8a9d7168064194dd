//! Parts that are removed and kept, by rule; random programs: pruning twice is pruning once, and the outputs are the
//! same with and without.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use proptest::prelude::*;

use super::resolve::{forward, resolved};
use crate::{AssembleOptions, Assembly, Model, ScalarType};
use pte_model::data::Blob;
use pte_model::diagnostics::Severity;
use pte_model::program::{
    Chain, EValue, ExecutionPlan, Instruction, Memory, Operator, OperatorId, Program, Tensor, TensorData, ValueId,
};
use pte_transform::prune::{PrunedParts, UnusedParts, prune, unused_parts};

fn options(prune: bool) -> AssembleOptions {
    AssembleOptions { prune, ..AssembleOptions::default() }
}

fn assembled(yaml: &str, prune: bool) -> Assembly {
    Model::from_yaml("test", yaml, ".").assemble(&options(prune)).unwrap_or_else(|error| panic!("{error}\n{yaml}"))
}

/// Asserts that two sources have the same program once the first one is pruned.
#[track_caller]
fn assert_pruned(parts: &str, expected: &str) {
    let pruned = assembled(&forward(parts), true);
    let expected = assembled(&forward(expected), false);
    assert_eq!(expected.warnings.to_string(), "");
    assert_eq!(pruned.program().plans(), expected.program().plans(), "{parts}");
    assert!(pruned.program_file().unwrap().to_vec().unwrap() == expected.program_file().unwrap().to_vec().unwrap());
}

/// Asserts that nothing is pruned.
#[track_caller]
fn assert_stays(parts: &str) {
    let mut program = resolved(&forward(parts)).program;
    let before = program.clone();
    prune(&mut program);
    assert_eq!(program, before, "{parts}");
    assert!(unused_parts(&program).iter().all(|parts| *parts == UnusedParts::default()), "{parts}");
}

const USED: &str = "{kernel: aten::relu.out, args: [x], out: y}";

#[test]
fn unused_results_and_what_only_they_use_are_removed() {
    let chain = "{kernel: aten::exp.out, args: [x], out: a}, {kernel: aten::add.out, args: [a, w, 2], out: b}";
    assert_pruned(
        &format!(
            "values: {{w: {{tensor: float32, sizes: [4], data: [1, 2, 3, 4]}}, x: f32[4], a: f32[4], b: f32[4],
            y: f32[4], n: 3}},
            inputs: [x], outputs: [y], instructions: [{chain}, {USED}]"
        ),
        &format!("values: {{x: f32[4], y: f32[4]}}, inputs: [x], outputs: [y], instructions: [{USED}]"),
    );
}

#[test]
fn overwritten_results_are_removed() {
    let method = |instructions: &str| {
        format!(
            "values: {{x: f32[4], y: f32[4], z: f32[8], c: true}}, inputs: [x, c], outputs: [y, z],
            instructions: [{{kernel: aten::cat.out, args: [[x, x]], out: z}}, {instructions}]"
        )
    };
    const LAST: &str = "{kernel: aten::exp.out, args: [x], out: y}";
    let read_by_dead = format!("{USED}, {{kernel: aten::neg.out, args: [y], out: y}}, {LAST}");
    assert_pruned(&method(&format!("{USED}, {LAST}")), &method(LAST));
    assert_pruned(&method(&read_by_dead), &method(LAST));
    let program = resolved(&forward(&method(&read_by_dead))).program;
    let [found] = &unused_parts(&program)[0].overwritten[..] else { panic!("{program:?}") };
    assert_eq!((found.step, found.by), (2, 3));
    for read in [
        "{kernel: aten::neg.out, args: [y], out: y}".to_owned(),
        "{kernel: aten::add.out, args: [x, y], out: y}".to_owned(),
        format!(
            "{{kernel: aten::cat.out, args: [[y, y]], out: w}}, {{kernel: aten::add.out, args: [z, w], out: z}}, {LAST}"
        ),
        format!("{{kernel: mine::f, args: [y]}}, {LAST}"),
        format!(
            "{{jump_false: {{cond: c, to: end}}}}, {LAST}, {{label: end, kernel: aten::abs.out, args: [y], out: y}}"
        ),
    ] {
        assert_stays(&method(&format!("{USED}, {read}")));
    }
}

#[test]
fn destinations_and_labels_are_adjusted() {
    let method = |dead: &str| {
        format!(
            "values: {{x: f32[4], y: f32[4], c: true}}, inputs: [x], outputs: [y],
            instructions: [{USED}, {dead}{{jump_false: {{cond: c, to: end}}}},
            {dead}{{kernel: aten::exp.out, args: [x], out: y}},
            {{move: {{from: true, to: c}}}}, {{jump_false: {{cond: c, to: last}}}},
            {{kernel: aten::abs.out, args: [x], out: y}},
            {dead}{{label: end, kernel: aten::neg.out, args: [x], out: y}},
            {{label: last, kernel: aten::sin.out, args: [y], out: y}}]"
        )
    };
    let dead = |name: &str| format!("{{kernel: aten::cos.out, args: [x], out: {name}}}, ");
    let mut with_dead = String::new();
    for (number, piece) in method("#").split('#').enumerate() {
        if number > 0 {
            with_dead += &dead(&format!("d{number}"));
        }
        with_dead += piece;
    }
    assert_pruned(&with_dead, &method(""));
    // A removed destination: the next instruction that stays, or the end.
    let jump = |tail: &str| {
        format!(
            "values: {{x: f32[4], y: f32[4]}}, inputs: [x], outputs: [y],
            instructions: [{USED}, {{jump_false: {{cond: true, to: 3}}}}, {tail}]"
        )
    };
    let last = "{kernel: aten::exp.out, args: [x], out: y}";
    assert_pruned(&jump(&format!("{last}, {{kernel: aten::cos.out, args: [x], out: d}}")), &jump(last));
}

#[test]
fn effects_stay() {
    let values = "x: f32[4], y: f32[4]";
    let state = "{tensor: float32, sizes: [4], mutable: true}";
    for (more, instructions) in [
        // In place, state, an input, unknown operators, delegates, moves.
        ("a: f32[4]", "{kernel: aten::copy_, args: [a, x, false, a]}"),
        (&*format!("s: {state}"), "{kernel: aten::exp.out, args: [x], out: s}"),
        (&*format!("s: {state}, v: {{view_of: s, sizes: [4]}}"), "{kernel: aten::exp.out, args: [x], out: v}"),
        ("", "{kernel: aten::exp.out, args: [y], out: x}"),
        ("a: f32[4]", "{kernel: \"my::exp.out\", args: [x], out: a}"),
        ("a: f32[4]", "{move: {from: x, to: a}}"),
    ] {
        let comma = if more.is_empty() { "" } else { ", " };
        assert_stays(&format!(
            "values: {{{values}{comma}{more}}}, inputs: [x], outputs: [y], instructions: [{USED}, {instructions}]"
        ));
    }
    assert_stays(
        "values: {x: f32[4], m: {tensor: float32, sizes: []}, i: {tensor: int64, sizes: []}}, inputs: [x], outputs: [m],
        instructions: [{kernel: aten::max.dim_max, args: [x, 0], out: [m, i]}]",
    );
}

#[test]
fn bytes_that_are_read_under_another_name_are_used() {
    let at = |offset: u64| format!("{{tensor: float32, sizes: [4], memory: {{pool: 1, offset: {offset}}}}}");
    let method = |a: u64, b: u64, read: &str| {
        format!(
            "values: {{x: f32[4], a: {}, b: {}, y: f32[4]}}, inputs: [x], outputs: [y],
            instructions: [{{kernel: aten::exp.out, args: [x], out: a}}, {read}]",
            at(a),
            at(b)
        )
    };
    let mut program = resolved(&forward(&method(
        1024,
        1032,
        "{kernel: aten::abs.out, args: [x], out: b}, {kernel: aten::relu.out, args: [b], out: y}",
    )))
    .program;
    assert_eq!(prune(&mut program)[0].instructions.removed(), 1, "b has content of its own");
    let mutable = method(1024, 1032, "{kernel: aten::relu.out, args: [b], out: y}")
        .replace("offset: 1032}", "offset: 1032}, mutable: true");
    let mut program = resolved(&forward(&mutable)).program;
    assert_eq!(prune(&mut program)[0].instructions.removed(), 0, "b has the content of a");
}

#[test]
fn state_that_only_its_views_use_stays() {
    let at =
        |sizes: &str, offset: u64| format!("tensor: float32, sizes: {sizes}, memory: {{pool: 1, offset: {offset}}}");
    // The whole state, its first and its last bytes: read, written, and written in place.
    for (sizes, offset) in [("[6]", 1024), ("[2]", 1024), ("[3]", 1036)] {
        for instructions in [
            "{kernel: aten::neg.out, args: [w], out: y}",
            "{kernel: aten::exp.out, args: [x], out: w}",
            "{kernel: aten::copy_, args: [w, x], out: w}",
        ] {
            assert_stays(&format!(
                "values: {{x: {{tensor: float32, sizes: {sizes}}}, s: {{{}, mutable: true, data: {{fill: 1.5}}}},
                w: {{{}, mutable: true}}}}, inputs: [x], outputs: [{}],
                instructions: [{instructions}]",
                at("[2, 3]", 1024),
                at(sizes, offset),
                if instructions.contains("out: y") { "y" } else { "x" },
            ));
        }
    }
}

#[test]
fn calls_that_overwrite_bytes_that_are_read_later_stay() {
    let at = |offset: u64| format!("{{tensor: float32, sizes: [4], memory: {{pool: 1, offset: {offset}}}}}");
    let method = |offset: u64, order: &[&str]| {
        let instructions: Vec<String> = order
            .iter()
            .map(|call| {
                let (kernel, args) = call.split_once(' ').unwrap();
                let (args, out) = args.split_once(" -> ").unwrap();
                format!("{{kernel: aten::{kernel}.out, args: [{args}], out: {out}}}")
            })
            .collect();
        format!(
            "values: {{x: f32[4], n: {}, b: {}, v: {{view_of: b, sizes: [2, 2]}}, l: {{tensor_list: [b]}}, y: f32[4],
            z: f32[4]}}, inputs: [x], outputs: [y], instructions: [{}]",
            at(offset),
            at(1024),
            instructions.join(", ")
        )
    };
    let (write, clobber) = ("exp x -> b", "neg x -> n");
    for (offset, order, is_kept) in [
        (1024, vec![write, clobber, "relu b -> y"], true),
        (1036, vec![write, clobber, "relu b -> y"], true),
        (1040, vec![write, clobber, "relu b -> y"], false),
        (1024, vec![clobber, write, "relu b -> y"], false),
        (1024, vec![write, "relu b -> y", clobber], false),
        (1024, vec![write, "relu b -> z", clobber, "add b, z -> y"], true),
        // Through a view, and through a list.
        (1024, vec![write, clobber, "permute_copy v, [1, 0] -> z2", "view_copy z2, [4] -> y"], true),
        (1024, vec![write, clobber, "cat l -> w", "abs x -> y"], false),
        (1024, vec![write, clobber, "cat l -> y"], true),
        // Their readers are removed, too.
        (1024, vec![write, clobber, "relu b -> z", "abs x -> y"], false),
    ] {
        let mut program = resolved(&forward(&method(offset, &order))).program;
        prune(&mut program);
        let names: Vec<&str> =
            program.plans()[0].operators.iter().flatten().filter_map(|operator| operator.name.as_deref()).collect();
        assert_eq!(names.contains(&"aten::neg"), is_kept, "{offset} {order:?}");
    }
}

#[test]
fn bytes_of_loops_and_branches_stay() {
    let at = "{tensor: float32, sizes: [4], memory: {pool: 1, offset: 1024}}";
    let method = |instructions: &str| {
        format!(
            "values: {{x: f32[4], c: true, b: {at}, n: {at}, y: f32[4]}}, inputs: [x, c], outputs: [y],
            instructions: [{instructions}]"
        )
    };
    let (write, clobber, read) = (
        "{kernel: aten::exp.out, args: [x], out: b}",
        "{kernel: aten::neg.out, args: [x], out: n}",
        "{kernel: aten::abs.out, args: [b], out: y}",
    );
    for (instructions, is_kept) in [
        // The next iteration reads what this one overwrites.
        (format!("{write}, {read}, {clobber}, {{jump_false: {{cond: c, to: 1}}}}"), true),
        (format!("{write}, {read}, {{jump_false: {{cond: c, to: 1}}}}, {clobber}"), false),
        // A jump leads over the only write after it.
        (format!("{clobber}, {{jump_false: {{cond: c, to: 3}}}}, {write}, {read}"), true),
        (format!("{clobber}, {write}, {{jump_false: {{cond: c, to: 3}}}}, {read}"), false),
    ] {
        let mut program = resolved(&forward(&method(&instructions))).program;
        prune(&mut program);
        let count = program.plans()[0].instructions().count();
        assert_eq!(count, if is_kept { 4 } else { 3 }, "{instructions}");
    }
}

#[test]
fn tables_and_data_are_pruned() {
    let delegate = |name: &str| format!("{name}: {{backend: B, data: {{text: {name}}}}}");
    let method = |delegates: &str, operators: &str| {
        format!(
            "values: {{x: f32[4], y: f32[4]}}, inputs: [x], outputs: [y], delegates: {{{delegates}}},
            operators: [{operators}],
            instructions: [{{delegate: d, args: [x, y]}}]"
        )
    };
    let two = format!("{}, {}", delegate("unused"), delegate("d"));
    assert_pruned(&method(&two, "aten::relu.out"), &method(&delegate("d"), ""));
    let assembly = assembled(&forward(&method(&two, "aten::relu.out")), true);
    assert_eq!(assembly.program().blobs.len(), 1);
    let PrunedParts { delegates: removed_delegates, operators: removed_operators, .. } = assembly.pruned[0];
    assert_eq!((removed_delegates, removed_operators), (1, 1));
}

#[test]
fn gaps_are_closed() {
    let method = |a: &str, b: &str| {
        forward(&format!(
            "values: {{x: {{tensor: float32, sizes: [4]{a}}}, y: {{tensor: float32, sizes: [4]{b}}}}},
            inputs: [x], outputs: [{{index: 9}}],
            instructions: [{{kernel: aten::add.out, args: [{{index: 5}}, x], out: y}}]"
        ))
    };
    let gaps = method(", index: 5", ", index: 9");
    let warnings = assembled(&gaps, false).warnings.to_string();
    assert_eq!(warnings.matches("index 5 of `x` leaves a gap: the values are renumbered").count(), 1, "{warnings}");
    assert_eq!(warnings.matches("leaves a gap").count(), 1, "{warnings}");
    let pruned = assembled(&gaps, true);
    assert!(!pruned.warnings.to_string().contains("gap"), "{}", pruned.warnings);
    let plan = &pruned.program().plans()[0];
    assert_eq!(
        (plan.values().len(), plan.inputs.as_deref(), plan.outputs.as_deref()),
        (3, Some(&[ValueId(1)][..]), Some(&[ValueId(2)][..]))
    );
    let call = &plan.chains.as_ref().unwrap()[0].instructions.as_ref().unwrap()[0];
    assert_eq!(call.args(), [1, 1, 0, 2, 2].map(ValueId));
    // An index in a gap is that of no value.
    let error = Model::from_yaml("test", gaps.replace("{index: 5}", "{index: 6}"), ".").assemble(&options(true));
    let error = error.unwrap_err();
    assert!(error.to_string().contains("no value has the index 6"), "{error}");
}

#[test]
fn one_warning_lists_the_unused_values_of_a_method() {
    let yaml = forward(&format!(
        "values: {{w: {{tensor: float32, sizes: [1], data: [1]}}, x: f32[4], y: f32[4], n: 3, l: {{tensor_list: [x]}}}},
        inputs: [x], outputs: [y],
        instructions: [{{kernel: aten::exp.out, args: [x], out: a}}, {{kernel: aten::exp.out, args: [a], out: b}},
        {USED}]"
    ));
    let assembly = assembled(&yaml, false);
    let [warning] = &*assembly.warnings.diagnostics else { panic!("{}", assembly.warnings) };
    assert_eq!(warning.severity, Severity::Warning);
    assert_eq!(warning.message, "unused values in method `forward`: `n`, `l`, `b`");
    assert_eq!(&yaml[warning.at.clone().unwrap()], "n");
    assert_eq!(assembled(&yaml, true).warnings.to_string(), "");
}

/// Content of 8 bytes: of a tensor with memory of its own, by its tag, or of a pool.
type Cell = (u64, u64);

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Content of the cells that were written.
type Contents = BTreeMap<Cell, u64>;

fn read(content: &Contents, cells: &[Cell]) -> u64 {
    hash(cells.iter().map(|cell| content.get(cell).copied().unwrap_or(hash(cell))).collect::<Vec<_>>())
}

fn write(content: &mut Contents, cells: &[Cell], value: u64) {
    cells.iter().enumerate().for_each(|(number, cell)| _ = content.insert(*cell, hash((value, number))));
}

/// Writes the results of a kernel. `pointers` are the cells of each value.
fn run_kernel(name: &str, args: &[ValueId], values: &[EValue], pointers: &mut [Vec<Cell>], content: &mut Contents) {
    let index = |id: ValueId| id.get().unwrap();
    let list = |id: ValueId| values[index(id)].as_tensors();
    let of = |id: ValueId| read(content, &pointers[index(id)]);
    match name {
        "aten::relu.out" => {
            let result = hash((name, of(args[0])));
            write(content, &pointers[index(args[1])], result);
        }
        "aten::cat.out" => {
            let result = hash(list(args[0]).iter().map(|item| of(*item)).collect::<Vec<_>>());
            write(content, &pointers[index(args[2])], result);
        }
        "aten::copy_" => {
            let result = hash((of(args[0]), of(args[1])));
            write(content, &pointers[index(args[0])], result);
        }
        "aten::unbind_copy.int_out" => {
            let result = of(args[0]);
            for (number, item) in list(args[2]).iter().enumerate() {
                write(content, &pointers[index(*item)], hash((result, number)));
            }
        }
        "executorch_prim::et_view.default" => {
            let count = pointers[index(args[2])].len();
            let of = &pointers[index(args[0])];
            pointers[index(args[2])] = of.iter().cycle().take(count).copied().collect();
        }
        _ => {
            let result = hash(args.iter().map(|value| of(*value)).collect::<Vec<_>>());
            for value in args.iter() {
                write(content, &pointers[index(*value)], hash((result, value == &args[0])));
            }
        }
    }
}

/// Executes a method symbolically, twice; returns the content of its outputs. The storage offset of a tensor is its
/// tag.
fn execute(plan: &ExecutionPlan) -> Vec<u64> {
    let values = plan.values();
    let own = |tensor: &Tensor, memory: Memory, count: u64| -> Vec<Cell> {
        let (space, start) = match memory {
            Memory::At { pool, offset } => (u64::from(pool) << 32, offset / 8),
            Memory::View { .. } | Memory::None | Memory::Auto { .. } => (tensor.storage_offset as u64, 0),
        };
        (start..start + count).map(|cell| (space, cell)).collect()
    };
    let cells = |value: &EValue| {
        let Some(tensor) = value.as_tensor() else { return Vec::new() };
        let base = match tensor.memory {
            Memory::View { base } => values[base as usize].as_tensor().unwrap(),
            _ => tensor,
        };
        own(base, base.memory, tensor.nbytes().unwrap() / 8)
    };
    let mut pointers: Vec<Vec<Cell>> = values.iter().map(cells).collect();
    let mut content = Contents::new();
    let mut outputs = Vec::new();
    let index = |id: ValueId| id.get().unwrap();
    for run in 0..2 {
        for (number, input) in plan.inputs.iter().flatten().enumerate() {
            write(&mut content, &pointers[index(*input)], hash((run, number)));
        }
        let instructions = plan.chains.as_ref().unwrap()[0].instructions.as_ref().unwrap();
        let (mut next, mut jumps) = (0, 0);
        while let Some(instruction) = instructions.get(next) {
            next += 1;
            match instruction {
                Instruction::KernelCall { op_index, args } => {
                    let operator = plan.operator(*op_index).unwrap();
                    let name = operator.full_name().unwrap();
                    let args = args.as_ref().unwrap();
                    run_kernel(&name, args, values, &mut pointers, &mut content);
                }
                Instruction::JumpFalseCall { cond_value_index, destination_instruction } => {
                    let condition = read(&content, &pointers[index(*cond_value_index)]) % 2;
                    if condition == 0 && jumps < 8 {
                        jumps += 1;
                        next = *destination_instruction as usize;
                    }
                }
                Instruction::MoveCall { move_from, move_to } => {
                    pointers[index(*move_to)] = pointers[index(*move_from)].clone();
                }
                Instruction::DelegateCall { .. } | Instruction::FreeCall { .. } | Instruction::Unknown { .. } => {}
            }
        }
        outputs.extend(plan.outputs.iter().flatten().map(|value| read(&content, &pointers[index(*value)])));
    }
    outputs
}

const OPERATORS: [(&str, &str); 6] = [
    ("aten::relu", "out"),
    ("aten::cat", "out"),
    ("aten::copy_", ""),
    ("aten::unbind_copy", "int_out"),
    ("executorch_prim::et_view", "default"),
    ("my::both", "out"),
];

/// Numbers of tensors, and of lists after them, of a random program; the last value is an Int. Nothing writes the last
/// tensor.
const TENSORS: i32 = 10;
const LISTS: i32 = 3;

/// Locations of the tensors of a random program.
#[derive(Clone, Copy)]
enum Placement {
    /// The last three are at explicit locations: the last one has the bytes of the other two.
    Shared,
    /// Any, also those of other tensors that are alive.
    Any,
}

fn tensor(tag: i32, placement: Placement) -> BoxedStrategy<EValue> {
    let at = |cell: u64| Memory::At { pool: 1, offset: 8 * cell };
    let auto = |persistent: bool| Memory::Auto { pool: None, persistent, shared: None };
    let view = if tag < 2 { auto(false) } else { Memory::View { base: tag as u32 % 2 } };
    let memory = match (placement, TENSORS - tag) {
        (Placement::Shared, 1 | 3) => Just(at(0)).boxed(),
        (Placement::Shared, 2) => Just(at(1)).boxed(),
        (Placement::Shared, _) => prop_oneof![4 => Just(auto(false)), 1 => Just(auto(true)), 1 => Just(view)].boxed(),
        (Placement::Any, _) => prop_oneof![2 => (0..4_u64).prop_map(at), 1 => Just(view)].boxed(),
    };
    let size = match (tag, TENSORS - tag) {
        (0 | 1, _) | (_, 1) => 4,
        _ => 2,
    };
    let tensor = move |(memory, data)| {
        let has_data = data == 0 && !matches!(memory, Memory::View { .. });
        let data = if has_data { TensorData::Blob(crate::BlobId(0)) } else { TensorData::None };
        EValue::Tensor(Tensor { memory, data, storage_offset: tag, ..Tensor::new(ScalarType::FLOAT, &[size]) })
    };
    (memory, 0..8).prop_map(tensor).boxed()
}

fn instruction(count: i32) -> impl Strategy<Value = Instruction> {
    let call = |operator: i32, args: &[i32]| Instruction::KernelCall {
        op_index: OperatorId(operator),
        args: Some(args.iter().copied().map(ValueId).collect()),
    };
    let (any, list, number) = (0..TENSORS, TENSORS..TENSORS + LISTS, TENSORS + LISTS);
    let (written, lists) = (0..TENSORS - 1, TENSORS + 1..TENSORS + LISTS);
    prop_oneof![
        8 => (any.clone(), written.clone()).prop_map(move |(of, out)| call(0, &[of, out, out])),
        2 => (list, written.clone()).prop_map(move |(of, out)| call(1, &[of, number, out, out])),
        1 => (written.clone(), any.clone()).prop_map(move |(to, from)| call(2, &[to, from, number, to])),
        2 => (any.clone(), lists).prop_map(move |(of, out)| call(3, &[of, number, out, out])),
        2 => (written.clone(), written.clone()).prop_map(move |(of, out)| call(4, &[of, number, out])),
        1 => (written.clone(), written.clone()).prop_map(move |(of, out)| call(5, &[of, out])),
        1 => (any, 0..=count).prop_map(|(condition, destination_instruction)| {
            Instruction::JumpFalseCall { cond_value_index: ValueId(condition), destination_instruction }
        }),
        1 => (written.clone(), written).prop_map(|(from, to)| {
            Instruction::MoveCall { move_from: ValueId(from), move_to: ValueId(to) }
        }),
    ]
}

fn program(placement: Placement) -> impl Strategy<Value = Program> {
    let tensors: Vec<_> = (0..TENSORS).map(|tag| tensor(tag, placement)).collect();
    let read = prop::collection::vec(0..TENSORS, 0..3);
    let written = prop::collection::vec(prop::collection::vec(0..TENSORS - 1, 0..3), LISTS as usize - 1);
    let instructions = (0..16_i32).prop_flat_map(|count| prop::collection::vec(instruction(count), count as usize));
    let inputs = prop::collection::vec(0..TENSORS - 1, 0..2);
    let parts = (tensors, read, written, instructions, inputs, prop::collection::vec(0..TENSORS, 0..3));
    let ids = |numbers: Vec<i32>| numbers.into_iter().map(ValueId).collect::<Vec<_>>();
    parts.prop_map(move |(mut values, read, written, instructions, inputs, outputs)| {
        let lists = std::iter::once(read).chain(written);
        values.extend(lists.map(|list| EValue::TensorList(Some(ids(list)))));
        values.push(EValue::Int(0));
        let operator = |(name, overload): &(&str, &str)| Operator {
            name: Some((*name).to_owned()),
            overload: Some((*overload).to_owned()),
        };
        let plan = ExecutionPlan {
            values: Some(values),
            inputs: Some(ids(inputs)),
            outputs: Some(ids(outputs)),
            chains: Some(vec![Chain { instructions: Some(instructions), ..Chain::default() }]),
            operators: Some(OPERATORS.iter().map(operator).collect()),
            ..ExecutionPlan::default()
        };
        let blobs = vec![Blob::bytes([0; 16])];
        Program { execution_plan: Some(vec![plan]), blobs, ..Program::default() }
    })
}

/// Asserts that pruning a pruned program changes nothing, and returns it.
#[track_caller]
fn pruned_once(program: &Program) -> Program {
    let mut once = program.clone();
    prune(&mut once);
    let mut twice = once.clone();
    let again = prune(&mut twice);
    assert_eq!(twice, once);
    assert_eq!(again[0].values.removed() + again[0].instructions.removed(), 0);
    assert_eq!(unused_parts(&once)[0], UnusedParts::default());
    once
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pruned_programs_compute_the_same(program in program(Placement::Shared)) {
        prop_assert_eq!(execute(&pruned_once(&program).plans()[0]), execute(&program.plans()[0]));
    }

    #[test]
    fn programs_at_any_locations_compute_the_same(program in program(Placement::Any)) {
        prop_assert_eq!(execute(&pruned_once(&program).plans()[0]), execute(&program.plans()[0]));
    }
}
