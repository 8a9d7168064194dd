//! Selects and renames the tensors of a `.safetensors` file, or of an indexed set of files, and merges their
//! `__metadata__`.
//!
//! Tensor data are not read here; `pte_model::reader::safetensors` parses the headers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::data::Finder;
use super::document::{Checkpoint, Word};
use super::files::stays_below;
use pte_model::data::{Blob, BlobSource};
use pte_model::diagnostics::{Code, clipped};
use pte_model::format::safetensors::{MAX_HEADER, METADATA, SafetensorsMetadata, unique_strings};
use pte_model::program::TensorLayout;
use pte_model::reader::flat_tensor::FlatTensorEntry;
use pte_transform::pattern::Pattern;
use pte_yaml::tree::NodeId;

/// Index of a set of files: file name by tensor name.
#[derive(serde::Deserialize)]
struct SafetensorsIndex {
    #[serde(deserialize_with = "weight_map")]
    weight_map: Vec<(String, String)>,
}

fn weight_map<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    unique_strings(deserializer, "weight_map")
}

/// Maximum size of an index in bytes.
const MAX_INDEX: u64 = MAX_HEADER;

/// Content of a checkpoint.
#[derive(Default)]
pub struct CheckpointContent {
    /// The selected tensors.
    pub entries: Vec<FlatTensorEntry>,
    /// The merged `__metadata__` of the files with selected tensors; `None` if they have none.
    pub metadata: Option<SafetensorsMetadata>,
}

impl<'d, 'a> Finder<'d, 'a> {
    /// Tensors of a checkpoint, file by file, in the order of their offsets, and its metadata.
    pub fn checkpoint(&mut self, checkpoint: &Checkpoint<'a>) -> CheckpointContent {
        let named = &checkpoint.safetensors;
        let path = self.path(&named.value);
        let is_selected = |name: &str| {
            let matches = |pattern: &Word<'_>| Pattern::new(&*pattern.value).matches(name);
            checkpoint.include.as_ref().is_none_or(|patterns| patterns.iter().any(matches))
                && !checkpoint.exclude.iter().any(matches)
        };
        let is_index = path.extension().is_some_and(|extension| extension == "json");
        let Some(files) = (if is_index { self.indexed(named, &path) } else { Some(vec![(path, None)]) }) else {
            return CheckpointContent::default();
        };
        let CheckpointContent { mut entries, mut metadata } = CheckpointContent::default();
        for (path, tensors) in files {
            let Some(header) = self.safetensors_header(named.id, &path) else { continue };
            let count = entries.len();
            let is_listed = |name: &str| tensors.as_ref().is_none_or(|listed| listed.contains(name));
            let listed = tensors.iter().flatten();
            for missing in listed.filter(|name| is_selected(name) && header.info(name).is_none()) {
                let message = format!("{} has no tensor `{}`, which the index lists", path.display(), clipped(missing));
                self.diagnostics.push(Code::MissingInFile.error(named.id, message));
            }
            for (name, info) in header.tensors().filter(|(name, _)| is_selected(name) && is_listed(name)) {
                let tensor = match header.find(name, info) {
                    Ok(tensor) => tensor,
                    Err(error) => {
                        let message = format!("cannot use {}: {error}", path.display());
                        self.diagnostics.push(Code::InvalidFile.error(named.id, message).label("this file"));
                        continue;
                    }
                };
                let layout = TensorLayout::new(tensor.scalar_type, tensor.sizes);
                let source = BlobSource::File { path: path.as_path().into(), offset: tensor.offset };
                let (key, data) = (renamed(name, &checkpoint.rename), Blob::new(tensor.len, source));
                entries.push(FlatTensorEntry { key, data, tensor_layout: Some(layout) });
            }
            if let Some(found) = header.metadata().filter(|_| entries.len() > count) {
                self.merge_metadata(named.id, &path.display().to_string(), &mut metadata, found);
            }
        }
        if entries.is_empty() && self.diagnostics.is_empty() {
            let message = format!("no tensor of {} is selected", clipped(&named.value));
            self.diagnostics
                .push(Code::MissingInFile.error(named.id, message).label("`include` and `exclude` match no tensor"));
        }
        CheckpointContent { entries, metadata }
    }

    /// Adds the metadata of a file to those of other files. Warns about strings that differ, and keeps those of the
    /// other files.
    pub fn merge_metadata(
        &mut self,
        at: NodeId,
        file: &str,
        merged: &mut Option<SafetensorsMetadata>,
        found: &SafetensorsMetadata,
    ) {
        let conflicts = merged.get_or_insert_default().merge(found);
        if let Some((name, value)) = conflicts.first() {
            let more = match conflicts.len() {
                1 => String::new(),
                count => format!(", and {} more", count - 1),
            };
            let (file, name, value) = (clipped(file), clipped(name), clipped(value));
            let message =
                format!("{METADATA} of {file} conflicts with another file: dropped `{name}` = `{value}`{more}");
            self.diagnostics.push(Code::DroppedMetadata.warning(at, message).label("the first value is kept"));
        }
    }

    /// The files of a set, each with the names of its tensors.
    fn indexed(&mut self, named: &Word<'a>, path: &Path) -> Option<Vec<(PathBuf, Option<BTreeSet<String>>)>> {
        let (_, length) = self.open(named.id, path)?;
        let text = if length > MAX_INDEX { Err("it is too large for an index".to_owned()) } else { read(path) };
        let index: SafetensorsIndex =
            match text.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string())) {
                Ok(index) => index,
                Err(error) => return self.malformed(named.id, path, error),
            };
        let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let outside = index.weight_map.iter().find(|(_, file)| !stays_below(file));
        if let Some((tensor, file)) = outside {
            let (tensor, file) = (clipped(tensor), clipped(file));
            let message = format!("its tensor `{tensor}` is in `{file}`; expected a file in the folder of the index");
            return self.malformed(named.id, path, message);
        }
        for (tensor, file) in index.weight_map {
            files.entry(file).or_default().insert(tensor);
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        Some(files.into_iter().map(|(file, tensors)| (folder.join(file), Some(tensors))).collect())
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    pte_model::data::files::read(path).map_err(|error| error.to_string())
}

/// The name of a tensor with the longest matching prefix replaced.
fn renamed(name: &str, rename: &[(Word<'_>, Word<'_>)]) -> String {
    let fitting = rename.iter().filter(|(from, _)| name.starts_with(&*from.value));
    match fitting.max_by_key(|(from, _)| from.value.len()) {
        Some((from, to)) => format!("{}{}", to.value, &name[from.value.len()..]),
        None => name.to_owned(),
    }
}
