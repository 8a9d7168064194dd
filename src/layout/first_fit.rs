//! Index for the greedy planner. It finds the first object that is free during an interval `[a, b]` without a linear
//! search over all tensors of all objects. Even adversarial lifetimes do not make it quadratic. Sizes are handled in
//! [`super::greedy`].
//!
//! The free times of an object are gaps, closed intervals `[start, end]`. A gap fits a tensor if `start <= a` and `b <=
//! end`, so gaps are points in a plane and a query is a quadrant of it: a quadtree that stores the least object number
//! below each node.

use std::collections::{BTreeMap, BTreeSet};

/// Index of objects by their free times.
pub struct FirstFit {
    horizon: u32,
    gaps: Vec<BTreeMap<u32, u32>>,
    tree: Quadtree,
}

impl FirstFit {
    /// Creates an index without objects, for times from 0 to `horizon`.
    pub fn new(horizon: u32) -> FirstFit {
        FirstFit { horizon, gaps: Vec::new(), tree: Quadtree::new(horizon) }
    }

    /// Adds an object that is free at all times.
    pub fn add_object(&mut self) {
        self.gaps.push(BTreeMap::new());
        self.add_gap(self.gaps.len() - 1, 0, self.horizon);
    }

    /// Returns the first object that is free from `a` to `b`, both inclusive; `None` if there is none.
    pub fn find(&self, a: u32, b: u32) -> Option<usize> {
        self.tree.first(a, b).map(|object| object as usize)
    }

    /// Marks an object as occupied from `a` to `b`. Parts of the interval may already be occupied.
    pub fn occupy(&mut self, object: usize, a: u32, b: u32) {
        let gaps = &self.gaps[object];
        let mut from = gaps.range(..=a).next_back().filter(|(_, end)| **end >= a).map_or(a, |(start, _)| *start);
        while let Some((start, end)) = self.gaps[object].range(from..=b).next().map(|(s, e)| (*s, *e)) {
            self.remove_gap(object, start, end);
            if start < a {
                self.add_gap(object, start, a - 1);
            }
            if end > b {
                self.add_gap(object, b + 1, end);
            }
            // The rest of the first gap begins before `a`.
            from = a;
        }
    }

    /// Marks an object, which is occupied from `a` to `b`, as free in that interval.
    pub fn release(&mut self, object: usize, a: u32, b: u32) {
        let (mut start, mut end) = (a, b);
        if let Some((s, e)) =
            self.gaps[object].range(..a).next_back().map(|(s, e)| (*s, *e)).filter(|(_, e)| e + 1 == a)
        {
            self.remove_gap(object, s, e);
            start = s;
        }
        if let Some(e) = self.gaps[object].get(&(b + 1)).copied() {
            self.remove_gap(object, b + 1, e);
            end = e;
        }
        self.add_gap(object, start, end);
    }

    fn add_gap(&mut self, object: usize, start: u32, end: u32) {
        self.gaps[object].insert(start, end);
        self.tree.insert((object as u32, start, end));
    }

    fn remove_gap(&mut self, object: usize, start: u32, end: u32) {
        self.gaps[object].remove(&start);
        self.tree.remove((object as u32, start, end));
    }
}

/// Object, start and end. Points are ordered by object, so that the first match in a leaf is the result.
type Point = (u32, u32, u32);

struct Quadtree {
    nodes: Vec<QuadtreeNode>,
    side: u32,
}

struct QuadtreeNode {
    /// Least object number below this node; `u32::MAX` if there is no point.
    least: u32,
    content: NodeContent,
}

enum NodeContent {
    Leaf(BTreeSet<Point>),
    /// Children by quadrant: bit 0 the upper half of starts, bit 1 the upper half of ends.
    Inner([u32; 4]),
}

/// Maximum number of points in a leaf, unless all of them are the same interval.
const LEAF: usize = 16;

impl Quadtree {
    fn new(horizon: u32) -> Quadtree {
        let root = QuadtreeNode { least: u32::MAX, content: NodeContent::Leaf(BTreeSet::new()) };
        Quadtree { nodes: vec![root], side: (horizon + 1).next_power_of_two() }
    }

    fn insert(&mut self, point: Point) {
        let (mut at, mut corner, mut side) = (0, (0, 0), self.side);
        loop {
            let node = &mut self.nodes[at];
            node.least = node.least.min(point.0);
            match &mut node.content {
                NodeContent::Inner(children) => {
                    (at, corner, side) = descend(children, corner, side, point);
                }
                NodeContent::Leaf(points) => {
                    points.insert(point);
                    if points.len() > LEAF && side > 1 {
                        self.split(at, corner, side);
                    }
                    return;
                }
            }
        }
    }

    fn split(&mut self, at: usize, corner: (u32, u32), side: u32) {
        let first = self.nodes.len() as u32;
        let children = [first, first + 1, first + 2, first + 3];
        self.nodes
            .extend((0..4).map(|_| QuadtreeNode { least: u32::MAX, content: NodeContent::Leaf(BTreeSet::new()) }));
        let NodeContent::Leaf(points) = std::mem::replace(&mut self.nodes[at].content, NodeContent::Inner(children))
        else {
            return;
        };
        for point in points {
            let (child, ..) = descend(&children, corner, side, point);
            let node = &mut self.nodes[child];
            node.least = node.least.min(point.0);
            if let NodeContent::Leaf(points) = &mut node.content {
                points.insert(point);
            }
        }
    }

    fn remove(&mut self, point: Point) {
        let (mut at, mut corner, mut side) = (0, (0, 0), self.side);
        let mut path = Vec::with_capacity(32);
        loop {
            path.push(at);
            match &mut self.nodes[at].content {
                NodeContent::Inner(children) => (at, corner, side) = descend(children, corner, side, point),
                NodeContent::Leaf(points) => {
                    points.remove(&point);
                    break;
                }
            }
        }
        for at in path.into_iter().rev() {
            self.nodes[at].least = match &self.nodes[at].content {
                NodeContent::Leaf(points) => points.first().map_or(u32::MAX, |point| point.0),
                NodeContent::Inner(children) => {
                    children.iter().map(|child| self.nodes[*child as usize].least).min().unwrap_or(u32::MAX)
                }
            };
        }
    }

    /// Returns the least object that has a point with `start <= a` and `end >= b`.
    fn first(&self, a: u32, b: u32) -> Option<u32> {
        let mut best = u32::MAX;
        self.search(0, (0, 0), self.side, a, b, &mut best);
        (best != u32::MAX).then_some(best)
    }

    fn search(&self, at: usize, corner: (u32, u32), side: u32, a: u32, b: u32, best: &mut u32) {
        let node = &self.nodes[at];
        let last = (corner.0 + (side - 1), corner.1 + (side - 1));
        if node.least >= *best || corner.0 > a || last.1 < b {
            return;
        }
        if last.0 <= a && corner.1 >= b {
            *best = node.least;
            return;
        }
        match &node.content {
            NodeContent::Leaf(points) => {
                let fitting = points.iter().find(|(_, start, end)| *start <= a && *end >= b);
                *best = (*best).min(fitting.map_or(u32::MAX, |point| point.0));
            }
            NodeContent::Inner(children) => {
                // The child with the least object is searched first, because it prunes the others.
                let mut order = [0usize, 1, 2, 3];
                order.sort_unstable_by_key(|quadrant| self.nodes[children[*quadrant] as usize].least);
                let half = side / 2;
                for quadrant in order {
                    let corner = (corner.0 + half * (quadrant as u32 & 1), corner.1 + half * (quadrant as u32 >> 1));
                    self.search(children[quadrant] as usize, corner, half, a, b, best);
                }
            }
        }
    }
}

fn descend(children: &[u32; 4], corner: (u32, u32), side: u32, point: Point) -> (usize, (u32, u32), u32) {
    let half = side / 2;
    let right = u32::from(point.1 >= corner.0 + half);
    let upper = u32::from(point.2 >= corner.1 + half);
    let corner = (corner.0 + half * right, corner.1 + half * upper);
    (children[(right | upper << 1) as usize] as usize, corner, half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a table of occupied times.
        #[test]
        fn finds_the_same_object_as_a_table(steps in prop::collection::vec((0..4u8, 0..40usize, 0..40u32, 0..40u32), 1..400)) {
            let mut index = FirstFit::new(39);
            let mut table: Vec<[bool; 40]> = Vec::new();
            for (what, object, a, b) in steps {
                let (a, b) = (a.min(b), a.max(b));
                let times = a as usize..=b as usize;
                match what {
                    0 => {
                        index.add_object();
                        table.push([false; 40]);
                    }
                    1 if object < table.len() => {
                        index.occupy(object, a, b);
                        table[object][times.clone()].fill(true);
                    }
                    2 if object < table.len() && table[object][times.clone()].iter().all(|taken| *taken) => {
                        index.release(object, a, b);
                        table[object][times.clone()].fill(false);
                    }
                    _ => {}
                }
                let expected = table.iter().position(|row| row[times.clone()].iter().all(|taken| !taken));
                prop_assert_eq!(index.find(a, b), expected);
            }
        }
    }
}
