//! Operators of a program that a release does not register, and element types that its kernels refuse (`V-1`, `V-2`).

use std::collections::BTreeSet;

use super::first::first_after;
use super::report::Report;
use crate::RuleId::*;
use pte_analysis::kernels::first_tensor;
use pte_model::diagnostics::{clipped, counted};
use pte_model::program::element::{Element, Part};
use pte_model::program::instruction::Callee;
use pte_model::program::{ExecutionPlan, Program};
use pte_operators::refused_type;
use pte_releases::Release;

/// Compares the operators and calls of all methods with those of a release.
pub fn check(program: &Program, release: &Release, report: &mut Report<'_>) {
    for (method, plan) in program.plans().iter().enumerate() {
        let names: Vec<Option<String>> = plan.operators.iter().flatten().map(|operator| operator.full_name()).collect();
        let mut calls = vec![0u64; names.len()];
        for instruction in plan.instructions() {
            if let Some(Callee::Operator(operator)) = instruction.callee()
                && let Some(calls) = operator.item_mut(&mut calls)
            {
                *calls += 1;
            }
        }
        for (index, name) in names.iter().enumerate() {
            let Some(name) = name.as_deref().filter(|name| release.lacks_operator(name)) else { continue };
            report(V_1, Element::Method(method, Part::Operator(index)), &|| {
                let called = counted(calls[index], "instruction");
                let verb = if calls[index] == 1 { "calls" } else { "call" };
                let found =
                    format!("operator `{}`, which {release} does not register: {called} {verb} it", clipped(name));
                let expected = first_after(release, |other| other.has_operator(name));
                (found, expected)
            });
        }
        Types { method, plan, names: &names, release }.check(report);
    }
}

/// Calls of a method whose element types are compared with those that the kernels of a release take.
struct Types<'p> {
    method: usize,
    plan: &'p ExecutionPlan,
    names: &'p [Option<String>],
    release: &'p Release,
}

impl Types<'_> {
    /// Reports calls with element types that the kernel of the release refuses; of each operator, the first one.
    fn check(&self, report: &mut Report<'_>) {
        let has_facts = |name: &Option<String>| name.as_deref().and_then(|name| self.release.types(name)).is_some();
        if !self.names.iter().any(has_facts) {
            return;
        }
        let mut reported = BTreeSet::new();
        for (chain, instructions) in self.plan.chains.iter().flatten().enumerate() {
            for (index, instruction) in instructions.instructions.iter().flatten().enumerate() {
                let Some(Callee::Operator(id)) = instruction.callee() else { continue };
                let Some(name) = id.item(self.names).and_then(Option::as_deref) else { continue };
                let types = |position: usize| {
                    first_tensor(self.plan, *instruction.args().get(position)?).map(|tensor| tensor.scalar_type)
                };
                let refused = |release: &Release| refused_type(name, release.types(name)?, &types);
                let Some((position, found)) = refused(self.release).filter(|_| reported.insert(id)) else { continue };
                report(V_2, Element::Method(self.method, Part::Arg(chain, index, position)), &|| {
                    let signature = pte_operators::find(name).map(|operator| &operator.signature);
                    let argument = signature.and_then(|signature| signature.args.get(position));
                    let argument = argument.map_or("", |argument| &*argument.name);
                    let release = self.release;
                    let found = format!(
                        "`{argument}` of {found} for `{}`, which the kernel of {release} refuses",
                        clipped(name)
                    );
                    let takes = |other: &Release| other.has_operator(name) && refused(other).is_none();
                    (found, first_after(release, takes))
                });
            }
        }
    }
}
