//! Bytes of a file that its layout does not explain, as patches: header fields, padding that is not zero, bytes behind the end.

use std::io;

use super::{FileOverrides, Patch};
use crate::emitter::File;
use crate::layout::file::Placement;
use crate::data::Origin;

/// What of a file is not as this one, but can be changed in the end: the header, padding, bytes behind the end.
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

/// So many bytes of padding are looked at in one go.
const BLOCK: u64 = 1 << 20;

/// A text does not hold more odd bytes of padding than this.
const MAX_PATCHES: u64 = 1 << 16;

/// Ranges of a file that nothing owns: between the FlatBuffer, the data, and the end.
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

/// Patches for the runs of bytes that are not as expected.
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

