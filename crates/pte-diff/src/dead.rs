//! Finds instructions whose results nothing reads, in programs with explicit offsets. [`pte_transform::prune`] keeps
//! instructions that write to explicit offsets. Here, such an instruction has no effect either if no other tensor uses
//! the memory of its results at that time.

use std::collections::HashMap;

use super::view::MethodView;
use pte_analysis::operators::{AccessKind, Usage};
use pte_analysis::planning::lifetimes;
use pte_model::program::{EValue, Memory, Tensor, TensorData, ValueId};

/// Maximum number of pairs of tensors of a method whose places are compared. Any further instruction counts as having
/// an effect.
const WORK: u64 = 1 << 24;

/// Returns, by step, `true` for a call of a known operator without effect: nothing else reads its results, and no other
/// tensor uses their memory at that time.
pub fn without_effect(view: &MethodView<'_>) -> Vec<bool> {
    let mut dead = vec![false; view.steps.len()];
    let mut values = Values::new(view);
    for (step, found) in dead.iter_mut().enumerate().rev() {
        let instruction = view.steps[step].instruction;
        if values.is_free_of_effect(view, step) {
            *found = true;
            // Its arguments have one use less.
            for arg in instruction.args() {
                arg.item_mut(&mut values.uses).into_iter().for_each(|uses| *uses = uses.saturating_sub(1));
            }
        }
    }
    dead
}

/// Bytes of a tensor in a pool, and its lifetime.
struct Place {
    value: usize,
    bytes: (u64, u64),
    times: (u32, u32),
}

/// The values of a method, and the references to them.
struct Values {
    /// By value: number of uses as arguments and operands of instructions that may have an effect.
    uses: Vec<usize>,
    /// By value: `true` for inputs, outputs, items of lists, and values that are always alive.
    is_kept: Vec<bool>,
    /// Tensors in planned memory, by pool.
    places: HashMap<u32, Vec<Place>>,
    work: u64,
}

impl Values {
    fn new(view: &MethodView<'_>) -> Values {
        let plan = view.plan;
        let count = plan.values().len();
        let (mut uses, mut is_kept, mut is_written) = (vec![0; count], vec![false; count], vec![false; count]);
        // A value that is read before an instruction writes it is state, which is always alive.
        let mut is_state = vec![false; count];
        // It may instead be a view, if it begins where a tensor with content begins, and is not longer.
        let mut views: Vec<Option<u32>> = vec![None; count];
        let mut filled: HashMap<(u32, u64), (u64, u32)> = HashMap::new();
        let place = |value: usize| {
            let tensor = plan.values()[value].as_tensor()?;
            let Memory::At { pool, offset } = tensor.memory else { return None };
            Some(((pool, offset), tensor.nbytes().unwrap_or(u64::MAX)))
        };
        let is_input = plan.is_input();
        let known = |value: &ValueId| value.within(count);
        for value in plan.inputs.iter().flatten().filter_map(known) {
            place(value).into_iter().for_each(|(start, bytes)| _ = filled.insert(start, (bytes, 0)));
        }
        let ends = plan.inputs.iter().chain(&plan.outputs).flatten();
        let items = plan.values().iter().flat_map(EValue::as_tensors);
        ends.chain(items).filter_map(known).for_each(|value| is_kept[value] = true);
        for (step, time) in view.steps.iter().zip(1u32..) {
            let is_call = step.instruction.callee().is_some();
            for Usage { value, kind, .. } in view.method.operators.uses(step.instruction) {
                let Some(value) = known(&value) else { continue };
                uses[value] += 1;
                let has_content = is_written[value] || is_input[value];
                match kind {
                    _ if !is_call => is_state[value] = true,
                    _ if kind.is_result() => {
                        is_written[value] = true;
                        place(value).into_iter().for_each(|(start, bytes)| _ = filled.insert(start, (bytes, time)));
                    }
                    AccessKind::Read if !has_content => {
                        let found = place(value).and_then(|(start, bytes)| Some((*filled.get(&start)?, bytes)));
                        match found.filter(|((filled, _), bytes)| bytes <= filled) {
                            Some(((_, since), _)) => _ = views[value].get_or_insert(since),
                            None => is_state[value] = true,
                        }
                    }
                    _ => is_state[value] |= !has_content,
                }
            }
        }
        let lifetimes = lifetimes(&view.method);
        let mut places: HashMap<u32, Vec<Place>> = HashMap::new();
        for (value, tensor) in plan.tensors() {
            is_kept[value] |= is_state[value];
            if let Memory::At { pool, offset } = tensor.memory {
                let bytes = (offset, offset.saturating_add(tensor.nbytes().unwrap_or(u64::MAX)));
                let times = match lifetimes.of(value) {
                    _ if is_state[value] => (0, u32::MAX),
                    (first, last) => (views[value].unwrap_or(first), last),
                };
                places.entry(pool).or_default().push(Place { value, bytes, times });
            }
        }
        Values { uses, is_kept, places, work: WORK }
    }

    fn is_free_of_effect(&mut self, view: &MethodView<'_>, step: usize) -> bool {
        let instruction = view.steps[step].instruction;
        let Some((_, results)) = view.method.operators.pure_call(instruction) else { return false };
        results.iter().all(|result| {
            let value = result.within(self.uses.len());
            let tensor = view.plan.value(*result).and_then(EValue::as_tensor);
            let (Some(value), Some(tensor)) = (value, tensor) else { return false };
            let own = instruction.args().iter().filter(|arg| *arg == result).count();
            !self.is_kept[value] && self.uses[value] == own && self.is_alone(view, value, tensor, step)
        })
    }

    /// Returns true if no other tensor is in the memory of a tensor at a step.
    fn is_alone(&mut self, view: &MethodView<'_>, value: usize, tensor: &Tensor, step: usize) -> bool {
        let Memory::At { pool, offset } = tensor.memory else {
            return tensor.memory == Memory::None && tensor.data == TensorData::None;
        };
        // Other methods may have state in any pool but the first.
        if pool != 1 && view.side.program.plans().len() > 1 {
            return false;
        }
        let places = self.places.get(&pool).map_or(&[][..], Vec::as_slice);
        let Some(work) = self.work.checked_sub(places.len() as u64) else { return false };
        self.work = work;
        let end = offset.saturating_add(tensor.nbytes().unwrap_or(u64::MAX));
        let time = u32::try_from(step).unwrap_or(u32::MAX).saturating_add(1);
        places.iter().all(|place| {
            let is_elsewhere = place.bytes.1 <= offset || end <= place.bytes.0;
            let is_dead = time < place.times.0 || place.times.1 < time;
            place.value == value || is_elsewhere || is_dead
        })
    }
}
