//! Tests the two orders of writing, and the layout of tables and vectors (docs/format.md, "FlatBuffer write order"). A
//! builder fills its memory from the end, so that the object that is written first has the highest offset.

use super::{FieldValue, FlatBuffer, Writer};
use crate::emitter::encoding::{FieldEncoding, FieldEncodings};
use crate::layout::Strings;
use pte_model::format::flatbuffer::{Vtable, follow, u32_at, view};
use pte_model::format::program::*;
use pte_model::format::serializer::Serializer::{self, Exir, Flatc};

fn writer(serializer: Serializer) -> Writer<'static> {
    Writer::new(serializer, Strings::Separate, None)
}

/// A buffer whose root is one table of these slots, which `children` writes.
fn one(serializer: Serializer, children: impl Fn(&mut Writer<'_>) -> Vec<(u16, FieldValue)>) -> FlatBuffer {
    let mut w = writer(serializer);
    let slots = children(&mut w);
    let root = w.table(&TENSOR, &slots);
    w.finish(root, "TEST", "the test").unwrap()
}

fn root(bytes: &[u8]) -> view::Table<'_> {
    view::Table::root(bytes).unwrap()
}

/// Offsets of fields of the root table, from its start.
fn offsets<const N: usize>(bytes: &[u8], slots: [u16; N]) -> [usize; N] {
    let table = root(bytes);
    slots.map(|slot| table.offset(slot).unwrap() - table.at)
}

/// Offset of the object that a field of the root table refers to.
fn target(bytes: &[u8], slot: u16) -> usize {
    follow(bytes, root(bytes).offset(slot).unwrap()).unwrap()
}

const SCALARS: [(u16, FieldValue); 5] = [
    (0, FieldValue::Byte(1)),
    (1, FieldValue::Int(2)),
    (2, FieldValue::Long(3)),
    (4, FieldValue::Byte(4)),
    (5, FieldValue::UInt(5)),
];

#[test]
fn exir_writes_fields_by_ascending_slot() {
    // From the end of the table of 32 bytes: 1 byte, int and long each aligned to its width, 1 byte, int.
    let buffer = one(Exir, |_| SCALARS.to_vec());
    let [byte, int, long, byte2, uint] = offsets(&buffer, [0, 1, 2, 4, 5]);
    assert!(byte > int && int > long && long > byte2 && byte2 > uint, "{:?}", [byte, int, long, byte2, uint]);
}

#[test]
fn flatc_writes_fields_by_width_and_within_a_width_by_descending_slot() {
    let buffer = one(Flatc, |_| SCALARS.to_vec());
    let [byte, int, long, byte2, uint] = offsets(&buffer, [0, 1, 2, 4, 5]);
    assert!(long > uint && uint > int && int > byte2 && byte2 > byte, "{:?}", [byte, int, long, byte2, uint]);
    // 4 bytes of the table itself, 2 bytes, 2 bytes of padding, 4 + 4, 8.
    assert_eq!(Vtable::of(&buffer, root(&buffer).at).unwrap().inline, 24);
}

#[test]
fn flatc_counts_offsets_as_4_bytes() {
    let buffer = one(Flatc, |w| {
        let sizes = w.vector(&[1i32]);
        vec![(0, FieldValue::Byte(1)), (1, FieldValue::Int(2)), (2, sizes), (5, FieldValue::UInt(5))]
    });
    let [byte, int, child, uint] = offsets(&buffer, [0, 1, 2, 5]);
    assert!(uint > child && child > int && int > byte, "{:?}", [byte, int, child, uint]);
}

#[test]
fn numbers_equal_to_their_default_are_left_out() {
    // W-14, also -0.0.
    for serializer in [Exir, Flatc] {
        let buffer = one(serializer, |_| {
            vec![
                (0, FieldValue::Byte(0)),
                (1, FieldValue::Int(0)),
                (2, FieldValue::Double(-0.0)),
                (3, FieldValue::Long(0)),
                (5, FieldValue::UInt(9)),
            ]
        });
        let table = root(&buffer);
        assert_eq!([0, 1, 2, 3, 5].map(|slot| table.has(slot)), [false, false, false, false, true]);
        assert_eq!(table.u32(5), 9);
    }
}

#[test]
fn nan_is_no_default_and_keeps_its_bits() {
    // W-16
    let bits = 0x7ff8_0000_0000_0001;
    let buffer = one(Exir, |_| vec![(2, FieldValue::Double(f64::from_bits(bits)))]);
    assert_eq!(root(&buffer).u64(2), bits);
}

#[test]
fn a_vtable_ends_with_the_last_present_field() {
    let buffer = one(Exir, |_| vec![(1, FieldValue::Int(1)), (5, FieldValue::UInt(0))]);
    // Two sizes and the entries of slots 0 and 1.
    assert_eq!(Vtable::of(&buffer, root(&buffer).at).unwrap().size, 8);
}

#[test]
fn a_vtable_is_directly_before_its_table_and_equal_ones_are_written_once() {
    let mut w = writer(Exir);
    let operators: Vec<_> =
        (0..3).map(|index| w.table(&MOVE_CALL, &[(0, FieldValue::Int(index + 1)), (1, FieldValue::Int(1))])).collect();
    let list = w.vector(&operators);
    let root_table = w.table(&CHAIN, &[(chain::instructions, list)]);
    let buffer = w.finish(root_table, "TEST", "the test").unwrap();
    let tables: Vec<usize> = root(&buffer).tables(chain::instructions).unwrap().iter().map(|table| table.at).collect();
    let vtables: Vec<usize> = tables.iter().map(|at| Vtable::of(&buffer, *at).unwrap().at).collect();
    assert_eq!(vtables, [vtables[0]; 3]);
    // It belongs to the table that was written first, which is stored last.
    assert_eq!(tables[0], vtables[0] + Vtable::of(&buffer, tables[0]).unwrap().size);
    assert!(tables[0] > tables[1] && tables[1] > tables[2]);
}

// ---------------------------------------------------------------------------------------------------------------
// vectors

#[test]
fn an_absent_vector_and_an_empty_one_differ() {
    for serializer in [Exir, Flatc] {
        let buffer = one(serializer, |w| vec![(2, w.vector::<i32>(&[])), (3, FieldValue::Child(None))]);
        assert_eq!(root(&buffer).i32s(2).map(|items| items.len()), Some(0));
        assert!(!root(&buffer).has(3));
    }
}

/// Number of bytes between the lengths of an empty vector of `i32` and of an empty vector of `u64` that is written
/// after it.
fn between_empty_vectors(serializer: Serializer) -> usize {
    let buffer = one(serializer, |w| vec![(2, w.vector::<i32>(&[])), (3, w.vector::<u64>(&[]))]);
    target(&buffer, 2) - target(&buffer, 3)
}

#[test]
fn exir_aligns_an_empty_vector_as_its_items_and_flatc_as_its_length() {
    assert_eq!(between_empty_vectors(Exir), 8);
    assert_eq!(between_empty_vectors(Flatc), 4);
}

#[test]
fn items_of_8_bytes_are_aligned_and_so_is_the_buffer() {
    for serializer in [Exir, Flatc] {
        let buffer = one(serializer, |w| vec![(2, w.vector(&[1i32])), (3, w.vector(&[7u64, 8]))]);
        assert_eq!(((target(&buffer, 3) + 4) % 8, buffer.len() % 8), (0, 0));
        assert_eq!(root(&buffer).u64s(3).unwrap().iter().collect::<Vec<_>>(), [7, 8]);
    }
}

#[test]
fn aligned_bytes_start_at_a_multiple_of_their_alignment() {
    let bytes: Vec<u8> = (0..1000u32).map(|n| n as u8).collect();
    for alignment in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536] {
        let buffer = one(Exir, |w| vec![(2, w.string("x")), (3, w.aligned_bytes(&bytes, alignment))]);
        let found = root(&buffer).u8s(3).unwrap();
        assert_eq!((found.at as u64 % alignment, buffer.len() as u64 % alignment), (0, 0), "{alignment}");
        assert!(found.iter().eq(bytes.iter().copied()), "{alignment}");
    }
}

#[test]
fn blocks_and_single_bytes_are_in_the_order_of_the_source() {
    // 255 to 257 and 512 are around the size of a block.
    for len in [0, 1, 255, 256, 257, 512, 600] {
        let bytes: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
        let buffer = one(Exir, |w| vec![(3, w.aligned_bytes(&bytes, 16))]);
        assert!(root(&buffer).u8s(3).unwrap().iter().eq(bytes.iter().copied()), "{len}");
    }
}

#[test]
fn an_empty_vector_of_aligned_bytes_aligns_the_buffer_of_exir_only() {
    let len = |serializer| one(serializer, |w| vec![(3, w.aligned_bytes(&[], 64))]).len();
    assert_eq!(len(Exir) % 64, 0);
    // Root offset, identifier, vtable of 12 bytes, table of 8, length.
    assert_eq!(len(Flatc), 32);
}

// ---------------------------------------------------------------------------------------------------------------
// strings

#[test]
fn a_string_ends_with_a_zero_byte_that_its_length_does_not_count() {
    let buffer = one(Exir, |w| vec![(2, w.string("abcd"))]);
    let at = target(&buffer, 2);
    assert_eq!((u32_at(&buffer, at), &buffer[at + 4..at + 9]), (Some(4), &b"abcd\0"[..]));
}

#[test]
fn equal_strings_are_written_each_time_unless_they_are_shared() {
    let targets = |strings| {
        let mut w = Writer::new(Exir, strings, None);
        let slots = [(0, w.string("same")), (1, w.string("same"))];
        let operator = w.table(&OPERATOR, &slots);
        let buffer = w.finish(operator, "TEST", "the test").unwrap();
        (target(&buffer, 0), target(&buffer, 1))
    };
    let (first, second) = targets(Strings::Separate);
    assert!(first > second);
    let (first, second) = targets(Strings::Shared);
    assert_eq!(first, second);
}

#[test]
fn an_absent_string_is_left_out() {
    let buffer = one(Exir, |w| vec![(2, FieldValue::Child(None)), (3, w.string(""))]);
    assert_eq!((root(&buffer).text(2), root(&buffer).text(3)), (None, Some(&b""[..])));
}

#[test]
fn the_identifier_is_at_byte_4() {
    let buffer = one(Exir, |_| Vec::new());
    assert_eq!(&buffer[4..8], b"TEST");
}

// ------------------------------------------------------------------------------------------------------- field
// encodings

/// A table with an `op_index` of 7 and no `args`, with one field encoded otherwise.
fn encoded(slot: u16, encoding: FieldEncoding) -> FlatBuffer {
    let mut encodings = FieldEncodings::default();
    encodings.add(1, slot, encoding);
    let mut w = Writer::new(Exir, Strings::Separate, Some(&encodings));
    w.table(&FREE_CALL, &[]);
    let call = w.table(&KERNEL_CALL, &[(kernel_call::op_index, FieldValue::Int(7))]);
    w.finish(call, "TEST", "the test").unwrap()
}

#[test]
fn a_field_can_be_left_out() {
    assert!(!root(&encoded(kernel_call::op_index, FieldEncoding::Absent)).has(kernel_call::op_index));
}

#[test]
fn a_vector_can_be_a_null_offset() {
    let buffer = encoded(kernel_call::args, FieldEncoding::Null);
    assert_eq!(u32_at(&buffer, root(&buffer).offset(kernel_call::args).unwrap()), Some(0));
    assert_eq!(root(&buffer).i32(kernel_call::op_index), 7);
}

#[test]
fn an_absent_vector_can_be_an_empty_one() {
    let buffer = encoded(kernel_call::args, FieldEncoding::Empty);
    assert_eq!(root(&buffer).i32s(kernel_call::args).map(|items| items.len()), Some(0));
}

#[test]
fn a_present_number_keeps_its_value_and_a_default_one_is_written() {
    assert_eq!(root(&encoded(kernel_call::op_index, FieldEncoding::Present)).i32(kernel_call::op_index), 7);
    let mut encodings = FieldEncodings::default();
    encodings.add(0, kernel_call::op_index, FieldEncoding::Present);
    let mut w = Writer::new(Flatc, Strings::Separate, Some(&encodings));
    let call = w.table(&KERNEL_CALL, &[(kernel_call::op_index, FieldValue::Int(0))]);
    let buffer = w.finish(call, "TEST", "the test").unwrap();
    assert!(root(&buffer).has(kernel_call::op_index));
    assert_eq!(root(&buffer).i32(kernel_call::op_index), 0);
}

#[test]
fn with_encodings_the_tables_are_recorded_in_the_order_of_writing() {
    let buffer = encoded(kernel_call::op_index, FieldEncoding::Present);
    assert_eq!(buffer.tables.len(), 2);
    assert_eq!(buffer.len() - buffer.tables[1] as usize, root(&buffer).at);
    assert!(one(Exir, |_| Vec::new()).tables.is_empty());
}
