//! Source -> a tree of what was written: values with their quotes, styles, anchors and tags, comments and blank lines.
//!
//! The source is valid: [`crate::tree`] has parsed it. Its variables are masked for the parser, by words of the same
//! length. Each comment belongs to an entry: before it, on its line, or at the end of a list or map.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle};

use super::policy::Arrangement;
use crate::quotes;
use crate::tree::{self, NodeValue, SyntaxError};

/// A line without a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Line<'a> {
    /// One blank line or more.
    Blank,
    /// A comment or a directive, and its column.
    Comment(&'a str, usize),
}

impl<'a> Line<'a> {
    /// Returns the comment.
    pub fn comment(&self) -> Option<&'a str> {
        match self {
            Line::Comment(comment, _) => Some(comment),
            Line::Blank => None,
        }
    }
}

/// What surrounds an entry.
#[derive(Debug, Default)]
pub struct Notes<'a> {
    /// Lines before it.
    pub before: Vec<Line<'a>>,
    /// Comment after its key, before its value.
    pub head: Option<&'a str>,
    /// Comment after it, on its last line.
    pub after: Option<&'a str>,
    /// Anchor and tag of its value.
    pub properties: String,
}

/// A key of a map.
#[derive(Debug)]
pub struct Key<'a> {
    /// As it is written.
    pub written: Cow<'a, str>,
    /// Without quotes.
    pub text: Cow<'a, str>,
    /// Offset in the source.
    pub start: usize,
}

/// An item of a list, an entry of a map, or the root.
#[derive(Debug)]
pub struct Entry<'a> {
    /// Comments, anchor and tag; most entries have none.
    pub notes: Option<Box<Notes<'a>>>,
    /// Key in a map.
    pub key: Option<Box<Key<'a>>>,
    /// Value.
    pub content: Content<'a>,
}

/// A value.
#[derive(Debug)]
pub enum Content<'a> {
    /// A scalar or an alias that is written as it is; empty if there is none.
    Plain(&'a str),
    /// A string that may need quotes.
    Text(Box<Text<'a>>),
    /// A block scalar.
    Block(Box<BlockText<'a>>),
    /// A list or a map.
    Collection(Box<Collection<'a>>),
}

/// A string in quotes, or of several lines.
#[derive(Debug)]
pub struct Text<'a> {
    /// Content.
    pub text: Cow<'a, str>,
    /// Style of the source.
    pub style: ScalarStyle,
    /// The source, if it has variables: it stays.
    pub raw: Option<&'a str>,
    /// It has no quotes if it needs none.
    pub drops_quotes: bool,
}

/// A string in lines of its own.
#[derive(Debug)]
pub struct BlockText<'a> {
    /// `|` or `>`, and indicators.
    pub header: String,
    /// Lines without their common indentation.
    pub lines: Vec<&'a str>,
}

/// A list or a map.
#[derive(Debug)]
pub struct Collection<'a> {
    /// A map, not a list.
    pub is_map: bool,
    /// Written in brackets.
    pub is_flow: bool,
    /// Written on one line, that of its key.
    pub is_line: bool,
    /// An entry is a variable without quotes, whose meaning may depend on brackets.
    pub has_variable: bool,
    /// Items or entries.
    pub entries: Vec<Entry<'a>>,
    /// Comments after the last entry.
    pub tail: Vec<Line<'a>>,
    /// Arrangement that the policy requires.
    pub arrangement: Arrangement,
}

/// A document.
#[derive(Debug, Default)]
pub struct ConcreteDocument<'a> {
    /// Lines before `---`.
    pub header: Vec<Line<'a>>,
    /// The line `---`, with its comment.
    pub marker: Option<Option<&'a str>>,
    /// The root.
    pub root: Option<Entry<'a>>,
    /// Lines after the root.
    pub tail: Vec<Line<'a>>,
}

/// A list or map that is not complete. The first one is that of the root.
struct Frame<'a> {
    collection: Collection<'a>,
    start: usize,
    column: usize,
    /// Notes and key of the next entry.
    current: Option<(Notes<'a>, Option<Box<Key<'a>>>)>,
}

/// Builder of the tree.
pub struct Builder<'a> {
    text: &'a str,
    masked: &'a str,
    variables: &'a [Range<usize>],
    /// Offsets of line breaks.
    newlines: Vec<usize>,
    frames: Vec<Frame<'a>>,
    /// Lines that belong to no entry yet.
    pending: Vec<Line<'a>>,
    /// Anchors and tags that belong to no node yet.
    properties: Vec<&'a str>,
    /// End of what was read.
    position: usize,
    /// End of the node before.
    previous: usize,
    /// Offset of the header of the block scalar that begins.
    header: usize,
    /// Column of the last `-`.
    dash: usize,
    document: ConcreteDocument<'a>,
}

impl<'a> Builder<'a> {
    /// Creates a builder of a source whose variables are at `variables`; in `masked`, they are words.
    pub fn new(text: &'a str, masked: &'a str, variables: &'a [Range<usize>]) -> Builder<'a> {
        let root = Frame { column: usize::MAX, ..Frame::new(false, false, 0) };
        Builder {
            text,
            masked,
            variables,
            newlines: text.match_indices('\n').map(|(at, _)| at).collect(),
            frames: vec![root],
            pending: Vec::new(),
            properties: Vec::new(),
            position: 0,
            previous: 0,
            header: 0,
            dash: 0,
            document: ConcreteDocument::default(),
        }
    }

    /// Reads all events.
    ///
    /// # Errors
    /// A syntax error.
    pub fn build(mut self) -> Result<ConcreteDocument<'a>, SyntaxError> {
        let mut parser: Parser<'a, _> = tree::parser(self.masked);
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| tree::scan_error(self.masked, &error))?;
            let span = tree::range(self.masked, &span);
            self.event(event, span);
        }
        self.gap(self.masked.len());
        let mut root = self.frames.swap_remove(0).collection;
        self.document.root = root.entries.pop();
        self.document.tail = trimmed(self.pending);
        Ok(self.document)
    }

    fn event(&mut self, event: Event<'a>, span: Range<usize>) {
        if matches!(event, Event::DocumentStart(false, _) | Event::StreamEnd) {
            return;
        }
        self.previous = self.position;
        self.gap(span.start);
        match event {
            Event::DocumentStart(true, _) => {
                self.document.header = trimmed(std::mem::take(&mut self.pending));
                self.document.marker = Some(None);
            }
            Event::Scalar(text, style, anchor, tag) => {
                let suffix = tag.as_deref().map(|tag| tag.suffix().to_owned());
                let properties = self.take_properties(anchor > 0, tag.is_some());
                if self.is_key() {
                    self.key(text, style, &properties, span);
                    return;
                }
                self.begin_value(false, properties);
                let content = self.scalar(text, style, suffix.as_deref(), span);
                self.place(content);
                return;
            }
            Event::Alias(_) => {
                let written = &self.text[span.clone()];
                if self.is_key() {
                    let key = Key { written: format!("{written} ").into(), text: written.into(), start: span.start };
                    self.begin_entry(key);
                } else {
                    self.begin_value(false, String::new());
                    self.place(Content::Plain(written));
                }
            }
            Event::SequenceStart(style, anchor, tag) => self.begin(false, style, anchor > 0, tag.is_some(), &span),
            Event::MappingStart(style, anchor, tag) => self.begin(true, style, anchor > 0, tag.is_some(), &span),
            Event::SequenceEnd | Event::MappingEnd => self.end(&span),
            _ => {}
        }
        self.position = self.position.max(span.end);
    }

    fn top(&mut self) -> &mut Frame<'a> {
        // The frame of the root stays until the end.
        let last = self.frames.len().saturating_sub(1);
        &mut self.frames[last]
    }

    fn is_key(&mut self) -> bool {
        let top = self.top();
        top.collection.is_map && top.current.is_none()
    }

    /// Returns the written anchor and tag of a node.
    fn take_properties(&mut self, has_anchor: bool, has_tag: bool) -> String {
        let mut out = String::new();
        for (_, sigil) in [(has_anchor, '&'), (has_tag, '!')].into_iter().filter(|(is_there, _)| *is_there) {
            if let Some(at) = self.properties.iter().position(|word| word.starts_with(sigil)) {
                out.push_str(self.properties.remove(at));
                out.push(' ');
            }
        }
        out
    }

    fn key(&mut self, text: Cow<'a, str>, style: ScalarStyle, properties: &str, span: Range<usize>) {
        let raw = &self.text[span.clone()];
        self.position = self.position.max(span.end);
        let has_variable = self.has_variable(&span);
        let written: Cow<'a, str> = match style {
            _ if has_variable => raw.into(),
            ScalarStyle::Plain if raw.is_empty() && properties.contains('!') => "\"\"".into(),
            ScalarStyle::Plain if raw.is_empty() => "null".into(),
            ScalarStyle::Plain if text == raw && (properties.is_empty() || !is_flow(raw)) => raw.into(),
            _ => quotes::text(&text).into_owned().into(),
        };
        let written = if properties.is_empty() { written } else { format!("{properties}{written}").into() };
        self.top().collection.has_variable |= has_variable && style == ScalarStyle::Plain;
        self.begin_entry(Key { written, text, start: span.start });
    }

    /// Begins an entry of a map.
    fn begin_entry(&mut self, key: Key<'a>) {
        let before = self.take_pending();
        self.top().current = Some((Notes { before, ..Notes::default() }, Some(Box::new(key))));
    }

    /// Returns the lines before an entry. A block does not begin with a blank line.
    fn take_pending(&mut self) -> Vec<Line<'a>> {
        let mut lines = std::mem::take(&mut self.pending);
        if self.top().collection.entries.is_empty() && lines.first() == Some(&Line::Blank) {
            lines.remove(0);
        }
        lines
    }

    /// Begins the value of an entry of a map, or an item of a list.
    fn begin_value(&mut self, is_block: bool, properties: String) {
        if !self.top().collection.is_map {
            let before = self.take_pending();
            self.top().current = Some((Notes { before, ..Notes::default() }, None));
        } else if !is_block {
            let lines: Vec<_> = self.pending.drain(..).filter(|line| *line != Line::Blank).collect();
            if let Some((notes, _)) = &mut self.top().current {
                if !lines.is_empty() {
                    notes.before.extend(notes.head.take().map(|comment| Line::Comment(comment, 0)));
                }
                notes.before.extend(lines);
            }
        }
        if let Some((notes, _)) = &mut self.top().current {
            notes.properties = properties;
        }
    }

    fn begin(&mut self, is_map: bool, style: StructureStyle, has_anchor: bool, has_tag: bool, span: &Range<usize>) {
        let is_flow = style == StructureStyle::Flow;
        let properties = self.take_properties(has_anchor, has_tag);
        self.begin_value(!is_flow, properties);
        let is_line = !self.top().collection.is_map || self.line(self.previous) == self.line(span.start);
        let column = match self.masked[span.start..].starts_with("- ") || is_map {
            true => self.column(span.start),
            false => self.dash,
        };
        let frame = Frame::new(is_map, is_flow, span.start);
        let collection = Collection { is_line, ..frame.collection };
        self.frames.push(Frame { column, collection, ..frame });
    }

    fn end(&mut self, span: &Range<usize>) {
        if self.frames.len() < 2 {
            return;
        }
        let outer = self.frames[self.frames.len() - 2].column;
        let Some(mut frame) = self.frames.pop() else { return };
        let count = match frame.collection.is_flow {
            true => self.pending.len(),
            false => {
                // A list may have the column of the map that it is in.
                let least = frame.column + usize::from(frame.column == outer);
                let is_inside = |line: &Line<'_>| matches!(line, Line::Comment(_, column) if *column >= least);
                let end = self.pending.iter().position(|line| *line != Line::Blank && !is_inside(line));
                let lines = &self.pending[..end.unwrap_or(self.pending.len())];
                lines.iter().rposition(is_inside).map_or(0, |last| last + 1)
            }
        };
        frame.collection.tail = trimmed(self.pending.drain(..count).collect());
        if frame.collection.is_flow {
            frame.collection.is_line &= self.line(frame.start) == self.line(span.end);
        }
        self.place(Content::Collection(Box::new(frame.collection)));
    }

    /// Adds a complete value to the list or the map that is open.
    fn place(&mut self, content: Content<'a>) {
        let top = self.top();
        let Some((notes, key)) = top.current.take() else { return };
        let is_empty = notes.before.is_empty() && notes.head.is_none() && notes.properties.is_empty();
        let notes = (!is_empty).then(|| Box::new(notes));
        top.collection.entries.push(Entry { notes, key, content });
    }

    fn scalar(&mut self, text: Cow<'a, str>, style: ScalarStyle, tag: Option<&str>, span: Range<usize>) -> Content<'a> {
        let raw = &self.text[span.clone()];
        let has_variable = self.has_variable(&span);
        if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
            return self.block_scalar(text, style, span);
        }
        self.position = self.position.max(span.end);
        if style != ScalarStyle::Plain {
            return Content::Text(Box::new(Text {
                text,
                style,
                raw: has_variable.then_some(raw),
                drops_quotes: false,
            }));
        }
        if has_variable {
            self.top().collection.has_variable = true;
            return Content::Plain(raw);
        }
        match (tag, raw) {
            (Some("str"), "") => Content::Plain("\"\""),
            (None, "") => Content::Plain(""),
            (_, "") | (None, "~" | "Null" | "NULL") => Content::Plain("null"),
            (None, "True" | "TRUE") => Content::Plain("true"),
            (None, "False" | "FALSE") => Content::Plain("false"),
            _ if text == raw && !is_marker(raw) => Content::Plain(raw),
            (None, _) if text == raw => {
                Content::Text(Box::new(Text { text, style: ScalarStyle::DoubleQuoted, raw: None, drops_quotes: false }))
            }
            _ => Content::Text(Box::new(Text { text, style, raw: None, drops_quotes: false })),
        }
    }

    /// Reads a block scalar: its lines without their indentation. One that cannot be indented anew gets quotes.
    fn block_scalar(&mut self, text: Cow<'a, str>, style: ScalarStyle, span: Range<usize>) -> Content<'a> {
        let start = self.masked[self.header..].find('\n').map_or(self.masked.len(), |end| self.header + end + 1);
        // Without content, the comment after the header is after the span begins.
        if self.position < start {
            self.gap(start);
        }
        let is_kept = self.masked[self.header..start].split('#').next().is_some_and(|header| header.contains('+'));
        let source = &self.masked[start..span.end.max(start)];
        // The indentation of the next line is part of the span.
        let end = if is_kept { source.trim_end_matches(' ').len() } else { source.trim_end().len() };
        self.position = self.position.max(start + end);
        let spaces = |of: &str| {
            let line = of.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            line.len() - line.trim_start_matches(' ').len()
        };
        let indentation = spaces(source).saturating_sub(spaces(&text));
        let content = text.trim_end_matches('\n');
        let mut header = String::from(if style == ScalarStyle::Folded { ">" } else { "|" });
        if content.trim_start_matches('\n').starts_with(' ') {
            header.push('2');
        }
        header.push_str(match text.len() - content.len() {
            0 => "-",
            1 => "",
            _ => "+",
        });
        let lines = |of: &'a str| {
            let strip = |line: &'a str| {
                let spaces = line.len() - line.trim_start_matches(' ').len();
                &line[spaces.min(indentation)..]
            };
            of[start..start + end].lines().map(strip).collect::<Vec<_>>()
        };
        let found = BlockText { header, lines: lines(self.masked) };
        let mut alone = String::from("k: ");
        found.write("  ", "", &mut alone);
        let same = tree::parse(&alone).is_ok_and(
            |root| matches!(&root.value, NodeValue::Map(entries) if matches!(&entries[..], [(_, node)] if node.value == NodeValue::Text(text.as_ref().into()))),
        );
        // Spaces at the end would be no line of their own.
        match same && !content.trim().is_empty() && !content.ends_with(' ') {
            true => Content::Block(Box::new(BlockText { lines: lines(self.text), ..found })),
            false => {
                Content::Text(Box::new(Text { text, style: ScalarStyle::DoubleQuoted, raw: None, drops_quotes: false }))
            }
        }
    }

    fn has_variable(&self, span: &Range<usize>) -> bool {
        let next = self.variables.partition_point(|variable| variable.end <= span.start);
        self.variables.get(next).is_some_and(|variable| variable.start < span.end)
    }

    /// Number of the line of an offset, from 0.
    fn line(&self, at: usize) -> usize {
        self.newlines.partition_point(|newline| *newline < at)
    }

    fn column(&self, at: usize) -> usize {
        at - self.newlines[..self.line(at)].last().map_or(0, |newline| newline + 1)
    }

    /// Reads what is between two nodes: comments, blank lines, anchors, tags, headers of block scalars.
    fn gap(&mut self, end: usize) {
        let (mut at, end) = (self.position, end.min(self.text.len()));
        // The line has a node, and a `-` or `?` after it.
        let mut is_empty = self.column(at) == 0 || self.masked[at - self.column(at)..at].trim().is_empty();
        let mut has_dash = false;
        let bytes = self.masked.as_bytes();
        while at < end {
            let rest = &self.masked[at..end];
            let word = rest.split([' ', '\t', '\n']).next().unwrap_or_default();
            let mut length = 1;
            match bytes[at] {
                b'\n' => {
                    if is_empty && self.pending.last() != Some(&Line::Blank) {
                        self.pending.push(Line::Blank);
                    }
                    (is_empty, has_dash) = (true, false);
                    at += 1;
                    continue;
                }
                b' ' | b'\t' => {
                    at += 1;
                    continue;
                }
                b'#' => {
                    length = rest.find('\n').unwrap_or(rest.len());
                    let comment = self.text[at..at + length].trim_end();
                    match is_empty || has_dash {
                        true => self.pending.push(Line::Comment(comment, self.column(at))),
                        false => self.trailing(comment),
                    }
                }
                b'%' if is_empty => {
                    length = rest.find('\n').unwrap_or(rest.len());
                    self.pending.push(Line::Comment(self.text[at..at + length].trim_end(), 0));
                }
                b'-' | b'?' if word.len() == 1 => {
                    has_dash = true;
                    self.dash = self.column(at);
                }
                b'&' | b'!' => {
                    length = match word.starts_with("!<") {
                        true => rest.find('>').map_or(word.len(), |end| end + 1),
                        false => word.find([',', '[', ']', '{', '}']).unwrap_or(word.len()),
                    };
                    self.properties.push(&self.text[at..at + length]);
                }
                b'|' | b'>' => {
                    length = word.len();
                    self.header = at;
                }
                _ => length = rest.chars().next().map_or(1, char::len_utf8),
            }
            is_empty = false;
            at += length;
        }
        self.position = self.position.max(end);
    }

    /// Adds a comment on the line of a node.
    fn trailing(&mut self, comment: &'a str) {
        if self.frames.len() == 1
            && self.frames[0].collection.entries.is_empty()
            && let Some(marker @ None) = &mut self.document.marker
        {
            *marker = Some(comment);
            return;
        }
        let Some((top, outer)) = self.frames.split_last_mut() else { return };
        let slot = match (&mut top.current, top.collection.entries.last_mut()) {
            (Some((notes, _)), _) => Some(&mut notes.head),
            (None, Some(last)) => Some(&mut last.notes.get_or_insert_default().after),
            // After the opening bracket.
            (None, None) if top.collection.is_flow => {
                let outer = outer.last_mut().and_then(|outer| outer.current.as_mut());
                outer.map(|(notes, _)| &mut notes.head)
            }
            (None, None) => None,
        };
        match slot {
            // The order of comments stays.
            Some(slot @ None) if self.pending.iter().all(|line| *line == Line::Blank) => *slot = Some(comment),
            _ => self.pending.push(Line::Comment(comment, usize::MAX)),
        }
    }
}

impl Entry<'_> {
    /// Moves comments before the entry that are written there: those in empty brackets; the first of two around a value
    /// that is no block; of an item those after its opening bracket and before its first entry, which is on the line of
    /// its `-`.
    pub fn lift(&mut self) {
        let has_inner = match &self.content {
            Content::Collection(collection) => match collection.entries.first() {
                Some(first) => first.notes.is_some(),
                None => !collection.tail.is_empty(),
            },
            Content::Plain(_) | Content::Text(_) | Content::Block(_) => false,
        };
        if !has_inner && self.notes.is_none() {
            return;
        }
        let notes = self.notes.get_or_insert_default();
        let is_header = matches!(self.content, Content::Block(_));
        let is_block = match &self.content {
            Content::Collection(collection) => collection.arrangement == Arrangement::Block,
            Content::Plain(_) | Content::Text(_) | Content::Block(_) => is_header,
        };
        if self.key.is_none() || (notes.after.is_some() && !is_block) {
            let header = notes.after.take_if(|_| is_header);
            notes.before.extend(notes.head.take().into_iter().chain(header).map(|comment| Line::Comment(comment, 0)));
        }
        let Content::Collection(collection) = &mut self.content else { return };
        match collection.entries.first_mut() {
            None if !collection.tail.is_empty() => {
                notes.before.extend(notes.head.take().map(|comment| Line::Comment(comment, 0)));
                notes.before.extend(collection.tail.drain(..).filter(|line| *line != Line::Blank));
            }
            Some(Entry { notes: Some(inner), .. }) if self.key.is_none() => {
                notes.before.extend(inner.before.drain(..).filter(|line| *line != Line::Blank));
            }
            Some(_) | None => {}
        }
    }
}

impl<'a> Frame<'a> {
    fn new(is_map: bool, is_flow: bool, start: usize) -> Frame<'a> {
        let collection = Collection {
            is_map,
            is_flow,
            is_line: false,
            has_variable: false,
            entries: Vec::new(),
            tail: Vec::new(),
            arrangement: Arrangement::Line,
        };
        Frame { collection, start, column: 0, current: None }
    }
}

impl BlockText<'_> {
    /// Appends the string after its key, with a comment after the header.
    pub fn write(&self, indent: &str, comment: &str, out: &mut String) {
        out.extend([&self.header, comment, "\n"]);
        for line in &self.lines {
            if !line.is_empty() {
                out.extend([indent, line]);
            }
            out.push('\n');
        }
    }
}

/// Returns true for a scalar without quotes that has characters of lists and maps in brackets.
pub fn is_flow(written: &str) -> bool {
    written.contains([',', '[', ']', '{', '}'])
}

/// Returns true for a scalar without quotes that would be a marker at the start of a line.
pub fn is_marker(written: &str) -> bool {
    matches!(written.split([' ', '\t']).next(), Some("---" | "..."))
}

/// Removes blank lines at the end.
fn trimmed(mut lines: Vec<Line<'_>>) -> Vec<Line<'_>> {
    while lines.last() == Some(&Line::Blank) {
        lines.pop();
    }
    lines
}
