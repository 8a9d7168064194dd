//! Alignment of two sequences of keys: a shortest edit script by the algorithm of Myers (1986) in linear memory.
//!
//! The work is bounded by [`WORK`]. Beyond this bound, only keys that both sides have exactly once are paired, in their
//! longest common order, and the equal keys adjacent to them.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Number of steps on diagonals after which the cheap alignment is used. They take about a tenth of a second.
const WORK: u64 = 1 << 25;

/// Pairs positions with equal keys, ascending on both sides. The result does not depend on which sequence is the left
/// one.
pub fn align(left: &[u64], right: &[u64]) -> Vec<(usize, usize)> {
    // Ties are always resolved in favour of the same sequence.
    let is_swapped = (right.len(), right) < (left.len(), left);
    let (a, b) = if is_swapped { (right, left) } else { (left, right) };
    let mut aligner = Aligner { a, b, pairs: Vec::new(), work: WORK, forward: Vec::new(), backward: Vec::new() };
    aligner.solve((0, a.len()), (0, b.len()));
    let mut pairs = aligner.pairs;
    if is_swapped {
        pairs.iter_mut().for_each(|pair| *pair = (pair.1, pair.0));
    }
    pairs.sort_unstable();
    pairs
}

/// First position, and the position after the last one.
type Span = (usize, usize);

struct Aligner<'k> {
    a: &'k [u64],
    b: &'k [u64],
    pairs: Vec<(usize, usize)>,
    work: u64,
    /// Farthest position in `a` on each diagonal, from the start; -1 if it cannot be reached.
    forward: Vec<i64>,
    /// Farthest position from the end, counted backwards.
    backward: Vec<i64>,
}

impl Aligner<'_> {
    fn solve(&mut self, a: Span, b: Span) {
        let (mut a, mut b) = (a, b);
        while a.0 < a.1 && b.0 < b.1 && self.a[a.0] == self.b[b.0] {
            self.pairs.push((a.0, b.0));
            (a.0, b.0) = (a.0 + 1, b.0 + 1);
        }
        while a.0 < a.1 && b.0 < b.1 && self.a[a.1 - 1] == self.b[b.1 - 1] {
            (a.1, b.1) = (a.1 - 1, b.1 - 1);
            self.pairs.push((a.1, b.1));
        }
        if a.0 == a.1 || b.0 == b.1 {
            return;
        }
        match self.middle(a, b) {
            // Both halves have about half of the edits, so the depth is logarithmic.
            Some((x, y)) => {
                self.solve((a.0, x), (b.0, y));
                self.solve((x, a.1), (y, b.1));
            }
            None => self.cheap(a, b),
        }
    }

    /// Returns a point at half of the edits of a shortest path; `None` if the work exceeds its bound.
    fn middle(&mut self, a: Span, b: Span) -> Option<(usize, usize)> {
        let (n, m) = ((a.1 - a.0) as i64, (b.1 - b.0) as i64);
        let delta = n - m;
        let (is_odd, limit) = (delta % 2 != 0, (n + m + 1) / 2 + 1);
        let room = 2 * limit as usize + 3;
        if self.forward.len() < room {
            self.forward.resize(room, -1);
            self.backward.resize(room, -1);
        }
        let at = |k: i64| (k + limit + 1) as usize;
        for d in 0..=limit {
            for k in [-d - 1, d + 1] {
                (self.forward[at(k)], self.backward[at(k)]) = (-1, -1);
            }
            for k in (-d..=d).step_by(2) {
                let start = step(&self.forward, at(k), k, d, n, m);
                let mut x = start;
                while x >= 0 && x < n && x - k < m && self.a[a.0 + x as usize] == self.b[b.0 + (x - k) as usize] {
                    x += 1;
                }
                self.forward[at(k)] = x;
                self.work = self.work.checked_sub(1 + (x - start) as u64)?;
                let other = delta - k;
                if x >= 0 && is_odd && other.abs() < d && self.backward[at(other)] + x >= n {
                    return Some((a.0 + start as usize, b.0 + (start - k) as usize));
                }
            }
            for k in (-d..=d).step_by(2) {
                let start = step(&self.backward, at(k), k, d, n, m);
                let mut x = start;
                while x >= 0 && x < n && x - k < m && self.a[a.1 - 1 - x as usize] == self.b[b.1 - 1 - (x - k) as usize]
                {
                    x += 1;
                }
                self.backward[at(k)] = x;
                self.work = self.work.checked_sub(1 + (x - start) as u64)?;
                let other = delta - k;
                if x >= 0
                    && !is_odd
                    && other.abs() <= d
                    && self.forward[at(other)] >= 0
                    && self.forward[at(other)] + x >= n
                {
                    return Some((a.1 - start as usize, b.1 - (start - k) as usize));
                }
            }
        }
        None
    }

    /// Pairs keys that both spans have once, and equal keys around them.
    fn cheap(&mut self, a: Span, b: Span) {
        // Number of occurrences on both sides, and the last position on each.
        let mut seen: HashMap<u64, ([u32; 2], [usize; 2])> = HashMap::new();
        for (side, (keys, span)) in [(self.a, a), (self.b, b)].into_iter().enumerate() {
            for (key, position) in keys[span.0..span.1].iter().zip(span.0..) {
                let (counts, positions) = seen.entry(*key).or_default();
                counts[side] = counts[side].saturating_add(1);
                positions[side] = position;
            }
        }
        let once = seen.into_values().filter(|(counts, _)| *counts == [1, 1]).map(|(_, [x, y])| (x, y));
        let mut once: Vec<(usize, usize)> = once.collect();
        once.sort_unstable();
        let (mut from, mut anchors) = ((a.0, b.0), increasing(&once));
        anchors.push((a.1, b.1));
        for anchor in anchors {
            let (mut x, mut y) = from;
            while x < anchor.0 && y < anchor.1 && self.a[x] == self.b[y] {
                self.pairs.push((x, y));
                (x, y) = (x + 1, y + 1);
            }
            let (mut end_x, mut end_y) = anchor;
            while x < end_x && y < end_y && self.a[end_x - 1] == self.b[end_y - 1] {
                (end_x, end_y) = (end_x - 1, end_y - 1);
                self.pairs.push((end_x, end_y));
            }
            from = anchor;
            if anchor != (a.1, b.1) {
                self.pairs.push(anchor);
                from = (anchor.0 + 1, anchor.1 + 1);
            }
        }
    }
}

/// Returns the farthest position on diagonal `k` after an edit; -1 if it exceeds the `n` or `m` keys.
fn step(reached: &[i64], at: usize, k: i64, d: i64, n: i64, m: i64) -> i64 {
    if d == 0 {
        return 0;
    }
    let (down, right) = (reached[at + 1], reached[at - 1]);
    let down = if down >= 0 && down - k <= m { down } else { -1 };
    let right = if right >= 0 && right < n { right + 1 } else { -1 };
    down.max(right)
}

/// Returns the longest subsequence of pairs, sorted by the first number, whose second numbers increase.
fn increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the pair that ends the best sequence; for each pair, the previous one.
    let mut tails: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, (_, y)) in pairs.iter().enumerate() {
        let length = tails.partition_point(|tail| pairs[*tail].1 < *y);
        before.push(length.checked_sub(1).map(|shorter| tails[shorter]));
        match tails.get_mut(length) {
            Some(tail) => *tail = index,
            None => tails.push(index),
        }
    }
    let mut found = Vec::with_capacity(tails.len());
    let mut next = tails.last().copied();
    while let Some(index) = next {
        found.push(pairs[index]);
        next = before[index];
    }
    found.reverse();
    found
}

/// Aligns two sequences by keys of decreasing strength: each level aligns the positions that the previous one left
/// between its pairs.
pub fn align_levels(levels: &[[Vec<u64>; 2]], lengths: [usize; 2]) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for [left, right] in levels {
        let mut added = Vec::new();
        let mut from = (0, 0);
        for end in pairs.iter().copied().chain([(lengths[0], lengths[1])]) {
            let inner = align(&left[from.0..end.0], &right[from.1..end.1]);
            added.extend(inner.into_iter().map(|(x, y)| (from.0 + x, from.1 + y)));
            from = (end.0 + 1, end.1 + 1);
        }
        pairs.append(&mut added);
        pairs.sort_unstable();
    }
    pairs
}

/// Sorts pairs of positions if both sides have the same order; otherwise returns false and does not change them. In
/// either case, the order must not depend on which side is the left one, because only the first of several pairs with
/// the same data is reported.
pub fn in_common_order<T: Ord + Copy>(pairs: &mut [(T, T)]) -> bool {
    let mut sorted = pairs.to_vec();
    sorted.sort_unstable();
    let is_common = sorted.is_sorted_by_key(|(_, right)| *right);
    if is_common {
        pairs.copy_from_slice(&sorted);
    }
    is_common
}

/// An element of the left side, of the right one, or of both.
pub type Paired<T> = [Option<T>; 2];

/// Returns what a function returns for each side: 0 is the left one.
pub fn per_side<T>(of: impl FnMut(usize) -> T) -> [T; 2] {
    [0, 1].map(of)
}

/// Adds the positions without a partner to ascending pairs, removed ones before added ones.
pub fn with_gaps(pairs: impl IntoIterator<Item = (usize, usize)>, lengths: [usize; 2]) -> Vec<Paired<usize>> {
    let mut all = Vec::new();
    let (mut left, mut right) = (0, 0);
    for (x, y) in pairs.into_iter().chain([(lengths[0], lengths[1])]) {
        all.extend((left..x).map(|position| [Some(position), None]));
        all.extend((right..y).map(|position| [None, Some(position)]));
        if x < lengths[0] && y < lengths[1] {
            all.push([Some(x), Some(y)]);
        }
        (left, right) = (x + 1, y + 1);
    }
    all
}

/// Numbers items with the same name.
pub fn numbered<N: Clone + Ord + Hash, T>(items: impl IntoIterator<Item = (N, T)>) -> BTreeMap<(N, usize), T> {
    let mut counts: HashMap<N, usize> = HashMap::new();
    let number = |(name, item): (N, T)| {
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        ((name, *count), item)
    };
    items.into_iter().map(number).collect()
}

/// Collects items with equal keys.
pub fn grouped<K: Ord, T>(items: impl Iterator<Item = (K, T)>) -> BTreeMap<K, Vec<T>> {
    let mut found: BTreeMap<K, Vec<T>> = BTreeMap::new();
    items.for_each(|(key, item)| found.entry(key).or_default().push(item));
    found
}

/// Pairs the items with the same key: those of the left side in the order of the keys, then those that only the right
/// side has.
pub fn keyed<K: Ord, T>([left, mut right]: [BTreeMap<K, T>; 2]) -> Vec<(K, Paired<T>)> {
    let both = left.into_iter().map(|(key, l)| {
        let r = right.remove(&key);
        (key, [Some(l), r])
    });
    let mut found: Vec<(K, Paired<T>)> = both.collect();
    found.extend(right.into_iter().map(|(key, r)| (key, [None, Some(r)])));
    found
}

/// Pairs the items with the same key, in the order of the keys.
pub fn merged<K: Ord, T>(maps: [BTreeMap<K, T>; 2]) -> Vec<(K, Paired<T>)> {
    let mut found = keyed(maps);
    found.sort_by(|left, right| left.0.cmp(&right.0));
    found
}

/// Pairs the groups with the same key, in the order of the keys.
pub fn by_key<K: Ord, T>(groups: [BTreeMap<K, Vec<T>>; 2]) -> impl Iterator<Item = (K, [Vec<T>; 2])> {
    merged(groups).into_iter().map(|(key, lists)| (key, lists.map(Option::unwrap_or_default)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of the letters of a text.
    fn keys(text: &str) -> Vec<u64> {
        text.bytes().map(u64::from).collect()
    }

    /// Length of the longest common subsequence, by the quadratic table.
    fn longest(a: &[u64], b: &[u64]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut diagonal = 0;
            for (at, y) in b.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if x == y { diagonal + 1 } else { above.max(row[at]) };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    fn is_valid(a: &[u64], b: &[u64], pairs: &[(usize, usize)]) {
        assert!(pairs.iter().all(|(x, y)| a[*x] == b[*y]));
        assert!(pairs.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1), "{pairs:?}");
    }

    #[test]
    fn an_insertion_shifts_nothing() {
        assert_eq!(align(&keys("abcd"), &keys("abxcd")), [(0, 0), (1, 1), (2, 3), (3, 4)]);
        assert_eq!(align(&keys(""), &keys("abc")), []);
    }

    #[test]
    fn alignments_are_shortest_and_symmetric() {
        let mut state = 1u64;
        let mut next = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        for _ in 0..3000 {
            let letters = 1 + next(5);
            let [a, b] = [(); 2].map(|()| (0..next(14)).map(|_| next(letters)).collect::<Vec<u64>>());
            let pairs = align(&a, &b);
            is_valid(&a, &b, &pairs);
            assert_eq!(pairs.len(), longest(&a, &b), "{a:?} {b:?}");
            let mut mirrored: Vec<(usize, usize)> = align(&b, &a).into_iter().map(|(x, y)| (y, x)).collect();
            mirrored.sort_unstable();
            assert_eq!(pairs, mirrored);
        }
    }

    #[test]
    fn hostile_sequences_are_aligned_cheaply() {
        // Nothing in common but one key: the shortest script has as many edits as there are keys.
        let (count, middle) = (100_000u64, 50_000);
        let a: Vec<u64> = (0..count).map(|key| if key == middle { 7_000_000 } else { key }).collect();
        let b: Vec<u64> = (0..count).map(|key| if key == middle { 7_000_000 } else { key + 1_000_000 }).collect();
        assert_eq!(align(&a, &b), [(50_000, 50_000)]);
        let reversed: Vec<u64> = a.iter().rev().copied().collect();
        is_valid(&a, &reversed, &align(&a, &reversed));
    }

    #[test]
    fn weaker_keys_pair_what_is_between_stronger_ones() {
        let strong = [keys("aXbc"), keys("aYbd")];
        let weak = [keys("pqpp"), keys("pqpp")];
        assert_eq!(align_levels(&[strong, weak], [4, 4]), [(0, 0), (1, 1), (2, 2), (3, 3)]);
    }
}
