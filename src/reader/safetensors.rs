//! Reads a `.safetensors`: names, types, sizes and offsets of its tensors. Their data are not read.

use std::io;

use safetensors::tensor::{Metadata, TensorInfo};

use crate::data::Origin;
use crate::format::ScalarType;
use crate::format::safetensors::TYPES;
use crate::program::{ExternalData, Program, TensorLayout, contiguous, nbytes};

/// Maximum header size in bytes, by the specification of safetensors.
pub const MAX_HEADER: u64 = 100_000_000;

/// The header of a file.
#[derive(Debug)]
pub struct SafetensorsHeader {
    /// The tensors, by name.
    pub metadata: Metadata,
    /// Offset of the data in the file.
    pub data_start: u64,
}

/// A tensor of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafetensorsTensor {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Size of each dimension.
    pub sizes: Vec<i32>,
    /// Offset of its data in the file.
    pub offset: u64,
    /// Size in bytes.
    pub len: u64,
}

/// Reads the header.
///
/// # Errors
/// A file that cannot be read, is not a `.safetensors`, or is shorter than its header states.
pub fn header(origin: &Origin) -> io::Result<SafetensorsHeader> {
    let length = origin.len()?;
    let size = origin.head(8)?.first_chunk().map_or(u64::MAX, |size| u64::from_le_bytes(*size));
    if size > MAX_HEADER || 8 + size > length {
        return Err(io::Error::other("not a .safetensors file"));
    }
    let head = origin.head(8 + size)?;
    let metadata: Metadata = serde_json::from_slice(head.get(8..).unwrap_or_default())?;
    let data_start = 8 + size;
    if metadata.tensors().values().any(|info| data_start.saturating_add(info.data_offsets.1 as u64) > length) {
        return Err(io::Error::other(format!("its header states more than its {length} bytes")));
    }
    Ok(SafetensorsHeader { metadata, data_start })
}

impl SafetensorsHeader {
    /// The tensors with their names, in the order of their bytes.
    pub fn tensors(&self) -> Vec<(String, &TensorInfo)> {
        let mut tensors: Vec<_> = self.metadata.tensors().into_iter().collect();
        tensors.sort_by(|(one, a), (other, b)| (a.data_offsets, one).cmp(&(b.data_offsets, other)));
        tensors
    }

    /// Returns type, sizes and range of a tensor.
    ///
    /// # Errors
    /// An unsupported type or size; data that do not match the sizes.
    pub fn find(&self, name: &str, info: &TensorInfo) -> Result<SafetensorsTensor, String> {
        let sizes: Option<Vec<i32>> = info.shape.iter().map(|size| i32::try_from(*size).ok()).collect();
        let known = TYPES.iter().find(|(dtype, _)| *dtype == info.dtype);
        let (Some(scalar_type), Some(sizes)) = (known.and_then(|(_, name)| ScalarType::parse(name)), sizes) else {
            return Err(format!("unsupported type or size of tensor `{name}`"));
        };
        let (start, end) = (info.data_offsets.0 as u64, info.data_offsets.1 as u64);
        match nbytes(scalar_type, &sizes) {
            Some(len) if end.checked_sub(start) == Some(len) => {
                Ok(SafetensorsTensor { scalar_type, sizes, offset: self.data_start + start, len })
            }
            _ => Err(format!("the data of tensor `{name}` do not match its sizes")),
        }
    }
}

/// Reads a file as weights alone: its tensors in the order of their bytes.
///
/// # Errors
/// As [`header`] and [`SafetensorsHeader::find`].
pub fn read(origin: &Origin) -> io::Result<Program> {
    let (header, length) = (header(origin)?, origin.len()?);
    let mut program = Program::default();
    for (key, info) in header.tensors() {
        let SafetensorsTensor { scalar_type, sizes, offset, len } =
            header.find(&key, info).map_err(io::Error::other)?;
        let blob = origin.blob(offset, len, length).ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        let data = program.add_blob(blob);
        let dim_order = contiguous(sizes.len()).into_owned();
        let tensor_layout = Some(TensorLayout { scalar_type, sizes, dim_order });
        program.external_data.push(ExternalData { key, tag: None, data, alignment: 1, tensor_layout });
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with this JSON and so many bytes behind it.
    fn file(json: &str, data: usize) -> Origin {
        let bytes = [&(json.len() as u64).to_le_bytes()[..], json.as_bytes(), &vec![7; data]].concat();
        Origin::Bytes(bytes.into())
    }

    fn entry(dtype: &str, shape: &str, start: u64, end: u64) -> String {
        format!(r#"{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{start},{end}]}}"#)
    }

    #[test]
    fn tensors_are_in_the_order_of_their_bytes() {
        let (a, b, c) = (entry("F32", "[2]", 3, 11), entry("I8", "[2,1]", 0, 2), entry("U8", "[1]", 2, 3));
        let program = read(&file(&format!(r#"{{"a":{a},"b":{b},"c":{c}}}"#), 11)).unwrap();
        let found: Vec<_> =
            program.external_data.iter().map(|data| (&*data.key, program.blob(data.data).len)).collect();
        assert_eq!(found, [("b", 2), ("c", 1), ("a", 8)]);
        let layout = program.external_data[0].tensor_layout.clone().unwrap();
        assert_eq!((layout.scalar_type.0, layout.sizes, layout.dim_order), (1, vec![2, 1], vec![0, 1]));
    }

    #[test]
    fn bytes_count_from_the_end_of_the_json() {
        let json = format!(r#"{{"a":{}}}"#, entry("U8", "[3]", 0, 3));
        assert_eq!(header(&file(&json, 3)).unwrap().data_start, 8 + json.len() as u64);
        assert_eq!(read(&file(&json, 3)).unwrap().blobs[0].to_vec().unwrap(), [7, 7, 7]);
    }

    #[test]
    fn a_file_shorter_than_its_header_states_is_an_error() {
        let json = format!(r#"{{"a":{}}}"#, entry("U8", "[3]", 0, 3));
        assert!(read(&file(&json, 2)).is_err());
        assert!(header(&Origin::Bytes(1000u64.to_le_bytes().to_vec().into())).is_err());
        assert!(header(&Origin::Bytes([0; 3].into())).is_err());
    }

    #[test]
    fn a_header_beyond_its_largest_size_is_not_read() {
        let size = MAX_HEADER + 1;
        assert!(header(&Origin::Bytes(size.to_le_bytes().to_vec().into())).is_err());
    }

    #[test]
    fn a_type_or_size_that_no_program_has_and_other_bytes_than_the_sizes_give_are_errors() {
        let of = |dtype: &str, shape: &str, end: u64| {
            read(&file(&format!(r#"{{"a":{}}}"#, entry(dtype, shape, 0, end)), end as usize))
        };
        assert!(of("I16", "[2]", 4).is_ok());
        assert!(of("I16", "[2]", 5).is_err());
        assert!(of("F8_E8M0", "[2]", 2).is_err());
        assert!(of("I8", "[0,4294967296]", 0).is_err());
    }
}
