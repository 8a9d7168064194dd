//! Data with keys: named data, entries of `.ptd` files, and tensors whose data are in such files. Keys are known to
//! payloads and to applications, so none is renamed: a key with other data is a conflict.

use std::collections::HashMap;
use std::io;

use pte_model::data::{Blob, BlobId, BlobSource};
use pte_model::diagnostics::{Code, Diagnostic, clipped};
use pte_model::program::{ExternalData, NamedData, Program, TensorData, TensorLayout};

use super::Merged;

/// Returns `true` if two blobs have the same bytes.
///
/// # Errors
/// Data that cannot be read.
pub fn have_same_bytes(a: &Blob, b: &Blob) -> io::Result<bool> {
    if a.len() != b.len() {
        return Ok(false);
    }
    if let (BlobSource::File { path: p, offset: at }, BlobSource::File { path: q, offset: other }) =
        (a.source(), b.source())
        && (p, at) == (q, other)
    {
        return Ok(true);
    }
    Ok(a.first_difference(b)?.is_none())
}

const HELP: &str = "payloads and applications find data by their keys, so keys are not renamed: export one of the programs again with \
                    other keys, or keep the programs apart";

fn conflict(key: &str, what: &str, origins: [&str; 2]) -> Diagnostic {
    let [a, b] = origins;
    Code::ConflictingData.whole(format!("{a} and {b} have the key `{}` with {what}", clipped(key))).help(HELP)
}

/// Merges named data and entries of `.ptd` files by key. The blobs of all parts are those of `program`; `names` is by
/// part.
///
/// # Errors
/// Data that cannot be read. Conflicts are added to `errors`.
pub fn merge_keys(
    program: &mut Program,
    parts: &mut [Program],
    names: &[String],
    report: &mut Merged,
    errors: &mut Vec<Diagnostic>,
) -> io::Result<()> {
    let (mut named, mut external) = (Entries::<NamedData>::default(), Entries::<ExternalData>::default());
    let has_named = parts.iter().any(|part| part.named_data.is_some());
    let blobs = std::mem::take(&mut program.blobs);
    let mut merged = |key: &str, [first, input]: [usize; 2], [a, b]: [BlobId; 2], differs: bool| {
        let [a, b] = [a, b].map(|blob| &blobs[blob.0 as usize]);
        if differs || !have_same_bytes(a, b)? {
            let what = if differs { "another type, sizes or file" } else { "other bytes" };
            errors.push(conflict(key, what, [&names[first], &names[input]]));
        } else {
            report.equal_keys.push(key.to_owned());
        }
        io::Result::Ok(())
    };
    for (input, part) in parts.iter_mut().enumerate() {
        for entry in part.named_data.take().into_iter().flatten() {
            match named.of_another(&entry.key, input) {
                Some((first, present)) => {
                    merged(&entry.key, [*first, input], [present.data, entry.data], false)?;
                    present.alignment = present.alignment.max(entry.alignment);
                }
                None => named.add(entry.key.clone(), input, entry),
            }
        }
        for entry in std::mem::take(&mut part.external_data) {
            match external.of_another(&entry.key, input) {
                Some((first, present)) => {
                    let differs = (&present.tag, &present.tensor_layout) != (&entry.tag, &entry.tensor_layout);
                    merged(&entry.key, [*first, input], [present.data, entry.data], differs)?;
                    present.alignment = present.alignment.max(entry.alignment);
                }
                None => external.add(entry.key.clone(), input, entry),
            }
        }
    }
    program.blobs = blobs;
    program.named_data = has_named.then(|| named.into_list());
    program.external_data = external.into_list();
    Ok(())
}

/// Entries with keys, in order, each with the index of its input.
struct Entries<T> {
    list: Vec<(usize, T)>,
    first: HashMap<String, usize>,
}

impl<T> Default for Entries<T> {
    fn default() -> Entries<T> {
        Entries { list: Vec::new(), first: HashMap::new() }
    }
}

impl<T> Entries<T> {
    /// Returns the first entry with a key if it is of another input. A key that an input has twice is an error of the
    /// layout.
    fn of_another(&mut self, key: &str, input: usize) -> Option<&mut (usize, T)> {
        let first = *self.first.get(key)?;
        self.list.get_mut(first).filter(|(of, _)| *of != input)
    }

    fn add(&mut self, key: String, input: usize, entry: T) {
        self.first.entry(key).or_insert(self.list.len());
        self.list.push((input, entry));
    }

    fn into_list(self) -> Vec<T> {
        self.list.into_iter().map(|(_, entry)| entry).collect()
    }
}

/// Reports tensors of several parts whose data have the same key in a `.ptd`, but another type, sizes, bytes or file,
/// and keys that are external in one part and named data of the program. `program` has the merged named data.
///
/// # Errors
/// Data that cannot be read.
pub fn check_external(
    program: &Program,
    parts: &[Program],
    names: &[String],
    errors: &mut Vec<Diagnostic>,
) -> io::Result<()> {
    struct Use {
        input: usize,
        layout: TensorLayout,
        tag: Option<String>,
        data: Option<BlobId>,
    }
    let mut uses: HashMap<&str, Use> = HashMap::new();
    let named: HashMap<&str, &NamedData> =
        program.named_data.iter().flatten().map(|entry| (entry.key.as_str(), entry)).collect();
    for (input, part) in parts.iter().enumerate() {
        for (_, tensor) in part.plans().iter().flat_map(|plan| plan.tensors()).filter(|(_, t)| t.is_external()) {
            let (Some(key), Some(extra)) = (tensor.name(), &tensor.extra_tensor_info) else { continue };
            let data = match tensor.data {
                TensorData::Blob(blob) => Some(blob),
                TensorData::None | TensorData::Elsewhere(_) => None,
            };
            let found = Use { input, layout: TensorLayout::of(tensor), tag: extra.tag.clone(), data };
            let Some(first) = uses.get(key) else {
                if named.contains_key(key) {
                    let message = format!(
                        "{} has the data of `{}` in a .ptd, another input has it as named data of the program",
                        names[input],
                        clipped(key)
                    );
                    errors.push(Code::ConflictingData.whole(message).help(HELP));
                }
                uses.insert(key, found);
                continue;
            };
            if first.input == input {
                continue;
            }
            let origins = [names[first.input].as_str(), names[input].as_str()];
            let same = match [first.data, found.data] {
                [Some(a), Some(b)] => have_same_bytes(program.blob(a), program.blob(b))?,
                // The .ptd of one of them is not known.
                [None, _] | [_, None] => true,
            };
            if first.layout != found.layout {
                let [a, b] = [&first.layout, &found.layout].map(described);
                errors.push(conflict(key, &format!("other tensors in a .ptd: {a} and {b}"), origins));
            } else if !same || first.tag != found.tag {
                errors.push(conflict(key, if same { "other .ptd files" } else { "other bytes in a .ptd" }, origins));
            }
        }
    }
    Ok(())
}

fn described(layout: &TensorLayout) -> String {
    format!("{} {:?}", layout.scalar_type, layout.sizes)
}
