//! An assembly as a side of a comparison.

use std::collections::BTreeMap;
use std::io;

use super::{Assembly, OutputFile};
use crate::overrides::Overrides;
use pte_diff::{ExternalEntry, Side};
use pte_model::data::{Blob, Head, Origin};
use pte_model::format::container::HEAD;
use pte_model::reader::program::{ProgramContents, References, read_head, read_part};

/// Reads the files of an assembly, which are not written.
///
/// # Errors
/// Field overrides make the metadata malformed, or data cannot be read.
pub fn of(assembly: &Assembly) -> io::Result<Side> {
    let contents = assembly.program_file().map(|file| contents(assembly, &file)).transpose()?;
    let mut side = Side::unwritten(contents, assembly.origins.value_names());
    let files = || assembly.program_file().into_iter().chain(assembly.data_files().map(|(_, file)| file));
    side.size = files().next().and_then(|file| file.size()).unwrap_or(0);
    if assembly.plan.external.iter().any(|file| !file.named_data.is_empty()) {
        let entries = assembly.plan.external.iter().flat_map(|file| {
            file.named_data.iter().map(|entry| {
                let segment = file.segments.get(entry.segment_index as usize);
                let piece = segment.and_then(|segment| segment.pieces.first());
                let data = piece.map_or_else(|| Blob::bytes([]), |piece| assembly.program.blob(piece.blob).clone());
                ExternalEntry { key: entry.key.clone(), data, tensor_layout: entry.tensor_layout.clone() }
            })
        });
        side.external = Some(entries.collect());
    }
    side.tests = (!assembly.tests.is_empty()).then(|| assembly.tests.clone());
    Ok(side)
}

/// Size in bytes up to which a program with overrides is emitted to memory and read from there.
const MAX_WHOLE: u64 = 16 << 20;

/// Reads a program that is not written to a file: its metadata from memory, its data from their sources.
fn contents(assembly: &Assembly, file: &OutputFile<'_>) -> io::Result<ProgramContents> {
    let size = file.size().unwrap_or(u64::MAX);
    if assembly.overrides != Overrides::default() {
        if size > MAX_WHOLE {
            let message = format!("a program of {size} bytes with `raw:`; assemble it, and compare the file");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        return read_part(&Origin::Bytes(file.to_vec()?.into()));
    }
    let mut head = file.metadata();
    let metadata = head.len();
    head.resize(head.len().max(HEAD.min(size) as usize), 0);
    let ranges: BTreeMap<u64, &Blob> =
        file.emitted.ranges().filter(|(_, blob)| !blob.is_empty()).map(|((offset, _), blob)| (offset, blob)).collect();
    let data = |offset: u64, len: u64| {
        if len == 0 {
            return Some(Blob::bytes([]));
        }
        if let Some((start, blob)) = ranges.range(..=offset).next_back()
            && let Ok(Some(part)) = blob.part_or_whole(offset - start, len)
        {
            return Some(part);
        }
        let (start, end) = (usize::try_from(offset).ok()?, usize::try_from(offset.checked_add(len)?).ok()?);
        head.get(start..end).map(Blob::bytes)
    };
    let found = read_head(&head, size, References::Listed, &data).map_err(io::Error::from)?;
    Ok(ProgramContents { metadata: Head::Read(head[..metadata].to_vec()), ..found })
}
