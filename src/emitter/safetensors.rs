//! Weights as a `.safetensors`: a header of JSON, then the bytes of the tensors, each as the sizes have it.
//!
//! The other files of this folder come from a plan; this format has nothing to plan.

use std::io;

use serde_json::{Map, Value, json};

use super::Out;
use crate::data::Blob;
use crate::format::safetensors::TYPES;
use crate::program::{Program, contiguous, is_dim_order, nbytes};

/// A file ready to be written.
#[derive(Debug)]
pub struct Safetensors {
    header: Vec<u8>,
    data: Vec<Blob>,
}

/// The weights of a program without methods as a file. Elements that lie in another order of dimensions are put in that of
/// the sizes, which is the only one that the format has.
///
/// # Errors
/// A blob that is no tensor, and an element type that the format does not have, by key.
pub fn emit(program: &Program) -> io::Result<Safetensors> {
    let (mut header, mut data, mut end) = (Map::new(), Vec::new(), 0u64);
    for entry in &program.external_data {
        let wrong = |what: &str| io::Error::other(format!("`{}` {what}, so no .safetensors can hold it", entry.key));
        let Some(layout) = &entry.tensor_layout else { return Err(wrong("is no tensor")) };
        let name = layout.scalar_type.info().map(|info| info.name);
        let Some((dtype, _)) = TYPES.iter().find(|(_, known)| Some(*known) == name) else {
            return Err(wrong(&format!("is of type {}", layout.scalar_type)));
        };
        if !is_dim_order(layout.dim_order.iter().copied(), layout.sizes.len()) {
            return Err(wrong("does not name each dimension once in its dim_order"));
        }
        if nbytes(layout.scalar_type, &layout.sizes) != Some(program.blob(entry.data).len) {
            return Err(wrong("has not the bytes that its sizes say"));
        }
        let element = layout.scalar_type.info().map_or(1, |info| info.size);
        let order = contiguous(layout.sizes.len());
        let blob = program.blob(entry.data).clone().reordered(element, &layout.sizes, &layout.dim_order, &order);
        let start = end;
        end = start.checked_add(blob.len).ok_or_else(|| io::Error::other("the tensors have more bytes than a file"))?;
        let info = json!({"dtype": dtype, "shape": layout.sizes, "data_offsets": [start, end]});
        if header.insert(entry.key.clone(), info).is_some() || entry.key == "__metadata__" {
            return Err(wrong("is there twice, or is a word of the format"));
        }
        data.push(blob);
    }
    let mut header = serde_json::to_vec(&Value::Object(header))?;
    // The data begin at a multiple of 8, as the format's own library does it.
    header.resize(header.len().next_multiple_of(8), b' ');
    Ok(Safetensors { header, data })
}

impl Safetensors {
    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.data.iter().fold(8 + self.header.len() as u64, |sum, blob| sum.saturating_add(blob.len))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Errors of `out`, and data that cannot be read.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.write_out(&mut super::Stream(out))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// What `out` says, and data that cannot be read.
    pub(crate) fn write_out(&self, out: &mut dyn Out) -> io::Result<()> {
        out.write_all(&(self.header.len() as u64).to_le_bytes())?;
        out.write_all(&self.header)?;
        self.data.iter().try_for_each(|blob| out.blob(blob))
    }
}
