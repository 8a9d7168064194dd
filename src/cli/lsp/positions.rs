//! Offsets of a text as lines and columns of the protocol, in UTF-16 or UTF-8 units, and back.

use std::ops::Range;

use pte_emit::language::{OffsetUnits, UnitOffsets};
use serde_json::{Value, json};

/// Positions of a text.
pub struct Positions {
    offsets: UnitOffsets,
    /// Range of each line, without its end.
    lines: Vec<Range<usize>>,
}

impl Positions {
    /// Finds the lines of a text.
    pub fn new(text: &str, units: OffsetUnits) -> Positions {
        let (mut lines, mut start) = (Vec::new(), 0);
        let bytes = text.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            let is_pair = *byte == b'\r' && bytes.get(at + 1) == Some(&b'\n');
            if (*byte == b'\n' || *byte == b'\r') && !is_pair {
                let end = if *byte == b'\n' && at > start && bytes[at - 1] == b'\r' { at - 1 } else { at };
                lines.push(start..end);
                start = at + 1;
            }
        }
        lines.push(start..text.len());
        Positions { offsets: UnitOffsets::new(text, units), lines }
    }

    /// Returns line and column of an offset, both from 0.
    pub fn line_column(&self, at: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|line| line.start <= at).saturating_sub(1);
        let range = &self.lines[line];
        (line, self.units(&(range.start..at.min(range.end))))
    }

    /// Returns the offset of a line and a column; beyond the end of a line, its end.
    pub fn offset(&self, line: usize, column: usize) -> usize {
        let Some(range) = self.lines.get(line) else { return self.offsets.bytes(usize::MAX) };
        self.offsets.bytes(self.offsets.units(range.start).saturating_add(column)).min(range.end)
    }

    /// Returns the offset of a position of the protocol.
    pub fn offset_of(&self, position: &Value) -> Option<usize> {
        let number = |key: &str| position[key].as_u64().and_then(|number| usize::try_from(number).ok());
        Some(self.offset(number("line")?, number("character")?))
    }

    /// Returns the range of offsets of a range of the protocol.
    pub fn range_of(&self, range: &Value) -> Option<Range<usize>> {
        let (start, end) = (self.offset_of(&range["start"])?, self.offset_of(&range["end"])?);
        Some(start..end.max(start))
    }

    /// Returns a position of the protocol.
    pub fn position(&self, at: usize) -> Value {
        let (line, column) = self.line_column(at);
        json!({"line": line, "character": column})
    }

    /// Returns a range of the protocol.
    pub fn range(&self, range: &Range<usize>) -> Value {
        json!({"start": self.position(range.start), "end": self.position(range.end)})
    }

    /// Returns the units of a part of a line.
    pub fn units(&self, range: &Range<usize>) -> usize {
        self.offsets.units(range.end) - self.offsets.units(range.start)
    }
}

#[cfg(test)]
mod tests {
    use super::{OffsetUnits, Positions};

    #[test]
    fn positions_are_the_same_as_by_counting() {
        let text = "a\u{e9}\u{1f600}b\r\n\u{20ac}\rx\n\n\u{1f600}";
        for kind in OffsetUnits::ALL {
            let positions = Positions::new(text, kind);
            for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
                let before = text[..at].replace("\r\n", "\n\n").replace('\r', "\n");
                let start = before.rfind('\n').map_or(0, |newline| newline + 1);
                let line = text[..at].replace("\r\n", "\n").replace('\r', "\n").matches('\n').count();
                let units = |text: &str| match kind {
                    OffsetUnits::Utf8 => text.len(),
                    OffsetUnits::Utf16 => text.encode_utf16().count(),
                };
                // Between the characters of an end of a line there is no position.
                if c == '\n' && text[..at].ends_with('\r') {
                    continue;
                }
                let expected = (line, units(&text[start..at]));
                assert_eq!(positions.line_column(at), expected, "{at} {kind:?}");
                assert_eq!(positions.offset(expected.0, expected.1), at, "{at} {kind:?}");
            }
            assert_eq!(positions.offset(0, 100), text.find('\r').unwrap());
            assert_eq!(positions.offset(100, 0), text.len());
        }
        let positions = Positions::new("\u{1f600}", OffsetUnits::Utf16);
        assert_eq!(positions.offset(0, 1), 0);
    }
}
