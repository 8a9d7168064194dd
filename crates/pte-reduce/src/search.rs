//! Searches for the elements of a list that are needed. Each needed element takes about as many tests as the logarithm
//! of the length.
//!
//! It is independent of programs. Delta debugging needs more tests in the usual case of a few needed elements that are
//! far apart.

/// No more candidates can be tested: the user interrupted the search, or it reached its limit of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Result of a reduction.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reduced<T> {
    /// The last candidate that the test accepted.
    pub best: T,
    /// False if the search was stopped, in which case a smaller candidate may exist.
    pub is_complete: bool,
}

/// Finds the elements that cannot be removed. `test` gets a flag for each of `count` elements, and returns true if the
/// flagged ones alone have the defect; all of them together are known to have it. Returns the flags of the last
/// successful test, or all true.
///
/// The shortest prefix with the defect ends with the last needed element; the next one is found in the prefix before
/// it, and so on. If the defect does not simply depend on the presence of some elements, the result is still one that
/// `test` accepted, but a smaller one may exist.
///
/// # Errors
/// `test` returned an error.
pub fn minimize(count: usize, test: &mut dyn FnMut(&[bool]) -> Result<bool, Stopped>) -> Result<Vec<bool>, Stopped> {
    let mut kept = vec![true; count];
    // Elements from `end` on are decided.
    let mut end = count;
    let mut step = None;
    while end > 0 {
        let mut without = |dropped: usize, kept: &mut Vec<bool>| {
            let mut trial = kept.clone();
            trial[end - dropped..end].fill(false);
            let accepted = test(&trial)?;
            if accepted {
                *kept = trial;
            }
            Ok(accepted)
        };
        if without(end, &mut kept)? {
            break;
        }
        // Removing `low` elements before `end` succeeds, removing `high` fails.
        let (mut low, mut high) = (0, end);
        while high - low > 1 {
            // Needed elements are often close to each other: try as many as last time, then twice as many.
            let dropped = step.map_or(low + (high - low) / 2, |step: usize| step.clamp(low + 1, high - 1));
            if without(dropped, &mut kept)? {
                low = dropped;
                step = step.map(|step| step.saturating_mul(2));
            } else {
                high = dropped;
                step = None;
            }
        }
        step = Some(low + 1);
        end -= high;
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches for `needed` among `count` elements; returns the found ones and the number of tests.
    fn search(count: usize, needed: &[usize]) -> (Vec<usize>, usize) {
        let mut tests = 0;
        let mut test = |kept: &[bool]| {
            tests += 1;
            Ok(needed.iter().all(|element| kept[*element]))
        };
        let kept = minimize(count, &mut test).unwrap();
        ((0..count).filter(|element| kept[*element]).collect(), tests)
    }

    #[test]
    fn needed_elements_are_found_in_logarithmic_time() {
        for (needed, most) in [
            (&[][..], 1),
            (&[0], 14),
            (&[1234], 14),
            (&[1999], 14),
            (&[0, 1999], 28),
            (&[500, 501, 502], 30),
            (&[3, 777, 1500], 50),
            (&[1, 2, 400, 401, 402, 1900], 80),
        ] {
            let (found, tests) = search(2000, needed);
            assert_eq!(found, needed);
            assert!(tests <= most, "{needed:?}: {tests} tests");
        }
    }

    #[test]
    fn a_list_of_needed_elements_takes_two_tests_each() {
        let all: Vec<usize> = (0..100).collect();
        let (found, tests) = search(100, &all);
        assert_eq!(found, all);
        assert!(tests <= 210, "{tests}");
        assert_eq!(search(0, &[]), (vec![], 0));
        assert_eq!(search(1, &[0]).0, [0]);
    }

    #[test]
    fn the_result_of_any_test_is_one_that_it_accepted() {
        // Not monotonic: an even number of elements.
        let mut accepted = vec![vec![true; 9]];
        let mut test = |kept: &[bool]| {
            let ok = kept.iter().filter(|kept| **kept).count() % 2 == 1;
            if ok {
                accepted.push(kept.to_vec());
            }
            Ok(ok)
        };
        let kept = minimize(9, &mut test).unwrap();
        assert_eq!(accepted.last(), Some(&kept));
    }

    #[test]
    fn a_stop_ends_the_search() {
        assert!(minimize(9, &mut |_| Err(Stopped)).is_err());
    }
}
