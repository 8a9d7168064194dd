//! The work of a call: multiply-accumulate operations, and bytes that are read and written.

use serde::Serialize;

use pte_inspect::delegation::CallWork;

/// Work of a call of a kernel or a delegate, or of an operation of a payload, for the sizes in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GraphWork {
    /// Multiply-accumulate operations; `None` if their number is not known.
    pub macs: Option<u64>,
    /// Bytes of the constants that are read.
    #[serde(skip_serializing_if = "is_zero")]
    pub constant: u64,
    /// Bytes of the other tensors that are read.
    #[serde(skip_serializing_if = "is_zero")]
    pub planned: u64,
    /// Bytes of the tensors that are written.
    #[serde(skip_serializing_if = "is_zero")]
    pub written: u64,
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

impl From<CallWork> for GraphWork {
    fn from(work: CallWork) -> GraphWork {
        let CallWork { macs, constant, read, written } = work;
        GraphWork { macs, constant, planned: read, written }
    }
}
