//! Weights of a program and of its `.ptd` files by name: constants, initial states, named data of delegates, entries of
//! `.ptd` files. [`list`] lists them with hashes and users, [`set`] replaces their bytes, [`rename`] their
//! names, [`manifest`] compares them
//! with a released list.

pub mod changes;
pub mod manifest;
pub mod payload;
pub mod rename;
pub mod set;
pub mod source;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use data_encoding::HEXLOWER;
use indexmap::IndexMap;
use serde::Serialize;

use pte_model::data::{Blob, BlobId, BlobSource, available, workers};
use pte_model::format::ScalarType;
use pte_model::format::safetensors::{METADATA, is_key_of};
use pte_model::format::words::words;
use pte_model::program::{Memory, Program, Tensor, TensorData, TensorLayout, nbytes};
use pte_xnnpack::constants::{self, ConstantContent};
use pte_xnnpack::payloads::Payloads;

words! {
    /// Kind of a [`Weight`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum WeightKind {
        /// A constant of a method.
        Constant "constant",
        /// The initial content of a tensor that a method changes.
        State "state",
        /// Data that delegates find by their key.
        NamedData "named_data",
        /// A tensor of a `.ptd` or `.safetensors` that no method refers to.
        Tensor "tensor",
        /// Other data of a `.ptd`.
        Blob "blob",
    } fn name;
}

words! {
    /// Location of a [`Weight`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum WeightLocation {
        /// In a segment of the program.
        Segment "segment",
        /// In the FlatBuffer of the program.
        Inline "inline",
        /// In a `.ptd` or `.safetensors`.
        External "external",
    } fn name;
}

/// Data with a name. Several values with the same name and data are one weight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Weight {
    /// Fully qualified name or key; without one, the name that `dump` prints.
    pub name: String,
    /// Kind.
    pub kind: WeightKind,
    /// Element type; `None` if it is unknown.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub scalar_type: Option<ScalarType>,
    /// Size of each dimension; `None` if they are unknown.
    pub sizes: Option<Vec<i32>>,
    /// Dimensions from the outermost in memory to the innermost; `None` if they are in order.
    pub dim_order: Option<Vec<u8>>,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of the bytes as stored; `None` if they are in a file that was not given.
    pub sha256: Option<String>,
    /// Location.
    pub location: WeightLocation,
    /// Tag of the `.ptd`, or name of the given file; `None` for data of the program, and for the `.ptd` without a tag.
    pub file: Option<String>,
    /// Offset in the file; `None` if it is unknown.
    pub offset: Option<u64>,
    /// Methods (`forward`) and delegates (`forward/part0`) that use it.
    pub used_by: Vec<String>,
}

/// Equal data that are stored more than once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StoredTwice {
    /// SHA-256 of the bytes.
    pub sha256: String,
    /// Size of one copy in bytes.
    pub bytes: u64,
    /// Names of the weights of each copy.
    pub copies: Vec<StoredCopy>,
}

/// A copy of [`StoredTwice`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StoredCopy {
    /// Weights with these data.
    pub names: Vec<String>,
    /// Location.
    pub location: WeightLocation,
    /// As [`Weight::file`].
    pub file: Option<String>,
    /// As [`Weight::offset`].
    pub offset: Option<u64>,
}

/// All weights of a program and of its `.ptd` files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WeightList {
    /// Constants and states in the order of methods and values, then named data, then the other data of `.ptd` files.
    pub weights: Vec<Weight>,
    /// Equal data that are stored more than once.
    pub stored_twice: Vec<StoredTwice>,
}

/// Group of data. Equal data of a group may be stored once, those of different groups are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DataGroup {
    /// Constants.
    Constants,
    /// Initial states.
    States,
    /// Named data.
    Named,
    /// Data in a `.ptd` of the program.
    External,
}

/// Knowledge of the caller about the values and data of a program.
pub struct Subject<'s> {
    /// Program whose weights are listed.
    pub program: &'s Program,
    /// For each blob the first one that it is stored with, as [`pte_model::data::dedup::find`].
    pub same: &'s [BlobId],
    /// Returns the name of a value of a method that has no fully qualified name.
    pub name: &'s dyn Fn(usize, usize) -> Option<String>,
    /// Returns the offset of a blob in its file.
    pub offset: &'s dyn Fn(DataGroup, BlobId) -> Option<u64>,
    /// True if constants are in the FlatBuffer.
    pub inline_constants: bool,
    /// Keys of given `.ptd` files, with the name of the file and the blob.
    pub given: &'s IndexMap<String, GivenEntry>,
}

/// An entry of a `.ptd` that is given with a program.
#[derive(Debug, Clone)]
pub struct GivenEntry {
    /// Name of the file.
    pub file: String,
    /// Bytes as stored.
    pub data: Blob,
    /// Type and shape, if the data are a tensor.
    pub layout: Option<TensorLayout>,
}

/// Identity of stored data.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Stored {
    Blob(DataGroup, Option<String>, BlobId),
    Given(String, Option<u64>, String),
    Nowhere(String),
}

/// A weight before its data are hashed.
struct Row {
    weight: Weight,
    stored: Stored,
    data: Option<Blob>,
}

/// Returns the name of a value: its fully qualified name, that of the subject, or its index.
pub fn name_of(tensor: &Tensor, method: usize, value: usize, name: &dyn Fn(usize, usize) -> Option<String>) -> String {
    let stated = tensor.name().map(str::to_owned);
    stated.or_else(|| name(method, value)).unwrap_or_else(|| format!("values[{value}]"))
}

/// Returns the name of a delegate in lists: `METHOD/partN`, as `dump` names it.
pub fn delegate_name(program: &Program, method: usize, delegate: usize) -> String {
    let name = program.plans().get(method).and_then(|plan| plan.name.as_deref()).unwrap_or_default();
    format!("{name}/part{delegate}")
}

/// Lists the weights of a program.
///
/// # Errors
/// Data that cannot be read.
pub fn list(subject: &Subject<'_>) -> io::Result<WeightList> {
    let mut rows: IndexMap<(String, Stored), Row> = IndexMap::new();
    add_tensors(subject, &mut rows);
    add_keys(subject, &mut rows);
    let mut rows: Vec<Row> = rows.into_values().collect();
    hash(&mut rows)?;
    let stored_twice = stored_twice(&rows);
    Ok(WeightList { weights: rows.into_iter().map(|row| row.weight).collect(), stored_twice })
}

fn add(rows: &mut IndexMap<(String, Stored), Row>, row: Row) {
    let entry = rows.entry((row.weight.name.clone(), row.stored.clone()));
    match entry {
        indexmap::map::Entry::Occupied(mut found) => {
            let users = &mut found.get_mut().weight.used_by;
            let new = row.weight.used_by.into_iter().filter(|user| !users.contains(user)).collect::<Vec<_>>();
            users.extend(new);
        }
        indexmap::map::Entry::Vacant(entry) => _ = entry.insert(row),
    }
}

fn weight(name: String, kind: WeightKind, layout: Option<&TensorLayout>, bytes: u64) -> Weight {
    let dim_order = layout.map(|layout| &layout.dim_order).filter(|order| !order.is_contiguous());
    Weight {
        name,
        kind,
        scalar_type: layout.map(|layout| layout.scalar_type),
        sizes: layout.map(|layout| layout.sizes.clone()),
        dim_order: dim_order.map(|order| order.to_vec()),
        bytes,
        sha256: None,
        location: WeightLocation::Segment,
        file: None,
        offset: None,
        used_by: Vec::new(),
    }
}

/// Adds constants and states.
fn add_tensors(subject: &Subject<'_>, rows: &mut IndexMap<(String, Stored), Row>) {
    let program = subject.program;
    for (method, plan) in program.plans().iter().enumerate() {
        let user = plan.name.clone().unwrap_or_default();
        for (index, tensor) in plan.tensors() {
            if tensor.data == TensorData::None {
                continue;
            }
            let name = name_of(tensor, method, index, subject.name);
            let kind = if tensor.memory == Memory::None { WeightKind::Constant } else { WeightKind::State };
            let layout = TensorLayout::of(tensor);
            let mut weight = weight(name.clone(), kind, Some(&layout), tensor.nbytes().unwrap_or(0));
            weight.used_by = vec![user.clone()];
            let is_external = tensor.is_external();
            let tag = tensor.extra_tensor_info.as_ref().and_then(|extra| extra.tag.clone());
            let (stored, data) = match tensor.data {
                TensorData::Blob(blob) => {
                    let group = match (is_external, kind) {
                        (true, _) => DataGroup::External,
                        (false, WeightKind::State) => DataGroup::States,
                        (false, _) => DataGroup::Constants,
                    };
                    let same = subject.same[blob.0 as usize];
                    weight.offset = (subject.offset)(group, blob);
                    weight.file = tag.clone().filter(|_| is_external);
                    let data = program.blob(blob);
                    // A view of the first bytes of another constant.
                    let data = if weight.bytes < data.len() {
                        data.part(0, weight.bytes).ok().flatten()
                    } else {
                        Some(data.clone())
                    };
                    (Stored::Blob(group, tag, same), data)
                }
                TensorData::Elsewhere(_) => match subject.given.get(&name) {
                    Some(entry) => {
                        weight.file = Some(entry.file.clone());
                        weight.offset = offset(&entry.data);
                        (Stored::Given(entry.file.clone(), weight.offset, name.clone()), Some(entry.data.clone()))
                    }
                    None => (Stored::Nowhere(name.clone()), None),
                },
                TensorData::None => continue,
            };
            weight.location = match (is_external, subject.inline_constants && kind == WeightKind::Constant) {
                (true, _) => WeightLocation::External,
                (false, true) => WeightLocation::Inline,
                (false, false) => WeightLocation::Segment,
            };
            add(rows, Row { weight, stored, data });
        }
    }
}

/// Returns the offset of data that are a range of a file.
fn offset(data: &Blob) -> Option<u64> {
    if let BlobSource::File { offset, .. } = data.source() { Some(*offset) } else { None }
}

/// Adds named data and the other data of `.ptd` files.
fn add_keys(subject: &Subject<'_>, rows: &mut IndexMap<(String, Stored), Row>) {
    let program = subject.program;
    let users = KeyUsers::of(program);
    let mut row = |key: &str, layout: Option<&TensorLayout>, blob: BlobId, group: DataGroup, tag: Option<&str>| {
        let data = program.blob(blob).clone();
        let kind = match (group, layout) {
            (DataGroup::Named, _) => WeightKind::NamedData,
            (_, Some(_)) => WeightKind::Tensor,
            (_, None) if users.is_used(key) => WeightKind::NamedData,
            (_, None) => WeightKind::Blob,
        };
        let known = layout.cloned().or_else(|| users.layout(key, data.len()));
        let mut weight = weight(key.to_owned(), kind, known.as_ref(), data.len());
        let same = subject.same[blob.0 as usize];
        weight.offset = (subject.offset)(group, blob);
        weight.used_by = users.of_key(key);
        weight.file = tag.map(str::to_owned);
        weight.location = if group == DataGroup::Named { WeightLocation::Segment } else { WeightLocation::External };
        add(rows, Row { weight, stored: Stored::Blob(group, tag.map(str::to_owned), same), data: Some(data) });
    };
    for entry in program.named_data.iter().flatten() {
        row(&entry.key, None, entry.data, DataGroup::Named, None);
    }
    for entry in &program.external_data {
        row(&entry.key, entry.tensor_layout.as_ref(), entry.data, DataGroup::External, entry.tag.as_deref());
    }
    let known: HashSet<String> = rows.keys().map(|(name, _)| name.clone()).collect();
    for (key, GivenEntry { file, data, layout }) in subject.given {
        if known.contains(key) || is_key_of(METADATA, key) {
            continue;
        }
        let kind = match layout {
            Some(_) => WeightKind::Tensor,
            None if users.is_used(key) => WeightKind::NamedData,
            None => WeightKind::Blob,
        };
        let layout = layout.clone().or_else(|| users.layout(key, data.len()));
        let mut weight = weight(key.clone(), kind, layout.as_ref(), data.len());
        (weight.file, weight.offset, weight.location) = (Some(file.clone()), offset(data), WeightLocation::External);
        weight.used_by = users.of_key(key);
        let stored = Stored::Given(file.clone(), weight.offset, key.clone());
        add(rows, Row { weight, stored, data: Some(data.clone()) });
    }
}

/// Delegates by the keys that their graphs refer to.
pub struct KeyUsers {
    users: HashMap<String, Vec<String>>,
    layouts: HashMap<String, TensorLayout>,
}

impl KeyUsers {
    /// Decodes the graphs of a program.
    pub fn of(program: &Program) -> KeyUsers {
        let payloads = Payloads::of_program(program);
        let (mut users, mut layouts): (HashMap<String, Vec<String>>, _) = Default::default();
        for (method, index, delegate) in program.delegates() {
            let Some(graph) = payloads.graph(delegate) else { continue };
            for constant in constants::of(graph) {
                let Some(key) = constant.key else { continue };
                if let ConstantContent::Plain { scalar_type, sizes, .. } = constant.content {
                    HashMap::entry(&mut layouts, key.clone()).or_insert_with(|| TensorLayout::new(scalar_type, sizes));
                }
                let list = users.entry(key).or_default();
                let name = delegate_name(program, method, index);
                if list.last() != Some(&name) {
                    list.push(name);
                }
            }
        }
        KeyUsers { users, layouts }
    }

    /// Returns true if a graph refers to a key.
    pub fn is_used(&self, key: &str) -> bool {
        self.users.contains_key(key)
    }

    /// Returns the delegates whose graphs refer to a key.
    pub fn of_key(&self, key: &str) -> Vec<String> {
        self.users.get(key).cloned().unwrap_or_default()
    }

    /// Returns the type and sizes of data that a graph states, if they have as many bytes.
    fn layout(&self, key: &str, bytes: u64) -> Option<TensorLayout> {
        let layout = self.layouts.get(key)?;
        (nbytes(layout.scalar_type, &layout.sizes) == Some(bytes)).then(|| layout.clone())
    }
}

/// Hashes the data of the rows, each blob once, in parallel. Data that overlap others in a malformed file could
/// otherwise be hashed once per tensor: as many bytes are hashed as the files have, twice.
fn hash(rows: &mut [Row]) -> io::Result<()> {
    let mut distinct: IndexMap<(Stored, u64), Vec<usize>> = IndexMap::new();
    for (number, row) in rows.iter().enumerate().filter(|(_, row)| row.data.is_some()) {
        distinct.entry((row.stored.clone(), row.weight.bytes)).or_default().push(number);
    }
    let mut left = available(rows.iter().filter_map(|row| row.data.as_ref())).saturating_mul(2);
    let jobs = distinct.into_values().map(|rows| (rows[0], rows));
    let jobs = jobs.filter(|(first, _)| {
        let rest = left.checked_sub(rows[*first].weight.bytes);
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    let jobs: Vec<(usize, Vec<usize>)> = jobs.collect();
    let digests = workers::map(jobs, workers::cores(), |(first, users)| {
        (users, rows[first].data.as_ref().map(Blob::digest).transpose())
    });
    for (users, digest) in digests {
        let text = digest?.map(|digest| HEXLOWER.encode(&digest));
        users.into_iter().for_each(|row| rows[row].weight.sha256.clone_from(&text));
    }
    Ok(())
}

/// Finds equal data that are stored more than once.
fn stored_twice(rows: &[Row]) -> Vec<StoredTwice> {
    let mut by_hash: IndexMap<(&str, u64), BTreeMap<usize, StoredCopy>> = IndexMap::new();
    let mut order: HashMap<&Stored, usize> = HashMap::new();
    for row in rows {
        let Some(hash) = row.weight.sha256.as_deref().filter(|_| row.weight.bytes > 0) else { continue };
        let next = order.len();
        let number = *order.entry(&row.stored).or_insert(next);
        let Weight { location, file, offset, .. } = &row.weight;
        let copy = || StoredCopy { names: Vec::new(), location: *location, file: file.clone(), offset: *offset };
        let copy = by_hash.entry((hash, row.weight.bytes)).or_default().entry(number).or_insert_with(copy);
        copy.names.push(row.weight.name.clone());
    }
    let several = by_hash.into_iter().filter(|(_, copies)| copies.len() > 1);
    let several = several.map(|((hash, bytes), copies)| {
        let mut copies: Vec<StoredCopy> = copies.into_values().collect();
        // A key of a given .ptd has an offset; several keys at one offset are one copy.
        let mut seen: HashSet<(Option<String>, u64)> = HashSet::new();
        copies.retain(|copy| {
            let Some(offset) = copy.offset.filter(|_| copy.location == WeightLocation::External) else { return true };
            seen.insert((copy.file.clone(), offset))
        });
        StoredTwice { sha256: hash.to_owned(), bytes, copies }
    });
    several.filter(|twice| twice.copies.len() > 1).collect()
}
