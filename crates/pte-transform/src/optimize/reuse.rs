//! Gives results the memory of an argument that nothing reads after the call, if the kernel computes the same in place.
//!
//! The kernels that do are those of the table that `check` uses for X-25, which was measured in the real runtime. A
//! planner may place a tensor where another one was alive before, but never where one is alive at the same call.

use super::alive::AliveMemory;
use pte_analysis::access::Access;
use pte_analysis::method::Method;
use pte_analysis::operators::{AccessKind, MethodOperators, ResolvedOperator};
use pte_model::program::{ExecutionPlan, Memory, Tensor, TensorData, TensorShapeDynamism, ValueId};

/// A result that has the memory of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReusedTensor {
    /// Position of the call, counted through all chains.
    pub step: u32,
    /// Index of the result.
    pub value: usize,
    /// Index of the tensor whose memory it has. It may have become the memory of the argument by an earlier reuse.
    pub base: usize,
    /// Size of both in bytes.
    pub bytes: u64,
}

/// Makes results of a method views of arguments, where that is safe. Only tensors whose memory is planned change: no
/// inputs, state or constants, and no tensors with an explicit location.
pub fn reuse(plan: &mut ExecutionPlan, operators: &MethodOperators) -> Vec<ReusedTensor> {
    let method = Method::of(plan, operators);
    let accesses = method.accesses();
    if accesses.is_truncated {
        return Vec::new();
    }
    let (joined, alive) = (vec![None; plan.values().len()], AliveMemory::of(&method));
    let mut finder = Finder { plan, is_input: plan.is_input(), is_replaced: method.replaced().to_vec(), alive, joined };
    let mut reused = Vec::new();
    for (step, instruction) in (0..).zip(plan.instructions()) {
        let Some(known) = operators.called(instruction).filter(|known| known.has_known_sharing()) else { continue };
        let call = Call { step, known, args: instruction.args(), accesses: accesses.of_step(step as usize) };
        if let Some(found) = finder.find(&call) {
            finder.join(found.value, found.base);
            reused.push(found);
        }
    }
    let joined = finder.joined;
    for (index, tensor) in plan.tensors_mut() {
        // Views of such a result become views of its base.
        let base = match tensor.memory {
            Memory::View { base } => joined.get(base as usize).copied().flatten(),
            Memory::None | Memory::Auto { .. } | Memory::At { .. } => joined[index],
        };
        if let Some(base) = base {
            tensor.memory = Memory::View { base };
        }
    }
    reused
}

/// A call of an operator whose kernel may work in place.
struct Call<'c> {
    step: u32,
    known: &'c ResolvedOperator,
    args: &'c [ValueId],
    accesses: &'c [Access],
}

struct Finder<'p> {
    plan: &'p ExecutionPlan,
    is_input: Vec<bool>,
    /// By value: a move or a call replaces its memory by that of another value.
    is_replaced: Vec<bool>,
    alive: AliveMemory,
    /// By value: the value whose memory it has got.
    joined: Vec<Option<u32>>,
}

impl Finder<'_> {
    /// Returns the argument whose memory the result of a call may have.
    fn find(&self, call: &Call<'_>) -> Option<ReusedTensor> {
        let time = call.step + 1;
        let mut written = call.accesses.iter().filter(|access| access.kind.may_write());
        let (Some(out), None) = (written.next(), written.next()) else { return None };
        let value = out.value as usize;
        let (first, last) = self.alive.spans[value];
        let is_new = out.kind == AccessKind::Write && first == time && last > time;
        if !is_new || !self.is_own(value) || !self.works_in_order(call, self.tensor(value)?) {
            return None;
        }
        let bytes = self.tensor(value)?.nbytes().filter(|bytes| *bytes > 0)?;
        // An item of a list is not an argument itself.
        let is_argument = |access: &&Access| {
            call.args.get(access.arg as usize).and_then(|arg| arg.get()) == Some(access.value as usize)
        };
        let read = call.accesses.iter().filter(|access| access.kind == AccessKind::Read).filter(is_argument);
        let candidates = read.filter(|access| !self.is_replaced[access.value as usize]);
        let base = candidates
            .map(|access| self.base(access.value as usize))
            .find(|base| self.may_reuse(call, value, *base))?;
        Some(ReusedTensor { step: call.step, value, base, bytes })
    }

    /// Returns `true` if a result may have the memory of `base`, which the call reads.
    fn may_reuse(&self, call: &Call<'_>, value: usize, base: usize) -> bool {
        let time = call.step + 1;
        let (Some(result), Some(tensor)) = (self.tensor(value), self.tensor(base)) else { return false };
        let (first, last) = self.alive.spans[base];
        let is_free = base != value && self.is_own(base) && first < time && last == time;
        let may_share = |access: &Access, tensor: &Tensor| {
            call.known.in_place.contains(&(access.arg as usize))
                && tensor.scalar_type == result.scalar_type
                && tensor.sizes == result.sizes
                && tensor.dim_order == result.dim_order
        };
        let share = |access: &&Access| self.base(access.value as usize) == base;
        is_free
            && tensor.nbytes() == result.nbytes()
            && tensor.device() == result.device()
            && self.alive.requested[base] == self.alive.requested[value]
            && self
                .read_tensors(call)
                .filter(|(access, _)| share(access))
                .all(|(access, tensor)| may_share(access, tensor))
    }

    /// Returns `true` if the kernel visits the elements of all arguments in the order of the result.
    fn works_in_order(&self, call: &Call<'_>, result: &Tensor) -> bool {
        let tensors = || self.read_tensors(call).map(|(_, tensor)| tensor);
        // A kernel that broadcasts to a result in another order does not.
        let is_ordered = result.dim_order.as_deref().is_none_or(|order| order.is_sorted())
            || tensors().all(|tensor| tensor.sizes == result.sizes);
        // Of tensors with equal bounds, the actual sizes may differ. One argument has the sizes of the result.
        let is_static = |tensor: &Tensor| tensor.shape_dynamism == TensorShapeDynamism::STATIC;
        let has_known_sizes = tensors().chain([result]).all(is_static);
        is_ordered && (has_known_sizes || call.known.facts.maps_floats && tensors().count() == 1)
    }

    fn read_tensors<'c>(&'c self, call: &'c Call<'_>) -> impl Iterator<Item = (&'c Access, &'c Tensor)> {
        let read = call.accesses.iter().filter(|access| access.kind == AccessKind::Read);
        read.filter_map(|access| Some((access, self.tensor(access.value as usize)?)))
    }

    /// Returns `true` for a tensor with planned memory of its own that is only used during one execution.
    fn is_own(&self, value: usize) -> bool {
        let is_automatic = matches!(self.alive.requested[value], Memory::Auto { persistent: false, shared: None, .. });
        let is_plain = |tensor: &Tensor| {
            tensor.data == TensorData::None && tensor.shape_dynamism != TensorShapeDynamism::DYNAMIC_UNBOUND
        };
        let is_given = self.is_input[value] || self.is_replaced[value] || self.joined[value].is_some();
        is_automatic && !is_given && self.tensor(value).is_some_and(is_plain)
    }

    /// Gives a value and its views the memory of another one.
    fn join(&mut self, value: usize, base: usize) {
        let last = self.alive.spans[value].1;
        self.alive.spans[base].1 = self.alive.spans[base].1.max(last);
        self.joined[value] = Some(base as u32);
    }

    /// Returns the value whose memory a value has.
    fn base(&self, value: usize) -> usize {
        let base = self.alive.base(value);
        self.joined[base].map_or(base, |base| base as usize)
    }

    fn tensor(&self, value: usize) -> Option<&Tensor> {
        self.plan.values().get(value)?.as_tensor()
    }
}
