//! Tensors of a pool that are placed together: their conflicts, and attempts to place them in several orders. Sizes and
//! offsets are multiples of the alignment.

use super::super::skyline::Skyline;

/// A tensor to place.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    /// Size.
    pub size: u64,
    /// First time of its lifetime.
    pub start: u32,
    /// Last time of its lifetime.
    pub end: u32,
}

/// Steps that are left.
pub struct Budget {
    left: u64,
}

impl Budget {
    /// Allows `steps`.
    pub fn new(steps: u64) -> Budget {
        Budget { left: steps }
    }

    /// Takes steps; returns `false` if fewer are left.
    pub fn spend(&mut self, steps: u64) -> bool {
        let is_enough = steps <= self.left;
        self.left = self.left.saturating_sub(steps);
        is_enough
    }

    /// Moves a share of the steps to another budget.
    pub fn share(&mut self, divisor: u64) -> Budget {
        let share = self.left / divisor;
        self.left -= share;
        Budget { left: share }
    }

    /// Takes back what another budget has left.
    pub fn restore(&mut self, other: Budget) {
        self.left += other.left;
    }
}

/// Rule by which a tensor is placed between those that are placed already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// In the lowest gap.
    First,
    /// In the smallest gap; if there is none, above all.
    Best,
}

/// Offset of a tensor that is not placed yet.
pub const UNPLACED: u64 = u64::MAX;

/// Tensors that are placed together.
pub struct Part<'i> {
    /// Tensors to place.
    pub items: &'i [Item],
    /// The tensors that are alive together with each one; `None` if there are too many pairs.
    conflicts: Option<Conflicts>,
}

/// Lists of tensors, one after the other.
struct Conflicts {
    list: Vec<u32>,
    bounds: Vec<usize>,
}

impl<'i> Part<'i> {
    /// Finds the conflicts of tensors, if the steps suffice to visit them several times.
    pub fn new(items: &'i [Item], budget: &mut Budget) -> Part<'i> {
        Part { items, conflicts: Conflicts::find(items, budget.left / 32) }
    }

    /// Returns the highest end.
    pub fn height(&self, offsets: &[u64]) -> u64 {
        self.items.iter().zip(offsets).map(|(item, offset)| offset.saturating_add(item.size)).max().unwrap_or(0)
    }

    /// Returns `true` if there are too many conflicts to visit them.
    pub fn is_dense(&self) -> bool {
        self.conflicts.is_none()
    }

    /// Returns the tensors that are alive together with one.
    pub fn conflicts_of(&self, item: usize) -> &[u32] {
        self.conflicts
            .as_ref()
            .map_or(&[], |conflicts| &conflicts.list[conflicts.bounds[item]..conflicts.bounds[item + 1]])
    }

    /// Places tensors in an order; returns `false` if one would end at or above `limit`, or the steps are used up.
    pub fn place(&self, order: &[u32], fit: Fit, limit: u64, offsets: &mut [u64], budget: &mut Budget) -> bool {
        let mut placed: Vec<(u64, u64)> = Vec::new();
        for item in order.iter().map(|item| *item as usize) {
            let conflicts = self.conflicts_of(item);
            if !budget.spend(1 + conflicts.len() as u64) {
                return false;
            }
            placed.clear();
            for other in conflicts.iter().map(|other| *other as usize) {
                if offsets[other] != UNPLACED {
                    placed.push((offsets[other], offsets[other] + self.items[other].size));
                }
            }
            placed.sort_unstable();
            let size = self.items[item].size;
            let offset = gap(&placed, size, fit);
            if offset.checked_add(size).is_none_or(|end| end >= limit) {
                return false;
            }
            offsets[item] = offset;
        }
        true
    }

    /// Places each tensor above those before it in an order.
    pub fn stack(&self, order: &[u32]) -> Vec<u64> {
        let mut skyline = Skyline::new();
        let mut offsets = vec![0; self.items.len()];
        for item in order {
            let Item { size, start, end } = self.items[*item as usize];
            let offset = skyline.top(start, end).unwrap_or(0);
            skyline.raise(start, end, offset.saturating_add(size));
            offsets[*item as usize] = offset;
        }
        offsets
    }

    /// Returns the order of the tensors by offset.
    pub fn by_offset(&self, offsets: &[u64]) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.items.len() as u32).collect();
        order.sort_unstable_by_key(|item| (offsets[*item as usize], *item));
        order
    }

    /// Returns the orders in which tensors are placed: by size, by size and lifetime, by lifetime, by time, by what is
    /// alive together with them.
    pub fn orders(&self) -> Vec<Vec<u32>> {
        let length = |item: &Item| u64::from(item.end - item.start) + 1;
        let area = |item: &Item| u128::from(item.size) * u128::from(length(item));
        let breadth = self.breadth();
        type Key<'k> = &'k dyn Fn(usize, &Item) -> (u128, u64);
        let keys: [Key<'_>; 7] = [
            &|_, item| (u128::from(item.size), length(item)),
            &|_, item| (area(item), item.size),
            &|_, item| (u128::from(length(item)), item.size),
            &|index, item| (u128::from(breadth[index]), item.size),
            &|_, item| (u128::from(u32::MAX - item.start), item.size),
            &|_, item| (u128::from(item.end), item.size),
            &|index, item| (u128::from(breadth[index]) * u128::from(item.size), length(item)),
        ];
        let order = |key: Key<'_>| {
            let mut keyed: Vec<((u128, u64), u32)> =
                (0..).zip(self.items).map(|(index, item)| (key(index as usize, item), index)).collect();
            keyed.sort_unstable_by(|a, b| b.cmp(a));
            keyed.into_iter().map(|(_, index)| index).collect()
        };
        keys.into_iter().map(order).collect()
    }

    /// Returns the maximum size that is alive during the lifetime of each tensor.
    fn breadth(&self) -> Vec<u64> {
        let mut starts: Vec<u32> = self.items.iter().map(|item| item.start).collect();
        starts.sort_unstable();
        starts.dedup();
        let position = |time: u32| starts.partition_point(|start| *start <= time);
        // Differences of the size that is alive at each start, then these sizes.
        let mut alive = vec![0i128; starts.len() + 1];
        for item in self.items {
            alive[position(item.start) - 1] += i128::from(item.size);
            alive[position(item.end)] -= i128::from(item.size);
        }
        for index in 1..alive.len() {
            alive[index] += alive[index - 1];
        }
        let sizes = alive.iter().map(|size| u64::try_from(*size).unwrap_or(u64::MAX));
        let mut levels: Vec<Vec<u64>> = vec![sizes.collect()];
        let mut width = 1;
        while 2 * width <= starts.len() {
            let below = &levels[levels.len() - 1];
            levels.push((0..=starts.len() - 2 * width).map(|index| below[index].max(below[index + width])).collect());
            width *= 2;
        }
        let most = |item: &Item| {
            let (first, end) = (position(item.start) - 1, position(item.end));
            let level = (end - first).ilog2() as usize;
            levels[level][first].max(levels[level][end - (1 << level)])
        };
        self.items.iter().map(most).collect()
    }
}

/// Returns an offset between ranges, which are sorted and may overlap each other.
fn gap(placed: &[(u64, u64)], size: u64, fit: Fit) -> u64 {
    let (mut end, mut best) = (0u64, None::<(u64, u64)>);
    for (start, other) in placed {
        if let Some(room) = start.checked_sub(end).filter(|room| *room >= size && *room > 0) {
            if fit == Fit::First {
                return end;
            }
            if best.is_none_or(|(least, _)| room < least) {
                best = Some((room, end));
            }
        }
        end = end.max(*other);
    }
    best.map_or(end, |(_, offset)| offset)
}

impl Conflicts {
    /// Returns `None` if there are more than `limit` pairs.
    fn find(items: &[Item], limit: u64) -> Option<Conflicts> {
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_unstable_by_key(|index| (items[*index].start, *index));
        let mut ends: Vec<u32> = items.iter().map(|item| item.end).collect();
        ends.sort_unstable();
        // All tensors that began earlier and did not end before this one begins.
        let pairs = order.iter().enumerate().map(|(earlier, index)| {
            let ended = ends.partition_point(|end| *end < items[*index].start);
            (earlier - ended) as u64
        });
        if pairs.fold(0, u64::saturating_add) > limit {
            return None;
        }
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); items.len()];
        let mut alive: Vec<u32> = Vec::new();
        for index in order {
            alive.retain(|other| items[*other as usize].end >= items[index].start);
            for other in &alive {
                lists[*other as usize].push(index as u32);
            }
            lists[index].extend(&alive);
            alive.push(index as u32);
        }
        let mut bounds = vec![0];
        let mut list = Vec::new();
        for own in lists {
            list.extend(own);
            bounds.push(list.len());
        }
        Some(Conflicts { list, bounds })
    }
}
