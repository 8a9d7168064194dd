"""Exports the delegated programs of tests/golden/edits with ExecuTorch 1.5.1, and records what torch computes for each edit of their graphs.

    python lab/conformance/xnnpack_edits.py tests/golden/edits

Needs torch, torchao, numpy and executorch 1.5.1. Other releases of torch may export other programs.
"""

import pathlib
import sys

import numpy
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import to_edge_transform_and_lower
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

FOLDER = pathlib.Path(sys.argv[1])


class Convolutions(nn.Module):
    """Two convolutions with a clamp between them."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 2, 1)
        self.second.bias.copy_(torch.tensor([0.5, -0.25]))
        self.upper = 6.0
        self.inserted_relu = False

    def forward(self, x):
        x = nn.functional.hardtanh(self.first(8 * x), 0.0, self.upper)
        x = self.second(x)
        return x.relu() if self.inserted_relu else x


def save(name, output):
    numpy.save(FOLDER / f"{name}.output.npy", output.numpy())


def export(name, program):
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    (FOLDER / f"{name}.pte").write_bytes(lowered.to_executorch().buffer)


def main():
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    image, row = torch.rand(1, 3, 8, 8) * 2 - 1, torch.rand(2, 16) * 2 - 1
    numpy.save(FOLDER / "xnnpack.npy", image.numpy())
    numpy.save(FOLDER / "xnnpack_quantized.npy", row.numpy())

    model = Convolutions().eval()
    export("xnnpack", torch.export.export(model, (image,)))
    save("xnnpack", model(image))
    model.upper = 1.0
    save("xnnpack_clamp", model(image))
    model.upper = 6.0
    model.inserted_relu = True
    save("xnnpack_relu", model(image))
    model.inserted_relu = False
    model.second.bias.copy_(torch.tensor([1.5, -2.0]))
    save("xnnpack_weight", model(image))

    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
    prepared = prepare_pt2e(torch.export.export(nn.Linear(16, 2).eval(), (row,)).module(), XNNPACKQuantizer().set_global(config))
    prepared(row)
    quantized = convert_pt2e(prepared)
    [scales] = [buffer for name, buffer in quantized.named_buffers() if "scale" in name]
    scales.copy_(torch.tensor([0.0078125, 0.015625]))
    export("xnnpack_quantized", torch.export.export(quantized, (row,)))
    save("xnnpack_quantized", quantized(row))
    scales.copy_(torch.tensor([0.03125, 0.00390625]))
    save("xnnpack_scale", quantized(row))


main()
