//! Reads a FlatBuffer by slot tables, trusting nothing: no `unsafe`, every access checked, and a budget that grows with
//! the file, so that tables which refer to the same bytes again and again end in an error, not in a full memory.
//!
//! It reads what both of upstream's writers write: flatc's empty vectors need not be aligned. What tables mean is the
//! business of the reader.

use std::{fmt, io};

use super::Budget;
use crate::format::Table;
use crate::format::table::Union;

/// Why bytes cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// Where, in bytes from the file's start.
    pub offset: u64,
    /// Table and field, as the schema calls them: `Tensor.sizes`. Empty if no table is concerned.
    pub field: String,
    /// What is wrong.
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

/// The result of reading. The error is boxed: results are moved about for every field of every table, and a large one
/// takes a third of the time.
pub type Result<T> = std::result::Result<T, Box<ReadError>>;

/// The bytes of a FlatBuffer.
pub struct Buffer<'a> {
    bytes: &'a [u8],
    budget: Budget,
}

/// What visiting a table costs: about what its counterpart takes in memory.
const TABLE_COST: u64 = 32;

impl<'a> Buffer<'a> {
    /// Starts reading.
    pub fn new(bytes: &'a [u8]) -> Buffer<'a> {
        Buffer { bytes, budget: Budget::of(bytes.len()) }
    }

    /// What is left of the budget.
    pub fn left(&self) -> u64 {
        self.budget.left()
    }

    /// What has been spent of the budget.
    pub fn spent(&self) -> u64 {
        self.budget.spent()
    }

    /// Takes what readers of other parts of the same bytes have spent from the budget.
    ///
    /// # Errors
    /// The parts together cost more than there is.
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
            false => self.error(at, "the file refers to the same bytes again and again"),
        }
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
        self.error(at, format!("{count} bytes are expected here, behind the end"))
    }

    #[inline(always)]
    fn u32(&self, at: usize) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(at)?))
    }

    /// The place that an offset refers to.
    #[inline(always)]
    fn follow(&self, at: usize) -> Result<usize> {
        let offset = self.u32(at)? as usize;
        match at.checked_add(offset).filter(|target| offset != 0 && *target < self.bytes.len()) {
            Some(target) => Ok(target),
            None => self.error(at, format!("the offset {offset} leads to no place inside")),
        }
    }

    /// The root table of a buffer with a file identifier.
    ///
    /// # Errors
    /// Another identifier, or a root that is no table.
    pub fn root(&self, identifier: &str, table: &'static Table) -> Result<TableRef<'_, 'a>> {
        let found: [u8; 4] = self.array(4)?;
        if found != identifier.as_bytes() {
            let found = String::from_utf8_lossy(&found).into_owned();
            return self.error(4, format!("the file identifier is {found:?}, not {identifier:?}"));
        }
        self.table(self.follow(0)?, table)
    }

    #[inline(always)]
    fn table<'b>(&'b self, at: usize, table: &'static Table) -> Result<TableRef<'b, 'a>> {
        self.spend(at, TABLE_COST)?;
        let back = i64::from(i32::from_le_bytes(self.array(at)?));
        let vtable = usize::try_from(at as i64 - back).ok().filter(|vtable| vtable % 2 == 0);
        let Some(vtable) = vtable else {
            return self.error(at, format!("{}: its vtable would be at byte {}", table.name, at as i64 - back));
        };
        let size = usize::from(u16::from_le_bytes(self.array(vtable)?));
        match self.bytes.get(vtable..vtable + size) {
            // The first two words are the sizes of vtable and table.
            Some(words) if size >= 4 && size % 2 == 0 => Ok(TableRef { buffer: self, table, at, slots: &words[4..] }),
            _ => self.error(vtable, format!("{}: a vtable cannot have {size} bytes here", table.name)),
        }
    }
}

/// A vector of tables, whose items can be read in runs, each by a [`Buffer`] of its own.
#[derive(Clone, Copy)]
pub struct Tables {
    /// The table that has the vector, and its slot there.
    owner: (&'static Table, u16),
    /// What the items are.
    table: &'static Table,
    /// Where the items begin.
    at: usize,
    /// How many there are.
    pub len: usize,
}

impl Tables {
    /// An error about the vector.
    pub fn wrong<T>(&self, message: impl Into<String>) -> Result<T> {
        let error = ReadError { offset: self.at as u64, field: String::new(), message: message.into() };
        Err(named(self.owner, Box::new(error)))
    }
}

impl<'a> Buffer<'a> {
    /// Fills `room` with items of a vector of tables of these bytes, from the one at `start` on, each made by `make`.
    ///
    /// # Errors
    /// Something that is no table, and what `make` says.
    pub fn fill<'b, T>(
        &'b self,
        tables: &Tables,
        start: usize,
        room: &mut [T],
        mut make: impl FnMut(TableRef<'b, 'a>) -> Result<T>,
    ) -> Result<()> {
        for (position, room) in (start..).zip(room) {
            *room = make(self.item(tables, position)?)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn item<'b>(&'b self, tables: &Tables, position: usize) -> Result<TableRef<'b, 'a>> {
        let item = self.follow(tables.at + 4 * position).and_then(|at| self.table(at, tables.table));
        item.map_err(|error| named(tables.owner, error))
    }
}

/// Puts table and field into an error that has none yet.
#[cold]
fn named((table, slot): (&Table, u16), mut error: Box<ReadError>) -> Box<ReadError> {
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
    table: &'static Table,
    at: usize,
    /// For each slot where the field is in the table, 0 if it is absent: two bytes each.
    slots: &'a [u8],
}

macro_rules! scalars {
    ($( $(#[$doc:meta])* $name:ident $type:ty ),*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// A field that is not inside the buffer.
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
        /// A vector that is not inside the buffer.
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

    /// An error about a field.
    pub fn wrong<T>(&self, slot: u16, message: impl Into<String>) -> Result<T> {
        self.named(slot, self.buffer.error(self.at, message))
    }

    /// Where a field is; `None` if it is absent.
    #[inline(always)]
    fn field(&self, slot: u16) -> Result<Option<usize>> {
        let Some([low, high]) = self.slots.get(2 * usize::from(slot)..2 * usize::from(slot) + 2) else {
            return Ok(None);
        };
        match usize::from(u16::from_le_bytes([*low, *high])) {
            0 => Ok(None),
            offset @ 1..4 => {
                self.wrong(slot, format!("the vtable puts it at byte {offset} of the table, on the table's own head"))
            }
            offset => Ok(Some(self.at + offset)),
        }
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
        /// An `f64`; 0 if absent.
        f64 f64
    }

    vectors! {
        /// A vector of `i32`.
        i32s i32,
        /// A vector of `i64`.
        i64s i64,
        /// A vector of `u64`.
        u64s u64,
        /// A vector of `f64`.
        f64s f64,
        /// A vector of bytes.
        u8s u8
    }

    /// A bool; false if absent.
    ///
    /// # Errors
    /// A byte other than 0 and 1.
    pub fn bool(&self, slot: u16) -> Result<bool> {
        match self.u8(slot)? {
            0 => Ok(false),
            1 => Ok(true),
            other => self.wrong(slot, format!("a bool cannot be {other}")),
        }
    }

    /// A vector of bools.
    ///
    /// # Errors
    /// A byte other than 0 and 1.
    pub fn bools(&self, slot: u16) -> Result<Option<Vec<bool>>> {
        let Some(bytes) = self.bytes(slot)? else { return Ok(None) };
        match bytes.iter().find(|byte| **byte > 1) {
            Some(other) => self.wrong(slot, format!("a bool cannot be {other}")),
            None => Ok(Some(bytes.iter().map(|byte| *byte == 1).collect())),
        }
    }

    /// Where a vector's items begin, and their bytes; `None` if it is absent.
    #[inline(always)]
    fn vector(&self, slot: u16, item: usize) -> Result<Option<(usize, &'a [u8])>> {
        let Some(at) = self.field(slot)? else { return Ok(None) };
        let read = || {
            let target = self.buffer.follow(at)?;
            let count = self.buffer.u32(target)? as usize;
            let items = target + 4;
            let end = count.checked_mul(item).and_then(|size| items.checked_add(size));
            let Some(bytes) = end.and_then(|end| self.buffer.bytes.get(items..end)) else {
                return self.buffer.error(target, format!("{count} items do not fit the file"));
            };
            self.buffer.spend(target, bytes.len() as u64)?;
            Ok((items, bytes))
        };
        match read() {
            Ok(vector) => Ok(Some(vector)),
            Err(error) => self.null_is_absent(slot, at, error),
        }
    }

    /// A field whose offset is zero is taken for absent: nothing is in it. `check` says that it is there (rule F-8).
    #[cold]
    fn null_is_absent<T>(&self, slot: u16, at: usize, error: Box<ReadError>) -> Result<Option<T>> {
        if self.buffer.u32(at) == Ok(0) { Ok(None) } else { self.named(slot, Err(error)) }
    }

    /// A vector of bytes, as they are in the buffer.
    ///
    /// # Errors
    /// A vector that is not inside the buffer.
    #[inline(always)]
    pub fn bytes(&self, slot: u16) -> Result<Option<&'a [u8]>> {
        Ok(self.vector(slot, 1)?.map(|(_, bytes)| bytes))
    }

    /// A range of bytes as a vector: where it begins, and how long it is; the bytes are not copied.
    ///
    /// # Errors
    /// A vector that is not inside the buffer.
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
            Err(error) => self.wrong(slot, format!("the string is not UTF-8 at its byte {}", error.valid_up_to())),
        }
    }

    /// A child table.
    ///
    /// # Errors
    /// Something that is no table.
    #[inline(always)]
    pub fn child(&self, slot: u16, table: &'static Table) -> Result<Option<TableRef<'b, 'a>>> {
        let Some(at) = self.field(slot)? else { return Ok(None) };
        match self.buffer.follow(at).and_then(|at| self.buffer.table(at, table)) {
            Ok(child) => Ok(Some(child)),
            Err(error) => self.null_is_absent(slot, at, error),
        }
    }

    /// The member of a union, and its table unless that is absent. `what` is what its members are.
    ///
    /// # Errors
    /// A tag without a member, or something that is no table.
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
        members: &[&'static Table],
        what: &str,
    ) -> Result<(u8, Option<TableRef<'b, 'a>>)> {
        let tag = self.u8(type_slot)?;
        match usize::from(tag).checked_sub(1).and_then(|member| members.get(member)) {
            Some(table) => Ok((tag, self.child(slot, table)?)),
            None => self.wrong(type_slot, format!("there is no {what} with the number {tag}")),
        }
    }

    /// A vector of tables; its items are not looked at.
    ///
    /// # Errors
    /// A vector that is not inside the buffer.
    pub fn tables(&self, slot: u16, table: &'static Table) -> Result<Option<Tables>> {
        let vector = self.vector(slot, 4)?;
        Ok(vector.map(|(at, bytes)| Tables { owner: (self.table, slot), table, at, len: bytes.len() / 4 }))
    }

    /// The items of a vector of tables, each made by `make`.
    ///
    /// # Errors
    /// Something that is no table, and what `make` says.
    pub fn children<T>(
        &self,
        slot: u16,
        table: &'static Table,
        mut make: impl FnMut(TableRef<'b, 'a>) -> Result<T>,
    ) -> Result<Option<Vec<T>>> {
        let Some(tables) = self.tables(slot, table)? else { return Ok(None) };
        // Room for what is likely there, and not for what a vector of nonsense promises.
        let mut items = Vec::with_capacity(tables.len.min(1 << 16));
        for position in 0..tables.len {
            items.push(make(self.buffer.item(&tables, position)?)?);
        }
        Ok(Some(items))
    }
}

#[cfg(test)]
mod tests;
