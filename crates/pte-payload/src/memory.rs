//! Memory that a delegate takes in the runtime, besides planned memory and the structures that every delegate has: the
//! types. The formats compute it ([`PayloadFormat::memory`](crate::PayloadFormat::memory)). Nothing here knows a
//! backend.

use pte_model::format::words::words;
use serde::Serialize;

words! {
    /// Processor that executes a delegate: which instructions it has decides how a backend packs weights.
    ///
    /// ```
    /// use pte_payload::memory::Processor;
    ///
    /// assert_eq!(Processor::ALL.len(), 4);
    /// assert_eq!(Processor::Arm32.pointer(), 4);
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    #[non_exhaustive]
    pub enum Processor {
        /// 64-bit x86 with AVX-512 and VNNI: Intel since Ice Lake, AMD since Zen 4.
        #[default]
        X86Avx512 "x86-avx512",
        /// 64-bit x86 with AVX2 and FMA3, without AVX-512.
        X86Avx2 "x86-avx2",
        /// 64-bit Arm with the dot product instructions: ARMv8.2 and later.
        Arm64 "arm64",
        /// 32-bit Arm with NEON.
        Arm32 "arm32",
    } Display;
}

impl Processor {
    /// Size of a pointer in bytes.
    pub const fn pointer(self) -> u64 {
        match self {
            Processor::X86Avx512 | Processor::X86Avx2 | Processor::Arm64 => 8,
            Processor::Arm32 => 4,
        }
    }
}

/// Provider of a [`DelegatePart`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MemorySource {
    /// The heap of the process (`malloc`).
    Heap,
    /// The method allocator.
    MethodAllocator,
    /// The temporary allocator.
    TemporaryAllocator,
    /// The data loader: nothing if it maps the file, otherwise a copy.
    Loader,
}

/// Time during which a [`DelegatePart`] is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// From loading the method on.
    Load,
    /// From the first execution on: it stays until the method is destroyed.
    FirstExecution,
    /// During each call.
    Call,
}

impl Held {
    /// All times, for the maximum that a delegate takes.
    ///
    /// ```
    /// use pte_payload::memory::Held;
    ///
    /// assert_eq!(Held::ALL, [Held::Load, Held::FirstExecution, Held::Call]);
    /// ```
    pub const ALL: &'static [Held] = &[Held::Load, Held::FirstExecution, Held::Call];
}

/// Memory of one kind that a delegate takes, part of [`DelegateMemory`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DelegatePart {
    /// Content, such as `packed weights`.
    pub content: &'static str,
    /// Size in bytes, without the overhead of an allocator.
    pub bytes: u64,
    /// Alignment in bytes of its start.
    pub alignment: u64,
    /// Allocator that the bytes come from.
    pub source: MemorySource,
    /// When it is in use.
    pub held: Held,
    /// All delegates of the process share it: the largest counts, not the sum.
    pub shared: bool,
}

impl DelegatePart {
    /// Creates a part that other delegates do not share.
    #[doc(hidden)]
    pub fn new(content: &'static str, bytes: u64, alignment: u64, source: MemorySource, held: Held) -> DelegatePart {
        DelegatePart { content, bytes, alignment, source, held, shared: false }
    }
}

/// How far the bytes of a [`DelegateMemory`] are from those of the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Accuracy {
    /// The payload states them.
    Exact,
    /// They are computed. The sums of the parts after loading and after the first execution were measured to be within
    /// this per cent of the runtime's.
    Percent(u8),
    /// They are computed. The sum after loading was measured as that of [`Accuracy::Percent`]; with few threads, the
    /// workspace is smaller.
    AtMost,
    /// They are computed by rules of the backend's source, for a processor without a measurement.
    Unmeasured,
}

/// Memory that a delegate takes in the runtime, besides planned memory and the structures that every delegate has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DelegateMemory {
    /// Parts that are not empty, in the order in which they are taken.
    pub parts: Vec<DelegatePart>,
    /// Bytes of the named data that the payload refers to. A loader reads them while the method is loaded; those that
    /// stay are a part.
    pub named_data: u64,
    /// Accuracy of the bytes.
    pub accuracy: Accuracy,
    /// Description of the memory that is not counted; empty if the parts are complete.
    pub not_counted: Vec<String>,
}

impl DelegateMemory {
    /// Creates the memory of a delegate from its parts, of which the empty ones are left out.
    #[doc(hidden)]
    pub fn new(parts: impl IntoIterator<Item = DelegatePart>, accuracy: Accuracy) -> DelegateMemory {
        let parts = parts.into_iter().filter(|part| part.bytes > 0).collect();
        DelegateMemory { parts, named_data: 0, accuracy, not_counted: Vec::new() }
    }

    /// Returns the sum of the parts from a source that are in use at a time, in bytes; it saturates.
    pub fn bytes(&self, source: MemorySource, held: &[Held]) -> u64 {
        let parts = self.parts.iter().filter(|part| part.source == source && held.contains(&part.held));
        parts.map(|part| part.bytes).fold(0, u64::saturating_add)
    }

    /// Returns the sum of all parts in bytes, without those that a loader may map; it saturates.
    pub fn total(&self) -> u64 {
        let parts = self.parts.iter().filter(|part| part.source != MemorySource::Loader);
        parts.map(|part| part.bytes).fold(0, u64::saturating_add)
    }
}
