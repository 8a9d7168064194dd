//! Emits weights as a `.safetensors`: a JSON header, followed by the contiguous data of the tensors. Unlike the other
//! formats, it needs no plan.

use std::io;

use indexmap::{IndexMap, IndexSet};
use safetensors::tensor::TensorInfo;
use serde::de::DeserializeOwned;

use super::ByteSink;
use pte_model::data::Blob;
use pte_model::diagnostics::clipped;
use pte_model::format::safetensors::{
    HEADER_ORDER, MAX_HEADER, METADATA, PREAMBLE, SafetensorsMetadata, TYPES, is_key_of,
};
use pte_model::program::{DimOrder, ExternalData, Program, TensorLayout, nbytes};

/// A `.safetensors` ready to be written: the result of [`Assembly::safetensors`](crate::Assembly::safetensors).
#[derive(Debug)]
pub struct Safetensors {
    pub(crate) header: Vec<u8>,
    data: Vec<Blob>,
}

/// An entry of a header.
enum HeaderEntry {
    Metadata(SafetensorsMetadata),
    Tensor(TensorInfo),
}

/// Emits the weights of a program without methods, in their order. Tensors that are not contiguous are converted,
/// because the format only has contiguous ones. Blobs with [`METADATA`] and [`HEADER_ORDER`] are read.
///
/// # Errors
/// Another blob is not a tensor, the format does not have an element type, or metadata contradict each other.
pub fn emit(program: &Program) -> io::Result<Safetensors> {
    let mut entries: IndexMap<String, HeaderEntry> = IndexMap::with_capacity(program.external_data.len());
    let (mut order, mut data, mut end): (IndexSet<String>, _, _) = (IndexSet::new(), Vec::new(), 0u64);
    for entry in &program.external_data {
        let key = &*entry.key;
        let Some(layout) = &entry.tensor_layout else {
            if is_key_of(METADATA, key) {
                let found: SafetensorsMetadata = json(program, entry, "an object of strings")?;
                let known = entries.entry(METADATA.to_owned());
                let HeaderEntry::Metadata(known) = known.or_insert(HeaderEntry::Metadata(Default::default())) else {
                    return Err(wrong(key, "is a second metadata"));
                };
                if let Some((name, _)) = known.merge(&found).first() {
                    let what = format!("has another `{}` than the {METADATA} before it", clipped(name));
                    return Err(wrong(key, &what));
                }
            } else if is_key_of(HEADER_ORDER, key) {
                order.extend(json::<Vec<String>>(program, entry, "a list of strings")?);
            } else {
                return Err(wrong(key, "is not a tensor"));
            }
            continue;
        };
        let (dtype, blob) = tensor(program, entry, layout)?;
        let start = end;
        end = start.checked_add(blob.len).ok_or_else(|| io::Error::other("the size of the tensors exceeds 64 bits"))?;
        let shape = layout.sizes.iter().map(|size| usize::try_from(*size)).collect::<Result<_, _>>();
        let (Ok(shape), Ok(first), Ok(behind)) = (shape, usize::try_from(start), usize::try_from(end)) else {
            return Err(wrong(key, "has invalid sizes"));
        };
        let info = HeaderEntry::Tensor(TensorInfo { dtype, shape, data_offsets: (first, behind) });
        if key == METADATA || entries.insert(key.to_owned(), info).is_some() {
            return Err(wrong(key, "is a duplicate or reserved key"));
        }
        data.push(blob);
    }
    if !order.is_empty() {
        // A part of a file has a part of the names. Entries that are not listed are the last ones.
        entries.sort_by_cached_key(|name, _| order.get_index_of(name).unwrap_or(usize::MAX));
    }
    Ok(Safetensors { header: header(&entries)?, data })
}

fn wrong(key: &str, what: &str) -> io::Error {
    io::Error::other(format!("`{key}` {what}; a .safetensors does not support this"))
}

/// The element type and the contiguous data of a tensor.
fn tensor(program: &Program, entry: &ExternalData, layout: &TensorLayout) -> io::Result<(safetensors::Dtype, Blob)> {
    let name = layout.scalar_type.info().map(|info| info.name);
    let Some((dtype, _)) = TYPES.iter().find(|(_, known)| Some(*known) == name) else {
        return Err(wrong(&entry.key, &format!("is of type {}", layout.scalar_type)));
    };
    if !layout.dim_order.is_permutation(layout.sizes.len()) {
        return Err(wrong(&entry.key, "has an invalid dim_order"));
    }
    if nbytes(layout.scalar_type, &layout.sizes) != Some(program.blob(entry.data).len) {
        return Err(wrong(&entry.key, "has data that do not match its sizes"));
    }
    let element = layout.scalar_type.element_size();
    let order = DimOrder::contiguous(layout.sizes.len());
    let blob = program.blob(entry.data).clone();
    Ok((*dtype, blob.reordered(element, &layout.sizes, &layout.dim_order, &order)))
}

/// Reads a blob of JSON.
fn json<T: DeserializeOwned>(program: &Program, entry: &ExternalData, expected: &str) -> io::Result<T> {
    let blob = program.blob(entry.data);
    if blob.len > MAX_HEADER {
        return Err(wrong(&entry.key, &format!("has {} bytes", blob.len)));
    }
    serde_json::from_slice(&blob.to_vec()?)
        .map_err(|error| wrong(&entry.key, &format!("is not JSON of {expected} ({})", clipped(&error.to_string()))))
}

/// The JSON of a header, as the reference implementation writes it.
fn header(entries: &IndexMap<String, HeaderEntry>) -> io::Result<Vec<u8>> {
    let mut json = vec![b'{'];
    for (name, entry) in entries {
        if json.len() > 1 {
            json.push(b',');
        }
        serde_json::to_writer(&mut json, name)?;
        json.push(b':');
        match entry {
            HeaderEntry::Metadata(metadata) => serde_json::to_writer(&mut json, metadata)?,
            HeaderEntry::Tensor(info) => serde_json::to_writer(&mut json, info)?,
        }
    }
    json.push(b'}');
    // The data begin at a multiple of 8.
    json.resize(json.len().next_multiple_of(8), b' ');
    if json.len() as u64 > MAX_HEADER {
        return Err(io::Error::other(format!(
            "the header of the .safetensors has {} bytes, more than the maximum of {MAX_HEADER}",
            json.len()
        )));
    }
    Ok(json)
}

impl Safetensors {
    /// Returns the size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.data.iter().fold(PREAMBLE + self.header.len() as u64, |sum, blob| sum.saturating_add(blob.len))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Errors of `out`, and data that cannot be read.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.write_to(&mut super::WriterSink(out))
    }

    /// Writes the file to a destination that may copy blobs itself, such as [`OutputSink`](crate::OutputSink).
    ///
    /// # Errors
    /// Errors of `out`, and data that cannot be read.
    pub fn write_to(&self, out: &mut dyn ByteSink) -> io::Result<()> {
        out.write_all(&(self.header.len() as u64).to_le_bytes())?;
        out.write_all(&self.header)?;
        self.data.iter().try_for_each(|blob| out.blob(blob))
    }
}
