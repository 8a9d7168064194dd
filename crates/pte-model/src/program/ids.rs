//! Types of indices in a file. They keep any number of a malformed file, so a lookup can return `None`.

use std::fmt;

/// Implements the common functions of indices into the lists of a method.
macro_rules! ids {
    ($( $name:ident )*) => {$(
        impl $name {
            /// Returns the id of the item at an index of the list.
            ///
            /// # Panics
            /// The index is 2^31 or more. No file has a list of this length.
            pub fn of(index: usize) -> $name {
                $name(i32::try_from(index).expect("lists of a method have fewer than 2^31 items"))
            }

            /// Returns the index; `None` for a negative number. It may be out of range.
            #[inline]
            pub fn get(self) -> Option<usize> {
                usize::try_from(self.0).ok()
            }

            /// Returns the index; `None` if it is not less than `count`.
            #[inline]
            pub fn within(self, count: usize) -> Option<usize> {
                self.get().filter(|index| *index < count)
            }

            /// Returns the item of a list with this index; `None` if it is out of range.
            #[inline]
            pub fn item<T>(self, list: &[T]) -> Option<&T> {
                list.get(self.get()?)
            }

            /// Returns the item of a list with this index for a change; `None` if it is out of range.
            #[inline]
            pub fn item_mut<T>(self, list: &mut [T]) -> Option<&mut T> {
                list.get_mut(self.get()?)
            }
        }

        impl From<i32> for $name {
            fn from(number: i32) -> $name {
                $name(number)
            }
        }

        impl From<$name> for i64 {
            fn from(id: $name) -> i64 {
                id.0.into()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        // Only the number is printed, which keeps lists of values readable.
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

/// Index of a value of a method.
///
/// ```
/// use pte_model::program::ValueId;
///
/// let mut names = ["x", "y"];
/// assert_eq!((ValueId(2).get(), ValueId(2).within(names.len()), ValueId(2).item(&names)), (Some(2), None, None));
/// assert_eq!(ValueId(1).item_mut(&mut names), Some(&mut "y"));
/// assert_eq!((ValueId::NONE.get(), ValueId::NONE.to_string()), (None, "-1".to_owned()));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ValueId(pub i32);

/// Index of an operator of a method.
///
/// ```
/// use pte_model::program::OperatorId;
///
/// assert_eq!(OperatorId::of(1).item(&["aten::add.out", "aten::relu.out"]), Some(&"aten::relu.out"));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct OperatorId(pub i32);

/// Index of a delegate of a method.
///
/// ```
/// use pte_model::program::DelegateId;
///
/// assert_eq!(DelegateId::from(3), DelegateId(3));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct DelegateId(pub i32);

ids! { ValueId OperatorId DelegateId }

/// A delegate of a program: the indices of its method, and of itself in the method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DelegateLocation {
    /// Index of the method.
    pub method: usize,
    /// Index of the delegate in the method.
    pub delegate: usize,
}

impl ValueId {
    /// The item None in a list of optional tensors.
    pub const NONE: ValueId = ValueId(-1);

    /// Returns the value that an item of a list of Ints refers to; [`ValueId::NONE`] if it does not fit an `i32`.
    #[doc(hidden)]
    pub fn of_int(item: i64) -> ValueId {
        i32::try_from(item).map_or(ValueId::NONE, ValueId)
    }
}
