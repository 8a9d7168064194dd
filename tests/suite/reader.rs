//! Reader: large programs are read with several threads; mutated files yield errors.
//!
//! tests/cases/golden.rs reads the files of ExecuTorch.

use proptest::prelude::*;
use pte_emit::plan::{HeaderMode, LayoutConfig, Storage};
use pte_emit::program::{self, EValue, OperatorId, Program, ValueId};
use pte_model::data::Blob;
use pte_model::data::Origin;
use pte_model::format::ScalarType;
use pte_model::reader;

use crate::support::program::write;
use crate::support::{files_below, root};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    /// A file with one mutated byte, or truncated, is read or rejected without a panic.
    #[test]
    fn mutated_files_are_read_or_rejected(file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let paths = files_below(&root().join("tests/golden/upstream/bytes"), &["pte"]);
        let mut bytes = std::fs::read(&paths[file.index(paths.len())]).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        let _ = reader::program::read(&Origin::Bytes(bytes.into()));
    }
}

#[test]
fn data_of_all_storages_are_read() {
    let mut program = Program::default();
    let blob = program.add_blob(Blob::bytes([1, 2, 3, 4]));
    let state = program.add_blob(Blob::bytes([5, 6, 7, 8]));
    let mut constant = program::Tensor::new(ScalarType::FLOAT, &[1]);
    constant.data = program::TensorData::Blob(blob);
    constant.memory = program::Memory::None;
    let mut mutable = constant.clone();
    mutable.data = program::TensorData::Blob(state);
    mutable.memory = program::Memory::At { pool: 1, offset: 0 };
    let delegate = |inline| {
        let mut delegate = program::BackendDelegate::new("b", blob);
        delegate.inline = Some(inline);
        delegate
    };
    let plan = program::ExecutionPlan {
        values: Some(vec![EValue::Tensor(constant), EValue::Tensor(mutable)]),
        delegates: Some(vec![delegate(true), delegate(false)]),
        ..program::ExecutionPlan::default()
    };
    program.execution_plan = Some(vec![plan]);
    for constants in [Storage::Segment, Storage::Inline] {
        for header in [HeaderMode::Auto, HeaderMode::Length(24)] {
            let mut options = LayoutConfig::default();
            (options.constants, options.header) = (constants, header);
            let bytes = write(&program, &options);
            let found = reader::program::read(&Origin::Bytes(bytes.into())).unwrap();
            let data = |blob| found.program.blob(blob).to_vec().unwrap();
            let plan = &found.program.plans()[0];
            let of = |index: usize| match plan.tensors().find(|(at, _)| *at == index).map(|(_, tensor)| &tensor.data) {
                Some(program::TensorData::Blob(blob)) => data(*blob),
                other => panic!("{other:?}"),
            };
            assert_eq!((of(0), of(1)), (vec![1, 2, 3, 4], vec![5, 6, 7, 8]));
            let payloads: Vec<Vec<u8>> = plan.delegates().iter().map(|delegate| data(delegate.processed)).collect();
            assert_eq!(payloads, [[1, 2, 3, 4], [1, 2, 3, 4]]);
            assert_eq!(found.header.unwrap().length, if header == HeaderMode::Auto { 32 } else { 24 });
        }
    }
}

/// Parallel reading of parts yields the same as sequential reading: values and instructions in order, the data of each
/// tensor, the first error.
#[test]
fn a_large_program_round_trips() {
    const COUNT: i32 = 12_345;
    let mut program = Program::default();
    let mut values = Vec::new();
    for n in 0..COUNT {
        values.push(match n % 3 {
            0 => EValue::Int(n.into()),
            _ => EValue::Tensor(program::Tensor::new(ScalarType::FLOAT, &vec![1; n as usize % 6])),
        });
        if let Some(EValue::Tensor(tensor)) = values.last_mut() {
            tensor.memory = program::Memory::None;
            if n % 7 == 0 {
                tensor.data = program::TensorData::Blob(program.add_blob(Blob::bytes((n / 14).to_le_bytes())));
            }
        }
    }
    let instruction = |n: i32| program::Instruction::KernelCall {
        op_index: OperatorId(n),
        args: Some((n..n + n % 9).map(ValueId).collect()),
    };
    let plan = program::ExecutionPlan {
        values: Some(values),
        chains: Some(vec![program::Chain::new((0..COUNT).map(instruction).collect())]),
        ..program::ExecutionPlan::default()
    };
    program.execution_plan = Some(vec![plan.clone(), plan]);
    let mut bytes = write(&program, &LayoutConfig::default());
    assert!(bytes.len() > 1 << 20, "{} bytes are read by one core", bytes.len());

    let read = |bytes: &[u8]| reader::program::read(&Origin::Bytes(bytes.into()));
    let found = read(&bytes).unwrap().program;
    for (plan, expected) in found.plans().iter().zip(program.plans()) {
        assert_eq!(plan.chains, expected.chains);
        assert_eq!(plan.values().len(), expected.values().len());
        for (found_value, value) in plan.values().iter().zip(expected.values()) {
            let data = |program: &Program, value: &EValue| match value {
                EValue::Tensor(tensor) => match tensor.data {
                    program::TensorData::Blob(blob) => program.blob(blob).to_vec().unwrap(),
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            };
            assert_eq!(data(&found, found_value), data(&program, value));
            assert_eq!(found_value.kind(), value.kind());
        }
    }
    assert_eq!(found.plans().len(), 2);

    // Errors in every part: the first one is reported, independent of the threads.
    let middle = bytes.len() / 4..bytes.len() * 3 / 4;
    bytes[middle].iter_mut().step_by(997).for_each(|byte| *byte = 0xff);
    let message = read(&bytes).unwrap_err().to_string();
    assert!(message.starts_with("ExecutionPlan.values: "), "{message}");
    for _ in 0..20 {
        assert_eq!(read(&bytes).unwrap_err().to_string(), message);
    }
}

/// A file of 160 KB in which 20,000 methods share one list of 20,000 values: no memory is allocated for the copies.
#[test]
fn overlapping_lists_are_an_error() {
    const COUNT: u32 = 20_000;
    let mut bytes = Vec::new();
    let words = |bytes: &mut Vec<u8>, words: &[u16]| words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes.extend(16u32.to_le_bytes());
    bytes.extend(b"ET12");
    // The root: a vtable, and a table with only `execution_plan`.
    words(&mut bytes, &[8, 8, 0, 4]);
    bytes.extend([8u32, 4, COUNT].iter().flat_map(|word| word.to_le_bytes()));
    let (list, plan) = (28, 28 + 4 * COUNT + 12);
    bytes.extend((0..COUNT).flat_map(|index| (plan - (list + 4 * index)).to_le_bytes()));
    // The only method: a vtable, and a table with only `values`.
    words(&mut bytes, &[10, 8, 0, 0, 4, 0]);
    bytes.extend([12u32, 4, COUNT].iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend((0..COUNT).flat_map(|_| 4u32.to_le_bytes()));
    let error = reader::program::read(&Origin::Bytes(bytes.into())).unwrap_err().to_string();
    assert!(error.contains("overlapping lists exceed the size limit"), "{error}");
}
