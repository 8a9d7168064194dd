//! Entries of maps that are left out or added while a source is formatted. The comments of those left out stay.

use std::collections::{BTreeMap, BTreeSet};

use super::concrete::{Builder, Collection, Content, Entry, Line};
use crate::tree::SyntaxError;

/// Changes of maps. Keys are named by their offsets in the source.
#[derive(Debug, Clone, Default)]
pub struct Edits {
    /// Keys that are left out, with their values.
    pub dropped: BTreeSet<usize>,
    /// Entries that are added to the map of a key.
    pub added: BTreeMap<usize, Vec<Addition>>,
}

/// Entries that are added to a map, unless it has their keys; maps in both are merged.
#[derive(Debug, Clone)]
pub struct Addition {
    /// A map with the entries.
    pub text: String,
    /// They follow the entries of the map; otherwise they precede them, in the order of `text`.
    pub is_last: bool,
}

impl Edits {
    /// Returns true if nothing changes.
    pub fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.added.is_empty()
    }

    /// Changes an entry and what is in it.
    ///
    /// # Errors
    /// A map to be added that is malformed.
    pub(super) fn apply<'a>(&'a self, entry: &mut Entry<'a>) -> Result<(), SyntaxError> {
        let Content::Collection(collection) = &mut entry.content else { return Ok(()) };
        let mut kept = Vec::with_capacity(collection.entries.len());
        let mut comments = Vec::new();
        for mut entry in std::mem::take(&mut collection.entries) {
            if entry.key.as_ref().is_some_and(|key| self.dropped.contains(&key.start)) {
                entry.comments(&mut comments);
                continue;
            }
            self.apply(&mut entry)?;
            if !comments.is_empty() {
                entry.notes.get_or_insert_default().before.splice(0..0, comments.drain(..));
            }
            kept.push(entry);
        }
        collection.entries = kept;
        collection.tail.splice(0..0, comments);
        let key = entry.key.as_ref().map(|key| key.start);
        for Addition { text, is_last } in key.and_then(|key| self.added.get(&key)).into_iter().flatten() {
            let added = Builder::new(text, text, &[]).build()?.root;
            if let Some(Content::Collection(added)) = added.map(|root| root.content) {
                merge(collection, *added, *is_last);
            }
        }
        Ok(())
    }
}

/// Adds the entries of a map to another one.
fn merge<'a>(map: &mut Collection<'a>, added: Collection<'a>, is_last: bool) {
    let mut at = if is_last { map.entries.len() } else { 0 };
    for new in added.entries {
        let text = |entry: &Entry<'a>| entry.key.as_ref().map(|key| key.text.clone());
        match map.entries.iter().position(|old| text(old) == text(&new)) {
            Some(found) => {
                at = if is_last { at } else { found + 1 };
                if let (Content::Collection(old), Content::Collection(new)) =
                    (&mut map.entries[found].content, new.content)
                    && old.is_map
                    && new.is_map
                {
                    merge(old, *new, is_last);
                }
            }
            None => {
                map.entries.insert(at, new);
                at += 1;
            }
        }
    }
}

impl<'a> Entry<'a> {
    /// Appends the comments of the entry and of what is in it, in their order.
    fn comments(&self, out: &mut Vec<Line<'a>>) {
        let (before, head, after) = match self.notes.as_deref() {
            Some(notes) => (&notes.before[..], notes.head, notes.after),
            None => (&[][..], None, None),
        };
        let line = |comment| Line::Comment(comment, 0);
        out.extend(before.iter().copied().filter(|line| *line != Line::Blank));
        out.extend(head.map(line));
        if let Content::Collection(collection) = &self.content {
            collection.entries.iter().for_each(|entry| entry.comments(out));
            out.extend(&collection.tail);
        }
        out.extend(after.map(line));
    }
}
