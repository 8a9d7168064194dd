//! Emits weights as a `.safetensors`: a JSON header, then the contiguous data of the tensors. Unlike the other formats it needs no plan.

use std::io;

use serde_json::{Map, Value, json};

use super::ByteSink;
use crate::data::Blob;
use crate::format::safetensors::TYPES;
use crate::program::{Program, contiguous, is_dim_order, nbytes};

/// A `.safetensors` ready to be written: the result of [`Assembly::safetensors`](crate::Assembly::safetensors).
#[derive(Debug)]
pub struct Safetensors {
    header: Vec<u8>,
    data: Vec<Blob>,
}

/// Emits the weights of a program without methods. Tensors with another dim_order are converted to contiguous ones, the only ones that the
/// format has.
///
/// # Errors
/// A blob that is not a tensor; an element type that the format does not have.
pub fn emit(program: &Program) -> io::Result<Safetensors> {
    let (mut header, mut data, mut end) = (Map::new(), Vec::new(), 0u64);
    for entry in &program.external_data {
        let wrong =
            |what: &str| io::Error::other(format!("`{}` {what}; a .safetensors does not support this", entry.key));
        let Some(layout) = &entry.tensor_layout else { return Err(wrong("is not a tensor")) };
        let name = layout.scalar_type.info().map(|info| info.name);
        let Some((dtype, _)) = TYPES.iter().find(|(_, known)| Some(*known) == name) else {
            return Err(wrong(&format!("is of type {}", layout.scalar_type)));
        };
        if !is_dim_order(layout.dim_order.iter().copied(), layout.sizes.len()) {
            return Err(wrong("has an invalid dim_order"));
        }
        if nbytes(layout.scalar_type, &layout.sizes) != Some(program.blob(entry.data).len) {
            return Err(wrong("has data that do not match its sizes"));
        }
        let element = layout.scalar_type.info().map_or(1, |info| info.size);
        let order = contiguous(layout.sizes.len());
        let blob = program.blob(entry.data).clone().reordered(element, &layout.sizes, &layout.dim_order, &order);
        let start = end;
        end = start.checked_add(blob.len).ok_or_else(|| io::Error::other("the size of the tensors exceeds 64 bits"))?;
        let info = json!({"dtype": dtype, "shape": layout.sizes, "data_offsets": [start, end]});
        if header.insert(entry.key.clone(), info).is_some() || entry.key == "__metadata__" {
            return Err(wrong("is a duplicate or reserved key"));
        }
        data.push(blob);
    }
    let mut header = serde_json::to_vec(&Value::Object(header))?;
    // The data begin at a multiple of 8, as in the reference implementation.
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
        self.write_out(&mut super::WriterSink(out))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Errors of `out`, and data that cannot be read.
    pub(crate) fn write_out(&self, out: &mut dyn ByteSink) -> io::Result<()> {
        out.write_all(&(self.header.len() as u64).to_le_bytes())?;
        out.write_all(&self.header)?;
        self.data.iter().try_for_each(|blob| out.blob(blob))
    }
}
