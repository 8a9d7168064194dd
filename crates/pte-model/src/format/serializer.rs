//! The serializers of ExecuTorch: the releases that use each, and the choices of encoding and order in which they
//! differ. A release whose serializer differs is a row here.

use crate::format::words::words;

/// Release of ExecuTorch whose files are written by default.
///
/// ```
/// assert_eq!(pte_model::format::serializer::EXECUTORCH, "1.5.1");
/// ```
pub const EXECUTORCH: &str = "1.5.1";

/// Schema version of a program and of a `.ptd`, in all releases up to 1.5.1.
pub const PROGRAM_VERSION: u32 = 0;

/// Schema version of a `.bpte`, independent of that of its program.
pub const BUNDLED_PROGRAM_VERSION: u32 = 2;

words! {
    /// The upstream FlatBuffer writer whose order and encoding are reproduced.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Serializer {
        /// Python's object API: `.pte` since ExecuTorch 1.2.
        Exir "exir",
        /// flatc from JSON: `.ptd`, and `.pte` before ExecuTorch 1.2.
        Flatc "flatc",
        /// Python's object API with a `flatbuffers` package before 25.12.19.
        ExirSharedVtables "exir-shared-vtables",
    }
}

/// Choices of a serializer.
#[derive(Debug)]
pub struct SerializerFacts {
    /// Order in which the slots of a table are written.
    pub slots: SlotOrder,
    /// Encoding of a vector without items.
    pub empty_vector: EmptyVector,
    /// Condition under which tables share a vtable.
    pub vtables: VtableSharing,
    /// Order of the segments.
    pub segments: &'static [SegmentGroup],
}

/// Order in which the slots of a table are written. The slot that is written first is stored last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotOrder {
    /// Ascending slot number.
    Ascending,
    /// Descending size; within a size, descending slot number.
    BySize,
}

/// Encoding of a vector without items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyVector {
    /// Aligned like a vector with items.
    Aligned,
    /// Only the length, aligned to 4 bytes.
    LengthOnly,
}

/// Condition under which tables share a vtable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VtableSharing {
    /// Tables with the same fields at the same offsets and with the same size share a vtable.
    SameTables,
    /// Tables with the same fields at the same offsets share a vtable, whatever their sizes. A field may then be beyond
    /// the size in the vtable.
    SameFields,
}

/// Segments with the same kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentGroup {
    /// One segment of all constants, which is present even without constants.
    Constants,
    /// One segment of all initial states.
    MutableData,
    /// A segment for each payload of a delegate.
    Delegates,
    /// A segment for each named blob.
    NamedData,
}

/// The order of the exporter (W-1).
const SEGMENTS: &[SegmentGroup] =
    &[SegmentGroup::Constants, SegmentGroup::MutableData, SegmentGroup::Delegates, SegmentGroup::NamedData];

static EXIR: SerializerFacts = SerializerFacts {
    slots: SlotOrder::Ascending,
    empty_vector: EmptyVector::Aligned,
    vtables: VtableSharing::SameTables,
    segments: SEGMENTS,
};

static FLATC: SerializerFacts = SerializerFacts {
    slots: SlotOrder::BySize,
    empty_vector: EmptyVector::LengthOnly,
    vtables: VtableSharing::SameTables,
    segments: SEGMENTS,
};

static EXIR_SHARED_VTABLES: SerializerFacts = SerializerFacts { vtables: VtableSharing::SameFields, ..EXIR };

impl Serializer {
    /// Returns the choices of the serializer.
    #[doc(hidden)]
    pub fn facts(self) -> &'static SerializerFacts {
        match self {
            Serializer::Exir => &EXIR,
            Serializer::Flatc => &FLATC,
            Serializer::ExirSharedVtables => &EXIR_SHARED_VTABLES,
        }
    }
}
