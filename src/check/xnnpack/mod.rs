//! The payloads of XNNPACK delegates: the backend follows what is in them without a look (`D-11` and behind).
//!
//! A payload is a header, a graph (a FlatBuffer) and constants; constants may also be named data of the program or of a
//! `.ptd`. Only header and graph are read. What the graph computes is not judged: XNNPACK itself refuses what it cannot do.
//! Data that cannot be read are not judged, either.

mod graph;

use std::collections::HashMap;

use super::fields::flat_tensor::External;
use super::finding::Locate;
use super::finding::{Findings, Place};
use crate::data::{Blob, BlobId};
use crate::delegate::xnnpack::{GRAPH, IDENTIFIERS};
use crate::format::ScalarType;
use crate::format::flatbuffer::read::{Buffer, Result};
use crate::program::element::{Element, Part};
use crate::program::{EValue, ExecutionPlan, Instruction, Program};
use graph::{Constant, Extern, Graph};

/// What the backend is called.
const BACKEND: &str = "XnnpackBackend";

/// A graph without a header has its constants inside; one that is larger than this is not read.
const MOST: u64 = 64 << 20;

/// Checks the payloads of all XNNPACK delegates of a file of `len` bytes. `external` are the `.ptd` files that are given
/// with the program.
pub(super) fn check(program: &Program, len: u64, external: &External, findings: &mut Findings, place: &Locate<'_>) {
    let keys = Keys::new(program, external);
    let mut graphs: HashMap<BlobId, Option<Graph>> = HashMap::new();
    let mut left = len;
    for (method, plan) in program.plans().iter().enumerate() {
        let calls = Calls::new(plan);
        for (index, delegate) in plan.delegates().iter().enumerate() {
            if delegate.id.as_deref() != Some(BACKEND) {
                continue;
            }
            let at = || place(&Element::Method(method, Part::Delegate(index)));
            let payload = program.blob(delegate.processed);
            let graph = graphs.entry(delegate.processed).or_insert_with(|| {
                // Payloads that are the same bytes again and again would be read as often.
                let (rest, fits) = left.checked_sub(payload.len).map_or((left, false), |rest| (rest, true));
                left = rest;
                if !fits {
                    let expected = "payloads that do not overlap".to_owned();
                    findings.add("D-11", || (at(), "payloads that have more bytes than the file".into(), expected));
                    return None;
                }
                judged(payload, &keys, findings, &at)
            });
            if let Some(graph) = graph {
                calls.check(method, index, graph, findings, place);
            }
        }
    }
}

/// The graph of a payload, if it can be had and followed; what is wrong with it, or with its constants, is told.
fn judged(blob: &Blob, keys: &Keys<'_>, findings: &mut Findings, at: &dyn Fn() -> Place) -> Option<Graph> {
    let payload = match Payload::read(blob) {
        Ok(payload) => payload?,
        Err(found) => {
            findings.add("D-11", || (at(), found, "a graph and its constants, all inside".into()));
            return None;
        }
    };
    let graph = match payload.graph() {
        Ok(graph) => graph,
        Err(error) => {
            findings.add("D-12", || (at(), format!("a graph in which {error}"), "one that can be followed".into()));
            return None;
        }
    };
    let missing = graph.constants.iter().find_map(|constant| Some((constant, keys.missing(constant, &payload)?)));
    if let Some((constant, found)) = missing {
        findings.add("D-13", || (at(), found, format!("{} bytes", constant.needed)));
    }
    Some(graph)
}

/// The bytes of a payload that are read.
struct Payload {
    graph: Vec<u8>,
    identifier: &'static str,
    /// Bytes of the constants behind the graph.
    constants: u64,
}

impl Payload {
    /// `None` if the bytes cannot be had.
    fn read(blob: &Blob) -> std::result::Result<Option<Payload>, String> {
        let Ok(head) = blob.read_at(0, blob.len.min(30) as usize) else { return Ok(None) };
        let word = |at: usize| {
            head.get(at..at + 4).map(|word| u64::from(u32::from_le_bytes(word.try_into().unwrap_or_default())))
        };
        let header = head.get(4..8) == Some(b"XH00");
        if head.len() < 30 {
            return Err(format!("a payload of {} bytes, which is no room for its header", head.len()));
        }
        let (Some(start), Some(size), Some(data), Some(low), Some(high)) =
            (word(10), word(14), word(18), word(22), word(26))
        else {
            return Ok(None);
        };
        let (start, size, constants) = if header { (start, size, low | high << 32) } else { (0, blob.len, 0) };
        if start + size > blob.len || (header && data.checked_add(constants).is_none_or(|end| end > blob.len)) {
            let parts = format!("the graph at {start}..{} and {constants} bytes of constants at {data}", start + size);
            return Err(format!("a payload of {} bytes, with {parts}", blob.len));
        }
        if size > MOST {
            return Ok(None);
        }
        let Ok(graph) = blob.read_at(start, size as usize) else { return Ok(None) };
        let identifier = IDENTIFIERS.into_iter().find(|identifier| graph.get(4..8) == Some(identifier.as_bytes()));
        let identifier = identifier.ok_or_else(|| "a payload that is no XNNPACK graph".to_owned())?;
        Ok(Some(Payload { graph, identifier, constants }))
    }

    fn graph(&self) -> Result<Graph> {
        let buffer = Buffer::new(&self.graph);
        Graph::read(buffer.root(self.identifier, &GRAPH)?)
    }
}

/// Data that graphs may ask for by name.
struct Keys<'p> {
    /// Those of the program, with their sizes.
    named: HashMap<&'p str, u64>,
    external: &'p External,
}

impl<'p> Keys<'p> {
    fn new(program: &'p Program, external: &'p External) -> Keys<'p> {
        let named = program.named_data.iter().flatten();
        let named = named.map(|data| (data.key.as_str(), program.blob(data.data).len)).collect();
        Keys { named, external }
    }

    /// Why a constant is not there, if so.
    fn missing(&self, constant: &Constant, payload: &Payload) -> Option<String> {
        let Some(key) = &constant.key else {
            let inside = payload.constants;
            let beyond = constant.offset.checked_add(constant.size).is_none_or(|end| end > inside) && inside > 0;
            return match beyond {
                true if constant.size > 0 && constant.offset != u64::MAX => Some(format!(
                    "a constant of {} bytes at {} of {inside} bytes of constants",
                    constant.size, constant.offset
                )),
                _ => (constant.needed > constant.size).then(|| format!("a constant of {} bytes", constant.size)),
            };
        };
        let outside = || self.external.entries.get(key.as_bytes()).map(|entry| entry.size);
        match self.named.get(key.as_str()).copied().or_else(outside) {
            Some(size) => (size < constant.needed).then(|| format!("the data `{key}` of {size} bytes")),
            None => Some(format!(
                "a graph that asks for the data `{key}`, which are neither in the program nor in a .ptd given with it"
            )),
        }
    }
}

/// The calls of a method's delegates.
struct Calls<'p> {
    plan: &'p ExecutionPlan,
    /// By delegate.
    of: HashMap<i32, Vec<Call<'p>>>,
}

/// A call, by its chain and its place there.
struct Call<'p> {
    chain: usize,
    step: usize,
    args: &'p [i32],
}

impl<'p> Calls<'p> {
    fn new(plan: &'p ExecutionPlan) -> Calls<'p> {
        let mut of: HashMap<i32, Vec<_>> = HashMap::new();
        for (chain, list) in plan.chains.iter().flatten().enumerate() {
            for (step, instruction) in list.instructions.iter().flatten().enumerate() {
                if let Instruction::DelegateCall { delegate_index, args } = instruction {
                    let args = args.as_deref().unwrap_or_default();
                    of.entry(*delegate_index).or_default().push(Call { chain, step, args });
                }
            }
        }
        Calls { plan, of }
    }

    /// The backend takes argument `n` for the graph's value `n` without a look.
    fn check(&self, method: usize, delegate: usize, graph: &Graph, findings: &mut Findings, place: &Locate<'_>) {
        let calls = i32::try_from(delegate).ok().and_then(|delegate| self.of.get(&delegate));
        for &Call { chain, step, args } in calls.into_iter().flatten() {
            for Extern { id, datatype } in &graph.externs {
                let mut report = |part: Part, found: String, expected: String| {
                    findings.add("D-14", || (place(&Element::Method(method, part)), found, expected));
                };
                let Some(arg) = args.get(*id as usize) else {
                    let expected = format!("an argument {id}, as the graph asks");
                    report(Part::Instruction(chain, step), format!("only {} of the arguments", args.len()), expected);
                    break;
                };
                let value = usize::try_from(*arg).ok().and_then(|value| self.plan.values().get(value));
                let wanted = match datatype {
                    1 => Some(ScalarType::FLOAT),
                    2 => Some(ScalarType(5)),
                    _ => None,
                };
                let found = match value {
                    Some(EValue::Tensor(tensor)) if wanted.is_none_or(|wanted| wanted == tensor.scalar_type) => {
                        continue;
                    }
                    Some(EValue::Tensor(tensor)) => format!("a tensor of {}", tensor.scalar_type),
                    Some(other) => format!("the {} values[{arg}]", other.kind()),
                    None => continue,
                };
                let expected = wanted.map_or("a tensor".to_owned(), |wanted| format!("a tensor of {wanted}"));
                report(Part::Arg(chain, step, *id as usize), found, expected);
            }
        }
    }
}
