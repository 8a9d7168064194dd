//! Blocks of a file: bytes with one owner.
//!
//! [`super::regions`] explains their content.

/// Kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// The root offset, the identifier and the extended header.
    Header,
    /// An object of a FlatBuffer.
    Object(u32),
    /// A segment. It is empty if the blocks of a payload follow it, which then own its bytes.
    Segment(u32),
    /// The header of the payload of a delegate, with its padding.
    PayloadHeader,
    /// The constants after the graph in the payload of a delegate.
    PayloadConstants,
    /// Zeros up to an aligned offset.
    Padding,
    /// Objects that only parts of a newer schema refer to.
    Newer,
    /// Bytes without references.
    Unreachable,
}

/// Bytes with one owner. A claim whose bytes all belong to others has an empty block.
#[derive(Clone, Copy)]
pub struct FileBlock {
    /// Start offset in the file.
    pub at: u64,
    /// End offset in the file.
    pub end: u64,
    /// Kind.
    pub kind: BlockKind,
    /// Index of the part.
    pub part: u32,
    /// `true` if bytes that it claims belong to another block; see
    /// [`FileMap::overlaps`](super::map::FileMap::overlaps).
    pub overlap: bool,
}
