//! Optimizes programs: the outputs stay the same, with fewer instructions and less memory. A method is changed only
//! where that is certain; what a pass does not understand stays.
//!
//! Memory is planned by `pte-emit`, which also decides whether the changes of a method are kept.

mod alive;
mod copies;
mod equal_calls;
pub mod fold;
pub mod order;
pub mod reuse;
mod rewrite;
pub mod state;

pub use alive::peak;

use crate::prune::prune;
use crate::remap::Remap;
use pte_analysis::method::Method;
use pte_analysis::operators::MethodOperators;
use pte_model::program::{ExecutionPlan, Instruction, Program};
use rewrite::{Context, Rewrite, Supply};

/// A change of an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Index of the method.
    pub method: usize,
    /// Position of the instruction before all changes, counted through all chains.
    pub step: usize,
    /// Operator that it called, or the key of another instruction.
    pub operator: String,
    /// Change of the instruction.
    pub kind: ChangeKind,
}

/// Kind of change of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// A copy that changes nothing was removed: its argument is used in place of the result.
    Copy,
    /// A copy that changes only the sizes was removed: the result is a view of its argument.
    View,
    /// A call that repeats an earlier one was removed.
    EqualCall,
    /// An instruction without effect was removed.
    Unused,
}

/// Changes that may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimplifyOptions {
    /// Remove calls that repeat earlier ones. Their results are alive for longer, which may need more memory.
    pub equal_calls: bool,
}

/// Number of rounds: each removes instructions that became removable in the previous ones.
const ROUNDS: usize = 8;

/// Optimized program, and the list of changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Simplified {
    /// Changes in the order of the methods and instructions.
    pub changes: Vec<Change>,
    /// By method: indices of the parts that remain.
    pub remaps: Vec<Remap>,
}

/// Removes copies that change nothing and calls that repeat earlier ones, from the methods whose flag is set, and what
/// has no effect, from all.
///
/// The memory of tensors must be requested, not stated at offsets: copies and calls of methods with explicit offsets
/// stay.
pub fn simplify(program: &mut Program, methods: &[bool], options: SimplifyOptions) -> Simplified {
    let mut progress = Progress::new(program, methods);
    for _ in 0..ROUNDS {
        let before = progress.done.changes.len();
        progress.rewrite(copies::find, |supply| match supply {
            Supply::Value(_) => ChangeKind::Copy,
            Supply::View(_) => ChangeKind::View,
        });
        if options.equal_calls {
            progress.rewrite(equal_calls::find, |_| ChangeKind::EqualCall);
        }
        progress.prune();
        if progress.done.changes.len() == before {
            break;
        }
    }
    let mut done = progress.done;
    done.changes.sort_by_key(|change| (change.method, change.step));
    done
}

/// State of the passes over a program.
struct Progress<'p> {
    program: &'p mut Program,
    /// By method: it may change.
    methods: &'p [bool],
    /// Program after the changes so far.
    done: Simplified,
}

impl<'p> Progress<'p> {
    fn new(program: &'p mut Program, methods: &'p [bool]) -> Progress<'p> {
        let remaps = program.plans().iter().map(Remap::all).collect();
        let done = Simplified { changes: Vec::new(), remaps };
        Progress { program, methods, done }
    }

    /// Applies a pass to all methods.
    fn rewrite(&mut self, find: fn(&Context<'_>) -> Rewrite, kind: fn(Supply) -> ChangeKind) {
        let plans = self.program.plans_mut().iter_mut().enumerate();
        for (method, plan) in plans.filter(|(method, _)| self.methods.get(*method) == Some(&true)) {
            let analysis = Method::new(plan);
            let Some(found) = Context::new(&analysis).map(|context| find(&context)) else { continue };
            let remap = &mut self.done.remaps[method];
            for (step, instruction) in (0..).zip(plan.instructions()) {
                if let Some((_, supply)) = found.removed.get(&step).and_then(|results| results.first()) {
                    let step = remap.instructions.former()[step as usize];
                    let operator = label(&analysis.operators, instruction);
                    self.done.changes.push(Change { method, step, operator, kind: kind(*supply) });
                }
            }
            remap.then(&found.apply(plan));
        }
    }

    /// Removes instructions without effect.
    fn prune(&mut self) {
        let labels = |plan: &ExecutionPlan| -> Vec<String> {
            let operators = MethodOperators::known(plan);
            plan.instructions().map(|instruction| label(&operators, instruction)).collect()
        };
        let labels: Vec<Vec<String>> = self.program.plans().iter().map(labels).collect();
        for ((method, pruned), labels) in prune(self.program).into_iter().enumerate().zip(labels) {
            let remap = &mut self.done.remaps[method];
            let steps = remap.instructions.former().iter().zip(labels).enumerate();
            let removed = steps.filter(|(step, _)| pruned.instructions.former().binary_search(step).is_err());
            let change = |(_, (step, operator)): (usize, (&usize, String))| Change {
                method,
                step: *step,
                operator,
                kind: ChangeKind::Unused,
            };
            self.done.changes.extend(removed.map(change));
            remap.then(&pruned);
        }
    }
}

/// Returns the operator that an instruction calls, or its key.
fn label(operators: &MethodOperators, instruction: &Instruction) -> String {
    operators.called(instruction).map_or_else(|| instruction.key().to_owned(), |known| known.name.to_string())
}
