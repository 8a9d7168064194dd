//! Planned memory that the instructions of a method write, by address. What they write there is in [`super::values`].

use super::limits::Budget;
use super::method::MethodAnalysis;
use pte_analysis::access::Access;
use pte_model::program::pools::PoolRange;

/// Ranges of memory, each with something about it, sorted and distinct.
pub struct RangeIndex<T> {
    pub ranges: Vec<(PoolRange, T)>,
    /// By range: the greatest end of the ranges of its pool up to it.
    pub ends: Vec<u64>,
}

impl<T: Ord> RangeIndex<T> {
    /// Sorts ranges.
    pub fn new(ranges: impl Iterator<Item = (PoolRange, T)>) -> RangeIndex<T> {
        let mut ranges: Vec<(PoolRange, T)> = ranges.collect();
        ranges.sort_unstable();
        ranges.dedup();
        let mut ends: Vec<u64> = Vec::with_capacity(ranges.len());
        for (index, (range, _)) in ranges.iter().enumerate() {
            let before = index.checked_sub(1).filter(|before| ranges[*before].0.pool == range.pool);
            ends.push(before.map_or(range.end, |before| ends[before].max(range.end)));
        }
        RangeIndex { ranges, ends }
    }
}

/// Planned memory that instructions write, with the values.
pub struct Writers(RangeIndex<usize>);

impl Writers {
    /// Finds the memory of what a method writes; a value has that of its base.
    pub fn new(method: &MethodAnalysis<'_>, base: impl Fn(usize) -> usize) -> Writers {
        let written = method.accesses().list.iter().filter(|access| access.kind.may_write_bytes());
        let range = |access: &Access| {
            let value = base(access.value as usize);
            method.ranges[value].map(|range| (range, value))
        };
        Writers(RangeIndex::new(written.filter_map(range)))
    }

    /// Returns the other values that overlap a range, each with the offset of the range in it if it covers the range;
    /// `None` beyond the limit.
    pub fn overlapping(&self, value: usize, range: &PoolRange, work: &mut Budget) -> Option<Vec<(usize, Option<u64>)>> {
        let RangeIndex { ranges, ends } = &self.0;
        let last = ranges.partition_point(|(other, _)| (other.pool, other.start) < (range.pool, range.end));
        let mut found = Vec::new();
        for at in (0..last).rev() {
            let (written, other) = ranges[at];
            if written.pool != range.pool || ends[at] <= range.start {
                break;
            }
            work.spend(1)?;
            if written.end > range.start && other != value {
                let is_covered = written.start <= range.start && written.end >= range.end;
                found.push((other, is_covered.then(|| range.start - written.start)));
            }
        }
        Some(found)
    }
}
