//! Sizes of tensors that instructions set: a dynamic tensor has the sizes of the last result that was written to it.
//!
//! Sizes that depend on the caller are not followed: calls are compared for the maximum sizes then. Those that follow
//! from the file are followed with the numbers and contents of [`super`], if a call may give a tensor others than it
//! has in the file.

use std::collections::{BTreeSet, HashMap};

use smallvec::SmallVec;

use super::super::super::contents::{Assumption, Item};
use super::super::method::MethodAnalysis;
use super::super::possible::{Possible, Why};
use super::machine::{Combination, MAX_PARTNERS, Machine, accepts, is_unknown, undecided};
use pte_analysis::aliases::{AliasKind, Groups};
use pte_analysis::inference::{self, Inference, stated_of_constant};
use pte_analysis::operators::ResolvedOperator;
use pte_model::program::instruction::Callee;
use pte_model::program::{EValue, Tensor, TensorShapeDynamism, ValueId};
use pte_operators::facts::LoopPart;
use pte_operators::inference::{Dim, InferenceError, TensorMeta};

/// Tensors that instructions may give other sizes than those in the file.
#[derive(Debug, Default)]
pub struct Resized {
    /// The tensors.
    pub tensors: BTreeSet<usize>,
    /// Steps that give tensors other sizes if the numbers that they read follow from the file.
    pub by_numbers: BTreeSet<u32>,
}

impl Resized {
    /// Finds the tensors whose sizes calls set without the caller, and those of calls that read numbers.
    pub fn new(method: &MethodAnalysis<'_>) -> Resized {
        let mut resized = Resized::default();
        let is_dynamic = |value: usize| method.values()[value].as_tensor().is_some_and(is_dynamic);
        let dynamic: Vec<usize> = (0..method.values().len()).filter(|value| is_dynamic(*value)).collect();
        if dynamic.is_empty() || method.accesses().is_truncated {
            return resized;
        }
        let is_kept = |value: &usize| method.first_write(*value).is_none() && !method.is_input[*value];
        resized.tensors.extend(dynamic.into_iter().filter(is_kept));
        let inference = Inference::bounded(method.plan, &method.operators);
        for (step, instruction) in (0..).zip(&method.steps) {
            let Some((known, args)) = method.call(instruction) else { continue };
            let accesses = method.step_accesses(step);
            let outs = accesses.iter().filter(|access| access.kind.may_write()).map(|access| access.value as usize);
            if is_unknown(known) || !outs.clone().any(is_dynamic) {
                continue;
            }
            let reads_numbers = accesses.iter().any(|access| {
                let value = access.value as usize;
                access.kind.keeps() && !is_tensor(method, value) && method.first_write(value).is_some()
            });
            if reads_numbers {
                resized.by_numbers.insert(step);
            } else if is_stored(known) {
                resized.tensors.extend(outs.clone().filter(|out| is_dynamic(*out)));
            }
            match inference.call(method.values(), known, args) {
                Ok(results) => {
                    let results = inference::tensors(method.values(), known, args, &results).into_iter();
                    let is_set = |value: usize, meta: &TensorMeta| !meta.is_dynamic() || differs(method, value, meta);
                    let other = results.filter(|(value, meta)| is_dynamic(*value) && is_set(*value, meta));
                    resized.tensors.extend(other.map(|(value, _)| value));
                }
                Err(InferenceError::Undetermined(_)) if known.facts.data_dependent.is_some() => {
                    resized.tensors.extend(outs.filter(|out| is_dynamic(*out)));
                }
                Err(_) => {}
            }
        }
        resized
    }

    /// Adds all tensors of the calls that read numbers.
    pub fn add_all(&mut self, method: &MethodAnalysis<'_>) {
        let accesses = self.by_numbers.iter().flat_map(|step| method.step_accesses(*step));
        let written = accesses.filter(|access| access.kind.may_write()).map(|access| access.value as usize);
        self.tensors.extend(written.filter(|value| method.values()[*value].as_tensor().is_some_and(is_dynamic)));
    }
}

/// Returns `true` if a call writes a row to a tensor, which then ends with this row.
fn is_stored(known: &ResolvedOperator) -> bool {
    known.facts.loop_part == Some(LoopPart::Store)
}

fn is_dynamic(tensor: &Tensor) -> bool {
    tensor.shape_dynamism != TensorShapeDynamism::STATIC
}

fn is_tensor(method: &MethodAnalysis<'_>, value: usize) -> bool {
    matches!(method.values()[value], EValue::Tensor(_))
}

/// Returns `true` if a tensor has a constant size that is not the one in the file.
fn differs(method: &MethodAnalysis<'_>, value: usize, meta: &TensorMeta) -> bool {
    let sizes = method.values()[value].as_tensor().and_then(|tensor| tensor.sizes.as_deref()).unwrap_or_default();
    // A dynamic size whose bound is 0 is always 0.
    let other = |(size, dim): (&i32, &Dim)| (!dim.dynamic || dim.size == 0) && i64::from(*size) != dim.size;
    sizes.len() != meta.sizes.len() || sizes.iter().zip(&meta.sizes).any(other)
}

impl Machine<'_, '_> {
    /// Follows the sizes of tensors, and of those that get theirs from them. Adds tensors whose content determines
    /// sizes. `None` if too many share their sizes.
    pub fn follow_sizes(&mut self, resized: &BTreeSet<usize>, contents: &mut Vec<usize>) -> Option<()> {
        let method = self.method;
        let mut groups = Groups::new(method.values().len());
        let mut neighbours: HashMap<usize, Vec<usize>> = HashMap::new();
        for alias in method.aliases().iter().filter(|alias| alias.kind != AliasKind::View) {
            groups.join(alias.base, alias.result);
            neighbours.entry(alias.base).or_default().push(alias.result);
            neighbours.entry(alias.result).or_default().push(alias.base);
        }
        let mut open: Vec<usize> = resized.iter().copied().collect();
        let mut members: HashMap<usize, Vec<u32>> = HashMap::new();
        // Steps that read a tensor whose sizes are followed.
        let mut is_done = vec![false; method.end() as usize];
        while let Some(value) = open.pop() {
            if !is_tensor(method, value) || !self.follow(self.sizes_of(value)) {
                continue;
            }
            open.extend(neighbours.get(&value).into_iter().flatten());
            if neighbours.contains_key(&value) {
                let slots = members.entry(groups.first(value)).or_default();
                slots.extend(self.slots[self.sizes_of(value)]);
                if slots.len() > MAX_PARTNERS {
                    return None;
                }
            }
            for access in method.value_accesses(value) {
                let is_read = access.kind.keeps() && access.step < method.end();
                let others = method.step_accesses(access.step).iter().filter(|other| other.kind.may_write());
                if is_read && !std::mem::replace(&mut is_done[access.step as usize], true) {
                    let is_dynamic = |value: &usize| method.values()[*value].as_tensor().is_some_and(is_dynamic);
                    open.extend(others.map(|other| other.value as usize).filter(is_dynamic));
                }
                let call = method.steps.get(access.step as usize).and_then(|step| method.call(step));
                if let Some((known, args)) = call.filter(|(known, _)| known.facts.data_dependent.is_some()) {
                    let ins = args.iter().take(known.signature.ins().count());
                    contents.extend(ins.flat_map(|arg| self.tensors(*arg)));
                }
            }
        }
        for slots in members.into_values().filter(|slots| slots.len() > 1) {
            for slot in &slots {
                let others = slots.iter().copied().filter(|other| other != slot).collect();
                self.partners.insert(self.values[*slot as usize], others);
            }
        }
        Some(())
    }

    /// Finds the values that the caller may have an influence on.
    pub fn find_callers(&mut self) {
        let method = self.method;
        let is_call_of_unknown = |step: u32| {
            let instruction = &method.steps[step as usize];
            let is_call = matches!(instruction.instruction.callee(), Some(Callee::Operator(_)));
            is_call && method.call(instruction).is_none_or(|(known, _)| is_unknown(known))
        };
        let written = |step: u32| method.step_accesses(step).iter().filter(|access| access.kind.may_write());
        let by_unknown = (0..method.end()).filter(|step| is_call_of_unknown(*step)).flat_map(written);
        let inputs = (0..method.values().len()).filter(|value| self.is_callers(*value));
        let mut open: Vec<usize> = inputs.chain(by_unknown.map(|access| access.value as usize)).collect();
        self.from_caller = vec![false; method.values().len()];
        let mut is_done = vec![false; method.end() as usize];
        while let Some(value) = open.pop() {
            if std::mem::replace(&mut self.from_caller[value], true) {
                continue;
            }
            let reads = method.value_accesses(value).filter(|access| access.kind.keeps() && access.step < method.end());
            let new = reads.filter(|read| !std::mem::replace(&mut is_done[read.step as usize], true));
            open.extend(new.flat_map(|access| written(access.step)).map(|access| access.value as usize));
        }
    }

    /// Returns the index by which the sizes of a tensor are followed.
    pub fn sizes_of(&self, value: usize) -> usize {
        self.method.values().len() + value
    }

    /// Returns the sizes that a tensor has in the file.
    pub fn stated_sizes(&self, value: usize) -> Possible {
        let tensor = self.method.values()[value].as_tensor();
        tensor.and_then(stated_of_constant).map_or_else(Possible::caller, |meta| self.known_sizes(value, meta))
    }

    /// Returns the sizes of a tensor, which keeps its element type, and its order of dimensions.
    fn known_sizes(&self, value: usize, mut meta: TensorMeta) -> Possible {
        meta.sizes.iter_mut().filter(|dim| dim.size == 0).for_each(|dim| dim.dynamic = false);
        if let Some(stated) = self.method.values()[value].as_tensor().and_then(stated_of_constant) {
            meta.scalar_type = stated.scalar_type;
            if stated.rank() == meta.rank() {
                meta.dim_order = stated.dim_order;
            }
        }
        Possible::of(Item::Sizes(self.found.contents.borrow_mut().add_sizes(meta)))
    }

    /// Sets the sizes of the target of a move.
    pub fn move_sizes(&self, from: usize, to: usize, state: &mut [Possible]) {
        let possible = match self.slots[self.sizes_of(from)] {
            Some(slot) => state[slot as usize].clone(),
            None if self.method.values()[from].as_tensor().is_some_and(is_dynamic) => Possible::caller(),
            None => self.stated_sizes(from),
        };
        self.set(self.sizes_of(to), possible, state);
    }

    /// Sets the sizes of tensors that a delegate or unknown code writes.
    pub fn resize_by_code(&self, step: u32, is_known: bool, state: &mut [Possible]) {
        let accesses = self.method.step_accesses(step);
        let is_set = |access: usize| {
            self.slots[self.sizes_of(access)].is_some_and(|slot| !state[slot as usize].known.is_empty())
        };
        let reads = accesses.iter().filter(|access| access.kind.keeps() && !access.kind.may_write());
        let follows = is_known && { reads }.any(|access| is_set(access.value as usize));
        let possible = if follows { Possible::open(step, Why::Delegate) } else { Possible::caller() };
        for access in accesses.iter().filter(|access| access.kind.may_write()) {
            self.set(self.sizes_of(access.value as usize), possible.clone(), state);
        }
    }

    /// Sets the sizes of tensors that a call writes.
    pub fn resize(&mut self, step: u32, known: &ResolvedOperator, args: &[ValueId], state: &mut [Possible]) {
        let written = self.method.step_accesses(step).iter().filter(|access| access.kind.may_write());
        let written = written.map(|access| access.value as usize);
        let outs: SmallVec<[usize; 2]> = written.filter(|value| self.slots[self.sizes_of(*value)].is_some()).collect();
        if outs.is_empty() {
            return;
        }
        let found = if is_unknown(known) {
            outs.iter().map(|out| (*out, Possible::caller())).collect()
        } else {
            self.new_sizes(step, known, args, &outs, state)
        };
        for (out, possible) in found {
            if !possible.is_nothing() {
                self.write(step, self.sizes_of(out), &possible, state);
            }
        }
    }

    /// Notes the tensors that a call of [`Resized::by_numbers`] gives sizes without the caller.
    pub fn note_resized(&mut self, step: u32, combinations: &[Combination]) {
        if self.by_numbers.contains(&step)
            && combinations.iter().any(|combination| !self.is_sized_by_caller(step, combination))
        {
            let written = self.method.step_accesses(step).iter().filter(|access| access.kind.may_write());
            let is_dynamic = |value: &usize| self.method.values()[*value].as_tensor().is_some_and(is_dynamic);
            self.resized.extend(written.map(|access| access.value as usize).filter(is_dynamic));
        }
    }

    /// Returns `true` if the caller decides a size or a number that a call reads.
    pub fn is_sized_by_caller(&self, step: u32, combination: &Combination) -> bool {
        let is_open = |item: &Item| match item {
            Item::AtMost(_) => true,
            Item::Sizes(sizes) => self.found.contents.borrow().sizes(*sizes).is_dynamic(),
            Item::Null | Item::Int(_) | Item::Bool(_) | Item::Double(_) | Item::Unknown | Item::Content(_) => false,
        };
        let reads = self.method.step_accesses(step).iter().filter(|access| access.kind.keeps());
        let is_callers = |value: usize| {
            let tensor = self.method.values()[value].as_tensor();
            tensor.is_some_and(is_dynamic)
                && self.slots[self.sizes_of(value)].is_none()
                && self.from_caller.get(value).is_some_and(|from_caller| *from_caller)
        };
        combination.caller || combination.assumption.iter().any(|(_, item)| is_open(item)) || { reads }
            .any(|access| is_callers(access.value as usize))
    }

    /// Returns the sizes of a tensor after a row of it is written; `None` if they are not known.
    fn stored(&self, args: &[ValueId], assumption: &Assumption) -> Option<TensorMeta> {
        let [to, row] = [args.first()?, args.get(2)?].map(|arg| self.method.value(*arg));
        let mut meta = stated_of_constant(self.method.values()[to?].as_tensor()?)?;
        let assumed = assumption.iter().find(|(value, _)| Some(*value) == row).map(|(_, item)| *item);
        let row = assumed.or_else(|| Item::of(&self.method.values()[row?]));
        let Item::Int(row) = row? else { return None };
        *meta.sizes.first_mut()? = Dim::fixed(row.checked_add(1).filter(|rows| *rows > 0)?);
        Some(meta)
    }

    /// Returns the sizes that a call gives its outs; none for one that it does not resize.
    fn new_sizes(
        &mut self,
        step: u32,
        known: &ResolvedOperator,
        args: &[ValueId],
        outs: &[usize],
        state: &[Possible],
    ) -> Vec<(usize, Possible)> {
        let all = |possible: Possible| outs.iter().map(|out| (*out, possible.clone())).collect();
        let Some(combinations) = self.combinations(step, state, false) else {
            return all(Possible::open(step, Why::Several));
        };
        let values = self.method.values();
        let mut found: Vec<(usize, Possible)> = all(Possible::none());
        let mut add = |out: usize, possible: &Possible| {
            if let Some((_, sizes)) = found.iter_mut().find(|(other, _)| *other == out) {
                *sizes = sizes.join(possible, |_| Possible::open(step, Why::Several));
            }
        };
        for combination in &combinations {
            let Combination { assumption, open, .. } = combination;
            if !assumption.iter().all(|assumed| accepts(known, args, *assumed)) {
                continue;
            }
            let is_callers = self.is_sized_by_caller(step, combination);
            let unknown =
                |is_callers: bool| undecided(is_callers, *open).unwrap_or_else(|| Possible::open(step, Why::Operator));
            if is_stored(known) {
                let stored = self.stored(args, assumption);
                for out in outs {
                    let meta = stored.clone();
                    add(*out, &meta.map_or_else(|| unknown(is_callers), |meta| self.known_sizes(*out, meta)));
                }
                continue;
            }
            let assumed: Vec<_> = self.found.contents.borrow().knowledge(self.method, assumption).collect();
            match self.inference.assuming(assumed, |inference| inference.call(values, known, args)) {
                Ok(results) => {
                    for (out, meta) in inference::tensors(values, known, args, &results) {
                        let is_kept = meta.is_dynamic() && !differs(self.method, out, meta);
                        add(out, &if is_kept { unknown(is_callers) } else { self.known_sizes(out, meta.clone()) });
                    }
                }
                Err(InferenceError::Undetermined(_) | InferenceError::UnknownOperator) => {
                    let depends = |value: usize| self.possible(value, state).caller;
                    let mut ins = args.iter().take(known.signature.ins().count()).flat_map(|arg| self.tensors(*arg));
                    let is_callers = is_callers || known.facts.data_dependent.is_some() && ins.any(depends);
                    outs.iter().for_each(|out| add(*out, &unknown(is_callers)));
                }
                // The kernel fails.
                Err(InferenceError::Unsupported(_) | InferenceError::Invalid(_)) => {}
            }
        }
        found
    }
}
