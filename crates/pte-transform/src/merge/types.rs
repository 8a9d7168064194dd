//! Inputs, options and report of a merge, as plain data.

use pte_model::program::Program;
use pte_model::program::test_cases::MethodTests;
use serde::Serialize;

use crate::rename::MethodRename;

/// A program to merge.
#[derive(Debug, Clone, Default)]
pub struct MergeInput {
    /// Name in messages.
    pub name: String,
    /// Program.
    pub program: Program,
    /// Tests of its methods.
    pub tests: Vec<MethodTests>,
}

pte_model::options! {
    /// Options of [`merge`](crate::merge::merge).
    #[derive(Debug, Clone, Default)]
    pub struct MergeOptions {
        /// New names of methods, each with the index of its input; `None` for all inputs that have the method.
        pub renames: Vec<(Option<usize>, MethodRename)>,
        /// Prefixes of the names of all methods of an input, with its index; `None` for all inputs. They precede new
        /// names.
        pub prefixes: Vec<(Option<usize>, String)>,
        /// Share the mutable buffers of the same fully qualified name between methods, as the exporter's
        /// `share_mutable_buffers` does. The memory of these methods must be planned again.
        pub share_state: bool,
    }
}

/// Result of [`merge`](crate::merge::merge).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Merged {
    /// Methods of the result, in its order.
    pub methods: Vec<MergedMethod>,
    /// Constant methods that several inputs have, with the same value.
    pub equal_constant_methods: Vec<String>,
    /// Keys of data that several inputs have, with the same bytes.
    pub equal_keys: Vec<String>,
    /// Mutable buffers that methods share by their names.
    pub shared_state: Vec<SharedBuffer>,
    /// Pools of state that methods of one input share, and that was moved behind that of other inputs: pool, input,
    /// offset in bytes.
    pub moved_state: Vec<(u32, String, u64)>,
    /// Facts that the user of the result must know.
    pub notes: Vec<String>,
}

/// A method of a merged program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MergedMethod {
    /// Name in the result.
    pub name: String,
    /// Name of its input.
    pub input: String,
    /// Name in its input.
    pub original: String,
}

/// A mutable buffer that methods share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SharedBuffer {
    /// Fully qualified name.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Methods that share it.
    pub methods: Vec<String>,
}
