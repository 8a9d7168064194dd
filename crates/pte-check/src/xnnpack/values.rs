//! Values of an XNNPACK graph by their ids.

use std::collections::BTreeMap;

use pte_model::format::flatbuffer::read::{ReadError, Result, TableRef};
use pte_xnnpack::sizes::SizedOperands;

/// Scales of a value.
pub(super) enum ValueScales {
    /// The graph has no scales.
    None,
    /// Scale and zero point.
    One(f32, i32),
    /// A scale for each channel, or group of a channel.
    Channels {
        /// Dimension of the channels.
        dim: usize,
        count: u64,
        /// The largest scale; `None` if they are in a constant.
        largest: Option<f32>,
    },
}

/// A value of the graph.
pub(super) struct GraphValue {
    /// Position in the list of values.
    pub position: usize,
    pub dims: Vec<u64>,
    pub datatype: i16,
    pub constant: bool,
    /// The constant is in the payload, and no operation that reads it there at run time was reported.
    pub in_payload: bool,
    pub scales: ValueScales,
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
    /// Returns the value whose id is in a field; `None` if there is no such value.
    pub fn get(&self, t: &TableRef<'_, '_>, slot: u16) -> Result<Option<&GraphValue>> {
        Ok(self.by_id.get(&t.u32(slot)?))
    }
}

/// An operation of a FlatBuffer: the sizes of its outputs are compared.
pub(super) struct EncodedOperation<'g, 't, 'b, 'a> {
    pub values: &'g GraphValues,
    pub t: &'t TableRef<'b, 'a>,
}

impl SizedOperands for EncodedOperation<'_, '_, '_, '_> {
    type Error = Box<ReadError>;

    fn number(&self, slot: u16) -> Result<u32> {
        self.t.u32(slot)
    }

    fn list(&self, slot: u16) -> Result<Vec<u64>> {
        let items: Vec<u32> = self.t.u32s(slot)?.unwrap_or_default();
        Ok(items.into_iter().map(u64::from).collect())
    }

    fn value(&self, slot: u16) -> Result<Option<(&[u64], i16)>> {
        Ok(self.values.get(self.t, slot)?.map(|value| (&*value.dims, value.datatype)))
    }

    fn output(&self, slot: u16, sizes: &[u64]) -> Result<()> {
        match self.values.get(self.t, slot)? {
            Some(value) if value.dims == sizes => Ok(()),
            Some(value) => self.t.wrong(slot, format!("a value of sizes {:?}, expected {sizes:?}", value.dims)),
            None => self.t.wrong(slot, "the value is missing"),
        }
    }

    fn wrong<T>(&self, slot: u16, message: String) -> Result<T> {
        self.t.wrong(slot, message)
    }
}
