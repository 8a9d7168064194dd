//! Reads facts of a file from its metadata: header, serializer and segments. [`super::summary`] has the contents of its
//! program.

use std::io;

use serde::Serialize;

use pte_model::data::Origin;
use pte_model::diagnostics::clipped;
use pte_model::format::container::{Container, HEAD, MAX_FLATBUFFER};
use pte_model::format::flatbuffer::view::Table;
use pte_model::format::program::{
    DataLocation, backend_delegate, backend_delegate_data_reference, data_segment, execution_plan, named_data, program,
    subsegment_offsets,
};
use pte_model::format::{Format, flat_tensor as ptd};
use pte_model::reader::root;
use pte_payload::description::as_map;

/// Header, serializer and segments of a file, part of an [`Inspection`](crate::inspection::Inspection).
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FileFacts {
    /// Extension of the format: `pte`, `ptd` or `bpte`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["pte", "ptd", "bpte"])))]
    pub format: &'static str,
    /// Size in bytes.
    pub bytes: u64,
    /// Size in bytes of the header and the FlatBuffer: up to the first segment, or of the whole file if it has none.
    pub metadata_bytes: u64,
    /// Kind of the serializer of the FlatBuffer, recognised by the order of the fields of its root table; `None` if
    /// either may have written it.
    pub serializer: Option<SerializerKind>,
    /// Extended header; `None` without one.
    pub header: Option<HeaderFacts>,
    /// Segments in the order of the file.
    pub segments: Vec<SegmentFacts>,
}

/// Extended header of a file, part of [`FileFacts`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HeaderFacts {
    /// Magic bytes.
    pub magic: &'static str,
    /// Value of its length field, in bytes.
    pub length: u32,
    /// Names and values of the fields within that length.
    #[serde(flatten, serialize_with = "as_map")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, u64>"))]
    pub fields: Vec<(&'static str, u64)>,
}

/// Kind of serializer that wrote a FlatBuffer, part of [`FileFacts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SerializerKind {
    /// Python's object API.
    ObjectApi,
    /// flatc from JSON.
    Flatc,
}

impl SerializerKind {
    /// Returns a description of the serializer, and the releases that use it.
    ///
    /// ```
    /// use pte_inspect::file::SerializerKind;
    ///
    /// assert!(SerializerKind::Flatc.description().starts_with("flatc"));
    /// ```
    pub fn description(self) -> &'static str {
        match self {
            SerializerKind::ObjectApi => "Python's object API (.pte of ExecuTorch 1.2 or later)",
            SerializerKind::Flatc => "flatc (.ptd, or .pte before ExecuTorch 1.2)",
        }
    }
}

/// Segment of a file, part of [`FileFacts`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SegmentFacts {
    /// Size in bytes.
    pub bytes: u64,
    /// Roles of its content, such as named data, at most 8; empty if nothing refers to the segment.
    pub content: Vec<String>,
}

/// Bytes of metadata for each reference to a segment that is followed. Vectors and tables of a malformed file can
/// overlap, and have any number of references.
const REFERENCE: usize = 16;

impl FileFacts {
    /// Reads the facts of a file; only the header if the file has no root table.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(container: &'static Container, origin: &Origin) -> io::Result<FileFacts> {
        let (len, head) = (origin.len()?, origin.head(HEAD)?);
        let size = container.format.metadata_len(&head, len).min(MAX_FLATBUFFER);
        let metadata = match root::has_table(origin, &head, size, container)? {
            true => origin.head(size)?,
            false => head,
        };
        Ok(FileFacts::new(container, &metadata, len))
    }

    /// Sets the header, the serializer and the segments to those of the program in a `.bpte`.
    #[doc(hidden)]
    pub fn set_program(&mut self, program: FileFacts) {
        let FileFacts { header, serializer, segments, .. } = program;
        (self.header, self.serializer, self.segments) = (header, serializer, segments);
        self.metadata_bytes = metadata_bytes(self.bytes, &self.segments);
    }

    /// Reads the facts from the metadata of a file of `bytes` bytes.
    fn new(container: &'static Container, metadata: &[u8], bytes: u64) -> FileFacts {
        let header = container.header.filter(|header| header.is_in(metadata)).map(|header| {
            let length = pte_model::format::container::ExtendedHeader::stated_length(metadata).unwrap_or(0);
            let is_stated = |index: usize| 8 + 8 * (index as u32 + 1) <= length;
            let fields = header.fields.iter().enumerate().filter(|(index, _)| is_stated(*index));
            let fields = fields.filter_map(|(_, name)| Some((*name, header.get(metadata, name)?))).collect();
            HeaderFacts { magic: std::str::from_utf8(header.magic).unwrap_or(""), length, fields }
        });
        let root = Table::root(metadata);
        let segments =
            root.as_ref().map_or_else(Vec::new, |root| segments(container.format, root, metadata.len() / REFERENCE));
        FileFacts {
            format: container.extension,
            bytes,
            metadata_bytes: metadata_bytes(bytes, &segments),
            header,
            serializer: root.as_ref().and_then(|root| serializer(container, root)),
            segments,
        }
    }
}

fn metadata_bytes(bytes: u64, segments: &[SegmentFacts]) -> u64 {
    let data = segments.iter().map(|segment| segment.bytes).fold(0, u64::saturating_add);
    bytes.saturating_sub(data)
}

/// Returns the serializer that wrote a root table. Python's object API writes the fields in the order of their slots,
/// each at a lower offset than the previous one. flatc writes the last slot first
/// (docs/format.md, "FlatBuffer write order"). Only fields of the same size are compared.
fn serializer(container: &Container, root: &Table<'_>) -> Option<SerializerKind> {
    let slots = container.root.fields.len() as u16;
    // All fields except the version are offsets, and a default version is absent.
    let offsets: Vec<usize> = (0..slots).filter_map(|slot| root.offset(slot).filter(|_| slot > 0)).collect();
    let pairs = || offsets.iter().zip(offsets.iter().skip(1));
    match offsets.len() {
        0 | 1 => None,
        _ if pairs().all(|(before, after)| after < before) => Some(SerializerKind::ObjectApi),
        _ if pairs().all(|(before, after)| after > before) => Some(SerializerKind::Flatc),
        _ => None,
    }
}

fn segments(format: Format, root: &Table<'_>, mut left: usize) -> Vec<SegmentFacts> {
    let slot = match format {
        Format::Program => program::segments,
        Format::FlatTensor => ptd::flat_tensor::segments,
        Format::BundledProgram | Format::Safetensors => return Vec::new(),
    };
    let sizes = root.tables(slot).into_iter().flat_map(|list| list.iter().take(left).collect::<Vec<_>>());
    let mut segments: Vec<SegmentFacts> =
        sizes.map(|table| SegmentFacts { bytes: table.u64(data_segment::size), content: Vec::new() }).collect();
    let mut add = |segment: u64, role: String| {
        left = left.saturating_sub(1);
        let segment = usize::try_from(segment).ok().and_then(|index| segments.get_mut(index));
        if let Some(segment) = segment.filter(|segment| left > 0 && !segment.content.contains(&role)) {
            // A segment can have many keys.
            if segment.content.len() < 8 {
                segment.content.push(role);
            }
        }
        left > 0
    };
    if let Format::FlatTensor = format {
        for entry in root.tables(ptd::flat_tensor::named_data).iter().flat_map(|entries| entries.iter()) {
            let key = text(&entry, ptd::named_data::key);
            if !add(entry.u32(ptd::named_data::segment_index).into(), key) {
                break;
            }
        }
        return segments;
    }
    if let Some(list) = root.child(program::constant_segment)
        && list.u64s(subsegment_offsets::offsets).is_some_and(|offsets| offsets.len() > 0)
    {
        add(list.u32(subsegment_offsets::segment_index).into(), "constants".to_owned());
    }
    for list in root.tables(program::mutable_data_segments).iter().flat_map(|lists| lists.iter()) {
        if !add(list.u32(subsegment_offsets::segment_index).into(), "mutable state".to_owned()) {
            break;
        }
    }
    for plan in root.tables(program::execution_plan).iter().flat_map(|plans| plans.iter()) {
        for delegate in plan.tables(execution_plan::delegates).iter().flat_map(|delegates| delegates.iter()) {
            let Some(processed) = delegate.child(backend_delegate::processed) else { continue };
            let index = u64::from(processed.u32(backend_delegate_data_reference::index));
            let id = text(&delegate, backend_delegate::id);
            if DataLocation(processed.i8(backend_delegate_data_reference::location)) == DataLocation::SEGMENT
                && !add(index, format!("payload of {id}"))
            {
                return segments;
            }
        }
    }
    for entry in root.tables(program::named_data).iter().flat_map(|entries| entries.iter()) {
        let key = text(&entry, named_data::key);
        if !add(entry.u32(named_data::segment_index).into(), format!("named data {key:?}")) {
            break;
        }
    }
    segments
}

fn text(table: &Table<'_>, slot: u16) -> String {
    let text = table.text(slot).unwrap_or_default();
    clipped(&String::from_utf8_lossy(&text[..text.len().min(256)]))
}
