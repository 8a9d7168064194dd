//! Compares pairs of blobs in blocks, on all cores and in constant memory, and computes statistics of those that
//! differ.
//!
//! Blocks are compared as bytes. Elements are decoded only in blocks that differ. For the cosine similarity, equal
//! blocks are read again from one side.

use std::io;

use pte_model::data::{Blob, number, workers};
use pte_model::format::ScalarType;
use pte_model::format::scalar_type::{Encoding, FloatFormat};

/// Number of bytes that are compared at a time. They fit a cache, and are a multiple of all element sizes.
const BLOCK: u64 = 256 << 10;

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

/// Sums over the elements of two blobs. Elements that are not finite on both sides do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ElementSums {
    /// Number of elements that differ and are not finite on a side.
    pub not_finite: u64,
    /// Number of elements that are finite on both sides.
    pub finite: u64,
    /// Largest absolute difference.
    pub max_abs: f64,
    /// Sum of absolute differences.
    pub sum_abs: f64,
    /// Sum of products.
    pub product: f64,
    /// Sums of squares of both sides.
    pub squares: [f64; 2],
}

impl ElementSums {
    fn add(&mut self, other: &ElementSums) {
        self.not_finite += other.not_finite;
        self.finite += other.finite;
        self.max_abs = self.max_abs.max(other.max_abs);
        self.sum_abs += other.sum_abs;
        self.product += other.product;
        self.squares[0] += other.squares[0];
        self.squares[1] += other.squares[1];
    }

    /// Returns the cosine similarity; `None` if a side is zero.
    pub fn cosine(&self) -> Option<f64> {
        let lengths = self.squares[0].sqrt() * self.squares[1].sqrt();
        // Rounding errors may exceed the bounds.
        (lengths > 0.0 && lengths.is_finite()).then(|| (self.product / lengths).clamp(-1.0, 1.0))
    }
}

/// Range of blocks of a pair: the index of the pair, the first block, and the block after the last one.
struct Task {
    pair: usize,
    blocks: (u64, u64),
}

/// Differences that a task found in a block.
struct BlockDifference {
    block: u64,
    difference: ByteDifference,
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

/// Compares pairs of blobs of the same lengths. Returns the difference of each pair; `None` for equal blobs. Elements
/// are only decoded `with_statistics`.
///
/// # Errors
/// Data that cannot be read.
pub fn compare(pairs: &[BlobPair<'_>], with_statistics: bool) -> io::Result<Vec<Option<ByteDifference>>> {
    let mut found: Vec<Option<ByteDifference>> = vec![None; pairs.len()];
    // First and last block of each run of blocks that differ, by pair.
    let mut runs: Vec<Vec<(u64, u64)>> = vec![Vec::new(); pairs.len()];
    // Blobs with one source are equal without reading them.
    let selected = (0..pairs.len()).filter(|index| pairs[*index].blobs[0].source != pairs[*index].blobs[1].source);
    let selected: Vec<usize> = selected.collect();
    let cores = |selected: &[usize]| {
        let bytes = selected.iter().map(|index| pairs[*index].blobs[0].len()).fold(0, u64::saturating_add);
        if bytes <= SMALL { 1 } else { workers::cores() }
    };
    let count = cores(&selected);
    for tasks in (Rounds { pairs, selected, next: (0, 0) }) {
        let numbers: Vec<usize> = tasks.iter().map(|task| task.pair).collect();
        let results = workers::map(tasks, count, |task| compare_task(&pairs[task.pair], &task, with_statistics));
        for (pair, result) in numbers.into_iter().zip(results) {
            for BlockDifference { block, difference } in result? {
                match runs[pair].last_mut() {
                    Some(run) if run.1 + 1 == block => run.1 = block,
                    Some(_) | None => runs[pair].push((block, block)),
                }
                let total = found[pair].get_or_insert_default();
                total.differing += difference.differing;
                if let Some(sums) = difference.sums {
                    total.sums.get_or_insert_default().add(&sums);
                }
            }
        }
    }
    for (total, pair) in found.iter_mut().zip(pairs) {
        if let Some(total) = total {
            total.elements = pair.blobs[0].len() / element_size(pair.scalar_type);
        }
    }
    let with_sums = |index: &usize| found[*index].as_ref().is_some_and(|difference| difference.sums.is_some());
    let selected: Vec<usize> = (0..pairs.len()).filter(with_sums).collect();
    let count = cores(&selected);
    for tasks in (Rounds { pairs, selected, next: (0, 0) }) {
        let numbers: Vec<usize> = tasks.iter().map(|task| task.pair).collect();
        let results = workers::map(tasks, count, |task| square_task(&pairs[task.pair], &task, &runs[task.pair]));
        for (pair, squares) in numbers.into_iter().zip(results) {
            let EqualElements { squares, finite } = squares?;
            if let Some(sums) = found[pair].as_mut().and_then(|difference| difference.sums.as_mut()) {
                sums.finite += finite;
                sums.product += squares;
                sums.squares[0] += squares;
                sums.squares[1] += squares;
            }
        }
    }
    Ok(found)
}

/// Returns the position of the first byte that differs in two blobs of the same length.
///
/// # Errors
/// Data that cannot be read.
pub fn first_difference(blobs: [&Blob; 2]) -> io::Result<Option<u64>> {
    let len = blobs[0].len();
    let producers = [blobs[0].open()?, blobs[1].open()?];
    let room = len.min(BLOCK) as usize;
    let mut buffers = [vec![0; room], vec![0; room]];
    for block in 0..len.div_ceil(BLOCK) {
        let (start, size) = block_range(len, block);
        for (producer, buffer) in producers.iter().zip(&mut buffers) {
            producer.read_at(start, &mut buffer[..size])?;
        }
        if let Some(at) = (0..size).find(|at| buffers[0][*at] != buffers[1][*at]) {
            return Ok(Some(start + at as u64));
        }
    }
    Ok(None)
}

/// Size of an element in bytes; 1 for bytes without a type.
fn element_size(scalar_type: Option<ScalarType>) -> u64 {
    scalar_type.and_then(ScalarType::info).map_or(1, |info| info.size)
}

/// Returns the bytes of a block of a blob: offset and length.
fn block_range(len: u64, block: u64) -> (u64, usize) {
    let start = block * BLOCK;
    (start, (len - start).min(BLOCK) as usize)
}

fn compare_task(pair: &BlobPair<'_>, task: &Task, with_statistics: bool) -> io::Result<Vec<BlockDifference>> {
    let len = pair.blobs[0].len();
    let producers = [pair.blobs[0].open()?, pair.blobs[1].open()?];
    let room = len.min(BLOCK) as usize;
    let mut buffers = [vec![0; room], vec![0; room]];
    let mut found = Vec::new();
    for block in task.blocks.0..task.blocks.1 {
        let (start, size) = block_range(len, block);
        for (producer, buffer) in producers.iter().zip(&mut buffers) {
            producer.read_at(start, &mut buffer[..size])?;
        }
        let [left, right] = [&buffers[0][..size], &buffers[1][..size]];
        if left != right {
            let difference = difference(pair.scalar_type, left, right, with_statistics);
            found.push(BlockDifference { block, difference });
        }
    }
    Ok(found)
}

/// Contribution of elements that are equal on both sides to the sums.
#[derive(Debug, Default, PartialEq)]
struct EqualElements {
    /// Sum of squares of the finite ones.
    squares: f64,
    /// Number of finite ones.
    finite: u64,
}

/// Returns the contribution of the equal blocks of a task.
fn square_task(pair: &BlobPair<'_>, task: &Task, runs: &[(u64, u64)]) -> io::Result<EqualElements> {
    let blob = pair.blobs[0];
    let producer = blob.open()?;
    let mut buffer = vec![0; blob.len().min(BLOCK) as usize];
    let mut found = EqualElements::default();
    for block in task.blocks.0..task.blocks.1 {
        let run = runs.partition_point(|run| run.1 < block);
        if runs.get(run).is_some_and(|run| run.0 <= block) {
            continue;
        }
        let (start, size) = block_range(blob.len(), block);
        producer.read_at(start, &mut buffer[..size])?;
        let EqualElements { squares, finite } = equal_elements(pair.scalar_type, &buffer[..size]);
        found.squares += squares;
        found.finite += finite;
    }
    Ok(found)
}

/// A decoded element.
trait Element: Copy {
    /// Returns the nearest number.
    fn real(self) -> f64;

    /// Returns the absolute difference of two finite elements.
    fn distance(self, other: Self) -> f64;
}

impl Element for f64 {
    fn real(self) -> f64 {
        self
    }

    fn distance(self, other: f64) -> f64 {
        (self - other).abs()
    }
}

/// Implements [`Element`] for integers that a float cannot represent. Their difference is exact.
macro_rules! wide_integers {
    ($($integer:ident),*) => {
        $( impl Element for $integer {
            fn real(self) -> f64 {
                self as f64
            }

            fn distance(self, other: $integer) -> f64 {
                self.abs_diff(other) as f64
            }
        } )*
    };
}

wide_integers!(i64, u64);

/// Calls `take` with a decoder of the elements of a type.
macro_rules! with_decoder {
    ($scalar_type:expr, $take:ident ( $($argument:expr),* )) => {
        match $scalar_type.and_then(ScalarType::info).map(|info| (info.encoding, info.size)) {
            Some((Encoding::Float(FloatFormat::Binary64), _)) => Some($take($($argument,)* f64::from_le_bytes)),
            Some((Encoding::Float(FloatFormat::Binary32), _)) => {
                Some($take($($argument,)* |bytes| f64::from(f32::from_le_bytes(bytes))))
            }
            Some((Encoding::Float(FloatFormat::Binary16), _)) => {
                Some($take($($argument,)* |bytes| half::f16::from_le_bytes(bytes).to_f64()))
            }
            Some((Encoding::Float(FloatFormat::Bfloat16), _)) => {
                Some($take($($argument,)* |bytes| half::bf16::from_le_bytes(bytes).to_f64()))
            }
            Some((
                Encoding::Float(
                    FloatFormat::Float8E5m2
                    | FloatFormat::Float8E4m3fn
                    | FloatFormat::Float8E5m2fnuz
                    | FloatFormat::Float8E4m3fnuz,
                ),
                _,
            )) => {
                let scalar_type = $scalar_type.unwrap_or(ScalarType::FLOAT);
                let decode = move |byte: [u8; 1]| {
                    number::decode(scalar_type, &byte).map_or(f64::NAN, number::NumericValue::to_f64)
                };
                Some($take($($argument,)* decode))
            }
            Some((Encoding::Signed, 1)) => Some($take($($argument,)* |bytes| f64::from(i8::from_le_bytes(bytes)))),
            Some((Encoding::Signed, 2)) => Some($take($($argument,)* |bytes| f64::from(i16::from_le_bytes(bytes)))),
            Some((Encoding::Signed, 4)) => Some($take($($argument,)* |bytes| f64::from(i32::from_le_bytes(bytes)))),
            Some((Encoding::Signed, 8)) => Some($take($($argument,)* i64::from_le_bytes)),
            Some((Encoding::Unsigned | Encoding::Bool, 1)) => {
                Some($take($($argument,)* |bytes| f64::from(u8::from_le_bytes(bytes))))
            }
            Some((Encoding::Unsigned, 2)) => Some($take($($argument,)* |bytes| f64::from(u16::from_le_bytes(bytes)))),
            Some((Encoding::Unsigned, 4)) => Some($take($($argument,)* |bytes| f64::from(u32::from_le_bytes(bytes)))),
            Some((Encoding::Unsigned, 8)) => Some($take($($argument,)* u64::from_le_bytes)),
            // There are no other sizes. Complex numbers and packed bits have no statistics.
            Some((Encoding::Signed | Encoding::Unsigned | Encoding::Bool, _))
            | Some((Encoding::Complex(_) | Encoding::Opaque, _))
            | None => None,
        }
    };
}

/// Returns the difference of two blocks of whole elements.
fn difference(scalar_type: Option<ScalarType>, left: &[u8], right: &[u8], with_statistics: bool) -> ByteDifference {
    let scalar = scalar_type.filter(|_| with_statistics);
    let found = with_decoder!(scalar, element_sums(left, right));
    found.unwrap_or_else(|| {
        let size = element_size(scalar_type) as usize;
        let pairs = left.chunks(size).zip(right.chunks(size));
        let differing = pairs.filter(|(left, right)| left != right).count() as u64;
        ByteDifference { elements: 0, differing, sums: None }
    })
}

fn element_sums<const N: usize, E: Element>(
    left: &[u8],
    right: &[u8],
    decode: impl Fn([u8; N]) -> E,
) -> ByteDifference {
    let (mut differing, mut sums) = (0, ElementSums::default());
    for (l, r) in left.as_chunks::<N>().0.iter().zip(right.as_chunks::<N>().0) {
        let elements = (decode(*l), decode(*r));
        let (x, y) = (elements.0.real(), elements.1.real());
        let is_different = l != r;
        differing += u64::from(is_different);
        if !(x.is_finite() && y.is_finite()) {
            sums.not_finite += u64::from(is_different);
            continue;
        }
        let distance = elements.0.distance(elements.1);
        sums.finite += 1;
        sums.max_abs = sums.max_abs.max(distance);
        sums.sum_abs += distance;
        sums.product += x * y;
        sums.squares[0] += x * x;
        sums.squares[1] += y * y;
    }
    ByteDifference { elements: 0, differing, sums: Some(sums) }
}

fn equal_elements(scalar_type: Option<ScalarType>, bytes: &[u8]) -> EqualElements {
    with_decoder!(scalar_type, squares(bytes)).unwrap_or_default()
}

/// Number of independent sums, so that the processor does not wait for each addition.
const LANES: usize = 8;

fn squares<const N: usize, E: Element>(bytes: &[u8], decode: impl Fn([u8; N]) -> E) -> EqualElements {
    let finite = |element: &[u8; N]| {
        let x = decode(*element).real();
        if x.is_finite() { (x, 1) } else { (0.0, 0) }
    };
    let (groups, rest) = bytes.as_chunks::<N>().0.as_chunks::<LANES>();
    let (mut sums, mut counts) = ([0.0; LANES], [0; LANES]);
    for group in groups {
        for ((sum, count), element) in sums.iter_mut().zip(&mut counts).zip(group) {
            let (x, one) = finite(element);
            *sum += x * x;
            *count += one;
        }
    }
    for element in rest {
        let (x, one) = finite(element);
        sums[0] += x * x;
        counts[0] += one;
    }
    EqualElements { squares: sums.iter().sum(), finite: counts.iter().sum() }
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
