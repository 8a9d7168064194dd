//! What is there when it is read: values before anything wrote them, outputs that nothing writes, tensors without memory.
//! And what must not be written: constants, and inputs as if they were results.
//!
//! Only tensors lack content at first; all other values are in the file. A planned tensor without data may be state that
//! a method keeps from one execution to the next: it reads it first, and writes it later.

use std::collections::BTreeMap;

use super::super::finding::{Findings, Place};
use super::super::locus::{Locus, Part};
use super::control::Flow;
use super::method::{How, Method, Span};
use crate::program::{EValue, Instruction, Memory, Tensor, TensorData};

/// Bytes that something wrote, merged.
#[derive(Debug, Default)]
struct Written {
    pools: BTreeMap<u32, BTreeMap<u64, u64>>,
}

impl Written {
    fn insert(&mut self, span: Span) {
        let pool = self.pools.entry(span.pool).or_default();
        let (mut start, mut end) = (span.start, span.end);
        while let Some((&other, &until)) = pool.range(..=end).next_back().filter(|(_, until)| **until >= start) {
            if other <= start && until >= end {
                return;
            }
            pool.remove(&other);
            (start, end) = (start.min(other), end.max(until));
        }
        pool.insert(start, end);
    }

    fn overlaps(&self, span: &Span) -> bool {
        let pool = self.pools.get(&span.pool);
        pool.and_then(|pool| pool.range(..span.end).next_back()).is_some_and(|(_, until)| *until > span.start)
    }
}

/// What was found out about content on the way through a method.
pub struct Content {
    /// Bytes that any step writes.
    all: Written,
    /// Values that are read before they are written, with bytes that nothing wrote before, either.
    pub(super) bare: Vec<usize>,
}

/// Where state may be kept: starts of tensors that some method writes, sorted.
pub struct Kept(Vec<(u32, u64)>);

impl Kept {
    pub fn new(methods: &[Method<'_>]) -> Kept {
        let mut starts = Vec::new();
        for method in methods {
            let written = method.accesses.iter().filter(|access| access.how.may_write());
            starts.extend(written.filter_map(|a| method.spans[a.value as usize]).map(|span| (span.pool, span.start)));
        }
        starts.sort_unstable();
        starts.dedup();
        Kept(starts)
    }

    fn has(&self, span: &Span) -> bool {
        self.0.binary_search(&(span.pool, span.start)).is_ok()
    }
}

/// Goes through a method in order, and finds out what delegates do with their arguments as far as the order tells: those
/// that have content, in front of the first that has none, are inputs (E-12).
pub fn settle(method: &mut Method<'_>) -> Content {
    let mut has: Vec<bool> = (0..method.values().len())
        .map(|value| {
            let tensor = matches!(method.values()[value], EValue::Tensor(_));
            !tensor || method.is_input[value] || method.has_data(value)
        })
        .collect();
    let mut seen = vec![false; has.len()];
    let mut all = Written::default();
    for (value, span) in method.spans.iter().enumerate() {
        if let Some(span) = span.filter(|_| has[value]) {
            all.insert(span);
        }
    }
    let mut bare = Vec::new();
    for step in 0..=method.end() {
        let delegate =
            matches!(method.steps.get(step as usize).map(|s| s.what), Some(Instruction::DelegateCall { .. }));
        let first_new = method.step_accesses(step).iter().find(|a| !has[a.value as usize]).map_or(0, |a| a.arg);
        for access in method.step_accesses_mut(step) {
            if access.how == How::Unknown && !has[access.value as usize] {
                access.how = How::Fresh;
            } else if access.how == How::Unknown && delegate && access.arg < first_new {
                access.how = How::Read;
            }
        }
        for access in method.step_accesses(step) {
            let value = access.value as usize;
            let first = !std::mem::replace(&mut seen[value], true);
            if first && !has[value] && access.how.reads() && step < method.end() {
                let covered = method.spans[value].is_none_or(|span| all.overlaps(&span));
                if !covered {
                    bare.push(value);
                }
            }
        }
        for number in 0..method.step_accesses(step).len() {
            let access = method.step_accesses(step)[number];
            if access.how.may_write() {
                has[access.value as usize] = true;
                if let Some(span) = method.spans[access.value as usize] {
                    all.insert(span);
                }
            }
        }
    }
    Content { all, bare }
}

/// Checks that what is read is there, and that what is written may be.
pub fn check(
    method: &Method<'_>,
    flow: &Flow,
    content: &Content,
    kept: &Kept,
    findings: &mut Findings,
    place: &dyn Fn(&Locus) -> Place,
) {
    let others = Neighbours::new(method);
    let mut bare = vec![false; method.values().len()];
    content.bare.iter().for_each(|value| bare[*value] = true);
    for (value, tensor) in method.plan.tensors() {
        if tensor.nbytes().is_none_or(|bytes| bytes == 0) {
            continue;
        }
        if tensor.data != TensorData::None {
            constant(method, value, tensor, findings, place);
            continue;
        }
        if method.is_input[value] {
            input(method, value, findings, place);
            continue;
        }
        let mut accesses = method.value_accesses(value);
        let Some(first) = accesses.next() else { continue };
        if method.tangled || method.value_accesses(value).any(|access| access.how == How::Alias) {
            continue;
        }
        let Some(span) = method.spans[value] else {
            if tensor.memory == Memory::None {
                homeless(method, value, tensor, findings, place);
            }
            continue;
        };
        if !method.value_accesses(value).any(|access| access.how.may_write())
            && let Some(output) = method.value_accesses(value).next_back().filter(|a| a.step == method.end())
            && !content.all.overlaps(&span)
            && !kept.has(&span)
        {
            findings.add("X-2", || {
                let found = format!("values[{value}], which nothing writes");
                (place(&method.arg(method.end(), output.arg as usize)), found, "an output that has content".into())
            });
            continue;
        }
        if !first.how.reads() || first.step == method.end() || flow.is_late(first.step) {
            continue;
        }
        let why = if bare[value] && !kept.has(&span) {
            "nothing ever writes"
        } else if accesses.any(|access| access.how == How::Write) && others.disturb(&span) {
            "is written only later, in memory where others work meanwhile"
        } else {
            continue;
        };
        findings.add("X-1", || {
            let found = format!("values[{value}] is read, which {why}");
            (
                place(&method.place_of(first)),
                found,
                "an input, data, or an instruction before this one that writes it".into(),
            )
        });
    }
}

/// The places of tensors that are written.
struct Neighbours {
    /// Span, by start; sorted and without repetition.
    spans: Vec<Span>,
    /// For each of them the greatest end of those of the same pool up to it.
    ends: Vec<u64>,
}

impl Neighbours {
    fn new(method: &Method<'_>) -> Neighbours {
        let written = method.accesses.iter().filter(|access| matches!(access.how, How::Write | How::Modify));
        let mut spans: Vec<Span> = written.filter_map(|access| method.spans[access.value as usize]).collect();
        spans.sort_unstable();
        spans.dedup();
        let mut ends: Vec<u64> = Vec::with_capacity(spans.len());
        for (number, span) in spans.iter().enumerate() {
            let before = number.checked_sub(1).filter(|before| spans[*before].pool == span.pool);
            ends.push(before.map_or(span.end, |before| ends[before].max(span.end)));
        }
        Neighbours { spans, ends }
    }

    /// Whether another tensor is written over these bytes. One with the very same bytes may be a view.
    fn disturb(&self, span: &Span) -> bool {
        let first = self.spans.partition_point(|other| (other.pool, other.start) < (span.pool, span.start));
        let below = first.checked_sub(1).filter(|below| self.spans[*below].pool == span.pool);
        let mut here = self.spans[first..].iter().take_while(|other| other.pool == span.pool && other.start < span.end);
        below.is_some_and(|below| self.ends[below] > span.start) || here.any(|other| other != span)
    }
}

/// A constant is in memory that nobody may write.
fn constant(
    method: &Method<'_>,
    value: usize,
    tensor: &Tensor,
    findings: &mut Findings,
    place: &dyn Fn(&Locus) -> Place,
) {
    if tensor.memory != Memory::None {
        return;
    }
    let mut accesses = method.value_accesses(value);
    if let Some(access) = accesses.find(|access| matches!(access.how, How::Write | How::Modify)) {
        findings.add("X-7", || {
            let found = format!("a write to values[{value}], a constant");
            (place(&method.place_of(access)), found, "a tensor in planned memory".into())
        });
    }
}

/// An input that is the out of a kernel: in-place operators are how the exporter changes inputs.
fn input(method: &Method<'_>, value: usize, findings: &mut Findings, place: &dyn Fn(&Locus) -> Place) {
    if let Some(access) = method.value_accesses(value).find(|access| access.how == How::Write) {
        findings.add("X-8", || {
            let found = format!("a result that goes to values[{value}], an input");
            (place(&method.place_of(access)), found, "a tensor of its own, or an operator that works in place".into())
        });
    }
}

/// Neither planned nor constant: then the caller must give the memory, and can only if it is an input, an output, or named.
fn homeless(
    method: &Method<'_>,
    value: usize,
    tensor: &Tensor,
    findings: &mut Findings,
    place: &dyn Fn(&Locus) -> Place,
) {
    let named = tensor.extra_tensor_info.as_ref().is_some_and(|extra| extra.fully_qualified_name.is_some());
    if named || tensor.shape_dynamism == 2 {
        return;
    }
    let last = method.value_accesses(value).next_back();
    if let Some(output) = last.filter(|access| access.step == method.end()) {
        if !method.value_accesses(value).any(|access| access.how.may_write()) {
            findings.add("X-2", || {
                let found = format!("values[{value}], which nothing writes");
                (place(&method.arg(method.end(), output.arg as usize)), found, "an output that has content".into())
            });
        }
        return;
    }
    if method.value_accesses(value).any(|access| access.how != How::Mention) {
        findings.add("X-3", || {
            let place = place(&method.locus(Part::Value(value)));
            (place, "a tensor without memory that instructions use".into(), "planned memory, or data".into())
        });
    }
}
