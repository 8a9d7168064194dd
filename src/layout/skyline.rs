//! Height of a memory object over time, as consecutive intervals with a height each. They are in a list of short lists,
//! so that a lookup takes two binary searches and a change moves few bytes. [`super::greedy`] chooses objects and
//! offsets.
//!
//! This is faster than a `BTreeMap`, which is searched from its root again for each neighbour.

/// Heights over time, from 0 without an end.
pub struct Skyline {
    blocks: Vec<StretchBlock>,
}

/// Consecutive intervals, at least one.
struct StretchBlock {
    /// Start of the first interval; 0 in the first block.
    start: u32,
    stretches: Vec<Stretch>,
    /// Maximum of the heights.
    top: Height,
}

/// Interval that ends at the start of the next one.
#[derive(Clone, Copy)]
struct Stretch {
    start: u32,
    height: Height,
}

/// `None` if no tensor is live; `Some(0)` if all live tensors have size 0.
type Height = Option<u64>;

/// Maximum number of intervals in a block.
const BLOCK: usize = if cfg!(test) { 4 } else { 64 };

impl StretchBlock {
    fn new(stretches: Vec<Stretch>) -> StretchBlock {
        let mut block = StretchBlock { start: 0, stretches, top: None };
        block.recompute();
        block
    }

    /// Recomputes start and maximum.
    fn recompute(&mut self) {
        self.start = self.stretches.first().map_or(0, |stretch| stretch.start);
        self.top = self.stretches.iter().map(|stretch| stretch.height).max().flatten();
    }

    /// Returns the index of the interval that contains a time, which is not before the block.
    fn find(&self, time: u32) -> usize {
        self.stretches.partition_point(|stretch| stretch.start <= time) - 1
    }
}

impl Skyline {
    /// Creates a skyline without tensors.
    pub fn new() -> Skyline {
        // Capacity for the first tensor.
        let mut stretches = Vec::with_capacity(3);
        stretches.push(Stretch { start: 0, height: None });
        Skyline { blocks: vec![StretchBlock { start: 0, stretches, top: None }] }
    }

    /// Returns the maximum height from `start` to `end`, both inclusive; `None` if no tensor is live.
    pub fn top(&self, start: u32, end: u32) -> Option<u64> {
        let first = self.block(start);
        let mut top = None;
        let mut at = self.blocks[first].find(start);
        for block in &self.blocks[first..] {
            if block.start > end {
                break;
            }
            let covered = at == 0 && block.stretches[block.stretches.len() - 1].start <= end;
            let within = block.stretches[at..].iter().take_while(|stretch| stretch.start <= end);
            top = top.max(if covered { block.top } else { within.map(|stretch| stretch.height).max().flatten() });
            at = 0;
        }
        top
    }

    /// Raises the height from `start` to `end` to `height`, which is not less than the maximum there. One interval
    /// replaces all intervals between.
    pub fn raise(&mut self, start: u32, end: u32, height: u64) {
        let (first, mut last) = (self.block(start), self.block(end));
        let mut until = self.blocks[last].find(end);
        let rest = self.blocks[last].stretches[until].height;
        if self.next(last, until).is_none_or(|next| next > end + 1) {
            self.blocks[last].stretches.insert(until + 1, Stretch { start: end + 1, height: rest });
        }
        if first < last {
            // The last block keeps its intervals from `end + 1` on; the blocks between are removed.
            self.blocks[last].stretches.drain(..=until);
            self.blocks[last].recompute();
            last += usize::from(self.blocks[last].stretches.is_empty());
            self.blocks.drain(first + 1..last);
            until = self.blocks[first].stretches.len() - 1;
        }
        let block = &mut self.blocks[first];
        let from = block.stretches.partition_point(|stretch| stretch.start < start);
        let raised = Stretch { start, height: Some(height) };
        if from <= until {
            block.stretches[from] = raised;
            block.stretches.drain(from + 1..=until);
        } else {
            block.stretches.insert(from, raised);
        }
        block.top = block.top.max(raised.height);
        if block.stretches.len() > BLOCK {
            let rest = block.stretches.split_off(BLOCK / 2);
            block.recompute();
            self.blocks.insert(first + 1, StretchBlock::new(rest));
        }
    }

    /// Returns end and height of the interval that begins at `start`; `None` if there is none or no tensor is live.
    pub fn stretch(&self, start: u32) -> Option<(u32, u64)> {
        let block = self.block(start);
        let at = self.blocks[block].find(start);
        let stretch = Some(self.blocks[block].stretches[at]).filter(|stretch| stretch.start == start)?;
        Some((self.next(block, at)? - 1, stretch.height?))
    }

    /// Returns start, end and height of all intervals with live tensors.
    pub fn stretches(&self) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        let all = || self.blocks.iter().flat_map(|block| &block.stretches);
        all().zip(all().skip(1)).filter_map(|(one, next)| Some((one.start, next.start - 1, one.height?)))
    }

    /// Returns the index of the block with a time.
    fn block(&self, time: u32) -> usize {
        self.blocks.partition_point(|block| block.start <= time) - 1
    }

    /// Returns the start of the next interval; `None` for the last.
    fn next(&self, block: usize, at: usize) -> Option<u32> {
        let behind = self.blocks[block].stretches.get(at + 1).map(|stretch| stretch.start);
        behind.or_else(|| self.blocks.get(block + 1).map(|block| block.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a table of the height at each time.
        #[test]
        fn has_the_heights_of_a_table(steps in prop::collection::vec((0..100u32, 0..100u32, any::<bool>(), 0..3u64), 1..200)) {
            let mut skyline = Skyline::new();
            let mut table: Vec<Option<u64>> = vec![None; 100];
            for (a, b, narrow, more) in steps {
                let (start, end) = if narrow { (a, (a + b % 4).min(99)) } else { (a.min(b), a.max(b)) };
                let top = *table[start as usize..=end as usize].iter().max().unwrap();
                prop_assert_eq!(skyline.top(start, end), top);
                let height = top.unwrap_or(0) + more;
                skyline.raise(start, end, height);
                table[start as usize..=end as usize].fill(Some(height));
                prop_assert_eq!(skyline.stretch(start), Some((end, height)));
            }
            let mut found = vec![None; 100];
            for (start, end, height) in skyline.stretches() {
                found[start as usize..=end as usize].fill(Some(height));
            }
            prop_assert_eq!(found, table);
        }
    }
}
