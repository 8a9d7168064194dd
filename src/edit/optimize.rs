//! Optimizes a program: decides which changes are kept, by the memory that each method needs with them.

use serde::Serialize;

use crate::layout;
use crate::pipeline::Resolved;
use pte_model::error::Error;
use pte_model::program::{ExecutionPlan, Memory, MemoryPlan, Program};
use pte_transform::optimize::{Change, ChangeKind, Simplified, SimplifyOptions, simplify};

/// Kind of changes that [`Resolved::optimize`] makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum OptimizePass {
    /// Copies that change nothing, repeated calls, and what has no effect, are removed.
    Identity,
}

impl OptimizePass {
    /// All passes, in the order in which they run.
    pub const ALL: [OptimizePass; 1] = [OptimizePass::Identity];

    /// Returns the word for the pass on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            OptimizePass::Identity => "identity",
        }
    }
}

/// Options of [`Resolved::optimize`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptimizeOptions {
    /// Passes that run.
    pub passes: Vec<OptimizePass>,
}

impl Default for OptimizeOptions {
    fn default() -> OptimizeOptions {
        OptimizeOptions { passes: OptimizePass::ALL.to_vec() }
    }
}

/// What [`Resolved::optimize`] did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Optimization {
    /// Methods in the order of the program.
    pub methods: Vec<OptimizedMethod>,
}

/// What was done to a method, part of [`Optimization`].
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
    /// Reason why the memory plan stays, and with it the instructions that need memory; `None` if it may change.
    pub kept: Option<String>,
    /// Changes in the order of the instructions.
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
    /// What was done, in words.
    pub change: String,
}

impl Resolved {
    /// Optimizes the program: its outputs stay the same, with less planned memory and fewer instructions. Changes of a method that would
    /// need more memory are not made. Read binary files with [`crate::Model::resolve_for_changes`]: the memory plan of a method with
    /// explicit offsets stays.
    ///
    /// ```
    /// use pte_emit::{Model, OptimizeOptions, Options};
    ///
    /// let yaml = "
    /// methods:
    ///   forward:
    ///     values: {x: {tensor: float32, sizes: [2, 2]}}
    ///     inputs: [x]
    ///     outputs: [y]
    ///     instructions:
    ///       - {kernel: aten::clone.out, args: [x, null], out: copy}
    ///       - {kernel: aten::relu.out, args: [copy], out: y}
    /// ";
    /// let mut resolved = Model::from_yaml("relu.yaml", yaml, ".").resolve()?;
    /// let done = resolved.optimize(&OptimizeOptions::default())?;
    /// assert_eq!(done.methods[0].instructions, [2, 1]);
    /// assert_eq!(done.methods[0].planned, [48, 32]);
    /// assert!(resolved.to_files(&Options::default()).is_ok());
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The memory of the program cannot be planned.
    pub fn optimize(&mut self, options: &OptimizeOptions) -> Result<Optimization, Error> {
        let before = self.planned_memory(&self.program)?;
        let kept: Vec<Option<String>> = self.program.plans().iter().map(kept_plan).collect();
        let mut allowed: Vec<bool> = kept.iter().map(Option::is_none).collect();
        let mut best = self.candidate(options, &allowed)?;
        // A method that would need more memory stays as it is.
        let grows = |candidate: &Candidate, method: usize| candidate.memory[method] > before[method];
        if (0..before.len()).any(|method| grows(&best, method)) {
            (0..before.len()).for_each(|method| allowed[method] &= !grows(&best, method));
            best = self.candidate(options, &allowed)?;
        }
        let Candidate { program, simplified, memory } = best;
        let names = self.program.plans().iter().map(|plan| plan.name.clone().unwrap_or_default());
        let counts = self.program.plans().iter().map(|plan| plan.instructions().count());
        let methods = names.zip(counts).zip(kept).enumerate().map(|(method, ((name, count), kept))| {
            let changes = simplified.changes.iter().filter(|change| change.method == method);
            OptimizedMethod {
                name,
                instructions: [count, program.plans()[method].instructions().count()],
                planned: [before[method], memory[method]],
                kept,
                changes: changes.map(instruction).collect(),
            }
        });
        let methods = methods.collect();
        for (method, (values, delegates)) in simplified.values.iter().zip(&simplified.delegates).enumerate() {
            let count = self.program.plans()[method].instructions().count();
            self.retain_origins(method, values, delegates, simplified.steps[method].len() == count);
        }
        self.program = program;
        Ok(Optimization { methods })
    }

    /// Returns the program with the changes that need the least memory.
    fn candidate(&self, options: &OptimizeOptions, methods: &[bool]) -> Result<Candidate, Error> {
        let mut best: Option<Candidate> = None;
        for equal_calls in [true, false] {
            let mut program = self.program.clone();
            let is_enabled = options.passes.contains(&OptimizePass::Identity);
            let simplified = match is_enabled {
                true => simplify(&mut program, methods, SimplifyOptions { equal_calls }),
                false => Simplified::unchanged(&program),
            };
            let memory = self.planned_memory(&program)?;
            let total = |memory: &[u64]| memory.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
            if best.as_ref().is_none_or(|best| total(&memory) < total(&best.memory)) {
                best = Some(Candidate { program, simplified, memory });
            }
        }
        Ok(best.unwrap_or_else(|| unreachable!("there are two candidates")))
    }

    /// Returns the planned memory of each method in bytes.
    fn planned_memory(&self, program: &Program) -> Result<Vec<u64>, Error> {
        let planned = layout::plan_memory(program).map_err(|errors| self.error(self.layout_messages(errors)))?;
        let bytes = |plan: &MemoryPlan| plan.sizes.iter().filter_map(|size| u64::try_from(*size).ok()).sum();
        Ok(planned.iter().map(bytes).collect())
    }
}

/// A changed program, with the planned memory of each method in bytes.
struct Candidate {
    program: Program,
    simplified: Simplified,
    memory: Vec<u64>,
}

/// Returns the reason why the memory plan of a method stays; `None` if it may change.
fn kept_plan(plan: &ExecutionPlan) -> Option<String> {
    let count = plan.tensors().filter(|(_, tensor)| matches!(tensor.memory, Memory::At { .. })).count();
    let tensors = pte_model::diagnostics::counted(count as u64, "tensor");
    (count > 0).then(|| format!("{tensors} at offsets that no planner gives"))
}

fn instruction(change: &Change) -> OptimizedInstruction {
    let words = match change.kind {
        ChangeKind::Copy => "removed: its result is its argument",
        ChangeKind::View => "removed: its result is a view of its argument",
        ChangeKind::EqualCall => "removed: it repeats an earlier call",
        ChangeKind::Unused => "removed: nothing uses its results",
    };
    OptimizedInstruction { instruction: change.step, operator: change.operator.clone(), change: words.to_owned() }
}
