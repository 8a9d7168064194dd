//! Reorders the dimensions of a tensor; any part of the result can be produced without the rest.
//!
//! A part of the result is split into boxes, each a range of every dimension. The elements of a box are read in
//! contiguous pieces of the source, and transposed in memory.

use std::io;
use std::ops::Range;

/// A reordering of a tensor's dimensions.
#[derive(Debug)]
pub(crate) struct Reorder<'b> {
    /// Bytes per element.
    element: u64,
    /// Size of each dimension.
    sizes: &'b [u64],
    /// Dimensions of the source from the outermost to the innermost.
    from: &'b [u8],
    /// Dimensions of the result from the outermost to the innermost.
    to: &'b [u8],
    /// Stride of each dimension in the source, in bytes.
    strides: Vec<u64>,
}

/// Maximum number of bytes that are read at a time. Pieces that are at most a quarter of this apart are read together.
const WINDOW: u64 = 64 << 10;

impl<'b> Reorder<'b> {
    /// Creates a reordering of elements of `element` bytes. Both orders must be permutations of the dimensions, and the
    /// size of the tensor in bytes must fit `u64`.
    pub(crate) fn new(element: u64, sizes: &'b [u64], from: &'b [u8], to: &'b [u8]) -> Reorder<'b> {
        let mut strides = vec![0; sizes.len()];
        let mut stride = element;
        for &dim in from.iter().rev() {
            strides[usize::from(dim)] = stride;
            stride *= sizes[usize::from(dim)];
        }
        Reorder { element, sizes, from, to, strides }
    }

    /// Fills `out` with elements of the result from index `first` on. `read` reads bytes of the source from an offset
    /// on.
    pub(super) fn read(
        &self,
        read: &dyn Fn(u64, &mut [u8]) -> io::Result<()>,
        first: u64,
        out: &mut [u8],
    ) -> io::Result<()> {
        let count = out.len() as u64 / self.element;
        let mut rest = out;
        let mut ranges: Vec<Range<u64>> = self.sizes.iter().map(|size| 0..*size).collect();
        self.boxes(0, first..first + count, &mut ranges, &mut |ranges| {
            let count: u64 = ranges.iter().map(|range| range.end - range.start).product();
            let (now, later) = std::mem::take(&mut rest).split_at_mut((count * self.element) as usize);
            rest = later;
            self.transpose(ranges, &self.gather(read, ranges, now.len())?, now);
            Ok(())
        })
    }

    /// Splits a range of elements of the result, indexed in its dimensions from `depth` on, into boxes, in order.
    fn boxes(
        &self,
        depth: usize,
        elements: Range<u64>,
        ranges: &mut Vec<Range<u64>>,
        take: &mut dyn FnMut(&[Range<u64>]) -> io::Result<()>,
    ) -> io::Result<()> {
        if elements.is_empty() {
            return Ok(());
        }
        let Some(&dim) = self.to.get(depth) else { return take(ranges) };
        let dim = usize::from(dim);
        let below: u64 = self.to[depth + 1..].iter().map(|dim| self.sizes[usize::from(*dim)]).product();
        let mut start = elements.start;
        while start < elements.end {
            let (index, inside) = (start / below, start % below);
            let whole = (elements.end - start) / below;
            if inside == 0 && whole > 0 {
                ranges[dim] = index..index + whole;
                take(ranges)?;
                start += whole * below;
            } else {
                let end = elements.end.min((index + 1) * below);
                ranges[dim] = index..index + 1;
                self.boxes(depth + 1, inside..inside + (end - start), ranges, take)?;
                start = end;
            }
        }
        ranges[dim] = 0..self.sizes[dim];
        Ok(())
    }

    /// Reads the elements of a box, in the order of the source.
    fn gather(
        &self,
        read: &dyn Fn(u64, &mut [u8]) -> io::Result<()>,
        ranges: &[Range<u64>],
        len: usize,
    ) -> io::Result<Vec<u8>> {
        // The dimensions from this one on are contiguous, because the ranges of those after it are complete.
        let mut outer = self.from.len();
        let mut piece = self.element;
        while outer > 0 {
            outer -= 1;
            let dim = usize::from(self.from[outer]);
            let count = ranges[dim].end - ranges[dim].start;
            piece *= count;
            if count != self.sizes[dim] {
                break;
            }
        }
        let outer = &self.from[..outer];
        let close = outer.last().is_some_and(|dim| self.strides[usize::from(*dim)] <= WINDOW / 4);
        let end = self.sizes.iter().product::<u64>() * self.element;
        let mut window = (0, Vec::new());
        let mut out = vec![0; len];
        let mut index: Vec<u64> = ranges.iter().map(|range| range.start).collect();
        for piece in out.chunks_exact_mut(piece as usize) {
            let at: u64 = index.iter().zip(&self.strides).map(|(index, stride)| index * stride).sum();
            if close {
                let (start, bytes) = &mut window;
                if at < *start || at + piece.len() as u64 > *start + bytes.len() as u64 {
                    *start = at;
                    bytes.resize(WINDOW.max(piece.len() as u64).min(end - at) as usize, 0);
                    read(at, bytes)?;
                }
                let skip = (at - *start) as usize;
                piece.copy_from_slice(&bytes[skip..skip + piece.len()]);
            } else {
                read(at, piece)?;
            }
            step(&mut index, outer, ranges);
        }
        Ok(out)
    }

    /// Transposes the elements of a box from the order of the source to that of the result.
    fn transpose(&self, ranges: &[Range<u64>], source: &[u8], out: &mut [u8]) {
        let count = |dim: u8| (ranges[usize::from(dim)].end - ranges[usize::from(dim)].start) as usize;
        let mut strides = vec![0; ranges.len()];
        let mut stride = self.element as usize;
        for &dim in self.from.iter().rev() {
            strides[usize::from(dim)] = stride;
            stride *= count(dim);
        }
        // Dimensions that are innermost in both orders are copied as a unit.
        let alike = self.from.iter().rev().zip(self.to.iter().rev()).take_while(|(from, to)| from == to).count();
        let (outer, inner) = self.to.split_at(self.to.len() - alike);
        let unit = inner.iter().map(|dim| count(*dim)).product::<usize>() * self.element as usize;
        let Some((&last, outer)) = outer.split_last() else { return out.copy_from_slice(source) };
        let row = StridedRow { unit, stride: strides[usize::from(last)] };
        let mut index = vec![0; ranges.len()];
        let sized: Vec<Range<u64>> = ranges.iter().map(|range| 0..range.end - range.start).collect();
        for out in out.chunks_exact_mut(count(last) * unit) {
            let at: usize = index.iter().zip(&strides).map(|(index, stride)| *index as usize * stride).sum();
            row.copy(&source[at..], out);
            step(&mut index, outer, &sized);
        }
    }
}

/// Units of `unit` bytes, `stride` bytes apart.
struct StridedRow {
    unit: usize,
    stride: usize,
}

impl StridedRow {
    /// Copies the units of `source`, from its first byte on, to contiguous units of `out`.
    fn copy(&self, source: &[u8], out: &mut [u8]) {
        match self.unit {
            1 => self.copy_units::<1>(source, out),
            2 => self.copy_units::<2>(source, out),
            4 => self.copy_units::<4>(source, out),
            8 => self.copy_units::<8>(source, out),
            unit => {
                for (out, source) in out.chunks_exact_mut(unit).zip(source.chunks(self.stride)) {
                    out.copy_from_slice(&source[..unit]);
                }
            }
        }
    }

    /// Copies units of a size that is known at compile time: one load and one store each.
    fn copy_units<const N: usize>(&self, source: &[u8], out: &mut [u8]) {
        for (out, source) in out.chunks_exact_mut(N).zip(source.chunks(self.stride)) {
            out.copy_from_slice(&source[..N]);
        }
    }
}

/// Advances an index; the last of `dims` is the fastest.
fn step(index: &mut [u64], dims: &[u8], ranges: &[Range<u64>]) {
    for &dim in dims.iter().rev() {
        let dim = usize::from(dim);
        index[dim] += 1;
        if index[dim] < ranges[dim].end {
            return;
        }
        index[dim] = ranges[dim].start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reorders element by element: the definition.
    fn reference(sizes: &[u64], from: &[u8], to: &[u8], element: usize, data: &[u8]) -> Vec<u8> {
        let reorder = Reorder::new(element as u64, sizes, from, to);
        let ranges: Vec<Range<u64>> = sizes.iter().map(|size| 0..*size).collect();
        let mut index = vec![0; sizes.len()];
        let mut out = Vec::new();
        for _ in 0..data.len() / element {
            let at: u64 = index.iter().zip(&reorder.strides).map(|(index, stride)| index * stride).sum();
            out.extend_from_slice(&data[at as usize..][..element]);
            step(&mut index, to, &ranges);
        }
        out
    }

    #[test]
    fn rows_become_columns() {
        // Sizes [2, 3]: rows 1 2 3 and 4 5 6.
        let read = |at: u64, out: &mut [u8]| {
            out.copy_from_slice(&[1, 2, 3, 4, 5, 6][at as usize..at as usize + out.len()]);
            Ok(())
        };
        let mut out = [0; 6];
        Reorder::new(1, &[2, 3], &[0, 1], &[1, 0]).read(&read, 0, &mut out).unwrap();
        assert_eq!(out, [1, 4, 2, 5, 3, 6]);
    }

    #[test]
    fn any_part_is_the_same_as_of_the_whole() {
        let cases: &[(&[u64], &[u8], &[u8])] = &[
            (&[2, 3, 4, 5], &[0, 1, 2, 3], &[0, 2, 3, 1]),
            (&[2, 3, 4, 5], &[0, 2, 3, 1], &[0, 1, 2, 3]),
            (&[3, 4, 5], &[2, 0, 1], &[1, 0, 2]),
            (&[3, 4, 5], &[0, 1, 2], &[1, 0, 2]),
            (&[7, 6], &[0, 1], &[1, 0]),
            (&[1, 5, 1, 2], &[3, 1, 2, 0], &[0, 1, 2, 3]),
            (&[4], &[0], &[0]),
            (&[], &[], &[]),
        ];
        for &(sizes, from, to) in cases {
            for element in [1, 3, 4, 8] {
                let count = sizes.iter().product::<u64>();
                let data: Vec<u8> = (0..count * element).map(|at| (at * 37 % 251) as u8).collect();
                let expected = reference(sizes, from, to, element as usize, &data);
                let reorder = Reorder::new(element, sizes, from, to);
                let read = |at: u64, out: &mut [u8]| {
                    out.copy_from_slice(&data[at as usize..at as usize + out.len()]);
                    Ok(())
                };
                for first in 0..count {
                    for end in first..=count {
                        let mut out = vec![0; ((end - first) * element) as usize];
                        reorder.read(&read, first, &mut out).unwrap();
                        assert_eq!(
                            out,
                            expected[(first * element) as usize..(end * element) as usize],
                            "{sizes:?} {from:?} {to:?} {element}: {first}..{end}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn distant_pieces_are_read_one_by_one() {
        // Reads columns of rows of 40,000 bytes: a window does not contain two rows.
        let (sizes, element) = ([9u64, 10_000], 4u64);
        let data: Vec<u8> = (0..sizes[0] * sizes[1] * element).map(|at| (at * 31 % 241) as u8).collect();
        let expected = reference(&sizes, &[0, 1], &[1, 0], 4, &data);
        let reads = std::cell::Cell::new(0);
        let read = |at: u64, out: &mut [u8]| {
            reads.set(reads.get() + 1);
            out.copy_from_slice(&data[at as usize..at as usize + out.len()]);
            Ok(())
        };
        let mut out = vec![0; 9 * 4 * 100];
        Reorder::new(element, &sizes, &[0, 1], &[1, 0]).read(&read, 9 * 500, &mut out).unwrap();
        assert_eq!(out, expected[9 * 4 * 500..9 * 4 * 600]);
        assert_eq!(reads.get(), 9, "a hundred columns are contiguous in each row");
    }
}
