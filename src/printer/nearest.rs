//! Replaces the parts of a malformed program that YAML cannot express: absent vectors, and invalid names, sizes and
//! locations.
//!
//! Any valid value can take their place: [`super::overrides`] compares the assembled file with the original and
//! overrides the differences.

use std::collections::HashSet;

use pte_model::format::{DimOrder, ScalarType};
use pte_model::program::{
    Chain, ContainerMetadata, DeviceType, EValue, ExecutionPlan, Instruction, MAX_DIMENSIONS, Memory, Operator,
    OperatorId, Program, Tensor, TensorDataLocation, TensorLayout, TensorShapeDynamism, nbytes,
};

/// Returns the nearest program that YAML can express.
pub fn program(program: &Program) -> Program {
    let mut repaired = program.clone();
    let mut names = HashSet::new();
    for (number, plan) in repaired.execution_plan.get_or_insert_default().iter_mut().enumerate() {
        self::plan(plan, number);
        plan.name.iter_mut().for_each(|name| make_unique(name, &mut names));
    }
    let mut keys = HashSet::new();
    repaired.named_data.iter_mut().flatten().for_each(|entry| make_unique(&mut entry.key, &mut keys));
    keys.clear();
    for position in 0..repaired.external_data.len() {
        let len = repaired.blob(repaired.external_data[position].data).len;
        let entry = &mut repaired.external_data[position];
        make_unique(&mut entry.key, &mut keys);
        entry.tensor_layout.iter_mut().for_each(|layout| self::layout(layout, len));
    }
    repaired
}

/// Changes the last characters of a duplicate name. Its length and therefore later offsets in the file stay the same.
fn make_unique(name: &mut String, taken: &mut HashSet<String>) {
    if !taken.contains(name.as_str()) {
        taken.insert(name.clone());
        return;
    }
    let kept: String = name.chars().filter(char::is_ascii).collect();
    let kept = &kept[..kept.len().saturating_sub(3)];
    let free = (0..36u32.pow(3)).map(|number| {
        let digit = |power: u32| char::from_digit(number / 36u32.pow(power) % 36, 36).unwrap_or('_');
        let end: String = [digit(2), digit(1), digit(0)].iter().collect();
        format!("{kept}{}", &end[3 - (name.len() - kept.len()).min(3)..])
    });
    if let Some(free) = free.into_iter().find(|name| !taken.contains(name)) {
        taken.insert(free.clone());
        *name = free;
    }
}

/// Makes a layout valid for data of `len` bytes without changing the number of dimensions.
fn layout(layout: &mut TensorLayout, len: u64) {
    let element =
        |scalar_type: ScalarType| scalar_type.info().map(|info| info.size).filter(|size| len.is_multiple_of(*size));
    if element(layout.scalar_type).is_none() {
        let fits = (0..30).map(ScalarType).find(|scalar_type| element(*scalar_type).is_some());
        layout.scalar_type = fits.unwrap_or(ScalarType::FLOAT);
    }
    let rank = match layout.dim_order.len() {
        rank if layout.sizes.is_empty() || layout.sizes.len() > MAX_DIMENSIONS => rank.min(MAX_DIMENSIONS),
        _ => layout.sizes.len(),
    };
    layout.sizes.resize(rank, 1);
    if nbytes(layout.scalar_type, &layout.sizes) != Some(len) {
        layout.sizes.fill(1);
        let count = element(layout.scalar_type).and_then(|size| i32::try_from(len / size).ok());
        layout.sizes.iter_mut().take(1).for_each(|size| *size = count.unwrap_or(1));
    }
    if !layout.dim_order.is_permutation(rank) {
        layout.dim_order = DimOrder::contiguous(rank);
    }
}

fn plan(plan: &mut ExecutionPlan, number: usize) {
    let name = if number == 0 { "forward".to_owned() } else { format!("method{number}") };
    plan.name.get_or_insert(name);
    let values = plan.values.get_or_insert_default();
    for value in values.iter_mut() {
        match value {
            EValue::Tensor(tensor) => self::tensor(tensor),
            EValue::String(text) => _ = text.get_or_insert_default(),
            EValue::IntList(items) => _ = items.get_or_insert_default(),
            EValue::DoubleList(items) => _ = items.get_or_insert_default(),
            EValue::BoolList(items) => _ = items.get_or_insert_default(),
            EValue::TensorList(items) | EValue::OptionalTensorList(items) => _ = items.get_or_insert_default(),
            EValue::Null | EValue::Int(_) | EValue::Bool(_) | EValue::Double(_) | EValue::Unknown(_) => {}
        }
    }
    plan.inputs.get_or_insert_default();
    plan.outputs.get_or_insert_default();
    plan.delegates.get_or_insert_default();
    let operators = plan.operators.get_or_insert_default();
    let count = operators.len().max(1);
    if operators.is_empty() && plan.chains.iter().flatten().any(has_kernels) {
        operators.push(Operator::default());
    }
    for operator in operators {
        operator.name.get_or_insert_with(|| "aten::unknown".into());
        operator.overload.get_or_insert_default();
    }
    for delegate in plan.delegates.iter_mut().flatten() {
        delegate.id.get_or_insert_default();
        for spec in delegate.compile_specs.get_or_insert_default() {
            spec.key.get_or_insert_default();
            spec.value.get_or_insert_default();
        }
    }
    let metadata = plan.container_meta_type.get_or_insert_with(ContainerMetadata::default);
    metadata.encoded_inp_str.get_or_insert_default();
    metadata.encoded_out_str.get_or_insert_default();
    let chains = plan.chains.get_or_insert_with(|| vec![Chain::default()]);
    for chain in chains {
        chain.inputs.get_or_insert_default();
        chain.outputs.get_or_insert_default();
        for instruction in chain.instructions.get_or_insert_default() {
            if let Instruction::KernelCall { op_index, .. } = instruction
                && op_index.within(count).is_none()
            {
                *op_index = OperatorId(0);
            }
            if let Instruction::KernelCall { args, .. } | Instruction::DelegateCall { args, .. } = instruction {
                args.get_or_insert_default();
            }
        }
    }
    // The planner computes the pools, which may be missing or too small.
    plan.memory.non_const_buffer_sizes = None;
    plan.memory.non_const_buffer_device = None;
}

fn has_kernels(chain: &Chain) -> bool {
    chain.instructions.iter().flatten().any(|instruction| matches!(instruction, Instruction::KernelCall { .. }))
}

fn tensor(tensor: &mut Tensor) {
    if tensor.scalar_type.info().is_none() {
        tensor.scalar_type = ScalarType::FLOAT;
    }
    let rank = tensor.dim_order.as_ref().map_or(16, |order| order.len());
    let sizes = tensor.sizes.get_or_insert_with(|| vec![1; rank.min(16)].into());
    // If the length of `sizes` is malformed, the order of dimensions may have the correct rank.
    sizes.truncate(rank.min(16));
    sizes.iter_mut().filter(|size| **size < 0).for_each(|size| *size = 1);
    let rank = sizes.len();
    if !tensor.dim_order.as_ref().is_some_and(|order| order.is_permutation(rank)) {
        tensor.dim_order = Some(DimOrder::contiguous(rank));
    }
    if tensor.nbytes().is_none() {
        tensor.sizes = Some(vec![1; rank].into());
    }
    if let Memory::At { pool: 0, offset } = tensor.memory {
        tensor.memory = Memory::At { pool: 1, offset };
    }
    if !(TensorShapeDynamism::STATIC..=TensorShapeDynamism::DYNAMIC_UNBOUND).contains(&tensor.shape_dynamism) {
        tensor.shape_dynamism = TensorShapeDynamism::STATIC;
    }
    if let Some(extra) = &mut tensor.extra_tensor_info {
        extra.location = extra.location.clamp(TensorDataLocation::SEGMENT, TensorDataLocation::EXTERNAL);
        extra.device_type = extra.device_type.clamp(DeviceType::CPU, DeviceType::CUDA);
        extra.device_index = extra.device_index.max(0);
    }
}
