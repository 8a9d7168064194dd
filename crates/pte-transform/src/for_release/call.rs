//! A call as replacements see it, and the calls in its place.

use pte_analysis::method::Method;
use pte_model::program::instruction::Callee;
use pte_model::program::{EValue, ExecutionPlan, Tensor, ValueId};
use pte_operators::Base;
use pte_operators::kinds::{Kinds, ResultKinds};

/// The method of a call.
pub struct CallContext<'p> {
    plan: &'p ExecutionPlan,
    /// By value: an instruction or the caller may write it.
    is_written: Vec<bool>,
    /// `None` for a method with too many accesses.
    method: &'p Method<'p>,
}

/// Calls in place of one.
#[derive(Default)]
pub struct Rewritten {
    /// The calls, in order.
    pub calls: Vec<NewCall>,
    /// A tensor that one call passes to the next.
    pub temporary: Option<Tensor>,
    /// A result that had the memory of an argument, and needs its own.
    pub own_memory: Option<ValueId>,
}

/// A call of a kernel.
#[derive(Debug)]
pub struct NewCall {
    /// Operator.
    pub operator: &'static str,
    /// Arguments, with the result.
    pub args: Vec<NewArg>,
}

/// An argument of a new call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewArg {
    /// A value of the method.
    Value(ValueId),
    /// None.
    Null,
    /// A Bool literal.
    Bool(bool),
    /// An Int literal.
    Int(i64),
    /// A list of literals.
    Ints(Vec<i64>),
    /// [`Rewritten::temporary`].
    Temporary,
}

impl From<ValueId> for NewArg {
    fn from(value: ValueId) -> NewArg {
        NewArg::Value(value)
    }
}

impl Rewritten {
    /// Returns one call.
    pub fn of(operator: &'static str, args: impl Into<Vec<NewArg>>) -> Rewritten {
        Rewritten { calls: vec![NewCall { operator, args: args.into() }], ..Rewritten::default() }
    }

    /// Returns a call of another operator with the same arguments.
    pub fn renamed(operator: &'static str, args: &[ValueId]) -> Rewritten {
        Rewritten::of(operator, args.iter().copied().map(NewArg::Value).collect::<Vec<_>>())
    }
}

impl<'p> CallContext<'p> {
    /// Returns the context of the calls of a method.
    pub fn new(method: &'p Method<'p>) -> CallContext<'p> {
        let plan = method.plan;
        let mut is_written = plan.is_input();
        for value in method.operators.maybe_written(plan) {
            is_written.get_mut(value).into_iter().for_each(|written| *written = true);
        }
        for (_, target) in plan.instructions().filter_map(|instruction| instruction.moved()) {
            target.item_mut(&mut is_written).into_iter().for_each(|written| *written = true);
        }
        CallContext { plan, is_written, method }
    }

    /// Returns a value.
    pub fn value(&self, value: ValueId) -> Option<&'p EValue> {
        self.plan.value(value)
    }

    /// Returns a tensor.
    pub fn tensor(&self, value: ValueId) -> Option<&'p Tensor> {
        self.value(value)?.as_tensor()
    }

    /// Returns an integer that nothing changes.
    pub fn int(&self, value: ValueId) -> Option<i64> {
        match self.value(value)? {
            EValue::Int(number) if !*value.item(&self.is_written)? => Some(*number),
            _ => None,
        }
    }

    /// Returns `true` if the result of each call that writes a value is an Int.
    pub fn is_always_int(&self, value: ValueId) -> bool {
        let calls = self.plan.instructions().filter(|call| call.args().last() == Some(&value));
        calls.into_iter().all(|call| {
            let Some(Callee::Operator(operator)) = call.callee() else { return false };
            let name = operator.item(self.plan.operators.as_deref().unwrap_or_default()).and_then(|of| of.full_name());
            let Some(known) = name.as_deref().and_then(pte_operators::find) else { return false };
            match (known.signature.result, known.facts.result_kinds) {
                (Some(Base::Int), _) => true,
                (Some(Base::Scalar), Some(ResultKinds::Always(kinds))) => kinds == Kinds::INT,
                (Some(Base::Scalar), Some(ResultKinds::Promoted)) => {
                    let mut numbers = call.args().iter().rev().skip(1);
                    numbers.all(|number| matches!(self.value(*number), Some(EValue::Int(_))))
                }
                _ => false,
            }
        })
    }

    /// Returns `true` if no instruction writes the memory of a value while a view of it is used. With jumps, that is
    /// unknown.
    pub fn is_unchanged(&self, value: ValueId, view: ValueId) -> bool {
        let count = self.plan.values().len();
        let (Some(storage), Some(value), Some(view)) = (self.method.storage(), value.within(count), view.within(count))
        else {
            return false;
        };
        self.method.jumps().is_empty()
            && storage.uses(view).is_none_or(|(first, last)| !storage.is_written(value, first, last))
    }
}
