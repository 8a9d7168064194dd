//! Which data go to which `.ptd`, under which keys, in which segments (docs/format.md, "Ptd files").
//!
//! Knows no file names: a `.ptd` is known by its tag.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::segments::{self, Segment};
use super::{LayoutError, Options, Shards};
use crate::data::BlobId;
use crate::program::element::Element;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::resolve::tests::assembled;

    fn entry(key: &str, blob: u32, size: u64) -> Entry {
        Entry {
            key: key.into(),
            at: Element::ExternalData(blob as usize),
            blob: BlobId(blob),
            size,
            alignment: 1,
            layout: None,
        }
    }

    fn add(external: &mut External, tag: Option<&str>, entry: Entry) -> Result<(u32, bool), String> {
        external.add(tag.map(str::to_owned), entry).map_err(|error| error.message)
    }

    #[test]
    fn a_key_may_come_again_with_the_same_bytes() {
        let mut external = External::default();
        assert_eq!(add(&mut external, None, entry("k", 5, 4)), Ok((0, false)));
        assert_eq!(add(&mut external, None, entry("other", 6, 4)), Ok((1, false)));
        assert_eq!(add(&mut external, None, entry("k", 5, 4)), Ok((0, true)));
        let files = external.finish(&Options::default()).unwrap();
        assert_eq!(files[0].named_data.len(), 2);
    }

    #[test]
    fn a_key_with_other_bytes_another_layout_or_another_tag_is_an_error() {
        let mut external = External::default();
        add(&mut external, None, entry("k", 5, 4)).unwrap();
        let layout =
            Some(TensorLayout { scalar_type: crate::format::ScalarType(0), sizes: vec![4], dim_order: vec![0] });
        let (bytes, tag) =
            (add(&mut external, None, entry("k", 6, 4)), add(&mut external, Some("t"), entry("k", 5, 4)));
        let layout = add(&mut external, None, Entry { layout, ..entry("k", 5, 4) });
        let errors: Vec<String> = [bytes, layout, tag].into_iter().map(Result::unwrap_err).collect();
        assert_eq!(errors.iter().collect::<std::collections::BTreeSet<_>>().len(), 3, "three messages");
        assert_eq!(external.find("k"), Some((Element::ExternalData(5), BlobId(5))));
    }

    #[test]
    fn keys_stay_in_their_order_and_equal_bytes_share_a_segment_with_the_alignment_of_the_first() {
        // docs/format.md, "Ptd files"
        let mut external = External::default();
        for (key, blob, alignment) in [("b", 1, 64), ("c", 2, 1), ("a", 1, 4096)] {
            add(&mut external, None, Entry { alignment, ..entry(key, blob, 10) }).unwrap();
        }
        let [file] = &*external.finish(&Options::default()).unwrap() else { panic!("one file") };
        let keys: Vec<_> = file.named_data.iter().map(|data| (&*data.key, data.segment_index)).collect();
        assert_eq!(keys, [("b", 0), ("c", 1), ("a", 0)]);
        let segments: Vec<_> = file.segments.iter().map(|segment| (segment.offset, segment.alignment)).collect();
        assert_eq!(segments, [(0, 64), (128, 1)]);
    }

    #[test]
    fn files_do_not_share_segments() {
        let mut external = External::default();
        add(&mut external, Some("one"), entry("a", 1, 4)).unwrap();
        add(&mut external, Some("two"), entry("b", 1, 4)).unwrap();
        let files = external.finish(&Options::default()).unwrap();
        assert_eq!(files.iter().map(|file| file.segments.len()).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn keys_of_constants_come_before_those_of_other_external_data() {
        let yaml = "named_data: {a: {data: {text: a}, external: true}}
methods: {f: {values: {w: {tensor: int8, data: [1], external: true, name: z}}, outputs: [w]}}\n";
        let plan = assembled(yaml).plan;
        let keys: Vec<_> = plan.external[0].named_data.iter().map(|data| &*data.key).collect();
        assert_eq!(keys, ["z", "a"]);
    }

    /// Tag and keys of each file, for entries of these keys, blobs and sizes.
    fn shards(max_bytes: u64, entries: &[(&str, u32, u64)]) -> Vec<(Option<String>, Vec<String>)> {
        let mut external = External::default();
        for (key, blob, size) in entries {
            add(&mut external, None, entry(key, *blob, *size)).unwrap();
        }
        let shards = Some(Shards { max_bytes, name: "m".into() });
        let files = external.finish(&Options { shards, ..Options::default() }).unwrap();
        files.into_iter().map(|file| (file.tag, file.named_data.into_iter().map(|data| data.key).collect())).collect()
    }

    #[test]
    fn a_file_is_closed_when_the_next_buffer_would_exceed_the_size() {
        let found = shards(10, &[("d", 4, 11), ("b", 2, 6), ("a", 1, 4), ("c", 3, 1)]);
        let expected = [
            (Some("m-00001-of-00003".into()), vec!["a".into(), "b".into()]),
            (Some("m-00002-of-00003".into()), vec!["c".into()]),
            (Some("m-00003-of-00003".into()), vec!["d".into()]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn keys_with_equal_bytes_stay_together() {
        let found = shards(10, &[("a", 1, 6), ("b", 2, 6), ("c", 1, 6)]);
        let keys: Vec<_> = found.into_iter().map(|(_, keys)| keys).collect();
        assert_eq!(keys, [vec!["a", "c"], vec!["b"]]);
    }

    #[test]
    fn a_single_file_has_no_tag_and_tagged_files_are_not_split() {
        assert_eq!(shards(10, &[("a", 1, 4), ("b", 2, 6)]), [(None, vec!["a".into(), "b".into()])]);
        let mut external = External::default();
        add(&mut external, Some("t"), entry("a", 1, 6)).unwrap();
        add(&mut external, Some("t"), entry("b", 2, 6)).unwrap();
        let shards = Some(Shards { max_bytes: 10, name: "m".into() });
        let files = external.finish(&Options { shards, ..Options::default() }).unwrap();
        assert_eq!((files.len(), files[0].is_shard), (1, false));
    }
}
