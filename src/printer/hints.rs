//! Explicit properties of a method: those for which assembling would otherwise compute other values. [`Hints::add`]
//! finds them by comparing the assembled method with the original one.

use std::collections::BTreeSet;
use std::ops::Deref;

use super::numbering;
use crate::assembly::Assembly;
use crate::layout::memory;
use crate::layout::shared::SharedState;
use pte_analysis::method::Method;
use pte_analysis::operators::MethodOperators;
use pte_model::program::attributes::TENSOR_ATTRIBUTES;
use pte_model::program::memory_plan::{DEFAULT_ALIGNMENT, XNNPACK_PADDING, calls_xnnpack};
use pte_model::program::{Chain, EValue, ExecutionPlan, Memory, MemoryPlanner, Program, Tensor, TensorData, ValueId};

/// Explicit properties of a method in the YAML.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// Values with explicit indices.
    pub numbers: BTreeSet<usize>,
    /// Memory plan.
    pub memory: MemoryHints,
    /// `true` to print the table of operators.
    pub operators: bool,
    /// `true` to print the `data_buffer_idx` of data that are in a `.ptd`.
    pub external: bool,
    /// `true` to print every property. Values are then declared with their index, and referred to by it.
    pub everything: bool,
    /// Reason why every property is printed, as a clause; `None` if the caller requested it.
    pub reason: Option<String>,
}

/// Options with which the memory planner reproduces the offsets of a method, or explicit offsets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryHints {
    /// Algorithm.
    pub planner: MemoryPlanner,
    /// Alignment of the planned tensors in bytes, if it is not the default.
    pub alignment: Option<u64>,
    /// `true` if a tensor that an instruction overwrites before any reads it is not state. Other tensors may then use
    /// its memory at other times.
    pub scratch: bool,
    /// Position of the method in the order in which the state that methods share is placed.
    pub shared_order: Option<u32>,
    /// `true` to print the offsets of all tensors and the sizes of the pools.
    pub offsets: bool,
    /// `true` if the offsets may differ from those of the file.
    pub replan: bool,
}

impl MemoryHints {
    /// Changes to the next combination of options, beginning with the exporter's defaults; after the last one, to
    /// explicit offsets.
    fn advance(&mut self, original: &ExecutionPlan) {
        match (self.scratch, self.planner, self.alignment) {
            (false, ..) => self.scratch = true,
            (true, MemoryPlanner::Greedy, _) => (self.scratch, self.planner) = (false, MemoryPlanner::Naive),
            (true, MemoryPlanner::Naive, None) if let Some(alignment) = common_alignment(original) => {
                (self.scratch, self.planner) = (false, MemoryPlanner::Greedy);
                self.alignment = Some(alignment);
            }
            (true, MemoryPlanner::Naive, _) => {
                (self.scratch, self.planner, self.alignment) = (false, MemoryPlanner::GreedyNoOverlap, None);
            }
            (true, MemoryPlanner::GreedyNoOverlap, _) => {
                (self.scratch, self.planner) = (false, MemoryPlanner::Minimal);
            }
            (true, MemoryPlanner::Minimal, None) if let Some(alignment) = common_alignment(original) => {
                (self.scratch, self.alignment) = (false, Some(alignment));
            }
            (true, MemoryPlanner::Minimal, _) => (self.scratch, self.offsets) = (false, true),
        }
    }

    /// Changes to the next combination of options that may reproduce the offsets. A combination is tried on the
    /// assembled method, unless it needs other YAML: with `has_scratch`, one with another `scratch`.
    fn find(&mut self, trial: &Trial<'_>, method: usize, original: &ExecutionPlan, has_scratch: bool) {
        let assembled = self.scratch;
        let mut plan = trial.program.plans().get(method).cloned();
        loop {
            self.advance(original);
            let (Some(plan), Some(operators)) = (&mut plan, trial.operators.get(method)) else { return };
            if self.offsets || has_scratch && self.scratch != assembled {
                return;
            }
            (plan.memory.planner, plan.memory.alignment) = (self.planner, self.alignment);
            let planned = memory::plan(method, &Method::of(plan, operators), &SharedState::default());
            if planned.is_ok_and(|planned| planned.is_stated_by(original)) {
                return;
            }
        }
    }
}

/// An assembled program, on which options of the memory planner are tried.
pub struct Trial<'a> {
    program: &'a Program,
    /// Operators by method; none if methods share state, so that the options of one change the offsets of others.
    operators: Vec<MethodOperators>,
}

impl<'a> Trial<'a> {
    /// Creates a trial of a program.
    pub fn new(program: &'a Program) -> Trial<'a> {
        let is_shared = |tensor: &Tensor| matches!(tensor.memory, Memory::Auto { shared: Some(_), .. });
        let shares = program.plans().iter().any(|plan| plan.tensors().any(|(_, tensor)| is_shared(tensor)));
        let operators = if shares { Vec::new() } else { MethodOperators::of_program(program) };
        Trial { program, operators }
    }
}

impl Hints {
    /// Adds a hint for a difference between the assembled method and `original`; returns `false` if there is none to
    /// add. `method` is the position of the method in the program, `is_movable` that of [`numbering::pins`];
    /// `has_scratch` is true if the method has scratch memory.
    pub fn add<'a>(
        &mut self,
        assembly: &Assembly,
        method: usize,
        original: &ExecutionPlan,
        is_movable: impl Fn(usize) -> bool,
        has_scratch: bool,
        trial: &impl Deref<Target = Trial<'a>>,
    ) -> bool {
        let Some(assembled) = assembly.program.plans().get(method) else { return false };
        let before = self.clone();
        let same_values = assembled.values().len() == original.values().len()
            && assembled.values().iter().zip(original.values()).all(|(a, b)| same_value(a, b, &assembly.program));
        let is_same = same_values
            && same_chains(assembled, original)
            && assembled.inputs == original.inputs
            && assembled.outputs == original.outputs;
        if assembled.operators != original.operators && (is_same || !self.operators) {
            self.operators = true;
        } else if is_same {
            if !self.memory.replan && !assembly.plan.memory[method].is_stated_by(original) {
                self.memory.find(trial, method, original, has_scratch);
            }
            let numbers = assembly.plan.buffer_index[method].iter().zip(original.values());
            self.external |= numbers.into_iter().any(|(planned, value)| {
                let data = value.as_tensor().map(|tensor| &tensor.data);
                matches!(data, Some(TensorData::Elsewhere(Some(index))) if index != planned)
            });
        } else {
            match numbering::pins(assembled, original, &self.numbers, is_movable) {
                Some(pins) if pins != self.numbers => self.numbers = pins,
                Some(_) | None if self.everything => {}
                Some(_) | None => {
                    self.state_everything("shorter YAML gives other values, or another order of them".into())
                }
            }
        }
        *self != before
    }

    /// Makes every property explicit, for this reason.
    pub fn state_everything(&mut self, reason: String) {
        self.everything = true;
        self.reason = Some(reason);
    }
}

/// Returns the largest power of two that divides the offsets of all planned tensors and the sizes of the pools, if it
/// exceeds the default alignment. Pools of methods with XNNPACK delegates may have padding.
fn common_alignment(plan: &ExecutionPlan) -> Option<u64> {
    let offsets = plan.tensors().filter_map(|(_, tensor)| match tensor.memory {
        Memory::At { offset, .. } => Some(offset),
        Memory::None | Memory::Auto { .. } | Memory::View { .. } => None,
    });
    let bits = offsets.fold(0, |bits, offset| bits | offset);
    let sizes = plan.memory.non_const_buffer_sizes.iter().flatten().filter_map(|size| u64::try_from(*size).ok());
    let sizes: Vec<u64> = sizes.collect();
    let has_padding = calls_xnnpack(plan);
    let fits = |alignment: &u64| {
        let is_multiple = |size: &u64| size.is_multiple_of(*alignment);
        let is_padded =
            |size: &u64| has_padding && size.checked_sub(XNNPACK_PADDING).is_some_and(|size| is_multiple(&size));
        is_multiple(&bits)
            && sizes.iter().any(|size| *size > 0)
            && sizes.iter().all(|size| is_multiple(size) || is_padded(size))
    };
    (DEFAULT_ALIGNMENT.trailing_zeros() + 1..u64::BITS).rev().map(|power| 1 << power).find(fits)
}

/// Returns `true` if the chains of two methods are equal. An absent list of inputs or outputs is equal to an empty one,
/// because no index or offset can reproduce that difference; field overrides do.
fn same_chains(a: &ExecutionPlan, b: &ExecutionPlan) -> bool {
    let list = |list: &Option<Vec<ValueId>>| list.clone().unwrap_or_default();
    let same = |a: &Chain, b: &Chain| {
        list(&a.inputs) == list(&b.inputs)
            && list(&a.outputs) == list(&b.outputs)
            && a.instructions == b.instructions
            && a.stacktrace == b.stacktrace
    };
    match (&a.chains, &b.chains) {
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (a, b) => a == b,
    }
}

/// Returns `true` if two values are equal except for the location of tensors and their data.
fn same_value(a: &EValue, b: &EValue, program: &Program) -> bool {
    match (a, b) {
        (EValue::Tensor(a), EValue::Tensor(b)) => {
            let tag = |tensor: &Tensor| {
                let mut extra = tensor.extra_tensor_info.clone();
                extra.iter_mut().for_each(|extra| extra.tag = None);
                extra
            };
            let has_data = |data: &TensorData| std::mem::discriminant(data);
            let of = |data: &TensorData| match data {
                TensorData::Blob(id) => Some(program.blob(*id).len),
                TensorData::None | TensorData::Elsewhere(_) => None,
            };
            (a.scalar_type, &a.sizes, &a.dim_order) == (b.scalar_type, &b.sizes, &b.dim_order)
                && TENSOR_ATTRIBUTES.iter().all(|attribute| (attribute.get)(a) == (attribute.get)(b))
                && tag(a) == tag(b)
                && has_data(&a.data) == has_data(&b.data)
                // A view of a constant may have its first bytes only.
                && of(&a.data).is_none_or(|len| b.scalar_type.info().is_none() || b.nbytes().is_some_and(|nbytes| nbytes <= len))
        }
        (EValue::Double(a), EValue::Double(b)) => a.to_bits() == b.to_bits(),
        (EValue::DoubleList(Some(a)), EValue::DoubleList(Some(b))) => {
            a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()))
        }
        (a, b) => a == b,
    }
}
