//! The release of ExecuTorch that a program needs (`G-32`), and whether a file runs in one release (`V-`, for [`CheckOptions::runtime`]).
//!
//! What a release registers, accepts and does not survive is measured: [`Release`] has the facts.
//!
//! [`CheckOptions::runtime`]: crate::CheckOptions::runtime

mod answers;
mod first;
mod operators;
mod payloads;

pub(super) use answers::malformed;

use std::collections::BTreeMap;

use super::finding::{Findings, Location, Locator};
use crate::Profile;
use crate::RuleId::*;
use first::first_after;
use pte_model::program::Program;
use pte_model::program::element::{Element, Part};
use pte_model::program::releases::{newest, used};
use pte_releases::{Answer, Release};

/// Reports the newest feature of a program.
pub(super) fn check(program: &Program, findings: &mut Findings, locate: &Locator<'_>) {
    let Some((feature, element)) = newest(program) else { return };
    findings.add(G_32, || {
        let expected = format!("a runtime of ExecuTorch {} or later", feature.release);
        (locate(&element), feature.name.to_owned(), expected)
    });
}

/// Returns `true` if a release has the operators, features and payloads of a program: if the rules `V-` find no error.
///
/// ```
/// use pte_check::pte_releases::Release;
/// use pte_model::data::Origin;
///
/// let program = pte_model::reader::program::read(&Origin::Bytes(pte_model::LINEAR_PTE.into()))?.program;
/// assert!(Release::known().all(|release| pte_check::runs_on(&program, release)));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn runs_on(program: &Program, release: &Release) -> bool {
    let mut findings = Findings::keeping(Profile::default(), Some(0));
    compare(program, release, &mut findings, &|_| Location::default());
    !findings.has_errors()
}

/// Compares a valid program with a release.
pub(super) fn compare(program: &Program, release: &Release, findings: &mut Findings, locate: &Locator<'_>) {
    operators::check(program, release, findings, locate);
    payloads::check(program, release, findings, locate);
    let types = types(program).map(|(name, element)| (format!("type.{name}"), format!("a tensor of {name}"), element));
    let others = used(program).into_iter().map(|(feature, at)| (feature.key.to_owned(), feature.name.to_owned(), at));
    for (key, name, element) in others.chain(types) {
        let Some(answer) = release.feature(&key) else { continue };
        let rule = match answer {
            Answer::Runs | Answer::NotTried => continue,
            Answer::Ignores => V_5,
            Answer::Rejects { .. } | Answer::Crashes | Answer::Hangs => V_4,
        };
        findings.add(rule, || {
            let found = format!("{name}: ExecuTorch {} {answer}", release.version());
            let does = |other: &Release| other.feature(&key).is_some_and(|answer| *answer == Answer::Runs);
            (locate(&element), found, first_after(release, does))
        });
    }
}

/// Returns the element types of the tensors of a program, each with the first tensor that has it.
fn types(program: &Program) -> impl Iterator<Item = (String, Element)> {
    let mut found = BTreeMap::new();
    for (method, plan) in program.plans().iter().enumerate() {
        for (value, tensor) in plan.tensors() {
            found.entry(tensor.scalar_type).or_insert(Element::Method(method, Part::Value(value)));
        }
    }
    found.into_iter().map(|(scalar_type, element)| (scalar_type.to_string(), element))
}
