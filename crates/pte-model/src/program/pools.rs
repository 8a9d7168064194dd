//! Bytes of planned memory: ranges of pools, and their content at some time.
//!
//! The caller determines the writes and reads.

use std::collections::BTreeMap;

use super::{EValue, Memory};

/// A range of bytes of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolRange {
    /// Pool (`memory_id`).
    pub pool: u32,
    /// Offset of the first byte.
    pub start: u64,
    /// Offset after the last byte.
    pub end: u64,
}

impl PoolRange {
    /// Returns the bytes of a tensor at an explicit location; `None` for other values, and for tensors without bytes.
    pub fn of(value: &EValue) -> Option<PoolRange> {
        let EValue::Tensor(tensor) = value else { return None };
        let Memory::At { pool, offset } = tensor.memory else { return None };
        let end = offset.checked_add(tensor.nbytes()?)?;
        (end > offset).then_some(PoolRange { pool, start: offset, end })
    }

    /// Returns `true` if the two ranges have bytes in common.
    pub fn overlaps(&self, other: &PoolRange) -> bool {
        self.pool == other.pool && self.start < other.end && other.start < self.end
    }
}

/// A set of bytes: disjoint ranges in ascending order.
#[derive(Debug)]
pub struct PoolRanges(Vec<PoolRange>);

impl PoolRanges {
    /// Returns the union of ranges, without empty ones.
    pub fn new(ranges: impl Iterator<Item = PoolRange>) -> PoolRanges {
        let mut ranges: Vec<PoolRange> = ranges.filter(|range| range.end > range.start).collect();
        ranges.sort_unstable();
        ranges.dedup_by(|range, last| {
            let joins = range.pool == last.pool && range.start <= last.end;
            if joins {
                last.end = last.end.max(range.end);
            }
            joins
        });
        PoolRanges(ranges)
    }

    /// Returns `true` for the empty set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if a range has bytes of the set.
    pub fn overlap(&self, range: &PoolRange) -> bool {
        let next = self.0.partition_point(|other| (other.pool, other.end) <= (range.pool, range.start));
        self.0.get(next).is_some_and(|other| other.overlaps(range))
    }
}

/// Content of the pools: disjoint ranges, each with its content.
#[derive(Debug)]
pub struct PoolContent<T> {
    /// By pool and start: end and content.
    ranges: BTreeMap<(u32, u64), (u64, T)>,
}

impl<T> Default for PoolContent<T> {
    fn default() -> Self {
        PoolContent { ranges: BTreeMap::new() }
    }
}

impl<T: Copy> PoolContent<T> {
    /// Sets the content of a range.
    pub fn insert(&mut self, range: PoolRange, content: T) {
        self.remove(range, |_| {});
        if range.start < range.end {
            self.ranges.insert((range.pool, range.start), (range.end, content));
        }
    }

    /// Removes the content of a range, and passes the content of each part that had bytes there to `removed`.
    pub fn remove(&mut self, range: PoolRange, mut removed: impl FnMut(T)) {
        let PoolRange { pool, start, end } = range;
        while let Some((&(of, first), &(last, content))) = self.ranges.range(..(pool, end)).next_back()
            && of == pool
            && last > start
        {
            self.ranges.remove(&(pool, first));
            removed(content);
            // Content on both sides of the range remains.
            if last > end {
                self.ranges.insert((pool, end), (last, content));
            }
            if first < start {
                self.ranges.insert((pool, first), (start, content));
            }
        }
    }

    /// Returns the parts with content that overlap a range, in the order of their starts. The first and the last one
    /// may exceed the range.
    pub fn parts(&self, range: PoolRange) -> impl Iterator<Item = (PoolRange, T)> {
        let PoolRange { pool, start, end } = range;
        let before = self.ranges.range((pool, 0)..=(pool, start)).next_back();
        let first = before.map_or(start, |((_, first), _)| *first);
        let parts = self.ranges.range((pool, first)..(pool, end.max(first)));
        let part =
            |(&(pool, start), &(end, content)): (&(u32, u64), &(u64, T))| (PoolRange { pool, start, end }, content);
        parts.map(part).filter(move |(part, _)| part.end > start && start < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(pool: u32, start: u64, end: u64) -> PoolRange {
        PoolRange { pool, start, end }
    }

    /// Returns the parts with bytes in a range of pool 1: `start..end content`.
    fn shown(content: &PoolContent<char>, start: u64, end: u64) -> String {
        let parts = content.parts(range(1, start, end));
        let shown = parts.map(|(part, content)| format!("{}..{} {content}", part.start, part.end));
        shown.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn new_content_replaces_the_bytes_of_others() {
        let mut content = PoolContent::default();
        content.insert(range(1, 0, 10), 'a');
        content.insert(range(1, 20, 30), 'b');
        content.insert(range(2, 0, 30), 'c');
        content.insert(range(1, 5, 25), 'd');
        assert_eq!(shown(&content, 0, 40), "0..5 a, 5..25 d, 25..30 b");
        content.insert(range(1, 10, 12), 'e');
        assert_eq!(shown(&content, 0, 40), "0..5 a, 5..10 d, 10..12 e, 12..25 d, 25..30 b");
        let mut removed = Vec::new();
        content.remove(range(1, 4, 11), |content| removed.push(content));
        removed.sort_unstable();
        assert_eq!(
            (removed.iter().collect::<String>().as_str(), shown(&content, 0, 40).as_str()),
            ("ade", "0..4 a, 11..12 e, 12..25 d, 25..30 b")
        );
        content.insert(range(1, 7, 7), 'f');
        assert_eq!(shown(&content, 5, 11), "");
        assert_eq!(content.parts(range(2, 29, 40)).count(), 1);
    }

    #[test]
    fn sets_of_ranges_overlap_what_has_their_bytes() {
        let set = PoolRanges::new([range(2, 0, 8), range(1, 4, 8), range(1, 8, 12), range(1, 9, 10)].into_iter());
        assert_eq!(set.0, [range(1, 4, 12), range(2, 0, 8)]);
        let probes =
            [range(1, 0, 4), range(1, 11, 20), range(1, 12, 16), range(2, 7, 9), range(3, 0, 9), range(1, 6, 6)];
        assert_eq!(probes.map(|probe| set.overlap(&probe)), [false, true, false, true, false, true]);
        assert!(PoolRanges::new([range(1, 3, 3)].into_iter()).is_empty());
    }

    #[test]
    fn parts_are_those_with_bytes_in_the_range() {
        let mut content = PoolContent::default();
        content.insert(range(1, 0, 10), 'a');
        content.insert(range(1, 10, 20), 'b');
        assert_eq!(
            [(0, 10), (9, 11), (10, 11), (20, 30), (5, 5)].map(|(start, end)| shown(&content, start, end)),
            ["0..10 a", "0..10 a, 10..20 b", "10..20 b", "", "",]
        );
    }

    #[test]
    fn only_planned_tensors_with_bytes_have_a_range() {
        use crate::format::ScalarType;
        use crate::program::Tensor;

        let tensor = |sizes: &[i32], memory| EValue::Tensor(Tensor { memory, ..Tensor::new(ScalarType::FLOAT, sizes) });
        let at = |offset| Memory::At { pool: 1, offset };
        assert_eq!(PoolRange::of(&tensor(&[2, 2], at(16))), Some(range(1, 16, 32)));
        for value in [tensor(&[0], at(16)), tensor(&[2], Memory::None), tensor(&[2], at(u64::MAX)), EValue::Int(3)] {
            assert_eq!(PoolRange::of(&value), None);
        }
        assert!(range(1, 0, 4).overlaps(&range(1, 3, 8)));
        assert!(!range(1, 0, 4).overlaps(&range(1, 4, 8)) && !range(1, 0, 4).overlaps(&range(2, 0, 4)));
    }
}
