//! Sets of kinds of values, the operators that accept fewer kinds than their signatures, and the kinds of their results.

use super::{ArgKind, Base};
use crate::format::program::KERNEL_TYPES;

/// A set of kinds of values; bit `n` is the kind with tag `n` in the union `KernelTypes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kinds(pub u16);

impl Kinds {
    pub const NULL: Kinds = Kinds(1 << 1);
    pub const INT: Kinds = Kinds(1 << 2);
    pub const BOOL: Kinds = Kinds(1 << 3);
    pub const DOUBLE: Kinds = Kinds(1 << 4);
    pub const TENSOR: Kinds = Kinds(1 << 5);
    pub const STRING: Kinds = Kinds(1 << 6);
    pub const INT_LIST: Kinds = Kinds(1 << 7);
    pub const DOUBLE_LIST: Kinds = Kinds(1 << 8);
    pub const BOOL_LIST: Kinds = Kinds(1 << 9);
    pub const TENSOR_LIST: Kinds = Kinds(1 << 10);
    pub const OPTIONAL_TENSOR_LIST: Kinds = Kinds(1 << 11);
    /// Kinds of a `Scalar`.
    pub const SCALAR: Kinds = Kinds::INT.or(Kinds::BOOL).or(Kinds::DOUBLE);
    /// Kinds of lists of values.
    pub const VALUE_LISTS: Kinds = Kinds::INT_LIST.or(Kinds::TENSOR_LIST).or(Kinds::OPTIONAL_TENSOR_LIST);
    pub const ANY: Kinds = Kinds(u16::MAX);
    pub const NONE: Kinds = Kinds(0);

    /// Returns the union of two sets.
    pub const fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Returns the kinds of a sum of numbers of these kinds.
    pub fn promoted(self, other: Kinds) -> Kinds {
        let int = if self.meets(Kinds::INT) && other.meets(Kinds::INT) { Kinds::INT } else { Kinds::NONE };
        let is_double =
            self.meets(Kinds::DOUBLE) && other.meets(NUMBER) || self.meets(NUMBER) && other.meets(Kinds::DOUBLE);
        int.or(if is_double { Kinds::DOUBLE } else { Kinds::NONE })
    }

    /// Returns the set of the kind with this tag in the union `KernelTypes`.
    pub fn of_tag(tag: u8) -> Kinds {
        Kinds(1 << tag)
    }

    /// Returns the kinds that are not in another set.
    pub const fn without(self, other: Kinds) -> Kinds {
        Kinds(self.0 & !other.0)
    }

    /// Formats a set of kinds by their names in the schema.
    pub fn names(self) -> String {
        let types = KERNEL_TYPES.iter().zip(1..);
        let names: Vec<&str> =
            types.filter(|(_, tag)| self.meets(Kinds::of_tag(*tag))).map(|(kind, _)| kind.name).collect();
        names.join(" or ")
    }

    /// Returns `true` if two sets have a kind in common.
    pub fn meets(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }
}

impl ArgKind {
    /// Returns the kinds that the runtime accepts for an argument; it aborts at others.
    pub(crate) fn kinds(self) -> Kinds {
        let single = match (self.list, self.base) {
            (false, Base::Tensor) => Kinds::TENSOR,
            (false, Base::Scalar) => Kinds::SCALAR,
            (false, Base::Int | Base::Dtype | Base::MemoryFormat) => Kinds::INT,
            (false, Base::Float) => Kinds::DOUBLE,
            (false, Base::Bool) => Kinds::BOOL,
            (false, Base::Str) => Kinds::STRING,
            (true, Base::Tensor) if self.optional_items => Kinds::OPTIONAL_TENSOR_LIST,
            (true, Base::Tensor) => Kinds::TENSOR_LIST,
            (true, Base::Int) => Kinds::INT_LIST,
            (true, Base::Float) => Kinds::DOUBLE_LIST,
            (true, Base::Bool) => Kinds::BOOL_LIST,
            // No operator of the runtime has such a parameter.
            (true, Base::Scalar | Base::Str | Base::Dtype | Base::MemoryFormat) => Kinds::ANY,
        };
        if self.optional { single.or(Kinds::NULL) } else { single }
    }

    /// Returns the kinds that the runtime accepts for an item of a list of values.
    pub(crate) fn item_kinds(self) -> Kinds {
        match self.base {
            Base::Tensor if self.optional_items => Kinds::TENSOR.or(Kinds::NULL),
            Base::Tensor => Kinds::TENSOR,
            Base::Int => Kinds::INT,
            // Lists of these have no values as items.
            Base::Scalar | Base::Float | Base::Bool | Base::Str | Base::Dtype | Base::MemoryFormat => Kinds::ANY,
        }
    }
}

/// Operators that accept fewer kinds than their signatures, by argument; the last entry applies to all further arguments.
const NARROWER: &[(&str, &[Kinds])] = &[
    ("executorch_prim::add.Scalar", &[NUMBER]),
    ("executorch_prim::sub.Scalar", &[NUMBER]),
    ("executorch_prim::mul.Scalar", &[NUMBER]),
    ("executorch_prim::floordiv.Scalar", &[NUMBER]),
    ("executorch_prim::truediv.Scalar", &[NUMBER]),
    ("executorch_prim::neg.Scalar", &[NUMBER]),
    ("executorch_prim::ceil.Scalar", &[Kinds::DOUBLE]),
    ("executorch_prim::round.Scalar", &[Kinds::DOUBLE]),
    ("executorch_prim::trunc.Scalar", &[Kinds::DOUBLE]),
    ("executorch_prim::sym_max.Scalar", &[Kinds::INT]),
    ("executorch_prim::sym_min.Scalar", &[Kinds::INT]),
    ("executorch_prim::sym_not.Scalar", &[Kinds::BOOL]),
    ("executorch_prim::sym_ite.Scalar", &[Kinds::BOOL, Kinds::SCALAR]),
];

/// Returns the kinds that an operator accepts by argument, if they are fewer than those of its signature.
pub fn narrower(name: &str) -> Option<&'static [Kinds]> {
    NARROWER.iter().find(|(other, _)| *other == name).map(|(_, kinds)| *kinds)
}

const NUMBER: Kinds = Kinds::INT.or(Kinds::DOUBLE);

/// Kinds of a result of type `Scalar`, as far as those of the arguments determine them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultKinds {
    /// These.
    Always(Kinds),
    /// Int if both arguments are, otherwise Double.
    Promoted,
    /// The kind of one of these arguments.
    OneOf(&'static [usize]),
    /// That of an element of the tensor.
    Element,
}

/// Operators with a result of type `Scalar`; measured with ExecuTorch 1.5.1.
const RESULTS: &[(&str, ResultKinds)] = &[
    ("aten::_local_scalar_dense", ResultKinds::Element),
    ("executorch_prim::add.Scalar", ResultKinds::Promoted),
    ("executorch_prim::ceil.Scalar", ResultKinds::Always(Kinds::INT)),
    ("executorch_prim::floordiv.Scalar", ResultKinds::Promoted),
    ("executorch_prim::mul.Scalar", ResultKinds::Promoted),
    ("executorch_prim::neg.Scalar", ResultKinds::OneOf(&[0])),
    ("executorch_prim::round.Scalar", ResultKinds::Always(Kinds::INT)),
    ("executorch_prim::sub.Scalar", ResultKinds::Promoted),
    ("executorch_prim::sym_float.Scalar", ResultKinds::Always(Kinds::DOUBLE)),
    ("executorch_prim::sym_int.Scalar", ResultKinds::Always(Kinds::INT)),
    ("executorch_prim::sym_ite.Scalar", ResultKinds::OneOf(&[1, 2])),
    ("executorch_prim::sym_max.Scalar", ResultKinds::Always(Kinds::INT)),
    ("executorch_prim::sym_min.Scalar", ResultKinds::Always(Kinds::INT)),
    ("executorch_prim::truediv.Scalar", ResultKinds::Always(Kinds::DOUBLE)),
    ("executorch_prim::trunc.Scalar", ResultKinds::Always(Kinds::INT)),
];

/// Returns the kinds of the result of an operator of the default runtime, if its signature does not state one.
pub fn results(name: &str) -> Option<ResultKinds> {
    RESULTS.iter().find(|(other, _)| *other == name).map(|(_, kinds)| *kinds)
}
