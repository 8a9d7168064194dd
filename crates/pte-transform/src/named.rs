//! Named data that delegates refer to: the graphs of XNNPACK delegates have their keys. Payloads of other backends are
//! opaque: any key can be theirs.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use pte_model::data::{Blob, BlobId, BlobSource};
use pte_model::program::Program;
use pte_xnnpack::model::Graph;
use pte_xnnpack::{BACKEND, constants, decode};

/// Graphs of the XNNPACK delegates of a program, by payload.
#[derive(Debug, Default)]
pub struct DelegateGraphs {
    /// Each distinct payload with its graph; `None` if it is of another backend, or not decoded.
    graphs: IndexMap<BlobId, Option<Graph>>,
}

impl DelegateGraphs {
    /// Decodes the payloads of the XNNPACK delegates. Payloads that share bytes are decoded as far as their total size
    /// is that of the data.
    pub fn of(program: &Program) -> DelegateGraphs {
        let delegates = || program.plans().iter().flat_map(|plan| plan.delegates());
        let mut left = available(delegates().map(|delegate| program.blob(delegate.processed)));
        let mut graphs = IndexMap::new();
        for delegate in delegates() {
            graphs.entry(delegate.processed).or_insert_with(|| {
                let payload = program.blob(delegate.processed);
                left = left.checked_sub(payload.len())?;
                (delegate.id.as_deref() == Some(BACKEND)).then(|| decode::decode(payload).ok()).flatten()
            });
        }
        DelegateGraphs { graphs }
    }

    /// Returns the graph of a payload; `None` if it is unknown.
    pub fn graph(&self, payload: BlobId) -> Option<&Graph> {
        self.graphs.get(&payload)?.as_ref()
    }

    /// Returns true if there are delegates, and no payload is opaque.
    pub fn are_complete(&self) -> bool {
        self.graphs.values().all(Option::is_some)
    }

    /// Returns the keys that delegates refer to.
    pub fn keys(&self) -> DelegateKeys {
        let keys = self.graphs.values().flatten().flat_map(constants::keys).map(str::to_owned).collect();
        DelegateKeys { keys, is_complete: self.are_complete() }
    }
}

/// Keys that the delegates of a program refer to.
#[derive(Debug, Clone, Default)]
pub struct DelegateKeys {
    keys: HashSet<String>,
    is_complete: bool,
}

impl DelegateKeys {
    /// Returns true if a delegate refers to a key, or has a payload that may refer to any.
    pub fn may_refer_to(&self, key: &str) -> bool {
        !self.is_complete || self.keys.contains(key)
    }

    /// Returns true if a delegate is known to refer to a key.
    pub fn refer_to(&self, key: &str) -> bool {
        self.keys.contains(key)
    }
}

/// Returns an upper bound of the bytes of data that do not overlap.
pub(crate) fn available<'b>(payloads: impl Iterator<Item = &'b Blob>) -> u64 {
    let (mut ends, mut total) = (HashMap::new(), 0u64);
    for payload in payloads {
        match payload.source() {
            BlobSource::File { path, offset } => {
                let end: &mut u64 = ends.entry(path).or_default();
                *end = (*end).max(offset.saturating_add(payload.len()));
            }
            BlobSource::Bytes(_)
            | BlobSource::Repeat(_)
            | BlobSource::Iota { .. }
            | BlobSource::Random { .. }
            | BlobSource::Converted { .. }
            | BlobSource::Reordered { .. }
            | BlobSource::Joined(_) => total = total.saturating_add(payload.len()),
        }
    }
    ends.into_values().fold(total, u64::saturating_add)
}
