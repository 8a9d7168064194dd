//! Reduces the graphs in the payloads of XNNPACK delegates: removes operations, and replaces constants by zeros.
//!
//! The arguments of a delegate do not change: an operation that writes one is kept.

use std::collections::BTreeSet;

use super::candidate::{Candidate, Reduction, zeros_of};
use super::search::Stopped;
use pte_model::data::{Blob, BlobId};
use pte_model::program::{BackendDelegate, NamedData};
use pte_xnnpack::draft::{ConstantSource, Draft, DraftConstant, DraftField, DraftNode, DraftValue};
use pte_xnnpack::model::{Container, NodeOperation};
use pte_xnnpack::{FORMATS, NAME};

/// Maximum size in bytes of the zeros that replace results in a graph.
const MAX_ZEROS: u64 = 1 << 30;

/// Removes operations and constants of all graphs.
pub fn reduce(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    for payload in payloads(&reduction.best) {
        let Some(draft) = decode(&reduction.best, payload) else { continue };
        let removable = removable(&draft);
        reduction.minimize(removable.len(), |base, kept| {
            let removed = removable.iter().zip(kept).filter(|(_, kept)| !**kept).map(|(node, _)| *node).collect();
            with_graph(base, payload, &without(&draft, &removed))
        })?;
        let Some(draft) = decode(&reduction.best, payload) else { continue };
        let count = constants(&mut draft.clone()).count();
        reduction.minimize(count, |base, kept| {
            let mut draft = draft.clone();
            for (data, _) in constants(&mut draft).zip(kept).filter(|(_, kept)| !**kept) {
                *data = zeros_of(data.len(), data.copy);
            }
            with_graph(base, payload, &draft)
        })?;
    }
    Ok(())
}

/// Returns the payloads of XNNPACK delegates.
fn payloads(candidate: &Candidate) -> BTreeSet<BlobId> {
    let delegates = candidate.program.plans().iter().flat_map(|plan| plan.delegates());
    let is_graph = |delegate: &&BackendDelegate| {
        let backend = delegate.id.as_deref().unwrap_or_default();
        let format = FORMATS.format_of(backend, candidate.program.blob(delegate.processed));
        format.is_ok_and(|format| format.is_some_and(|format| format.name() == NAME))
    };
    delegates.filter(is_graph).map(|delegate| delegate.processed).collect()
}

/// Returns the graph of a payload; `None` if it is malformed, or has operations whose operands are unknown.
fn decode(candidate: &Candidate, payload: BlobId) -> Option<Draft> {
    let draft = Draft::read(candidate.program.blob(payload)).ok()?;
    let is_known = |node: &DraftNode| matches!(node.operation, NodeOperation::Known(_)) && node.extra.is_empty();
    draft.nodes.iter().all(is_known).then_some(draft)
}

/// Returns a candidate with another graph, or with an empty payload if constants of the graph cannot be read.
fn with_graph(base: &Candidate, payload: BlobId, draft: &Draft) -> Candidate {
    let mut candidate = base.clone();
    draft.values.iter().for_each(|value| add_zeros(&mut candidate, value));
    let copy = candidate.program.blob(payload).copy;
    let encoded = draft.encode().unwrap_or_else(|_| Blob::bytes([]));
    candidate.program.blobs[payload.0 as usize] = Blob { copy, ..encoded };
    candidate
}

/// Alignment in bytes of constants in named data, which the exporter requests.
const ALIGNMENT: u64 = 16;

/// Returns the key of named data of zeros that replace the results of operations.
fn zeros_key(bytes: u64) -> String {
    format!("zeros_of_{bytes}_bytes")
}

/// Adds the zeros of a value to the named data.
fn add_zeros(candidate: &mut Candidate, value: &DraftValue) {
    let Some(DraftConstant { source: ConstantSource::Key(key), .. }) = &value.constant else { return };
    if *key != zeros_key(value.nbytes()) {
        return;
    }
    let program = &mut candidate.program;
    if program.named_data.iter().flatten().all(|entry| entry.key != *key) {
        let zeros = NamedData::new(key, program.add_blob(zeros_of(value.nbytes(), 0)));
        program.named_data.get_or_insert_default().push(NamedData { alignment: ALIGNMENT, ..zeros });
    }
}

/// Returns the operations that write no argument of the delegate.
fn removable(draft: &Draft) -> Vec<usize> {
    let mut left = MAX_ZEROS;
    let mut is_removable = |node: &DraftNode| {
        node.values(true).all(|value| {
            let rest = left.checked_sub(draft.values[value].nbytes());
            left = rest.unwrap_or(left);
            rest.is_some() && !draft.outputs.contains(&value)
        })
    };
    (0..draft.nodes.len()).filter(|node| is_removable(&draft.nodes[*node])).collect()
}

/// Removes operations. Results that are still read become constants of zeros; unused values are removed.
fn without(draft: &Draft, removed: &BTreeSet<usize>) -> Draft {
    let mut draft = draft.clone();
    let mut written = BTreeSet::new();
    let mut nodes = Vec::new();
    for (index, node) in draft.nodes.drain(..).enumerate() {
        match removed.contains(&index) {
            true => written.extend(node.values(true)),
            false => nodes.push(node),
        }
    }
    draft.nodes = nodes;
    let mut used: BTreeSet<usize> = draft.inputs.iter().chain(&draft.outputs).copied().collect();
    used.extend(draft.nodes.iter().flat_map(|node| node.values(false).chain(node.values(true))));
    // The runtime frees a payload in a segment after loading, so that only weights can be there.
    let has_keys = draft.has_named_keys && draft.container == Container::Header;
    for value in written.intersection(&used) {
        let value = &mut draft.values[*value];
        let source = match has_keys {
            true => ConstantSource::Key(zeros_key(value.nbytes())),
            false => ConstantSource::Data(zeros_of(value.nbytes(), 0)),
        };
        value.constant = Some(DraftConstant { source, size: None });
    }
    let mut positions = vec![None; draft.values.len()];
    used.iter().zip(0..).for_each(|(value, position)| positions[*value] = Some(position));
    let mut index = 0..;
    draft.values.retain(|_| index.next().is_some_and(|index: usize| positions[index].is_some()));
    // All that are left refer to values that are used.
    let moved = |value: &mut usize| *value = positions[*value].unwrap_or_default();
    draft.inputs.iter_mut().chain(&mut draft.outputs).for_each(moved);
    for field in draft.nodes.iter_mut().flat_map(|node| &mut node.fields) {
        if let DraftField::Value(value) = field {
            match positions[*value] {
                Some(position) => *value = position,
                // The operation does not use this field.
                None => *field = DraftField::NoValue,
            }
        }
    }
    draft
}

/// Returns the constants in the payload of a graph that are not zeros.
fn constants(draft: &mut Draft) -> impl Iterator<Item = &mut Blob> {
    let all = draft.values.iter_mut().flat_map(constants_of).flatten();
    let data = all.filter_map(|constant| match &mut constant.source {
        ConstantSource::Data(data) => Some(data),
        ConstantSource::Key(_) => None,
    });
    data.filter(|data| !data.is_empty() && **data != zeros_of(data.len(), data.copy))
}

/// Returns the content and the scales of a value.
fn constants_of(value: &mut DraftValue) -> [Option<&mut DraftConstant>; 2] {
    let scales = value.quantization.as_mut().and_then(|quantization| quantization.scales.as_mut());
    [value.constant.as_mut(), scales]
}
