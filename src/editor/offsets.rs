//! Byte offsets in two versions of a text that differ in a few ranges.

use std::ops::Range;

/// Returns the start of the line that an offset is in.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns the range of the lines that a range is in, with the end of the last one.
pub(super) fn whole_lines(text: &str, range: &Range<usize>) -> Range<usize> {
    let end = text[range.end..].find('\n').map_or(text.len(), |newline| range.end + newline + 1);
    line_start(text, range.start)..end
}

/// Ranges of an original text, each with the range that replaces it in an edited text, in ascending order.
#[derive(Debug, Clone, Default)]
pub(super) struct OffsetMap(Vec<(Range<usize>, Range<usize>)>);

impl OffsetMap {
    /// Creates a map of replaced ranges: of the original text and of the edited one.
    pub fn new(replaced: Vec<(Range<usize>, Range<usize>)>) -> OffsetMap {
        OffsetMap(replaced)
    }

    /// Returns true for two equal texts.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if a range of the original text has an edited part.
    pub fn has_edit(&self, range: &Range<usize>) -> bool {
        let first = self.0.partition_point(|(original, _)| original.end < range.start);
        self.0.get(first).is_some_and(|(original, _)| original.start <= range.end)
    }

    /// Returns the range of the original text for one of the edited text. It includes edited parts as a whole.
    pub fn original(&self, range: Range<usize>) -> Range<usize> {
        let start = self.original_offset(range.start, |original| original.start);
        let end = self.original_offset(range.end, |original| original.end);
        start..end.max(start)
    }

    fn original_offset(&self, at: usize, inside: impl Fn(&Range<usize>) -> usize) -> usize {
        match self
            .0
            .partition_point(|(_, edited)| edited.start <= at)
            .checked_sub(1)
            .and_then(|index| self.0.get(index))
        {
            None => at,
            Some((original, edited)) if at < edited.end || at == edited.start => {
                if at == edited.start {
                    original.start
                } else {
                    inside(original)
                }
            }
            Some((original, edited)) => original.end.saturating_add(at - edited.end),
        }
    }

    /// Returns the offset in the edited text for one in the original text.
    pub fn edited(&self, at: usize) -> usize {
        match self
            .0
            .partition_point(|(original, _)| original.start < at)
            .checked_sub(1)
            .and_then(|index| self.0.get(index))
        {
            None => at,
            Some((original, edited)) if at < original.end => (edited.start + (at - original.start)).min(edited.end),
            Some((original, edited)) => edited.end.saturating_add(at - original.end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OffsetMap;

    #[test]
    fn offsets_around_and_inside_of_an_edit() {
        // `ab${N:4}cd` and `ab4cd`; then `cd` and `cd]}`.
        let map = OffsetMap::new(vec![(2..8, 2..3), (10..10, 5..7)]);
        assert_eq!([0, 2, 8, 9, 10].map(|at| map.edited(at)), [0, 2, 3, 4, 5]);
        assert_eq!(map.original(2..3), 2..8);
        assert_eq!(map.original(3..5), 8..10);
        assert_eq!(map.original(6..7), 10..10);
        assert!(map.has_edit(&(3..4)) && !map.has_edit(&(0..1)));
    }
}
