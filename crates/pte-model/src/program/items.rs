//! Access to the values that a list refers to.

use super::{EValue, ValueId};

/// The indices in a list of values. They may be out of range; -1 is None in a list of optional tensors.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListItems<'p> {
    ints: &'p [i64],
    tensors: &'p [ValueId],
}

impl<'p> ListItems<'p> {
    /// Returns the number of items.
    pub fn len(self) -> usize {
        self.ints.len() + self.tensors.len()
    }

    /// Returns true for an empty list.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the indices in order.
    pub fn iter(self) -> impl Iterator<Item = i64> + use<'p> {
        self.ints.iter().copied().chain(self.tensors.iter().map(|item| i64::from(*item)))
    }
}

impl EValue {
    /// Returns the items of a list of values; `None` for a value of another kind, and for an absent list.
    #[doc(hidden)]
    pub fn list_items(&self) -> Option<ListItems<'_>> {
        match self {
            EValue::IntList(items) => items.as_deref().map(|ints| ListItems { ints, tensors: &[] }),
            EValue::TensorList(items) | EValue::OptionalTensorList(items) => {
                items.as_deref().map(|tensors| ListItems { ints: &[], tensors })
            }
            EValue::Null
            | EValue::Int(_)
            | EValue::Bool(_)
            | EValue::Double(_)
            | EValue::Tensor(_)
            | EValue::String(_)
            | EValue::DoubleList(_)
            | EValue::BoolList(_)
            | EValue::Unknown(_) => None,
        }
    }

    /// Returns the items of a list of values; an empty list for a value of another kind.
    #[doc(hidden)]
    pub fn items(&self) -> ListItems<'_> {
        self.list_items().unwrap_or_default()
    }

    /// Returns the items of a list of tensors, in which -1 is None; an empty list for a value of another kind.
    pub fn as_tensors(&self) -> &[ValueId] {
        self.items().tensors
    }

    /// Returns the items of a list of Ints, which are indices of values; an empty list for a value of another kind.
    pub fn as_ints(&self) -> &[i64] {
        self.items().ints
    }
}
