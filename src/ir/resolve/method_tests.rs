//! Resolves the tests of a method: inputs and expected outputs as bytes. Nothing is executed.

use crate::ir::NodeDiagnostic;
use crate::ir::data::{DataRequest, Finder, bytes_disagree};
use crate::ir::document::{At, Method, Test, TestTensor, TestValue};
use pte_model::data::Blob;
use pte_model::data::number::{NumericValue, number_word};
use pte_model::diagnostics::{Code, counted};
use pte_model::program::test_cases::{DEFAULT_ATOL, DEFAULT_RTOL, MethodTests, TestCase, TestData};
use pte_model::program::{DimOrder, EValue, ExecutionPlan, Tensor, TensorShapeDynamism, ValueId};
use pte_yaml::tree::NodeId;

/// A test that does not suit its method, or whose data cannot be read.
#[derive(Debug)]
pub struct InvalidTest {
    /// Name of the method.
    pub method: String,
    /// Index of the test among those of the method.
    pub index: usize,
    /// The errors; none if they follow from those of the method.
    pub diagnostics: Vec<NodeDiagnostic>,
}

/// The values of a method, for its tests.
struct MethodValues<'m> {
    plan: &'m ExecutionPlan,
    /// Names of the values.
    names: &'m [(NodeId, Option<String>)],
    /// The method has errors, from which others follow.
    has_errors: bool,
}

/// Resolves the tests of a method, which may have errors. Those with errors of their own are added to `invalid`.
pub(super) fn resolve<'d, 'a>(
    method: &'d Method<'a>,
    plan: &ExecutionPlan,
    names: &[(NodeId, Option<String>)],
    has_errors: bool,
    finder: &mut Finder<'d, 'a>,
    invalid: &mut Vec<InvalidTest>,
) -> Option<MethodTests> {
    if method.tests.is_empty() {
        return None;
    }
    let name = method.name.value.to_string();
    let known = MethodValues { plan, names, has_errors };
    let mut cases = Vec::new();
    for (index, test) in method.tests.iter().enumerate() {
        let before = finder.diagnostics.mark();
        match known.case(test, finder) {
            Some(case) => cases.push(case),
            None => {
                let diagnostics = finder.diagnostics.split_off(before);
                invalid.push(InvalidTest { method: name.clone(), index, diagnostics });
            }
        }
    }
    Some(MethodTests::new(name, cases))
}

impl MethodValues<'_> {
    fn case<'d, 'a>(&self, test: &'d At<Test<'a>>, finder: &mut Finder<'d, 'a>) -> Option<TestCase> {
        let At { id, value: test } = test;
        let inputs = self.values("inputs", *id, &test.inputs, self.plan.inputs.as_deref(), finder);
        let outputs = match test.outputs {
            Some(_) => Some(self.values("outputs", *id, &test.outputs, self.plan.outputs.as_deref(), finder)?),
            None => None,
        };
        Some(TestCase {
            inputs: inputs?,
            outputs,
            atol: test.atol.unwrap_or(DEFAULT_ATOL),
            rtol: test.rtol.unwrap_or(DEFAULT_RTOL),
        })
    }

    /// Resolves the inputs or outputs of the test at a node; none are given as an empty list.
    fn values<'d, 'a>(
        &self,
        what: &str,
        test: NodeId,
        given: &'d Option<At<Vec<At<TestValue<'a>>>>>,
        indices: Option<&[ValueId]>,
        finder: &mut Finder<'d, 'a>,
    ) -> Option<Vec<TestData>> {
        let (at, given) = given.as_ref().map_or((test, &[][..]), |given| (given.id, &given.value[..]));
        let indices = indices.unwrap_or_default();
        if given.len() != indices.len() {
            let message = format!("the test has {} {what}, the method {}", given.len(), indices.len());
            let error = Code::InvalidTest.error(at, message).label(format!("expected {}", indices.len()));
            finder.diagnostics.push(error);
            return None;
        }
        given.iter().zip(indices).map(|(value, index)| self.one(value, *index, finder)).collect()
    }

    fn one<'d, 'a>(&self, given: &'d At<TestValue<'a>>, id: ValueId, finder: &mut Finder<'d, 'a>) -> Option<TestData> {
        let (index, value) = id.get().zip(self.plan.value(id))?;
        // Its sizes are not known because of an error of the method, which is reported.
        if self.has_errors && matches!(value, EValue::Tensor(tensor) if tensor.sizes.is_none()) {
            return None;
        }
        let found = match (value, &given.value) {
            (EValue::Null, TestValue::Null) => Some(TestData::Null),
            (EValue::Int(_), TestValue::Number(NumericValue::Int(n))) => i64::try_from(*n).ok().map(TestData::Int),
            (EValue::Double(_), TestValue::Number(n @ (NumericValue::Int(_) | NumericValue::Float(_)))) => {
                Some(TestData::Double(n.to_f64()))
            }
            // JSON has infinity and NaN as strings only.
            (EValue::Double(_), TestValue::Text(text)) => match number_word(text) {
                Some(NumericValue::Float(x)) => Some(TestData::Double(x)),
                _ => None,
            },
            (EValue::Bool(_), TestValue::Number(NumericValue::Bool(b))) => Some(TestData::Bool(*b)),
            (EValue::String(_), TestValue::Text(text)) => Some(TestData::String(text.to_string())),
            (EValue::Tensor(tensor), TestValue::Number(number))
                if tensor.sizes.as_ref().is_some_and(|sizes| sizes.is_empty()) =>
            {
                Some(scalar(given.id, tensor, *number, finder)?)
            }
            (EValue::Tensor(tensor), TestValue::Tensor(content)) => {
                Some(self::tensor(given.id, tensor, content, finder)?)
            }
            // The given value is of another kind than the method's.
            (
                EValue::Null
                | EValue::Int(_)
                | EValue::Bool(_)
                | EValue::Double(_)
                | EValue::Tensor(_)
                | EValue::String(_)
                | EValue::IntList(_)
                | EValue::DoubleList(_)
                | EValue::BoolList(_)
                | EValue::TensorList(_)
                | EValue::OptionalTensorList(_)
                | EValue::Unknown(_),
                TestValue::Null | TestValue::Number(_) | TestValue::Text(_) | TestValue::Tensor(..),
            ) => None,
        };
        if found.is_none() {
            let name = self
                .names
                .get(index)
                .and_then(|(_, name)| name.as_deref())
                .map_or(format!("value {index}"), |name| format!("`{name}`"));
            let kind = value.kind();
            let kind = format!("{} {kind}", if kind == "Int" || kind == "IntList" { "an" } else { "a" });
            let message = format!("{name} is {kind}, the test gives {}", describe(&given.value));
            finder.diagnostics.push(Code::InvalidTest.error(given.id, message).label(format!("expected {kind}")));
        }
        found
    }
}

/// Message if a tensor of a method cannot have these sizes (rule I-27).
fn misfit(tensor: &Tensor, sizes: &[i32]) -> Option<String> {
    let bound = tensor.sizes.as_deref()?;
    let numel = |sizes: &[i32]| sizes.iter().map(|size| i128::from(*size)).product::<i128>();
    if sizes.iter().any(|size| *size < 0) {
        Some(format!("a size cannot be negative: {sizes:?}"))
    } else if sizes.len() != bound.len() || (tensor.shape_dynamism == TensorShapeDynamism::STATIC && sizes != bound) {
        Some(format!("the tensor has sizes {bound:?}, the test gives {sizes:?}"))
    } else if tensor.shape_dynamism == TensorShapeDynamism::DYNAMIC_BOUND && numel(sizes) > numel(bound) {
        Some(format!("the tensor holds {} elements at most, the test gives {}", numel(bound), numel(sizes)))
    } else {
        None
    }
}

/// Encodes the number of a tensor without dimensions.
fn scalar(at: NodeId, tensor: &Tensor, number: NumericValue, finder: &mut Finder<'_, '_>) -> Option<TestData> {
    let scalar_type = tensor.scalar_type;
    let mut bytes = Vec::new();
    if let Err(message) = pte_model::data::number::encode(scalar_type, number, &mut bytes) {
        finder.diagnostics.push(Code::DataNumber.error(at, message));
        return None;
    }
    Some(TestData::Tensor { scalar_type, sizes: Vec::new(), dim_order: DimOrder::default(), data: Blob::bytes(bytes) })
}

/// Finds the content of a tensor, and its sizes, which may be those of the content.
fn tensor<'d, 'a>(
    at: NodeId,
    tensor: &Tensor,
    content: &'d TestTensor<'a>,
    finder: &mut Finder<'d, 'a>,
) -> Option<TestData> {
    // A dynamic tensor takes the sizes of the given data, if they are nested.
    let dynamic = tensor.shape_dynamism != TensorShapeDynamism::STATIC;
    let stated = content.sizes.as_ref().map(|sizes| sizes.value.clone());
    let expected_sizes = stated.or_else(|| tensor.sizes.as_deref().filter(|_| !dynamic).map(<[i32]>::to_vec));
    let order = tensor.dim_order.clone().unwrap_or_default();
    let request = DataRequest::Tensor(tensor.scalar_type, expected_sizes.as_deref(), Some(&order));
    let found = finder.find(&content.data, request)?;
    let own = found.sizes.as_ref().filter(|own| own.len() != order.len());
    if let (None, Some(own)) = (&expected_sizes, own) {
        let [expected, own] = [order.len(), own.len()].map(|count| counted(count as u64, "dimension"));
        let message = format!("the tensor has {expected}, the test gives {own}");
        finder.diagnostics.push(Code::InvalidTest.error(at, message).label(format!("expected {expected}")));
        return None;
    }
    let Some(sizes) = expected_sizes.or(found.sizes).filter(|sizes| sizes.len() == order.len()) else {
        let unknown = Code::UndeterminedTensor.error(at, "the sizes of this tensor are not known");
        finder.diagnostics.push(unknown.label("nest the numbers, or write {sizes: [...], data: ...}"));
        return None;
    };
    if let Some(message) = misfit(tensor, &sizes) {
        finder.diagnostics.push(Code::InvalidTest.error(at, message).label("these sizes do not fit"));
        return None;
    }
    let is_known = tensor.scalar_type.info().is_some();
    if is_known && pte_model::program::nbytes(tensor.scalar_type, &sizes) != Some(found.blob.len) {
        finder.diagnostics.push(bytes_disagree(at, tensor.scalar_type, &sizes, found.blob.len));
        return None;
    }
    let dim_order = if order.is_empty() { DimOrder::contiguous(sizes.len()) } else { order };
    Some(TestData::Tensor { scalar_type: tensor.scalar_type, sizes, dim_order, data: found.blob })
}

fn describe(value: &TestValue<'_>) -> String {
    match value {
        TestValue::Null => "null".into(),
        TestValue::Number(number) => format!("the number {number}"),
        TestValue::Text(text) => format!("the string `{}`", pte_model::diagnostics::clipped(text)),
        TestValue::Tensor(..) => "a tensor".into(),
    }
}
