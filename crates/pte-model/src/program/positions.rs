//! Positions of delegates, of the graphs in their payloads, and of their calls, in the YAML that a program was
//! assembled from.
//!
//! The positions of other elements are not kept, because findings about them have the names of their values.

use std::collections::HashMap;
use std::ops::Range;

use super::{Instruction, Program};

/// A position in YAML.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceRange {
    /// Byte range in the source.
    pub span: Range<usize>,
    /// Line in the file, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
}

/// A delegate of a method.
#[derive(Debug, Clone)]
pub struct DelegatePosition {
    /// Index of the method.
    pub method: usize,
    /// Index of the delegate in the method.
    pub delegate: usize,
    /// Name in the YAML.
    pub name: String,
    /// Position of the name.
    pub at: SourceRange,
    /// Values of the graph, in its order.
    pub values: Vec<GraphValuePosition>,
    /// Operations of the graph, in its order.
    pub nodes: Vec<SourceRange>,
    /// Calls of the delegate.
    pub calls: Vec<CallPosition>,
}

/// A call of a delegate.
#[derive(Debug, Clone)]
pub struct CallPosition {
    /// Index of the chain.
    pub chain: usize,
    /// Index in the chain.
    pub step: usize,
    /// Position of the instruction.
    pub at: SourceRange,
}

/// Calls of delegates, as chain and index in the chain, by the indices of method and delegate.
#[derive(Debug, Default)]
pub struct Calls(HashMap<(usize, usize), Vec<(usize, usize)>>);

impl Calls {
    /// Returns the calls of a program.
    pub fn of(program: &Program) -> Calls {
        let mut calls = Calls::default();
        for (method, plan) in program.plans().iter().enumerate() {
            for (chain, step, instruction) in plan.instructions_by_chain() {
                if let Instruction::DelegateCall { delegate_index, .. } = instruction
                    && let Some(delegate) = delegate_index.get()
                {
                    calls.0.entry((method, delegate)).or_default().push((chain, step));
                }
            }
        }
        calls
    }

    /// Returns the calls of a delegate.
    pub fn of_delegate(&self, method: usize, delegate: usize) -> &[(usize, usize)] {
        self.0.get(&(method, delegate)).map_or(&[], Vec::as_slice)
    }
}

/// A value of a graph.
#[derive(Debug, Clone)]
pub struct GraphValuePosition {
    /// Id of the value in the graph.
    pub id: u32,
    /// Name in the YAML.
    pub name: String,
    /// Position of the name: in `values`, or in the operation that writes it.
    pub at: SourceRange,
}
