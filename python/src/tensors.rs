//! `.ptd` and `.safetensors` files: their entries, and writing them from buffers of Python without a copy.
//! `pte_emit._tensors` makes arrays of them.

use std::path::PathBuf;
use std::sync::Arc;

use pte_emit::program::{DimOrder, ExternalData, Program as Content, TensorLayout};
use pte_emit::{Blob, Code, Resolved, ScalarType};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::assembly::save;
use crate::buffer::Bytes;
use crate::builder::scalar_type;
use crate::error::requested;
use crate::model::Model;
use crate::options::options;
use crate::run::attempt;

/// An entry of a file: key, layout (element type, sizes, dim_order), offset in the file, number of bytes, and the bytes
/// if they are in memory.
type Entry<'py> = (String, Option<(String, Vec<i32>, Vec<u32>)>, Option<u64>, u64, Option<Bound<'py, PyBytes>>);

/// An entry to write: key, element type and sizes, order of the dimensions, buffer.
type NewEntry<'py> = (String, Option<(String, Vec<i32>, Vec<u8>)>, Bound<'py, PyAny>);

/// Lists the element types: name and bytes per element.
#[pyfunction]
pub fn dtypes() -> Vec<(&'static str, u64)> {
    ScalarType::all().filter_map(ScalarType::info).map(|info| (info.name, info.size)).collect()
}

/// Lists the tensors and blobs of a `.ptd` or `.safetensors`.
#[pyfunction]
pub fn data_entries<'py>(py: Python<'py>, model: PyRef<'py, Model>) -> PyResult<Vec<Entry<'py>>> {
    let (model, path) = (model.0.clone(), PathBuf::from(model.0.name()));
    type Found = (String, Option<(String, Vec<i32>, Vec<u32>)>, Option<u64>, u64, Option<Vec<u8>>);
    let found = attempt(py, move |_| {
        let format = model.format()?;
        if !matches!(format, Some(pte_emit::Format::FlatTensor | pte_emit::Format::Safetensors)) {
            return Err(requested(&format!("{}: expected a .ptd or .safetensors", model.label())));
        }
        let content = model.resolve()?.program;
        let entry = |data: &ExternalData| {
            let blob = content.blob(data.data);
            if let Some(what) = data.tensor_layout.as_ref().and_then(|layout| mismatch(layout, blob.len())) {
                let message = format!("{}: {what}", pte_emit::command::text::clipped(&data.key));
                return Err(pte_emit::Error::input(Code::InvalidFile, &model.label(), message));
            }
            let layout = data.tensor_layout.as_ref().map(|layout| {
                let order = layout.dim_order.iter().map(|dim| u32::from(*dim)).collect();
                (layout.scalar_type.to_string(), layout.sizes.clone(), order)
            });
            let offset = blob.file_range().filter(|(file, _)| *file == path).map(|(_, offset)| offset);
            let bytes = match offset {
                Some(_) => None,
                None => Some(blob.to_vec().map_err(|error| pte_emit::Error::io(&model.label(), "", &error))?),
            };
            Ok((data.key.clone(), layout, offset, blob.len(), bytes))
        };
        content.external_data.iter().map(entry).collect::<Result<Vec<Found>, pte_emit::Error>>()
    })?;
    let python = |(key, layout, offset, len, bytes): Found| {
        (key, layout, offset, len, bytes.map(|bytes| PyBytes::new(py, &bytes)))
    };
    Ok(found.into_iter().map(python).collect())
}

/// Returns what is wrong with a layout for data of this size, so that they are no array.
fn mismatch(layout: &TensorLayout, bytes: u64) -> Option<String> {
    let TensorLayout { scalar_type, sizes, dim_order, .. } = layout;
    match pte_emit::program::nbytes(*scalar_type, sizes) {
        Some(expected) if expected != bytes => {
            Some(format!("{bytes} bytes for {scalar_type} {sizes:?}, expected {expected}"))
        }
        None => Some(format!("{scalar_type} {sizes:?} has no size in bytes")),
        Some(_) if !dim_order.is_permutation(sizes.len()) => {
            let order: Vec<u8> = dim_order.iter().copied().collect();
            Some(format!("dim_order {order:?}, expected an order of {} dimensions", sizes.len()))
        }
        Some(_) => None,
    }
}

/// Writes a `.ptd` or `.safetensors`, whichever the extension of `path` says.
#[pyfunction]
#[pyo3(signature = (path, entries, **layout))]
pub fn write_data(
    py: Python<'_>,
    path: PathBuf,
    entries: Vec<NewEntry<'_>>,
    layout: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let options = options(layout)?;
    let mut content = Content::default();
    for (key, layout, buffer) in entries {
        let blob = Blob::owned(Bytes::of(&buffer)?);
        let layout = layout.map(|(dtype, sizes, order)| {
            let mut layout = TensorLayout::new(scalar_type(&dtype)?, sizes);
            layout.dim_order = DimOrder::from(order);
            let expected = pte_emit::program::nbytes(layout.scalar_type, &layout.sizes);
            match expected == Some(blob.len()) {
                true => Ok(layout),
                false => Err(PyValueError::new_err(format!("{key}: the buffer has {} bytes", blob.len()))),
            }
        });
        let mut entry = ExternalData::new(key.clone(), content.add_blob(blob));
        entry.tensor_layout = layout.transpose()?;
        content.external_data.push(entry);
    }
    let assembly = attempt(py, move |_| Resolved::from(content).to_files(&options))?;
    save(py, Arc::new(assembly), path).map(drop)
}
