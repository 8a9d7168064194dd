//! The result of planning: offsets, sizes, and the data of each file. [`super::file`] computes the container header.

use super::external::ExternalFile;
use super::options::Storage;
use super::segments::Segment;
use pte_model::data::BlobId;
use pte_model::program::MemoryPlan;

/// Offsets and sizes of all data. Each method has a [`MemoryPlan`], data after the FlatBuffer are in [`Segment`]s, each
/// `.ptd` is an [`ExternalFile`], and each delegate has [`DelegateData`] with its [`Storage`].
///
/// ```
/// use pte_emit::Model;
/// use pte_emit::plan::{Plan, SegmentPiece};
///
/// let linear = Model::open("examples/linear.yaml")?;
/// let assembly = linear.assembly()?;
/// let plan: &Plan = assembly.plan();
/// assert_eq!(plan.memory[0].sizes, [0, 80]); // of `forward`
/// assert_eq!(plan.segments[0].size, 60); // weight and bias
/// assert_eq!(plan.constant_offsets, [0, 0, 48]);
/// let bias: SegmentPiece = plan.segments[0].pieces[1];
/// assert_eq!((bias.offset, assembly.program().blob(bias.blob).len()), (48, 12));
/// # Ok::<(), pte_emit::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Location of each payload, by method and delegate.
    pub delegates: Vec<Vec<DelegateData>>,
    /// Payloads in the FlatBuffer (`backend_delegate_data`).
    pub inline_delegates: Vec<BlobId>,
    /// Segment of each entry of `named_data`.
    pub named_data: Vec<u32>,
    /// Segments of the program, with offsets relative to the first one.
    pub segments: Vec<Segment>,
    /// The `.ptd` files.
    pub external: Vec<ExternalFile>,
    /// Bytes saved by sharing equal data; data that are one range of a file save nothing.
    pub shared_bytes: u64,
}

/// Location of the payload of a delegate (table `BackendDelegateDataReference`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DelegateData {
    /// Inside the FlatBuffer or in a segment.
    pub storage: Storage,
    /// Index into `segments` or `backend_delegate_data`.
    pub index: u32,
}
