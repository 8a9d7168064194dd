//! Headers that payloads of several backends share. They have the locations of the graph (a FlatBuffer) and of the
//! constants. The graph is not read here.
//!
//! [`Sections`] is that of XNNPACK and Vulkan, [`read_short`] that of MPS and MLX.

use super::description::{DescribeError, Facts};
use pte_model::data::Blob;
use pte_model::diagnostics::counted;
use pte_model::format::flatbuffer::Scalar;
use pte_model::format::flatbuffer::array;

/// Size of the header in bytes, without padding.
pub const HEADER: usize = 30;

/// A field of the header.
#[derive(Debug)]
pub struct HeaderField {
    /// Name.
    pub name: &'static str,
    /// Offset in bytes.
    pub at: usize,
    /// Size in bytes.
    pub size: usize,
    /// Type of a number; `None` for other bytes.
    pub number: Option<Scalar>,
}

/// Fields of the header, which they tile.
pub const HEADER_FIELDS: &[HeaderField] = &[
    HeaderField { name: "unused", at: 0, size: 4, number: None },
    HeaderField { name: "magic", at: 4, size: 4, number: None },
    HeaderField { name: "length", at: 8, size: 2, number: Some(Scalar::U16) },
    HeaderField { name: "flatbuffer_offset", at: 10, size: 4, number: Some(Scalar::U32) },
    HeaderField { name: "flatbuffer_size", at: 14, size: 4, number: Some(Scalar::U32) },
    HeaderField { name: "constant_data_offset", at: 18, size: 4, number: Some(Scalar::U32) },
    HeaderField { name: "constant_data_size", at: 22, size: 8, number: Some(Scalar::U64) },
];

/// Alignment in bytes of the graph, of the constants, and of each constant.
pub const ALIGNMENT: u64 = 16;

/// Parts of a payload, in bytes from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sections {
    /// Offset and size of the graph.
    pub graph: (u64, u64),
    /// Offset and size of the constants; `None` without a header: they are in the graph.
    pub constants: Option<(u64, u64)>,
}

impl Sections {
    /// Reads the header of a payload of `len` bytes from its first [`HEADER`] bytes, or fewer if it is shorter. `magic`
    /// are bytes 4..8 of payloads with a header; without it, the payload is the graph.
    ///
    /// # Errors
    /// Description of a payload that is too short for its header, its graph or its constants.
    pub fn read(magic: &[u8; 4], head: &[u8], len: u64) -> Result<Sections, String> {
        let word = |at: usize| head.get(at..)?.first_chunk().map(|word| u64::from(u32::from_le_bytes(*word)));
        let (Some(start), Some(size), Some(data), Some(low), Some(high)) =
            (word(10), word(14), word(18), word(22), word(26))
        else {
            return Err(format!("a payload of {}, smaller than its header", counted(head.len(), "byte")));
        };
        if head.get(4..8) != Some(magic) {
            return Ok(Sections { graph: (0, len), constants: None });
        }
        let constants = low | high << 32;
        if start + size > len || data.checked_add(constants).is_none_or(|end| end > len) {
            let end = start + size;
            let parts = format!("a graph at {start}..{end} and {} of constants at {data}", counted(constants, "byte"));
            return Err(format!("a payload of {}, with {parts}", counted(len, "byte")));
        }
        Ok(Sections { graph: (start, size), constants: Some((data, constants)) })
    }

    /// Returns the sections of a payload with a header, as the exporter arranges them. `None` if an offset or a size
    /// does not fit the header.
    pub fn arranged(graph: u64, constants: u64) -> Option<Sections> {
        let start = (HEADER as u64).next_multiple_of(ALIGNMENT);
        let data = start.checked_add(graph.checked_next_multiple_of(ALIGNMENT)?)?;
        let is_small = u32::try_from(graph).is_ok() && u32::try_from(data).is_ok();
        is_small.then_some(Sections { graph: (start, graph), constants: Some((data, constants)) })
    }

    /// Returns the offsets and sizes as facts; none without a header.
    pub fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        if let Some((data, constants)) = self.constants {
            let mut header = Facts::default();
            header.add_part("graph", self.graph.0, self.graph.1);
            header.add_part("constants", data, constants);
            facts.add("header", header);
        }
        facts
    }

    /// Returns the header of the payload, with `magic` in bytes 4..8; empty without a header.
    pub fn header(&self, magic: &[u8; 4]) -> Vec<u8> {
        let Some((data, constants)) = self.constants else { return Vec::new() };
        let mut header = vec![0; 4];
        header.extend_from_slice(magic);
        header.extend_from_slice(&(HEADER as u16).to_le_bytes());
        for word in [self.graph.0, self.graph.1, data] {
            header.extend_from_slice(&(word as u32).to_le_bytes());
        }
        header.extend_from_slice(&constants.to_le_bytes());
        header
    }
}

/// Size in bytes of the header of MPS and MLX: four zeros, the magic, and offset and size of the data after the graph.
const SHORT_HEADER: u64 = 24;

/// Reads the header of MPS and MLX. Returns offset and size of the graph, which ends before the data, and the facts of
/// the header.
///
/// # Errors
/// A payload that is too short for its header, another magic, data that are not after the graph; a payload that cannot
/// be read.
pub fn read_short(payload: &Blob, magic: &str) -> Result<((u64, u64), Facts), DescribeError> {
    let head = payload.read_at(0, payload.len().min(SHORT_HEADER) as usize)?;
    let (Some(found), Some(data), Some(size)) = (array::<4>(&head, 4), array(&head, 8), array(&head, 16)) else {
        let found = counted(head.len(), "byte");
        return Err(DescribeError::malformed(format!("a payload of {found}, expected a header of {SHORT_HEADER}")));
    };
    if found != magic.as_bytes() {
        let found = found.escape_ascii();
        return Err(DescribeError::malformed(format!("the magic \"{found}\" at byte 0x4, expected {magic:?}")));
    }
    let (data, size) = (u64::from_le_bytes(data), u64::from_le_bytes(size));
    if data <= SHORT_HEADER || data.checked_add(size).is_none_or(|end| end > payload.len()) {
        let (found, len) = (counted(size, "byte"), counted(payload.len(), "byte"));
        let found = format!("{found} of data at byte {data:#x} (at byte 0x8)");
        return Err(DescribeError::malformed(format!("{found}, expected them after the graph, and inside {len}")));
    }
    let mut header = Facts::default();
    header.add_part("graph", SHORT_HEADER, data - SHORT_HEADER);
    header.add_part("data", data, size);
    Ok(((SHORT_HEADER, data - SHORT_HEADER), Facts::default().with("header", header)))
}

/// Returns the header of MPS and MLX, the graph and zeros, as far as the data, which are aligned and have `size` bytes.
pub fn write_short(magic: &str, graph: &[u8], size: u64) -> Vec<u8> {
    let data = (SHORT_HEADER + graph.len() as u64).next_multiple_of(ALIGNMENT);
    let mut head = vec![0; 4];
    head.extend_from_slice(magic.as_bytes());
    head.extend_from_slice(&data.to_le_bytes());
    head.extend_from_slice(&size.to_le_bytes());
    head.extend_from_slice(graph);
    head.resize(data as usize, 0);
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAGIC: &[u8; 4] = b"XH00";

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let sections = Sections::arranged(100, 7).unwrap();
        assert_eq!(sections, Sections { graph: (32, 100), constants: Some((144, 7)) });
        let header = sections.header(MAGIC);
        assert_eq!(header.len(), HEADER);
        assert_eq!(Sections::read(MAGIC, &header, 151), Ok(sections));
        assert!(Sections::read(MAGIC, &header, 150).is_err_and(|error| error.contains("7 bytes of constants at 144")));
        assert!(Sections::read(MAGIC, &header[..29], 151).is_err());
        assert_eq!(Sections::arranged(u64::MAX, 0), None);
    }

    #[test]
    fn a_payload_without_a_header_is_the_graph() {
        assert_eq!(Sections::read(MAGIC, &[1; 30], 99), Ok(Sections { graph: (0, 99), constants: None }));
    }
}
