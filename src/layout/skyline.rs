//! How high an object of the memory planner is built up at each time: stretches of time one after the other, each with a
//! height, in a list of short lists, so that a look is two binary searches and a change moves few bytes.
//!
//! A tree of the standard library would do, but it must be searched from the top for each neighbour again. What is built,
//! and where, is [`super::greedy`]'s business.

/// Heights over time, from 0 on without an end.
pub struct Skyline {
    blocks: Vec<Block>,
}

/// Some stretches, never none.
struct Block {
    /// Where the first of them begins; 0 in the first block.
    start: u32,
    stretches: Vec<Stretch>,
    /// The highest of them.
    top: Height,
}

/// A stretch of time, up to where the next one begins.
#[derive(Clone, Copy)]
struct Stretch {
    start: u32,
    height: Height,
}

/// `None` is empty ground: what has no size takes a place without any height.
type Height = Option<u64>;

/// A block with more stretches is split.
const BLOCK: usize = if cfg!(test) { 4 } else { 64 };

impl Block {
    fn new(stretches: Vec<Stretch>) -> Block {
        let mut block = Block { start: 0, stretches, top: None };
        block.survey();
        block
    }

    /// Looks at the stretches anew.
    fn survey(&mut self) {
        self.start = self.stretches.first().map_or(0, |stretch| stretch.start);
        self.top = self.stretches.iter().map(|stretch| stretch.height).max().flatten();
    }

    /// The number of the stretch that a time is in; the block begins not later.
    fn find(&self, time: u32) -> usize {
        self.stretches.partition_point(|stretch| stretch.start <= time) - 1
    }
}

impl Skyline {
    /// Empty all the time.
    pub fn new() -> Skyline {
        // Room for what the first tenant makes of it.
        let mut stretches = Vec::with_capacity(3);
        stretches.push(Stretch { start: 0, height: None });
        Skyline { blocks: vec![Block { start: 0, stretches, top: None }] }
    }

    /// The greatest height from `start` to `end`, both included; `None` if it is empty all the time.
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

    /// Builds up to `height`, which is not less than the top, from `start` to `end`: one stretch takes the place of all
    /// between.
    pub fn raise(&mut self, start: u32, end: u32, height: u64) {
        let (first, mut last) = (self.block(start), self.block(end));
        let mut until = self.blocks[last].find(end);
        let rest = self.blocks[last].stretches[until].height;
        if self.next(last, until).is_none_or(|next| next > end + 1) {
            self.blocks[last].stretches.insert(until + 1, Stretch { start: end + 1, height: rest });
        }
        if first < last {
            // What is left of the last block has no stretch before `end + 1`; nothing is left of those between.
            self.blocks[last].stretches.drain(..=until);
            self.blocks[last].survey();
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
            block.survey();
            self.blocks.insert(first + 1, Block::new(rest));
        }
    }

    /// End and height of the stretch that begins at `start`, if one that is not empty does.
    pub fn stretch(&self, start: u32) -> Option<(u32, u64)> {
        let block = self.block(start);
        let at = self.blocks[block].find(start);
        let stretch = Some(self.blocks[block].stretches[at]).filter(|stretch| stretch.start == start)?;
        Some((self.next(block, at)? - 1, stretch.height?))
    }

    /// Start, end and height of all stretches that are not empty.
    pub fn stretches(&self) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        let all = || self.blocks.iter().flat_map(|block| &block.stretches);
        all().zip(all().skip(1)).filter_map(|(one, next)| Some((one.start, next.start - 1, one.height?)))
    }

    /// The number of the block that a time is in.
    fn block(&self, time: u32) -> usize {
        self.blocks.partition_point(|block| block.start <= time) - 1
    }

    /// Where the stretch behind this one begins; the last one has no end.
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
        /// Against a plain table of the height at each time.
        #[test]
        fn tells_what_a_plain_table_tells(steps in prop::collection::vec((0..100u32, 0..100u32, any::<bool>(), 0..3u64), 1..200)) {
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
            let mut told = vec![None; 100];
            for (start, end, height) in skyline.stretches() {
                told[start as usize..=end as usize].fill(Some(height));
            }
            prop_assert_eq!(told, table);
        }
    }
}
