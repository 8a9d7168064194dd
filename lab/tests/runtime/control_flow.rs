//! Memory plans of random programs with many branches and loops, in the real runtime: with the minimal planner, and
//! after `optimize`, the outputs have the same bits as without any sharing of memory, where each move copies its source
//! instead of giving its memory to the target. With the exporter's algorithms they have them, or `check` reports the
//! plan.
//!
//! Ignored by default, since it downloads the runtime: `cargo lab --test runtime control_flow:: -- --ignored
//! --nocapture`. `PTE_EMIT_CONTROL_SEED` and `PTE_EMIT_CONTROL_COUNT` choose the programs.

use std::path::PathBuf;

use pte_emit::program::{
    EValue, ExecutionPlan, Instruction, Memory, MemoryPlanner, Operator, OperatorId, Program, TensorData, ValueId,
};
use pte_emit::{
    AssembleOptions, Assembly, Resolved,
    check::{CheckOptions, RuleId},
    edit::OptimizeOptions,
};
use pte_generate::programs::control_flow;
use pte_generate::random::Random;

use super::optimize_memory::{answers, script};
use crate::support::program::in_place_operators;
use crate::support::{runner, seed};

/// Programs by default.
const COUNT: u64 = 60;
/// Numbers of instructions.
const INSTRUCTIONS: [usize; 3] = [16, 30, 60];
/// Overlaps of each program.
const OVERLAPS: u64 = 4;
/// Rules that report memory which a plan of an exporter overwrites.
const PLAN_RULES: [RuleId; 2] = [RuleId::X_4, RuleId::X_25];
/// Rules about memory that is overwritten, and about content that is read before it is written there.
const MEMORY_RULES: [RuleId; 7] =
    [RuleId::X_1, RuleId::X_4, RuleId::X_5, RuleId::X_6, RuleId::X_20, RuleId::X_25, RuleId::X_28];
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

fn optimized(mut resolved: Resolved) -> Resolved {
    resolved.optimize(&OptimizeOptions::default()).unwrap();
    resolved
}

/// A random program, with what it computes if no tensors share memory.
struct Case {
    name: String,
    seed: u64,
    index: u64,
    program: Program,
    runner: PathBuf,
    script: String,
    expected: Vec<String>,
}

impl Case {
    fn files(&self, resolved: Resolved) -> Assembly {
        resolved.to_files(&AssembleOptions::default()).unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }

    fn run(&self, assembly: &Assembly) -> Vec<String> {
        answers(&self.runner, assembly, &self.script).unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }
}

fn count() -> u64 {
    seed("PTE_EMIT_CONTROL_COUNT", COUNT)
}

/// Returns the programs that the runtime can execute, with these numbers of instructions in turn.
fn cases(instructions: &'static [usize]) -> impl Iterator<Item = Case> {
    let (seed, operators, runner) = (seed("PTE_EMIT_CONTROL_SEED", 1), in_place_operators(), runner::locate());
    (0..count()).filter_map(move |index| {
        let instructions = instructions[index as usize % instructions.len()];
        let program = control_flow(&mut Random::of_item(seed, index), &operators, instructions);
        let (name, runner, script) = (format!("seed {seed} number {index}"), runner.clone(), script(&program)?);
        let mut case = Case { name, seed, index, program, runner, script, expected: Vec::new() };
        case.expected = case.run(&case.files(separate(&case.program)));
        Some(case)
    })
}

/// Returns `true` if `check` reports memory that is overwritten, by one of these rules.
fn is_reported(assembly: &Assembly, rules: &[RuleId]) -> bool {
    let reports = assembly.check(&CheckOptions::default()).unwrap();
    let mut findings = reports.iter().flat_map(|report| &report.list);
    findings.any(|finding| rules.contains(&finding.rule.id))
}

/// Offsets that overlap at random: other outputs are a finding of `check` about memory.
#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index"]
fn overlapping_memory_changes_no_output_unless_check_reports_it() {
    let (mut silent, mut reported, mut differing) = (0, 0, 0);
    for case in cases(&INSTRUCTIONS[..2]) {
        for attempt in 0..OVERLAPS {
            let random = &mut Random::of_item(case.seed ^ case.index, attempt);
            let Some(resolved) = overlapping(&case.program, random) else { continue };
            let assembly = case.files(resolved);
            let is_reported = is_reported(&assembly, &MEMORY_RULES);
            let is_same = case.run(&assembly) == case.expected;
            if !is_same && !is_reported {
                let folder = std::env::temp_dir().join("control_flow");
                std::fs::create_dir_all(&folder).unwrap();
                let bytes = assembly.program_file().unwrap().to_vec().unwrap();
                std::fs::write(folder.join(format!("{}_{}_{attempt}.pte", case.seed, case.index)), bytes).unwrap();
                silent += 1;
            }
            (reported, differing) = (reported + u64::from(is_reported), differing + u64::from(!is_same));
        }
    }
    let count = count();
    println!("{count} programs: {reported} plans reported, {differing} with other outputs, {silent} of them silent");
    assert!(silent == 0 && differing > count / 10, "{silent} silent, {differing} differing");
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index"]
fn planned_memory_changes_no_output_unless_check_reports_it() {
    let (mut executed, mut reported, mut differing) = (0, 0, 0);
    for case in cases(&INSTRUCTIONS) {
        let Case { name, program, expected, .. } = &case;
        let is_reported = |assembly: &Assembly| is_reported(assembly, &PLAN_RULES);
        executed += u64::from(expected.iter().any(|answer| answer == "execute ok"));
        let minimal = case.files(planned(program, MemoryPlanner::Minimal));
        assert!(!is_reported(&minimal), "{name}");
        assert!(case.run(&minimal) == *expected, "{name}: minimal");
        for planner in [MemoryPlanner::Greedy, MemoryPlanner::GreedyNoOverlap, MemoryPlanner::Naive] {
            let assembly = case.files(planned(program, planner));
            let (is_reported, is_same) = (is_reported(&assembly), case.run(&assembly) == *expected);
            assert!(is_same || is_reported && planner != MemoryPlanner::Naive, "{name}: {planner:?}");
            (reported, differing) = (reported + u64::from(is_reported), differing + u64::from(!is_same));
        }
        for planner in [MemoryPlanner::Greedy, MemoryPlanner::Minimal] {
            let optimized = case.files(optimized(planned(program, planner)));
            assert!(!is_reported(&optimized), "{name}: optimized, {planner:?}");
            assert!(case.run(&optimized) == *expected, "{name}: optimized, {planner:?}");
        }
    }
    let count = count();
    println!("{executed} of {count} programs executed; {reported} plans reported, {differing} with other outputs");
    assert!(executed * 10 >= count * 8, "{executed} of {count}");
    // Otherwise, the programs do not have what this tests.
    assert!(differing > 0 && reported >= differing, "{reported} reported, {differing} differ");
}
