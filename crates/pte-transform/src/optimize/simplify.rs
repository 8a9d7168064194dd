//! Removes copies that change nothing, calls that repeat earlier ones, and what has no effect.

use super::copies;
use super::equal_calls;
use super::report::{InstructionChange, OptimizedInstruction};
use super::rewrite::{Context, Rewrite, Supply};
use crate::prune::prune;
use crate::remap::Remap;
use pte_analysis::method::Method;
use pte_analysis::operators::MethodOperators;
use pte_model::program::{ExecutionPlan, Instruction, Program};

/// Number of rounds: each removes instructions that became removable in the previous ones.
const ROUNDS: usize = 8;

/// A program with its changes so far.
#[derive(Debug, Clone)]
pub struct Edited {
    pub program: Program,
    /// By method: indices of the parts that remain.
    pub remaps: Vec<Remap>,
    /// Changes, each with the index of its method.
    pub changes: Vec<(usize, OptimizedInstruction)>,
}

impl Edited {
    /// Removes copies that change nothing and, on request, calls that repeat earlier ones, from the methods whose flag
    /// is set, and what has no effect, from all. The results of equal calls are alive for longer, which may need more
    /// memory.
    ///
    /// The memory of tensors must be requested, not stated at offsets: copies and calls of methods with explicit
    /// offsets stay.
    pub fn simplify(&mut self, methods: &[bool], equal_calls: bool) {
        for _ in 0..ROUNDS {
            let before = self.changes.len();
            self.rewrite(methods, copies::find, |supply| match supply {
                Supply::Value(_) => (InstructionChange::Copy, "removed: its result is its argument"),
                Supply::View(_) => (InstructionChange::View, "removed: its result is a view of its argument"),
            });
            if equal_calls {
                let repeats = (InstructionChange::EqualCall, "removed: it repeats an earlier call");
                self.rewrite(methods, equal_calls::find, |_| repeats);
            }
            self.prune();
            if self.changes.len() == before {
                break;
            }
        }
    }

    /// Applies a pass to methods. `change` has the change of an instruction, with its message.
    fn rewrite(
        &mut self,
        methods: &[bool],
        find: fn(&Context<'_>) -> Rewrite,
        change: impl Fn(Supply) -> (InstructionChange, &'static str),
    ) {
        let plans = self.program.plans_mut().iter_mut().zip(&mut self.remaps).enumerate();
        for (method, (plan, remap)) in plans.filter(|(method, _)| methods.get(*method) == Some(&true)) {
            let analysis = Method::new(plan);
            let Some(found) = Context::new(&analysis).map(|context| find(&context)) else { continue };
            for (step, instruction) in (0..).zip(plan.instructions()) {
                if let Some((_, supply)) = found.removed.get(&step).and_then(|results| results.first()) {
                    let operator = label(&analysis.operators, instruction);
                    let instruction = remap.instructions.former()[step as usize];
                    let (change, message) = change(*supply);
                    self.changes.push((method, OptimizedInstruction::new(instruction, operator, change, message)));
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
        let pruned = prune(&mut self.program).into_iter().zip(labels);
        for (method, ((pruned, labels), remap)) in pruned.zip(&mut self.remaps).enumerate() {
            for (step, (former, operator)) in remap.instructions.former().iter().zip(labels).enumerate() {
                if pruned.instructions.former().binary_search(&step).is_err() {
                    let (change, message) = (InstructionChange::Unused, "removed: nothing uses its results");
                    self.changes.push((method, OptimizedInstruction::new(*former, operator, change, message)));
                }
            }
            remap.then(&pruned);
        }
    }
}

/// Returns the operator that an instruction calls, or its key.
fn label(operators: &MethodOperators, instruction: &Instruction) -> String {
    operators.called(instruction).map_or_else(|| instruction.key().to_owned(), |known| known.name.to_string())
}
