//! Writes a document: each list and map as a block, on one line, or in brackets on several lines.

use std::borrow::Cow;

use granit_parser::ScalarStyle;
use pte_model::diagnostics::is_unsafe;

use super::concrete::{Collection, ConcreteDocument, Content, Entry, Line, Text, is_flow, is_marker};
use super::policy::{Arrangement, WIDTH};
use crate::quotes;

/// Writes a document.
pub fn write(document: &ConcreteDocument<'_>, out: &mut String) {
    let mut writer = Writer { out };
    writer.lines(&document.header, 0);
    if let Some(comment) = &document.marker {
        writer.out.push_str("---");
        writer.end(*comment);
    }
    if let Some(root) = &document.root {
        let is_empty = matches!(root.content, Content::Plain("" | "null"));
        match is_empty {
            true => writer.comments_only(root),
            false => writer.entry(root, 0, "", false, None),
        }
    }
    writer.lines(&document.tail, 0);
}

/// An item without a value, in brackets, where it cannot be left out.
const EMPTY_ITEM: &str = "null";

struct Writer<'o> {
    out: &'o mut String,
}

/// Form in which a list or a map is written.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Block,
    Line,
    /// Brackets, on several lines.
    Wrapped,
}

impl Writer<'_> {
    /// Appends lines without nodes.
    fn lines(&mut self, lines: &[Line<'_>], indent: usize) {
        for line in lines {
            match line {
                Line::Blank => self.out.push('\n'),
                Line::Comment(comment, _) => self.comment(comment, indent),
            }
        }
    }

    fn comment(&mut self, comment: &str, indent: usize) {
        // A directive has no indentation.
        let indent = if comment.starts_with('%') { 0 } else { indent };
        self.indent(indent);
        self.out.extend([comment, "\n"]);
    }

    fn indent(&mut self, count: usize) {
        self.out.extend(std::iter::repeat_n(' ', count));
    }

    /// Ends a line with a comment.
    fn end(&mut self, comment: Option<&str>) {
        if let Some(comment) = comment {
            self.out.extend(["  ", comment]);
        }
        self.out.push('\n');
    }

    /// Appends a document without content.
    fn comments_only(&mut self, root: &Entry<'_>) {
        let Some(notes) = &root.notes else { return };
        self.lines(&notes.before, 0);
        for comment in notes.head.into_iter().chain(notes.after) {
            self.comment(comment, 0);
        }
    }

    /// Appends an entry whose lines begin at `indent`; `dash` is the prefix of an item, and the root has none. With
    /// `is_started`, the line has begun with the `-` of lists around it. `closing` is the comment after the list or map
    /// that the entry is the last one of.
    fn entry(&mut self, entry: &Entry<'_>, indent: usize, dash: &str, is_started: bool, closing: Option<&str>) {
        let notes = entry.notes.as_deref();
        let (mut head, mut after) = notes.map_or((None, closing), |notes| (notes.head, notes.after.or(closing)));
        let mut start = entry.key.as_ref().map_or_else(|| dash.to_owned(), |key| format!("{}:", key.written));
        let properties = notes.map_or("", |notes| notes.properties.trim_end());
        for word in [properties, ""] {
            start.push_str(if start.is_empty() || start.ends_with(' ') { "" } else { " " });
            start.push_str(word);
        }
        let mut form = Form::Line;
        if let Content::Collection(collection) = &entry.content {
            // That of an item is not on the line, if the item is a block.
            let comments = [head, after].into_iter().flatten().filter(|_| entry.key.is_some());
            let comment = comments.map(|comment| comment.len() + 2).sum::<usize>();
            let hoisted;
            (form, hoisted) = self::form(collection, indent + start.len() + comment, head.is_some() || after.is_some());
            after = after.or(hoisted);
        }
        // The order of comments stays.
        let mut last: Option<&str> = None;
        if let (Content::Collection(collection), Form::Block) = (&entry.content, form) {
            last = after.take_if(|_| head.is_some() || entry.key.is_none() || has_comments(collection));
        }
        // A comment is on the line of the key of a block, or after what has one line; another one is before the entry.
        let is_headed = matches!(entry.content, Content::Block(_)) || (form == Form::Block && entry.key.is_some());
        match is_headed {
            true => head = head.or_else(|| after.take()),
            false if form == Form::Line => after = after.or_else(|| head.take()),
            false => {}
        }
        let moved = head.take_if(|_| !is_headed).into_iter().chain(after.take_if(|_| is_headed));
        let comments = moved.map(|comment| Line::Comment(comment, 0));
        let before: Vec<_> = notes.map_or(&[][..], |notes| &notes.before).iter().copied().chain(comments).collect();
        self.before(&before, indent, is_started);
        self.out.push_str(&start);
        match (&entry.content, form) {
            (Content::Collection(collection), Form::Block) => {
                let is_compact = entry.key.is_none() && properties.is_empty();
                if !is_compact {
                    self.end_key(head);
                }
                // The root is not indented.
                let inner = if start.is_empty() { indent } else { indent + 2 };
                let mut closing = last.take_if(|_| ends_on_a_line(collection, inner));
                let count = collection.entries.len();
                for (number, entry) in collection.entries.iter().enumerate() {
                    let dash = if collection.is_map { "" } else { "-" };
                    let is_started = number == 0 && is_compact && !start.is_empty();
                    self.entry(entry, inner, dash, is_started, closing.take_if(|_| number + 1 == count));
                }
                self.lines(&collection.tail, inner);
                last.into_iter().for_each(|comment| self.comment(comment, inner));
            }
            (Content::Block(text), _) => {
                let comment = head.map_or_else(String::new, |comment| format!("  {comment}"));
                text.write(&" ".repeat(indent + 2), &comment, self.out);
            }
            (Content::Collection(collection), Form::Wrapped) => {
                self.wrapped(collection, indent + 2);
                self.end(after);
            }
            (Content::Plain(""), _) => self.end_key(after),
            (content, _) => {
                self.flow(content, false);
                self.end(after);
            }
        }
    }

    /// Appends the lines before an entry and the indentation of its own; on a line that has begun, before this line.
    fn before(&mut self, before: &[Line<'_>], indent: usize, is_started: bool) {
        let line = self.out.rfind('\n').map_or(0, |newline| newline + 1);
        let begun = if is_started { self.out.split_off(line) } else { " ".repeat(indent) };
        self.lines(before, begun.len() - begun.trim_start().len());
        self.out.push_str(&begun);
    }

    /// Ends the line of a key whose value is a block or nothing.
    fn end_key(&mut self, comment: Option<&str>) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.end(comment);
    }

    /// Appends a value on one line.
    fn flow(&mut self, content: &Content<'_>, is_inside: bool) {
        match content {
            Content::Plain(written) if is_inside && needs_quotes_inside(written) => {
                self.out.push_str(&quotes::quoted(written));
            }
            Content::Plain(written) => self.out.push_str(written),
            Content::Text(text) => self.out.push_str(&string(text, is_inside)),
            Content::Block(_) => {}
            Content::Collection(collection) => {
                self.out.push(if collection.is_map { '{' } else { '[' });
                for (number, entry) in collection.entries.iter().enumerate() {
                    self.out.push_str(if number > 0 { ", " } else { "" });
                    self.flow_entry(entry);
                }
                self.out.push(if collection.is_map { '}' } else { ']' });
            }
        }
    }

    fn flow_entry(&mut self, entry: &Entry<'_>) {
        if let Some(key) = &entry.key {
            match needs_quotes_inside(&key.written) && *key.written == *key.text {
                true => self.out.push_str(&quotes::quoted(&key.text)),
                false => self.out.push_str(&key.written),
            }
            self.out.push_str(": ");
        }
        self.out.push_str(entry.notes.as_ref().map_or("", |notes| &notes.properties));
        match &entry.content {
            Content::Plain("") if entry.key.is_none() => self.out.push_str(EMPTY_ITEM),
            content => self.flow(content, true),
        }
    }

    /// Appends a list or a map in brackets, on lines that begin at `indent`.
    fn wrapped(&mut self, collection: &Collection<'_>, indent: usize) {
        self.out.push(if collection.is_map { '{' } else { '[' });
        let mut is_start = true;
        for (number, entry) in collection.entries.iter().enumerate() {
            let notes = entry.notes.as_deref();
            let comments = notes.map_or(&[][..], |notes| &notes.before).iter().filter_map(Line::comment);
            for comment in comments.chain(notes.and_then(|notes| notes.head)) {
                self.new_line(indent);
                self.out.push_str(comment);
                is_start = false;
            }
            let line = self.out.rfind('\n').map_or(0, |newline| newline + 1);
            let at = self.out.len();
            match &entry.content {
                Content::Collection(nested) if has_comments(nested) => {
                    if let Some(key) = &entry.key {
                        self.out.extend([&*key.written, ": "]);
                    }
                    self.out.push_str(notes.map_or("", |notes| &notes.properties));
                    self.wrapped(nested, indent + 2);
                }
                _ => self.flow_entry(entry),
            }
            let item = self.out.split_off(at);
            let is_after_comment = self.out[line..].trim_start().starts_with('#') || self.out.ends_with('\n');
            let fits = at - line + 1 + item.len() < WIDTH;
            match number == 0 && is_start || fits && !is_after_comment {
                true if number == 0 => {}
                true => self.out.push(' '),
                false => self.new_line(indent),
            }
            self.out.push_str(&item);
            self.out.push_str(if number + 1 < collection.entries.len() { "," } else { "" });
            if let Some(after) = notes.and_then(|notes| notes.after) {
                self.out.extend(["  ", after, "\n"]);
            }
            is_start = false;
        }
        for comment in collection.tail.iter().filter_map(Line::comment) {
            self.new_line(indent);
            self.out.push_str(comment);
        }
        let line = self.out.rfind('\n').map_or(0, |newline| newline + 1);
        if self.out.len() == line || !collection.tail.is_empty() {
            self.new_line(indent);
        }
        self.out.push(if collection.is_map { '}' } else { ']' });
    }

    fn new_line(&mut self, indent: usize) {
        while self.out.ends_with(' ') {
            self.out.pop();
        }
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        self.indent(indent);
    }
}

/// Returns true if the last entry of a block has one line without a comment, at whose end another comment can be.
fn ends_on_a_line(collection: &Collection<'_>, indent: usize) -> bool {
    let Some(last) = collection.entries.last().filter(|_| collection.tail.is_empty()) else { return false };
    let has_comment = last.notes.as_deref().is_some_and(|notes| notes.head.is_some() || notes.after.is_some());
    !has_comment
        && match &last.content {
            Content::Plain(_) => true,
            Content::Text(text) => text.raw.is_none_or(|raw| !raw.contains('\n')),
            Content::Block(_) => false,
            Content::Collection(inner) => {
                let key = last.key.as_ref().map_or(2, |key| key.written.len() + 2);
                let properties = last.notes.as_deref().map_or(0, |notes| notes.properties.len());
                form(inner, indent + key + properties, true).0 == Form::Line
            }
        }
}

/// Decides how a list or a map is written on a line of which `used` bytes are used. Returns the comment of its only
/// entry, too, if it becomes that of the line.
fn form<'a>(collection: &Collection<'a>, used: usize, has_comment: bool) -> (Form, Option<&'a str>) {
    if collection.entries.is_empty() {
        return (Form::Line, None);
    }
    // Brackets around a variable have a meaning, and so have their absence.
    if collection.has_variable && collection.is_flow {
        let is_line = (collection.is_line || fits(collection, used)) && joins(collection);
        return (if is_line { Form::Line } else { Form::Wrapped }, None);
    }
    if collection.has_variable || collection.arrangement == Arrangement::Block {
        return (Form::Block, None);
    }
    let hoisted = if has_comment { None } else { only_comment(collection) };
    if (has_comments(collection) && hoisted.is_none()) || !joins_but_comments(collection) {
        return (Form::Block, None);
    }
    let comment = hoisted.map_or(0, |comment| comment.len() + 2);
    let has_collections = collection.entries.iter().any(|entry| matches!(entry.content, Content::Collection(_)));
    let is_kept = match collection.arrangement {
        Arrangement::Fitted => !collection.is_map && !has_collections,
        Arrangement::Line | Arrangement::OfEntries | Arrangement::Block => collection.is_flow && collection.is_line,
    };
    match is_kept || fits(collection, used + comment) {
        true => (Form::Line, hoisted),
        false if collection.is_flow && !collection.is_map && !has_collections && hoisted.is_none() => {
            (Form::Wrapped, None)
        }
        false => (Form::Block, None),
    }
}

/// Returns the comment of the only entry, or of that of the list or map in it, if there are no others.
fn only_comment<'a>(collection: &Collection<'a>) -> Option<&'a str> {
    let [entry] = &collection.entries[..] else { return None };
    let (before, head, after) = match entry.notes.as_deref() {
        Some(notes) => (&notes.before[..], notes.head, notes.after),
        None => (&[][..], None, None),
    };
    let inner = match &entry.content {
        Content::Collection(inner) if has_comments(inner) => Some(only_comment(inner)?),
        Content::Plain(_) | Content::Text(_) | Content::Block(_) | Content::Collection(_) => None,
    };
    let mut comments = [head, inner, after].into_iter().flatten();
    let first = comments.next().filter(|_| before.is_empty() && collection.tail.is_empty())?;
    if comments.next().is_none() { Some(first) } else { None }
}

fn has_comments(collection: &Collection<'_>) -> bool {
    let is_comment = |line: &Line<'_>| line.comment().is_some();
    let entry_has = |entry: &Entry<'_>| {
        let has = entry
            .notes
            .as_deref()
            .is_some_and(|notes| notes.head.is_some() || notes.after.is_some() || notes.before.iter().any(is_comment));
        has || matches!(&entry.content, Content::Collection(inner) if has_comments(inner))
    };
    collection.tail.iter().any(is_comment) || collection.entries.iter().any(entry_has)
}

/// Returns true if a list or a map can be written on one line: it has neither comments nor block scalars, and no block
/// with a variable.
fn joins(collection: &Collection<'_>) -> bool {
    !has_comments(collection) && joins_but_comments(collection)
}

fn joins_but_comments(collection: &Collection<'_>) -> bool {
    (collection.is_flow || !collection.has_variable)
        && collection.entries.iter().all(|entry| match &entry.content {
            Content::Block(_) => false,
            Content::Collection(inner) => joins_but_comments(inner),
            Content::Plain(_) => true,
            Content::Text(text) => text.raw.is_none_or(|raw| !raw.contains('\n')),
        })
}

/// Returns true if a list or a map fits on a line of which `used` bytes are used.
fn fits(collection: &Collection<'_>, used: usize) -> bool {
    /// Returns the bytes that are left after a list or a map.
    fn after(collection: &Collection<'_>, left: usize) -> Option<usize> {
        let mut left = left.checked_sub(2 + 2 * collection.entries.len().saturating_sub(1))?;
        for entry in &collection.entries {
            let notes = entry.notes.as_ref().map_or(0, |notes| notes.properties.len());
            let key = entry
                .key
                .as_ref()
                .map_or(0, |key| 2 + key.written.len() + 2 * usize::from(needs_quotes_inside(&key.written)));
            left = left.checked_sub(notes + key)?;
            left = match &entry.content {
                Content::Plain("") if entry.key.is_none() => left.checked_sub(EMPTY_ITEM.len())?,
                Content::Plain(written) => {
                    left.checked_sub(written.len() + 2 * usize::from(needs_quotes_inside(written)))?
                }
                Content::Text(text) => left.checked_sub(string(text, true).len())?,
                Content::Block(_) => return None,
                Content::Collection(inner) => after(inner, left)?,
            };
        }
        Some(left)
    }
    WIDTH.checked_sub(used).and_then(|left| after(collection, left)).is_some()
}

/// Returns true for a scalar without quotes that is one outside of brackets only.
fn needs_quotes_inside(written: &str) -> bool {
    !written.contains("${") && !written.starts_with(['"', '\'']) && is_flow(written)
}

/// Returns a string as it is written: in double quotes, unless it has quotes itself, or needs none.
fn string<'t>(text: &'t Text<'_>, is_inside: bool) -> Cow<'t, str> {
    if let Some(raw) = text.raw {
        return raw.into();
    }
    let content = &*text.text;
    let is_plain = match text.style {
        ScalarStyle::Plain => {
            !(content.contains('\n') || is_marker(content) || is_inside && needs_quotes_inside(content))
        }
        _ => text.drops_quotes && quotes::text(content) == content,
    };
    if is_plain {
        return content.into();
    }
    let is_printable = !content.chars().any(is_unsafe) && !content.contains("${");
    match text.style == ScalarStyle::SingleQuoted && is_printable && content.contains(['"', '\\']) {
        true => format!("'{}'", content.replace('\'', "''")).into(),
        false => quotes::quoted(content).into(),
    }
}
