//! Finds the values that need an explicit index, because assembling numbers values in the order of the instructions and
//! the file has another order. As few as possible are explicit; the other values get the remaining indices.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use pte_model::program::{EValue, ExecutionPlan, Instruction, ValueId};

/// Returns the values of the original method that need an explicit index, including `pinned`, which have one already;
/// `None` if the methods do not correspond. `is_movable` returns `true` for a value that an entry among the
/// instructions can number instead, which is preferred to an index.
pub fn pins(
    assembled: &ExecutionPlan,
    original: &ExecutionPlan,
    pinned: &BTreeSet<usize>,
    is_movable: impl Fn(usize) -> bool,
) -> Option<BTreeSet<usize>> {
    let count = original.values().len();
    if assembled.values().len() != count {
        return None;
    }
    let mut pairs = Pairs { assembled, original, of: vec![None; count], is_paired: vec![false; count] };
    for (a, b) in [(&assembled.inputs, &original.inputs), (&assembled.outputs, &original.outputs)] {
        pairs.lists(a.as_deref().unwrap_or_default(), b.as_deref().unwrap_or_default())?;
    }
    if assembled.instructions().count() != original.instructions().count() {
        return None;
    }
    for (a, b) in assembled.instructions().zip(original.instructions()) {
        pairs.lists(a.args(), b.args())?;
        let operands =
            |instruction: &Instruction| -> Vec<ValueId> { instruction.operands().map(|(_, value, _)| value).collect() };
        pairs.lists(&operands(a), &operands(b))?;
    }
    let order = pairs.finish();
    let increasing = longest_increasing(&order, |value| if is_movable(value) { 1 } else { ENTRIES_FOR_INDEX });
    let pins: BTreeSet<usize> = order.iter().filter(|value| !increasing.contains(value)).copied().collect();
    Some(pins.union(pinned).copied().collect())
}

/// Number of entries among the instructions that are preferred to one explicit index, because an entry is still correct
/// after an edit.
const ENTRIES_FOR_INDEX: usize = 8;

/// Correspondence of the values of two methods.
struct Pairs<'p> {
    assembled: &'p ExecutionPlan,
    original: &'p ExecutionPlan,
    /// By assembled value: the original one.
    of: Vec<Option<usize>>,
    /// By original value: `true` if an assembled one corresponds to it.
    is_paired: Vec<bool>,
}

impl Pairs<'_> {
    /// Adds the items of two lists of values; `None` if the lists do not correspond.
    fn lists(&mut self, assembled: &[ValueId], original: &[ValueId]) -> Option<()> {
        if assembled.len() != original.len() {
            return None;
        }
        for (a, b) in assembled.iter().zip(original) {
            match (a.get(), b.get()) {
                (Some(a), Some(b)) => self.add(a, b)?,
                (None, None) => {}
                (Some(_), None) | (None, Some(_)) => return None,
            }
        }
        Some(())
    }

    fn add(&mut self, assembled: usize, original: usize) -> Option<()> {
        let slot = self.of.get_mut(assembled)?;
        let is_paired = self.is_paired.get_mut(original)?;
        match *slot {
            Some(known) if known == original => return Some(()),
            Some(_) => return None,
            None if std::mem::replace(is_paired, true) => return None,
            None => *slot = Some(original),
        }
        let (a, b) = (self.assembled.values().get(assembled)?, self.original.values().get(original)?);
        match (a, b) {
            (EValue::IntList(Some(a)), EValue::IntList(Some(b))) => {
                let ids = |items: &[i64]| items.iter().map(|item| ValueId::of_int(*item)).collect::<Vec<_>>();
                self.lists(&ids(a), &ids(b))
            }
            (a, b) => self.lists(a.as_tensors(), b.as_tensors()),
        }
    }

    /// Returns the original values in the order of the assembled ones. Unused values correspond in their order.
    fn finish(self) -> Vec<usize> {
        let mut rest = (0..self.is_paired.len()).filter(|index| !self.is_paired[*index]);
        self.of.iter().filter_map(|of| of.or_else(|| rest.next())).collect()
    }
}

/// Returns the items of an increasing subsequence with the greatest total weight. `items` is a permutation of
/// `0..items.len()`. Of two adjacent items in the wrong order, the subsequence has the first one: an entry before an
/// instruction can number the second one earlier, but no entry can number the first one later.
fn longest_increasing(items: &[usize], weight: impl Fn(usize) -> usize) -> BTreeSet<usize> {
    // A Fenwick tree over the items: the greatest weight of a subsequence that ends with an item up to an index, and
    // that item's position.
    let mut tree: Vec<Option<(usize, Reverse<usize>)>> = vec![None; items.len() + 1];
    let mut before: Vec<Option<usize>> = Vec::with_capacity(items.len());
    let mut best = None;
    for (position, item) in items.iter().enumerate() {
        let mut found: Option<(usize, Reverse<usize>)> = None;
        let mut node = *item;
        while node > 0 {
            found = found.max(tree[node]);
            node &= node - 1;
        }
        before.push(found.map(|(_, Reverse(position))| position));
        let end = Some((found.map_or(0, |(length, _)| length) + weight(*item), Reverse(position)));
        best = best.max(end);
        let mut node = item + 1;
        while let Some(entry) = tree.get_mut(node) {
            *entry = (*entry).max(end);
            node += node & node.wrapping_neg();
        }
    }
    let mut found = BTreeSet::new();
    let mut next = best.map(|(_, Reverse(position))| position);
    while let Some(position) = next {
        found.insert(items[position]);
        next = before[position];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_few_items_as_possible_are_out_of_order() {
        let increasing = |items: &[usize]| longest_increasing(items, |_| 1).into_iter().collect::<Vec<_>>();
        assert!(increasing(&[]).is_empty());
        assert_eq!(increasing(&[0, 1, 2]), [0, 1, 2]);
        assert_eq!(increasing(&[4, 0, 1, 3, 2]).len(), 3);
        assert_eq!(increasing(&[2, 1, 0]).len(), 1);
        assert_eq!(increasing(&[1, 0, 2]), [1, 2]);
        // An explicit index 0 would be shorter than entries for 1, 2 and 3.
        let weighted = longest_increasing(&[1, 2, 3, 0, 4], |item| if item < 4 && item > 0 { 1 } else { 8 });
        assert_eq!(weighted.into_iter().collect::<Vec<_>>(), [0, 4]);
    }
}
