//! A list of sizes or indices. Short lists need no heap allocation.
//!
//! Allocations dominate the time to read a program of 100,000 instructions. Most tensors have at most four dimensions,
//! most calls at most six arguments.

use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

use super::ValueId;

/// A list of sizes or indices. Up to `N` items are stored in place.
///
/// ```
/// use pte_model::program::{Args, Sizes, ValueId};
///
/// let mut sizes = Sizes::from(&[3, 224]);
/// sizes.push(224);
/// assert_eq!(sizes.iter().product::<i32>(), 150_528);
/// sizes.truncate(1);
/// assert_eq!(*sizes, [3]);
/// assert_eq!(*Args::from(&[0, 2]), [ValueId(0), ValueId(2)]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ints<const N: usize, T = i32>(SmallVec<[T; N]>);

/// The size of each dimension of a tensor.
pub type Sizes = Ints<4>;

/// The indices of the values of a call.
pub type Args = Ints<6, ValueId>;

impl<const N: usize, T> Ints<N, T> {
    /// Appends an item.
    pub fn push(&mut self, item: T) {
        self.0.push(item);
    }

    /// Removes the items from `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }
}

impl<const N: usize, T> Deref for Ints<N, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<const N: usize, T> DerefMut for Ints<N, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<const N: usize, T> FromIterator<T> for Ints<N, T> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Ints(items.into_iter().collect())
    }
}

impl<const N: usize, T: Copy> From<&[T]> for Ints<N, T> {
    fn from(items: &[T]) -> Self {
        Ints(SmallVec::from_slice(items))
    }
}

/// Converts numbers to sizes or to indices of values.
impl<const N: usize, const M: usize, T: From<i32>> From<&[i32; M]> for Ints<N, T> {
    fn from(items: &[i32; M]) -> Self {
        items.iter().map(|item| T::from(*item)).collect()
    }
}

impl<const N: usize, T> From<Vec<T>> for Ints<N, T> {
    fn from(items: Vec<T>) -> Self {
        Ints(SmallVec::from_vec(items))
    }
}

impl<'a, const N: usize, T> IntoIterator for &'a Ints<N, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
