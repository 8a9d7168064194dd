//! The trait of payload formats, and lists of formats, which recognise payloads.

use std::io;

use super::description::{DescribeError, Description, Facts};
use super::generic;
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

    /// Returns `true` if a payload with these first [`HEAD`] bytes (fewer if it is shorter) has the format, whatever
    /// its backend is.
    fn has_magic(&self, head: &[u8]) -> bool;

    /// Describes a payload. Reads its metadata only, at most [`MAX_METADATA`](super::description::MAX_METADATA) bytes.
    ///
    /// # Errors
    /// The payload cannot be read, or is malformed. The message has the position in the payload.
    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError>;

    /// Returns the memory that a delegate with the payload takes on a processor; `None` if it is not known for the
    /// backend. Reads no data of constants.
    ///
    /// # Errors
    /// As [`PayloadFormat::describe`], or a payload for which it is not computed.
    fn memory(&self, payload: &Blob, processor: Processor) -> Option<Result<DelegateMemory, DescribeError>> {
        let _ = (payload, processor);
        None
    }
}

/// Payload formats: lists of them, in the order in which they are tried.
#[derive(Clone, Copy)]
pub struct Formats(pub &'static [&'static [&'static dyn PayloadFormat]]);

/// Names of the backends of ExecuTorch 1.5.1 whose payloads have no known format.
const OTHER_BACKENDS: &[&str] = &[
    "AotiBackend",
    "BackendWithCompilerDemo",
    "CoreAIBackend",
    "CudaBackend",
    "EnnBackend",
    "ExecutorBackend",
    "MetalBackend",
    "NeuropilotBackend",
    "NeutronBackend",
    "OpenvinoBackend",
    "TensorRTBackend",
    "VgfBackend",
];

impl Formats {
    /// Returns the formats.
    pub fn iter(&self) -> impl Iterator<Item = &'static dyn PayloadFormat> {
        self.0.iter().flat_map(|list| list.iter().copied())
    }

    /// Returns the names of the backends of ExecuTorch 1.5.1, in alphabetical order.
    pub fn backends(&self) -> Vec<&'static str> {
        let of_formats = self.iter().flat_map(PayloadFormat::backends).copied();
        let mut names: Vec<&str> = of_formats.chain(OTHER_BACKENDS.iter().copied()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the format of a payload by its first [`HEAD`] bytes (fewer if it is shorter), otherwise by its backend;
    /// `None` if it is unknown.
    pub fn recognise(&self, backend: &str, head: &[u8]) -> Option<&'static dyn PayloadFormat> {
        let by_magic = self.iter().find(|format| format.has_magic(head));
        by_magic.or_else(|| self.iter().find(|format| format.backends().contains(&backend)))
    }

    /// Recognises the format of a payload. Only its first bytes are read.
    ///
    /// # Errors
    /// The payload cannot be read.
    pub fn format_of(&self, backend: &str, payload: &Blob) -> io::Result<Option<&'static dyn PayloadFormat>> {
        let head = payload.read_at(0, payload.len().min(HEAD as u64) as usize)?;
        Ok(self.recognise(backend, &head))
    }

    /// Returns a clause about a payload, `is of ...`; `None` without a known format, or if the payload cannot be read.
    pub fn summary(&self, backend: &str, payload: &Blob) -> Option<String> {
        let format = self.format_of(backend, payload).ok()??;
        match format.describe(payload) {
            Ok(facts) => {
                Some(format!("is of the format {}", Description::new(format.name(), payload.len(), facts).summary()))
            }
            Err(DescribeError::Malformed(problem)) => {
                Some(format!("is not of the format {}: {problem}", format.name()))
            }
            Err(DescribeError::Io(_)) => None,
        }
    }

    /// Describes a payload of any format. A malformed payload, or one of an unknown format, has the facts of
    /// [`generic`].
    ///
    /// # Errors
    /// The payload cannot be read.
    pub fn describe(&self, backend: &str, payload: &Blob) -> io::Result<Description> {
        let format = self.format_of(backend, payload)?;
        let (name, problem) = match format.map(|format| (format.name(), format.describe(payload))) {
            Some((name, Ok(facts))) => return Ok(Description::new(name, payload.len(), facts)),
            Some((name, Err(DescribeError::Malformed(problem)))) => (Some(name), Some(problem)),
            Some((_, Err(DescribeError::Io(error)))) => return Err(error),
            None => (None, None),
        };
        let facts = generic::describe(payload)?.into_list();
        Ok(Description { format: name, size: payload.len(), facts, problem })
    }

    /// Returns the memory that a delegate with this payload takes.
    ///
    /// # Errors
    /// Why it is not counted: an unknown format, one whose backend's memory is not known, or a payload that cannot be
    /// read or is malformed.
    pub fn memory_of(&self, backend: &str, payload: &Blob, processor: Processor) -> Result<DelegateMemory, String> {
        let format =
            self.format_of(backend, payload).map_err(|error| format!("the payload cannot be read: {error}"))?;
        let Some(format) = format.filter(|format| format.backends().contains(&backend)) else {
            return Err(format!("the memory of the backend {} is not known", backend.escape_debug()));
        };
        match format.memory(payload, processor) {
            Some(Ok(memory)) => Ok(memory),
            Some(Err(DescribeError::Malformed(problem))) => Err(problem),
            Some(Err(DescribeError::Io(error))) => Err(format!("the payload cannot be read: {error}")),
            None => Err(format!("the memory of the backend {backend} is not known")),
        }
    }
}
