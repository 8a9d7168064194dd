//! Finds a small program with the same defect: proposes programs in which something is missing or smaller, and keeps those that a test
//! accepts.
//!
//! Runs no command and reads no file: the caller tests the candidates, and rejects those that are not valid if it wants valid ones. The
//! same answers give the same candidates.

pub mod bytes;
mod instructions;
mod parts;
mod search;
mod sizes;
#[cfg(test)]
mod tests;

use crate::program::Program;
use crate::program::test_cases::MethodTests;
use crate::transform::prune;

/// A program with its tests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Candidate {
    /// The program.
    pub program: Program,
    /// Tests of its methods.
    pub tests: Vec<MethodTests>,
}

/// The test of a candidate cannot be run any more: interrupted, or too many runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Result of a reduction.
#[derive(Debug)]
pub struct Reduced<T> {
    /// The last one that the test accepted.
    pub best: T,
    /// False if the test stopped: a smaller one may be found.
    pub is_complete: bool,
}

/// Returns true if a candidate has the defect.
pub type Test<'t> = dyn FnMut(&Candidate) -> Result<bool, Stopped> + 't;

/// State of a reduction.
struct Reduction<'t> {
    best: Candidate,
    test: &'t mut Test<'t>,
}

/// Passes in order: those that remove most with few tests are the first ones.
const PASSES: &[fn(&mut Reduction<'_>) -> Result<(), Stopped>] = &[
    parts::attributes,
    parts::methods,
    parts::tests,
    parts::unused,
    instructions::reduce,
    parts::outputs,
    parts::lists,
    parts::inputs,
    parts::named_data,
    parts::external_data,
    parts::compile_specs,
    parts::payloads,
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

impl Reduction<'_> {
    /// Tests a candidate without what nothing refers to, and keeps it if it has the defect. One that does not differ from the best one has it.
    fn offer(&mut self, mut candidate: Candidate) -> Result<bool, Stopped> {
        prune::drop_unreferenced(&mut candidate.program);
        if candidate == self.best {
            return Ok(true);
        }
        let accepted = (self.test)(&candidate)?;
        if accepted {
            self.best = candidate;
        }
        Ok(accepted)
    }

    /// Removes as many of `count` elements of the best candidate as possible. `build` returns a candidate with those whose flags are true.
    fn minimize(&mut self, count: usize, build: impl Fn(&Candidate, &[bool]) -> Candidate) -> Result<(), Stopped> {
        let base = self.best.clone();
        search::minimize(count, &mut |kept| self.offer(build(&base, kept)))?;
        Ok(())
    }
}

/// Removes the items whose flags are false.
fn retain<T>(items: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    items.retain(|_| kept.next().is_none_or(|kept| *kept));
}
