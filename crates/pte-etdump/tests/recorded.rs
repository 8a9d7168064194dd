//! ETDumps that the real runtime wrote, and mutations of them.

use std::path::Path;

use proptest::prelude::*;
use pte_etdump::{CallKind, DelegateEventId, EtDump, InstructionIndex, TensorError, TracedValue};
use pte_model::data::Blob;

/// Names of the recordings.
const NAMES: [&str; 5] = ["linear", "loop", "lists", "quantize", "xnnpack_two_delegates"];

fn bytes(file: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded").join(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn dump(name: &str) -> EtDump {
    EtDump::read(&bytes(&format!("{name}.etdump"))).unwrap()
}

fn values(name: &str) -> Blob {
    Blob::bytes(bytes(&format!("{name}.values")))
}

/// The elements of a tensor of float32.
fn floats(value: &TracedValue, values: &Blob) -> Vec<f32> {
    let TracedValue::Tensor(tensor) = value else { panic!("expected a tensor, found {value:?}") };
    let data = tensor.data(values, 1 << 20).unwrap();
    data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

#[test]
fn blocks_are_the_loading_and_the_executions() {
    let linear = dump("linear");
    let names: Vec<&str> = linear.runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!((linear.version, names), (0, vec!["Default", "Execute", "Execute"]));
    let [load, first, _] = &linear.runs[..] else { panic!() };
    assert!(load.time().is_none() && load.executions().is_empty() && load.outputs().is_empty());
    assert!(load.named("Method::init").is_some() && first.named("Method::init").is_none());
    // The instructions are within the execution, one after the other.
    let whole = first.time().unwrap();
    let times: Vec<_> = first.executions().iter().map(|execution| execution.time.unwrap()).collect();
    assert!(times.windows(2).all(|pair| pair[0].end <= pair[1].start));
    assert!(whole.start <= times[0].start && times[2].end <= whole.end);
}

#[test]
fn instructions_have_kernels_values_and_times() {
    let (linear, values) = (dump("linear"), values("linear"));
    let executions = linear.runs[1].executions();
    let kernels: Vec<_> = executions.iter().map(|execution| (execution.kind, execution.kernel)).collect();
    let operator = |name| (Some(CallKind::Operator), Some(name));
    assert_eq!(kernels, ["permute_copy.out", "addmm.out", "relu.out"].map(operator));
    let outputs = linear.runs[1].outputs();
    assert_eq!(outputs.len(), 1);
    assert_eq!(floats(outputs[0], &values), floats(executions[2].values[0], &values));
    let positive = floats(executions[1].values[0], &values).into_iter().map(|number| number.max(0.0));
    assert!(positive.eq(floats(outputs[0], &values)));
}

#[test]
fn an_instruction_in_a_loop_has_several_executions() {
    let (dump, values) = (dump("loop"), values("loop"));
    let run = &dump.runs[1];
    let executions = run.executions();
    let doubled = executions.iter().filter(|execution| execution.kernel == Some("mul.Scalar_out"));
    let doubled: Vec<Vec<f32>> = doubled.map(|execution| floats(execution.values[0], &values)).collect();
    assert_eq!(doubled, [[2.0, -1.0], [4.0, -2.0], [8.0, -4.0]]);
    let kinds = |kind| executions.iter().filter(|execution| execution.kind == Some(kind)).count();
    assert_eq!([CallKind::Jump, CallKind::Move, CallKind::Free, CallKind::Delegate].map(kinds), [7, 1, 0, 0]);
    // A number is an output, too, without the mark.
    assert_eq!(run.outputs()[1], &TracedValue::Int(3));
    assert_eq!(executions[0].instruction, InstructionIndex { chain: 0, instruction: 0 });
    // The runtime's own operators record no kernel and no value.
    assert!(executions[0].kernel.is_none() && executions[0].values.is_empty());
}

#[test]
fn delegates_record_their_operations_and_all_arguments() {
    let (dump, values) = (dump("xnnpack_two_delegates"), values("xnnpack_two_delegates"));
    let executions = dump.runs[1].executions();
    assert_eq!(executions[0].kind, Some(CallKind::Delegate));
    let names = executions[0].delegate.iter().map(|event| event.delegate.clone());
    assert!(names.eq([Some(DelegateEventId::Name("Multiply (ND) #1".into()))]));
    let arguments: Vec<Vec<f32>> = executions[0].values.iter().map(|value| floats(value, &values)).collect();
    assert_eq!(arguments, [[1.0, 2.0, 3.0, 4.0], [10.0, 40.0, 30.0, 80.0]]);
}

#[test]
fn results_of_split_are_a_list() {
    let (dump, values) = (dump("lists"), values("lists"));
    let executions = dump.runs[1].executions();
    let TracedValue::TensorList(parts) = executions[1].values[0] else { panic!() };
    let sizes: Vec<&[u64]> = parts.iter().map(|part| part.sizes.as_slice()).collect();
    assert_eq!(sizes, [&[2, 2][..], &[2, 2], &[2, 1]]);
    assert_eq!(floats(&TracedValue::Tensor(parts[2].clone()), &values), [2.0, 4.0]);
}

#[test]
fn a_debug_buffer_of_another_execution_is_too_short() {
    let dump = dump("linear");
    let outputs = dump.runs[2].outputs();
    let TracedValue::Tensor(y) = outputs[0] else { panic!() };
    let error = |buffer: &[u8], limit| match y.data(&Blob::bytes(buffer), limit) {
        Err(TensorError::Invalid(message)) => message,
        other => panic!("{other:?}"),
    };
    assert_eq!(error(&[0; 100], 100), "a tensor of 12 bytes at byte 0x9c of a debug buffer of 100 bytes");
    assert_eq!(error(&[0; 1000], 11), "a tensor of 12 bytes, expected at most 11");
}

#[test]
fn truncated_files_are_incomplete() {
    let whole = bytes("linear.etdump");
    for len in 0..whole.len() {
        let error = EtDump::read(&whole[..len]).unwrap_err().to_string();
        assert!(len < 12 || error.ends_with("bytes follow: the file is incomplete"), "{len}: {error}");
    }
    // Without the prefix, the content is the same.
    assert_eq!(EtDump::read(&whole[4..]), EtDump::read(&whole));
}

/// Uses everything of a dump.
fn visit(dump: &EtDump, values: &Blob) {
    for run in &dump.runs {
        let executions = run.executions();
        let all = executions.iter().flat_map(|execution| execution.values.iter().copied()).chain(run.outputs());
        for value in all {
            let tensors = match value {
                TracedValue::Tensor(tensor) => std::slice::from_ref(tensor),
                TracedValue::TensorList(tensors) => tensors,
                TracedValue::Null | TracedValue::Int(_) | TracedValue::Bool(_) | TracedValue::Double(_) => &[],
            };
            for tensor in tensors {
                if let Ok(data) = tensor.data(values, 1 << 16) {
                    assert_eq!(data.len() as u64, tensor.size());
                }
            }
        }
        let _ = run.time().map(|time| time.duration());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn mutated_files_never_panic(
        name in 0..NAMES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut mutated = bytes(&format!("{}.etdump", NAMES[name]));
        for (at, byte) in changes {
            let at = at.index(mutated.len());
            mutated[at] = byte;
        }
        if let Ok(dump) = EtDump::read(&mutated) {
            visit(&dump, &values(NAMES[name]));
        }
    }
}

#[test]
fn each_single_change_of_a_byte_is_read_or_an_error() {
    let (original, values) = (bytes("lists.etdump"), values("lists"));
    for at in 0..original.len() {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            let mut mutated = original.clone();
            mutated[at] = byte;
            if let Ok(dump) = EtDump::read(&mutated) {
                visit(&dump, &values);
            }
        }
    }
}
