//! Limits of `check` (docs/check.md): programs that take one unit less than a limit, exactly as many, and one more,
//! which is an error.

use std::collections::BTreeSet;

use super::check_semantics::{add, add_tensor, call, chain, found, ids, instructions, jump, program, tensor};
use pte_analysis::access::Accesses;
use pte_analysis::operators::MethodOperators;
use pte_check::RuleId::{self, *};
use pte_check::semantics::check;
use pte_check::semantics::limits::{self, Limit, Work};
use pte_check::{Findings, Location, Profile};
use pte_model::data::{Blob, BlobSource};
use pte_model::format::ScalarType;
use pte_model::program::element::Element;
use pte_model::program::{EValue, ExecutionPlan, Instruction, Memory, Program, Tensor, TensorData, ValueId};
use pte_operators::OperatorSet;

/// Returns the texts of findings of X-18.
fn exceeded(program: &Program) -> Vec<String> {
    let found = texts(program, X_18);
    found.into_iter().map(|found| found.replace("not fully checked: more than ", "")).collect()
}

/// Returns the texts of the findings of a rule.
fn texts(program: &Program, rule: RuleId) -> Vec<String> {
    let mut findings = Findings::new(Profile::Strict);
    let locate = |element: &Element| Location::new(None, element.path(program));
    check(program, &OperatorSet::new(), &BTreeSet::new(), &Work::default(), &mut findings, &locate);
    let found = findings.list.into_iter().filter(|finding| finding.rule.id == rule);
    found.map(|finding| finding.found).collect()
}

/// Calls of lists, after which there are `units` accesses; each call accesses its list, the items, the dimension and
/// the out.
fn calls_of_lists(units: usize) -> Program {
    const CALLS: usize = 1 << 14;
    // There are 4 accesses of the other calls.
    let (items, rest) = ((units - 5) / CALLS - 3, (units - 5) % CALLS);
    let mut program = program(&chain("", ""));
    let plan = &mut program.execution_plan.as_mut().unwrap()[0];
    // The last list is not used: with it, the number of items hardly depends on the units.
    let [list, last, _] =
        [items, rest, CALLS - rest].map(|items| add(plan, EValue::TensorList(Some(ids(&vec![0; items])))));
    let (zero, t) = (add(plan, EValue::Int(0)), add_tensor(plan, 256, 4));
    for _ in 0..CALLS {
        call(plan, "aten::cat.out", &[list, zero, t, t]);
    }
    call(plan, "aten::cat.out", &[last, zero, t, t]);
    program
}

#[test]
fn items_of_lists_are_limited() {
    let items_of = |plan: &ExecutionPlan| plan.values().iter().map(|value| value.items().len()).sum::<usize>();
    is_exact(&limits::ITEMS, calls_of_lists, |plan| {
        let args = plan.instructions().map(|instruction| instruction.args().len()).sum::<usize>();
        plan.values().len() + args + items_of(plan)
    });
}

/// Number of accesses of the instructions and outputs of a method.
fn accesses(plan: &ExecutionPlan) -> usize {
    let operators = MethodOperators::new(plan, &OperatorSet::new());
    Accesses::of(plan, &operators, vec![false; plan.values().len()], &[]).list.len()
}

/// Verifies that programs that take one unit less than a limit, and exactly as many, are accepted, and that one that
/// takes one more is not. `program` returns a program that takes a number of units.
fn is_exact(limit: &Limit, program: impl Fn(usize) -> Program, accesses: impl Fn(&ExecutionPlan) -> usize) {
    let most = |program: &Program| limit.of(accesses(&program.plans()[0]));
    // A program for more units has few more accesses, so that this ends at a program that takes exactly as many as it
    // may.
    let mut most_units = limit.least;
    while most(&program(most_units)) != most_units {
        most_units = most(&program(most_units));
    }
    for units in most_units - 1..=most_units + 1 {
        let program = program(units);
        assert_eq!(most(&program), most_units, "{}", limit.unit);
        let expected = (units > most_units).then(|| format!("{most_units} {}s", limit.unit));
        assert_eq!(exceeded(&program), Vec::from_iter(expected), "{units} of {most_units}");
    }
}

/// `CALLS` calls in place on one of the live tensors at the same offset. There are two offsets: `group` tensors at the
/// one, and one more at the other, so that a call takes one unit more there.
fn live_tensors(units: usize) -> Program {
    const CALLS: usize = 2500;
    let group = units / CALLS;
    let mut program = program(&chain("", ""));
    let plan = &mut program.execution_plan.as_mut().unwrap()[0];
    let mut tensors = |offset: u64, count: usize| (0..count).map(|_| add_tensor(plan, offset, 4)).collect::<Vec<i32>>();
    let groups = [tensors(1024, group), tensors(2048, group + 1)];
    let wait = add(plan, EValue::Bool(false));
    plan.inputs.get_or_insert_default().extend(ids(&groups.concat()));
    for number in 0..CALLS {
        let out = groups[usize::from(number < units % CALLS)][0];
        call(plan, "aten::copy_", &[out, 0, wait, out]);
    }
    plan.outputs.get_or_insert_default().extend(ids(&groups.concat()));
    program
}

#[test]
fn overlapping_live_tensors_are_limited() {
    is_exact(&limits::OVERLAPS, live_tensors, accesses);
}

/// `back` jumps to the start, and `more` to the next instruction: each jump is compared with each loop. `outputs` add
/// an access each.
fn jumps(back: usize, more: usize, outputs: usize) -> Program {
    let mut program = program(&chain("", ""));
    let plan = &mut program.execution_plan.as_mut().unwrap()[0];
    let (condition, number) = (add(plan, EValue::Bool(true)), add(plan, EValue::Int(1)));
    plan.inputs.get_or_insert_default().push(ValueId(number));
    call(plan, "executorch_prim::gt.Scalar", &[number, number, condition]);
    for jump_number in 0..back + more {
        let next = instructions(plan).len();
        jump(plan, next, condition, if jump_number < back { 0 } else { next as i32 + 1 });
    }
    plan.outputs.get_or_insert_default().extend(ids(&vec![number; outputs]));
    program
}

#[test]
fn enclosing_loops_are_limited() {
    // The number of loops minus the units of the access of a jump.
    const BACK: usize = 1501;
    let per_jump = limits::LOOPS.per_access;
    let back = BACK + per_jump;
    let most = |program: &Program| limits::LOOPS.of(accesses(&program.plans()[0]));
    let without = most(&jumps(0, 0, 0));
    for (more_units, is_exceeded) in [(-1, false), (0, false), (1, true)] {
        // loops * jumps == without + per_jump * (jumps + outputs) + more_units
        let (jump_count, outputs) = (0..BACK)
            .find_map(|outputs| {
                let units = (without + per_jump * outputs).checked_add_signed(more_units)?;
                units.is_multiple_of(BACK).then_some((units / BACK, outputs))
            })
            .unwrap();
        let program = jumps(back, jump_count - back, outputs);
        let most = most(&program);
        assert_eq!(Some(back * jump_count), most.checked_add_signed(more_units));
        let expected = is_exceeded.then(|| format!("{most} enclosing loops"));
        assert_eq!(exceeded(&program), Vec::from_iter(expected), "{more_units}");
    }
}

/// Tensors that are written after jumps to the next instruction, and then read: for each, the blocks up to its write
/// are visited.
fn blocks(units: usize) -> Program {
    const JUMPS: usize = 4000;
    let mut program = program(&chain("", ""));
    let plan = &mut program.execution_plan.as_mut().unwrap()[0];
    let (condition, number) = (add(plan, EValue::Bool(true)), add(plan, EValue::Int(1)));
    plan.inputs.get_or_insert_default().push(ValueId(number));
    call(plan, "executorch_prim::gt.Scalar", &[number, number, condition]);
    // The tensors y and z are written in the first block.
    let (last, block) = ((units - 3) / (JUMPS + 1), (units - 3) % (JUMPS + 1));
    let tensors: Vec<i32> = (0..=last).map(|index| add_tensor(plan, 4096 + 16 * index as u64, 4)).collect();
    for number in 0..=JUMPS {
        if number == block {
            call(plan, "aten::relu.out", &[0, tensors[last], tensors[last]]);
        }
        if number == JUMPS {
            break;
        }
        let next = instructions(plan).len();
        jump(plan, next, condition, next as i32 + 1);
    }
    for tensor in &tensors[..last] {
        call(plan, "aten::relu.out", &[0, *tensor, *tensor]);
    }
    plan.outputs.get_or_insert_default().extend(ids(&tensors));
    program
}

#[test]
fn visited_blocks_are_limited() {
    is_exact(&limits::BLOCKS, blocks, accesses);
}

/// `IN` tensors are moved to a value, from which it is moved to `OUT` others. The moves are followed three times: in
/// the first, a move from the value knows the tensors that were moved to it before, which are more memory later.
fn moves(units: usize) -> Program {
    const IN: usize = 600;
    const OUT: usize = 650;
    let mut program = program(&chain("", ""));
    let plan = &mut program.execution_plan.as_mut().unwrap()[0];
    let mut tensors = |count: usize, offset: u64| -> Vec<i32> {
        (0..count).map(|index| add_tensor(plan, offset + 16 * index as u64, 4)).collect()
    };
    let (moved, from, to) = (tensors(1, 1024)[0], tensors(IN, 4096), tensors(OUT, 65536));
    let mut first = (units - 3 * IN - 2 * OUT * IN - OUT) as i64;
    // By move from the value: the number of earlier moves to it.
    let mut earlier: Vec<usize> = (0..OUT)
        .map(|_| {
            let more = first.clamp(0, IN as i64 - 1);
            first -= more;
            more as usize + 1
        })
        .collect();
    earlier.reverse();
    let mut to = to.iter().zip(earlier).peekable();
    let mut add_move = |from: i32, to: i32| {
        instructions(plan).push(Instruction::MoveCall { move_from: ValueId(from), move_to: ValueId(to) });
    };
    for (number, from) in (1..).zip(&from) {
        add_move(*from, moved);
        while let Some((to, _)) = to.next_if(|(_, earlier)| *earlier == number) {
            add_move(moved, *to);
        }
    }
    assert!(to.next().is_none());
    program
}

#[test]
fn possible_memory_ranges_are_limited() {
    is_exact(&limits::ALIASES, moves, accesses);
}

/// A loop of `count` iterations, each of which selects a row by the counter, in place of the executions of the method.
fn iterations(count: i64, rows: i32) -> Program {
    let mut program = program(&chain("", ""));
    let plan = &mut program.execution_plan.as_mut().unwrap()[0];
    let [counter, zero, one, end] = [0, 0, 1, count].map(|number| add(plan, EValue::Int(number)));
    let done = add(plan, EValue::Bool(false));
    let (table, row) = (add_tensor(plan, 4096, rows), add_tensor(plan, 2048, 1));
    tensor(plan, row as usize).sizes = Some([][..].into());
    tensor(plan, row as usize).dim_order = Some([][..].into());
    plan.inputs.get_or_insert_default().push(ValueId(table));
    instructions(plan).push(Instruction::MoveCall { move_from: ValueId(zero), move_to: ValueId(counter) });
    let start = instructions(plan).len() as i32;
    call(plan, "aten::select_copy.int_out", &[table, zero, counter, row, row]);
    call(plan, "executorch_prim::add.Scalar", &[counter, one, counter]);
    call(plan, "executorch_prim::eq.Scalar", &[counter, end, done]);
    let next = instructions(plan).len();
    jump(plan, next, done, start);
    plan.outputs.get_or_insert_default().push(ValueId(row));
    program
}

/// Adds a tensor of bool, which the caller sets if it is an input.
fn input_condition(plan: &mut ExecutionPlan) -> i32 {
    let condition = add_tensor(plan, 8192, 1);
    tensor(plan, condition as usize).scalar_type = ScalarType::BOOL;
    condition
}

/// `count` branches, by inputs, each of which computes another Int, which is then a divisor.
fn branches(count: i64) -> Program {
    let mut program = program(&chain("", ""));
    let plan = &mut program.execution_plan.as_mut().unwrap()[0];
    let (index, one, zero) = (add(plan, EValue::Int(0)), add(plan, EValue::Int(1)), add(plan, EValue::Int(0)));
    let condition = input_condition(plan);
    let (table, row) = (add_tensor(plan, 4096, 100_000), add_tensor(plan, 2048, 1));
    tensor(plan, row as usize).sizes = Some([][..].into());
    tensor(plan, row as usize).dim_order = Some([][..].into());
    plan.inputs.get_or_insert_default().extend(ids(&[condition, table]));
    for number in 0..count {
        let next = instructions(plan).len();
        jump(plan, next, condition, next as i32 + 2);
        let number = add(plan, EValue::Int(number));
        call(plan, "executorch_prim::add.Scalar", &[number, one, index]);
    }
    call(plan, "aten::select_copy.int_out", &[table, zero, zero, row, row]);
    plan.outputs.get_or_insert_default().push(ValueId(row));
    let rest = add(plan, EValue::Int(0));
    call(plan, "executorch_prim::mod.Scalar", &[one, index, rest]);
    program
}

/// Limits of the Ints of a value: a value at its limit, one below, and one above.
#[test]
fn computed_ints_are_limited() {
    for (count, expected) in [(127, 0), (128, 0), (129, 1)] {
        let found = texts(&branches(count), X_30);
        assert_eq!(found.len(), expected, "{count}: {found:?}");
        assert!(found.iter().all(|found| found.contains("it may be more than 128 numbers")), "{found:?}");
    }
}

/// Inferred list items that every method may take (docs/check.md).
const LEAST_INFERRED: usize = 1 << 20;

/// Returns the least size for which a program reaches a limit: the one below does not. It is between the two bounds.
fn first_beyond(unit: &str, bounds: [usize; 2], program: impl Fn(usize) -> Program) -> usize {
    let is_beyond = |size: usize| {
        let found = exceeded(&program(size));
        assert!(found.iter().all(|found| found.ends_with(unit)), "{unit}: {found:?}");
        !found.is_empty()
    };
    let [mut below, mut above] = bounds;
    assert!(!is_beyond(below) && is_beyond(above), "{unit}");
    while below + 1 < above {
        let middle = usize::midpoint(below, above);
        *(if is_beyond(middle) { &mut above } else { &mut below }) = middle;
    }
    above
}

/// 100 Ints are possible as the size of the parts that a tensor is split into, besides the one in the file. There are
/// `items` outs.
fn split_in_many_ways(items: usize) -> Program {
    let mut program = branches(100);
    let plan = &mut program.execution_plan.as_mut().unwrap()[0];
    // No size is 0.
    plan.values.as_mut().unwrap()[3] = EValue::Int(101);
    let (out, zero) = (add_tensor(plan, 256, 4), add(plan, EValue::Int(0)));
    let list = add(plan, EValue::TensorList(Some(ids(&vec![out; items]))));
    call(plan, "aten::split_copy.Tensor_out", &[0, 3, zero, list, list]);
    program
}

#[test]
fn inferred_items_are_limited() {
    // Each of the combinations takes the items of the list, which is the out and the result; so do the call itself, and
    // what follows because its result is not known. The accesses to the items increase the limit.
    let expected = LEAST_INFERRED / (2 * 103 - 16);
    let found = first_beyond("inferred list items", [expected / 2, expected * 2], split_in_many_ways);
    assert!(found.abs_diff(expected) < expected / 10, "{found}, expected about {expected}");
}

/// `count` Ints, and as many jumps that depend on an input: each block has a state of all Ints.
fn written_ints(count: usize) -> Program {
    let mut program = program(&chain("", ""));
    let plan = &mut program.execution_plan.as_mut().unwrap()[0];
    let one = add(plan, EValue::Int(1));
    let condition = input_condition(plan);
    plan.inputs.get_or_insert_default().push(ValueId(condition));
    for _ in 0..count {
        let next = instructions(plan).len();
        jump(plan, next, condition, next as i32 + 2);
        let result = add(plan, EValue::Int(0));
        call(plan, "executorch_prim::add.Scalar", &[one, one, result]);
    }
    program
}

#[test]
fn written_ints_are_limited() {
    first_beyond("computed Ints", [100, 1500], written_ints);
}

/// Constants of `len` bytes in total as numbers of repetitions. They are in no file, so that the test does not take
/// their memory.
fn constant_repetitions(len: usize) -> Program {
    let mut program = program(&chain("", ""));
    for part in [len / 16 * 8, len - len / 16 * 8] {
        let source = BlobSource::File { path: std::path::Path::new("no such file").into(), offset: 0 };
        let data = program.add_blob(Blob::new(part as u64, source));
        let plan = &mut program.execution_plan.as_mut().unwrap()[0];
        let mut repetitions = Tensor::new(ScalarType::LONG, &[(part / 8) as i32]);
        repetitions.data = TensorData::Blob(data);
        repetitions.memory = Memory::None;
        let (repetitions, size) = (add(plan, EValue::Tensor(repetitions)), add(plan, EValue::Int(4)));
        let out = add_tensor(plan, 256, 4);
        call(plan, "aten::repeat_interleave.Tensor_out", &[repetitions, size, out, out]);
    }
    program
}

#[test]
fn constant_bytes_are_limited() {
    let most = limits::CONSTANTS.of(accesses(&constant_repetitions(128).plans()[0]));
    for (len, expected) in [(most - 8, 0), (most, 0), (most + 8, 1)] {
        let found = exceeded(&constant_repetitions(len));
        assert_eq!(found.len(), expected, "{len}: {found:?}");
        assert!(found.iter().all(|found| found.ends_with("constant bytes")), "{found:?}");
    }
}

/// A method of many values and jumps, in which kinds are moved from value to value against the order of the
/// instructions.
#[test]
fn states_of_values_take_bounded_work() {
    const COUNT: i32 = 20_000;
    let mut program = program(&chain("", ""));
    let plan = &mut program.execution_plan.as_mut().unwrap()[0];
    let (one, more) = (add(plan, EValue::Int(1)), add(plan, EValue::Bool(false)));
    call(plan, "executorch_prim::gt.Scalar", &[one, one, more]);
    call(plan, "executorch_prim::add.Scalar", &[one, one, one]);
    let values: Vec<i32> = (0..COUNT).map(|_| add(plan, EValue::Int(0))).collect();
    call(plan, "executorch_prim::sym_float.Scalar", &[one, values[0]]);
    for pair in values.windows(2).rev() {
        instructions(plan).push(Instruction::MoveCall { move_from: ValueId(pair[0]), move_to: ValueId(pair[1]) });
        let next = instructions(plan).len() as i32 + 1;
        let jump = Instruction::JumpFalseCall { cond_value_index: ValueId(more), destination_instruction: next };
        instructions(plan).push(jump);
    }
    let begin = std::time::Instant::now();
    let limits = exceeded(&program);
    assert!(limits.iter().any(|limit| limit.ends_with("visited states")), "{limits:?}");
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

/// A loop is executed up to a limit, which is an error if kernels read the counter. A wrong row is found below it.
#[test]
fn executed_instructions_are_limited() {
    // 4 instructions for each iteration, of two executions, since the counter differs before the first one.
    let iterations_of = |count: i64| texts(&iterations(count, 1 << 17), X_30);
    let accesses = 8 * 20;
    let most = (1 << 17) / 4 / 2;
    assert_eq!(iterations_of(most - 10), Vec::<String>::new());
    let above = iterations_of(most + accesses);
    assert!(above.len() == 1 && above[0].ends_with("executed instructions"), "{above:?}");
    let wrong = found(&iterations(1000, 999));
    assert!(wrong.iter().any(|(rule, _)| *rule == O_14), "{wrong:?}");
}
