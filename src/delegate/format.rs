//! What a payload format has to provide. The formats are rows of [`FORMATS`](super::FORMATS).

use std::io;

use super::description::{DescribeError, Facts};
use crate::data::Blob;

/// Number of bytes by which a payload is recognised: the first ones.
pub const HEAD: usize = 16;

/// A payload format.
pub trait PayloadFormat: Sync {
    /// Name of the format.
    fn name(&self) -> &'static str;

    /// Names of the backends whose payloads have the format, unless they begin as another one.
    fn backends(&self) -> &'static [&'static str];

    /// Returns `true` if a payload with these first [`HEAD`] bytes (fewer if it is shorter) has the format, whatever its backend is.
    fn has_magic(&self, head: &[u8]) -> bool;

    /// Describes a payload. Reads its metadata only, at most [`MAX_METADATA`](super::description::MAX_METADATA) bytes.
    ///
    /// # Errors
    /// A payload that cannot be read, or is malformed; the message has the position in the payload.
    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError>;
}

/// A payload format that is a graph for YAML.
pub trait GraphFormat: PayloadFormat {
    /// Graph, which has all that the payload contains.
    type Graph;

    /// Returns the graph of a payload that [`GraphFormat::encode`] encodes to the same bytes.
    ///
    /// # Errors
    /// Description of what a graph does not express.
    fn decode(&self, payload: &Blob) -> Result<Self::Graph, String>;

    /// Returns the payload of a graph.
    ///
    /// # Errors
    /// A graph that the format cannot contain; data that cannot be read.
    fn encode(&self, graph: &Self::Graph) -> io::Result<Blob>;
}
