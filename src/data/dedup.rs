//! Which blobs hold the same bytes. Reads data, and therefore is no part of the layout, which uses the answer.
//!
//! Weights of equal size are normal and equal weights are rare, so blobs of equal length are told apart by a few samples
//! first, and hashed only if these are equal, too. Only a cryptographic digest (SHA-256) counts as proof.

use std::collections::HashMap;
use std::io;

use super::{Blob, BlobId, Source};
use crate::data::workers;

/// Bytes of one sample; there are one at the start, one in the middle and one at the end.
const SAMPLE: usize = 512;

/// For each blob the first one with the same bytes; its own id if it is the first.
///
/// # Errors
/// Data that cannot be read, with the blob concerned.
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

/// For each blob the first one that looks the same: of equal length, with equal samples. They may differ all the same.
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

/// Blobs whose samples are equal: the same range of a file is the same, the rest is hashed.
fn merge(blobs: &[Blob], alike: &[usize], same: &mut [BlobId]) -> Result<(), (usize, io::Error)> {
    let mut ranges: HashMap<(&std::path::Path, u64), usize> = HashMap::new();
    let mut different = Vec::with_capacity(alike.len());
    for &index in alike {
        let first = match &blobs[index].source {
            Source::File { path, offset } => *ranges.entry((path, *offset)).or_insert(index),
            _ => index,
        };
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
    // What shares its range with another is what that is found to be.
    for &index in alike {
        same[index] = same[same[index].0 as usize];
    }
    Ok(())
}

/// What tells most different blobs apart; of a short blob everything.
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
    fn what_differs_between_the_samples_is_not_merged() {
        let mut other = vec![1u8; 9000];
        other[3000] = 2;
        let blobs = [Blob::bytes(vec![1u8; 9000]), Blob::bytes(other), Blob::bytes(vec![1u8; 9000])];
        assert_eq!(find(&blobs).unwrap(), [BlobId(0), BlobId(1), BlobId(0)]);
    }

    #[test]
    fn equal_bytes_are_found_whatever_their_source() {
        let repeat = Blob::new(3, crate::data::Source::Repeat(std::sync::Arc::from([7])));
        let blobs = [Blob::bytes([7, 7, 7]), Blob::bytes([1, 2, 3]), repeat, Blob::bytes([7])];
        assert_eq!(find(&blobs).unwrap(), [BlobId(0), BlobId(1), BlobId(0), BlobId(3)]);
    }
}
