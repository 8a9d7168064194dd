//! The trait of payload formats, and lists of formats, which recognise payloads.

use std::sync::OnceLock;
use std::{fmt, io};

use super::decoded::{DecodedPayload, PayloadGraph};
use super::description::{DescribeError, Description, Facts};
use super::flat::FlatFormat;
use super::generic;
use super::memory::{DelegateMemory, Processor};
use super::signature::{CallRules, Signature};
use pte_model::data::Blob;

/// Number of first bytes by which a payload is recognised.
pub const HEAD: usize = 16;

/// Maximum number of programs around one that is looked into, each the payload of a delegate of the next.
pub const MAX_NESTED: usize = 16;

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

    /// Returns the inputs and outputs of the delegate; `None` if the payload does not state them.
    ///
    /// # Errors
    /// As [`PayloadFormat::describe`].
    fn signature(&self, payload: &Blob) -> Result<Option<Signature>, DescribeError> {
        Ok(Signature::of(&self.describe(payload)?, self.rules()))
    }

    /// Returns what the runtime compares with the arguments of a call.
    fn rules(&self) -> &'static CallRules {
        &CallRules::UNKNOWN
    }

    /// Returns the keys of named data that the payload refers to; `None` if it may refer to others, too.
    ///
    /// # Errors
    /// As [`PayloadFormat::describe`].
    fn keys(&self, payload: &Blob) -> Result<Option<Vec<String>>, DescribeError> {
        Ok(self.describe(payload)?.keys())
    }

    /// Returns the releases of ExecuTorch whose backend takes the payload, as far as its header tells them apart.
    ///
    /// # Errors
    /// As [`PayloadFormat::describe`].
    fn releases(&self, payload: &Blob) -> Result<Option<PayloadReleases>, DescribeError> {
        let _ = payload;
        Ok(None)
    }

    /// Returns the graph of a payload that is described only; `None` if it has none, or if it is not known.
    ///
    /// # Errors
    /// As [`PayloadFormat::describe`].
    fn graph(&self, payload: &Blob) -> Result<Option<PayloadGraph>, DescribeError> {
        let _ = payload;
        Ok(None)
    }

    /// Returns the memory that a delegate with the payload takes on a processor; `None` if it is not known for the
    /// backend. Reads no data of constants.
    ///
    /// # Errors
    /// As [`PayloadFormat::describe`], or a payload for which it is not computed.
    fn memory(&self, payload: &Blob, processor: Processor) -> Option<Result<DelegateMemory, DescribeError>> {
        let _ = (payload, processor);
        None
    }

    /// Returns `true` if a payload is a program, which the backend executes.
    fn is_program(&self) -> bool {
        false
    }

    /// Returns the FlatBuffer that a payload is; `None` for other formats.
    fn flat(&self) -> Option<&'static FlatFormat> {
        None
    }

    /// Returns the payload as an object that decodes it once, of which nothing is read yet; `None` for a format that is
    /// only described.
    fn decoded(&self, payload: &Blob) -> Option<Box<dyn DecodedPayload>> {
        let _ = payload;
        None
    }
}

/// Releases of ExecuTorch, by their first two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadReleases {
    /// First one.
    pub first: &'static str,
    /// Last one; `None` if no later one is known that differs.
    pub last: Option<&'static str>,
}

impl fmt::Display for PayloadReleases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last {
            Some(last) => write!(f, "{} to {last}", self.first),
            None => write!(f, "{} and later", self.first),
        }
    }
}

/// Payload formats: lists of them, in the order in which they are tried.
#[derive(Clone, Copy)]
pub struct Formats(pub &'static [&'static [&'static dyn PayloadFormat]]);

/// Names of the backends of ExecuTorch 1.5.1 whose payloads have no known format.
const OTHER_BACKENDS: &[&str] = &["EnnBackend"];

impl fmt::Debug for dyn PayloadFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Formats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

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
        self.by_magic(head).or_else(|| self.of_backend(backend))
    }

    fn by_magic(&self, head: &[u8]) -> Option<&'static dyn PayloadFormat> {
        self.iter().find(|format| format.has_magic(head))
    }

    /// Returns the format of the payloads of a backend.
    pub fn of_backend(&self, backend: &str) -> Option<&'static dyn PayloadFormat> {
        self.iter().find(|format| format.backends().contains(&backend))
    }

    /// Recognises the format of a payload. Only its first bytes are read.
    ///
    /// # Errors
    /// The payload cannot be read.
    pub fn format_of(&self, backend: &str, payload: &Blob) -> io::Result<Option<&'static dyn PayloadFormat>> {
        Ok(self.recognise(backend, &head(payload)?))
    }

    /// Describes a payload of any format, as [`Payload::describe`].
    ///
    /// # Errors
    /// The payload cannot be read.
    pub fn describe(self, backend: &str, payload: &Blob) -> io::Result<Description> {
        Payload::new(self, self.of_backend(backend), payload.clone(), false).describe()
    }
}

fn head(payload: &Blob) -> io::Result<Vec<u8>> {
    payload.read_at(0, payload.len().min(HEAD as u64) as usize)
}

/// A payload of a backend, which is decoded once.
#[derive(Debug)]
pub struct Payload {
    /// The payload.
    pub blob: Blob,
    /// It exceeds the file together with other payloads, and is not read.
    pub overlaps: bool,
    formats: Formats,
    own: Option<&'static dyn PayloadFormat>,
    decoded: Option<Box<dyn DecodedPayload>>,
    /// The graph of a payload that is described only.
    graph: OnceLock<Result<Option<PayloadGraph>, DescribeError>>,
    known: OnceLock<Option<Description>>,
}

impl Payload {
    /// Creates a payload, of which nothing is read yet. `own` is the format of its backend.
    pub fn new(formats: Formats, own: Option<&'static dyn PayloadFormat>, blob: Blob, overlaps: bool) -> Payload {
        let decoded = own.and_then(|format| format.decoded(&blob));
        Payload { blob, overlaps, formats, own, decoded, graph: OnceLock::new(), known: OnceLock::new() }
    }

    /// Returns the format: that of its first bytes, otherwise of its backend.
    fn format(&self) -> io::Result<Option<&'static dyn PayloadFormat>> {
        Ok(self.formats.by_magic(&head(&self.blob)?).or(self.own))
    }

    /// Returns the description of a payload that has a known format, and is not malformed.
    pub fn known(&self) -> Option<&Description> {
        let describe = || {
            let (name, facts) = if self.overlaps { None } else { self.facts().ok()? }?;
            Some(Description::new(name, self.blob.len(), facts.ok()?))
        };
        self.known.get_or_init(describe).as_ref()
    }

    /// Returns the inputs and outputs that the payload states; `None` if it is malformed, or its format is not that of
    /// its backend.
    pub fn signature(&self) -> Option<Signature> {
        self.own_format()?.signature(&self.blob).ok()?
    }

    /// Returns the keys of named data that the payload refers to; `None` if it may refer to others, too.
    pub fn keys(&self) -> Option<Vec<String>> {
        match &self.decoded {
            Some(decoded) => Some(decoded.keys()?.into_iter().map(str::to_owned).collect()),
            None => self.own_format()?.keys(&self.blob).ok()?,
        }
    }

    /// Returns `true` if neither the first bytes nor the backend of the payload are those of a known format.
    pub fn is_unknown(&self) -> bool {
        self.format().is_ok_and(|format| format.is_none())
    }

    /// Returns `true` for the payload of a backend that executes it as a program.
    pub fn has_program(&self) -> bool {
        self.own.is_some_and(PayloadFormat::is_program)
    }

    /// Returns the releases of ExecuTorch whose backend takes the payload; `None` if its header does not say it.
    pub fn releases(&self) -> Option<PayloadReleases> {
        self.own_format()?.releases(&self.blob).ok()?
    }

    /// Returns the format of the backend, if the payload has it.
    fn own_format(&self) -> Option<&'static dyn PayloadFormat> {
        self.format().ok()?.filter(|format| self.is_own(*format) && !self.overlaps)
    }

    /// Returns the FlatBuffer that the payload is, by its format.
    pub fn flat(&self) -> Option<&'static FlatFormat> {
        self.format().ok()??.flat()
    }

    fn is_own(&self, format: &dyn PayloadFormat) -> bool {
        self.own.is_some_and(|own| own.name() == format.name())
    }

    /// Returns `true` if the format of the backend is decoded, even if the payload overlaps others.
    pub fn is_decoded(&self) -> bool {
        self.decoded.is_some()
    }

    /// Returns what the format of the backend decodes; `None` for a payload that overlaps others.
    pub fn decoded(&self) -> Option<&dyn DecodedPayload> {
        self.decoded.as_deref().filter(|_| !self.overlaps)
    }

    /// Returns the graph, if the format of the backend has one and the payload is not malformed.
    pub fn graph(&self) -> Option<&PayloadGraph> {
        match self.decoded() {
            Some(decoded) => decoded.graph(),
            None => self.described_graph().as_ref().ok()?.as_ref(),
        }
    }

    fn described_graph(&self) -> &Result<Option<PayloadGraph>, DescribeError> {
        self.graph.get_or_init(|| self.own_format().map_or(Ok(None), |format| format.graph(&self.blob)))
    }

    /// Returns why a payload that is not malformed has no graph, such as lists that are shared too often.
    pub fn graph_error(&self) -> Option<String> {
        let error = self.described_graph().as_ref().err().filter(|_| !self.is_decoded())?;
        self.known().map(|_| error.to_string())
    }

    /// Returns the name of the format, and the facts.
    fn facts(&self) -> io::Result<Option<(&'static str, Result<Facts, DescribeError>)>> {
        Ok(self.format()?.map(|format| match &self.decoded {
            Some(decoded) if self.is_own(format) => (format.name(), decoded.describe()),
            Some(_) | None => (format.name(), format.describe(&self.blob)),
        }))
    }

    /// Returns a clause about the payload, `is of ...`; `None` without a known format, or if it cannot be read.
    pub fn summary(&self) -> Option<String> {
        match self.facts().ok()?? {
            (name, Ok(facts)) => {
                Some(format!("is of the format {}", Description::new(name, self.blob.len(), facts).summary()))
            }
            (name, Err(DescribeError::Malformed(problem))) => Some(format!("is not of the format {name}: {problem}")),
            (_, Err(DescribeError::Io(_))) => None,
        }
    }

    /// Describes the payload. A malformed payload, or one of an unknown format, has the facts of [`generic`].
    ///
    /// # Errors
    /// The payload cannot be read.
    pub fn describe(&self) -> io::Result<Description> {
        let size = self.blob.len();
        let (name, problem) = match self.facts()? {
            Some((name, Ok(facts))) => return Ok(Description::new(name, size, facts)),
            Some((name, Err(DescribeError::Malformed(problem)))) => (Some(name), Some(problem)),
            Some((_, Err(DescribeError::Io(error)))) => return Err(error),
            None => (None, None),
        };
        let facts = generic::describe(&self.blob)?.into_list();
        Ok(Description { format: name, size, facts, problem })
    }

    /// Returns the memory that a delegate with the payload takes.
    ///
    /// # Errors
    /// Why it is not counted: an unknown format, one whose backend's memory is not known, or a payload that cannot be
    /// read or is malformed.
    pub fn memory(&self, backend: &str, processor: Processor) -> Result<DelegateMemory, String> {
        let unreadable = |error: io::Error| format!("the payload cannot be read: {error}");
        let Some(format) = self.format().map_err(unreadable)?.filter(|format| self.is_own(*format)) else {
            return Err(format!("the memory of the backend {} is not known", backend.escape_debug()));
        };
        let memory = match &self.decoded {
            Some(decoded) => decoded.memory(processor),
            None => format.memory(&self.blob, processor),
        };
        match memory {
            Some(Ok(memory)) => Ok(memory),
            Some(Err(DescribeError::Malformed(problem))) => Err(problem),
            Some(Err(DescribeError::Io(error))) => Err(unreadable(error)),
            None => Err(format!("the memory of the backend {backend} is not known")),
        }
    }
}
