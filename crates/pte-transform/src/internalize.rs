//! Moves data of `.ptd` files into a program (`--with`, `--internal-data`), the inverse of [`super::externalize`].

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;

use indexmap::IndexMap;

use super::externalize::{generated_key, no_match};
use super::pattern::Pattern;
use pte_model::data::Origin;
use pte_model::data::{BlobId, BlobSource, dedup};
use pte_model::diagnostics::file_error::{cannot, named};
use pte_model::diagnostics::is_io;
use pte_model::format::safetensors::{METADATA, is_key_of};
use pte_model::program::{
    ExternalData, ExtraTensorInfo, Memory, NamedData, Program, TensorData, TensorDataLocation, TensorLayout,
};
use pte_model::reader;
use pte_xnnpack::payloads::Payloads;

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

/// Data of `.ptd` files to move into the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InternalRequest {
    /// Keys to move, of constants and of named data.
    pub patterns: Vec<Pattern>,
    /// Move everything: constants, and named data that delegates refer to.
    pub all: bool,
}

impl InternalRequest {
    /// Returns true if nothing is moved.
    pub fn is_empty(&self) -> bool {
        !self.all && self.patterns.is_empty()
    }

    fn is_match(&self, key: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(key))
    }
}

/// Result of [`internalize`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Internalized {
    /// Metadata of a `.safetensors` that were dropped: index of the file, and key.
    pub dropped: Vec<(usize, String)>,
    /// Named data that were moved: index of the file, and index in the named data of the program.
    pub named_data: Vec<(usize, usize)>,
    /// Keys of named data that were not moved, because no delegate refers to them.
    pub unused: Vec<String>,
}

/// Finds the data of external tensors in `.ptd` files. Those that `request` states become part of the program, and
/// generated keys are removed; so do named data, which are entries without a tensor layout. If a file is written again
/// because it has tensors of the program, or because keys have moved, its other named data stay external, too. Metadata
/// of a `.safetensors` in these files stay external; if everything is moved, they are dropped. Weights without a
/// program get the entries of the files.
///
/// # Errors
/// A file cannot be read, a key is missing or duplicate, or the type, sizes or dim_order of a tensor differ from those
/// in the file. A pattern matches nothing.
pub fn internalize(program: &mut Program, files: &[PathBuf], request: &InternalRequest) -> io::Result<Internalized> {
    let entries = add_files(program, files)?;
    if program.execution_plan.is_none() {
        return merge(program, entries, !request.is_empty()).map(|()| Internalized::default());
    }
    check_patterns(program, &entries, request)?;
    let used = move_tensors(program, &entries, request)?;
    let mut done = Internalized::default();
    let delegates = Payloads::of_program(program).keys();
    let is_moved = |key: &str| request.is_match(key) || (request.all && delegates.may_refer_to(key));
    move_own_named_data(program, &is_moved);
    for (key, entry) in entries {
        let is_metadata = is_key_of(METADATA, &key);
        let is_named = !is_metadata && (entry.tensor_layout.is_none() || delegates.refer_to(&key));
        let is_kept = used.files.contains(&entry.file);
        if is_named && is_moved(&key) {
            let list = program.named_data.get_or_insert_default();
            done.named_data.push((entry.file, list.len()));
            list.push(NamedData::new(key, entry.data));
        } else if is_metadata && entry.tensor_layout.is_none() && is_kept && request.all {
            done.dropped.push((entry.file, key));
        } else if is_metadata && entry.tensor_layout.is_none() && is_kept {
            program.external_data.push(entry.with_key(key));
        } else if is_named
            && (!request.patterns.is_empty() || (!request.all && is_kept && delegates.may_refer_to(&key)))
        {
            // The other keys of a file whose keys have moved: the runtime rejects a key that is also in the program.
            program.external_data.push(entry.with_key(key));
        } else if is_named
            && request.all
            && !used.keys.contains(&key)
            && program.plans().iter().any(|plan| !plan.delegates().is_empty())
        {
            done.unused.push(key);
        }
    }
    Ok(done)
}

/// Tensors whose data were found.
#[derive(Default)]
struct UsedEntries {
    /// Indices of the files with data of tensors that stay external or have moved.
    files: HashSet<usize>,
    keys: HashSet<String>,
}

/// Finds the data of external tensors, and moves those that `request` states.
///
/// # Errors
/// A key is missing, or its layout differs from that of the tensor.
fn move_tensors(
    program: &mut Program,
    entries: &IndexMap<String, FileEntry>,
    request: &InternalRequest,
) -> io::Result<UsedEntries> {
    let mut used = UsedEntries::default();
    for plan in program.plans_mut() {
        let method = plan.name.clone();
        for (index, tensor) in plan.tensors_mut() {
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
                used.files.insert(entry.file);
            }
            used.keys.insert(key.clone());
            if request.all || request.is_match(&key) {
                extra.location = TensorDataLocation::SEGMENT;
                extra.tag = None;
                if tensor.memory == Memory::None && key == generated_key(method.as_deref(), index) {
                    extra.fully_qualified_name = None;
                }
                if **extra == ExtraTensorInfo::default() {
                    tensor.extra_tensor_info = None;
                }
            }
        }
    }
    Ok(used)
}

/// Moves external data of the program itself without a tensor layout to its named data.
fn move_own_named_data(program: &mut Program, is_moved: &dyn Fn(&str) -> bool) {
    let is_named = |entry: &ExternalData| entry.tensor_layout.is_none() && !is_key_of(METADATA, &entry.key);
    let (moved, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut program.external_data)
        .into_iter()
        .partition(|entry| is_named(entry) && is_moved(&entry.key));
    program.external_data = kept;
    if !moved.is_empty() {
        let named =
            moved.into_iter().map(|entry| NamedData { key: entry.key, data: entry.data, alignment: entry.alignment });
        program.named_data.get_or_insert_default().extend(named);
    }
}

/// Returns an error about the patterns that match no key.
fn check_patterns(
    program: &Program,
    entries: &IndexMap<String, FileEntry>,
    request: &InternalRequest,
) -> io::Result<()> {
    if request.patterns.is_empty() {
        return Ok(());
    }
    let tensors = program.plans().iter().flat_map(|plan| plan.tensors());
    let tensors = tensors.filter(|(_, tensor)| tensor.is_external()).filter_map(|(_, tensor)| tensor.name());
    let own = program.external_data.iter().map(|entry| entry.key.as_str());
    let mut known: IndexMap<&str, ()> = IndexMap::new();
    known.extend(tensors.chain(own).chain(entries.keys().map(String::as_str)).map(|key| (key, ())));
    let is_unused = |pattern: &&Pattern| !known.keys().any(|key| pattern.matches(key));
    let unused: Vec<String> = request.patterns.iter().filter(is_unused).map(Pattern::to_string).collect();
    if unused.is_empty() {
        return Ok(());
    }
    let known: Vec<String> = known.into_keys().map(str::to_owned).collect();
    Err(io::Error::other(no_match("--internal-data", &unused, &known, "data in .ptd files")))
}

/// Adds the data of `.ptd` files to the blobs of a program, and returns their entries by key.
fn add_files(program: &mut Program, files: &[PathBuf]) -> io::Result<IndexMap<String, FileEntry>> {
    let mut entries: IndexMap<String, FileEntry> = IndexMap::new();
    // Keys that share a segment share data; equal data in different segments stay separate.
    let mut ranges: HashMap<(usize, u64, u64), BlobId> = HashMap::new();
    for (number, path) in files.iter().enumerate() {
        let named = |error: io::Error| if is_io(&error) { cannot("read", path, error) } else { named(path, error) };
        let origin = Origin::File(path.as_path().into());
        let found = reader::flat_tensor::read(&origin).map_err(named)?;
        reader::newer::refuse_flat_tensor(&origin).map_err(named)?;
        for entry in found {
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
fn merge(program: &mut Program, entries: IndexMap<String, FileEntry>, inside: bool) -> io::Result<()> {
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
    Ok(())
}
