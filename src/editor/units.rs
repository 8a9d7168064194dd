//! Offsets of a text in the units of an editor, and in bytes. Lines are those of the protocol: `pte-emit lsp` has them.

/// Units of the offsets and columns of an editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OffsetUnits {
    /// Bytes.
    #[default]
    Utf8,
    /// Units of UTF-16, as those of JavaScript.
    Utf16,
}

impl OffsetUnits {
    /// All units.
    pub const ALL: [OffsetUnits; 2] = [OffsetUnits::Utf8, OffsetUnits::Utf16];

    /// Returns the name: `utf-8` or `utf-16`.
    pub fn name(self) -> &'static str {
        match self {
            OffsetUnits::Utf8 => "utf-8",
            OffsetUnits::Utf16 => "utf-16",
        }
    }
}

/// Offsets of a text in bytes and in other units.
///
/// ```
/// use pte_emit::language::{OffsetUnits, UnitOffsets};
///
/// let offsets = UnitOffsets::new("é = 1", OffsetUnits::Utf16);
/// assert_eq!((offsets.units(2), offsets.bytes(1), offsets.kind()), (1, 2, OffsetUnits::Utf16));
/// assert_eq!(OffsetUnits::ALL.map(OffsetUnits::name), ["utf-8", "utf-16"]);
/// ```
#[derive(Debug, Clone)]
pub struct UnitOffsets {
    units: OffsetUnits,
    /// The characters of several bytes.
    wide: Vec<WideCharacter>,
    len: usize,
}

#[derive(Debug, Clone, Copy)]
struct WideCharacter {
    start: usize,
    end: usize,
    /// Bytes before the end beyond the units before it.
    more: usize,
}

impl UnitOffsets {
    /// Finds the characters of a text that have several bytes.
    pub fn new(text: &str, units: OffsetUnits) -> UnitOffsets {
        let (mut wide, mut more) = (Vec::new(), 0);
        if !text.is_ascii() {
            for (start, c) in text.char_indices().filter(|(_, c)| !c.is_ascii()) {
                more += match units {
                    OffsetUnits::Utf8 => 0,
                    OffsetUnits::Utf16 => c.len_utf8() - c.len_utf16(),
                };
                wide.push(WideCharacter { start, end: start + c.len_utf8(), more });
            }
        }
        UnitOffsets { units, wide, len: text.len() }
    }

    /// Returns the units.
    pub fn kind(&self) -> OffsetUnits {
        self.units
    }

    /// Returns the number of units before an offset in bytes.
    pub fn units(&self, bytes: usize) -> usize {
        let bytes = bytes.min(self.len);
        let next = self.wide.partition_point(|c| c.end <= bytes);
        bytes - next.checked_sub(1).map_or(0, |last| self.wide[last].more)
    }

    /// Returns the offset in bytes after a number of units: inside of a character its start, beyond the text its end.
    pub fn bytes(&self, units: usize) -> usize {
        let next = self.wide.partition_point(|c| c.end - c.more <= units);
        let bytes = units.saturating_add(next.checked_sub(1).map_or(0, |last| self.wide[last].more));
        match self.wide.get(next) {
            Some(c) if bytes > c.start => c.start,
            Some(_) | None => bytes.min(self.len),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OffsetUnits, UnitOffsets};

    #[test]
    fn offsets_are_the_same_as_by_counting() {
        let text = "a\u{e9}\u{1f600}b\r\n\u{20ac}x\u{1f600}";
        for units in OffsetUnits::ALL {
            let offsets = UnitOffsets::new(text, units);
            for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let expected = match units {
                    OffsetUnits::Utf8 => at,
                    OffsetUnits::Utf16 => text[..at].encode_utf16().count(),
                };
                assert_eq!((offsets.units(at), offsets.bytes(expected)), (expected, at), "{units:?}");
            }
            assert_eq!((offsets.bytes(usize::MAX), offsets.units(usize::MAX)), (text.len(), offsets.units(text.len())));
        }
        // Inside of a character.
        assert_eq!([OffsetUnits::Utf8, OffsetUnits::Utf16].map(|units| UnitOffsets::new(text, units).bytes(3)), [3, 3]);
        assert_eq!(UnitOffsets::new(text, OffsetUnits::Utf8).bytes(5), 3);
        assert_eq!(UnitOffsets::new("", OffsetUnits::Utf16).bytes(7), 0);
    }
}
