//! Elements of a tensor at regular positions, which views, transpositions, slices and expansions read.

use pte_model::data::{Blob, BlobSource};

use super::call::ConstantCall;
use super::error::{Result, refuse};

/// Results of up to this number of bytes are computed; larger ones that reorder their argument are read when they are
/// needed.
const SMALL: u64 = 1 << 20;

/// The elements of a result in the order of its memory, as positions in a source.
pub(super) struct Strided {
    /// Position of the first element.
    pub offset: i64,
    /// Size and distance in the source of each dimension, from the outermost to the innermost. Sizes are not negative.
    pub dims: Vec<(i64, i64)>,
}

impl Strided {
    /// Returns the number of elements; `None` if it exceeds `i64`.
    fn count(&self) -> Option<i64> {
        if self.dims.iter().any(|(size, _)| *size == 0) {
            return Some(0);
        }
        self.dims.iter().try_fold(1i64, |count, (size, _)| count.checked_mul(*size))
    }

    /// Returns the first and the last position; `None` if they exceed `i64`.
    fn range(&self) -> Option<(i64, i64)> {
        let (mut first, mut last) = (self.offset, self.offset);
        for (size, stride) in &self.dims {
            let span = (size - 1).checked_mul(*stride)?;
            (first, last) = (first.checked_add(span.min(0))?, last.checked_add(span.max(0))?);
        }
        Some((first, last))
    }

    /// Removes dimensions of size 1, and joins those that follow each other.
    fn normalized(&self) -> Strided {
        let mut dims: Vec<(i64, i64)> = Vec::with_capacity(self.dims.len());
        for &(size, stride) in self.dims.iter().filter(|(size, _)| *size != 1) {
            match dims.last_mut() {
                Some((outer, last)) if Some(*last) == stride.checked_mul(size) && outer.checked_mul(size).is_some() => {
                    (*outer, *last) = (*outer * size, stride);
                }
                _ => dims.push((size, stride)),
            }
        }
        Strided { offset: self.offset, dims }
    }

    /// Returns the orders of the dimensions in the source if the elements are a contiguous range of it: the dimensions
    /// from the outermost there to the innermost.
    fn permutation(&self) -> Option<Vec<u8>> {
        let mut order: Vec<u8> = (0..u8::try_from(self.dims.len()).ok()?).collect();
        order.sort_by_key(|dim| std::cmp::Reverse(self.dims[usize::from(*dim)].1));
        let mut next = 1i64;
        for dim in order.iter().rev() {
            let (size, stride) = self.dims[usize::from(*dim)];
            if stride != next {
                return None;
            }
            next = next.checked_mul(size)?;
        }
        Some(order)
    }

    /// Returns the elements of a source of `element` bytes each.
    pub(super) fn read(&self, call: &ConstantCall<'_>, source: &Blob, element: u64) -> Result<Blob> {
        let Some(count) = self.count().and_then(|count| u64::try_from(count).ok()) else { return refuse(TOO_LARGE) };
        let Some(bytes) = count.checked_mul(element) else { return refuse(TOO_LARGE) };
        if count == 0 {
            return Ok(Blob::bytes([]));
        }
        let view = self.normalized();
        let Some((first, last)) = view.range().filter(|(first, last)| {
            *first >= 0 && u64::try_from(*last).is_ok_and(|last| last < source.len() / element)
        }) else {
            return refuse("a position is outside of the tensor");
        };
        let (start, span) = (first as u64 * element, (last - first + 1) as u64 * element);
        if (start, span, view.permutation().as_deref()) == (0, source.len(), Some(&[0][..][..view.dims.len().min(1)])) {
            return Ok(source.clone());
        }
        if view.dims.iter().all(|(_, stride)| *stride == 0) {
            let pattern = source.read_at(start, element as usize)?;
            return repeated(&pattern, bytes);
        }
        if bytes > SMALL
            && let Some(from) = view.permutation()
            && let Some(part) = part(call, source, start, span)?
        {
            let to: Vec<u8> = (0..from.len() as u8).collect();
            if from == to {
                return Ok(part);
            }
            let sizes: Vec<u64> = view.dims.iter().map(|(size, _)| *size as u64).collect();
            let (sizes, from, to) = (sizes.into(), from.into(), to.into());
            let reordered = BlobSource::Reordered { data: part.into(), element, sizes, from, to };
            return Ok(Blob::new(bytes, reordered));
        }
        let (bytes, span) = (call.bounded(Some(bytes))?, call.bounded(Some(span))?);
        let range = source.contents(start, span)?;
        let mut out = Vec::with_capacity(bytes);
        let base = Strided { offset: view.offset - first, dims: view.dims };
        base.copy(&range, element as usize, &mut out);
        Ok(Blob::bytes(out))
    }

    /// Appends the elements of a source in memory, which has all positions.
    pub(super) fn copy(&self, source: &[u8], element: usize, out: &mut Vec<u8>) {
        let Some(((count, step), outer)) = self.dims.split_last() else {
            let at = self.offset as usize * element;
            out.extend_from_slice(&source[at..at + element]);
            return;
        };
        let mut index = vec![0i64; outer.len()];
        let mut position = self.offset;
        loop {
            if *step == 1 {
                let at = position as usize * element;
                out.extend_from_slice(&source[at..at + *count as usize * element]);
            } else {
                for item in 0..*count {
                    let at = (position + item * step) as usize * element;
                    out.extend_from_slice(&source[at..at + element]);
                }
            }
            let mut dim = outer.len();
            loop {
                let Some(next) = dim.checked_sub(1) else { return };
                dim = next;
                let (size, stride) = outer[dim];
                index[dim] += 1;
                position += stride;
                if index[dim] < size {
                    break;
                }
                position -= size * stride;
                index[dim] = 0;
            }
        }
    }
}

const TOO_LARGE: &str = "a result is too large to be computed";

/// Returns a range of a source that is not read, if possible; `None` if it had to be copied.
fn part(call: &ConstantCall<'_>, source: &Blob, start: u64, span: u64) -> Result<Option<Blob>> {
    if !matches!(source.source(), BlobSource::File { .. }) && span != source.len() && call.bounded(Some(span)).is_err()
    {
        return Ok(None);
    }
    Ok(source.part_or_whole(start, span)?)
}

/// Returns a blob of repeated elements.
pub(super) fn repeated(pattern: &[u8], bytes: u64) -> Result<Blob> {
    let same = pattern.iter().all(|byte| Some(byte) == pattern.first());
    let pattern = if same { &pattern[..1.min(pattern.len())] } else { pattern };
    if bytes <= SMALL {
        return Ok(Blob::bytes(pattern.iter().copied().cycle().take(bytes as usize).collect::<Vec<u8>>()));
    }
    Ok(Blob::new(bytes, BlobSource::Repeat(pattern.into())))
}

/// Returns the distances of elements of a contiguous tensor, by dimension; `None` if they exceed `i64`.
pub(super) fn strides(sizes: &[i64]) -> Option<Vec<i64>> {
    let mut strides = vec![1i64; sizes.len()];
    for dim in (1..sizes.len()).rev() {
        strides[dim - 1] = strides[dim].checked_mul(sizes[dim].max(1))?;
    }
    Some(strides)
}
