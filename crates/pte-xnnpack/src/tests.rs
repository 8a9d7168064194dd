//! Payloads from drafts and back: rules, both forms, and bytes that are malformed.

use super::decode::ReadGraph;
use super::draft::{
    ConstantSource, Draft, DraftConstant, DraftField, DraftNode, DraftQuantization, DraftValue, default_field,
};
use super::encode::encode;
use super::model::{Container, FieldContent, NodeOperation};
use super::schema::*;
use super::{FORMATS, Xnnpack};
use proptest::prelude::*;
use pte_model::data::Blob;
use pte_model::format::Kind;
use pte_model::format::table::Union;
use pte_payload::PayloadFormat;
use pte_payload::memory::Processor;

fn data(bytes: &[u8]) -> Option<DraftConstant> {
    Some(DraftConstant { source: ConstantSource::Data(Blob::bytes(bytes)), size: None })
}

/// Quantization with listed scales.
fn channels(channel_dim: i32, scales: &[f32]) -> DraftQuantization {
    use FieldContent::{Floats, Int, UInt};
    DraftQuantization::new(QuantParams::PerChannel, [Floats(scales.into()), Int(channel_dim), UInt(0), UInt(0)])
}

/// A node whose first fields are given.
fn node(operation: Operation, fields: &[DraftField]) -> DraftNode {
    let mut all: Vec<DraftField> = operation.table().fields.iter().map(default_field).collect();
    all[..fields.len()].clone_from_slice(fields);
    DraftNode {
        operation: NodeOperation::Known(operation),
        fields: all,
        extra: Vec::new(),
        debug_handle: None,
        output_min_max: None,
    }
}

/// A matrix product with weights of 8 bits, scales in a constant, a bias in named data, and a transposition of its
/// result.
fn sample() -> Draft {
    let bias = DraftConstant { source: ConstantSource::Key("b".into()), size: None };
    Draft {
        values: vec![
            DraftValue::new(FP32, vec![1, 3]),
            DraftValue {
                constant: data(&[1, 2, 3, 4, 5, 6]),
                quantization: Some(DraftQuantization { scales: data(&[0; 8]), ..channels(0, &[]) }),
                ..DraftValue::new(QCINT8, vec![2, 3])
            },
            DraftValue { constant: Some(bias), ..DraftValue::new(FP32, vec![2]) },
            DraftValue::new(FP32, vec![1, 2]),
            DraftValue::new(FP32, vec![2, 1]),
        ],
        inputs: vec![0],
        outputs: vec![4],
        nodes: vec![
            node(Operation::FullyConnected, &[0, 1, 2, 3].map(DraftField::Value)),
            node(
                Operation::StaticTranspose,
                &[
                    DraftField::NumDims,
                    DraftField::Parameter(FieldContent::UInts([1, 0].into())),
                    DraftField::Value(3),
                    DraftField::Value(4),
                ],
            ),
        ],
        ..Draft::new()
    }
}

/// The sample with its constants in the graph.
fn bare() -> Draft {
    let mut draft = Draft { container: Container::Bare, identifier: IDENTIFIERS[0], ..sample() };
    draft.values[2].constant = data(&[0; 8]);
    draft.values[1].quantization = Some(channels(0, &[0.5, 0.1]));
    draft
}

fn payload(draft: &Draft) -> Vec<u8> {
    encode(&draft.complete()).unwrap().to_vec().unwrap()
}

#[test]
fn ids_offsets_and_indices_follow_from_the_rules() {
    let graph = sample().complete();
    assert_eq!((graph.num_externs, &graph.input_ids[..], &graph.output_ids[..]), (2, &[0][..], &[4][..]));
    let fields = |index: usize| {
        let value = &graph.values[index];
        (value.id, value.external_id, value.flags, value.constant)
    };
    assert_eq!([0, 1, 4].map(fields), [(0, 0, 1, 0), (1, NO_ID, 0, 1), (4, 1, 2, 0)]);
    let constants: Vec<_> =
        graph.constants.iter().map(|constant| (constant.key.as_deref(), constant.offset, constant.size)).collect();
    assert_eq!(constants, [(Some(""), 0, 0), (None, 0, 6), (None, 16, 8), (Some("b"), u64::MAX, 8)]);
    assert_eq!(graph.constants_len, 32);
    assert_eq!(graph.nodes[1].fields[0], FieldContent::UInt(2));
}

#[test]
fn a_payload_is_read_as_it_was_written() {
    for draft in [sample(), bare()] {
        let bytes = payload(&draft);
        assert_eq!(Draft::read(&Blob::bytes(bytes.clone())), Ok(draft.clone()));
        let header = draft.container == Container::Header;
        assert_eq!(&bytes[4..8], if header { b"XH00" } else { b"XN00" });
    }
}

#[test]
fn deviations_from_the_rules_are_stated() {
    let mut draft = sample();
    draft.values[0].external_id = Some(3);
    draft.values[3].id = Some(70);
    draft.values[4].num_dims = Some(9);
    draft.values[2].constant.as_mut().unwrap().size = Some(12);
    (draft.num_externs, draft.input_ids) = (Some(9), Some(vec![4, 0]));
    (draft.version, draft.has_named_keys) = (Some("x".into()), false);
    draft.nodes[1].fields[4] = DraftField::Parameter(FieldContent::UInt(1));
    assert_eq!(Draft::read(&Blob::bytes(payload(&draft))), Ok(draft));
}

#[test]
fn constants_that_overlap_or_that_nothing_uses_are_no_graph() {
    let mut graph = sample().complete();
    graph.constants[2].offset = 4;
    assert!(encode(&graph).is_err());
    let mut graph = sample().complete();
    graph.values[2].constant = 0;
    let payload = encode(&graph).unwrap();
    assert_eq!(Draft::read(&payload), Err("1 constant that no value uses".to_owned()));
}

#[test]
fn malformed_bytes_are_an_error_or_reproduced() {
    for draft in [sample(), bare()] {
        let bytes = payload(&draft);
        for len in 0..bytes.len() {
            assert!(Draft::read(&Blob::bytes(&bytes[..len])).is_err(), "{len} bytes");
        }
        for at in 0..bytes.len() {
            for byte in [0, 1, 0x7f, 0xff, bytes[at] ^ 4] {
                let mut changed = bytes.clone();
                changed[at] = byte;
                for processor in Processor::ALL {
                    drop(Xnnpack.memory(&Blob::bytes(changed.clone()), processor));
                }
                if let Ok(draft) = Draft::read(&Blob::bytes(changed.clone())) {
                    assert!(payload(&draft) == changed, "byte {at} = {byte}");
                }
            }
        }
    }
}

/// Sizes of an argument that are not inside the payload are a problem, those of other values are not needed to describe
/// it.
#[test]
fn malformed_sizes_of_an_argument_are_a_problem() {
    let described = |value: usize| {
        let mut bytes = payload(&sample());
        let read = ReadGraph::read(&Blob::bytes(bytes.clone()), u64::MAX).unwrap();
        let tensor = read.sections.graph.0 as usize + read.value_tables[value].tensor as usize;
        let vtable = tensor - i32::from_le_bytes(*bytes[tensor..].first_chunk().unwrap()) as usize;
        let slot = vtable + 4 + 2 * usize::from(tensor_value::dims);
        let dims = tensor + usize::from(u16::from_le_bytes(*bytes[slot..].first_chunk().unwrap()));
        bytes[dims..dims + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        FORMATS.describe("XnnpackBackend", &Blob::bytes(bytes)).unwrap().problem
    };
    assert_eq!(described(3), None);
    assert!(described(0).is_some_and(|problem| problem.starts_with("XNNTensorValue.dims: the offset")));
}

#[test]
fn names_of_operations_and_of_their_fields_are_distinct() {
    for (index, operation) in Operation::ALL.iter().enumerate() {
        assert!(Operation::ALL[..index].iter().all(|other| other.word() != operation.word()), "{}", operation.word());
        let table = operation.table();
        let keys: Vec<&str> = (0..table.fields.len()).map(|slot| field_key(table, slot)).collect();
        assert!((1..keys.len()).all(|slot| !keys[..slot].contains(&keys[slot])), "{keys:?}");
    }
    assert_eq!([0, 1].map(|slot| field_key(&FULLY_CONNECTED, slot)), ["input", "filter"]);
    assert_eq!([0, 1, 2].map(|slot| field_key(&NODE_2X1, slot)), ["input1", "input2", "output"]);
}

/// A value of any type, with content or without.
fn any_value() -> impl Strategy<Value = DraftValue> {
    use FieldContent::{Absent, Float, Floats, Int, UInt, UShorts};
    let scales = prop_oneof![
        prop::collection::vec(-1e3f32..1e3, 0..4).prop_map(|list| (list, None)),
        prop::collection::vec(any::<u8>(), 0..9).prop_map(|bytes| (Vec::new(), data(&bytes))),
        "[a-z]{1,4}".prop_map(|key| (Vec::new(), Some(DraftConstant { source: ConstantSource::Key(key), size: None }))),
    ];
    let quantization = prop_oneof![
        (-1e3f32..1e3, any::<i32>())
            .prop_map(|(scale, zero)| DraftQuantization::new(QuantParams::PerTensor, [Float(scale), Int(zero)])),
        any::<i32>().prop_map(|dims| DraftQuantization::new(QuantParams::PerTokenDynamic, [Int(dims)])),
        (any::<i8>(), scales.clone(), prop::option::of(0u32..9)).prop_map(|(dim, (list, scales), num_scales)| {
            DraftQuantization { scales, num_scales, ..channels(dim.into(), &list) }
        }),
        (any::<i8>(), scales, prop::option::of(prop::collection::vec(any::<u16>(), 0..3))).prop_map(
            |(size, (list, scales), bf16)| {
                let bf16 = bf16.map_or(Absent, |bf16| UShorts(bf16.into()));
                let fields = [Floats(list.into()), Int(0), Int(size.into()), bf16, UInt(0), UInt(0)];
                DraftQuantization { scales, ..DraftQuantization::new(QuantParams::PerChannelGroup, fields) }
            }
        ),
    ];
    let constant = prop::option::of(prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| ConstantSource::Data(Blob::bytes(bytes))),
        "[a-z]{0,4}".prop_map(ConstantSource::Key),
    ]);
    let dims = prop::collection::vec(0u32..5, 0..7);
    let numbers = prop::array::uniform3(prop::option::weighted(0.1, 0u32..9));
    (0i16..15, dims, constant, prop::option::of(quantization), numbers).prop_map(
        |(datatype, dims, constant, quantization, [id, external_id, flags])| DraftValue {
            constant: constant.map(|source| DraftConstant { source, size: None }),
            quantization,
            id,
            external_id,
            flags,
            ..DraftValue::new(datatype, dims)
        },
    )
}

/// An operation with any fields; ids are those of the first values, or of none.
fn any_node() -> impl Strategy<Value = DraftNode> {
    let numbers = prop::collection::vec(any::<u8>(), 24);
    let bounds = prop::option::of(prop::array::uniform2(-1e3f32..1e3));
    (0..Operation::ALL.len(), numbers, bounds, prop::option::of(any::<u32>())).prop_map(
        |(operation, numbers, output_min_max, debug_handle)| {
            let operation = Operation::ALL[operation];
            let fields = operation.table().fields.iter().zip(numbers).map(|(field, number)| match field.kind {
                _ if number % 4 == 0 => default_field(field),
                Kind::Float => DraftField::Parameter(FieldContent::Float(number.into())),
                Kind::UInts => {
                    DraftField::Parameter(FieldContent::UInts(vec![number.into(); usize::from(number % 5)].into()))
                }
                _ => DraftField::Parameter(FieldContent::UInt(u32::from(number % 9))),
            });
            DraftNode {
                operation: NodeOperation::Known(operation),
                fields: fields.collect(),
                extra: Vec::new(),
                debug_handle,
                output_min_max,
            }
        },
    )
}

proptest! {
    /// Graphs of all kinds of values and operations, most of which XNNPACK rejects.
    #[test]
    fn any_graph_is_read_as_it_was_written(
        values in prop::collection::vec(any_value(), 0..8),
        nodes in prop::collection::vec(any_node(), 0..8),
        (inputs, outputs) in (0usize..4, 0usize..4),
        named in any::<bool>(),
    ) {
        let count = values.len();
        let (inputs, outputs) = ((0..inputs.min(count)).collect(), (count - outputs.min(count)..count).collect());
        let draft = Draft { values, nodes, inputs, outputs, has_named_keys: named, ..Draft::new() };
        let bytes = payload(&draft);
        let found = Draft::read(&Blob::bytes(bytes.clone()));
        prop_assert!(found.is_ok(), "{:?}", found);
        prop_assert!(payload(&found.unwrap()) == bytes);
    }
}

#[test]
fn formats_are_recognised_by_magic_then_by_backend() {
    let name = |backend: &str, head: &[u8]| FORMATS.recognise(backend, head).map(|format| format.name());
    assert_eq!(name("VulkanBackend", b"\0\0\0\0VH00"), Some("Vulkan"));
    assert_eq!(name("WebGPU", b"\0\0\0\0VH00"), Some("Vulkan"));
    assert_eq!(name("XnnpackBackend", b"\0\0\0\0VK00"), Some("Vulkan"));
    assert_eq!(name("XnnpackBackend", b""), Some("XNNPACK"));
    assert_eq!(name("Mine", b"vela_bin_stream\0"), Some("Ethos-U"));
    assert_eq!(name("Mine", b"\0\0\0\0"), None);
    for format in FORMATS.iter() {
        assert!(format.backends().iter().all(|backend| name(backend, b"") == Some(format.name())));
    }
}
