//! Which data go to which `.ptd`, under which keys, in which segments (docs/format.md, "Ptd files").
//!
//! Knows no file names: a `.ptd` is known by its tag.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::segments::{self, Segment};
use super::{LayoutError,  Options, Shards};
use crate::program::element::Element;
use crate::data::BlobId;
use crate::program::{Tensor, TensorLayout};

/// A `.ptd`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalFile {
    /// Its tag; `None` for the default one.
    pub tag: Option<String>,
    /// Whether it is a part of the default one, whose name the tag begins with.
    pub is_shard: bool,
    /// Its keys, in order.
    pub named_data: Vec<NamedData>,
    /// Its segments, relative to the first one's start.
    pub segments: Vec<Segment>,
}

/// A key of a `.ptd`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedData {
    /// The key.
    pub key: String,
    /// Index of its segment.
    pub segment_index: u32,
    /// How the bytes are to be understood, if they are a tensor.
    pub tensor_layout: Option<TensorLayout>,
}

/// Something to put into a `.ptd`.
pub(super) struct Entry {
    pub key: String,
    pub at: Element,
    pub blob: BlobId,
    pub size: u64,
    pub alignment: u64,
    pub layout: Option<TensorLayout>,
}

/// Collects entries by tag.
#[derive(Default)]
pub(super) struct External {
    files: IndexMap<Option<String>, Vec<Entry>>,
    /// Place of each key: its tag's number and its position there.
    keys: HashMap<String, (usize, usize)>,
    /// The exporter numbers external data from 0, equal ones once (E-20).
    numbers: HashMap<BlobId, u32>,
    /// Keys whose data somebody else writes, with their numbers.
    elsewhere: HashMap<String, u32>,
}

impl External {
    /// Adds an entry; a key may come again with the same bytes and layout. Returns the number of the data and whether
    /// they were there already.
    pub fn add(&mut self, tag: Option<String>, entry: Entry) -> Result<(u32, bool), LayoutError> {
        let next = self.count();
        let number = *self.numbers.entry(entry.blob).or_insert(next);
        let place = self.files.entry(tag);
        let file = place.index();
        place.or_default();
        if let Some(&(other_file, position)) = self.keys.get(&entry.key) {
            let first = &self.files[other_file][position];
            let problem = if first.blob != entry.blob {
                "has other bytes"
            } else if first.layout != entry.layout {
                "has another type, other sizes or another dim_order"
            } else if other_file != file {
                "goes to another .ptd"
            } else {
                return Ok((number, true));
            };
            let message = format!("the external key `{}` is taken by data that {problem}", entry.key);
            return Err(LayoutError::new(entry.at, message).with_related(first.at, "its first use"));
        }
        let entries = &mut self.files[file];
        self.keys.insert(entry.key.clone(), (file, entries.len()));
        entries.push(entry);
        Ok((number, number != next))
    }

    /// Where a key was used first, and its data.
    pub fn find(&self, key: &str) -> Option<(Element, BlobId)> {
        let (file, position) = *self.keys.get(key)?;
        let entry = &self.files[file][position];
        Some((entry.at, entry.blob))
    }

    fn count(&self) -> u32 {
        (self.numbers.len() + self.elsewhere.len()) as u32
    }

    /// The number of data that are in a `.ptd` of somebody else's: another for each key.
    pub fn count_elsewhere(&mut self, tensor: &Tensor) -> u32 {
        let key = tensor.extra_tensor_info.as_ref().and_then(|extra| extra.fully_qualified_name.clone());
        let next = self.count();
        *self.elsewhere.entry(key.unwrap_or_default()).or_insert(next)
    }

    /// Gives each key its segment: equal data of a file share one. `None` beyond `u64`.
    pub fn finish(self, options: &Options) -> Option<Vec<ExternalFile>> {
        let mut made = Vec::with_capacity(self.files.len());
        let files = self.files.into_iter().flat_map(|(tag, entries)| match (&options.shards, &tag) {
            (Some(shards), None) => {
                split(entries, shards).into_iter().map(|(tag, entries)| (tag, true, entries)).collect()
            }
            _ => vec![(tag, false, entries)],
        });
        for (tag, is_shard, entries) in files {
            let mut file =
                ExternalFile { tag, is_shard, named_data: Vec::with_capacity(entries.len()), segments: Vec::new() };
            let mut segment_of: HashMap<BlobId, u32> = HashMap::new();
            for entry in entries {
                let next = file.segments.len() as u32;
                let segment_index = *segment_of.entry(entry.blob).or_insert(next);
                if segment_index == next {
                    file.segments.push(Segment::of(entry.blob, entry.size, entry.alignment));
                }
                file.named_data.push(NamedData { key: entry.key, segment_index, tensor_layout: entry.layout });
            }
            segments::place(&mut file.segments, options.segment_alignment)?;
            made.push(file);
        }
        Some(made)
    }
}

/// Entries in files of so many bytes, by key: which other keys there are, and in which order the program uses them, moves
/// no more than it must. Keys with the same data stay together. A single file needs no tag.
fn split(mut entries: Vec<Entry>, shards: &Shards) -> Vec<(Option<String>, Vec<Entry>)> {
    entries.sort_by(|one, other| one.key.cmp(&other.key));
    let mut alike: IndexMap<BlobId, Vec<Entry>> = IndexMap::new();
    for entry in entries {
        alike.entry(entry.blob).or_default().push(entry);
    }
    let mut files: Vec<(u64, Vec<Entry>)> = Vec::new();
    for (_, entries) in alike {
        let size = entries.first().map_or(0, |entry| entry.size);
        match files.last_mut().filter(|(bytes, _)| bytes.saturating_add(size) <= shards.max_bytes) {
            Some((bytes, file)) => {
                *bytes += size;
                file.extend(entries);
            }
            None => files.push((size, entries)),
        }
    }
    let count = files.len();
    let tag = |number| (count > 1).then(|| format!("{}-{number:05}-of-{count:05}", shards.name));
    files.into_iter().zip(1..).map(|((_, entries), number)| (tag(number), entries)).collect()
}
