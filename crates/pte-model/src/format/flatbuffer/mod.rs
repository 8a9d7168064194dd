//! Access to the bytes of a FlatBuffer by the slot tables: [`read`] fails on malformed bytes, [`view`] accesses single
//! fields, [`verify`] reports every defect, [`walk`] lists every object; [`mod@write`] has the parts of writers.
//! [`fields`] finds the fields of a table, and what the tags of its unions select, for those that traverse tables by
//! the schema.
//!
//! An offset of zero and one that points outside the bytes count as absent; only [`verify`] reports them. No input is
//! trusted, no access panics, and work is proportional to the size of the file: the [`Budget`] stops tables that share
//! the same bytes many times.

pub mod read;
pub mod unknown;
pub mod verify;
pub mod view;
pub mod walk;
pub mod write;

use std::cell::Cell;

use super::table::{Field, Kind, TableSchema};
use crate::format::words::words;

/// Returns the `N` bytes at an offset.
#[inline(always)]
pub fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Returns the `u16` at an offset.
#[inline(always)]
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

/// Returns the `u32` at an offset.
#[inline(always)]
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

/// Returns the little-endian number of up to eight bytes.
#[inline(always)]
pub fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Returns the target of the relative offset at `at`; `None` for an offset of zero and for a target with fewer than
/// four bytes.
#[inline(always)]
pub fn follow(bytes: &[u8], at: usize) -> Option<usize> {
    let offset = u32_at(bytes, at)? as usize;
    at.checked_add(offset).filter(|target| offset != 0 && target.checked_add(4).is_some_and(|end| end <= bytes.len()))
}

/// A vtable with the sizes in its first two words.
#[derive(Debug, Clone, Copy)]
pub struct Vtable {
    /// Offset in the FlatBuffer.
    pub at: usize,
    /// Size in bytes.
    pub size: usize,
    /// Size of its tables in bytes.
    pub inline: usize,
}

impl Vtable {
    /// Returns the vtable of the table at an offset; `None` if it is outside the bytes.
    #[inline(always)]
    pub fn of(bytes: &[u8], table: usize) -> Option<Vtable> {
        let back = i64::from(u32_at(bytes, table)? as i32);
        let at = usize::try_from(i64::try_from(table).ok()?.checked_sub(back)?).ok()?;
        let inline = u16_at(bytes, at.checked_add(2)?)?;
        Some(Vtable { at, size: u16_at(bytes, at)?.into(), inline: inline.into() })
    }

    /// Returns the offset of the entry of a slot; `None` if the vtable ends before it.
    #[inline(always)]
    pub fn entry(&self, slot: usize) -> Option<usize> {
        let entry = 4 + 2 * slot;
        (entry + 2 <= self.size).then_some(self.at + entry)
    }

    /// Returns the offset of a field from the start of its table; `None` if the field is absent.
    #[inline(always)]
    pub fn offset(&self, bytes: &[u8], slot: usize) -> Option<usize> {
        let offset = u16_at(bytes, self.entry(slot)?)?;
        (offset != 0).then_some(offset.into())
    }

    /// Returns the entries of all slots, as far as they are inside the bytes.
    #[inline(always)]
    pub fn entries<'b>(&self, bytes: &'b [u8]) -> &'b [[u8; 2]] {
        let end = self.at.saturating_add(self.size).min(bytes.len());
        bytes.get(self.at + 4..end).unwrap_or_default().as_chunks().0
    }
}

/// Where the fields of a table end whose sizes are unknown: at the next field, or at the end of the table.
#[derive(Debug, Clone, Default)]
pub struct FieldEnds(Vec<u16>);

impl FieldEnds {
    /// Of the offsets in a vtable, and the size of the table.
    pub fn of(entries: impl Iterator<Item = u16>, size: u16) -> FieldEnds {
        let mut ends: Vec<u16> = entries.filter(|entry| *entry > 0).chain([size]).collect();
        ends.sort_unstable();
        FieldEnds(ends)
    }

    /// Returns the end of the field at an offset; `None` if the field is beyond the end of the table, and the last one.
    pub fn after(&self, offset: u16) -> Option<u16> {
        self.0.get(self.0.partition_point(|end| *end <= offset)).copied()
    }
}

/// A field that is present in a table.
#[derive(Debug, Clone, Copy)]
pub struct TableField {
    /// Slot.
    pub slot: usize,
    /// Name and type.
    pub field: &'static Field,
    /// Offset from the start of the table; it may be less than 4, or outside the bytes.
    pub offset: usize,
    /// Content.
    pub content: SlotContent,
    /// Of a tag and of its union: the tag, 0 if it is absent or outside the bytes.
    tag: u8,
}

impl TableField {
    /// Returns the type of the object that it refers to; `None` for a number, and for a union without a known member.
    #[inline(always)]
    pub fn object(&self) -> Option<ObjectKind> {
        match self.content {
            SlotContent::Scalar(_) => None,
            SlotContent::Object(object) => Some(object),
            SlotContent::Union(members) => member(members, self.tag).map(ObjectKind::Table),
        }
    }

    /// Of a union with a member that the schema does not have: its tag, and the number of members in the schema.
    #[inline(always)]
    pub fn unknown_member(&self) -> Option<(u8, usize)> {
        let SlotContent::Union(members) = self.content else { return None };
        (usize::from(self.tag) > members.len()).then_some((self.tag, members.len()))
    }
}

/// Returns the fields of the schema that the table at an offset has, by the entries of its vtable. Every traversal
/// takes fields and tags of unions from here.
#[inline(always)]
pub fn fields<'b>(
    bytes: &'b [u8],
    table: usize,
    entries: &'b [[u8; 2]],
    schema: &'static TableSchema,
) -> impl Iterator<Item = TableField> + 'b {
    let mut tag = 0;
    schema.fields.iter().zip(entries).enumerate().filter_map(move |(slot, (field, entry))| {
        let offset = usize::from(u16::from_le_bytes(*entry));
        if let Kind::UnionTag = field.kind {
            tag = if offset == 0 { 0 } else { bytes.get(table + offset).copied().unwrap_or(0) };
        }
        (offset != 0).then(|| TableField { slot, field, offset, content: SlotContent::of(field.kind), tag })
    })
}

/// Limit on the work of traversing a FlatBuffer, in bytes, proportional to its size.
#[derive(Debug)]
pub struct Budget {
    left: Cell<u64>,
    all: u64,
}

impl Budget {
    /// Returns the budget of a FlatBuffer of `len` bytes, which is `8 * len`. A FlatBuffer without overlaps needs less
    /// than half of it.
    pub fn of(len: usize) -> Budget {
        let all = 8 * len as u64 + 65536;
        Budget { left: Cell::new(all), all }
    }

    /// Subtracts `cost`; returns `false` and subtracts nothing if less is left.
    #[inline(always)]
    pub fn spend(&self, cost: u64) -> bool {
        match self.left.get().checked_sub(cost) {
            Some(left) => {
                self.left.set(left);
                true
            }
            None => false,
        }
    }

    /// Sets the budget to zero.
    pub fn exhaust(&self) {
        self.left.set(0);
    }

    /// Returns the remaining budget.
    pub fn left(&self) -> u64 {
        self.left.get()
    }

    /// Returns the budget spent so far.
    pub fn spent(&self) -> u64 {
        self.all - self.left.get()
    }
}

words! {
    /// The type of a number in a table or in a vector.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Scalar {
        /// One byte, 0 or 1.
        Bool "bool",
        /// `u8`
        U8 "u8",
        /// `i8`
        I8 "i8",
        /// `u16`
        U16 "u16",
        /// `i16`
        I16 "i16",
        /// `i32`
        I32 "i32",
        /// `u32`
        U32 "u32",
        /// `i64`
        I64 "i64",
        /// `u64`
        U64 "u64",
        /// `f32`
        F32 "f32",
        /// `f64`
        F64 "f64",
    } fn name;
}

impl Scalar {
    /// Size in bytes.
    pub fn size(self) -> usize {
        match self {
            Scalar::Bool | Scalar::U8 | Scalar::I8 => 1,
            Scalar::U16 | Scalar::I16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        }
    }
}

/// Type of an object that an offset refers to.
#[derive(Debug, Clone, Copy)]
pub enum ObjectKind {
    /// A vtable, with the type of the first table that refers to it.
    Vtable(&'static TableSchema),
    /// A table of the given schema.
    Table(&'static TableSchema),
    /// A vector of offsets to tables.
    Tables(&'static TableSchema),
    /// A vector of numbers.
    Scalars(Scalar),
    /// A string, which should be UTF-8.
    Text,
}

/// Content of a slot.
#[derive(Debug, Clone, Copy)]
pub enum SlotContent {
    /// A number in the table itself.
    Scalar(Scalar),
    /// An offset to an object.
    Object(ObjectKind),
    /// An offset to the table that the union's tag, in the previous slot, selects.
    Union(&'static [&'static TableSchema]),
}

impl SlotContent {
    /// Returns the content of a slot of this kind.
    #[inline(always)]
    pub fn of(kind: Kind) -> SlotContent {
        use ObjectKind::{Scalars, Tables, Text};
        match kind {
            Kind::Bool => SlotContent::Scalar(Scalar::Bool),
            Kind::Byte | Kind::Enum(_) => SlotContent::Scalar(Scalar::I8),
            Kind::UnionTag => SlotContent::Scalar(Scalar::U8),
            Kind::Short => SlotContent::Scalar(Scalar::I16),
            Kind::Int => SlotContent::Scalar(Scalar::I32),
            Kind::UInt => SlotContent::Scalar(Scalar::U32),
            Kind::Long => SlotContent::Scalar(Scalar::I64),
            Kind::ULong => SlotContent::Scalar(Scalar::U64),
            Kind::Float => SlotContent::Scalar(Scalar::F32),
            Kind::Double => SlotContent::Scalar(Scalar::F64),
            Kind::Union(members) => SlotContent::Union(members),
            Kind::Text => SlotContent::Object(Text),
            Kind::Table(table) => SlotContent::Object(ObjectKind::Table(table)),
            Kind::Tables(table) => SlotContent::Object(Tables(table)),
            Kind::Bytes | Kind::AlignedBytes(_) => SlotContent::Object(Scalars(Scalar::U8)),
            Kind::Bools => SlotContent::Object(Scalars(Scalar::Bool)),
            Kind::UShorts => SlotContent::Object(Scalars(Scalar::U16)),
            Kind::Ints => SlotContent::Object(Scalars(Scalar::I32)),
            Kind::UInts => SlotContent::Object(Scalars(Scalar::U32)),
            Kind::Longs => SlotContent::Object(Scalars(Scalar::I64)),
            Kind::ULongs => SlotContent::Object(Scalars(Scalar::U64)),
            Kind::Floats => SlotContent::Object(Scalars(Scalar::F32)),
            Kind::Doubles => SlotContent::Object(Scalars(Scalar::F64)),
        }
    }

    /// Size in the table, in bytes.
    #[inline(always)]
    pub fn size(self) -> usize {
        match self {
            SlotContent::Scalar(scalar) => scalar.size(),
            SlotContent::Object(_) | SlotContent::Union(_) => 4,
        }
    }
}

impl ObjectKind {
    /// Size of an item of a vector, in bytes; 1 for objects that are not vectors.
    #[inline(always)]
    pub fn item_size(self) -> usize {
        match self {
            ObjectKind::Tables(_) => 4,
            ObjectKind::Scalars(scalar) => scalar.size(),
            ObjectKind::Text | ObjectKind::Table(_) | ObjectKind::Vtable(_) => 1,
        }
    }
}

/// Returns the member of a union that a tag selects.
#[inline(always)]
pub fn member(members: &[&'static TableSchema], tag: u8) -> Option<&'static TableSchema> {
    members.get(usize::from(tag).checked_sub(1)?).copied()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::format::program;

    /// Builds a FlatBuffer with the identifier `TEST`: a vtable with its two sizes and these entries, a root table with
    /// its offset to the vtable and these bytes, and the rest. The table is at [`table_at`].
    pub(crate) fn buffer(entries: &[u16], fields: &[u8], rest: &[u8]) -> Vec<u8> {
        let (size, at) = (4 + 2 * entries.len(), table_at(entries.len()));
        let mut bytes = (at as u32).to_le_bytes().to_vec();
        bytes.extend(b"TEST");
        bytes.resize(at - size, 0);
        for word in [size as u16, 4 + fields.len() as u16].iter().chain(entries) {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend((size as u32).to_le_bytes());
        bytes.extend(fields);
        bytes.extend(rest);
        bytes
    }

    /// Offset of the table of [`buffer`]: a multiple of 8.
    pub(crate) fn table_at(entries: usize) -> usize {
        (8 + 4 + 2 * entries).next_multiple_of(8)
    }

    #[test]
    fn an_offset_leads_to_four_bytes_inside() {
        let offset = |offset: u32| follow(&[&offset.to_le_bytes()[..], &[0; 8]].concat(), 0);
        assert_eq!([0, 4, 8, 9, u32::MAX].map(offset), [None, Some(4), Some(8), None, None]);
        assert_eq!(follow(&[1, 0, 0], 0), None);
        assert_eq!(follow(&[0; 8], usize::MAX), None);
    }

    #[test]
    fn numbers_beyond_the_end_are_absent() {
        let bytes = [1, 2, 3, 4, 5];
        assert_eq!((u32_at(&bytes, 1), u32_at(&bytes, 2)), (Some(0x0504_0302), None));
        assert_eq!((u16_at(&bytes, 3), u16_at(&bytes, 4), u16_at(&bytes, usize::MAX)), (Some(0x0504), None, None));
    }

    #[test]
    fn a_vtable_may_be_before_or_behind_its_table() {
        let bytes = buffer(&[4], &[7, 0, 0, 0], &[]);
        let at = table_at(1);
        let vtable = Vtable::of(&bytes, at).unwrap();
        assert_eq!((vtable.at, vtable.size, vtable.inline), (at - 6, 6, 8));
        // A table at 0 whose vtable is at 4.
        let behind = [&(-4i32).to_le_bytes()[..], &[6, 0, 8, 0, 4, 0]].concat();
        assert_eq!(Vtable::of(&behind, 0).map(|vtable| vtable.at), Some(4));
    }

    #[test]
    fn a_vtable_outside_of_the_bytes_is_absent() {
        for back in [1, i32::MAX, i32::MIN, -4, -5] {
            let bytes = [&back.to_le_bytes()[..], &[0, 0]].concat();
            assert!(Vtable::of(&bytes, 0).is_none(), "{back}");
        }
    }

    #[test]
    fn a_field_is_absent_if_the_vtable_ends_before_it_or_has_a_zero() {
        let bytes = buffer(&[0, 4], &[7, 0, 0, 0], &[]);
        let vtable = Vtable::of(&bytes, table_at(2)).unwrap();
        assert_eq!([0, 1, 2, usize::MAX / 4].map(|slot| vtable.offset(&bytes, slot)), [None, Some(4), None, None]);
    }

    #[test]
    fn a_budget_is_spent_as_far_as_it_reaches() {
        let budget = Budget::of(10);
        let all = budget.left();
        assert!(budget.spend(all - 1));
        assert!(!budget.spend(2));
        assert_eq!((budget.left(), budget.spent()), (1, all - 1));
        budget.exhaust();
        assert!(!budget.spend(1) && budget.spend(0));
    }

    #[test]
    fn a_tag_selects_the_member_counted_from_1() {
        let name = |tag| member(program::KERNEL_TYPES, tag).map(|table| table.name);
        assert_eq!([0, 1, 11, 12, 255].map(name), [None, Some("Null"), Some("OptionalTensorList"), None, None]);
    }

    #[test]
    fn a_union_has_the_member_of_its_tag_and_absent_fields_are_left_out() {
        let found = |entries: &[u16], tag: u8| {
            let bytes = buffer(entries, &[tag, 0, 0, 0, 8, 0, 0, 0], &[]);
            let at = table_at(entries.len());
            let entries = Vtable::of(&bytes, at).unwrap().entries(&bytes);
            let of = |field: TableField| {
                let name = match field.object() {
                    Some(ObjectKind::Table(table)) => table.name,
                    _ => "",
                };
                (field.slot, field.offset, name, field.unknown_member())
            };
            fields(&bytes, at, entries, &program::EVALUE).map(of).collect::<Vec<_>>()
        };
        assert_eq!(found(&[4, 8], 2), [(0, 4, "", None), (1, 8, "Int", None)]);
        assert_eq!(found(&[4, 8], 12), [(0, 4, "", None), (1, 8, "", Some((12, 11)))]);
        // Without a tag, with one outside the bytes, and with a slot beyond the schema.
        assert_eq!(found(&[0, 8], 2), [(1, 8, "", None)]);
        assert_eq!(found(&[400, 8], 2), [(0, 400, "", None), (1, 8, "", None)]);
        assert_eq!(found(&[4, 0, 8], 2), [(0, 4, "", None)]);
    }

    #[test]
    fn entries_end_with_the_bytes() {
        let entries = |bytes: &[u8]| Vtable::of(bytes, 0).unwrap().entries(bytes).len();
        // A table at 0 with its vtable at 4: sizes of 10 and 4, then two entries and a half.
        let bytes = [0xfc, 0xff, 0xff, 0xff, 10, 0, 4, 0, 1, 0, 2, 0, 3];
        assert_eq!([8, 9, 10, 13].map(|len| entries(&bytes[..len])), [0, 0, 1, 2]);
    }

    #[test]
    fn a_slot_takes_the_bytes_of_its_kind() {
        let width = |kind| SlotContent::of(kind).size();
        let kinds =
            [Kind::Bool, Kind::UnionTag, Kind::Short, Kind::UInt, Kind::Text, Kind::Longs, Kind::Long, Kind::Double];
        assert_eq!(kinds.map(width), [1, 1, 2, 4, 4, 4, 8, 8]);
    }
}
