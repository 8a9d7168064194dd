//! Choices from a sequence of random numbers that is the same on every machine. They are independent of operators.

use pte_model::data::random::SplitMix;

/// A seeded source of choices.
#[derive(Debug, Clone)]
pub struct Random(SplitMix);

impl Random {
    /// Returns the choices of a seed.
    pub fn new(seed: u64) -> Random {
        Random(SplitMix::new(seed))
    }

    /// Returns the choices of item number `index` of a seed: an item does not depend on those before it.
    pub fn of_item(seed: u64, index: u64) -> Random {
        let mut first = SplitMix::new(seed);
        Random(SplitMix::new(first.next() ^ index))
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next()
    }

    /// Returns a number less than `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Returns a number from `low` to `high`, both inclusive; `low` if `high` is less.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let width = high.saturating_sub(low).max(0).saturating_add(1);
        low.saturating_add(self.below(usize::try_from(width).unwrap_or(usize::MAX)) as i64)
    }

    /// Returns true in `percent` of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Returns one of the items.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Returns one of the items, with a probability proportional to its weight.
    ///
    /// # Panics
    /// If there are none.
    pub fn weighted<T: Copy>(&mut self, items: &[(usize, T)]) -> T {
        let mut at = self.below(items.iter().map(|(weight, _)| weight).sum());
        for (weight, item) in items {
            if at < *weight {
                return *item;
            }
            at -= weight;
        }
        items[items.len() - 1].1
    }

    /// Puts items in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_reproducible_and_within_bounds() {
        let mut random = Random::of_item(1, 2);
        let first: Vec<usize> = (0..8).map(|_| random.below(10)).collect();
        let mut again = Random::of_item(1, 2);
        assert_eq!(first, (0..8).map(|_| again.below(10)).collect::<Vec<_>>());
        assert!((0..1000).all(|_| (-3..=5).contains(&random.between(-3, 5))));
        assert_eq!((random.below(0), random.between(4, 2)), (0, 4));
        assert!((0..100).all(|_| random.weighted(&[(0, 'a'), (3, 'b')]) == 'b'));
    }
}
