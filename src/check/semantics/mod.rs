//! What a program means, as far as its instructions say: control flow, content, memory, what is of no use.
//!
//! ```text
//! Program --method--> steps, uses, kinds --control--> ways --initialisation--> content --memory, unused--> findings
//! ```
//!
//! Fields were checked before; still, what is out of range is passed over here, and never followed. Each file beside this
//! one is a subject; nothing here reads bytes.

pub(super) mod method;

mod control;
mod initialisation;
mod memory;
mod unused;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use super::finding::Findings;
use super::finding::Locate;
use super::operators;
use crate::operators::OperatorSet;
use crate::program::Program;
use method::Method;

/// Checks the operators and the meaning of a program. `place` says which byte of the file a part of it is;
/// [`super::locus::without_offset`] is for who does not know.
pub fn check(program: &Program, set: &OperatorSet, findings: &mut Findings, place: &Locate<'_>) {
    let mut methods: Vec<Method<'_>> =
        (0..program.plans().len()).filter_map(|index| Method::new(program, index, set)).collect();
    let contents: Vec<_> = methods.iter_mut().map(initialisation::settle).collect();
    let kept = initialisation::Kept::new(&methods);
    let mut unknown = HashSet::new();
    for (method, content) in methods.iter().zip(&contents) {
        operators::check(method, &mut unknown, findings, place);
        let flow = control::Flow::new(method);
        control::check(method, &flow, findings, place);
        initialisation::check(method, &flow, content, &kept, findings, place);
        memory::check(method, &flow, findings, place);
        unused::check(method, findings, place);
    }
    unused::check_data(program, findings, place);
}
