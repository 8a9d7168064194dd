//! Memory of Python objects (bytes, arrays, mapped files) as bytes of the library, without a copy. The only unsafe code
//! of the package.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

/// Bytes of an object that exports a contiguous buffer. The export keeps the memory alive and in place: an array cannot
/// be resized, a mapped file cannot be closed.
pub struct Bytes {
    address: usize,
    len: usize,
    /// Holds the export.
    _buffer: PyUntypedBuffer,
}

impl Bytes {
    /// Requests the buffer of an object.
    ///
    /// # Errors
    /// The object has no buffer, or is closed; its elements are not contiguous in the order of C.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Bytes> {
        let buffer = PyUntypedBuffer::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(PyBufferError::new_err("the elements are not contiguous: pass numpy.ascontiguousarray(array)"));
        }
        Ok(Bytes { address: buffer.buf_ptr() as usize, len: buffer.len_bytes(), _buffer: buffer })
    }
}

impl AsRef<[u8]> for Bytes {
    #[allow(unsafe_code)]
    fn as_ref(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the export keeps `len` bytes at the address readable as long as `self` lives. Python code that
        // changes the elements in another thread while they are written leaves a mixture in the file, as
        // `ndarray.tofile` does: only whole bytes are copied or hashed.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, self.len) }
    }
}
