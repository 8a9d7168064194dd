//! ETDumps that no runtime writes: each is an error with the location, the value found and the value expected.

use flatbuffers::{FlatBufferBuilder, TableFinishedWIPOffset, WIPOffset};
use pte_etdump::{EtDump, Event, IDENTIFIER, InstructionIndex, TracedValue};

type Builder<'b> = FlatBufferBuilder<'b>;
type Table = WIPOffset<TableFinishedWIPOffset>;

/// Offset in a vtable of a slot.
const fn slot(slot: u16) -> u16 {
    4 + 2 * slot
}

/// Builds a table with these offsets by slot.
fn table(builder: &mut Builder<'_>, fields: &[(u16, Table)]) -> Table {
    let start = builder.start_table();
    fields.iter().for_each(|(at, field)| builder.push_slot_always(slot(*at), *field));
    builder.end_table(start)
}

/// Builds a dump with one block of these events.
fn dump(build: impl FnOnce(&mut Builder<'_>) -> Vec<Table>) -> Vec<u8> {
    let mut builder = Builder::new();
    let events = build(&mut builder);
    let events = builder.create_vector(&events);
    let start = builder.start_table();
    builder.push_slot_always(slot(3), events);
    let run = builder.end_table(start);
    let runs = builder.create_vector(&[run]);
    let start = builder.start_table();
    builder.push_slot_always(slot(1), runs);
    let root = builder.end_table(start);
    builder.finish(root, Some(IDENTIFIER));
    builder.finished_data().to_vec()
}

/// An event with this value.
fn debug(builder: &mut Builder<'_>, value: Table) -> Table {
    let event = table(builder, &[(2, value)]);
    table(builder, &[(2, event)])
}

/// A value of this type without content.
fn value(builder: &mut Builder<'_>, kind: i8) -> Table {
    let start = builder.start_table();
    builder.push_slot_always(slot(0), kind);
    builder.end_table(start)
}

/// A dump of a tensor.
fn tensor(scalar_type: i8, sizes: &[i64], strides: &[i64]) -> Vec<u8> {
    dump(|builder| {
        let (sizes, strides) = (builder.create_vector(sizes), builder.create_vector(strides));
        let start = builder.start_table();
        builder.push_slot_always(slot(0), scalar_type);
        builder.push_slot_always(slot(1), sizes);
        builder.push_slot_always(slot(2), strides);
        let tensor = builder.end_table(start);
        let start = builder.start_table();
        builder.push_slot_always(slot(0), 5i8);
        builder.push_slot_always(slot(1), tensor);
        let value = builder.end_table(start);
        vec![debug(builder, value)]
    })
}

#[track_caller]
fn is_error(bytes: &[u8], expected: &str) {
    let error = EtDump::read(bytes).unwrap_err().to_string();
    assert!(error.starts_with(expected) && error.contains(" (at byte 0x"), "{error}");
}

#[test]
fn events_have_one_content() {
    let none = |builder: &mut Builder<'_>| vec![table(builder, &[])];
    is_error(&dump(none), "Event.profile_event: an event with 0 of its three fields, expected one");
    let two = |builder: &mut Builder<'_>| {
        let inner = table(builder, &[]);
        vec![table(builder, &[(0, inner), (1, inner)])]
    };
    is_error(&dump(two), "Event.profile_event: an event with 2 of its three fields, expected one");
    let empty = |builder: &mut Builder<'_>| {
        let inner = table(builder, &[]);
        vec![table(builder, &[(2, inner)])]
    };
    is_error(&dump(empty), "DebugEvent.debug_entry: no value, expected one");
}

#[test]
fn indices_are_numbers_from_0_on() {
    let profile = |chain: i32, instruction: Option<i32>| {
        dump(|builder| {
            let start = builder.start_table();
            builder.push_slot_always(slot(1), chain);
            instruction.iter().for_each(|number| builder.push_slot_always(slot(2), *number));
            let event = builder.end_table(start);
            vec![table(builder, &[(0, event)])]
        })
    };
    is_error(&profile(-2, None), "ProfileEvent.chain_index: found -2, expected -1 or the index of a chain");
    is_error(&profile(0, Some(-7)), "ProfileEvent.instruction_id: found -7, expected -1 or a number from 0 on");
    let found = |bytes: &[u8]| match &EtDump::read(bytes).unwrap().runs[0].events[0] {
        Event::Profile(event) => event.instruction,
        other => panic!("{other:?}"),
    };
    // An absent index is -1, and so is an instruction outside of all chains.
    assert_eq!([profile(0, None), profile(-1, Some(3))].map(|bytes| found(&bytes)), [None, None]);
    assert_eq!(found(&profile(1, Some(3))), Some(InstructionIndex { chain: 1, instruction: 3 }));
}

#[test]
fn values_have_the_content_of_their_type() {
    let of = |kind: i8| {
        dump(|builder| {
            let value = value(builder, kind);
            vec![debug(builder, value)]
        })
    };
    for (kind, field) in [
        (1, "int_value"),
        (2, "bool_value"),
        (3, "float_value"),
        (4, "double_value"),
        (5, "tensor"),
        (6, "tensor_list"),
    ] {
        is_error(&of(kind), &format!("Value.{field}: no content of a value of type {kind}"));
    }
    is_error(&of(8), "Value.val: unknown type 8 of a value, expected 0 to 7");
    is_error(&of(-1), "Value.val: unknown type -1 of a value");
    for kind in [0, 7] {
        let dump = EtDump::read(&of(kind)).unwrap();
        assert_eq!(dump.runs[0].outputs(), [&TracedValue::Null]);
    }
}

#[test]
fn tensors_fill_their_memory() {
    is_error(&tensor(99, &[2], &[1]), "Tensor.sizes: unknown element type 99");
    is_error(&tensor(6, &[2], &[]), "Tensor.sizes: 1 sizes and 0 strides");
    is_error(&tensor(6, &[-2], &[1]), "Tensor.sizes: a negative size or stride");
    is_error(&tensor(6, &[1 << 62, 4], &[4, 1]), "Tensor.sizes: a tensor of sizes");
    is_error(&tensor(6, &[2, 3], &[1, 1]), "Tensor.sizes: strides [1, 1] of a tensor of sizes [2, 3]");
    is_error(&tensor(6, &[2, 3], &[4, 1]), "Tensor.sizes: strides [4, 1]");
    is_error(&tensor(6, &[2], &[0]), "Tensor.sizes: strides [0]");
    // Any order of dimensions, any stride of a dimension of one element or without elements, a number.
    for (sizes, strides) in [(&[2, 3][..], &[1, 2][..]), (&[1, 3], &[77, 1]), (&[0, 3], &[9, 9]), (&[], &[])] {
        assert!(EtDump::read(&tensor(6, sizes, strides)).is_ok(), "{sizes:?} {strides:?}");
    }
}

/// Many events that are the same table take more memory than the file: they exhaust the budget.
#[test]
fn shared_tables_are_limited() {
    let shared = |count: usize| {
        dump(|builder| {
            let inner = table(builder, &[]);
            let event = table(builder, &[(0, inner)]);
            vec![event; count]
        })
    };
    assert_eq!(EtDump::read(&shared(100)).unwrap().runs[0].events.len(), 100);
    let error = EtDump::read(&shared(1_000_000)).unwrap_err().to_string();
    assert!(error.contains("the tables of the file share too many bytes"), "{error}");
}
