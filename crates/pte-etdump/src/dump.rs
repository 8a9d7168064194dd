//! The content of an ETDump as plain data.

use super::tensor::TracedTensor;

/// The content of an ETDump file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EtDump {
    /// Version of the schema; 0 in ExecuTorch 1.5.1.
    pub version: u32,
    /// Blocks of events, in the order of time.
    pub runs: Vec<Run>,
}

/// A block of events: the loading of a method (`Default`), or an execution (`Execute`).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Run {
    /// Name that the runtime gave to the block.
    pub name: String,
    /// Index of the test of a `.bpte` whose inputs were used; `None` for other inputs.
    pub bundled_input: Option<u32>,
    /// Names of the allocators.
    pub allocators: Vec<String>,
    /// Events, in the order of their ends.
    pub events: Vec<Event>,
}

/// An event of a block.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Start and end of something.
    Profile(ProfileEvent),
    /// An allocation from one of the runtime's allocators.
    Allocation(AllocationEvent),
    /// A recorded value, such as the result of an instruction.
    Debug(DebugEvent),
}

/// An instruction, by its chain in the method and its index in the chain. The method is not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstructionIndex {
    /// Index of the chain.
    pub chain: u32,
    /// Index of the instruction in the chain.
    pub instruction: u32,
}

/// Identifier that a delegate gave to an operation inside of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DelegateEventId {
    /// Id as a number; backends assign it.
    Number(i32),
    /// Id as a string; backends assign it.
    Name(String),
}

/// Start and end of something.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProfileEvent {
    /// Name, such as `OPERATOR_CALL` or `native_call_add.out`; `None` for most events of delegates.
    pub name: Option<String>,
    /// Instruction that was executed; `None` outside of instructions.
    pub instruction: Option<InstructionIndex>,
    /// Operation of a delegate; `None` outside of delegates.
    pub delegate: Option<DelegateEventId>,
    /// Bytes that the delegate added, in a format of its own.
    pub metadata: Vec<u8>,
    /// Start, in ticks of the platform's clock. They are nanoseconds on Linux, macOS, Android and Windows.
    pub start: u64,
    /// End, in the same unit.
    pub end: u64,
}

/// An allocation from one of the runtime's allocators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllocationEvent {
    /// Number of the allocator, which counts from 1 in [`Run::allocators`].
    pub allocator: i32,
    /// Size in bytes.
    pub size: u64,
}

/// A value that an instruction or a method has computed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DebugEvent {
    /// Instruction that was executed; `None` for outputs of the method.
    pub instruction: Option<InstructionIndex>,
    /// Operation of a delegate that computed the value; `None` for other values.
    pub delegate: Option<DelegateEventId>,
    /// Name of the event; the runtime gives none.
    pub name: Option<String>,
    /// True for an output of the method.
    pub is_output: bool,
    /// Value.
    pub value: TracedValue,
}

/// A recorded value.
#[derive(Debug, Clone, PartialEq)]
pub enum TracedValue {
    /// None, or a value without content in the file.
    Null,
    /// An Int.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A floating point number. Single precision is converted.
    Double(f64),
    /// A tensor, whose bytes are in the debug buffer.
    Tensor(TracedTensor),
    /// A list of tensors.
    TensorList(Vec<TracedTensor>),
}
