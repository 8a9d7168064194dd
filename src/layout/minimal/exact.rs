//! Complete search for few tensors: each is placed above those before it, in the order of the offsets. Some best plan
//! is of this form, because a tensor that rests on none can be lowered.

use super::part::{Budget, Item, Part};

/// Maximum number of tensors.
const MOST: usize = 96;

struct Search<'p> {
    items: Vec<Item>,
    goal: u64,
    budget: &'p mut Budget,
    /// Height at each time.
    heights: Vec<u64>,
    /// Size of the tensors at each time that are not placed.
    remaining: Vec<u64>,
    /// Offset of each tensor that is placed.
    offsets: Vec<Option<u64>>,
    /// Height of the best plan, and its offsets if this search found it.
    height: u64,
    best: Option<Vec<u64>>,
    is_complete: bool,
}

/// Returns offsets with which no tensor ends at or above `height`, if they are found, and `true` if there are no better
/// ones.
pub fn search(part: &Part<'_>, goal: u64, height: u64, budget: &mut Budget) -> (Option<Vec<u64>>, bool) {
    if part.items.len() > MOST {
        return (None, false);
    }
    // Times at which a tensor begins: all that are alive together are so at one of them.
    let mut starts: Vec<u32> = part.items.iter().map(|item| item.start).collect();
    starts.sort_unstable();
    starts.dedup();
    let position = |time: u32| starts.partition_point(|start| *start <= time) as u32 - 1;
    let items: Vec<Item> =
        part.items.iter().map(|item| Item { start: position(item.start), end: position(item.end), ..*item }).collect();
    let mut remaining = vec![0u64; starts.len()];
    for item in &items {
        times(item).for_each(|time| remaining[time] = remaining[time].saturating_add(item.size));
    }
    let mut search = Search {
        heights: vec![0; starts.len()],
        offsets: vec![None; items.len()],
        items,
        goal,
        budget,
        remaining,
        height,
        best: None,
        is_complete: true,
    };
    search.descend(0, 0);
    (search.best, search.is_complete)
}

fn times(item: &Item) -> std::ops::RangeInclusive<usize> {
    item.start as usize..=item.end as usize
}

impl Search<'_> {
    /// Places the remaining tensors at or above `lowest`; `placed` are placed already.
    fn descend(&mut self, lowest: u64, placed: usize) {
        if placed == self.items.len() {
            let offsets: Vec<u64> = self.offsets.iter().map(|offset| offset.unwrap_or(0)).collect();
            self.height = self.heights.iter().copied().max().unwrap_or(0);
            self.best = Some(offsets);
            return;
        }
        let Some(candidates) = self.candidates(lowest) else { return };
        for (offset, _, index) in candidates {
            if self.height <= self.goal || !self.is_complete {
                return;
            }
            let item = self.items[index];
            let end = offset.saturating_add(item.size);
            if end >= self.height {
                continue;
            }
            let before = self.heights[times(&item)].to_vec();
            self.heights[times(&item)].fill(end);
            self.remaining[times(&item)].iter_mut().for_each(|size| *size -= item.size);
            self.offsets[index] = Some(offset);
            self.descend(offset, placed + 1);
            self.offsets[index] = None;
            self.remaining[times(&item)].iter_mut().for_each(|size| *size += item.size);
            self.heights[times(&item)].copy_from_slice(&before);
        }
    }

    /// Returns the tensors that may be placed next, each with its offset, the most promising first; `None` if no better
    /// plan follows.
    fn candidates(&mut self, lowest: u64) -> Option<Vec<(u64, std::cmp::Reverse<u64>, usize)>> {
        let mut found = Vec::new();
        // The lowest end that a tensor can have: one that begins at or above it could be placed after that tensor.
        let mut least_end = u64::MAX;
        // The lowest offset of a tensor that is not placed, by time.
        let mut floors = vec![u64::MAX; self.heights.len()];
        for (index, item) in self.items.iter().enumerate().filter(|(index, _)| self.offsets[*index].is_none()) {
            let length = u64::from(item.end - item.start) + 1;
            if !self.budget.spend(2 * length + 1) {
                self.is_complete = false;
                return None;
            }
            let top = self.heights[times(item)].iter().copied().max().unwrap_or(0);
            let offset = top.max(lowest);
            floors[times(item)].iter_mut().for_each(|floor| *floor = offset.min(*floor));
            least_end = least_end.min(offset.saturating_add(item.size));
            if top >= lowest {
                found.push((top, std::cmp::Reverse(item.size), index));
            }
        }
        let is_hopeless =
            |(floor, remaining): (&u64, &u64)| *remaining > 0 && floor.saturating_add(*remaining) >= self.height;
        if floors.iter().zip(&self.remaining).any(is_hopeless) {
            return None;
        }
        found.retain(|(offset, ..)| *offset < least_end);
        found.sort_unstable();
        // Of equal tensors, the first one is placed first.
        let key = |index: usize| (self.items[index].size, self.items[index].start, self.items[index].end);
        found.dedup_by(|next, one| next.0 == one.0 && key(next.2) == key(one.2));
        Some(found)
    }
}
