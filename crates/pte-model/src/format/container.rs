//! The containers of ExecuTorch: identifier, root table and extended header of each format, and the detection of
//! formats.
//!
//! All numbers are little-endian.

use super::{TableSchema, bundled_program, flat_tensor, program, safetensors};

/// A file format.
///
/// ```
/// use pte_model::format::Format;
///
/// let head = &pte_model::LINEAR_PTE[..64];
/// assert_eq!(Format::identify(head, pte_model::LINEAR_PTE.len() as u64), Some(Format::Program));
/// assert_eq!((Format::Program.extension(), Format::of_extension("ptd")), ("pte", Some(Format::FlatTensor)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A `.pte`.
    Program,
    /// A `.ptd`.
    FlatTensor,
    /// A `.bpte`.
    BundledProgram,
    /// A `.safetensors`.
    Safetensors,
}

/// A format that consists of a FlatBuffer and, if it has an extended header, data segments.
#[derive(Debug)]
pub struct Container {
    /// Format that the row describes.
    pub format: Format,
    /// Extension of its files.
    pub extension: &'static str,
    /// The file identifier at bytes 4 to 8.
    pub identifier: &'static str,
    /// The root table.
    pub root: &'static TableSchema,
    /// The extended header, in formats that have one.
    pub header: Option<&'static ExtendedHeader>,
}

/// The extended header at byte 8: magic, its own length as `u32`, then 64-bit fields.
#[derive(Debug)]
pub struct ExtendedHeader {
    /// The first four bytes.
    pub magic: &'static [u8; 4],
    /// Names of the 64-bit fields.
    pub fields: &'static [&'static str],
    /// Smallest length in bytes that the runtime accepts.
    pub minimum: u32,
    /// Length in bytes that the emitter writes.
    pub length: u32,
}

/// Bytes before the extended header: root offset and file identifier.
pub const PREAMBLE: usize = 8;

/// Size in bytes of the runtime's first read, and minimum size of a `.pte` or a `.ptd` (rules H-1, H-20).
pub const HEAD: u64 = 64;

/// Number of leading bytes that identify a format.
pub const IDENTIFYING: u64 = 9;

/// Maximum size of a FlatBuffer in bytes: offsets are signed 32-bit numbers (rule F-2).
pub const MAX_FLATBUFFER: u64 = (1 << 31) - 1;

/// Header field: size in bytes of the FlatBuffer including the header.
pub const PROGRAM_SIZE: &str = "program_size";
/// Header field: offset of the first segment.
pub const SEGMENT_BASE_OFFSET: &str = "segment_base_offset";
/// Header field: size in bytes of all segments.
pub const SEGMENT_DATA_SIZE: &str = "segment_data_size";
/// Field of a `.ptd` header: number of bytes inserted after byte 8.
pub const FLATBUFFER_OFFSET: &str = "flatbuffer_offset";
/// Field of a `.ptd` header: size in bytes of the FlatBuffer without the header.
pub const FLATBUFFER_SIZE: &str = "flatbuffer_size";

/// The header of a `.pte`. Before ExecuTorch 1.0 it had 24 bytes, without the last field.
pub static PROGRAM_HEADER: ExtendedHeader = ExtendedHeader {
    magic: b"eh00",
    fields: &[PROGRAM_SIZE, SEGMENT_BASE_OFFSET, SEGMENT_DATA_SIZE],
    minimum: 24,
    length: 32,
};

/// The header of a `.ptd`.
pub static FLAT_TENSOR_HEADER: ExtendedHeader = ExtendedHeader {
    magic: b"FH01",
    fields: &[FLATBUFFER_OFFSET, FLATBUFFER_SIZE, SEGMENT_BASE_OFFSET, SEGMENT_DATA_SIZE],
    minimum: 40,
    length: 40,
};

/// A `.pte`.
pub static PROGRAM: Container = Container {
    format: Format::Program,
    extension: "pte",
    identifier: program::IDENTIFIER,
    root: &program::PROGRAM,
    header: Some(&PROGRAM_HEADER),
};

/// A `.ptd`.
pub static FLAT_TENSOR: Container = Container {
    format: Format::FlatTensor,
    extension: "ptd",
    identifier: flat_tensor::IDENTIFIER,
    root: &flat_tensor::FLAT_TENSOR,
    header: Some(&FLAT_TENSOR_HEADER),
};

/// A `.bpte`.
pub static BUNDLED_PROGRAM: Container = Container {
    format: Format::BundledProgram,
    extension: "bpte",
    identifier: bundled_program::IDENTIFIER,
    root: &bundled_program::BUNDLED_PROGRAM,
    header: None,
};

/// All containers.
pub static CONTAINERS: [&Container; 3] = [&PROGRAM, &FLAT_TENSOR, &BUNDLED_PROGRAM];

impl Format {
    /// Returns the extension of its files, without the dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Format::Program => PROGRAM.extension,
            Format::FlatTensor => FLAT_TENSOR.extension,
            Format::BundledProgram => BUNDLED_PROGRAM.extension,
            Format::Safetensors => safetensors::EXTENSION,
        }
    }

    /// Returns the container of the format; `None` for a format that is not a FlatBuffer.
    #[doc(hidden)]
    pub fn container(self) -> Option<&'static Container> {
        CONTAINERS.into_iter().find(|container| container.format == self)
    }

    /// Returns the format of files with this extension; `None` if there is none.
    pub fn of_extension(extension: &str) -> Option<Format> {
        if extension == safetensors::EXTENSION {
            return Some(Format::Safetensors);
        }
        CONTAINERS.iter().find(|container| container.extension == extension).map(|container| container.format)
    }

    /// Detects the format of a file of `len` bytes from its first [`IDENTIFYING`] bytes: by the letters of its
    /// identifier, ignoring the version, or by the header of a `.safetensors`. `None` for an unknown format.
    pub fn identify(head: &[u8], len: u64) -> Option<Format> {
        let identifier = head.get(4..8)?;
        let same = |container: &&&Container| {
            identifier[..2] == container.identifier.as_bytes()[..2] && identifier[2..].iter().all(u8::is_ascii_digit)
        };
        match CONTAINERS.iter().find(same) {
            Some(container) => Some(container.format),
            None => is_safetensors(head, len).then_some(Format::Safetensors),
        }
    }

    /// Detects the format like [`Format::identify`], falling back to the magic of the extended header.
    #[doc(hidden)]
    pub fn identify_damaged(head: &[u8], len: u64) -> Option<Format> {
        let by_header = || {
            let magic = head.get(PREAMBLE..PREAMBLE + 4)?;
            let same = |container: &&&Container| container.header.is_some_and(|header| header.magic == magic);
            CONTAINERS.iter().find(same).map(|container| container.format)
        };
        Format::identify(head, len).or_else(by_header)
    }

    /// Returns the size of the metadata of a file of `len` bytes, from its first [`HEAD`] bytes: at least [`HEAD`], at
    /// most `len`.
    #[doc(hidden)]
    pub fn metadata_len(self, head: &[u8], len: u64) -> u64 {
        let container = self.container();
        let header = container.and_then(|container| container.header).filter(|header| header.is_in(head));
        let stated = match (header, self) {
            (Some(header), Format::FlatTensor) => {
                let field = |name| header.get(head, name).unwrap_or(0);
                field(FLATBUFFER_OFFSET).checked_add(field(FLATBUFFER_SIZE)).unwrap_or(len)
            }
            (Some(header), _) => header.get(head, PROGRAM_SIZE).unwrap_or(0),
            (None, Format::BundledProgram) => len.min(MAX_FLATBUFFER),
            (None, _) => len,
        };
        stated.clamp(HEAD, len.max(HEAD))
    }
}

/// Returns `true` if a file begins like a `.safetensors`: with the length of a JSON object that fits the file, or that
/// the format allows, and a brace. Text never has such a length, because it contains zero bytes.
fn is_safetensors(head: &[u8], len: u64) -> bool {
    let length = head.first_chunk().map(|length| u64::from_le_bytes(*length));
    let end = length.and_then(|length| length.checked_add(safetensors::PREAMBLE));
    end.is_some_and(|end| end <= len.max(safetensors::MAX_HEADER)) && head.get(8) == Some(&b'{')
}

impl ExtendedHeader {
    /// Offset of the header's length in the file.
    pub const LENGTH: usize = PREAMBLE + 4;

    /// Returns `true` if a file with these first bytes has this header.
    pub fn is_in(&self, head: &[u8]) -> bool {
        head.get(PREAMBLE..PREAMBLE + 4) == Some(self.magic)
    }

    /// Returns the value of the header's length field in bytes; `None` if `head` ends before it.
    pub fn stated_length(head: &[u8]) -> Option<u32> {
        Some(u32::from_le_bytes(*head.get(ExtendedHeader::LENGTH..)?.first_chunk()?))
    }

    /// Returns the offset of a field in the file, by its index.
    pub fn field_offset(index: usize) -> usize {
        PREAMBLE + 8 + 8 * index
    }

    /// Returns the offset of a field in the file.
    ///
    /// # Panics
    /// Panics if the header has no field with this name.
    pub fn offset(&self, name: &str) -> usize {
        let index = self.fields.iter().position(|field| *field == name).expect("a field of the header");
        ExtendedHeader::field_offset(index)
    }

    /// Returns the value of a field, ignoring the length field of the header; `None` if `head` ends before the field.
    ///
    /// # Panics
    /// Panics if the header has no field with this name.
    pub fn get(&self, head: &[u8], name: &str) -> Option<u64> {
        Some(u64::from_le_bytes(*head.get(self.offset(name)..)?.first_chunk()?))
    }

    /// Returns a header of `padded` bytes whose length field is `length`. Fields beyond `length` are omitted.
    pub fn to_bytes(&self, length: u32, padded: usize, fields: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(padded);
        bytes.extend_from_slice(self.magic);
        bytes.extend_from_slice(&length.to_le_bytes());
        let fitting = fields.iter().take((length as usize).saturating_sub(8) / 8);
        fitting.for_each(|field| bytes.extend_from_slice(&field.to_le_bytes()));
        // Fields of later releases are unknown.
        bytes.resize(padded, 0);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_detected_by_identifier_header_and_brace() {
        let head = |at: usize, bytes: &[u8]| {
            let mut head = [0; 64];
            head[at..at + bytes.len()].copy_from_slice(bytes);
            head
        };
        assert_eq!(Format::identify(&head(4, b"ET12"), 64), Some(Format::Program));
        assert_eq!(Format::identify(&head(4, b"FT07"), 64), Some(Format::FlatTensor));
        assert_eq!(Format::identify(&head(4, b"BP08"), 64), Some(Format::BundledProgram));
        assert_eq!(Format::identify(&head(4, b"ETxx"), 64), None);
        assert_eq!(Format::identify(&head(0, b"\x02\0\0\0\0\0\0\0{}"), 10), Some(Format::Safetensors));
        // A truncated file, and text of the same length.
        assert_eq!(Format::identify(&head(0, b"\x03\0\0\0\0\0\0\0{}"), 10), Some(Format::Safetensors));
        assert_eq!(Format::identify(&head(0, b"        {}"), 10), None);
        assert_eq!(Format::of_extension("safetensors"), Some(Format::Safetensors));
        assert_eq!(Format::identify(b"ET", 2), None);
        assert_eq!(Format::identify_damaged(&head(8, b"FH01"), 64), Some(Format::FlatTensor));
    }

    #[test]
    fn header_fields_have_one_offset_for_reading_and_writing() {
        let bytes = [&[0; PREAMBLE][..], &PROGRAM_HEADER.to_bytes(32, 48, &[1, 2, 3])].concat();
        assert_eq!(bytes.len(), PREAMBLE + 48);
        assert!(PROGRAM_HEADER.is_in(&bytes) && !FLAT_TENSOR_HEADER.is_in(&bytes));
        assert_eq!(ExtendedHeader::stated_length(&bytes), Some(32));
        let fields = PROGRAM_HEADER.fields.iter().map(|name| PROGRAM_HEADER.get(&bytes, name));
        assert_eq!(fields.collect::<Vec<_>>(), [Some(1), Some(2), Some(3)]);
        let short = PROGRAM_HEADER.to_bytes(24, 32, &[1, 2, 3]);
        assert_eq!(short[24..], [0; 8]);
    }

    #[test]
    fn metadata_end_inside_the_file() {
        let header = PROGRAM_HEADER.to_bytes(32, 32, &[1 << 40, 0, 0]);
        let head = [b"\0\0\0\0ET12", &header[..], &[0; 24]].concat();
        assert_eq!(Format::Program.metadata_len(&head, 1000), 1000);
        assert_eq!(Format::Program.metadata_len(&[0; 64], 10), HEAD);
    }
}
