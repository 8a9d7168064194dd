//! The serializers of ExecuTorch, each as one row of facts: which releases use it and what it does in its own way.
//!
//! Following a release whose serializer differs is a new row. What a program means does not depend on it.

/// The writer of a FlatBuffer, in whose way its parts are ordered and encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Serializer {
    /// Python's object API: `.pte` since ExecuTorch 1.2.
    Exir,
    /// flatc from JSON: `.ptd`, and `.pte` before ExecuTorch 1.2.
    Flatc,
}

/// What a serializer does in its own way.
#[derive(Debug)]
pub struct SerializerFacts {
    /// The serializer.
    pub serializer: Serializer,
    /// Its name in `layout:` and on the command line.
    pub name: &'static str,
    /// What it writes.
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
    /// By size, the largest first; within a size by descending slot number.
    BySize,
}

/// Encoding of a vector without items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyVector {
    /// Aligned as its items would be.
    Aligned,
    /// Its length alone, aligned to 4 bytes.
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

    /// The names of all serializers, in the order of [`Serializer::ALL`].
    pub const NAMES: &[&str] = &["exir", "flatc"];

    /// What the serializer does in its own way.
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
