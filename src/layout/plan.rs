//! The plan: offsets and sizes of everything, and which data go to which file.

use super::external::ExternalFile;
use super::memory::MemoryPlan;
use super::options::Storage;
use super::segments::Segment;
use crate::data::BlobId;

/// Where every byte of the outputs goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Planned memory by method.
    pub memory: Vec<MemoryPlan>,
    /// `data_buffer_idx` by method and value.
    pub buffer_index: Vec<Vec<u32>>,
    /// Constants in the FlatBuffer (`constant_buffer`), entry 0 reserved; empty if they are in a segment.
    pub constant_buffer: Vec<Option<BlobId>>,
    /// Offsets of constants in segment 0 (`constant_segment`), entry 0 reserved; empty if they are inline.
    pub constant_offsets: Vec<u64>,
    /// Segment and offsets of initial states (`mutable_data_segments`).
    pub mutable_data: Option<(u32, Vec<u64>)>,
    /// Where each delegate's payload is, by method and delegate.
    pub delegates: Vec<Vec<DelegateData>>,
    /// Payloads in the FlatBuffer (`backend_delegate_data`).
    pub inline_delegates: Vec<BlobId>,
    /// Segment of each entry of `named_data`.
    pub named_data: Vec<u32>,
    /// The segments of the program, relative to the first one's start.
    pub segments: Vec<Segment>,
    /// The `.ptd` files.
    pub external: Vec<ExternalFile>,
    /// Bytes that sharing of equal data saved.
    pub shared_bytes: u64,
}

/// Where a delegate's payload is (table `BackendDelegateDataReference`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelegateData {
    /// Inside the FlatBuffer or in a segment.
    pub storage: Storage,
    /// Index into the list that this means.
    pub index: u32,
}
