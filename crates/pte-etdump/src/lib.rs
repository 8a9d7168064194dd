//! ETDump files, which ExecuTorch's runtime records while it executes a program.
//!
//! [`EtDump::read`] reads the untrusted bytes of a file. A file has a block for each execution of a method, and one for
//! each time that a method was loaded; a block is a list of events. [`Run::executions`] groups the events of a block by
//! the instructions that they are about. The bytes of tensors are in a second file, the debug buffer:
//! [`TracedTensor::data`] reads them.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod dump;
mod executions;
mod matching;
mod read;
mod schema;
mod tensor;

pub use dump::{
    AllocationEvent, DebugEvent, DelegateEventId, EtDump, Event, InstructionIndex, ProfileEvent, Run, TracedValue,
};
pub use executions::{CallKind, Execution, Span};
pub use matching::{MatchError, MethodRun};
pub use read::DumpError;
pub use schema::IDENTIFIER;
pub use tensor::{TensorError, TracedTensor, is_recordable};
