//! Computes patches for the bytes of a file that its layout does not determine: header fields, padding that is not
//! zero, bytes after the end.

use std::io;

use super::{FileOverrides, Patch};
use crate::emitter::File;
use crate::layout::file::Placement;
use pte_model::data::Origin;

/// Returns patches and appended bytes that reproduce the header, the padding and the bytes after the end of `origin` in
/// `file`.
///
/// # Errors
/// A file that cannot be read.
pub fn patches(origin: &Origin, file: &File<'_>) -> io::Result<FileOverrides> {
    let mut overrides = FileOverrides::default();
    let length = origin.len()?;
    let Placement { header, file_size, .. } = file.placement;
    let found = origin.range(8, (header.len() as u64).min(length.saturating_sub(8)))?;
    add_patches(&mut overrides, 8, &found, |at| header[at]);
    let mut room = MAX_PATCHES;
    for (start, end) in gaps(file) {
        let mut at = start;
        while at < end.min(length) && room > 0 {
            let bytes = origin.range(at, (end.min(length) - at).min(BLOCK))?;
            room = room.saturating_sub(bytes.iter().filter(|byte| **byte != 0).count() as u64);
            add_patches(&mut overrides, at, &bytes, |_| 0);
            at += bytes.len() as u64;
        }
    }
    if room == 0 {
        overrides.patches.clear();
    }
    if length > *file_size {
        overrides.append = origin.blob(*file_size, length - file_size, length);
    }
    Ok(overrides)
}

/// Number of padding bytes that are read at a time.
const BLOCK: u64 = 1 << 20;

/// Maximum number of nonzero padding bytes that are patched.
const MAX_PATCHES: u64 = 1 << 16;

/// Returns the byte ranges between the FlatBuffer, the data and the end of a file.
pub fn gaps(file: &File<'_>) -> Vec<(u64, u64)> {
    let mut owned: Vec<(u64, u64)> = vec![(0, file.placement.program_size)];
    for segment in file.segments {
        let start = file.placement.segment_base_offset + segment.offset;
        let pieces = segment.pieces.iter().map(|piece| (start + piece.offset, file.blobs[piece.blob.0 as usize].len));
        owned.extend(pieces.map(|(start, len)| (start, start + len)));
    }
    owned.sort_unstable();
    let mut gaps = Vec::new();
    let mut end = 0;
    for (start, stop) in owned.into_iter().chain([(file.placement.file_size, file.placement.file_size)]) {
        if start > end {
            gaps.push((end, start));
        }
        end = end.max(stop);
    }
    gaps
}

/// Adds patches for the runs of bytes that differ from `expected`.
fn add_patches(overrides: &mut FileOverrides, start: u64, bytes: &[u8], expected: impl Fn(usize) -> u8) {
    let mut at = 0;
    while at < bytes.len() {
        let run = bytes[at..].iter().enumerate().take_while(|(offset, byte)| **byte != expected(at + offset)).count();
        if run > 0 {
            overrides.patches.push(Patch { at: start + at as u64, bytes: bytes[at..at + run].to_vec() });
        }
        at += run + 1;
    }
}
