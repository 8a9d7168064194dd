//! [`NamedTensors`]: outputs of a run as files, and the tensors of files with which they are compared.

use std::io;
use std::path::Path;

use crate::emitter::safetensors;
use indexmap::IndexMap;
use pte_model::data::{Blob, Origin};
use pte_model::diagnostics::Code;
use pte_model::diagnostics::text::{clipped, first_names};
use pte_model::error::Error;
use pte_model::format::{DimOrder, ScalarType, npy};
use pte_model::program::test_cases::TestData;
use pte_model::program::{ExternalData, Program, TensorLayout};
use pte_model::reader;
use pte_run::OutputValue;
use pte_transform::weights::source::{self, SourceTensor};

/// Tensors by name.
///
/// ```
/// use pte_emit::run::{NamedTensors, OutputValue};
///
/// let mut tensors = NamedTensors::default();
/// tensors.insert("n", &OutputValue::Int(7))?;
/// let (name, file) = tensors.to_npy()?.remove(0);
/// assert_eq!((&*name, file.len()), ("n", 128 + 8));
///
/// let mut read = NamedTensors::default();
/// read.insert_npy("n", file)?;
/// assert_eq!(read.to_safetensors()?, tensors.to_safetensors()?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct NamedTensors(IndexMap<String, (TensorLayout, Blob)>);

/// Returns a tensor as an `.npy`; `None` for an element type that NumPy does not have.
///
/// # Errors
/// Data that cannot be read.
pub(crate) fn npy_file(layout: &TensorLayout, data: &Blob) -> io::Result<Option<Vec<u8>>> {
    let TensorLayout { scalar_type, sizes, dim_order } = layout;
    let Some(mut file) = npy::header(*scalar_type, sizes) else { return Ok(None) };
    let order = DimOrder::contiguous(sizes.len());
    file.extend(data.clone().reordered(scalar_type.element_size(), sizes, dim_order, &order).to_vec()?);
    Ok(Some(file))
}

impl NamedTensors {
    /// Reads the tensors of a `.safetensors`, `.ptd` or `.npy`; the array of the last one has the name of the file.
    ///
    /// ```
    /// use pte_emit::run::NamedTensors;
    ///
    /// assert!(NamedTensors::open("examples/data/none.npy").is_err());
    /// ```
    ///
    /// # Errors
    /// A file that cannot be read, is malformed, or of another format.
    pub fn open(path: impl AsRef<Path>) -> Result<NamedTensors, Error> {
        let path = path.as_ref();
        let found = source::read(path).map_err(|error| Error::io(&path.display().to_string(), "", &error))?;
        let tensor = |SourceTensor { name, layout, data }| (name, (layout, data));
        Ok(NamedTensors(found.into_iter().map(tensor).collect()))
    }

    /// Adds an array of NumPy.
    ///
    /// # Errors
    /// A malformed file, elements of another type, a duplicate name.
    pub fn insert_npy(&mut self, name: &str, file: impl Into<Vec<u8>>) -> io::Result<()> {
        let reader::npy::NpyTensor { layout, data } = reader::npy::read(&Origin::Bytes(file.into().into()))?;
        self.add(name, (layout, data))
    }

    /// Adds an output: a tensor, or a number as a tensor without dimensions. Other values, which files of tensors do
    /// not have, are left out.
    ///
    /// # Errors
    /// A duplicate name.
    pub fn insert(&mut self, name: &str, value: &OutputValue) -> io::Result<()> {
        match value.to_test_data().and_then(as_tensor) {
            Some(tensor) => self.add(name, tensor),
            None => Ok(()),
        }
    }

    fn add(&mut self, name: &str, tensor: (TensorLayout, Blob)) -> io::Result<()> {
        match self.0.insert(name.to_owned(), tensor) {
            Some(_) => Err(io::Error::other(format!("`{}` is the name of two tensors", clipped(name)))),
            None => Ok(()),
        }
    }

    /// Returns the tensors as a `.safetensors`.
    ///
    /// # Errors
    /// An element type or a name that the format does not have.
    pub fn to_safetensors(&self) -> io::Result<Vec<u8>> {
        let mut program = Program::default();
        for (name, (layout, data)) in &self.0 {
            let data = program.add_blob(data.clone());
            program
                .external_data
                .push(ExternalData { tensor_layout: Some(layout.clone()), ..ExternalData::new(name, data) });
        }
        let mut out = Vec::new();
        safetensors::emit(&program)?.write(&mut out)?;
        Ok(out)
    }

    /// Returns each tensor as an `.npy`, with its name.
    ///
    /// # Errors
    /// An element type that NumPy does not have.
    pub fn to_npy(&self) -> io::Result<Vec<(String, Vec<u8>)>> {
        let file = |(name, (layout, data)): (&String, &(TensorLayout, Blob))| {
            let file = npy_file(layout, data)?.ok_or_else(|| {
                let (name, scalar_type) = (clipped(name), layout.scalar_type);
                io::Error::other(format!(
                    "`{name}` is of type {scalar_type}, which NumPy does not have; a .safetensors does"
                ))
            })?;
            Ok((name.clone(), file))
        };
        self.0.iter().map(file).collect()
    }

    /// Returns true if it has a tensor of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns the number of tensors.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the expected value of an output: the tensor of its name, or at a position.
    ///
    /// # Errors
    /// There is no such tensor in `file`.
    pub(crate) fn value_of(
        &self,
        (name, position): (&str, Option<usize>),
        found: &OutputValue,
        file: &str,
    ) -> Result<TestData, Error> {
        let at_position = position.and_then(|at| self.0.get_index(at)).map(|(_, tensor)| tensor);
        let Some((layout, data)) = self.0.get(name).or(at_position) else {
            let known = first_names(self.0.keys().map(String::as_str));
            let known = if self.0.is_empty() { "no tensors".to_owned() } else { known };
            let message = format!("no tensor `{}`, the name of an output; the file has {known}", clipped(name));
            return Err(Error::input(Code::UnmetRequest, file, message));
        };
        let TensorLayout { scalar_type, sizes, dim_order } = layout.clone();
        let tensor = TestData::Tensor { scalar_type, sizes, dim_order, data: data.clone() };
        // A number is a tensor without dimensions.
        match found {
            OutputValue::Tensor { .. } => Ok(tensor),
            _ => number(&tensor).map(|number| number.unwrap_or(tensor)).map_err(|error| Error::io(file, "", &error)),
        }
    }
}

/// Returns a tensor, or a number as a tensor without dimensions.
fn as_tensor(value: TestData) -> Option<(TensorLayout, Blob)> {
    let (scalar_type, bytes) = match value {
        TestData::Tensor { scalar_type, sizes, dim_order, data } => {
            return Some((TensorLayout { scalar_type, sizes, dim_order }, data));
        }
        TestData::Int(number) => (ScalarType::LONG, number.to_le_bytes().to_vec()),
        TestData::Double(number) => (ScalarType::DOUBLE, number.to_le_bytes().to_vec()),
        TestData::Bool(truth) => (ScalarType::BOOL, vec![truth.into()]),
        TestData::Null | TestData::String(_) => return None,
    };
    Some((TensorLayout { scalar_type, sizes: Vec::new(), dim_order: DimOrder::default() }, Blob::bytes(bytes)))
}

/// Returns the number that [`as_tensor`] made a tensor of.
fn number(tensor: &TestData) -> io::Result<Option<TestData>> {
    let TestData::Tensor { scalar_type, sizes, data, .. } = tensor else { return Ok(None) };
    if !sizes.is_empty() || data.len > 8 {
        return Ok(None);
    }
    let bytes = data.to_vec()?;
    Ok(match (*scalar_type, <[u8; 8]>::try_from(&*bytes)) {
        (ScalarType::LONG, Ok(bytes)) => Some(TestData::Int(i64::from_le_bytes(bytes))),
        (ScalarType::DOUBLE, Ok(bytes)) => Some(TestData::Double(f64::from_le_bytes(bytes))),
        (ScalarType::BOOL, Err(_)) => Some(TestData::Bool(bytes == [1])),
        _ => None,
    })
}
