//! Finds calls that repeat an earlier one: the same operator with the same arguments, which nothing has written since.

use std::collections::HashMap;

use super::rewrite::{Context, Rewrite, Supply};
use pte_model::data::BlobId;
use pte_model::program::{EValue, Tensor, TensorData, ValueId};

/// Operand of a call: equal operands have the same content.
#[derive(PartialEq, Eq, Hash)]
enum Operand {
    /// A value as it is after a number of writes.
    Value { value: usize, writes: usize },
    /// None, an Int, a Bool or a Double that nothing writes: its tag and its bits.
    Scalar(u8, u64),
    /// Content of a string.
    String(Option<String>),
    /// A constant: its data and properties.
    Constant { data: BlobId, properties: String },
    /// A list: its tag and its items.
    List(u8, Option<Vec<Operand>>),
}

/// Operator and operands of a call.
type Key = (String, Vec<Operand>);

/// Longest list that operands are compared by; longer ones are compared by index.
const MAX_ITEMS: usize = 256;

/// Returns the calls of a method that repeat earlier ones.
pub fn find(context: &Context<'_>) -> Rewrite {
    let mut rewrite = Rewrite::default();
    let mut first: HashMap<Key, (u32, Vec<usize>)> = HashMap::new();
    let count = context.method.plan.values().len();
    // By value: the value that replaces it.
    let mut replaced: HashMap<usize, usize> = HashMap::new();
    for (step, instruction) in (0..).zip(context.method.plan.instructions()) {
        let Some((reads, results)) = context.method.operators.pure_call(instruction) else { continue };
        let Some(operator) = context.method.operators.called(instruction) else { continue };
        if operator.facts.is_undetermined || operator.is_view() || operator.has_optional_outs() {
            continue;
        }
        let operands: Option<Vec<Operand>> =
            reads.iter().map(|value| Some(operand(context, &replaced, value.within(count)?, step, false))).collect();
        // An out variant lists its outs, then the result again.
        let mut results: Vec<usize> = results.iter().filter_map(|result| result.within(count)).collect();
        results.dedup();
        let Some(operands) = operands.filter(|_| !results.is_empty()) else { continue };
        let key = (operator.name.clone().into_owned(), operands);
        let Some((earlier, sources)) = first.get(&key) else {
            first.insert(key, (step, results));
            continue;
        };
        let is_like = sources.len() == results.len();
        let supplies = sources.iter().zip(&results).map(|(source, result)| {
            let supply = context.supply(*source, *earlier, *result, step)?;
            matches!(supply, Supply::Value(_)).then_some((*result, supply))
        });
        match supplies.collect::<Option<Vec<_>>>().filter(|_| is_like) {
            Some(supplies) => {
                replaced.extend(results.iter().copied().zip(sources.iter().copied()));
                rewrite.removed.insert(step, supplies);
            }
            // The earlier result has changed, or is not visible here.
            None => {
                first.insert(key, (step, results));
            }
        }
    }
    rewrite
}

/// Returns what a call at a step reads of a value. Lists that are items of lists, which only malformed programs have,
/// are compared by index.
fn operand(context: &Context<'_>, replaced: &HashMap<usize, usize>, value: usize, step: u32, is_item: bool) -> Operand {
    let value = replaced.get(&value).copied().unwrap_or(value);
    let as_value = || Operand::Value { value, writes: context.version(value, step) };
    if !context.is_fixed(value) {
        return as_value();
    }
    let found = &context.method.plan.values()[value];
    let scalar = |bits: u64| Operand::Scalar(found.tag(), bits);
    let list = |items: Option<Vec<Operand>>| Operand::List(found.tag(), items);
    let of_ids = |ids: &[ValueId]| {
        let item = |id: &ValueId| match id.within(context.method.plan.values().len()) {
            Some(item) => operand(context, replaced, item, step, true),
            None => Operand::Scalar(u8::MAX, id.0 as u64),
        };
        ids.iter().map(item).collect()
    };
    match found {
        EValue::Null => scalar(0),
        EValue::Int(int) => scalar(*int as u64),
        EValue::Bool(state) => scalar(u64::from(*state)),
        EValue::Double(number) => scalar(number.to_bits()),
        EValue::String(text) => Operand::String(text.clone()),
        EValue::Unknown(_) => as_value(),
        EValue::Tensor(tensor) => match constant(tensor) {
            Some(constant) => constant,
            None => as_value(),
        },
        list if is_item || list.items().len() > MAX_ITEMS => as_value(),
        EValue::IntList(items) => list(items.as_ref().map(|items| {
            let ids: Vec<ValueId> = items.iter().map(|item| ValueId::of_int(*item)).collect();
            of_ids(&ids)
        })),
        EValue::DoubleList(items) => {
            list(items.as_ref().map(|items| items.iter().map(|item| Operand::Scalar(0, item.to_bits())).collect()))
        }
        EValue::BoolList(items) => {
            list(items.as_ref().map(|items| items.iter().map(|item| Operand::Scalar(0, u64::from(*item))).collect()))
        }
        EValue::TensorList(items) | EValue::OptionalTensorList(items) => list(items.as_deref().map(of_ids)),
    }
}

/// Returns a constant by its data and properties.
fn constant(tensor: &Tensor) -> Option<Operand> {
    let TensorData::Blob(data) = tensor.data else { return None };
    let Tensor { scalar_type, sizes, dim_order, shape_dynamism, memory, .. } = tensor;
    let is_constant = *memory == pte_model::program::Memory::None;
    let properties = || format!("{scalar_type} {sizes:?} {dim_order:?} {shape_dynamism}");
    is_constant.then(|| Operand::Constant { data, properties: properties() })
}
