//! A file, or the program inside a `.bpte`: its frame as the first bytes state it, and its objects.
//!
//! Which bytes are whose where claims meet is not decided here.

use crate::format::flatbuffer::walk::{NONE, Objects};
use crate::format::flatbuffer::{ObjectKind, follow, u32_at};
use crate::format::Format;
use crate::format::path::MethodName;
use crate::format::program::{chain, execution_plan, program};
use crate::format::flatbuffer::view;
use crate::format::{Table, bundled_program, flat_tensor, program as pte};

/// An extended header: what it must begin with, the names of its 64-bit fields, and how long it is at least.
#[derive(Debug)]
pub struct HeaderShape {
    /// The first four bytes.
    pub magic: &'static [u8; 4],
    /// The fields behind magic and length.
    pub fields: &'static [&'static str],
    /// The least length that the runtime accepts.
    pub least: u64,
}

static PROGRAM_HEADER: HeaderShape =
    HeaderShape { magic: b"eh00", fields: &["program_size", "segment_base_offset", "segment_data_size"], least: 24 };
static FLAT_TENSOR_HEADER: HeaderShape = HeaderShape {
    magic: b"FH01",
    fields: &["flatbuffer_offset", "flatbuffer_size", "segment_base_offset", "segment_data_size"],
    least: 40,
};

/// The bytes before an extended header.
pub const PREAMBLE: usize = 8;

/// The extended header of a file.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    /// What such a header is made of.
    pub shape: &'static HeaderShape,
    /// The length that it states.
    pub length: u64,
    /// How many of the fields it has.
    pub fields: usize,
}

impl Header {
    /// The header of a file with these first bytes, if there is one. One of another version is taken for a header, too:
    /// what it says is more than nothing.
    fn of(format: Format, bytes: &[u8]) -> Option<Header> {
        let shape = match format {
            Format::Program => &PROGRAM_HEADER,
            Format::FlatTensor => &FLAT_TENSOR_HEADER,
            Format::BundledProgram | Format::Safetensors => return None,
        };
        let magic = bytes.get(PREAMBLE..PREAMBLE + 4)?;
        if magic[..2] != shape.magic[..2] {
            return None;
        }
        let length = u64::from(u32_at(bytes, PREAMBLE + 4)?);
        let stated = (length.saturating_sub(8) / 8).max(shape.least / 8 - 1) as usize;
        Some(Header { shape, length, fields: stated.min(shape.fields.len()) })
    }

    /// Where a field is.
    pub fn place(index: usize) -> usize {
        PREAMBLE + 8 + 8 * index
    }

    /// A field by its name, if the header has it.
    pub fn field(&self, bytes: &[u8], name: &str) -> Option<u64> {
        let index = self.shape.fields.iter().take(self.fields).position(|field| *field == name)?;
        Some(u64::from_le_bytes(*bytes.get(Header::place(index)..)?.first_chunk()?))
    }

    /// Bytes of the known fields, with what stands before the header.
    fn known(&self) -> usize {
        Header::place(self.fields)
    }
}

/// A file, or the program inside one.
#[derive(Debug)]
pub struct Part {
    /// What it is.
    pub format: Format,
    /// What stands in front of its paths.
    pub prefix: &'static str,
    /// Where in the file it begins.
    pub start: u64,
    /// Its length.
    pub len: u64,
    /// How many of its bytes are in memory: the metadata.
    pub memory: usize,
    /// Its extended header.
    pub header: Option<Header>,
    /// What is in its FlatBuffer.
    pub objects: Objects,
    /// The first object that is a vector of methods, and what each of them is called in paths.
    pub methods: Vec<Method>,
}

/// A method, as paths speak of it.
#[derive(Debug, Clone)]
pub struct Method {
    /// `methods.forward`
    pub path: String,
    /// Whether it has one chain, which paths need not mention.
    pub one_chain: bool,
}

impl Part {
    /// Finds what is in `bytes`, the metadata of a file of `len` bytes.
    pub fn new(format: Format, prefix: &'static str, start: u64, bytes: &[u8], len: u64) -> Part {
        let (root, header) = (root(format), Header::of(format, bytes));
        let objects = Objects::find(bytes, root);
        let methods = if let Format::Program = format { methods(bytes, &objects) } else { Vec::new() };
        Part { format, prefix, start, len, memory: bytes.len(), header, objects, methods }
    }

    /// The identifier that such a file must have.
    pub fn identifier(&self) -> &'static str {
        match self.format {
            Format::FlatTensor => flat_tensor::IDENTIFIER,
            Format::BundledProgram => bundled_program::IDENTIFIER,
            Format::Program | Format::Safetensors => pte::IDENTIFIER,
        }
    }

    /// The root table's kind.
    pub fn root(&self) -> &'static Table {
        root(self.format)
    }

    /// Bytes that the header and what stands before it take, and whether it says that there are more than are known.
    pub fn header_bytes(&self) -> (u64, bool) {
        let known = self.header.map_or(PREAMBLE, |header| header.known()) as u64;
        let stated = self.header.map_or(0, |header| header.length.saturating_add(PREAMBLE as u64));
        (known.max(stated).min(self.len), stated > known)
    }

    /// Where segments begin, from the start of the part.
    pub fn base(&self, bytes: &[u8]) -> u64 {
        self.header.and_then(|header| header.field(bytes, "segment_base_offset")).unwrap_or(0)
    }

    /// Of a bundled program: where in it the program is.
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

fn root(format: Format) -> &'static Table {
    match format {
        Format::FlatTensor => &flat_tensor::FLAT_TENSOR,
        Format::BundledProgram => &bundled_program::BUNDLED_PROGRAM,
        Format::Program | Format::Safetensors => &pte::PROGRAM,
    }
}

/// Whether the root of a FlatBuffer of this length can be read.
pub fn has_root(bytes: &[u8], len: u64) -> bool {
    let offset = u32_at(bytes, 0).map_or(0, u64::from);
    offset >= 4 && offset.saturating_add(4) <= len
}

fn methods(bytes: &[u8], objects: &Objects) -> Vec<Method> {
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
        Method { path: MethodName::of(plans.len(), name, index).to_string(), one_chain }
    };
    (0..plans.len()).map(method).collect()
}
