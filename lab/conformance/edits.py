"""Exports the programs of tests/golden/edits with ExecuTorch 1.5.1, and records what torch computes for each edit of
lab/tests/cases/conformance.rs.

    python lab/conformance/edits.py tests/golden/edits

Needs torch, numpy and executorch 1.5.1. Every file is written anew; other releases of torch may export other programs.
"""

import pathlib
import sys

import numpy
import torch
from executorch.exir import to_edge
from torch import nn

FOLDER = pathlib.Path(sys.argv[1])
SIZES = {"image": (1, 3, 16, 16), "large_image": (1, 3, 24, 24)}


def block(ins, outs, **options):
    """Convolution without bias, batch norm with statistics other than 0 and 1."""
    norm = nn.BatchNorm2d(outs)
    norm.running_mean.uniform_(-0.1, 0.1)
    norm.running_var.uniform_(0.5, 1.5)
    return nn.Sequential(nn.Conv2d(ins, outs, bias=False, **options), norm)


class MobileNet(nn.Module):
    """One inverted residual block between two convolutions, and a classifier."""

    def __init__(self):
        super().__init__()
        self.stem = block(3, 8, kernel_size=3, stride=2, padding=1)
        self.expand = block(8, 16, kernel_size=1)
        self.depthwise = block(16, 16, kernel_size=3, padding=1, groups=16)
        self.project = block(16, 8, kernel_size=1)
        self.last = block(8, 12, kernel_size=1)
        self.classifier = nn.Linear(12, 4)
        self.inserted_relu = False

    def features(self, x):
        x = nn.functional.relu6(self.stem(x))
        y = nn.functional.relu6(self.depthwise(nn.functional.relu6(self.expand(x))))
        x = x + self.project(y)
        if self.inserted_relu:
            x = x.relu()
        return nn.functional.relu6(self.last(x)).mean([-1, -2], keepdim=True)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class Normalize(nn.Module):
    """Maps pixels from [0, 1] to [-1, 1]."""

    def forward(self, pixels):
        return (pixels - 0.5) * 2


def export(name, module, image):
    program = to_edge(torch.export.export(module, (image,), strict=True)).to_executorch()
    (FOLDER / f"{name}.pte").write_bytes(program.buffer)


def main():
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    FOLDER.mkdir(parents=True, exist_ok=True)
    images = {name: torch.rand(sizes) * 2 - 1 for name, sizes in SIZES.items()}
    for name, image in images.items():
        numpy.save(FOLDER / f"{name}.npy", image.numpy())
    model, normalize = MobileNet().eval(), Normalize()
    export("mobilenet", model, images["image"])
    export("normalize", normalize, images["image"])

    expected = {
        "unedited": model(images["image"]),
        "large_image": model(images["large_image"]),
        "features": model.features(images["image"]),
        "normalize": normalize(images["image"]),
        "normalized": model(normalize(images["image"])),
    }
    model.inserted_relu = True
    expected["inserted_relu"] = model(images["image"])
    for name, output in expected.items():
        numpy.save(FOLDER / f"{name}.output.npy", output.numpy())


main()
