use super::*;
use crate::format::flatbuffer::tests::{buffer, table_at};
use crate::format::program::{FRAME_LIST, OPERATOR, PROGRAM};
use crate::format::unknown::SlotBytes;
use crate::format::{Field, Kind};

/// A table with one number.
static ONE: TableSchema = TableSchema { name: "One", fields: &[Field { name: "a", kind: Kind::Int }] };

/// Finds the unknown parts of a table of [`ONE`] whose slot 1 has this word, followed by these bytes.
fn with_word(word: u32, rest: &[u8]) -> UnknownParts {
    let fields = [1u32.to_le_bytes(), word.to_le_bytes()].concat();
    find(&buffer(&[4, 8], &fields, rest), &ONE, 8).unwrap()
}

#[test]
fn a_file_of_the_schema_has_none() {
    assert_eq!(find(crate::LINEAR_PTE, &PROGRAM, 40), Some(UnknownParts::default()));
}

#[test]
fn a_number_is_kept_without_the_known_fields() {
    let parts = with_word(7, &[]);
    let UnknownTable { path, name, object } = &parts.tables[0];
    assert_eq!((path.len(), *name, &object.vtable[..], parts.is_fixed), (0, "One", &[12, 4, 8][..], false));
    assert_eq!((&object.bytes[..], object.end), (&[0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0][..], 12));
    assert_eq!(parts.tables[0].slots(&ONE), [(1, SlotBytes::Inline(&[7]))]);
    assert!(parts.objects.is_empty());
}

#[test]
fn a_string_is_an_object() {
    let parts = with_word(4, b"\x03\0\0\0abc\0");
    assert_eq!((&parts.tables[0].object.references[..], parts.is_fixed), (&[(8, 0)][..], false));
    assert_eq!((&parts.objects[0].bytes[..], parts.objects[0].end), (&b"\x03\0\0\0abc\0"[..], 8));
}

#[test]
fn a_vector_has_the_bytes_up_to_its_end() {
    let numbers = [3u32, 9, 9, 9].map(u32::to_le_bytes).concat();
    let parts = with_word(4, &numbers);
    assert_eq!((parts.objects.len(), &parts.objects[0].bytes, parts.is_fixed), (1, &numbers, false));
}

#[test]
fn a_table_refers_to_later_objects() {
    // A vtable at 28, a table at 36 with a number and an offset to a string at 48.
    let table = [&[8u16, 12, 4, 8].map(u16::to_le_bytes).concat()[..], &[8u32, 5, 4].map(u32::to_le_bytes).concat()];
    let parts = with_word(12, &[&table.concat()[..], b"\x02\0\0\0hi\0\0"].concat());
    assert_eq!((parts.objects.len(), parts.is_fixed), (2, false));
    let [text, table] = &parts.objects[..] else { unreachable!() };
    assert_eq!((&text.bytes[..], &table.vtable[..]), (&b"\x02\0\0\0hi\0"[..], &[12, 4, 8][..]));
    assert_eq!((&table.bytes[..], &table.references[..]), (&[0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0][..], &[(8, 0)][..]));
}

#[test]
fn a_word_that_may_be_an_offset_fixes_the_parts() {
    // The word of slot 2 of an operator leads to the string of slot 0, or is a number.
    let fields = [8u32, 4].map(u32::to_le_bytes).concat();
    let parts = find(&buffer(&[4, 0, 8], &fields, b"\x03\0\0\0abc\0"), &OPERATOR, 8).unwrap();
    assert!(parts.is_fixed && parts.objects.is_empty() && parts.tables[0].object.references.is_empty());
    assert_eq!(parts.root_end, 20);
}

#[test]
fn bytes_without_a_reference_fix_the_parts() {
    assert!(with_word(7, &[0, 0, 0, 1]).is_fixed);
    assert!(!with_word(7, &[0, 0, 0, 0]).is_fixed);
}

#[test]
fn an_empty_vector_may_be_padding() {
    assert!(with_word(4, &[0, 0, 0, 0]).is_fixed);
}

#[test]
fn deep_tables_end_the_search() {
    let count = 1000u32;
    // Tables of 8 bytes, each with an offset to the next one, and their vtable after the last.
    let mut rest = Vec::new();
    for table in 0..count {
        rest.extend((-(8 * (count - table) as i32)).to_le_bytes());
        rest.extend(4u32.to_le_bytes());
    }
    rest.extend([6u16, 8, 4, 0].map(u16::to_le_bytes).concat());
    let parts = with_word(4, &rest);
    assert!(parts.is_fixed && parts.objects.len() <= MAX_DEPTH as usize, "{}", parts.objects.len());
}

#[test]
fn tables_that_share_bytes_are_not_copied_each() {
    let count = 20_000u32;
    // Frames four bytes apart, each with 60,000 bytes and slot 5 in them. Each table refers to a vtable of its own
    // distance.
    let mut rest = count.to_le_bytes().to_vec();
    (0..count).for_each(|_| rest.extend((4 * count).to_le_bytes()));
    let first = table_at(1) + 8 + rest.len();
    let vtable = first + 4 * count as usize + 60_000;
    for table in 0..count as usize {
        rest.extend((first as i32 + 4 * table as i32 - vtable as i32).to_le_bytes());
    }
    rest.resize(rest.len() + 60_000, 0);
    rest.extend([16u16, 60_000, 0, 0, 0, 0, 0, 4].map(u16::to_le_bytes).concat());
    let bytes = buffer(&[4], &4u32.to_le_bytes(), &rest);
    assert_eq!(find(&bytes, &FRAME_LIST, 8), None);
}

#[test]
fn tables_that_share_a_long_vtable_are_not_copied_each() {
    let tables = |count: u32| {
        // Frames of 8 bytes, and a vtable after them with 32,000 slots at byte 4.
        let mut rest = count.to_le_bytes().to_vec();
        (0..count).for_each(|table| rest.extend((4 * count + 4 * table).to_le_bytes()));
        (0..count).for_each(|table| rest.extend([8 * (table as i32 - count as i32), 7].map(i32::to_le_bytes).concat()));
        rest.extend([64_004u16, 8, 0, 0, 0].map(u16::to_le_bytes).concat());
        (3..32_000).for_each(|_| rest.extend(4u16.to_le_bytes()));
        find(&buffer(&[4], &4u32.to_le_bytes(), &rest), &FRAME_LIST, 8)
    };
    assert_eq!(tables(5).map(|parts| parts.tables.len()), Some(5));
    assert_eq!(tables(2000), None);
}
