//! Segments and the data in them (rules W-6, W-7, W-9, W-10). Offsets are relative to the first segment, whose offset
//! [`super::file`] computes.

use super::{align_up, lcm};
use pte_model::data::BlobId;

/// Contiguous range of the file after the FlatBuffer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Segment {
    /// Offset from the first segment.
    pub offset: u64,
    /// Size in bytes, without the padding after it.
    pub size: u64,
    /// Data in ascending order of their offsets. Gaps are padded with zeros.
    pub pieces: Vec<Piece>,
    /// Alignment in bytes that the data require in addition to that of all segments; 1 for none.
    pub alignment: u64,
}

/// Data in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piece {
    /// Offset from the start of the segment.
    pub offset: u64,
    /// Data that are stored at the offset.
    pub blob: BlobId,
}

impl Segment {
    /// Creates a segment of one blob.
    pub(crate) fn of(blob: BlobId, size: u64, alignment: u64) -> Segment {
        Segment { offset: 0, size, pieces: vec![Piece { offset: 0, blob }], alignment }
    }

    /// Appends data at a multiple of `alignment` and returns the offset; `None` if it exceeds `u64`.
    pub(crate) fn push(&mut self, blob: BlobId, size: u64, alignment: u64) -> Option<u64> {
        let offset = align_up(self.size, alignment)?;
        self.size = offset.checked_add(size)?;
        self.pieces.push(Piece { offset, blob });
        Some(offset)
    }
}

/// Assigns the offsets of segments. `None` if an offset exceeds `u64`.
pub fn place(segments: &mut [Segment], segment_alignment: u64) -> Option<()> {
    let mut end = 0u64;
    for segment in segments {
        segment.offset = align_up(end, lcm(segment_alignment, segment.alignment)?)?;
        end = segment.offset.checked_add(segment.size)?;
    }
    Some(())
}

/// Returns the size in bytes from the start of the first segment to the end of the last.
pub fn total(segments: &[Segment]) -> u64 {
    segments.last().map_or(0, |last| last.offset + last.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alignment_is_the_least_common_multiple() {
        let blob = BlobId(0);
        let mut segments = vec![Segment::of(blob, 10, 1), Segment::of(blob, 0, 1), Segment::of(blob, 5, 3)];
        place(&mut segments, 128).unwrap();
        let offsets: Vec<_> = segments.iter().map(|s| (s.offset, s.size)).collect();
        assert_eq!(offsets, [(0, 10), (128, 0), (384, 5)]);
        assert_eq!(total(&segments), 389);
    }

    #[test]
    fn data_beyond_64_bits_are_rejected() {
        let mut segment = Segment::default();
        assert_eq!(segment.push(BlobId(0), u64::MAX - 7, 16), Some(0));
        assert_eq!(segment.push(BlobId(0), 1, 16), None);
    }

    #[test]
    fn pieces_start_at_multiples_of_their_alignment_and_the_last_is_not_padded() {
        // W-9
        let mut segment = Segment::default();
        let offsets = [(3, 16), (0, 16), (5, 1)].map(|(size, alignment)| segment.push(BlobId(0), size, alignment));
        assert_eq!((offsets, segment.size), ([Some(0), Some(16), Some(16)], 21));
    }

    #[test]
    fn a_segment_alignment_need_not_be_a_power_of_two() {
        // W-6: multiples of 48, and of lcm(48, 64) = 192.
        let mut segments =
            [(10, 1), (10, 64), (10, 1)].map(|(size, alignment)| Segment::of(BlobId(0), size, alignment));
        place(&mut segments, 48).unwrap();
        assert_eq!(segments.map(|segment| segment.offset), [0, 192, 240]);
    }

    #[test]
    fn a_segment_without_bytes_may_have_the_offset_of_the_next() {
        // W-7
        let mut segments = [(0, 1), (7, 1)].map(|(size, alignment)| Segment::of(BlobId(0), size, alignment));
        place(&mut segments, 128).unwrap();
        assert_eq!(segments.map(|segment| segment.offset), [0, 0]);
    }

    #[test]
    fn offsets_beyond_64_bits_are_not_computed() {
        let mut segments =
            [(u64::MAX - 64, 1), (1, 1)].map(|(size, alignment)| Segment::of(BlobId(0), size, alignment));
        assert_eq!(place(&mut segments, 128), None);
        assert_eq!(place(&mut [Segment::of(BlobId(0), 1, u64::MAX)], 2), None);
    }

    #[test]
    fn no_segments_take_no_bytes() {
        assert_eq!(total(&[]), 0);
    }
}
