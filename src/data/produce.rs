//! Reading a [`Blob`]: any part of its bytes, by any thread, so that several can produce different parts at once.
//!
//! Memory is for what is asked for at a time, whatever the length of the blob.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::blob::{Blob, Source};
use super::number::{self, Number};
use super::positioned;
use super::reorder::Reorder;
use crate::format::ScalarType;

/// A blob ready to be read: its file is open.
pub(crate) enum Producer<'b> {
    Bytes(&'b [u8]),
    File { file: File, path: &'b Path, offset: u64 },
    Repeat(&'b [u8]),
    Elements { scalar_type: ScalarType, number: Box<dyn Fn(u64) -> Number + Sync + 'b> },
    Converted { data: Box<Producer<'b>>, from: ScalarType, to: ScalarType },
    Reordered { data: Box<Producer<'b>>, element: u64, reorder: Reorder<'b> },
}

impl<'b> Producer<'b> {
    pub(super) fn open(blob: &'b Blob) -> io::Result<Producer<'b>> {
        Ok(match &blob.source {
            Source::Bytes(bytes) => Producer::Bytes(bytes),
            Source::File { path, offset } => {
                let file = File::open(path).map_err(|error| named(path, error))?;
                Producer::File { file, path, offset: *offset }
            }
            Source::Repeat(pattern) => Producer::Repeat(pattern),
            &Source::Iota { scalar_type, start, step } => {
                Producer::Elements { scalar_type, number: Box::new(move |index| iota(start, step, index)) }
            }
            &Source::Random { scalar_type, seed, distribution } => {
                Producer::Elements { scalar_type, number: Box::new(move |index| distribution.sample(seed, index)) }
            }
            Source::Converted { data, from, to } => {
                Producer::Converted { data: Box::new(Producer::open(data)?), from: *from, to: *to }
            }
            Source::Reordered { data, element, sizes, from, to } => Producer::Reordered {
                data: Box::new(Producer::open(data)?),
                element: *element,
                reorder: Reorder::new(*element, sizes, from, to),
            },
        })
    }

    /// Fills `out` with the bytes from `offset` on, which are all within the blob.
    pub(crate) fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match self {
            Producer::Bytes(bytes) => {
                let start = offset as usize;
                out.copy_from_slice(&bytes[start..start + out.len()]);
                Ok(())
            }
            Producer::File { file, path, offset: base } => {
                positioned::read_exact_at(file, base + offset, out).map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => {
                        let end = base + offset + out.len() as u64;
                        let message = format!("the file became shorter while it was read: it must have {end} bytes");
                        named(path, io::Error::new(error.kind(), message))
                    }
                    _ => named(path, error),
                })
            }
            Producer::Repeat(pattern) => {
                repeat(pattern, offset, out);
                Ok(())
            }
            Producer::Elements { scalar_type, number } => {
                whole_elements(size(*scalar_type), offset, out, |first, out| {
                    let mut bytes = Vec::with_capacity(out.len());
                    for index in first..first + out.len() as u64 / size(*scalar_type) {
                        number::encode(*scalar_type, number(index), &mut bytes).map_err(io::Error::other)?;
                    }
                    out.copy_from_slice(&bytes);
                    Ok(())
                })
            }
            Producer::Converted { data, from, to } => whole_elements(size(*to), offset, out, |first, out| {
                let mut source = vec![0; (out.len() as u64 / size(*to) * size(*from)) as usize];
                data.read_at(first * size(*from), &mut source)?;
                let mut bytes = Vec::with_capacity(out.len());
                number::convert(*from, *to, &source, &mut bytes).map_err(|(index, error)| {
                    let message = format!("element {} cannot be converted: {error}", first + index);
                    let error = io::Error::new(io::ErrorKind::InvalidData, message);
                    match &**data {
                        Producer::File { path, .. } => named(path, error),
                        _ => error,
                    }
                })?;
                out.copy_from_slice(&bytes);
                Ok(())
            }),
            Producer::Reordered { data, element, reorder } => whole_elements(*element, offset, out, |first, out| {
                reorder.read(&|at, out| data.read_at(at, out), first, out)
            }),
        }
    }
}

impl Blob {
    /// Writes all bytes to `out`, in blocks.
    ///
    /// # Errors
    /// What `out` says; a file that cannot be read or has become too short, named in the message; a number that its new type
    /// does not hold.
    pub fn copy_to(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Source::Bytes(bytes) = &self.source {
            return out.write_all(bytes);
        }
        if self.len == 0 {
            return Ok(());
        }
        let producer = self.open()?;
        let (mut start, mut bytes) = (0, Vec::new());
        while start < self.len {
            bytes.resize((self.len - start).min(self.block()) as usize, 0);
            producer.read_at(start, &mut bytes)?;
            out.write_all(&bytes)?;
            start += bytes.len() as u64;
        }
        Ok(())
    }

    /// How many bytes are best asked for at a time.
    pub(crate) fn block(&self) -> u64 {
        match self.source {
            // The larger, the longer the pieces that lie together.
            Source::Reordered { .. } => 8 << 20,
            _ => 1 << 20,
        }
    }

    /// What gives any part of the bytes, to any thread.
    ///
    /// # Errors
    /// A file that cannot be opened, named in the message.
    pub(crate) fn open(&self) -> io::Result<Producer<'_>> {
        Producer::open(self)
    }

    /// Some of the bytes, from `offset` on, of which `len` must be there.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    pub fn read_at(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.read_several([offset], len)
    }

    /// So many bytes from each of these offsets on, one after the other.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    pub fn read_several<const N: usize>(&self, offsets: [u64; N], len: usize) -> io::Result<Vec<u8>> {
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

    /// All bytes in memory. For small blobs, and for those that go into the FlatBuffer.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        // The length may come from a stranger: grow with what really arrives.
        let mut bytes = Vec::new();
        self.copy_to(&mut bytes)?;
        Ok(bytes)
    }

    /// SHA-256 of the bytes.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    pub fn digest(&self) -> io::Result<[u8; 32]> {
        struct Hash(Sha256);
        impl Write for Hash {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.update(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut hash = Hash(Sha256::new());
        self.copy_to(&mut hash)?;
        Ok(hash.0.finalize().into())
    }
}

/// The `index`-th number of a progression. Its ends are checked when the text is read, so it never leaves the type.
pub(crate) fn iota(start: Number, step: Number, index: u64) -> Number {
    match (start, step) {
        (Number::Int(start), Number::Int(step)) => Number::Int(start.saturating_add(step.saturating_mul(index.into()))),
        _ => Number::Float(start.to_f64() + step.to_f64() * index as f64),
    }
}

/// An error with the file that it is about.
pub(crate) fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn size(scalar_type: ScalarType) -> u64 {
    scalar_type.info().map_or(1, |info| info.size)
}

/// Fills `out` with bytes from `offset` on of what `make` gives only element by element.
fn whole_elements(
    element: u64,
    offset: u64,
    out: &mut [u8],
    make: impl FnOnce(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<()> {
    let first = offset / element;
    let skip = (offset % element) as usize;
    let covered = (skip as u64 + out.len() as u64).next_multiple_of(element) as usize;
    if covered == out.len() {
        return make(first, out);
    }
    let mut wide = vec![0; covered];
    make(first, &mut wide)?;
    out.copy_from_slice(&wide[skip..skip + out.len()]);
    Ok(())
}

fn repeat(pattern: &[u8], offset: u64, out: &mut [u8]) {
    if let [byte] = pattern {
        return out.fill(*byte);
    }
    let first = pattern.iter().cycle().skip((offset % pattern.len().max(1) as u64) as usize);
    let (start, rest) = out.split_at_mut(out.len().min(pattern.len()));
    start.iter_mut().zip(first).for_each(|(byte, wanted)| *byte = *wanted);
    // What is there is one period of what follows.
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
        let random = Blob::new(5 << 20, Source::Random { scalar_type: float, seed: 1, distribution });
        let (from, to): (Arc<[u8]>, Arc<[u8]>) = (Arc::from([0, 1]), Arc::from([1, 0]));
        vec![
            Blob::bytes(random.to_vec().unwrap()),
            Blob::new((5 << 20) + 1, Source::Repeat(Arc::from([1, 2, 3]))),
            Blob::new(5 << 20, Source::Repeat(Arc::from([9]))),
            Blob::new(
                5 << 20,
                Source::Iota { scalar_type: ScalarType::LONG, start: Number::Int(7), step: Number::Int(-3) },
            ),
            Blob::new(10 << 19, Source::Converted { data: Arc::new(random.clone()), from: float, to: half }),
            Blob::new(
                20 << 20,
                Source::Reordered {
                    data: Arc::new(Blob::new(20 << 20, random.source.clone())),
                    element: 4,
                    sizes: Arc::from([5 << 10, 1 << 10]),
                    from,
                    to,
                },
            ),
            random,
        ]
    }

    #[test]
    fn any_part_is_the_same_as_of_the_whole() {
        for blob in blobs() {
            // What is converted has half the bytes.
            let blob = match blob.source {
                Source::Converted { .. } => Blob { len: 5 << 19, ..blob },
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
    fn what_cannot_be_converted_is_told_by_its_place() {
        let (from, to) = (ScalarType::LONG, ScalarType::parse("int8").unwrap());
        let numbers: Vec<u8> = [1i64, 2, 300].iter().flat_map(|n| n.to_le_bytes()).collect();
        let blob = Blob::new(3, Source::Converted { data: Arc::new(Blob::bytes(numbers)), from, to });
        let error = blob.to_vec().unwrap_err().to_string();
        assert_eq!(error, "element 2 cannot be converted: 300 does not fit int8, which holds -128 to 127");
    }


    #[test]
    fn a_repeated_pattern_is_cut_at_the_length() {
        let blob = Blob::new(7, Source::Repeat(Arc::from([1, 2, 3])));
        assert_eq!(blob.to_vec().unwrap(), [1, 2, 3, 1, 2, 3, 1]);
    }

    #[test]
    fn channels_last_is_a_reordering() {
        // Sizes [1, 2, 2, 2], logical 0..8; in memory channels run fastest.
        let data = Arc::new(Blob::bytes([0, 1, 2, 3, 4, 5, 6, 7]));
        let source = Source::Reordered {
            data,
            element: 1,
            sizes: Arc::from([1, 2, 2, 2]),
            from: Arc::from([0, 1, 2, 3]),
            to: Arc::from([0, 2, 3, 1]),
        };
        assert_eq!(Blob::new(8, source).to_vec().unwrap(), [0, 4, 1, 5, 2, 6, 3, 7]);
    }

    #[test]
    fn a_file_that_is_gone_is_named() {
        let source = Source::File { path: Arc::from(Path::new("no/such/file.bin")), offset: 0 };
        let error = Blob::new(1, source).to_vec().unwrap_err().to_string();
        assert!(error.starts_with("no/such/file.bin: "), "{error}");
    }
}
