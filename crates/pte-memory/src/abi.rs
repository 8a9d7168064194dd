//! Binary interfaces of the runtime, and the sizes of its structures in each: facts of ExecuTorch 1.5.1, which are
//! measured; lab/conformance/README.md describes how. It knows no programs.

use serde::Serialize;

use pte_payload::memory::Processor;

/// Binary interface that a runtime is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Abi {
    /// 64-bit x86 and Arm (LP64).
    #[default]
    #[serde(rename = "64")]
    Bits64,
    /// 32-bit Arm (AAPCS).
    Arm32,
}

impl Abi {
    /// All binary interfaces, in the order of figures that have one number for each.
    pub const ALL: [Abi; 2] = [Abi::Bits64, Abi::Arm32];

    /// Returns the item for this interface of a list in the order of [`Abi::ALL`].
    pub fn of<T>(self, list: &[T; 2]) -> &T {
        let [bits64, arm32] = list;
        match self {
            Abi::Bits64 => bits64,
            Abi::Arm32 => arm32,
        }
    }

    /// Returns the alignment in bytes of `max_align_t`, to which the runtime requires the address of a program to be
    /// aligned (H-11).
    pub fn program_alignment(self) -> u64 {
        match self {
            Abi::Bits64 => 16,
            Abi::Arm32 => 8,
        }
    }

    /// Processor that the memory of delegates is computed for if none is named.
    pub const fn processor(self) -> Processor {
        match self {
            Abi::Bits64 => Processor::X86Avx512,
            Abi::Arm32 => Processor::Arm32,
        }
    }

    /// Returns the size of a pointer in bytes, which is its alignment.
    ///
    /// ```
    /// use pte_memory::abi::Abi;
    ///
    /// assert_eq!([Abi::Bits64, Abi::Arm32].map(Abi::pointer_bytes), [8, 4]);
    /// assert_eq!(Abi::Arm32.value_layout(), (16, 8));
    /// assert_eq!(Abi::ALL.map(Abi::program_alignment), [16, 8]);
    /// assert_eq!(Abi::Arm32.of(&["LP64", "AAPCS"]), &"AAPCS");
    /// ```
    pub fn pointer_bytes(self) -> u64 {
        Structure::Pointer.layout(self).0
    }

    /// Returns size and alignment in bytes of a value of a method, such as an input (`EValue`).
    pub fn value_layout(self) -> (u64, u64) {
        Structure::Value.layout(self)
    }
}

/// A structure of the runtime that the method allocator provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Structure {
    /// One byte.
    Byte,
    /// An integer of 4 bytes.
    Int32,
    /// An integer of 8 bytes.
    Int64,
    /// A pointer: 8 bytes, or 4 on a 32-bit ABI.
    Pointer,
    /// A pointer and a length.
    Span,
    /// A value of the method.
    Value,
    /// A list whose items are values.
    BoxedList,
    /// A tensor, which is a pointer to its implementation.
    Tensor,
    /// An optional tensor.
    OptionalTensor,
    /// The implementation of a tensor.
    TensorImpl,
    /// A constant in a `.ptd`.
    ExternalConstant,
    /// `BackendDelegate`, the runtime's object for a delegate.
    Delegate,
    /// A compile spec.
    CompileSpec,
    /// A chain of instructions.
    Chain,
    /// Type and dim_order of an argument, for the lookup of a kernel.
    TensorMeta,
    /// The temporary allocator that the runtime creates if the caller passes none.
    PlatformAllocator,
    /// The keys of the program and of the `.ptd` files.
    MergedDataMap,
    /// The state of an XNNPACK delegate, in a build with event tracing.
    XnnpackExecutor,
}

/// Size and alignment in bytes of each structure, for 64-bit and for 32-bit Arm.
const LAYOUTS: &[(Structure, [(u64, u64); 2])] = &[
    (Structure::Byte, [(1, 1), (1, 1)]),
    (Structure::Int32, [(4, 4), (4, 4)]),
    (Structure::Int64, [(8, 8), (8, 8)]),
    (Structure::Pointer, [(8, 8), (4, 4)]),
    (Structure::Span, [(16, 8), (8, 4)]),
    (Structure::Value, [(16, 8), (16, 8)]),
    (Structure::BoxedList, [(24, 8), (12, 4)]),
    (Structure::Tensor, [(8, 8), (4, 4)]),
    (Structure::OptionalTensor, [(16, 8), (8, 4)]),
    (Structure::TensorImpl, [(64, 8), (32, 4)]),
    (Structure::ExternalConstant, [(48, 8), (40, 8)]),
    (Structure::Delegate, [(56, 8), (40, 8)]),
    (Structure::CompileSpec, [(24, 8), (12, 4)]),
    (Structure::Chain, [(32, 8), (16, 4)]),
    (Structure::TensorMeta, [(24, 8), (12, 4)]),
    (Structure::PlatformAllocator, [(48, 8), (28, 4)]),
    (Structure::MergedDataMap, [(24, 8), (12, 4)]),
    (Structure::XnnpackExecutor, [(272, 8), (152, 4)]),
];

impl Structure {
    /// Returns size and alignment in bytes.
    pub fn layout(self, abi: Abi) -> (u64, u64) {
        let row = LAYOUTS.iter().find(|(structure, _)| *structure == self);
        *abi.of(&row.unwrap_or(&LAYOUTS[0]).1)
    }
}

/// A bump allocator, as the runtime has: it moves a pointer forward from an aligned start. Sizes saturate: no memory
/// has 2^64 bytes.
#[derive(Debug, Clone, Copy)]
pub struct Bump {
    abi: Abi,
    used: u64,
}

impl Bump {
    /// Creates an allocator from which nothing is taken.
    pub fn new(abi: Abi) -> Bump {
        Bump { abi, used: 0 }
    }

    /// Returns the bytes from the start to the pointer.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Takes bytes at a multiple of `alignment`.
    pub fn take(&mut self, bytes: u64, alignment: u64) {
        let start = self.used.checked_next_multiple_of(alignment.max(1)).unwrap_or(u64::MAX);
        self.used = start.saturating_add(bytes);
    }

    /// Takes a structure.
    pub fn instance(&mut self, structure: Structure) {
        self.list(structure, 1);
    }

    /// Takes a list of structures. An empty list is aligned, too.
    pub fn list(&mut self, structure: Structure, count: usize) {
        let (size, alignment) = structure.layout(self.abi);
        self.take(size.saturating_mul(count as u64), alignment);
    }
}
