//! Optimizes a program: decides which changes are kept, by the memory that each method needs with them.

use serde::Serialize;

use super::memory::{MethodMemory, MinimizeOptions, kept_plan, minimize};
use crate::layout;
use crate::pipeline::Resolved;
use pte_analysis::moved::overwrites_moves;
use pte_analysis::operators::MethodOperators;
use pte_model::diagnostics::counted;
use pte_model::error::Error;
use pte_model::format::words::words;
use pte_model::program::{ExecutionPlan, MemoryPlan, MemoryPlanner, Program};
use pte_transform::optimize::fold::{FoldOptions, Folded, fold};
use pte_transform::optimize::{Change, ChangeKind, SimplifyOptions, simplify};
use pte_transform::remap::Remap;

words! {
    /// Kind of changes that [`Resolved::optimize`] makes.
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

/// Options of [`Resolved::optimize`].
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

/// Result of [`Resolved::optimize`].
///
/// ```
/// use pte_emit::Model;
/// use pte_emit::edit::{InstructionChange, OptimizeOptions, OptimizePass, OptimizedInstruction, OptimizedMethod};
///
/// let mut options = OptimizeOptions::default();
/// options.passes.retain(|pass| *pass != OptimizePass::Memory);
/// assert_eq!(OptimizePass::ALL.map(OptimizePass::word), ["folding", "identity", "memory"]);
///
/// let mut linear = Model::open("examples/linear.yaml")?.resolve()?;
/// let done = linear.optimize(&options)?;
/// let forward: &OptimizedMethod = &done.methods[0];
/// let transposed: &OptimizedInstruction = &forward.changes[0];
/// assert_eq!((&*transposed.operator, transposed.change), ("aten::permute_copy.out", InstructionChange::Folded));
/// assert_eq!(transposed.change.noun(), Some("folded call"));
/// # Ok::<(), pte_emit::Error>(())
/// ```
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
    /// `true` if the memory plan before, and after, overwrites results of branches that are read later (X-4).
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

impl Resolved {
    /// Optimizes the program: its outputs stay the same, with less planned memory and fewer instructions. Changes of a
    /// method that would need more memory are not made. Read binary files with [`crate::Model::resolve_for_changes`]:
    /// the memory plan of a method with explicit offsets stays.
    ///
    /// ```
    /// use pte_emit::{Model, Options};
    /// use pte_emit::edit::OptimizeOptions;
    ///
    /// let yaml = "
    /// methods:
    ///   forward:
    ///     values: {x: {tensor: float32, sizes: [2, 2]}}
    ///     inputs: [x]
    ///     outputs: [y]
    ///     instructions:
    ///       - {kernel: aten::clone.out, args: [x, null], out: copy}
    ///       - {kernel: aten::mul.out, args: [copy, x], out: y}
    /// ";
    /// let mut resolved = Model::from_yaml("square.yaml", yaml, ".").resolve()?;
    /// let done = resolved.optimize(&OptimizeOptions::default())?;
    /// assert_eq!(done.methods[0].instructions, [2, 1]);
    /// assert_eq!(done.methods[0].planned, [48, 32]);
    /// assert!(resolved.to_files(&Options::default()).is_ok());
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The memory of the program cannot be planned, or data cannot be read.
    pub fn optimize(&mut self, options: &OptimizeOptions) -> Result<Optimization, Error> {
        let former = parts(&self.program);
        let before = self.planned_memory(&self.program, false)?;
        let kept: Vec<Option<String>> = self.program.plans().iter().map(kept_plan).collect();
        let mut allowed: Vec<bool> = kept.iter().map(Option::is_none).collect();
        let mut best = self.candidate(options, &allowed)?;
        // A method that would need more memory stays as it is.
        let overwrites = overwrites_moves_of(&self.program);
        let grows = |candidate: &Candidate, method: usize| {
            candidate.memory[method] > before[method] || candidate.overwrites[method] && !overwrites[method]
        };
        if (0..before.len()).any(|method| grows(&best, method)) {
            (0..before.len()).for_each(|method| allowed[method] &= !grows(&best, method));
            best = self.candidate(options, &allowed)?;
        }
        let counts: Vec<usize> = self.program.plans().iter().map(|plan| plan.instructions().count()).collect();
        let needed = self.with_growth(options, &allowed, &best)?;
        let Candidate { program, remaps, changes, memory, growth, .. } = best;
        self.origins.retain(&remaps);
        self.program = program;
        let minimized = match options.passes.contains(&OptimizePass::Memory) {
            true => self.minimize_memory(&MinimizeOptions::default()).into_iter().map(Some).collect(),
            false => vec![None; counts.len()],
        };
        let mut methods: Vec<OptimizedMethod> = Vec::with_capacity(counts.len());
        for (method, (minimized, kept)) in minimized.into_iter().zip(kept).enumerate() {
            let plan = &self.program.plans()[method];
            let mut done = OptimizedMethod {
                name: plan.name.clone().unwrap_or_default(),
                instructions: [counts[method], plan.instructions().count()],
                planned: [before[method], memory[method]],
                planned_with_growth: needed.as_ref().map(|(_, planned)| planned[method]),
                kept,
                ..OptimizedMethod::default()
            };
            if let Some(MethodMemory { planned, alive, planner, moved, reused, kept: None, .. }) = minimized {
                done.planned[1] = planned[1];
                (done.alive, done.planner) = (Some(alive[1]), Some(planner));
                (done.moved, done.reused) = (moved, reused.len());
            }
            methods.push(done);
        }
        for (method, change) in changes {
            methods[method].changes.push(change);
        }
        for ((method, before), after) in methods.iter_mut().zip(overwrites).zip(overwrites_moves_of(&self.program)) {
            method.changes.sort_by_key(|change| change.instruction);
            method.overwrites = [before, after];
        }
        let is_changed = parts(&self.program) != former
            || methods.iter().any(|done| {
                done.moved + done.reused > 0 || done.changes.iter().any(|change| change.change.noun().is_some())
            });
        let needed_growth = needed.map(|(growth, _)| growth);
        Ok(Optimization { methods, growth, is_changed, needed_growth })
    }

    /// Returns the growth of the file with which all calls on constants are folded, and the memory of each method that
    /// is then planned; `None` if they are folded.
    fn with_growth(
        &self,
        options: &OptimizeOptions,
        methods: &[bool],
        best: &Candidate,
    ) -> Result<Option<(u64, Vec<u64>)>, Error> {
        if best.changes.iter().all(|(_, change)| change.change != InstructionChange::TooLarge) {
            return Ok(None);
        }
        let all = OptimizeOptions { max_growth: u64::MAX, ..options.clone() };
        let Ok(max_growth) = u64::try_from(self.folded(&all, methods)?.growth) else { return Ok(None) };
        let Candidate { mut program, mut memory, .. } =
            self.candidate(&OptimizeOptions { max_growth, ..options.clone() }, methods)?;
        if options.passes.contains(&OptimizePass::Memory) {
            let minimized = minimize(&mut program, &MinimizeOptions::default());
            let changed = memory.iter_mut().zip(&minimized).filter(|(_, (done, _))| done.kept.is_none());
            changed.for_each(|(planned, (done, _))| *planned = done.planned[1]);
        }
        Ok(Some((max_growth, memory)))
    }

    /// Returns the program with the changes that need the least memory.
    fn candidate(&self, options: &OptimizeOptions, methods: &[bool]) -> Result<Candidate, Error> {
        let start = self.folded(options, methods)?;
        if !options.passes.contains(&OptimizePass::Identity) {
            return Ok(start);
        }
        let with_equal_calls = self.simplified(&start, methods, options, true)?;
        let without = self.simplified(&start, methods, options, false)?;
        let total = |memory: &[u64]| memory.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        let is_larger = total(&with_equal_calls.memory) > total(&without.memory);
        Ok(if is_larger { without } else { with_equal_calls })
    }

    /// Returns the program with folded calls, if that is requested.
    fn folded(&self, options: &OptimizeOptions, methods: &[bool]) -> Result<Candidate, Error> {
        let mut program = self.program.clone();
        let mut remaps = program.plans().iter().map(Remap::all).collect();
        let (mut changes, mut growth) = (Vec::new(), 0);
        if options.passes.contains(&OptimizePass::Folding) {
            let done = fold(&mut program, methods, FoldOptions { max_growth: options.max_growth });
            let done = done.map_err(|error| self.unreadable(&error))?;
            changes = folded_calls(&done);
            (remaps, growth) = (done.remaps, done.growth);
        }
        let memory = self.planned_memory(&program, options.passes.contains(&OptimizePass::Memory))?;
        let overwrites = overwriting(&program, options);
        Ok(Candidate { program, remaps, changes, memory, overwrites, growth })
    }

    /// Returns a program without copies that change nothing, and what has no effect.
    fn simplified(
        &self,
        from: &Candidate,
        methods: &[bool],
        options: &OptimizeOptions,
        equal_calls: bool,
    ) -> Result<Candidate, Error> {
        let mut program = from.program.clone();
        let done = simplify(&mut program, methods, SimplifyOptions { equal_calls });
        let memory = self.planned_memory(&program, options.passes.contains(&OptimizePass::Memory))?;
        let mut changes = from.changes.clone();
        changes.extend(done.changes.iter().map(|change| {
            let step = from.remaps[change.method].instructions.former()[change.step];
            (change.method, simplified_instruction(change, step))
        }));
        let mut remaps = from.remaps.clone();
        remaps.iter_mut().zip(&done.remaps).for_each(|(remap, later)| remap.then(later));
        let overwrites = overwriting(&program, options);
        Ok(Candidate { program, remaps, changes, memory, overwrites, growth: from.growth })
    }

    /// Returns the planned memory of each method in bytes; with `best`, that of the minimal planner if it is less.
    fn planned_memory(&self, program: &Program, best: bool) -> Result<Vec<u64>, Error> {
        let planned = |program: &Program| -> Result<Vec<u64>, Error> {
            let planned = layout::plan_memory(program).map_err(|errors| self.error(self.layout_messages(errors)))?;
            Ok(planned.iter().map(MemoryPlan::total).collect())
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
}

/// Returns what an optimization may change besides calls and their order: planners, and numbers of parts.
fn parts(program: &Program) -> Vec<(MemoryPlanner, [usize; 3])> {
    let parts = |plan: &ExecutionPlan| {
        let operators = plan.operators.as_ref().map_or(0, Vec::len);
        (plan.memory.planner, [plan.values().len(), plan.delegates().len(), operators])
    };
    program.plans().iter().map(parts).collect()
}

/// Returns, by method, `true` if its plan overwrites results of branches, and no pass replaces the plan.
fn overwriting(program: &Program, options: &OptimizeOptions) -> Vec<bool> {
    match options.passes.contains(&OptimizePass::Memory) {
        true => vec![false; program.plans().len()],
        false => overwrites_moves_of(program),
    }
}

/// Returns, by method, `true` if its plan overwrites results of branches that are read later, as plans of the exporter
/// may do.
fn overwrites_moves_of(program: &Program) -> Vec<bool> {
    let Ok(planned) = layout::plan_memory(program) else { return vec![false; program.plans().len()] };
    let operators = MethodOperators::of_program(program);
    let methods = program.plans().iter().zip(&operators).zip(&planned);
    methods.map(|((plan, operators), planned)| overwrites_moves(plan, operators, &planned.places)).collect()
}

/// A changed program.
struct Candidate {
    program: Program,
    /// By method: indices of the parts that remain.
    remaps: Vec<Remap>,
    /// Changes, each with the index of its method.
    changes: Vec<(usize, OptimizedInstruction)>,
    /// Planned memory of each method in bytes.
    memory: Vec<u64>,
    /// By method: see [`overwriting`].
    overwrites: Vec<bool>,
    growth: i64,
}

/// Returns the calls that are folded, and those that stay.
fn folded_calls(done: &Folded) -> Vec<(usize, OptimizedInstruction)> {
    let folded = done.calls.iter().map(|call| {
        let constants = counted(call.constants.len() as u64, "constant");
        let message = match call.constants.len() {
            0 => "folded: only other folded calls use its results".to_owned(),
            _ => format!("folded: {constants} of {}", counted(call.bytes, "byte")),
        };
        let (instruction, operator) = (call.step, call.operator.clone());
        (call.method, OptimizedInstruction { instruction, operator, change: InstructionChange::Folded, message })
    });
    let left = done.left.iter().map(|call| {
        let (instruction, operator, message) = (call.step, call.operator.clone(), format!("stays: {}", call.reason));
        let change = if call.is_too_large { InstructionChange::TooLarge } else { InstructionChange::Kept };
        (call.method, OptimizedInstruction { instruction, operator, change, message })
    });
    folded.chain(left).collect()
}

fn simplified_instruction(change: &Change, instruction: usize) -> OptimizedInstruction {
    let (kind, message) = match change.kind {
        ChangeKind::Copy => (InstructionChange::Copy, "removed: its result is its argument"),
        ChangeKind::View => (InstructionChange::View, "removed: its result is a view of its argument"),
        ChangeKind::EqualCall => (InstructionChange::EqualCall, "removed: it repeats an earlier call"),
        ChangeKind::Unused => (InstructionChange::Unused, "removed: nothing uses its results"),
    };
    OptimizedInstruction { instruction, operator: change.operator.clone(), change: kind, message: message.to_owned() }
}
