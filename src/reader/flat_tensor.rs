//! Reads a `.ptd`: its header, and which keys it has with which data (rules H-20 to H-27, N-10 to N-19).

use std::io;

use crate::data::Origin;
use super::program::segments;
use crate::format::container::{FLAT_TENSOR_HEADER, FLATBUFFER_OFFSET, FLATBUFFER_SIZE, HEAD, SEGMENT_BASE_OFFSET};
use crate::data::Blob;
use crate::format::ScalarType;
use crate::format::flat_tensor as schema;
use crate::format::flat_tensor::*;
use crate::format::flatbuffer::read::{Buffer, ReadError, Result, TableRef};
use crate::program::TensorLayout;

/// A key of a `.ptd` and its data.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The data: a range of the file.
    pub data: Blob,
    /// How they are to be understood, if they are a tensor.
    pub tensor_layout: Option<TensorLayout>,
}

/// Reads the keys of a `.ptd`, in their order.
///
/// # Errors
/// A file that cannot be read from, or bytes that are no `.ptd` ([`ReadError`], wrapped).
pub fn read(origin: &Origin) -> io::Result<Vec<Entry>> {
    with_root(origin, |t, header, length| entries(t, origin, header.base, length))
}

/// How a `.ptd` is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Bytes of the metadata with the header.
    pub metadata: u64,
    /// Where the first segment begins.
    pub base: u64,
    /// Offset and size of each segment, relative to the first one's start.
    pub segments: Vec<(u64, u64)>,
    /// Segment of each key.
    pub entry_segments: Vec<u32>,
}

/// Reads how a `.ptd` is laid out.
///
/// # Errors
/// As [`read`].
pub fn frame(origin: &Origin) -> io::Result<Frame> {
    with_root(origin, |t, header, _| {
        let entries = t.children(flat_tensor::named_data, &NAMED_DATA, |t| t.u32(named_data::segment_index))?;
        Ok(Frame {
            metadata: header.metadata,
            base: header.base,
            segments: segments(&t, flat_tensor::segments)?,
            entry_segments: entries.unwrap_or_default(),
        })
    })
}

/// What the header says.
struct Header {
    /// Bytes of the metadata with the header.
    metadata: u64,
    /// Where the first segment begins.
    base: u64,
}

/// Checks the header, and hands over the root table, the header, and the file's length.
fn with_root<T>(origin: &Origin, read: impl FnOnce(TableRef<'_, '_>, Header, u64) -> Result<T>) -> io::Result<T> {
    let length = origin.len()?;
    let head = origin.head(HEAD)?;
    let field = |name| if FLAT_TENSOR_HEADER.is_in(&head) { FLAT_TENSOR_HEADER.get(&head, name) } else { None };
    let wrong =
        |offset, message: &str| io::Error::other(ReadError { offset, field: String::new(), message: message.into() });
    let required = (field(FLATBUFFER_OFFSET), field(FLATBUFFER_SIZE), field(SEGMENT_BASE_OFFSET));
    let (Some(inserted), Some(size), Some(base)) = required else {
        return Err(wrong(8, "there is no header FH01: this is no .ptd"));
    };
    let metadata = inserted.checked_add(size).filter(|metadata| *metadata <= length);
    let metadata = metadata.ok_or_else(|| wrong(16, "the metadata go beyond the file"))?;
    let bytes = origin.head(metadata)?;
    let buffer = Buffer::new(&bytes);
    let root = buffer.root(schema::IDENTIFIER, &FLAT_TENSOR)?;
    read(root, Header { metadata, base }, length).map_err(io::Error::from)
}

fn entries(t: TableRef<'_, '_>, origin: &Origin, base: u64, length: u64) -> Result<Vec<Entry>> {
    let segments = segments(&t, flat_tensor::segments)?;
    let entries = t.children(flat_tensor::named_data, &NAMED_DATA, |t| {
        let Some(key) = t.text(named_data::key)? else { return t.wrong(named_data::key, "the data have no key") };
        let index = t.u32(named_data::segment_index)?;
        let range = segments.get(index as usize).and_then(|(offset, size)| Some((base.checked_add(*offset)?, *size)));
        let Some(data) = range.and_then(|(offset, size)| origin.blob(offset, size, length)) else {
            return t.wrong(named_data::segment_index, format!("segment {index} is not in the file"));
        };
        let tensor_layout = match t.child(named_data::tensor_layout, &TENSOR_LAYOUT)? {
            Some(t) => Some(TensorLayout {
                scalar_type: ScalarType(t.i8(tensor_layout::scalar_type)?),
                sizes: t.i32s(tensor_layout::sizes)?.unwrap_or_default(),
                dim_order: t.u8s(tensor_layout::dim_order)?.unwrap_or_default(),
            }),
            None => None,
        };
        Ok(Entry { key, data, tensor_layout })
    })?;
    Ok(entries.unwrap_or_default())
}
