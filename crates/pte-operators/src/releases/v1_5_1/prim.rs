//! The operators of the runtime itself, and copies between orders of memory and devices.

use crate::evaluation;
use crate::facts::{Facts, Family, LoopPart, Samples, operator};
use crate::inference::constraints::Constraint;
use crate::inference::out_type::Conversion;
use crate::inference::{Rule, memory, prim, views};
use crate::kinds::{Kinds, ResultKinds};
use crate::movement;

/// Two Ints that can be divided.
const DIVISION: &[Constraint] = &[Constraint::divisor(1), Constraint::Quotient { argument: 0, other: 1 }];

/// A function of numbers or truth values that accepts fewer kinds than its signature.
const fn scalar(name: &'static str, rule: Rule, kinds: &'static [Kinds], result: ResultKinds) -> Facts {
    operator(name, rule).narrower(Some(kinds)).result_kinds(Some(result))
}

/// Sorted by name.
pub(super) static ROWS: &[Facts] = &[
    operator("dim_order_ops::_clone_dim_order.out", memory::copy_in_order)
        .evaluation(Some(evaluation::movement::copied))
        .movement(Some(movement::copy))
        .copies_dim_order(true)
        .family(Family::DimOrderCopy)
        .short_name(Some("clone")),
    operator("dim_order_ops::_empty_dim_order.out", memory::empty_in_order)
        .conversion(Conversion::Any)
        .ignored(&[1])
        .is_undetermined(true)
        .family(Family::EmptyInOrder),
    operator("dim_order_ops::_to_dim_order_copy.out", memory::copy_in_order)
        .evaluation(Some(evaluation::movement::copied))
        .movement(Some(movement::copy))
        .conversion(Conversion::Any)
        .copies_dim_order(true)
        .family(Family::DimOrderCopy)
        .short_name(Some("to_copy")),
    operator("et_copy::_d2h_copy.out", memory::copy).on_device(Some(0)),
    operator("et_copy::_h2d_copy.out", memory::copy).on_device(Some(1)),
    scalar("executorch_prim::add.Scalar", prim::add, &[Kinds::NUMBER], ResultKinds::Promoted),
    scalar("executorch_prim::ceil.Scalar", prim::ceil, &[Kinds::DOUBLE], ResultKinds::Always(Kinds::INT))
        .samples(Samples::Numbers),
    operator("executorch_prim::eq.Scalar", prim::not_int).comparison(Some(|a, b| a == b)),
    operator("executorch_prim::et_copy_index.tensor", memory::copy_index)
        .constraints(&[Constraint::Int { argument: 2, min: 0, max: i64::MAX }])
        .overwrites_self(true)
        .family(Family::CopyIndex)
        .loop_part(Some(LoopPart::Store)),
    operator("executorch_prim::et_view.default", views::view)
        .evaluation(Some(evaluation::movement::same))
        .movement(Some(movement::view))
        .constraints(&[Constraint::ViewSizes { argument: 1 }])
        .aliased(Some(0))
        .family(Family::View),
    scalar("executorch_prim::floordiv.Scalar", prim::floordiv, &[Kinds::NUMBER], ResultKinds::Promoted)
        .constraints(DIVISION),
    operator("executorch_prim::floordiv.int", prim::floordiv).constraints(DIVISION),
    operator("executorch_prim::ge.Scalar", prim::not_int).comparison(Some(|a, b| a >= b)),
    operator("executorch_prim::gt.Scalar", prim::not_int).comparison(Some(|a, b| a > b)),
    operator("executorch_prim::le.Scalar", prim::not_int).comparison(Some(|a, b| a <= b)),
    operator("executorch_prim::lt.Scalar", prim::not_int).comparison(Some(|a, b| a < b)),
    operator("executorch_prim::mod.Scalar", prim::modulo).constraints(DIVISION),
    operator("executorch_prim::mod.int", prim::modulo).constraints(DIVISION),
    scalar("executorch_prim::mul.Scalar", prim::mul, &[Kinds::NUMBER], ResultKinds::Promoted),
    scalar("executorch_prim::neg.Scalar", prim::neg, &[Kinds::NUMBER], ResultKinds::OneOf(&[0]))
        .samples(Samples::Numbers),
    scalar("executorch_prim::round.Scalar", prim::round, &[Kinds::DOUBLE], ResultKinds::Always(Kinds::INT))
        .samples(Samples::Numbers),
    scalar("executorch_prim::sub.Scalar", prim::sub, &[Kinds::NUMBER], ResultKinds::Promoted).samples(Samples::Numbers),
    operator("executorch_prim::sym_float.Scalar", prim::not_int).result_kinds(Some(ResultKinds::Always(Kinds::DOUBLE))),
    operator("executorch_prim::sym_int.Scalar", prim::truncate).result_kinds(Some(ResultKinds::Always(Kinds::INT))),
    scalar("executorch_prim::sym_ite.Scalar", prim::select, &[Kinds::BOOL, Kinds::SCALAR], ResultKinds::OneOf(&[1, 2])),
    scalar("executorch_prim::sym_max.Scalar", prim::max, &[Kinds::INT], ResultKinds::Always(Kinds::INT)),
    scalar("executorch_prim::sym_min.Scalar", prim::min, &[Kinds::INT], ResultKinds::Always(Kinds::INT)),
    operator("executorch_prim::sym_not.Scalar", prim::not_int).narrower(Some(&[Kinds::BOOL])),
    scalar("executorch_prim::truediv.Scalar", prim::not_int, &[Kinds::NUMBER], ResultKinds::Always(Kinds::DOUBLE)),
    scalar("executorch_prim::trunc.Scalar", prim::truncate, &[Kinds::DOUBLE], ResultKinds::Always(Kinds::INT))
        .samples(Samples::Numbers),
];
