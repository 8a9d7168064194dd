//! Reads a file, or the program inside a `.bpte`: its header and its objects.

use std::ops::Range;

use pte_model::format::Format;
use pte_model::format::TableSchema;
use pte_model::format::bundled_program;
use pte_model::format::container::{self, Container, ExtendedHeader, PREAMBLE, SEGMENT_BASE_OFFSET};
use pte_model::format::flatbuffer::unknown;
use pte_model::format::flatbuffer::view;
use pte_model::format::flatbuffer::walk::{NONE, Objects};
use pte_model::format::flatbuffer::{ObjectKind, Scalar, follow, u32_at};
use pte_model::format::path::MethodName;
use pte_model::format::program::{chain, execution_plan, program};
use pte_model::format::unknown::UnknownObject;
use pte_payload::header::{HEADER, HEADER_FIELDS};

/// The extended header of a file, with the value of its length field.
#[derive(Clone, Copy)]
pub struct StatedHeader {
    /// Header of the format.
    pub format: &'static ExtendedHeader,
    /// Stated length in bytes.
    pub length: u64,
    /// Number of fields within the stated length.
    pub fields: usize,
}

impl StatedHeader {
    /// Returns the header of a file with these first bytes, of any version; `None` if it has none.
    fn of(format: Format, bytes: &[u8]) -> Option<StatedHeader> {
        let format = format.container()?.header?;
        let magic = bytes.get(PREAMBLE..PREAMBLE + 4)?;
        if magic[..2] != format.magic[..2] {
            return None;
        }
        let length = u64::from(ExtendedHeader::stated_length(bytes)?);
        let stated = (length.saturating_sub(8) / 8).max(u64::from(format.minimum) / 8 - 1) as usize;
        Some(StatedHeader { format, length, fields: stated.min(format.fields.len()) })
    }

    /// Returns a field by its name; `None` if it is beyond the stated length or the bytes.
    pub fn field(&self, bytes: &[u8], name: &str) -> Option<u64> {
        let index = self.format.fields.iter().take(self.fields).position(|field| *field == name)?;
        Some(u64::from_le_bytes(*bytes.get(ExtendedHeader::field_offset(index)..)?.first_chunk()?))
    }

    /// Returns the offset of the end of the known fields.
    fn known(&self) -> usize {
        ExtendedHeader::field_offset(self.fields)
    }
}

/// A file, the program inside a `.bpte`, or the graph in the payload of a delegate.
pub struct FilePart {
    /// Format of the file; for a payload, that of the program that contains it.
    pub format: Format,
    /// Root table.
    pub root: &'static TableSchema,
    /// Identifier of the FlatBuffer.
    pub identifier: &'static str,
    /// Prefix of its paths.
    pub prefix: String,
    /// Offset in the file.
    pub start: u64,
    /// Length in bytes.
    pub len: u64,
    /// Number of bytes in memory: the metadata.
    pub memory: usize,
    /// Extended header.
    pub header: Option<StatedHeader>,
    /// Objects of the FlatBuffer.
    pub objects: Objects,
    /// Methods in the order of the file.
    pub methods: Vec<MethodPath>,
    /// Ranges of the objects that only parts of a newer schema refer to, ascending.
    pub newer: Vec<Range<u64>>,
    /// Payload of a delegate that contains the FlatBuffer; `None` for a file and the program in a `.bpte`.
    pub payload: Option<PayloadBytes>,
}

/// A method in paths.
pub struct MethodPath {
    /// `methods.forward`
    pub path: String,
    /// `true` if the method has a single chain, which paths omit.
    pub one_chain: bool,
}

/// The payload around a graph.
pub struct PayloadBytes {
    /// Offset in the file.
    pub at: u64,
    /// Bytes up to the end of the graph.
    pub head: Vec<u8>,
    /// Offset of the graph in the payload.
    pub start: usize,
    /// The payload is in a segment, not inside the FlatBuffer.
    pub in_segment: bool,
}

/// A region of the header of a payload.
pub struct HeaderRegion {
    /// Range in the payload.
    pub range: Range<usize>,
    /// Type of a number; `None` for other bytes.
    pub number: Option<Scalar>,
    /// Name of the field, or description.
    pub meaning: &'static str,
}

impl PayloadBytes {
    /// Returns the bytes of the graph.
    pub fn graph(&self) -> &[u8] {
        &self.head[self.start..]
    }

    /// Returns the regions of the header, with the padding up to the graph.
    pub fn header(&self) -> impl Iterator<Item = HeaderRegion> {
        let fields = HEADER_FIELDS.iter().map(|field| {
            let number = field.number;
            HeaderRegion { range: field.at..field.at + field.size, number, meaning: field.name }
        });
        let padding = HeaderRegion { range: HEADER..self.start, number: None, meaning: "padding" };
        fields.chain(std::iter::once(padding).filter(|padding| !padding.range.is_empty()))
    }
}

impl FilePart {
    /// Reads the header and the objects of `bytes`, the metadata of a file of `len` bytes.
    pub fn new(format: Format, prefix: &'static str, start: u64, bytes: &[u8], len: u64) -> FilePart {
        let header = StatedHeader::of(format, bytes);
        let Container { root, identifier, .. } = *container_of(format);
        let objects = Objects::find(bytes, root);
        let methods = if let Format::Program = format { methods(bytes, &objects) } else { Vec::new() };
        let (prefix, memory) = (prefix.to_owned(), bytes.len());
        let mut part = FilePart {
            format,
            root,
            identifier,
            prefix,
            start,
            len,
            memory,
            header,
            objects,
            methods,
            newer: Vec::new(),
            payload: None,
        };
        let head = usize::try_from(part.header_bytes().0).unwrap_or(memory).min(memory);
        let objects = unknown::find_in(bytes, &part.objects, head).map(|parts| parts.objects).unwrap_or_default();
        // They are in the order from the end.
        let range = |object: UnknownObject| {
            let at = start + memory as u64 - u64::from(object.end).min(memory as u64);
            at..at + object.bytes.len() as u64
        };
        part.newer = objects.into_iter().rev().map(range).collect();
        part
    }

    /// Returns true if a range of the file has an object that only parts of a newer schema refer to.
    pub fn has_newer(&self, from: u64, to: u64) -> bool {
        let next = self.newer.partition_point(|range| range.end <= from);
        self.newer.get(next).is_some_and(|range| range.start < to)
    }

    /// Returns the offset of the end of the header, and `true` if the header is longer than its known fields.
    pub fn header_bytes(&self) -> (u64, bool) {
        let known = self.header.map_or(PREAMBLE, |header| header.known()) as u64;
        let stated = self.header.map_or(0, |header| header.length.saturating_add(PREAMBLE as u64));
        (known.max(stated).min(self.len), stated > known)
    }

    /// Returns the offset of the first segment from the start of the part; 0 without a header.
    pub fn base(&self, bytes: &[u8]) -> u64 {
        self.header.and_then(|header| header.field(bytes, SEGMENT_BASE_OFFSET)).unwrap_or(0)
    }

    /// Returns the vector that contains the program of a `.bpte`: index of the object, offset and length of the program
    /// in bytes.
    pub fn inner(&self, bytes: &[u8]) -> Option<(u32, usize, usize)> {
        let id = self.objects.list.iter().position(|object| {
            object.parent == 0
                && object.step == u32::from(bundled_program::bundled_program::program)
                && matches!(object.what, ObjectKind::Scalars(_))
        })?;
        let object = self.objects.list[id];
        let start = object.at as usize + 4;
        let len = (object.size as usize).saturating_sub(4);
        (matches!(self.format, Format::BundledProgram) && len > 0 && start + len <= bytes.len())
            .then_some((id as u32, start, len))
    }
}

fn container_of(format: Format) -> &'static Container {
    format.container().unwrap_or(&container::PROGRAM)
}

/// Returns `true` if the root table of a FlatBuffer of `len` bytes is inside it.
pub fn has_root(bytes: &[u8], len: u64) -> bool {
    let offset = u32_at(bytes, 0).map_or(0, u64::from);
    offset >= 4 && offset.saturating_add(4) <= len
}

fn methods(bytes: &[u8], objects: &Objects) -> Vec<MethodPath> {
    if objects.list.is_empty() || follow(bytes, 0).is_none() || objects.list[0].parent != NONE {
        return Vec::new();
    }
    let Some(plans) = view::Table::root(bytes).and_then(|root| root.tables(program::execution_plan)) else {
        return Vec::new();
    };
    let name = |index: usize| plans.get(index)?.text(execution_plan::name);
    let method = |index: usize| {
        let one_chain = plans.get(index).and_then(|plan| plan.tables(execution_plan::chains)).is_some_and(|chains| {
            chains.len() == 1 && chains.get(0).is_some_and(|chain| chain.has(chain::instructions))
        });
        MethodPath { path: MethodName::of(plans.len(), name, index).to_string(), one_chain }
    };
    (0..plans.len()).map(method).collect()
}
