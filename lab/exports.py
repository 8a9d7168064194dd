"""Exports the models of lab/releases/exports.py and more, and records what ExecuTorch's Python runtime computes for them.

    python lab/exports.py tests/golden/upstream/exports [NAME...]

Writes NAME.bpte, or NAME/model.bpte with the `.ptd` that the program needs, and `versions.txt`, which states the
releases that wrote them. Needs torch and executorch 1.5.1. Without names every file is written anew; other releases of
torch may export other programs. A program of more than 64 KiB, and one that the exporter or the runtime rejects, is
reported and left out.

The first test of a method has the sizes that it was exported with. The tests of a method run in order on one
loaded method, which keeps its state.
"""

import importlib.metadata
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "releases"))

import exports
import torch
from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from executorch.runtime import Runtime
from exports import IMAGE, i, r
from torch import nn
from torch.nn import functional as F

MOST = 64 * 1024


class Residual(nn.Module):
    """Block of a residual network."""

    def __init__(self):
        super().__init__()
        self.first, self.second = (nn.Sequential(nn.Conv2d(3, 3, 3, padding=1, bias=False), nn.BatchNorm2d(3)) for _ in range(2))

    def forward(self, x):
        return F.relu(x + self.second(F.relu(self.first(x))))


class InvertedResidual(nn.Module):
    """Block of MobileNetV3: expansion, depthwise convolution, squeeze and excitation, projection."""

    def __init__(self):
        super().__init__()
        self.expand, self.depthwise, self.project = nn.Conv2d(4, 8, 1), nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 4, 1)
        self.squeeze, self.excite = nn.Conv2d(8, 2, 1), nn.Conv2d(2, 8, 1)

    def forward(self, x):
        y = F.hardswish(self.depthwise(F.relu6(self.expand(x))))
        scale = F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
        return x + self.project(y * scale)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.middle, self.up = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1), nn.ConvTranspose2d(4, 4, 2, stride=2)
        self.last = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        skip = F.relu(self.down(x))
        x = self.up(F.relu(self.middle(F.max_pool2d(skip, 2))))
        return torch.sigmoid(self.last(torch.cat([skip, x], 1)))


class LanguageModel(nn.Module):
    """Decoder of a transformer with embeddings, causal attention and logits."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions, self.norm = nn.Embedding(12, 8), nn.Embedding(4, 8), nn.LayerNorm(8)
        self.qkv, self.project, self.logits = nn.Linear(8, 24), nn.Linear(8, 8), nn.Linear(8, 12, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        q, k, v = (part.view(1, 4, 2, 4).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(1, 4, 8)
        return self.logits(x + self.project(mixed))


class CachedAttention(nn.Module):
    """Attention of one token to those before it, whose keys and values are kept."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(4, 12)
        self.register_buffer("keys", torch.zeros(1, 6, 4))
        self.register_buffer("values", torch.zeros(1, 6, 4))

    def forward(self, x, position):
        q, k, v = self.qkv(x).chunk(3, -1)
        self.keys.index_copy_(1, position, k)
        self.values.index_copy_(1, position, v)
        seen = torch.arange(6) <= position
        scores = (q @ self.keys.transpose(1, 2) / 2).masked_fill(~seen, float("-inf"))
        return scores.softmax(-1) @ self.values


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(8))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Rotary(nn.Module):
    """Rotary position embedding, with tables of sines and cosines."""

    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(4.0), 100.0 ** -torch.linspace(0, 1, 3))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x):
        a, b = x.chunk(2, -1)
        return torch.cat([a * self.cos - b * self.sin, a * self.sin + b * self.cos], -1)


class Detector(nn.Module):
    """Boxes, their classes and which of them count: float, int64 and bool."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 7)

    def forward(self, x):
        y = self.head(x)
        scores, classes = y[..., 4:].softmax(-1).max(-1)
        return y[..., :4].sigmoid(), classes, scores > 0.4


class Sentences(nn.Module):
    """Mean of the embeddings that a mask selects, and a classifier."""

    def __init__(self):
        super().__init__()
        self.embedding, self.last = nn.Embedding(10, 4, padding_idx=0), nn.Linear(4, 3)

    def forward(self, tokens):
        mask = (tokens != 0).unsqueeze(-1).float()
        return self.last((self.embedding(tokens) * mask).sum(1) / mask.sum(1).clamp(min=1.0))


class Image(nn.Module):
    """Normalisation of the bytes of an image in the order of its pixels."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.4, 0.5, 0.6]))

    def forward(self, x):
        return ((x.float() / 255 - self.mean) / 0.25).permute(0, 3, 1, 2).contiguous()


class Causal(nn.Module):
    """Dilated causal convolutions of audio, with a gate."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv1d(2, 4, 2), nn.Conv1d(2, 2, 2, dilation=2)

    def forward(self, x):
        a, b = self.first(F.pad(x, (1, 0))).chunk(2, 1)
        return x + self.second(F.pad(a.tanh() * b.sigmoid(), (2, 0)))


class Autoencoder(nn.Module):
    """A method for each half."""

    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Linear(6, 2), nn.Linear(2, 6)

    def encode(self, x):
        return self.down(x).tanh()

    def decode(self, x):
        return self.up(x).sigmoid()


class Method(nn.Module):
    """Module of a method of another one."""

    def __init__(self, module, name):
        super().__init__()
        self.module, self.name = module, name

    def forward(self, *inputs):
        return getattr(self.module, self.name)(*inputs)


exports.MODELS |= {
    "residual": (Residual, lambda: (r(*IMAGE),)),
    "inverted_residual": (InvertedResidual, lambda: (r(1, 4, 6, 6),)),
    "unet": (UNet, lambda: (r(*IMAGE),)),
    "language_model": (LanguageModel, lambda: (i(1, 4),)),
    "cached_attention": (CachedAttention, lambda: (r(1, 1, 4), torch.tensor([0]))),
    "rms_norm": (RmsNorm, lambda: (r(2, 8),)),
    "rotary": (Rotary, lambda: (r(1, 4, 6),)),
    "detector": (Detector, lambda: (r(1, 5, 6),)),
    "sentences": (Sentences, lambda: (torch.tensor([[3, 1, 4, 0, 0]]),)),
    "image": (Image, lambda: (i(1, 4, 5, 3).to(torch.uint8) * 4,)),
    "causal": (Causal, lambda: (r(1, 2, 6),)),
}
exports.XNNPACK += "residual inverted_residual unet language_model cached_attention rms_norm detector".split()
exports.QUANTIZED += "residual inverted_residual unet causal".split()
exports.DYNAMIC["layer_norm"] = {0: (1, 8)}

# Programs of several methods: name: (module, {method: inputs}, constant methods).
METHODS = {
    "autoencoder": (Autoencoder, {"encode": lambda: (r(2, 6),), "decode": lambda: (r(2, 2),)}, {"get_width": 6}),
}

# Large programs whose calls others have, too.
LEFT_OUT = ["portable_attention", "xnnpack_attention", "xnnpack_block"]


def at(*positions):
    return [torch.tensor([position]) for position in positions]


# More inputs of the models whose branches, state or domain need them.
TESTS = {
    "cond": lambda x: [(-x,)],
    "nested_cond": lambda x: [(x + 1,), (-x,)],
    "pow": lambda x: [(x.flip(0) * 3,)],
    "cache": lambda position, key: [(position, key - 1) for position in at(5, 0)],
    "cached_attention": lambda x, position: [(x - position / 2, position) for position in at(1, 2, 3)],
    "counter": lambda x: [(x - 1,), (x * 0,)],
}


def write_methods(name, target, partitioner):
    torch.manual_seed(0)
    module, inputs, constants = METHODS[name]
    module = module().eval()
    programs = {method: exports.exported(Method(module, method), first()) for method, first in inputs.items()}
    exports.write(programs, target, partitioner, constants=constants)


def jobs():
    """(name, model, function that writes it)."""
    yield from exports.jobs()
    for name in METHODS:
        yield f"portable_{name}", name, lambda path, name=name: write_methods(name, path, None)
        yield f"xnnpack_{name}", name, lambda path, name=name: write_methods(name, path, exports.partitioner())


def others(name, model, inputs):
    """Inputs of the tests after the first one."""
    if model in TESTS:
        return TESTS[model](*inputs)
    if "dynamic_" in name and model in exports.DYNAMIC and not name.startswith("quantized"):
        return [tuple(torch.rand(size, *x.shape[1:]) - 0.5 for x in inputs) for size in exports.DYNAMIC[model][0]]
    # Integers are indices: the same ones in another order.
    return [tuple((torch.rand(x.shape) * 4 - 2).to(x.dtype) if x.is_floating_point() else x.flip(*range(x.dim())) for x in inputs)]


def methods(name, model):
    """(method, inputs of its tests)."""
    torch.manual_seed(1)
    inputs = METHODS[model][1] if model in METHODS else {"forward": exports.MODELS[model][1]}
    for method, first in inputs.items():
        first = first()
        yield method, [first, *others(name, model, first)]


def recorded(program, data, method, inputs):
    loaded = Runtime.get().load_program(program, data_path=data).load_method(method)
    for each in inputs:
        outputs = loaded.execute([x.clone() for x in each])
        yield MethodTestCase(each, [x.clone() for x in outputs])


def write(name, model, run, folder):
    with tempfile.TemporaryDirectory() as temporary:
        pte = pathlib.Path(temporary) / "model.pte"
        torch._dynamo.reset()
        run(pte)
        ptd = pte.with_suffix(".ptd")
        data = ptd if ptd.exists() else None
        suites = [MethodTestSuite(method, list(recorded(pte, data, method, inputs))) for method, inputs in methods(name, model)]
        bundle = serialize_from_bundled_program_to_flatbuffer(BundledProgram(None, suites, str(pte)))
        if len(bundle) > MOST:
            raise ValueError(f"{len(bundle)} bytes")
        if data:
            (folder / name).mkdir(exist_ok=True)
            (folder / name / "model.ptd").write_bytes(data.read_bytes())
        (folder / name / "model.bpte" if data else folder / f"{name}.bpte").write_bytes(bundle)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    exports.load_quantized_kernels()
    for name, model, run in jobs():
        if name not in sys.argv[2:] if sys.argv[2:] else name in LEFT_OUT:
            continue
        try:
            write(name, model, run, folder)
        except Exception as error:  # noqa: BLE001  (any reason is reported)
            print(f"{name}: {type(error).__name__}: {str(error).strip().splitlines()[0][:200] if str(error).strip() else ''}")
    versions = [f"{package} {importlib.metadata.version(package).split('+')[0]}" for package in ("torch", "executorch")]
    (folder / "versions.txt").write_text("".join(f"{version}\n" for version in versions))


main()
