//! Runs of lines that each have an item of a list, or an entry of a map, in brackets: `- {kernel: a, args: [b]}`. In a
//! large source nearly all lines are such, and the parser of YAML would take most of the time. It gets the first line
//! of a run only; where that is an item or an entry, the others are further ones, whose parts [`read`] finds.

use std::borrow::Cow;
use std::ops::Range;

/// Lists and maps of a line that contain each other.
pub const DEPTH: usize = 6;
/// Least number of lines of a run.
const MIN_LINES: usize = if cfg!(test) { 2 } else { 8 };
/// Length of a line.
const MAX_LINE: usize = 1 << 14;

/// Lines of the same indentation and kind.
pub struct Run {
    /// Offset of the first bracket of the first line.
    pub value: usize,
    /// Range of the other lines.
    pub others: Range<usize>,
    /// The lines are items of a list.
    pub is_item: bool,
    /// Bytes of the other lines of this run and those before.
    left_out: usize,
}

/// Runs of a text.
#[derive(Default)]
pub struct Runs(Vec<Run>);

/// A part of a line.
pub enum Part {
    /// Opening bracket of a list or map.
    Begin { is_map: bool },
    /// Closing bracket.
    End,
    /// Key of a map.
    Key,
    /// Plain scalar.
    Scalar,
}

/// What the lines of a run have in common, and where the first bracket is in the line.
pub struct Line {
    indentation: usize,
    is_item: bool,
    value: usize,
}

impl Runs {
    /// Finds the runs of a text. Scalars are such that `is_scalar` returns true for.
    pub fn new(text: &str, is_scalar: impl Fn(&str) -> bool) -> Runs {
        let (mut runs, mut start, mut at, mut left_out) = (Vec::new(), None::<(Line, usize, usize)>, 0, 0);
        for line in text.split_inclusive('\n').chain([""]) {
            let mut check = |part, range: Range<usize>| match part {
                Part::Scalar => line.get(range).filter(|scalar| is_scalar(scalar)).map(|_| ()),
                Part::Begin { .. } | Part::End | Part::Key => Some(()),
            };
            let found = read(line, &mut check);
            let end = at;
            at += line.len();
            if let (Some((first, _, count)), Some(found)) = (&mut start, &found)
                && (first.indentation, first.is_item) == (found.indentation, found.is_item)
            {
                *count += 1;
                continue;
            }
            let next = found.map(|found| (Line { value: end + found.value, ..found }, at, 1));
            if let Some((first, others, count)) = std::mem::replace(&mut start, next)
                && count >= MIN_LINES
            {
                left_out += end - others;
                runs.push(Run { value: first.value, others: others..end, is_item: first.is_item, left_out });
            }
        }
        Runs(runs)
    }

    /// Returns a run.
    pub fn get(&self, index: usize) -> Option<&Run> {
        self.0.get(index)
    }

    /// Returns the number of runs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Keeps the first runs.
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Returns the text with the first line of each run only.
    pub fn shortened<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(last) = self.0.last() else { return text.into() };
        let starts = std::iter::once(0).chain(self.0.iter().map(|run| run.others.end));
        let kept = starts.zip(&self.0).filter_map(|(start, run)| text.get(start..run.others.start));
        kept.chain(text.get(last.others.end..)).collect::<String>().into()
    }

    /// Returns the offset in the text of one in the shortened text.
    fn offset(&self, at: usize) -> usize {
        let before = |run: &Run| run.others.end - run.left_out <= at;
        let next = self.0.partition_point(before);
        at + next.checked_sub(1).and_then(|last| self.0.get(last)).map_or(0, |run| run.left_out)
    }

    /// Returns the range in the text of one in the shortened text.
    pub fn range(&self, range: Range<usize>) -> Range<usize> {
        let start = self.offset(range.start);
        let end = if range.is_empty() { start } else { self.offset(range.end - 1) + 1 };
        start..end
    }
}

/// Reads a line, and calls `part` with each part and its range; `None` if it may be something else, or if `part`
/// returns that. Lists and maps have brackets that are closed in the line, and scalars are plain words.
pub fn read(line: &str, part: &mut impl FnMut(Part, Range<usize>) -> Option<()>) -> Option<Line> {
    let content = line.strip_suffix('\n').filter(|content| content.len() < MAX_LINE)?.as_bytes();
    let content = content.strip_suffix(b"\r").unwrap_or(content);
    let byte = |at: usize| content.get(at).copied().unwrap_or(b'\n');
    let spaces = |mut at: usize| {
        while byte(at) == b' ' {
            at += 1;
        }
        at
    };
    let key = |at: usize, part: &mut dyn FnMut(Part, Range<usize>) -> Option<()>| {
        let end = word(content, at)?;
        part(Part::Key, at..end)?;
        (byte(end) == b':' && byte(end + 1) == b' ').then(|| spaces(end + 2))
    };
    let indentation = spaces(0);
    let is_item = byte(indentation) == b'-' && byte(indentation + 1) == b' ';
    let value = if is_item { indentation + 2 } else { key(indentation, part)? };
    let (mut at, mut open, mut depth) = (value, [false; DEPTH], 0);
    loop {
        let is_map = byte(at) == b'{';
        if is_map || byte(at) == b'[' {
            part(Part::Begin { is_map }, at..at + 1)?;
            *open.get_mut(depth)? = is_map;
            (depth, at) = (depth + 1, spaces(at + 1));
            if !matches!(byte(at), b'}' | b']') {
                at = if is_map { key(at, part)? } else { at };
                continue;
            }
        } else {
            let end = word(content, at).filter(|_| depth > 0)?;
            part(Part::Scalar, at..end)?;
            at = spaces(end);
        }
        // After a value.
        while byte(at) != b',' {
            let is_map = *open.get(depth.checked_sub(1)?)?;
            (byte(at) == if is_map { b'}' } else { b']' }).then_some(())?;
            part(Part::End, at..at + 1)?;
            depth -= 1;
            let end = at + 1;
            at = spaces(end);
            if depth == 0 {
                let rest = content.get(at..)?;
                let is_comment = byte(at) == b'#' && at > end && rest.iter().all(|byte| (b' '..=b'~').contains(byte));
                return (rest.is_empty() || is_comment).then_some(Line { indentation, is_item, value });
            }
        }
        at = spaces(at + 1);
        if *open.get(depth.checked_sub(1)?)? {
            at = key(at, part)?;
        }
    }
}

/// Returns the end of a word: a plain scalar of letters, digits and characters without a meaning in YAML.
fn word(content: &[u8], start: usize) -> Option<usize> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_./$()+-".contains(&byte);
    let byte = |at: usize| content.get(at).copied().unwrap_or(b'\n');
    let first = if matches!(byte(start), b'-' | b'+') { start + 1 } else { start };
    (byte(first).is_ascii_alphanumeric() || matches!(byte(first), b'_' | b'.' | b'$')).then_some(())?;
    let mut at = first + 1;
    // A `:` inside of a word is part of it.
    while is_letter(byte(at)) || (byte(at) == b':' && is_letter(byte(at + 1 + usize::from(byte(at + 1) == b':')))) {
        at += 1;
    }
    Some(at)
}
