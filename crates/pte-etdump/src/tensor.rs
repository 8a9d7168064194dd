//! A recorded tensor, and its bytes in the debug buffer.

use std::{fmt, io};

use pte_model::data::Blob;
use pte_model::format::ScalarType;

/// A recorded tensor. Its bytes are in the debug buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TracedTensor {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Sizes at run time.
    pub sizes: Vec<u64>,
    /// Distance of neighbours in memory by dimension, in elements.
    pub strides: Vec<u64>,
    /// Offset in the debug buffer in bytes; `None` for a tensor without bytes.
    pub offset: Option<u64>,
    /// Number of elements.
    elements: u64,
}

/// Returns true for the element types that ETDump has an encoding for. ExecuTorch's recorder writes a malformed file
/// for others; a recorder may record them as one of these of the same size.
///
/// ```
/// use pte_etdump::is_recordable;
/// use pte_etdump::pte_model::format::ScalarType;
///
/// assert!(is_recordable(ScalarType::FLOAT) && !is_recordable(ScalarType::HALF));
/// ```
pub fn is_recordable(scalar_type: ScalarType) -> bool {
    const RECORDABLE: [ScalarType; 10] = [
        ScalarType::BYTE,
        ScalarType::CHAR,
        ScalarType::SHORT,
        ScalarType::INT,
        ScalarType::LONG,
        ScalarType::FLOAT,
        ScalarType::DOUBLE,
        ScalarType::BOOL,
        ScalarType::BITS16,
        ScalarType::UINT16,
    ];
    RECORDABLE.contains(&scalar_type)
}

/// Reason why a tensor or its bytes cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum TensorError {
    /// The tensor is invalid, or its bytes are outside of the debug buffer.
    Invalid(String),
    /// The debug buffer cannot be read.
    Io(io::Error),
}

impl fmt::Display for TensorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TensorError::Invalid(message) => f.write_str(message),
            TensorError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TensorError {}

fn invalid<T>(message: impl Into<String>) -> Result<T, TensorError> {
    Err(TensorError::Invalid(message.into()))
}

impl TracedTensor {
    /// Creates a tensor from untrusted numbers. Its elements fill its memory: each has a place of its own.
    ///
    /// # Errors
    /// An unknown element type; negative sizes or strides, or another number of them; a size in bytes of more than 63
    /// bits; strides that are not those of an order of the dimensions.
    pub fn new(
        scalar_type: ScalarType,
        sizes: Vec<i64>,
        strides: Vec<i64>,
        offset: Option<u64>,
    ) -> Result<TracedTensor, TensorError> {
        let Some(info) = scalar_type.info() else {
            return invalid(format!("unknown element type {}", scalar_type.0));
        };
        if sizes.len() != strides.len() {
            return invalid(format!("{} sizes and {} strides", sizes.len(), strides.len()));
        }
        let numbers = |numbers: Vec<i64>| numbers.into_iter().map(u64::try_from).collect::<Result<Vec<u64>, _>>();
        let (Ok(sizes), Ok(strides)) = (numbers(sizes), numbers(strides)) else {
            return invalid("a negative size or stride of a tensor");
        };
        let elements = sizes.iter().try_fold(1u64, |all, size| all.checked_mul(*size));
        let elements =
            elements.filter(|all| all.checked_mul(info.size).is_some_and(|bytes| i64::try_from(bytes).is_ok()));
        let Some(elements) = elements else {
            return invalid(format!("a tensor of sizes {sizes:?} exceeds 63 bits"));
        };
        let tensor = TracedTensor { scalar_type, sizes, strides, offset, elements };
        if !tensor.is_dense() {
            return invalid(format!("strides {:?} of a tensor of sizes {:?}", tensor.strides, tensor.sizes));
        }
        Ok(tensor)
    }

    /// Returns true if the strides are those of contiguous memory in some order of the dimensions. Dimensions of one
    /// element have any.
    fn is_dense(&self) -> bool {
        if self.elements == 0 {
            return true;
        }
        let mut dims: Vec<(u64, u64)> = self.strides.iter().copied().zip(self.sizes.iter().copied()).collect();
        dims.retain(|(_, size)| *size > 1);
        dims.sort_unstable();
        let mut next = 1u64;
        dims.into_iter().all(|(stride, size)| {
            let is_next = stride == next;
            // Within the number of elements, which fits.
            next = next.saturating_mul(size);
            is_next
        })
    }

    /// Number of elements.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.elements.saturating_mul(self.scalar_type.info().map_or(0, |info| info.size))
    }

    /// Reads the bytes from the debug buffer, in the order of memory.
    ///
    /// # Errors
    /// Bytes outside of the buffer, more than `limit` bytes, or a buffer that cannot be read.
    pub fn data(&self, buffer: &Blob, limit: u64) -> Result<Vec<u8>, TensorError> {
        let size = self.size();
        if size == 0 {
            return Ok(Vec::new());
        }
        let Some(offset) = self.offset else {
            return invalid(format!("a tensor of {size} bytes without an offset in the debug buffer"));
        };
        if offset.checked_add(size).is_none_or(|end| end > buffer.len()) {
            let len = buffer.len();
            return invalid(format!("a tensor of {size} bytes at byte {offset:#x} of a debug buffer of {len} bytes"));
        }
        if size > limit {
            return invalid(format!("a tensor of {size} bytes, expected at most {limit}"));
        }
        let size = usize::try_from(size).map_err(|_| TensorError::Invalid(format!("a tensor of {size} bytes")))?;
        buffer.read_at(offset, size).map_err(TensorError::Io)
    }
}
