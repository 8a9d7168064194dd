//! Data of any size that is not held in memory unless it was written in the text: a length and a way to produce the bytes.
//!
//! A blob says nothing of where its bytes go.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::number::{self, Number};
use crate::schema::ScalarType;

/// Index of a blob in [`crate::program::Program::blobs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId(pub u32);

/// Data: how long, and where from.
#[derive(Debug, Clone, PartialEq)]
pub struct Blob {
    /// Length in bytes.
    pub len: u64,
    /// Where the bytes come from.
    pub source: Source,
    /// Equal data share a place in a file; those of another copy have one of their own. 0 for most.
    pub copy: u32,
}

/// Where a blob's bytes come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// These.
    Bytes(Arc<[u8]>),
    /// A file, from this offset.
    File {
        /// The file.
        path: Arc<Path>,
        /// Bytes from its start.
        offset: u64,
    },
    /// These bytes, again and again.
    Repeat(Arc<[u8]>),
    /// `start`, `start + step`, ... as elements of a type.
    Iota {
        /// Element type.
        scalar_type: ScalarType,
        /// First number.
        start: Number,
        /// Difference of neighbours.
        step: Number,
    },
    /// Random elements of a type, the same on every machine.
    Random {
        /// Element type.
        scalar_type: ScalarType,
        /// The same seed gives the same numbers.
        seed: u64,
        /// How they are spread.
        distribution: Distribution,
    },
    /// The elements of another blob in another order of dimensions.
    Reordered {
        /// The blob.
        data: Arc<Blob>,
        /// Bytes per element.
        element: u64,
        /// Size of each dimension.
        sizes: Arc<[u64]>,
        /// The blob's dimensions from the outermost to the innermost.
        from: Arc<[u8]>,
        /// The wanted order.
        to: Arc<[u8]>,
    },
}

/// How random numbers are spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Evenly from `low` (included) to `high` (excluded).
    Uniform {
        /// Smallest number.
        low: f64,
        /// Bound above.
        high: f64,
    },
    /// Integers evenly from `low` (included) to `high` (excluded).
    Integers {
        /// Smallest number.
        low: i128,
        /// Bound above.
        high: i128,
    },
    /// By the bell curve.
    Normal {
        /// Centre.
        mean: f64,
        /// Standard deviation.
        std: f64,
    },
}

/// Size of the blocks in which data are read and made.
const BLOCK: usize = 1 << 20;

impl Blob {
    /// A blob of so many bytes.
    pub fn new(len: u64, source: Source) -> Blob {
        Blob { len, source, copy: 0 }
    }

    /// A blob of bytes in memory.
    pub fn bytes(bytes: impl Into<Arc<[u8]>>) -> Blob {
        let bytes = bytes.into();
        Blob::new(bytes.len() as u64, Source::Bytes(bytes))
    }

    /// The elements, of so many bytes each, which lie with dimensions `from`, as they lie with dimensions `to`; as it is if
    /// that is the same.
    pub fn reordered(self, element: u64, sizes: &[i32], from: &[u8], to: &[u8]) -> Blob {
        // A dimension of size 1 may stand anywhere.
        let matter = |order: &[u8]| -> Vec<u8> {
            order.iter().copied().filter(|d| sizes.get(usize::from(*d)) != Some(&1)).collect()
        };
        if from.len() != to.len() || matter(from) == matter(to) || matches!(self.source, Source::Repeat(_)) {
            return self;
        }
        let sizes = sizes.iter().map(|size| u64::try_from(*size).unwrap_or(0)).collect();
        let (len, from, to) = (self.len, from.into(), to.into());
        Blob::new(len, Source::Reordered { data: Arc::new(self), element, sizes, from, to })
    }

    /// The file that the bytes come from, if they come from one.
    pub fn file(&self) -> Option<&Path> {
        match &self.source {
            Source::File { path, .. } => Some(path),
            Source::Reordered { data, .. } => data.file(),
            _ => None,
        }
    }

    /// Writes all bytes to `out`, in blocks.
    ///
    /// # Errors
    /// What `out` says; a file that cannot be read or has become too short, named in the message.
    pub fn copy_to(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.source {
            Source::Bytes(bytes) => out.write_all(bytes),
            Source::File { path, offset } => copy_file(path, *offset, self.len, out),
            Source::Repeat(pattern) => repeat(pattern, self.len, out),
            Source::Iota { scalar_type, start, step } => {
                elements(*scalar_type, self.len, out, |index| iota(*start, *step, index))
            }
            Source::Random { scalar_type, seed, distribution } => {
                elements(*scalar_type, self.len, out, |index| distribution.sample(*seed, index))
            }
            Source::Reordered { data, element, sizes, from, to } => {
                out.write_all(&reorder(&data.to_vec()?, *element as usize, sizes, from, to))
            }
        }
    }

    /// Some of the bytes, from `offset` on, of which `len` must be there.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    pub fn read_at(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let (start, end) = (offset as usize, offset as usize + len);
        match &self.source {
            Source::Bytes(bytes) => Ok(bytes[start..end].to_vec()),
            Source::File { path, offset: base } => {
                let mut bytes = Vec::with_capacity(len);
                copy_file(path, base + offset, len as u64, &mut bytes)?;
                Ok(bytes)
            }
            Source::Repeat(pattern) => Ok((start..end).map(|at| pattern[at % pattern.len()]).collect()),
            Source::Iota { .. } | Source::Random { .. } | Source::Reordered { .. } => {
                Ok(self.to_vec()?[start..end].to_vec())
            }
        }
    }

    /// All bytes in memory. For small blobs, and for those that go into the FlatBuffer.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        // The length may come from a stranger: grow with what really arrives.
        let mut bytes = Vec::with_capacity(self.len.min(BLOCK as u64) as usize);
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

fn copy_file(path: &Path, offset: u64, len: u64, out: &mut dyn Write) -> io::Result<()> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut file = File::open(path).map_err(named)?;
    file.seek(SeekFrom::Start(offset)).map_err(named)?;
    let mut block = vec![0; (len.min(BLOCK as u64)) as usize];
    let mut left = len;
    while left > 0 {
        let want = left.min(BLOCK as u64) as usize;
        file.read_exact(&mut block[..want]).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::new(
                error.kind(),
                format!("{}: the file became shorter while it was read; {left} bytes are missing", path.display()),
            ),
            _ => named(error),
        })?;
        out.write_all(&block[..want])?;
        left -= want as u64;
    }
    Ok(())
}

fn repeat(pattern: &[u8], len: u64, out: &mut dyn Write) -> io::Result<()> {
    if pattern.is_empty() {
        return Ok(());
    }
    let copies = (BLOCK / pattern.len()).max(1).min((len as usize).div_ceil(pattern.len()));
    let block = pattern.repeat(copies);
    let mut left = len;
    while left > 0 {
        let now = left.min(block.len() as u64) as usize;
        out.write_all(&block[..now])?;
        left -= now as u64;
    }
    Ok(())
}

fn elements(scalar_type: ScalarType, len: u64, out: &mut dyn Write, number: impl Fn(u64) -> Number) -> io::Result<()> {
    let size = scalar_type.info().map_or(1, |info| info.size);
    let mut block = Vec::with_capacity(len.min(BLOCK as u64) as usize);
    for index in 0..len / size {
        number::encode(scalar_type, number(index), &mut block).map_err(io::Error::other)?;
        if block.len() >= BLOCK {
            out.write_all(&block)?;
            block.clear();
        }
    }
    out.write_all(&block)
}

/// The `index`-th number of a progression. Its ends are checked when the text is read, so it never leaves the type.
pub(crate) fn iota(start: Number, step: Number, index: u64) -> Number {
    match (start, step) {
        (Number::Int(start), Number::Int(step)) => Number::Int(start.saturating_add(step.saturating_mul(index.into()))),
        _ => Number::Float(start.to_f64() + step.to_f64() * index as f64),
    }
}

impl Distribution {
    /// The `index`-th number of the sequence that `seed` names: each has a generator of its own, so that any part of a
    /// tensor can be made without the rest.
    fn sample(&self, seed: u64, index: u64) -> Number {
        let mut random = SplitMix(mix(seed).wrapping_add(index.wrapping_mul(0xd134_2543_de82_ef95)));
        match *self {
            Distribution::Uniform { low, high } => Number::Float(low + (high - low) * random.unit()),
            Distribution::Integers { low, high } => {
                let width = (high - low).max(1) as u128;
                Number::Int(low + ((u128::from(random.next()) * width) >> 64) as i128)
            }
            Distribution::Normal { mean, std } => {
                // The sum of twelve even numbers is close to the bell curve, and needs no logarithm, whose last bit
                // differs from machine to machine.
                let sum: f64 = (0..12).map(|_| random.unit()).sum();
                Number::Float(mean + std * (sum - 6.0))
            }
        }
    }
}

/// The generator SplitMix64 (Steele, Lea, Flood, 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Evenly from 0 (included) to 1 (excluded).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The elements of `data`, which lie with dimensions `from`, as they lie with dimensions `to`.
fn reorder(data: &[u8], element: usize, sizes: &[u64], from: &[u8], to: &[u8]) -> Vec<u8> {
    let rank = sizes.len();
    let mut stride = vec![0usize; rank];
    let mut product = element;
    for &dim in from.iter().rev() {
        stride[usize::from(dim)] = product;
        product *= sizes[usize::from(dim)] as usize;
    }
    let mut out = Vec::with_capacity(data.len());
    let mut position = vec![0u64; rank];
    for _ in 0..data.len() / element.max(1) {
        let at: usize = position.iter().zip(&stride).map(|(p, s)| *p as usize * s).sum();
        out.extend_from_slice(&data[at..at + element]);
        for &dim in to.iter().rev() {
            let dim = usize::from(dim);
            position[dim] += 1;
            if position[dim] < sizes[dim] {
                break;
            }
            position[dim] = 0;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn random_numbers_are_these_on_every_machine() {
        let sample = |distribution, name: &str, len| {
            let scalar_type = ScalarType::parse(name).unwrap();
            let blob = Blob::new(len, Source::Random { scalar_type, seed: 7, distribution });
            data_encoding::HEXLOWER.encode(&blob.to_vec().unwrap())
        };
        let actual = [
            sample(Distribution::Uniform { low: -1.0, high: 1.0 }, "float32", 16),
            sample(Distribution::Normal { mean: 0.0, std: 1.0 }, "float32", 16),
            sample(Distribution::Integers { low: -100, high: 100 }, "int8", 8),
        ];
        crate::golden::check("random/expected.txt", &(actual.join("\n") + "\n"));
    }

    #[test]
    fn random_numbers_are_spread_as_asked() {
        let mean = |distribution: Distribution| {
            (0..20_000).map(|i| distribution.sample(3, i).to_f64()).sum::<f64>() / 20_000.0
        };
        assert!((mean(Distribution::Uniform { low: 0.0, high: 1.0 }) - 0.5).abs() < 0.01);
        assert!(mean(Distribution::Normal { mean: 0.0, std: 1.0 }).abs() < 0.03);
        assert!((mean(Distribution::Integers { low: 0, high: 10 }) - 4.5).abs() < 0.1);
    }

    #[test]
    fn a_file_that_is_gone_is_named() {
        let source = Source::File { path: Arc::from(Path::new("no/such/file.bin")), offset: 0 };
        let error = Blob::new(1, source).to_vec().unwrap_err().to_string();
        assert!(error.starts_with("no/such/file.bin: "), "{error}");
    }
}
