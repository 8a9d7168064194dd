//! Search for the elements of a list that are needed, with few tests: about the logarithm of the length for each needed
//! element.
//!
//! Knows nothing of programs. Delta debugging needs more tests for the usual case of a few needed elements far apart.

/// The test of a candidate cannot be run any more: interrupted, or too many runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Result of a reduction.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reduced<T> {
    /// The last one that the test accepted.
    pub best: T,
    /// False if the test stopped: a smaller one may be found.
    pub is_complete: bool,
}

/// Finds elements that cannot be removed. `test` gets a flag for each of `count` elements, and returns true if the
/// defect is there with only these. That it is there with all of them is known. Returns the flags of the last
/// successful test, or of all elements.
///
/// The last needed element is the one with which the shortest prefix with the defect ends; the next one is found in the
/// prefix before it, and so on. If the defect depends on the elements in another way than by containing some of them,
/// the result is still one that `test` has accepted, but a smaller one may exist.
///
/// # Errors
/// That of `test`.
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
        // Dropping `low` elements before `end` succeeds, dropping `high` fails.
        let (mut low, mut high) = (0, end);
        while high - low > 1 {
            // Needed elements are often close to each other: as many as last time, then twice as many.
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
