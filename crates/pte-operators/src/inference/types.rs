//! Input and output of inference: properties of tensors, arguments, results and errors. No rules.

use std::borrow::Cow;

use pte_model::format::{DimOrder, ScalarType};

/// Size of a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dim {
    /// Number of elements; the upper bound if the dimension is dynamic. Never negative.
    pub size: i64,
    /// The size may be smaller at run time.
    pub dynamic: bool,
}

impl Dim {
    /// Returns a dimension whose size is constant.
    pub const fn fixed(size: i64) -> Dim {
        Dim { size, dynamic: false }
    }
}

/// Properties of a tensor that inference reads and computes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TensorMeta {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Sizes.
    pub sizes: Vec<Dim>,
    /// Dimensions from the outermost in memory to the innermost; as long as `sizes`.
    pub dim_order: DimOrder,
}

/// An integer that is an argument or a result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntMeta {
    /// Known.
    Exact(i64),
    /// A size that only execution determines, not negative and at most this.
    AtMost(i64),
    /// Unknown.
    Unknown,
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument<'a> {
    /// None.
    Null,
    /// An Int: also of an element type or a memory format.
    Int(IntMeta),
    /// A truth value.
    Bool(bool),
    /// A floating point number.
    Double(f64),
    /// A string.
    Str(&'a str),
    /// A tensor, by its properties.
    Tensor(Cow<'a, TensorMeta>),
    /// A list of Ints.
    Ints(Vec<IntMeta>),
    /// A list of floating point numbers.
    Doubles(&'a [f64]),
    /// A list of truth values.
    Bools(&'a [bool]),
    /// A list of tensors; an item is `None` for None. A list with a tensor of unknown properties is
    /// [`Argument::Unknown`].
    Tensors(Vec<Option<Cow<'a, TensorMeta>>>),
    /// A value of unknown kind or properties: only execution determines it, or its own inference failed.
    Unknown,
}

/// A result of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultMeta {
    /// A tensor, by its properties.
    Tensor(TensorMeta),
    /// An out that is a list of tensors.
    Tensors(Vec<TensorMeta>),
    /// An out that the call does not write, on request: the properties that the exporter declares. The runtime takes
    /// any.
    Unwritten(TensorMeta),
    /// An Int, whose number may be unknown.
    Int(IntMeta),
    /// A number or truth value whose kind only execution determines, or that is not an Int.
    Scalar,
}

/// Reason why the results of a call are not inferred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InferenceError {
    /// The operator is not in the table.
    UnknownOperator,
    /// The sizes depend on data, or on an argument that is not known; the reason in words.
    Undetermined(&'static str),
    /// The operator rejects its arguments.
    Invalid(InvalidArgument),
    /// The kernel of the default runtime does not take an argument that the operator takes.
    Unsupported(InvalidArgument),
}

/// An argument that an operator does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidArgument {
    /// Position of the argument in the schema.
    pub argument: usize,
    /// Value found (`sizes [2, 3]`).
    pub found: String,
    /// Value expected (`sizes that broadcast with [4, 5] of `other``).
    pub expected: String,
}
