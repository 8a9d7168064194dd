//! Minimizes the planned memory of methods: decides by planning each candidate which order of instructions, which
//! reuse of arguments and which planner are kept.

use serde::Serialize;

use super::alive::peak;
use super::order::{Reordering, reorder};
use super::planner::PlanMemory;
use super::reuse::{ReusedTensor, reuse};
use super::state::release_state;
use pte_analysis::method::Method;
use pte_analysis::moved::overwrites_moves;
use pte_analysis::operators::MethodOperators;
use pte_model::program::{ExecutionPlan, Memory, MemoryPlan, MemoryPlanner, Program};

pte_model::options! {
    /// Options of [`minimize`]: what may change. All by default.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct MinimizeOptions {
        /// The order of the instructions.
        pub reorder: bool,
        /// Results get the memory of an argument that nothing reads after the call, where the kernel works in place.
        pub reuse: bool,
        /// Planners to try in addition to that of the method.
        pub planners: Vec<MemoryPlanner>,
    }
}

impl Default for MinimizeOptions {
    fn default() -> MinimizeOptions {
        MinimizeOptions { reorder: true, reuse: true, planners: vec![MemoryPlanner::Greedy, MemoryPlanner::Minimal] }
    }
}

/// Changes that [`minimize`] made to a method.
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

/// Changes the order of instructions, the memory of results and the planner of each method where it then needs less
/// planned memory. Also returns the orders of the instructions.
pub fn minimize(
    program: &mut Program,
    options: &MinimizeOptions,
    planner: &impl PlanMemory,
) -> Vec<(MethodMemory, Reordering)> {
    let operators = MethodOperators::of_program(program);
    let planned = planner.methods(program);
    let mut reports = Vec::with_capacity(operators.len());
    for (method, (plan, operators)) in program.plans_mut().iter_mut().zip(&operators).enumerate() {
        let name = plan.name.clone().unwrap_or_default();
        let (None, Some(before)) = (kept_plan(plan), planned(method, &Method::of(plan, operators))) else {
            let kept = kept_plan(plan).or_else(|| Some("the memory cannot be planned".to_owned()));
            reports.push((MethodMemory { name, kept, ..MethodMemory::default() }, Reordering::default()));
            continue;
        };
        let alive = peak(plan, operators);
        // What overwrites results of branches is replaced by what does not, also if that needs more memory: the
        // exporter's algorithms do that, the minimal planner does not (docs/format.md, "Submodules").
        let size = |plan: &ExecutionPlan| {
            let analysed = Method::of(plan, operators);
            let is_sound = |planned: &MemoryPlan| {
                plan.memory.planner == MemoryPlanner::Minimal || !overwrites_moves(&analysed, &planned.places)
            };
            planned(method, &analysed).filter(is_sound).map(|planned| planned.total())
        };
        let least = size(plan).unwrap_or(u64::MAX);
        let mut best = best_candidate(plan, operators, options, least, &size);
        if best.planned == u64::MAX {
            best.planned = before.total();
        }
        let report = MethodMemory {
            name,
            planned: [before.total(), best.planned],
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
