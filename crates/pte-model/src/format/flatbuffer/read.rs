//! Reads an untrusted FlatBuffer by slot tables. Every access is checked, and tables that share the same bytes many
//! times exhaust a budget proportional to the file's size, which is an error.
//!
//! Reads the output of both upstream writers: empty vectors of flatc need not be aligned.

use std::cell::Cell;
use std::{fmt, io};

use super::{Budget, FieldEnds};
use crate::format::TableSchema;
use crate::format::table::Union;

/// An error at an offset of a FlatBuffer.
#[derive(Debug, Clone, PartialEq, Eq)]
// Its conversion to `io::Error` makes it reachable; no public function returns it.
#[allow(unnameable_types)]
pub struct ReadError {
    /// Offset in bytes from the start of the file.
    pub offset: u64,
    /// Table and field by their schema names, such as `Tensor.sizes`; empty if the error is not about a field.
    pub field: String,
    /// Message without offset and field.
    pub message: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.field.is_empty() { String::new() } else { format!("{}: ", self.field) };
        write!(f, "{at}{} (at byte {:#x})", self.message, self.offset)
    }
}

impl std::error::Error for ReadError {}

impl From<Box<ReadError>> for io::Error {
    fn from(error: Box<ReadError>) -> io::Error {
        io::Error::other(*error)
    }
}

/// Result of reading. The error is boxed because results are moved for every field of every table: an unboxed one costs
/// a third of the reading time.
pub type Result<T> = std::result::Result<T, Box<ReadError>>;

/// The bytes of a FlatBuffer.
pub struct Buffer<'a> {
    bytes: &'a [u8],
    budget: Budget,
    /// A table has slots beyond its schema, or a union a member.
    is_newer: Cell<bool>,
}

const TOO_SHARED: &str = "the tables of the file share too many bytes";

/// Cost of a table: about the size of its counterpart in memory.
const TABLE_COST: u64 = 32;

impl<'a> Buffer<'a> {
    /// Wraps the bytes of a FlatBuffer, with a budget of their size.
    pub fn new(bytes: &'a [u8]) -> Buffer<'a> {
        Buffer { bytes, budget: Budget::of(bytes.len()), is_newer: Cell::new(false) }
    }

    /// Returns the remaining budget.
    pub fn left(&self) -> u64 {
        self.budget.left()
    }

    /// Returns the budget spent so far.
    pub fn spent(&self) -> u64 {
        self.budget.spent()
    }

    /// Returns true if a table that was read has slots beyond its schema, which may be absent fields, or a member of a
    /// union is unknown.
    pub fn is_newer(&self) -> bool {
        self.is_newer.get()
    }

    /// Subtracts the budget that readers of other parts of the same bytes have spent.
    ///
    /// # Errors
    /// Fails if the parts together exceed the budget.
    pub fn settle(&self, spent: u64) -> Result<()> {
        self.spend(0, spent)
    }

    #[cold]
    fn error<T>(&self, at: usize, message: impl Into<String>) -> Result<T> {
        Err(Box::new(ReadError { offset: at as u64, field: String::new(), message: message.into() }))
    }

    #[inline(always)]
    fn spend(&self, at: usize, cost: u64) -> Result<()> {
        match self.budget.spend(cost) {
            true => Ok(()),
            false => self.error(at, TOO_SHARED),
        }
    }

    /// Returns the error of tables that share many bytes.
    ///
    /// # Errors
    /// Always.
    pub fn too_shared<T>(&self) -> Result<T> {
        self.error(0, TOO_SHARED)
    }

    #[inline(always)]
    fn array<const N: usize>(&self, at: usize) -> Result<[u8; N]> {
        match super::array(self.bytes, at) {
            Some(bytes) => Ok(bytes),
            None => self.behind_the_end(at, N),
        }
    }

    #[cold]
    fn behind_the_end<T>(&self, at: usize, count: usize) -> Result<T> {
        self.error(at, format!("expected {count} byte{}, found the end of the file", if count == 1 { "" } else { "s" }))
    }

    #[inline(always)]
    fn u32(&self, at: usize) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(at)?))
    }

    /// Returns the target of an offset.
    #[inline(always)]
    fn follow(&self, at: usize) -> Result<usize> {
        let offset = self.u32(at)? as usize;
        match at.checked_add(offset).filter(|target| offset != 0 && *target < self.bytes.len()) {
            Some(target) => Ok(target),
            None => self.error(at, format!("the offset {offset} points outside the file")),
        }
    }

    /// Returns the root table of a buffer with a file identifier.
    ///
    /// # Errors
    /// Another identifier, or a root that is not a table.
    pub fn root(&self, identifier: &str, table: &'static TableSchema) -> Result<TableRef<'_, 'a>> {
        let found: [u8; 4] = self.array(4)?;
        if found != identifier.as_bytes() {
            let found = String::from_utf8_lossy(&found).into_owned();
            return self.error(4, format!("expected the file identifier {identifier:?}, found {found:?}"));
        }
        self.unidentified_root(table)
    }

    /// Returns the root table of a buffer whose schema has no file identifier.
    ///
    /// # Errors
    /// A root that is not a table.
    pub fn unidentified_root(&self, table: &'static TableSchema) -> Result<TableRef<'_, 'a>> {
        self.table(self.follow(0)?, table)
    }

    #[inline(always)]
    fn table<'b>(&'b self, at: usize, table: &'static TableSchema) -> Result<TableRef<'b, 'a>> {
        self.spend(at, TABLE_COST)?;
        let back = i64::from(i32::from_le_bytes(self.array(at)?));
        let vtable = usize::try_from(at as i64 - back).ok().filter(|vtable| vtable % 2 == 0);
        let Some(vtable) = vtable else {
            return self.error(at, format!("{}: invalid vtable offset {}", table.name, at as i64 - back));
        };
        let size = usize::from(u16::from_le_bytes(self.array(vtable)?));
        match self.bytes.get(vtable..vtable + size) {
            // The first two words are the sizes of vtable and table.
            Some(words) if size >= 4 && size % 2 == 0 => {
                if size > 4 + 2 * table.fields.len() {
                    self.is_newer.set(true);
                }
                Ok(TableRef { buffer: self, table, at, slots: &words[4..] })
            }
            _ => self.error(vtable, format!("{}: invalid vtable size {size}", table.name)),
        }
    }
}

/// A field that is not in the schema.
#[derive(Debug, Clone, Copy)]
pub struct ExtraField<'a> {
    /// Slot.
    pub slot: u16,
    /// Offset in the buffer.
    pub at: usize,
    /// Bytes in the table: 1, 2, 4 or 8.
    pub bytes: &'a [u8],
}

/// A vector of tables; ranges of its items can be read by different [`Buffer`]s.
#[derive(Clone, Copy)]
pub struct TableVector {
    /// Table that contains the vector, and slot.
    owner: (&'static TableSchema, u16),
    /// Type of the items.
    table: &'static TableSchema,
    /// Offset of the first item.
    at: usize,
    /// Number of items.
    pub len: usize,
}

impl TableVector {
    /// Returns an error at the vector.
    pub fn wrong<T>(&self, message: impl Into<String>) -> Result<T> {
        let error = ReadError { offset: self.at as u64, field: String::new(), message: message.into() };
        Err(named(self.owner, Box::new(error)))
    }
}

impl<'a> Buffer<'a> {
    /// Fills `out` with the items of a vector of tables from index `start` on, each read by `read`.
    ///
    /// # Errors
    /// An item that is not a table, and errors of `read`.
    pub fn fill<'b, T>(
        &'b self,
        tables: &TableVector,
        start: usize,
        out: &mut [T],
        mut read: impl FnMut(TableRef<'b, 'a>) -> Result<T>,
    ) -> Result<()> {
        for (position, item) in (start..).zip(out) {
            *item = read(self.item(tables, position)?)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn item<'b>(&'b self, tables: &TableVector, position: usize) -> Result<TableRef<'b, 'a>> {
        let item = self.follow(tables.at + 4 * position).and_then(|at| self.table(at, tables.table));
        item.map_err(|error| named(tables.owner, error))
    }
}

/// Adds table and field to an error that has none.
#[cold]
fn named((table, slot): (&TableSchema, u16), mut error: Box<ReadError>) -> Box<ReadError> {
    if error.field.is_empty() {
        let field = table.fields.get(usize::from(slot)).map_or("?", |field| field.name);
        error.field = format!("{}.{field}", table.name);
    }
    error
}

/// A table of a buffer.
#[derive(Clone, Copy)]
pub struct TableRef<'b, 'a> {
    buffer: &'b Buffer<'a>,
    table: &'static TableSchema,
    at: usize,
    /// Entries of the vtable, two bytes each: the offset of the field in the table, 0 if it is absent.
    slots: &'a [u8],
}

macro_rules! scalars {
    ($( $(#[$doc:meta])* $name:ident $type:ty ),*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// A field outside the buffer.
        #[inline(always)]
        pub fn $name(&self, slot: u16) -> Result<$type> {
            match self.field(slot)? {
                Some(at) => self.named(slot, self.buffer.array(at).map(<$type>::from_le_bytes)),
                None => Ok(0 as $type),
            }
        }
    )*};
}

macro_rules! vectors {
    ($( $(#[$doc:meta])* $name:ident $type:ty ),*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// A vector outside the buffer.
        #[inline(always)]
        pub fn $name<C: FromIterator<$type>>(&self, slot: u16) -> Result<Option<C>> {
            let bytes = self.vector(slot, size_of::<$type>())?;
            Ok(bytes.map(|(_, bytes)| bytes.as_chunks().0.iter().map(|item| <$type>::from_le_bytes(*item)).collect()))
        }
    )*};
}

impl<'b, 'a> TableRef<'b, 'a> {
    #[inline(always)]
    fn named<T>(&self, slot: u16, result: Result<T>) -> Result<T> {
        result.map_err(|error| named((self.table, slot), error))
    }

    /// Returns an error at a field.
    pub fn wrong<T>(&self, slot: u16, message: impl Into<String>) -> Result<T> {
        self.named(slot, self.buffer.error(self.at, message))
    }

    /// Returns the offset of a field; `None` if it is absent.
    #[inline(always)]
    fn field(&self, slot: u16) -> Result<Option<usize>> {
        let Some([low, high]) = self.slots.get(2 * usize::from(slot)..2 * usize::from(slot) + 2) else {
            return Ok(None);
        };
        match usize::from(u16::from_le_bytes([*low, *high])) {
            0 => Ok(None),
            offset @ 1..4 => {
                self.wrong(slot, format!("the vtable entry {offset} points into the first four bytes of the table"))
            }
            offset => Ok(Some(self.at + offset)),
        }
    }

    /// Returns `true` if a field is present.
    ///
    /// # Errors
    /// A field inside the first four bytes of the table.
    pub fn has(&self, slot: u16) -> Result<bool> {
        Ok(self.field(slot)?.is_some())
    }

    scalars! {
        /// A `u8`; 0 if absent.
        u8 u8,
        /// An `i8`; 0 if absent.
        i8 i8,
        /// An `i16`; 0 if absent.
        i16 i16,
        /// An `i32`; 0 if absent.
        i32 i32,
        /// A `u32`; 0 if absent.
        u32 u32,
        /// An `i64`; 0 if absent.
        i64 i64,
        /// A `u64`; 0 if absent.
        u64 u64,
        /// An `f32`; 0 if absent.
        f32 f32,
        /// An `f64`; 0 if absent.
        f64 f64
    }

    vectors! {
        /// A vector of `u16`.
        u16s u16,
        /// A vector of `i32`.
        i32s i32,
        /// A vector of `u32`.
        u32s u32,
        /// A vector of `i64`.
        i64s i64,
        /// A vector of `u64`.
        u64s u64,
        /// A vector of `f32`.
        f32s f32,
        /// A vector of `f64`.
        f64s f64,
        /// A vector of bytes.
        u8s u8
    }

    /// A vector of indices, which are `i32`.
    #[inline(always)]
    pub fn ids<T: From<i32>, C: FromIterator<T>>(&self, slot: u16) -> Result<Option<C>> {
        let bytes = self.vector(slot, size_of::<i32>())?;
        Ok(bytes.map(|(_, bytes)| bytes.as_chunks().0.iter().map(|id| i32::from_le_bytes(*id).into()).collect()))
    }

    /// A bool; false if absent.
    ///
    /// # Errors
    /// A byte other than 0 and 1.
    pub fn bool(&self, slot: u16) -> Result<bool> {
        match self.u8(slot)? {
            0 => Ok(false),
            1 => Ok(true),
            other => self.wrong(slot, format!("invalid bool {other}; expected 0 or 1")),
        }
    }

    /// A vector of bools.
    ///
    /// # Errors
    /// A byte other than 0 and 1.
    pub fn bools(&self, slot: u16) -> Result<Option<Vec<bool>>> {
        let Some(bytes) = self.bytes(slot)? else { return Ok(None) };
        match bytes.iter().find(|byte| **byte > 1) {
            Some(other) => self.wrong(slot, format!("invalid bool {other}; expected 0 or 1")),
            None => Ok(Some(bytes.iter().map(|byte| *byte == 1).collect())),
        }
    }

    /// Returns the offset of a vector's first item and the bytes of the items; `None` if the vector is absent.
    #[inline(always)]
    fn vector(&self, slot: u16, item: usize) -> Result<Option<(usize, &'a [u8])>> {
        let Some(at) = self.field(slot)? else { return Ok(None) };
        let read = || {
            let target = self.buffer.follow(at)?;
            let count = self.buffer.u32(target)? as usize;
            let items = target + 4;
            let end = count.checked_mul(item).and_then(|size| items.checked_add(size));
            let Some(bytes) = end.and_then(|end| self.buffer.bytes.get(items..end)) else {
                return self.buffer.error(
                    target,
                    format!("a vector of {count} item{} exceeds the file", if count == 1 { "" } else { "s" }),
                );
            };
            self.buffer.spend(target, bytes.len() as u64)?;
            Ok((items, bytes))
        };
        match read() {
            Ok(vector) => Ok(Some(vector)),
            Err(error) => self.null_is_absent(slot, at, error),
        }
    }

    /// Returns `None` for a field whose offset is zero, otherwise the error. `check` reports null offsets (rule F-8).
    #[cold]
    fn null_is_absent<T>(&self, slot: u16, at: usize, error: Box<ReadError>) -> Result<Option<T>> {
        if self.buffer.u32(at) == Ok(0) { Ok(None) } else { self.named(slot, Err(error)) }
    }

    /// A vector of bytes, borrowed from the buffer.
    ///
    /// # Errors
    /// A vector outside the buffer.
    #[inline(always)]
    pub fn bytes(&self, slot: u16) -> Result<Option<&'a [u8]>> {
        Ok(self.vector(slot, 1)?.map(|(_, bytes)| bytes))
    }

    /// Offset and length of a vector of bytes.
    ///
    /// # Errors
    /// A vector outside the buffer.
    pub fn range(&self, slot: u16) -> Result<Option<(u64, u64)>> {
        Ok(self.vector(slot, 1)?.map(|(at, bytes)| (at as u64, bytes.len() as u64)))
    }

    /// A string.
    ///
    /// # Errors
    /// A string that is not UTF-8, or has no terminator.
    pub fn text(&self, slot: u16) -> Result<Option<String>> {
        let Some((at, bytes)) = self.vector(slot, 1)? else { return Ok(None) };
        if self.buffer.bytes.get(at + bytes.len()) != Some(&0) {
            return self.wrong(slot, "the string has no terminator");
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(error) => self.wrong(slot, format!("the string is not UTF-8 at byte {}", error.valid_up_to())),
        }
    }

    /// The first `limit` items of a vector of strings, and the number of all.
    ///
    /// # Errors
    /// A vector or a string outside the buffer, a string that is not UTF-8.
    pub fn texts(&self, slot: u16, limit: usize) -> Result<(Vec<String>, usize)> {
        let Some((at, bytes)) = self.vector(slot, 4)? else { return Ok((Vec::new(), 0)) };
        let count = bytes.len() / 4;
        let read = |position: usize| {
            let target = self.buffer.follow(at + 4 * position)?;
            let size = self.buffer.u32(target)? as usize;
            let end = (target + 4).checked_add(size);
            match end.and_then(|end| self.buffer.bytes.get(target + 4..end)).map(str::from_utf8) {
                Some(Ok(text)) => self.buffer.spend(target, size as u64).map(|()| text.to_owned()),
                Some(Err(error)) => {
                    self.buffer.error(target, format!("the string is not UTF-8 at byte {}", error.valid_up_to()))
                }
                None => self.buffer.error(target, format!("a string of {size} bytes exceeds the file")),
            }
        };
        let texts: Result<Vec<String>> = (0..count.min(limit)).map(read).collect();
        Ok((self.named(slot, texts)?, count))
    }

    /// A child table.
    ///
    /// # Errors
    /// A target that is not a table.
    #[inline(always)]
    pub fn child(&self, slot: u16, table: &'static TableSchema) -> Result<Option<TableRef<'b, 'a>>> {
        let Some(at) = self.field(slot)? else { return Ok(None) };
        match self.buffer.follow(at).and_then(|at| self.buffer.table(at, table)) {
            Ok(child) => Ok(Some(child)),
            Err(error) => self.null_is_absent(slot, at, error),
        }
    }

    /// Offset of the table in the buffer.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Offset in the buffer of the string, vector or table of a field; `None` if it is absent.
    ///
    /// # Errors
    /// An offset outside of the buffer.
    pub fn target(&self, slot: u16) -> Result<Option<usize>> {
        match self.field(slot)? {
            Some(at) => self.named(slot, self.buffer.follow(at)).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the items of a vector that fills the bytes from `start` to `end` of the buffer except padding, and the
    /// largest item size for which it does; `None` if there is none.
    pub fn vector_between(&self, start: usize, end: usize) -> Option<(u8, &'a [u8])> {
        let items = self.buffer.bytes.get(start.checked_add(4)?..end)?;
        let count = self.buffer.u32(start).ok()? as usize;
        [8u8, 4, 2, 1].into_iter().find_map(|width| {
            let (filled, padding) = items.split_at_checked(count.checked_mul(width.into())?)?;
            (padding.len() < 8 && padding.iter().all(|byte| *byte == 0)).then_some((width, filled))
        })
    }

    /// Returns the first slot beyond the schema whose field is present.
    ///
    /// # Errors
    /// A long vtable that many tables share exhausts the budget.
    pub fn beyond_schema(&self) -> Result<Option<u16>> {
        let known = self.table.fields.len();
        let Some(entries) = self.slots.get(2 * known..).filter(|entries| !entries.is_empty()) else { return Ok(None) };
        self.buffer.spend(self.at, entries.len() as u64)?;
        let present = entries.chunks_exact(2).position(|entry| entry != [0, 0]);
        Ok(present.and_then(|position| u16::try_from(known + position).ok()))
    }

    /// Returns the end of the table, and the fields beyond the schema that are present. Their sizes are those of
    /// numbers, up to the next field or the end of the table, which includes padding.
    ///
    /// # Errors
    /// A field outside of the table, a table outside of the buffer, and those of [`TableRef::beyond_schema`].
    pub fn extra(&self) -> Result<(usize, Vec<ExtraField<'a>>)> {
        let Some(first) = self.beyond_schema()? else { return Ok((self.at, Vec::new())) };
        self.buffer.spend(self.at, 8 * self.slots.len() as u64)?;
        let vtable = self.at as i64 - i64::from(i32::from_le_bytes(self.buffer.array(self.at)?));
        let size = u16::from_le_bytes(self.buffer.array(vtable as usize + 2)?);
        let offsets = self.slots.chunks_exact(2).map(|entry| u16::from_le_bytes([entry[0], entry[1]]));
        let ends = FieldEnds::of(offsets.clone(), size);
        let mut found = Vec::new();
        for (slot, offset) in (0..).zip(offsets).skip(first.into()).filter(|(_, offset)| *offset > 0) {
            let range = ends.after(offset).map(|end| self.at + usize::from(offset)..self.at + usize::from(end));
            let bytes = range.clone().and_then(|range| self.buffer.bytes.get(range));
            let (Some(range), Some(bytes)) = (range, bytes) else {
                return self.buffer.error(self.at, format!("field {slot} is outside of its table"));
            };
            let size = [8, 4, 2, 1].into_iter().find(|size| *size <= bytes.len()).unwrap_or(0);
            found.push(ExtraField { slot, at: range.start, bytes: &bytes[..size] });
        }
        Ok((self.at + usize::from(size), found))
    }

    /// As [`TableRef::member`]; an unknown member is its tag.
    ///
    /// # Errors
    /// The tag is 0, or the target is not a table.
    #[inline(always)]
    pub fn member_or_tag<U: Union>(
        &self,
        type_slot: u16,
        slot: u16,
        what: &str,
    ) -> Result<std::result::Result<(U, Option<TableRef<'b, 'a>>), u8>> {
        let tag = self.u8(type_slot)?;
        match U::of_tag(tag) {
            None if tag > 0 => {
                self.buffer.is_newer.set(true);
                Ok(Err(tag))
            }
            None | Some(_) => self.member(type_slot, slot, what).map(Ok),
        }
    }

    /// Returns the member of a union, and its table unless that is absent. `what` describes the members, for messages.
    ///
    /// # Errors
    /// The tag has no member, or the target is not a table.
    #[inline(always)]
    pub fn member<U: Union>(&self, type_slot: u16, slot: u16, what: &str) -> Result<(U, Option<TableRef<'b, 'a>>)> {
        let (tag, table) = self.tagged(type_slot, slot, U::MEMBERS, what)?;
        match U::of_tag(tag) {
            Some(member) => Ok((member, table)),
            None => self.wrong(type_slot, format!("there is no {what} with the number {tag}")),
        }
    }

    /// The tag of a union with these members, and the table of the member unless that is absent.
    ///
    /// # Errors
    /// As [`TableRef::member`].
    #[inline(always)]
    pub fn tagged(
        &self,
        type_slot: u16,
        slot: u16,
        members: &[&'static TableSchema],
        what: &str,
    ) -> Result<(u8, Option<TableRef<'b, 'a>>)> {
        let tag = self.u8(type_slot)?;
        match usize::from(tag).checked_sub(1).and_then(|member| members.get(member)) {
            Some(table) => Ok((tag, self.child(slot, table)?)),
            None => self.wrong(type_slot, format!("unknown {what} type {tag}")),
        }
    }

    /// A vector of tables, without reading its items.
    ///
    /// # Errors
    /// A vector outside the buffer.
    pub fn tables(&self, slot: u16, table: &'static TableSchema) -> Result<Option<TableVector>> {
        let vector = self.vector(slot, 4)?;
        Ok(vector.map(|(at, bytes)| TableVector { owner: (self.table, slot), table, at, len: bytes.len() / 4 }))
    }

    /// The items of a vector of tables, each read by `read`.
    ///
    /// # Errors
    /// An item that is not a table, and errors of `read`.
    pub fn children<T>(
        &self,
        slot: u16,
        table: &'static TableSchema,
        mut read: impl FnMut(TableRef<'b, 'a>) -> Result<T>,
    ) -> Result<Option<Vec<T>>> {
        let Some(tables) = self.tables(slot, table)? else { return Ok(None) };
        // The length is untrusted: a malformed vector must not allocate more than this before its items fail to read.
        let mut items = Vec::with_capacity(tables.len.min(1 << 16));
        for position in 0..tables.len {
            items.push(read(self.buffer.item(&tables, position)?)?);
        }
        Ok(Some(items))
    }
}

#[cfg(test)]
mod tests;
