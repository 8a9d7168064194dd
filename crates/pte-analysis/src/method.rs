//! A method with what its instructions do: each analysis is computed when it is first asked for, and dropped with the
//! method. It reports nothing, and knows nothing of planned offsets.

use std::cell::OnceCell;

use super::access::{Access, Accesses, ValueIndex};
use super::aliases::{Alias, AliasKind, aliases};
use super::blocks::{Jump, jumps};
use super::operators::{MethodOperators, OperatorLookup};
use super::storage::Storage;
use pte_model::program::{EValue, ExecutionPlan, Program};

/// A method, its operators and its analyses.
///
/// ```
/// use pte_analysis::method::Method;
/// use pte_analysis::pte_model::program::ExecutionPlan;
///
/// let plan = ExecutionPlan::default();
/// let method = Method::new(&plan);
/// assert!(method.jumps().is_empty() && method.accesses().list.is_empty());
/// ```
#[derive(Debug)]
pub struct Method<'p> {
    /// Values and instructions.
    pub plan: &'p ExecutionPlan,
    /// Operators, each resolved once.
    pub operators: MethodOperators,
    jumps: OnceCell<Vec<Jump>>,
    aliases: OnceCell<Vec<Alias>>,
    accesses: OnceCell<Accesses>,
    by_value: OnceCell<ValueIndex>,
    replaced: OnceCell<Vec<bool>>,
    storage: OnceCell<Option<Storage>>,
}

impl<'p> Method<'p> {
    /// Resolves the operators of a method among those of the runtime and its libraries.
    pub fn new(plan: &'p ExecutionPlan) -> Method<'p> {
        Method::with_operators(plan, MethodOperators::known(plan))
    }

    /// Returns a method with operators that are resolved.
    pub fn with_operators(plan: &'p ExecutionPlan, operators: MethodOperators) -> Method<'p> {
        let (jumps, aliases, accesses) = Default::default();
        let (by_value, replaced, storage) = Default::default();
        Method { plan, operators, jumps, aliases, accesses, by_value, replaced, storage }
    }

    /// Returns the methods of a program, whose operators are resolved once.
    pub fn of_program(program: &'p Program) -> Vec<Method<'p>> {
        let mut lookup = OperatorLookup::default();
        program.plans().iter().map(|plan| Method::with_operators(plan, lookup.of_method(plan))).collect()
    }

    /// Returns the values.
    pub fn values(&self) -> &'p [EValue] {
        self.plan.values()
    }

    /// Returns the jumps, in the order of the steps.
    pub fn jumps(&self) -> &[Jump] {
        self.jumps.get_or_init(|| jumps(self.plan))
    }

    /// Returns the aliases that instructions create, in the order of the steps.
    pub fn aliases(&self) -> &[Alias] {
        self.aliases.get_or_init(|| aliases(self.plan, &self.operators))
    }

    /// Returns the accesses, with [`ExecutionPlan::has_content`] before the first step; views are separate tensors.
    pub fn accesses(&self) -> &Accesses {
        self.accesses.get_or_init(|| Accesses::of(self.plan, &self.operators, self.plan.has_content(), &[]))
    }

    /// Returns the accesses to a value, in the order of the steps.
    pub fn value_accesses(&self, value: usize) -> impl DoubleEndedIterator<Item = &Access> + ExactSizeIterator {
        let list = &self.accesses().list;
        let index = self.by_value.get_or_init(|| ValueIndex::new(list, self.values().len()));
        index.of(value).iter().map(|access| &list[*access as usize])
    }

    /// Returns, by value, `true` if a move, or a call that returns its argument, gives it the memory of another value:
    /// its content is then not in the place that is planned for it.
    pub fn replaced(&self) -> &[bool] {
        self.replaced.get_or_init(|| {
            let mut replaced = vec![false; self.values().len()];
            for alias in self.aliases().iter().filter(|alias| alias.kind != AliasKind::View) {
                replaced[alias.result] = true;
            }
            replaced
        })
    }

    /// Returns the values that share memory; `None` if the method has more accesses than [`Accesses`] collects.
    pub fn storage(&self) -> Option<&Storage> {
        self.storage.get_or_init(|| Storage::new(self.plan, &self.operators, self.aliases())).as_ref()
    }
}
