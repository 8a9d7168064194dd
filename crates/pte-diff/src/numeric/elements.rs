//! Compares two values element by element.

use std::io;

use serde::Serialize;

use pte_model::data::Blob;
use pte_model::data::number::{self, NumericValue};
use pte_model::format::{DimOrder, ScalarType};
use pte_model::program::test_cases::{TestData, Tolerance};

/// Comparison of two values, or of two tensors in lists.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ValueComparison {
    /// Name or description of the value of A.
    pub left: String,
    /// Name or description of the value of B.
    pub right: String,
    /// Element type and sizes, such as `float32 [2, 3]`, or the kind of the value.
    #[serde(rename = "type")]
    pub kind: String,
    /// Types or sizes that differ; the elements are not compared then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mismatch: Option<String>,
    /// Number of elements; 1 for a number.
    pub elements: u64,
    /// Number of elements that differ by more than the tolerance.
    pub differing: u64,
    /// Largest absolute difference of finite numbers.
    pub max_abs: f64,
    /// Largest absolute difference divided by the absolute value in A, where that is not 0.
    pub max_rel: f64,
    /// Number of NaN elements of A, and of B.
    pub nan: [u64; 2],
    /// First element that differs, in the order of memory of A.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<DifferingElement>,
}

/// An element that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DifferingElement {
    /// Index by dimension; that of the tensor before it for a list. Empty for a number.
    pub index: Vec<u64>,
    /// Element of A.
    pub left: String,
    /// Element of B.
    pub right: String,
}

/// A tensor whose elements fill its memory.
pub struct DenseTensor {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Sizes.
    pub sizes: Vec<u64>,
    /// Distance of neighbours in memory by dimension, in elements.
    pub strides: Vec<u64>,
    /// Bytes in the order of memory.
    pub bytes: Vec<u8>,
}

impl DenseTensor {
    fn kind(&self) -> String {
        format!("{} {:?}", self.scalar_type, self.sizes)
    }

    /// Strides do not tell the place of dimensions of size 1: it is that of the declared order, if that has these
    /// strides.
    fn into_test_data(self, declared: Option<&DimOrder>) -> TestData {
        let has_strides = |order: &&DimOrder| order.strides(&self.sizes).as_ref() == Some(&self.strides);
        let dim_order = declared.filter(has_strides).cloned().unwrap_or_else(|| {
            let mut dims: Vec<u8> = (0..self.sizes.len() as u8).collect();
            dims.sort_by_key(|dim| std::cmp::Reverse(self.strides[usize::from(*dim)]));
            dims.into_iter().collect()
        });
        TestData::Tensor {
            scalar_type: self.scalar_type,
            sizes: self.sizes.iter().map(|size| i32::try_from(*size).unwrap_or(i32::MAX)).collect(),
            dim_order,
            data: Blob::bytes(self.bytes),
        }
    }

    /// Returns the indices of the element at a position in memory.
    fn indices(&self, position: u64) -> Vec<u64> {
        let index = |(size, stride): (&u64, &u64)| match size {
            0 | 1 => 0,
            size => position.checked_div(*stride).unwrap_or_default() % size,
        };
        self.sizes.iter().zip(&self.strides).map(index).collect()
    }

    fn position(&self, indices: &[u64]) -> u64 {
        let dims = indices.iter().zip(&self.strides);
        dims.fold(0, |all, (index, stride)| all.saturating_add(index.saturating_mul(*stride)))
    }

    /// Returns the strides of dimensions that have several elements.
    fn order(&self) -> Vec<u64> {
        self.sizes.iter().zip(&self.strides).filter(|(size, _)| **size > 1).map(|(_, stride)| *stride).collect()
    }
}

/// The content of a value.
pub enum Content {
    /// None, or a kind of values that cannot be compared.
    Null,
    /// No such value on this side.
    Missing,
    String(String),
    Number(NumericValue),
    Tensor(DenseTensor),
    Tensors(Vec<DenseTensor>),
}

/// Maximum number of tensors of a list whose types are printed.
const MAX_KINDS: usize = 8;

/// A value with its name.
pub struct Values {
    /// Name or description.
    pub name: String,
    /// Its content.
    pub content: Content,
}

impl Content {
    /// Returns an output of a method; `None` is a kind of values that cannot be compared.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn of_output(value: Option<&TestData>) -> io::Result<Content> {
        Ok(match value {
            None | Some(TestData::Null) => Content::Null,
            Some(TestData::Int(number)) => Content::Number(NumericValue::Int((*number).into())),
            Some(TestData::Double(number)) => Content::Number(NumericValue::Float(*number)),
            Some(TestData::Bool(truth)) => Content::Number(NumericValue::Bool(*truth)),
            Some(TestData::String(text)) => Content::String(text.clone()),
            Some(TestData::Tensor { scalar_type, sizes, dim_order, data }) => {
                let sizes: Vec<u64> = sizes.iter().map(|size| u64::try_from(*size).unwrap_or(0)).collect();
                let strides = dim_order.strides(&sizes).unwrap_or_else(|| vec![1; sizes.len()]);
                Content::Tensor(DenseTensor { scalar_type: *scalar_type, sizes, strides, bytes: data.to_vec()? })
            }
        })
    }

    /// Returns the value, or those of a list, as test data. `orders` has the order of dimensions that the program
    /// declares for each.
    pub fn into_test_data(self, orders: &[Option<&DimOrder>]) -> Vec<TestData> {
        let order = |index: usize| orders.get(index).copied().flatten();
        match self {
            Content::Null => vec![TestData::Null],
            Content::Missing | Content::Number(NumericValue::Complex(..)) => Vec::new(),
            Content::String(text) => vec![TestData::String(text)],
            Content::Number(NumericValue::Int(number)) => {
                i64::try_from(number).map(TestData::Int).into_iter().collect()
            }
            Content::Number(NumericValue::Float(number)) => vec![TestData::Double(number)],
            Content::Number(NumericValue::Bool(truth)) => vec![TestData::Bool(truth)],
            Content::Tensor(tensor) => vec![tensor.into_test_data(order(0))],
            Content::Tensors(tensors) => {
                tensors.into_iter().enumerate().map(|(index, tensor)| tensor.into_test_data(order(index))).collect()
            }
        }
    }

    fn kind(&self) -> String {
        match self {
            Content::Null => "none".to_owned(),
            Content::Missing => "absent".to_owned(),
            Content::String(_) => "string".to_owned(),
            Content::Number(NumericValue::Int(_)) => "int".to_owned(),
            Content::Number(NumericValue::Bool(_)) => "bool".to_owned(),
            Content::Number(NumericValue::Float(_) | NumericValue::Complex(..)) => "double".to_owned(),
            Content::Tensor(tensor) => tensor.kind(),
            Content::Tensors(tensors) => {
                let kinds: Vec<String> = tensors.iter().take(MAX_KINDS).map(DenseTensor::kind).collect();
                let more =
                    if tensors.len() > MAX_KINDS { format!(", ... {} tensors", tensors.len()) } else { String::new() };
                format!("({}{more})", kinds.join(", "))
            }
        }
    }
}

impl ValueComparison {
    /// Returns true if the values are equal within the tolerance.
    pub fn is_equal(&self) -> bool {
        self.mismatch.is_none() && self.differing == 0
    }

    /// Compares two values.
    pub(super) fn of(values: [&Values; 2], tolerance: Tolerance) -> ValueComparison {
        let [left, right] = values.map(|value| value.name.clone());
        let [kind, other] = values.map(|value| value.content.kind());
        let mismatch = (kind != other).then(|| format!("{kind} -> {other}"));
        let (elements, differing, max_abs, max_rel, nan, first) = Default::default();
        let mut found =
            ValueComparison { left, right, kind, mismatch, elements, differing, max_abs, max_rel, nan, first };
        match [&values[0].content, &values[1].content] {
            _ if found.mismatch.is_some() => {}
            [Content::Number(left), Content::Number(right)] => found.element([*left, *right], tolerance, Vec::new),
            [Content::Tensor(left), Content::Tensor(right)] => found.tensors([left, right], &[], tolerance),
            [Content::Tensors(left), Content::Tensors(right)] => {
                for (number, (left, right)) in left.iter().zip(right).enumerate() {
                    found.tensors([left, right], &[number as u64], tolerance);
                }
            }
            [Content::String(left), Content::String(right)] => {
                found.elements = 1;
                found.differing = u64::from(left != right);
            }
            // Of equal kinds.
            _ => {}
        }
        found
    }

    /// Compares tensors of equal types and sizes.
    fn tensors(&mut self, tensors: [&DenseTensor; 2], prefix: &[u64], tolerance: Tolerance) {
        let [left, right] = tensors;
        let size = left.scalar_type.element_size() as usize;
        let count = (left.bytes.len() / size.max(1)) as u64;
        let is_same_order = left.order() == right.order();
        let read = |tensor: &DenseTensor, position: u64| {
            let at = usize::try_from(position).ok()?.checked_mul(size)?;
            number::decode(tensor.scalar_type, tensor.bytes.get(at..at.checked_add(size)?)?)
        };
        for position in 0..count {
            let other = if is_same_order { position } else { right.position(&left.indices(position)) };
            if let Some((l, r)) = read(left, position).zip(read(right, other)) {
                self.element([l, r], tolerance, || [prefix, &left.indices(position)].concat());
            }
        }
    }

    fn element(&mut self, both: [NumericValue; 2], tolerance: Tolerance, index: impl FnOnce() -> Vec<u64>) {
        let [left, right] = both;
        self.elements += 1;
        let error = left.distance(right);
        if error.is_finite() {
            self.max_abs = self.max_abs.max(error);
            if left.to_f64() != 0.0 {
                self.max_rel = self.max_rel.max(error / left.to_f64().abs());
            }
        }
        self.nan.iter_mut().zip(both).for_each(|(count, number)| *count += u64::from(number.to_f64().is_nan()));
        if !tolerance.accepts_element(left, right) {
            self.differing += 1;
            let first = || DifferingElement { index: index(), left: left.to_string(), right: right.to_string() };
            self.first.get_or_insert_with(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(content: Content) -> Values {
        Values { name: "v".to_owned(), content }
    }

    fn number(number: NumericValue) -> Values {
        named(Content::Number(number))
    }

    fn dense(scalar_type: ScalarType, sizes: &[u64], strides: &[u64], bytes: Vec<u8>) -> Values {
        let tensor = DenseTensor { scalar_type, sizes: sizes.to_vec(), strides: strides.to_vec(), bytes };
        named(Content::Tensor(tensor))
    }

    fn floats(sizes: &[u64], strides: &[u64], numbers: &[f32]) -> Values {
        dense(ScalarType::FLOAT, sizes, strides, numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
    }

    fn compared(left: &Values, right: &Values) -> ValueComparison {
        ValueComparison::of([left, right], Tolerance { atol: 0.5, rtol: 0.0 })
    }

    #[test]
    fn elements_are_compared_by_their_indices() {
        let rows = floats(&[2, 3], &[3, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let columns = floats(&[2, 3], &[1, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 7.0]);
        let found = compared(&rows, &columns);
        assert_eq!((found.elements, found.differing, found.max_abs), (6, 1, 1.0));
        let first = found.first.unwrap();
        assert_eq!((first.index, &*first.left, &*first.right), (vec![1, 2], "6.0", "7.0"));
        let first = compared(&columns, &rows).first.unwrap();
        assert_eq!((first.index, &*first.left), (vec![1, 2], "7.0"));
        // A dimension of one element may have any stride.
        let others = [floats(&[1, 2], &[9, 1], &[1.0, 2.0]), floats(&[1, 2], &[2, 1], &[1.0, 2.0])];
        assert!(compared(&others[0], &others[1]).is_equal());
    }

    #[test]
    fn numbers_are_equal_within_the_tolerance() {
        let inf = f32::INFINITY;
        let left = floats(&[5], &[1], &[0.0, f32::NAN, inf, 2.0, f32::NAN]);
        let found = compared(&left, &floats(&[5], &[1], &[0.5, f32::NAN, inf, 2.25, 1.0]));
        assert_eq!((found.differing, found.nan, found.max_abs, found.max_rel), (1, [2, 1], 0.5, 0.125));
        assert!(compared(&number(NumericValue::Float(1.0)), &number(NumericValue::Float(1.5))).is_equal());
        // Integers and truth values are equal only exactly.
        let ints = |numbers: [u8; 2]| dense(ScalarType::BYTE, &[2], &[1], numbers.to_vec());
        assert_eq!(compared(&ints([1, 2]), &ints([1, 3])).differing, 1);
        assert!(!compared(&number(NumericValue::Bool(true)), &number(NumericValue::Bool(false))).is_equal());
        assert!(!compared(&number(NumericValue::Int(1)), &number(NumericValue::Int(2))).is_equal());
    }

    #[test]
    fn other_kinds_and_sizes_are_mismatches() {
        let mismatch = |left: &Values, right: &Values| compared(left, right).mismatch;
        let [one, two] = [floats(&[1], &[1], &[1.0]), floats(&[2], &[1], &[1.0, 2.0])];
        assert_eq!(mismatch(&one, &two).as_deref(), Some("float32 [1] -> float32 [2]"));
        assert_eq!(mismatch(&one, &number(NumericValue::Int(1))).as_deref(), Some("float32 [1] -> int"));
        assert_eq!(mismatch(&named(Content::Missing), &named(Content::Null)).as_deref(), Some("absent -> none"));
        assert!(compared(&named(Content::Null), &named(Content::Null)).is_equal());
        let text = |text: &str| named(Content::String(text.to_owned()));
        assert!(compared(&text("a"), &text("a")).is_equal() && !compared(&text("a"), &text("b")).is_equal());
    }
}
