//! Optimizes a program, with the memory planner of this crate; what is changed is decided in
//! [`pte_transform::optimize`].

use crate::layout::{self, shared::SharedState};
use crate::pipeline::Resolved;
use pte_analysis::method::Method;
use pte_model::error::Error;
use pte_model::program::{MemoryPlan, Program};
use pte_transform::optimize::minimize::{MethodMemory, MinimizeOptions, minimize};
use pte_transform::optimize::order::Reordering;
use pte_transform::optimize::{MethodPlanner, Optimization, OptimizeOptions, PlanMemory, optimize};

/// Planner of a program, with the messages of its source.
struct SourcePlanner<'r>(&'r Resolved);

impl PlanMemory for SourcePlanner<'_> {
    type Error = Error;

    fn plan(&self, program: &Program) -> Result<Vec<MemoryPlan>, Error> {
        layout::plan_memory(program).map_err(|errors| self.0.error(self.0.layout_messages(errors)))
    }

    fn methods(&self, program: &Program) -> MethodPlanner {
        let shared = SharedState::plan(program, &Method::of_program(program)).ok();
        Box::new(move |index, method| layout::memory::plan(index, method, shared.as_ref()?).ok())
    }

    fn unreadable(&self, error: &std::io::Error) -> Error {
        self.0.unreadable(error)
    }
}

impl Resolved {
    /// Optimizes the program: its outputs stay the same, with less planned memory and fewer instructions. Changes of a
    /// method that would need more memory are not made. Read binary files with [`crate::Model::resolve_for_changes`]:
    /// the memory plan of a method with explicit offsets stays.
    ///
    /// ```
    /// use pte_emit::{AssembleOptions, Model};
    /// use pte_emit::edit::{Optimization, OptimizeOptions};
    ///
    /// let yaml = "
    /// methods:
    ///   forward:
    ///     values: {x: {tensor: float32, sizes: [2, 2]}}
    ///     inputs: [x]
    ///     outputs: [y]
    ///     instructions:
    ///       - {kernel: aten::clone.out, args: [x, null], out: copy}
    ///       - {kernel: aten::mul.out, args: [copy, x], out: y}
    /// ";
    /// let mut resolved = Model::from_yaml("square.yaml", yaml, ".").resolve()?;
    /// let done: Optimization = resolved.optimize(&OptimizeOptions::default())?;
    /// assert_eq!(done.methods[0].instructions, [2, 1]);
    /// assert_eq!(done.methods[0].planned, [48, 32]);
    /// assert!(resolved.to_files(&AssembleOptions::default()).is_ok());
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::edit::{InstructionChange, OptimizeOptions, OptimizePass, OptimizedInstruction, OptimizedMethod};
    ///
    /// let mut options = OptimizeOptions::default();
    /// options.passes.retain(|pass| *pass != OptimizePass::Memory);
    /// assert_eq!(OptimizePass::ALL.map(OptimizePass::word), ["folding", "identity", "memory"]);
    ///
    /// let mut linear = Model::open("examples/linear.yaml")?.resolve()?;
    /// let done = linear.optimize(&options)?;
    /// let forward: &OptimizedMethod = &done.methods[0];
    /// let transposed: &OptimizedInstruction = &forward.changes[0];
    /// assert_eq!((&*transposed.operator, transposed.change), ("aten::permute_copy.out", InstructionChange::Folded));
    /// assert_eq!(transposed.change.noun(), Some("folded call"));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The memory of the program cannot be planned, or data cannot be read.
    pub fn optimize(&mut self, options: &OptimizeOptions) -> Result<Optimization, Error> {
        let minimize = self.minimize_options(&MinimizeOptions::default());
        let done = optimize(&self.program, options, &minimize, &SourcePlanner(self))?;
        self.program = done.program;
        for round in &done.rounds {
            self.origins.retain(&round.remaps);
            self.reorder_origins(&round.orders);
        }
        Ok(done.report)
    }

    /// Changes the order of instructions, the memory of results and the planner of each method where it then needs less
    /// planned memory; the outputs stay the same. A method stays as it is if its offsets or the sizes of its pools are
    /// explicit, or if nothing is gained. Read binary files with [`crate::Model::resolve_for_changes`].
    ///
    /// ```
    /// use pte_emit::{AssembleOptions, Model};
    /// use pte_emit::edit::{MethodMemory, MinimizeOptions};
    ///
    /// let yaml = "
    /// methods:
    ///   forward:
    ///     values: {x: {tensor: float32, sizes: [2, 2]}}
    ///     inputs: [x]
    ///     outputs: [y]
    ///     instructions:
    ///       - {kernel: aten::mm.out, args: [x, x], out: a}
    ///       - {kernel: aten::relu.out, args: [a], out: b}
    ///       - {kernel: aten::add.out, args: [b, x, 1], out: y}
    /// ";
    /// let mut resolved = Model::from_yaml("relu.yaml", yaml, ".").resolve()?;
    /// let methods: Vec<MethodMemory> = resolved.minimize_memory(&MinimizeOptions::default());
    /// assert_eq!(methods[0].planned, [48, 32]);
    /// assert_eq!(methods[0].reused.len(), 2);
    /// assert!(resolved.to_files(&AssembleOptions::default()).is_ok());
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    pub fn minimize_memory(&mut self, options: &MinimizeOptions) -> Vec<MethodMemory> {
        let mut program = std::mem::take(&mut self.program);
        let done = minimize(&mut program, &self.minimize_options(options), &SourcePlanner(self));
        self.program = program;
        let (reports, orders): (Vec<_>, Vec<_>) = done.into_iter().unzip();
        self.reorder_origins(&orders);
        reports
    }

    /// Returns the options of minimizing without the order, if field overrides name instructions by their position.
    fn minimize_options(&self, options: &MinimizeOptions) -> MinimizeOptions {
        let mut options = options.clone();
        options.reorder &= !self.has_overrides();
        options
    }

    fn reorder_origins(&mut self, orders: &[Reordering]) {
        for (method, reordering) in orders.iter().enumerate().filter(|(_, reordering)| reordering.moved() > 0) {
            self.origins.reorder(method, &reordering.order);
        }
    }
}
