//! The segments of a `.pte` or `.ptd`, and the constants and initial states that are pieces of them (`S-`, `P-C`).

use super::super::header::Frame;
use super::super::path::Reporter;
use crate::format::flatbuffer::verify::Report;
use crate::format::path::Trail;
use crate::format::program::{data_segment, program, subsegment_offsets};
use crate::format::flatbuffer::view::{Table, Tables, Vector};

/// Where the constants are.
#[derive(Debug, Clone, Copy)]
pub enum Constants<'a> {
    /// There are none.
    None,
    /// It cannot be said; that was reported.
    Unknown,
    /// In a segment of this size.
    Segment {
        /// Where each begins.
        offsets: Vector<'a, 8>,
        /// Bytes of the segment.
        size: u64,
    },
    /// Inside the FlatBuffer.
    Buffers(Tables<'a>),
}

/// Where a program's data are, by the lists that tensors and delegates refer to.
#[derive(Debug, Clone, Copy)]
pub struct Data<'a> {
    /// Where the first segment begins; 0 if there are none.
    pub base: u64,
    /// The segments.
    pub segments: Option<Tables<'a>>,
    /// The constants.
    pub constants: Constants<'a>,
    /// The list of initial states: its first entry is the one that is used.
    pub mutable: Option<Table<'a>>,
    /// The delegates' payloads inside the FlatBuffer.
    pub inline: Option<Tables<'a>>,
}

/// The segments themselves: inside the data, in order, apart from each other.
pub fn check(segments: Tables<'_>, frame: &Frame, path: &Trail<'_>, report: &mut Reporter<'_, '_>) {
    let mut end = 0u64;
    for (index, segment) in segments.iter().enumerate() {
        let path = path.item(index);
        let (offset, size) = (segment.u64(data_segment::offset), segment.u64(data_segment::size));
        let at = segment.near(data_segment::offset);
        let stop = offset.checked_add(size);
        let found = format_args!("{size} bytes from {offset}");
        if frame.base == 0 && size > 0 {
            report.add("G-2", &path, at, found, format_args!("no bytes: the header gives the segments no place"));
        } else if stop.and_then(|stop| frame.base.checked_add(stop)).is_none() {
            report.add("S-4", &path, at, found, format_args!("a place below 2^64"));
        } else if stop.is_some_and(|stop| stop > frame.room) {
            report.add("S-5", &path, at, found, format_args!("a place in {} bytes of data", frame.room));
        } else if size > 0 {
            if offset < end {
                report.add("S-6", &path, at, found, format_args!("{end} at least, where the one before it ends"));
            }
            end = end.max(offset.saturating_add(size));
        }
        if offset.max(size) > u64::from(u32::MAX) {
            report.add("G-5", &path, at, found, format_args!("no more than {}", u32::MAX));
        }
    }
}

impl<'a> Data<'a> {
    /// Finds out where a program's data are.
    pub fn of(root: Table<'a>, frame: &Frame, report: &mut Reporter<'_, '_>) -> Data<'a> {
        let segments = root.tables(program::segments);
        let mut data = Data {
            base: frame.base,
            segments,
            constants: Constants::None,
            mutable: root.tables(program::mutable_data_segments).and_then(|list| list.get(0)),
            inline: root.tables(program::backend_delegate_data),
        };
        data.constants = data.constants(root, report);
        let count = root.tables(program::mutable_data_segments).map_or(0, |list| list.len());
        if count > 1 {
            let path = Trail::ROOT.field("mutable_data_segments");
            let at = root.near(program::mutable_data_segments);
            report.add("S-18", &path, at, format_args!("{count} entries"), format_args!("one"));
        }
        data
    }

    fn constants(&self, root: Table<'a>, report: &mut Reporter<'_, '_>) -> Constants<'a> {
        let path = Trail::ROOT.field("constant_segment");
        let at = root.near(program::constant_segment);
        let buffers = root.tables(program::constant_buffer).filter(|buffers| buffers.len() > 0);
        let entry = root.child(program::constant_segment);
        let offsets = entry.and_then(|entry| Some((entry, entry.u64s(subsegment_offsets::offsets)?)));
        let Some((entry, offsets)) = offsets.filter(|(_, offsets)| offsets.len() > 0) else {
            report.add("P-C1", &path, at, format_args!("no offsets"), format_args!("one at least, the reserved first"));
            return buffers.map_or(Constants::None, Constants::Buffers);
        };
        if offsets.len() == 1 {
            let Some(buffers) = buffers else { return Constants::None };
            let found = format_args!("{} constants inside the FlatBuffer beside a constant_segment", buffers.len());
            report.add("P-K5", &Trail::ROOT.field("constant_buffer"), at, found, format_args!("none"));
            return Constants::Buffers(buffers);
        }
        if let Some(buffers) = buffers {
            let found = format_args!("{} constants inside the FlatBuffer beside those of a segment", buffers.len());
            report.add("P-C3", &Trail::ROOT.field("constant_buffer"), at, found, format_args!("none"));
        }
        let Some(segments) = self.segments else {
            report.add(
                "P-C4",
                &path,
                at,
                format_args!("constants without segments"),
                format_args!("a list of segments"),
            );
            return Constants::Unknown;
        };
        let index = entry.u32(subsegment_offsets::segment_index);
        let Some(segment) = segments.get(index as usize) else {
            let expected = format_args!("one of {} segments", segments.len());
            let at = entry.near(subsegment_offsets::segment_index);
            report.add("P-C5", &path.field("segment_index"), at, format_args!("segment {index}"), expected);
            return Constants::Unknown;
        };
        let size = segment.u64(data_segment::size);
        if self.base == 0 && size > 0 {
            report.add(
                "P-C6",
                &path,
                at,
                format_args!("constants without a place"),
                format_args!("a header that says where segments begin"),
            );
        }
        let path = path.field("offsets");
        let mut last = 0;
        for (index, offset) in offsets.iter().enumerate().skip(1) {
            if offset < last {
                let expected = format_args!("{last} at least, as the one before it");
                report.add("P-K6", &path.item(index), offsets.place(index), format_args!("{offset}"), expected);
            }
            last = last.max(offset);
        }
        Constants::Segment { offsets, size }
    }

    /// A segment that something uses: its size, if it is there.
    pub fn segment(&self, index: u32, path: &Trail<'_>, at: usize, report: &mut Reporter<'_, '_>) -> Option<u64> {
        let Some(segments) = self.segments else {
            report.add(
                "S-2",
                path,
                at,
                format_args!("segment {index}, and no segments"),
                format_args!("a list of segments"),
            );
            return None;
        };
        let Some(segment) = segments.get(index as usize) else {
            let expected = format_args!("one of {} segments", segments.len());
            report.add("S-3", path, at, format_args!("segment {index}"), expected);
            return None;
        };
        if self.base == 0 {
            let found = format_args!("segment {index}, and no place where segments begin");
            report.add("S-1", path, at, found, format_args!("a header that says it"));
            return None;
        }
        Some(segment.u64(data_segment::size))
    }
}
