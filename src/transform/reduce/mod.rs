//! Finds a small program with the same defect. It proposes programs with parts removed or made smaller, and keeps those
//! that a test accepts.
//!
//! It runs no command and reads no file: the caller tests the candidates, and may reject invalid ones. The same answers
//! give the same candidates.

pub mod bytes;
mod candidate;
pub mod flow;
mod graphs;
mod instructions;
mod parts;
mod search;
mod sizes;
#[cfg(test)]
mod tests;

use candidate::Reduction;
pub use candidate::{Candidate, Test};
pub use search::{Reduced, Stopped};

/// Offers smaller candidates than the best one.
type Pass = fn(&mut Reduction<'_>) -> Result<(), Stopped>;

/// Passes in their order. The ones that remove the most with few tests come first.
const PASSES: &[Pass] = &[
    parts::attributes,
    parts::methods,
    parts::tests,
    parts::unused,
    instructions::reduce,
    parts::outputs,
    parts::lists,
    parts::inputs,
    parts::named_data,
    parts::external_constants,
    parts::external_data,
    parts::compile_specs,
    parts::payloads,
    graphs::reduce,
    parts::zeros,
    sizes::reduce,
];

/// Reduces a program that has the defect: repeats all passes until none makes it smaller.
pub fn reduce<'t>(candidate: Candidate, test: &'t mut Test<'t>) -> Reduced<Candidate> {
    let mut reduction = Reduction { best: candidate, test };
    let done = loop {
        let before = reduction.best.clone();
        if let Err(stopped) = PASSES.iter().try_for_each(|pass| pass(&mut reduction)) {
            break Err(stopped);
        }
        if reduction.best == before {
            break Ok(());
        }
    };
    Reduced { best: reduction.best, is_complete: done.is_ok() }
}
