//! Replaces the payload of a delegate, with the named data that it refers to (`payload replace`).

use std::collections::{HashMap, HashSet};
use std::io;

use data_encoding::HEXLOWER;
use serde::Serialize;

use crate::weights::delegate_name;
use pte_model::data::Blob;
use pte_model::diagnostics::{clipped, first_names, text::nearest};
use pte_model::program::{DelegateLocation, NamedData, Program};
use pte_xnnpack::model::{Container, Graph};
use pte_xnnpack::payloads::Payloads;
use pte_xnnpack::{constants, decode, encode};

/// A payload with the data that it refers to by keys.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPayload {
    /// Bytes of the new payload.
    pub data: Blob,
    /// Keys with their data.
    pub named_data: Vec<(String, Blob)>,
}

/// Result of [`replace`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PayloadChange {
    /// Name of the payload: `METHOD/DELEGATE`.
    pub payload: String,
    /// Former size in bytes.
    pub old_bytes: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Keys of named data that were added.
    pub added: Vec<String>,
    /// Keys of named data that were removed, because no delegate refers to them any more.
    pub removed: Vec<String>,
    /// Keys of named data that were kept, because delegates of other backends may refer to them.
    pub kept: Vec<String>,
}

/// Value of [`pte_xnnpack::model::Constant::offset`] of named data.
const NAMED: u64 = u64::MAX;

/// Returns a payload whose constants are named data. Their keys are the SHA-256 of their bytes, as the exporter has
/// them.
///
/// # Errors
/// The data of a constant cannot be read, or the graph cannot be encoded.
pub fn with_named_constants(mut graph: Graph) -> io::Result<NewPayload> {
    let mut named_data: Vec<(String, Blob)> = Vec::new();
    if graph.container == Container::Header {
        for constant in graph.constants.iter_mut().filter(|constant| constant.is_inside()) {
            let data = std::mem::replace(&mut constant.data, Blob::bytes([]));
            let key = key_of(&data)?;
            (constant.key, constant.offset) = (Some(key.clone()), NAMED);
            named_data.push((key, data));
        }
        graph.constants_len = 0;
    }
    Ok(NewPayload { data: encode::encode(&graph)?, named_data })
}

/// Returns the key of the exporter for the constants of XNNPACK delegates.
///
/// # Errors
/// The data cannot be read.
pub fn key_of(data: &Blob) -> io::Result<String> {
    data.digest().map(|digest| HEXLOWER.encode(&digest))
}

/// Replaces the payload of a delegate. `given` are the keys of `.ptd` files that are loaded with the program.
///
/// # Errors
/// There is no such delegate; the payload refers to keys that neither the program nor the given files have, or a key is
/// in use for other data. All are reported.
pub fn replace(
    program: &mut Program,
    location: DelegateLocation,
    new: NewPayload,
    given: &HashSet<String>,
) -> Result<PayloadChange, Vec<String>> {
    let name = delegate_name(program, location.method, location.delegate);
    let replaced = program.delegate(location).ok_or_else(|| vec![format!("unknown payload `{name}`")])?;
    let old = replaced.processed;
    let mut change = PayloadChange {
        payload: name,
        old_bytes: program.blob(old).len(),
        bytes: new.data.len(),
        ..PayloadChange::default()
    };
    let old_keys = Payloads::of_program(program).graph(replaced).map(graph_keys).unwrap_or_default();
    let new_keys = decode::decode(&new.data).ok().map(|graph| graph_keys(&graph)).unwrap_or_default();
    let payload = program.add_blob(new.data);
    let delegates = program.plans_mut()[location.method].delegates.as_mut();
    delegates.into_iter().for_each(|list| list[location.delegate].processed = payload);
    // Of the delegates after the replacement.
    let payloads = Payloads::of_program(program);
    let users = payloads.keys();
    let is_opaque = |key: &str| !users.refer_to(key) && users.may_refer_to(key);
    let own: HashSet<&str> = new.named_data.iter().map(|(key, _)| key.as_str()).collect();
    let others = other_keys(program, &payloads, location);
    let mut problems = missing_keys(program, &new_keys, &own, given);
    let (mut at, mut list) = (None, Vec::new());
    for entry in program.named_data.take().unwrap_or_default() {
        let is_old = old_keys.contains(&entry.key);
        if is_old && at.is_none() {
            at = Some(list.len());
        }
        if is_old && !users.refer_to(&entry.key) {
            match is_opaque(&entry.key) {
                true => change.kept.push(entry.key.clone()),
                false => {
                    change.removed.push(entry.key);
                    continue;
                }
            }
        }
        list.push(entry);
    }
    let mut known: HashMap<String, usize> =
        list.iter().enumerate().map(|(at, entry)| (entry.key.clone(), at)).collect();
    let mut added = Vec::new();
    for (key, data) in new.named_data {
        match known.get(&key).and_then(|at| list.get(*at).map(|entry| (*at, entry.data))) {
            Some((_, same)) if is_same(program.blob(same), &data) => {}
            Some(_) if others.contains(&key) => {
                problems.push(format!("the key `{}` is in use for other data, by another delegate", clipped(&key)));
            }
            Some((at, _)) => list[at].data = program.add_blob(data),
            None if known.contains_key(&key) => {}
            None => {
                known.insert(key.clone(), usize::MAX);
                change.added.push(key.clone());
                added.push(NamedData::new(key, program.add_blob(data)));
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let at = at.unwrap_or(list.len());
    list.splice(at..at, added);
    program.named_data = Some(list).filter(|list| !list.is_empty());
    Ok(change)
}

/// Returns the keys that a graph refers to.
fn graph_keys(graph: &Graph) -> HashSet<String> {
    constants::keys(graph).map(str::to_owned).collect()
}

/// Returns the keys that other delegates refer to.
fn other_keys(program: &Program, payloads: &Payloads, location: DelegateLocation) -> HashSet<String> {
    let mut keys = HashSet::new();
    let is_other = |method, delegate| DelegateLocation { method, delegate } != location;
    for (.., other) in program.delegates().filter(|(method, index, _)| is_other(*method, *index)) {
        keys.extend(payloads.graph(other).into_iter().flat_map(graph_keys));
    }
    keys
}

fn is_same(one: &Blob, other: &Blob) -> bool {
    one == other
        || (one.len() == other.len() && matches!((one.digest(), other.digest()), (Ok(one), Ok(other)) if one == other))
}

/// Returns messages about the keys of a payload that are nowhere.
fn missing_keys(
    program: &Program,
    keys: &HashSet<String>,
    own: &HashSet<&str>,
    given: &HashSet<String>,
) -> Vec<String> {
    let named = program.named_data.iter().flatten().map(|entry| entry.key.as_str());
    let external = program.external_data.iter().map(|entry| entry.key.as_str());
    let known: HashSet<&str> = named.chain(external).chain(given.iter().map(String::as_str)).collect();
    let mut missing: Vec<&String> =
        keys.iter().filter(|key| !known.contains(&***key) && !own.contains(&***key)).collect();
    missing.sort_unstable();
    let mut names: Vec<&str> = known.into_iter().collect();
    names.sort_unstable();
    let message = |key: &&String| {
        let hint = match nearest(key, names.iter().copied().take(1000)) {
            Some(name) => format!("did you mean `{}`?", clipped(name)),
            None if names.is_empty() => "the program has no named data; pass the .ptd with `--with`".to_owned(),
            None => format!("there are {}; pass the .ptd with `--with`", first_names(names.iter().copied())),
        };
        format!(
            "the payload refers to the key `{}`, which is not in the named data of the program: {hint}",
            clipped(key)
        )
    };
    missing.iter().take(20).map(message).collect()
}
