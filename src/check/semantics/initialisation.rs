//! What is there when it is read: values before anything wrote them, outputs that nothing writes, tensors without memory.
//! And what must not be written: constants, and inputs as if they were results.
//!
//! Only tensors lack content at first; all other values are in the file. A planned tensor without data may be state that
//! a method keeps from one execution to the next: it reads it first, and writes it later.

use std::cell::{LazyCell, OnceCell};
use std::collections::BTreeMap;

use super::super::finding::Findings;
use super::super::finding::Locate;
use super::control::Flow;
use super::method::{Access, How, Method, Span};
use crate::program::element::Part;
use crate::program::{EValue, Instruction};

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
    /// Values that are read before they are written, with bytes that nothing wrote before, either.
    bare: Vec<usize>,
}

/// Where state may be kept: starts of tensors that some method writes, sorted; made when first asked.
pub struct Kept<'m, 'p> {
    methods: &'m [Method<'p>],
    starts: OnceCell<Vec<(u32, u64)>>,
}

impl<'m, 'p> Kept<'m, 'p> {
    pub fn new(methods: &'m [Method<'p>]) -> Kept<'m, 'p> {
        Kept { methods, starts: OnceCell::new() }
    }

    fn has(&self, span: &Span) -> bool {
        let starts = self.starts.get_or_init(|| {
            let of = |method: &'m Method<'p>| {
                let written = method.accesses.iter().filter(|access| access.how.may_write());
                written.filter_map(|access| method.spans[access.value as usize]).map(|span| (span.pool, span.start))
            };
            let mut starts: Vec<(u32, u64)> = self.methods.iter().flat_map(of).collect();
            starts.sort_unstable();
            starts.dedup();
            starts
        });
        starts.binary_search(&(span.pool, span.start)).is_ok()
    }
}

/// Goes through a method in order, and finds out what delegates do with their arguments as far as the order tells: those
/// that have content, in front of the first that has none, are inputs (E-12).
pub fn settle(method: &mut Method<'_>) -> Content {
    let mut has: Vec<bool> = (0..method.values().len())
        .map(|value| {
            let tensor = matches!(method.values()[value], EValue::Tensor(_));
            !tensor || method.is_input[value] || method.facts[value].has_data
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
    method.sort();
    Content { bare }
}

/// Checks that what is read is there, and that what is written may be.
pub fn check(
    method: &Method<'_>,
    flow: &Flow,
    content: &Content,
    kept: &Kept<'_, '_>,
    findings: &mut Findings,
    place: &Locate<'_>,
) {
    let others = LazyCell::new(|| Neighbours::new(method));
    let mut bare = vec![false; method.values().len()];
    content.bare.iter().for_each(|value| bare[*value] = true);
    for (value, facts) in method.facts.iter().enumerate().filter(|(_, facts)| facts.has_bytes) {
        if facts.has_data {
            if !facts.is_planned {
                constant(method, value, findings, place);
            }
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
            // Named state may be given by the caller: it is read, and then written for the next time. What is only read,
            // or made before it is read, is no state.
            let written = method.value_accesses(value).any(|access| access.how.may_write());
            let state = facts.is_named && first.how.reads() && written;
            if !facts.is_planned && !state && !facts.is_unbound {
                homeless(method, value, findings, place);
            }
            continue;
        };
        let written = method.value_accesses(value).any(|access| access.how.may_write());
        if !written && !others.cover(&span) && !kept.has(&span) {
            let last = method.value_accesses(value).next_back();
            if let Some(output) = last.filter(|access| access.step == method.end()) {
                unwritten(method, output, findings, place);
                continue;
            }
        }
        if !first.how.reads() || first.step == method.end() || flow.is_late(first.step) {
            continue;
        }
        let disturbed = others.disturb(&span);
        let why = match written {
            true if disturbed && accesses.any(|access| access.how == How::Write) => "is written only later",
            false if disturbed && !others.cover(&span) && !kept.has(&span) => "is never written",
            false if bare[value] && !others.cover(&span) && !kept.has(&span) => {
                findings.add("X-19", || {
                    let found = format!("values[{value}] is read, which is never written");
                    (place(&method.place_of(first)), found, "an instruction that writes it, or data".into())
                });
                continue;
            }
            _ => continue,
        };
        findings.add("X-1", || {
            let found = format!("values[{value}] is read, which {why}, and others use its memory");
            (
                place(&method.place_of(first)),
                found,
                "an input, data, or an instruction in front of this one that writes it".into(),
            )
        });
    }
}

/// An output that has no content.
fn unwritten(method: &Method<'_>, output: &Access, findings: &mut Findings, place: &Locate<'_>) {
    findings.add("X-2", || {
        let found = format!("values[{}], which nothing writes", output.value);
        (place(&method.place_of(output)), found, "an output that has content".into())
    });
}

/// Places of a method's tensors, to ask who else is there.
struct Neighbours {
    /// Of tensors that are written for certain.
    written: Spans,
    /// Of all tensors that have content at some time, if they are no views themselves.
    sources: Spans,
}

impl Neighbours {
    fn new(method: &Method<'_>) -> Neighbours {
        let of = |access: &Access| method.spans[access.value as usize];
        let written = method.accesses.iter().filter(|access| matches!(access.how, How::Write | How::Modify));
        let sources = method.accesses.iter().filter(|access| access.how.may_write()).filter_map(of);
        let given = (0..method.values().len()).filter(|value| method.is_input[*value] || method.facts[*value].has_data);
        let given = given.filter_map(|value| method.spans[value]);
        Neighbours { written: Spans::new(written.filter_map(of)), sources: Spans::new(sources.chain(given)) }
    }

    /// Whether another tensor is written over these bytes. One with the very same bytes may be a view.
    fn disturb(&self, span: &Span) -> bool {
        let Spans { spans, ends } = &self.written;
        let first = spans.partition_point(|other| (other.pool, other.start) < (span.pool, span.start));
        let below = first.checked_sub(1).filter(|below| spans[*below].pool == span.pool);
        let mut here = spans[first..].iter().take_while(|other| other.pool == span.pool && other.start < span.end);
        below.is_some_and(|below| ends[below] > span.start) || here.any(|other| other != span)
    }

    /// Whether these bytes are part of another tensor, so that they may be a view of it.
    fn cover(&self, span: &Span) -> bool {
        let Spans { spans, ends } = &self.sources;
        let behind = spans.partition_point(|other| (other.pool, other.start) <= (span.pool, span.start));
        let last = behind.checked_sub(1).filter(|last| spans[*last].pool == span.pool);
        last.is_some_and(|last| ends[last] >= span.end)
    }
}

/// Places, sorted and without repetition, each with the greatest end of those of its pool up to it.
struct Spans {
    spans: Vec<Span>,
    ends: Vec<u64>,
}

impl Spans {
    fn new(spans: impl Iterator<Item = Span>) -> Spans {
        let mut spans: Vec<Span> = spans.collect();
        spans.sort_unstable();
        spans.dedup();
        let mut ends: Vec<u64> = Vec::with_capacity(spans.len());
        for (number, span) in spans.iter().enumerate() {
            let before = number.checked_sub(1).filter(|before| spans[*before].pool == span.pool);
            ends.push(before.map_or(span.end, |before| ends[before].max(span.end)));
        }
        Spans { spans, ends }
    }
}

/// A constant is in memory that nobody may write.
fn constant(method: &Method<'_>, value: usize, findings: &mut Findings, place: &Locate<'_>) {
    let mut accesses = method.value_accesses(value);
    if let Some(access) = accesses.find(|access| matches!(access.how, How::Write | How::Modify)) {
        findings.add("X-7", || {
            let found = format!("a write to values[{value}], a constant");
            (place(&method.place_of(access)), found, "a tensor in planned memory".into())
        });
    }
}

/// An input that is the out of a kernel: in-place operators are how the exporter changes inputs.
fn input(method: &Method<'_>, value: usize, findings: &mut Findings, place: &Locate<'_>) {
    if let Some(access) = method.value_accesses(value).find(|access| access.how == How::Write) {
        findings.add("X-8", || {
            let found = format!("a result that goes to values[{value}], an input");
            (place(&method.place_of(access)), found, "a tensor of its own, or an operator that works in place".into())
        });
    }
}

/// Neither planned nor constant: then the caller must give the memory, and can only if it is an input, an output, or named.
fn homeless(method: &Method<'_>, value: usize, findings: &mut Findings, place: &Locate<'_>) {
    let last = method.value_accesses(value).next_back();
    if let Some(output) = last.filter(|access| access.step == method.end()) {
        if !method.value_accesses(value).any(|access| access.how.may_write()) {
            unwritten(method, output, findings, place);
        }
        return;
    }
    if method.value_accesses(value).len() > 0 {
        findings.add("X-3", || {
            let place = place(&method.element(Part::Value(value)));
            (place, "a tensor without memory that instructions use".into(), "planned memory, or data".into())
        });
    }
}
