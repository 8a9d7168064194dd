//! FlatBuffer writer with the write orders of both serializers of ExecuTorch
//! (docs/format.md, "FlatBuffer write order"), on top of the `flatbuffers` crate.
//!
//! Callers write children before parents, in ascending slot order. The tables are written by [`super::table`].

use std::collections::HashMap;
use std::io;

use flatbuffers::{FlatBufferBuilder, Push, WIPOffset};

use super::encoding::{FieldEncoding, FieldEncodings};
use super::newer::NewerWriter;
use crate::layout::Strings;
use crate::layout::options::MAX_FORCED_ALIGNMENT;
use pte_model::data::Blob;
use pte_model::format::container::MAX_FLATBUFFER;
use pte_model::format::flatbuffer::{Scalar, SlotContent, write};
use pte_model::format::serializer::{EmptyVector, Serializer, VtableSharing};
use pte_model::format::unknown::{self, UnknownObject};
use pte_model::format::{Kind, TableSchema};

pub use pte_model::format::flatbuffer::write::{FieldValue, Offset};

/// Writer of one FlatBuffer.
pub struct Writer<'f> {
    builder: FlatBufferBuilder<'static>,
    serializer: Serializer,
    strings: Strings,
    /// Non-default encodings. If present, the offset of each table is recorded.
    encodings: Option<&'f FieldEncodings>,
    tables: Vec<u32>,
    /// Offsets of the vtables from the end, by the size of their tables (also 0, for any) and the offsets of their
    /// fields; used if tables are not written by the crate.
    vtables: HashMap<Vec<u16>, u32>,
    /// Parts of a newer schema.
    newer: Option<NewerWriter<'f>>,
    /// The size limit was exceeded, and content was omitted.
    too_large: bool,
}

/// A finished FlatBuffer, which is in `bytes` from `start` on because the builder fills its buffer from the end.
#[derive(Debug)]
pub struct FlatBuffer {
    bytes: Vec<u8>,
    start: usize,
    /// Offsets of the tables from the end, in the order of writing; empty without encodings.
    pub tables: Vec<u32>,
    /// A part of a newer schema that can only be written at the offset that it has is at another one.
    pub has_moved: bool,
}

impl std::ops::Deref for FlatBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

impl<'f> Writer<'f> {
    /// Creates a writer. With `encodings`, even empty ones, the offsets of the tables are recorded in
    /// [`FlatBuffer::tables`].
    pub fn new(serializer: Serializer, strings: Strings, encodings: Option<&'f FieldEncodings>) -> Writer<'f> {
        let builder = FlatBufferBuilder::with_capacity(1 << 16);
        Writer {
            builder,
            serializer,
            strings,
            encodings,
            tables: Vec::new(),
            vtables: HashMap::new(),
            newer: None,
            too_large: false,
        }
    }

    /// Also writes parts of a newer schema, into the tables that `newer` names. Encodings must be present, because they
    /// number the tables.
    pub fn with_newer(self, newer: Option<NewerWriter<'f>>) -> Writer<'f> {
        Writer { newer, ..self }
    }

    /// Returns true if `bytes` more bytes fit, with alignment and length. Otherwise, nothing more is written.
    fn fits(&mut self, bytes: usize) -> bool {
        let used = self.builder.unfinished_data().len() as u64;
        self.too_large |= used.saturating_add(bytes as u64) > MAX_FLATBUFFER - ROOM;
        !self.too_large
    }

    /// Returns a placeholder for omitted content.
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
        let is_written = |(slot, content): &(u16, FieldValue)| is_stated(*slot) || !content.is_left_out();
        let number = self.tables.len() as u32;
        let table = match self.newer.as_ref().and_then(|newer| newer.table(number)) {
            Some(kept) => {
                slots.retain(is_written);
                self.write_kept(table, slots, kept)
            }
            None => self.write(&slots, is_written),
        };
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
            FieldEncoding::Empty => self.vector::<u32>(&[]),
            FieldEncoding::Present => match SlotContent::of(kind) {
                SlotContent::Scalar(Scalar::Bool | Scalar::U8 | Scalar::I8) => FieldValue::Byte(0),
                SlotContent::Scalar(Scalar::U16 | Scalar::I16) => FieldValue::Short(0),
                SlotContent::Scalar(Scalar::U32 | Scalar::I32 | Scalar::F32) => FieldValue::UInt(0),
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
        if facts.vtables == VtableSharing::SameFields || self.newer.is_some() {
            let mut slots: Vec<(u16, FieldValue)> = slots.iter().filter(|slot| is_written(slot)).copied().collect();
            write::sort(facts.slots, &mut slots);
            return self.write_table(&slots);
        }
        write::table(&mut self.builder, facts.slots, slots, is_written)
    }

    /// Writes a table without the crate, which compares the sizes of the tables that share a vtable, and does not know
    /// the vtables of kept tables. The slots are in the order of writing.
    fn write_table(&mut self, slots: &[(u16, FieldValue)]) -> Offset {
        let start = self.used();
        // Offset from the end, by slot; 0 if the field is absent.
        let mut ends: Vec<u32> = Vec::new();
        for (slot, value) in slots {
            ends.resize(ends.len().max(usize::from(*slot) + 1), 0);
            ends[usize::from(*slot)] = value.push(&mut self.builder);
        }
        let table = (self.used() + 4).next_multiple_of(4);
        // The fields of all schemas take less than 64 KiB.
        let entries = ends.iter().map(|end| if *end == 0 { 0 } else { (table - end) as u16 });
        let vtable: Vec<u16> = std::iter::once((table - start) as u16).chain(entries).collect();
        let place = self.vtable_of(&vtable, table, true);
        self.builder.push(place.wrapping_sub(table) as i32);
        self.write_vtable(vtable, place);
        WIPOffset::new(table)
    }

    /// Returns the offset from the end of the vtable of a table: of an equal one, or directly before the table. A table
    /// `of_schema` may share it with tables of another size, because its fields determine its size.
    fn vtable_of(&self, vtable: &[u16], table: u32, of_schema: bool) -> u32 {
        let any_size = of_schema && self.serializer.facts().vtables == VtableSharing::SameFields;
        let known = if any_size { self.vtables.get(&any_sized(vtable)) } else { self.vtables.get(vtable) };
        known.copied().unwrap_or(table + 2 + 2 * vtable.len() as u32)
    }

    /// Writes a vtable directly before its table, unless it is written.
    fn write_vtable(&mut self, vtable: Vec<u16>, place: u32) {
        if place <= self.used() {
            return;
        }
        vtable.iter().rev().for_each(|word| _ = self.builder.push(*word));
        self.builder.push(2 + 2 * vtable.len() as u16);
        self.vtables.entry(any_sized(&vtable)).or_insert(place);
        self.vtables.insert(vtable, place);
    }

    /// Writes a table with unknown fields: the fields of the schema in `slots` are at the offsets that they have in
    /// `kept`, or at the end.
    fn write_kept(&mut self, schema: &TableSchema, slots: Vec<(u16, FieldValue)>, kept: &'f UnknownObject) -> Offset {
        for id in self.newer.as_mut().map(|newer| newer.missing(kept)).unwrap_or_default() {
            self.write_unknown(id);
        }
        let mut object = kept.clone();
        let mut references = self.newer.as_ref().map(|newer| newer.offsets(kept)).unwrap_or_default();
        for (slot, entry) in object.vtable.iter_mut().skip(1).enumerate().take(schema.fields.len()) {
            let is_kept = kept.references.iter().any(|(position, _)| *position == u32::from(*entry));
            let is_written = slots.iter().any(|(other, _)| usize::from(*other) == slot);
            *entry = if is_kept || is_written { *entry } else { 0 };
        }
        for (slot, value) in slots {
            let width = usize::from(value.size());
            let index = usize::from(slot) + 1;
            object.vtable.resize(object.vtable.len().max(index + 1), 0);
            if object.vtable[index] == 0 {
                let padding = (object.end as usize).wrapping_sub(object.bytes.len()) % width;
                object.bytes.resize(object.bytes.len() + padding, 0);
                // At most `MAX_TABLE` bytes and the fields of the schema.
                object.vtable[index] = object.bytes.len() as u16;
            }
            let at = usize::from(object.vtable[index]);
            object.bytes.resize(object.bytes.len().max(at + width), 0);
            match value {
                FieldValue::Child(Some(child)) => references.push((at as u32, child.value())),
                value => object.bytes[at..at + width].copy_from_slice(&value.to_bytes()),
            }
        }
        object.vtable[0] = object.bytes.len() as u16;
        self.write_object(object, &references)
    }

    /// Writes an object that only unknown parts refer to.
    fn write_unknown(&mut self, id: u32) {
        let Some(newer) = &self.newer else { return };
        let object = newer.object(id);
        let references = newer.offsets(object);
        let offset = self.write_object(object.clone(), &references).value();
        self.newer.iter_mut().for_each(|newer| newer.set_offset(id, offset));
    }

    /// Writes the bytes of an object with its references: positions, and offsets of the targets from the end.
    fn write_object(&mut self, mut object: UnknownObject, references: &[(u32, u32)]) -> Offset {
        if !self.fits(object.bytes.len()) {
            return WIPOffset::new(0);
        }
        let unpadded = self.used() + object.bytes.len() as u32;
        // All objects begin at a multiple of four bytes.
        let padding = (object.end & !3).wrapping_sub(unpadded) % unknown::ALIGNMENT;
        let at = unpadded + padding;
        write::raw(&mut self.builder, &[0; unknown::ALIGNMENT as usize][..padding as usize]);
        let mut set = |position: u32, word: u32| {
            let bytes = object.bytes.get_mut(position as usize..).and_then(|bytes| bytes.first_chunk_mut());
            bytes.into_iter().for_each(|bytes: &mut [u8; 4]| *bytes = word.to_le_bytes());
        };
        references.iter().for_each(|(position, target)| set(*position, (at - position).wrapping_sub(*target)));
        let place = (!object.vtable.is_empty()).then(|| self.vtable_of(&object.vtable, at, false));
        place.into_iter().for_each(|place| set(0, place.wrapping_sub(at)));
        write::raw(&mut self.builder, &object.bytes);
        if let Some(place) = place {
            self.write_vtable(object.vtable, place);
        }
        self.newer.iter_mut().for_each(|newer| newer.has_moved |= at != object.end);
        WIPOffset::new(at)
    }

    /// Number of bytes written; less than [`MAX_FLATBUFFER`].
    fn used(&self) -> u32 {
        self.builder.unfinished_data().len() as u32
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

    /// Writes a vector of scalars or of written tables.
    pub fn vector<T: Push<Output: 'static> + Copy>(&mut self, items: &[T]) -> FieldValue {
        if !self.fits(size_of_val(items)) {
            return Writer::left_out();
        }
        let empty = self.serializer.facts().empty_vector;
        FieldValue::Child(Some(write::vector(&mut self.builder, empty, items)))
    }

    /// Writes a vector of bytes that starts at a multiple of `alignment`, a power of two up to
    /// [`crate::layout::MAX_FORCED_ALIGNMENT`].
    pub fn aligned_bytes(&mut self, bytes: &[u8], alignment: u64) -> FieldValue {
        if !self.fits(bytes.len()) {
            return Writer::left_out();
        }
        if bytes.is_empty() && self.serializer.facts().empty_vector == EmptyVector::LengthOnly {
            return FieldValue::Child(Some(write::bare_length(&mut self.builder)));
        }
        let offset = match alignment {
            0..=1 => write::bytes::<1>(&mut self.builder, bytes),
            2 => write::bytes::<2>(&mut self.builder, bytes),
            3..=4 => write::bytes::<4>(&mut self.builder, bytes),
            5..=8 => write::bytes::<8>(&mut self.builder, bytes),
            9..=16 => write::bytes::<16>(&mut self.builder, bytes),
            17..=32 => write::bytes::<32>(&mut self.builder, bytes),
            33..=64 => write::bytes::<64>(&mut self.builder, bytes),
            65..=128 => write::bytes::<128>(&mut self.builder, bytes),
            129..=256 => write::bytes::<256>(&mut self.builder, bytes),
            257..=512 => write::bytes::<512>(&mut self.builder, bytes),
            513..=1024 => write::bytes::<1024>(&mut self.builder, bytes),
            1025..=2048 => write::bytes::<2048>(&mut self.builder, bytes),
            2049..=4096 => write::bytes::<4096>(&mut self.builder, bytes),
            4097..=8192 => write::bytes::<8192>(&mut self.builder, bytes),
            8193..=16384 => write::bytes::<16384>(&mut self.builder, bytes),
            16385..=32768 => write::bytes::<32768>(&mut self.builder, bytes),
            _ => write::bytes::<65536>(&mut self.builder, bytes),
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
        let has_moved = self.newer.is_some_and(|newer| newer.is_moved(root.value()));
        self.builder.finish(root, Some(identifier));
        let (bytes, start) = self.builder.collapse();
        Ok(FlatBuffer { bytes, start, tables: self.tables, has_moved })
    }
}

/// Returns a vtable, which begins with the size of its table, with 0 for any size.
fn any_sized(vtable: &[u16]) -> Vec<u16> {
    std::iter::once(0).chain(vtable.iter().skip(1).copied()).collect()
}

/// Upper bound of the bytes for alignment, vtable, length and root.
const ROOM: u64 = 4 * MAX_FORCED_ALIGNMENT;

#[cfg(test)]
mod tests;
