//! List of `i32` without a heap allocation for short lists.
//!
//! Reading a program of 100,000 instructions is dominated by allocations; most tensors have at most four dimensions, most
//! calls at most six arguments.

use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

/// A list of `i32`, of which the first `N` are stored in place.
///
/// ```
/// use pte_emit::program::{Args, Sizes};
///
/// let mut sizes = Sizes::from(&[3, 224]);
/// sizes.push(224);
/// assert_eq!(sizes.iter().product::<i32>(), 150_528);
/// sizes.truncate(1);
/// assert_eq!(*sizes, [3]);
/// assert_eq!(Args::from_iter(0..9).len(), 9);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ints<const N: usize>(SmallVec<[i32; N]>);

/// The size of each dimension of a tensor.
pub type Sizes = Ints<4>;

/// The indices of the values of a call.
pub type Args = Ints<6>;

impl<const N: usize> Ints<N> {
    /// Appends an item.
    pub fn push(&mut self, item: i32) {
        self.0.push(item);
    }

    /// Removes the items from `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }
}

impl<const N: usize> Deref for Ints<N> {
    type Target = [i32];

    fn deref(&self) -> &[i32] {
        &self.0
    }
}

impl<const N: usize> DerefMut for Ints<N> {
    fn deref_mut(&mut self) -> &mut [i32] {
        &mut self.0
    }
}

impl<const N: usize> FromIterator<i32> for Ints<N> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = i32>>(items: I) -> Self {
        Ints(items.into_iter().collect())
    }
}

impl<const N: usize> From<&[i32]> for Ints<N> {
    fn from(items: &[i32]) -> Self {
        Ints(SmallVec::from_slice(items))
    }
}

impl<const N: usize, const M: usize> From<&[i32; M]> for Ints<N> {
    fn from(items: &[i32; M]) -> Self {
        Ints(SmallVec::from_slice(items))
    }
}

impl<const N: usize> From<Vec<i32>> for Ints<N> {
    fn from(items: Vec<i32>) -> Self {
        Ints(SmallVec::from_vec(items))
    }
}

impl<'a, const N: usize> IntoIterator for &'a Ints<N> {
    type Item = &'a i32;
    type IntoIter = std::slice::Iter<'a, i32>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
