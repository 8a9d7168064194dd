//! Finds the facts of a method that its YAML depends on, as plain data: the form of each call, first uses, literals,
//! inferred results, views and entries among the instructions, gradients, and names. [`super::text`] prints them.

pub mod calls;
mod gradients;
mod inferred;
mod literals;
pub mod names;
pub mod order;
mod uses;
pub mod views;

use calls::Calls;
use gradients::Gradients;
use names::{Namer, Names, SharedPlaces};
use order::Order;
use uses::Uses;
use views::View;

use super::graph::PayloadGraphs;
use super::hints::Hints;
use super::stats::PrintStats;
use pte_analysis::inference;
use pte_analysis::lifetimes::Execution;
use pte_analysis::method::Method;
use pte_analysis::planning::MethodValues;
use pte_model::program::pools::{PoolContent, PoolRange};
use pte_model::program::{DimOrder, EValue, ExecutionPlan, Memory, Program, Tensor, TensorShapeDynamism, ValueId};
use pte_operators::inference::TensorMeta;

/// Facts of a method.
pub struct MethodFacts<'p> {
    /// Method.
    pub plan: &'p ExecutionPlan,
    /// Explicit properties in its YAML.
    pub hints: Hints,
    /// Operators and forms of the instructions.
    pub calls: Calls<'p>,
    /// First uses of the values.
    pub uses: Uses,
    /// Properties that assembling infers for each value that an instruction produces.
    pub inferred: Vec<Option<TensorMeta>>,
    /// Views, and the positions at which values are numbered.
    pub order: Order,
    /// `requires_grad` of the values.
    pub gradients: Gradients,
    /// By value: a tensor with the memory or data of another one. Views are among them, and with all properties
    /// explicit, what would be a view.
    pub is_alias: Vec<bool>,
    /// Name of each value; `None` for literals, which are printed at their use.
    pub names: Names<'p>,
}

impl<'p> MethodFacts<'p> {
    /// Finds the facts of a method of `program`.
    pub fn new(
        program: &Program,
        payloads: &PayloadGraphs,
        shared: &SharedPlaces,
        plan: &'p ExecutionPlan,
        hints: Hints,
    ) -> MethodFacts<'p> {
        let count = plan.values().len();
        let mut calls = Calls::new(plan, hints.everything);
        let uses = Uses::of(plan, &calls);
        let (mut inferred, mut literals) = (vec![None; count], vec![false; count]);
        let (mut order, mut gradients) = (Order::stated(program, plan), Gradients::none(count));
        if !hints.everything {
            inferred = inferred::infer(plan, payloads, &mut calls);
            literals = literals::find(plan, &calls, &uses, &hints.numbers);
            order = Order::of(program, plan, &uses, &literals, &hints);
            gradients = Gradients::of(plan, &calls.resolved, &uses, &order);
        }
        let is_alias: Vec<bool> = match hints.everything {
            true => Order::of(program, plan, &uses, &literals, &hints).views.iter().map(Option::is_some).collect(),
            false => order.views.iter().map(Option::is_some).collect(),
        };
        let namer = Namer { plan, calls: &calls, uses: &uses, is_alias: &is_alias, literals: &literals };
        let names = namer.names(shared);
        MethodFacts { plan, hints, calls, uses, inferred, order, gradients, is_alias, names }
    }

    /// Returns the names of the values, and their memory as in the YAML.
    pub fn values(&self) -> MethodValues {
        let memory = |(index, value): (usize, &EValue)| match (self.order.views[index], value.as_tensor()) {
            (Some(View { base, .. }), _) => Memory::View { base: base as u32 },
            (None, Some(Tensor { memory: Memory::At { pool, .. }, .. })) => {
                let persistent = !self.uses.is_input[index] && !self.uses.produced[index];
                Memory::Auto { pool: Some(*pool), persistent, shared: None }
            }
            (None, Some(tensor)) => tensor.memory,
            (None, None) => Memory::None,
        };
        MethodValues {
            names: self.names.iter().map(|name| name.as_deref().map(str::to_owned)).collect(),
            memory: self.plan.values().iter().enumerate().map(memory).collect(),
        }
    }

    /// Returns `true` if tensors share bytes of planned memory while they are alive, other than views with their base:
    /// offsets express that.
    pub fn shares_memory(&self) -> bool {
        let method = Method::of(self.plan, &self.calls.resolved);
        let Execution { times, is_alias, .. } = method.execution(&self.values().memory);
        let values = self.plan.values().iter().enumerate().filter(|(value, _)| !is_alias[*value]);
        let placed = values.filter_map(|(value, tensor)| Some((times[value]?, PoolRange::of(tensor)?)));
        let mut placed: Vec<((u32, u32), PoolRange)> = placed.collect();
        placed.sort_unstable();
        let mut live: PoolContent<u32> = PoolContent::default();
        // A result may have the memory of what the call reads last.
        placed.into_iter().any(|((start, end), range)| {
            let is_shared = live.parts(range).any(|(_, last)| last > start);
            live.insert(range, end);
            is_shared
        })
    }

    /// Returns the literal with this index, which is printed at its use; `None` for a value with a name, or an index
    /// out of range.
    pub fn literal(&self, id: ValueId) -> Option<&'p EValue> {
        id.item(&self.names)?.is_none().then(|| self.plan.value(id)).flatten()
    }

    /// Returns the name of the value with this index; `None` for a literal, or an index out of range.
    pub fn name(&self, id: ValueId) -> Option<&str> {
        id.item(&self.names)?.as_deref()
    }

    /// Returns `true` if an entry among the instructions can make assembling number a value later. This is impossible
    /// for inputs, which are always numbered before all instructions.
    pub fn is_movable(&self, index: usize) -> bool {
        let is_declared = self.names[index].is_some() && self.order.views[index].is_none();
        is_declared && !self.uses.produced[index] && !self.uses.is_input[index]
    }

    /// Returns `true` if a tensor that looks like state is overwritten before any instruction reads it.
    pub fn has_scratch(&self) -> bool {
        self.uses.overwritten.contains(&true)
    }

    /// Returns `true` if the YAML has the index of a value under `values`.
    pub fn states_index(&self, index: usize) -> bool {
        self.hints.everything || self.order.indices.contains(&index)
    }

    /// Returns `true` if the YAML has the offset of a tensor in planned memory.
    pub fn states_offset(&self, tensor: &Tensor) -> bool {
        matches!(tensor.memory, Memory::At { .. }) && (self.hints.memory.offsets || self.hints.everything)
    }

    /// Returns `true` if a view is declared under `values`, because it needs other properties than its sizes.
    pub fn declares_view(&self, index: usize) -> bool {
        let values = self.plan.values();
        let (Some(View { base, .. }), Some(tensor)) = (self.order.views[index], values[index].as_tensor()) else {
            return false;
        };
        let rank = tensor.sizes.as_deref().map_or(0, <[i32]>::len);
        values[base].as_tensor().is_none_or(|base| base.scalar_type != tensor.scalar_type)
            || tensor.dim_order != Some(DimOrder::contiguous(rank))
            || tensor.extra_tensor_info.is_some()
            || tensor.requires_grad != self.gradients.computed[index]
            || tensor.shape_dynamism != TensorShapeDynamism::STATIC
    }

    /// Returns `true` if instructions declare the value, and no other property is needed: a view, or a number that an
    /// operator returns.
    pub fn is_implied(&self, index: usize) -> bool {
        let result = || {
            let form = self.calls.forms.get(self.uses.first[index]?)?;
            let is_out = form.outs.contains(&ValueId::of(index));
            is_out.then(|| self.calls.signature(form.operator?)?.result).flatten()
        };
        let value = &self.plan.values()[index];
        match self.order.views[index] {
            Some(_) => !self.declares_view(index),
            None => self.uses.produced[index] && result().and_then(inference::placeholder).as_ref() == Some(value),
        }
    }

    /// Adds the counts of the method to the statistics.
    pub fn count(&self, stats: &mut PrintStats) {
        let tensor = |index: usize| self.plan.values()[index].as_tensor();
        for index in 0..self.names.len() {
            let (is_named, is_view) = (self.names[index].is_some(), self.order.views[index].is_some());
            let is_result = tensor(index).is_some() && self.uses.produced[index] && is_named;
            let inferred = tensor(index).zip(self.inferred[index].as_ref()).filter(|_| is_result);
            let is_inferred = inferred.is_some_and(|(tensor, meta)| inference::difference(tensor, meta).is_none());
            stats.literals += usize::from(!is_named);
            stats.results += usize::from(is_result);
            stats.inferred += usize::from(is_inferred);
            stats.views += usize::from(is_view);
            stats.indices += usize::from(self.states_index(index));
            if let Some(tensor) = tensor(index) {
                stats.places += usize::from(self.states_offset(tensor));
                stats.gradients += usize::from(tensor.requires_grad != self.gradients.computed[index]);
            }
        }
        stats.values += self.names.len();
        let entries = self.order.entries.iter().flatten();
        stats.positions += entries.filter(|index| self.order.views[**index].is_none()).count();
        let calls = self.calls.forms.iter().filter(|form| form.operator.is_some());
        stats.stacks += calls.filter(|form| form.is_contradictory).count();
    }
}
