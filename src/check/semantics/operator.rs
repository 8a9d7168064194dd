//! The operators that a method calls: signature, and what the checks need of the kernel.

use std::collections::HashMap;
use std::sync::Arc;

use crate::operators::facts::Facts;
use crate::operators::kinds::Kinds;
use crate::operators::{self, OperatorSet, Role};
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
    /// What is known of the operator with its name, also if its signature is that of a custom operator.
    pub facts: &'static Facts,
}

impl KnownOperator {
    fn find(name: &str, set: &OperatorSet) -> Option<KnownOperator> {
        let (operator, library) = match set.is_added(name) {
            true => {
                let (name, signature) = (name.to_owned(), set.find(name)?);
                (InferredOperator { name, signature, rule: None, constraints: Vec::new() }, None)
            }
            false => (InferredOperator::find(name)?, set.library(name)),
        };
        let outs = operator.signature.args.iter().enumerate().filter(|(_, arg)| arg.role == Role::Out);
        let outs = outs.map(|(position, _)| position).collect();
        Some(KnownOperator { outs, facts: operators::facts(name), operator, library })
    }

    /// Returns the number of arguments of a call, with the result.
    pub fn arguments(&self) -> usize {
        let signature = &self.operator.signature;
        signature.args.len() + usize::from(!self.outs.is_empty() || signature.result.is_some())
    }

    /// Returns the kinds that it accepts for an argument of the signature; the runtime aborts at others.
    pub fn accepted(&self, position: usize) -> Kinds {
        match self.facts.narrower {
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
