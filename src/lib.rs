//! Assembler for ExecuTorch: YAML (or JSON) becomes `.pte` programs and `.ptd` weights, byte for byte what ExecuTorch's
//! own exporter writes for the same program. Prints such files as YAML, validates them, and explains every byte.
//!
//! docs/yaml-reference.md describes the YAML.
//!
//! ```text
//! YAML --parse--> Document --resolve--> Resolved --plan--> Planned --emit--> Assembly --write--> files
//! binary file ----------read----------> Resolved
//! ```
//!
//! [`Model`] is an opened source, YAML or a binary file: it answers questions, is assembled at most once, and gives its
//! stages. [`MethodBuilder`] builds programs without YAML.
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
//! Features: `cli` (default) is the command line and its dependencies; `render` draws messages for a terminal
//! ([`Report::render`]); `schema` derives JSON Schemas of the results.

mod pipeline;

mod assembly;
mod detected;
mod editor;
mod emitter;
mod facade;
mod ir;
mod layout;
mod overrides;
mod printer;

/// The command line, which the binary and the Python package run. It uses the public API only.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
// The command line names the API as every other user does.
#[cfg(feature = "cli")]
extern crate self as pte_emit;

#[cfg(test)]
mod tests;

/// Compiles and runs the Rust blocks of docs/library.md.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
struct Page;

pub use assembly::{Assembly, BundledFile, OutputFile, SourceNames};
pub use emitter::{ByteSink, OutputSink};
pub use facade::builder::{Argument, MethodBuilder, TensorElement, Value};
pub use facade::formatting::{ComputedKeys, Formatted};
pub use facade::golden::{Golden, GoldenDifference, NewGolden};
pub use facade::model::{Documents, Model};
pub use pipeline::{AssembleOptions, DEFAULT_MAX_SIZE, Document, Planned, Resolved};
pub use printer::{ExtractedFile, LargeData, PayloadForm, PrintOptions, PrintStats, Printed, Reproduction};
pub use pte_model::data::{Blob, BlobId};
pub use pte_model::diagnostics::{Code, Diagnostic, Report, Severity, UnknownCode};
pub use pte_model::error::Error;
pub use pte_model::format::{Format, ScalarType, ScalarTypeInfo};

/// Findings of the validator, its rules, the errors of the runtime, and targets (docs/check.md).
pub mod check {
    pub use pte_check::target::Target;
    pub use pte_check::{
        CheckOptions, DataFile, Finding, Findings, FoundMessage, Location, LogMessage, Phase, Profile, Recognized,
        Rule, RuleId, RuleSeverity, RuntimeError, SourcePosition, TruncatedRule, UnknownRuleId, Work, recognize,
    };
    pub use pte_model::format::foreign::Diagnosis;
}

/// Differences between two programs, of their content and of their outputs (docs/diff.md).
pub mod diff {
    pub use crate::facade::model::{DiffOptions, PayloadSchema};
    pub use crate::facade::numeric::{MethodNumerics, NumericComparison, NumericOptions};
    pub use pte_diff::{
        DataStatistics, DiffArea, DiffData, DiffKind, DiffTopic, DiffTotals, Difference, Differences, DifferingElement,
        DifferingPart, InstructionComparison, MethodComparison, ValueComparison,
    };
}

/// RAM that a program needs (docs/inspect.md, "Memory").
pub mod memory {
    pub use crate::facade::inspection::MemoryOptions;
    pub use pte_memory::abi::Abi;
    pub use pte_memory::boundary::{BoundaryBuffers, BoundaryTensor};
    pub use pte_memory::delegates::{DelegateFootprint, HeapShare};
    pub use pte_memory::figures::{MemoryAmount, MemoryFigure};
    pub use pte_memory::loading::{LoadedMethod, LoadedProgram};
    pub use pte_memory::memory::{
        MemoryPeak, MemoryPool, MethodAllocator, MethodFootprint, PlannedTensor, ProgramMemory,
    };
    pub use pte_memory::temporary::TemporaryAllocator;
    pub use pte_memory::totals::MemoryTotal;
    pub use pte_model::program::MemoryPlan;
    pub use pte_payload::memory::{
        Accuracy as DelegateAccuracy, DelegateMemory, DelegatePart, Held, MemorySource, Processor,
    };
}

/// Content, sizes and bytes of a file, and reports (docs/inspect.md, docs/annotate.md, docs/report.md).
pub mod inspect {
    pub use crate::facade::explain::{Circumstances, ExplainOptions, MethodCircumstances};
    pub use crate::facade::inspection::report::ReportOptions;
    pub use crate::facade::inspection::{InspectOptions, SizeOptions};
    pub use pte_inspect::annotate::{AnnotateOptions, AnnotatePart};
    pub use pte_inspect::calls::CallSummary;
    pub use pte_inspect::constant_calls::ConstantCalls;
    pub use pte_inspect::delegation::{Delegation, MethodWork, OperatorWork, Workload};
    pub use pte_inspect::file::{FileFacts, HeaderFacts, SegmentFacts, SerializerKind};
    pub use pte_inspect::inspection::{Inspection, KeySummary, TestsSummary};
    pub use pte_inspect::size::{FileSize, SizeDimension, SizeNode};
    pub use pte_inspect::summary::{
        AllocatorSummary, ConstantsSummary, DelegateInterface, DelegateSummary, DuplicateData, InterfaceSummary,
        MethodSummary, NeededRelease, ProgramSummary, StateSummary, ValueSummary,
    };
    pub use pte_report::ReportFormat;
}

/// Times that the runtime recorded (docs/profile.md).
pub mod profile {
    pub use crate::facade::profile::Recording;
    pub use pte_inspect::profile::{
        ComparedTime, DelegateTime, GraphOperation, InstructionTime, MeasuredTime, MethodProfile, OperationTime,
        OperatorTime, TimeProfile, Timeline, TimelineEvent, TimelineExecution,
    };
}

/// Arrays, kernel lists and project files for firmware and applications (docs/firmware.md, docs/kernels.md).
pub mod deploy {
    pub use crate::facade::deploy::EmbeddedFileOptions;
    pub use crate::facade::firmware::FirmwareOptions;
    pub use pte_analysis::quantization::TensorQuantization;
    pub use pte_deploy::embed::{
        EmbedError, EmbedOptions, EmbedStyle, EmbeddedFile, Embedding, InterfaceFacts, MethodFacts, ProgramFacts,
        Section, SectionError, TensorFacts,
    };
    pub use pte_deploy::firmware::{Firmware, FirmwareFile, FirmwarePlatform, FirmwarePool, FirmwarePoolPart};
    pub use pte_deploy::kernels::{BackendUse, KernelError, KernelList, KernelUse};
    pub use pte_deploy::{Symbol, SymbolError};
}

/// Changes of programs: options and reports (docs/edit.md, docs/optimize.md).
pub mod edit {
    pub use crate::facade::edit::{BoundReport, Stripped};
    pub use pte_model::program::METADATA_PREFIX;
    pub use pte_transform::bound::{BoundOptions, Bounded, BoundedDelegate, BoundedInput, InputBound, KeptResults};
    pub use pte_transform::converted_io::{
        ConvertedIo, ConvertedIoOptions, ConvertedValue, IoQuantization, IoType, Normalisation,
    };
    pub use pte_transform::extract::Extracted;
    pub use pte_transform::for_release::{ReplacedCalls, WrittenFor};
    pub use pte_transform::merge::{MergeOptions, Merged, MergedMethod, SharedBuffer};
    pub use pte_transform::metadata::{MetadataChange, MetadataEntry, MetadataOptions, MetadataValue};
    pub use pte_transform::optimize::minimize::{MethodMemory, MinimizeOptions};
    pub use pte_transform::optimize::{
        InstructionChange, Optimization, OptimizeOptions, OptimizePass, OptimizedInstruction, OptimizedMethod,
    };
    pub use pte_transform::outputs::{ChangedOutputs, OutputOptions};
    pub use pte_transform::pattern::{NameMap, NameRule, Pattern};
    pub use pte_transform::prune::PrunedParts;
    pub use pte_transform::quantized_io::{QuantizedIo, QuantizedIoOptions, QuantizedValue};
    pub use pte_transform::rename::MethodRename;
    pub use pte_transform::strip::StripKind;
}

/// Weights by name: lists, replacements, manifests, external files (docs/edit.md, "Weights").
pub mod weights {
    pub use crate::emitter::safetensors::Safetensors;
    pub use crate::facade::edit::{SetWeightsOptions, parse_manifest};
    pub use pte_transform::externalize::ExternalRule;
    pub use pte_transform::weights::manifest::{
        Manifest, ManifestDifference, ManifestDifferenceKind, ManifestEntry, ManifestKind, compare as compare_manifests,
    };
    pub use pte_transform::weights::rename::RenamedWeight;
    pub use pte_transform::weights::set::{
        UnsetWeight, UnsettableWeight, UnusedSource, WeightAssignment, WeightChanges, WeightMismatch,
    };
    pub use pte_transform::weights::{StoredCopy, StoredTwice, Weight, WeightKind, WeightList, WeightLocation};
}

/// Payloads of delegates (docs/payload.md).
pub mod payload {
    pub use crate::facade::edit::PayloadContent;
    pub use crate::facade::payload::{Payload, PayloadSummary};
    pub use pte_payload::description::{Description, Fact};
    pub use pte_transform::payloads::{NewPayload, PayloadChange};
}

/// Operators with their signatures, and operations of XNNPACK graphs (docs/operators.md).
pub mod operators {
    pub use crate::ir::nodes::{NodeDescription, NodeKey};
    pub use pte_operators::{
        Arg as OperatorArg, ArgKind as OperatorArgType, Base as OperatorBaseType, LineError, OperatorDescription,
        OperatorSet, Role as OperatorArgRole, Signature,
    };
}

/// Answers for editors about YAML that is being written (docs/editors.md).
pub mod language {
    pub use crate::editor::{
        Analysis, ArrayFile, CallSignature, CompletionItem, CompletionKind, FileLink, HintKind, Hover, InlayHint,
        LanguageOptions, LensKind, MAX_COMPLETIONS, MAX_TEXT, MessageLevel, MethodLens, NameKind, OffsetUnits,
        OutlineItem, OutlineKind, Reference, SemanticToken, SourceAction, SourceMessage, TextEdit, TokenKind,
        UnitOffsets, explain,
    };
}

/// Layout of files: options, segments, placement of data (docs/yaml-reference.md, "Layout").
pub mod plan {
    pub use crate::layout::file::Placement;
    pub use crate::layout::options::{
        Alignment, HeaderMode, LayoutOptions, OPTIONS as LAYOUT_OPTIONS, OptionKind as LayoutOptionKind,
        OptionSpec as LayoutOption, OptionValue as LayoutOptionValue, Strings,
    };
    pub use crate::layout::{
        DelegateData, ExternalFile, ExternalNamedData, LayoutConfig, Piece as SegmentPiece, Plan, Segment, Shards,
        Storage,
    };
}

/// Releases of ExecuTorch and what their runtimes accept (docs/releases.md).
pub mod release {
    pub use pte_model::format::serializer::{EXECUTORCH, Serializer};
    pub use pte_releases::{Answer, ExampleAnswer, FactsError, NotAVersion, Release, UnknownRelease, Version};
}

/// Random programs, and smaller ones with the same defect (docs/generate.md, docs/reduce.md).
#[cfg(feature = "generate")]
pub mod generate {
    pub use pte_generate::ProgramGenerator;
    pub use pte_reduce::{
        Candidate, CandidateTest, FileContent, FileTests, Reduced, Stopped, TestRuns, reduce_bytes, reduce_file,
        reduce_program,
    };
}

/// The program as data: structs that mirror the FlatBuffers schema, with numbers in place of names.
pub mod program {
    pub use pte_model::program::{
        Args, BackendDelegate, Chain, CompileSpec, ContainerMetadata, DelegateId, DelegateLocation, Device, DeviceType,
        DimOrder, EValue, ExecutionPlan, ExternalData, ExtraTensorInfo, FieldReference, Instruction, InstructionField,
        Ints, Memory, MemoryPlanner, MemoryRequest, NamedData, NonConstBufferDevice, OperandAccess, Operator,
        OperatorId, Program, Sizes, StackFrame, StorageLayout, Tensor, TensorData, TensorDataLocation, TensorLayout,
        TensorShapeDynamism, ValueId, nbytes, test_cases,
    };
}

/// Programs in runners: processes that execute them in a runtime, within limits (docs/runners.md).
pub mod run {
    pub use crate::facade::bless::Blessed;
    pub use crate::facade::running::{InputFile, ReadInput, RunOptions, RunOutputs, TappedValue};
    pub use crate::facade::tensors::NamedTensors;
    pub use crate::facade::testing::{TestError, TestOptions, TestOutcome, TestReport, TestResult};
    pub use pte_run::compare::{OutputComparison, OutputDifference, OutputDifferenceKind, outputs as compare_outputs};
    pub use pte_run::install::{
        InstallError, InstallOptions, InstalledRunner, RELEASE as RUNNER_RELEASE, RunnerFolder,
    };
    pub use pte_run::{OutputValue, RunError, RunErrorKind, RunLimits, RunnerCommand, Session, StopFlag};
}

/// What the command line, the Python package and the bindings use beside the API, of which it is not part: it may
/// change in any version.
#[doc(hidden)]
pub mod command {
    pub use crate::facade::documents::{explanation, findings, operators, validation};
    pub use crate::facade::running::{file_of, has_extension};
    pub use pte_deploy::embed::BANNER as EMBED_BANNER;
    pub use pte_deploy::firmware::is_generated as is_generated_firmware_file;
    pub use pte_diff::lines::unified;
    pub use pte_diff::{DiffRow, DiffStyle, DiffText, is_null_device};
    pub use pte_model::data::workers;
    #[cfg(any(target_family = "wasm", feature = "host-files"))]
    pub use pte_model::data::{files, positioned::read_exact_at};
    pub use pte_model::diagnostics::{file_error, text};
    pub use pte_model::format::foreign::{is_text, other_format};
    pub use pte_model::format::npy;
    pub use pte_report::ReportDocument;
    pub use pte_report::statistics::TensorStatistics;
    pub use pte_transform::remap::renumber_values;
    pub use pte_yaml::bytes::{self, parse_bytes};
    pub use pte_yaml::template::{is_name as is_variable_name, replaced};
}

/// First line of YAML, by which an editor finds [`json_schema`]: the newest one of the repository, whatever the version
/// that prints it.
///
/// ```
/// assert!(pte_emit::SCHEMA_LINE.starts_with("# yaml-language-server: $schema=https://"));
/// ```
pub const SCHEMA_LINE: &str =
    concat!("# yaml-language-server: $schema=", env!("CARGO_PKG_REPOSITORY"), "/raw/HEAD/pte-emit.schema.json\n");

/// Returns the JSON Schema of the YAML, for completion and validation in editors.
///
/// ```
/// assert!(pte_emit::json_schema().contains("https://json-schema.org"));
/// ```
pub fn json_schema() -> String {
    format!("{:#}\n", ir::json_schema::schema())
}
