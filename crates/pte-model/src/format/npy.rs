//! The `.npy` format of NumPy: names of element types, and the header of a file.

use super::ScalarType;

/// First bytes of a file.
pub const MAGIC: &[u8] = b"\x93NUMPY";

/// Kind and number of bytes of the elements of NumPy, and the names of the element types here.
pub const TYPES: [(&str, &str); 14] = [
    ("b1", "bool"),
    ("u1", "uint8"),
    ("i1", "int8"),
    ("u2", "uint16"),
    ("u4", "uint32"),
    ("u8", "uint64"),
    ("i2", "int16"),
    ("i4", "int32"),
    ("i8", "int64"),
    ("f2", "float16"),
    ("f4", "float32"),
    ("f8", "float64"),
    ("c8", "complex64"),
    ("c16", "complex128"),
];

/// Returns the element type of `("<", "f4")`: byte order, then kind and number of bytes. Only one-byte elements may
/// have a byte order other than `<`.
pub fn element_type((order, kind): (&str, &str)) -> Option<ScalarType> {
    let (_, name) = TYPES.iter().find(|(known, _)| *known == kind)?;
    (order == "<" || kind.ends_with('1')).then(|| ScalarType::parse(name))?
}

/// Alignment of the elements in bytes, as NumPy writes files.
const ALIGNMENT: usize = 64;

/// Returns the header of a file of contiguous elements, as NumPy writes it. `None` for an element type that NumPy does
/// not have.
///
/// ```
/// use pte_model::format::{ScalarType, npy};
///
/// let header = npy::header(ScalarType::FLOAT, &[2, 3]).unwrap();
/// assert!(header.starts_with(npy::MAGIC) && header.len() == 128);
/// assert_eq!(npy::header(ScalarType::BFLOAT16, &[2]), None);
/// ```
pub fn header(scalar_type: ScalarType, sizes: &[i32]) -> Option<Vec<u8>> {
    let name = scalar_type.info()?.name;
    let (kind, _) = TYPES.iter().find(|(_, known)| *known == name)?;
    let order = if kind.ends_with('1') { '|' } else { '<' };
    let shape: Vec<String> = sizes.iter().map(i32::to_string).collect();
    let comma = if sizes.len() == 1 { "," } else { "" };
    let shape = shape.join(", ");
    let dict = format!("{{'descr': '{order}{kind}', 'fortran_order': False, 'shape': ({shape}{comma}), }}");
    // The magic number, the version, the length, and the end of the line.
    let length = (MAGIC.len() + 4 + dict.len() + 1).next_multiple_of(ALIGNMENT);
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend(u16::try_from(length - MAGIC.len() - 4).ok()?.to_le_bytes());
    header.extend(dict.into_bytes());
    header.resize(length - 1, b' ');
    header.push(b'\n');
    Some(header)
}
