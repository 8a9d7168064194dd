//! The serializers of ExecuTorch: the releases that use each, and the encoding choices in which they differ.

/// The upstream FlatBuffer writer whose ordering and encoding is reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Serializer {
    /// Python's object API: `.pte` since ExecuTorch 1.2.
    Exir,
    /// flatc from JSON: `.ptd`, and `.pte` before ExecuTorch 1.2.
    Flatc,
}

/// Encoding choices of a serializer.
#[derive(Debug)]
pub struct SerializerFacts {
    /// The serializer.
    pub serializer: Serializer,
    /// Name in `layout:` and on the command line.
    pub name: &'static str,
    /// Files that upstream writes with it.
    pub doc: &'static str,
    /// Order in which the slots of a table are written.
    pub slots: SlotOrder,
    /// Encoding of a vector without items.
    pub empty_vector: EmptyVector,
}

/// Order in which the slots of a table are written, the first one ending up last in the file.
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
    /// The length only, aligned to 4 bytes.
    LengthOnly,
}

static FACTS: &[SerializerFacts] = &[
    SerializerFacts {
        serializer: Serializer::Exir,
        name: "exir",
        doc: "Python's object API: .pte since ExecuTorch 1.2",
        slots: SlotOrder::Ascending,
        empty_vector: EmptyVector::Aligned,
    },
    SerializerFacts {
        serializer: Serializer::Flatc,
        name: "flatc",
        doc: "flatc: .ptd, and .pte of older releases",
        slots: SlotOrder::BySize,
        empty_vector: EmptyVector::LengthOnly,
    },
];

impl Serializer {
    /// All serializers.
    pub const ALL: [Serializer; 2] = [Serializer::Exir, Serializer::Flatc];

    /// Names in the order of [`Serializer::ALL`].
    pub const NAMES: &[&str] = &["exir", "flatc"];

    /// Returns the row of the serializer.
    pub fn facts(self) -> &'static SerializerFacts {
        &FACTS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_serializer_has_its_row() {
        for (serializer, name) in Serializer::ALL.into_iter().zip(Serializer::NAMES) {
            assert_eq!((serializer.facts().serializer, serializer.facts().name), (serializer, *name));
        }
        assert_eq!(FACTS.len(), Serializer::ALL.len());
    }
}
