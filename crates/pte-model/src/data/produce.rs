//! Reads any part of a [`Blob`]'s bytes from any thread, so that several threads can produce different parts at once.
//!
//! Memory is proportional to the requested part, not to the blob.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::blob::{Blob, BlobSource};
use super::files::{self, File};
use super::number::{self, NumericValue};
use super::reorder::Reorder;
use crate::diagnostics::file_error::{cannot, named};
use crate::format::ScalarType;

/// Number of bytes of a block of elements that are decoded or compared. It fits a cache, and is a multiple of all
/// element sizes.
#[doc(hidden)]
pub const BLOCK: u64 = 256 << 10;

/// An open blob: any thread can read any part of it.
pub struct Producer<'b>(Reading<'b>);

impl Producer<'_> {
    /// Fills `out` with the bytes from `offset` on, which must be within the blob.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, out)
    }
}

/// Source of the bytes of an open blob.
enum Reading<'b> {
    Bytes(&'b [u8]),
    File {
        file: File,
        path: &'b Path,
        offset: u64,
    },
    Repeat(&'b [u8]),
    Elements {
        scalar_type: ScalarType,
        number: Box<dyn Fn(u64) -> NumericValue + Sync + 'b>,
    },
    Converted {
        data: Box<Reading<'b>>,
        from: ScalarType,
        to: ScalarType,
    },
    Reordered {
        data: Box<Reading<'b>>,
        element: u64,
        reorder: Reorder<'b>,
    },
    /// Blobs with the offsets of their ends. They are opened when they are read, because there may be more than a
    /// process can have open.
    Joined {
        parts: &'b [Blob],
        ends: Vec<u64>,
    },
}

impl<'b> Reading<'b> {
    fn open(blob: &'b Blob) -> io::Result<Reading<'b>> {
        Ok(match &blob.source {
            BlobSource::Bytes(bytes) => Reading::Bytes(bytes),
            BlobSource::File { path, offset } => {
                let file = File::open(path).map_err(|error| cannot("read", path, error))?;
                Reading::File { file, path, offset: *offset }
            }
            BlobSource::Repeat(pattern) => Reading::Repeat(pattern),
            &BlobSource::Iota { scalar_type, start, step } => {
                Reading::Elements { scalar_type, number: Box::new(move |index| iota(start, step, index)) }
            }
            &BlobSource::Random { scalar_type, seed, distribution } => {
                Reading::Elements { scalar_type, number: Box::new(move |index| distribution.sample(seed, index)) }
            }
            BlobSource::Converted { data, from, to } => {
                Reading::Converted { data: Box::new(Reading::open(data)?), from: *from, to: *to }
            }
            BlobSource::Reordered { data, element, sizes, from, to } => Reading::Reordered {
                data: Box::new(Reading::open(data)?),
                element: *element,
                reorder: Reorder::new(*element, sizes, from, to),
            },
            BlobSource::Joined(parts) => {
                let ends = parts.iter().scan(0u64, |end, part| {
                    *end = end.saturating_add(part.len);
                    Some(*end)
                });
                Reading::Joined { parts, ends: ends.collect() }
            }
        })
    }

    /// Fills `out` with the bytes from `offset` on, which must be within the blob.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match self {
            Reading::Bytes(bytes) => {
                let start = offset as usize;
                out.copy_from_slice(&bytes[start..start + out.len()]);
                Ok(())
            }
            Reading::File { file, path, offset: base } => {
                files::read_exact_at(file, base + offset, out).map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => {
                        let end = base + offset + out.len() as u64;
                        let message = format!("the file became shorter while it was read: it must have {end} bytes");
                        // Not `UnexpectedEof`, which stands for invalid data: the file was long enough.
                        named(path, io::Error::new(io::ErrorKind::ResourceBusy, message))
                    }
                    _ => cannot("read", path, error),
                })
            }
            Reading::Repeat(pattern) => {
                repeat(pattern, offset, out);
                Ok(())
            }
            Reading::Elements { scalar_type, number } => {
                whole_elements(scalar_type.element_size(), offset, out, |first, out| {
                    let mut bytes = Vec::with_capacity(out.len());
                    for index in first..first + out.len() as u64 / scalar_type.element_size() {
                        number::encode(*scalar_type, number(index), &mut bytes).map_err(io::Error::other)?;
                    }
                    out.copy_from_slice(&bytes);
                    Ok(())
                })
            }
            Reading::Converted { data, from, to } => whole_elements(to.element_size(), offset, out, |first, out| {
                let mut source = vec![0; (out.len() as u64 / to.element_size() * from.element_size()) as usize];
                data.read_at(first * from.element_size(), &mut source)?;
                let mut bytes = Vec::with_capacity(out.len());
                number::convert(*from, *to, &source, &mut bytes).map_err(|(index, error)| {
                    let message = format!("element {} cannot be converted: {error}", first + index);
                    let error = io::Error::new(io::ErrorKind::InvalidData, message);
                    match &**data {
                        Reading::File { path, .. } => named(path, error),
                        _ => error,
                    }
                })?;
                out.copy_from_slice(&bytes);
                Ok(())
            }),
            Reading::Reordered { data, element, reorder } => whole_elements(*element, offset, out, |first, out| {
                reorder.read(&|at, out| data.read_at(at, out), first, out)
            }),
            Reading::Joined { parts, ends } => joined(parts, ends, offset, out),
        }
    }
}

impl Blob {
    /// Writes all bytes to `out`, in blocks.
    ///
    /// # Errors
    /// `out` returns an error, a file (named in the message) cannot be read or is too short, or an element does not fit
    /// its new type.
    pub fn copy_to(&self, out: &mut dyn Write) -> io::Result<()> {
        if let BlobSource::Bytes(bytes) = &self.source {
            return out.write_all(bytes);
        }
        read_blocks([self], self.block(), (0..self.len).step_by(self.block() as usize), |_, [bytes]| {
            out.write_all(bytes).map(|()| true)
        })
    }

    /// Returns the position of the first byte that differs from a blob of the same length.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    #[doc(hidden)]
    pub fn first_difference(&self, other: &Blob) -> io::Result<Option<u64>> {
        let mut first = None;
        read_blocks([self, other], BLOCK, (0..self.len).step_by(BLOCK as usize), |at, [a, b]| {
            let position = if a == b { None } else { a.iter().zip(b).position(|(a, b)| a != b) };
            first = position.map(|position| at + position as u64);
            Ok(first.is_none())
        })?;
        Ok(first)
    }

    /// Preferred number of bytes to read at a time.
    #[doc(hidden)]
    pub fn block(&self) -> u64 {
        // Larger blocks read longer contiguous pieces.
        if matches!(self.source, BlobSource::Reordered { .. }) { 8 << 20 } else { 1 << 20 }
    }

    /// Opens the blob for reading at offsets.
    ///
    /// # Errors
    /// A file cannot be opened. The message names it.
    #[doc(hidden)]
    pub fn open(&self) -> io::Result<Producer<'_>> {
        Reading::open(self).map(Producer)
    }

    /// Reads `len` bytes from `offset` on.
    ///
    /// # Errors
    /// As [`Blob::copy_to`]; a range that is not within the blob.
    pub fn read_at(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.read_several([offset], len)
    }

    /// Reads bytes like [`Blob::read_at`], without a copy if they are in memory.
    ///
    /// # Errors
    /// As [`Blob::read_at`].
    #[doc(hidden)]
    pub fn contents(&self, offset: u64, len: usize) -> io::Result<Cow<'_, [u8]>> {
        let range = usize::try_from(offset).ok().and_then(|start| Some(start..start.checked_add(len)?));
        match (&self.source, range) {
            (BlobSource::Bytes(bytes), Some(range)) if bytes.len() as u64 == self.len && range.end <= bytes.len() => {
                Ok(Cow::Borrowed(&bytes[range]))
            }
            _ => self.read_at(offset, len).map(Cow::Owned),
        }
    }

    /// Reads `len` bytes from each offset on, and returns them concatenated.
    ///
    /// # Errors
    /// As [`Blob::read_at`].
    #[doc(hidden)]
    pub fn read_several<const N: usize>(&self, offsets: [u64; N], len: usize) -> io::Result<Vec<u8>> {
        if offsets.iter().any(|offset| offset.checked_add(len as u64).is_none_or(|end| end > self.len)) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; N * len];
        if bytes.is_empty() {
            return Ok(bytes);
        }
        let producer = self.open()?;
        for (offset, bytes) in offsets.into_iter().zip(bytes.chunks_exact_mut(len)) {
            producer.read_at(offset, bytes)?;
        }
        Ok(bytes)
    }

    /// Reads all bytes. This is for small blobs, and for those inside a FlatBuffer.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        // The length may be untrusted: grow with the bytes that are read.
        let mut bytes = Vec::new();
        self.copy_to(&mut bytes)?;
        Ok(bytes)
    }

    /// Returns the SHA-256 digest of the bytes.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    pub fn digest(&self) -> io::Result<[u8; 32]> {
        struct ContentHash(Sha256);
        impl Write for ContentHash {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.update(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut hash = ContentHash(Sha256::new());
        self.copy_to(&mut hash)?;
        Ok(hash.0.finalize().into())
    }
}

/// Reads blobs of one length in blocks of `size` bytes at `offsets`; the last block ends with the blobs. `take` gets
/// each offset with the bytes of all blobs, and returns false to end.
///
/// # Errors
/// Data that cannot be read, and those of `take`.
#[doc(hidden)]
pub fn read_blocks<const N: usize>(
    blobs: [&Blob; N],
    size: u64,
    offsets: impl Iterator<Item = u64>,
    mut take: impl FnMut(u64, [&[u8]; N]) -> io::Result<bool>,
) -> io::Result<()> {
    let (mut open, mut buffers) = (Vec::new(), [const { Vec::new() }; N]);
    for at in offsets {
        if open.is_empty() {
            open = blobs.iter().map(|blob| blob.open()).collect::<io::Result<_>>()?;
        }
        for ((blob, producer), bytes) in blobs.iter().zip(&open).zip(&mut buffers) {
            bytes.resize(blob.len.saturating_sub(at).min(size) as usize, 0);
            producer.read_at(at, bytes)?;
        }
        if !take(at, buffers.each_ref().map(Vec::as_slice))? {
            break;
        }
    }
    Ok(())
}

/// Returns the `index`-th number of an arithmetic progression. Its bounds are checked when the YAML is resolved.
pub fn iota(start: NumericValue, step: NumericValue, index: u64) -> NumericValue {
    match (start, step) {
        (NumericValue::Int(start), NumericValue::Int(step)) => {
            NumericValue::Int(start.saturating_add(step.saturating_mul(index.into())))
        }
        _ => NumericValue::Float(start.to_f64() + step.to_f64() * index as f64),
    }
}

/// Fills `out` with the bytes from `offset` on of a sequence. `read` produces whole elements of `element` bytes from an
/// index on.
fn whole_elements(
    element: u64,
    offset: u64,
    out: &mut [u8],
    read: impl FnOnce(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<()> {
    let first = offset / element;
    let skip = (offset % element) as usize;
    let covered = (skip as u64 + out.len() as u64).next_multiple_of(element) as usize;
    if covered == out.len() {
        return read(first, out);
    }
    let mut wide = vec![0; covered];
    read(first, &mut wide)?;
    out.copy_from_slice(&wide[skip..skip + out.len()]);
    Ok(())
}

/// Fills `out` with the bytes from `offset` on of blobs that follow each other; `ends` are the offsets of their ends.
fn joined(parts: &[Blob], ends: &[u64], mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
    let first = ends.partition_point(|end| *end <= offset);
    for (part, end) in parts[first..].iter().zip(&ends[first..]) {
        if out.is_empty() {
            break;
        }
        let len = (end - offset).min(out.len() as u64);
        let (bytes, rest) = out.split_at_mut(len as usize);
        part.open()?.read_at(part.len - (end - offset), bytes)?;
        (offset, out) = (offset + len, rest);
    }
    Ok(())
}

fn repeat(pattern: &[u8], offset: u64, out: &mut [u8]) {
    if let [byte] = pattern {
        return out.fill(*byte);
    }
    let first = pattern.iter().cycle().skip((offset % pattern.len().max(1) as u64) as usize);
    let (start, rest) = out.split_at_mut(out.len().min(pattern.len()));
    start.iter_mut().zip(first).for_each(|(byte, value)| *byte = *value);
    // `start` is one period of the rest.
    for piece in rest.chunks_mut(start.len().max(1)) {
        piece.copy_from_slice(&start[..piece.len()]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::random::Distribution;

    /// One blob of each kind, several blocks long.
    fn blobs() -> Vec<Blob> {
        let float = ScalarType::FLOAT;
        let half = ScalarType::parse("float16").unwrap();
        let distribution = Distribution::Uniform { low: -1.0, high: 1.0 };
        let random = Blob::new(5 << 20, BlobSource::Random { scalar_type: float, seed: 1, distribution });
        let (from, to): (Arc<[u8]>, Arc<[u8]>) = (Arc::from([0, 1]), Arc::from([1, 0]));
        vec![
            Blob::bytes(random.to_vec().unwrap()),
            Blob::new((5 << 20) + 1, BlobSource::Repeat(Arc::from([1, 2, 3]))),
            Blob::new(5 << 20, BlobSource::Repeat(Arc::from([9]))),
            Blob::new(
                5 << 20,
                BlobSource::Iota {
                    scalar_type: ScalarType::LONG,
                    start: NumericValue::Int(7),
                    step: NumericValue::Int(-3),
                },
            ),
            Blob::new(10 << 19, BlobSource::Converted { data: Arc::new(random.clone()), from: float, to: half }),
            Blob::new(
                20 << 20,
                BlobSource::Reordered {
                    data: Arc::new(Blob::new(20 << 20, random.source.clone())),
                    element: 4,
                    sizes: Arc::from([5 << 10, 1 << 10]),
                    from,
                    to,
                },
            ),
            Blob::joined([Blob::bytes([1]), random.clone(), Blob::bytes([]), random.clone()]).unwrap(),
            random,
        ]
    }

    #[test]
    fn a_range_outside_is_an_error() {
        for blob in
            [Blob::bytes([]), Blob::bytes([1, 2, 3]), Blob::new(3, BlobSource::Repeat(std::sync::Arc::from([7])))]
        {
            assert!(blob.read_at(0, 4).is_err() && blob.read_at(u64::MAX, 1).is_err());
            assert_eq!(blob.read_at(0, blob.len as usize).unwrap().len() as u64, blob.len);
        }
    }

    #[test]
    fn any_part_is_the_same_as_of_the_whole() {
        for blob in blobs() {
            // The elements of the converted blob have half the size.
            let blob = match blob.source {
                BlobSource::Converted { .. } => Blob { len: 5 << 19, ..blob },
                _ => blob,
            };
            let whole = blob.to_vec().unwrap();
            assert_eq!(whole.len() as u64, blob.len);
            for (offset, len) in [(0, 1), (1, 1), (3, 8), (1 << 20, 5), ((1 << 20) - 3, 1 << 20), (whole.len() - 7, 7)]
            {
                assert_eq!(blob.read_at(offset as u64, len).unwrap(), whole[offset..offset + len], "{:?}", blob.source);
            }
        }
    }

    #[test]
    fn conversion_errors_have_the_index_of_the_element() {
        let (from, to) = (ScalarType::LONG, ScalarType::parse("int8").unwrap());
        let numbers: Vec<u8> = [1i64, 2, 300].iter().flat_map(|n| n.to_le_bytes()).collect();
        let blob = Blob::new(3, BlobSource::Converted { data: Arc::new(Blob::bytes(numbers)), from, to });
        let error = blob.to_vec().unwrap_err().to_string();
        assert_eq!(error, "element 2 cannot be converted: 300 is out of range for int8, which holds -128 to 127");
    }

    #[test]
    fn a_repeated_pattern_is_cut_at_the_length() {
        let blob = Blob::new(7, BlobSource::Repeat(Arc::from([1, 2, 3])));
        assert_eq!(blob.to_vec().unwrap(), [1, 2, 3, 1, 2, 3, 1]);
    }

    #[test]
    fn channels_last_is_a_reordering() {
        // Sizes [1, 2, 2, 2], logical 0..8; in memory channels run fastest.
        let data = Arc::new(Blob::bytes([0, 1, 2, 3, 4, 5, 6, 7]));
        let source = BlobSource::Reordered {
            data,
            element: 1,
            sizes: Arc::from([1, 2, 2, 2]),
            from: Arc::from([0, 1, 2, 3]),
            to: Arc::from([0, 2, 3, 1]),
        };
        assert_eq!(Blob::new(8, source).to_vec().unwrap(), [0, 4, 1, 5, 2, 6, 3, 7]);
    }

    #[test]
    fn errors_name_a_missing_file() {
        let source = BlobSource::File { path: Arc::from(Path::new("no/such/file.bin")), offset: 0 };
        let error = Blob::new(1, source).to_vec().unwrap_err().to_string();
        assert!(error.starts_with("cannot read no/such/file.bin: "), "{error}");
    }
}
