//! pte-emit turns readable YAML (or JSON) into ExecuTorch `.pte` programs and `.ptd` weight files, byte for byte what ExecuTorch's own
//! exporter writes for the same program, and such files into YAML; it validates and explains them.
//!
//! ```text
//! source --parse--> Document --resolve--> Resolved --plan--> Planned --emit--> Assembly --write--> files
//! binary file ------------read----------> Resolved
//! ```
//!
//! [`assemble`] is that line as a function; each stage can be called alone. [`print`](print()), [`check`] and [`annotate`] read files.
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
//! The command line is the default feature `cli`; without it none of its dependencies is compiled.

mod builder;
mod error;
mod pipeline;
mod source;

/// Declares the rooms: private to the crate, and public with the feature `internals`, by which this package's own tests, benchmarks and
/// fuzz targets reach them. Nothing of that feature is promised to stay.
macro_rules! rooms {
    ($( $room:ident )*) => {$(
        #[cfg(feature = "internals")]
        #[doc(hidden)]
        pub mod $room;
        #[cfg(not(feature = "internals"))]
        mod $room;
    )*};
}

rooms! {
    annotate assembly check data delegate diagnostics emitter format ir layout operators printer raw reader recover transform
}

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod program;

#[cfg(test)]
mod golden;

pub use annotate::{Only as AnnotatePart, Options as AnnotateOptions};
pub use assembly::{Assembly, EmittedFile, OutputFile};
pub use builder::{Argument, Element, MethodBuilder, Value};
pub use check::{Finding, Findings, Place as Location, Profile, Rule, Severity as RuleSeverity};
pub use data::{Blob, BlobId};
pub use diagnostics::{Diagnostic, Report, Severity};
pub use emitter::safetensors::Safetensors;
pub use error::Error;
pub use format::ScalarType;
pub use layout::options::OptionOverrides as LayoutOptions;
pub use layout::{Plan, Shards};
pub use operators::OperatorSet;
pub use pipeline::{
    CheckOptions, DEFAULT_MAX_SIZE, Document, Documents, Options, Planned, Resolved, annotate, check, documents, emit,
    json_schema, parse, plan, print, read, resolve,
};
pub use printer::{LargeData, PrintOptions, Printed};
pub use source::Source;

/// Assembles a source: YAML, or a binary file that is written anew.
///
/// # Errors
/// All mistakes in the source, and data that cannot be read.
pub fn assemble(source: &Source<'_>, options: &Options) -> Result<Assembly, Error> {
    let resolved = if source.is_text() { resolve(parse(source)?)? } else { read(source)? };
    emit(plan(resolved, options)?)
}
