//! Finds a small program with the same defect. It proposes programs with parts removed or made smaller, and keeps those
//! that a test accepts.
//!
//! It runs no command and reads no file: the caller tests the candidates, and may reject invalid ones. The same answers
//! give the same candidates. Unreferenced values, operators, delegates and data are removed from each of them.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod bytes;
mod candidate;
mod file;
pub mod flow;
mod graphs;
mod instructions;
mod parts;
mod search;
mod sizes;
pub use bytes::reduce_bytes;
use candidate::Reduction;
pub use candidate::{Candidate, CandidateTest};
pub use file::{FileContent, FileTests, TestRuns, reduce_file};
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

/// Reduces a program that has the defect: repeats all passes until none makes it smaller. `test` returns whether a
/// candidate has the defect; it is a [`CandidateTest`].
///
/// ```
/// use pte_model::data::Origin;
/// use pte_model::reader;
/// use pte_reduce::{Candidate, Reduced, Stopped, reduce_program};
///
/// let program = reader::program::read(&Origin::Bytes(pte_model::LINEAR_PTE.into()))?.program;
/// let calls = |candidate: &Candidate| candidate.program.plans().iter().flat_map(|plan| plan.instructions()).count();
/// let candidate = Candidate::new(program, Vec::new());
/// let reduced = reduce_program(candidate, &mut |candidate| Ok(calls(candidate) > 0));
/// assert!(reduced.is_complete);
/// assert_eq!(calls(&reduced.best), 1);
///
/// // A test that has no more time.
/// let Reduced { best, is_complete, .. } = reduce_program(reduced.best, &mut |_| Err(Stopped));
/// assert_eq!((calls(&best), is_complete), (1, false));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn reduce_program<'t>(candidate: Candidate, test: &'t mut CandidateTest<'t>) -> Reduced<Candidate> {
    let mut reduction = Reduction { best: candidate, test };
    let done = loop {
        let before = reduction.best.clone();
        if let Err(stopped) = PASSES.iter().try_for_each(|pass| pass(&mut reduction)) {
            break Err(stopped);
        }
        // Tests may have a NaN, which equals nothing; they change with the program, except that cases are removed.
        let cases = |candidate: &Candidate| candidate.tests.iter().map(|tests| tests.cases.len()).sum::<usize>();
        if reduction.best.program == before.program && cases(&reduction.best) == cases(&before) {
            break Ok(());
        }
    };
    Reduced { best: reduction.best, is_complete: done.is_ok() }
}
