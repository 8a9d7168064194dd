//! Operators of a program that a release does not register, and element types that its kernels refuse (`V-1`, `V-2`).

use std::collections::BTreeSet;

use super::first::first_after;
use crate::RuleId::*;
use crate::finding::{Findings, Locator};
use pte_analysis::kernels::first_tensor;
use pte_model::diagnostics::{clipped, counted};
use pte_model::program::element::{Element, Part};
use pte_model::program::instruction::Callee;
use pte_model::program::{ExecutionPlan, Program};
use pte_releases::{Release, TypeFacts};

/// Compares the operators and calls of all methods with those of a release.
pub fn check(program: &Program, release: &Release, findings: &mut Findings, locate: &Locator<'_>) {
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
            let Some(name) = name.as_deref().filter(|name| is_missing(name, release)) else { continue };
            findings.add(V_1, || {
                let called = counted(calls[index], "instruction");
                let verb = if calls[index] == 1 { "calls" } else { "call" };
                let found = format!(
                    "operator `{}`, which ExecuTorch {} does not register: {called} {verb} it",
                    clipped(name),
                    release.version()
                );
                let expected = first_after(release, |other| other.has_operator(name));
                (locate(&Element::Method(method, Part::Operator(index))), found, expected)
            });
        }
        types(method, plan, &names, release, findings, locate);
    }
}

/// Returns `true` for an operator that another release registers, and this one does not. Custom operators, and those of libraries that an
/// application links, are in no release.
fn is_missing(name: &str, release: &Release) -> bool {
    !release.has_operator(name) && Release::known().any(|other| other.has_operator(name))
}

/// Reports calls with element types that the kernel of the release refuses, each combination of operator, argument and type once.
fn types(
    method: usize,
    plan: &ExecutionPlan,
    names: &[Option<String>],
    release: &Release,
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    let facts: Vec<Vec<(usize, &TypeFacts)>> = names.iter().map(|name| positions(name.as_deref(), release)).collect();
    if facts.iter().all(Vec::is_empty) {
        return;
    }
    let mut reported = BTreeSet::new();
    for (chain, instructions) in plan.chains.iter().flatten().enumerate() {
        for (index, instruction) in instructions.instructions.iter().flatten().enumerate() {
            let Some(Callee::Operator(operator)) = instruction.callee() else { continue };
            let Some(of_operator) = operator.item(&facts) else { continue };
            for (position, refused) in of_operator {
                let Some(tensor) = instruction.args().get(*position).and_then(|arg| first_tensor(plan, *arg)) else {
                    continue;
                };
                let scalar_type = tensor.scalar_type;
                let word = scalar_type.to_string();
                if !refused.refused.contains(&word) || !reported.insert((operator, *position, scalar_type)) {
                    continue;
                }
                findings.add(V_2, || {
                    let name = operator.item(names).and_then(Option::as_deref).unwrap_or_default();
                    let found = format!(
                        "`{}` of {word} for `{}`, which the kernel of ExecuTorch {} refuses",
                        refused.argument,
                        clipped(name),
                        release.version()
                    );
                    let takes = |other: &Release| {
                        let mut others = other.types(name).iter();
                        other.has_operator(name)
                            && !others.any(|facts| facts.argument == refused.argument && facts.refused.contains(&word))
                    };
                    let at = Part::Arg(chain, index, *position);
                    (locate(&Element::Method(method, at)), found, first_after(release, takes))
                });
            }
        }
    }
}

/// Returns the facts about the types of an operator with the positions of their arguments.
fn positions<'r>(name: Option<&str>, release: &'r Release) -> Vec<(usize, &'r TypeFacts)> {
    let Some(name) = name else { return Vec::new() };
    let facts = release.types(name);
    let Some(operator) = pte_operators::find(name).filter(|_| !facts.is_empty()) else { return Vec::new() };
    let position = |argument: &str| operator.signature.args.iter().position(|arg| arg.name == argument);
    facts.iter().filter_map(|facts| Some((position(&facts.argument)?, facts))).collect()
}
