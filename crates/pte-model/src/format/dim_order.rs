//! The order of dimensions of a tensor in memory. The crate `pte-operators` computes strides as torch does.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Dimensions of a tensor from the outermost in memory to the innermost. Holds any bytes of a file:
/// [`DimOrder::is_permutation`] tells if they are an order. Contiguous orders need no memory of their own.
///
/// ```
/// use pte_model::format::DimOrder;
///
/// let images = DimOrder::channels_last(4);
/// assert_eq!(*images, [0, 2, 3, 1]);
/// assert!(images.is_permutation(4) && !images.is_permutation(3));
/// assert!(!images.is_contiguous());
///
/// assert_eq!(DimOrder::contiguous(3), DimOrder::from(&[0, 1, 2]));
/// assert!(!DimOrder::from(&[0, 0]).is_permutation(2));
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DimOrder(Cow<'static, [u8]>);

static CONTIGUOUS: [u8; 256] = {
    let mut order = [0; 256];
    let mut d = 0;
    while d < 256 {
        order[d] = d as u8;
        d += 1;
    }
    order
};

impl DimOrder {
    /// Returns the order of a contiguous tensor: 0, 1, 2, ... Dimensions from 256 on are 255.
    pub fn contiguous(rank: usize) -> DimOrder {
        match CONTIGUOUS.get(..rank) {
            Some(order) => DimOrder(Cow::Borrowed(order)),
            None => (0..rank).map(|d| d.min(255) as u8).collect(),
        }
    }

    /// Returns the order with dimension 1 innermost: 0, 2, 3, 1 for images of rank 4. Contiguous for a rank below 3.
    pub fn channels_last(rank: usize) -> DimOrder {
        let mut order = DimOrder::contiguous(rank);
        if rank > 2 {
            order[1..].rotate_left(1);
        }
        order
    }

    /// Returns true if each of `rank` dimensions is contained once (rules T-7, T-9).
    pub fn is_permutation(&self, rank: usize) -> bool {
        is_permutation(self.iter().copied(), rank)
    }

    /// Returns the strides that the runtime computes, in elements, by dimension. `None` if it is not an order of these
    /// dimensions, or if they exceed `u64`.
    ///
    /// ```
    /// use pte_model::format::DimOrder;
    ///
    /// assert_eq!(DimOrder::channels_last(4).strides(&[1, 3, 4, 5]), Some(vec![60, 1, 15, 3]));
    /// assert_eq!(DimOrder::contiguous(2).strides(&[1]), None);
    /// ```
    pub fn strides(&self, sizes: &[u64]) -> Option<Vec<u64>> {
        if !self.is_permutation(sizes.len()) {
            return None;
        }
        let (mut strides, mut next) = (vec![0; sizes.len()], 1u64);
        for dim in self.iter().rev().map(|dim| usize::from(*dim)) {
            strides[dim] = next;
            next = next.checked_mul(sizes[dim].max(1))?;
        }
        Some(strides)
    }

    /// Returns true for the order 0, 1, 2, ...
    pub fn is_contiguous(&self) -> bool {
        *self == DimOrder::contiguous(self.len())
    }
}

/// Returns true if `order` contains each of `rank` dimensions once; see [`DimOrder::is_permutation`].
pub fn is_permutation(order: impl Iterator<Item = u8>, rank: usize) -> bool {
    let mut seen = [false; 256];
    let mut count = 0;
    for dim in order {
        if usize::from(dim) >= rank || std::mem::replace(&mut seen[usize::from(dim)], true) {
            return false;
        }
        count += 1;
    }
    count == rank
}

/// Formats as a list, for messages.
impl fmt::Debug for DimOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Deref for DimOrder {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for DimOrder {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.to_mut()
    }
}

impl From<&[u8]> for DimOrder {
    fn from(order: &[u8]) -> DimOrder {
        match DimOrder::contiguous(order.len()) {
            shared if *shared == *order => shared,
            _ => DimOrder(Cow::Owned(order.to_vec())),
        }
    }
}

impl<const N: usize> From<&[u8; N]> for DimOrder {
    fn from(order: &[u8; N]) -> DimOrder {
        DimOrder::from(&order[..])
    }
}

impl From<Vec<u8>> for DimOrder {
    fn from(order: Vec<u8>) -> DimOrder {
        DimOrder(Cow::Owned(order))
    }
}

impl FromIterator<u8> for DimOrder {
    fn from_iter<I: IntoIterator<Item = u8>>(dims: I) -> DimOrder {
        DimOrder(dims.into_iter().collect())
    }
}
