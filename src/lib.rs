//! Assembler for ExecuTorch: YAML (or JSON) becomes `.pte` programs and `.ptd` weights, byte for byte what ExecuTorch's own exporter
//! writes for the same program. Prints such files as YAML, validates them, and explains every byte.
//!
//! docs/yaml-reference.md describes the YAML.
//!
//! ```text
//! YAML --parse--> Document --resolve--> Resolved --plan--> Planned --emit--> Assembly --write--> files
//! binary file ----------read----------> Resolved
//! ```
//!
//! [`Model`] is an opened source, YAML or a binary file: it answers questions, is assembled at most once, and gives its stages.
//! [`MethodBuilder`] builds programs without YAML.
//!
//! ```
//! use pte_emit::Model;
//!
//! let yaml = "
//! methods:
//!   forward:
//!     values:
//!       x: {tensor: float32, sizes: [2, 2]}
//!       y: {tensor: float32, sizes: [2, 2]}
//!     inputs: [x]
//!     outputs: [y]
//!     instructions:
//!       - {kernel: aten::relu.out, args: [x], out: y}
//! ";
//! let relu = Model::from_yaml("relu.yaml", yaml, ".");
//! let bytes = relu.assembly()?.program_file().unwrap().to_vec()?;
//! assert_eq!(&bytes[4..8], b"ET12");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Features: `cli` (default) is the command line and its dependencies; `render` draws messages for a terminal ([`Report::render`]);
//! `schema` derives JSON Schemas of the results; `internals` exposes the internal modules to the tests of this
//! package, without any stability guarantee.

mod builder;
mod error;
mod inspection;
mod model;
mod payload;
mod pipeline;
mod source;

/// Declares internal modules: private, or public with the feature `internals` for the tests, benchmarks and fuzz targets of this package.
macro_rules! internal_modules {
    ($( $module:ident )*) => {$(
        #[cfg(feature = "internals")]
        #[doc(hidden)]
        pub mod $module;
        #[cfg(not(feature = "internals"))]
        mod $module;
    )*};
}

internal_modules! {
    analysis annotate assembly check data delegate diagnostics diff emitter format generate inspect ir layout operators printer raw reader
    recover reduce report transform
}

// Never compiled: rustfmt finds the files of a module by its declaration, but not within a macro.
#[cfg(any())]
mod analysis;
#[cfg(any())]
mod annotate;
#[cfg(any())]
mod assembly;
#[cfg(any())]
mod check;
#[cfg(any())]
mod data;
#[cfg(any())]
mod delegate;
#[cfg(any())]
mod diagnostics;
#[cfg(any())]
mod diff;
#[cfg(any())]
mod emitter;
#[cfg(any())]
mod format;
#[cfg(any())]
mod generate;
#[cfg(any())]
mod inspect;
#[cfg(any())]
mod ir;
#[cfg(any())]
mod layout;
#[cfg(any())]
mod operators;
#[cfg(any())]
mod printer;
#[cfg(any())]
mod raw;
#[cfg(any())]
mod reader;
#[cfg(any())]
mod recover;
#[cfg(any())]
mod reduce;
#[cfg(any())]
mod report;
#[cfg(any())]
mod transform;

pub mod program;

#[cfg(test)]
mod golden;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use annotate::{AnnotateOptions, AnnotatePart};
pub use assembly::{Assembly, BundledFile, OutputFile};
pub use builder::{Argument, MethodBuilder, TensorElement, Value};
pub use check::{
    CheckOptions, DataFile, Finding, Findings, Location, Profile, Rule, RuleId, RuleSeverity, SourceNames,
    SourcePosition, TruncatedRule, UnknownRuleId,
};
pub use data::{Blob, BlobId, workers};
pub use delegate::description::{Description, Fact};
pub use diagnostics::{Code, Diagnostic, Report, Severity, UnknownCode, file_error, text};
pub use diff::{
    DataStatistics, DiffArea, DiffData, DiffKind, DiffTopic, DiffTotals, Difference, Differences, DifferingPart,
    is_null_device,
};
pub use emitter::safetensors::Safetensors;
pub use emitter::{ByteSink, OutputSink};
pub use error::Error;
pub use format::serializer::{EXECUTORCH, Serializer};
pub use format::{Format, ScalarType, ScalarTypeInfo};
pub use generate::ProgramGenerator;
pub use inspect::allocator::Abi;
pub use inspect::file::{FileFacts, HeaderFacts, SegmentFacts, SerializerKind};
pub use inspect::inspection::{Inspection, KeySummary, TestsSummary};
pub use inspect::memory::{MemoryPeak, MemoryPool, MethodAllocator, MethodFootprint, PlannedTensor, ProgramMemory};
pub use inspect::size::{FileSize, SizeDimension, SizeNode};
pub use inspect::summary::{
    AllocatorSummary, ConstantsSummary, DelegateInterface, DelegateSummary, MethodSummary, NeededRelease,
    ProgramSummary, StateSummary, ValueSummary,
};
pub use inspection::{InspectOptions, MemoryOptions, ReportOptions, SizeOptions};
pub use ir::template::is_name as is_variable_name;
pub use layout::file::Placement;
pub use layout::options::{
    Alignment, HeaderMode, LayoutOptions, OPTIONS as LAYOUT_OPTIONS, OptionKind as LayoutOptionKind,
    OptionSpec as LayoutOption, OptionValue as LayoutOptionValue, Strings, parse_bytes,
};
pub use layout::{
    DelegateData, ExternalFile, ExternalNamedData, LayoutConfig, MemoryPlan, Piece as SegmentPiece, Plan, Segment,
    Shards, Storage,
};
pub use model::{DiffOptions, Documents, Model};
pub use operators::{
    Arg as OperatorArg, ArgKind as OperatorArgType, Base as OperatorBaseType, LineError, OperatorDescription,
    OperatorSet, Role as OperatorArgRole, Signature,
};
pub use payload::{Payload, PayloadSummary};
pub use pipeline::{DEFAULT_MAX_SIZE, Document, Options, Planned, Resolved};
pub use printer::{ExtractedFile, LargeData, PayloadForm, PrintOptions, PrintStats, Printed};
pub use reduce::{Candidate, CandidateTest, Reduced, Stopped, reduce_bytes, reduce_program};
pub use report::ReportFormat;
pub use transform::prune::PrunedParts;

/// Returns the JSON Schema of the YAML, for completion and validation in editors.
///
/// ```
/// assert!(pte_emit::json_schema().contains("https://json-schema.org"));
/// ```
pub fn json_schema() -> String {
    format!("{:#}\n", ir::json_schema::schema())
}
