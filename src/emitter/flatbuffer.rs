//! FlatBuffer writer with the write orders of both serializers of ExecuTorch (docs/format.md, "FlatBuffer write order"), on top of the
//! `flatbuffers` crate.
//!
//! Callers write children before parents, in ascending slot order. The tables are written in `super::program` and `super::flat_tensor`.

use std::collections::HashMap;
use std::io;

use flatbuffers::{FlatBufferBuilder, Push, PushAlignment, UnionWIPOffset, WIPOffset};

use super::encoding::{FieldEncoding, FieldEncodings};
use crate::data::Blob;
use crate::format::container::MAX_FLATBUFFER;
use crate::format::flatbuffer::{Scalar, SlotContent};
use crate::format::serializer::{EmptyVector, Serializer, SlotOrder, VtableSharing};
use crate::format::{Kind, TableSchema};
use crate::layout::Strings;
use crate::layout::options::MAX_FORCED_ALIGNMENT;

/// Offset of a written table, string or vector.
pub type Offset = WIPOffset<UnionWIPOffset>;

/// Value of a field.
#[derive(Clone, Copy)]
pub enum FieldValue {
    /// One byte: bool, `i8`, `u8`.
    Byte(u8),
    /// `i16`; no field of our schemas has one.
    Short(i16),
    /// `i32`.
    Int(i32),
    /// `u32`.
    UInt(u32),
    /// `i64`.
    Long(i64),
    /// `u64`.
    ULong(u64),
    /// `f64`.
    Double(f64),
    /// A child; `None` leaves the field out.
    Child(Option<Offset>),
}

impl FieldValue {
    /// Returns true for a scalar equal to its default, which is zero in all schemas; -0.0 equals 0.0.
    fn is_left_out(self) -> bool {
        match self {
            FieldValue::Byte(b) => b == 0,
            FieldValue::Short(n) => n == 0,
            FieldValue::Int(n) => n == 0,
            FieldValue::UInt(n) => n == 0,
            FieldValue::Long(n) => n == 0,
            FieldValue::ULong(n) => n == 0,
            FieldValue::Double(x) => x == 0.0,
            FieldValue::Child(child) => child.is_none(),
        }
    }

    fn size_class(self) -> u8 {
        match self {
            FieldValue::Byte(_) => 1,
            FieldValue::Short(_) => 2,
            FieldValue::Int(_) | FieldValue::UInt(_) | FieldValue::Child(_) => 4,
            FieldValue::Long(_) | FieldValue::ULong(_) | FieldValue::Double(_) => 8,
        }
    }
}

/// Writer of one FlatBuffer.
pub struct Writer<'f> {
    builder: FlatBufferBuilder<'static>,
    serializer: Serializer,
    strings: Strings,
    /// Non-default encodings. If present, the offset of each table is recorded.
    encodings: Option<&'f FieldEncodings>,
    tables: Vec<u32>,
    /// Offsets of the vtables from the end, by the offsets of their fields; used if tables of different sizes share a vtable.
    vtables: HashMap<Vec<u16>, u32>,
    /// The size limit was exceeded, and content was left out.
    too_large: bool,
}

/// A finished FlatBuffer, in `bytes` from `start` on: the builder fills its buffer from the end.
#[derive(Debug)]
pub struct FlatBuffer {
    bytes: Vec<u8>,
    start: usize,
    /// Offsets of the tables from the end, in the order of writing; empty without encodings.
    pub tables: Vec<u32>,
}

impl std::ops::Deref for FlatBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

impl<'f> Writer<'f> {
    /// Creates a writer. With `encodings`, even empty ones, the offsets of the tables are recorded in [`FlatBuffer::tables`].
    pub fn new(serializer: Serializer, strings: Strings, encodings: Option<&'f FieldEncodings>) -> Writer<'f> {
        let builder = FlatBufferBuilder::with_capacity(1 << 16);
        Writer {
            builder,
            serializer,
            strings,
            encodings,
            tables: Vec::new(),
            vtables: HashMap::new(),
            too_large: false,
        }
    }

    /// Returns true if `bytes` more bytes fit, with alignment and length; if not, nothing more is written.
    fn fits(&mut self, bytes: usize) -> bool {
        let used = self.builder.unfinished_data().len() as u64;
        self.too_large |= used.saturating_add(bytes as u64) > MAX_FLATBUFFER - ROOM;
        !self.too_large
    }

    /// Placeholder for content that was left out.
    fn left_out() -> FieldValue {
        FieldValue::Child(Some(WIPOffset::new(0)))
    }

    /// Writes a table of `slots`, each with its number, ascending.
    pub fn table(&mut self, table: &'static TableSchema, slots: &[(u16, FieldValue)]) -> Offset {
        debug_assert!(slots.windows(2).all(|w| w[0].0 < w[1].0), "{}: slots ascend", table.name);
        debug_assert!(
            slots.iter().all(|(slot, _)| usize::from(*slot) < table.fields.len()),
            "{}: slots exist",
            table.name
        );
        let Some(encodings) = self.encodings else { return self.write(slots, |(_, content)| !content.is_left_out()) };
        let encodings = encodings.table(self.tables.len() as u32);
        let mut slots = slots.to_vec();
        for (slot, encoding) in encodings {
            self.encode(&mut slots, table, *slot, *encoding);
        }
        let is_stated = |slot: u16| encodings.iter().any(|(other, _)| *other == slot);
        let table = self.write(&slots, |(slot, content)| is_stated(*slot) || !content.is_left_out());
        self.tables.push(table.value());
        table
    }

    /// Changes a slot to another encoding.
    fn encode(
        &mut self,
        slots: &mut Vec<(u16, FieldValue)>,
        table: &'static TableSchema,
        slot: u16,
        encoding: FieldEncoding,
    ) {
        let kind = table.fields[usize::from(slot)].kind;
        let content = match encoding {
            FieldEncoding::Absent => return slots.retain(|(other, _)| *other != slot),
            FieldEncoding::Null => FieldValue::UInt(0),
            FieldEncoding::Empty if matches!(kind, Kind::Text) => self.string(""),
            FieldEncoding::Empty => self.vector::<u32>(Some(&[])),
            FieldEncoding::Present => match SlotContent::of(kind) {
                SlotContent::Scalar(Scalar::Bool | Scalar::U8 | Scalar::I8) => FieldValue::Byte(0),
                SlotContent::Scalar(Scalar::U16 | Scalar::I16) => FieldValue::Short(0),
                SlotContent::Scalar(Scalar::U32 | Scalar::I32) => FieldValue::UInt(0),
                SlotContent::Scalar(Scalar::U64 | Scalar::I64) => FieldValue::ULong(0),
                SlotContent::Scalar(Scalar::F64) => FieldValue::Double(0.0),
                // An offset is present as absent, empty or null.
                SlotContent::Object(_) | SlotContent::Union(_) => return,
            },
        };
        match slots.binary_search_by_key(&slot, |(slot, _)| *slot) {
            // A field that is present keeps its width, and its value until it is patched.
            Ok(_) if encoding == FieldEncoding::Present => {}
            Ok(position) => slots[position].1 = content,
            Err(position) => slots.insert(position, (slot, content)),
        }
    }

    fn write(&mut self, slots: &[(u16, FieldValue)], is_written: impl Fn(&(u16, FieldValue)) -> bool) -> Offset {
        if !self.fits(0) {
            return WIPOffset::new(0);
        }
        let facts = self.serializer.facts();
        if facts.vtables == VtableSharing::SameFields {
            return self.write_sharing(slots.iter().filter(|slot| is_written(slot)));
        }
        let start = self.builder.start_table();
        match facts.slots {
            SlotOrder::Ascending => {
                slots.iter().filter(|slot| is_written(slot)).for_each(|(slot, content)| self.slot(*slot, *content));
            }
            SlotOrder::BySize => {
                for class in [8, 4, 2, 1] {
                    let of_class = slots.iter().rev().filter(|(_, content)| content.size_class() == class);
                    of_class.filter(|slot| is_written(slot)).for_each(|(slot, content)| self.slot(*slot, *content));
                }
            }
        }
        WIPOffset::new(self.builder.end_table(start).value())
    }

    /// Writes a table that takes any vtable with the same offsets of fields, in ascending slot order: the crate compares the sizes of
    /// the tables, too, so that table and vtable are pushed by hand.
    fn write_sharing<'s>(&mut self, slots: impl Iterator<Item = &'s (u16, FieldValue)>) -> Offset {
        let start = self.used();
        // Offset from the end, by slot; 0 if the field is absent.
        let mut ends: Vec<u32> = Vec::new();
        for (slot, value) in slots {
            ends.resize(usize::from(*slot), 0);
            ends.push(self.push(*value));
        }
        let table = (self.used() + 4).next_multiple_of(4);
        // The fields of all schemas take less than 64 KiB.
        let entries: Vec<u16> = ends.iter().map(|end| if *end == 0 { 0 } else { (table - end) as u16 }).collect();
        let size = 4 + 2 * entries.len() as u32;
        // A vtable is directly in front of the first table that has it.
        let vtable = self.vtables.get(&entries).copied();
        self.builder.push(vtable.unwrap_or(table + size).wrapping_sub(table) as i32);
        if vtable.is_none() {
            entries.iter().rev().for_each(|entry| _ = self.builder.push(*entry));
            self.builder.push((table - start) as u16);
            self.builder.push(size as u16);
            self.vtables.insert(entries, table + size);
        }
        WIPOffset::new(table)
    }

    /// Number of bytes written; less than [`MAX_FLATBUFFER`].
    fn used(&self) -> u32 {
        self.builder.unfinished_data().len() as u32
    }

    /// Writes the value of a field and returns its offset from the end.
    fn push(&mut self, value: FieldValue) -> u32 {
        match value {
            FieldValue::Byte(b) => self.builder.push(b).value(),
            FieldValue::Short(n) => self.builder.push(n).value(),
            FieldValue::Int(n) => self.builder.push(n).value(),
            FieldValue::UInt(n) => self.builder.push(n).value(),
            FieldValue::Long(n) => self.builder.push(n).value(),
            FieldValue::ULong(n) => self.builder.push(n).value(),
            FieldValue::Double(x) => self.builder.push(x).value(),
            FieldValue::Child(child) => self.builder.push(child.expect("absent children are left out")).value(),
        }
    }

    fn slot(&mut self, slot: u16, content: FieldValue) {
        let at = 4 + 2 * slot;
        match content {
            FieldValue::Byte(b) => self.builder.push_slot_always(at, b),
            FieldValue::Short(n) => self.builder.push_slot_always(at, n),
            FieldValue::Int(n) => self.builder.push_slot_always(at, n),
            FieldValue::UInt(n) => self.builder.push_slot_always(at, n),
            FieldValue::Long(n) => self.builder.push_slot_always(at, n),
            FieldValue::ULong(n) => self.builder.push_slot_always(at, n),
            FieldValue::Double(x) => self.builder.push_slot_always(at, x),
            FieldValue::Child(child) => self.builder.push_slot_always(at, child.expect("absent children are left out")),
        }
    }

    /// Writes a string.
    pub fn string(&mut self, text: &str) -> FieldValue {
        if !self.fits(text.len()) {
            return Writer::left_out();
        }
        let offset = match self.strings {
            Strings::Separate => self.builder.create_string(text),
            Strings::Shared => self.builder.create_shared_string(text),
        };
        FieldValue::Child(Some(WIPOffset::new(offset.value())))
    }

    /// Writes an optional string.
    pub fn text(&mut self, text: Option<&str>) -> FieldValue {
        text.map_or(FieldValue::Child(None), |text| self.string(text))
    }

    /// Writes an optional vector of scalars.
    pub fn vector<T: Push<Output: 'static> + Copy>(&mut self, items: Option<&[T]>) -> FieldValue {
        let Some(items) = items else { return FieldValue::Child(None) };
        if !self.fits(size_of_val(items)) {
            return Writer::left_out();
        }
        if items.is_empty() && self.serializer.facts().empty_vector == EmptyVector::LengthOnly {
            return self.bare_length();
        }
        FieldValue::Child(Some(WIPOffset::new(self.builder.create_vector(items).value())))
    }

    /// Writes an optional vector of written tables.
    pub fn tables(&mut self, items: Option<&[Offset]>) -> FieldValue {
        self.vector(items)
    }

    /// Writes a vector of bytes that starts at a multiple of `alignment`, a power of two up to
    /// [`crate::layout::MAX_FORCED_ALIGNMENT`].
    pub fn aligned_bytes(&mut self, bytes: &[u8], alignment: u64) -> FieldValue {
        if !self.fits(bytes.len()) {
            return Writer::left_out();
        }
        if bytes.is_empty() && self.serializer.facts().empty_vector == EmptyVector::LengthOnly {
            return self.bare_length();
        }
        let offset = match alignment {
            0..=1 => self.bytes_at::<1>(bytes),
            2 => self.bytes_at::<2>(bytes),
            3..=4 => self.bytes_at::<4>(bytes),
            5..=8 => self.bytes_at::<8>(bytes),
            9..=16 => self.bytes_at::<16>(bytes),
            17..=32 => self.bytes_at::<32>(bytes),
            33..=64 => self.bytes_at::<64>(bytes),
            65..=128 => self.bytes_at::<128>(bytes),
            129..=256 => self.bytes_at::<256>(bytes),
            257..=512 => self.bytes_at::<512>(bytes),
            513..=1024 => self.bytes_at::<1024>(bytes),
            1025..=2048 => self.bytes_at::<2048>(bytes),
            2049..=4096 => self.bytes_at::<4096>(bytes),
            4097..=8192 => self.bytes_at::<8192>(bytes),
            8193..=16384 => self.bytes_at::<16384>(bytes),
            16385..=32768 => self.bytes_at::<32768>(bytes),
            _ => self.bytes_at::<65536>(bytes),
        };
        FieldValue::Child(Some(offset))
    }

    /// Writes the bytes of a blob, which are read only if they fit.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn aligned_blob(&mut self, blob: &Blob, alignment: u64) -> io::Result<FieldValue> {
        match self.fits(usize::try_from(blob.len).unwrap_or(usize::MAX)) {
            true => Ok(self.aligned_bytes(&blob.to_vec()?, alignment)),
            false => Ok(Writer::left_out()),
        }
    }

    fn bytes_at<const ALIGNMENT: usize>(&mut self, bytes: &[u8]) -> Offset {
        // The crate derives the alignment of a vector from the item type. The bytes are pushed by blocks, the last one first: one by
        // one takes twenty times as long.
        self.builder.start_vector::<Aligned<ALIGNMENT>>(bytes.len());
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        rest.iter().rev().for_each(|byte| _ = self.builder.push(*byte));
        blocks.iter().rev().for_each(|block| _ = self.builder.push(ByteBlock(block)));
        WIPOffset::new(self.builder.end_vector::<Aligned<ALIGNMENT>>(bytes.len()).value())
    }

    /// Writes an empty vector as flatc does: the length only, without the alignment of items.
    fn bare_length(&mut self) -> FieldValue {
        FieldValue::Child(Some(WIPOffset::new(self.builder.push(0u32).value())))
    }

    /// Ends the buffer with its root table and the file identifier. `what` is its name in messages.
    ///
    /// # Errors
    /// A FlatBuffer larger than 2 GiB.
    pub fn finish(mut self, root: Offset, identifier: &str, what: &str) -> io::Result<FlatBuffer> {
        if self.too_large {
            let message = format!(
                "{what} exceeds the {MAX_FLATBUFFER} bytes of a FlatBuffer; store constants and payloads in segments"
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        self.builder.finish(root, Some(identifier));
        let (bytes, start) = self.builder.collapse();
        Ok(FlatBuffer { bytes, start, tables: self.tables })
    }
}

/// Upper bound of the bytes for alignment, vtable, length and root.
const ROOM: u64 = 4 * MAX_FORCED_ALIGNMENT;

/// Item type of one byte with an alignment. It is never pushed.
struct Aligned<const ALIGNMENT: usize>;

/// Block of bytes that is pushed at once.
struct ByteBlock<'a>(&'a [u8; BLOCK]);

const BLOCK: usize = 256;

// The crate declares `Push::push` unsafe because it may be called on any `dst`; ours only copy slices of checked length.
#[allow(unsafe_code)]
impl<const ALIGNMENT: usize> Push for Aligned<ALIGNMENT> {
    type Output = u8;
    unsafe fn push(&self, _: &mut [u8], _: usize) {}
    fn size() -> usize {
        1
    }
    fn alignment() -> PushAlignment {
        PushAlignment::new(ALIGNMENT)
    }
}

// As above.
#[allow(unsafe_code)]
impl Push for ByteBlock<'_> {
    type Output = [u8; BLOCK];
    unsafe fn push(&self, dst: &mut [u8], _: usize) {
        dst[..BLOCK].copy_from_slice(self.0);
    }
}

#[cfg(test)]
mod tests;
