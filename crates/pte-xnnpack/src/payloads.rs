//! The payloads of a program, each decoded once by all that ask for it.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use crate::FORMATS;
use crate::model::Graph;
use crate::payload::XnnpackPayload;
use pte_model::data::{BlobId, available};
use pte_model::program::{BackendDelegate, Program};
use pte_payload::compile_specs::Compiled;
use pte_payload::decoded::PayloadGraph;
use pte_payload::{Payload, PayloadFormat};

/// The payloads of the delegates of a program, each once, in order. They are dropped with it.
///
/// ```
/// use pte_xnnpack::payloads::Payloads;
/// use pte_xnnpack::pte_payload::pte_model::program::Program;
///
/// assert!(!Payloads::of_program(&Program::default()).keys().may_refer_to("weight"));
/// ```
#[derive(Debug, Default)]
pub struct Payloads {
    /// By blob and format of the backend.
    list: IndexMap<(BlobId, Option<&'static str>), Payload>,
}

impl Payloads {
    /// Collects the payloads of a program whose file has `left` bytes. What exceeds them overlaps other payloads, and
    /// could otherwise be decoded once per delegate.
    pub fn of(program: &Program, mut left: u64) -> Payloads {
        let (mut list, mut overlaps) = (IndexMap::new(), HashMap::new());
        for (.., delegate) in program.delegates() {
            let blob = program.blob(delegate.processed);
            let overlaps = *overlaps.entry(delegate.processed).or_insert_with(|| {
                let rest = left.checked_sub(blob.len());
                left = rest.unwrap_or(left);
                rest.is_none()
            });
            let payload = || Payload::new(FORMATS, format_of(delegate), blob.clone(), overlaps);
            list.entry(key(delegate)).or_insert_with(payload);
        }
        Payloads { list }
    }

    /// Collects the payloads of a program whose data may be in several files.
    pub fn of_program(program: &Program) -> Payloads {
        Payloads::of(program, available(program.delegates().map(|(.., delegate)| program.blob(delegate.processed))))
    }

    /// Returns the payload of a delegate.
    pub fn get(&self, delegate: &BackendDelegate) -> Option<&Payload> {
        self.list.get(&key(delegate))
    }

    /// Returns what a delegate was compiled for.
    pub fn compiled(&self, delegate: &BackendDelegate) -> Compiled {
        let id = delegate.id.as_deref().unwrap_or_default();
        let description = self.get(delegate).and_then(Payload::known);
        Compiled::new(description, &delegate.specs(), id)
    }

    /// Returns the payload of a delegate of XNNPACK.
    pub fn xnnpack(&self, delegate: &BackendDelegate) -> Option<&XnnpackPayload> {
        XnnpackPayload::of(self.get(delegate)?)
    }

    /// Returns the graph of a delegate of XNNPACK; `None` if it cannot be written again.
    pub fn graph(&self, delegate: &BackendDelegate) -> Option<&Graph> {
        self.xnnpack(delegate)?.graph().ok()
    }

    /// Returns the payloads that have `left` bytes in total.
    pub fn within(&self, mut left: u64) -> impl Iterator<Item = (BlobId, &Payload)> {
        self.list.iter().filter_map(move |((id, _), payload)| {
            left = left.checked_sub(payload.blob.len())?;
            Some((*id, payload))
        })
    }

    /// Returns the graphs of [`Payloads::within`].
    pub fn graphs(&self, left: u64) -> HashMap<BlobId, &PayloadGraph> {
        self.within(left).filter_map(|(id, payload)| Some((id, payload.graph()?))).collect()
    }

    /// Returns the keys that delegates refer to.
    pub fn keys(&self) -> DelegateKeys {
        let mut found = DelegateKeys { keys: HashSet::new(), is_complete: true };
        for payload in self.list.values() {
            match payload.keys() {
                Some(keys) => found.keys.extend(keys),
                None => found.is_complete = false,
            }
        }
        found
    }
}

/// Returns the format of a backend.
fn format_of(delegate: &BackendDelegate) -> Option<&'static dyn PayloadFormat> {
    FORMATS.of_backend(delegate.id.as_deref()?)
}

/// Returns what identifies a payload.
fn key(delegate: &BackendDelegate) -> (BlobId, Option<&'static str>) {
    (delegate.processed, format_of(delegate).map(PayloadFormat::name))
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
