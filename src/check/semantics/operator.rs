//! The operators that a method calls: signature, and what the checks need of the kernel.

use std::collections::HashMap;
use std::sync::Arc;

use crate::operators::inference::{constraints, rule};
use crate::operators::kernels::KernelConstraints;
use crate::operators::kinds::{self, Kinds, ResultKinds, narrower};
use crate::operators::{OperatorSet, Role};
use crate::program::ExecutionPlan;
use crate::transform::inference::InferredOperator;

/// A known operator of a method.
#[derive(Debug)]
pub struct KnownOperator {
    /// Its rule of inference is absent if its signature is that of a custom operator.
    pub operator: InferredOperator,
    /// Library that registers it; `None` for the default runtime and for custom operators.
    pub library: Option<&'static str>,
    /// Positions of the outs.
    pub outs: Vec<usize>,
    /// Kinds that it accepts, if they are fewer than those of the signature.
    pub narrower: Option<&'static [Kinds]>,
    /// Further constraints of its kernel.
    pub kernel: KernelConstraints,
    /// Its result is a view of its first argument.
    pub is_view: bool,
    /// It reads the sizes of its tensors and not their content.
    pub reads_sizes: bool,
    /// Kinds of its result, if the signature does not state one.
    pub result_kinds: Option<ResultKinds>,
}

impl KnownOperator {
    fn find(name: &str, set: &OperatorSet) -> Option<KnownOperator> {
        let signature = set.find(name)?;
        let (rule, library, constraints) = match set.is_added(name) {
            true => (None, None, Vec::new()),
            false => (rule(name), set.library(name), constraints::constraints(name, &signature)),
        };
        let outs = signature.args.iter().enumerate().filter(|(_, arg)| arg.role == Role::Out);
        let outs = outs.map(|(position, _)| position).collect();
        Some(KnownOperator {
            outs,
            narrower: narrower(name),
            kernel: KernelConstraints::new(name),
            is_view: crate::operators::aliased(name).is_some(),
            reads_sizes: crate::operators::reads_sizes(name),
            result_kinds: kinds::results(name),
            operator: InferredOperator { name: name.to_owned(), signature, rule, constraints },
            library,
        })
    }

    /// Returns the number of arguments of a call, with the result.
    pub fn arguments(&self) -> usize {
        let signature = &self.operator.signature;
        signature.args.len() + usize::from(!self.outs.is_empty() || signature.result.is_some())
    }

    /// Returns the kinds that it accepts for an argument of the signature; the runtime aborts at others.
    pub fn accepted(&self, position: usize) -> Kinds {
        match self.narrower {
            Some(kinds) => kinds[position.min(kinds.len() - 1)],
            None => self.operator.signature.args[position].kind.kinds(),
        }
    }
}

/// Returns the operators of a method by index, if they are known.
pub fn known_operators(plan: &ExecutionPlan, set: &OperatorSet) -> Vec<Option<Arc<KnownOperator>>> {
    let mut found: HashMap<String, Option<Arc<KnownOperator>>> = HashMap::new();
    let list = plan.operators.iter().flatten();
    list.map(|operator| {
        let name = operator.full_name()?;
        if let Some(known) = found.get(&name) {
            return known.clone();
        }
        let known = KnownOperator::find(&name, set).map(Arc::new);
        found.insert(name, known.clone());
        known
    })
    .collect()
}
