//! Names of the CMake targets of ExecuTorch that register kernels; [`Operator::target`](crate::Operator::target)
//! returns that of an operator.

/// Kernels of the Cortex-M backend.
pub const CORTEX_M: &str = "cortex_m_ops_lib";
/// Kernels for language models.
pub const CUSTOM: &str = "custom_ops";
/// Faster kernels of operators of [`PORTABLE`], and a few that only this target has.
pub const OPTIMIZED: &str = "optimized_native_cpu_ops_lib";
/// Portable kernels.
pub const PORTABLE: &str = "portable_ops_lib";
/// Kernels of the runtime itself: those of the namespace `executorch_prim`, and a few of `aten`.
pub const PRIM_OPS: &str = "executorch";
/// Kernels that quantize and dequantize.
pub const QUANTIZED: &str = "quantized_ops_lib";
