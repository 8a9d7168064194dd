//! Resolves the operators that a method calls, each name once, and determines the effect of calls on their arguments.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pte_model::program::{EValue, ExecutionPlan, Instruction, OperandAccess, OperatorId, Program, ValueId};
use pte_operators::facts::Facts;
use pte_operators::inference::Rule;
use pte_operators::inference::constraints::Constraint;
use pte_operators::kinds::Kinds;
use pte_operators::temporary::Temporary;
use pte_operators::{Base, OperatorSet, Role, Signature};

/// Effect of an instruction on a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads it.
    Read,
    /// Writes all of it.
    Write,
    /// Reads it, and writes (parts of) it in place.
    Modify,
    /// Writes it in place without reading it: `copy_` writes all of it, `et_copy_index` one index per call.
    Overwrite,
    /// Replaces it by an alias: a move, a view, or the result of an in-place operator.
    Alias,
    /// None: the result argument of an out variant, which repeats its out.
    RepeatedOut,
    /// Frees its memory.
    Release,
    /// Unknown: an argument of a delegate or of an unknown operator.
    Unknown,
}

impl AccessKind {
    /// Returns the effect of an instruction on an operand.
    pub fn of_operand(access: OperandAccess) -> AccessKind {
        match access {
            OperandAccess::Read => AccessKind::Read,
            OperandAccess::Write => AccessKind::Alias,
            OperandAccess::Release => AccessKind::Release,
        }
    }

    /// Returns `true` if the access may change the content.
    pub fn may_write(self) -> bool {
        !matches!(self, AccessKind::Read | AccessKind::RepeatedOut)
    }

    /// Returns `true` if the access may change the bytes of the value: a move or a view does not.
    pub fn may_write_bytes(self) -> bool {
        self.may_write() && self != AccessKind::Alias
    }

    /// Returns `true` if the access certainly reads the content.
    pub fn reads(self) -> bool {
        matches!(self, AccessKind::Read | AccessKind::Modify)
    }

    /// Returns `true` if the access reads the content or writes in place, so that the former content may partly remain.
    pub fn keeps(self) -> bool {
        self.reads() || self == AccessKind::Overwrite
    }

    /// Returns `true` for an argument that is written in place.
    pub fn is_in_place(self) -> bool {
        matches!(self, AccessKind::Modify | AccessKind::Overwrite)
    }

    /// Returns `true` if the access certainly writes the bytes of the value.
    pub fn writes_bytes(self) -> bool {
        self == AccessKind::Write || self.is_in_place()
    }

    /// Returns `true` for a result of a call: an out, a returned value, or the argument that repeats it.
    pub fn is_result(self) -> bool {
        matches!(self, AccessKind::Write | AccessKind::Alias | AccessKind::RepeatedOut)
    }
}

/// An argument or operand of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Position among the arguments, or among the operands.
    pub position: usize,
    /// Index of the value in the instruction; it may be out of range.
    pub value: ValueId,
    /// Effect of the instruction.
    pub kind: AccessKind,
}

/// An operator with a known signature.
#[derive(Debug)]
pub struct ResolvedOperator {
    /// Name with the overload: `aten::add.out`.
    pub name: Cow<'static, str>,
    /// Arguments and result.
    pub signature: Cow<'static, Signature>,
    /// Rule that infers the results; `None` if there is none, as for all custom operators.
    pub rule: Option<Rule>,
    /// Constraints of its kernel on the properties of arguments.
    pub constraints: &'static [Constraint],
    /// Library that registers it; `None` for the default runtime and for custom operators.
    pub library: Option<&'static str>,
    /// Positions of the arguments whose exact bytes the out may be; none are known of custom operators.
    pub in_place: &'static [usize],
    /// Bytes that its kernel takes from the temporary allocator; unknown for custom operators.
    pub temporary: Temporary,
    /// Positions of the outs.
    pub outs: Vec<usize>,
    /// Facts of the operator with this name, even if the signature is that of a custom operator.
    pub facts: &'static Facts,
    /// Position of the argument whose memory the result has: the base of a view, or an argument that is written in
    /// place and returned. A custom operator that returns a tensor is assumed to return its first argument. `None` if
    /// the result has memory of its own.
    pub aliased: Option<usize>,
    /// Effects on the arguments, by position in the signature.
    accesses: Vec<AccessKind>,
}

impl ResolvedOperator {
    /// Returns the operator, if its signature is known. `custom` is its signature if it is a custom operator.
    pub fn find(name: &str, custom: Option<&Signature>) -> Option<ResolvedOperator> {
        let known = pte_operators::find(name);
        let facts = known.map_or(&Facts::NONE, |operator| operator.facts);
        let (registered, signature) = match custom {
            Some(signature) => (None, Cow::Owned(signature.clone())),
            None => (known, Cow::Borrowed(&known?.signature)),
        };
        let access = |(position, role)| match role {
            Role::In => AccessKind::Read,
            Role::Out => AccessKind::Write,
            Role::InPlace if position == 0 && facts.overwrites_self => AccessKind::Overwrite,
            Role::InPlace => AccessKind::Modify,
        };
        let roles = || signature.args.iter().map(|arg| arg.role).enumerate();
        let returns_tensor = signature.result == Some(Base::Tensor);
        Some(ResolvedOperator {
            accesses: roles().map(access).collect(),
            outs: roles().filter(|(_, role)| *role == Role::Out).map(|(position, _)| position).collect(),
            aliased: facts.aliased.or_else(|| signature.returned_argument()).or(returns_tensor.then_some(0)),
            name: registered.map_or_else(|| name.to_owned().into(), |operator| operator.name.into()),
            signature,
            rule: registered.and(facts.rule),
            constraints: registered.map_or(&[], |operator| &operator.constraints),
            library: registered.and_then(|operator| operator.library),
            in_place: registered.map_or(&[], |operator| &operator.in_place),
            temporary: registered.map_or(Temporary::Unknown, |operator| operator.temporary),
            facts,
        })
    }

    /// Returns the number of arguments of a call, with the result.
    pub fn arguments(&self) -> usize {
        self.signature.args.len() + usize::from(!self.outs.is_empty() || self.signature.result.is_some())
    }

    /// Returns the values that are results of a call with these arguments, with the items of lists.
    pub fn result_values<'a>(
        &self,
        args: &'a [ValueId],
        values: &'a [EValue],
    ) -> impl Iterator<Item = ValueId> + use<'a> {
        let places = args.get(self.results(args.len())).unwrap_or_default();
        let results = places.iter().flat_map(|place| match place.item(values) {
            Some(list) if !list.as_tensors().is_empty() => list.as_tensors(),
            _ => std::slice::from_ref(place),
        });
        results.copied()
    }

    /// Returns the positions of the results among `count` arguments of a call: the outs, or the returned value.
    pub fn results(&self, count: usize) -> std::ops::Range<usize> {
        let ins = self.signature.args.len() - self.outs.len();
        let results = if self.outs.is_empty() { usize::from(self.signature.result.is_some()) } else { self.outs.len() };
        ins..(ins + results).min(count).max(ins)
    }

    /// Returns the kinds of values that it accepts for an argument of the signature. The runtime aborts for other
    /// kinds.
    pub fn accepted(&self, position: usize) -> Kinds {
        match self.facts.narrower {
            Some(kinds) => kinds[position.min(kinds.len() - 1)],
            None => self.signature.args[position].kind.kinds(),
        }
    }

    /// Returns the name of a constant that is passed as an argument, as torch's layers call it: `bias` for `self` of
    /// `addmm`.
    pub fn constant_name(&self, position: usize) -> Option<&str> {
        let argument = &*self.signature.args.get(position)?.name;
        let named = self.facts.constant_names.iter().find(|(name, _)| *name == argument);
        Some(named.map_or(if argument == "self" { "input" } else { argument }, |(_, constant)| constant))
    }

    /// Returns `true` if the kernel replaces the content of an argument without reading it, or only reads its sizes.
    pub fn needs_no_content(&self, position: usize) -> bool {
        position == 0 && self.facts.overwrites_self
    }

    /// Returns `true` if the kernel can crash because of a number: it does not reject all that are wrong.
    pub fn trusts_numbers(&self) -> bool {
        let facts = self.facts;
        let is_unchecked = facts.aborts || facts.is_thorough || facts.is_unsized;
        let is_compared = facts.quantization.is_some() || facts.repetitions.is_some() || facts.range.is_some();
        is_unchecked || is_compared || !self.constraints.is_empty()
    }

    /// Returns `true` if the kernel can crash because of the sizes of its arguments, within their ranks.
    pub fn trusts_sizes(&self) -> bool {
        let facts = self.facts;
        let reads_elements = facts.selection.is_some() && !facts.checks_indices
            || facts.repetitions.is_some()
            || facts.quantization.is_some();
        let is_unchecked = facts.aborts || facts.is_thorough || facts.is_unsized;
        reads_elements || is_unchecked || self.constraints.iter().any(Constraint::reads_sizes)
    }

    /// Returns `true` if the result is a view of an argument, which the operator does not write.
    pub fn is_view(&self) -> bool {
        self.facts.aliased.is_some()
    }

    /// Returns `true` if [`ResolvedOperator::in_place`] has all arguments that may share bytes with the outs, as for
    /// operators of the default runtime.
    pub fn has_known_sharing(&self) -> bool {
        self.rule.is_some() && self.library.is_none() && !self.facts.reads_sizes && !self.is_view()
    }

    /// Returns `true` if a call may omit some of its outs.
    pub fn has_optional_outs(&self) -> bool {
        self.facts.out_mask.is_some()
    }

    /// Returns `true` if a call with these arguments has no other effect than its results.
    fn is_pure(&self, args: &[ValueId]) -> bool {
        let has_results = self.signature.result.is_some() || !self.outs.is_empty();
        has_results && args.len() == self.arguments() && !self.accesses.iter().any(|access| access.is_in_place())
    }

    /// Returns the effect of a call on the argument at a position.
    pub fn access(&self, args: &[ValueId], position: usize) -> AccessKind {
        if let Some(access) = self.accesses.get(position) {
            return *access;
        }
        let repeats = |(value, access): (&ValueId, &AccessKind)| access.is_in_place() && args.last() == Some(value);
        match self.signature.result {
            _ if !self.outs.is_empty() => AccessKind::RepeatedOut,
            // The result repeats an argument that is written in place.
            _ if args.len() > self.accesses.len() && args.iter().zip(&self.accesses).any(repeats) => {
                AccessKind::RepeatedOut
            }
            Some(Base::Tensor) => AccessKind::Alias,
            Some(_) | None => AccessKind::Write,
        }
    }
}

/// Operators by name, each resolved once: those of the runtime and its libraries, and custom ones.
#[derive(Debug, Default)]
pub struct OperatorLookup<'s> {
    custom: Option<&'s OperatorSet>,
    found: HashMap<String, Option<Arc<ResolvedOperator>>>,
}

impl OperatorLookup<'_> {
    /// Returns the operator with a name, if it is known.
    pub fn find(&mut self, name: &str) -> Option<Arc<ResolvedOperator>> {
        if let Some(known) = self.found.get(name) {
            return known.clone();
        }
        let custom = self.custom.and_then(|set| set.added(name));
        let known = ResolvedOperator::find(name, custom).map(Arc::new);
        self.found.insert(name.to_owned(), known.clone());
        known
    }

    /// Resolves the operators of a method.
    pub fn of_method(&mut self, plan: &ExecutionPlan) -> MethodOperators {
        let operators = plan.operators.iter().flatten();
        MethodOperators { list: operators.map(|operator| self.find(&operator.full_name()?)).collect() }
    }
}

/// The operators of a method, by their indices.
#[derive(Debug, Clone, Default)]
pub struct MethodOperators {
    list: Vec<Option<Arc<ResolvedOperator>>>,
}

impl MethodOperators {
    /// Resolves the operators of a method: those of the runtime and its libraries, and the custom operators of `set`.
    pub fn new(plan: &ExecutionPlan, set: &OperatorSet) -> MethodOperators {
        OperatorLookup { custom: Some(set), ..OperatorLookup::default() }.of_method(plan)
    }

    /// Resolves the operators of a method: those of the runtime and its libraries.
    pub fn known(plan: &ExecutionPlan) -> MethodOperators {
        OperatorLookup::default().of_method(plan)
    }

    /// Resolves the operators of each method of a program among those of the runtime and its libraries.
    pub fn of_program(program: &Program) -> Vec<MethodOperators> {
        let mut lookup = OperatorLookup::default();
        program.plans().iter().map(|plan| lookup.of_method(plan)).collect()
    }

    /// Returns the operator with an index; `None` if it is unknown.
    pub fn get(&self, id: OperatorId) -> Option<&ResolvedOperator> {
        id.item(&self.list)?.as_deref()
    }

    /// Returns the operator that an instruction calls; `None` unless it is a kernel call of a known operator.
    pub fn called(&self, instruction: &Instruction) -> Option<&ResolvedOperator> {
        self.get(instruction.operator()?)
    }

    /// Returns the effects of an instruction on its arguments, then on its operands, without the items of lists.
    #[inline]
    pub fn uses<'i>(&'i self, instruction: &'i Instruction) -> impl Iterator<Item = Usage> {
        let operands = instruction.operands().enumerate().map(|(position, (_, value, access))| Usage {
            position,
            value,
            kind: AccessKind::of_operand(access),
        });
        self.args(instruction).chain(operands)
    }

    /// Returns the effects of an instruction on its arguments, without the items of lists.
    #[inline]
    pub fn args<'i>(&'i self, instruction: &'i Instruction) -> impl Iterator<Item = Usage> {
        let args = instruction.args();
        let known = self.called(instruction);
        args.iter().enumerate().map(move |(position, value)| {
            let kind = known.map_or(AccessKind::Unknown, |known| known.access(args, position));
            Usage { position, value: *value, kind }
        })
    }

    /// Returns the arguments that a call reads, and its results, if these are its only effect; `None` for other
    /// instructions.
    pub fn pure_call<'i>(&self, instruction: &'i Instruction) -> Option<(&'i [ValueId], &'i [ValueId])> {
        let (operator, args) = (self.called(instruction)?, instruction.args());
        operator.is_pure(args).then(|| args.split_at(operator.results(args.len()).start))
    }

    /// Returns the values that instructions of a method certainly write, with the items of lists.
    pub fn written(&self, plan: &ExecutionPlan) -> HashSet<usize> {
        self.values_with(plan, |kind| kind.is_result() || kind.is_in_place())
    }

    /// Returns the values that instructions of a method write or may write, with the items of lists.
    pub fn maybe_written(&self, plan: &ExecutionPlan) -> HashSet<usize> {
        self.values_with(plan, |kind| kind.is_result() || kind.is_in_place() || kind == AccessKind::Unknown)
    }

    /// Returns the values that are used in this way, with the items of lists.
    fn values_with(&self, plan: &ExecutionPlan, is_wanted: impl Fn(AccessKind) -> bool) -> HashSet<usize> {
        let usages = plan.instructions().flat_map(|instruction| self.uses(instruction));
        // Many calls can have the same long list.
        let used: HashSet<usize> =
            usages.filter(|usage| is_wanted(usage.kind)).filter_map(|usage| usage.value.get()).collect();
        let lists = used.iter().filter_map(|value| plan.values().get(*value)).flat_map(EValue::as_tensors);
        let items: Vec<usize> = lists.filter_map(|item| item.get()).collect();
        used.into_iter().chain(items).collect()
    }
}

/// Returns `true` if an unknown operator is assumed to be an out variant, whose out is passed twice: its overload ends
/// in `out`.
pub fn is_out_variant(unknown: &str) -> bool {
    unknown.rsplit_once('.').is_some_and(|(_, overload)| overload.ends_with("out"))
}

/// Returns the position of the first argument that a call of an unknown operator may write: the out of an out variant,
/// which is passed twice; the first of several outs, which a list passes again; otherwise 0.
pub fn outs_of_unknown(plan: &ExecutionPlan, args: &[ValueId]) -> usize {
    let [before @ .., last] = args else { return 0 };
    match plan.value(*last) {
        Some(EValue::TensorList(Some(items))) if !items.is_empty() && before.ends_with(items) => {
            before.len() - items.len()
        }
        _ if before.last() == Some(last) => before.len() - 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::ResolvedOperator;
    use pte_operators::OperatorSet;

    #[test]
    fn the_kernel_of_a_replaced_operator_is_unknown() {
        let name = "aten::relu.out";
        let known = ResolvedOperator::find(name, None).unwrap();
        assert!(known.rule.is_some() && !known.constraints.is_empty());
        assert_eq!(known.in_place, [0]);
        let mut set = OperatorSet::new();
        set.add("aten::relu.out self:T out:T!").unwrap();
        let replaced = ResolvedOperator::find(name, set.added(name)).unwrap();
        assert!(replaced.rule.is_none() && replaced.constraints.is_empty() && replaced.in_place.is_empty());
    }
}
