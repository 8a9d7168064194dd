//! Follows the instructions of a method in order, and finds which ones wrote the content that each reads, also around
//! loops. Names and types of the values are those of [`crate::graph`].

use std::collections::HashMap;

use serde::{Serialize, Serializer};

use pte_analysis::access::Accesses;
use pte_analysis::blocks::{Jump, Skips};
use pte_analysis::method::Method;

/// Maximum number of writers of a value from which edges lead to each reader: many instructions can read a value that
/// many wrote.
const WRITERS: usize = 8;

/// Number of values that the instructions of a program list in addition to one for each argument: a list of many items
/// can be an argument of many instructions. Each takes up to half a kilobyte in a report.
const MAX_LISTED: usize = 1 << 16;

/// Number of values that instructions may still list in addition to one for each argument.
pub struct Left(usize);

impl Default for Left {
    fn default() -> Left {
        Left(MAX_LISTED)
    }
}

impl Left {
    /// Removes the last values of a list that has more than `args` and what is left, and returns how many.
    fn cut(&mut self, values: &mut Vec<usize>, args: usize) -> usize {
        let before = values.len();
        let more = before.saturating_sub(args).min(self.0);
        self.0 -= more;
        values.truncate(args + more);
        values.shrink_to_fit();
        before - values.len()
    }
}

/// A value that an instruction reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// Value.
    pub value: usize,
    /// Instructions that may have written the content that is read, also through a base: the last writer, and those
    /// before it whose content is kept if a jump skips the later writers, as in branches; in a loop, also the last
    /// writer after it, in the previous iteration. Empty if no instruction wrote it.
    pub writers: Vec<usize>,
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Read {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Read".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Index of the value that is read, and of the instructions that may have written its content; \
                            null instead of them if no instruction did.",
            "type": "array",
            "items": {"type": ["integer", "null"], "minimum": 0},
            "minItems": 2,
        })
    }
}

impl Serialize for Read {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.writers.is_empty() {
            true => (self.value, ()).serialize(serializer),
            false => serializer.collect_seq([&self.value].into_iter().chain(&self.writers)),
        }
    }
}

/// Properties of a value that the flow depends on.
pub struct ValueFacts {
    /// Value whose memory it has: the base of a view, or itself.
    pub owner: usize,
    /// It has content before the first instruction.
    pub has_content: bool,
    /// It is a number, string, list or None in the program.
    pub is_literal: bool,
    /// It is a list of tensors.
    pub is_list: bool,
}

/// Values that an instruction reads and writes.
#[derive(Default)]
pub struct Step {
    /// Values that it reads, with their writers.
    pub reads: Vec<Read>,
    /// Values that it writes, each once.
    pub writes: Vec<usize>,
    /// Number of further values that it reads.
    pub more_reads: usize,
    /// Number of further values that it writes.
    pub more_writes: usize,
}

/// Follows the instructions in order, and tracks which ones wrote the content of each value.
pub struct Flow<'j> {
    method: &'j Method<'j>,
    facts: Vec<ValueFacts>,
    accesses: Accesses,
    /// By value: the instructions that may have written its content.
    writers: Vec<Vec<usize>>,
    skips: Skips<'j>,
}

impl<'j> Flow<'j> {
    /// Starts before the first instruction of a method with these values.
    pub fn new(method: &'j Method<'j>, facts: Vec<ValueFacts>) -> Flow<'j> {
        let owners: Vec<u32> = facts.iter().map(|value| value.owner as u32).collect();
        let has_content = facts.iter().map(|value| value.has_content).collect();
        // State and views are those of the YAML, which a file does not have.
        let accesses = Accesses::of(method.plan, &method.operators, has_content, &owners);
        Flow { method, accesses, writers: vec![Vec::new(); facts.len()], skips: Skips::new(method.jumps()), facts }
    }

    /// Returns the writers that a read of a value depends on at this point.
    pub fn read(&self, value: usize) -> Read {
        Read { value, writers: self.writers[self.facts[value].owner].clone() }
    }

    /// Returns true if an instruction wrote a value until now.
    pub fn is_written(&self, value: usize) -> bool {
        !self.writers[self.facts[value].owner].is_empty()
    }

    /// Follows the instructions, and returns their reads and writes.
    pub fn steps(&mut self, left: &mut Left) -> Vec<Step> {
        let args = self.method.plan.instructions().map(|instruction| instruction.args().len());
        let mut steps: Vec<Step> = args.enumerate().map(|(number, args)| self.step(number, args, left)).collect();
        self.carry(&mut steps);
        steps
    }

    /// Returns the reads and writes of the next instruction.
    fn step(&mut self, number: usize, args: usize, left: &mut Left) -> Step {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for access in self.accesses.of_step(number) {
            let value = access.value as usize;
            // Lists are read through their items, and the label of a node has the literals.
            let is_literal = self.facts[value].is_literal && !self.is_written(value);
            if access.reads() && !is_literal {
                reads.push(value);
            }
            if access.writes() && !self.facts[value].is_list {
                writes.push(value);
            }
        }
        for values in [&mut reads, &mut writes] {
            values.sort_unstable();
            values.dedup();
        }
        let more_reads = left.cut(&mut reads, args);
        let reads = reads.into_iter().map(|value| self.read(value)).collect();
        let around = self.skips.around(number as u32);
        for value in writes.iter().map(|value| self.facts[*value].owner) {
            let writers = &mut self.writers[value];
            writers.retain(|writer| *writer != number && around.is_some_and(|jump| *writer < jump.step as usize));
            if writers.len() == WRITERS {
                writers.remove(0);
            }
            writers.push(number);
        }
        let more_writes = left.cut(&mut writes, args);
        Step { reads, writes, more_reads, more_writes }
    }

    /// Adds the writers of the previous iteration of a loop to what its instructions read: in the outermost loop, the
    /// last instruction that writes a value after it is read.
    fn carry(&self, steps: &mut [Step]) {
        let mut loops: Vec<(usize, usize)> = Vec::new();
        let mut back: Vec<&Jump> = self.method.jumps().iter().filter(|jump| jump.is_back()).collect();
        back.sort_by_key(|jump| jump.to);
        for jump in back {
            let (first, last) = (jump.to as usize, jump.step as usize);
            match loops.last_mut() {
                Some(outer) if first <= outer.1 => outer.1 = outer.1.max(last),
                Some(_) | None => loops.push((first, last)),
            }
        }
        for (first, last) in loops {
            let Some(body) = steps.get_mut(first..=last) else { continue };
            let mut writers: HashMap<usize, usize> = HashMap::new();
            for (number, step) in (first..).zip(&*body) {
                writers.extend(step.writes.iter().map(|value| (self.facts[*value].owner, number)));
            }
            for (number, step) in (first..).zip(body) {
                for read in &mut step.reads {
                    let is_from_before = read.writers.iter().all(|writer| *writer < first);
                    let writer = writers.get(&self.facts[read.value].owner).filter(|writer| **writer >= number);
                    if let Some(writer) = writer.filter(|_| is_from_before && read.writers.len() < WRITERS) {
                        read.writers.push(*writer);
                    }
                }
            }
        }
    }
}
