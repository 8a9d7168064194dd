//! References to values, and literals at their use.

use super::MethodText;
use crate::ir::document::{At, ListKind, Literal};
use crate::ir::yaml;
use pte_model::format::ScalarType;
use pte_model::program::{EValue, ValueId};
use pte_operators::{Arg, ArgKind, Base};

/// Returns the items of a list, each converted by `item`.
fn items<'a, T>(items: impl IntoIterator<Item = T>, item: impl FnMut(T) -> Literal<'a>) -> Vec<At<Literal<'a>>> {
    items.into_iter().map(item).map(At::from).collect()
}

impl MethodText<'_> {
    /// Returns a reference to a value.
    pub(super) fn reference(&self, index: ValueId) -> Literal<'_> {
        match self.facts.name(index) {
            Some(name) if !self.facts.hints.everything => Literal::Word(name.into()),
            _ => Literal::Index(index.0),
        }
    }

    /// Returns references and literals.
    pub(super) fn arguments(
        &self,
        values: &[ValueId],
        mut kinds: impl Iterator<Item = ArgKind>,
    ) -> Vec<At<Literal<'_>>> {
        items(values, |value| self.argument(*value, kinds.next()))
    }

    /// Returns a reference or a literal.
    pub(super) fn argument(&self, index: ValueId, kind: Option<ArgKind>) -> Literal<'_> {
        match self.facts.literal(index) {
            Some(literal) => self.literal(literal, kind),
            None => self.reference(index),
        }
    }

    /// Returns a literal in the shortest form that the argument's kind allows.
    fn literal<'t>(&'t self, value: &'t EValue, kind: Option<ArgKind>) -> Literal<'t> {
        let base = kind.filter(|kind| !kind.list).map(|kind| kind.base);
        let list_of = |base: Base| kind.is_some_and(|kind| kind.list && kind.base == base);
        match (value, self.declared(value)) {
            (EValue::Int(n), literal) => {
                let dtype = i8::try_from(*n).ok().map(ScalarType).filter(|_| base == Some(Base::Dtype));
                let info = dtype.and_then(|dtype| dtype.info());
                info.map_or(literal, |info| Literal::Word(info.name.into()))
            }
            (_, Literal::String(text))
                if base == Some(Base::Str) && yaml::text(&text) == text && !self.is_name(&text) =>
            {
                Literal::Word(text)
            }
            (EValue::IntList(Some(_)), Literal::Typed(_, items))
                if list_of(Base::Int) || (kind.is_none() && !items.is_empty()) =>
            {
                Literal::List(items)
            }
            (EValue::TensorList(Some(_)), Literal::Typed(_, items)) if kind.is_none_or(|kind| !kind.optional_items) => {
                Literal::List(items)
            }
            (EValue::OptionalTensorList(Some(values)), Literal::Typed(_, items))
                if kind.is_some_and(|kind| kind.optional_items) || values.contains(&ValueId::NONE) =>
            {
                Literal::List(items)
            }
            (EValue::DoubleList(Some(_)), Literal::Typed(_, items)) if list_of(Base::Float) => Literal::List(items),
            (EValue::BoolList(Some(_)), Literal::Typed(_, items)) if list_of(Base::Bool) => Literal::List(items),
            (_, literal) => literal,
        }
    }

    fn is_name(&self, text: &str) -> bool {
        self.facts.names.iter().flatten().any(|name| name == text)
    }

    /// Returns a value that is no tensor, with its kind.
    pub(super) fn declared<'t>(&'t self, value: &'t EValue) -> Literal<'t> {
        match value {
            EValue::Null | EValue::Tensor(_) => Literal::Null,
            EValue::Int(n) => Literal::Int(*n),
            EValue::Bool(b) => Literal::Bool(*b),
            EValue::Double(x) => Literal::Double(*x),
            EValue::String(text) => Literal::String(text.as_deref().unwrap_or_default().into()),
            EValue::IntList(list) => {
                let item = |item: &i64| self.argument(ValueId::of_int(*item), None);
                Literal::Typed(ListKind::Int, items(list.iter().flatten(), item))
            }
            EValue::DoubleList(list) => {
                Literal::Typed(ListKind::Double, items(list.iter().flatten(), |x| Literal::Double(*x)))
            }
            EValue::BoolList(list) => {
                Literal::Typed(ListKind::Bool, items(list.iter().flatten(), |b| Literal::Bool(*b)))
            }
            EValue::TensorList(_) => {
                Literal::Typed(ListKind::Tensor, items(value.as_tensors(), |item| self.reference(*item)))
            }
            // -1 is None (M-10).
            EValue::OptionalTensorList(_) => {
                let item = |item: &ValueId| match item {
                    &ValueId::NONE => Literal::Null,
                    item => self.reference(*item),
                };
                Literal::Typed(ListKind::OptionalTensor, items(value.as_tensors(), item))
            }
            EValue::Unknown(tag) => Literal::Unknown(*tag),
        }
    }

    /// Returns true for a literal that is the default of its argument.
    pub(super) fn is_default(&self, index: ValueId, arg: &Arg) -> bool {
        let is = |value: Option<&EValue>, default: &serde_json::Value| match (value, default) {
            (Some(EValue::Null), serde_json::Value::Null) => true,
            (Some(EValue::Bool(value)), serde_json::Value::Bool(default)) => value == default,
            (Some(EValue::Int(int)), default) if arg.kind.base != Base::Float => default.as_i64() == Some(*int),
            (Some(EValue::Double(double)), serde_json::Value::Number(default)) => {
                let is_double = arg.kind.base == Base::Float || default.as_i64().is_none();
                is_double && default.as_f64().is_some_and(|default| default.to_bits() == double.to_bits())
            }
            (Some(EValue::String(Some(text))), serde_json::Value::String(default)) => text == default,
            _ => false,
        };
        let Some(default) = &arg.default else { return false };
        let Ok(default) = serde_json::from_str::<serde_json::Value>(default) else { return false };
        match (self.facts.literal(index), &default) {
            (Some(EValue::IntList(Some(items))), serde_json::Value::Array(defaults)) => {
                items.len() == defaults.len()
                    && items
                        .iter()
                        .zip(defaults)
                        .all(|(item, default)| is(self.facts.literal(ValueId::of_int(*item)), default))
            }
            (value, default) => is(value, default),
        }
    }
}
