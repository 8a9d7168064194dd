//! Reports bytes that a call both reads and writes (`X-25`).
//!
//! Arguments share bytes through the memory plan, through views, or because they are the same value. `super::memory`
//! covers the memory of different calls. It is not known whether the caller passes one buffer as several inputs.

use std::collections::{BTreeSet, HashMap};

use super::super::finding::{Findings, Locator};
use super::limits::{self, Budget};
use super::method::MethodAnalysis;
use crate::RuleId::*;
use pte_analysis::access::Access;
use pte_analysis::aliases::Alias;
use pte_analysis::operators::{AccessKind, ResolvedOperator};
use pte_model::program::pools::PoolRange;
use pte_model::program::{EValue, Tensor};

/// Memory that does not overlap other regions: a pool, or the memory of a tensor outside all pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Region {
    Pool(u32),
    Value(u32),
}

/// Bytes of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Bytes {
    region: Region,
    start: u64,
    end: u64,
}

impl Bytes {
    fn overlaps(&self, other: &Bytes) -> bool {
        self.region == other.region && self.start < other.end && other.start < self.end
    }
}

/// A tensor that a call reads or writes.
#[derive(Debug, Clone, Copy)]
struct Argument<'m> {
    bytes: Bytes,
    access: &'m Access,
}

/// Reports tensors that a call writes and that share bytes with one that it reads, unless its kernel works in place.
pub fn check(method: &MethodAnalysis<'_>, findings: &mut Findings, locate: &Locator<'_>) {
    let mut budget = method.budget(&limits::ALIASES);
    let Some(memory) = PossibleMemory::new(method, &mut budget) else {
        return method.report(&limits::ALIASES, findings, locate);
    };
    let (mut written, mut read) = (Vec::new(), Vec::new());
    for (number, step) in method.steps.iter().enumerate() {
        let Some((known, _)) = method.call(step).filter(|(known, _)| known.has_known_sharing()) else { continue };
        written.clear();
        read.clear();
        let mut outs = 0;
        for access in method.step_accesses(number as u32) {
            let value = access.value as usize;
            match access.kind {
                AccessKind::Write | AccessKind::Modify | AccessKind::Overwrite => {
                    outs += 1;
                    memory.each(value, |bytes| written.push(Argument { bytes, access }));
                }
                AccessKind::Read => memory.each(value, |bytes| read.push(Argument { bytes, access })),
                AccessKind::Alias | AccessKind::RepeatedOut | AccessKind::Release | AccessKind::Unknown => {}
            }
        }
        let compared = if outs > 1 { written.len() + read.len() } else { written.len().saturating_mul(read.len()) };
        if budget.spend(compared.saturating_sub(method.step_accesses(number as u32).len())).is_none() {
            return method.report(&limits::ALIASES, findings, locate);
        }
        let shared = match outs {
            0 | 1 => written.iter().find_map(|out| {
                let mut overlapping = read.iter().filter(|one| out.bytes.overlaps(&one.bytes)).peekable();
                overlapping.peek()?;
                let is_elementwise = is_elementwise(method, out, &read);
                let read = overlapping.find(|one| !is_elementwise || !is_in_place(method, known, out, one))?;
                Some((*out, *read))
            }),
            _ => overlapping(&mut written, &mut read),
        };
        let Some((out, read)) = shared else { continue };
        findings.add(X_25, || {
            let name = known.signature.args.get(read.access.arg as usize).map_or("", |arg| &*arg.name);
            let in_place = works_in_place(known, &read);
            let expected = match in_place {
                true => format!("the bytes of `{name}` with its type and sizes, or other memory"),
                false => format!("other memory than that of `{name}`"),
            };
            let (found, of) = (described(&out), described(&read));
            let found = format!("a result in {found}, while {} reads `{name}` in {of}", known.name);
            (locate(&method.element_of(out.access)), found, expected)
        });
    }
}

/// The bytes that tensors may have at any time.
struct PossibleMemory<'m, 'p> {
    method: &'m MethodAnalysis<'p>,
    /// For each value that becomes an alias: the memory that it may have because of views and moves.
    aliased: HashMap<u32, BTreeSet<Bytes>>,
}

impl<'m, 'p> PossibleMemory<'m, 'p> {
    /// Follows views and moves until nothing changes; `None` if the work exceeds its limit.
    fn new(method: &'m MethodAnalysis<'p>, budget: &mut Budget) -> Option<PossibleMemory<'m, 'p>> {
        let aliased = method.aliases().iter().map(|alias| (alias.result as u32, BTreeSet::new())).collect();
        let mut memory = PossibleMemory { method, aliased };
        // A loop may make the source of an alias an alias after its use.
        let mut is_changed = true;
        while is_changed {
            is_changed = false;
            for alias in method.aliases() {
                is_changed |= memory.add_alias(alias, budget)?;
            }
        }
        Some(memory)
    }

    /// Adds the memory that an alias may have; returns `true` if some is new.
    fn add_alias(&mut self, alias: &Alias, budget: &mut Budget) -> Option<bool> {
        let size = match &self.method.values()[alias.result] {
            EValue::Tensor(tensor) => tensor.nbytes().filter(|size| *size > 0),
            _ => None,
        };
        let Some(size) = size else { return Some(false) };
        let mut found = Vec::new();
        self.each(alias.base, |bytes| found.push(bytes));
        budget.spend(found.len())?;
        let aliased = self.aliased.entry(alias.result as u32).or_default();
        let mut is_new = false;
        for bytes in found {
            let end = bytes.start.checked_add(size);
            is_new |= end.is_some_and(|end| aliased.insert(Bytes { end, ..bytes }));
        }
        Some(is_new)
    }

    /// Calls `take` for each range of bytes that a value may have.
    #[inline]
    fn each(&self, value: usize, mut take: impl FnMut(Bytes)) {
        let Some(aliased) = self.aliased.get(&(value as u32)) else {
            return self.own(value).into_iter().for_each(take);
        };
        let first = self.method.value_accesses(value).next();
        if first.is_none_or(|first| first.kind != AccessKind::Alias) {
            self.own(value).into_iter().for_each(&mut take);
        }
        aliased.iter().copied().for_each(take);
    }

    /// Returns the planned memory of a value, or the memory from the caller.
    fn own(&self, value: usize) -> Option<Bytes> {
        if let Some(PoolRange { pool, start, end }) = self.method.ranges[value] {
            return Some(Bytes { region: Region::Pool(pool), start, end });
        }
        let facts = &self.method.facts[value];
        if !facts.has_bytes || facts.has_data || facts.is_planned {
            return None;
        }
        let end = self.method.values()[value].as_tensor()?.nbytes()?;
        Some(Bytes { region: Region::Value(value as u32), start: 0, end })
    }
}

fn tensor<'p>(method: &MethodAnalysis<'p>, argument: &Argument<'_>) -> Option<&'p Tensor> {
    method.values()[argument.access.value as usize].as_tensor()
}

/// Returns `true` if a kernel visits its arguments in the order of their bytes. It does not if it broadcasts to an out
/// that is not contiguous.
fn is_elementwise(method: &MethodAnalysis<'_>, out: &Argument<'_>, read: &[Argument<'_>]) -> bool {
    let Some(out) = tensor(method, out) else { return true };
    out.dim_order.as_deref().is_none_or(|order| order.is_sorted())
        || read.iter().all(|one| tensor(method, one).is_none_or(|one| one.sizes == out.sizes))
}

/// Returns `true` if the kernel works in place for an argument that it reads and that overlaps one that it writes.
fn is_in_place(method: &MethodAnalysis<'_>, known: &ResolvedOperator, out: &Argument<'_>, read: &Argument<'_>) -> bool {
    let (Some(one), Some(other)) = (tensor(method, out), tensor(method, read)) else { return true };
    out.bytes == read.bytes
        && one.scalar_type == other.scalar_type
        && one.sizes == other.sizes
        && one.dim_order == other.dim_order
        && works_in_place(known, read)
}

/// Returns a written and a read argument that overlap; `None` if there are none.
fn overlapping<'m>(written: &mut [Argument<'m>], read: &mut [Argument<'m>]) -> Option<(Argument<'m>, Argument<'m>)> {
    written.sort_by_key(|argument| argument.bytes);
    read.sort_by_key(|argument| argument.bytes);
    let mut reads = read.iter().peekable();
    for out in &*written {
        // Results do not overlap, so that a read argument before this one is before all later ones.
        while reads.next_if(|read| read.bytes < out.bytes && !read.bytes.overlaps(&out.bytes)).is_some() {}
        if let Some(read) = reads.peek().filter(|read| read.bytes.overlaps(&out.bytes)) {
            return Some((*out, **read));
        }
    }
    None
}

fn described(argument: &Argument<'_>) -> String {
    let Bytes { region, start, end } = argument.bytes;
    let value = argument.access.value;
    match region {
        Region::Pool(pool) => format!("values[{value}] at {start}..{end} of pool {pool}"),
        Region::Value(base) if base == value => format!("values[{value}]"),
        Region::Value(base) => format!("values[{value}], a view of values[{base}]"),
    }
}

/// Returns `true` if the out may have exactly the bytes of an argument.
fn works_in_place(known: &ResolvedOperator, read: &Argument<'_>) -> bool {
    known.in_place.contains(&(read.access.arg as usize))
}
