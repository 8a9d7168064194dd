//! What a caller decides about the layout: which lists and maps are blocks, and which strings keep their quotes.

/// Largest number of bytes of a line that several lines are joined to.
pub const WIDTH: usize = 110;

/// Arrangement of a list or a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// A line for each entry.
    Block,
    /// Brackets on one line. Several lines that do not fit into [`WIDTH`] stay several.
    Line,
    /// A line for each entry if an entry is a block, brackets otherwise.
    OfEntries,
    /// Brackets on one line that fits into [`WIDTH`], otherwise a line for each entry.
    Fitted,
}

/// Decides the arrangement of lists and maps by their place in the document.
pub trait Policy {
    /// Place of a node.
    type Place: Copy;

    /// Returns the place of the root.
    fn root(&self) -> Self::Place;
    /// Returns the place of the value of a key.
    fn value(&self, map: Self::Place, key: &str) -> Self::Place;
    /// Returns the place of the items of a list.
    fn item(&self, list: Self::Place) -> Self::Place;
    /// Returns the arrangement of a list or a map.
    fn arrangement(&self, place: Self::Place) -> Arrangement;
    /// Returns true if a string in quotes that needs none loses them.
    fn drops_quotes(&self, place: Self::Place) -> bool;
}
