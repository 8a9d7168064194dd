//! A method with what its instructions do: each analysis is computed when it is first asked for, and dropped with the
//! method. It reports nothing, and knows nothing of planned offsets.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::access::{Access, Accesses, ValueIndex};
use super::aliases::{Alias, AliasKind, aliases, value_requests};
use super::blocks::{Jump, jumps};
use super::lifetimes::{Execution, KeptMoves};
use super::operators::{MethodOperators, OperatorLookup};
use super::storage::Storage;
use pte_model::program::{EValue, ExecutionPlan, Memory, Program};

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
    pub operators: Cow<'p, MethodOperators>,
    jumps: OnceLock<Vec<Jump>>,
    aliases: OnceLock<Vec<Alias>>,
    accesses: OnceLock<Accesses>,
    by_value: OnceLock<ValueIndex>,
    replaced: OnceLock<Vec<bool>>,
    storage: OnceLock<Option<Storage>>,
    requests: OnceLock<Vec<Memory>>,
    kept: OnceLock<KeptMoves>,
}

impl<'p> Method<'p> {
    /// Resolves the operators of a method among those of the runtime and its libraries.
    pub fn new(plan: &'p ExecutionPlan) -> Method<'p> {
        Method::with_operators(plan, MethodOperators::known(plan))
    }

    /// Returns a method with operators that are resolved.
    pub fn with_operators(plan: &'p ExecutionPlan, operators: MethodOperators) -> Method<'p> {
        Method::build(plan, Cow::Owned(operators))
    }

    /// Returns a method with operators that the caller keeps.
    pub fn of(plan: &'p ExecutionPlan, operators: &'p MethodOperators) -> Method<'p> {
        Method::build(plan, Cow::Borrowed(operators))
    }

    fn build(plan: &'p ExecutionPlan, operators: Cow<'p, MethodOperators>) -> Method<'p> {
        let (jumps, aliases, accesses) = Default::default();
        let (by_value, replaced, storage, requests, kept) = Default::default();
        Method { plan, operators, jumps, aliases, accesses, by_value, replaced, storage, requests, kept }
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

    /// Returns the alias that a step creates.
    pub fn alias(&self, step: u32) -> Option<&Alias> {
        self.aliases().binary_search_by_key(&step, |alias| alias.step).ok().map(|index| &self.aliases()[index])
    }

    /// Returns the accesses, with [`ExecutionPlan::has_content`] before the first step; views are separate tensors.
    pub fn accesses(&self) -> &Accesses {
        self.accesses.get_or_init(|| Accesses::of(self.plan, &self.operators, self.plan.has_content(), &[]))
    }

    /// Returns the indices of the accesses by value.
    pub fn by_value(&self) -> &ValueIndex {
        self.by_value.get_or_init(|| ValueIndex::new(&self.accesses().list, self.values().len()))
    }

    /// Returns the accesses to a value, in the order of the steps.
    pub fn value_accesses(&self, value: usize) -> impl DoubleEndedIterator<Item = &Access> + ExactSizeIterator {
        let list = &self.accesses().list;
        self.by_value().of(value).iter().map(|access| &list[*access as usize])
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

    /// Returns the memory requests of its values ([`value_requests`]).
    pub fn requests(&self) -> &[Memory] {
        self.requests.get_or_init(|| value_requests(self.plan, &self.operators))
    }

    /// Follows the instructions of a method. `requested` has the memory request of each value. It is needed for views,
    /// and for the state of delegates, because the instructions do not show whether an argument of a delegate already
    /// has content.
    pub fn execution(&self, requested: &[Memory]) -> Execution {
        Execution::new(self.plan, &self.operators, self.jumps(), self.aliases(), requested)
    }

    /// Returns the values that keep the memory of others until the next execution, with [`Method::requests`].
    pub fn kept(&self) -> &KeptMoves {
        let moves = || self.aliases().iter().any(|alias| alias.kind != AliasKind::View);
        self.kept.get_or_init(|| match moves() {
            true => KeptMoves::new(self.plan, &self.operators, self.aliases(), self.requests()),
            false => KeptMoves::default(),
        })
    }
}
