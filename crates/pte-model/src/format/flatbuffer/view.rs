//! Access to the tables of a FlatBuffer without copies and without errors: presence, offset and value of each field.
//!
//! Bytes that [`super::verify`] rejects can be viewed, too: fields outside the bytes count as absent.

use super::{Vtable, array, follow};

/// A table at an offset of a FlatBuffer.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    bytes: &'a [u8],
    /// Offset in the FlatBuffer.
    pub at: usize,
    vtable: Vtable,
}

macro_rules! scalars {
    ($( $name:ident $type:ty ),*) => {$(
        #[doc = concat!("A field of type `", stringify!($type), "`; 0 if absent.")]
        pub fn $name(&self, slot: u16) -> $type {
            self.offset(slot).and_then(|at| array(self.bytes, at)).map_or(0 as $type, <$type>::from_le_bytes)
        }
    )*};
}

macro_rules! vectors {
    ($( $name:ident $type:ty ),*) => {$(
        #[doc = concat!("A vector of `", stringify!($type), "`.")]
        pub fn $name(&self, slot: u16) -> Option<Vector<'a, { size_of::<$type>() }>> {
            self.vector(slot)
        }
    )*};
}

impl<'a> Table<'a> {
    /// Returns the root table.
    pub fn root(bytes: &'a [u8]) -> Option<Table<'a>> {
        Table::at(bytes, follow(bytes, 0)?)
    }

    /// Returns the table at an offset.
    pub fn at(bytes: &'a [u8], at: usize) -> Option<Table<'a>> {
        Some(Table { bytes, at, vtable: Vtable::of(bytes, at)? })
    }

    /// Returns the offset of a field in the FlatBuffer; `None` if it is absent.
    pub fn offset(&self, slot: u16) -> Option<usize> {
        self.vtable.offset(self.bytes, slot.into()).map(|offset| self.at + offset)
    }

    /// Returns the offset of a field, or of the table if the field is absent.
    pub fn near(&self, slot: u16) -> usize {
        self.offset(slot).unwrap_or(self.at)
    }

    /// Returns `true` if a field is present.
    pub fn has(&self, slot: u16) -> bool {
        self.offset(slot).is_some()
    }

    scalars! { u8 u8, i8 i8, i32 i32, u32 u32, i64 i64, u64 u64, f64 f64 }
    vectors! { u8s u8, i32s i32, i64s i64, u64s u64 }

    fn vector<const N: usize>(&self, slot: u16) -> Option<Vector<'a, N>> {
        let at = follow(self.bytes, self.offset(slot)?)?;
        let count = u32::from_le_bytes(array(self.bytes, at)?) as usize;
        let start = at.checked_add(4)?;
        let items = self.bytes.get(start..start.checked_add(count.checked_mul(N)?)?)?;
        Some(Vector { at: start, items: items.as_chunks().0 })
    }

    /// A child table.
    pub fn child(&self, slot: u16) -> Option<Table<'a>> {
        Table::at(self.bytes, follow(self.bytes, self.offset(slot)?)?)
    }

    /// A vector of tables.
    pub fn tables(&self, slot: u16) -> Option<Tables<'a>> {
        Some(Tables { bytes: self.bytes, offsets: self.vector(slot)? })
    }

    /// The bytes of a string.
    pub fn text(&self, slot: u16) -> Option<&'a [u8]> {
        Some(self.u8s(slot)?.items.as_flattened())
    }
}

/// A vector of numbers of `N` bytes.
#[derive(Debug, Clone, Copy)]
pub struct Vector<'a, const N: usize> {
    /// Offset of the first item.
    pub at: usize,
    items: &'a [[u8; N]],
}

impl<'a, const N: usize> Vector<'a, N> {
    /// Number of items.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the offset of an item.
    pub fn offset(&self, index: usize) -> usize {
        self.at + N * index
    }
}

macro_rules! items {
    ($( $type:ty ),*) => {$(
        impl<'a> Vector<'a, { size_of::<$type>() }> {
            #[doc = concat!("The items as `", stringify!($type), "`.")]
            pub fn iter(&self) -> impl DoubleEndedIterator<Item = $type> + ExactSizeIterator + Clone + use<'a> {
                self.items.iter().map(|item| <$type>::from_le_bytes(*item))
            }
        }
    )*};
}

items! { u8, i32, u64 }

impl Vector<'_, 4> {
    /// Returns the item at an index.
    pub fn get(&self, index: usize) -> Option<i32> {
        self.items.get(index).map(|item| i32::from_le_bytes(*item))
    }
}

impl Vector<'_, 8> {
    /// Returns the item at an index.
    pub fn get(&self, index: usize) -> Option<u64> {
        self.items.get(index).map(|item| u64::from_le_bytes(*item))
    }
}

/// A vector of tables.
#[derive(Debug, Clone, Copy)]
pub struct Tables<'a> {
    bytes: &'a [u8],
    offsets: Vector<'a, 4>,
}

impl<'a> Tables<'a> {
    /// Number of tables.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Returns the table at an index.
    pub fn get(&self, index: usize) -> Option<Table<'a>> {
        (index < self.len()).then(|| Table::at(self.bytes, follow(self.bytes, self.offsets.offset(index))?)).flatten()
    }

    /// Returns the tables in order.
    pub fn iter(&self) -> impl Iterator<Item = Table<'a>> {
        let tables = *self;
        (0..tables.len()).filter_map(move |index| tables.get(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::flatbuffer::tests::{buffer, table_at};

    /// A table with a number in slot 0 and a vector of two items of 4 bytes in slot 1.
    fn bytes() -> Vec<u8> {
        let vector = [2u32, 5, u32::MAX].map(u32::to_le_bytes).concat();
        buffer(&[4, 8], &[&7u32.to_le_bytes()[..], &4u32.to_le_bytes()].concat(), &vector)
    }

    #[test]
    fn fields_are_where_the_vtable_puts_them() {
        let bytes = bytes();
        let table = Table::root(&bytes).unwrap();
        assert_eq!(
            (table.at, table.offset(0), table.offset(1), table.offset(2)),
            (table_at(2), Some(20), Some(24), None)
        );
        assert_eq!((table.i32(0), table.near(1), table.near(2)), (7, 24, 16));
        assert!(table.has(1) && !table.has(2));
    }

    #[test]
    fn an_absent_field_is_0_or_no_vector() {
        let bytes = bytes();
        let table = Table::root(&bytes).unwrap();
        assert_eq!((table.i64(9), table.f64(9)), (0, 0.0));
        assert!(
            table.i32s(9).is_none() && table.child(9).is_none() && table.tables(9).is_none() && table.text(9).is_none()
        );
    }

    #[test]
    fn items_of_a_vector_are_read_by_index() {
        let bytes = bytes();
        let items = Table::root(&bytes).unwrap().i32s(1).unwrap();
        assert_eq!((items.len(), items.at, items.offset(1)), (2, 32, 36));
        assert_eq!((items.get(1), items.get(2)), (Some(-1), None));
        assert!(items.iter().eq([5, -1]));
    }

    #[test]
    fn what_does_not_end_inside_is_absent() {
        let bytes = bytes();
        let cut = &bytes[..bytes.len() - 1];
        let table = Table::root(cut).unwrap();
        assert!(table.i32s(1).is_none());
        // 8 bytes of slot 1 are there, of slot 1 of a shorter cut only 4.
        assert_eq!((table.u64(1), Table::root(&bytes[..28]).unwrap().u64(1)), (4 | 2 << 32, 0));
        assert!(Table::root(&bytes[..18]).is_none());
    }

    #[test]
    fn of_tables_those_that_are_none_are_left_out() {
        // Three items: an offset to a table, none, one beyond the end. The word after them also leads to the table.
        let rest = [&[3u32, 20, 0, 999, 8].map(u32::to_le_bytes).concat()[..], &[4, 0, 4, 0, 4, 0, 0, 0]].concat();
        let bytes = buffer(&[4], &4u32.to_le_bytes(), &rest);
        let tables = Table::root(&bytes).unwrap().tables(0).unwrap();
        assert_eq!((tables.len(), tables.iter().count()), (3, 1));
        assert_eq!(tables.get(0).map(|table| table.at), Some(48));
        assert!(tables.get(1).is_none() && tables.get(3).is_none());
    }
}
