//! Calls before they become values of a program: the operator and its arguments, with the content and the memory of
//! each tensor. Calls need not be valid.

use std::borrow::Cow;

use pte_model::data::number::{self, NumericValue};
use pte_model::format::ScalarType;
use pte_model::program::{DimOrder, Tensor, TensorShapeDynamism, ValueId, nbytes};
use pte_operators::inference::{Argument, Dim, IntMeta, TensorMeta};

/// Initial content and memory of a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The caller sets it.
    Input,
    /// Bytes in the file.
    Constant(Vec<u8>),
    /// The call writes it.
    Written,
    /// The call writes it, at an offset in bytes from the start of the tensor that is another argument.
    Over {
        /// Position of the other argument.
        argument: usize,
        /// Bytes from its start.
        offset: u64,
    },
    /// No memory: an alias that the call creates.
    Unplaced,
    /// No memory: an out that the call does not write.
    Missing,
    /// The value of the method with this index.
    Value(ValueId),
}

/// A tensor that is an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorOperand {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Sizes.
    pub sizes: Vec<i32>,
    /// Dimensions from the outermost in memory to the innermost.
    pub dim_order: DimOrder,
    /// As in the schema: 0 static, 1 dynamic with a bound.
    pub dynamism: TensorShapeDynamism,
    /// Content and memory.
    pub content: Content,
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// None.
    Null,
    /// An Int, also of an element type or a memory format.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A floating point number.
    Double(f64),
    /// A string literal.
    Str(&'static str),
    /// A tensor, which is a value of the method.
    Tensor(TensorOperand),
    /// A list of Ints.
    Ints(Vec<i64>),
    /// A list of floating point numbers.
    Doubles(Vec<f64>),
    /// A list of truth values.
    Bools(Vec<bool>),
    /// A list of tensors; with items that may be None.
    Tensors {
        /// Items; `None` for an absent optional tensor.
        items: Vec<Option<TensorOperand>>,
        /// The list may contain None.
        optional: bool,
    },
    /// The same value as another argument, by position.
    Same(usize),
}

impl Operand {
    /// Returns the contents of the tensors of an operand.
    pub fn contents(&self) -> Vec<Content> {
        self.tensors().into_iter().map(|tensor| tensor.content.clone()).collect()
    }
}

/// A call of an operator.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedCall {
    /// Name with overload.
    pub operator: &'static str,
    /// Arguments in the order of the schema, outs included, and the value that is returned by an operator without outs.
    pub args: Vec<Operand>,
}

impl TensorOperand {
    /// Returns a static contiguous tensor.
    pub fn new(scalar_type: ScalarType, sizes: &[i32], content: Content) -> TensorOperand {
        let dim_order = DimOrder::contiguous(sizes.len());
        TensorOperand { scalar_type, sizes: sizes.to_vec(), dim_order, dynamism: TensorShapeDynamism::STATIC, content }
    }

    /// Returns the tensor of an out with inferred properties. `None` if a size exceeds the format.
    pub fn inferred(meta: &TensorMeta, content: Content) -> Option<TensorOperand> {
        let sizes = meta.sizes.iter().map(|dim| i32::try_from(dim.size).ok()).collect::<Option<_>>()?;
        let dynamism = TensorShapeDynamism::of(meta.is_dynamic());
        let (scalar_type, dim_order) = (meta.scalar_type, meta.dim_order.clone());
        Some(TensorOperand { scalar_type, sizes, dim_order, dynamism, content })
    }

    /// Returns the properties that inference reads.
    pub fn meta(&self) -> TensorMeta {
        let dim = |size: &i32| Dim {
            size: (*size).max(0).into(),
            dynamic: self.dynamism != TensorShapeDynamism::STATIC && *size > 1,
        };
        let (scalar_type, dim_order) = (self.scalar_type, self.dim_order.clone());
        TensorMeta { scalar_type, sizes: self.sizes.iter().map(dim).collect(), dim_order }
    }

    /// Returns the size in bytes; `None` if it is beyond `u64`, or a size is negative.
    pub fn nbytes(&self) -> Option<u64> {
        nbytes(self.scalar_type, &self.sizes)
    }

    /// Returns the tensor of the program, without data and memory.
    pub fn tensor(&self) -> Tensor {
        let dim_order = Some(self.dim_order.clone());
        Tensor { dim_order, shape_dynamism: self.dynamism, ..Tensor::new(self.scalar_type, &self.sizes) }
    }

    /// Makes it a constant of these numbers, which are repeated. Nothing changes if its type cannot represent them, or
    /// if it exceeds `limit` bytes.
    pub fn fill(&mut self, numbers: &[NumericValue], limit: u64) {
        let Some(len) = self.nbytes().filter(|len| (1..=limit).contains(len)) else { return };
        let mut pattern = Vec::new();
        for number in numbers {
            if number::encode(self.scalar_type, *number, &mut pattern).is_err() {
                return;
            }
        }
        if !pattern.is_empty() {
            self.content = Content::Constant(pattern.into_iter().cycle().take(len as usize).collect());
        }
    }
}

impl Operand {
    /// Returns the argument that inference reads. `others` are all arguments of the call.
    pub fn argument<'a>(&'a self, others: &'a [Operand]) -> Argument<'a> {
        match self {
            Operand::Null => Argument::Null,
            Operand::Int(int) => Argument::Int(IntMeta::Exact(*int)),
            Operand::Bool(value) => Argument::Bool(*value),
            Operand::Double(value) => Argument::Double(*value),
            Operand::Str(text) => Argument::Str(text),
            Operand::Tensor(tensor) => Argument::Tensor(Cow::Owned(tensor.meta())),
            Operand::Ints(items) => Argument::Ints(items.iter().copied().map(IntMeta::Exact).collect()),
            Operand::Doubles(items) => Argument::Doubles(items),
            Operand::Bools(items) => Argument::Bools(items),
            Operand::Tensors { items, .. } => {
                let meta = |item: &TensorOperand| Cow::Owned(item.meta());
                Argument::Tensors(items.iter().map(|item| item.as_ref().map(meta)).collect())
            }
            Operand::Same(at) => match others.get(*at) {
                Some(Operand::Same(_)) | None => Argument::Unknown,
                Some(other) => other.argument(others),
            },
        }
    }

    /// Returns the tensor, if it is one.
    pub fn as_tensor(&self) -> Option<&TensorOperand> {
        let Operand::Tensor(tensor) = self else { return None };
        Some(tensor)
    }

    /// Returns the tensors: itself, or the items of the list.
    pub fn tensors(&self) -> Vec<&TensorOperand> {
        match self {
            Operand::Tensors { items, .. } => items.iter().flatten().collect(),
            other => other.as_tensor().into_iter().collect(),
        }
    }

    /// Returns the tensors: itself, or the items of the list.
    pub fn tensors_mut(&mut self) -> Vec<&mut TensorOperand> {
        match self {
            Operand::Tensor(tensor) => vec![tensor],
            Operand::Tensors { items, .. } => items.iter_mut().flatten().collect(),
            Operand::Null
            | Operand::Int(_)
            | Operand::Bool(_)
            | Operand::Double(_)
            | Operand::Str(_)
            | Operand::Ints(_)
            | Operand::Doubles(_)
            | Operand::Bools(_)
            | Operand::Same(_) => Vec::new(),
        }
    }
}
