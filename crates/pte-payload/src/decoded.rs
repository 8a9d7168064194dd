//! What the rest asks of a payload whose format is decoded, as plain data that no backend has its own types for.

use std::any::Any;
use std::borrow::Cow;
use std::fmt::Debug;

use super::arguments::GraphArgument;
use super::description::{DescribeError, Facts};
use super::memory::{DelegateMemory, Processor};
use pte_model::data::Blob;
use pte_model::format::ScalarType;
use pte_model::program::element::Part;

/// A payload that is decoded once, when it is first asked for something. What a format does not know is `None`, or
/// empty.
pub trait DecodedPayload: Any + Debug + Send + Sync {
    /// As [`PayloadFormat::describe`](crate::PayloadFormat::describe).
    ///
    /// # Errors
    /// The payload cannot be read, or is malformed.
    fn describe(&self) -> Result<Facts, DescribeError>;

    /// Returns the keys of named data that the payload refers to; `None` if it is malformed or may refer to any key.
    fn keys(&self) -> Option<Vec<&str>> {
        None
    }

    /// Returns the graph, if the payload has one that can be written again byte for byte.
    fn graph(&self) -> Option<&PayloadGraph> {
        None
    }

    /// Returns the operators that the backend builds of the graph, each with an event of its own in a recording, in the
    /// order in which they run; empty if they are not known.
    fn operators(&self) -> Vec<PayloadOperator> {
        Vec::new()
    }

    /// Checks the payload, whose backend does not. `named` returns the named data with a key.
    fn check<'p>(&self, named: &dyn Fn(&str) -> Option<KeyedData<'p>>, budget: &mut ReadBudget) -> CheckedPayload {
        let _ = (named, budget);
        CheckedPayload::default()
    }

    /// As [`PayloadFormat::memory`](crate::PayloadFormat::memory).
    fn memory(&self, processor: Processor) -> Option<Result<DelegateMemory, DescribeError>> {
        let _ = processor;
        None
    }
}

/// The graph of a payload.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PayloadGraph {
    /// Values of the graph.
    pub values: Vec<PayloadValue>,
    /// Values that are the first arguments of the delegate.
    pub inputs: Vec<usize>,
    /// Values that are the other arguments of the delegate.
    pub outputs: Vec<usize>,
    /// Operations in order.
    pub nodes: Vec<PayloadNode>,
    /// References to what the payload does not have, of a format that is described only.
    pub problems: Vec<PayloadFinding>,
    /// Number of others.
    pub more_problems: u64,
}

/// A value of a [`PayloadGraph`].
#[derive(Debug, Clone, PartialEq)]
pub struct PayloadValue {
    /// Name in the payload; `None` for a format without names.
    pub name: Option<String>,
    /// Element type, sizes and quantization.
    pub kind: String,
    /// Name of the element type.
    pub element_type: Cow<'static, str>,
    /// Size of each dimension.
    pub sizes: Vec<u32>,
    /// Parameters of the quantization: name and text.
    pub quantization: Attributes,
    /// Size in bytes.
    pub bytes: u64,
    /// Data of a constant.
    pub data: Option<ConstantData>,
    /// Type of the elements of the data; `None` if they are not elements, such as bytes of two.
    pub elements: Option<ScalarType>,
    /// Keys of its data and of its scales, each with what a name of the value needs for it.
    pub keys: Vec<(String, &'static str)>,
}

/// Data of a constant.
#[derive(Debug, Clone, PartialEq)]
pub enum ConstantData {
    /// In the payload.
    Inside(Blob),
    /// In named data: the key, and the size in bytes if the graph has it.
    Named(String, Option<u64>),
}

/// An operation of a [`PayloadGraph`].
#[derive(Debug, Clone, PartialEq)]
pub struct PayloadNode {
    /// Name of the operation.
    pub name: Cow<'static, str>,
    /// Values that it reads.
    pub reads: Vec<usize>,
    /// Roles of the values that it reads, such as `filter`.
    pub roles: Vec<Cow<'static, str>>,
    /// Values that it writes.
    pub writes: Vec<usize>,
    /// Parameters.
    pub attributes: Attributes,
    /// Multiply-accumulate operations; `None` if their number is not known.
    pub macs: Option<u64>,
}

/// An operator that a backend builds of operations of a [`PayloadGraph`].
#[derive(Debug, Clone, PartialEq)]
pub struct PayloadOperator {
    /// Name of its kind, with which its events begin.
    pub name: &'static str,
    /// Operations that it executes, by their positions: first the one of its kind.
    pub nodes: Vec<usize>,
}

/// Names of parameters, such as `stride`, each with its text, such as `2 2`.
pub type Attributes = Vec<(Cow<'static, str>, String)>;

/// A rule that a payload violates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadRule {
    /// The payload has a graph and constants.
    Payload,
    /// The graph is not malformed.
    Graph,
    /// Constants are where it says, and large enough.
    Constants,
    /// The backend accepts scales and zero points.
    Quantization,
    /// The backend has a kernel for the element types of an operation.
    Types,
    /// Operations write the sizes of their results.
    Sizes,
    /// Operations apply bounds.
    Bounds,
    /// The lists of inputs and outputs are those of the flags.
    Lists,
    /// The scale of a bias is that of the products to which it is added.
    BiasScale,
    /// Values, constants and data that a graph refers to exist.
    References,
}

/// A part of a payload that a finding is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PayloadPart {
    /// The payload as a whole.
    #[default]
    Whole,
    /// A value, by its position.
    Value(usize),
    /// An operation, by its position.
    Node(usize),
}

impl PayloadPart {
    /// Returns the part of the method with the payload of a delegate.
    pub fn of_delegate(self, delegate: usize) -> Part {
        match self {
            PayloadPart::Whole => Part::Delegate(delegate),
            PayloadPart::Value(value) => Part::GraphValue(delegate, value),
            PayloadPart::Node(node) => Part::GraphNode(delegate, node),
        }
    }
}

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct PayloadFinding {
    /// Rule.
    pub rule: PayloadRule,
    /// Part of the payload.
    pub part: PayloadPart,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
}

/// Result of [`DecodedPayload::check`].
#[derive(Debug, Default)]
pub struct CheckedPayload {
    /// Violations.
    pub findings: Vec<PayloadFinding>,
    /// Arguments of the delegate; `None` if they are not known, as those of a malformed graph.
    pub arguments: Option<CheckedArguments>,
    /// Constants in the payload that operations read when they run.
    pub unpacked: Vec<UnpackedConstant>,
}

/// Arguments of a delegate.
#[derive(Debug)]
pub struct CheckedArguments {
    /// Values that are arguments.
    pub list: Vec<GraphArgument>,
    /// Number of arguments that the backend allocates.
    pub count: u64,
}

/// A constant in the payload that the backend does not copy when the method is loaded.
#[derive(Debug)]
pub struct UnpackedConstant {
    /// Position of the value.
    pub value: usize,
    /// Name of the first operation that reads it.
    pub operation: &'static str,
}

/// Named data that a payload refers to.
#[derive(Debug, Clone, Copy)]
pub struct KeyedData<'p> {
    /// Size in bytes.
    pub size: u64,
    /// The data; `None` if they are not in a file.
    pub data: Option<&'p Blob>,
}

/// Number of bytes of constants that may still be read in all payloads of a file.
#[derive(Debug)]
pub struct ReadBudget(pub u64);

impl ReadBudget {
    /// Maximum number of bytes to read, as a multiple of the size of the file. Constants may overlap.
    const FACTOR: u64 = 8;

    /// Creates the budget for a file of `len` bytes.
    pub fn new(len: u64) -> ReadBudget {
        ReadBudget(len.saturating_mul(ReadBudget::FACTOR))
    }
}
