//! The traits of payload formats. The formats are rows of [`FORMATS`](super::FORMATS).

use std::io;

use super::description::{DescribeError, Facts};
use super::memory::{DelegateMemory, Processor};
use pte_model::data::Blob;

/// Number of first bytes by which a payload is recognised.
pub const HEAD: usize = 16;

/// A payload format.
pub trait PayloadFormat: Sync {
    /// Name of the format.
    fn name(&self) -> &'static str;

    /// Names of the backends whose payloads have the format, unless they begin with the magic of another one.
    fn backends(&self) -> &'static [&'static str];

    /// Returns `true` if a payload with these first [`HEAD`] bytes (fewer if it is shorter) has the format, whatever its backend is.
    fn has_magic(&self, head: &[u8]) -> bool;

    /// Describes a payload. Reads its metadata only, at most [`MAX_METADATA`](super::description::MAX_METADATA) bytes.
    ///
    /// # Errors
    /// The payload cannot be read, or is malformed. The message has the position in the payload.
    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError>;

    /// Returns the memory that a delegate with the payload takes on a processor; `None` if it is not known for the backend. Reads no data of
    /// constants.
    ///
    /// # Errors
    /// As [`PayloadFormat::describe`], or a payload for which it is not computed.
    fn memory(&self, payload: &Blob, processor: Processor) -> Option<Result<DelegateMemory, DescribeError>> {
        let _ = (payload, processor);
        None
    }
}

/// A payload format whose payloads are graphs in YAML.
pub trait GraphFormat: PayloadFormat {
    /// Graph with the complete content of a payload.
    type Graph;

    /// Returns the graph of a payload that [`GraphFormat::encode`] encodes to the same bytes.
    ///
    /// # Errors
    /// The graph cannot express a part of the payload, which the error describes.
    fn decode(&self, payload: &Blob) -> Result<Self::Graph, String>;

    /// Returns the payload of a graph.
    ///
    /// # Errors
    /// The format cannot contain the graph, or data cannot be read.
    fn encode(&self, graph: &Self::Graph) -> io::Result<Blob>;
}
