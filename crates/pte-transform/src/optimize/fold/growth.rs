//! Decides which calls are folded: groups of calls that share constants are folded as far as the file does not grow by
//! more than a limit.

use std::collections::HashMap;

use super::candidates::{Candidates, Reader};
use pte_analysis::aliases::Groups;
use pte_model::program::Program;
use pte_model::program::element::{Element, Part};

/// Bytes of a program that a call takes at least: instruction, arguments, and literals.
const CALL_BYTES: i128 = 64;

/// Constants are aligned to a multiple of this.
const ALIGNMENT: u64 = 16;

/// Size of a constant without bytes, which the runtime does not load.
const IMPOSSIBLE: i128 = 1 << 70;

/// A value of a method.
type Value = (usize, usize);

/// State of the decision: the calls that are folded so far, and the constants that are needed with them.
pub struct Ledger {
    folded: Vec<bool>,
    /// Number of accesses to constants and results by instructions that are not folded, and as outputs.
    open: HashMap<Value, usize>,
    /// By content: number of constants that need it.
    needed: Vec<usize>,
    sizes: Vec<i128>,
    /// Value of each result: the call that writes it.
    writers: HashMap<Value, usize>,
    /// By content: something else than a constant that calls read has it, so that it stays.
    stays: Vec<bool>,
}

impl Ledger {
    /// Returns the state in which nothing is folded.
    pub fn new(program: &Program, candidates: &Candidates) -> Ledger {
        let count = candidates.contents.len();
        let mut ledger = Ledger {
            folded: vec![false; candidates.calls.len()],
            open: candidates.readers.iter().map(|(value, readers)| (*value, readers.len())).collect(),
            needed: vec![0; count],
            sizes: (0..count).map(|content| size(candidates, content)).collect(),
            writers: HashMap::new(),
            stays: vec![false; count],
        };
        for (at, call) in candidates.calls.iter().enumerate() {
            ledger.writers.extend(call.results.iter().map(|(value, _)| ((call.method, *value), at)));
        }
        for (element, blob) in program.blob_references() {
            let Some(content) = candidates.contents.of_blob(blob) else { continue };
            match element {
                Element::Method(method, Part::Value(value)) if candidates.constants.contains_key(&(method, value)) => {
                    // Unused results are removed in any case.
                    ledger.needed[content] += usize::from(ledger.is_open(method, value));
                }
                _ => {
                    ledger.needed[content] += 1;
                    ledger.stays[content] = true;
                }
            }
        }
        ledger
    }

    /// Returns, by candidate, `true` if it is folded.
    pub fn folded(&self) -> &[bool] {
        &self.folded
    }

    /// Returns `true` if an instruction that is not folded, or the caller, reads a value.
    pub fn is_open(&self, method: usize, value: usize) -> bool {
        self.open.get(&(method, value)).is_some_and(|open| *open > 0)
    }

    /// Chooses the calls to fold, and returns the number of bytes by which the file grows: all calls if the file grows
    /// by at most `max_growth` then, otherwise groups as long as there is room.
    pub fn choose(&mut self, candidates: &Candidates, max_growth: u64) -> i64 {
        let (mut total, mut left) = (0i128, i128::from(max_growth));
        let all: i128 = (0..candidates.calls.len()).map(|call| self.toggle(candidates, call)).sum();
        if all <= left {
            return i64::try_from(all).unwrap_or(i64::MIN);
        }
        (0..candidates.calls.len()).rev().for_each(|call| {
            self.toggle(candidates, call);
        });
        for group in self.groups(candidates) {
            let mut growth: i128 = group.iter().map(|call| self.toggle(candidates, *call)).sum();
            if growth > left {
                growth += self.trim(candidates, &group, growth - left);
            }
            left -= growth.max(0);
            total += growth;
        }
        i64::try_from(total).unwrap_or(i64::MAX)
    }

    /// Takes calls back until a group grows less by `excess`: at first those whose results are larger than their
    /// arguments, then all from the last one on. Returns the change of the growth.
    fn trim(&mut self, candidates: &Candidates, group: &[usize], excess: i128) -> i128 {
        let mut change = 0;
        for &call in group.iter().rev() {
            if !self.is_last(candidates, call) {
                continue;
            }
            let difference = self.toggle(candidates, call);
            if difference < 0 {
                change += difference;
            } else {
                self.toggle(candidates, call);
            }
        }
        for &call in group.iter().rev() {
            if -change >= excess {
                break;
            }
            if self.folded[call] {
                change += self.toggle(candidates, call);
            }
        }
        change
    }

    /// Returns `true` if a call is folded, and no folded call reads its results.
    fn is_last(&self, candidates: &Candidates, call: usize) -> bool {
        let of = &candidates.calls[call];
        let reads = |reader: &Reader| matches!(reader, Reader::Candidate(other) if self.folded[*other]);
        let is_read = |(value, _): &(usize, usize)| {
            candidates.readers.get(&(of.method, *value)).is_some_and(|readers| readers.iter().any(reads))
        };
        self.folded[call] && !of.results.iter().any(is_read)
    }

    /// Folds a call or takes it back, and returns the number of bytes by which the file grows.
    fn toggle(&mut self, candidates: &Candidates, call: usize) -> i128 {
        let of = &candidates.calls[call];
        let folds = !self.folded[call];
        self.folded[call] = folds;
        let mut growth = if folds { -CALL_BYTES } else { CALL_BYTES };
        for &(value, content) in &of.reads {
            let open = self.open.entry((of.method, value)).or_default();
            let was_open = *open > 0;
            *open = if folds { open.saturating_sub(1) } else { *open + 1 };
            let is_open = *open > 0;
            let is_constant = self.writers.get(&(of.method, value)).is_none_or(|writer| self.folded[*writer]);
            if is_constant && was_open != is_open {
                growth += self.need(content, is_open);
            }
        }
        for &(value, content) in &of.results {
            if self.is_open(of.method, value) {
                growth += self.need(content, folds);
            }
        }
        growth
    }

    /// Counts a constant that needs a content or no longer does. Returns the number of bytes by which the file grows.
    fn need(&mut self, content: usize, more: bool) -> i128 {
        let needed = &mut self.needed[content];
        if more {
            *needed += 1;
            if *needed == 1 { self.sizes[content] } else { 0 }
        } else {
            *needed = needed.saturating_sub(1);
            if *needed == 0 { -self.sizes[content] } else { 0 }
        }
    }

    /// Returns groups of calls: those that read each other's results, or constants that nothing else needs.
    fn groups(&self, candidates: &Candidates) -> Vec<Vec<usize>> {
        let mut groups = Groups::new(candidates.calls.len());
        let mut by_content: HashMap<usize, usize> = HashMap::new();
        for (at, call) in candidates.calls.iter().enumerate() {
            for &(value, content) in &call.reads {
                match self.writers.get(&(call.method, value)) {
                    Some(writer) => groups.join(at, *writer),
                    None if self.stays[content] => {}
                    None => groups.join(at, *by_content.entry(content).or_insert(at)),
                }
            }
        }
        let mut by_first: HashMap<usize, usize> = HashMap::new();
        let mut lists: Vec<Vec<usize>> = Vec::new();
        for at in 0..candidates.calls.len() {
            let first = groups.first(at);
            let list = *by_first.entry(first).or_insert_with(|| {
                lists.push(Vec::new());
                lists.len() - 1
            });
            lists[list].push(at);
        }
        lists
    }
}

/// Returns the bytes of a constant in a file.
fn size(candidates: &Candidates, content: usize) -> i128 {
    let len = candidates.contents.get(content).len();
    if len == 0 && !candidates.contents.is_own(content) {
        return IMPOSSIBLE;
    }
    i128::from(len.checked_next_multiple_of(ALIGNMENT).unwrap_or(len))
}
