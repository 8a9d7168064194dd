//! The metadata of a file, as they should be or as somebody wants them: emitted, framed, and with the patches that are left to do.

use std::io;

use super::Raw;
use super::lies::{self, Forced, Outcome};
use super::place::{Values, Walker, root_of};
use crate::emitter::File;
use crate::emitter::flatbuffer::FlatBuffer;
use crate::layout::Segment;
use crate::layout::file::Placement;
use crate::program::Blob;

/// Metadata of a file.
#[derive(Debug)]
pub struct Made {
    /// The FlatBuffer, without the header.
    pub flatbuffer: FlatBuffer,
    /// Its frame.
    pub placement: Placement,
    /// What is left to do when the file is written.
    pub raw: Raw,
}

impl Made {
    /// The file, with these data behind the metadata.
    pub fn file<'a>(&'a self, segments: &'a [Segment], blobs: &'a [Blob]) -> File<'a> {
        File { flatbuffer: &self.flatbuffer, placement: &self.placement, segments, blobs, raw: &self.raw }
    }
}

/// Makes the metadata of a file: `emit` makes its FlatBuffer, `frame` frames one of so many bytes, `values` knows the names
/// of values. What is wrong with `raw` goes to `outcome`.
///
/// # Errors
/// What `emit` and `frame` say.
pub fn make(
    raw: &Raw,
    values: &Values<'_>,
    outcome: &mut Outcome,
    emit: impl Fn(Option<&Forced>) -> io::Result<FlatBuffer>,
    frame: impl Fn(u64) -> io::Result<Placement>,
) -> io::Result<Made> {
    if raw.sets.is_empty() {
        let flatbuffer = emit(None)?;
        let placement = frame(flatbuffer.len() as u64)?;
        return Ok(Made { flatbuffer, placement, raw: raw.clone() });
    }
    let plain = emit(Some(&Forced::default()))?;
    let root = root_of(&plain[4..8]).expect("it was written with one of the identifiers");
    let (forced, pending) = lies::force(&raw.sets, &Walker { bytes: &plain, root, values }, &plain.tables, outcome);
    let flatbuffer = if forced.is_empty() { plain } else { emit(Some(&forced))? };
    let placement = frame(flatbuffer.len() as u64)?;
    let walker = Walker { bytes: &flatbuffer, root, values };
    let mut patches = lies::patches(&pending, &walker, &placement.header, outcome);
    patches.extend_from_slice(&raw.patches);
    let raw = Raw { patches, ..raw.clone() };
    Ok(Made { flatbuffer, placement, raw })
}
