//! Limits of the work on a program (`X-18`).
//!
//! The checks take time and memory in proportion to the file, except where a few instructions stand for a product: a
//! list that many calls take, loops in loops, views of views. Such work has a limit, which is much larger than any
//! program of an exporter needs: a share of each method, in proportion to it, and a common part that all methods of a
//! program have together ([`Work`]). What exceeds it is not checked, and that is an error.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A limit of the work on a program.
#[derive(Debug)]
pub struct Limit {
    /// Noun for the counted unit, in the singular.
    pub unit: &'static str,
    /// Causes that can reach the limit.
    pub reached_by: &'static str,
    /// Units that the methods of a program may take together.
    pub least: usize,
    /// Further units of a method, for each access of an instruction to a value.
    pub per_access: usize,
}

/// Items of lists that calls take, with all other accesses: the limit of `pte_analysis`, which grows with the
/// arguments, values and items of lists in the file.
pub static ITEMS: Limit = Limit {
    unit: "list item",
    reached_by: "long lists that many calls take",
    least: pte_analysis::access::LEAST_ITEMS,
    per_access: pte_analysis::access::ITEMS_PER_ACCESS,
};

/// Items of lists that inference reads, writes and forgets.
pub static INFERRED: Limit = Limit {
    unit: "inferred list item",
    reached_by: "long lists that calls with several possible Ints take",
    least: 1 << 20,
    per_access: 16,
};

/// Tensors with live content in memory that instructions write.
pub static OVERLAPS: Limit = Limit {
    unit: "overlapping live tensor",
    reached_by: "many live tensors in the same memory, all of them views or read only by jumps that are not taken",
    least: 1 << 22,
    per_access: 64,
};

/// Loops around reads.
pub static LOOPS: Limit =
    Limit { unit: "enclosing loop", reached_by: "many loops, one inside the other", least: 1 << 24, per_access: 64 };

/// Basic blocks on the paths to reads.
pub static BLOCKS: Limit = Limit {
    unit: "visited block",
    reached_by: "many tensors that are read after many jumps",
    least: 1 << 24,
    per_access: 64,
};

/// Memory that values may have because of views and moves.
pub static ALIASES: Limit = Limit {
    unit: "possible memory range",
    reached_by: "many moves to one value, which many others view",
    least: 1 << 20,
    per_access: 16,
};

/// States of values whose kind or memory instructions change.
pub static STATES: Limit = Limit {
    unit: "visited state",
    reached_by: "many values that moves or calls replace, with many jumps",
    least: 1 << 25,
    per_access: 64,
};

/// Operations on Ints that instructions write.
pub static INTS: Limit = Limit {
    unit: "computed Int",
    reached_by: "many numbers that instructions write, with many jumps",
    least: 1 << 20,
    per_access: 16,
};

/// Instructions that are executed on numbers. Beyond it, the Ints that loops compute are followed without regard to
/// conditions.
pub static STEPS: Limit = Limit {
    unit: "executed instruction",
    reached_by: "loops of many iterations, or over many executions, whose counters kernels read",
    least: 1 << 17,
    per_access: 8,
};

/// Ints that a value may be because of calls.
pub static COMPUTED: Limit = Limit {
    unit: "possible Int",
    reached_by: "values that many calls write, if conditions depend on inputs",
    least: 1 << 7,
    per_access: 0,
};

/// Constants that are read as numbers or conditions, or from which calls compute such, with the results.
pub static CONSTANTS: Limit = Limit {
    unit: "constant byte",
    reached_by: "large constants as indices, zero points, repetitions or conditions, or from which calls compute them",
    least: 1 << 26,
    per_access: 64,
};

/// All limits.
pub static LIMITS: &[&Limit] =
    &[&ITEMS, &INFERRED, &OVERLAPS, &LOOPS, &BLOCKS, &ALIASES, &STATES, &INTS, &STEPS, &COMPUTED, &CONSTANTS];

impl Limit {
    /// Returns the number of units that a method with this number of accesses may take.
    pub fn of(&self, accesses: usize) -> usize {
        self.least.saturating_add(self.per_access.saturating_mul(accesses))
    }
}

/// The common parts of the limits, which several methods take from, and several programs of one file.
#[derive(Debug, Clone)]
pub struct Work(Vec<Arc<AtomicUsize>>);

impl Default for Work {
    fn default() -> Work {
        Work(LIMITS.iter().map(|limit| Arc::new(AtomicUsize::new(limit.least))).collect())
    }
}

impl Work {
    /// Returns a copy that later work on the original does not change. The checks of a method begin with the same rest,
    /// so that the findings do not depend on their order.
    pub(crate) fn now(&self) -> Vec<usize> {
        self.0.iter().map(|left| left.load(Ordering::Relaxed)).collect()
    }

    /// Returns the units that a method may take: its own, and the common ones that were left when it began.
    pub(crate) fn budget(&self, limit: &'static Limit, now: &[usize], accesses: usize) -> Budget {
        let index = LIMITS.iter().position(|other| std::ptr::eq(*other, limit));
        let common = index.and_then(|index| now.get(index)).copied().unwrap_or(limit.least);
        let all = common.saturating_add(limit.per_access.saturating_mul(accesses));
        Budget { left: Some(all), common, shared: index.and_then(|index| self.0.get(index).cloned()) }
    }
}

/// The rest of a limit. What it takes beyond the share of its method is missing in [`Work`] when it is dropped.
#[derive(Debug)]
pub struct Budget {
    left: Option<usize>,
    /// Common units at the beginning.
    common: usize,
    shared: Option<Arc<AtomicUsize>>,
}

impl Drop for Budget {
    fn drop(&mut self) {
        let Some(shared) = &self.shared else { return };
        let taken = self.common.saturating_sub(self.left());
        let _ = shared.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(taken)));
    }
}

impl Budget {
    /// Creates a budget of its own.
    pub fn of(units: usize) -> Budget {
        Budget { left: Some(units), common: units, shared: None }
    }

    /// Takes a number of units; `None` if the limit is exceeded, now or earlier.
    pub fn spend(&mut self, units: usize) -> Option<()> {
        self.left = self.left?.checked_sub(units);
        self.left.map(|_| ())
    }

    /// Returns `true` if the limit was exceeded.
    pub fn is_exceeded(&self) -> bool {
        self.left.is_none()
    }

    /// Returns the units that are left.
    pub fn left(&self) -> usize {
        self.left.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_exceeded_beyond_its_limit() {
        for limit in LIMITS {
            let most = limit.of(10);
            assert_eq!(most, limit.least + 10 * limit.per_access);
            for (units, is_exceeded) in [(most - 1, false), (most, false), (most + 1, true)] {
                let work = Work::default();
                let mut budget = work.budget(limit, &work.now(), 10);
                assert_eq!(budget.spend(units).is_none(), is_exceeded, "{}", limit.unit);
                assert_eq!(budget.is_exceeded(), is_exceeded, "{}", limit.unit);
                assert_eq!(budget.spend(0).is_none(), is_exceeded, "{}", limit.unit);
            }
        }
    }

    #[test]
    fn methods_have_their_own_share_and_a_common_part() {
        for limit in LIMITS {
            let work = Work::default();
            let own = 10 * limit.per_access;
            for (units, left) in [(own, limit.least), (own + 7, limit.least - 7), (own + limit.least, 0)] {
                work.budget(limit, &work.now(), 10).spend(units);
                let index = LIMITS.iter().position(|other| other.unit == limit.unit).unwrap();
                assert_eq!(work.now()[index], left, "{}", limit.unit);
            }
            assert!(work.budget(limit, &work.now(), 10).spend(own).is_some());
            assert!(work.budget(limit, &work.now(), 10).spend(own + 1).is_none());
        }
    }
}
