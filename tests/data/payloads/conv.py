"""Exports a convolution with a ReLU to a backend: python conv.py vulkan|tosa|mlx|mps|ethos_u OUT.pte"""

import sys

import torch
from executorch.exir import to_edge_transform_and_lower


class Conv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        return torch.relu(self.l(x))


def partitioner(backend):
    if backend == "vulkan":
        from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner

        return VulkanPartitioner()
    if backend == "tosa":
        from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
        from executorch.backends.arm.tosa.partitioner import TOSAPartitioner

        return TOSAPartitioner(TosaCompileSpec("TOSA-1.0+FP"))
    if backend == "mlx":
        from executorch.backends.mlx.partitioner import MLXPartitioner

        return MLXPartitioner()
    if backend == "mps":
        from executorch.backends.apple.mps.partition import MPSPartitioner
        from executorch.exir.backend.compile_spec_schema import CompileSpec

        return MPSPartitioner([CompileSpec("use_fp16", bytes([False]))])
    from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner

    return EthosUPartitioner(EthosUCompileSpec("ethos-u55-128"))


def quantized(model, inputs):
    from executorch.backends.arm.ethosu import EthosUCompileSpec
    from executorch.backends.arm.quantizer import EthosUQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u55-128"))
    quantizer.set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def main():
    backend, out = sys.argv[1:]
    inputs = (torch.randn(1, 3, 8, 8),)
    torch.manual_seed(0)
    model = Conv().eval()
    if backend == "ethos_u":
        model = quantized(model, inputs)
    program = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=[partitioner(backend)])
    with open(out, "wb") as file:
        file.write(program.to_executorch().buffer)


if __name__ == "__main__":
    main()
