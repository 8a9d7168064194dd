//! Values of an XNNPACK graph by their ids.

use std::collections::BTreeMap;

use crate::format::flatbuffer::read::{Result, TableRef};

/// Highest rank of a value in XNNPACK.
pub(super) const MAX_RANK: usize = 6;

/// A value of the graph.
pub(super) struct GraphValue {
    pub dims: Vec<u64>,
    pub datatype: i16,
    pub constant: bool,
    pub flags: u32,
    /// `true` if an earlier operation writes it.
    pub written: bool,
}

/// The values of a graph.
#[derive(Default)]
pub(super) struct GraphValues {
    pub by_id: BTreeMap<u32, GraphValue>,
}

impl GraphValues {
    /// Returns the value whose id is in a field, if there is such a value.
    pub fn get(&self, t: &TableRef<'_, '_>, slot: u16) -> Result<Option<&GraphValue>> {
        Ok(self.by_id.get(&t.u32(slot)?))
    }

    /// Returns the value whose id is in a field.
    ///
    /// # Errors
    /// If there is no such value.
    pub fn required(&self, t: &TableRef<'_, '_>, slot: u16) -> Result<&GraphValue> {
        self.get(t, slot)?.map_or_else(|| t.wrong(slot, "the value is missing"), Ok)
    }
}

/// Returns the number of elements; `None` beyond `u64`.
pub(super) fn count(dims: &[u64]) -> Option<u64> {
    dims.iter().try_fold(1u64, |count, size| count.checked_mul(*size))
}
