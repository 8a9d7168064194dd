//! Reports reads of tensors without content, outputs that are never written, tensors without memory, and writes to
//! constants and inputs (`X-1` to `X-3`, `X-7`, `X-8`, `X-19`, `X-21`, `X-22`).
//!
//! Values other than tensors have content from the file. A planned tensor without data may be state: a method reads it,
//! and writes it later for the next execution.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::sync::OnceLock;

use super::super::finding::{Findings, Locator};
use super::control::ControlFlow;
use super::method::MethodAnalysis;
use super::writers::RangeIndex;
use crate::RuleId::{self, *};
use pte_analysis::access::Access;
use pte_analysis::method::Method;
use pte_analysis::operators::{AccessKind, MethodOperators};
use pte_model::diagnostics::counted;
use pte_model::program::element::Part;
use pte_model::program::pools::{PoolContent, PoolRange};
use pte_model::program::{ExecutionPlan, Program};
use pte_operators::OperatorSet;
use pte_operators::kinds::Kinds;

/// Pools and offsets of the tensors that a method of the program writes. State may be there. They are computed
/// on first use, without what else is known about the methods.
pub struct StateStarts<'p> {
    program: &'p Program,
    set: &'p OperatorSet,
    starts: OnceLock<BTreeSet<(u32, u64)>>,
}

impl<'p> StateStarts<'p> {
    pub fn new(program: &'p Program, set: &'p OperatorSet) -> StateStarts<'p> {
        StateStarts { program, set, starts: OnceLock::new() }
    }

    fn has(&self, range: &PoolRange) -> bool {
        let starts = self.starts.get_or_init(|| {
            let of = |plan: &'p ExecutionPlan| {
                let method = Method::with_operators(plan, MethodOperators::new(plan, self.set));
                let written = method.accesses().list.iter().filter(|access| access.kind.may_write_bytes());
                let written = written.map(|access| access.value as usize);
                let ranges = written.filter_map(|value| PoolRange::of(method.values().get(value)?));
                ranges.map(|range| (range.pool, range.start)).collect::<BTreeSet<_>>()
            };
            self.program.plans().iter().flat_map(of).collect()
        });
        starts.contains(&(range.pool, range.start))
    }
}

/// Returns, by value, `true` if it is read before it is written, in memory that nothing else has written either.
fn uninitialised(method: &MethodAnalysis<'_>) -> Vec<bool> {
    let (mut written, mut found) = (PoolContent::default(), vec![false; method.values().len()]);
    let Some((last, _)) = method.accesses().early_reads.last().copied() else { return found };
    for (range, has_content) in method.ranges.iter().zip(method.plan.has_content()) {
        range.filter(|_| has_content).into_iter().for_each(|range| written.insert(range, ()));
    }
    let mut reads = method.accesses().early_reads.iter().peekable();
    for step in 0..=last {
        while let Some((_, value)) = reads.next_if(|(read, _)| *read == step) {
            found[*value] = method.ranges[*value].is_some_and(|range| written.parts(range).next().is_none());
        }
        let writes = method.step_accesses(step).iter().filter(|access| access.kind.may_write());
        writes.filter_map(|access| method.ranges[access.value as usize]).for_each(|range| written.insert(range, ()));
    }
    found
}

/// Checks reads and writes of tensors.
pub fn check(
    method: &MethodAnalysis<'_>,
    flow: &ControlFlow,
    states: &StateStarts<'_>,
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    let overlaps = LazyCell::new(|| OverlapIndex::new(method));
    let is_uninitialised = uninitialised(method);
    let mut undefined = Vec::new();
    for (value, facts) in method.facts.iter().enumerate().filter(|(_, facts)| facts.has_bytes) {
        if facts.has_data {
            if !facts.is_planned {
                check_constant(method, value, findings, locate);
            }
            continue;
        }
        if method.is_input[value] {
            check_input(method, value, findings, locate);
            continue;
        }
        let mut accesses = method.value_accesses(value);
        let Some(first) = accesses.next() else { continue };
        if method.accesses().is_truncated || method.value_accesses(value).any(|access| access.kind == AccessKind::Alias)
        {
            continue;
        }
        let Some(range) = method.ranges[value] else {
            // The caller may set named state, which the method first reads and then writes.
            let written = method.value_accesses(value).any(|access| access.kind.may_write());
            let state = facts.is_named && first.kind.keeps() && written;
            if !facts.is_planned && !state && !facts.is_unbound {
                check_without_memory(method, value, findings, locate);
            }
            continue;
        };
        let written = method.value_accesses(value).any(|access| access.kind.may_write());
        if !written && !overlaps.may_view(&range) && !states.has(&range) {
            let last = method.value_accesses(value).next_back();
            if let Some(output) = last.filter(|access| access.step == method.end()) {
                report_unwritten(method, output, findings, locate);
                continue;
            }
        }
        if !first.kind.keeps() || first.step == method.end() || flow.is_reached_backwards(first.step) {
            continue;
        }
        let is_shared = overlaps.are_written_over(&range);
        let why = match written {
            true if is_shared && accesses.any(|access| access.kind == AccessKind::Write) => "is written only later",
            false if is_shared && !overlaps.may_view(&range) && !states.has(&range) => "is never written",
            false if is_uninitialised[value] && !overlaps.may_view(&range) && !states.has(&range) => {
                findings.add(X_19, || {
                    let found = format!("a read of values[{value}], which is never written");
                    (locate(&method.element_of(first)), found, "an instruction that writes it, or initial data".into())
                });
                continue;
            }
            true if is_uninitialised[value] => {
                undefined.extend(Some(first).filter(|first| !is_overwritten(method, first)));
                continue;
            }
            _ => continue,
        };
        findings.add(X_1, || {
            let found = format!("a read of values[{value}], which {why} and shares its memory");
            (
                locate(&method.element_of(first)),
                found,
                "an input, initial data, or an earlier instruction that writes it".into(),
            )
        });
    }
    let what = "a read, before the first write, of";
    report_first(X_21, method, &undefined, what, "initial data", findings, locate);
    check_numbers(method, flow, findings, locate);
}

/// Returns true for an argument whose content the kernel replaces without reading it.
fn is_overwritten(method: &MethodAnalysis<'_>, access: &Access) -> bool {
    let call = method.steps.get(access.step as usize).and_then(|step| method.call(step));
    call.is_some_and(|(known, _)| known.needs_no_content(access.arg as usize))
}

/// Reports the first of several accesses of a method.
fn report_first(
    rule: RuleId,
    method: &MethodAnalysis<'_>,
    accesses: &[&Access],
    what: &str,
    expected: &str,
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    let Some((first, others)) = accesses.split_first() else { return };
    findings.add(rule, || {
        let others = match others.len() {
            0 => String::new(),
            count => format!(", and of {} more", counted(count as u64, "value")),
        };
        let found = format!("{what} values[{}]{others}", first.value);
        (locate(&method.element_of(first)), found, expected.to_owned())
    });
}

/// Returns, by step, `true` if it is in a loop.
fn steps_in_loops(method: &MethodAnalysis<'_>, flow: &ControlFlow) -> Vec<bool> {
    let mut changes = vec![0i64; method.end() as usize + 2];
    for (first, last) in flow.loops() {
        changes[first as usize] += 1;
        changes[last as usize + 1] -= 1;
    }
    let mut open = 0;
    let depth = changes.into_iter().map(|change| {
        open += change;
        open > 0
    });
    depth.collect()
}

/// Reports numbers that are read before they are written, and not reset after all other uses. They keep their value
/// from one execution to the next.
fn check_numbers(method: &MethodAnalysis<'_>, flow: &ControlFlow, findings: &mut Findings, locate: &Locator<'_>) {
    let in_loop = steps_in_loops(method, flow);
    let mut kept = Vec::new();
    for (value, stated) in method.stated.iter().enumerate() {
        if !stated.meets(Kinds::SCALAR) || method.is_input[value] {
            continue;
        }
        let first = method.value_accesses(value).next().filter(|first| first.kind.keeps() && first.step < method.end());
        let is_changed = || {
            let writes = || method.value_accesses(value).filter(|access| access.kind.may_write());
            let is_after_loops = |last: &Access| writes().count() > 1 && !in_loop[last.step as usize];
            let last = method.value_accesses(value).next_back().filter(|last| last.kind.may_write());
            writes().next().is_some() && !last.is_some_and(is_after_loops)
        };
        kept.extend(first.filter(|_| is_changed()));
    }
    let (what, expected) =
        ("a read, before the first write, of", "an instruction that sets it at the beginning, or back at the end");
    report_first(X_22, method, &kept, what, expected, findings, locate);
}

/// Reports an output without content.
fn report_unwritten(method: &MethodAnalysis<'_>, output: &Access, findings: &mut Findings, locate: &Locator<'_>) {
    findings.add(X_2, || {
        let found = format!("output values[{}], which is never written", output.value);
        (locate(&method.element_of(output)), found, "an output that is written, an input, or data".into())
    });
}

/// Index of the planned memory of a method's tensors.
struct OverlapIndex {
    /// Memory of tensors that are certainly written.
    written: RangeIndex<()>,
    /// Memory of all tensors that may have content of their own: written ones, inputs, and those with data.
    sources: RangeIndex<()>,
}

impl OverlapIndex {
    fn new(method: &MethodAnalysis<'_>) -> OverlapIndex {
        let range_of = |value: usize| method.ranges[value].map(|range| (range, ()));
        let range = |access: &Access| range_of(access.value as usize);
        let written = method.accesses().list.iter().filter(|access| access.kind.writes_bytes());
        let sources = method.accesses().list.iter().filter(|access| access.kind.may_write_bytes()).filter_map(range);
        let initial =
            (0..method.values().len()).filter(|value| method.is_input[*value] || method.facts[*value].has_data);
        let initial = initial.filter_map(range_of);
        OverlapIndex {
            written: RangeIndex::new(written.filter_map(range)),
            sources: RangeIndex::new(sources.chain(initial)),
        }
    }

    /// Returns `true` if a tensor is written that overlaps `range` without being equal to it; an equal one may be a
    /// view.
    fn are_written_over(&self, range: &PoolRange) -> bool {
        let RangeIndex { ranges, ends } = &self.written;
        let first = ranges.partition_point(|(other, ())| (other.pool, other.start) < (range.pool, range.start));
        let before = first.checked_sub(1).filter(|before| ranges[*before].0.pool == range.pool);
        let inside = ranges[first..].iter().map(|(other, ())| other);
        let mut inside = inside.take_while(|other| other.pool == range.pool && other.start < range.end);
        before.is_some_and(|before| ends[before] > range.start) || inside.any(|other| other != range)
    }

    /// Returns `true` if `range` is inside a tensor with content, so that it may be a view of it.
    fn may_view(&self, range: &PoolRange) -> bool {
        let RangeIndex { ranges, ends } = &self.sources;
        let after = ranges.partition_point(|(other, ())| (other.pool, other.start) <= (range.pool, range.start));
        let last = after.checked_sub(1).filter(|last| ranges[*last].0.pool == range.pool);
        last.is_some_and(|last| ends[last] >= range.end)
    }
}

/// Reports the first write to a constant.
fn check_constant(method: &MethodAnalysis<'_>, value: usize, findings: &mut Findings, locate: &Locator<'_>) {
    let mut accesses = method.value_accesses(value);
    if let Some(access) = accesses.find(|access| access.kind.writes_bytes()) {
        findings.add(X_7, || {
            let found = format!("a write to the constant values[{value}]");
            (locate(&method.element_of(access)), found, "a tensor in planned memory".into())
        });
    }
}

/// Reports an input that is the out of a kernel. The exporter modifies inputs only with in-place operators.
fn check_input(method: &MethodAnalysis<'_>, value: usize, findings: &mut Findings, locate: &Locator<'_>) {
    if let Some(access) = method.value_accesses(value).find(|access| access.kind == AccessKind::Write) {
        findings.add(X_8, || {
            let found = format!("a result in the input values[{value}]");
            (locate(&method.element_of(access)), found, "another tensor, or an in-place operator".into())
        });
    }
}

/// Checks a tensor that is neither planned nor constant. The caller must provide its memory, which is possible for
/// inputs, outputs and named tensors.
fn check_without_memory(method: &MethodAnalysis<'_>, value: usize, findings: &mut Findings, locate: &Locator<'_>) {
    let last = method.value_accesses(value).next_back();
    if let Some(output) = last.filter(|access| access.step == method.end()) {
        if !method.value_accesses(value).any(|access| access.kind.may_write()) {
            report_unwritten(method, output, findings, locate);
        }
        return;
    }
    // A view or a moved tensor gets the memory of another one, which may be a constant.
    let is_alias = method.value_accesses(value).any(|access| access.kind == AccessKind::Alias);
    if method.value_accesses(value).len() > 0 && !is_alias {
        findings.add(X_3, || {
            let location = locate(&method.element(Part::Value(value)));
            (location, "a used tensor without memory".into(), "planned memory, or data".into())
        });
    }
}
