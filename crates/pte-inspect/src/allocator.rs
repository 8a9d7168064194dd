//! Computes the bytes that `Program::load_method` of ExecuTorch 1.5.1 takes from the method allocator. This includes
//! neither planned memory nor what kernels take from the temporary allocator while they run.
//!
//! The runtime uses a bump allocator: the total is the sum of the allocations in their order, with the padding that
//! each alignment needs. The sizes of the structures are measured; tests/conformance/README.md describes how.

use serde::Serialize;

use pte_model::program::instruction::Callee;
use pte_model::program::{
    EValue, ExecutionPlan, MAX_DIMENSIONS, Memory, Program, Tensor, TensorShapeDynamism, ValueId,
};
use pte_payload::memory::Processor;
use pte_payload::{ethos_u, xnnpack};

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
    /// use pte_inspect::allocator::Abi;
    ///
    /// assert_eq!([Abi::Bits64, Abi::Arm32].map(Abi::pointer_bytes), [8, 4]);
    /// assert_eq!(Abi::Arm32.value_layout(), (16, 8));
    /// ```
    pub fn pointer_bytes(self) -> u64 {
        Structure::Pointer.layout(self).0
    }

    /// Returns size and alignment in bytes of a value of a method, such as an input (`EValue`).
    pub fn value_layout(self) -> (u64, u64) {
        Structure::Value.layout(self)
    }
}

/// Runtime that memory is computed for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RuntimeKind {
    /// The program is loaded with `.ptd` files.
    pub external: bool,
    /// Binary interface, which the sizes of the structures depend on.
    pub abi: Abi,
    /// Processor that executes delegates.
    pub processor: Processor,
}

/// Bytes that loading a method takes from the method allocator, whose memory begins at a multiple of 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadedMemory {
    /// Bytes with a temporary allocator that has room for the metadata of the arguments of each call.
    pub bytes: u64,
    /// Bytes without a temporary allocator.
    pub without_temporary: u64,
    /// Both numbers are lower bounds: what the backend of a delegate allocates is not known.
    pub is_lower_bound: bool,
}

/// A structure of the runtime that the method allocator provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Structure {
    Byte,
    Int32,
    Int64,
    Pointer,
    /// A pointer and a length.
    Span,
    /// A value of the method.
    Value,
    /// A list whose items are values.
    BoxedList,
    /// A tensor, which is a pointer to its implementation.
    Tensor,
    OptionalTensor,
    /// The implementation of a tensor.
    TensorImpl,
    /// A constant in a `.ptd`.
    ExternalConstant,
    Delegate,
    CompileSpec,
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
    fn layout(self, abi: Abi) -> (u64, u64) {
        let row = LAYOUTS.iter().find(|(structure, _)| *structure == self);
        let (_, [bits64, arm32]) = row.unwrap_or(&LAYOUTS[0]);
        match abi {
            Abi::Bits64 => *bits64,
            Abi::Arm32 => *arm32,
        }
    }
}

/// A bump allocator. Sizes saturate: a method with 2^64 bytes of structures cannot be loaded.
struct Bump {
    abi: Abi,
    used: u64,
}

impl Bump {
    fn instance(&mut self, structure: Structure) {
        self.list(structure, 1);
    }

    /// Allocates a list. An empty list is aligned, too.
    fn list(&mut self, structure: Structure, count: usize) {
        let (size, alignment) = structure.layout(self.abi);
        let start = self.used.checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
        self.used = start.saturating_add(size.saturating_mul(count as u64));
    }
}

/// Returns the size that the temporary allocator must have for the lookup of a kernel with this number of arguments. If it is
/// smaller, the runtime takes their metadata from the method allocator, which [`LoadedMemory::bytes`] does not have room
/// for. Each argument counts as a tensor of the largest rank.
pub(crate) fn lookup_bytes(arguments: usize, abi: Abi) -> u64 {
    let (meta, _) = Structure::TensorMeta.layout(abi);
    let (dimension, _) = Structure::Byte.layout(abi);
    (meta + dimension * MAX_DIMENSIONS as u64).saturating_mul(arguments as u64)
}

/// Returns `true` if it is known what a backend takes from the method allocator. Ethos-U takes nothing since ExecuTorch 1.2.
pub fn is_known(backend: &str) -> bool {
    backend == xnnpack::BACKEND || ethos_u::BACKENDS.contains(&backend)
}

/// Returns the bytes that loading a method takes from the method allocator. `external` is true if the program is loaded
/// with `.ptd` files.
pub fn loaded_memory(program: &Program, plan: &ExecutionPlan, external: bool, abi: Abi) -> LoadedMemory {
    let used = |has_temporary: bool| {
        let mut load = Loading { plan, bump: Bump { abi, used: 0 }, has_temporary, is_lower_bound: false };
        load.run(program, external);
        (load.bump.used, load.is_lower_bound)
    };
    let ((bytes, is_lower_bound), (without_temporary, _)) = (used(true), used(false));
    LoadedMemory { bytes, without_temporary, is_lower_bound }
}

/// The steps of loading a method, in the order of the runtime.
struct Loading<'p> {
    plan: &'p ExecutionPlan,
    bump: Bump,
    has_temporary: bool,
    is_lower_bound: bool,
}

impl Loading<'_> {
    fn run(&mut self, program: &Program, external: bool) {
        if !self.has_temporary {
            self.bump.instance(Structure::PlatformAllocator);
        }
        self.values();
        let delegates = self.plan.delegates();
        self.bump.list(Structure::Delegate, delegates.len());
        if external && program.named_data.as_ref().is_some_and(|named| !named.is_empty()) {
            self.bump.instance(Structure::MergedDataMap);
        }
        for delegate in delegates {
            self.bump.list(Structure::CompileSpec, delegate.compile_specs.as_ref().map_or(0, Vec::len));
            match delegate.id.as_deref() {
                Some(xnnpack::BACKEND) => self.bump.instance(Structure::XnnpackExecutor),
                Some(id) if is_known(id) => {}
                Some(_) | None => self.is_lower_bound = true,
            }
        }
        self.chains();
    }

    fn values(&mut self) {
        let values = self.plan.values();
        self.bump.list(Structure::Value, values.len());
        let inputs = self.plan.inputs.as_ref().map_or(0, Vec::len);
        if inputs > 0 {
            self.bump.list(Structure::Byte, inputs);
        }
        let is_external = |tensor: &Tensor| tensor.is_external() && tensor.memory == Memory::None;
        let external = self.plan.tensors().filter(|(_, tensor)| is_external(tensor)).count();
        if external > 0 {
            self.bump.list(Structure::ExternalConstant, external);
        }
        for value in values {
            match value {
                EValue::Null | EValue::Int(_) | EValue::Bool(_) | EValue::Double(_) => {}
                EValue::BoolList(_) | EValue::DoubleList(_) | EValue::String(_) => self.bump.instance(Structure::Span),
                EValue::Tensor(tensor) => self.tensor(tensor),
                EValue::IntList(items) => {
                    let count = items.as_ref().map_or(0, Vec::len);
                    self.bump.list(Structure::Pointer, count);
                    self.bump.list(Structure::Int64, count);
                    self.bump.instance(Structure::BoxedList);
                }
                EValue::TensorList(items) => {
                    let count = items.as_ref().map_or(0, Vec::len);
                    self.bump.list(Structure::Tensor, count);
                    self.bump.list(Structure::Pointer, count);
                    self.bump.instance(Structure::BoxedList);
                }
                EValue::OptionalTensorList(items) => {
                    let count = items.as_ref().map_or(0, Vec::len);
                    self.bump.list(Structure::Pointer, count);
                    self.bump.list(Structure::OptionalTensor, count);
                    self.bump.instance(Structure::BoxedList);
                }
            }
        }
    }

    /// Allocates a tensor. Sizes and dim_order of a dynamic tensor are copied because they can change.
    fn tensor(&mut self, tensor: &Tensor) {
        let rank = tensor.sizes.as_ref().map_or(0, |sizes| sizes.len());
        if tensor.shape_dynamism != TensorShapeDynamism::STATIC {
            self.bump.list(Structure::Int32, rank);
            self.bump.list(Structure::Byte, rank);
        }
        // Strides.
        self.bump.list(Structure::Int32, rank);
        self.bump.instance(Structure::TensorImpl);
    }

    fn chains(&mut self) {
        let chains = self.plan.chains.as_deref().unwrap_or_default();
        self.bump.list(Structure::Chain, chains.len());
        for chain in chains {
            let instructions = chain.instructions.as_deref().unwrap_or_default();
            // Kernels and argument lists.
            self.bump.list(Structure::Pointer, instructions.len());
            self.bump.list(Structure::Span, instructions.len());
            for instruction in instructions {
                let Some(callee) = instruction.callee() else { continue };
                self.bump.list(Structure::Pointer, instruction.args().len());
                if let Callee::Operator(_) = callee {
                    self.argument_metadata(instruction.args());
                }
            }
        }
    }

    /// Allocates the metadata for the lookup of a kernel. They are in the temporary allocator if there is one.
    fn argument_metadata(&mut self, args: &[ValueId]) {
        if self.has_temporary {
            return;
        }
        self.bump.list(Structure::TensorMeta, args.len());
        for arg in args {
            if let Some(EValue::Tensor(tensor)) = self.plan.value(*arg) {
                self.bump.list(Structure::Byte, tensor.sizes.as_ref().map_or(0, |sizes| sizes.len()));
            }
        }
    }
}
