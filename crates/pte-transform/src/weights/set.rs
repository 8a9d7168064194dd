//! Replaces the bytes of constants by those of tensors with the same names (`weights set`).
//!
//! [`find`] assigns sources to constants and reports everything that does not fit; [`apply`] replaces the data. Bytes
//! are read when the files are written.
//!
//! Constants that share data are set one by one: one whose name has no source keeps its bytes, even if another with the
//! same data is set.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::changes::{Replacement, Target};
pub use super::changes::{
    UnsetWeight, UnsettableWeight, UnusedSource, WeightAssignment, WeightChanges, WeightMismatch,
};
use super::source::SourceTensor;
use super::{KeyUsers, delegate_name, name_of};
use crate::externalize::tensor_mut;
use crate::pattern::NameMap;
use pte_model::data::{Blob, BlobId, dedup};
use pte_model::diagnostics::{clipped, text::nearest};
use pte_model::format::DimOrder;
use pte_model::format::safetensors::{METADATA, is_key_of};
use pte_model::program::{Memory, Program, Tensor, TensorData, TensorLayout};
use pte_xnnpack::constants::{self, ConstantContent};
use pte_xnnpack::payloads::Payloads;

/// A name of a constant in the source, other than its own: that of a tensor with its old bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundName {
    /// Name in the source.
    pub name: String,
    /// The constant is the transposed tensor.
    pub is_transposed: bool,
}

/// A program whose weights are set, or a `.ptd` of it.
pub struct SetSubject<'s> {
    /// Program whose constants are set.
    pub program: &'s Program,
    /// Returns the name of a value of a method that has no fully qualified name.
    pub name: &'s dyn Fn(usize, usize) -> Option<String>,
}

/// Rules by which constants are found in a source.
pub struct SetRequest<'r> {
    /// Names of constants to names in the source.
    pub map: &'r NameMap,
    /// Returns the names in the source that a constant with this layout and these data can have, if no rule of `map`
    /// applies.
    pub found: &'r dyn Fn(&TensorLayout, &Blob) -> Vec<FoundName>,
}

impl SetRequest<'_> {
    /// Returns the tensor of the source that a constant with these names, layout and data is set to. Tensors of other
    /// names with the same bytes, before and after, are used with it.
    ///
    /// # Errors
    /// The names of the source that it can have, if there are several; empty if there is none.
    pub(super) fn source(
        &self,
        names: &[String],
        constant: (&TensorLayout, &Blob),
        sources: &[SourceTensor],
        by_name: &HashMap<&str, usize>,
        used: &mut [bool],
    ) -> Result<(FoundName, usize), Vec<String>> {
        let own = |name: &String| FoundName { name: name.clone(), is_transposed: false };
        let at = |found: &FoundName| by_name.get(&*found.name).copied();
        let ruled = names.iter().find_map(|name| self.map.rules.iter().find_map(|rule| rule.apply(name)));
        let found = ruled.map_or_else(|| (self.found)(constant.0, constant.1), |name| vec![own(&name)]);
        let chosen = match &found[..] {
            [] => names.iter().map(own).find(|own| at(own).is_some()),
            [one] => Some(one.clone()),
            [first, ..] => {
                // What has one of their names is that one, unless its transposition has the same bytes.
                let named = names.iter().map(own).find(|own| found.iter().filter(|one| one.name == own.name).eq([own]));
                let new = |found: &FoundName| {
                    let SourceTensor { layout, data, .. } = &sources[at(found)?];
                    Some((layout, data.digest().ok()?, found.is_transposed))
                };
                let is_equal = || {
                    new(first).is_some_and(|new_first| found.iter().all(|one| new(one).as_ref() == Some(&new_first)))
                };
                if named.is_none() && is_equal() {
                    found.iter().filter_map(at).for_each(|source| used[source] = true);
                    Some(first.clone())
                } else if named.is_none() {
                    return Err(found.into_iter().map(|found| found.name).collect());
                } else {
                    named
                }
            }
        };
        let found = chosen.and_then(|chosen| at(&chosen).map(|source| (chosen, source)));
        let (chosen, source) = found.ok_or_else(Vec::new)?;
        used[source] = true;
        Ok((chosen, source))
    }
}

/// Type and sizes for messages.
pub fn shape(layout: &TensorLayout) -> String {
    let sizes: Vec<String> = layout.sizes.iter().map(i32::to_string).collect();
    format!("{} [{}]", layout.scalar_type, sizes.join(", "))
}

/// A constant, or another tensor with a name.
struct Candidate {
    file: usize,
    target: Target,
    name: String,
    layout: TensorLayout,
    /// The data that are replaced.
    blob: BlobId,
    /// It has only the first bytes of the data.
    is_view: bool,
}

/// Assigns the tensors of a source to the constants of a program and to the tensors of its `.ptd` files.
pub fn find(subjects: &[SetSubject<'_>], sources: Vec<SourceTensor>, request: &SetRequest<'_>) -> WeightChanges {
    let mut changes = WeightChanges::default();
    let mut candidates = Vec::new();
    for (file, subject) in subjects.iter().enumerate() {
        add_candidates(file, subject, &mut candidates);
    }
    let known: HashSet<&str> = candidates.iter().map(|candidate| candidate.name.as_str()).collect();
    subjects.iter().for_each(|subject| report_unsettable(subject, &known, &mut changes));
    let by_name: HashMap<&str, usize> =
        sources.iter().enumerate().map(|(index, source)| (source.name.as_str(), index)).collect();
    let mut used = vec![false; sources.len()];
    let mut unset: Vec<(&Candidate, Vec<String>)> = Vec::new();
    let mut seen: HashSet<(&str, usize, BlobId)> = HashSet::new();
    for candidate in &candidates {
        let is_first = seen.insert((&candidate.name, candidate.file, candidate.blob));
        let data = subjects[candidate.file].program.blob(candidate.blob);
        let names = std::slice::from_ref(&candidate.name);
        let found = request.source(names, (&candidate.layout, data), &sources, &by_name, &mut used);
        let (found, source) = match found {
            Ok(found) => found,
            Err(ambiguous) => {
                if is_first && !candidate.is_view {
                    unset.push((candidate, ambiguous));
                }
                continue;
            }
        };
        match assignment(&candidate.name, &candidate.layout, &sources[source], found.is_transposed, data.len()) {
            Ok(assignment) => {
                let (file, target, is_transposed) = (candidate.file, candidate.target, found.is_transposed);
                changes.moves.push(Replacement { file, target, source, is_transposed });
                if is_first {
                    changes.set.push(assignment);
                }
            }
            Err(mismatch) if is_first => changes.mismatches.push(mismatch),
            Err(_) => {}
        }
    }
    report_rest(subjects, &mut changes, &candidates, &unset, &sources, &used);
    let rules = request.map.unused(known);
    changes.unused_rules = rules.into_iter().map(|rule| request.map.rules[rule].to_string()).collect();
    changes.sources = sources;
    changes
}

/// Adds the tensors whose data are in a file.
fn add_candidates(file: usize, subject: &SetSubject<'_>, candidates: &mut Vec<Candidate>) {
    let program = subject.program;
    for (method, index, tensor) in program.tensors() {
        let TensorData::Blob(blob) = tensor.data else { continue };
        let is_view = tensor.nbytes().is_some_and(|bytes| bytes < program.blob(blob).len());
        let (target, layout) = (Target::Value(method, index), TensorLayout::of(tensor));
        let name = name_of(tensor, method, index, subject.name);
        candidates.push(Candidate { file, target, name, layout, blob, is_view });
    }
    for (number, entry) in program.external_data.iter().enumerate() {
        let Some(layout) = entry.tensor_layout.clone() else { continue };
        let (target, name, blob) = (Target::External(number), entry.key.clone(), entry.data);
        candidates.push(Candidate { file, target, name, layout, blob, is_view: false });
    }
}

/// Reports the data that cannot be set by the name of a tensor. `known` are the names that can.
fn report_unsettable(subject: &SetSubject<'_>, known: &HashSet<&str>, changes: &mut WeightChanges) {
    let program = subject.program;
    let mut reported: HashSet<String> = HashSet::new();
    for (method, index, tensor) in program.tensors() {
        let TensorData::Elsewhere(_) = tensor.data else { continue };
        let name = name_of(tensor, method, index, subject.name);
        if !known.contains(&*name) && reported.insert(name.clone()) {
            let reason = "its data are in a .ptd; pass the file with `--with`".to_owned();
            changes.unsettable.push(UnsettableWeight { name, reason });
        }
    }
    let users = KeyUsers::of(program);
    let external = program.external_data.iter().filter(|entry| entry.tensor_layout.is_none()).map(|entry| &entry.key);
    let named = program.named_data.iter().flatten().map(|entry| &entry.key);
    for key in external.chain(named).filter(|key| !is_key_of(METADATA, key)) {
        let reason = match users.of_key(key).first() {
            Some(delegate) => format!("it belongs to the delegate {delegate}; `payload replace --weights` sets it"),
            None => "it is data without a type and sizes, of a delegate".to_owned(),
        };
        changes.unsettable.push(UnsettableWeight { name: key.clone(), reason });
    }
    report_payloads(program, changes);
}

/// Reports constants inside of payloads.
fn report_payloads(program: &Program, changes: &mut WeightChanges) {
    let payloads = Payloads::of_program(program);
    for (method, index, delegate) in program.delegates() {
        let name = delegate_name(program, method, index);
        let reason = match payloads.graph(delegate) {
            Some(graph) => {
                let inside = constants::of(graph).into_iter().filter(|constant| constant.key.is_none());
                let (count, packed) = inside.fold((0, 0), |(count, packed), constant| match constant.content {
                    ConstantContent::Plain { .. } | ConstantContent::Unknown => (count + 1, packed),
                    ConstantContent::Quantized(_) | ConstantContent::Scales => (count + 1, packed + 1),
                });
                match (count, packed) {
                    (0, _) => continue,
                    (_, 0) => "its constants are in the payload; `payload replace --weights` sets them".to_owned(),
                    _ => "its constants are in the payload, and quantized".to_owned(),
                }
            }
            None => format!(
                "the payload of {} is opaque: the layout of its weights is not known",
                clipped(delegate.id.as_deref().unwrap_or("an unnamed backend"))
            ),
        };
        changes.unsettable.push(UnsettableWeight { name, reason });
    }
}

/// Returns the change that sets a constant of `stored` bytes, or the reason why it cannot be set.
pub(super) fn assignment(
    name: &str,
    expected: &TensorLayout,
    source: &SourceTensor,
    is_transposed: bool,
    stored: u64,
) -> Result<WeightAssignment, WeightMismatch> {
    let found = if is_transposed { transposed(&source.layout) } else { source.layout.clone() };
    let mismatch = |reason: &str| WeightMismatch {
        name: name.to_owned(),
        source: source.name.clone(),
        found: shape(&source.layout),
        expected: shape(expected),
        reason: reason.to_owned(),
    };
    if found.scalar_type != expected.scalar_type {
        let is_quantized = found.scalar_type.is_differentiable() && !expected.scalar_type.is_differentiable();
        return Err(mismatch(if is_quantized { "the constant is quantized: set it to quantized data" } else { "" }));
    }
    if found.sizes != expected.sizes {
        let (mut one, mut other) = (found.sizes.clone(), expected.sizes.clone());
        one.sort_unstable();
        other.sort_unstable();
        let reason = match (one == other, found.sizes.len() == expected.sizes.len()) {
            (true, _) => "the sizes are in another order: the exporter folded a transposition",
            (false, true) => "",
            (false, false) => "the number of dimensions differs: the exporter folded a view",
        };
        return Err(mismatch(reason));
    }
    if source.data.len() != stored {
        return Err(mismatch("the constant is a view of a part of other data"));
    }
    Ok(WeightAssignment {
        name: name.to_owned(),
        source: source.name.clone(),
        shape: shape(expected),
        bytes: stored,
        reordered: found.dim_order != expected.dim_order && expected.sizes.len() > 1,
        transposed: is_transposed,
    })
}

/// Returns the layout of the same bytes with the order of the dimensions reversed.
pub(super) fn transposed(layout: &TensorLayout) -> TensorLayout {
    let mut swapped = layout.clone();
    swapped.sizes.reverse();
    let last = swapped.sizes.len().saturating_sub(1) as u8;
    swapped.dim_order = layout.dim_order.iter().map(|dim| last.saturating_sub(*dim)).collect::<Vec<u8>>().into();
    swapped
}

/// Reports constants and sources that do not belong to each other, with the nearest names.
fn report_rest(
    subjects: &[SetSubject<'_>],
    changes: &mut WeightChanges,
    candidates: &[Candidate],
    unset: &[(&Candidate, Vec<String>)],
    sources: &[SourceTensor],
    used: &[bool],
) {
    let (unset, ambiguous): (Vec<&Candidate>, Vec<&Vec<String>>) =
        unset.iter().map(|(candidate, names)| (*candidate, names)).unzip();
    let unused: Vec<&SourceTensor> =
        sources.iter().zip(used).filter(|(_, is_used)| !**is_used).map(|(source, _)| source).collect();
    let shared = shared_with(subjects, &changes.set, candidates, &unset);
    changes.unset = unset
        .iter()
        .enumerate()
        .map(|(number, candidate)| {
            let names = unused.iter().map(|source| source.name.as_str());
            UnsetWeight {
                name: candidate.name.clone(),
                shape: shape(&candidate.layout),
                nearest: suggestion(number, &candidate.name, names),
                shares_with: shared.get(&number).map(|name| (*name).to_owned()),
                ambiguous: ambiguous[number].clone(),
            }
        })
        .collect();
    let mut by_sizes: BTreeMap<Vec<i32>, &str> = BTreeMap::new();
    for candidate in &unset {
        let mut sizes = candidate.layout.sizes.clone();
        sizes.sort_unstable();
        by_sizes.entry(sizes).or_insert(&candidate.name);
    }
    changes.unused = unused
        .iter()
        .enumerate()
        .map(|(number, source)| {
            let mut sizes = source.layout.sizes.clone();
            sizes.sort_unstable();
            let names = unset.iter().map(|candidate| candidate.name.as_str());
            let is_large = sizes.len() > 1;
            UnusedSource {
                name: source.name.clone(),
                shape: shape(&source.layout),
                nearest: suggestion(number, &source.name, names),
                transposed: by_sizes.get(&sizes).filter(|_| is_large).map(|name| (*name).to_owned()),
            }
        })
        .collect();
}

/// Returns, for constants without a source by their index, the name of one with the same data that is set. Data that
/// cannot be read are not compared.
fn shared_with<'c>(
    subjects: &[SetSubject<'_>],
    set: &[WeightAssignment],
    candidates: &'c [Candidate],
    unset: &[&'c Candidate],
) -> HashMap<usize, &'c str> {
    let names: HashSet<&str> = set.iter().map(|set| set.name.as_str()).collect();
    let of_set = candidates.iter().filter(|candidate| names.contains(&*candidate.name));
    let all: Vec<&Candidate> = of_set.chain(unset.iter().copied()).collect();
    let first_unset = all.len() - unset.len();
    let blob =
        |candidate: &&Candidate| Blob { copy: 0, ..subjects[candidate.file].program.blob(candidate.blob).clone() };
    let blobs: Vec<Blob> = if unset.is_empty() { Vec::new() } else { all.iter().map(blob).collect() };
    let same = dedup::find(&blobs).unwrap_or_default();
    let shared = same.iter().enumerate().skip(first_unset).map(|(at, same)| (at - first_unset, same.0 as usize));
    shared.filter(|(_, same)| *same < first_unset).map(|(at, same)| (at, all[same].name.as_str())).collect()
}

/// Returns the name that is nearest to the unknown name with this number. Names are compared with each other: only the
/// first unknown ones have suggestions, and only short names are suggested.
pub(super) fn suggestion<'n>(number: usize, unknown: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    const MAX_UNKNOWN: usize = 20;
    const MAX_NAMES: usize = 10_000;
    const MAX_LENGTH: usize = 200;
    if number >= MAX_UNKNOWN || unknown.len() > MAX_LENGTH {
        return None;
    }
    nearest(unknown, names.take(MAX_NAMES).filter(|name| name.len() <= MAX_LENGTH)).map(str::to_owned)
}

/// Replaces the data of the program with index `file` as [`find`] reports. Views of a constant that is set, which have
/// no source of their own, follow it.
pub fn apply(program: &mut Program, file: usize, changes: &WeightChanges) {
    let mut new: HashMap<(usize, bool, DimOrder, u32), BlobId> = HashMap::new();
    let mut replaced: HashMap<(usize, BlobId), BlobId> = HashMap::new();
    let mut targets: HashSet<(usize, usize)> = HashSet::new();
    for Replacement { target, source, is_transposed, .. } in changes.moves.iter().filter(|to| to.file == file) {
        let (old, layout) = match *target {
            Target::Value(method, value) => {
                let tensor = program.plans()[method].values()[value].as_tensor();
                let Some(Tensor { data: TensorData::Blob(old), .. }) = tensor else { continue };
                (*old, tensor.map(TensorLayout::of))
            }
            Target::External(number) => {
                let entry = &program.external_data[number];
                (entry.data, entry.tensor_layout.clone())
            }
        };
        let Some(layout) = layout else { continue };
        let copy = program.blob(old).copy;
        let key = (*source, *is_transposed, layout.dim_order.clone(), copy);
        let blob = *new.entry(key).or_insert_with(|| {
            let SourceTensor { layout: from, data, .. } = &changes.sources[*source];
            let from = if *is_transposed { transposed(from) } else { from.clone() };
            let element = layout.scalar_type.element_size();
            let data = data.clone().reordered(element, &layout.sizes, &from.dim_order, &layout.dim_order);
            program.add_blob(Blob { copy, ..data })
        });
        match *target {
            Target::Value(method, value) => {
                tensor_mut(program, method, value).into_iter().for_each(|tensor| tensor.data = TensorData::Blob(blob));
                replaced.entry((method, old)).or_insert(blob);
                targets.insert((method, value));
            }
            Target::External(number) => program.external_data[number].data = blob,
        }
    }
    for (method, plan) in program.execution_plan.iter_mut().flatten().enumerate() {
        for (index, tensor) in plan.tensors_mut() {
            let TensorData::Blob(old) = tensor.data else { continue };
            let is_view = tensor.memory == Memory::None
                && !targets.contains(&(method, index))
                && tensor.nbytes().is_some_and(|bytes| bytes < program.blobs[old.0 as usize].len());
            if let Some(blob) = replaced.get(&(method, old)).filter(|_| is_view) {
                tensor.data = TensorData::Blob(*blob);
            }
        }
    }
}
