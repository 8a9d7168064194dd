//! Finds blobs with equal bytes.
//!
//! Weights of equal size are common and equal weights are rare, so blobs of equal length are compared by a few samples
//! first, and hashed only if these are equal. Equality is decided by SHA-256.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;

use super::{Blob, BlobId, BlobSource};
use crate::data::workers;

/// Number of bytes of a sample. Samples are taken at the start, in the middle and at the end.
const SAMPLE: usize = 512;

/// Returns, for each blob, the first one with the same bytes; its own id if there is no earlier one.
///
/// # Errors
/// A blob cannot be read. The error has the blob and the cause.
pub fn find(blobs: &[Blob]) -> Result<Vec<BlobId>, (BlobId, io::Error)> {
    let mut by_length: HashMap<(u64, u32), Vec<usize>> = HashMap::new();
    for (index, blob) in blobs.iter().enumerate() {
        by_length.entry((blob.len, blob.copy)).or_default().push(index);
    }
    let mut same: Vec<BlobId> = (0..blobs.len()).map(|index| BlobId(index as u32)).collect();
    for alike in by_length.into_values().filter(|alike| alike.len() > 1) {
        let mut by_samples: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for index in alike {
            let samples = samples(&blobs[index]).map_err(|error| (BlobId(index as u32), error))?;
            by_samples.entry(samples).or_default().push(index);
        }
        for alike in by_samples.into_values().filter(|alike| alike.len() > 1) {
            merge(blobs, &alike, &mut same).map_err(|(index, error)| (BlobId(index as u32), error))?;
        }
    }
    Ok(same)
}

/// Returns, for each blob, the first one with equal length and equal samples. Their other bytes may differ.
///
/// # Errors
/// Data that cannot be read.
pub fn alike(blobs: &[Blob]) -> io::Result<Vec<BlobId>> {
    let mut lengths: HashMap<u64, u32> = HashMap::new();
    blobs.iter().for_each(|blob| *lengths.entry(blob.len).or_default() += 1);
    let mut first: HashMap<(u64, Vec<u8>), BlobId> = HashMap::new();
    let mut alike = Vec::with_capacity(blobs.len());
    for (blob, index) in blobs.iter().zip(0..) {
        let alone = lengths[&blob.len] == 1;
        let same =
            if alone { BlobId(index) } else { *first.entry((blob.len, samples(blob)?)).or_insert(BlobId(index)) };
        alike.push(same);
    }
    Ok(alike)
}

/// Returns the size in bytes of all different ranges of files and of memory that blobs have, and that of the bytes
/// that they cover: less if ranges overlap.
pub fn overlap<'b>(blobs: impl Iterator<Item = &'b Blob>) -> (u64, u64) {
    let range = |blob: &'b Blob| {
        let (path, start) = match Bytes::of(blob)? {
            Bytes::File(path, offset) => (Some(path), offset),
            Bytes::Memory(address) => (None, address as u64),
            Bytes::Repeat(_) => return None,
        };
        Some((path, start, start.saturating_add(blob.len)))
    };
    let ranges: BTreeSet<(Option<&Path>, u64, u64)> = blobs.filter_map(range).collect();
    let (mut total, mut covered, mut last) = (0u64, 0u64, (None, 0));
    for (path, start, end) in ranges {
        let begin = if last.0 == Some(path) { start.max(last.1) } else { start };
        total = total.saturating_add(end - start);
        covered = covered.saturating_add(end.saturating_sub(begin));
        last = (Some(path), end.max(begin));
    }
    (total, covered)
}

/// Source of bytes. Blobs of a length with the same one are equal.
#[derive(PartialEq, Eq, Hash)]
enum Bytes<'b> {
    /// From an offset of a file on.
    File(&'b Path, u64),
    /// From an address on.
    Memory(*const u8),
    /// A repeated pattern.
    Repeat(&'b [u8]),
}

impl<'b> Bytes<'b> {
    /// Returns the source of a blob; `None` if its bytes are computed.
    fn of(blob: &'b Blob) -> Option<Bytes<'b>> {
        match &blob.source {
            BlobSource::File { path, offset } => Some(Bytes::File(path, *offset)),
            BlobSource::Bytes(bytes) => Some(Bytes::Memory(bytes.as_ptr())),
            BlobSource::Repeat(pattern) => Some(Bytes::Repeat(pattern)),
            BlobSource::Iota { .. }
            | BlobSource::Random { .. }
            | BlobSource::Converted { .. }
            | BlobSource::Reordered { .. }
            | BlobSource::Joined(_) => None,
        }
    }
}

/// Deduplicates blobs with equal samples: those with the same source are equal, the others are hashed.
fn merge(blobs: &[Blob], alike: &[usize], same: &mut [BlobId]) -> Result<(), (usize, io::Error)> {
    let mut ranges: HashMap<Bytes<'_>, usize> = HashMap::new();
    let mut different = Vec::with_capacity(alike.len());
    for &index in alike {
        let range = Bytes::of(&blobs[index]);
        let first = range.map_or(index, |range| *ranges.entry(range).or_insert(index));
        same[index] = BlobId(first as u32);
        if first == index {
            different.push(index);
        }
    }
    if different.len() > 1 {
        let hashed = workers::map(different, workers::cores(), |index| (index, blobs[index].digest()));
        let mut digests: HashMap<[u8; 32], BlobId> = HashMap::new();
        for (index, digest) in hashed {
            same[index] = *digests.entry(digest.map_err(|error| (index, error))?).or_insert(BlobId(index as u32));
        }
    }
    // Blobs that share a range follow the first of them.
    for &index in alike {
        same[index] = same[same[index].0 as usize];
    }
    Ok(())
}

/// Returns the samples of a blob; all bytes of a short blob.
fn samples(blob: &Blob) -> io::Result<Vec<u8>> {
    if blob.len <= 3 * SAMPLE as u64 {
        return blob.to_vec();
    }
    blob.read_several([0, blob.len / 2, blob.len - SAMPLE as u64], SAMPLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_that_differ_between_the_samples_are_not_merged() {
        let mut other = vec![1u8; 9000];
        other[3000] = 2;
        let blobs = [Blob::bytes(vec![1u8; 9000]), Blob::bytes(other), Blob::bytes(vec![1u8; 9000])];
        assert_eq!(find(&blobs).unwrap(), [BlobId(0), BlobId(1), BlobId(0)]);
    }

    #[test]
    fn equal_bytes_are_found_across_sources() {
        let repeat = Blob::new(3, crate::data::BlobSource::Repeat(std::sync::Arc::from([7])));
        let blobs = [Blob::bytes([7, 7, 7]), Blob::bytes([1, 2, 3]), repeat, Blob::bytes([7])];
        assert_eq!(find(&blobs).unwrap(), [BlobId(0), BlobId(1), BlobId(0), BlobId(3)]);
    }

    #[test]
    fn ranges_that_overlap_cover_less_than_their_total() {
        let bytes = Blob::bytes([0; 100]);
        let range = |offset, len| bytes.part(offset, len).unwrap().unwrap();
        let file = |offset, len| Blob::new(len, BlobSource::File { path: Path::new("w.bin").into(), offset });
        let blobs = [range(10, 20), range(10, 20), range(20, 20), file(10, 20), file(5, 100), file(200, 1)];
        assert_eq!(overlap(blobs.iter()), (20 + 20 + 20 + 100 + 1, 30 + 100 + 1));
        assert_eq!(overlap([].iter()), (0, 0));
    }
}
