//! Follows the instructions of a method in order, and tracks which ones wrote the content that each reads, also around
//! loops. Part of [`crate::graph`].

use std::collections::HashMap;

use super::graph::{Content, GraphNode, GraphValue, Read};
use pte_analysis::access::Accesses;
use pte_analysis::blocks::{Jump, Skips};
use pte_analysis::operators::MethodOperators;
use pte_model::program::ExecutionPlan;

/// Maximum number of writers of a value from which edges lead to each reader: many instructions can read a value that
/// many wrote.
const WRITERS: usize = 8;

/// Returns the value whose memory a value has.
fn owner(value: usize, values: &[GraphValue]) -> usize {
    values[value].base.unwrap_or(value)
}

/// Follows the instructions in order, and tracks which ones wrote the content of each value.
pub struct Flow<'j> {
    accesses: Accesses,
    /// By value: the instructions that may have written its content.
    writers: Vec<Vec<usize>>,
    skips: Skips<'j>,
}

impl<'j> Flow<'j> {
    /// Starts before the first instruction.
    pub fn new(
        plan: &ExecutionPlan,
        operators: &MethodOperators,
        values: &[GraphValue],
        jumps: &'j [Jump],
    ) -> Flow<'j> {
        let owners: Vec<u32> = (0..values.len()).map(|value| owner(value, values) as u32).collect();
        let has_content = values.iter().map(|value| value.content != Content::None).collect();
        let accesses = Accesses::of(plan, operators, has_content, &owners);
        Flow { accesses, writers: vec![Vec::new(); values.len()], skips: Skips::new(jumps) }
    }

    /// Returns what reading a value now depends on.
    pub fn read(&self, value: usize, values: &[GraphValue]) -> Read {
        Read { value, writers: self.writers[owner(value, values)].clone() }
    }

    /// Returns what the next instruction reads and writes.
    pub fn step(&mut self, number: usize, values: &[GraphValue]) -> (Vec<Read>, Vec<usize>) {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for access in self.accesses.of_step(number) {
            let value = access.value as usize;
            let read = self.read(value, values);
            // Lists are read through their items, and the label of a node has the literals.
            let is_literal = values[value].content == Content::Literal && read.writers.is_empty();
            if access.reads() && !is_literal {
                reads.push(read);
            }
            if access.writes() && values[value].items.is_empty() {
                writes.push(value);
            }
        }
        reads.sort_unstable_by_key(|read| read.value);
        reads.dedup();
        writes.sort_unstable();
        writes.dedup();
        let around = self.skips.around(number as u32);
        for value in writes.iter().map(|value| owner(*value, values)) {
            let writers = &mut self.writers[value];
            writers.retain(|writer| *writer != number && around.is_some_and(|jump| *writer < jump.step as usize));
            if writers.len() == WRITERS {
                writers.remove(0);
            }
            writers.push(number);
        }
        (reads, writes)
    }
}

/// Adds the writers of the previous iteration of a loop to what its instructions read: in the outermost loop, the last
/// instruction that writes a value after it is read.
pub fn carry(nodes: &mut [GraphNode], values: &[GraphValue], jumps: &[Jump]) {
    let mut loops: Vec<(usize, usize)> = Vec::new();
    let mut back: Vec<&Jump> = jumps.iter().filter(|jump| jump.is_back()).collect();
    back.sort_by_key(|jump| jump.to);
    for jump in back {
        let (first, last) = (jump.to as usize, jump.step as usize);
        match loops.last_mut() {
            Some(outer) if first <= outer.1 => outer.1 = outer.1.max(last),
            Some(_) | None => loops.push((first, last)),
        }
    }
    for (first, last) in loops {
        let Some(body) = nodes.get_mut(first..=last) else { continue };
        let mut writers: HashMap<usize, usize> = HashMap::new();
        for (number, node) in (first..).zip(&*body) {
            writers.extend(node.writes.iter().map(|value| (owner(*value, values), number)));
        }
        for (number, node) in (first..).zip(body) {
            for read in &mut node.reads {
                let comes_from_before = read.writers.iter().all(|writer| *writer < first);
                let writer = writers.get(&owner(read.value, values)).filter(|writer| **writer >= number);
                if let Some(writer) = writer.filter(|_| comes_from_before && read.writers.len() < WRITERS) {
                    read.writers.push(*writer);
                }
            }
        }
    }
}
