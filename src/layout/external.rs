//! Assigns external data to `.ptd` files, keys and segments (docs/format.md, "Ptd files"). Files are identified by tag;
//! file names are not assigned here.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::segments::{self, Segment};
use super::{LayoutConfig, LayoutError, Shards};
use pte_model::data::BlobId;
use pte_model::diagnostics::Code;
use pte_model::program::element::Element;
use pte_model::program::{Tensor, TensorLayout};

/// Content of a `.ptd`: keys ([`ExternalNamedData`]) and segments.
///
/// ```
/// use pte_emit::{AssembleOptions, Model};
///
/// let options = AssembleOptions::default().external_data(true);
/// let assembly = Model::open("examples/linear.yaml")?.assemble(&options)?;
/// let file = &assembly.plan().external[0];
/// let keys: Vec<&str> = file.named_data.iter().map(|data| data.key.as_str()).collect();
/// assert_eq!((keys.len(), file.segments.len()), (2, 2));
/// # Ok::<(), pte_emit::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExternalFile {
    /// Tag; `None` for the default file.
    pub tag: Option<String>,
    /// True if it is a shard of the default file; the tag then begins with the name of that file.
    pub is_shard: bool,
    /// Keys, in order.
    pub named_data: Vec<ExternalNamedData>,
    /// Segments, with offsets relative to the first one's start.
    pub segments: Vec<Segment>,
}

/// Entry of `named_data` of a `.ptd`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExternalNamedData {
    /// Key.
    pub key: String,
    /// Index of the segment.
    pub segment_index: u32,
    /// Type and shape, if the data are a tensor.
    pub tensor_layout: Option<TensorLayout>,
}

/// Data of a `.ptd` that have no segment yet.
pub(super) struct ExternalItem {
    pub key: String,
    pub at: Element,
    pub blob: BlobId,
    pub size: u64,
    pub alignment: u64,
    pub layout: Option<TensorLayout>,
}

/// External data by tag.
#[derive(Default)]
pub(super) struct ExternalFiles {
    files: IndexMap<Option<String>, Vec<ExternalItem>>,
    /// File and position of each key.
    keys: HashMap<String, (usize, usize)>,
    /// Numbers of external data, from 0. Equal data have the same number (E-20).
    numbers: HashMap<BlobId, u32>,
    /// Numbers of keys whose data are in a `.ptd` that is not written here.
    elsewhere: HashMap<String, u32>,
}

impl ExternalFiles {
    /// Adds data. A key may be repeated with the same bytes and layout. Returns the number of the data, and true if
    /// equal data were added before.
    ///
    /// # Errors
    /// The key is in use for other data.
    pub fn add(&mut self, tag: Option<String>, item: ExternalItem) -> Result<(u32, bool), LayoutError> {
        let next = self.count();
        let number = *self.numbers.entry(item.blob).or_insert(next);
        let entry = self.files.entry(tag);
        let file = entry.index();
        entry.or_default();
        if let Some(&(other_file, position)) = self.keys.get(&item.key) {
            let first = &self.files[other_file][position];
            let problem = if first.blob != item.blob {
                "different data"
            } else if first.layout != item.layout {
                "a different type, sizes or dim_order"
            } else if other_file != file {
                "a different .ptd"
            } else {
                return Ok((number, true));
            };
            let message = format!("duplicate external key `{}` with {problem}", item.key);
            return Err(
                LayoutError::new(Code::ConflictingData, item.at, message).with_related(first.at, "first defined here")
            );
        }
        let entries = &mut self.files[file];
        self.keys.insert(item.key.clone(), (file, entries.len()));
        entries.push(item);
        Ok((number, number != next))
    }

    /// Returns the element that first uses a key, and the data.
    pub fn find(&self, key: &str) -> Option<(Element, BlobId)> {
        let (file, position) = *self.keys.get(key)?;
        let entry = &self.files[file][position];
        Some((entry.at, entry.blob))
    }

    fn count(&self) -> u32 {
        (self.numbers.len() + self.elsewhere.len()) as u32
    }

    /// Returns the number of data in a `.ptd` that is not written here. Each key has one number.
    pub fn number_elsewhere(&mut self, tensor: &Tensor) -> u32 {
        let key = tensor.name().map(str::to_owned);
        let next = self.count();
        *self.elsewhere.entry(key.unwrap_or_default()).or_insert(next)
    }

    /// Assigns keys to segments; equal data of a file share a segment. `None` if an offset exceeds `u64`.
    pub fn finish(self, options: &LayoutConfig) -> Option<Vec<ExternalFile>> {
        let mut external = Vec::with_capacity(self.files.len());
        let files = self.files.into_iter().flat_map(|(tag, entries)| match (&options.shards, &tag) {
            (Some(shards), None) => {
                split(entries, shards).into_iter().map(|(tag, entries)| (tag, true, entries)).collect()
            }
            (None, _) | (_, Some(_)) => vec![(tag, false, entries)],
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
                file.named_data.push(ExternalNamedData { key: entry.key, segment_index, tensor_layout: entry.layout });
            }
            segments::place(&mut file.segments, options.alignment_in_data_files())?;
            external.push(file);
        }
        Some(external)
    }
}

/// Splits entries into files of at most `shards.max_bytes` bytes, in the order of their keys. In this order, a change
/// of the program moves few keys to another file. Keys with the same data are in the same file. A single file has no
/// tag.
fn split(mut entries: Vec<ExternalItem>, shards: &Shards) -> Vec<(Option<String>, Vec<ExternalItem>)> {
    entries.sort_by(|one, other| one.key.cmp(&other.key));
    let mut by_blob: IndexMap<BlobId, Vec<ExternalItem>> = IndexMap::new();
    for entry in entries {
        by_blob.entry(entry.blob).or_default().push(entry);
    }
    let mut files: Vec<(u64, Vec<ExternalItem>)> = Vec::new();
    for (_, entries) in by_blob {
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

    fn entry(key: &str, blob: u32, size: u64) -> ExternalItem {
        ExternalItem {
            key: key.into(),
            at: Element::ExternalData(blob as usize),
            blob: BlobId(blob),
            size,
            alignment: 1,
            layout: None,
        }
    }

    fn add(external: &mut ExternalFiles, tag: Option<&str>, entry: ExternalItem) -> Result<(u32, bool), String> {
        external.add(tag.map(str::to_owned), entry).map_err(|error| error.message)
    }

    #[test]
    fn a_key_may_be_repeated_with_the_same_bytes() {
        let mut external = ExternalFiles::default();
        assert_eq!(add(&mut external, None, entry("k", 5, 4)), Ok((0, false)));
        assert_eq!(add(&mut external, None, entry("other", 6, 4)), Ok((1, false)));
        assert_eq!(add(&mut external, None, entry("k", 5, 4)), Ok((0, true)));
        let files = external.finish(&LayoutConfig::default()).unwrap();
        assert_eq!(files[0].named_data.len(), 2);
    }

    #[test]
    fn a_key_with_other_bytes_another_layout_or_another_tag_is_an_error() {
        let mut external = ExternalFiles::default();
        add(&mut external, None, entry("k", 5, 4)).unwrap();
        let layout = Some(TensorLayout::new(pte_model::format::ScalarType::BYTE, vec![4]));
        let (bytes, tag) =
            (add(&mut external, None, entry("k", 6, 4)), add(&mut external, Some("t"), entry("k", 5, 4)));
        let layout = add(&mut external, None, ExternalItem { layout, ..entry("k", 5, 4) });
        let errors: Vec<String> = [bytes, layout, tag].into_iter().map(Result::unwrap_err).collect();
        assert_eq!(errors.iter().collect::<std::collections::BTreeSet<_>>().len(), 3, "three messages");
        assert_eq!(external.find("k"), Some((Element::ExternalData(5), BlobId(5))));
    }

    #[test]
    fn keys_stay_in_their_order_and_equal_bytes_share_a_segment_with_the_alignment_of_the_first() {
        // docs/format.md, "Ptd files"
        let mut external = ExternalFiles::default();
        for (key, blob, alignment) in [("b", 1, 64), ("c", 2, 1), ("a", 1, 4096)] {
            add(&mut external, None, ExternalItem { alignment, ..entry(key, blob, 10) }).unwrap();
        }
        let [file] = &*external.finish(&LayoutConfig::default()).unwrap() else { panic!("one file") };
        let keys: Vec<_> = file.named_data.iter().map(|data| (&*data.key, data.segment_index)).collect();
        assert_eq!(keys, [("b", 0), ("c", 1), ("a", 0)]);
        let segments: Vec<_> = file.segments.iter().map(|segment| (segment.offset, segment.alignment)).collect();
        assert_eq!(segments, [(0, 64), (128, 1)]);
    }

    #[test]
    fn files_do_not_share_segments() {
        let mut external = ExternalFiles::default();
        add(&mut external, Some("one"), entry("a", 1, 4)).unwrap();
        add(&mut external, Some("two"), entry("b", 1, 4)).unwrap();
        let files = external.finish(&LayoutConfig::default()).unwrap();
        assert_eq!(files.iter().map(|file| file.segments.len()).collect::<Vec<_>>(), [1, 1]);
    }

    /// Tag and keys of each file, for entries of these keys, blobs and sizes.
    fn shards(max_bytes: u64, entries: &[(&str, u32, u64)]) -> Vec<(Option<String>, Vec<String>)> {
        let mut external = ExternalFiles::default();
        for (key, blob, size) in entries {
            add(&mut external, None, entry(key, *blob, *size)).unwrap();
        }
        let shards = Some(Shards { max_bytes, name: "m".into() });
        let files = external.finish(&LayoutConfig { shards, ..LayoutConfig::default() }).unwrap();
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
        let mut external = ExternalFiles::default();
        add(&mut external, Some("t"), entry("a", 1, 6)).unwrap();
        add(&mut external, Some("t"), entry("b", 2, 6)).unwrap();
        let shards = Some(Shards { max_bytes: 10, name: "m".into() });
        let files = external.finish(&LayoutConfig { shards, ..LayoutConfig::default() }).unwrap();
        assert_eq!((files.len(), files[0].is_shard), (1, false));
    }
}
