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
pub mod reuse;
mod rewrite;
mod simplify;
pub mod state;

pub use alive::peak;

use std::io;

use serde::Serialize;

use crate::remap::Remap;
use fold::{FoldOptions, Folded, fold};
use minimize::{MethodMemory, MinimizeOptions, kept_plan, minimize};
use order::Reordering;
use pte_analysis::moved::overwrites_moves;
use pte_analysis::operators::MethodOperators;
use pte_model::diagnostics::counted;
use pte_model::format::words::words;
use pte_model::program::{ExecutionPlan, MemoryPlan, MemoryPlanner, Program};
use simplify::Edited;

/// Planner of methods, by index.
pub type MethodPlanner = Box<dyn Fn(usize, &ExecutionPlan, &MethodOperators) -> Option<MemoryPlan>>;

/// Planner of memory.
pub trait PlanMemory {
    /// Error of a program that cannot be planned, or whose data cannot be read.
    type Error;

    /// Returns the memory plan of each method.
    ///
    /// # Errors
    /// A program that cannot be planned.
    fn plan(&self, program: &Program) -> Result<Vec<MemoryPlan>, Self::Error>;

    /// Returns the planner of single methods of a program by their indices, also after changes that leave the state
    /// that methods share as it is. It returns `None` for a method that cannot be planned.
    fn methods(&self, program: &Program) -> MethodPlanner;

    /// Returns the error about data that cannot be read.
    fn unreadable(&self, error: &io::Error) -> Self::Error;
}

words! {
    /// Kind of changes that [`optimize`] makes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[non_exhaustive]
    pub enum OptimizePass {
        // They run in this order.
        /// Calls on constants become constants.
        Folding "folding",
        /// Copies that change nothing, repeated calls, and what has no effect, are removed.
        Identity "identity",
        /// Order of the instructions, results in the memory of arguments, and the planner of the memory.
        Memory "memory",
    } fn word;
}

/// Options of [`optimize`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptimizeOptions {
    /// Passes that run.
    pub passes: Vec<OptimizePass>,
    /// Number of bytes by which folding may make the file larger. By default, the constants that are no longer needed
    /// pay for new ones.
    pub max_growth: u64,
}

impl Default for OptimizeOptions {
    fn default() -> OptimizeOptions {
        OptimizeOptions { passes: OptimizePass::ALL.to_vec(), max_growth: 0 }
    }
}

/// Result of [`optimize`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Optimization {
    /// Methods in the order of the program.
    pub methods: Vec<OptimizedMethod>,
    /// Number of bytes by which the data of the file grow through folding; estimated, since data may share padding.
    pub growth: i64,
    /// `true` unless the program is the same as before.
    pub is_changed: bool,
    /// Least [`OptimizeOptions::max_growth`] with which all calls on constants are folded, if some stay because the
    /// file would grow.
    pub needed_growth: Option<u64>,
}

/// Changes to a method, part of [`Optimization`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OptimizedMethod {
    /// Name; empty if it has none.
    pub name: String,
    /// Number of instructions before and after.
    pub instructions: [usize; 2],
    /// Planned memory in bytes before and after: the sum of all pools.
    pub planned: [u64; 2],
    /// `true` if the memory plan before, and after, overwrites results of branches that are read later.
    pub overwrites: [bool; 2],
    /// Planned memory in bytes with [`Optimization::needed_growth`].
    pub planned_with_growth: Option<u64>,
    /// Bytes that are alive at once after the changes: the least that a plan of all pools needs, without padding.
    /// `None` without the memory pass.
    pub alive: Option<u64>,
    /// Number of instructions at another position.
    pub moved: usize,
    /// Number of results that have the memory of an argument.
    pub reused: usize,
    /// Word of the planner in YAML; `None` without the memory pass.
    pub planner: Option<String>,
    /// Reason why the memory plan stays, and with it the instructions that need memory; `None` if it may change.
    pub kept: Option<String>,
    /// Changes in the order of the instructions, and the calls on constants that stay.
    pub changes: Vec<OptimizedInstruction>,
}

/// A change of an instruction, part of [`OptimizedMethod`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OptimizedInstruction {
    /// Position of the instruction before all changes, counted through all chains.
    pub instruction: usize,
    /// Operator that it called, or the key of another instruction.
    pub operator: String,
    /// Change of the instruction.
    pub change: InstructionChange,
    /// The same in words, with the reason if it stays.
    pub message: String,
}

/// Kind of change of an instruction, part of [`OptimizedInstruction`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum InstructionChange {
    /// It was removed: its results are constants.
    Folded,
    /// It was removed: a copy that changes nothing.
    Copy,
    /// It was removed: its result is a view of its argument.
    View,
    /// It was removed: it repeats an earlier call.
    EqualCall,
    /// It was removed: it had no effect.
    Unused,
    /// It stays, although its arguments are constants.
    Kept,
    /// It stays, because the file would grow by more than [`OptimizeOptions::max_growth`].
    TooLarge,
}

impl OptimizedInstruction {
    fn new(instruction: usize, operator: String, change: InstructionChange, message: &str) -> OptimizedInstruction {
        OptimizedInstruction { instruction, operator, change, message: message.to_owned() }
    }
}

impl InstructionChange {
    /// Returns the noun for instructions with this change, in the singular; `None` for those that stay.
    pub const fn noun(self) -> Option<&'static str> {
        match self {
            InstructionChange::Folded => Some("folded call"),
            InstructionChange::Copy => Some("identity call"),
            InstructionChange::View => Some("reshaping call"),
            InstructionChange::EqualCall => Some("repeated call"),
            InstructionChange::Unused => Some("unused instruction"),
            InstructionChange::Kept | InstructionChange::TooLarge => None,
        }
    }
}

/// Optimized program.
#[derive(Debug)]
#[non_exhaustive]
pub struct Optimized {
    /// The program.
    pub program: Program,
    /// By method: indices of the parts that remain.
    pub remaps: Vec<Remap>,
    /// By method: later order of the instructions; empty without the memory pass.
    pub orders: Vec<Reordering>,
    /// Report.
    pub report: Optimization,
}

/// Optimizes a program: its outputs stay the same, with less planned memory and fewer instructions. Changes of a method
/// that would need more memory are not made. `minimize` has the options of the memory pass.
///
/// # Errors
/// The memory of the program cannot be planned, or data cannot be read.
pub fn optimize<P: PlanMemory>(
    program: &Program,
    options: &OptimizeOptions,
    minimize_options: &MinimizeOptions,
    planner: &P,
) -> Result<Optimized, P::Error> {
    let search = Search { former: program, options, planner };
    let before = search.planned(program, false)?;
    let kept: Vec<Option<String>> = program.plans().iter().map(kept_plan).collect();
    let mut allowed: Vec<bool> = kept.iter().map(Option::is_none).collect();
    let mut best = search.best(&allowed, options.max_growth)?;
    // A method that would need more memory stays as it is.
    let overwrites = search.overwriting(program);
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
        true => minimize(&mut optimized, minimize_options, planner),
        false => Vec::new(),
    };
    let mut methods = Vec::with_capacity(before.len());
    let overwrites_after = search.overwriting(&optimized);
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
        let changes = changes.iter().filter(|(of, _)| *of == method);
        done.changes = changes.map(|(_, change)| change.clone()).collect();
        done.changes.sort_by_key(|change| change.instruction);
        methods.push(done);
    }
    let needed_growth = needed.map(|(growth, _)| growth);
    let report = Optimization { methods, growth, is_changed: optimized != *program, needed_growth };
    let orders = minimized.into_iter().map(|(_, order)| order).collect();
    Ok(Optimized { program: optimized, remaps, orders, report })
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
            let minimized = minimize(&mut edited.program, options, self.planner);
            let changed = memory.iter_mut().zip(&minimized).filter(|(_, (done, _))| done.kept.is_none());
            changed.for_each(|(planned, (done, _))| *planned = done.planned[1]);
        }
        Ok(Some((max_growth, memory)))
    }

    /// Returns the program with the changes that need the least memory.
    fn best(&self, methods: &[bool], max_growth: u64) -> Result<Candidate, P::Error> {
        let (folded, growth) = self.folded(methods, max_growth)?;
        let candidate = |edited: Edited| {
            let memory = self.planned(&edited.program, self.has(OptimizePass::Memory))?;
            let overwrites = match self.has(OptimizePass::Memory) {
                true => vec![false; memory.len()],
                false => self.overwriting(&edited.program),
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
        let done = fold(&mut program, methods, FoldOptions { max_growth });
        let done = done.map_err(|error| self.planner.unreadable(&error))?;
        let changes = folded_calls(&done);
        Ok((Edited { program, remaps: done.remaps, changes }, done.growth))
    }

    /// Returns the planned memory of each method in bytes; with `best`, that of the minimal planner if it is less.
    fn planned(&self, program: &Program, best: bool) -> Result<Vec<u64>, P::Error> {
        let planned = |program: &Program| -> Result<Vec<u64>, P::Error> {
            Ok(self.planner.plan(program)?.iter().map(MemoryPlan::total).collect())
        };
        let own = planned(program)?;
        if !best {
            return Ok(own);
        }
        let mut minimal = Program { blobs: Vec::new(), ..program.clone() };
        for plan in minimal.plans_mut().iter_mut().filter(|plan| kept_plan(plan).is_none()) {
            plan.memory.planner = MemoryPlanner::Minimal;
        }
        Ok(own.into_iter().zip(planned(&minimal)?).map(|(own, minimal)| own.min(minimal)).collect())
    }

    /// Returns, by method, `true` if its plan overwrites results of branches that are read later, as plans of the
    /// exporter may do.
    fn overwriting(&self, program: &Program) -> Vec<bool> {
        let Ok(planned) = self.planner.plan(program) else { return vec![false; program.plans().len()] };
        let operators = MethodOperators::of_program(program);
        let methods = program.plans().iter().zip(&operators).zip(&planned);
        methods.map(|((plan, operators), planned)| overwrites_moves(plan, operators, &planned.places)).collect()
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
