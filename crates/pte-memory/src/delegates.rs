//! The memory that the delegates of a method take in the runtime, each as a row. `pte-payload` computes what a payload
//! needs; here it is assigned to delegates and added. Planned memory and the method allocator are not part of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use super::subject::Subject;
use pte_model::data::BlobId;
use pte_model::program::{ExecutionPlan, Instruction};
use pte_payload::memory::{DelegateMemory, Held, MemorySource, Processor};

/// Largest number of payloads of a method that are counted: each may take as much work as planning the memory of a
/// large graph.
const MAX_PAYLOADS: usize = 1 << 10;

/// Memory of a delegate, part of [`MethodFootprint`](super::memory::MethodFootprint).
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DelegateFootprint {
    /// Name as in `payload show`, without the method.
    pub name: String,
    /// Name of the backend; empty if it has none.
    pub backend: String,
    /// Number of instructions that call it.
    pub calls: usize,
    /// Memory that it takes; `None` if it is not counted.
    pub memory: Option<DelegateMemory>,
    /// Reason why it is not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_counted: Option<String>,
}

/// Memory by backend and payload: delegates, also of several methods, may have the same payload.
pub(crate) type KnownMemory<'p> = HashMap<(&'p str, BlobId), Result<DelegateMemory, String>>;

/// Returns, by delegate of a method, the number of instructions that call it.
pub fn calls(plan: &ExecutionPlan) -> Vec<usize> {
    let mut calls = vec![0; plan.delegates().len()];
    for instruction in plan.instructions() {
        let Instruction::DelegateCall { delegate_index, .. } = instruction else { continue };
        delegate_index.item_mut(&mut calls).into_iter().for_each(|calls| *calls += 1);
    }
    calls
}

/// Returns the memory of all delegates of a method, in the order of the program.
pub(crate) fn footprints<'p>(
    subject: &Subject<'p>,
    method: usize,
    plan: &'p ExecutionPlan,
    processor: Processor,
    known: &mut KnownMemory<'p>,
) -> Vec<DelegateFootprint> {
    let delegates = plan.delegates();
    let footprint = |(index, calls): (usize, usize)| {
        let backend = delegates[index].id.as_deref().unwrap_or_default();
        let payload = delegates[index].processed;
        let is_over = known.len() >= MAX_PAYLOADS;
        let memory = known.entry((backend, payload)).or_insert_with(|| match is_over {
            true => Err(format!("only the first {MAX_PAYLOADS} payloads of a program are counted")),
            false => match subject.payloads.get(&delegates[index]) {
                Some(payload) => payload.memory(backend, processor),
                None => Err(format!("the memory of the backend {} is not known", backend.escape_debug())),
            },
        });
        DelegateFootprint {
            name: subject.delegate_name(method, index),
            backend: backend.to_owned(),
            calls,
            memory: memory.as_ref().ok().cloned(),
            not_counted: memory.as_ref().err().cloned(),
        }
    };
    calls(plan).into_iter().enumerate().map(footprint).collect()
}

/// Bytes that delegates of a method take from the heap, part of
/// [`MethodFootprint::delegate_bytes`](super::memory::MethodFootprint::delegate_bytes): those of a delegate, or of what
/// the delegates use one after another.
///
/// ```
/// use pte_memory::delegates::HeapShare;
///
/// let names = |shares: &[HeapShare<'_>]| shares.iter().map(|share| share.name.to_owned()).collect::<Vec<String>>();
/// assert!(names(&[]).is_empty());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeapShare<'m> {
    /// Name of the delegate, or content of the shared memory, such as `workspace`.
    pub name: &'m str,
    /// The delegates of the method share it.
    pub is_shared: bool,
    /// Size in bytes.
    pub bytes: u64,
}

/// Bytes that the delegates of a method take from the heap, for [`heaps`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegateHeap {
    /// Bytes, of those that are counted.
    pub bytes: u64,
    /// Backends whose own memory is not counted, or not all of it, sorted.
    pub not_counted: Vec<String>,
}

impl DelegateHeap {
    pub(crate) fn of(delegates: &[DelegateFootprint]) -> DelegateHeap {
        let is_partial = |delegate: &&DelegateFootprint| {
            delegate.memory.as_ref().is_none_or(|memory| !memory.not_counted.is_empty())
        };
        let not_counted: BTreeSet<&String> =
            delegates.iter().filter(is_partial).map(|delegate| &delegate.backend).collect();
        DelegateHeap {
            bytes: heap(delegates).iter().map(|share| share.bytes).fold(0, u64::saturating_add),
            not_counted: not_counted.into_iter().cloned().collect(),
        }
    }
}

/// Returns the bytes that the delegates of each method take from the heap on a processor.
///
/// ```
/// use pte_memory::Subject;
/// use pte_memory::delegates::{DelegateHeap, heaps};
///
/// # let _ = |subject: &Subject<'_>| {
/// let largest = heaps(subject, Default::default()).into_iter().max_by_key(|DelegateHeap { bytes, .. }| *bytes);
/// # };
/// ```
pub fn heaps(subject: &Subject<'_>, processor: Processor) -> Vec<DelegateHeap> {
    let mut known = KnownMemory::new();
    let plans = subject.program.plans().iter().enumerate();
    plans.map(|(method, plan)| DelegateHeap::of(&footprints(subject, method, plan, processor, &mut known))).collect()
}

/// Returns the bytes that delegates take from the heap: those of each, and the largest of each kind that all share.
/// Delegates that are not counted are not in it.
pub(crate) fn heap(delegates: &[DelegateFootprint]) -> Vec<HeapShare<'_>> {
    let mut shared: BTreeMap<&str, u64> = BTreeMap::new();
    let mut shares = Vec::new();
    for delegate in delegates {
        let mut bytes = 0u64;
        let parts = delegate.memory.iter().flat_map(|memory| &memory.parts);
        for part in parts.filter(|part| part.source == MemorySource::Heap) {
            match (part.shared, part.held) {
                // Calls follow each other, so that the largest counts.
                (true, Held::Load | Held::FirstExecution | Held::Call) | (false, Held::Call) => {
                    let most = shared.entry(part.content).or_default();
                    *most = part.bytes.max(*most);
                }
                (false, Held::Load | Held::FirstExecution) => bytes = bytes.saturating_add(part.bytes),
            }
        }
        if delegate.memory.is_some() {
            shares.push(HeapShare { name: &delegate.name, is_shared: false, bytes });
        }
    }
    shares.extend(shared.into_iter().map(|(name, bytes)| HeapShare { name, is_shared: true, bytes }));
    shares
}
