//! Changes of a method that are applied together: removed instructions, values that replace others, and values that
//! become views.

use std::collections::{BTreeMap, HashSet};

use crate::remap::Remap;
use pte_analysis::blocks::block_numbers;
use pte_analysis::inference::Inference;
use pte_analysis::method::Method;
use pte_analysis::storage::Storage;
use pte_model::program::{EValue, ExecutionPlan, Memory, Tensor, TensorData, TensorShapeDynamism};

/// A method, and the facts about it that the passes need.
pub struct Context<'p> {
    pub method: &'p Method<'p>,
    pub storage: &'p Storage,
    is_input: Vec<bool>,
    is_output: Vec<bool>,
    /// By step and for the end of the method: the number of its basic block; empty for a method without jumps.
    blocks: Vec<usize>,
    /// By value: last step that uses its memory.
    last: Vec<Option<(u32, u32)>>,
    /// By value: a move, or a call that returns its argument, gives it or a value of its memory the memory of another
    /// one, so that its content is not in the place that is planned for it.
    is_replaced: Vec<bool>,
    /// By value: another one is a view of it.
    is_base: Vec<bool>,
}

/// Replacement for the result of a removed instruction.
#[derive(Clone, Copy)]
pub enum Supply {
    /// Another value is used in its place.
    Value(usize),
    /// It is a view of this value.
    View(usize),
}

/// Changes of a method.
#[derive(Default)]
pub struct Rewrite {
    /// By step of a removed instruction: its results, and how they are supplied.
    pub removed: BTreeMap<u32, Vec<(usize, Supply)>>,
}

impl<'p> Context<'p> {
    /// Returns the context of a method; `None` if the passes leave it alone: it has too many accesses, or tensors at
    /// explicit offsets, which other tensors may overlap.
    pub fn new(method: &'p Method<'p>) -> Option<Context<'p>> {
        let plan = method.plan;
        if plan.tensors().any(|(_, tensor)| matches!(tensor.memory, Memory::At { .. })) {
            return None;
        }
        let storage = method.storage()?;
        let mut is_output = vec![false; plan.values().len()];
        for output in plan.outputs.iter().flatten() {
            output.item_mut(&mut is_output).into_iter().for_each(|flag| *flag = true);
        }
        let blocks = if method.jumps().is_empty() { Vec::new() } else { block_numbers(plan) };
        let last = storage.spans();
        let count = plan.values().len();
        let replaced = (0..count).filter(|value| method.replaced()[*value]).map(|value| storage.first(value));
        let replaced: HashSet<usize> = replaced.collect();
        let is_replaced = (0..count).map(|value| replaced.contains(&storage.first(value))).collect();
        let mut is_base = vec![false; count];
        for (_, tensor) in plan.tensors() {
            if let Memory::View { base } = tensor.memory {
                is_base.get_mut(base as usize).into_iter().for_each(|flag| *flag = true);
            }
        }
        let is_input = plan.is_input();
        Some(Context { is_input, is_output, blocks, last, is_replaced, is_base, method, storage })
    }

    /// Returns a tensor.
    pub fn tensor(&self, value: usize) -> Option<&'p Tensor> {
        self.method.plan.values().get(value)?.as_tensor()
    }

    /// Returns true if control that reaches one of two steps always passes the other one, and all between.
    fn is_straight(&self, first: u32, last: u32) -> bool {
        self.blocks.is_empty() || self.blocks.get(first as usize) == self.blocks.get(last as usize)
    }

    /// Returns true if a value is only written by `step`, which is its first use, and is neither an input nor state:
    /// nothing else sees its memory.
    fn is_own_result(&self, value: usize, step: u32) -> bool {
        let is_plain = match &self.method.plan.values()[value] {
            EValue::Tensor(tensor) => {
                tensor.data == TensorData::None
                    && matches!(tensor.memory, Memory::Auto { persistent: false, shared: None, .. })
            }
            EValue::Int(_) | EValue::Bool(_) | EValue::Double(_) => true,
            EValue::Null
            | EValue::String(_)
            | EValue::IntList(_)
            | EValue::DoubleList(_)
            | EValue::BoolList(_)
            | EValue::TensorList(_)
            | EValue::OptionalTensorList(_)
            | EValue::Unknown(_) => false,
        };
        is_plain
            && !self.is_input[value]
            && self.storage.writes(value) == [step]
            && self.storage.uses(value).is_some_and(|(first, _)| first == step)
            && self.last[value].is_some_and(|(first, _)| first == step)
    }

    /// Returns true if `source`, which had the content of `result` at `since` (a step that read it), still has it at
    /// all uses of `result`, the result of `step`.
    fn keeps_content(&self, source: usize, since: u32, result: usize, step: u32) -> bool {
        let Some((_, last)) = self.last[result] else { return false };
        !self.storage.share(source, result)
            && self.is_own_result(result, step)
            && !self.storage.is_written(source, since, last)
            && self.is_straight(since, last)
    }

    /// Returns how the result of a step can be supplied without it, if `source` had its bytes at `since`.
    pub fn supply(&self, source: usize, since: u32, result: usize, step: u32) -> Option<Supply> {
        if !self.keeps_content(source, since, result, step) {
            return None;
        }
        let (from, to) = match (&self.method.plan.values()[source], &self.method.plan.values()[result]) {
            (EValue::Tensor(from), EValue::Tensor(to)) => (from, to),
            (from, to) => {
                let is_same = from.tag() == to.tag() && !self.is_output[result];
                return is_same.then_some(Supply::Value(source));
            }
        };
        let is_planned = matches!(from.memory, Memory::Auto { persistent: false, shared: None, .. });
        // The caller may set the memory of an output, and of one value only once.
        let is_free = is_planned && !self.is_input[source] && !self.is_output[source] && from.data == TensorData::None;
        if self.is_output[result] && !is_free {
            return None;
        }
        if is_like(from, to) {
            // A view needs a base in planned memory.
            let is_lost = self.is_base[result] && from.memory == Memory::None;
            return (!is_lost).then_some(Supply::Value(source));
        }
        if self.is_replaced[source] || self.is_replaced[result] {
            return None;
        }
        let is_fixed = |tensor: &Tensor| tensor.shape_dynamism == TensorShapeDynamism::STATIC;
        let has_place = match from.memory {
            Memory::Auto { shared, .. } => shared.is_none(),
            Memory::View { .. } => true,
            Memory::None | Memory::At { .. } => false,
        };
        let can_view = has_place && is_fixed(from) && is_fixed(to) && from.device() == to.device();
        (can_view && from.nbytes().is_some() && from.nbytes() == to.nbytes()).then_some(Supply::View(source))
    }

    /// Returns an inference whose knowledge is that of the declarations.
    pub fn inference(&self) -> Inference {
        Inference::bounded(self.method.plan, &self.method.operators)
    }

    /// Returns the number of times that the memory of a value is written before a step.
    pub fn version(&self, value: usize, step: u32) -> usize {
        self.storage.writes(value).partition_point(|write| *write < step)
    }

    /// Returns true if no instruction and no caller writes a value.
    pub fn is_fixed(&self, value: usize) -> bool {
        !self.is_input[value] && self.storage.writes(value).is_empty()
    }
}

/// Returns true if a tensor can be used in place of another one: type, sizes, order, dynamism and device are the same.
fn is_like(from: &Tensor, to: &Tensor) -> bool {
    (from.scalar_type, &from.sizes, &from.dim_order, from.shape_dynamism, from.device(), from.layout)
        == (to.scalar_type, &to.sizes, &to.dim_order, to.shape_dynamism, to.device(), to.layout)
        && to.name().is_none()
}

impl Rewrite {
    /// Changes the method. Values without uses stay; pruning removes them.
    pub fn apply(&self, plan: &mut ExecutionPlan) -> Remap {
        let count = plan.instructions().count() as u32;
        let kept: Vec<bool> = (0..count).map(|step| !self.removed.contains_key(&step)).collect();
        let remap = Remap::of_instructions(plan, &kept);
        let mut redirected = remap.clone();
        for (result, supply) in self.removed.values().flatten() {
            match *supply {
                // An earlier one may have replaced the source, too: equal calls of equal calls.
                Supply::Value(source) => redirected.values.replace(*result, source),
                Supply::View(source) => {
                    let tensor = plan.tensor_mut(*result);
                    tensor.into_iter().for_each(|tensor| tensor.memory = Memory::View { base: source as u32 });
                }
            }
        }
        redirected.apply(plan);
        if !self.removed.is_empty() {
            rebase(plan);
        }
        remap
    }
}

/// Replaces bases that are views themselves by their bases.
fn rebase(plan: &mut ExecutionPlan) {
    let base_of = |plan: &ExecutionPlan, value: u32| match plan.values().get(value as usize).and_then(EValue::as_tensor)
    {
        Some(Tensor { memory: Memory::View { base }, .. }) => Some(*base),
        Some(_) | None => None,
    };
    let count = plan.values().len();
    for value in 0..count {
        let Some(mut base) = base_of(plan, value as u32) else { continue };
        for _ in 0..count {
            match base_of(plan, base) {
                Some(next) => base = next,
                None => break,
            }
        }
        plan.tensor_mut(value).into_iter().for_each(|tensor| tensor.memory = Memory::View { base });
    }
}
