//! Minimizes the planned memory of methods: decides by planning each candidate which order of instructions, which
//! reuse of arguments and which planner are kept.

use serde::Serialize;

use crate::layout;
use crate::layout::shared::SharedState;
use crate::pipeline::Resolved;
use pte_analysis::moved::overwrites_moves;
use pte_analysis::operators::MethodOperators;
use pte_model::program::{ExecutionPlan, Memory, MemoryPlanner, Program};
use pte_transform::optimize::order::{Reordering, reorder};
use pte_transform::optimize::peak;
use pte_transform::optimize::reuse::{ReusedTensor, reuse};
use pte_transform::optimize::state::release_state;

/// Options of [`Resolved::minimize_memory`]: what may change. All by default.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MinimizeOptions {
    /// The order of the instructions.
    pub reorder: bool,
    /// Results get the memory of an argument that nothing reads after the call, where the kernel works in place.
    pub reuse: bool,
    /// Planners to try in addition to that of the method.
    pub planners: Vec<MemoryPlanner>,
}

impl Default for MinimizeOptions {
    fn default() -> MinimizeOptions {
        MinimizeOptions { reorder: true, reuse: true, planners: vec![MemoryPlanner::Greedy, MemoryPlanner::Minimal] }
    }
}

/// Changes that [`Resolved::minimize_memory`] made to a method.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodMemory {
    /// Name; empty if it has none.
    pub name: String,
    /// Planned memory in bytes before and after: the sum of all pools.
    pub planned: [u64; 2],
    /// Bytes that are alive at once, before and after: the least that a plan of all pools needs, without padding.
    pub alive: [u64; 2],
    /// Word of the planner in YAML.
    pub planner: String,
    /// Number of instructions at another position.
    pub moved: usize,
    /// Results that have the memory of an argument, by value: the result and the argument.
    pub reused: Vec<[usize; 2]>,
    /// Reason why the method stays as it is; `None` if it may change.
    pub kept: Option<String>,
}

/// A method with some changes.
struct Candidate {
    plan: ExecutionPlan,
    planned: u64,
    reordering: Reordering,
    reused: Vec<ReusedTensor>,
}

impl Resolved {
    /// Changes the order of instructions, the memory of results and the planner of each method where it then needs less
    /// planned memory; the outputs stay the same. A method stays as it is if its offsets or the sizes of its pools are
    /// explicit, or if nothing is gained. Read binary files with [`crate::Model::resolve_for_changes`].
    ///
    /// ```
    /// use pte_emit::{Model, Options};
    /// use pte_emit::edit::MinimizeOptions;
    ///
    /// let yaml = "
    /// methods:
    ///   forward:
    ///     values: {x: {tensor: float32, sizes: [2, 2]}}
    ///     inputs: [x]
    ///     outputs: [y]
    ///     instructions:
    ///       - {kernel: aten::mm.out, args: [x, x], out: a}
    ///       - {kernel: aten::relu.out, args: [a], out: b}
    ///       - {kernel: aten::add.out, args: [b, x, 1], out: y}
    /// ";
    /// let mut resolved = Model::from_yaml("relu.yaml", yaml, ".").resolve()?;
    /// let methods = resolved.minimize_memory(&MinimizeOptions::default());
    /// assert_eq!(methods[0].planned, [48, 32]);
    /// assert_eq!(methods[0].reused.len(), 2);
    /// assert!(resolved.to_files(&Options::default()).is_ok());
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    pub fn minimize_memory(&mut self, options: &MinimizeOptions) -> Vec<MethodMemory> {
        // Field overrides name instructions by their position.
        let options = MinimizeOptions { reorder: options.reorder && !self.has_overrides(), ..options.clone() };
        let minimized = minimize(&mut self.program, &options);
        let report = |(method, (report, reordering)): (usize, (MethodMemory, Reordering))| {
            if reordering.moved() > 0 {
                self.origins.reorder(method, &reordering.order);
            }
            report
        };
        minimized.into_iter().enumerate().map(report).collect()
    }
}

/// Does what [`Resolved::minimize_memory`] does to a program; also returns the orders of the instructions.
pub fn minimize(program: &mut Program, options: &MinimizeOptions) -> Vec<(MethodMemory, Reordering)> {
    let operators = MethodOperators::of_program(program);
    let shared = SharedState::plan(program, &operators);
    let mut reports = Vec::with_capacity(operators.len());
    for (method, (plan, operators)) in program.execution_plan.iter_mut().flatten().zip(&operators).enumerate() {
        let name = plan.name.clone().unwrap_or_default();
        let size = |plan: &ExecutionPlan| planned_size(method, plan, operators, shared.as_ref().ok()?);
        let (None, Some(before)) = (kept_plan(plan), size(plan)) else {
            let kept = kept_plan(plan).or_else(|| Some("the memory cannot be planned".to_owned()));
            reports.push((MethodMemory { name, kept, ..MethodMemory::default() }, Reordering::default()));
            continue;
        };
        let alive = peak(plan, operators);
        let size = |plan: &ExecutionPlan| sound_size(method, plan, operators, shared.as_ref().ok()?);
        // What overwrites results of branches is replaced by what does not, also if that needs more memory.
        let least = size(plan).unwrap_or(u64::MAX);
        let mut best = best_candidate(plan, operators, options, least, &size);
        if best.planned == u64::MAX {
            best.planned = before;
        }
        let report = MethodMemory {
            name,
            planned: [before, best.planned],
            alive: [alive, peak(&best.plan, operators)],
            planner: best.plan.memory.planner.word().to_owned(),
            moved: best.reordering.moved(),
            reused: best.reused.iter().map(|reused| [reused.value, reused.base]).collect(),
            kept: None,
        };
        *plan = best.plan;
        reports.push((report, best.reordering));
    }
    reports
}

/// Returns the candidate that needs the least memory; of equal ones, the one with the fewest changes.
fn best_candidate(
    plan: &ExecutionPlan,
    operators: &MethodOperators,
    options: &MinimizeOptions,
    before: u64,
    size: &dyn Fn(&ExecutionPlan) -> Option<u64>,
) -> Candidate {
    let same = Reordering::default();
    let mut best = Candidate { plan: plan.clone(), planned: before, reordering: same.clone(), reused: Vec::new() };
    let mut plan = plan.clone();
    release_state(&mut plan, operators);
    let mut reordered = plan.clone();
    let reordering = if options.reorder { reorder(&mut reordered, operators) } else { same.clone() };
    let mut orders = vec![(plan, same)];
    if reordering.moved() > 0 {
        orders.push((reordered, reordering));
    }
    let mut starts = Vec::new();
    for (plan, reordering) in orders {
        let mut with_reuse = plan.clone();
        let reused = if options.reuse { reuse(&mut with_reuse, operators) } else { Vec::new() };
        starts.push((plan, reordering.clone(), Vec::new()));
        if !reused.is_empty() {
            starts.push((with_reuse, reordering, reused));
        }
    }
    for (plan, reordering, reused) in starts {
        let mut planners = vec![plan.memory.planner];
        planners.extend(options.planners.iter().filter(|planner| **planner != plan.memory.planner));
        for planner in planners {
            let mut plan = plan.clone();
            plan.memory.planner = planner;
            if let Some(planned) = size(&plan).filter(|planned| *planned < best.planned) {
                best = Candidate { plan, planned, reordering: reordering.clone(), reused: reused.clone() };
            }
        }
    }
    best
}

/// Returns the size of all pools of a method in bytes; `None` if its memory cannot be planned.
fn planned_size(method: usize, plan: &ExecutionPlan, operators: &MethodOperators, shared: &SharedState) -> Option<u64> {
    layout::memory::plan(method, plan, operators, shared).ok().map(|planned| planned.total())
}

/// As [`planned_size`]; `None` also if the plan overwrites results of branches that are read later. The exporter's
/// algorithms do that, the minimal planner does not (docs/format.md, "Submodules").
fn sound_size(method: usize, plan: &ExecutionPlan, operators: &MethodOperators, shared: &SharedState) -> Option<u64> {
    let planned = layout::memory::plan(method, plan, operators, shared).ok()?;
    let is_sound = plan.memory.planner == MemoryPlanner::Minimal || !overwrites_moves(plan, operators, &planned.places);
    is_sound.then(|| planned.total())
}

/// Returns the reason why the memory plan of a method stays; `None` if it may change.
pub fn kept_plan(plan: &ExecutionPlan) -> Option<String> {
    let count = plan.tensors().filter(|(_, tensor)| matches!(tensor.memory, Memory::At { .. })).count();
    let tensors = pte_model::diagnostics::counted(count as u64, "tensor");
    match &plan.memory.non_const_buffer_sizes {
        _ if count > 0 => Some(format!("{tensors} at offsets that no planner gives")),
        Some(_) => Some("the sizes of its pools are explicit".to_owned()),
        None => None,
    }
}
