//! Reduces a file: as a program, planned again in the end, or byte by byte if the defect is not in the program.

use std::collections::HashMap;

use super::bytes::reduce_bytes;
use super::candidate::Candidate;
use super::reduce_program;
use super::search::{Reduced, Stopped};

/// Tests of candidates for a file, and what the assembler does with them.
pub trait FileTests {
    /// Layout options of a program.
    type Layout;
    /// Error that ends the reduction without a result.
    type Error;

    /// Returns true if the file of a program has the defect.
    ///
    /// # Errors
    /// No more candidates can be tested.
    fn test_program(&mut self, candidate: &Candidate, layout: &Self::Layout) -> Result<bool, Stopped>;

    /// Returns true if these bytes have the defect.
    ///
    /// # Errors
    /// No more candidates can be tested.
    fn test_bytes(&mut self, bytes: &[u8]) -> Result<bool, Stopped>;

    /// Returns the same program with values that are numbered and memory that is planned again, if that is possible.
    fn planned_again(&self, candidate: &Candidate, layout: &Self::Layout) -> Option<(Candidate, Self::Layout)>;

    /// Returns the bytes of the file, of which some are removed or replaced.
    ///
    /// # Errors
    /// A file that is not reduced by bytes.
    fn bytes(&self) -> Result<Vec<u8>, Self::Error>;
}

/// Content of a reduced file.
#[derive(Debug, PartialEq)]
pub enum FileContent<L> {
    /// A program, with its layout options.
    Program(Box<Candidate>, L),
    /// A file that is not a program.
    Bytes(Vec<u8>),
}

/// Reduces a file: its program, if it has one, with the first of the layout options that keeps the defect, otherwise
/// its bytes.
///
/// ```
/// use pte_reduce::{Candidate, FileContent, FileTests, Stopped, TestRuns, reduce_file};
///
/// /// Files of more than one byte have the defect.
/// struct Tests(TestRuns);
///
/// impl FileTests for Tests {
///     type Layout = ();
///     type Error = std::io::Error;
///
///     fn test_program(&mut self, _: &Candidate, _: &()) -> Result<bool, Stopped> {
///         self.0.test([0; 32], |_run| Ok(false))
///     }
///
///     fn test_bytes(&mut self, bytes: &[u8]) -> Result<bool, Stopped> {
///         Ok(bytes.len() > 1)
///     }
///
///     fn planned_again(&self, _: &Candidate, _: &()) -> Option<(Candidate, ())> {
///         None
///     }
///
///     fn bytes(&self) -> std::io::Result<Vec<u8>> {
///         Ok(vec![1; 4])
///     }
/// }
///
/// let mut tests = Tests(TestRuns::new(0, None));
/// let done = reduce_file(Some(Candidate::default()), vec![()], &mut tests)?;
/// assert_eq!((done.best, tests.0.count()), (FileContent::Bytes(vec![0, 0]), 1));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// See [`FileTests::bytes`].
pub fn reduce_file<F: FileTests>(
    program: Option<Candidate>,
    layouts: Vec<F::Layout>,
    tests: &mut F,
) -> Result<Reduced<FileContent<F::Layout>>, F::Error> {
    if let Some(candidate) = program {
        for layout in layouts {
            match tests.test_program(&candidate, &layout) {
                Ok(true) => {
                    let Reduced { best, is_complete } =
                        reduce_program(candidate, &mut |candidate| tests.test_program(candidate, &layout));
                    let (best, layout) = match tests.planned_again(&best, &layout) {
                        Some((again, own)) if tests.test_program(&again, &own) == Ok(true) => (again, own),
                        Some(_) | None => (best, layout),
                    };
                    return Ok(Reduced { best: FileContent::Program(Box::new(best), layout), is_complete });
                }
                Ok(false) => {}
                Err(Stopped) => break,
            }
        }
    }
    let Reduced { best, is_complete } = reduce_bytes(tests.bytes()?, &mut |bytes| tests.test_bytes(bytes));
    Ok(Reduced { best: FileContent::Bytes(best), is_complete })
}

/// Runs of a test, and their outcomes.
#[derive(Debug, Default)]
pub struct TestRuns {
    count: u64,
    limit: Option<u64>,
    /// By digest of the files: true if they have the defect.
    tried: HashMap<[u8; 32], bool>,
}

impl TestRuns {
    /// Begins after `count` runs, and stops after `limit`.
    pub fn new(count: u64, limit: Option<u64>) -> TestRuns {
        TestRuns { count, limit, tried: HashMap::new() }
    }

    /// Returns the number of runs.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Tests files with this digest, unless files with the same one were tested. `run` gets the number of the run.
    ///
    /// # Errors
    /// The limit is reached, or `run` returned an error.
    pub fn test(&mut self, digest: [u8; 32], run: impl FnOnce(u64) -> Result<bool, Stopped>) -> Result<bool, Stopped> {
        if let Some(accepted) = self.tried.get(&digest) {
            return Ok(*accepted);
        }
        if self.limit.is_some_and(|limit| self.count >= limit) {
            return Err(Stopped);
        }
        self.count += 1;
        let accepted = run(self.count)?;
        self.tried.insert(digest, accepted);
        Ok(accepted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pte_model::program::{ExecutionPlan, Program};

    /// Files whose defect is that the layout, or a byte, is one of these.
    struct Defect {
        layouts: &'static [u8],
        byte: u8,
        again: Option<u8>,
        runs: TestRuns,
    }

    impl FileTests for Defect {
        type Layout = u8;
        type Error = ();

        fn test_program(&mut self, candidate: &Candidate, layout: &u8) -> Result<bool, Stopped> {
            let digest = [candidate.program.plans().len() as u8 + 16 * layout; 32];
            self.runs.test(digest, |_| Ok(self.layouts.contains(layout)))
        }

        fn test_bytes(&mut self, bytes: &[u8]) -> Result<bool, Stopped> {
            Ok(bytes.contains(&self.byte))
        }

        fn planned_again(&self, candidate: &Candidate, _: &u8) -> Option<(Candidate, u8)> {
            Some((candidate.clone(), self.again?))
        }

        fn bytes(&self) -> Result<Vec<u8>, ()> {
            Ok(vec![1, 2, 3])
        }
    }

    fn reduced(layouts: &'static [u8], again: Option<u8>, limit: Option<u64>) -> (FileContent<u8>, bool, u64) {
        let program = Program::new(vec![ExecutionPlan::new("a"), ExecutionPlan::new("b")]);
        let mut tests = Defect { layouts, byte: 2, again, runs: TestRuns::new(0, limit) };
        let done = reduce_file(Some(Candidate::new(program, Vec::new())), vec![1, 2], &mut tests).unwrap();
        (done.best, done.is_complete, tests.runs.count())
    }

    fn layout_of(content: &FileContent<u8>) -> Option<u8> {
        match content {
            FileContent::Program(candidate, layout) if candidate.program.plans().is_empty() => Some(*layout),
            FileContent::Program(..) | FileContent::Bytes(_) => None,
        }
    }

    #[test]
    fn a_program_has_the_first_layout_with_the_defect_unless_it_is_planned_again() {
        assert_eq!(layout_of(&reduced(&[1, 2], None, None).0), Some(1));
        assert_eq!(layout_of(&reduced(&[2], None, None).0), Some(2));
        assert_eq!(layout_of(&reduced(&[1, 3], Some(3), None).0), Some(3));
        assert_eq!(layout_of(&reduced(&[1], Some(3), None).0), Some(1));
    }

    #[test]
    fn a_defect_that_is_not_in_the_program_is_reduced_by_bytes() {
        assert_eq!(reduced(&[], None, None), (FileContent::Bytes(vec![0, 2]), true, 2));
    }

    #[test]
    fn equal_files_are_tested_once_and_runs_are_limited() {
        // The whole program, and that without methods, which all later candidates equal.
        let (_, is_complete, runs) = reduced(&[1], None, None);
        assert_eq!((is_complete, runs), (true, 2));
        let (content, is_complete, runs) = reduced(&[1], None, Some(1));
        assert!(matches!(content, FileContent::Program(..)) && !is_complete);
        assert_eq!(runs, 1);
    }
}
