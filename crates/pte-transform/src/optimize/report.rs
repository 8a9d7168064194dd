//! Options of [`optimize`](super::optimize) and its report.

use serde::Serialize;

use pte_model::format::words::words;

words! {
    /// Kind of changes that [`optimize`](super::optimize) makes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[non_exhaustive]
    pub enum OptimizePass {
        // They run in this order.
        /// Calls on constants become constants.
        Folding "folding",
        /// Copies that change nothing, repeated calls, and what has no effect, are removed.
        Identity "identity",
        /// Order of the instructions, results in the memory of arguments, and the planner of the memory.
        Memory "memory",
    } fn word;
}

pte_model::options! {
    /// Options of [`optimize`](super::optimize).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct OptimizeOptions {
        /// Passes that run.
        pub passes: Vec<OptimizePass>,
        /// Number of bytes by which folding may make the file larger. By default, the constants that are no longer
        /// needed pay for new ones.
        pub max_growth: u64,
    }
}

impl Default for OptimizeOptions {
    fn default() -> OptimizeOptions {
        OptimizeOptions { passes: OptimizePass::ALL.to_vec(), max_growth: 0 }
    }
}

/// Result of [`optimize`](super::optimize).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Optimization {
    /// Methods in the order of the program.
    pub methods: Vec<OptimizedMethod>,
    /// Number of bytes by which the data of the file grow through folding; estimated, since data may share padding.
    pub growth: i64,
    /// `true` unless the program is the same as before.
    pub is_changed: bool,
    /// Least [`OptimizeOptions::max_growth`] with which all calls on constants are folded, if some stay because the
    /// file would grow.
    pub needed_growth: Option<u64>,
}

/// Changes to a method, part of [`Optimization`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OptimizedMethod {
    /// Name; empty if it has none.
    pub name: String,
    /// Number of instructions before and after.
    pub instructions: [usize; 2],
    /// Planned memory in bytes before and after: the sum of all pools.
    pub planned: [u64; 2],
    /// `true` if the memory plan before, and after, overwrites results of branches that are read later.
    pub overwrites: [bool; 2],
    /// Planned memory in bytes with [`Optimization::needed_growth`].
    pub planned_with_growth: Option<u64>,
    /// Bytes that are alive at once after the changes: the least that a plan of all pools needs, without padding.
    /// `None` without the memory pass.
    pub alive: Option<u64>,
    /// Number of instructions at another position.
    pub moved: usize,
    /// Number of results that have the memory of an argument.
    pub reused: usize,
    /// Word of the planner in YAML; `None` without the memory pass.
    pub planner: Option<String>,
    /// Reason why the memory plan stays, and with it the instructions that need memory; `None` if it may change.
    pub kept: Option<String>,
    /// Changes in the order of the instructions, and the calls on constants that stay.
    pub changes: Vec<OptimizedInstruction>,
}

/// A change of an instruction, part of [`OptimizedMethod`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OptimizedInstruction {
    /// Position of the instruction before all changes, counted through all chains.
    pub instruction: usize,
    /// Operator that it called, or the key of another instruction.
    pub operator: String,
    /// Change of the instruction.
    pub change: InstructionChange,
    /// The same in words, with the reason if it stays.
    pub message: String,
}

/// Kind of change of an instruction, part of [`OptimizedInstruction`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum InstructionChange {
    /// It was removed: its results are constants.
    Folded,
    /// It was removed: a copy that changes nothing.
    Copy,
    /// It was removed: its result is a view of its argument.
    View,
    /// It was removed: it repeats an earlier call.
    EqualCall,
    /// It was removed: it had no effect.
    Unused,
    /// It stays, although its arguments are constants.
    Kept,
    /// It stays, because the file would grow by more than [`OptimizeOptions::max_growth`].
    TooLarge,
}

impl OptimizedInstruction {
    pub(super) fn new(
        instruction: usize,
        operator: String,
        change: InstructionChange,
        message: &str,
    ) -> OptimizedInstruction {
        OptimizedInstruction { instruction, operator, change, message: message.to_owned() }
    }
}

impl InstructionChange {
    /// Returns the noun for instructions with this change, in the singular; `None` for those that stay.
    pub const fn noun(self) -> Option<&'static str> {
        match self {
            InstructionChange::Folded => Some("folded call"),
            InstructionChange::Copy => Some("identity call"),
            InstructionChange::View => Some("reshaping call"),
            InstructionChange::EqualCall => Some("repeated call"),
            InstructionChange::Unused => Some("unused instruction"),
            InstructionChange::Kept | InstructionChange::TooLarge => None,
        }
    }
}
