//! Names the values of a method. Names come from the fully qualified name, the instruction that produces the value and
//! the submodule in its stack trace, or the use of a constant. A name that is taken gets a number.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::super::stacktrace;
use super::calls::Calls;
use super::uses::Uses;
use pte_analysis::operators::ResolvedOperator;
use pte_model::program::{
    Device, EValue, ExecutionPlan, Instruction, Memory, OperandAccess, OperatorId, Program, StackFrame, Tensor,
    TensorData, ValueId,
};

/// Pools other than 1 and offsets of tensors in a program with several methods, which may share state there.
pub struct SharedPlaces(Vec<(u32, u64)>);

impl SharedPlaces {
    /// Collects the pools and offsets of a program.
    pub fn of(program: &Program) -> SharedPlaces {
        let plans = Some(program.plans()).filter(|plans| plans.len() > 1).unwrap_or_default();
        let tensors = plans.iter().flat_map(ExecutionPlan::tensors);
        let places: BTreeSet<_> = tensors.filter_map(|(_, tensor)| SharedPlaces::place(tensor)).collect();
        SharedPlaces(places.into_iter().collect())
    }

    fn place(tensor: &Tensor) -> Option<(u32, u64)> {
        let Memory::At { pool: pool @ 2.., offset } = tensor.memory else { return None };
        (tensor.device() == Device::CPU).then_some((pool, offset))
    }

    /// Returns a name for a tensor without one in the file. Methods that have state at the same offset get the same
    /// name.
    fn name(&self, tensor: &Tensor) -> Option<String> {
        Some(match self.0.binary_search(&SharedPlaces::place(tensor)?).ok()? {
            0 => "state".to_owned(),
            number => format!("state_{number}"),
        })
    }
}

/// Names of values by index; `None` for values that are not named.
pub type Names<'p> = Vec<Option<Cow<'p, str>>>;

/// The method whose values are named.
pub struct Namer<'a, 'p> {
    /// Method.
    pub plan: &'p ExecutionPlan,
    /// Its calls.
    pub calls: &'a Calls<'p>,
    /// First uses of its values.
    pub uses: &'a Uses,
    /// `true` for views.
    pub is_alias: &'a [bool],
    /// `true` for values that get no name.
    pub literals: &'a [bool],
}

/// Maximum number of instructions between the transposition of a weight and its use.
const NEAR: usize = 8;

impl<'p> Namer<'_, 'p> {
    /// Returns a different name for each value that is not a literal.
    pub fn names(&self, shared: &SharedPlaces) -> Names<'p> {
        let mut suggested = self.suggested(shared);
        let is_used_constant = |index: &usize| {
            let tensor = self.plan.values()[*index].as_tensor();
            let is_constant = tensor.is_some_and(|t| t.memory == Memory::None && t.data != TensorData::None);
            is_constant && suggested[*index].is_none() && self.uses.first[*index].is_some()
        };
        let (constants, mut others): (Vec<usize>, Vec<usize>) =
            (0..suggested.len()).filter(|index| !self.literals[*index]).partition(is_used_constant);
        // Inputs are numbered in their order.
        let mut order = vec![usize::MAX; suggested.len()];
        for (number, input) in self.plan.inputs.iter().flatten().enumerate() {
            input.item_mut(&mut order).into_iter().for_each(|first| *first = number.min(*first));
        }
        others.sort_by_key(|index| order[*index]);
        let mut name = |index: usize| {
            let fallback = || Cow::Borrowed(fallback(&self.plan.values()[index]));
            (index, suggested[index].take().unwrap_or_else(fallback))
        };
        let others = others.into_iter().map(&mut name).collect();
        let mut names = vec![None; self.literals.len()];
        let mut counts = HashMap::new();
        assign(&mut names, others, &mut counts);
        // Constants are named after the results that they are used for.
        let constants =
            constants.into_iter().map(|index| (index, Cow::Owned(self.name_by_use(&names, index)))).collect();
        assign(&mut names, constants, &mut counts);
        names
    }

    /// Returns the names that the program suggests, which may be equal.
    fn suggested(&self, shared: &SharedPlaces) -> Names<'p> {
        let mut suggested: Names<'p> = vec![None; self.literals.len()];
        let mut suggest = |id: ValueId, name: &Cow<'p, str>| {
            id.item_mut(&mut suggested).into_iter().for_each(|slot| _ = slot.get_or_insert_with(|| name.clone()));
        };
        for (index, tensor) in self.plan.tensors() {
            if let Some(name) = tensor.name() {
                suggest(ValueId::of(index), &Cow::Borrowed(name));
            }
        }
        self.plan.inputs.iter().flatten().for_each(|input| suggest(*input, &Cow::Borrowed("x")));
        for (index, tensor) in self.plan.tensors() {
            // Methods share state by its name.
            if let Some(name) = shared.name(tensor).filter(|_| !self.uses.produced[index]) {
                suggest(ValueId::of(index), &Cow::Owned(name));
            }
        }
        for (index, is_alias) in self.is_alias.iter().enumerate() {
            if *is_alias {
                suggest(ValueId::of(index), &Cow::Borrowed("view"));
            }
        }
        // The first call suggests the names of the items of a list.
        let mut expanded = vec![false; self.literals.len()];
        let is_produced = |value: &&ValueId| value.item(&self.uses.produced) == Some(&true);
        for (instruction, frames) in traced(self.plan) {
            let name = instruction.operator().map_or("part", |operator| self.short_name(operator));
            let name = match frames.and_then(stacktrace::submodule) {
                Some(submodule) => Cow::Owned(format!("{submodule}_{name}")),
                None => Cow::Borrowed(name),
            };
            for arg in instruction.args().iter().filter(is_produced) {
                let is_new = arg.item_mut(&mut expanded).is_some_and(|is_old| !std::mem::replace(is_old, true));
                let items = self.plan.value(*arg).filter(|_| is_new).map_or(&[][..], EValue::as_tensors);
                items.iter().filter(is_produced).for_each(|item| suggest(*item, &name));
                suggest(*arg, &name);
            }
            let written = instruction.operands().filter(|(_, _, access)| *access == OperandAccess::Write);
            written.for_each(|(_, value, _)| suggest(value, &Cow::Borrowed("merged")));
        }
        suggested
    }

    /// Returns the name of a constant after its first use, from the names of the result and of the argument:
    /// `convolution_2_bias`. A weight that is transposed first is named after the product.
    fn name_by_use(&self, names: &Names<'p>, index: usize) -> String {
        let named = |(result, argument): (ValueId, &str)| {
            let result = result.item(names)?.as_deref()?;
            Some(format!("{result}_{argument}"))
        };
        let found = self.uses.first[index].and_then(|first| self.use_at(first, index)).and_then(|(operator, used)| {
            let result = used.0.get().filter(|_| operator.is_some_and(|operator| operator.facts.transposes));
            named(result.and_then(|result| self.use_after(result)).unwrap_or(used))
        });
        found.unwrap_or_else(|| "constant".to_owned())
    }

    /// Returns the first use of a result within [`NEAR`] instructions: the result of that call, and the name of the
    /// argument.
    fn use_after(&self, value: usize) -> Option<(ValueId, &str)> {
        let written = (*self.uses.first.get(value)?)?;
        let near = written + 1..self.calls.forms.len().min(written + 1 + NEAR);
        near.into_iter().find_map(|number| self.use_at(number, value)).map(|(_, used)| used)
    }

    /// Returns the use of a value by a kernel call: the operator, its first result, and the name of a constant there.
    fn use_at(&self, number: usize, value: usize) -> Option<(Option<&ResolvedOperator>, (ValueId, &str))> {
        let form = self.calls.forms.get(number)?;
        let (value, index) = (ValueId::of(value), form.operator?);
        let operator = self.calls.resolved.get(index);
        let reads = |arg: &ValueId| {
            *arg == value || self.plan.value(*arg).is_some_and(|list| list.as_tensors().contains(&value))
        };
        let position = form.ins.iter().position(reads)?;
        let argument = operator.and_then(|operator| operator.constant_name(position)).unwrap_or("constant");
        Some((operator, (*form.outs.first()?, argument)))
    }

    /// Returns the base of the names of the values that an operator produces.
    fn short_name(&self, operator: OperatorId) -> &'p str {
        let short = self.calls.resolved.get(operator).and_then(|known| known.facts.short_name);
        let name = self.plan.operator(operator).map(|operator| operator.name.as_deref().unwrap_or_default());
        let bare = |name: &'p str| {
            let name = name.split_once("::").map_or(name, |(_, name)| name);
            name.split('.').next().unwrap_or(name).trim_matches('_')
        };
        short.or(name.map(bare)).unwrap_or("value")
    }
}

/// Assigns suggested names. `counts` has the number of values with each suggested name. A numbered name is never a
/// suggested one, and two numbered names differ in the part before or after the last `_`.
fn assign<'p>(names: &mut Names<'p>, suggested: Vec<(usize, Cow<'p, str>)>, counts: &mut HashMap<Cow<'p, str>, u32>) {
    let mut taken: HashSet<Cow<'p, str>> = names.iter().flatten().cloned().collect();
    for (_, name) in &suggested {
        counts.entry(name.clone()).or_insert(u32::from(taken.contains(name)));
    }
    for (index, name) in suggested {
        let mut count = counts[&name];
        let mut unique = name.clone();
        if count > 0 {
            loop {
                unique = Cow::Owned(format!("{name}_{count}"));
                if !counts.contains_key(&unique) && !taken.contains(&unique) {
                    break;
                }
                count += 1;
            }
        }
        counts.insert(name, count + 1);
        taken.insert(unique.clone());
        names[index] = Some(unique);
    }
}

/// Rounds after which names stay as they are: each finds names that cannot be replaced, which others then cannot take.
const RENAMES: usize = 8;

/// Replaces names; a new name that another value has is not used.
pub fn rename(names: &mut Names<'_>, new: &BTreeMap<String, String>) {
    let mut kept: HashSet<String> = HashSet::new();
    for _ in 0..RENAMES {
        let is_kept = |name: &str| !new.contains_key(name) || kept.contains(name);
        let all = || names.iter().flatten().map(|name| &**name);
        let mut taken: HashSet<&str> = all().filter(|name| is_kept(name)).collect();
        let renamed = all().filter(|name| !is_kept(name));
        let refused: Vec<String> = renamed.filter(|name| !taken.insert(&new[*name])).map(str::to_owned).collect();
        if refused.is_empty() {
            for name in names.iter_mut().flatten().filter(|name| !kept.contains(&***name)) {
                if let Some(new) = new.get(&**name) {
                    *name = Cow::Owned(new.clone());
                }
            }
            return;
        }
        kept.extend(refused);
    }
}

/// Returns the base of the name of a value that nothing suggests a name for.
fn fallback(value: &EValue) -> &'static str {
    match value {
        EValue::Tensor(tensor) if matches!(tensor.data, TensorData::Blob(_)) && tensor.memory == Memory::None => {
            "constant"
        }
        EValue::Tensor(tensor) if tensor.memory != Memory::None => "state",
        EValue::Tensor(_) => "tensor",
        EValue::Null => "none",
        EValue::Int(_) => "int",
        EValue::Bool(_) => "flag",
        EValue::Double(_) => "double",
        EValue::String(_) => "text",
        EValue::IntList(_)
        | EValue::DoubleList(_)
        | EValue::BoolList(_)
        | EValue::TensorList(_)
        | EValue::OptionalTensorList(_) => "list",
        EValue::Unknown(_) => "unknown",
    }
}

/// Returns the instructions of all chains with their stack traces.
fn traced(plan: &ExecutionPlan) -> impl Iterator<Item = (&Instruction, Option<&[StackFrame]>)> {
    plan.chains.iter().flatten().flat_map(|chain| {
        let traces = chain.stacktrace.as_deref().unwrap_or_default();
        let frames = |number: usize| traces.get(number)?.as_deref();
        let instructions = chain.instructions.iter().flatten().enumerate();
        instructions.map(move |(number, instruction)| (instruction, frames(number)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_names_are_those_of_no_other_value() {
        let renamed = |new: &[(&str, &str)]| {
            let mut names: Names<'_> = ["a", "b", "c"].map(|name| Some(Cow::Borrowed(name))).into();
            rename(&mut names, &new.iter().map(|(old, new)| (old.to_string(), new.to_string())).collect());
            names.into_iter().flatten().map(Cow::into_owned).collect::<Vec<_>>()
        };
        assert_eq!(renamed(&[("a", "b"), ("b", "a")]), ["b", "a", "c"]);
        assert_eq!(renamed(&[("a", "d"), ("b", "d")]), ["d", "b", "c"]);
        // `b` cannot be `c`, so `a` cannot be `b`.
        assert_eq!(renamed(&[("a", "b"), ("b", "c")]), ["a", "b", "c"]);
    }
}
