//! Reads a `.ptd`: header, keys, ranges of their data (rules H-20 to H-27, N-10 to N-19). The data are not read.

use std::io;

use super::program::{EMPTY, segments};
use super::table::ReadField;
use crate::data::Blob;
use crate::data::Origin;
use crate::format::container::{
    self, FLAT_TENSOR_HEADER, FLATBUFFER_OFFSET, FLATBUFFER_SIZE, HEAD, SEGMENT_BASE_OFFSET,
};
use crate::format::flat_tensor as schema;
use crate::format::flat_tensor::*;
use crate::format::flatbuffer::read::{Buffer, ReadError, Result, TableRef};
use crate::format::flatbuffer::view::Table;
use crate::program::TensorLayout;

/// A key of a `.ptd` and its data.
#[derive(Debug, Clone, PartialEq)]
pub struct FlatTensorEntry {
    /// Key by which a program or a delegate looks it up.
    pub key: String,
    /// The data: a range of the file.
    pub data: Blob,
    /// Type and shape, if the data are a tensor.
    pub tensor_layout: Option<TensorLayout>,
}

/// Reads the keys of a `.ptd`, in the order of the file.
///
/// # Errors
/// The file cannot be read, or is not a `.ptd` ([`ReadError`], wrapped).
pub fn read(origin: &Origin) -> io::Result<Vec<FlatTensorEntry>> {
    with_root(origin, |t, header, length| entries(t, origin, header.base, length))
}

/// Reads the valid keys of a `.ptd`, and returns messages about the others.
///
/// # Errors
/// As [`read`], for anything but a key or the reference to its data.
pub fn read_part(origin: &Origin) -> io::Result<(Vec<FlatTensorEntry>, Vec<String>)> {
    with_root(origin, |t, header, length| {
        let segments = segments(&t, flat_tensor::segments)?;
        let mut wrong = Vec::new();
        let entries = t.children(flat_tensor::named_data, &NAMED_DATA, |t| {
            let found = entry(&t, &segments, origin, header.base, length);
            Ok(found.map_err(|error| wrong.push(error.to_string())).ok())
        })?;
        Ok((entries.unwrap_or_default().into_iter().flatten().collect(), wrong))
    })
}

/// Layout of a `.ptd`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlatTensorLayout {
    /// Size in bytes of the metadata with the header.
    pub metadata: u64,
    /// Offset of the first segment.
    pub base: u64,
    /// Offset and size of each segment, relative to the first one.
    pub segments: Vec<(u64, u64)>,
    /// Segment of each key.
    pub entry_segments: Vec<u32>,
}

/// Reads the layout of a `.ptd`.
///
/// # Errors
/// As [`read`].
pub fn frame(origin: &Origin) -> io::Result<FlatTensorLayout> {
    with_root(origin, |t, header, _| {
        let entries = t.children(flat_tensor::named_data, &NAMED_DATA, |t| t.u32(named_data::segment_index))?;
        Ok(FlatTensorLayout {
            metadata: header.metadata,
            base: header.base,
            segments: segments(&t, flat_tensor::segments)?,
            entry_segments: entries.unwrap_or_default(),
        })
    })
}

/// Fields of the header.
struct FlatTensorHeader {
    /// Size in bytes of the metadata with the header.
    metadata: u64,
    /// Offset of the first segment.
    base: u64,
}

/// Validates the header, and calls `read` with the root table, the header and the length of the file.
fn with_root<T>(
    origin: &Origin,
    read: impl FnOnce(TableRef<'_, '_>, FlatTensorHeader, u64) -> Result<T>,
) -> io::Result<T> {
    let length = origin.len()?;
    if length == 0 {
        return Err(io::Error::other(EMPTY));
    }
    let head = origin.head(HEAD)?;
    let field = |name| if FLAT_TENSOR_HEADER.is_in(&head) { FLAT_TENSOR_HEADER.get(&head, name) } else { None };
    let wrong =
        |offset, message: &str| io::Error::other(ReadError { offset, field: String::new(), message: message.into() });
    let required = (field(FLATBUFFER_OFFSET), field(FLATBUFFER_SIZE), field(SEGMENT_BASE_OFFSET));
    let (Some(inserted), Some(size), Some(base)) = required else {
        return Err(wrong(8, "not a .ptd: expected a header with the magic FH01"));
    };
    let metadata = inserted.checked_add(size).filter(|metadata| *metadata <= length);
    let metadata = metadata.ok_or_else(|| wrong(16, "the metadata exceed the file"))?;
    super::root::verify(origin, &head, metadata, &container::FLAT_TENSOR)?;
    let bytes = origin.head(metadata)?;
    let buffer = Buffer::new(&bytes);
    let root = buffer.root(schema::IDENTIFIER, &FLAT_TENSOR)?;
    if Table::root(&bytes).is_some_and(|root| root.has(schema::SEGMENTS_OF_0_6)) {
        let message =
            "a .ptd of ExecuTorch 0.6 or older, which has other tables; export the weights again with 0.7 or later";
        return Err(wrong(0, message));
    }
    read(root, FlatTensorHeader { metadata, base }, length).map_err(io::Error::from)
}

fn entries(t: TableRef<'_, '_>, origin: &Origin, base: u64, length: u64) -> Result<Vec<FlatTensorEntry>> {
    let segments = segments(&t, flat_tensor::segments)?;
    let entries = t.children(flat_tensor::named_data, &NAMED_DATA, |t| entry(&t, &segments, origin, base, length))?;
    Ok(entries.unwrap_or_default())
}

fn entry(
    t: &TableRef<'_, '_>,
    segments: &[(u64, u64)],
    origin: &Origin,
    base: u64,
    length: u64,
) -> Result<FlatTensorEntry> {
    let Some(key) = t.text(named_data::key)? else { return t.wrong(named_data::key, "missing key") };
    let index = t.u32(named_data::segment_index)?;
    let range = segments.get(index as usize).and_then(|(offset, size)| Some((base.checked_add(*offset)?, *size)));
    let Some(data) = range.and_then(|(offset, size)| origin.blob(offset, size, length)) else {
        return t.wrong(named_data::segment_index, format!("segment {index} is out of range"));
    };
    let tensor_layout = ReadField::read_field(t, named_data::tensor_layout)?;
    Ok(FlatTensorEntry { key, data, tensor_layout })
}
