//! Reduces files that are not valid programs: truncates them, then replaces bytes by zeros.
//!
//! It is independent of the formats: offsets and lengths in the file are not adapted.

use super::search::{Reduced, Stopped, minimize};

/// Reduces a file. `test` returns true if the defect is there with these bytes; that it is there with all of them is
/// known.
///
/// ```
/// let reduced = pte_reduce::reduce_bytes(b"a bad file".to_vec(), &mut |bytes| Ok(bytes.contains(&b'b')));
/// assert_eq!(reduced.best, b"\0\0b");
/// ```
pub fn reduce_bytes(bytes: Vec<u8>, test: &mut dyn FnMut(&[u8]) -> Result<bool, Stopped>) -> Reduced<Vec<u8>> {
    let mut best = bytes;
    let done = truncate(&mut best, test).and_then(|()| zero(&mut best, test));
    Reduced { best, is_complete: done.is_ok() }
}

/// Finds a short prefix with the defect.
fn truncate(best: &mut Vec<u8>, test: &mut dyn FnMut(&[u8]) -> Result<bool, Stopped>) -> Result<(), Stopped> {
    // The prefix of `high` bytes has the defect; prefixes shorter than `low` are not tried.
    let (mut low, mut high) = (0, best.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match test(&best[..middle])? {
            true => {
                best.truncate(middle);
                high = middle;
            }
            false => low = middle + 1,
        }
    }
    Ok(())
}

/// Replaces all bytes by zeros, except those that the defect needs.
fn zero(best: &mut Vec<u8>, test: &mut dyn FnMut(&[u8]) -> Result<bool, Stopped>) -> Result<(), Stopped> {
    let original = best.clone();
    let positions: Vec<usize> = (0..original.len()).filter(|at| original[*at] != 0).collect();
    minimize(positions.len(), &mut |kept| {
        let mut trial = original.clone();
        for (at, _) in positions.iter().zip(kept).filter(|(_, kept)| !**kept) {
            trial[*at] = 0;
        }
        let accepted = test(&trial)?;
        if accepted {
            *best = trial;
        }
        Ok(accepted)
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_needed_bytes_stay() {
        let original: Vec<u8> = (0..2000u32).map(|at| (at % 255) as u8 + 1).collect();
        let mut tests = 0;
        let reduced = reduce_bytes(original.clone(), &mut |bytes| {
            tests += 1;
            Ok(bytes.get(700) == Some(&original[700]) && bytes.get(33) == Some(&original[33]))
        });
        let mut expected = vec![0; 701];
        (expected[33], expected[700]) = (original[33], original[700]);
        assert_eq!((reduced.best, reduced.is_complete), (expected, true));
        assert!(tests < 60, "{tests}");
    }

    #[test]
    fn the_best_file_so_far_is_kept() {
        let mut tests = 0;
        let reduced = reduce_bytes(vec![7; 64], &mut |_| {
            tests += 1;
            if tests > 2 { Err(Stopped) } else { Ok(true) }
        });
        assert_eq!((reduced.best, reduced.is_complete), (vec![7; 16], false));
    }
}
