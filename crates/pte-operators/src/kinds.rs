//! Sets of kinds of values, and kinds of results.

use super::signature::{ArgKind, Base};
use pte_model::format::program::KERNEL_TYPES;

/// A set of kinds of values; bit `n` is the kind with tag `n` in the union `KernelTypes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kinds(pub u16);

impl Kinds {
    /// The kind `Null`.
    pub const NULL: Kinds = Kinds(1 << 1);
    /// The kind `Int`.
    pub const INT: Kinds = Kinds(1 << 2);
    /// The kind `Bool`.
    pub const BOOL: Kinds = Kinds(1 << 3);
    /// The kind `Double`.
    pub const DOUBLE: Kinds = Kinds(1 << 4);
    /// The kind `Tensor`.
    pub const TENSOR: Kinds = Kinds(1 << 5);
    /// The kind `String`.
    pub const STRING: Kinds = Kinds(1 << 6);
    /// The kind `IntList`.
    pub const INT_LIST: Kinds = Kinds(1 << 7);
    /// The kind `DoubleList`.
    pub const DOUBLE_LIST: Kinds = Kinds(1 << 8);
    /// The kind `BoolList`.
    pub const BOOL_LIST: Kinds = Kinds(1 << 9);
    /// The kind `TensorList`.
    pub const TENSOR_LIST: Kinds = Kinds(1 << 10);
    /// The kind `OptionalTensorList`.
    pub const OPTIONAL_TENSOR_LIST: Kinds = Kinds(1 << 11);
    /// Kinds of numbers.
    pub const NUMBER: Kinds = Kinds::INT.or(Kinds::DOUBLE);
    /// Kinds of a `Scalar`.
    pub const SCALAR: Kinds = Kinds::INT.or(Kinds::BOOL).or(Kinds::DOUBLE);
    /// Kinds of lists of values.
    pub const VALUE_LISTS: Kinds = Kinds::INT_LIST.or(Kinds::TENSOR_LIST).or(Kinds::OPTIONAL_TENSOR_LIST);
    /// All kinds.
    pub const ANY: Kinds = Kinds(u16::MAX);
    /// No kinds.
    pub const NONE: Kinds = Kinds(0);

    /// Returns the union of two sets.
    pub const fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Returns the kinds of a sum of numbers of these kinds.
    pub fn promoted(self, other: Kinds) -> Kinds {
        let int = if self.meets(Kinds::INT) && other.meets(Kinds::INT) { Kinds::INT } else { Kinds::NONE };
        let is_double = self.meets(Kinds::DOUBLE) && other.meets(Kinds::NUMBER)
            || self.meets(Kinds::NUMBER) && other.meets(Kinds::DOUBLE);
        int.or(if is_double { Kinds::DOUBLE } else { Kinds::NONE })
    }

    /// Returns the set of the kind with this tag in the union `KernelTypes`; no kinds for a tag of a newer schema.
    pub fn of_tag(tag: u8) -> Kinds {
        Kinds(1u16.checked_shl(tag.into()).unwrap_or(0))
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
    /// Returns the kinds that the runtime accepts for an argument. It aborts for others.
    #[doc(hidden)]
    pub fn kinds(self) -> Kinds {
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
    #[doc(hidden)]
    pub fn item_kinds(self) -> Kinds {
        match self.base {
            Base::Tensor if self.optional_items => Kinds::TENSOR.or(Kinds::NULL),
            Base::Tensor => Kinds::TENSOR,
            Base::Int => Kinds::INT,
            // Lists of these have no values as items.
            Base::Scalar | Base::Float | Base::Bool | Base::Str | Base::Dtype | Base::MemoryFormat => Kinds::ANY,
        }
    }
}

/// Kinds of a result of type `Scalar`, depending on those of the arguments.
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
