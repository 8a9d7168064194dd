//! What a rule finds: where, what is there, what was expected. Collects them without growing beyond bounds.

use std::fmt;

use super::rules::{self, Profile, Rule, Severity};
use crate::format::flatbuffer::view::Table;
use crate::program::element::Element;

/// Where something is: the byte, and the way there from the root (`methods.forward.values[3].sizes`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// Bytes from the file's start; `None` if it is nowhere (a missing field of a missing table).
    pub offset: Option<u64>,
    /// The way there; empty for the file itself.
    pub path: String,
}

/// Says where a part of a program is, as a byte of the file and as a path.
pub type Locate<'a> = dyn Fn(&Element) -> Place + 'a;

/// A string of a table for a message; a long one is cut.
pub fn shown(table: &Table<'_>, slot: u16) -> String {
    crate::diagnostics::clipped(&String::from_utf8_lossy(table.text(slot).unwrap_or_default()))
}

/// A rule that a file breaks, and where.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// Where.
    pub place: Place,
    /// What is there.
    pub found: String,
    /// What was expected instead.
    pub expected: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: ", self.rule.severity, self.rule.id)?;
        if !self.place.path.is_empty() {
            write!(f, "{}: ", self.place.path)?;
        }
        write!(f, "{}, expected {}", self.found, self.expected)?;
        match self.place.offset {
            Some(offset) => write!(f, " (at byte {offset:#x})"),
            None => Ok(()),
        }
    }
}

/// So many findings of one rule are kept; the others are counted.
pub const KEPT: usize = 20;

/// The findings of one file, as the rules report them.
#[derive(Debug)]
pub struct Findings {
    profile: Profile,
    list: Vec<Finding>,
    /// For each rule of the table how often it was broken.
    counts: Vec<u64>,
}

impl Findings {
    /// No findings yet; `profile` says which rules count.
    pub fn new(profile: Profile) -> Findings {
        Findings { profile, list: Vec::new(), counts: vec![0; rules::RULES.len()] }
    }

    /// A rule is broken. `place`, `found` and `expected` are asked for only if the finding is kept, so that reporting
    /// the same thing a million times costs a million additions.
    ///
    /// # Panics
    /// If no rule has this id: the ids are in the program, and tested.
    pub fn add(&mut self, id: &str, what: impl FnOnce() -> (Place, String, String)) {
        let (index, rule) = rules::find(id).unwrap_or_else(|| panic!("there is no rule {id}"));
        if !rule.applies(self.profile) {
            return;
        }
        self.counts[index] += 1;
        if self.counts[index] as usize <= KEPT {
            let (place, found, expected) = what();
            self.list.push(Finding { rule, place, found, expected });
        }
    }

    /// Adds what another part of the same file's judgement found. No rule is looked for in both.
    pub fn append(&mut self, mut other: Findings) {
        self.list.append(&mut other.list);
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
    }

    /// What was kept, in the order in which it was found.
    pub fn list(&self) -> &[Finding] {
        &self.list
    }

    /// How many findings of a severity there are, those that were not kept among them.
    pub fn count(&self, severity: Severity) -> u64 {
        rules::RULES.iter().zip(&self.counts).filter(|(rule, _)| rule.severity == severity).map(|(_, n)| n).sum()
    }

    /// For each rule of which not all findings were kept: how many there are.
    pub fn truncated(&self) -> impl Iterator<Item = (&'static Rule, u64)> {
        rules::RULES.iter().zip(self.counts.iter().copied()).filter(|(_, count)| *count > KEPT as u64)
    }

    /// Whether the file must not be loaded: something is malformed or invalid.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Malformed) + self.count(Severity::Invalid) > 0
    }
}
