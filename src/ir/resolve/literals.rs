//! Resolves arguments and lists: looks up names, and creates values of the expected kind from literals (E-5, E-6).

use super::method::MethodResolver;
use crate::ir::document::{At, Declared, ListKind, Literal};
use pte_model::data::number::{NumericValue, number_word};
use pte_model::diagnostics::Code;
use pte_model::format::ScalarType;
use pte_model::format::words::MEMORY_FORMATS;
use pte_model::program::{EValue, ValueId};
use pte_operators::{ArgKind, Base};
use pte_yaml::tree::NodeId;

/// An item that does not fit the kind of its list, and the expectation.
type WrongItem<'l, 'a> = (&'l At<Literal<'a>>, &'static str);

impl<'d, 'a> MethodResolver<'d, 'a, '_> {
    /// The value of an argument: a name is looked up, a literal becomes a new value (E-6).
    pub(super) fn argument(&mut self, literal: &At<Literal<'a>>, kind: Option<ArgKind>, arg: &str) -> ValueId {
        let at = literal.id;
        let base = kind.filter(|kind| !kind.list).map(|kind| kind.base);
        if let Some(kind) = kind
            && let Some(found) = self.mismatch(&literal.value, kind)
        {
            let for_arg = if arg.is_empty() { String::new() } else { format!(" for `{arg}`") };
            let message = format!("expected {kind}{for_arg}, found {found}");
            self.error(Code::ArgumentKind, at, message, format!("expected {kind}"));
            return ValueId(0);
        }
        match &literal.value {
            Literal::Word(word) => match base {
                Some(Base::Str) if !self.is_declared_string(word) => {
                    self.push(EValue::String(Some(word.to_string())), at)
                }
                Some(Base::Dtype) if !self.names.contains_key(&**word) => match ScalarType::parse(word) {
                    Some(dtype) => self.push(EValue::Int(dtype.0.into()), at),
                    None => self.read(word, at),
                },
                Some(Base::MemoryFormat) if !self.names.contains_key(&**word) => {
                    match MEMORY_FORMATS.iter().position(|format| format == word) {
                        Some(format) => self.push(EValue::Int(format as i64), at),
                        None => self.read(word, at),
                    }
                }
                // An argument of an unknown operator or of a delegate may be a string.
                _ if kind.is_none() => {
                    let number = self.read(word, at);
                    self.suggest_string(word);
                    number
                }
                _ => self.read(word, at),
            },
            Literal::Int(n) if base == Some(Base::Float) => self.push(EValue::Double(*n as f64), at),
            Literal::Index(number) => self.refer(ValueId(*number), at),
            Literal::Unknown(_) => {
                let message = "a value of a newer schema has no place here";
                self.error(Code::WrongKind, at, message, "declare it under `values`, and write its name");
                ValueId(0)
            }
            Literal::List(items) => match kind.map(list_kind).or_else(|| self.guess_list_kind(at, items)) {
                Some(kind) => self.list(kind, items, at),
                None => ValueId(0),
            },
            Literal::Typed(kind, items) => self.list(*kind, items, at),
            scalar => self.push(scalar.scalar().unwrap_or(EValue::Null), at),
        }
    }

    /// Returns the index of a value that is referred to by its index.
    fn refer(&mut self, number: ValueId, at: NodeId) -> ValueId {
        self.references.push((number, at));
        number
    }

    pub(super) fn is_declared_string(&self, name: &str) -> bool {
        matches!(self.declared_as(name), Some(Declared::Other(At { value: Literal::Word(_) | Literal::String(_), .. })))
    }

    /// Description of a literal that does not fit an argument of this kind; `None` if it fits.
    pub(super) fn mismatch(&self, literal: &Literal<'a>, kind: ArgKind) -> Option<String> {
        let is_list = matches!(literal, Literal::List(_) | Literal::Typed(..));
        let fits = match literal {
            Literal::Index(_) | Literal::Unknown(_) => true,
            Literal::Null => kind.optional,
            Literal::Word(name) => return self.mismatch_of_named(name, kind),
            _ if kind.list != is_list => false,
            Literal::List(_) | Literal::Typed(..) => true,
            Literal::Int(_) => {
                matches!(kind.base, Base::Int | Base::Scalar | Base::Float | Base::Dtype | Base::MemoryFormat)
            }
            Literal::Double(_) => matches!(kind.base, Base::Float | Base::Scalar),
            Literal::Bool(_) => matches!(kind.base, Base::Bool | Base::Scalar),
            Literal::String(_) => kind.base == Base::Str,
            Literal::Dtype(_) => kind.base == Base::Dtype,
            Literal::MemoryFormat(_) => kind.base == Base::MemoryFormat,
        };
        (!fits).then(|| describe(literal))
    }

    pub(super) fn mismatch_of_named(&self, name: &str, kind: ArgKind) -> Option<String> {
        let declared = self.declared_as(name)?;
        let wrong = match declared {
            Declared::Tensor(_) => kind.list || kind.base != Base::Tensor,
            // A move may have changed the kind of a number, so only kinds that never fit are reported.
            Declared::Other(literal) => match &literal.value {
                Literal::Typed(of, _) => {
                    !kind.list || list_kind(kind) != *of && !(kind.base == Base::Tensor && is_of_tensors(*of))
                }
                Literal::List(_) => !kind.list,
                Literal::Null => !kind.optional,
                _ if kind.list => true,
                Literal::Word(_) | Literal::String(_) => kind.base != Base::Str,
                Literal::Double(_) => !matches!(kind.base, Base::Float | Base::Scalar),
                _ => matches!(kind.base, Base::Tensor | Base::Str),
            },
        };
        wrong.then(|| match declared {
            Declared::Tensor(_) => {
                format!("the tensor `{name}`{}", if kind.list { "; a list is written [...]" } else { "" })
            }
            Declared::Other(literal) => format!("`{name}`, {}", describe(&literal.value)),
        })
    }

    /// The kind of a list by its items, as the exporter infers it (E-6); `None` if the items are of several kinds.
    pub(super) fn guess_list_kind(&mut self, at: NodeId, items: &[At<Literal<'a>>]) -> Option<ListKind> {
        let kinds: Vec<Option<ListKind>> = items
            .iter()
            .map(|item| match &item.value {
                Literal::Int(_) | Literal::Dtype(_) | Literal::MemoryFormat(_) => Some(ListKind::Int),
                Literal::Double(_) => Some(ListKind::Double),
                Literal::Bool(_) => Some(ListKind::Bool),
                Literal::Null => Some(ListKind::OptionalTensor),
                Literal::Word(name) => self.declared_as(name).map(|declared| match declared {
                    Declared::Tensor(_) => ListKind::Tensor,
                    Declared::Other(_) => ListKind::Int,
                }),
                Literal::String(_)
                | Literal::List(_)
                | Literal::Typed(..)
                | Literal::Index(_)
                | Literal::Unknown(_) => None,
            })
            .collect();
        let mut known = kinds.iter().flatten().copied();
        let Some(first) = known.next() else { return Some(ListKind::Tensor) };
        let mut kind = first;
        for (item, other) in items.iter().zip(&kinds).filter_map(|(item, kind)| Some((item, (*kind)?))) {
            if other == kind {
                continue;
            }
            if is_of_tensors(other) && is_of_tensors(kind) {
                kind = ListKind::OptionalTensor;
                continue;
            }
            let mixed =
                Code::WrongKind.error(item.id, format!("a list that mixes {} and {}", plural(first), plural(other)));
            let help = "a list has one kind; state it with int_list, double_list, bool_list or tensor_list";
            self.diagnostics.push(
                mixed.label(format!("expected one of the {}", plural(first))).related(at, "in this list").help(help),
            );
            return None;
        }
        Some(kind)
    }

    /// A list value; its items' values come before it (E-5).
    pub(super) fn list(&mut self, kind: ListKind, items: &[At<Literal<'a>>], at: NodeId) -> ValueId {
        let value = self.list_value(kind, items, None);
        self.push(value, at)
    }

    /// A list; `numbers` are the indices of a declared list's literals, whose other items are not marked as read.
    pub(super) fn list_value(
        &mut self,
        kind: ListKind,
        items: &[At<Literal<'a>>],
        numbers: Option<&[Option<ValueId>]>,
    ) -> EValue {
        let mut wrong = Vec::new();
        let value = match kind {
            ListKind::Int => EValue::IntList(Some(self.int_items(items, numbers, &mut wrong))),
            ListKind::Double => EValue::DoubleList(Some(scalars(items, "a number", &mut wrong, |item| match item {
                Literal::Double(x) => Some(*x),
                Literal::Int(n) => Some(*n as f64),
                Literal::Word(word) => number_word(word).map(NumericValue::to_f64),
                _ => None,
            }))),
            ListKind::Bool => EValue::BoolList(Some(scalars(items, "true or false", &mut wrong, |item| match item {
                Literal::Bool(b) => Some(*b),
                _ => None,
            }))),
            ListKind::Tensor => EValue::TensorList(Some(self.tensor_items(kind, items, numbers, &mut wrong))),
            ListKind::OptionalTensor => {
                EValue::OptionalTensorList(Some(self.tensor_items(kind, items, numbers, &mut wrong)))
            }
        };
        for (item, what) in wrong {
            let message = format!("expected {what}, found {}", describe(&item.value));
            self.error(Code::ArgumentKind, item.id, message, format!("expected {what}"));
        }
        value
    }

    /// The items of a list of Ints, by index; adds those that are not Ints to `wrong`.
    fn int_items<'l>(
        &mut self,
        items: &'l [At<Literal<'a>>],
        numbers: Option<&[Option<ValueId>]>,
        wrong: &mut Vec<WrongItem<'l, 'a>>,
    ) -> Vec<i64> {
        let number_of = |position: usize| *numbers?.get(position)?;
        let mut found: Vec<i64> = Vec::with_capacity(items.len());
        for (position, item) in items.iter().enumerate() {
            match &item.value {
                _ if number_of(position).is_some() => found.extend(number_of(position).map(i64::from)),
                Literal::Int(_)
                | Literal::Bool(_)
                | Literal::Index(_)
                | Literal::Dtype(_)
                | Literal::MemoryFormat(_) => {
                    found.push(self.argument(item, None, "").into());
                }
                Literal::Word(name) if self.can_be_int(name) => found.push(self.read(name, item.id).into()),
                _ => wrong.push((item, "an integer, or the name of an Int")),
            }
        }
        found
    }

    /// The items of a list of tensors, by index; adds those that are not tensors to `wrong`.
    fn tensor_items<'l>(
        &mut self,
        kind: ListKind,
        items: &'l [At<Literal<'a>>],
        numbers: Option<&[Option<ValueId>]>,
        wrong: &mut Vec<WrongItem<'l, 'a>>,
    ) -> Vec<ValueId> {
        let mut tensors = Vec::with_capacity(items.len());
        for item in items {
            match &item.value {
                Literal::Word(name) if !self.can_be_tensor(name, kind) => wrong.push((item, "the name of a tensor")),
                Literal::Word(name) if numbers.is_some() => {
                    let declaration = self.find(name, item.id);
                    tensors.push(declaration.map_or(ValueId(0), |declaration| self.number(declaration)));
                }
                Literal::Word(name) => tensors.push(self.read(name, item.id)),
                Literal::Index(number) => tensors.push(self.refer(ValueId(*number), item.id)),
                Literal::Null if kind == ListKind::OptionalTensor => tensors.push(ValueId::NONE),
                _ => wrong.push((item, "the name of a tensor")),
            }
        }
        tensors
    }

    /// Returns true if a name may be an item of an IntList; unknown names are reported by the look-up.
    pub(super) fn can_be_int(&self, name: &str) -> bool {
        self.declared_as(name).is_none_or(|declared| match declared {
            Declared::Tensor(_) => false,
            Declared::Other(At { value, .. }) => {
                matches!(value, Literal::Int(_) | Literal::Bool(_) | Literal::Dtype(_) | Literal::MemoryFormat(_))
            }
        })
    }

    /// Returns true if a name may be an item of a list of tensors.
    pub(super) fn can_be_tensor(&self, name: &str, kind: ListKind) -> bool {
        self.declared_as(name).is_none_or(|declared| match declared {
            Declared::Tensor(_) => true,
            Declared::Other(literal) => kind == ListKind::OptionalTensor && literal.value == Literal::Null,
        })
    }
}

/// The items of a list of numbers or bools; adds those of another kind to `wrong`.
fn scalars<'l, 'a, T>(
    items: &'l [At<Literal<'a>>],
    what: &'static str,
    wrong: &mut Vec<WrongItem<'l, 'a>>,
    value: impl Fn(&Literal<'a>) -> Option<T>,
) -> Vec<T> {
    wrong.extend(items.iter().filter(|item| value(&item.value).is_none()).map(|item| (item, what)));
    items.iter().filter_map(|item| value(&item.value)).collect()
}

pub(super) fn is_of_tensors(kind: ListKind) -> bool {
    matches!(kind, ListKind::Tensor | ListKind::OptionalTensor)
}

pub(super) fn list_kind(kind: ArgKind) -> ListKind {
    match kind.base {
        Base::Tensor if kind.optional_items => ListKind::OptionalTensor,
        Base::Tensor => ListKind::Tensor,
        Base::Float => ListKind::Double,
        Base::Bool => ListKind::Bool,
        Base::Int | Base::Scalar | Base::Str | Base::Dtype | Base::MemoryFormat => ListKind::Int,
    }
}

pub(super) fn describe(literal: &Literal<'_>) -> String {
    match literal {
        Literal::Null => "null".into(),
        Literal::Int(n) => format!("the integer {n}"),
        Literal::Double(x) => format!("the number {x:?}"),
        Literal::Bool(b) => format!("the bool {b}"),
        Literal::Word(text) => format!("`{text}`"),
        Literal::String(text) => format!("the string `{text}`"),
        Literal::Dtype(dtype) => format!("the element type {dtype}"),
        Literal::MemoryFormat(_) => "a memory format".into(),
        Literal::List(items) | Literal::Typed(_, items) => format!("a list of {}", items.len()),
        Literal::Index(number) => format!("value {number}"),
        Literal::Unknown(tag) => format!("a value of unknown kind {tag}"),
    }
}

pub(super) fn plural(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Int => "integers",
        ListKind::Double => "floating point numbers",
        ListKind::Bool => "bools",
        ListKind::Tensor => "tensors",
        ListKind::OptionalTensor => "nulls",
    }
}
