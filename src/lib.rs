//! Assembler for ExecuTorch: YAML (or JSON) becomes `.pte` programs and `.ptd` weights, byte for byte what ExecuTorch's own exporter
//! writes for the same program. Prints such files as YAML, validates them, and explains every byte.
//!
//! docs/yaml-reference.md describes the YAML.
//!
//! ```text
//! source --parse--> Document --resolve--> Resolved --plan--> Planned --emit--> Assembly --write--> files
//! binary file ------------read----------> Resolved
//! ```
//!
//! [`assemble`] runs all stages; each can be called alone. [`print`](print()), [`check`] and [`annotate`] work on binary files.
//! [`MethodBuilder`] builds programs without YAML.
//!
//! ```
//! use pte_emit::{Options, Source, assemble};
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
//! let assembly = assemble(&Source::yaml("relu.yaml", yaml, "."), &Options::default())?;
//! let bytes = assembly.program_file().unwrap().to_vec()?;
//! assert_eq!(&bytes[4..8], b"ET12");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Features: `cli` (default) is the command line and its dependencies; `internals` exposes the internal modules to the tests of this
//! package, without any stability guarantee.

mod builder;
mod error;
mod inspection;
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
    analysis annotate assembly check data delegate diagnostics diff emitter format inspect ir layout operators printer raw reader recover report
    transform
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
mod report;
#[cfg(any())]
mod transform;

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[cfg(any(feature = "cli", feature = "internals"))]
#[doc(hidden)]
pub mod generate;
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
pub use check::{Finding, Findings, Location, Profile, Rule, RuleId, RuleSeverity, SourcePosition, UnknownRuleId};
pub use data::{Blob, BlobId};
pub use delegate::description::{Description, Fact};
pub use diagnostics::{Code, Diagnostic, Report, Severity, UnknownCode};
pub use diff::{
    DataStatistics, DiffArea, DiffData, DiffKind, DiffTopic, DiffTotals, Difference, Differences, DifferingPart,
};
pub use emitter::safetensors::Safetensors;
pub use error::Error;
pub use format::{ScalarType, ScalarTypeInfo};
pub use inspect::allocator::Abi;
pub use inspect::size::Dimension as SizeDimension;
pub use inspection::{
    FileSize, InspectOptions, Inspection, MemoryOptions, ProgramMemory, ReportOptions, SizeOptions, inspect, memory,
    report, size,
};
pub use layout::options::OptionOverrides as LayoutOptions;
pub use layout::{
    DelegateData, ExternalFile, ExternalNamedData, MemoryPlan, Piece as SegmentPiece, Plan, Segment, Shards, Storage,
};
pub use operators::{
    Arg as OperatorArg, ArgKind as OperatorArgType, Base as OperatorBaseType, LineError, OperatorSet,
    Role as OperatorArgRole, Signature,
};
pub use payload::{Payload, payloads};
pub use pipeline::{
    CheckOptions, DEFAULT_MAX_SIZE, DiffOptions, Document, Documents, Options, Planned, Resolved, annotate, check,
    diff, documents, emit, json_schema, parse, plan, print, read, resolve,
};
pub use printer::{ExtractedFile, LargeData, PayloadForm, PrintOptions, PrintStats, Printed};
pub use report::ReportFormat;
pub use source::Source;

/// Assembles a source: YAML, or a binary file that is rewritten with other options. Runs all stages from [`parse`] or [`read`] to [`emit`].
///
/// # Errors
/// All errors in the source; data files that cannot be read.
pub fn assemble(source: &Source<'_>, options: &Options) -> Result<Assembly, Error> {
    let resolved = if source.is_text() { resolve(parse(source)?)? } else { read(source)? };
    emit(plan(resolved, options)?)
}
