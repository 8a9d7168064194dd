//! The release of ExecuTorch that a program needs (`G-32`), and whether a file runs in one release (`V-`, for
//! [`CheckOptions::runtime`]).
//!
//! The operators and features that a release registers, accepts and survives are measured: [`Release`] has the facts.
//!
//! [`CheckOptions::runtime`]: crate::CheckOptions::runtime

mod answers;
mod calls;
mod operators;
mod payloads;
mod report;

pub(super) use answers::malformed;

use std::collections::BTreeMap;

use super::finding::{Findings, Location, Locator};
use crate::RuleId::*;
use payloads::PayloadParts;
use pte_model::diagnostics::{clipped, first_names};
use pte_model::program::Program;
use pte_model::program::element::{Element, Part};
use pte_model::program::releases::{EXTERNAL, newest, used};
use pte_releases::{Answer, Release};
use pte_xnnpack::payloads::Payloads;
use report::{Report, expected, reported};

/// Reports the newest feature of a program.
pub(super) fn check(program: &Program, findings: &mut Findings, locate: &Locator<'_>) {
    let Some((feature, element)) = newest(program) else { return };
    findings.add(G_32, || {
        let expected = format!("a runtime of ExecuTorch {} or later", feature.release);
        (locate(&element), feature.name.to_owned(), expected)
    });
}

/// Needs of a program on the release that runs it, for comparisons with several releases.
///
/// ```
/// use pte_check::pte_releases::Release;
/// use pte_model::data::Origin;
///
/// let program = pte_model::reader::program::read(&Origin::Bytes(pte_model::LINEAR_PTE.into()))?.program;
/// let requirements = pte_check::Requirements::of(&program);
/// assert!(Release::known().all(|release| requirements.are_met_by(&release)));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Requirements<'p> {
    program: &'p Program,
    /// Words of features in the tables, each with its name and the first element that has it.
    features: Vec<(String, String, Element)>,
    payloads: PayloadParts,
}

impl<'p> Requirements<'p> {
    /// Collects them: reads all tensors, and decodes the payloads of XNNPACK.
    pub fn of(program: &'p Program) -> Requirements<'p> {
        Requirements::with_payloads(program, &Payloads::of(program, u64::MAX))
    }

    pub(super) fn with_payloads(program: &'p Program, payloads: &Payloads) -> Requirements<'p> {
        let payloads = PayloadParts::of(program, payloads);
        let used = used(program).into_iter().map(|(feature, at)| (feature.key.to_owned(), feature.name.to_owned(), at));
        let types = types(program).map(|(name, at)| (format!("type.{name}"), format!("a tensor of {name}"), at));
        let external = payloads.external.map(|at| ("named_data.external", "constants of a payload in a .ptd", at));
        let others = absent(program).into_iter().flatten().chain(external);
        let others = others.map(|(key, name, at)| (key.to_owned(), name.to_owned(), at));
        let features = used.chain(types).chain(others).collect();
        Requirements { program, features, payloads }
    }

    /// Returns `true` if a release has the operators, features and payloads of the program, and executes its calls: if
    /// the rules `V-` find no error.
    pub fn are_met_by(&self, release: &Release) -> bool {
        let mut is_met = true;
        self.each(release, &mut |_, _, _| is_met = false);
        is_met
    }

    /// Returns the parts that a release does not have, or does not execute.
    pub fn unmet(&self, release: &Release) -> Vec<Unmet> {
        let mut found = Vec::new();
        self.each(release, &mut |_, at, describe| {
            let (what, expected) = describe();
            found.push(Unmet { at, what, expected });
        });
        found
    }

    /// Reports the parts that a release does not have.
    pub(super) fn compare(&self, release: &Release, findings: &mut Findings, locate: &Locator<'_>) {
        self.each(release, &mut reported(findings, locate));
    }

    fn each(&self, release: &Release, report: &mut Report<'_>) {
        operators::check(self.program, release, report);
        calls::check(self.program, release, report);
        self.payloads.check(release, report);
        if release.is_own_build() {
            backends(self.program, release, report);
        }
        for (key, name, element) in &self.features {
            let Some(answer) = release.feature(key) else { continue };
            let rule = match answer {
                Answer::Runs => continue,
                Answer::Ignores => V_5,
                Answer::Unable | Answer::Rejects { .. } | Answer::Crashes | Answer::Hangs => V_4,
            };
            report(rule, *element, &|| {
                let first = release.first_later(|other| other.runs(key));
                (format!("{name}: {release} {answer}"), expected(first))
            });
        }
    }
}

/// Something that a program needs and a release does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// The part of the program.
    pub at: Element,
    /// Description of the defect and of the release's behaviour, for messages.
    pub what: String,
    /// The first release that accepts it.
    pub expected: String,
}

/// Reports calls that the newest release does not execute, for a check without a release.
pub(super) fn check_calls(program: &Program, findings: &mut Findings, locate: &Locator<'_>) {
    if let Some(newest) = Release::known().next_back() {
        calls::check(program, &newest, &mut reported(findings, locate));
    }
}

/// Returns fields that older releases read although they may be absent: their features, and the first element without
/// the field.
fn absent(program: &Program) -> [Option<(&'static str, &'static str, Element)>; 2] {
    let method = program.plans().iter().position(|plan| plan.container_meta_type.is_none());
    let delegate = program.delegates().find(|(.., delegate)| delegate.compile_specs.is_none());
    let delegate = delegate.map(|(method, index, _)| Element::Method(method, Part::Delegate(index)));
    let outputs = "a method without the structure of its outputs, which an application may ask for";
    [
        method.map(|method| ("method.without_container", outputs, Element::Method(method, Part::Whole))),
        delegate.map(|at| ("delegates.without_options", "a delegate without a list of options", at)),
    ]
}

/// Reports delegates of backends that a custom build does not register. Applications link further backends than the
/// packages, so that the tables of releases do not tell.
fn backends(program: &Program, release: &Release, report: &mut Report<'_>) {
    for (method, index, delegate) in program.delegates() {
        let Some(id) = delegate.id.as_deref() else { continue };
        if release.has_backend(id) {
            continue;
        }
        report(V_3, Element::Method(method, Part::Delegate(index)), &|| {
            let first = release.first_later(|other| other.has_backend(id));
            (format!("backend `{}`, which {release} does not register", clipped(id)), expected(first))
        });
    }
}

/// Compares a `.ptd` with a release: whether it reads constants from such files.
pub(super) fn weights(release: &Release, findings: &mut Findings) {
    if let Some(answer) = release.feature(EXTERNAL).filter(|_| !release.runs(EXTERNAL)) {
        let first = || expected(release.first_later(|other| other.runs(EXTERNAL)));
        findings.add(V_4, || (Location::default(), format!("a .ptd: {release} {answer}"), first()));
    }
}

/// Compares the `.ptd` files that are loaded with a program with a release: whether it takes several.
pub(super) fn several(files: &[String], release: &Release, findings: &mut Findings) {
    let key = "constants.external_in_two_files";
    if let ([_, _, ..], Some(answer), true) = (files, release.feature(key), release.runs(EXTERNAL))
        && !release.runs(key)
    {
        let found = || {
            format!(
                "{} .ptd files ({}): {release} {answer}",
                files.len(),
                first_names(files.iter().map(String::as_str))
            )
        };
        let first = || expected(release.first_later(|other| other.runs(key)));
        findings.add(V_4, || (Location::default(), found(), format!("one of them, or {}", first())));
    }
}

/// Returns the element types of the tensors of a program, each with the first tensor that has it.
fn types(program: &Program) -> impl Iterator<Item = (String, Element)> {
    let mut found = BTreeMap::new();
    for (method, value, tensor) in program.tensors() {
        found.entry(tensor.scalar_type).or_insert(Element::Method(method, Part::Value(value)));
    }
    found.into_iter().map(|(scalar_type, element)| (scalar_type.to_string(), element))
}

#[cfg(test)]
mod tests {
    use pte_model::program::releases::FEATURES;

    use super::*;

    /// A release that G-32 names is one that V-4 accepts.
    #[test]
    fn a_needed_release_reads_the_feature() {
        for feature in FEATURES.iter().filter(|feature| !feature.key.is_empty()) {
            assert!(Release::find(feature.release).unwrap().runs(feature.key), "{} {}", feature.key, feature.release);
        }
        let releases = FEATURES.iter().map(|feature| feature.release.parse::<pte_releases::Version>().unwrap());
        assert!(releases.rev().is_sorted(), "the newest one first");
    }
}
