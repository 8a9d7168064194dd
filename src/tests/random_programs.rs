//! Random programs are read as they were written.

use proptest::prelude::*;

use super::read_program::file;
use crate::layout::LayoutConfig;
use pte_model::data::Origin;
use pte_model::format::ScalarType;
use pte_model::format::serializer::Serializer;
use pte_model::program::{self, DelegateId, EValue, OperatorId, Program, ValueId};
use pte_model::reader;

fn id() -> impl Strategy<Value = ValueId> + Clone {
    any::<i32>().prop_map(ValueId)
}

fn ids(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<ValueId>> + Clone {
    prop::collection::vec(id(), count)
}

fn values() -> impl Strategy<Value = Vec<EValue>> {
    let string = "[a-zé\u{4e00}]{0,9}";
    let small = ids(0..4);
    let tensor =
        (0..30i8, prop::collection::vec(0..4i32, 0..4), any::<bool>(), 0..3u8).prop_map(|(code, sizes, grad, pool)| {
            let mut tensor = program::Tensor::new(ScalarType(code), &sizes);
            tensor.requires_grad = grad;
            tensor.memory = match pool {
                0 => program::Memory::None,
                _ => program::Memory::At { pool: pool.into(), offset: u64::from(pool) << 33 },
            };
            EValue::Tensor(tensor)
        });
    let value = prop_oneof![
        Just(EValue::Null),
        any::<i64>().prop_map(EValue::Int),
        any::<bool>().prop_map(EValue::Bool),
        // -0.0 is written as the default 0.0 (W-14), and a NaN equals nothing.
        any::<i32>().prop_map(|n| EValue::Double(f64::from(n) / 7.0)),
        prop::option::of(string).prop_map(EValue::String),
        prop::option::of(prop::collection::vec(any::<i64>(), 0..4)).prop_map(EValue::IntList),
        prop::option::of(prop::collection::vec(-1e9..1e9, 0..4)).prop_map(EValue::DoubleList),
        prop::option::of(prop::collection::vec(any::<bool>(), 0..4)).prop_map(EValue::BoolList),
        prop::option::of(small.clone()).prop_map(EValue::TensorList),
        prop::option::of(small).prop_map(EValue::OptionalTensorList),
        tensor,
    ];
    prop::collection::vec(value, 0..8)
}

fn instructions() -> impl Strategy<Value = Vec<program::Instruction>> {
    use program::Instruction::*;
    let args = || prop::option::of(ids(0..9).prop_map(program::Args::from));
    let instruction = prop_oneof![
        (any::<i32>(), args()).prop_map(|(index, args)| KernelCall { op_index: OperatorId(index), args }),
        (any::<i32>(), args()).prop_map(|(index, args)| DelegateCall { delegate_index: DelegateId(index), args }),
        (id(), id()).prop_map(|(move_from, move_to)| MoveCall { move_from, move_to }),
        (id(), any::<i32>()).prop_map(|(cond_value_index, destination_instruction)| JumpFalseCall {
            cond_value_index,
            destination_instruction
        }),
        id().prop_map(|value_index| FreeCall { value_index }),
    ];
    prop::collection::vec(instruction, 0..6)
}

fn programs() -> impl Strategy<Value = Program> {
    let indices = || prop::option::of(ids(0..4));
    let plan = (
        prop::option::of("[a-z]{0,5}"),
        values(),
        indices(),
        indices(),
        prop::option::of(instructions()),
        any::<bool>(),
    )
        .prop_map(|(name, values, inputs, outputs, instructions, absent)| {
            let mut chain = program::Chain::default();
            (chain.instructions, chain.inputs) = (instructions, (!absent).then(Vec::new));
            let mut operator = program::Operator::new("aten::relu");
            operator.overload = absent.then(String::new);
            let mut plan = program::ExecutionPlan {
                name,
                container_meta_type: (!absent).then(program::ContainerMetadata::default),
                values: Some(values),
                inputs,
                outputs,
                chains: Some(vec![chain]),
                operators: (!absent).then(|| vec![operator]),
                delegates: (!absent).then(Vec::new),
                ..program::ExecutionPlan::default()
            };
            plan.memory.non_const_buffer_sizes = Some(vec![0, i64::MAX, i64::MAX]);
            plan
        });
    (any::<u32>(), prop::option::of(prop::collection::vec(plan, 0..3))).prop_map(|(version, execution_plan)| {
        let mut program = Program::default();
        (program.version, program.execution_plan) = (version, execution_plan);
        program
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn random_programs_round_trip(program in programs(), flatc in any::<bool>()) {
        let builder = if flatc { Serializer::Flatc } else { Serializer::Exir };
        let options = LayoutConfig { builder, ..LayoutConfig::default() };
        let bytes = file(&program, &options);
        let found = reader::program::read(&Origin::Bytes(bytes.into())).unwrap();
        prop_assert_eq!(found.program, program);
    }
}
