//! Checks control flow, initialisation, memory and unused elements of a program by following its instructions (`X-`).
//!
//! ```text
//! Program --method--> accesses by step and value --control--> jumps
//!         --values, state, initialisation, memory, sharing, unused--> findings
//! ```
//!
//! Indices out of range are skipped, because `super::fields` reported them. Of the data, only constants that kernels
//! read as numbers are.

pub(super) mod method;

mod control;
mod initialisation;
pub mod limits;
mod memory;
mod paths;
mod possible;
mod shared_state;
mod sharing;
mod state;
mod unused;
pub(super) mod values;
mod writers;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::finding::{Findings, Locator};
use super::operators;
use control::ControlFlow;
use initialisation::StateStarts;
use limits::Work;
use method::MethodAnalysis;
use pte_model::data::workers;
use pte_model::program::Program;
use pte_operators::OperatorSet;

/// A method, with results that several checks need.
#[derive(Clone, Copy)]
struct Subject<'s, 'p> {
    method: &'s MethodAnalysis<'p>,
    flow: &'s ControlFlow,
    states: &'s StateStarts<'p>,
}

type Check = fn(Subject<'_, '_>, &mut Findings, &Locator<'_>);

/// The checks of a method in the order of their findings. They are independent of each other. A check with a higher
/// number takes longer.
const CHECKS: &[(u8, Check)] = &[
    (9, |s, findings, locate| {
        operators::check(s.method, &values::values(s.method, s.flow, findings, locate), findings, locate)
    }),
    (0, |s, findings, locate| control::check(s.method, s.flow, findings, locate)),
    (4, |s, findings, locate| state::check(s.method, s.flow, findings, locate)),
    (3, |s, findings, locate| initialisation::check(s.method, s.flow, s.states, findings, locate)),
    (1, |s, findings, locate| paths::check(s.method, s.flow, findings, locate)),
    (8, |s, findings, locate| memory::check(s.method, s.flow, findings, locate)),
    (7, |s, findings, locate| sharing::check(s.method, findings, locate)),
    (2, |s, findings, locate| unused::check(s.method, findings, locate)),
];

/// Checks the calls and the semantics of a program, method by method: what was analysed of one is dropped before the
/// next. `reported` has the unknown operators that other messages name; `locate` returns the location of an element in
/// the file.
pub fn check(
    program: &Program,
    set: &OperatorSet,
    reported: &BTreeSet<String>,
    work: &Work,
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    let states = &StateStarts::new(program, set);
    let mut unknown = reported.clone();
    for method in (0..program.plans().len()).filter_map(|index| MethodAnalysis::new(program, index, set, work)) {
        let method = &method;
        operators::report_unregistered(method, &mut unknown, findings, locate);
        let subject = Subject { method, flow: &ControlFlow::new(method), states };
        let mut checks: Vec<usize> = (0..CHECKS.len()).collect();
        checks.sort_by_key(|index| Reverse(CHECKS[*index].0));
        let mut found = workers::map(checks, if method.steps.len() < method::LARGE { 1 } else { 2 }, |index| {
            let mut findings = findings.empty();
            (CHECKS[index].1)(subject, &mut findings, locate);
            (index, findings)
        });
        // The order does not depend on which check was faster.
        found.sort_by_key(|(index, _)| *index);
        found.into_iter().for_each(|(_, found)| findings.append(found));
        if workers::lock(&method.constant_bytes).is_exceeded() {
            method.report(&limits::CONSTANTS, findings, locate);
        }
    }
    unused::check_data(program, findings, locate);
    shared_state::check(program, findings, locate);
}
