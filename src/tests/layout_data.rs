//! Numbers of constants and states, sharing, order and offsets of the segments (W-1 to W-12, E-17 to E-20).

use super::resolve::{assembled, errors, forward};
use crate::layout::{DelegateData, Plan, Storage};

fn placed(yaml: &str) -> Plan {
    assembled(yaml).plan
}

/// The plan of a method with these values, all of them outputs.
fn of_values(values: &str, layout: &str) -> Plan {
    let names: Vec<&str> = values.lines().map(|line| line.trim().split(':').next().unwrap()).collect();
    let values = values.trim().lines().collect::<Vec<_>>().join(", ");
    placed(&format!(
        "{}layout: {{{layout}}}\n",
        forward(&format!("values: {{{values}}}, outputs: [{}]", names.join(", ")))
    ))
}

const DELEGATE: &str = "instructions: [{delegate: 0, args: []}]";

fn segment(index: u32) -> DelegateData {
    DelegateData { storage: Storage::Segment, index }
}

fn inline(index: u32) -> DelegateData {
    DelegateData { storage: Storage::Inline, index }
}

// -------------------------------------------------------------------------------------------------------------
// constants

#[test]
fn constants_are_numbered_from_1_and_equal_bytes_have_one_number() {
    // E-17: whatever their type and sizes; -0.0 has other bytes than 0.
    let plan = of_values(
        "a: {tensor: float32, data: [0, 0]}
        b: {tensor: float32, data: [1]}
        c: {tensor: int64, data: [0]}
        d: {tensor: float32, data: [-0.0, -0.0]}",
        "",
    );
    assert_eq!(plan.buffer_index, [[1, 2, 1, 3]]);
    assert_eq!(plan.shared_bytes, 8);
}

#[test]
fn constants_are_numbered_over_all_methods() {
    let plan = placed(
        "methods:
  f: {values: {a: {tensor: int8, data: [1]}}, outputs: [a]}
  g: {values: {b: {tensor: int8, data: [2]}, c: {tensor: int8, data: [1]}}, outputs: [b, c]}\n",
    );
    assert_eq!(plan.buffer_index, [vec![1], vec![2, 1]]);
}

#[test]
fn constants_start_at_multiples_of_the_tensor_alignment() {
    // W-9: the placeholder and the first constant have offset 0, the last is not padded.
    let values = "a: {tensor: int8, data: [1, 2, 3]}
        b: {tensor: int8, data: [4]}
        c: {tensor: int8, data: [5, 6]}";
    let plan = of_values(values, "");
    assert_eq!((plan.constant_offsets, plan.segments[0].size), (vec![0, 0, 16, 32], 34));
    let plan = of_values(values, "tensor_alignment: 64");
    assert_eq!((plan.constant_offsets, plan.segments[0].size), (vec![0, 0, 64, 128], 130));
}

#[test]
fn a_constant_without_bytes_has_a_number() {
    // E-17
    let plan = of_values("a: {tensor: int8, sizes: [0], data: []}\nb: {tensor: int8, data: [1]}", "");
    assert_eq!((plan.buffer_index, plan.constant_offsets), (vec![vec![1, 2]], vec![0, 0, 0]));
}

#[test]
fn copies_of_constants_are_stored_separately() {
    let plan = of_values(
        "a: {tensor: int8, data: [1]}
        b: {tensor: int8, sizes: [1], data: {fill: 1, copy: 1}}
        c: {tensor: int8, sizes: [1], data: {fill: 1, copy: 1}}",
        "",
    );
    assert_eq!(plan.buffer_index, [[1, 2, 2]]);
}

#[test]
fn the_segment_of_the_constants_is_there_without_constants() {
    // W-1, W-2
    let plan = placed(&forward("outputs: [1]"));
    assert_eq!((plan.segments.len(), plan.segments[0].size, plan.constant_offsets), (1, 0, vec![0]));
}

#[test]
fn inline_constants_are_in_a_list_whose_first_entry_is_empty() {
    let plan = of_values("a: {tensor: int8, data: [1]}\nb: {tensor: int8, data: [2]}", "constants: inline");
    assert_eq!(plan.constant_buffer.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!((plan.buffer_index, plan.segments.len(), plan.constant_offsets), (vec![vec![1, 2]], 0, vec![]));
}

// ----------------------------------------------------------------------------------------------------------------
// states

#[test]
fn states_have_a_table_of_their_own_and_are_not_aligned() {
    // E-18, W-10: the state `s` is not shared with the constant of equal bytes.
    let plan = of_values(
        "a: {tensor: int8, data: [1, 2, 3]}
        s: {tensor: int8, data: [1, 2, 3], mutable: true}
        t: {tensor: int8, data: [4], mutable: true}
        u: {tensor: int8, data: [1, 2, 3], mutable: true}",
        "",
    );
    assert_eq!(plan.buffer_index, [[1, 1, 2, 1]]);
    assert_eq!(plan.mutable_data, Some((1, vec![0, 0, 3])));
    assert_eq!(plan.segments[1].size, 4);
}

#[test]
fn equal_states_with_names_are_stored_separately() {
    // E-18
    let plan = of_values(
        "s: {tensor: int8, data: [1], mutable: true, name: s}
        t: {tensor: int8, data: [1], mutable: true, name: t}",
        "",
    );
    assert_eq!((plan.buffer_index, plan.mutable_data), (vec![vec![1, 2]], Some((1, vec![0, 0, 1]))));
}

#[test]
fn states_without_bytes_have_no_segment() {
    // W-10
    let plan = of_values("s: {tensor: int8, sizes: [0], data: [], mutable: true}", "");
    assert_eq!((plan.mutable_data, plan.segments.len(), plan.buffer_index), (None, 1, vec![vec![1]]));
}

#[test]
fn a_tensor_without_data_has_number_0() {
    // E-19
    let plan = of_values("s: {tensor: int8, sizes: [2], mutable: true}\nx: {tensor: int8, data: [1]}", "");
    assert_eq!(plan.buffer_index, [[0, 1]]);
}

// --------------------------------------------------------------------------------------------------------------
// segments

#[test]
fn segments_are_constants_states_payloads_named_data() {
    // W-1, W-6: each from a multiple of 128.
    let plan = placed(&format!(
        "{}named_data: {{k: {{hex: '0909'}}}}\n",
        forward(&format!(
            "values: {{c: {{tensor: int8, data: [1]}}, s: {{tensor: int8, data: [2, 2, 2], mutable: true}}}}, outputs: [c, s],
            delegates: {{d: {{backend: B, data: {{text: four}}}}}}, {DELEGATE}"
        ))
    ));
    let segments: Vec<_> = plan.segments.iter().map(|segment| (segment.offset, segment.size)).collect();
    assert_eq!(segments, [(0, 1), (128, 3), (256, 4), (384, 2)]);
    assert_eq!(plan.mutable_data.unwrap().0, 1);
    assert_eq!((plan.delegates, plan.named_data), (vec![vec![segment(2)]], vec![3]));
}

#[test]
fn without_a_header_segments_with_bytes_are_an_error() {
    let yaml = |data: &str| {
        let parts = format!("values: {{c: {{tensor: int8, sizes: [{}], data: [{data}]}}}}, outputs: [c]", data.len());
        format!("{}layout: {{header: none}}\n", forward(&parts))
    };
    assert_eq!(errors(&yaml("1")), ["none"]);
    assert_eq!(placed(&yaml("")).segments.len(), 1);
}

// ----------------------------------------------------------------------------------------------------------------
// payloads

/// The payloads of the delegates of two methods.
fn payloads(first: &str, second: &str, layout: &str) -> Plan {
    placed(&format!(
        "methods:
  f: {{delegates: {{{first}}}, {DELEGATE}}}
  g: {{delegates: {{{second}}}, {DELEGATE}}}
layout: {{{layout}}}\n"
    ))
}

#[test]
fn equal_payloads_of_all_methods_share_a_segment() {
    // W-11
    let plan = payloads(
        "a: {backend: A, data: {text: one}}, b: {backend: B, data: {text: two}}",
        "c: {backend: C, data: {text: one}}",
        "",
    );
    assert_eq!(plan.delegates, [vec![segment(1), segment(2)], vec![segment(1)]]);
    assert_eq!(plan.segments.len(), 3);
}

#[test]
fn each_empty_payload_is_an_inline_entry_of_its_own() {
    // W-11
    let empty = "a: {backend: A, data: {text: ''}}";
    let plan = payloads(empty, empty, "");
    assert_eq!((plan.delegates, plan.inline_delegates.len()), (vec![vec![inline(0)], vec![inline(1)]], 2));
}

#[test]
fn equal_inline_payloads_share_an_entry() {
    // W-11
    let one = "a: {backend: A, data: {text: one}}";
    let plan = payloads(one, one, "delegates: inline");
    assert_eq!((plan.delegates, plan.inline_delegates.len()), (vec![vec![inline(0)], vec![inline(0)]], 1));
    assert_eq!((plan.segments.len(), plan.shared_bytes), (1, 3));
}

#[test]
fn a_delegate_chooses_its_storage_itself() {
    let plan = payloads("a: {backend: A, inline: true, data: {text: one}}", "b: {backend: A, data: {text: one}}", "");
    assert_eq!(plan.delegates, [[inline(0)], [segment(1)]]);
}

// -------------------------------------------------------------------------------------------------------------- named
// data

#[test]
fn keys_with_equal_bytes_share_a_segment_with_the_alignment_of_the_first() {
    // W-12
    let plan = placed(
        "methods: {f: {outputs: [1]}}
named_data:
  b: {data: {text: same}, align: 16}
  a: {data: {text: other}}
  c: {data: {text: same}, align: 4096}\n",
    );
    assert_eq!(plan.named_data, [1, 2, 1]);
    assert_eq!(plan.segments.iter().map(|segment| segment.alignment).collect::<Vec<_>>(), [1, 16, 1]);
}

#[test]
fn a_key_with_other_bytes_in_a_ptd_is_an_error() {
    let yaml = |data: &str| {
        let parts = "values: {w: {tensor: int8, data: [1], external: true, name: k}}, outputs: [w]";
        format!("{}named_data: {{k: {{hex: {data}}}}}\n", forward(parts))
    };
    assert_eq!(errors(&yaml("'02'")), ["k"]);
    assert_eq!(placed(&yaml("'01'")).named_data, [1]);
}

// ---------------------------------------------------------------------------------------------------------- external
// data

#[test]
fn external_data_are_counted_from_0_and_equal_ones_once() {
    // E-20
    let plan = of_values(
        "a: {tensor: int8, data: [1], external: true}
        c: {tensor: int8, data: [1]}
        b: {tensor: int8, data: [2], external: lora}
        d: {tensor: int8, data: [1], external: lora}
        e: {tensor: int8, sizes: [1], external: true}",
        "",
    );
    assert_eq!(plan.buffer_index, [[0, 1, 1, 0, 2]]);
    let files: Vec<_> = plan.external.iter().map(|file| (file.tag.as_deref(), file.named_data.len())).collect();
    assert_eq!(files, [(None, 1), (Some("lora"), 2)]);
}

#[test]
fn data_that_another_file_has_keep_their_stated_number() {
    let plan = of_values("e: {tensor: int8, sizes: [1], external: true, data_buffer_idx: 7}", "");
    assert_eq!((plan.buffer_index, plan.external.len()), (vec![vec![7]], 0));
}

#[test]
fn keys_of_constants_come_before_those_of_other_external_data() {
    let yaml = "named_data: {a: {data: {text: a}, external: true}}
methods: {f: {values: {w: {tensor: int8, data: [1], external: true, name: z}}, outputs: [w]}}\n";
    let plan = assembled(yaml).plan;
    let keys: Vec<_> = plan.external[0].named_data.iter().map(|data| &*data.key).collect();
    assert_eq!(keys, ["z", "a"]);
}
