//! Optimizes programs: the outputs stay the same, with fewer instructions and less memory. A method is changed only
//! where that is certain; what a pass does not understand stays.
//!
//! [`optimize`] decides by the memory that each method needs with them which changes are kept. The caller plans memory
//! ([`PlanMemory`]).

mod alive;
mod copies;
mod equal_calls;
pub mod fold;
pub mod minimize;
pub mod order;
mod planner;
mod report;
pub mod reuse;
mod rewrite;
mod simplify;
pub mod state;

pub use alive::peak;
pub use planner::{MethodPlanner, PlanMemory};
pub use report::{
    InstructionChange, Optimization, OptimizeOptions, OptimizePass, OptimizedInstruction, OptimizedMethod,
};

use crate::remap::Remap;
use fold::{FoldOptions, Folded};
use minimize::{MethodMemory, MinimizeOptions, kept_plan};
use order::Reordering;
use pte_analysis::method::Method;
use pte_analysis::moved::overwrites_moves;
use pte_model::diagnostics::counted;
use pte_model::program::{MemoryPlan, MemoryPlanner, Program};
use simplify::Edited;

/// Optimized program.
#[derive(Debug)]
#[non_exhaustive]
pub struct Optimized {
    /// The program.
    pub program: Program,
    /// Rounds that follow each other.
    pub rounds: Vec<Round>,
    /// Report.
    pub report: Optimization,
}

/// Changes of positions in a round of [`optimize`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Round {
    /// By method: indices of the parts that remain.
    pub remaps: Vec<Remap>,
    /// By method: later order of the instructions; empty without the memory pass.
    pub orders: Vec<Reordering>,
}

/// Maximum number of rounds.
const ROUNDS: usize = 8;

/// Optimizes a program: its outputs stay the same, with less planned memory and fewer instructions. Changes of a method
/// that would need more memory are not made. `minimize_options` are those of the memory pass. Another call changes
/// nothing, unless [`OptimizeOptions::max_growth`] leaves calls on constants.
///
/// # Errors
/// The memory of the program cannot be planned, or data cannot be read.
pub fn optimize<P: PlanMemory>(
    program: &Program,
    options: &OptimizeOptions,
    minimize_options: &MinimizeOptions,
    planner: &P,
) -> Result<Optimized, P::Error> {
    let mut done = round(program, options, minimize_options, planner)?;
    // In another order, or without the instructions that were removed, others may be unnecessary.
    while done.report.is_changed && done.rounds.len() < ROUNDS {
        // The first round spent the growth.
        let options = OptimizeOptions { max_growth: 0, ..options.clone() };
        let next = round(&done.program, &options, minimize_options, planner)?;
        if !next.report.is_changed {
            break;
        }
        done.add(next);
    }
    done.report.is_changed = done.program != *program;
    Ok(done)
}

impl Optimized {
    /// Adds a round.
    fn add(&mut self, next: Optimized) {
        for (method, (done, next)) in self.report.methods.iter_mut().zip(next.report.methods).enumerate() {
            let mut positions: Vec<usize> = (0..done.instructions[0]).collect();
            for Round { remaps, orders } in &self.rounds {
                remaps[method].instructions.retain(&mut positions);
                if let Some(Reordering { order, .. }) = orders.get(method).filter(|order| !order.order.is_empty()) {
                    positions = order.iter().map(|step| positions[*step as usize]).collect();
                }
            }
            done.changes.extend(
                next.changes
                    .into_iter()
                    .filter(|change| change.change.noun().is_some())
                    .map(|change| OptimizedInstruction { instruction: positions[change.instruction], ..change }),
            );
            done.changes.sort_by_key(|change| change.instruction);
            done.instructions[1] = next.instructions[1];
            (done.planned[1], done.overwrites[1]) = (next.planned[1], next.overwrites[1]);
            (done.alive, done.planner) = (next.alive, next.planner);
            (done.moved, done.reused) = (done.moved + next.moved, done.reused + next.reused);
        }
        self.report.growth = self.report.growth.saturating_add(next.report.growth);
        self.program = next.program;
        self.rounds.extend(next.rounds);
    }
}

/// Optimizes a program once.
fn round<P: PlanMemory>(
    program: &Program,
    options: &OptimizeOptions,
    minimize_options: &MinimizeOptions,
    planner: &P,
) -> Result<Optimized, P::Error> {
    let search = Search { former: program, options, planner };
    let (before, overwrites) = search.planned(program)?;
    let kept: Vec<Option<String>> = program.plans().iter().map(kept_plan).collect();
    let mut allowed: Vec<bool> = kept.iter().map(Option::is_none).collect();
    let mut best = search.best(&allowed, options.max_growth)?;
    // A method that would need more memory stays as it is.
    let grows = |best: &Candidate, method: usize| {
        best.memory[method] > before[method] || best.overwrites[method] && !overwrites[method]
    };
    if (0..before.len()).any(|method| grows(&best, method)) {
        (0..before.len()).for_each(|method| allowed[method] &= !grows(&best, method));
        best = search.best(&allowed, options.max_growth)?;
    }
    let needed = search.with_growth(&allowed, &best, minimize_options)?;
    let Candidate { edited: Edited { program: mut optimized, remaps, changes }, growth, memory, .. } = best;
    let minimized = match options.passes.contains(&OptimizePass::Memory) {
        true => minimize::minimize(&mut optimized, minimize_options, planner),
        false => Vec::new(),
    };
    let mut methods: Vec<OptimizedMethod> = Vec::with_capacity(before.len());
    let (_, overwrites_after) = search.planned(&optimized)?;
    for (method, (plan, former)) in optimized.plans().iter().zip(program.plans()).enumerate() {
        let mut done = OptimizedMethod {
            name: plan.name.clone().unwrap_or_default(),
            instructions: [former, plan].map(|plan| plan.instructions().count()),
            planned: [before[method], memory[method]],
            overwrites: [overwrites[method], overwrites_after[method]],
            planned_with_growth: needed.as_ref().map(|(_, planned)| planned[method]),
            kept: kept[method].clone(),
            ..OptimizedMethod::default()
        };
        if let Some((MethodMemory { planned, alive, planner, moved, reused, kept: None, .. }, _)) =
            minimized.get(method)
        {
            done.planned[1] = planned[1];
            (done.alive, done.planner) = (Some(alive[1]), Some(planner.clone()));
            (done.moved, done.reused) = (*moved, reused.len());
        }
        methods.push(done);
    }
    for (method, change) in changes {
        methods[method].changes.push(change);
    }
    methods.iter_mut().for_each(|method| method.changes.sort_by_key(|change| change.instruction));
    let needed_growth = needed.map(|(growth, _)| growth);
    let report = Optimization { methods, growth, is_changed: optimized != *program, needed_growth };
    let orders = minimized.into_iter().map(|(_, order)| order).collect();
    Ok(Optimized { program: optimized, rounds: vec![Round { remaps, orders }], report })
}

/// A changed program with the memory that it needs.
struct Candidate {
    edited: Edited,
    growth: i64,
    /// Planned memory of each method in bytes.
    memory: Vec<u64>,
    /// By method: its plan overwrites results of branches, and no pass replaces the plan.
    overwrites: Vec<bool>,
}

/// Search for the changes of a program that need the least memory.
struct Search<'a, P> {
    former: &'a Program,
    options: &'a OptimizeOptions,
    planner: &'a P,
}

impl<P: PlanMemory> Search<'_, P> {
    fn has(&self, pass: OptimizePass) -> bool {
        self.options.passes.contains(&pass)
    }

    /// Returns the growth of the file with which all calls on constants are folded, and the memory of each method that
    /// is then planned; `None` if they are folded.
    fn with_growth(
        &self,
        methods: &[bool],
        best: &Candidate,
        options: &MinimizeOptions,
    ) -> Result<Option<(u64, Vec<u64>)>, P::Error> {
        if best.edited.changes.iter().all(|(_, change)| change.change != InstructionChange::TooLarge) {
            return Ok(None);
        }
        let Ok(max_growth) = u64::try_from(self.folded(methods, u64::MAX)?.1) else { return Ok(None) };
        let Candidate { mut edited, mut memory, .. } = self.best(methods, max_growth)?;
        if self.has(OptimizePass::Memory) {
            let minimized = minimize::minimize(&mut edited.program, options, self.planner);
            let changed = memory.iter_mut().zip(&minimized).filter(|(_, (done, _))| done.kept.is_none());
            changed.for_each(|(planned, (done, _))| *planned = done.planned[1]);
        }
        Ok(Some((max_growth, memory)))
    }

    /// Returns the program with the changes that need the least memory.
    fn best(&self, methods: &[bool], max_growth: u64) -> Result<Candidate, P::Error> {
        let (folded, growth) = self.folded(methods, max_growth)?;
        let candidate = |edited: Edited| {
            let (memory, overwrites) = match self.has(OptimizePass::Memory) {
                true => (self.least(&edited.program)?, vec![false; edited.program.plans().len()]),
                false => self.planned(&edited.program)?,
            };
            Ok(Candidate { edited, growth, memory, overwrites })
        };
        if !self.has(OptimizePass::Identity) {
            return candidate(folded);
        }
        let simplified = |equal_calls: bool| {
            let mut edited = folded.clone();
            edited.simplify(methods, equal_calls);
            candidate(edited)
        };
        let (with_equal_calls, without) = (simplified(true)?, simplified(false)?);
        let total =
            |candidate: &Candidate| candidate.memory.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        Ok(if total(&with_equal_calls) > total(&without) { without } else { with_equal_calls })
    }

    /// Returns the program with folded calls, if that is requested, and the growth of the file.
    fn folded(&self, methods: &[bool], max_growth: u64) -> Result<(Edited, i64), P::Error> {
        let mut program = self.former.clone();
        if !self.has(OptimizePass::Folding) {
            let remaps = program.plans().iter().map(Remap::all).collect();
            return Ok((Edited { program, remaps, changes: Vec::new() }, 0));
        }
        let done = fold::fold(&mut program, methods, FoldOptions { max_growth });
        let done = done.map_err(|error| self.planner.unreadable(&error))?;
        let changes = folded_calls(&done);
        Ok((Edited { program, remaps: done.remaps, changes }, done.growth))
    }

    /// Returns, by method, its planned memory in bytes, and `true` if its plan overwrites results of branches that are
    /// read later, as plans of the exporter may do.
    fn planned(&self, program: &Program) -> Result<(Vec<u64>, Vec<bool>), P::Error> {
        let planned = self.planner.plan(program)?;
        let methods = Method::of_program(program);
        let overwrites = methods.iter().zip(&planned).map(|(method, plan)| overwrites_moves(method, &plan.places));
        Ok((planned.iter().map(MemoryPlan::total).collect(), overwrites.collect()))
    }

    /// Returns the planned memory of each method in bytes, or that of the minimal planner if it is less.
    fn least(&self, program: &Program) -> Result<Vec<u64>, P::Error> {
        let mut minimal = Program { blobs: Vec::new(), ..program.clone() };
        for plan in minimal.plans_mut().iter_mut().filter(|plan| kept_plan(plan).is_none()) {
            plan.memory.planner = MemoryPlanner::Minimal;
        }
        let [own, minimal] = [self.planner.plan(program)?, self.planner.plan(&minimal)?];
        Ok(own.iter().zip(&minimal).map(|(own, minimal)| own.total().min(minimal.total())).collect())
    }
}

/// Returns the calls that are folded, and those that stay.
fn folded_calls(done: &Folded) -> Vec<(usize, OptimizedInstruction)> {
    let folded = done.calls.iter().map(|call| {
        let constants = counted(call.constants.len() as u64, "constant");
        let message = match call.constants.len() {
            0 => "folded: only other folded calls use its results".to_owned(),
            _ => format!("folded: {constants} of {}", counted(call.bytes, "byte")),
        };
        let operator = call.operator.clone();
        (call.method, OptimizedInstruction::new(call.step, operator, InstructionChange::Folded, &message))
    });
    let left = done.left.iter().map(|call| {
        let change = if call.is_too_large { InstructionChange::TooLarge } else { InstructionChange::Kept };
        let message = format!("stays: {}", call.reason);
        (call.method, OptimizedInstruction::new(call.step, call.operator.clone(), change, &message))
    });
    folded.chain(left).collect()
}
