//! The interface of the planner of memory, which the caller has.

use std::io;

use pte_analysis::method::Method;
use pte_model::program::{MemoryPlan, Program};

/// Planner of methods, by index.
pub type MethodPlanner = Box<dyn Fn(usize, &Method<'_>) -> Option<MemoryPlan>>;

/// Planner of memory.
pub trait PlanMemory {
    /// Error of a program that cannot be planned, or whose data cannot be read.
    type Error;

    /// Returns the memory plan of each method.
    ///
    /// # Errors
    /// A program that cannot be planned.
    fn plan(&self, program: &Program) -> Result<Vec<MemoryPlan>, Self::Error>;

    /// Returns the planner of single methods of a program by their indices, also after changes that leave the state
    /// that methods share as it is. It returns `None` for a method that cannot be planned.
    fn methods(&self, program: &Program) -> MethodPlanner;

    /// Returns the error about data that cannot be read.
    fn unreadable(&self, error: &io::Error) -> Self::Error;
}
