//! Which blobs hold the same bytes. Reads data, and therefore is no part of the layout, which uses the answer.
//!
//! Only blobs of equal length are hashed, and only a cryptographic digest (SHA-256) counts as proof.

use std::collections::HashMap;
use std::io;

use super::{Blob, BlobId};

/// For each blob the first one with the same bytes; its own id if it is the first.
///
/// # Errors
/// Data that cannot be read, with the blob concerned.
pub fn find(blobs: &[Blob]) -> Result<Vec<BlobId>, (BlobId, io::Error)> {
    let mut lengths: HashMap<u64, u32> = HashMap::new();
    for blob in blobs {
        *lengths.entry(blob.len).or_default() += 1;
    }
    let mut first: HashMap<(u64, [u8; 32]), BlobId> = HashMap::new();
    let mut same = Vec::with_capacity(blobs.len());
    for (index, blob) in blobs.iter().enumerate() {
        let id = BlobId(index as u32);
        if lengths[&blob.len] == 1 {
            same.push(id);
            continue;
        }
        let digest = blob.digest().map_err(|error| (id, error))?;
        same.push(*first.entry((blob.len, digest)).or_insert(id));
    }
    Ok(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_found_whatever_their_source() {
        let repeat = Blob { len: 3, source: crate::program::Source::Repeat(std::sync::Arc::from([7])) };
        let blobs = [Blob::bytes([7, 7, 7]), Blob::bytes([1, 2, 3]), repeat, Blob::bytes([7])];
        assert_eq!(find(&blobs).unwrap(), [BlobId(0), BlobId(1), BlobId(0), BlobId(3)]);
    }
}
