//! What a program needs of the build of the runtime and of the application that run it, as plain data: kernels, backends and memory, for
//! arrays, project files and targets. It computes nothing: the facade fills it, from [`ProgramKernels`] and the figures of `pte-inspect`.

use pte_model::format::ScalarType;

use crate::abi::Abi;
use crate::kernels::ProgramKernels;

/// Needs of a program.
#[derive(Debug, Clone, Default)]
pub struct ProgramNeeds {
    /// Size of the program's file in bytes.
    pub bytes: u64,
    /// It needs data of `.ptd` files.
    pub needs_data_files: bool,
    /// Kernels and backends.
    pub kernels: ProgramKernels,
    /// Methods, in the order of the program.
    pub methods: Vec<MethodNeeds>,
}

/// Needs of a method, part of [`ProgramNeeds`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MethodNeeds {
    /// Name; empty if it has none.
    pub name: String,
    /// Pools of planned memory in the order of their numbers, from 1, also empty ones.
    pub pools: Vec<PoolNeeds>,
    /// Inputs.
    pub inputs: Vec<PortNeeds>,
    /// Outputs.
    pub outputs: Vec<PortNeeds>,
    /// What depends on the build of the runtime, in the order of [`Abi::ALL`].
    pub builds: [BuildNeeds; 2],
}

/// Pool of planned memory, part of [`MethodNeeds`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolNeeds {
    /// Size in bytes.
    pub bytes: u64,
    /// Alignment in bytes of its start.
    pub alignment: u64,
    /// Device, such as `cpu`.
    pub device: String,
}

/// Input or output, part of [`MethodNeeds`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PortNeeds {
    /// Name; empty if it has none.
    pub name: String,
    /// What it is if it is a tensor with a known size.
    pub tensor: Option<TensorNeeds>,
}

/// Tensor that is an input or output, part of [`PortNeeds`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorNeeds {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Sizes; upper bounds of a dynamic tensor.
    pub sizes: Vec<i32>,
    /// The sizes are upper bounds.
    pub is_dynamic: bool,
    /// Size in bytes.
    pub bytes: u64,
    /// The caller provides its memory: it is not in a pool.
    pub is_provided: bool,
}

/// Needs that depend on the build of the runtime, part of [`MethodNeeds`], in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BuildNeeds {
    /// Method allocator that loading takes, beside a temporary allocator of at least [`BuildNeeds::lookup`] bytes.
    pub loading: u64,
    /// Method allocator that loading takes otherwise.
    pub loading_alone: u64,
    /// Temporary allocator that the lookup of kernels needs while the method is loaded.
    pub lookup: u64,
    /// Temporary allocator that kernels need while the method is executed.
    pub kernels: u64,
    /// First instruction that takes [`BuildNeeds::kernels`]; `None` if that is 0.
    pub largest: Option<String>,
    /// What delegates take from the heap, of those that are counted.
    pub heap: u64,
    /// Who may take more than is known.
    pub unknown: UnknownNeeds,
}

/// Operators and backends of which it is not known how much memory they take, part of [`BuildNeeds`]. The figures are lower bounds if there
/// are any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnknownNeeds {
    /// Of the method allocator.
    pub method_allocator: Vec<String>,
    /// Of the temporary allocator.
    pub temporary_allocator: Vec<String>,
    /// Of the heap.
    pub heap: Vec<String>,
}

impl MethodNeeds {
    /// Returns what depends on the build of the runtime.
    pub fn build(&self, abi: Abi) -> &BuildNeeds {
        abi.of(&self.builds)
    }

    /// Returns the bytes of the tensors of a list that the caller provides.
    pub fn provided(list: &[PortNeeds]) -> u64 {
        let tensors = list.iter().filter_map(|port| port.tensor.as_ref());
        let provided = tensors.filter(|tensor| tensor.is_provided).map(|tensor| tensor.bytes);
        provided.fold(0, u64::saturating_add)
    }

    /// Returns the tensors among the inputs.
    pub fn input_tensors(&self) -> impl Iterator<Item = &TensorNeeds> {
        self.inputs.iter().filter_map(|port| port.tensor.as_ref())
    }
}

impl BuildNeeds {
    /// Returns the size of the temporary allocator: of a larger one, nothing is used.
    pub fn temporary(&self) -> u64 {
        self.lookup.max(self.kernels)
    }
}
