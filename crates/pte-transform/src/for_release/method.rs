//! Replaces calls of a method: instructions, literals, memory, the table of operators.

use std::collections::BTreeMap;

use super::call::{CallContext, NewArg, NewCall, Rewritten};
use super::problems::Inexpressible;
use super::replacements::REPLACEMENTS;
use super::target::Target;
use crate::remap::{Indices, Remap, renumber_jumps};
use pte_analysis::kernels::first_tensor;
use pte_analysis::method::Method;
use pte_model::program::element::{Element, Part};
use pte_model::program::instruction::Callee;
use pte_model::program::memory_plan::DEFAULT_ALIGNMENT;
use pte_model::program::{
    Args, Chain, EValue, ExecutionPlan, Instruction, Memory, Operator, OperatorId, Tensor, ValueId,
};

/// Result of replacing the calls of a method.
#[derive(Debug)]
pub struct RewrittenMethod {
    /// Replaced calls in order: the newer operator, and those that are called in its place.
    pub replaced: Vec<(String, Vec<&'static str>)>,
    /// Calls that have no replacement.
    pub problems: Vec<Inexpressible>,
    /// Indices of the parts that remain. New values follow all former ones.
    pub remap: Remap,
    /// The plan has tensors that it did not have, or that had the memory of others.
    pub needs_memory: bool,
}

/// Replaces the calls of a method that a release cannot execute. With problems, nothing is replaced.
pub fn rewrite(method: usize, plan: &mut ExecutionPlan, target: &Target<'_>) -> RewrittenMethod {
    let remap = Remap::all(plan);
    let mut done = RewrittenMethod { replaced: Vec::new(), problems: Vec::new(), remap, needs_memory: false };
    let found = find(method, plan, target, &mut done);
    if !done.problems.is_empty() || found.is_empty() {
        return done;
    }
    let is_kept =
        |(chain, index, _)| !found.get(&chain).is_some_and(|calls: &BTreeMap<_, _>| calls.contains_key(&index));
    let kept: Vec<bool> = plan.instructions_by_chain().map(is_kept).collect();
    let instructions = Indices::retained(&kept);
    let mut editor = Editor::new(plan);
    for rewritten in found.values().flat_map(BTreeMap::values) {
        done.needs_memory |= rewritten.temporary.is_some() || rewritten.own_memory.is_some();
    }
    editor.replace(found);
    done.remap = Remap { instructions, ..editor.finish() };
    done
}

/// Replacements by chain and by index of the instruction.
type Found = BTreeMap<usize, BTreeMap<usize, Rewritten>>;

/// Finds the calls to replace, and those that cannot be.
fn find(method: usize, plan: &ExecutionPlan, target: &Target<'_>, done: &mut RewrittenMethod) -> Found {
    let names: Vec<Option<String>> = plan.operators.iter().flatten().map(Operator::full_name).collect();
    let mut found = Found::new();
    if !names.iter().flatten().any(|name| target.may_replace(name)) {
        return found;
    }
    let analysis = Method::new(plan);
    let context = CallContext::new(&analysis);
    for (chain, index, instruction) in plan.instructions_by_chain() {
        let Some(Callee::Operator(operator)) = instruction.callee() else { continue };
        let Some(name) = operator.item(&names).and_then(Option::as_deref) else { continue };
        let args = instruction.args();
        let types = |position: usize| Some(first_tensor(plan, *args.get(position)?)?.scalar_type);
        let lack = target.lack(name, &types);
        let replacement = replacement(&context, name, args, target, lack.is_some());
        match (replacement, lack) {
            (Some(rewritten), _) => {
                let by = rewritten.calls.iter().map(|call| call.operator).collect();
                done.replaced.push((name.to_owned(), by));
                found.entry(chain).or_default().insert(index, rewritten);
            }
            (None, Some(lack)) => {
                let at = Element::Method(method, Part::Instruction(chain, index));
                done.problems.push(Inexpressible::new(at, lack.text(name), lack.first));
            }
            (None, None) => {}
        }
    }
    found
}

/// Returns the replacement of a call that the release can execute.
fn replacement(
    context: &CallContext<'_>,
    name: &str,
    args: &[ValueId],
    target: &Target<'_>,
    is_lacking: bool,
) -> Option<Rewritten> {
    let rows = REPLACEMENTS.iter().filter(|row| row.operator == name);
    let mut rows = rows.filter(|row| is_lacking || row.is_former_form && !target.exporter.has_dim_order_operators);
    rows.find_map(|row| (row.rewrite)(context, args).filter(|rewritten| is_executable(context, rewritten, target)))
}

/// Returns `true` if a release has the kernels of all calls, which take their arguments.
fn is_executable(context: &CallContext<'_>, rewritten: &Rewritten, target: &Target<'_>) -> bool {
    let temporary = rewritten.temporary.as_ref().map(|tensor| tensor.scalar_type);
    rewritten.calls.iter().all(|NewCall { operator, args }| {
        let types = |position: usize| match args.get(position)? {
            NewArg::Value(value) => context.tensor(*value).map(|tensor| tensor.scalar_type),
            NewArg::Temporary => temporary,
            NewArg::Null | NewArg::Bool(_) | NewArg::Int(_) | NewArg::Ints(_) => None,
        };
        target.release.has_operator(operator) && target.lack(operator, &types).is_none()
    })
}

/// A method that is changed.
struct Editor<'p> {
    plan: &'p mut ExecutionPlan,
    /// By value: references to it.
    references: Vec<u32>,
    /// Values that replaced calls referred to.
    freed: Vec<usize>,
    /// The operators are in the order of their first use.
    is_in_order: bool,
}

impl<'p> Editor<'p> {
    fn new(plan: &'p mut ExecutionPlan) -> Editor<'p> {
        let references = references(plan);
        let is_in_order = first_uses(plan).iter().enumerate().all(|(position, id)| id.get() == Some(position));
        Editor { plan, references, freed: Vec::new(), is_in_order }
    }

    fn chain(&mut self, index: usize) -> Option<&mut Chain> {
        self.plan.chains.as_mut()?.get_mut(index)
    }

    /// Replaces instructions.
    fn replace(&mut self, mut found: Found) {
        let count = self.plan.chains.as_ref().map_or(0, Vec::len);
        for chain in 0..count {
            let Some(mut replaced) = found.remove(&chain) else { continue };
            let Some(found) = self.chain(chain) else { continue };
            let (instructions, mut traces) = (found.instructions.take().unwrap_or_default(), found.stacktrace.take());
            let times = |index| replaced.get(&index).map_or(1, |rewritten: &Rewritten| rewritten.calls.len());
            let positions = Indices::repeated((0..instructions.len()).map(times));
            let mut new: Vec<Instruction> = Vec::with_capacity(instructions.len());
            for (index, instruction) in instructions.into_iter().enumerate() {
                match replaced.remove(&index) {
                    Some(rewritten) => new.extend(self.calls(rewritten, instruction.args())),
                    None => new.push(instruction),
                }
            }
            renumber_jumps(&mut new, &positions);
            // Each new call has the trace of the former one.
            traces.iter_mut().for_each(|traces| positions.retain(traces));
            if let Some(chain) = self.chain(chain) {
                (chain.instructions, chain.stacktrace) = (Some(new), traces);
            }
        }
    }

    /// Returns the instructions in place of one with the arguments `former`.
    fn calls(&mut self, rewritten: Rewritten, former: &[ValueId]) -> Vec<Instruction> {
        let Rewritten { calls, temporary, own_memory } = rewritten;
        let used = |value: &ValueId| calls.iter().any(|call| call.args.contains(&NewArg::Value(*value)));
        let freed = former.iter().filter(|value| !used(value)).filter_map(|value| value.get());
        let freed: Vec<usize> = freed.filter(|value| *value < self.references.len()).collect();
        // A literal takes the place of one that nothing else refers to.
        let is_literal =
            |value: &usize| self.references[*value] == 1 && self.plan.values()[*value].as_tensor().is_none();
        let mut places: Vec<usize> = freed.iter().copied().filter(is_literal).collect();
        places.reverse();
        for value in &freed {
            let items = items(&self.plan.values()[*value]);
            self.freed.extend(items.filter(|item| *item < self.references.len()));
        }
        self.freed.extend(freed);
        if let Some(value) = own_memory {
            self.give_memory(value);
        }
        let temporary = temporary.map(|tensor| self.add_tensor(tensor));
        let mut instruction = |NewCall { operator, args }: NewCall| {
            let args = args.into_iter().map(|arg| match arg {
                NewArg::Value(value) => value,
                NewArg::Temporary => temporary.unwrap_or(ValueId::NONE),
                NewArg::Null => self.literal(EValue::Null, places.pop()),
                NewArg::Bool(truth) => self.literal(EValue::Bool(truth), places.pop()),
                NewArg::Int(number) => self.literal(EValue::Int(number), places.pop()),
                NewArg::Ints(numbers) => {
                    let items = numbers.into_iter().map(|number| self.literal(EValue::Int(number), None).into());
                    let items = items.collect();
                    self.literal(EValue::IntList(Some(items)), None)
                }
            });
            let args: Args = args.collect();
            Instruction::KernelCall { op_index: self.operator(operator), args: Some(args) }
        };
        calls.into_iter().map(&mut instruction).collect()
    }

    /// Returns a value with this content, at the place of a former literal, or else at the end.
    fn literal(&mut self, content: EValue, place: Option<usize>) -> ValueId {
        let values = self.plan.values.get_or_insert_default();
        match place.and_then(|place| Some((place, values.get_mut(place)?))) {
            Some((place, value)) => {
                *value = content;
                ValueId::of(place)
            }
            None => {
                values.push(content);
                ValueId::of(values.len() - 1)
            }
        }
    }

    /// Returns the operator with a name, which is added if the method does not have it.
    fn operator(&mut self, name: &str) -> OperatorId {
        let operators = self.plan.operators.get_or_insert_default();
        let new = Operator::new(name);
        let position = operators.iter().position(|operator| *operator == new).unwrap_or_else(|| {
            operators.push(new);
            operators.len() - 1
        });
        OperatorId::of(position)
    }

    /// Adds a tensor with planned memory.
    fn add_tensor(&mut self, tensor: Tensor) -> ValueId {
        let memory = self.new_memory(&tensor);
        self.literal(EValue::Tensor(Tensor { memory, ..tensor }), None)
    }

    /// Gives a view memory of its own.
    fn give_memory(&mut self, value: ValueId) {
        let Some(tensor) = self.plan.value(value).and_then(EValue::as_tensor) else { return };
        let memory = self.new_memory(&tensor.clone());
        let tensor = value.get().and_then(|value| self.plan.tensor_mut(value));
        tensor.into_iter().for_each(|tensor| tensor.memory = memory);
    }

    /// Returns memory for a tensor: planned, or in a method with explicit offsets at the end of its first pool, which
    /// grows.
    fn new_memory(&mut self, tensor: &Tensor) -> Memory {
        let has_places = self.plan.tensors().any(|(_, tensor)| matches!(tensor.memory, Memory::At { .. }));
        let Some(sizes) = self.plan.memory.non_const_buffer_sizes.as_mut().filter(|_| has_places) else {
            return Memory::Auto { pool: None, persistent: false, shared: None };
        };
        if sizes.len() < 2 {
            sizes.resize(2, 0);
        }
        let used = u64::try_from(sizes[1]).unwrap_or(0);
        let offset = used.checked_next_multiple_of(DEFAULT_ALIGNMENT).unwrap_or(used);
        let end = offset.saturating_add(tensor.nbytes().unwrap_or(0));
        sizes[1] = i64::try_from(end).unwrap_or(i64::MAX);
        Memory::At { pool: 1, offset }
    }

    /// Removes operators and values that only replaced calls referred to.
    fn finish(self) -> Remap {
        let Editor { plan, freed, is_in_order, .. } = self;
        let mut operators: Vec<usize> = first_uses(plan).iter().filter_map(|id| id.get()).collect();
        if !is_in_order {
            operators.sort_unstable();
        }
        let mut references = references(plan);
        let mut kept = vec![true; references.len()];
        // Lists follow their items, and are removed first.
        let mut freed = freed;
        freed.sort_unstable();
        freed.dedup();
        for value in freed.into_iter().rev() {
            if references[value] == 0 {
                kept[value] = false;
                items(&plan.values()[value]).for_each(|item| {
                    references.get_mut(item).into_iter().for_each(|count| *count = count.saturating_sub(1));
                });
            }
        }
        let values = Indices::retained(&kept);
        let operators = Indices::ordered(operators, plan.operators.as_ref().map_or(0, Vec::len));
        let remap = Remap { values, operators, ..Remap::all(plan) };
        remap.apply(plan);
        remap
    }
}

/// Returns the operators in the order of their first use.
fn first_uses(plan: &ExecutionPlan) -> Vec<OperatorId> {
    let mut seen = vec![false; plan.operators.as_ref().map_or(0, Vec::len)];
    let used = plan.instructions().filter_map(Instruction::operator);
    used.filter(|id| id.item_mut(&mut seen).is_some_and(|seen| !std::mem::replace(seen, true))).collect()
}

/// Returns the indices of the items of a list.
fn items(value: &EValue) -> impl Iterator<Item = usize> {
    let ints = value.as_ints().iter().filter_map(|item| usize::try_from(*item).ok());
    ints.chain(value.as_tensors().iter().filter_map(|item| item.get()))
}

/// Returns the number of references to each value: of inputs, outputs, instructions, lists and views.
fn references(plan: &ExecutionPlan) -> Vec<u32> {
    let mut references = vec![0u32; plan.values().len()];
    let mut add = |value: Option<usize>| {
        let count = value.and_then(|value| references.get_mut(value));
        count.into_iter().for_each(|count| *count = count.saturating_add(1));
    };
    plan.inputs.iter().chain(&plan.outputs).flatten().for_each(|value| add(value.get()));
    for chain in plan.chains.iter().flatten() {
        chain.inputs.iter().chain(&chain.outputs).flatten().for_each(|value| add(value.get()));
    }
    for instruction in plan.instructions() {
        instruction.args().iter().for_each(|value| add(value.get()));
        instruction.operands().for_each(|(_, value, _)| add(value.get()));
    }
    for value in plan.values() {
        items(value).for_each(|item| add(Some(item)));
        if let Some(Tensor { memory: Memory::View { base }, .. }) = value.as_tensor() {
            add(Some(*base as usize));
        }
    }
    references
}
