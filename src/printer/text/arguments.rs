//! Writes references to values, and literals at their use.

use std::fmt::Write;

use super::super::yaml::{self, FlowMap};
use super::MethodText;
use pte_model::data::number;
use pte_model::format::ScalarType;
use pte_model::program::{EValue, ValueId};
use pte_operators::{Arg, ArgKind, Base};

impl MethodText<'_> {
    /// Appends a reference to a value.
    pub(super) fn reference(&self, index: ValueId, out: &mut String) {
        match self.facts.name(index) {
            Some(name) if !self.facts.hints.everything => out.push_str(&yaml::text(name)),
            _ => _ = write!(out, "{{index: {index}}}"),
        }
    }

    /// Appends a reference or a literal.
    pub(super) fn argument(&self, index: ValueId, kind: Option<ArgKind>, out: &mut String) {
        match self.facts.literal(index) {
            Some(literal) => self.literal(literal, kind, out),
            None => self.reference(index, out),
        }
    }

    /// Appends a literal in the shortest form that the argument's kind allows.
    pub(super) fn literal(&self, value: &EValue, kind: Option<ArgKind>, out: &mut String) {
        let base = kind.filter(|kind| !kind.list).map(|kind| kind.base);
        let list_of = |base: Base| kind.is_some_and(|kind| kind.list && kind.base == base);
        match value {
            EValue::Null => out.push_str("null"),
            EValue::Int(n) => {
                let dtype = i8::try_from(*n).ok().map(ScalarType).filter(|_| base == Some(Base::Dtype));
                match dtype.filter(|dtype| dtype.info().is_some()) {
                    Some(dtype) => _ = write!(out, "{dtype}"),
                    None => yaml::number(n, out),
                }
            }
            EValue::Bool(b) => yaml::number(b, out),
            EValue::Double(x) => number::double(x, out),
            EValue::String(Some(text))
                if base == Some(Base::Str) && yaml::text(text) == *text && !self.is_name(text) =>
            {
                out.push_str(text);
            }
            EValue::IntList(Some(items)) if list_of(Base::Int) || (kind.is_none() && !items.is_empty()) => {
                self.ints(items, out);
            }
            EValue::TensorList(Some(items)) if kind.is_none_or(|kind| !kind.optional_items) => {
                self.tensors(items, false, out);
            }
            EValue::OptionalTensorList(Some(items))
                if kind.is_some_and(|kind| kind.optional_items) || items.contains(&ValueId::NONE) =>
            {
                self.tensors(items, true, out);
            }
            EValue::DoubleList(Some(items)) if list_of(Base::Float) => yaml::list(out, items, number::double),
            EValue::BoolList(Some(items)) if list_of(Base::Bool) => yaml::list(out, items, yaml::number),
            value => {
                let mut fields = FlowMap::new(out);
                self.declared(value, &mut fields);
                fields.end();
            }
        }
    }

    /// Appends the items of a list of integers, which are values.
    fn ints(&self, items: &[i64], out: &mut String) {
        yaml::list(out, items, |item, out| self.argument(ValueId::of_int(*item), None, out));
    }

    /// Appends a list of tensors; with `optional`, -1 is None (M-10).
    fn tensors(&self, items: &[ValueId], optional: bool, out: &mut String) {
        yaml::list(out, items, |item, out| match item {
            &ValueId::NONE if optional => out.push_str("null"),
            item => self.reference(*item, out),
        });
    }

    fn is_name(&self, text: &str) -> bool {
        self.facts.names.iter().flatten().any(|name| name == text)
    }

    /// Appends a value with its kind as the key.
    pub(super) fn declared(&self, value: &EValue, fields: &mut FlowMap<'_>) {
        match value {
            EValue::Null => fields.key("\"null\"").push_str("null"),
            EValue::Int(n) => yaml::number(n, fields.key("int")),
            EValue::Bool(b) => yaml::number(b, fields.key("bool")),
            EValue::Double(x) => number::double(x, fields.key("double")),
            EValue::String(text) => {
                fields.key("string").push_str(&yaml::text(text.as_deref().unwrap_or_default()));
            }
            EValue::IntList(list) => self.ints(list.as_deref().unwrap_or_default(), fields.key("int_list")),
            EValue::DoubleList(list) => yaml::list(fields.key("double_list"), list.iter().flatten(), number::double),
            EValue::BoolList(list) => yaml::list(fields.key("bool_list"), list.iter().flatten(), yaml::number),
            EValue::TensorList(_) => self.tensors(value.as_tensors(), false, fields.key("tensor_list")),
            EValue::OptionalTensorList(_) => self.tensors(value.as_tensors(), true, fields.key("optional_tensor_list")),
            EValue::Unknown(tag) => yaml::number(tag, fields.key("unknown")),
            EValue::Tensor(_) => {}
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
