//! Tensors that lie over each other in planned memory although both are needed.
//!
//! Sharing memory is what a planner is for: tensors that are needed at different times, views, results in place. So a
//! write counts only if another tensor, which was given content of its own, is read afterwards, on a way that leads
//! straight ahead; and tensors that begin at the same byte may be views of each other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::super::finding::Findings;
use super::super::finding::Locate;
use super::control::Flow;
use super::method::{Access, How, Method, Span};

/// So many tensors that begin before another one are looked at, of those that are alive.
const LOOK_BACK: usize = 8;
/// What operators call arguments whose elements say where others are.
const INDICES: &[&str] = &["index", "indices"];
/// In methods with more loops than this, what a loop needs in its next round is not looked at.
const MOST_LOOPS: usize = 64;

/// A time in which a tensor's content is needed. Step `i` is at `i + 1`; at 0 the method begins, and the end is twice
/// there: when the outputs are taken, and when the next execution begins.
#[derive(Debug, Clone, Copy)]
struct Need {
    value: u32,
    /// When the content was made.
    from: u32,
    /// When it is last read.
    to: u32,
    /// The content is needed in the next execution, or the next round of a loop: the steps where that begins and reads it.
    around: Option<(u32, u32)>,
}

/// Checks for writes to memory whose content is still needed, and for results that lie over each other.
pub fn check(method: &Method<'_>, flow: &Flow, findings: &mut Findings, place: &Locate<'_>) {
    results(method, findings, place);
    if method.tangled {
        return;
    }
    let mut needs = needs(method, flow);
    needs.sort_unstable_by_key(|need| need.from);
    let mut bases = vec![None; method.values().len()];
    for access in method.accesses.iter().filter(|access| access.how == How::Alias) {
        bases[access.value as usize] = method.viewed(access.step).map(|base| base as u32);
    }
    Sweep { method, flow, bases, present: BTreeMap::new(), leaving: BinaryHeap::new() }.run(&needs, findings, place);
}

/// Two results of one call that share bytes.
fn results(method: &Method<'_>, findings: &mut Findings, place: &Locate<'_>) {
    let mut written: Vec<(Span, &Access)> = Vec::new();
    for step in 0..method.end() {
        let accesses = method.step_accesses(step).iter().filter(|access| access.how == How::Write);
        if accesses.clone().count() < 2 {
            continue;
        }
        written.clear();
        written.extend(accesses.filter_map(|access| Some((method.spans[access.value as usize]?, access))));
        written.sort_unstable_by_key(|(span, _)| *span);
        for pair in written.windows(2) {
            let [(first, one), (second, other)] = pair else { continue };
            if first.overlaps(second) {
                findings.add("X-6", || {
                    let found = match one.value == other.value {
                        true => format!("values[{}] twice among the results", one.value),
                        false => format!("results that share bytes: values[{}] and values[{}]", one.value, other.value),
                    };
                    (
                        place(&method.place_of(if one.arg < other.arg { other } else { one })),
                        found,
                        "results apart".into(),
                    )
                });
                break;
            }
        }
    }
}

/// When the content of each planned tensor is needed.
fn needs(method: &Method<'_>, flow: &Flow) -> Vec<Need> {
    let loops: Vec<(u32, u32)> = flow.loops().take(MOST_LOOPS + 1).collect();
    let loops = if loops.len() > MOST_LOOPS { Vec::new() } else { loops };
    let end = method.end() + 2;
    let mut needs = Vec::new();
    for (value, span) in method.spans.iter().enumerate() {
        let Some(span) = *span else { continue };
        // Who is moved, or a view of what lies elsewhere, has its bytes nobody knows where.
        let strays = |access: &Access| {
            access.how == How::Alias && {
                let base = method.viewed(access.step).and_then(|base| method.spans[base]);
                base.is_none_or(|base| (base.pool, base.start) != (span.pool, span.start))
            }
        };
        if method.value_accesses(value).any(strays) {
            continue;
        }
        let state = !method.is_input[value]
            && (method.facts[value].has_data || method.value_accesses(value).any(|access| access.how == How::Modify))
            && method.value_accesses(value).next().is_some_and(|access| access.how.reads());
        let starts = method.is_input[value] || state;
        let need = |from, to| Need { value: value as u32, from, to, around: None };
        let mut open = starts.then(|| need(0, 0));
        let (mut first_read, mut carried) = (None, 0);
        for access in method.value_accesses(value) {
            let time = access.step + 1;
            if access.how.reads() {
                first_read = first_read.or(Some(access.step));
                if let Some(open) = &mut open {
                    carry(method, &loops, &mut carried, &mut needs, open, time);
                    open.to = time;
                }
            } else if access.how.may_write() {
                needs.extend(open.filter(|need| need.to > need.from));
                open = Some(need(time, time));
            }
        }
        if let (true, Some(last)) = (state, &mut open) {
            needs.push(Need {
                to: end,
                around: first_read.map(|read| (0, read)),
                from: last.from.max(last.to),
                ..*last
            });
        }
        needs.extend(open.filter(|need| need.to > need.from));
    }
    needs
}

/// A read inside of a loop of what was made before it is a read in the next round, too. `carried` has a bit for each loop
/// that was looked at.
fn carry(method: &Method<'_>, loops: &[(u32, u32)], carried: &mut u64, needs: &mut Vec<Need>, open: &Need, time: u32) {
    for (number, &(head, jump)) in loops.iter().enumerate() {
        let bit = 1 << (number % 64);
        if *carried & bit != 0 || head < open.from || !(head..=jump).contains(&(time - 1)) {
            continue;
        }
        *carried |= bit;
        if !method.rewrites(open.value as usize, head, jump) {
            needs.push(Need { from: time, to: jump + 1, around: Some((head, time - 1)), ..*open });
        }
    }
}

struct Sweep<'m, 'p> {
    method: &'m Method<'p>,
    flow: &'m Flow,
    /// For each value that is a view the value it is a view of.
    bases: Vec<Option<u32>>,
    /// What is needed now, by pool, start and number.
    present: BTreeMap<(u32, u64, usize), (Span, Need)>,
    /// When what is present is not needed any more.
    leaving: BinaryHeap<Reverse<(u32, usize)>>,
}

impl Sweep<'_, '_> {
    fn run(&mut self, needs: &[Need], findings: &mut Findings, place: &Locate<'_>) {
        let mut next = needs.iter().enumerate().peekable();
        for step in 0..self.method.end() {
            let time = step + 1;
            while let Some((number, need)) = next.next_if(|(_, need)| need.from < time) {
                let Some(span) = self.method.spans[need.value as usize] else { continue };
                self.present.insert((span.pool, span.start, number), (span, *need));
                self.leaving.push(Reverse((need.to, number)));
            }
            while let Some(&Reverse((to, number))) = self.leaving.peek()
                && to < time
            {
                if let Some(span) = self.method.spans[needs[number].value as usize] {
                    self.present.remove(&(span.pool, span.start, number));
                }
                self.leaving.pop();
            }
            for access in self.method.step_accesses(step) {
                let definite = matches!(access.how, How::Write | How::Modify);
                let Some(span) = self.method.spans[access.value as usize].filter(|_| definite) else { continue };
                self.write(access, span, time, findings, place);
            }
        }
    }

    fn write(&self, access: &Access, span: Span, time: u32, findings: &mut Findings, place: &Locate<'_>) {
        let below = self.present.range(..(span.pool, span.start, 0)).rev().take(LOOK_BACK);
        let here = self.present.range((span.pool, span.start, 0)..(span.pool, span.end, 0)).take(LOOK_BACK);
        let hit = below
            .chain(here)
            .map(|(_, present)| present)
            .find(|(other, need)| need.value != access.value && other.overlaps(&span) && self.is_read(need, time));
        let Some((other, need)) = hit else { return };
        let same_start = other.start == span.start;
        if same_start && (access.how == How::Modify || self.are_related(access.value, need) || need.to == time) {
            return;
        }
        // A view is no larger than what it is a view of.
        let rule = match () {
            () if same_start && span.end <= other.end => "X-5",
            () if self.is_index(need, time) => "X-20",
            () => "X-4",
        };
        findings.add(rule, || {
            let found = format!(
                "a write to values[{}], bytes {}..{} of pool {}, while values[{}], bytes {}..{}, is still to be read",
                access.value, span.start, span.end, span.pool, need.value, other.start, other.end
            );
            (place(&self.method.place_of(access)), found, "memory that nothing else needs at the time".into())
        });
    }

    /// Whether what is needed is read after this moment, on a way straight ahead.
    fn is_read(&self, need: &Need, time: u32) -> bool {
        if !self.flow.straight(need.from.saturating_sub(1), time - 1) {
            return false;
        }
        if let Some((begin, read)) = need.around {
            return self.flow.straight(time - 1, need.to.saturating_sub(1).min(self.method.end()))
                && self.flow.straight(begin, read);
        }
        let read = self.method.next_read(need.value as usize, time - 1);
        read.is_some_and(|read| self.flow.straight(time - 1, read))
    }

    /// Whether the next to read what is needed takes it for indices.
    fn is_index(&self, need: &Need, time: u32) -> bool {
        let Some(read) = self.method.next_read(need.value as usize, time - 1) else { return false };
        let Some((known, _)) = self.method.steps.get(read as usize).and_then(|step| self.method.call(step)) else {
            return false;
        };
        let mut reads = self.method.step_accesses(read).iter().filter(|access| access.value == need.value);
        reads.any(|access| {
            let arg = known.signature.args.get(access.arg as usize);
            arg.is_some_and(|arg| INDICES.contains(&&*arg.name))
        })
    }

    /// Whether one of two tensors is a view of the other, or both are of a third.
    fn are_related(&self, value: u32, need: &Need) -> bool {
        let base = |value: u32| self.bases[value as usize].unwrap_or(value);
        base(value) == base(need.value)
    }
}
