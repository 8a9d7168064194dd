//! Computes the container header of a file, the offset of the first segment and the file size
//! (docs/format.md, "Containers"), from the length of the FlatBuffer.

use super::segments::{self, Segment};
use super::{HeaderMode, LayoutConfig, align_up, lcm};
use pte_model::format::container::{FLAT_TENSOR_HEADER, PROGRAM_HEADER};

/// Size in bytes of the header of a `.ptd` with padding (docs/format.md, ".ptd header").
const FLAT_TENSOR_HEADER_PADDED: u64 = 48;

/// Offsets and sizes of a file: FlatBuffer with a header inserted after its byte 8, padding, segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Bytes to insert after byte 8: the header and its padding; empty without a header. The root offset is increased
    /// by their number.
    pub header: Vec<u8>,
    /// Size in bytes of the FlatBuffer with the header.
    pub program_size: u64,
    /// Offset of the first segment; 0 if there are no segment bytes.
    pub segment_base_offset: u64,
    /// Size in bytes of all segments and the padding between them.
    pub segment_data_size: u64,
    /// Size in bytes of the file.
    pub file_size: u64,
}

impl Placement {
    fn new(header: Vec<u8>, program_size: u64, base: u64, data_size: u64, file_size: u64) -> Placement {
        Placement { header, program_size, segment_base_offset: base, segment_data_size: data_size, file_size }
    }
}

/// Returns the placement of a `.pte` with a FlatBuffer of `flatbuffer` bytes. `None` if an offset exceeds `u64`.
pub fn program(flatbuffer: u64, segments: &[Segment], options: &LayoutConfig) -> Option<Placement> {
    let data_size = segments::total(segments);
    let length = match options.header {
        HeaderMode::Auto if data_size > 0 => options.exporter.header,
        HeaderMode::Auto | HeaderMode::None => 0,
        HeaderMode::Length(length) => length,
    };
    if length == 0 {
        return Some(bare(flatbuffer));
    }
    // W-4: the header is padded to keep the alignments inside the FlatBuffer.
    let computed = align_up(u64::from(length), options.tensor_alignment.max(options.delegate_alignment).max(16))?;
    let padded = options.header_size.map_or(computed, |size| size.max(u64::from(length)));
    let program_size = flatbuffer.checked_add(padded)?;
    let base = align_up(program_size, base_alignment(segments, options.segment_alignment, options)?)?;
    let header = PROGRAM_HEADER.to_bytes(length, padded as usize, &[program_size, base, data_size]);
    Some(Placement::new(header, program_size, base, data_size, base.checked_add(data_size)?))
}

/// Returns the placement of a `.ptd` with a FlatBuffer of `flatbuffer` bytes. `None` if an offset exceeds `u64`.
pub fn flat_tensor(flatbuffer: u64, segments: &[Segment], options: &LayoutConfig) -> Option<Placement> {
    let data_size = segments::total(segments);
    let program_size = flatbuffer.checked_add(FLAT_TENSOR_HEADER_PADDED)?;
    let base = align_up(program_size, base_alignment(segments, options.alignment_in_data_files(), options)?)?;
    let fields = [FLAT_TENSOR_HEADER_PADDED, flatbuffer, base, data_size];
    let header = FLAT_TENSOR_HEADER.to_bytes(FLAT_TENSOR_HEADER.length, FLAT_TENSOR_HEADER_PADDED as usize, &fields);
    Some(Placement::new(header, program_size, base, data_size, base.checked_add(data_size)?))
}

/// Returns the placement of a FlatBuffer that is the whole file, as in a `.bpte`.
pub fn bare(flatbuffer: u64) -> Placement {
    Placement::new(Vec::new(), flatbuffer, 0, 0, flatbuffer)
}

/// Returns the alignment of the first segment of a file whose segments have the alignment `alignment`.
fn base_alignment(segments: &[Segment], alignment: u64, options: &LayoutConfig) -> Option<u64> {
    match options.base_alignment {
        Some(alignment) => Some(alignment),
        None => segments.iter().try_fold(alignment, |all, segment| lcm(all, segment.alignment)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pte_model::data::BlobId;

    #[test]
    fn every_segment_is_aligned_in_the_file_unless_base_alignment_is_given() {
        let mut segments = vec![Segment::of(BlobId(0), 10, 1), Segment::of(BlobId(0), 10, 4096)];
        segments::place(&mut segments, 128).unwrap();
        let mut options = LayoutConfig::default();
        let placement = program(1072 - 32, &segments, &options).unwrap();
        assert_eq!(placement.program_size, 1072);
        assert_eq!((placement.segment_base_offset + segments[1].offset) % 4096, 0);
        options.base_alignment = Some(options.segment_alignment);
        assert_eq!(program(1072 - 32, &segments, &options).unwrap().segment_base_offset, 1152);
    }

    #[test]
    fn the_header_is_padded_to_the_largest_forced_alignment() {
        let segments = vec![Segment::of(BlobId(0), 10, 1)];
        let padded = |tensor_alignment, delegate_alignment, header| {
            let options = LayoutConfig { tensor_alignment, delegate_alignment, header, ..LayoutConfig::default() };
            program(100, &segments, &options).unwrap().header.len()
        };
        assert_eq!(padded(16, 16, HeaderMode::Auto), 32);
        assert_eq!(padded(64, 32, HeaderMode::Auto), 64);
        assert_eq!(padded(16, 256, HeaderMode::Auto), 256);
        assert_eq!(padded(16, 16, HeaderMode::Length(24)), 32);
        assert_eq!(padded(16, 16, HeaderMode::None), 0);
    }
}
