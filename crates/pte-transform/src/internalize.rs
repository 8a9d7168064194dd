//! Moves data of `.ptd` files into a program (`--with`, `--internal-data`), the inverse of [`super::externalize`].

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;

use indexmap::IndexMap;

use super::externalize::generated_key;
use pte_model::data::Origin;
use pte_model::data::{BlobId, BlobSource, dedup};
use pte_model::diagnostics::file_error::{cannot, named};
use pte_model::diagnostics::first_names;
use pte_model::diagnostics::is_io;
use pte_model::format::safetensors::{METADATA, is_key_of};
use pte_model::program::{
    EValue, ExternalData, ExtraTensorInfo, Memory, Program, TensorData, TensorDataLocation, TensorLayout,
};
use pte_model::reader;

/// The data of a key of a `.ptd`.
struct FileEntry {
    data: BlobId,
    tensor_layout: Option<TensorLayout>,
    /// Index of the file.
    file: usize,
}

impl FileEntry {
    fn with_key(self, key: String) -> ExternalData {
        let FileEntry { data, tensor_layout, .. } = self;
        let mut entry = ExternalData::new(key, data);
        entry.tensor_layout = tensor_layout;
        entry
    }
}

/// Finds the data of external tensors in `.ptd` files. With `inside`, they become part of the program, and generated
/// keys are removed. Metadata of a `.safetensors` in these files stay external; with `inside`, they are removed and
/// returned by file and key. Weights without a program get the entries of the files.
///
/// # Errors
/// A file cannot be read, a key is missing or duplicate, or the type, sizes or dim_order of a tensor differ from those
/// in the file. With `inside`, data of delegates would stay in a file.
pub fn internalize(program: &mut Program, files: &[PathBuf], inside: bool) -> io::Result<Vec<(PathBuf, String)>> {
    let entries = add_files(program, files)?;
    if program.execution_plan.is_none() {
        return merge(program, entries, inside);
    }
    let mut used = HashSet::new();
    let mut used_keys = HashSet::new();
    for plan in program.execution_plan.iter_mut().flatten() {
        let method = plan.name.clone();
        for (index, value) in plan.values.iter_mut().flatten().enumerate() {
            let EValue::Tensor(tensor) = value else { continue };
            if !tensor.is_external() {
                continue;
            }
            let expected = TensorLayout::of(tensor);
            let Some(extra) = &mut tensor.extra_tensor_info else { continue };
            let key = extra.fully_qualified_name.clone().unwrap_or_default();
            if let TensorData::Elsewhere(_) = tensor.data {
                let Some(entry) = entries.get(&key) else {
                    return Err(io::Error::other(format!(
                        "unknown key `{key}`: it is in none of the .ptd files; add one to `with`"
                    )));
                };
                if entry.tensor_layout.as_ref() != Some(&expected) {
                    let message = format!("the type, sizes or dim_order of `{key}` differ from those in the .ptd file");
                    return Err(io::Error::other(message));
                }
                tensor.data = TensorData::Blob(entry.data);
                used.insert(entry.file);
            }
            used_keys.insert(key.clone());
            if inside {
                extra.location = TensorDataLocation::SEGMENT;
                if tensor.memory == Memory::None && key == generated_key(method.as_deref(), index) {
                    extra.fully_qualified_name = None;
                }
                if **extra == ExtraTensorInfo::default() {
                    tensor.extra_tensor_info = None;
                }
            }
        }
    }
    if inside {
        let of_files = entries.iter().map(|(key, entry)| (key, &entry.tensor_layout));
        let own = program.external_data.iter().map(|entry| (&entry.key, &entry.tensor_layout));
        let others = own.chain(of_files).filter(|(key, _)| !used_keys.contains(*key));
        check_delegates(program, others)?;
    }
    let is_metadata = |key: &str, entry: &FileEntry| entry.tensor_layout.is_none() && is_key_of(METADATA, key);
    let metadata = entries.into_iter().filter(|(key, entry)| is_metadata(key, entry) && used.contains(&entry.file));
    if inside {
        return Ok(metadata.map(|(key, entry)| (files[entry.file].clone(), key)).collect());
    }
    program.external_data.extend(metadata.map(|(key, entry)| entry.with_key(key)));
    Ok(Vec::new())
}

/// Returns an error if entries of `.ptd` files that no tensor refers to are data of delegates, which have no layout of a
/// tensor: only the backend knows which of them it reads.
fn check_delegates<'e>(
    program: &Program,
    entries: impl Iterator<Item = (&'e String, &'e Option<TensorLayout>)>,
) -> io::Result<()> {
    let is_data = |(key, layout): &(&String, &Option<TensorLayout>)| layout.is_none() && !is_key_of(METADATA, key);
    let keys: Vec<&str> = entries.filter(is_data).map(|(key, _)| key.as_str()).collect();
    if keys.is_empty() || program.plans().iter().all(|plan| plan.delegates().is_empty()) {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "`internal_data` moves the data of tensors, but not those of delegates: {} would stay in a .ptd, without which \
         the program cannot be loaded; omit the option",
        first_names(keys.into_iter())
    )))
}

/// Adds the data of `.ptd` files to the blobs of a program, and returns their entries by key.
fn add_files(program: &mut Program, files: &[PathBuf]) -> io::Result<IndexMap<String, FileEntry>> {
    let mut entries: IndexMap<String, FileEntry> = IndexMap::new();
    // Keys that share a segment share data; equal data in different segments stay separate.
    let mut ranges: HashMap<(usize, u64, u64), BlobId> = HashMap::new();
    for (number, path) in files.iter().enumerate() {
        let named = |error: io::Error| if is_io(&error) { cannot("read", path, error) } else { named(path, error) };
        for entry in reader::flat_tensor::read(&Origin::File(path.as_path().into())).map_err(named)? {
            let range = if let BlobSource::File { offset, .. } = entry.data.source {
                (number, offset, entry.data.len)
            } else {
                (number, program.blobs.len() as u64, u64::MAX)
            };
            let blob = *ranges.entry(range).or_insert_with(|| program.add_blob(entry.data));
            let found = FileEntry { data: blob, tensor_layout: entry.tensor_layout, file: number };
            if entries.insert(entry.key.clone(), found).is_some() {
                let message =
                    format!("{}: duplicate key `{}`, defined in another .ptd file", path.display(), entry.key);
                return Err(io::Error::other(message));
            }
        }
    }
    let alike = dedup::alike(&program.blobs)?;
    let mut added: Vec<BlobId> = ranges.into_values().collect();
    added.sort_unstable();
    let mut counts: HashMap<BlobId, u32> = HashMap::new();
    for blob in added.into_iter().map(|blob| blob.0 as usize) {
        let count = counts.entry(alike[blob]).or_default();
        program.blobs[blob].copy = *count;
        *count += 1;
    }
    Ok(entries)
}

/// Adds the entries of `.ptd` files to weights without a program.
fn merge(
    program: &mut Program,
    entries: IndexMap<String, FileEntry>,
    inside: bool,
) -> io::Result<Vec<(PathBuf, String)>> {
    if inside {
        return Err(io::Error::other("the input has no methods: `internal_data` stores data in a program"));
    }
    let mut keys: HashSet<String> = program.external_data.iter().map(|data| data.key.clone()).collect();
    for (key, entry) in entries {
        if !keys.insert(key.clone()) {
            return Err(io::Error::other(format!("duplicate key `{key}`: the input and a file of `with` have it")));
        }
        program.external_data.push(entry.with_key(key));
    }
    Ok(Vec::new())
}
