//! Manifest of a program: a hash for each tensor, key of named data and payload, independent of their placement in
//! files. [`compare`] finds what differs from it.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use super::{Weight, WeightKind, WeightList, delegate_name};
use pte_model::data::{BlobId, workers};
use pte_model::diagnostics::{clipped, first_names};
use pte_model::format::words::words;
use pte_model::program::Program;

/// Version of the form of manifests.
pub const VERSION: u32 = 1;

words! {
    /// Kind of a [`ManifestEntry`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum ManifestKind {
        /// A constant, an initial state, or a tensor of a `.ptd`.
        Tensor "tensor",
        /// Named data of delegates, and other data without a type.
        Data "data",
        /// The payload of a delegate.
        Payload "payload",
    } fn name;
}

/// A tensor, key or payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ManifestEntry {
    /// Kind.
    pub kind: ManifestKind,
    /// Name or key; of a payload, method and delegate.
    pub name: String,
    /// True if the name is part of the file. Other names follow from the uses of a value; `verify` also finds such a
    /// tensor by its hash.
    pub is_stored_name: bool,
    /// Element type; `None` for data without one.
    #[serde(rename = "type")]
    pub scalar_type: Option<String>,
    /// Size of each dimension.
    pub sizes: Option<Vec<i32>>,
    /// Dimensions from the outermost in memory to the innermost; `None` if they are in order.
    pub dim_order: Option<Vec<u8>>,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of the bytes.
    pub sha256: String,
}

/// Hashes of the contents of a program and of its `.ptd` files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the form, 1.
    pub manifest: u32,
    /// Entries, sorted by kind and name.
    pub entries: Vec<ManifestEntry>,
}

impl Manifest {
    /// Returns the manifest of weights and payloads. `is_stored_name` returns true if a name is part of the file.
    ///
    /// # Errors
    /// A payload cannot be read; data of a weight are in a file that was not given, by name.
    #[doc(hidden)]
    pub fn of(list: &WeightList, program: &Program, is_stored_name: &dyn Fn(&Weight) -> bool) -> io::Result<Manifest> {
        let missing: Vec<&str> =
            list.weights.iter().filter(|weight| weight.sha256.is_none()).map(|weight| weight.name.as_str()).collect();
        if !missing.is_empty() {
            let names = first_names(missing.into_iter());
            let message = format!("the data of {names} are in no file that was given; pass their .ptd with `--with`");
            return Err(io::Error::other(message));
        }
        let mut entries: Vec<ManifestEntry> =
            list.weights.iter().map(|weight| entry(weight, is_stored_name(weight))).collect();
        entries.extend(payloads(program)?);
        entries.sort_by(|one, other| (one.kind, &one.name, &one.sha256).cmp(&(other.kind, &other.name, &other.sha256)));
        entries.dedup();
        Ok(Manifest { manifest: VERSION, entries })
    }

    /// Checks the version and the hashes of a manifest that was read.
    ///
    /// # Errors
    /// Another version, or an entry whose hash is not one.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), String> {
        if self.manifest != VERSION {
            return Err(format!("a manifest of version {}, expected {VERSION}", self.manifest));
        }
        let is_hash =
            |hash: &str| hash.len() == 64 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match self.entries.iter().find(|entry| !is_hash(&entry.sha256)) {
            Some(entry) => {
                let name = clipped(&entry.name);
                Err(format!("entry `{name}` has a `sha256` that is not 64 hexadecimal digits in lower case"))
            }
            None => Ok(()),
        }
    }
}

fn entry(weight: &Weight, is_stored_name: bool) -> ManifestEntry {
    let kind = match weight.kind {
        WeightKind::Constant | WeightKind::State | WeightKind::Tensor => ManifestKind::Tensor,
        WeightKind::NamedData | WeightKind::Blob => ManifestKind::Data,
    };
    // The type of named data is known only from the graphs of delegates: it is not part of the data.
    let is_tensor = kind == ManifestKind::Tensor;
    ManifestEntry {
        kind,
        name: weight.name.clone(),
        is_stored_name,
        scalar_type: weight.scalar_type.map(|scalar_type| scalar_type.to_string()).filter(|_| is_tensor),
        sizes: weight.sizes.clone().filter(|_| is_tensor),
        dim_order: weight.dim_order.clone().filter(|_| is_tensor),
        bytes: weight.bytes,
        sha256: weight.sha256.clone().unwrap_or_default(),
    }
}

/// Returns the entries of the payloads, each distinct one hashed once.
fn payloads(program: &Program) -> io::Result<Vec<ManifestEntry>> {
    let delegates = program.delegates().map(|(method, index, delegate)| (method, index, delegate.processed));
    let delegates: Vec<(usize, usize, BlobId)> = delegates.collect();
    let mut distinct: Vec<BlobId> = delegates.iter().map(|(.., blob)| *blob).collect();
    distinct.sort_unstable();
    distinct.dedup();
    // Payloads of a malformed file may overlap.
    let mut left = pte_model::data::available(distinct.iter().map(|blob| program.blob(*blob))).saturating_mul(2);
    for blob in &distinct {
        left = left.checked_sub(program.blob(*blob).len()).ok_or_else(|| io::Error::other("payloads overlap"))?;
    }
    let digests = workers::map(distinct, workers::cores(), |blob| (blob, program.blob(blob).digest()));
    let digests: HashMap<BlobId, io::Result<[u8; 32]>> = digests.into_iter().collect();
    let mut entries = Vec::with_capacity(delegates.len());
    for (method, index, blob) in delegates {
        let digest = match &digests[&blob] {
            Ok(digest) => HEXLOWER.encode(digest),
            Err(error) => return Err(io::Error::new(error.kind(), error.to_string())),
        };
        entries.push(ManifestEntry {
            kind: ManifestKind::Payload,
            name: delegate_name(program, method, index),
            is_stored_name: true,
            scalar_type: None,
            sizes: None,
            dim_order: None,
            bytes: program.blob(blob).len(),
            sha256: digest,
        });
    }
    Ok(entries)
}

/// A difference from a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ManifestDifference {
    /// Kind of the difference.
    pub difference: ManifestDifferenceKind,
    /// Kind of the entry.
    pub kind: ManifestKind,
    /// Name or key.
    pub name: String,
    /// The entry of the manifest; `None` if it has none.
    pub expected: Option<ManifestEntry>,
    /// The entry of the file; `None` if it has none.
    pub found: Option<ManifestEntry>,
}

/// Kind of a [`ManifestDifference`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ManifestDifferenceKind {
    /// The bytes, the type or the sizes differ.
    Differs,
    /// The file does not have it.
    Missing,
    /// The manifest does not have it.
    Added,
}

impl ManifestDifference {
    /// Returns the difference as a line.
    pub fn line(&self) -> String {
        let name = clipped(&self.name);
        let describe = |entry: &ManifestEntry| {
            let mut text = String::new();
            if let (Some(scalar_type), Some(sizes)) = (&entry.scalar_type, &entry.sizes) {
                let sizes: Vec<String> = sizes.iter().map(i32::to_string).collect();
                let _ = write!(text, "{} [{}], ", clipped(scalar_type), sizes.join(", "));
            }
            if let Some(order) = &entry.dim_order {
                let _ = write!(text, "dim_order {order:?}, ");
            }
            let _ = write!(text, "{} bytes, sha256 {}", entry.bytes, entry.sha256.get(..12).unwrap_or_default());
            text
        };
        let kind = self.kind.name();
        match (&self.expected, &self.found) {
            (Some(expected), Some(found)) => {
                format!("differs: {kind} `{name}`: expected {}, found {}", describe(expected), describe(found))
            }
            (Some(expected), None) => format!("missing: {kind} `{name}`: expected {}", describe(expected)),
            (None, Some(found)) => format!("added: {kind} `{name}`: found {}", describe(found)),
            (None, None) => String::new(),
        }
    }
}

/// Content of an entry without its name.
type Content<'e> = (ManifestKind, Option<&'e str>, Option<&'e [i32]>, Option<&'e [u8]>, u64, &'e str);

/// Entries of one kind and name: of the manifest, and of the file.
type Sides<'e> = (Vec<&'e ManifestEntry>, Vec<&'e ManifestEntry>);

fn content(entry: &ManifestEntry) -> Content<'_> {
    let ManifestEntry { kind, scalar_type, sizes, dim_order, bytes, sha256, .. } = entry;
    (*kind, scalar_type.as_deref(), sizes.as_deref(), dim_order.as_deref(), *bytes, sha256)
}

/// Compares a manifest with that of a file. A tensor without a stored name on either side is equal to one of the same
/// content.
pub fn compare(expected: &Manifest, found: &Manifest) -> Vec<ManifestDifference> {
    let mut by_name: BTreeMap<(ManifestKind, &str), Sides<'_>> = BTreeMap::new();
    for entry in &expected.entries {
        by_name.entry((entry.kind, &entry.name)).or_default().0.push(entry);
    }
    for entry in &found.entries {
        by_name.entry((entry.kind, &entry.name)).or_default().1.push(entry);
    }
    let (mut missing, mut added) = (Vec::new(), Vec::new());
    for (one, other) in by_name.values_mut() {
        // Several methods may have different data of one name.
        let mut counts: HashMap<Content<'_>, usize> = HashMap::new();
        other.iter().for_each(|entry| *counts.entry(content(entry)).or_default() += 1);
        one.retain(|entry| !take(&mut counts, content(entry)));
        other.retain(|entry| take(&mut counts, content(entry)));
        missing.append(one);
        added.append(other);
    }
    let mut unnamed: HashMap<Content<'_>, Vec<&ManifestEntry>> = HashMap::new();
    added.iter().for_each(|entry| unnamed.entry(content(entry)).or_default().push(entry));
    // A tensor without a stored name may have another name.
    missing.retain(|entry| {
        let Some(same) = unnamed.get_mut(&content(entry)) else { return true };
        let position = same.iter().position(|other| !(entry.is_stored_name && other.is_stored_name));
        position.map(|position| same.remove(position)).is_none()
    });
    let mut left: BTreeMap<(ManifestKind, &str), Sides<'_>> = BTreeMap::new();
    missing.into_iter().for_each(|entry| left.entry((entry.kind, &entry.name)).or_default().0.push(entry));
    let mut added: Vec<&ManifestEntry> = unnamed.into_values().flatten().collect();
    added.sort_by_key(|entry| &entry.sha256);
    added.into_iter().for_each(|entry| left.entry((entry.kind, &entry.name)).or_default().1.push(entry));
    let mut differences = Vec::new();
    for ((kind, name), (missing, added)) in left {
        for at in 0..missing.len().max(added.len()) {
            let (expected, found) = (missing.get(at), added.get(at));
            let difference = match (expected, found) {
                (Some(_), None) => ManifestDifferenceKind::Missing,
                (None, _) => ManifestDifferenceKind::Added,
                (Some(_), Some(_)) => ManifestDifferenceKind::Differs,
            };
            let [expected, found] = [expected, found].map(|entry| entry.map(|entry| (*entry).clone()));
            differences.push(ManifestDifference { difference, kind, name: name.to_owned(), expected, found });
        }
    }
    differences
}

/// Takes one of the counted contents; false if none is left.
fn take<'e>(counts: &mut HashMap<Content<'e>, usize>, content: Content<'e>) -> bool {
    match counts.get_mut(&content) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        Some(_) | None => false,
    }
}
