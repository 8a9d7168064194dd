//! What a firmware must have room for: plain data, which a caller collects from the results of other crates.

use crate::Symbol;
use crate::embed::Section;

/// Index of the build for 32-bit processors in [`MethodNeeds::builds`].
pub const BITS32: usize = 0;
/// Index of the build for 64-bit processors in [`MethodNeeds::builds`].
pub const BITS64: usize = 1;

/// Needs of a program, and of the methods that a firmware loads, one at a time.
#[derive(Debug, Clone)]
pub struct FirmwareNeeds {
    /// Name of the program's file, without a folder.
    pub file: String,
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Alignment in bytes that the start of the file needs in memory.
    pub alignment: u64,
    /// Path of the file, relative to the folder of the generated files, with `/` between its parts; `None` if it is not known.
    pub path: Option<String>,
    /// Name of the array with the program.
    pub symbol: Symbol,
    /// Section of the array; `None` for that of the platform.
    pub section: Option<Section>,
    /// The processor has pointers of 8 bytes; the files for [`FirmwarePlatform::Cmake`](super::FirmwarePlatform::Cmake) are for both sizes.
    pub is_64_bit: bool,
    /// Methods that the firmware loads, one at a time.
    pub methods: Vec<MethodNeeds>,
    /// Names of all methods of the program, in its order.
    pub all_methods: Vec<String>,
    /// Operators that the program names, such as `aten::add.out`, sorted.
    pub operators: Vec<String>,
    /// Backends of its delegates, sorted.
    pub backends: Vec<String>,
    /// The program needs data of `.ptd` files.
    pub needs_data_files: bool,
}

impl FirmwareNeeds {
    /// Returns the index of the build in [`MethodNeeds::builds`].
    pub(super) fn build(&self) -> usize {
        if self.is_64_bit { BITS64 } else { BITS32 }
    }
}

/// Needs of a method, part of [`FirmwareNeeds`].
#[derive(Debug, Clone)]
pub struct MethodNeeds {
    /// Name.
    pub name: String,
    /// Pools of planned memory in the order of their numbers, from 1, also empty ones.
    pub pools: Vec<PoolNeeds>,
    /// Inputs; `None` for those that are no tensors.
    pub inputs: Vec<Option<BufferNeeds>>,
    /// Outputs; `None` for those that are no tensors.
    pub outputs: Vec<Option<BufferNeeds>>,
    /// What depends on the build of the runtime: for 32-bit and for 64-bit processors.
    pub builds: [BuildNeeds; 2],
}

/// Pool of planned memory, part of [`MethodNeeds`].
#[derive(Debug, Clone)]
pub struct PoolNeeds {
    /// Size in bytes.
    pub bytes: u64,
    /// Device, such as `cpu`.
    pub device: String,
}

/// Input or output that is a tensor, part of [`MethodNeeds`].
#[derive(Debug, Clone, Copy)]
pub struct BufferNeeds {
    /// Size in bytes, which is an upper bound for a dynamic tensor.
    pub bytes: u64,
    /// The caller provides its memory: it is not in a pool.
    pub is_provided: bool,
}

/// Needs that depend on the build of the runtime, part of [`MethodNeeds`].
#[derive(Debug, Clone)]
pub struct BuildNeeds {
    /// Size and alignment of a pointer in bytes.
    pub pointer: u64,
    /// Size and alignment in bytes of an argument of a method (`EValue`).
    pub value: (u64, u64),
    /// Bytes that loading takes from the method allocator.
    pub loading: AllocatorNeeds,
    /// The same without a temporary allocator.
    pub loading_alone: AllocatorNeeds,
    /// Bytes of the temporary allocator.
    pub temporary: AllocatorNeeds,
    /// Bytes of it that kernels take; the others are for loading.
    pub temporary_of_kernels: u64,
}

/// Bytes of an allocator, part of [`BuildNeeds`].
#[derive(Debug, Clone, Default)]
pub struct AllocatorNeeds {
    /// Size in bytes.
    pub bytes: u64,
    /// Operators and backends that may take more; empty if the size is exact.
    pub unknown: Vec<String>,
}
