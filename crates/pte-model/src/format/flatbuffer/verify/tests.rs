//! One malformed buffer for each rule of the verifier; the root is a table `KernelCall` unless another is named.

use std::fmt;

use super::{Defect, DefectSink, verify};
use crate::format::flatbuffer::tests::{buffer, table_at};
use crate::format::path::Trail;
use crate::format::program::*;
use crate::format::{Field, Kind, TableSchema};

#[derive(Default)]
struct Rules(Vec<String>);

impl DefectSink for Rules {
    fn add(&mut self, defect: Defect, _: &Trail<'_>, at: usize, _: fmt::Arguments<'_>, _: fmt::Arguments<'_>) {
        self.0.push(format!("{defect:?} {at}"));
    }
}

/// Returns the violated rules with the offsets of the violations.
fn found(bytes: &[u8], root: &'static TableSchema) -> Vec<String> {
    found_around(bytes, root, 0..0)
}

fn found_around(bytes: &[u8], root: &'static TableSchema, header: std::ops::Range<usize>) -> Vec<String> {
    let mut rules = Rules::default();
    verify(bytes, root, header, &mut rules);
    rules.0
}

/// A table with an Int of 7 in slot 0 and an empty vector in slot 1; with `change` at an offset of 16 bits.
fn changed(at: usize, change: u16) -> Vec<u8> {
    let mut bytes = buffer(&[4, 8], &[7, 0, 0, 0, 4, 0, 0, 0], &[0; 4]);
    bytes[at..at + 2].copy_from_slice(&change.to_le_bytes());
    bytes
}

const TABLE: usize = 16;
const VTABLE: usize = TABLE - 8;

fn rule(at: usize, change: u16) -> Vec<String> {
    found(&changed(at, change), &KERNEL_CALL)
}

#[test]
fn a_well_formed_buffer_breaks_no_rule() {
    assert_eq!(table_at(2), TABLE);
    assert!(rule(TABLE + 4, 8).is_empty());
}

#[test]
fn fewer_than_12_bytes_are_no_buffer() {
    assert_eq!(found(&[0; 11], &KERNEL_CALL), ["BufferSize 0"]);
}

#[test]
fn the_root_offset_leads_to_a_multiple_of_4_inside() {
    for root in [0, 18, 1000] {
        assert_eq!(rule(0, root), ["RootOffset 0"], "{root}");
    }
    assert_eq!(rule(2, 0x8000), ["RootOffset 0"]);
}

#[test]
fn a_vtable_is_inside_at_an_even_place_with_an_even_size() {
    assert_eq!(rule(TABLE, 9), ["TablePosition 16"]);
    assert_eq!(rule(TABLE, 18), ["TablePosition 16"]);
    assert_eq!(rule(VTABLE, 7), ["TablePosition 16"]);
    assert_eq!(rule(VTABLE, 100), ["TablePosition 16"]);
}

#[test]
fn a_vtable_has_its_two_sizes() {
    assert_eq!(rule(VTABLE, 2), ["VtableSize 8"]);
}

#[test]
fn a_field_is_behind_the_offset_of_the_vtable() {
    assert_eq!(rule(VTABLE + 4, 2), ["FieldStart 12", "FieldPosition 18"]);
}

#[test]
fn the_size_of_a_table_is_only_a_note() {
    assert_eq!(rule(VTABLE + 2, 100), ["TableSize 10"]);
    assert_eq!(rule(VTABLE + 2, 3), ["TableSize 10"]);
    assert_eq!(rule(VTABLE + 4, 12), ["TableSize 10"]);
}

#[test]
fn a_number_is_at_a_multiple_of_its_width() {
    assert_eq!(rule(VTABLE + 4, 6), ["FieldPosition 22"]);
}

#[test]
fn an_offset_leads_to_a_multiple_of_4_inside() {
    for offset in [0, 6, 8] {
        assert_eq!(rule(TABLE + 8, offset), ["FieldOffset 24"], "{offset}");
    }
}

#[test]
fn a_vector_ends_inside() {
    assert_eq!(rule(TABLE + 12, 1), ["VectorSize 28"]);
}

#[test]
fn a_string_ends_with_a_zero_byte_and_is_utf_8_without_one() {
    let text = |bytes: &[u8]| {
        let len = bytes.len() as u32 - 1;
        found(&buffer(&[4], &4u32.to_le_bytes(), &[&len.to_le_bytes()[..], bytes].concat()), &OPERATOR)
    };
    // The first byte is at 28: table at 16, offset at 20, length at 24.
    assert!(text(b"abc\0").is_empty());
    assert_eq!(text(b"abcd"), ["Terminator 31"]);
    assert_eq!(text(b"a\xffc\0"), ["Utf8 29"]);
    assert_eq!(text(b"ab\0\0"), ["ZeroByte 30"]);
}

#[test]
fn bools_are_0_or_1() {
    assert_eq!(found(&buffer(&[4], &[2], &[]), &BOOL), ["Bool 20"]);
    let list = buffer(&[4], &4u32.to_le_bytes(), &[2, 0, 0, 0, 1, 9]);
    assert_eq!(found(&list, &BOOL_LIST), ["Bool 29"]);
}

#[test]
fn items_of_8_bytes_are_at_a_multiple_of_8() {
    let list = |padding: usize| {
        let rest = [vec![0; padding], vec![1, 0, 0, 0], vec![0; 8]].concat();
        found(&buffer(&[4], &(4 + padding as u32).to_le_bytes(), &rest), &INT_LIST)
    };
    // The items begin at 28 and at 32.
    assert_eq!(list(0), ["LongAlignment 28"]);
    assert!(list(4).is_empty());
}

#[test]
fn inline_data_are_at_a_multiple_of_their_alignment() {
    let rest = [&[1, 0, 0, 0][..], &[9]].concat();
    assert_eq!(found(&buffer(&[4], &4u32.to_le_bytes(), &rest), &BUFFER), ["BytesAlignment 28"]);
}

#[test]
fn an_item_of_a_vector_of_tables_leads_inside() {
    let rest = [&[1, 0, 0, 0][..], &100u32.to_le_bytes()].concat();
    assert_eq!(found(&buffer(&[4], &4u32.to_le_bytes(), &rest), &FRAME_LIST), ["ItemOffset 28"]);
}

#[test]
fn what_an_unknown_tag_selects_is_not_followed() {
    let union = |tag: u8| found(&buffer(&[4, 8], &[tag, 0, 0, 0, 255, 0, 0, 0], &[]), &EVALUE);
    assert_eq!(union(2), ["FieldOffset 24"]);
    assert!(union(0).is_empty());
    // It is reported as a part of a newer schema.
    assert_eq!(union(12), ["UnknownPart 24"]);
}

#[test]
fn nothing_is_inside_the_header() {
    let bytes = changed(0, 16);
    assert_eq!(found_around(&bytes, &KERNEL_CALL, 8..12), ["HeaderOverlap 8"]);
    assert_eq!(found_around(&bytes, &KERNEL_CALL, 28..32), ["HeaderOverlap 28"]);
    assert!(found_around(&bytes, &KERNEL_CALL, 32..40).is_empty());
}

#[test]
fn tables_that_are_referred_to_again_and_again_are_reported_once() {
    // 2000 offsets to one table with 1008 bytes: far more than eight times the size of the buffer. With one of the
    // lengths, the last table takes exactly the rest of the budget.
    let count = 2000u32;
    let mut rest = count.to_le_bytes().to_vec();
    for index in 0..count {
        rest.extend((4 * (count - index) + 8).to_le_bytes());
    }
    rest.extend([6u16, 8, 4, 0].map(u16::to_le_bytes).concat());
    rest.extend([8u32, 4, 1008].map(u32::to_le_bytes).concat());
    rest.extend([0; 1008]);
    let mut bytes = buffer(&[4], &4u32.to_le_bytes(), &rest);
    for _ in 0..1024 / 8 {
        bytes.push(0);
        let rules = found(&bytes, &LIST);
        assert_eq!(rules.len(), 1, "{} bytes", bytes.len());
        assert!(rules[0].starts_with("SharedBytes "), "{rules:?}");
    }
}

/// A vector of tables with bytes each.
static LIST: TableSchema = TableSchema { name: "List", fields: &[Field { name: "items", kind: Kind::Tables(&ITEM) }] };

static ITEM: TableSchema = TableSchema { name: "Item", fields: &[Field { name: "bytes", kind: Kind::Bytes }] };
