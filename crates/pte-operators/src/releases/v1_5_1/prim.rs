//! The operators of the runtime itself, and copies between orders of memory and devices.

use crate::facts::LoopPart;
use crate::inference::constraints::Constraint;
use crate::inference::{memory, prim, views};
use crate::kinds::{Kinds, ResultKinds};
use crate::release::Row;

/// Two Ints that can be divided.
const DIVISION: &[Constraint] = &[Constraint::divisor(1), Constraint::Quotient { argument: 0, other: 1 }];

/// Operators with the same facts are in one row.
pub(super) static ROWS: &[Row] = rows! {
    "dim_order_ops::_clone_dim_order.out": memory::copy_in_order, evaluation movement::copied, movement copy,
        copies_dim_order, short_name "clone";
    "dim_order_ops::_empty_dim_order.out": memory::empty_in_order, conversion Any, ignored [1], is_undetermined;
    "dim_order_ops::_to_dim_order_copy.out": memory::copy_in_order, evaluation movement::copied, movement copy,
        conversion Any, copies_dim_order, short_name "to_copy";
    "et_copy::_d2h_copy.out": memory::copy, on_device 0;
    "et_copy::_h2d_copy.out": memory::copy, on_device 1;
    "executorch_prim::add.Scalar": prim::add, computation add, narrower [Kinds::NUMBER], result_kinds ResultKinds::Promoted;
    "executorch_prim::ceil.Scalar": prim::ceil, computation ceil, narrower [Kinds::DOUBLE],
        result_kinds ResultKinds::Always(Kinds::INT), samples Numbers;
    "executorch_prim::eq.Scalar": prim::not_int, computation eq;
    "executorch_prim::et_copy_index.tensor": memory::copy_index,
        constraints [Int { argument: 2, min: 0, max: i64::MAX }], overwrites_self, loop_part LoopPart::Store;
    "executorch_prim::et_view.default": views::view, evaluation movement::same, movement view,
        constraints [ViewSizes { argument: 1 }], aliased 0;
    "executorch_prim::floordiv.Scalar": prim::floordiv, computation floordiv, narrower [Kinds::NUMBER],
        result_kinds ResultKinds::Promoted, constraints DIVISION;
    "executorch_prim::floordiv.int": prim::floordiv, computation floordiv, constraints DIVISION;
    "executorch_prim::ge.Scalar": prim::not_int, computation ge;
    "executorch_prim::gt.Scalar": prim::not_int, computation gt;
    "executorch_prim::le.Scalar": prim::not_int, computation le;
    "executorch_prim::lt.Scalar": prim::not_int, computation lt;
    "executorch_prim::mod.Scalar" "executorch_prim::mod.int": prim::modulo, computation modulo, constraints DIVISION;
    "executorch_prim::mul.Scalar": prim::mul, computation mul, narrower [Kinds::NUMBER], result_kinds ResultKinds::Promoted;
    "executorch_prim::neg.Scalar": prim::neg, computation neg, narrower [Kinds::NUMBER], result_kinds ResultKinds::OneOf(&[0]),
        samples Numbers;
    "executorch_prim::round.Scalar": prim::round, computation round, narrower [Kinds::DOUBLE],
        result_kinds ResultKinds::Always(Kinds::INT), samples Numbers;
    "executorch_prim::sub.Scalar": prim::sub, computation sub, narrower [Kinds::NUMBER], result_kinds ResultKinds::Promoted,
        samples Numbers;
    "executorch_prim::sym_float.Scalar": prim::not_int, computation float, result_kinds ResultKinds::Always(Kinds::DOUBLE);
    "executorch_prim::sym_int.Scalar": prim::truncate, computation truncate, result_kinds ResultKinds::Always(Kinds::INT);
    "executorch_prim::sym_ite.Scalar": prim::select, computation select, narrower [Kinds::BOOL, Kinds::SCALAR],
        result_kinds ResultKinds::OneOf(&[1, 2]);
    "executorch_prim::sym_max.Scalar": prim::max, computation max, narrower [Kinds::INT],
        result_kinds ResultKinds::Always(Kinds::INT);
    "executorch_prim::sym_min.Scalar": prim::min, computation min, narrower [Kinds::INT],
        result_kinds ResultKinds::Always(Kinds::INT);
    "executorch_prim::sym_not.Scalar": prim::not_int, computation not, narrower [Kinds::BOOL];
    "executorch_prim::truediv.Scalar": prim::not_int, computation truediv, narrower [Kinds::NUMBER],
        result_kinds ResultKinds::Always(Kinds::DOUBLE);
    "executorch_prim::trunc.Scalar": prim::truncate, computation truncate, narrower [Kinds::DOUBLE],
        result_kinds ResultKinds::Always(Kinds::INT), samples Numbers;
};
