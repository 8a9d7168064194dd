//! Checks the segments of a `.pte` or `.ptd`, and the lists of constants and initial states in them (`S-`, `P-C`).

use super::super::header::CheckedHeader;
use super::super::path::{Node, Reporter, Slot, add, slot};
use crate::RuleId::*;
use pte_model::diagnostics::Counted;
use pte_model::format::flatbuffer::view::{Table, Tables, Vector};
use pte_model::format::program::{data_segment, program, subsegment_offsets};

/// Location of the constants.
#[derive(Clone, Copy)]
pub enum ConstantStorage<'a> {
    /// No constants.
    None,
    /// Malformed, which was reported.
    Unknown,
    /// In a segment.
    Segment {
        /// Offset of each constant in the segment; the first is reserved.
        offsets: Vector<'a, 8>,
        /// Size of the segment in bytes.
        segment_size: u64,
    },
    /// Inside the FlatBuffer.
    Buffers(Tables<'a>),
}

/// The lists of data that tensors and delegates of a program refer to.
#[derive(Clone, Copy)]
pub struct ProgramData<'a> {
    /// Offset of the first segment; 0 if there are no segments.
    pub segment_base: u64,
    /// Field `segments`.
    pub segments: Option<Tables<'a>>,
    /// Location of the constants.
    pub constants: ConstantStorage<'a>,
    /// First entry of `mutable_data_segments`. The runtime ignores the others.
    pub mutable: Option<Table<'a>>,
    /// Field `backend_delegate_data`: inline payloads.
    pub inline: Option<Tables<'a>>,
}

/// Checks that segments are inside the segment data, ascending and disjoint.
pub fn check(root: Node<'_, '_>, slot: Slot, header: &CheckedHeader, report: &mut Reporter<'_, '_>) {
    let mut end = 0u64;
    root.each(slot, |_, segment| {
        let (offset, size) = (segment.u64(data_segment::offset), segment.u64(data_segment::size));
        let (path, at) = (segment.path, segment.near(data_segment::offset));
        let segment_end = offset.checked_add(size);
        let found = format_args!("{} at offset {offset}", Counted(size, "byte"));
        if header.segment_base == 0 && size > 0 {
            report.add(G_2, path, at, found, "0 bytes without a segment base offset in the header");
        } else if segment_end.and_then(|end| header.segment_base.checked_add(end)).is_none() {
            report.add(S_4, path, at, found, "an end below 2^64");
        } else if segment_end.is_some_and(|end| end > header.segment_bytes) {
            let expected = format_args!("an end of at most {}, the size of the segment data", header.segment_bytes);
            report.add(S_5, path, at, found, expected);
        } else if size > 0 {
            if offset < end {
                add!(report, S_6, path, at, "{found}", "an offset of at least {end}, the end of the previous segment");
            }
            end = end.max(offset.saturating_add(size));
        }
        if offset.max(size) > u64::from(u32::MAX) {
            report.add(G_5, path, at, found, format_args!("at most {}", u32::MAX));
        }
    });
}

impl<'a> ProgramData<'a> {
    /// Locates the data of a program.
    pub fn new(root: Node<'a, '_>, header: &CheckedHeader, report: &mut Reporter<'_, '_>) -> ProgramData<'a> {
        let segments = root.tables(program::segments);
        let mut data = ProgramData {
            segment_base: header.segment_base,
            segments,
            constants: ConstantStorage::None,
            mutable: root.tables(program::mutable_data_segments).and_then(|list| list.get(0)),
            inline: root.tables(program::backend_delegate_data),
        };
        data.constants = data.constants(root, report);
        let count = root.tables(program::mutable_data_segments).map_or(0, |list| list.len());
        if count > 1 {
            report.field(S_18, root, slot!(program::mutable_data_segments), Counted(count, "entry"), "one");
        }
        data
    }

    fn constants(&self, root: Node<'a, '_>, report: &mut Reporter<'_, '_>) -> ConstantStorage<'a> {
        let slot = slot!(program::constant_segment);
        let (path, at, inline) = (root.path.field(slot.1), root.near(slot.0), root.path.field("constant_buffer"));
        let buffers = root.tables(program::constant_buffer).filter(|buffers| buffers.len() > 0);
        let entry = root.child(slot.0);
        let offsets = entry.and_then(|entry| Some((entry, entry.u64s(subsegment_offsets::offsets)?)));
        let Some((entry, offsets)) = offsets.filter(|(_, offsets)| offsets.len() > 0) else {
            report.field(P_C1, root, slot, "no offsets", "at least one, the reserved one");
            return buffers.map_or(ConstantStorage::None, ConstantStorage::Buffers);
        };
        let count = buffers.map_or(0, |buffers| buffers.len() as u64);
        if offsets.len() == 1 {
            let Some(buffers) = buffers else { return ConstantStorage::None };
            let found = format_args!("{} beside a constant_segment", Counted(count, "inline constant"));
            report.add(P_K5, &inline, at, found, "none");
            return ConstantStorage::Buffers(buffers);
        }
        if count > 0 {
            let found = format_args!("{} beside constants in a segment", Counted(count, "inline constant"));
            report.add(P_C3, &inline, at, found, "none");
        }
        let Some(segments) = self.segments else {
            report.field(P_C4, root, slot, "constants without segments", "a list of segments");
            return ConstantStorage::Unknown;
        };
        let (entry, index) = (Node::new(entry, &path), slot!(subsegment_offsets::segment_index));
        let index = report.index(P_C5, entry, index, Table::u32, ("segment", segments.len()));
        let Some(segment) = index.and_then(|index| segments.get(index)) else { return ConstantStorage::Unknown };
        let size = segment.u64(data_segment::size);
        if self.segment_base == 0 && size > 0 {
            let found = "constants without a segment base offset";
            report.field(P_C6, root, slot, found, "a header with a segment base offset");
        }
        let path = path.field("offsets");
        let mut last = 0;
        for (index, offset) in offsets.iter().enumerate().skip(1) {
            if offset < last {
                let expected = format_args!("at least {last}, the previous offset");
                report.add(P_K6, &path.item(index), offsets.offset(index), format_args!("offset {offset}"), expected);
            }
            last = last.max(offset);
        }
        ConstantStorage::Segment { offsets, segment_size: size }
    }

    /// Checks the index of a segment that is used.
    pub fn check_segment(&self, t: Node<'_, '_>, slot: Slot, report: &mut Reporter<'_, '_>) {
        let index = t.u32(slot.0);
        let Some(segments) = self.segments else {
            let found = format_args!("segment {index} without segments");
            return report.field(S_2, t, slot, found, "a list of segments");
        };
        let is_valid = report.index(S_3, t, slot, Table::u32, ("segment", segments.len())).is_some();
        if is_valid && self.segment_base == 0 {
            let found = format_args!("segment {index} without a segment base offset");
            report.field(S_1, t, slot, found, "a header with a segment base offset");
        }
    }
}
