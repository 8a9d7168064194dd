//! Memory plans of random programs with many branches and loops, in the real runtime: with the minimal planner, and
//! after `optimize`, the outputs have the same bits as without any sharing of memory, where each move copies its source
//! instead of giving its memory to the target. With the exporter's algorithms they have them, or `check` reports the
//! plan.
//!
//! Ignored by default, since it downloads the runtime: `cargo test --test runtime control_flow:: -- --ignored
//! --nocapture`. `PTE_EMIT_CONTROL_SEED` and `PTE_EMIT_CONTROL_COUNT` choose the programs.

use pte_emit::program::{
    EValue, ExecutionPlan, Instruction, Memory, MemoryPlanner, Operator, OperatorId, Program, TensorData, ValueId,
};
use pte_emit::{Assembly, Options, Resolved, check::CheckOptions, edit::OptimizeOptions};
use pte_generate::calls::{is_repeatable, operators};
use pte_generate::programs::{KnownOperator, control_flow};
use pte_generate::random::Random;

use super::optimize_memory::{answers, script};
use crate::support::{runner, seed};

/// Programs by default.
const COUNT: u64 = 60;
/// Numbers of instructions.
const INSTRUCTIONS: [usize; 3] = [16, 30, 60];
/// Overlaps of each program.
const OVERLAPS: u64 = 4;
/// Offsets are multiples of this.
const ALIGNMENT: u64 = 64;

/// Returns a program that is planned with an algorithm.
fn planned(program: &Program, planner: MemoryPlanner) -> Resolved {
    let mut program = program.clone();
    program.execution_plan.iter_mut().flatten().for_each(|plan| plan.memory.planner = planner);
    Resolved::from(program)
}

/// Replaces the moves of tensors by calls that copy them.
fn copy_instead_of_moving(plan: &mut ExecutionPlan) {
    let values = plan.values.get_or_insert_default();
    let format = ValueId::of(values.len());
    values.push(EValue::Null);
    let operators = plan.operators.get_or_insert_default();
    let op_index = OperatorId(operators.len() as i32);
    operators.push(Operator { name: Some("aten::clone".to_owned()), overload: Some("out".to_owned()) });
    let chains = plan.chains.iter_mut().flatten();
    for instruction in chains.flat_map(|chain| chain.instructions.iter_mut().flatten()) {
        if let Instruction::MoveCall { move_from, move_to } = *instruction
            && values.get(move_from.0 as usize).is_some_and(|value| value.as_tensor().is_some())
        {
            let args = Some([move_from, format, move_to, move_to].as_slice().into());
            *instruction = Instruction::KernelCall { op_index, args };
        }
    }
}

/// Returns a program in which no two tensors share memory, not even by moves.
fn separate(program: &Program) -> Resolved {
    let mut program = program.clone();
    for plan in program.execution_plan.iter_mut().flatten() {
        copy_instead_of_moving(plan);
        let mut next = 0;
        for value in plan.values.iter_mut().flatten() {
            let EValue::Tensor(tensor) = value else { continue };
            if matches!(tensor.memory, Memory::Auto { .. }) {
                tensor.memory = Memory::At { pool: 1, offset: next };
                next += tensor.nbytes().unwrap().next_multiple_of(ALIGNMENT);
            }
        }
    }
    Resolved::from(program)
}

/// Returns a plan without shared memory, except that a tensor has part of the memory of another one.
fn overlapping(program: &Program, random: &mut Random) -> Option<Resolved> {
    let mut resolved = separate(program);
    let plan = random.below(resolved.program.plans().len());
    let plan = resolved.program.execution_plan.as_mut()?.get_mut(plan)?;
    let tensors = plan.values.iter_mut().flatten().filter_map(|value| match value {
        EValue::Tensor(tensor) if matches!(tensor.memory, Memory::At { .. }) => Some(tensor),
        _ => None,
    });
    let mut tensors: Vec<_> = tensors.collect();
    let [one, other] = [0; 2].map(|_: usize| random.below(tensors.len()));
    let Memory::At { pool, offset } = tensors[one].memory else { return None };
    let bytes = tensors[one].nbytes()?;
    let shift = if bytes > ALIGNMENT && random.chance(50) { ALIGNMENT } else { 0 };
    // What is written at the offset of state is state.
    let is_state = [one, other].iter().any(|at| tensors[*at].data != TensorData::None);
    tensors[other].memory = Memory::At { pool, offset: offset + shift };
    (one != other && (shift > 0 || !is_state)).then_some(resolved)
}

fn optimized(mut resolved: Resolved) -> Assembly {
    resolved.optimize(&OptimizeOptions::default()).unwrap();
    resolved.to_files(&Options::default()).unwrap()
}

/// Returns `true` if `check` reports bytes that are overwritten.
fn is_reported(assembly: &Assembly) -> bool {
    let reports = assembly.check(&CheckOptions::default()).unwrap();
    let mut findings = reports.iter().flat_map(|report| &report.list).map(ToString::to_string);
    findings.any(|finding| ["[X-4]", "[X-25]"].iter().any(|rule| finding.contains(rule)))
}

/// Offsets that overlap at random: other outputs are a finding of `check` about memory.
#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index"]
fn overlapping_memory_changes_no_output_unless_check_reports_it() {
    let (first, count) = (seed("PTE_EMIT_CONTROL_SEED", 1), seed("PTE_EMIT_CONTROL_COUNT", COUNT));
    let in_place =
        |(name, _): &KnownOperator| !pte_operators::find(name).is_none_or(|operator| operator.in_place.is_empty());
    let operators: Vec<KnownOperator> =
        operators().into_iter().filter(|known| is_repeatable(known.0) && in_place(known)).collect();
    let runner = runner::locate();
    let (mut silent, mut reported, mut differing) = (0, 0, 0);
    for index in 0..count {
        let name = format!("seed {first} number {index}");
        let program = control_flow(&mut Random::of_item(first, index), &operators, INSTRUCTIONS[index as usize % 2]);
        let Some(script) = script(&program) else { continue };
        let files =
            |resolved: Resolved| resolved.to_files(&Options::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let run = |assembly: &Assembly| answers(&runner, assembly, &script).unwrap_or_else(|e| panic!("{name}: {e}"));
        let expected = run(&files(separate(&program)));
        for attempt in 0..OVERLAPS {
            let random = &mut Random::of_item(first ^ index, attempt);
            let Some(resolved) = overlapping(&program, random) else { continue };
            let assembly = files(resolved);
            let reports = assembly.check(&CheckOptions::default()).unwrap();
            let findings = reports.iter().flat_map(|report| &report.list);
            let is_reported = findings.into_iter().any(|finding| finding.rule.id.as_str().starts_with("X-"));
            let is_same = run(&assembly) == expected;
            if !is_same && !is_reported {
                let folder = std::env::temp_dir().join("control_flow");
                std::fs::create_dir_all(&folder).unwrap();
                let bytes = assembly.program_file().unwrap().to_vec().unwrap();
                std::fs::write(folder.join(format!("{first}_{index}_{attempt}.pte")), bytes).unwrap();
                silent += 1;
            }
            (reported, differing) = (reported + u64::from(is_reported), differing + u64::from(!is_same));
        }
    }
    println!("{count} programs: {reported} plans reported, {differing} with other outputs, {silent} of them silent");
    assert!(silent == 0 && differing > count / 10, "{silent} silent, {differing} differing");
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index"]
fn planned_memory_changes_no_output_unless_check_reports_it() {
    let (first, count) = (seed("PTE_EMIT_CONTROL_SEED", 1), seed("PTE_EMIT_CONTROL_COUNT", COUNT));
    let in_place =
        |(name, _): &KnownOperator| !pte_operators::find(name).is_none_or(|operator| operator.in_place.is_empty());
    let operators: Vec<KnownOperator> =
        operators().into_iter().filter(|known| is_repeatable(known.0) && in_place(known)).collect();
    let runner = runner::locate();
    let (mut executed, mut reported, mut differing) = (0, 0, 0);
    for index in 0..count {
        let name = format!("seed {first} number {index}");
        let program = control_flow(&mut Random::of_item(first, index), &operators, INSTRUCTIONS[index as usize % 3]);
        let files =
            |resolved: Resolved| resolved.to_files(&Options::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let Some(script) = script(&program) else { continue };
        let run = |assembly: &Assembly| answers(&runner, assembly, &script).unwrap_or_else(|e| panic!("{name}: {e}"));
        let expected = run(&files(separate(&program)));
        executed += u64::from(expected.iter().any(|answer| answer == "execute ok"));
        let minimal = files(planned(&program, MemoryPlanner::Minimal));
        assert!(!is_reported(&minimal), "{name}");
        assert!(run(&minimal) == expected, "{name}: minimal");
        for planner in [MemoryPlanner::Greedy, MemoryPlanner::GreedyNoOverlap, MemoryPlanner::Naive] {
            let assembly = files(planned(&program, planner));
            let (is_reported, is_same) = (is_reported(&assembly), run(&assembly) == expected);
            assert!(is_same || is_reported && planner != MemoryPlanner::Naive, "{name}: {planner:?}");
            (reported, differing) = (reported + u64::from(is_reported), differing + u64::from(!is_same));
        }
        for planner in [MemoryPlanner::Greedy, MemoryPlanner::Minimal] {
            let optimized = optimized(planned(&program, planner));
            assert!(!is_reported(&optimized), "{name}: optimized, {planner:?}");
            assert!(run(&optimized) == expected, "{name}: optimized, {planner:?}");
        }
    }
    println!("{executed} of {count} programs executed; {reported} plans reported, {differing} with other outputs");
    assert!(executed * 10 >= count * 8, "{executed} of {count}");
    // Otherwise, the programs do not have what this tests.
    assert!(differing > 0 && reported >= differing, "{reported} reported, {differing} differ");
}
