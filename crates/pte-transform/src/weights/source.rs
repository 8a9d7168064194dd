//! Tensors by name that weights are set from: of a `.safetensors`, a `.ptd` or an `.npy`. Only headers are read.

use std::io;
use std::path::Path;

use pte_model::data::{Blob, Origin};
use pte_model::format::Format;
use pte_model::format::npy::MAGIC;
use pte_model::program::TensorLayout;
use pte_model::reader::{flat_tensor, npy, safetensors};

/// A tensor of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceTensor {
    /// Name.
    pub name: String,
    /// Element type, sizes and order of dimensions.
    pub layout: TensorLayout,
    /// Elements of the tensor.
    pub data: Blob,
}

/// Reads the tensors of a `.safetensors` or `.ptd`, or the array of an `.npy`, whose name is that of the file without
/// extension.
///
/// # Errors
/// The file cannot be read, is malformed or of another format, or has no tensors.
pub fn read(path: &Path) -> io::Result<Vec<SourceTensor>> {
    let origin = Origin::File(path.into());
    let format = match origin.format()? {
        None if *origin.head(MAGIC.len() as u64)? == *MAGIC => {
            let npy::NpyTensor { layout, data } = npy::read(&origin)?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            return Ok(vec![SourceTensor { name, layout, data }]);
        }
        None => origin.format_by_name(),
        found => found,
    };
    let tensors: Vec<SourceTensor> = match format {
        Some(Format::Safetensors) => {
            let mut program = safetensors::read(&origin)?;
            let entries = std::mem::take(&mut program.external_data);
            let tensor = |(key, layout, data): (String, Option<TensorLayout>, Blob)| {
                Some(SourceTensor { name: key, layout: layout?, data })
            };
            let entries =
                entries.into_iter().map(|entry| (entry.key, entry.tensor_layout, program.blob(entry.data).clone()));
            entries.filter_map(tensor).collect()
        }
        Some(Format::FlatTensor) => {
            let entries = flat_tensor::read(&origin)?.into_iter();
            entries
                .filter_map(|entry| {
                    Some(SourceTensor { name: entry.key, layout: entry.tensor_layout?, data: entry.data })
                })
                .collect()
        }
        Some(Format::Program | Format::BundledProgram) => {
            return Err(io::Error::other("expected a .safetensors, .ptd or .npy file, found a program"));
        }
        None => return Err(io::Error::other("expected a .safetensors, .ptd or .npy file")),
    };
    match tensors.is_empty() {
        true => Err(io::Error::other("the file has no tensors")),
        false => Ok(tensors),
    }
}
