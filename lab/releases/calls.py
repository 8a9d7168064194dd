"""Valid calls of operators that some releases do not survive, refuse, or compute otherwise: one program for each condition and operator.

The names are `CONDITION/OPERATOR`; `crates/pte-check/src/releases/calls.rs` says by the same words which calls of a program have the condition.
"""

import re

from cases import written
from runtime import REPOSITORY

SIGNATURES = REPOSITORY / "crates/pte-operators/src/releases/v1_5_1/operators.table"

# Arguments after the first one, the sizes of its results for an input of [2, 3, 4, 5], by kind of the dimensions.
LISTS = {"aten::amax.out": "true", "aten::amin.out": "true", "aten::any.dims_out": "true", "aten::sum.IntList_out": "true, null",
         "aten::mean.out": "true, null", "aten::var.out": "false, true", "aten::var.correction_out": "null, true"}
# They refuse other orders of memory.
CONTIGUOUS = ["aten::sum.IntList_out", "aten::mean.out", "aten::var.out"]
SINGLE = {"aten::any.out": "true", "aten::argmax.out": "true", "aten::argmin.out": "true", "aten::prod.int_out": "true, null",
          "aten::max.dim_max": "true", "aten::min.dim_min": "true"}
TYPES = {"aten::any.out": "bool", "aten::any.dims_out": "bool", "aten::argmax.out": "int64", "aten::argmin.out": "int64"}
CHANNELS_LAST = ", dim_order: [0, 2, 3, 1]"


def program(values, inputs, call, outs):
    """YAML of a program of one call."""
    lines = ["methods:", "  forward:", "    values:", *(f"      {line}" for line in values), f"    inputs: [{', '.join(inputs)}]"]
    out = outs[0] if len(outs) == 1 else f"[{', '.join(outs)}]"
    name, args = call
    lines += [f"    outputs: [{', '.join(outs)}]", "    instructions:", f"      - {{kernel: {name}, args: [{args}], out: {out}}}"]
    return "\n".join(lines) + "\n"


def reduction(name, sizes, reduced, rest, more=""):
    """A reduction of an input over the dimensions of `reduced`, which are kept with one element."""
    dims = list(reduced) if name in LISTS else reduced[0]
    kept = [1 if dim in reduced else size for dim, size in enumerate(sizes)]
    kind = TYPES.get(name, "float32")
    outs = ["y", "i"] if "_m" in name else ["y"]
    values = [f"x: {{tensor: float32, sizes: {sizes}{more}}}", f"y: {{tensor: {kind}, sizes: {kept}{more}}}"]
    values += [f"i: {{tensor: int64, sizes: {kept}{more}}}"] if len(outs) == 2 else []
    return program(values, ["x"], (name, f"x, {dims}, {rest}"), outs)


def reductions():
    for name, rest in {**LISTS, **SINGLE}.items():
        if not name.startswith(("aten::am", "aten::arg", "aten::max", "aten::min")):  # They refuse to reduce no elements.
            yield f"no_elements/{name}", reduction(name, [2, 0], [1], rest)
    for name, rest in ((name, rest) for name, rest in LISTS.items() if name not in CONTIGUOUS):
        yield f"channels_last/{name}", reduction(name, [1, 64, 8, 8], [1, 2], rest, CHANNELS_LAST)


def per_channel():
    """(De)quantization with a scale for each index of dimension 3."""
    for way, types in ("dequantize", ("int8", "float32")), ("quantize", ("float32", "int8")):
        scale = "float32" if way == "dequantize" else "float64"
        values = [f"s: {{tensor: {scale}, data: [1, 2, 1, 2, 1, 2, 1, 2]}}", "z: {tensor: int64, data: [0, 0, 0, 0, 0, 0, 0, 0]}"]
        named = [f"{name}: {{tensor: {kind}, sizes: [1, 64, 8, 8]{CHANNELS_LAST}}}" for name, kind in zip("xy", types)]
        name = f"quantized_decomposed::{way}_per_channel.out"
        args = "x, s, z, 3, -128, 127, int8" + (", null" if way == "dequantize" else "")
        yield f"channels_last/{name}", program([*named, *values], ["x"], (name, args), ["y"])


def pairs():
    """Operators of two tensors whose sizes are broadcast."""
    for line in SIGNATURES.read_text().splitlines():
        words = line.split()
        if words[1:3] == ["self:T", "other:T"] and re.fullmatch(r"aten::\w+\.(Tensor_)?out", words[0]):
            yield words[0], [word for word in words[3:] if word != "out:T!"]


# By condition: sizes of the two tensors.
SIZES = {"leading_ones_of_self": ([1, 1, 6], [1, 6]), "leading_ones_of_other": ([1, 6], [1, 1, 6]),
         "self_is_broadcast": ([6], [2, 6]), "other_is_broadcast": ([2, 6], [6]), "rank_0": ([], [])}


def broadcasts():
    booleans = "eq ne lt le gt ge logical_and logical_or logical_xor".split()
    for name, rest in pairs():
        word = name.removeprefix("aten::").split(".")[0]
        kind = "int32" if word.startswith("bitwise") else "float32"
        out = "bool" if word in booleans else kind
        args = "x, w, 1" if rest else "x, w"
        for condition, sizes in SIZES.items():
            result = max(sizes, key=len)
            values = [f"x: {{tensor: {kind}, sizes: {sizes[0]}}}", f"w: {{tensor: {kind}, sizes: {sizes[1]}}}", f"y: {{tensor: {out}, sizes: {result}}}"]
            yield f"{condition}/{name}", program(values, ["x", "w"], (name, args), ["y"])


def copies():
    for condition, source, target in ("larger_type", "float64", "uint8"), ("smaller_type", "uint8", "float64"):
        size = 64
        values = [f"x: {{tensor: {target}, sizes: [{size}]}}", f"s: {{tensor: {source}, sizes: [{size}], memory: {{pool: 2, offset: 0}}}}"]
        yield f"{condition}/aten::copy.out", program([*values, f"y: {{tensor: {target}, sizes: [{size}]}}"], ["x", "s"], ("aten::copy.out", "x, s, false"), ["y"])
        state = f"t: {{tensor: {target}, sizes: [{size}], mutable: true}}"
        yield f"{condition}/aten::copy_", program([*values, state], ["x", "s"], ("aten::copy_", "t, s, false"), ["t"])


# By operator: sizes of its first tensors, its further arguments, and the sizes of its results.
PRODUCTS = {
    "aten::mm.out": (["[2, 3]", "[3, 4]"], "", ["[2, 4]"]),
    "aten::bmm.out": (["[2, 2, 3]", "[2, 3, 4]"], "", ["[2, 2, 4]"]),
    "aten::addmm.out": (["[4]", "[2, 3]", "[3, 4]"], "", ["[2, 4]"]),
    "aten::linear.out": (["[2, 3]", "[4, 3]"], "", ["[2, 4]"]),
    "aten::convolution.out": (["[1, 2, 4, 4]", "[3, 2, 1, 1]", "[3]"], "[1, 1], [0, 0], [1, 1], false, [0, 0], 1", ["[1, 3, 4, 4]"]),
    "aten::native_layer_norm.out": (["[2, 3]", "[3]", "[3]"], "0.00001", ["[2, 3]", "[2, 1]", "[2, 1]"]),
}


def products():
    for name, (sizes, rest, results) in PRODUCTS.items():
        for kind in "float16", "bfloat16":
            values = [f"{word}: {{tensor: {kind}, sizes: {of}}}" for word, of in zip("abc", sizes)]
            outs = [f"y{number}" for number in range(len(results))]
            values += [f"{out}: {{tensor: {kind}, sizes: {of}}}" for out, of in zip(outs, results)]
            inputs = list("abc"[: len(sizes)])
            words = ["a", "[3]", "b", "c"] if "norm" in name else inputs
            yield f"{kind}/{name}", program(values, inputs, (name, ", ".join([*words, rest] if rest else words)), outs)


def scalars():
    """Numbers that are booleans."""
    booleans = "eq ne lt le gt ge".split()
    for line in SIGNATURES.read_text().splitlines():
        words = line.split()
        if words[0].endswith(".Scalar_out") and words[1:3] == ["self:T", "other:S"] and words[0].split("::")[1][:3] not in ("bit", "pow"):
            out = "bool" if words[0].removeprefix("aten::").split(".")[0] in booleans else "float32" if "div" in words[0] else "int32"
            args = "x, true, 1" if words[3].startswith("alpha:") else "x, true"
            values = ["x: {tensor: int32, sizes: [2]}", f"y: {{tensor: {out}, sizes: [2]}}"]
            yield f"bool_number/{words[0]}", program(values, ["x"], (words[0], args), ["y"])
    values = ["x: {tensor: float32, sizes: [5]}", "y: {tensor: float32, sizes: [5]}"]
    yield "bool_number/aten::elu.out", program(values, ["x"], ("aten::elu.out", "x, 0.75, 1, true"), ["y"])


def others():
    for condition, sizes, axis in ("axis_of_vector", [3], 0), ("axis_inside", [3, 5, 3, 2], 2), ("axis_outside", [3, 2], 0), ("axis_at_the_end", [2, 3], 1):
        for way, types in ("dequantize", ("int8", "float32", "float32")), ("quantize", ("float32", "int8", "float64")):
            values = [f"{name}: {{tensor: {kind}, sizes: {sizes}}}" for name, kind in zip("xy", types)]
            values += [f"s: {{tensor: {types[2]}, data: [1, 2, 1]}}", "z: {tensor: int64, data: [0, 0, 0]}"]
            name = f"quantized_decomposed::{way}_per_channel.out"
            args = f"x, s, z, {axis}, -128, 127, int8" + (", null" if way == "dequantize" else "")
            yield f"{condition}/{name}", program(values, ["x"], (name, args), ["y"])
            if way == "dequantize" and condition == "axis_outside":
                yield f"float64_scales/{name}", program([*values[:2], "s: {tensor: float64, data: [1, 2, 1]}", values[3]], ["x"], (name, args), ["y"])
    # A constant, because inputs have the same number in each element.
    values = ["x: {tensor: float32, sizes: [1, 1, 8, 8], data: {random: {seed: 1}}}", "y: {tensor: float32, sizes: [1, 1, 3, 3]}"]
    name = "aten::_upsample_bilinear2d_aa.out"
    yield f"smaller_output/{name}", program(values, [], (name, "x, [3, 3], false, null, null"), ["y"])
    values = ["x: {tensor: float32, sizes: [4, 3]}", "y: {tensor: float32, sizes: [4, 3]}", *(f"{name}: {{tensor: float32, sizes: [3]}}" for name in "mv")]
    name = "aten::_native_batch_norm_legit.no_stats_out"
    yield f"all/{name}", program(values, ["x"], (name, "x, null, null, true, 0.1, 1e-5"), ["y", "m", "v"])
    values = ["t: {tensor: float32, sizes: [3]}", "i: {tensor: int64, sizes: [1]}", "v: {tensor: float32, sizes: [1]}"]
    for condition, flag in ("accumulate", "true"), ("replace", "false"):
        yield f"{condition}/aten::index_put_", program(values, ["t", "i", "v"], ("aten::index_put_", f"t, [i], v, {flag}"), ["t"])


ROWS = """methods:
  forward:
    values:
      x: {tensor: float32, sizes: [4]}
      y: {tensor: float32, sizes: [3, 4], mutable: true}
      i: 0
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: executorch_prim::et_copy_index.tensor, args: [y, x, i]}
"""


def programs():
    yield from reductions()
    yield from per_channel()
    yield from broadcasts()
    yield from copies()
    yield from products()
    yield from scalars()
    yield from others()
    yield "static_rows/executorch_prim::et_copy_index.tensor", ROWS


def cases(folder):
    return written(folder / "calls", programs())
