//! The release of ExecuTorch that a program needs (`G-32`), and whether a file runs in one release (`V-`, for [`CheckOptions::runtime`]).
//!
//! What a release registers, accepts and does not survive is measured: [`Release`] has the facts.
//!
//! [`CheckOptions::runtime`]: crate::CheckOptions::runtime

mod answers;
mod calls;
mod first;
mod operators;
mod payloads;

pub(super) use answers::malformed;

use std::collections::BTreeMap;

use super::finding::{Findings, Location, Locator};
use crate::Profile;
use crate::RuleId::*;
use first::first_after;
use payloads::Payloads;
use pte_model::program::Program;
use pte_model::program::element::{Element, Part};
use pte_model::program::releases::{Feature, newest, used};
use pte_releases::{Answer, Release};

/// Reports the newest feature of a program.
pub(super) fn check(program: &Program, findings: &mut Findings, locate: &Locator<'_>) {
    let Some((feature, element)) = newest(program) else { return };
    findings.add(G_32, || {
        let expected = format!("a runtime of ExecuTorch {} or later", feature.release);
        (locate(&element), feature.name.to_owned(), expected)
    });
}

/// What a program needs of the release that runs it, for comparisons with several releases.
///
/// ```
/// use pte_check::pte_releases::Release;
/// use pte_model::data::Origin;
///
/// let program = pte_model::reader::program::read(&Origin::Bytes(pte_model::LINEAR_PTE.into()))?.program;
/// let requirements = pte_check::Requirements::of(&program);
/// assert!(Release::known().all(|release| requirements.are_met_by(release)));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Requirements<'p> {
    program: &'p Program,
    /// Words of features in the tables, each with its name and the first element that has it.
    features: Vec<(String, String, Element)>,
    payloads: Payloads,
}

impl<'p> Requirements<'p> {
    /// Collects them: reads all tensors, and decodes the payloads of XNNPACK.
    pub fn of(program: &'p Program) -> Requirements<'p> {
        let named = |feature: &Feature, at| (feature.key.to_owned(), feature.name.to_owned(), at);
        let mut features: Vec<_> = used(program).into_iter().map(|(feature, at)| named(feature, at)).collect();
        let types = types(program);
        features.extend(types.map(|(name, at)| (format!("type.{name}"), format!("a tensor of {name}"), at)));
        features.extend(absent(program).map(|(key, name, at)| (key.to_owned(), name.to_owned(), at)));
        Requirements { program, features, payloads: Payloads::of(program) }
    }

    /// Returns `true` if a release has the operators, features and payloads of the program, and executes its calls: if the rules `V-` find no
    /// error.
    pub fn are_met_by(&self, release: &Release) -> bool {
        let mut findings = Findings::keeping(Profile::default(), Some(0));
        self.compare(release, &mut findings, &|_| Location::default());
        !findings.has_errors()
    }

    /// Reports what a release does not have.
    pub(super) fn compare(&self, release: &Release, findings: &mut Findings, locate: &Locator<'_>) {
        operators::check(self.program, release, findings, locate);
        calls::check(self.program, release, findings, locate);
        self.payloads.check(release, findings, locate);
        for (key, name, element) in &self.features {
            let Some(answer) = release.feature(key) else { continue };
            let rule = match answer {
                Answer::Runs => continue,
                Answer::Ignores => V_5,
                Answer::Unable | Answer::Rejects { .. } | Answer::Crashes | Answer::Hangs => V_4,
            };
            findings.add(rule, || {
                let found = format!("{name}: ExecuTorch {} {answer}", release.version());
                let does = |other: &Release| other.feature(key).is_some_and(|answer| *answer == Answer::Runs);
                (locate(element), found, first_after(release, does))
            });
        }
    }
}

/// Reports calls that the newest release does not execute, for a check without a release.
pub(super) fn check_calls(program: &Program, findings: &mut Findings, locate: &Locator<'_>) {
    if let Some(newest) = Release::known().next_back() {
        calls::check(program, newest, findings, locate);
    }
}

/// Returns fields that older releases read although they may be absent: their features, and the first element without the field.
fn absent(program: &Program) -> impl Iterator<Item = (&'static str, &'static str, Element)> {
    let method = program.plans().iter().position(|plan| plan.container_meta_type.is_none());
    let delegate = program.plans().iter().enumerate().find_map(|(method, plan)| {
        let delegate = plan.delegates().iter().position(|delegate| delegate.compile_specs.is_none())?;
        Some(Element::Method(method, Part::Delegate(delegate)))
    });
    let method = method.map(|method| {
        (
            "method.without_container",
            "a method without the structure of its outputs, which an application may ask for",
            Element::Method(method, Part::Whole),
        )
    });
    method
        .into_iter()
        .chain(delegate.map(|at| ("delegates.without_options", "a delegate without a list of options", at)))
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
