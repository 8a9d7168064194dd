//! Finds the order of the methods in which their shared state was placed. It is explicit in YAML if it is not the order
//! of the methods in the file.

use std::collections::BTreeMap;

use crate::assembly::Assembly;
use crate::layout::shared::SharedState;
use pte_analysis::method::Method;
use pte_analysis::operators::MethodOperators;
use pte_model::program::MemoryPlan;
use pte_model::program::{EValue, ExecutionPlan, Memory, Program};

/// Number of methods up to which all orders are tried.
const MAX_METHODS: usize = 5;

/// Number of instructions up to which all orders are tried.
const MAX_INSTRUCTIONS: usize = 1 << 16;

/// Pool and number of a shared state.
type State = (u32, u32);

/// Returns the shared state of a method. Each item has the value, the state, and its pool and offset in the original.
fn places<'p>(
    assembled: &'p ExecutionPlan,
    original: &'p ExecutionPlan,
) -> impl Iterator<Item = (usize, State, Option<(u32, u64)>)> + use<'p> {
    let stated = MemoryPlan::stated(original).places;
    let state = |value: &EValue| match value.as_tensor()?.memory {
        Memory::Auto { pool: Some(pool), shared: Some(state), .. } => Some((pool, state)),
        Memory::Auto { .. } | Memory::None | Memory::At { .. } | Memory::View { .. } => None,
    };
    let values = assembled.values().iter().zip(stated).enumerate();
    values.filter_map(move |(index, (value, place))| Some((index, state(value)?, place)))
}

/// Returns `true` if shared state is at other pools or offsets than in the original.
pub fn differs(assembly: &Assembly, original: &Program) -> bool {
    let methods = assembly.program.plans().iter().zip(original.plans()).zip(&assembly.plan.memory);
    methods.into_iter().any(|((assembled, original), planned)| {
        let mut places = places(assembled, original);
        places.any(|(value, _, place)| planned.places.get(value).is_some_and(|planned| *planned != place))
    })
}

/// Returns, by method, its position in an order that places shared state like the original; `None` for the order of the
/// file. Offsets depend on the alignment, so only their order is compared.
pub fn orders(assembled: &Program, original: &Program) -> Vec<Option<u32>> {
    let none = vec![None; original.plans().len()];
    let (mut places_of, mut sharing) = (BTreeMap::new(), Vec::new());
    for (method, plans) in assembled.plans().iter().zip(original.plans()).enumerate() {
        let mut found = places(plans.0, plans.1).peekable();
        if found.peek().is_some() {
            sharing.push(method);
        }
        places_of.extend(found.map(|(_, state, place)| (state, place)));
    }
    let mut expected: Vec<State> = places_of.keys().copied().collect();
    expected.sort_by_key(|state| (places_of[state], *state));
    let mut program = Program { blobs: Vec::new(), ..assembled.clone() };
    let operators = MethodOperators::of_program(&program);
    let mut is_order = |orders: &[Option<u32>]| {
        for (plan, order) in program.execution_plan.iter_mut().flatten().zip(orders) {
            plan.memory.shared_order = *order;
        }
        let methods = program.plans().iter().zip(&operators);
        let methods: Vec<Method<'_>> = methods.map(|(plan, operators)| Method::of(plan, operators)).collect();
        let Ok(shared) = SharedState::plan(&program, &methods) else { return false };
        let place = |(pool, state): &State| {
            shared.place(Memory::Auto { pool: Some(*pool), persistent: false, shared: Some(*state) })
        };
        let mut states = expected.clone();
        states.sort_by_key(|state| (place(state), *state));
        states == expected
    };
    if is_order(&none) {
        return none;
    }
    let guessed = by_first_writer(assembled, original);
    let instructions: usize = original.plans().iter().map(|plan| plan.instructions().count()).sum();
    if is_order(&guessed) || sharing.len() > MAX_METHODS || instructions > MAX_INSTRUCTIONS {
        return guessed;
    }
    let mut positions: Vec<u32> = (0..sharing.len() as u32).collect();
    while next_permutation(&mut positions) {
        let mut orders = none.clone();
        sharing.iter().zip(&positions).for_each(|(method, position)| orders[*method] = Some(*position));
        if is_order(&orders) {
            return orders;
        }
    }
    guessed
}

/// Returns the positions of the methods in this order: the first method writes the first state, and each later one the
/// first state that the methods before it do not write.
fn by_first_writer(assembled: &Program, original: &Program) -> Vec<Option<u32>> {
    let mut orders = vec![None; original.plans().len()];
    let mut is_sharing = Vec::with_capacity(orders.len());
    let mut owners: BTreeMap<(u32, u64), Vec<usize>> = BTreeMap::new();
    let operators = MethodOperators::of_program(original);
    for (method, plans) in assembled.plans().iter().zip(original.plans()).enumerate() {
        is_sharing.push(places(plans.0, plans.1).next().is_some());
        let written = operators[method].written(plans.1);
        for (.., place) in places(plans.0, plans.1).filter(|(value, ..)| written.contains(value)) {
            owners.entry(place.unwrap_or_default()).or_default().push(method);
        }
    }
    let mut next = 0;
    for methods in owners.values() {
        // The state of a method that has a position is placed with it.
        if methods.iter().all(|method| orders[*method].is_none()) {
            orders[methods[0]] = Some(next);
            next += 1;
        }
    }
    for (order, _) in orders.iter_mut().zip(is_sharing).filter(|(order, is_sharing)| *is_sharing && order.is_none()) {
        *order = Some(next);
        next += 1;
    }
    orders
}

/// Replaces a permutation by the next one in lexicographic order; returns `false` after the last one.
fn next_permutation(items: &mut [u32]) -> bool {
    let Some(pivot) = (1..items.len()).rev().find(|at| items[at - 1] < items[*at]) else { return false };
    let greater = (pivot..items.len()).rev().find(|at| items[*at] > items[pivot - 1]);
    items.swap(pivot - 1, greater.unwrap_or(pivot));
    items[pivot..].reverse();
    true
}

#[cfg(test)]
mod tests {
    use super::next_permutation;

    #[test]
    fn all_permutations_follow_each_other() {
        let (mut items, mut count) = ([0, 1, 2, 3], 1);
        while next_permutation(&mut items) {
            count += 1;
        }
        assert_eq!((count, items), (24, [3, 2, 1, 0]));
        assert!(!next_permutation(&mut []) && !next_permutation(&mut [7]));
    }
}
