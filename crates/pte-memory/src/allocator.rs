//! Computes the bytes that `Program::load_method` of ExecuTorch 1.5.1 takes from the method allocator. This includes
//! neither planned memory nor what kernels take from the temporary allocator while they run.
//!
//! The runtime uses a bump allocator: the total is the sum of the allocations in their order, with the padding that
//! each alignment needs. The sizes of the structures are those of [`crate::abi`].

use crate::abi::{Bump, Structure};
use pte_model::program::instruction::Callee;
use pte_model::program::{
    EValue, ExecutionPlan, MAX_DIMENSIONS, Memory, Program, Tensor, TensorShapeDynamism, ValueId,
};
use pte_payload::ethos_u;
use pte_payload::memory::Processor;

pub use crate::abi::Abi;

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
    /// Both numbers are lower bounds: the allocations of the backend of a delegate are not known.
    pub is_lower_bound: bool,
}

/// Returns the size that the temporary allocator must have for the lookup of a kernel with this number of arguments. If
/// it is smaller, the runtime takes their metadata from the method allocator, which [`LoadedMemory::bytes`] does not
/// have room for. Each argument counts as a tensor of the largest rank.
pub fn lookup_bytes(arguments: usize, abi: Abi) -> u64 {
    let (meta, _) = Structure::TensorMeta.layout(abi);
    let (dimension, _) = Structure::Byte.layout(abi);
    (meta + dimension * MAX_DIMENSIONS as u64).saturating_mul(arguments as u64)
}

/// Returns `true` if the allocations of a backend from the method allocator are known. Ethos-U takes nothing since
/// ExecuTorch 1.2.
pub fn is_known(backend: &str) -> bool {
    backend == pte_xnnpack::BACKEND || ethos_u::BACKENDS.contains(&backend)
}

/// Returns the bytes that loading a method takes from the method allocator. `external` is true if the program is loaded
/// with `.ptd` files.
pub fn loaded_memory(program: &Program, plan: &ExecutionPlan, external: bool, abi: Abi) -> LoadedMemory {
    let used = |has_temporary: bool| {
        let mut load = Loading { plan, bump: Bump::new(abi), has_temporary, is_lower_bound: false };
        load.run(program, external);
        (load.bump.used(), load.is_lower_bound)
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
                Some(pte_xnnpack::BACKEND) => self.bump.instance(Structure::XnnpackExecutor),
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
                EValue::Null | EValue::Int(_) | EValue::Bool(_) | EValue::Double(_) | EValue::Unknown(_) => {}
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
