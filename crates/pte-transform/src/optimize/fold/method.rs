//! A method in which calls are evaluated: what is known about its values, arguments that are constants, and results
//! that can be.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;

use super::order::Order;
use pte_analysis::inference::{literal_argument, stated_of_constant};
use pte_analysis::method as analysis;
use pte_analysis::operators::ResolvedOperator;
use pte_analysis::storage::Storage;
use pte_model::program::{Device, EValue, ExecutionPlan, Memory, Tensor, TensorData, TensorShapeDynamism, ValueId};
use pte_operators::inference::{Argument, TensorMeta};

/// A method in which calls are evaluated.
pub struct Method<'p> {
    pub index: usize,
    pub analysis: analysis::Method<'p>,
    pub order: Order,
    pub is_input: Vec<bool>,
    pub is_output: Vec<bool>,
    /// By value: properties and content of a constant, or of a result that is one.
    pub known: Vec<Option<(TensorMeta, usize)>>,
    /// By value: the tensors that no instruction writes, because they are views of it.
    pub views: HashMap<usize, Vec<usize>>,
}

/// Arguments of a call.
pub struct Arguments<'p> {
    pub list: Vec<Argument<'p>>,
    /// By argument: the contents of its tensors.
    pub contents: Vec<Contained>,
}

/// Contents of the tensors of an argument.
pub enum Contained {
    None,
    Tensor(usize),
    Tensors(Vec<Option<usize>>),
}

/// Reason why a call is not a candidate.
pub enum Refusal {
    /// An argument is not a constant.
    NotConstant,
    Reason(String),
    Io(io::Error),
}

pub fn refuse<T>(reason: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Reason(reason.into()))
}

impl<'p> Method<'p> {
    /// Returns a method; `None` if it has too many accesses.
    pub fn new(index: usize, plan: &'p ExecutionPlan) -> Option<Method<'p>> {
        let analysis = analysis::Method::new(plan);
        analysis.storage()?;
        let mut is_output = vec![false; plan.values().len()];
        for output in plan.outputs.iter().flatten() {
            output.item_mut(&mut is_output).into_iter().for_each(|flag| *flag = true);
        }
        let (order, known) = (Order::new(plan), vec![None; plan.values().len()]);
        let views = HashMap::new();
        let mut method = Method { index, analysis, order, is_input: plan.is_input(), is_output, known, views };
        for (value, tensor) in plan.tensors() {
            let is_written = || method.analysis.value_accesses(value).any(|access| access.kind.may_write());
            if let Memory::View { base } = tensor.memory
                && !is_written()
            {
                method.views.entry(base as usize).or_default().push(value);
            }
        }
        Some(method)
    }

    /// Returns the values that share memory.
    pub fn storage(&self) -> &Storage {
        self.analysis.storage().expect("it exists for each method that `new` returns")
    }

    /// Returns the constants that a step reads, once for each access, with their contents.
    pub fn reads(&self, step: u32) -> Vec<(usize, usize)> {
        let accesses = self.analysis.accesses().of_step(step as usize).iter().filter(|access| access.kind.reads());
        accesses
            .filter_map(|access| Some((access.value as usize, self.known[access.value as usize].as_ref()?.1)))
            .collect()
    }

    /// Returns the arguments of a call, if they are constants.
    pub fn arguments(&self, operator: &ResolvedOperator, args: &[ValueId]) -> Result<Arguments<'p>, Refusal> {
        let count = operator.signature.ins().count();
        let mut arguments = Arguments { list: Vec::with_capacity(count), contents: Vec::with_capacity(count) };
        for arg in args.iter().take(count) {
            let found = arg.within(self.known.len()).and_then(|value| self.argument(value));
            let Some((argument, contained)) = found else { return Err(Refusal::NotConstant) };
            arguments.list.push(argument);
            arguments.contents.push(contained);
        }
        Ok(arguments)
    }

    /// Returns an argument that is a constant.
    pub fn argument(&self, value: usize) -> Option<(Argument<'p>, Contained)> {
        if let Some((meta, content)) = &self.known[value] {
            return Some((Argument::Tensor(Cow::Owned(meta.clone())), Contained::Tensor(*content)));
        }
        if self.is_input[value] || self.analysis.value_accesses(value).any(|access| access.kind.may_write()) {
            return None;
        }
        let argument = match &self.analysis.plan.values()[value] {
            literal @ (EValue::Null
            | EValue::Int(_)
            | EValue::Bool(_)
            | EValue::Double(_)
            | EValue::String(_)
            | EValue::DoubleList(_)
            | EValue::BoolList(_)) => literal_argument(literal)?,
            EValue::IntList(items) => {
                let int = |item: &i64| match self.argument(ValueId::of_int(*item).within(self.known.len())?)? {
                    (Argument::Int(int), _) => Some(int),
                    _ => None,
                };
                Argument::Ints(items.as_deref()?.iter().map(int).collect::<Option<_>>()?)
            }
            EValue::Tensor(_) | EValue::Unknown(_) => return None,
            EValue::TensorList(items) | EValue::OptionalTensorList(items) => {
                let (mut metas, mut contents) = (Vec::new(), Vec::new());
                for item in items.as_deref()? {
                    let known = match *item {
                        ValueId::NONE => None,
                        item => Some(self.known.get(item.get()?)?.as_ref()?),
                    };
                    metas.push(known.map(|(meta, _)| Cow::Owned(meta.clone())));
                    contents.push(known.map(|(_, content)| *content));
                }
                return Some((Argument::Tensors(metas), Contained::Tensors(contents)));
            }
        };
        Some((argument, Contained::None))
    }

    /// Returns the results of a call with their properties, if they can be constants.
    pub fn results(
        &self,
        operator: &ResolvedOperator,
        step: u32,
        args: &[ValueId],
    ) -> Result<Vec<(usize, TensorMeta)>, Refusal> {
        let mut results = Vec::new();
        for result in operator.result_values(args, self.analysis.plan.values()) {
            let tensor = result.item(self.analysis.plan.values()).and_then(EValue::as_tensor);
            let (Some(value), Some(tensor)) = (result.get(), tensor) else {
                return refuse("a result is not a tensor");
            };
            if let Some(reason) = self.obstacle(operator, step, value, tensor) {
                return refuse(reason);
            }
            let Some(meta) = stated_of_constant(tensor) else { return refuse("a result has no sizes") };
            results.push((value, meta));
        }
        if results.is_empty() { refuse("it has no results") } else { Ok(results) }
    }

    /// Returns the views of a result that no instruction writes, with their properties, if they can be constants.
    pub fn views_of(
        &self,
        operator: &ResolvedOperator,
        step: u32,
        value: usize,
        meta: &TensorMeta,
    ) -> Result<Vec<(usize, TensorMeta)>, Refusal> {
        let mut views = Vec::new();
        for &view in self.views.get(&value).map_or(&[][..], Vec::as_slice) {
            let tensor = self.analysis.plan.values()[view].as_tensor().filter(|tensor| {
                let bytes = self.analysis.plan.values()[value].as_tensor().and_then(Tensor::nbytes);
                tensor.scalar_type == meta.scalar_type && tensor.nbytes() == bytes && tensor.data == TensorData::None
            });
            let view_meta = tensor.and_then(stated_of_constant);
            let (Some(tensor), Some(view_meta)) = (tensor, view_meta) else {
                return refuse("a view of a result has other elements");
            };
            let is_plain = meta.dim_order.is_contiguous() && view_meta.dim_order.is_contiguous();
            if operator.is_view()
                || !is_plain && (meta.dim_order != view_meta.dim_order || meta.sizes != view_meta.sizes)
            {
                return refuse("a view of a result has another order of dimensions");
            }
            if tensor.name().is_some() || self.is_output[view] || self.is_input[view] || !is_fixed(tensor) {
                return refuse("the method returns a view of a result");
            }
            if self.analysis.value_accesses(view).any(|access| !self.order.is_after(step, access.step)) {
                return refuse(EARLY);
            }
            views.push((view, view_meta));
        }
        Ok(views)
    }

    /// Returns why a result cannot be a constant.
    pub fn obstacle(
        &self,
        operator: &ResolvedOperator,
        step: u32,
        value: usize,
        tensor: &Tensor,
    ) -> Option<&'static str> {
        if tensor.name().is_some() || tensor.data != TensorData::None {
            return Some("a result is state");
        }
        let has_place = match tensor.memory {
            Memory::Auto { persistent, shared, .. } => !persistent && shared.is_none(),
            Memory::None | Memory::View { .. } => operator.is_view(),
            Memory::At { .. } => false,
        };
        if self.is_output[value] {
            return Some("the method returns a result");
        }
        if self.is_input[value] || !has_place || !is_fixed(tensor) {
            return Some("the memory of a result is not its own");
        }
        let mut writes = self.analysis.value_accesses(value).filter(|access| access.kind.may_write());
        let is_only = writes.next().is_some_and(|access| access.step == step) && writes.next().is_none();
        if !is_only || !operator.is_view() && self.storage().writes(value) != [step] {
            return Some("other instructions write the memory of a result");
        }
        let mut others = self.analysis.value_accesses(value).filter(|access| !access.kind.may_write());
        let is_early = others.any(|access| !self.order.is_after(step, access.step));
        is_early.then_some(EARLY)
    }
}

pub const EARLY: &str = "a path reads a result before it is written";

/// Returns `true` for a tensor whose sizes and memory are those of a constant.
pub fn is_plain(tensor: &Tensor) -> bool {
    tensor.shape_dynamism == TensorShapeDynamism::STATIC && is_fixed(tensor)
}

/// Returns `true` for a tensor on the CPU without an offset.
pub fn is_fixed(tensor: &Tensor) -> bool {
    let is_bounded = tensor.shape_dynamism != TensorShapeDynamism::DYNAMIC_UNBOUND;
    is_bounded && tensor.device() == Device::CPU && tensor.storage_offset == 0
}
