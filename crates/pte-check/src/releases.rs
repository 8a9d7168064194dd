//! The release of ExecuTorch that a program needs (`G-32`).

use super::finding::{Findings, Locator};
use crate::RuleId::*;
use pte_model::program::Program;
use pte_model::program::releases::newest;

/// Reports the newest feature of a program.
pub fn check(program: &Program, findings: &mut Findings, locate: &Locator<'_>) {
    let Some((feature, element)) = newest(program) else { return };
    findings.add(G_32, || {
        let expected = format!("a runtime of ExecuTorch {} or later", feature.release);
        (locate(&element), feature.name.to_owned(), expected)
    });
}
