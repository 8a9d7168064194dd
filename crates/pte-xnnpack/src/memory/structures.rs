//! Sizes of the objects that XNNPACK and the backend of ExecuTorch 1.5.1 create for a graph and its operations, by
//! processor. They were measured with compilers for 64-bit x86, 64-bit Arm and 32-bit Arm, from the headers of XNNPACK.

use super::tiles::column;
use pte_payload::memory::Processor;

/// Sizes in bytes.
#[derive(Clone, Copy)]
pub struct Structures {
    /// An operation.
    pub operator: u64,
    /// Parameters of one parallel loop of an operation.
    pub compute: u64,
    /// State of convolutions, poolings and matrix products.
    pub convolution: u64,
    /// Microkernels of a matrix product.
    pub gemm_kernels: u64,
    /// Context of a matrix product.
    pub gemm: u64,
    /// Microkernels of a convolution.
    pub igemm_kernels: u64,
    /// Context of a convolution.
    pub igemm: u64,
    /// Context of a depthwise convolution.
    pub depthwise: u64,
    /// Context of a reduction.
    pub reduce: u64,
    /// Context of a padding.
    pub pad: u64,
    /// Part of a transposed convolution with strides.
    pub subconvolution: u64,
    /// Additional parameters of an operation.
    pub parameters: u64,
    /// The graph.
    pub runtime: u64,
    /// A node of the graph, with its times if events are traced.
    pub node: u64,
    /// A value of the graph.
    pub value: u64,
    /// An argument of the delegate: its number, and its address with another number.
    pub argument: u64,
    /// Owner of a constant that is read in place.
    pub owner: u64,
}

const X86: Structures = Structures {
    operator: 520,
    compute: 88,
    convolution: 224,
    gemm_kernels: 288,
    gemm: 688,
    igemm_kernels: 264,
    igemm: 408,
    depthwise: 336,
    reduce: 272,
    pad: 232,
    subconvolution: 72,
    parameters: 40,
    runtime: 96,
    node: 240 + 80,
    value: 160,
    argument: 4 + 16,
    owner: 40,
};

// Microkernels may differ between the cores of an Arm processor, and have more rows in a build with matrix extensions,
// such as that on PyPI.
const ARM64: Structures = Structures { gemm_kernels: 1568, gemm: 704, igemm_kernels: 1544, igemm: 424, ..X86 };

const ARM32: Structures = Structures {
    operator: 312,
    compute: 44,
    convolution: 132,
    gemm_kernels: 408,
    gemm: 376,
    igemm_kernels: 392,
    igemm: 240,
    depthwise: 192,
    reduce: 156,
    pad: 116,
    subconvolution: 36,
    parameters: 40,
    runtime: 52,
    node: 200 + 40,
    value: 92,
    argument: 4 + 8,
    owner: 36,
};

/// Returns the sizes for a processor.
pub fn of(processor: Processor) -> Structures {
    [X86, X86, ARM64, ARM32][column(processor)]
}
