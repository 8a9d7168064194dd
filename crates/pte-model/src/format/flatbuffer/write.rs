//! Parts of FlatBuffer writers, on top of the `flatbuffers` crate: values of fields, the order of slots, vectors with
//! an alignment.
//!
//! The writer of ExecuTorch files is in `pte-emit`, that of XNNPACK graphs in `pte-xnnpack`.

use std::cmp::Reverse;

use flatbuffers::{FlatBufferBuilder, Push, PushAlignment, UnionWIPOffset, WIPOffset};

use crate::format::serializer::{EmptyVector, SlotOrder};

/// Offset of a written table, string or vector.
pub type Offset = WIPOffset<UnionWIPOffset>;

/// Value of a field.
#[derive(Clone, Copy)]
pub enum FieldValue {
    /// One byte: bool, `i8`, `u8`.
    Byte(u8),
    /// `i16`
    Short(i16),
    /// `i32`
    Int(i32),
    /// `u32`
    UInt(u32),
    /// `f32`
    Float(f32),
    /// `i64`
    Long(i64),
    /// `u64`
    ULong(u64),
    /// `f64`
    Double(f64),
    /// A child; `None` omits the field.
    Child(Option<Offset>),
}

impl FieldValue {
    /// Returns true for a scalar equal to its default, which is zero in all schemas; -0.0 equals 0.0.
    pub fn is_left_out(self) -> bool {
        match self {
            FieldValue::Byte(b) => b == 0,
            FieldValue::Short(n) => n == 0,
            FieldValue::Int(n) => n == 0,
            FieldValue::UInt(n) => n == 0,
            FieldValue::Float(x) => x == 0.0,
            FieldValue::Long(n) => n == 0,
            FieldValue::ULong(n) => n == 0,
            FieldValue::Double(x) => x == 0.0,
            FieldValue::Child(child) => child.is_none(),
        }
    }

    /// Returns a number of 1, 2, 4 or 8 bytes.
    pub fn of_bits(bits: u64, size: usize) -> FieldValue {
        match size {
            1 => FieldValue::Byte(bits as u8),
            2 => FieldValue::Short(bits as i16),
            4 => FieldValue::UInt(bits as u32),
            _ => FieldValue::ULong(bits),
        }
    }

    /// Returns the bytes in the table; zeros for a child.
    pub fn to_bytes(self) -> Vec<u8> {
        match self {
            FieldValue::Byte(b) => vec![b],
            FieldValue::Short(n) => n.to_le_bytes().to_vec(),
            FieldValue::Int(n) => n.to_le_bytes().to_vec(),
            FieldValue::UInt(n) => n.to_le_bytes().to_vec(),
            FieldValue::Float(x) => x.to_le_bytes().to_vec(),
            FieldValue::Long(n) => n.to_le_bytes().to_vec(),
            FieldValue::ULong(n) => n.to_le_bytes().to_vec(),
            FieldValue::Double(x) => x.to_le_bytes().to_vec(),
            FieldValue::Child(_) => vec![0; 4],
        }
    }

    /// Size in the table, in bytes.
    pub fn size(self) -> u8 {
        match self {
            FieldValue::Byte(_) => 1,
            FieldValue::Short(_) => 2,
            FieldValue::Int(_) | FieldValue::UInt(_) | FieldValue::Float(_) | FieldValue::Child(_) => 4,
            FieldValue::Long(_) | FieldValue::ULong(_) | FieldValue::Double(_) => 8,
        }
    }

    /// Writes the value and returns its offset from the end.
    ///
    /// # Panics
    /// An absent child.
    pub fn push(self, builder: &mut FlatBufferBuilder<'_>) -> u32 {
        match self {
            FieldValue::Byte(b) => builder.push(b).value(),
            FieldValue::Short(n) => builder.push(n).value(),
            FieldValue::Int(n) => builder.push(n).value(),
            FieldValue::UInt(n) => builder.push(n).value(),
            FieldValue::Float(x) => builder.push(x).value(),
            FieldValue::Long(n) => builder.push(n).value(),
            FieldValue::ULong(n) => builder.push(n).value(),
            FieldValue::Double(x) => builder.push(x).value(),
            FieldValue::Child(child) => builder.push(child.expect("absent children are left out")).value(),
        }
    }

    /// Writes the value in the table that is being written.
    ///
    /// # Panics
    /// An absent child.
    pub fn push_slot(self, slot: u16, builder: &mut FlatBufferBuilder<'_>) {
        let at = 4 + 2 * slot;
        match self {
            FieldValue::Byte(b) => builder.push_slot_always(at, b),
            FieldValue::Short(n) => builder.push_slot_always(at, n),
            FieldValue::Int(n) => builder.push_slot_always(at, n),
            FieldValue::UInt(n) => builder.push_slot_always(at, n),
            FieldValue::Float(x) => builder.push_slot_always(at, x),
            FieldValue::Long(n) => builder.push_slot_always(at, n),
            FieldValue::ULong(n) => builder.push_slot_always(at, n),
            FieldValue::Double(x) => builder.push_slot_always(at, x),
            FieldValue::Child(child) => builder.push_slot_always(at, child.expect("absent children are left out")),
        }
    }
}

/// Writes a table with the slots that `is_written` accepts, which must ascend.
pub fn table(
    builder: &mut FlatBufferBuilder<'_>,
    order: SlotOrder,
    slots: &[(u16, FieldValue)],
    is_written: impl Fn(&(u16, FieldValue)) -> bool,
) -> Offset {
    let start = builder.start_table();
    match order {
        SlotOrder::Ascending => {
            slots.iter().filter(|slot| is_written(slot)).for_each(|(slot, value)| value.push_slot(*slot, builder));
        }
        SlotOrder::BySize => {
            for size in [8, 4, 2, 1] {
                let of_size = slots.iter().rev().filter(|(_, value)| value.size() == size);
                of_size.filter(|slot| is_written(slot)).for_each(|(slot, value)| value.push_slot(*slot, builder));
            }
        }
    }
    WIPOffset::new(builder.end_table(start).value())
}

/// Sorts slots, which ascend, in the order of writing.
pub fn sort(order: SlotOrder, slots: &mut [(u16, FieldValue)]) {
    match order {
        SlotOrder::Ascending => {}
        SlotOrder::BySize => slots.sort_by_key(|(slot, value)| Reverse((value.size(), *slot))),
    }
}

/// Writes bytes without alignment.
pub fn raw(builder: &mut FlatBufferBuilder<'_>, bytes: &[u8]) {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    rest.iter().rev().for_each(|byte| _ = builder.push(*byte));
    blocks.iter().rev().for_each(|block| _ = builder.push(ByteBlock(block)));
}

/// Writes a vector of numbers or offsets.
pub fn vector<T: Push<Output: 'static> + Copy>(
    builder: &mut FlatBufferBuilder<'_>,
    empty: EmptyVector,
    items: &[T],
) -> Offset {
    if items.is_empty() && empty == EmptyVector::LengthOnly {
        return bare_length(builder);
    }
    WIPOffset::new(builder.create_vector(items).value())
}

/// Writes a vector of bytes that starts at a multiple of `ALIGNMENT`.
pub fn bytes<const ALIGNMENT: usize>(builder: &mut FlatBufferBuilder<'_>, bytes: &[u8]) -> Offset {
    counted_bytes::<ALIGNMENT>(builder, bytes, bytes.len())
}

/// Writes a vector of `count` items, whose bytes start at a multiple of the alignment.
///
/// # Panics
/// An alignment that is not a power of two of at most 256.
pub fn items(builder: &mut FlatBufferBuilder<'_>, bytes: &[u8], count: usize, alignment: usize) -> Offset {
    match alignment {
        1 | 2 | 4 => counted_bytes::<4>(builder, bytes, count),
        8 => counted_bytes::<8>(builder, bytes, count),
        16 => counted_bytes::<16>(builder, bytes, count),
        32 => counted_bytes::<32>(builder, bytes, count),
        64 => counted_bytes::<64>(builder, bytes, count),
        128 => counted_bytes::<128>(builder, bytes, count),
        256 => counted_bytes::<256>(builder, bytes, count),
        _ => panic!("an alignment of {alignment}"),
    }
}

fn counted_bytes<const ALIGNMENT: usize>(builder: &mut FlatBufferBuilder<'_>, bytes: &[u8], count: usize) -> Offset {
    // The crate derives the alignment of a vector from the item type. The bytes are pushed in blocks, the last one
    // first; pushing them one by one takes twenty times as long.
    builder.start_vector::<Aligned<ALIGNMENT>>(bytes.len());
    raw(builder, bytes);
    WIPOffset::new(builder.end_vector::<Aligned<ALIGNMENT>>(count).value())
}

/// Writes the bytes of a struct, aligned; returns its offset from the end.
pub fn inline(builder: &mut FlatBufferBuilder<'_>, bytes: &[u8], alignment: usize) -> u32 {
    let end = builder.unfinished_data().len() + bytes.len();
    (end..end.next_multiple_of(alignment)).for_each(|_| _ = builder.push(0u8));
    raw(builder, bytes);
    builder.unfinished_data().len() as u32
}

/// Writes a struct in the table that is being written.
///
/// # Panics
/// As [`items`].
pub fn structure(builder: &mut FlatBufferBuilder<'_>, slot: u16, bytes: &[u8], alignment: usize) {
    inline(builder, bytes, alignment);
    let at = 4 + 2 * slot;
    match alignment {
        1 => builder.push_slot_always(at, Mark::<1>),
        2 => builder.push_slot_always(at, Mark::<2>),
        4 => builder.push_slot_always(at, Mark::<4>),
        8 => builder.push_slot_always(at, Mark::<8>),
        16 => builder.push_slot_always(at, Mark::<16>),
        32 => builder.push_slot_always(at, Mark::<32>),
        64 => builder.push_slot_always(at, Mark::<64>),
        128 => builder.push_slot_always(at, Mark::<128>),
        256 => builder.push_slot_always(at, Mark::<256>),
        _ => panic!("an alignment of {alignment}"),
    }
}

/// Writes an empty vector like flatc: only the length, without the alignment of items.
pub fn bare_length(builder: &mut FlatBufferBuilder<'_>) -> Offset {
    WIPOffset::new(builder.push(0u32).value())
}

/// Item type of one byte with an alignment. It is never pushed.
struct Aligned<const ALIGNMENT: usize>;

/// Start of a struct that was written, with its alignment.
struct Mark<const ALIGNMENT: usize>;

/// Block of bytes that is pushed at once.
struct ByteBlock<'a>(&'a [u8; BLOCK]);

const BLOCK: usize = 256;

// The crate declares `Push::push` unsafe because it may be called on any `dst`; ours only copy slices of checked
// length.
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
impl<const ALIGNMENT: usize> Push for Mark<ALIGNMENT> {
    type Output = ();
    unsafe fn push(&self, _: &mut [u8], _: usize) {}
    fn size() -> usize {
        0
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
