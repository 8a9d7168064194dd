//! What the planner asks about the operators of a method: names, effects on arguments, results. Looked up once per method; knows nothing
//! of times or memory.

use crate::operators::{self, Role};
use crate::program::{ExecutionPlan, Operator};

/// The operators of a method, by index.
pub(super) struct MethodOperators(Vec<PlannedOperator>);

struct PlannedOperator {
    name: String,
    /// `None` for an unknown operator.
    signature: Option<PlannedSignature>,
}

struct PlannedSignature {
    roles: Vec<Role>,
    returns: bool,
    /// Position of the argument whose memory the result is.
    aliased: Option<usize>,
    overwrites_self: bool,
}

impl MethodOperators {
    pub fn new(plan: &ExecutionPlan) -> MethodOperators {
        let planned = |operator: &Operator| {
            let name = operator.full_name().unwrap_or_default();
            let signature = operators::find(&name).map(|known| PlannedSignature {
                roles: known.signature.args.iter().map(|arg| arg.role).collect(),
                returns: known.signature.result.is_some(),
                aliased: known.facts.aliased.or_else(|| known.signature.returned_argument()),
                overwrites_self: known.facts.overwrites_self,
            });
            PlannedOperator { name, signature }
        };
        MethodOperators(plan.operators.iter().flatten().map(planned).collect())
    }

    fn get(&self, index: i32) -> Option<&PlannedOperator> {
        self.0.get(usize::try_from(index).ok()?)
    }

    fn signature(&self, index: i32) -> Option<&PlannedSignature> {
        self.get(index)?.signature.as_ref()
    }

    /// Returns the name with the overload, `aten::add.out`; empty if there is no such operator.
    pub fn name(&self, index: i32) -> &str {
        self.get(index).map_or("", |operator| &operator.name)
    }

    /// Returns the role of the argument at a position; a result after the arguments is an out. `None` for unknown operators.
    pub fn role(&self, index: i32, position: usize) -> Option<Role> {
        self.signature(index).map(|signature| signature.roles.get(position).copied().unwrap_or(Role::Out))
    }

    /// Returns true if the operator returns a result.
    pub fn returns(&self, index: i32) -> bool {
        self.signature(index).is_some_and(|signature| signature.returns)
    }

    /// Returns the position of the argument whose memory the result is.
    pub fn aliased(&self, index: i32) -> Option<usize> {
        self.signature(index)?.aliased
    }

    /// Returns true if the operator replaces the content of its first argument without reading it.
    pub fn overwrites_self(&self, index: i32) -> bool {
        self.signature(index).is_some_and(|signature| signature.overwrites_self)
    }

    /// Returns true if the result of any operator is the memory of an argument.
    pub fn have_aliases(&self) -> bool {
        self.0.iter().any(|operator| operator.signature.as_ref().is_some_and(|signature| signature.aliased.is_some()))
    }
}
