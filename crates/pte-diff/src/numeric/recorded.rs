//! The recorded values of an execution of an instruction, and the values of the method that they are.

use super::elements::{Content, DenseTensor, Values};
use crate::view::MethodView;
use pte_analysis::operators::{AccessKind, Usage};
use pte_etdump::{TensorError, TracedTensor, TracedValue};
use pte_model::data::Blob;
use pte_model::data::number::NumericValue;
use pte_model::program::instruction::Callee;
use pte_model::program::test_cases::TestData;
use pte_model::program::{EValue, ValueId};

/// Largest tensor that is compared, in bytes.
const MAX_TENSOR: u64 = 1 << 32;

/// A recorded value with the value of the method, if it is known.
struct RecordedValue<'t> {
    name: String,
    value: &'t TracedValue,
    id: Option<ValueId>,
}

/// The recorded values of an execution.
pub struct RecordedValues<'v, 's, 't> {
    view: &'v MethodView<'s>,
    list: Vec<RecordedValue<'t>>,
}

impl<'v, 's, 't> RecordedValues<'v, 's, 't> {
    /// Finds which values an execution of a step recorded. The runtime records the outs of a kernel or its returned
    /// value, and all arguments of a delegate that it has an encoding for.
    pub fn new(view: &'v MethodView<'s>, step: usize, values: &[&'t TracedValue]) -> RecordedValues<'v, 's, 't> {
        let ids = recorded_ids(view, step);
        let is_known = ids.len() == values.len();
        let list = values.iter().enumerate().map(|(number, value)| {
            let id = ids.get(number).copied().filter(|_| is_known);
            let name = id.map_or_else(|| format!("value {number}"), |id| view.describe(id));
            RecordedValue { name, value, id }
        });
        RecordedValues { view, list: list.collect() }
    }

    /// Returns true without values.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Reads a value.
    ///
    /// # Errors
    /// Bytes outside of the debug buffer, or that cannot be read.
    pub fn read(&self, index: usize, buffer: &Blob) -> Result<Values, TensorError> {
        let Some(RecordedValue { name, value, id }) = self.list.get(index) else {
            return Ok(Values { name: String::new(), content: Content::Missing });
        };
        let own = id.and_then(|id| self.view.plan.value(id));
        let content = match value {
            TracedValue::Null => Content::Null,
            TracedValue::Int(number) => Content::Number(NumericValue::Int((*number).into())),
            TracedValue::Bool(truth) => Content::Number(NumericValue::Bool(*truth)),
            TracedValue::Double(number) => Content::Number(NumericValue::Float(*number)),
            TracedValue::Tensor(tensor) => Content::Tensor(self.tensor(tensor, own, buffer)?),
            TracedValue::TensorList(tensors) => {
                let items = match own {
                    Some(EValue::TensorList(Some(items))) if items.len() == tensors.len() => items.as_slice(),
                    _ => &[],
                };
                let item = |(index, tensor): (usize, &TracedTensor)| {
                    let own = items.get(index).and_then(|item| self.view.plan.value(*item));
                    self.tensor(tensor, own, buffer)
                };
                Content::Tensors(tensors.iter().enumerate().map(item).collect::<Result<_, _>>()?)
            }
        };
        Ok(Values { name: name.clone(), content })
    }

    /// Reads the values that the step computed: not the arguments of a delegate that had content before.
    ///
    /// # Errors
    /// As [`RecordedValues::read`].
    pub fn results(
        &self,
        step: usize,
        buffer: &Blob,
        is_wanted: &dyn Fn(usize) -> bool,
    ) -> Result<Vec<(usize, TestData)>, TensorError> {
        let is_computed = |value: usize| {
            let first = self.view.method.value_accesses(value).next();
            first.is_some_and(|first| first.step as usize == step && !first.has_content)
        };
        let is_delegate = matches!(self.view.steps[step].instruction.callee(), Some(Callee::Delegate(_)));
        let mut found = Vec::new();
        for (index, recorded) in self.list.iter().enumerate() {
            let Some(value) = recorded.id.and_then(ValueId::get) else { continue };
            let items = match self.view.plan.values().get(value) {
                Some(EValue::TensorList(Some(items))) => items.iter().filter_map(|item| item.get()).collect(),
                _ => vec![value],
            };
            if is_delegate && !is_computed(value) || !items.iter().any(|item| is_wanted(*item)) {
                continue;
            }
            let order = |item: &usize| self.view.plan.values().get(*item)?.as_tensor()?.dim_order.as_ref();
            let orders: Vec<_> = items.iter().map(order).collect();
            let content = self.read(index, buffer)?.content.into_test_data(&orders);
            found.extend(items.into_iter().zip(content).filter(|(item, _)| is_wanted(*item)));
        }
        Ok(found)
    }

    /// Reads a tensor. Element types that ETDump does not have are recorded as others of the same size: the program has
    /// the type.
    fn tensor(
        &self,
        tensor: &TracedTensor,
        content: Option<&EValue>,
        buffer: &Blob,
    ) -> Result<DenseTensor, TensorError> {
        let size = |scalar_type: pte_model::format::ScalarType| scalar_type.info().map(|info| info.size);
        let declared = content.and_then(EValue::as_tensor).map(|tensor| tensor.scalar_type);
        let declared = declared.filter(|declared| size(*declared) == size(tensor.scalar_type));
        Ok(DenseTensor {
            scalar_type: declared.unwrap_or(tensor.scalar_type),
            sizes: tensor.sizes.clone(),
            strides: tensor.strides.clone(),
            bytes: tensor.data(buffer, MAX_TENSOR)?,
        })
    }
}

/// Returns the values that the runtime records for a step.
fn recorded_ids(view: &MethodView<'_>, step: usize) -> Vec<ValueId> {
    let Some(instruction) = view.steps.get(step).map(|step| step.instruction) else { return Vec::new() };
    match instruction.callee() {
        Some(Callee::Operator(_)) => {
            let uses: Vec<Usage> = view.method.operators.uses(instruction).collect();
            let outs = uses.iter().filter(|usage| usage.kind == AccessKind::Write);
            let outs: Vec<ValueId> = outs.map(|usage| usage.value).collect();
            if outs.is_empty() { instruction.args().last().copied().into_iter().collect() } else { outs }
        }
        Some(Callee::Delegate(_)) => {
            let is_recorded = |id: &&ValueId| match view.plan.value(**id) {
                Some(
                    EValue::Tensor(_) | EValue::TensorList(_) | EValue::Int(_) | EValue::Double(_) | EValue::Bool(_),
                ) => true,
                Some(
                    EValue::Null
                    | EValue::String(_)
                    | EValue::IntList(_)
                    | EValue::DoubleList(_)
                    | EValue::BoolList(_)
                    | EValue::OptionalTensorList(_)
                    | EValue::Unknown(_),
                )
                | None => false,
            };
            instruction.args().iter().filter(is_recorded).copied().collect()
        }
        None => Vec::new(),
    }
}
