//! Planned memory that the instructions of a method write, by address. What they write there is in [`super::values`].

use std::collections::HashMap;

use super::limits::Budget;
use super::method::MethodAnalysis;
use pte_analysis::access::Access;
use pte_analysis::operators::AccessKind;
use pte_model::program::pools::PoolRange;

/// Planned memory that instructions write, by pool and start.
pub struct Writers {
    /// Sorted: pool, start, end and value.
    ranges: Vec<(u32, u64, u64, usize)>,
    /// By range: greatest end in the pool so far.
    ends: Vec<u64>,
}

impl Writers {
    /// Finds the memory of what a method writes; a value with a base has that of its base.
    pub fn new(method: &MethodAnalysis<'_>, bases: &HashMap<usize, usize>) -> Writers {
        let written =
            method.accesses().list.iter().filter(|access| access.kind.may_write() && access.kind != AccessKind::Alias);
        let range = |access: &Access| {
            let value = access.value as usize;
            let value = bases.get(&value).copied().unwrap_or(value);
            method.ranges[value].map(|range| (range.pool, range.start, range.end, value))
        };
        let mut ranges: Vec<_> = written.filter_map(range).collect();
        ranges.sort_unstable();
        ranges.dedup();
        let mut ends: Vec<u64> = Vec::with_capacity(ranges.len());
        for (at, (pool, _, end, _)) in ranges.iter().enumerate() {
            let before = at.checked_sub(1).filter(|before| ranges[*before].0 == *pool).map_or(0, |before| ends[before]);
            ends.push(before.max(*end));
        }
        Writers { ranges, ends }
    }

    /// Returns the other values that overlap a range, each with the offset of the range in it if it covers the range;
    /// `None` beyond the limit.
    pub fn overlapping(&self, value: usize, range: &PoolRange, work: &mut Budget) -> Option<Vec<(usize, Option<u64>)>> {
        let last = self.ranges.partition_point(|(pool, start, ..)| (*pool, *start) < (range.pool, range.end));
        let mut found = Vec::new();
        for at in (0..last).rev() {
            let (pool, start, end, other) = self.ranges[at];
            if pool != range.pool || self.ends[at] <= range.start {
                break;
            }
            work.spend(1)?;
            if end > range.start && other != value {
                let is_covered = start <= range.start && end >= range.end;
                found.push((other, is_covered.then(|| range.start - start)));
            }
        }
        Some(found)
    }
}
