//! Control flow, initialisation, memory and unused elements of a program, as its instructions determine them (`X-`).
//!
//! ```text
//! Program --method--> accesses by step and value --control--> jumps --numbers, state, initialisation, memory, sharing, unused--> findings
//! ```
//!
//! Indices out of range are skipped: they were reported by `super::fields`. No bytes of the file are read.

pub(super) mod method;

mod control;
mod forward;
mod initialisation;
mod memory;
pub(super) mod numbers;
mod paths;
mod shared_state;
mod sharing;
mod state;
mod unused;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::finding::{Findings, Locator};
use super::operators;
use crate::data::workers;
use crate::operators::OperatorSet;
use crate::program::Program;
use method::MethodAnalysis;

/// Number of instructions from which a method is checked by two threads.
const LARGE: usize = 1 << 12;

/// Checks the calls and the semantics of a program. `reported` has the unknown operators that other messages name; `locate` returns the
/// location of an element in the file.
pub fn check(
    program: &Program,
    set: &OperatorSet,
    reported: &BTreeSet<String>,
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    let mut methods: Vec<MethodAnalysis<'_>> =
        (0..program.plans().len()).filter_map(|index| MethodAnalysis::new(program, index, set)).collect();
    let uninitialised: Vec<_> = methods.iter_mut().map(initialisation::classify_accesses).collect();
    let states = initialisation::StateStarts::new(&methods);
    let mut unknown = reported.clone();
    for (method, uninitialised) in methods.iter().zip(&uninitialised) {
        let flow = &control::ControlFlow::new(method);
        let mut calls = findings.empty();
        let mut check_calls = || {
            operators::check(method, &numbers::assumptions(method, flow), &mut unknown, &mut calls, locate);
        };
        let mut others = findings.empty();
        let mut check_others = || {
            control::check(method, flow, &mut others, locate);
            state::check(method, flow, &mut others, locate);
            initialisation::check(method, flow, uninitialised, &states, &mut others, locate);
            paths::check(method, flow, &mut others, locate);
            memory::check(method, flow, &mut others, locate);
            sharing::check(method, &mut others, locate);
            unused::check(method, &mut others, locate);
        };
        match method.steps.len() >= LARGE {
            true => workers::both(check_calls, check_others),
            false => {
                check_calls();
                check_others();
            }
        }
        // In this order, whichever was faster.
        findings.append(calls);
        findings.append(others);
    }
    unused::check_data(program, findings, locate);
    shared_state::check(program, findings, locate);
}
