//! What a value may be when an instruction reads it: known things, what the caller decides, or something that follows
//! from the file, but is not evaluated. [`super::values`] finds it.

use smallvec::SmallVec;

use super::super::contents::Item;
use super::limits;
use super::method::MethodAnalysis;

/// Maximum number of contents that a tensor may have.
const MAX_CONTENTS: usize = 8;

/// Reason why something that follows from the file is not evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Open {
    /// The instruction.
    pub step: u32,
    /// The reason.
    pub why: Why,
}

impl Open {
    /// Returns the reason in words: a clause.
    pub fn reason(&self, method: &MethodAnalysis<'_>) -> String {
        let step = self.step;
        let name = || match method.steps.get(step as usize).and_then(|instruction| method.call(instruction)) {
            Some((known, _)) => format!("{} at instruction {step}", known.name),
            None => format!("instruction {step}"),
        };
        match self.why {
            Why::Operator => format!("{} is not evaluated", name()),
            Why::Delegate => format!("the delegate of instruction {step} computes it"),
            Why::Overlap => format!("{} writes a part of its memory", name()),
            Why::Several => {
                let most = limits::COMPUTED.of(0);
                format!("it may be more than {most} numbers, or {MAX_CONTENTS} contents, at instruction {step}")
            }
            Why::Executions => "it is another one after many executions".to_owned(),
            Why::Steps => {
                let most = method.limit(&limits::STEPS);
                format!("the loop at instruction {step} takes more than {most} executed instructions")
            }
        }
    }
}

/// Reason of [`Open`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// Results of the operator are not evaluated.
    Operator,
    /// A delegate computes it.
    Delegate,
    /// The instruction writes a part of the memory.
    Overlap,
    /// It may be more than a limit.
    Several,
    /// It is state that is another number, or other content, in each of many executions.
    Executions,
    /// The loop takes more instructions than the limit.
    Steps,
}

/// What a value may be.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Possible {
    /// Ascending.
    pub known: SmallVec<[Item; 2]>,
    /// Or what the caller decides.
    pub caller: bool,
    /// Or something that follows from the file, but is not evaluated.
    pub open: Option<Open>,
}

impl Clone for Possible {
    // The derived one copies item by item, which took a third of the time of methods with many numbers.
    fn clone(&self) -> Possible {
        Possible { known: SmallVec::from_slice(&self.known), ..*self }
    }
}

impl Possible {
    /// Nothing yet.
    pub fn none() -> Possible {
        Possible { known: SmallVec::new(), caller: false, open: None }
    }

    /// One known thing.
    pub fn of(item: Item) -> Possible {
        Possible { known: SmallVec::from_slice(&[item]), ..Possible::none() }
    }

    /// What the caller decides.
    pub fn caller() -> Possible {
        Possible { caller: true, ..Possible::none() }
    }

    /// What is not evaluated, because of an instruction.
    pub fn open(step: u32, why: Why) -> Possible {
        Possible { open: Some(Open { step, why }), ..Possible::none() }
    }

    /// Adds what another value may be.
    pub fn add(&mut self, other: &Possible) {
        for item in &other.known {
            if let Err(at) = self.known.binary_search(item) {
                self.known.insert(at, *item);
            }
        }
        self.caller |= other.caller;
        self.open = self.open.max(other.open);
    }

    /// Returns what a value may be if it is either of the two; `widened` are more things than the limit: it takes
    /// `true` for contents.
    pub fn join(&self, other: &Possible, widened: impl FnOnce(bool) -> Possible) -> Possible {
        let mut joined = self.clone();
        joined.add(other);
        let is_content = joined.is_content();
        if joined.known.len() > if is_content { MAX_CONTENTS } else { limits::COMPUTED.of(0) + 1 } {
            let widened = if joined.is_caller() { Possible::caller() } else { widened(is_content) };
            joined.known.clear();
            joined.add(&widened);
        }
        joined
    }

    /// Returns `true` before anything is known.
    pub fn is_nothing(&self) -> bool {
        self.known.is_empty() && !self.caller && self.open.is_none()
    }

    /// Returns `true` if the caller decides a part of it; also a size that only execution determines.
    pub fn is_caller(&self) -> bool {
        self.caller || self.known.iter().any(|item| matches!(item, Item::AtMost(_)))
    }

    /// Returns `true` if it is the content of a tensor.
    pub fn is_content(&self) -> bool {
        matches!(self.known.first(), Some(Item::Content(_)))
    }

    /// Returns the only thing that the value can be.
    pub fn only(&self) -> Option<Item> {
        match (&self.known[..], self.caller, self.open) {
            ([item], false, None) => Some(*item),
            _ => None,
        }
    }
}
