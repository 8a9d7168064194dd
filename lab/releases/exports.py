"""Exports small models with the ExecuTorch of the environment that runs it: portable, for XNNPACK, and quantized.

    exports.py FOLDER [NAME...]

Writes FOLDER/NAME.pte (and .ptd) if it is missing, and FOLDER/exports.json with the reason of each model that this release does not export.
"""

import json
import logging
import os
import pathlib
import sys
import warnings

import torch
import torch._dynamo
from torch import nn
from torch.nn import functional as F

# Older releases start the flatc of their environment.
os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)


class Call(nn.Module):
    """Module of a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 8, 4))

    def forward(self, position, key):
        self.keys[:, position] = key
        return self.keys.sum(dim=1)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.ones(4))

    def forward(self, x):
        self.state.add_(x)
        return self.state * 2


class Cond(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos() + 1, [x])


class NestedCond(nn.Module):
    def forward(self, x):
        def positive(x):
            return torch.cond(x.sum() > 4, lambda x: x * 2, lambda x: x * 3, [x])

        return torch.cond(x.sum() > 0, positive, lambda x: x - 1, [x])


class Map(nn.Module):
    def forward(self, xs, y):
        from torch._higher_order_ops.map import map as control_map

        return control_map(lambda x, y: x + y, xs, y)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        split = [part(x).view(1, 4, 2, 4).transpose(1, 2) for part in (self.q, self.k, self.v)]
        return F.scaled_dot_product_attention(*split).transpose(1, 2).reshape(1, 4, 8)


class Block(nn.Module):
    """Encoder of a transformer."""

    def __init__(self):
        super().__init__()
        self.attention, self.norm = Attention(), nn.LayerNorm(8)
        self.feed = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.feed(self.norm(x))


class TwoInputs(nn.Module):
    def forward(self, a, b):
        return a * b, a - b


class Dictionary(nn.Module):
    def forward(self, x):
        return {"sum": x.sum(), "relu": [x.relu(), x.neg()]}


def mlp():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def cnn():
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 5))


def mobile():
    return nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.Conv2d(4, 8, 1), nn.Hardswish(), nn.AdaptiveAvgPool2d(1))


def r(*sizes):
    return torch.rand(*sizes)


def i(*sizes):
    return torch.arange(torch.Size(sizes).numel()).reshape(sizes)


IMAGE = (1, 3, 8, 8)

# name: (module, inputs)
MODELS = {
    "add": (lambda: Call(lambda a, b: a + b), lambda: (r(4), r(4))),
    "mlp": (mlp, lambda: (r(2, 8),)),
    "cnn": (cnn, lambda: (r(*IMAGE),)),
    "mobile": (mobile, lambda: (r(1, 4, 8, 8),)),
    "lstm": (lambda: nn.LSTM(4, 6, batch_first=True), lambda: (r(1, 3, 4),)),
    "gru": (lambda: nn.GRU(4, 6, batch_first=True), lambda: (r(1, 3, 4),)),
    "embedding": (lambda: nn.Embedding(10, 4), lambda: (i(2, 3),)),
    "attention": (Attention, lambda: (r(1, 4, 8),)),
    "block": (Block, lambda: (r(1, 4, 8),)),
    "layer_norm": (lambda: nn.LayerNorm(8), lambda: (r(2, 8),)),
    "group_norm": (lambda: nn.GroupNorm(2, 4), lambda: (r(1, 4, 3, 3),)),
    "batch_norm": (lambda: nn.BatchNorm2d(3), lambda: (r(*IMAGE),)),
    "conv1d": (lambda: nn.Conv1d(3, 4, 3), lambda: (r(1, 3, 8),)),
    "conv_transpose": (lambda: nn.ConvTranspose2d(3, 4, 2, stride=2), lambda: (r(1, 3, 4, 4),)),
    "dilated_conv": (lambda: nn.Conv2d(3, 4, 3, dilation=2), lambda: (r(*IMAGE),)),
    "avg_pool": (lambda: nn.AvgPool2d(2), lambda: (r(*IMAGE),)),
    "max_pool": (lambda: nn.MaxPool2d(2), lambda: (r(*IMAGE),)),
    "upsample_nearest": (lambda: nn.Upsample(scale_factor=2), lambda: (r(1, 3, 4, 4),)),
    "upsample_bilinear": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), lambda: (r(1, 3, 4, 4),)),
    "pixel_shuffle": (lambda: nn.PixelShuffle(2), lambda: (r(1, 4, 3, 3),)),
    "prelu": (lambda: nn.PReLU(4), lambda: (r(1, 4, 2, 2) - 0.5,)),
    "activations": (lambda: nn.Sequential(nn.ELU(), nn.LeakyReLU(), nn.Sigmoid(), nn.Tanh(), nn.SiLU()), lambda: (r(4),)),
    "gelu": (lambda: nn.GELU(), lambda: (r(4),)),
    "softmax": (lambda: nn.Softmax(-1), lambda: (r(2, 4),)),
    "log_softmax": (lambda: nn.LogSoftmax(-1), lambda: (r(2, 4),)),
    "cat": (lambda: Call(lambda a, b: torch.cat([a, b], 1)), lambda: (r(2, 3), r(2, 4))),
    "stack": (lambda: Call(lambda a, b: torch.stack([a, b])), lambda: (r(3), r(3))),
    "split": (lambda: Call(lambda a: a.split(2)), lambda: (r(6),)),
    "chunk": (lambda: Call(lambda a: a.chunk(2, -1)), lambda: (r(2, 4),)),
    "slice": (lambda: Call(lambda a: a[1:, ::2]), lambda: (r(3, 4),)),
    "select": (lambda: Call(lambda a: a[:, 1] + a[0, 0]), lambda: (r(3, 4),)),
    "index": (lambda: Call(lambda a, b: a[b]), lambda: (r(4, 3), torch.tensor([2, 0]))),
    "index_put": (lambda: Call(lambda a, b: a.index_put((b,), torch.ones(2, 3))), lambda: (r(4, 3), torch.tensor([2, 0]))),
    "gather": (lambda: Call(lambda a, b: a.gather(1, b)), lambda: (r(2, 3), torch.tensor([[0, 2], [1, 1]]))),
    "scatter": (lambda: Call(lambda a, b: a.scatter(1, b, 2.0)), lambda: (r(2, 3), torch.tensor([[0, 2], [1, 1]]))),
    "topk": (lambda: Call(lambda a: tuple(a.topk(2))), lambda: (r(2, 5),)),
    "argmax": (lambda: Call(lambda a: (a.argmax(1), a.argmin())), lambda: (r(2, 5),)),
    "reductions": (lambda: Call(lambda a: (a.sum(1), a.mean(), a.amax(0), a.std(1), a.prod(0))), lambda: (r(2, 5),)),
    "cumsum": (lambda: Call(lambda a: a.cumsum(1)), lambda: (r(2, 5),)),
    "where": (lambda: Call(lambda a, b: torch.where(a > b, a, b * 2)), lambda: (r(4), r(4))),
    "compare": (lambda: Call(lambda a, b: ((a < b) & (a != b), a.isnan().any())), lambda: (r(4), r(4))),
    "permute": (lambda: Call(lambda a: a.permute(2, 0, 1).contiguous()), lambda: (r(2, 3, 4),)),
    "view": (lambda: Call(lambda a: a.view(3, 8).unsqueeze(0).expand(2, 3, 8)), lambda: (r(2, 3, 4),)),
    "repeat": (lambda: Call(lambda a: a.repeat(2, 2)), lambda: (r(2, 3),)),
    "pad": (lambda: Call(lambda a: F.pad(a, (1, 2), value=3.0)), lambda: (r(2, 3),)),
    "reflect_pad": (lambda: nn.ReflectionPad2d(1), lambda: (r(1, 2, 4, 4),)),
    "flip": (lambda: Call(lambda a: a.flip(0)), lambda: (r(3, 2),)),
    "tril": (lambda: Call(lambda a: a.tril() + a.triu(1)), lambda: (r(4, 4),)),
    "arange": (lambda: Call(lambda a: a + torch.arange(4)), lambda: (r(4),)),
    "full": (lambda: Call(lambda a: a + torch.full((2, 4), 3.0)), lambda: (r(4),)),
    "to_int": (lambda: Call(lambda a: (a * 10).to(torch.int32) // 3), lambda: (r(4),)),
    "to_half": (lambda: Call(lambda a: a.half() + 1), lambda: (r(4),)),
    "bfloat16": (lambda: mlp().bfloat16(), lambda: (r(2, 8).bfloat16(),)),
    "half": (lambda: mlp().half(), lambda: (r(2, 8).half(),)),
    "double": (lambda: mlp().double(), lambda: (r(2, 8).double(),)),
    "int_math": (lambda: Call(lambda a, b: a * b + (a % 3) - (b >> 1)), lambda: (i(4), i(4) + 1)),
    "pow": (lambda: Call(lambda a: a.pow(2) + a.sqrt() + a.rsqrt() + a.exp().log()), lambda: (r(4) + 1,)),
    "trigonometry": (lambda: Call(lambda a: a.sin() * a.cos() + a.atan() + a.erf()), lambda: (r(4),)),
    "clamp": (lambda: Call(lambda a: a.clamp(0.2, 0.7)), lambda: (r(4),)),
    "bmm": (lambda: Call(lambda a, b: a @ b), lambda: (r(2, 3, 4), r(2, 4, 5))),
    "mm": (lambda: Call(lambda a, b: a @ b), lambda: (r(3, 4), r(4, 5))),
    "einsum": (lambda: Call(lambda a, b: torch.einsum("ij,kj->ik", a, b)), lambda: (r(3, 4), r(5, 4))),
    "cdist": (lambda: Call(lambda a, b: torch.cdist(a, b)), lambda: (r(3, 4), r(5, 4))),
    "two_inputs": (TwoInputs, lambda: (r(4), r(4))),
    "dictionary": (Dictionary, lambda: (r(4),)),
    "cache": (Cache, lambda: (torch.tensor([2]), r(1, 1, 4))),
    "counter": (Counter, lambda: (r(4),)),
    "cond": (Cond, lambda: (r(4),)),
    "nested_cond": (NestedCond, lambda: (r(4),)),
    "map": (Map, lambda: (r(3, 4), r(4))),
}

# Models for XNNPACK, those that are quantized for it, and those that are quantized without a backend.
XNNPACK = """add mlp cnn mobile attention block conv1d conv_transpose dilated_conv avg_pool max_pool upsample_bilinear prelu activations gelu softmax cat
slice permute pad clamp bmm pow batch_norm half counter cond trigonometry""".split()
QUANTIZED = "mlp cnn mobile add".split()
PORTABLE_QUANTIZED = ["mlp"]
DYNAMIC = {"mlp": {0: (1, 8)}, "cat": {0: (1, 8)}, "softmax": {0: (1, 8)}, "add": {0: (2, 8)}}
EXTERNAL = ["mlp", "cnn"]


def exported(model, inputs, dynamic=None):
    function = torch.export.export
    if dynamic is None:
        return function(model, inputs)
    return function(model, inputs, dynamic_shapes=dynamic)


def quantizer_of_xnnpack(dynamic=False):
    try:
        from executorch.backends.xnnpack.quantizer import xnnpack_quantizer as module
    except ImportError:
        from torch.ao.quantization.quantizer import xnnpack_quantizer as module
    config = module.get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
    return module.XNNPACKQuantizer().set_global(config)


def quantized(model, inputs, dynamic=False):
    try:
        from torchao.quantization.pt2e import quantize_pt2e as module
    except ImportError:
        from torch.ao.quantization import quantize_pt2e as module
    trace = getattr(torch.export, "export_for_training", None) or torch.export.export
    prepared = module.prepare_pt2e(trace(model, inputs).module(), quantizer_of_xnnpack(dynamic))
    prepared(*inputs)
    return module.convert_pt2e(prepared)


def dynamic_shapes(name, inputs):
    dims = {at: torch.export.Dim(f"d{at}", min=low, max=high) for at, (low, high) in DYNAMIC[name].items()}
    each = tuple(dict(dims) for _ in inputs)
    # A function takes any number of inputs.
    return (each,) if len(inputs) > 1 else each


def config(external=False):
    from executorch.exir import ExecutorchBackendConfig

    return ExecutorchBackendConfig(external_constants=True) if external else ExecutorchBackendConfig()


def write(program, target, partitioner, external=False, constants=None):
    from executorch import exir

    check = exir.EdgeCompileConfig(_check_ir_validity=False)
    if partitioner:
        edge = exir.to_edge_transform_and_lower(program, partitioner=[partitioner], compile_config=check, constant_methods=constants)
    else:
        edge = exir.to_edge(program, compile_config=check, constant_methods=constants)
    done = edge.to_executorch(config(external))
    if external:
        done.write_tensor_data_to_file(str(target.parent))
        for path in target.parent.glob("_default_external_constant.ptd"):
            path.rename(target.with_suffix(".ptd"))
    target.write_bytes(done.buffer)


def load_quantized_kernels():
    """The exporter looks for the operators with `out`, which a library registers in torch."""
    import executorch.kernels.quantized  # noqa: F401


def partitioner():
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return XnnpackPartitioner()


def jobs():
    """(name, model, function that writes it)."""

    def model(name):
        torch.manual_seed(0)
        return MODELS[name][0]().eval().requires_grad_(False), MODELS[name][1]()

    def plain(name, lowered, external=False):
        return lambda path: write(exported(*model(name)), path, partitioner() if lowered else None, external)

    def shaped(name, lowered):
        def run(path):
            module, inputs = model(name)
            write(exported(module, inputs, dynamic_shapes(name, inputs)), path, partitioner() if lowered else None)

        return run

    def low(name, lowered, dynamic=False):
        def run(path):
            module, inputs = model(name)
            load_quantized_kernels()
            write(exported(quantized(module, inputs, dynamic), inputs), path, partitioner() if lowered else None)

        return run

    yield from ((f"portable_{name}", name, plain(name, False)) for name in MODELS)
    yield from ((f"xnnpack_{name}", name, plain(name, True)) for name in XNNPACK)
    yield from ((f"quantized_{name}", name, low(name, True)) for name in QUANTIZED)
    yield "quantized_dynamic_mlp", "mlp", low("mlp", True, True)
    yield from ((f"portable_quantized_{name}", name, low(name, False)) for name in PORTABLE_QUANTIZED)
    yield from ((f"dynamic_{name}", name, shaped(name, False)) for name in DYNAMIC)
    yield from ((f"xnnpack_dynamic_{name}", name, shaped(name, True)) for name in DYNAMIC)
    yield from ((f"external_{name}", name, plain(name, False, True)) for name in EXTERNAL)
    yield from ((f"xnnpack_external_{name}", name, plain(name, True, True)) for name in EXTERNAL)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    failures = {}
    torch.set_num_threads(1)
    try:
        for name, _, run in jobs():
            if sys.argv[2:] and name not in sys.argv[2:] or (folder / f"{name}.pte").exists():
                continue
            # All functions have the same code to it, and the number of compilations of one is limited.
            torch._dynamo.reset()
            try:
                run(folder / f"{name}.pte")
            except Exception as error:  # noqa: BLE001  (any reason is recorded)
                failures[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:200]
    finally:
        # Also if it is interrupted.
        (folder / "exports.json").write_text(json.dumps(failures, indent=1, sort_keys=True) + "\n")
    print(f"{len(list(folder.glob('*.pte')))} programs, {len(failures)} failures")


if __name__ == "__main__":
    main()
