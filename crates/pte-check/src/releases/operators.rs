//! Operators of a program that a release does not register, and element types that its kernels refuse (`V-1`, `V-2`).

use std::collections::BTreeSet;

use super::report::{Report, expected};
use crate::RuleId::*;
use pte_analysis::kernels::first_tensor;
use pte_model::diagnostics::{clipped, counted};
use pte_model::program::Program;
use pte_model::program::element::{Element, Part};
use pte_model::program::instruction::Callee;
use pte_operators::Lack;
use pte_releases::Release;

/// Compares the operators of all methods with those of a release, and the element types of calls with those that its
/// kernels take; of each operator, the first refused call of a method is reported.
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
            let Some(name) = name.as_deref() else { continue };
            let Some(lack) = Lack::of_operator(release, name) else { continue };
            report(V_1, Element::Method(method, Part::Operator(index)), &|| {
                let verb = if calls[index] == 1 { "calls" } else { "call" };
                let called = counted(calls[index], "instruction");
                (format!("{}: {called} {verb} it", lack.text(&clipped(name))), expected(lack.first.clone()))
            });
        }
        let typed = names.iter().map(|name| name.as_deref().filter(|name| release.types(name).is_some()));
        let typed: Vec<Option<&str>> = typed.collect();
        let mut reported = BTreeSet::new();
        for (chain, index, instruction) in plan.instructions_by_chain() {
            let Some(Callee::Operator(id)) = instruction.callee() else { continue };
            let Some(name) = id.item(&typed).copied().flatten().filter(|_| !reported.contains(&id)) else { continue };
            let types = |position: usize| Some(first_tensor(plan, *instruction.args().get(position)?)?.scalar_type);
            let Some((position, lack)) = Lack::of_types(release, name, &types) else { continue };
            reported.insert(id);
            let at = Element::Method(method, Part::Arg(chain, index, position));
            report(V_2, at, &|| (lack.text(&clipped(name)), expected(lack.first.clone())));
        }
    }
}
