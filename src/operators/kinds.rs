//! Sets of kinds of values, and the operators that accept fewer kinds than their signatures.

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
    pub const ANY: Kinds = Kinds(u16::MAX);

    /// Returns the union of two sets.
    pub const fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Returns the set of the kind with this tag in the union `KernelTypes`.
    pub fn of_tag(tag: u8) -> Kinds {
        Kinds(1 << tag)
    }

    /// Returns `true` if two sets have a kind in common.
    pub fn meets(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
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
