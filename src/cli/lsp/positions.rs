//! Offsets of a text as lines and columns of the protocol, in UTF-16 or UTF-8 units, and back.

use std::ops::Range;

use serde_json::{Value, json};

/// Units of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16, the default of the protocol.
    Utf16,
}

/// Positions of a text.
pub struct Positions {
    encoding: Encoding,
    /// Range of each line, without its end.
    lines: Vec<Range<usize>>,
    /// For each character that is not ASCII, the offset after it, and how many bytes more than units precede it.
    wide: Vec<(usize, usize)>,
    len: usize,
}

impl Positions {
    /// Finds the lines of a text.
    pub fn new(text: &str, encoding: Encoding) -> Positions {
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
        let (mut wide, mut more) = (Vec::new(), 0);
        if encoding == Encoding::Utf16 && !text.is_ascii() {
            for (at, c) in text.char_indices().filter(|(_, c)| !c.is_ascii()) {
                more += c.len_utf8() - c.len_utf16();
                wide.push((at + c.len_utf8(), more));
            }
        }
        Positions { encoding, lines, wide, len: text.len() }
    }

    /// Bytes before an offset beyond the units before it.
    fn more(&self, at: usize) -> usize {
        let next = self.wide.partition_point(|(end, _)| *end <= at);
        next.checked_sub(1).and_then(|index| self.wide.get(index)).map_or(0, |(_, more)| *more)
    }

    /// Returns line and column of an offset, both from 0.
    pub fn line_column(&self, at: usize) -> (usize, usize) {
        let at = at.min(self.len);
        let line = self.lines.partition_point(|line| line.start <= at).saturating_sub(1);
        let range = &self.lines[line];
        let at = at.min(range.end);
        (line, (at - range.start) - (self.more(at) - self.more(range.start)))
    }

    /// Returns the offset of a line and a column; beyond the end of a line, its end.
    pub fn offset(&self, text: &str, line: usize, column: usize) -> usize {
        let Some(range) = self.lines.get(line) else { return self.len };
        let (mut low, mut high) = (range.start, range.end);
        // The last character whose column is not larger. Inside of one, the units are not known.
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let middle = (middle..high).find(|at| text.is_char_boundary(*at)).unwrap_or(high);
            let units = (middle - range.start) - (self.more(middle) - self.more(range.start));
            if units <= column {
                low = middle;
            } else {
                high = (low..middle).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(low);
            }
        }
        low
    }

    /// Returns the offset of a position of the protocol.
    pub fn offset_of(&self, text: &str, position: &Value) -> Option<usize> {
        let number = |key: &str| position[key].as_u64().and_then(|number| usize::try_from(number).ok());
        Some(self.offset(text, number("line")?, number("character")?))
    }

    /// Returns the range of offsets of a range of the protocol.
    pub fn range_of(&self, text: &str, range: &Value) -> Option<Range<usize>> {
        let (start, end) = (self.offset_of(text, &range["start"])?, self.offset_of(text, &range["end"])?);
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
        range.len() - (self.more(range.end) - self.more(range.start))
    }

    /// Returns the name of the encoding in the protocol.
    pub fn name(&self) -> &'static str {
        match self.encoding {
            Encoding::Utf8 => "utf-8",
            Encoding::Utf16 => "utf-16",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Encoding, Positions};

    #[test]
    fn positions_are_the_same_as_by_counting() {
        let text = "a\u{e9}\u{1f600}b\r\n\u{20ac}\rx\n\n\u{1f600}";
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            let positions = Positions::new(text, encoding);
            for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
                let before = text[..at].replace("\r\n", "\n\n").replace('\r', "\n");
                let start = before.rfind('\n').map_or(0, |newline| newline + 1);
                let line = text[..at].replace("\r\n", "\n").replace('\r', "\n").matches('\n').count();
                let units = |text: &str| match encoding {
                    Encoding::Utf8 => text.len(),
                    Encoding::Utf16 => text.encode_utf16().count(),
                };
                // Between the characters of an end of a line there is no position.
                if c == '\n' && text[..at].ends_with('\r') {
                    continue;
                }
                let expected = (line, units(&text[start..at]));
                assert_eq!(positions.line_column(at), expected, "{at} {encoding:?}");
                assert_eq!(positions.offset(text, expected.0, expected.1), at, "{at} {encoding:?}");
            }
            assert_eq!(positions.offset(text, 0, 100), text.find('\r').unwrap());
            assert_eq!(positions.offset(text, 100, 0), text.len());
        }
        let positions = Positions::new("\u{1f600}", Encoding::Utf16);
        assert_eq!(positions.offset("\u{1f600}", 0, 1), 0);
    }
}
