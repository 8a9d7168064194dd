//! New indices of the parts of a method after an edit removed or moved some. Each edit that removes parts returns a
//! [`Remap`] for each method, which updates the method and the lists that are parallel to its parts: names, positions.

use pte_model::program::instruction::FieldMut;
use pte_model::program::{EValue, ExecutionPlan, Instruction, Memory, Program, ValueId};

/// New indices of the items of a list.
///
/// ```
/// use pte_transform::remap::Indices;
///
/// let mut indices = Indices::retained(&[true, false, true]);
/// assert_eq!((indices.former(), indices.removed()), (&[0, 2][..], 1));
/// // A removed item leads to the next one; an index beyond the end stays beyond it.
/// assert_eq!([0, 1, 2, 4, -1].map(|index| indices.of(index)), [0, 1, 1, 3, -1]);
/// let mut names = vec!["x", "y", "z"];
/// indices.retain(&mut names);
/// assert_eq!(names, ["x", "z"]);
/// indices.then(&Indices::retained(&[false, true]));
/// assert_eq!(indices.former(), [2]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indices {
    /// Former index of each remaining item.
    former: Vec<usize>,
    /// New index by former index, and for the end of the list; for a removed item, that of the next one.
    new: Vec<usize>,
}

impl Indices {
    /// Returns the indices of a list of which all items remain.
    pub fn all(count: usize) -> Indices {
        Indices { former: (0..count).collect(), new: (0..=count).collect() }
    }

    /// Returns the indices after the removal of the items whose flag is false.
    pub fn retained(kept: &[bool]) -> Indices {
        Indices::repeated(kept.iter().map(|kept| usize::from(*kept)))
    }

    /// Returns the indices of a list in which each item is replaced by a number of items.
    pub(crate) fn repeated(counts: impl Iterator<Item = usize>) -> Indices {
        let (mut former, mut new) = (Vec::new(), vec![0]);
        for (index, count) in counts.enumerate() {
            former.extend(std::iter::repeat_n(index, count));
            new.push(former.len());
        }
        Indices { former, new }
    }

    /// Returns the indices of a list of `count` items in another order, which has the former index of each remaining
    /// one. Nothing may refer to the others.
    pub fn ordered(former: Vec<usize>, count: usize) -> Indices {
        let mut new = vec![former.len(); count + 1];
        former.iter().enumerate().for_each(|(index, former)| new[*former] = index);
        Indices { former, new }
    }

    /// References to an item lead to another one; both are former indices.
    pub(crate) fn replace(&mut self, item: usize, by: usize) {
        self.new[item] = self.new[by];
    }

    /// Returns the former index of each remaining item.
    pub fn former(&self) -> &[usize] {
        &self.former
    }

    /// Returns the number of removed items.
    pub fn removed(&self) -> usize {
        (self.new.len() - 1).saturating_sub(self.former.len())
    }

    /// Returns the new index of an item, or of the next remaining one. An index beyond the end of the list keeps its
    /// distance from the end, and a negative one its value, so both stay invalid.
    pub fn of(&self, index: i64) -> i64 {
        let end = self.new.len() as i64 - 1;
        match usize::try_from(index).ok().map(|index| self.new.get(index)) {
            Some(Some(new)) => *new as i64,
            Some(None) => index - end + self.former.len() as i64,
            None => index,
        }
    }

    /// Removes or moves the items of the list. Items beyond its former end are kept.
    pub fn retain<T: Clone>(&self, items: &mut Vec<T>) {
        if self.new.len() == self.former.len() + 1 && self.former.is_sorted() {
            return;
        }
        let rest = items.get(self.new.len() - 1..).unwrap_or_default();
        *items = self.former.iter().filter_map(|former| items.get(*former)).chain(rest).cloned().collect();
    }

    /// Adds a later edit.
    pub fn then(&mut self, later: &Indices) {
        self.former = later.former.iter().map(|index| self.former[*index]).collect();
        self.new.iter_mut().for_each(|new| *new = later.new[*new]);
    }

    /// Returns the indices of a part of the list, whose items stay together.
    fn part(&self, start: usize, count: usize) -> Indices {
        let new = &self.new[start..=start + count];
        let former = self.former[new[0]..new[count]].iter().map(|former| former - start);
        Indices { former: former.collect(), new: new.iter().map(|index| index - new[0]).collect() }
    }
}

/// New indices of the parts of a method.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remap {
    /// Values.
    pub values: Indices,
    /// Instructions, counted through all chains. Their order stays.
    pub instructions: Indices,
    /// Operators.
    pub operators: Indices,
    /// Delegates.
    pub delegates: Indices,
}

impl Remap {
    /// Returns the indices of a method of which all parts remain.
    pub fn all(plan: &ExecutionPlan) -> Remap {
        Remap {
            values: Indices::all(plan.values().len()),
            instructions: Indices::all(plan.instructions().count()),
            operators: Indices::all(plan.operators.as_ref().map_or(0, Vec::len)),
            delegates: Indices::all(plan.delegates().len()),
        }
    }

    /// Returns the indices after the removal of the instructions whose flag is false. A jump to a removed instruction
    /// then leads to the next remaining one.
    pub fn of_instructions(plan: &ExecutionPlan, kept: &[bool]) -> Remap {
        Remap { instructions: Indices::retained(kept), ..Remap::all(plan) }
    }

    /// Returns the numbers of removed instructions, values, operators and delegates.
    pub fn removed(&self) -> [usize; 4] {
        [&self.instructions, &self.values, &self.operators, &self.delegates].map(Indices::removed)
    }

    /// Adds a later edit.
    pub fn then(&mut self, later: &Remap) {
        self.values.then(&later.values);
        self.instructions.then(&later.instructions);
        self.operators.then(&later.operators);
        self.delegates.then(&later.delegates);
    }

    /// Changes a method with the former indices.
    ///
    /// # Panics
    /// The method has fewer or more instructions than the one whose indices these are.
    pub fn apply(&self, plan: &mut ExecutionPlan) {
        let mut start = 0;
        for chain in plan.chains.iter_mut().flatten() {
            let Some(instructions) = &mut chain.instructions else { continue };
            let positions = self.instructions.part(start, instructions.len());
            start += instructions.len();
            positions.retain(instructions);
            chain.stacktrace.iter_mut().for_each(|traces| positions.retain(traces));
            renumber_jumps(instructions, &positions);
        }
        for instruction in plan.instructions_mut() {
            instruction.for_each_field(|field| match field {
                FieldMut::Operator(id) => id.0 = self.operators.of(id.0.into()) as i32,
                FieldMut::Delegate(id) => id.0 = self.delegates.of(id.0.into()) as i32,
                // The former are above, the others below.
                FieldMut::Destination(_) | FieldMut::Operand(_) | FieldMut::Args(_) => {}
            });
        }
        plan.operators.iter_mut().for_each(|list| self.operators.retain(list));
        plan.delegates.iter_mut().for_each(|list| self.delegates.retain(list));
        plan.values.iter_mut().for_each(|list| self.values.retain(list));
        renumber_values(plan, |value| self.values.of(value));
    }
}

/// Removes the items whose flag is false. Items beyond the end of the flags are kept.
pub fn retain<T>(items: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    items.retain(|_| kept.next().is_none_or(|kept| *kept));
}

/// Replaces the destinations of jumps in a chain.
pub(crate) fn renumber_jumps(instructions: &mut [Instruction], positions: &Indices) {
    for instruction in instructions {
        instruction.for_each_field(|field| {
            if let FieldMut::Destination(index) = field {
                *index = positions.of((*index).into()) as i32;
            }
        });
    }
}

/// Replaces the indices of values in a method by those that `map` returns: in inputs, outputs, arguments, operands,
/// items of lists and bases of views.
pub fn renumber_values(plan: &mut ExecutionPlan, map: impl Fn(i64) -> i64) {
    let apply = |value: &mut ValueId| value.0 = map((*value).into()) as i32;
    for list in [&mut plan.inputs, &mut plan.outputs] {
        list.iter_mut().flatten().for_each(apply);
    }
    for chain in plan.chains.iter_mut().flatten() {
        for list in [&mut chain.inputs, &mut chain.outputs] {
            list.iter_mut().flatten().for_each(apply);
        }
    }
    for instruction in plan.instructions_mut() {
        instruction.for_each_field(|field| match field {
            FieldMut::Args(args) => args.iter_mut().flat_map(|args| args.iter_mut()).for_each(apply),
            FieldMut::Operand(value) => apply(value),
            FieldMut::Operator(_) | FieldMut::Delegate(_) | FieldMut::Destination(_) => {}
        });
    }
    for value in plan.values.iter_mut().flatten() {
        match value {
            EValue::Tensor(tensor) => {
                if let Memory::View { base } = &mut tensor.memory {
                    *base = map((*base).into()) as u32;
                }
            }
            EValue::IntList(items) => items.iter_mut().flatten().for_each(|item| *item = map(*item)),
            EValue::TensorList(items) | EValue::OptionalTensorList(items) => {
                items.iter_mut().flatten().for_each(apply);
            }
            EValue::Null
            | EValue::Int(_)
            | EValue::Bool(_)
            | EValue::Double(_)
            | EValue::String(_)
            | EValue::DoubleList(_)
            | EValue::BoolList(_)
            | EValue::Unknown(_) => {}
        }
    }
}

/// Removes the blobs that nothing refers to.
pub(crate) fn drop_blobs(program: &mut Program) {
    let mut used = vec![false; program.blobs.len()];
    for (_, blob) in program.blob_references() {
        if let Some(used) = used.get_mut(blob.0 as usize) {
            *used = true;
        }
    }
    retain(&mut program.blobs, &used);
    let blobs = Indices::retained(&used);
    program.for_each_blob_mut(|blob| blob.0 = blobs.of(blob.0.into()) as u32);
}
