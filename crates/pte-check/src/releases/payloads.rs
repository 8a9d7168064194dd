//! Parts of the graphs of XNNPACK delegates that a release does not accept (`V-3`).

use std::collections::BTreeSet;

use super::first::first_after;
use crate::RuleId::*;
use crate::finding::{Findings, Locator};
use pte_model::program::Program;
use pte_model::program::element::{Element, Part};
use pte_payload::xnnpack::BACKEND;
use pte_payload::xnnpack::decode::decode;
use pte_payload::xnnpack::parts;
use pte_releases::{Answer, Release};

/// Compares the payloads of all XNNPACK delegates with what a release accepts; each part of a payload once.
pub fn check(program: &Program, release: &Release, findings: &mut Findings, locate: &Locator<'_>) {
    // Delegates with the same payload have the same findings.
    let mut seen = BTreeSet::new();
    for (method, plan) in program.plans().iter().enumerate() {
        for (index, delegate) in plan.delegates().iter().enumerate() {
            if delegate.id.as_deref() != Some(BACKEND) || !seen.insert(delegate.processed) {
                continue;
            }
            // The rules D- report a payload that cannot be decoded.
            let Ok(graph) = decode(program.blob(delegate.processed)) else { continue };
            let mut reported = BTreeSet::new();
            for (part, node) in parts::of(&graph, delegate.inline == Some(true)) {
                let Some(answer) = release.xnnpack(&part).filter(|answer| !accepts(answer)) else { continue };
                if !reported.insert(part.clone()) {
                    continue;
                }
                findings.add(V_3, || {
                    let at = node.map_or(Part::Delegate(index), |node| Part::GraphNode(index, node));
                    let found = format!("`{part}` in a payload: ExecuTorch {} {answer}", release.version());
                    let does = |other: &Release| other.xnnpack(&part).is_some_and(accepts);
                    (locate(&Element::Method(method, at)), found, first_after(release, does))
                });
            }
        }
    }
}

fn accepts(answer: &Answer) -> bool {
    answer.is_usable() || *answer == Answer::NotTried
}
