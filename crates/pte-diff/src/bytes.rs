//! Compares pairs of blobs in blocks, on all cores and in constant memory, and computes statistics of those that
//! differ.
//!
//! Blocks are compared as bytes. Elements are decoded only in blocks that differ. For the cosine similarity, equal
//! blocks are read again from one side.

use std::io;

use pte_model::data::elements::ElementSums;
use pte_model::data::produce::{BLOCK, read_blocks};
use pte_model::data::{Blob, workers};
use pte_model::format::ScalarType;

/// Number of blocks of a task. A task opens its blobs once.
const TASK: u64 = 32;

/// Total number of bytes of the tasks of a round.
const ROUND: u64 = 512 << 20;

/// Maximum number of tasks of a round.
const MAX_TASKS: usize = 4096;

/// Total number of bytes up to which one thread compares everything.
const SMALL: u64 = 1 << 20;

/// Two blobs of the same length.
pub struct BlobPair<'b> {
    /// Blobs of both sides.
    pub blobs: [&'b Blob; 2],
    /// Type of the elements; `None` for bytes.
    pub scalar_type: Option<ScalarType>,
}

/// Difference of two blobs of the same length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ByteDifference {
    /// Number of elements.
    pub elements: u64,
    /// Number of elements that differ.
    pub differing: u64,
    /// Sums over the elements; `None` if the elements are not real numbers.
    pub sums: Option<ElementSums>,
}

/// Range of blocks of a pair: the index of the pair, the first block, and the block after the last one.
struct Task {
    pair: usize,
    blocks: (u64, u64),
}

/// Splits pairs into tasks, and the tasks into rounds.
struct Rounds<'p, 'b> {
    pairs: &'p [BlobPair<'b>],
    selected: Vec<usize>,
    /// Position in `selected`, and the next block.
    next: (usize, u64),
}

impl Iterator for Rounds<'_, '_> {
    type Item = Vec<Task>;

    fn next(&mut self) -> Option<Vec<Task>> {
        let (mut tasks, mut bytes) = (Vec::new(), 0);
        while bytes < ROUND && tasks.len() < MAX_TASKS {
            let Some(pair) = self.selected.get(self.next.0).copied() else { break };
            let blocks = self.pairs[pair].blobs[0].len().div_ceil(BLOCK);
            let end = blocks.min(self.next.1 + TASK);
            if self.next.1 < end {
                bytes += (end - self.next.1) * BLOCK;
                tasks.push(Task { pair, blocks: (self.next.1, end) });
            }
            self.next = if end >= blocks { (self.next.0 + 1, 0) } else { (self.next.0, end) };
        }
        (!tasks.is_empty()).then_some(tasks)
    }
}

/// Does the tasks of the selected pairs, and calls `take` with the index of the pair and the result of each, in order.
fn each_task<R: Send>(
    pairs: &[BlobPair<'_>],
    selected: Vec<usize>,
    work: impl Fn(&Task) -> io::Result<R> + Sync,
    mut take: impl FnMut(usize, R),
) -> io::Result<()> {
    let bytes = selected.iter().map(|index| pairs[*index].blobs[0].len()).fold(0, u64::saturating_add);
    let cores = if bytes <= SMALL { 1 } else { workers::cores() };
    for tasks in (Rounds { pairs, selected, next: (0, 0) }) {
        for result in workers::map(tasks, cores, |task| work(&task).map(|result| (task.pair, result))) {
            result.map(|(pair, result)| take(pair, result))?;
        }
    }
    Ok(())
}

/// Compares pairs of blobs of the same lengths. Returns the difference of each pair; `None` for equal blobs. Elements
/// are only decoded `with_statistics`.
///
/// # Errors
/// Data that cannot be read.
pub fn compare(pairs: &[BlobPair<'_>], with_statistics: bool) -> io::Result<Vec<Option<ByteDifference>>> {
    let mut found: Vec<Option<ByteDifference>> = vec![None; pairs.len()];
    // Blocks that differ, by pair, ascending.
    let mut differing: Vec<Vec<u64>> = vec![Vec::new(); pairs.len()];
    // Blobs with one source are equal without reading them.
    let is_read = |index: &usize| pairs[*index].blobs[0].source != pairs[*index].blobs[1].source;
    let selected = (0..pairs.len()).filter(is_read).collect();
    let compared = |task: &Task| compare_task(&pairs[task.pair], task, with_statistics);
    each_task(pairs, selected, compared, |pair, blocks| {
        for (block, difference) in blocks {
            differing[pair].push(block);
            let total = found[pair].get_or_insert_default();
            total.elements = pairs[pair].blobs[0].len() / pairs[pair].scalar_type.map_or(1, ScalarType::element_size);
            total.differing += difference.differing;
            difference.sums.into_iter().for_each(|sums| total.sums.get_or_insert_default().add(&sums));
        }
    })?;
    let sums = |pair: usize| found[pair].as_ref().and_then(|difference| difference.sums.as_ref());
    let selected = (0..pairs.len()).filter(|pair| sums(*pair).is_some()).collect();
    let squared = |task: &Task| square_task(&pairs[task.pair], task, &differing[task.pair]);
    each_task(pairs, selected, squared, |pair, equal| {
        let sums = found[pair].as_mut().and_then(|difference| difference.sums.as_mut());
        sums.into_iter().for_each(|sums| sums.add(&equal));
    })?;
    Ok(found)
}

/// Returns the blocks of a task that differ.
fn compare_task(pair: &BlobPair<'_>, task: &Task, with_statistics: bool) -> io::Result<Vec<(u64, ByteDifference)>> {
    let mut found = Vec::new();
    read_blocks(pair.blobs, BLOCK, (task.blocks.0..task.blocks.1).map(|block| block * BLOCK), |at, [left, right]| {
        if left != right {
            found.push((at / BLOCK, difference(pair.scalar_type, left, right, with_statistics)));
        }
        Ok(true)
    })?;
    Ok(found)
}

/// Returns the sums of the blocks of a task that are equal.
fn square_task(pair: &BlobPair<'_>, task: &Task, differing: &[u64]) -> io::Result<ElementSums> {
    let mut found = ElementSums::default();
    let Some(scalar_type) = pair.scalar_type else { return Ok(found) };
    let equal = (task.blocks.0..task.blocks.1).filter(|block| differing.binary_search(block).is_err());
    read_blocks([pair.blobs[0]], BLOCK, equal.map(|block| block * BLOCK), |_, [bytes]| {
        found.add(&ElementSums::of_equal(scalar_type, bytes));
        Ok(true)
    })?;
    Ok(found)
}

/// Returns the difference of two blocks of whole elements.
fn difference(scalar_type: Option<ScalarType>, left: &[u8], right: &[u8], with_statistics: bool) -> ByteDifference {
    let sums = scalar_type.filter(|_| with_statistics).and_then(|t| ElementSums::of(t, [left, right]));
    let size = scalar_type.map_or(1, ScalarType::element_size) as usize;
    let count = || left.chunks(size).zip(right.chunks(size)).filter(|(left, right)| left != right).count() as u64;
    ByteDifference { elements: 0, differing: sums.map_or_else(count, |sums| sums.differing), sums }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(numbers: &[f32]) -> Blob {
        Blob::bytes(numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
    }

    fn compared(left: &Blob, right: &Blob, name: &str) -> Option<ByteDifference> {
        let pair = BlobPair { blobs: [left, right], scalar_type: ScalarType::parse(name) };
        compare(&[pair], true).unwrap().remove(0)
    }

    #[test]
    fn statistics_are_those_of_all_elements() {
        // More than a block, so that equal blocks count for the cosine.
        let count = 3 * BLOCK as usize / 4 + 5;
        let left: Vec<f32> = (0..count).map(|i| (i % 13) as f32 - 6.0).collect();
        let mut right = left.clone();
        (right[7], right[count - 1]) = (left[7] + 0.5, f32::NAN);
        let found = compared(&blob(&left), &blob(&right), "float32").unwrap();
        assert_eq!((found.elements, found.differing), (count as u64, 2));
        let sums = found.sums.unwrap();
        assert_eq!((sums.max_abs, sums.sum_abs, sums.not_finite), (0.5, 0.5, 1));
        let (mut product, mut squares) = (0.0, [0.0, 0.0]);
        for (x, y) in left.iter().zip(&right).filter(|(_, y)| y.is_finite()) {
            let (x, y) = (f64::from(*x), f64::from(*y));
            product += x * y;
            squares = [squares[0] + x * x, squares[1] + y * y];
        }
        let expected = product / (squares[0].sqrt() * squares[1].sqrt());
        assert!((sums.cosine().unwrap() - expected).abs() < 1e-12, "{sums:?} {expected}");
        assert_eq!(compared(&blob(&left), &blob(&left), "float32"), None);
    }

    #[test]
    fn every_type_is_compared() {
        for name in ScalarType::names() {
            let (left, mut right) = (vec![1u8; 160], vec![1u8; 160]);
            right[159] = 2;
            let found = compared(&Blob::bytes(left), &Blob::bytes(right), name).unwrap();
            assert_eq!(
                (found.differing, found.elements),
                (1, 160 / ScalarType::parse(name).unwrap().info().unwrap().size)
            );
            let is_real = !name.starts_with("complex") && !name.starts_with("bits") && !name.contains('x');
            assert_eq!(found.sums.is_some(), is_real, "{name}");
        }
    }

    #[test]
    fn all_sizes_around_a_block_are_read() {
        for size in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, TASK * BLOCK, TASK * BLOCK + 1] {
            let left = Blob::bytes(vec![3u8; size as usize]);
            let mut bytes = vec![3u8; size as usize];
            assert_eq!(
                compared(&left, &Blob::new(size, pte_model::data::BlobSource::Repeat([3].into())), "uint8"),
                None
            );
            let Some(last) = bytes.last_mut() else { continue };
            *last = 4;
            assert_eq!(compared(&left, &Blob::bytes(bytes), "uint8").unwrap().differing, 1);
        }
    }
}
