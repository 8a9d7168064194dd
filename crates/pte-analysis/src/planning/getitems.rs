//! Finds the `getitem` nodes of the exporter's graph, which take the results of a call apart
//! (docs/format.md, "Results of one call"). They are not instructions, but all results of the call live until then.
//! [`super::lifetimes`] uses their positions.

use std::collections::VecDeque;
use std::mem::replace;

use crate::operators::{AccessKind, MethodOperators, Usage};
use pte_model::program::{EValue, ExecutionPlan, Instruction, TensorData};

/// Results of a call, and the last instruction before the nodes that take them apart.
#[derive(Debug, PartialEq, Eq)]
pub struct TakenApart {
    /// Indices of the values that the call returns.
    pub results: Vec<usize>,
    /// Index of the instruction.
    pub instruction: u32,
}

/// Returns the calls with several results of a method whose graph was sorted again because parts of it became
/// delegates; none for other methods, or one with jumps.
///
/// The sort takes nodes in the order in which their inputs become available. Nodes that are ready when a call is taken
/// come before the nodes that take its results apart; nodes that need these results, or those of a later node, come
/// after them.
pub fn taken_apart(plan: &ExecutionPlan, operators: &MethodOperators) -> Vec<TakenApart> {
    let has_delegate = plan.instructions().any(|instruction| matches!(instruction, Instruction::DelegateCall { .. }));
    if !has_delegate || plan.instructions().any(|instruction| instruction.destination().is_some()) {
        return Vec::new();
    }
    let mut calls = Calls::new(plan);
    for (number, instruction) in (0..).zip(plan.instructions()) {
        calls.visit(plan, operators, number, instruction);
    }
    let last = calls.made.len().saturating_sub(1) as u32;
    calls.finish(u32::MAX, last);
    calls.made.into_iter().filter_map(|made| made.apart).collect()
}

/// State of the pass over the instructions.
struct Calls {
    /// By value: the instruction that produced it; `None` for constants, inputs and state.
    makers: Vec<Option<u32>>,
    /// By value: `true` if no instruction produces it.
    given: Vec<bool>,
    /// By value: `true` if an instruction has used it. Items of a list count once.
    has_been_used: Vec<bool>,
    /// Facts of the instructions.
    made: Vec<Made>,
    /// Instructions whose results are not taken apart yet, in ascending order.
    open: VecDeque<u32>,
}

/// Facts of an instruction.
#[derive(Default)]
struct Made {
    /// The results, if there are several.
    apart: Option<TakenApart>,
    is_open: bool,
}

impl Calls {
    fn new(plan: &ExecutionPlan) -> Calls {
        let is_given = |value: &EValue| value.as_tensor().is_none_or(|tensor| tensor.data != TensorData::None);
        let mut given: Vec<bool> = plan.values().iter().map(is_given).collect();
        for input in plan.inputs.iter().flatten() {
            input.item_mut(&mut given).into_iter().for_each(|given| *given = true);
        }
        let count = given.len();
        Calls {
            makers: vec![None; count],
            given,
            has_been_used: vec![false; count],
            made: Vec::new(),
            open: VecDeque::new(),
        }
    }

    fn visit(&mut self, plan: &ExecutionPlan, operators: &MethodOperators, number: u32, instruction: &Instruction) {
        let count = self.given.len();
        let (mut needed, mut results, mut has_list) = (None, Vec::new(), false);
        for Usage { value, kind, .. } in operators.args(instruction) {
            let is_made = kind.is_result() || kind == AccessKind::Unknown;
            let Some(arg) = value.within(count) else { continue };
            // Later uses of a list only count its last item, so that the work is linear.
            let items = plan.values()[arg].as_tensors();
            let items = if replace(&mut self.has_been_used[arg], true) { &[] } else { items };
            for value in items.iter().filter_map(|item| item.within(count)).chain([arg]) {
                match self.makers[value] {
                    Some(maker) if maker != number => needed = needed.max(Some(self.ready(maker, number))),
                    Some(_) => {}
                    None if is_made && !self.given[value] => {
                        self.makers[value] = Some(number);
                        results.push(value);
                        has_list |= !items.is_empty();
                    }
                    None => {}
                }
            }
            if !items.is_empty() {
                self.makers[arg] = items.iter().filter_map(|item| self.makers[item.within(count)?]).max();
            }
        }
        if let Some(needed) = needed {
            self.finish(needed, number.saturating_sub(1));
        }
        let is_delegate = matches!(instruction, Instruction::DelegateCall { .. });
        let is_open = !results.is_empty() && (is_delegate || has_list || results.len() > 1);
        if is_open {
            self.open.push_back(number);
        }
        let apart = is_open.then_some(TakenApart { results, instruction: number });
        self.made.push(Made { apart, is_open });
    }

    /// Returns the last instruction before the node that produces the result of `maker`, which instruction `number`
    /// reads.
    fn ready(&self, maker: u32, number: u32) -> u32 {
        match &self.made[maker as usize] {
            Made { is_open: true, .. } => number.saturating_sub(1),
            Made { apart: Some(apart), .. } => apart.instruction,
            Made { apart: None, .. } => maker,
        }
    }

    /// Takes apart the results of calls up to `needed`, after instruction `last`.
    fn finish(&mut self, needed: u32, last: u32) {
        while let Some(call) = self.open.pop_front_if(|call| *call <= needed) {
            let made = &mut self.made[call as usize];
            made.is_open = false;
            made.apart.iter_mut().for_each(|apart| apart.instruction = last);
        }
    }
}
