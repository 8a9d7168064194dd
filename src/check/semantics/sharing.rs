//! Bytes that a call both reads and writes (`X-25`).
//!
//! Arguments share bytes through the memory plan, through views, or as the same value. Memory of different calls is
//! `super::memory`; whether the caller passes one buffer as several inputs is not known.

use super::super::finding::{Findings, Locator};
use super::method::{Access, AccessKind, KnownOperator, MethodAnalysis};
use crate::operators::sharing;
use crate::program::{EValue, TensorData};

/// Memory that is told apart: a pool, or that of a tensor outside of all pools.
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

/// A tensor that a call writes, or reads.
#[derive(Debug, Clone, Copy)]
struct Argument<'m> {
    bytes: Bytes,
    access: &'m Access,
}

/// Reports tensors that a call writes and that share bytes with one that it reads, unless its kernel works in place.
pub fn check(method: &MethodAnalysis<'_>, findings: &mut Findings, locate: &Locator<'_>) {
    let bytes = bytes_of_values(method);
    let (mut written, mut read) = (Vec::new(), Vec::new());
    for (number, step) in method.steps.iter().enumerate() {
        let Some((known, _)) = method.call(step).filter(|(known, _)| is_covered(known)) else { continue };
        written.clear();
        read.clear();
        for access in method.step_accesses(number as u32) {
            let Some(bytes) = bytes[access.value as usize] else { continue };
            match access.kind {
                AccessKind::Write | AccessKind::Modify => written.push(Argument { bytes, access }),
                AccessKind::Read => read.push(Argument { bytes, access }),
                AccessKind::Alias | AccessKind::RepeatedOut | AccessKind::Unknown | AccessKind::UnknownResult => {}
            }
        }
        let shared = match written[..] {
            [] => None,
            [out] => read.iter().find(|one| !may_share(method, known, &out, one)).map(|read| (out, *read)),
            _ => overlapping(&mut written, &mut read),
        };
        let Some((out, read)) = shared else { continue };
        findings.add("X-25", || {
            let name = known.operator.signature.args.get(read.access.arg as usize).map_or("", |arg| &*arg.name);
            let (found, of) = (described(&out), described(&read));
            let in_place = sharing::in_place(&known.operator.name).contains(&(read.access.arg as usize));
            let expected = match in_place {
                true => format!("the bytes of `{name}` with its type and sizes, or other memory"),
                false => format!("other memory than that of `{name}`"),
            };
            let found = format!("a result in {found}, while {} reads `{name}` in {of}", known.operator.name);
            (locate(&method.element_of(out.access)), found, expected)
        });
    }
}

/// Returns `true` if it is known which arguments of an operator may share bytes: one of the default runtime.
pub fn is_covered(known: &KnownOperator) -> bool {
    known.operator.rule.is_some() && known.library.is_none() && !known.reads_sizes && !known.is_view
}

/// Returns the bytes of the tensors that have them; views have those of their base.
fn bytes_of_values(method: &MethodAnalysis<'_>) -> Vec<Option<Bytes>> {
    let mut aliases = vec![0u32; method.values().len()];
    for access in method.accesses.iter().filter(|access| access.kind == AccessKind::Alias) {
        aliases[access.value as usize] = aliases[access.value as usize].saturating_add(1);
    }
    let mut bytes: Vec<Option<Bytes>> = Vec::with_capacity(aliases.len());
    for (value, stated) in method.values().iter().enumerate() {
        let own = || match (method.ranges[value], stated) {
            (Some(range), _) => Some(Bytes { region: Region::Pool(range.pool), start: range.start, end: range.end }),
            (None, EValue::Tensor(tensor)) if tensor.data == TensorData::None && !method.facts[value].is_planned => {
                let end = tensor.nbytes().filter(|_| method.facts[value].has_bytes)?;
                Some(Bytes { region: Region::Value(value as u32), start: 0, end })
            }
            (None, _) => None,
        };
        bytes.push(if aliases[value] == 0 { own() } else { None });
    }
    for step in 0..method.end() {
        let Some(base) = method.viewed(step) else { continue };
        for access in method.step_accesses(step).iter().filter(|access| access.kind == AccessKind::Alias) {
            let value = access.value as usize;
            // Of several views in one value, the memory depends on the path.
            if let (1, Some(base), EValue::Tensor(view)) = (aliases[value], bytes[base], &method.values()[value]) {
                let end = view.nbytes().and_then(|size| base.start.checked_add(size));
                bytes[value] = end.map(|end| Bytes { end, ..base });
            }
        }
    }
    bytes
}

/// Returns `true` if a call may write one argument and read another.
fn may_share(method: &MethodAnalysis<'_>, known: &KnownOperator, out: &Argument<'_>, read: &Argument<'_>) -> bool {
    if !out.bytes.overlaps(&read.bytes) {
        return true;
    }
    let (EValue::Tensor(one), EValue::Tensor(other)) =
        (&method.values()[out.access.value as usize], &method.values()[read.access.value as usize])
    else {
        return true;
    };
    out.bytes == read.bytes
        && one.scalar_type == other.scalar_type
        && one.sizes == other.sizes
        && one.dim_order == other.dim_order
        && sharing::in_place(&known.operator.name).contains(&(read.access.arg as usize))
}

/// Returns a written and a read argument that overlap.
fn overlapping<'m>(written: &mut [Argument<'m>], read: &mut [Argument<'m>]) -> Option<(Argument<'m>, Argument<'m>)> {
    written.sort_by_key(|argument| argument.bytes);
    read.sort_by_key(|argument| argument.bytes);
    let mut reads = read.iter().peekable();
    for out in &*written {
        // Results do not overlap, so that a read before this one is before all further ones.
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
