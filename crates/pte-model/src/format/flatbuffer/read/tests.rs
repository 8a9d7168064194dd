//! Tests hostile bytes: all values of vtables, offsets and counts. The buffers are written by hand; a root table of the
//! schema's table `KernelCall` has an Int in slot 0 and a vector of Ints in slot 1.

use super::{Buffer, Result, TableRef};
use crate::format::TableSchema;
use crate::format::flatbuffer::tests::{buffer, table_at};
use crate::format::program::*;

/// Reads something from a root table.
fn read<T>(
    bytes: &[u8],
    table: &'static TableSchema,
    read: impl Fn(TableRef<'_, '_>) -> Result<T>,
) -> std::result::Result<T, String> {
    let buffer = Buffer::new(bytes);
    buffer.root("TEST", table).and_then(read).map_err(|error| error.field.clone())
}

fn int(bytes: &[u8]) -> std::result::Result<i32, String> {
    read(bytes, &KERNEL_CALL, |t| t.i32(0))
}

fn ints(bytes: &[u8]) -> std::result::Result<Option<Vec<i32>>, String> {
    read(bytes, &KERNEL_CALL, |t| t.i32s(1))
}

/// A table with a vector in slot 1, of these words with its length.
fn with_vector(offset: u32, words: &[u32]) -> Vec<u8> {
    let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    buffer(&[0, 4], &offset.to_le_bytes(), &words)
}

/// A table with a string in slot 0 of these bytes, terminator included, and this length.
fn with_text(len: u32, bytes: &[u8]) -> Vec<u8> {
    buffer(&[4], &4u32.to_le_bytes(), &[&len.to_le_bytes()[..], bytes].concat())
}

fn text(bytes: &[u8]) -> std::result::Result<Option<String>, String> {
    read(bytes, &OPERATOR, |t| t.text(0))
}

// ------------------------------------------------------------------------------------------------------------------
// root

#[test]
fn another_identifier_is_an_error() {
    let mut bytes = buffer(&[4], &[7, 0, 0, 0], &[]);
    assert_eq!(int(&bytes), Ok(7));
    bytes[4] = b't';
    assert!(int(&bytes).is_err());
}

#[test]
fn a_root_offset_must_lead_to_a_table() {
    for root in [0, 1, 1000, u32::MAX] {
        let mut bytes = buffer(&[4], &[7, 0, 0, 0], &[]);
        bytes[..4].copy_from_slice(&root.to_le_bytes());
        assert!(int(&bytes).is_err(), "{root}");
    }
}

#[test]
fn no_cut_makes_it_panic() {
    let bytes = with_vector(4, &[2, 5, 6]);
    assert_eq!(ints(&bytes), Ok(Some(vec![5, 6])));
    for len in 0..bytes.len() {
        assert!(ints(&bytes[..len]).is_err(), "{len}");
    }
}

#[test]
fn a_vtable_must_be_inside_at_an_even_place() {
    let at = table_at(1);
    for back in [at as i32 + 2, -1000, 5, i32::MIN, i32::MAX] {
        let mut bytes = buffer(&[4], &[7, 0, 0, 0], &[]);
        bytes[at..at + 4].copy_from_slice(&back.to_le_bytes());
        assert!(int(&bytes).is_err(), "{back}");
    }
}

#[test]
fn a_vtable_must_have_an_even_size_of_4_or_more_bytes() {
    let at = table_at(1) - 6;
    for size in [0, 2, 3, 7, 1000, u16::MAX] {
        let mut bytes = buffer(&[4], &[7, 0, 0, 0], &[]);
        bytes[at..at + 2].copy_from_slice(&size.to_le_bytes());
        assert!(int(&bytes).is_err(), "{size}");
    }
}

// ----------------------------------------------------------------------------------------------------------------
// fields

#[test]
fn an_absent_number_is_0() {
    assert_eq!(int(&buffer(&[0], &[7, 0, 0, 0], &[])), Ok(0));
    assert_eq!(int(&buffer(&[], &[7, 0, 0, 0], &[])), Ok(0));
}

#[test]
fn a_field_must_not_be_on_the_head_of_its_table() {
    for offset in [1, 2, 3] {
        assert_eq!(int(&buffer(&[offset], &[7, 0, 0, 0], &[])), Err("KernelCall.op_index".into()), "{offset}");
    }
}

#[test]
fn a_field_beyond_the_end_is_an_error() {
    assert_eq!(int(&buffer(&[5], &[7, 0, 0, 0], &[])), Err("KernelCall.op_index".into()));
    assert_eq!(int(&buffer(&[u16::MAX], &[7, 0, 0, 0], &[])), Err("KernelCall.op_index".into()));
}

#[test]
fn numbers_have_their_sign_and_width() {
    let bytes = buffer(&[4], &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], &[]);
    assert_eq!(read(&bytes, &INT, |t| t.i8(0)), Ok(-2));
    assert_eq!(read(&bytes, &INT, |t| t.u8(0)), Ok(254));
    assert_eq!(read(&bytes, &INT, |t| t.i16(0)), Ok(-2));
    assert_eq!(read(&bytes, &INT, |t| t.u32(0)), Ok(u32::MAX - 1));
    assert_eq!(read(&bytes, &INT, |t| t.i64(0)), Ok(i64::MAX - 1));
}

#[test]
fn a_bool_is_0_or_1() {
    let bool = |byte: u8| read(&buffer(&[4], &[byte], &[]), &BOOL, |t| t.bool(0));
    assert_eq!([bool(0), bool(1)], [Ok(false), Ok(true)]);
    assert_eq!(bool(2), Err("Bool.bool_val".into()));
}

// ---------------------------------------------------------------------------------------------------------------
// vectors

#[test]
fn an_absent_vector_is_not_an_empty_one() {
    assert_eq!(ints(&buffer(&[0, 0], &[], &[])), Ok(None));
    assert_eq!(ints(&with_vector(4, &[0])), Ok(Some(vec![])));
}

#[test]
fn a_null_offset_is_absent() {
    assert_eq!(ints(&with_vector(0, &[0])), Ok(None));
    assert_eq!(read(&with_vector(0, &[0]), &OPERATOR, |t| t.text(1)), Ok(None));
    assert!(matches!(read(&with_vector(0, &[0]), &EVALUE, |t| Ok(t.child(1, &INT)?.is_none())), Ok(true)));
}

#[test]
fn an_offset_beyond_the_end_is_an_error() {
    for offset in [8, 9, 1 << 31, u32::MAX] {
        assert_eq!(ints(&with_vector(offset, &[0])), Err("KernelCall.args".into()), "{offset}");
    }
}

#[test]
fn a_vector_must_end_inside() {
    for count in [2, 1 << 30, u32::MAX] {
        assert_eq!(ints(&with_vector(4, &[count, 5])), Err("KernelCall.args".into()), "{count}");
    }
    assert_eq!(ints(&with_vector(4, &[1, 5])), Ok(Some(vec![5])));
}

#[test]
fn bools_of_a_vector_are_0_or_1() {
    let bools = |items: [u8; 2]| {
        let bytes = buffer(&[4], &4u32.to_le_bytes(), &[&2u32.to_le_bytes()[..], &items].concat());
        read(&bytes, &BOOL_LIST, |t| t.bools(0))
    };
    assert_eq!(bools([1, 0]), Ok(Some(vec![true, false])));
    assert_eq!(bools([1, 2]), Err("BoolList.items".into()));
}

#[test]
fn a_range_of_bytes_is_where_its_first_byte_is() {
    let bytes = with_text(3, b"abc\0");
    let start = bytes.len() as u64 - 4;
    assert_eq!(read(&bytes, &OPERATOR, |t| t.range(0)), Ok(Some((start, 3))));
}

// ---------------------------------------------------------------------------------------------------------------
// strings

#[test]
fn a_string_needs_a_zero_byte_behind_it() {
    assert_eq!(text(&with_text(3, b"abc\0")), Ok(Some("abc".into())));
    assert_eq!(text(&with_text(3, b"abcd")), Err("Operator.name".into()));
    assert_eq!(text(&with_text(3, b"abc")), Err("Operator.name".into()));
}

#[test]
fn a_string_is_utf_8_and_may_have_a_zero_inside() {
    assert_eq!(text(&with_text(2, b"\xc3\xa4\0")), Ok(Some("ä".into())));
    assert_eq!(text(&with_text(2, b"a\xff\0")), Err("Operator.name".into()));
    assert_eq!(text(&with_text(3, b"a\0b\0")), Ok(Some("a\0b".into())));
}

// ----------------------------------------------------------------------------------------------------------------
// unions

/// A union in slots 0 and 1, whose value is an empty table if `offset` is 4.
fn with_union(tag: u8, offset: u32) -> Vec<u8> {
    let fields = [&offset.to_le_bytes()[..], &[tag, 0, 0, 0]].concat();
    let target = [4u16, 4, 4, 0].map(u16::to_le_bytes).concat();
    buffer(&[8, 4], &fields, &target)
}

fn tag_of_member(bytes: &[u8]) -> std::result::Result<(u8, bool), String> {
    read(bytes, &EVALUE, |t| t.tagged(0, 1, KERNEL_TYPES, "kind").map(|(tag, table)| (tag, table.is_some())))
}

#[test]
fn a_union_has_a_known_tag_and_may_lack_its_value() {
    // Between the offset field and the table are 8 bytes of fields and a vtable of 4 bytes.
    assert_eq!(tag_of_member(&with_union(1, 12)), Ok((1, true)));
    assert_eq!(tag_of_member(&with_union(11, 0)), Ok((11, false)));
    assert_eq!(tag_of_member(&with_union(0, 12)), Err("EValue.val_type".into()));
    assert_eq!(tag_of_member(&with_union(12, 12)), Err("EValue.val_type".into()));
}

// ----------------------------------------------------------------------------------------------------------------
// budget

/// A table with a vector of `count` offsets to one table.
fn repeated(count: u32) -> Vec<u8> {
    let mut rest = count.to_le_bytes().to_vec();
    for index in 0..count {
        rest.extend((4 * (count - index) + 4).to_le_bytes());
    }
    rest.extend([4u16, 4, 4, 0].map(u16::to_le_bytes).concat());
    buffer(&[4], &4u32.to_le_bytes(), &rest)
}

#[test]
fn a_table_may_be_referred_to_again_but_not_without_end() {
    let count = |bytes: &[u8]| read(bytes, &PROGRAM, |t| Ok(t.children(0, &NULL, |_| Ok(()))?.unwrap().len()));
    assert_eq!(count(&repeated(1000)), Ok(1000));
    // Each costs 32 + 4 of 32 for its offset; 65536 bytes are given.
    assert!(count(&repeated(20_000)).is_err());
}

#[test]
fn what_other_readers_spent_counts() {
    let bytes = buffer(&[4], &[7, 0, 0, 0], &[]);
    let buffer = Buffer::new(&bytes);
    let all = buffer.left();
    assert!(buffer.settle(all).is_ok());
    assert_eq!((buffer.left(), buffer.spent()), (0, all));
    assert!(buffer.root("TEST", &KERNEL_CALL).is_err());
    assert!(buffer.settle(1).is_err());
}

#[test]
fn items_are_read_in_runs() {
    let bytes = repeated(5);
    let buffer = Buffer::new(&bytes);
    let tables = buffer.root("TEST", &PROGRAM).unwrap().tables(0, &NULL).unwrap().unwrap();
    let mut room = [0; 2];
    let mut made = 0;
    buffer
        .fill(&tables, 3, &mut room, |_| {
            made += 1;
            Ok(made)
        })
        .unwrap();
    assert_eq!((tables.len, room), (5, [1, 2]));
    assert!(buffer.fill(&tables, 5, &mut room, |_| Ok(0)).is_err());
}
