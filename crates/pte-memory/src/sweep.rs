//! Computes the length of a union of intervals over time: the number of bytes of a pool that live tensors occupy. It is
//! independent of tensors.

use std::ops::Range;

/// Bytes that are in use during a span of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Range of offsets; an empty one counts nothing.
    pub bytes: Range<u64>,
    /// First and last time, both inclusive.
    pub times: (u32, u32),
}

/// Returns the number of bytes in use from time 0 to `end`, as the times at which it changes, from 0 on, each with the
/// number from then on. Bytes with several uses count once. The computation takes `n log n` steps for `n` uses.
pub fn used_bytes(uses: &[Use], end: u32) -> Vec<(u32, u64)> {
    let mut bounds: Vec<u64> = uses.iter().flat_map(|used| [used.bytes.start, used.bytes.end]).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let mut union = Union::new(&bounds);
    let mut changes: Vec<(u32, bool, usize)> = Vec::with_capacity(2 * uses.len());
    for (index, used) in uses.iter().enumerate().filter(|(_, used)| !used.bytes.is_empty()) {
        let (first, last) = used.times;
        changes.push((first, true, index));
        changes.push((last.saturating_add(1), false, index));
    }
    changes.sort_unstable();
    let mut in_use = vec![(0, 0)];
    for (time, begins, index) in changes.into_iter().take_while(|(time, ..)| *time <= end) {
        let Range { start, end } = uses[index].bytes;
        let at = |bound: u64| bounds.partition_point(|other| *other < bound);
        union.change(at(start)..at(end), begins);
        match in_use.last_mut() {
            Some((last, total)) if *last == time => *total = union.total(),
            Some(_) | None => in_use.push((time, union.total())),
        }
    }
    in_use.dedup_by_key(|(_, total)| *total);
    in_use
}

/// A segment tree over the intervals between consecutive bounds.
struct Union<'b> {
    bounds: &'b [u64],
    /// Number of leaves: a power of two.
    leaves: usize,
    /// By node: the number of uses that cover all of it, without those that cover a parent.
    covers: Vec<u32>,
    /// By node: bytes in use, without the covers of parents.
    used: Vec<u64>,
}

impl<'b> Union<'b> {
    fn new(bounds: &'b [u64]) -> Union<'b> {
        let leaves = bounds.len().next_power_of_two();
        Union { bounds, leaves, covers: vec![0; 2 * leaves], used: vec![0; 2 * leaves] }
    }

    fn total(&self) -> u64 {
        self.used[1]
    }

    fn change(&mut self, range: Range<usize>, begins: bool) {
        self.descend(1, 0..self.leaves, &range, begins);
    }

    fn descend(&mut self, node: usize, span: Range<usize>, range: &Range<usize>, begins: bool) {
        if range.end <= span.start || span.end <= range.start {
            return;
        }
        if range.start <= span.start && span.end <= range.end {
            let covers = &mut self.covers[node];
            *covers = if begins { *covers + 1 } else { *covers - 1 };
        } else {
            let middle = span.start.midpoint(span.end);
            self.descend(2 * node, span.start..middle, range, begins);
            self.descend(2 * node + 1, middle..span.end, range, begins);
        }
        self.used[node] = match (self.covers[node], span.len()) {
            (0, 1) => 0,
            (0, _) => self.used[2 * node] + self.used[2 * node + 1],
            _ => {
                let bound = |index: usize| self.bounds[index.min(self.bounds.len() - 1)];
                bound(span.end) - bound(span.start)
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(bytes: Range<u64>, first: u32, last: u32) -> Use {
        Use { bytes, times: (first, last) }
    }

    #[test]
    fn bytes_in_use_count_once() {
        let uses = [used(0..8, 0, 2), used(4..12, 1, 1), used(16..20, 1, 3), used(5..5, 0, 9)];
        assert_eq!(used_bytes(&uses, 4), [(0, 8), (1, 16), (2, 12), (3, 4), (4, 0)]);
        assert_eq!(used_bytes(&[], 1), [(0, 0)]);
        assert_eq!(used_bytes(&[used(0..u64::MAX, 0, u32::MAX)], 1), [(0, u64::MAX)]);
        // One begins when another ends: nothing changes.
        assert_eq!(used_bytes(&[used(0..4, 2, 3), used(4..8, 4, 5)], 9), [(0, 0), (2, 4), (6, 0)]);
    }

    /// Compared with a bitmap.
    #[test]
    fn random_uses() {
        let mut state = 1u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let uses: Vec<Use> = (0..next(12))
                .map(|_| {
                    let (start, first) = (next(40), next(10) as u32);
                    used(start..start + next(20), first, first + next(6) as u32)
                })
                .collect();
            let expected: Vec<u64> = (0..=16)
                .map(|time| {
                    let alive = |used: &&Use| (used.times.0..=used.times.1).contains(&time);
                    let byte = |at: u64| uses.iter().filter(alive).any(|used| used.bytes.contains(&at));
                    (0..64).filter(|at| byte(*at)).count() as u64
                })
                .collect();
            let found = used_bytes(&uses, 16);
            assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1), "{found:?}");
            let at = |time: u32| found[found.partition_point(|(start, _)| *start <= time) - 1].1;
            assert_eq!((0..=16).map(at).collect::<Vec<u64>>(), expected, "{uses:?}");
        }
    }
}
