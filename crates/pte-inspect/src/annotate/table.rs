//! The regions of a file as a table with a maximum number of rows, for a viewer. Repeated strings are in lists.

use std::io;

use indexmap::IndexSet;
use serde::Serialize;

use super::block::{BlockKind, FileBlock};
use super::map::FileMap;
use super::regions::{Region, RegionType, of};
use super::{PIECE, json, text};
use pte_model::data::Origin;
use pte_model::diagnostics::escaped;
use pte_model::format::Format;
use pte_model::format::flatbuffer::Scalar;

/// Maximum number of characters of a path, a meaning and a value.
const MAX_TEXT: usize = 200;

/// Maximum number of numbers of a value.
const MAX_NUMBERS: usize = 16;

/// Regions of a file in its order, which tile it.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FileRegions {
    /// A row is an object, or several objects, instead of a field: the file has too many fields.
    pub coarse: bool,
    /// Paths of the elements that own regions.
    pub paths: Vec<String>,
    /// Types of regions: `u32`, `string`, `data`; of coarse rows, `object`.
    pub types: Vec<String>,
    /// Meanings: names of fields, indices of items, or descriptions.
    pub meanings: Vec<String>,
    /// The regions.
    pub regions: Vec<RegionRow>,
}

/// Offset and size in bytes, indices of path, type and meaning, and the value; `None` if it has none.
pub type RegionRow = (u64, u64, usize, usize, usize, Option<String>);

fn shortened(text: &[u8]) -> String {
    // A character has at most 4 bytes.
    let start = &text[..text.len().min(4 * MAX_TEXT + 4)];
    let start = String::from_utf8_lossy(start);
    match start.char_indices().nth(MAX_TEXT) {
        Some((at, _)) => format!("{}...", escaped(&start[..at])),
        None => escaped(&start).into_owned(),
    }
}

#[derive(Default)]
struct Table {
    paths: IndexSet<String>,
    types: IndexSet<String>,
    meanings: IndexSet<String>,
    rows: Vec<RegionRow>,
}

impl Table {
    fn finish(self, coarse: bool) -> FileRegions {
        let Table { paths, types, meanings, rows } = self;
        let [paths, types, meanings] = [paths, types, meanings].map(|strings| strings.into_iter().collect());
        FileRegions { coarse, paths, types, meanings, regions: rows }
    }

    fn push(&mut self, (at, end): (u64, u64), path: &[u8], kind: &str, meaning: &[u8], value: Option<String>) {
        let (path, _) = self.paths.insert_full(shortened(path));
        let (kind, _) = self.types.insert_full(kind.to_owned());
        let (meaning, _) = self.meanings.insert_full(shortened(meaning));
        self.rows.push((at, end - at, path, kind, meaning, value));
    }

    fn region(&mut self, path: &[u8], region: &Region<'_>) {
        let mut meaning = Vec::new();
        text::meaning(&region.meaning, &mut meaning);
        if let Some(defect) = &region.defect {
            meaning.extend_from_slice(format!(": {defect}").as_bytes());
        }
        let ends = (region.offset, region.offset + region.size);
        self.push(ends, path, text::type_name(region.form), &meaning, value(region));
    }
}

/// Returns the regions of a file, at most `limit`.
///
/// # Errors
/// The file cannot be read.
pub fn regions(origin: &Origin, format: Format, limit: usize) -> io::Result<FileRegions> {
    let map = FileMap::new(origin, format)?;
    let table = fields(&map, limit).map(|table| table.finish(false));
    Ok(table.unwrap_or_else(|| objects(&map, limit).finish(true)))
}

/// Returns a row for each field; `None` if there are more than `limit`.
fn fields(map: &FileMap, limit: usize) -> Option<Table> {
    let mut table = Table::default();
    let mut regions = Vec::new();
    for block in map.blocks.iter().filter(|block| block.end > block.at) {
        let (path, _) = json::block_paths(map, block);
        let is_large = matches!(block.kind, BlockKind::Object(_)) && block.end - block.at > PIECE;
        if is_large {
            table.push((block.at, block.end), &path, "data", b"items", None);
        } else {
            of(map, block, &mut regions);
            regions.iter().filter(|region| region.size > 0).for_each(|region| table.region(&path, region));
        }
        if table.rows.len() > limit {
            return None;
        }
    }
    Some(table)
}

/// Returns a row for each object, or for as many adjacent ones as the limit requires.
fn objects(map: &FileMap, limit: usize) -> Table {
    let blocks: Vec<&FileBlock> = map.blocks.iter().filter(|block| block.end > block.at).collect();
    let mut table = Table::default();
    for blocks in blocks.chunks(blocks.len().div_ceil(limit.max(1)).max(1)) {
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { continue };
        let (path, _) = json::block_paths(map, first);
        let kind = match first.kind {
            BlockKind::Padding => "padding",
            BlockKind::Unreachable | BlockKind::Newer => "?",
            BlockKind::Header
            | BlockKind::Object(_)
            | BlockKind::Segment(_)
            | BlockKind::PayloadHeader
            | BlockKind::PayloadConstants => "object",
        };
        let meaning = if blocks.len() > 1 { format!("{} objects", blocks.len()) } else { String::new() };
        table.push((first.at, last.end), &path, kind, meaning.as_bytes(), None);
    }
    table
}

/// Returns the value: numbers, the target of an offset, a string, or the first bytes in hexadecimal.
fn value(region: &Region<'_>) -> Option<String> {
    let mut out = Vec::new();
    match region.form {
        RegionType::Number(number) => {
            let items = region.bytes.chunks_exact(number.size());
            let more = items.len().saturating_sub(MAX_NUMBERS);
            for (index, item) in items.take(MAX_NUMBERS).enumerate() {
                if index > 0 {
                    text::put(&mut out, ", ");
                }
                text::scalar(number, item, &mut out);
            }
            if more > 0 {
                text::put(&mut out, ", ...");
            }
        }
        RegionType::Offset => match &region.target {
            Some(target) => text::put(&mut out, &format!("-> {:#010x}", target.at)),
            None => text::scalar(Scalar::U32, region.bytes, &mut out),
        },
        RegionType::String => return Some(shortened(region.bytes)),
        RegionType::Data => {
            for byte in region.bytes.iter().take(MAX_NUMBERS) {
                out.extend_from_slice(&text::PAIRS[usize::from(*byte)]);
            }
        }
        RegionType::Padding | RegionType::Unreachable => return None,
    }
    Some(shortened(&out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pte_model::LINEAR_PTE;

    #[test]
    fn rows_tile_the_file_at_every_limit() {
        let origin = Origin::Bytes(LINEAR_PTE.into());
        for limit in [1, 7, 100, 20_000] {
            let found = regions(&origin, Format::Program, limit).unwrap();
            assert!(found.regions.len() <= limit, "{limit}");
            let mut at = 0;
            for (offset, size, path, kind, meaning, _) in &found.regions {
                assert_eq!(*offset, at);
                at += size;
                assert!(*path < found.paths.len() && *kind < found.types.len() && *meaning < found.meanings.len());
            }
            assert_eq!((at, found.coarse), (LINEAR_PTE.len() as u64, limit < 1000));
        }
    }
}
