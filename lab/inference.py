#!/usr/bin/env python3
"""Writes tests/inference/cases.txt of crates/pte-operators: what torch infers for calls of the operators in its
src/releases/v1_5_1/operators.table.

Usage: lab/inference.py [OPERATOR...]     with operators, prints their cases to stdout and writes no file.
       lab/inference.py --errors          also prints the reason of each rejection to stderr.
       lab/inference.py --judge FILE      what torch says of calls that `check` rejects and the runtime executes: the
                                            `executing.txt` of lab/tests/runtime/kernel_calls.rs.
Needs torch and executorch; the head of the file states the versions that wrote it. Takes about one minute.

The results are those of the functional variant of each operator with fake tensors, as the exporter computes them. A
result's dim_order is that which the exporter derives from its strides. Rejected arguments give `error`, sizes that
depend on data `data-dependent`. A call is omitted if fake tensors accept it and its execution fails, or the reverse.

Form of the file: a line with the name of an operator, then its cases, one a line after a space: arguments `->` results.
Arguments at the end that are omitted have their defaults.
    f32[2,3]  f32[2,3]{1,0}     tensor, with its dim_order unless contiguous
    <f32[2];none>               list of tensors
    [1,2]  [1.5]  [true]  []    lists
    3  1.5  true  "tanh"  none
    @f32  contiguous            element type, memory format
"""

import itertools
import logging
import math
import operator
import pathlib
import re
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable()

import torch
import torch.ao.quantization.fx._decomposed  # registers operators, as the next three
import executorch.exir.passes._device_copy_ops_registry
import executorch.exir.passes._quant_patterns_and_replacements
import executorch.exir.passes.dim_order_ops_registry
from executorch.exir.tensor import dim_order_from_stride, stride_from_dim_order
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode

ROOT = pathlib.Path(__file__).resolve().parent.parent
DTYPES = {
    "u8": torch.uint8,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "f16": torch.float16,
    "f32": torch.float32,
    "f64": torch.float64,
    "c32": torch.complex32,
    "c64": torch.complex64,
    "c128": torch.complex128,
    "b8": torch.bool,
    "bf16": torch.bfloat16,
    "u16": torch.uint16,
    "u32": torch.uint32,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
FORMATS = {
    "contiguous": torch.contiguous_format,
    "preserve": torch.preserve_format,
    "channels_last": torch.channels_last,
    "channels_last_3d": torch.channels_last_3d,
}

# Groups of element types.
INTS = "u8 i8 i16 i32 i64".split()
FLOATS = "f16 bf16 f32 f64".split()
ALL = ["b8", *INTS, *FLOATS, "c64"]
SOME = "b8 u8 i32 i64 f16 f32 c64".split()


def product(template, **choices):
    """Returns the template with `{name}` replaced by all combinations of choices, each a list or a string of words."""
    lists = [choice.split() if isinstance(choice, str) else choice for choice in choices.values()]
    return [template.format_map(dict(zip(choices, items))) for items in itertools.product(*lists)]


SHAPES = "[] [0] [1] [4] [2,3] [2,0,3] [1,1] [2,3,4] [2,3,4,5] [2,1,3,1,2]".split()
LAYOUTS = (
    "[2,3]{1,0} [2,3,4]{2,0,1} [2,3,4]{1,2,0} [2,3,4,5]{0,2,3,1} [2,3,4,5]{3,2,1,0} [2,3,4,5,6]{0,2,3,4,1}".split()
)
# Several dim_orders have the same strides where sizes are 1 or 0.
AMBIGUOUS = "[2,1,4,4]{0,2,3,1} [2,3,1,1]{0,2,3,1} [1,3,2,2]{0,2,3,1} [0,3,2,2]{0,2,3,1}".split()


def lines(text):
    """
    Returns the lines of a text, also separated by `|`.
    """
    return [case.strip() for line in text.splitlines() for case in line.split("|") if case.strip()]


def unary(rest="", dtypes=ALL, dtype="f32", layouts=True):
    """Returns cases of a tensor of each element type, shape and layout, followed by other arguments."""
    rest = " " + rest if rest else ""
    shapes = SHAPES + (LAYOUTS + AMBIGUOUS if layouts else [])
    return [f"{d}[2,3]{rest}" for d in dtypes] + [f"{dtype}{s}{rest}" for s in shapes]


BROADCASTS = """
    []:[] []:[2] [2,3]:[3] [3]:[2,3] [2,1]:[1,3] [2,3]:[1] [1]:[2,3] [0]:[1] [1]:[0] [2,0]:[1] [2,0]:[1,1]
    [2,0]:[3,1,1]
    [4,1,3]:[2,1] [2,3,4,5]:[3,1,1] [2,3,4,5]:[5] [1,2,1,2,1]:[2,1,2,1,2] [2,3]:[2] [2,3]:[3,2] [0]:[2] [2,3,4]:[2,3]
    [2,3]{1,0}:[2,3]{1,0} [2,3]{1,0}:[2,3] [2,3]:[2,3]{1,0} [2,3]{1,0}:[] []:[2,3]{1,0} [2,3]{1,0}:[3] [2,3]{1,0}:[1,1]
    [2,3,4,5]{0,2,3,1}:[2,3,4,5]{0,2,3,1} [2,3,4,5]{0,2,3,1}:[2,3,4,5] [2,3,4,5]:[2,3,4,5]{0,2,3,1}
    [2,3,4,5]{0,2,3,1}:[]
    [2,3,4,5]{0,2,3,1}:[5] [2,3,4,5]{0,2,3,1}:[1,3,1,1] [2,3,4,5]{0,2,3,1}:[3,1,1] [1,3,1,1]:[2,3,4,5]{0,2,3,1}
    [2,3,4,5]{0,2,3,1}:[1,3,1,1]{0,2,3,1} [2,3,4,5]{0,2,3,1}:[2,1,4,5] [2,3,4]{2,0,1}:[2,3,4]{1,2,0}
    [2,3,4,5,6]{0,2,3,4,1}:[2,3,4,5,6]{0,2,3,4,1} [2,1,4,4]{0,2,3,1}:[2,3,1,1] [2,1,4,4]:[2,3,4,4]{0,2,3,1}""".split()
CATEGORIES = "b8 u8 i16 i32 i64 f16 bf16 f32 f64 c64".split()


def binary(rest=""):
    """Returns cases of two tensors: all pairs of element types, of rank 0, of shapes that broadcast or not."""
    rest = " " + rest if rest else ""
    cases = product("{a}[2,3] {b}[2,3]" + rest, a=CATEGORIES, b=CATEGORIES)
    cases += product("{a}[3] {b}[]" + rest, a="b8 u8 i32 f16 f32 c64", b="b8 i8 i64 bf16 f64 c64")
    cases += product("{a}[] {b}[]" + rest, a="b8 u8 f16", b="i64 f32 c64")
    return cases + ["f32{} f32{}{}".format(*pair.split(":"), rest) for pair in BROADCASTS]


def with_scalar(rest="", scalars=("true", "2", "1.5")):
    """Returns cases of a tensor and a number."""
    rest = " " + rest if rest else ""
    cases = product("{d}[2,3] {s}" + rest, d=ALL, s=scalars)
    cases += product("{d}[] {s}" + rest, d="b8 i32 f16", s=scalars)
    return cases + product("f32{shape} 2" + rest, shape=SHAPES + LAYOUTS + AMBIGUOUS)


DIMS = """
        f32[2,3,4] [1]|f32[2,3,4] [-1]|f32[2,3,4] [0,2]|f32[2,3,4] [2,0]|f32[2,3,4] [0,1,2]|f32[2,3,4] []|f32[] []
        f32[] [0]|f32[] [-1]|f32[0] [0]|f32[2,0,3] [0]|f32[2,0,3] [1]|f32[2,0,3] [2]|f32[2,3] [2]|f32[2,3] [-3]
        f32[2,3] [0,0]|f32[2,3] [1,-1]|f32[] [1]|f32[2,3,4,5]{0,2,3,1} [1]|f32[2,3,4,5]{0,2,3,1} [2,3]
        f32[2,3,4,5]{0,2,3,1} [0]|f32[2,3,4]{2,0,1} [1]|f32[1,1,1] [1]|f32[2,3,4,5,6] [1,3]|f32[2,3,4,5]{3,2,1,0} [-2]
    """
DIMS = lines(DIMS)
OPTIONAL_DIMS = DIMS + ["f32[2,3,4] none", "f32[] none", "f32[0] none", "f32[2,3,4,5]{0,2,3,1} none"]
ONE_DIM = """
        f32[2,3,4] 0|f32[2,3,4] 1|f32[2,3,4] -1|f32[2,3,4] -3|f32[] 0|f32[] -1|f32[] 1|f32[0] 0|f32[2,0,3] 0
        f32[2,0,3] 1|f32[2,3] 2|f32[2,3] -3|f32[2,3,4,5]{0,2,3,1} 1|f32[2,3,4,5]{0,2,3,1} -1|f32[2,3,4,5]{0,2,3,1} 0
        f32[2,3,4]{2,0,1} 1|f32[1,1] 0|f32[2,3,4,5,6] 2|f32[2,3]{1,0} 0|f32[2,1,4,4]{0,2,3,1} 1
    """
ONE_DIM = lines(ONE_DIM)


def keepdim(cases):
    return [f"{case} {keep}" for case in cases for keep in ("false", "true")]


FACTORY_SIZES = "[] [0] [1] [4] [2,3] [2,0] [2,3,4] [2,3,4,5] [1,2,3,4,5] [-1] [2,-3]".split()
CASES = {}


def case(names, *groups):
    """Adds cases of operators, whose names lack `aten::` and may lack `.out`."""
    for name in names.split():
        if "::" not in name:
            name = "aten::" + name
        if "." not in name and name not in NO_OVERLOAD:
            name += ".out"
        CASES.setdefault(name, []).extend(itertools.chain.from_iterable(groups))


NO_OVERLOAD = {"aten::_local_scalar_dense", "aten::copy_", "aten::index_put_", "aten::sym_numel"}

# Elementwise.
case(
    """_conj_physical abs acos acosh alias_copy any.all_out asin asinh atan atanh bitwise_not ceil cos cosh
    detach_copy erf exp expm1 floor
    isinf isnan lift_fresh_copy log log10 log1p log2 logical_not max.unary_out min.unary_out neg nonzero
    reciprocal relu round rsqrt
    sigmoid sign sin sinh sqrt sym_numel t_copy tan tanh trunc et_copy::_d2h_copy.out et_copy::_h2d_copy.out""",
    unary(),
)
case("view_as_real_copy", unary(dtypes=[*ALL, "c128"], dtype="c64"))
case("_local_scalar_dense", product("{d}[]", d=ALL), lines("f32[1]|f32[1,1]|f32[2]|i64[2,3]"))
case(
    "gelu", unary(), unary('"tanh"', dtypes=["f16", "i32"], layouts=False)[:5], lines('f32[2] "none"|f32[2] "sigmoid"')
)
case("elu", unary(), lines("f32[2] 1.0 1 2.0|f16[2] 0.5 1.5|i32[2] 1 1 1|bf16[2] true"))
case("leaky_relu", unary(), lines("f32[2] 0.2|f16[2] 1|i64[2] 0.2|f32[2] true"))
case("hardtanh", unary(), lines("f32[2] 0.0 6.0|i32[2] 0 6|i32[2] 0.5 6.5|u8[2] 0 6|u8[2] -1 1|f16[2] 2 1|b8[2] 0 1"))
case("logit", unary(), unary("0.1", dtypes=SOME, layouts=False))
case(
    "clamp",
    product("{d}[2,3] {low} {high}", d=ALL, low="none 1 0.5", high="none 2 2.5"),
    lines("f32[2] true|i32[2] none true|f32[2] none none"),
    unary("0 1", dtypes=[]),
)
case(
    "clamp.Tensor_out",
    product("{d}[2,3] {a} {b}", d=SOME, a="none i64[3] f32[]", b="none f64[2,1] u8[]"),
    ["f32{} f32{} none".format(*pair.split(":")) for pair in BROADCASTS],
    ["f32{} none f32{}".format(*pair.split(":")) for pair in BROADCASTS[::4]],
    lines("f32[2,1,1] f32[3,1] f32[4]|f32[2] f32[3] f32[2]|f32[2] f32[2] f32[3]|b8[2] b8[2] b8[2]"),
)
case("fill.Scalar_out", with_scalar())
case(
    "fill.Tensor_out",
    product("{d}[2,3] {v}[]", d=ALL, v="b8 i64 f32"),
    product("f32{s} f32[]", s=SHAPES + LAYOUTS + AMBIGUOUS),
    lines("f32[2] f32[1]|f32[2] f32[2]"),
)
case(
    """add.out sub.out""",
    binary(),
    lines("""
        f32[2] f32[2] 2|f32[2] f32[2] 1.5|i32[2] i32[2] 2|i32[2] i32[2] 1.5|i32[2] f32[2] 1.5|b8[2] b8[2] true
        i32[2] i32[2] true|f16[2] i32[2] 0.5
    """),
)
case(
    "add.Scalar_out sub.Scalar_out rsub.Scalar_out",
    with_scalar(),
    lines("""
        f32[2] 1 2|f32[2] 1 1.5|i32[2] 1 2|i32[2] 1 1.5|i32[2] 1.5 2|b8[2] true true|i32[2] 2 true|f16[2] 1 0.5
    """),
)
case(
    "mul.Scalar_out div.Scalar_out fmod.Scalar_out remainder.Scalar_out eq.Scalar_out ge.Scalar_out "
    "gt.Scalar_out le.Scalar_out "
    "lt.Scalar_out ne.Scalar_out pow.Tensor_Scalar_out bitwise_and.Scalar_out bitwise_or.Scalar_out "
    "bitwise_xor.Scalar_out "
    "bitwise_left_shift.Tensor_Scalar_out bitwise_right_shift.Tensor_Scalar_out",
    with_scalar(),
)
case(
    "atan2 div.out eq.Tensor_out floor_divide fmod.Tensor_out ge.Tensor_out gt.Tensor_out le.Tensor_out "
    "logical_and logical_or "
    "logical_xor lt.Tensor_out maximum minimum mul.out ne.Tensor_out pow.Tensor_Tensor_out "
    "remainder.Tensor_out bitwise_and.Tensor_out "
    "bitwise_or.Tensor_out bitwise_xor.Tensor_out bitwise_left_shift.Tensor_out bitwise_right_shift.Tensor_out",
    binary(),
)
case(
    "pow.Scalar_out",
    product("{s} {d}[2,3]", d=ALL, s="true 2 1.5 1"),
    product("2 {d}[]", d="b8 i32 f16"),
    product("2 f32{s}", s=SHAPES + LAYOUTS + AMBIGUOUS),
)
MODES = 'none "floor" "trunc"'.split()
case(
    "div.out_mode",
    *[binary(mode) if mode == '"floor"' else product("{a}[2,3] {b}[2,3] " + mode, a=SOME, b=SOME) for mode in MODES],
    ['f32[2] f32[2] "round"'],
)
case(
    "div.Scalar_mode_out",
    *[
        with_scalar(mode) if mode == '"trunc"' else product("{a}[2,3] {s} " + mode, a=ALL, s="true 2 1.5")
        for mode in MODES
    ],
    ['f32[2] 2 "round"'],
)
case(
    "copy copy_",
    product("{a}[2,3] {b}[2,3]", a=ALL, b="b8 i64 f16 f32 c64"),
    ["f32{} f32{}".format(*p.split(":")) for p in BROADCASTS],
    lines("f32[2] f32[2] true"),
)
case(
    "where.self_out",
    product("b8[2,3] {a}[2,3] {b}[2,3]", a=SOME, b=SOME),
    product("{c}[2,3] f32[2,3] f32[2,3]", c=ALL),
    product("b8[3] {a}[3] {b}[]", a=SOME, b=SOME),
    ["b8[] f32{} f32{}".format(*p.split(":")) for p in BROADCASTS],
    ["b8{} f32{} f32[1]".format(*p.split(":")) for p in BROADCASTS],
    lines("b8[2,1] f32[3] f32[4,1,1]|b8[2] f32[3] f32[2]"),
)
case(
    "masked_fill.Scalar_out",
    product("{d}[2,3] b8[2,3] {s}", d=ALL, s="true 2 1.5"),
    product("f32[2,3] {m}[2,3] 1", m=ALL),
    ["f32{} b8{} 0".format(*p.split(":")) for p in BROADCASTS],
)
case(
    "masked_scatter",
    product("{d}[2,3] b8[2,3] {s}[6]", d=SOME, s=SOME),
    product("f32[2,3] {m}[2,3] f32[6]", m="u8 i64"),
    ["f32{} b8{} f32[100]".format(*p.split(":")) for p in BROADCASTS],
)
case(
    "masked_select",
    product("{d}[2,3] b8[2,3]", d=ALL),
    ["f32{} b8{}".format(*p.split(":")) for p in BROADCASTS],
    ["f32[2] u8[2]"],
)

# Reductions.
case(
    "amax amin",
    product("{d}[2,3] [1]", d=ALL),
    keepdim(DIMS),
    lines("f32[2,3]|i32[]|f32[0]|f32[2,3] 1|f32[2,3,4] -2 true"),
)
case("any.dims_out", product("{d}[2,3] [1]", d=ALL), keepdim(OPTIONAL_DIMS), lines("f32[2,3]|i32[]|b8[0]"))
case("any.out", product("{d}[2,3] 1", d=ALL), ONE_DIM, keepdim(ONE_DIM))
case(
    "argmax argmin",
    product("{d}[2,3] 1", d=ALL),
    keepdim(ONE_DIM),
    lines("""
        f32[2,3]|f32[] none|f32[0]|f32[2,3,4] none true|c64[2]|f32[2,3,4,5]{0,2,3,1} none true|f32[2,0] none
    """),
)
case("max.dim_max min.dim_min", product("{d}[2,3] 1", d=ALL), keepdim(ONE_DIM))
case(
    "cumsum",
    product("{d}[2,3] 1", d=ALL),
    ONE_DIM,
    product("{d}[2,3] 0 @{t}", d=SOME, t="b8 i32 f16 f32 c64"),
    product("f32{s} 0 none", s=LAYOUTS),
)
case(
    "mean.out",
    product("{d}[2,3] [1]", d=ALL),
    keepdim(OPTIONAL_DIMS),
    product("{d}[2,3] [1] false @{t}", d=SOME, t="i32 f16 f32 f64 c64"),
)
case(
    "sum.IntList_out",
    product("{d}[2,3] [1]", d=ALL),
    keepdim(OPTIONAL_DIMS),
    product("{d}[2,3] [1] false @{t}", d=SOME, t="b8 i32 f16 f32 f64 c64"),
    lines("f32[2,3] 1|f32[2,3] -2 true"),
)
case(
    "mean.dtype_out prod.out",
    product("{d}[2,3]", d=ALL),
    product("{d}[2,3] @{t}", d=SOME, t="b8 i32 f16 f32 c64"),
    product("f32{s} none", s=SHAPES + LAYOUTS),
)
case(
    "prod.int_out",
    product("{d}[2,3] 1", d=ALL),
    keepdim(ONE_DIM),
    product("{d}[2,3] 1 false @{t}", d=SOME, t="b8 i32 f16 f32 c64"),
)
case(
    "var.out",
    product("{d}[2,3] [1]", d=ALL),
    keepdim([f"{c} {u}" for c in OPTIONAL_DIMS for u in ("true", "false")]),
    ["f32[2,3] none"],
)
case(
    "var.correction_out var_mean.correction_out",
    product("{d}[2,3] [1]", d=ALL),
    keepdim([f"{c} {u}" for c in OPTIONAL_DIMS for u in ("none", "1")]),
    lines("f32[2,3]|f32[2,3] [1] 0.5|f32[2,3] [1] 0 true|f32[1] [0] 5|f16[2,3] none 1.0"),
)
case(
    "topk.values",
    product("{d}[2,3] 2", d=ALL),
    lines("""
        f32[2,3,4] 2 0|f32[2,3,4] 3 1 false|f32[2,3,4] 4 -1 true false|f32[2,3] 0|f32[2,3] 4|f32[2,3] -1|f32[] 1
        f32[] 2|f32[] 0|f32[0] 0|f32[0] 1|f32[2,3] 1 2|f32[2,3] 1 -3|f32[2,3,4,5]{0,2,3,1} 2 1|f32[2,3,4,5]{0,2,3,1} 2
        f32[2,0,3] 1 0|f32[2,3]{1,0} 1 0
    """),
)

# Normalization and dropout.
case("_softmax _log_softmax", product("{d}[2,3] 1 {h}", d=ALL, h="false true"), [c + " false" for c in ONE_DIM])
case(
    "native_dropout",
    product("{d}[2,3] 0.5 {t}", d=ALL, t="true false none"),
    product("f32{s} 0.5 {t}", s=SHAPES + LAYOUTS + AMBIGUOUS, t="true false"),
    lines("f32[2] 0.0 true|f32[2] 1.0 true"),
)
case(
    "native_layer_norm",
    product("{d}[2,3] [3] none none 0.1", d=ALL),
    product("{d}[2,3] [3] {w}[3] {w}[3] 0.1", d="f16 bf16 f32", w="f16 f32"),
    lines("""
        f32[2,3,4] [3,4] none none 0.1|f32[2,3,4] [2,3,4] none none 0.1|f32[2,3,4] [4] f32[4] none 0.1
        f32[2,3,4] [4] none f32[4] 0.1|f32[2,3,4] [4] f32[4] f32[4] 0.1|f32[2,3] [2] none none 0.1
        f32[2,3] [] none none 0.1|f32[] [] none none 0.1|f32[2,3] [3] f32[2] none 0.1|f32[0,3] [3] f32[3] f32[3] 0.1
        f32[2,0] [0] none none 0.1|f32[2,3,4,5]{0,2,3,1} [5] f32[5] f32[5] 0.1|f32[2,3]{1,0} [3] none none 0.1
        f32[2,3] [1,2,3] none none 0.1|f32[3] [3] f32[3] f32[3] 0.1|f32[2,3,4,5]{0,2,3,1} [3,4,5] none none 0.1
        f32[2,3] [-1] none none 0.1
    """),
)
case(
    "native_group_norm",
    product("{d}[2,4,3] none none 2 4 3 2 0.1", d=ALL),
    lines("""
        f32[2,4,3,5] none none 2 4 15 2 0.1|f32[2,4,3,5] f32[4] f32[4] 2 4 15 4 0.1
        f32[2,4,3,5] f32[4] none 2 4 15 1 0.1|f32[2,4,3,5]{0,2,3,1} f32[4] f32[4] 2 4 15 2 0.1
        f32[2,4] none none 2 4 1 2 0.1|f16[2,4,3] f32[4] f32[4] 2 4 3 2 0.1|f32[2,4,3] none none 2 4 3 3 0.1
        f32[2,4,3] none none 2 4 5 2 0.1|f32[2,4,3] f32[3] none 2 4 3 2 0.1|f32[0,4,3] none none 0 4 3 2 0.1
        f32[2,4,3] none none 2 4 3 0 0.1|f32[2,4,0] none none 2 4 0 2 0.1|bf16[2,4,3,5,6] bf16[4] bf16[4] 2 4 90 4 0.1
    """),
)
for legit in [True, False]:
    statistics = " f32[3] f32[3]" if legit else ""
    case(
        "_native_batch_norm_legit.out" if legit else "_native_batch_norm_legit.no_stats_out",
        product("{d}[2,3,4] none none" + statistics + " {t} 0.1 0.01", d=ALL, t="true false"),
        product(
            "{x} {w} f32[3]" + statistics + " {t} 0.1 0.01",
            x="f32[2,3] f32[2,3,4,5] f32[2,3,4,5]{0,2,3,1} f32[2,3,4,5,6] f32[0,3] "
            "f32[2,3]{1,0} f16[2,3,4] f32[1,3,1,1]",
            w=["none", "f32[3]"],
            t="true false",
        ),
        lines(f"""
        f32[3] none none{statistics} true 0.1 0.01|f32[] none none{statistics} true 0.1 0.01
        f32[2,4] none none{statistics} true 0.1 0.01|f32[2,3] f32[2] none{statistics} false 0.1 0.01
        f32[2,3] none f32[2]{statistics} true 0.1 0.01
    """),
    )
case(
    "_native_batch_norm_legit_no_training",
    product("{d}[2,3,4] none none f32[3] f32[3] 0.1 0.01", d=ALL),
    product(
        "{x} {w} f32[3] f32[3] f32[3] 0.1 0.01",
        x="f32[2,3] f32[2,3,4,5] f32[2,3,4,5]{0,2,3,1} f32[2,3,4,5,6] f32[0,3] f32[2,3]{1,0} "
        "f16[2,3,4] f32[1,3,1,1] f32[2,3,1,1]{0,2,3,1} f32[3] f32[] f32[2,4]",
        w="none f32[3]",
    ),
    lines("""
        f16[2,3] f16[3] f16[3] f16[3] f16[3] 0.1 0.01|f32[2,3] none none f32[2] f32[2] 0.1 0.01
        f16[2,3] f16[3] f16[3] f32[3] f32[3] 0.1 0.01
        """),
)

# Creation.
case(
    "empty",
    FACTORY_SIZES,
    product(
        "{s} {m}",
        s="[2,3] [2,3,4,5] [2,3,4,5,6] [1,3,1,1]",
        m="none contiguous preserve channels_last channels_last_3d",
    ),
)
case("ones rand randn zeros", FACTORY_SIZES)
case("full", product("{s} {v}", s=FACTORY_SIZES, v="true 2 1.5"), lines("3 1"))
case(
    "full_like",
    with_scalar(),
    product("f32{s} 1 {m}", s=["[2,3,4,5]", *LAYOUTS], m="none contiguous preserve channels_last"),
    ["i32[2] 1.5 none"],
)
case("scalar_tensor", lines("1|0|-3|1.5|true|false|inf|-0.0|9223372036854775807|1e300"))
case("arange.out", lines("0|1|5|-1|2.5|5.0|0.0|-0.5|1e3|true|100|0.1"))
case(
    "arange.start_out",
    lines("""
        0 5|1 5|0 5 2|5 0 -1|5 0 -2|0 1.0 0.25|0 5 0|0 -1|5 0|0.5 3|0 3.5|0 10 3|1.5 2.5 0.1|0 0|0.0 5 1|2 8 2.5|-3 3
        0 5 -1|3 3 1|1 10 4|0 1 0.1|true 5
    """),
)
case(
    "_to_copy clone",
    unary(),
    product(
        "f32{s} " + "{m}",
        s=["[2,3,4,5]", "[2,3]", *LAYOUTS, *AMBIGUOUS],
        m="none contiguous preserve channels_last channels_last_3d",
    ),
)
CASES["aten::_to_copy.out"] = [
    c if i < len(unary()) else c.replace("} ", "} false ").replace("] ", "] false ")
    for i, c in enumerate(CASES["aten::_to_copy.out"])
] + ["f32[2] true"]
ORDERS = [
    f"{sizes} {order}"
    for sizes, orders in [
        ("[]", "none []"),
        ("[2,3]", "none [0,1] [1,0]"),
        ("[2,3,4]", "none [0,1,2] [2,0,1]"),
        ("[2,3,4,5]", "none [0,1,2,3] [0,2,3,1] [0,3,1,2]"),
        ("[1,3,1,1]", "none [0,1,2,3] [0,2,3,1]"),
        ("[2,3,4,5,6]", "[0,1,2,3,4]"),
    ]
    for order in orders.split()
]
for name in ["_clone_dim_order", "_to_dim_order_copy"]:
    case(
        f"dim_order_ops::{name}.out",
        unary(),
        lines("f32[2] true|f32[2] false none"),
        ["f32" + c.replace(" ", " false ") for c in ORDERS],
        product(
            "f32{s} false {o}",
            s=[s for s in LAYOUTS + AMBIGUOUS if s.count(",") == 6],
            o="none [0,1,2,3] [0,2,3,1] [3,2,1,0]",
        ),
        product("f32[2,3]{{1,0}} false {o}", o="none [0,1] [1,0]"),
    )
case("dim_order_ops::_empty_dim_order.out", FACTORY_SIZES, ORDERS)

# Indexing.
case(
    "index_select",
    product("{d}[2,3] 1 {i}[2]", d=ALL, i="i64 i32"),
    product("f32[2,3,4] {dim} i64[5]", dim="0 1 2 -1 3 -4"),
    lines("""
        f32[2,3] 0 f32[2]|f32[2,3] 0 i64[]|f32[2,3] 0 i64[0]|f32[2,3] 0 i64[2,2]|f32[] 0 i64[1]|f32[] 0 i64[]
        f32[2,3,4,5]{0,2,3,1} 1 i64[2]|f32[2,3]{1,0} 0 i64[2]|f32[0,3] 1 i64[2]
    """),
)
case(
    "gather",
    product("{d}[2,3] 1 i64[2,2]", d=ALL),
    lines("""
        f32[2,3] 0 i64[5,3]|f32[2,3] 0 i64[5,4]|f32[2,3] 1 i64[3,3]|f32[2,3] -1 i64[1,1] true|f32[2,3] 2 i64[2,3]
        f32[2,3] -3 i64[2,3]|f32[2,3] 0 i32[1,1]|f32[2,3] 0 f32[1,1]|f32[2,3] 0 i64[1]|f32[] 0 i64[]|f32[] 0 i64[1]
        f32[2,3] 0 i64[0]|f32[2,3] 0 i64[0,3]|f32[2,3,4,5]{0,2,3,1} 1 i64[2,2,2,2]|f32[2,3]{1,0} 0 i64[2,3]{1,0}
        f32[2,3]{1,0} 0 i64[2,3]|f32[2,3] 0 i64[2,3]{1,0}|f32[4] 0 i64[7]|f32[3] 0 i64[]
    """),
)
SCATTER = """
        f32[2,3] 0 i64[1,2] SRC[2,3]|f32[2,3] 1 i64[2,3] SRC[2,3]|f32[2,3] -1 i64[1,1] SRC[1,1]
        f32[2,3] 2 i64[1,1] SRC[1,1]|f32[2,3] -3 i64[1,1] SRC[1,1]|f32[2,3] 0 i64[3,3] SRC[3,3]
        f32[2,3] 0 i64[2,4] SRC[2,4]|f32[2,3] 0 i64[2,3] SRC[1,3]|f32[2,3] 0 i64[2] SRC[2]
        f32[2,3] 0 i32[1,1] SRC[1,1]|f32[] 0 i64[] SRC[]|f32[2,3] 0 f32[1,1] SRC[1,1]|f32[2,3] 0 i64[0,3] SRC[2,3]
        f32[2,3,4,5]{0,2,3,1} 1 i64[1,1,1,1] SRC[2,3,4,5]|f32[2,3]{1,0} 0 i64[1,1] SRC[1,1]|f32[3] 0 i64[1] SRC[1]
        f32[] 0 i64[1] SRC[1]|f32[4] 0 i64[7] SRC[7]|f32[2,0] 0 i64[0,0] SRC[0,0]
    """
case(
    "scatter.src_out scatter_add",
    product("{d}[2,3] 1 i64[2,2] {d}[2,2]", d=ALL),
    product("f32[2,3] 1 i64[2,2] {d}[2,2]", d=SOME),
    lines(SCATTER.replace("SRC", "f32")),
)
case(
    "scatter.value_out",
    product("{d}[2,3] 1 i64[2,2] {v}", d=ALL, v="true 2 1.5"),
    lines(re.sub(r"SRC\[[\d,]*\]", "1", SCATTER)),
)
INDEX = lines("""
        f32[2,3,4] <i64[5]>|f32[2,3,4] <i64[5];i64[5]>|f32[2,3,4] <none;i64[5]>|f32[2,3,4] <none;none;i64[5]>
        f32[2,3,4] <i64[5];none;i64[5]>|f32[2,3,4] <i64[5,1];i64[6]>|f32[2,3,4] <none;i64[5,6]>
        f32[2,3,4] <none;i64[5,1];i64[6]>|f32[2,3,4] <i64[]>|f32[2,3,4] <i64[];none;i64[5]>|f32[2,3,4] <i64[0]>
        f32[2,3,4] <none;none>|f32[2,3,4] <i64[5];i64[4]>|f32[2] <i64[1];i64[1]>|f32[2,3] <f32[2]>|f32[2,3] <i32[4]>
        f32[2,3] <i32[4];i64[4]>|f32[2,3,4,5] <none;i64[6];none;i64[6]>|f32[2,3,4,5] <none;i64[6];i64[6]>
        f32[2,3,4,5] <i64[6];none;none;i64[6]>|f32[2,3,4,5]{0,2,3,1} <i64[6]>|f32[2,3,4,5]{0,2,3,1} <none;i64[6]>
        f32[2,3]{1,0} <i64[4]>|f32[2,3]{1,0} <none;i64[4]>|f32[] <i64[1]>|f32[2,3] <i64[2];none>|f32[0,3] <i64[0]>
        f32[2,3,4,5]{0,2,3,1} <none;i64[6];i64[6]>|f32[2,3,4]{2,0,1} <none;i64[5]>
        f32[2,3,4,5]{0,2,3,1} <none;none;i64[6];i64[6]>|f32[2,3] <i16[2]>|f32[2,0,3] <i64[2]>
        f32[2,3,4] <i64[2,2]{1,0}>|f32[2,3,4]{2,0,1} <i64[2,2]{1,0}>
    """)
MASKS = lines("""
        f32[2,3] <b8[2]>|f32[2,3] <b8[2,3]>|f32[2,3] <none;b8[3]>|f32[2,3] <b8[3]>|f32[] <b8[]>
        f32[2,3] <b8[2];i64[4]>|f32[2,3,4] <b8[2,3];none>
    """)
case("index.Tensor_out", product("{d}[2,3] <i64[4]>", d=ALL), INDEX, MASKS)
case(
    "index_put index_put_",
    product("{d}[2,3] <i64[4]> {d}[4,3]", d=ALL),
    product("f32[2,3] <i64[4]> {d}[]", d=SOME),
    [c + " f32[]" for c in INDEX + MASKS],
    lines("""
        f32[2,3] <i64[4]> f32[3] true|f32[2,3] <i64[4]> f32[4,1]|f32[2,3] <i64[4]> f32[5]
        f32[2,3] <none;i64[4]> f32[2,1]|f32[2,3,4] <i64[5];i64[5]> f32[5,4] true
        """),
)
case(
    "embedding",
    product("{d}[5,3] i64[2]", d=ALL),
    product("f32[5,3] {i}[2]", i=ALL),
    lines("""
        f32[5,3] i64[]|f32[5,3] i64[2,4]|f32[5,3] i64[2,4,6]|f32[5,3] i64[0]|f32[5] i64[2]|f32[5,3,2] i64[2]
        f32[5,3] i64[2] 1|f32[5,3] i64[2] -1 true|f32[5,3] i64[2] -1 false true|f32[5,0] i64[2]|f32[0,3] i64[2]
        f32[5,3]{1,0} i64[2]|f32[5,3] i64[2,4]{1,0}|f32[] i64[2]|f32[5,3] i64[2] 7
    """),
)
case(
    "repeat_interleave.Tensor_out",
    lines("""
        i64[3]|i64[0]|i32[3]|i64[3] none|i64[3] 7|i32[3] 7|i64[3] 0|i64[0] 0|i64[2,2] 4|i64[] 1|f32[3] 7|i64[3] -1
        u8[3] 3
    """),
)
case(
    "select_copy.int_out",
    product("{d}[2,3] 1 0", d=ALL),
    [c + " 0" for c in ONE_DIM],
    lines("f32[2,3] 1 2|f32[2,3] 1 3|f32[2,3] 1 -3|f32[2,3] 1 -4|f32[2,3] 0 -2"),
)
case(
    "select_scatter",
    product("{d}[2,3] {s}[2] 1 0", d=SOME, s=SOME),
    lines("""
        f32[2,3,4] f32[3,4] 0 1|f32[2,3,4] f32[2,4] -2 2|f32[2,3,4] f32[2,3] 2 -1|f32[2,3] f32[3] 0 2
        f32[2,3] f32[3] 0 -3|f32[2,3] f32[2] 0 0|f32[2,3] f32[] 0 0|f32[2,3] f32[1] 0 0|f32[2,3] f32[3] 2 0
        f32[] f32[] 0 0|f32[2,3,4,5]{0,2,3,1} f32[2,4,5] 1 0|f32[2,3]{1,0} f32[3] 0 0|f32[0,3] f32[0] 1 0
        f32[0,3] f32[3] 0 0
    """),
)
SLICE = """
        0|1|-1|2|-3|0 1|0 none 1|0 1 2|1 1 3|1 -2|1 0 -1|1 0 9223372036854775807|1 none none 2|1 0 3 2|1 2 1|1 5|1 -9
        1 0 9|1 -9 9|1 0 3 0|1 0 3 -1|-1 1 2 1|1 0 0|1 1 3 5|1 3 3|1 none -1
    """
case(
    "slice_copy.Tensor_out",
    product("{d}[2,3] 1 0 2", d=ALL),
    [f"f32[2,3] {c}" for c in lines(SLICE)],
    lines("""
        f32[2,3]|f32[]|f32[] 0|f32[0]|f32[0] 0 0 1|f32[2,3,4,5]{0,2,3,1} 1 0 2|f32[2,3,4,5]{0,2,3,1} 0 1
        f32[2,3,4,5]{0,2,3,1} 3 0 5 2|f32[2,3]{1,0} 1 1|f32[2,3,4]{2,0,1} 0 0 1|f32[2,3,4,5]{0,2,3,1} 1 0 1
    """),
)
case(
    "slice_scatter",
    product("{d}[2,3] {s}[2,2] 1 0 2", d=SOME, s=SOME),
    lines("""
        f32[2,3] f32[2,3]|f32[2,3] f32[1,3] 0 1|f32[2,3] f32[2,2] 1 0 3 2|f32[2,3] f32[2,2] 1 0 1
        f32[2,3] f32[2,2] -1 1|f32[2,3] f32[3] 0|f32[2,3] f32[] 0|f32[2,3] f32[2,1] 1|f32[2,3] f32[2,3] 2
        f32[2,3] f32[2,0] 1 2 1|f32[2,3] f32[2,3] 1 0 3 0|f32[2,3]{1,0} f32[2,3]
        f32[2,3,4,5]{0,2,3,1} f32[2,1,4,5] 1 0 1|f32[] f32[] 0|f32[2,3] f32[2,3] 1 none none -1
        f32[2,3] f32[2,3] 1 -9 9
    """),
)
case(
    "narrow_copy",
    product("{d}[2,3] 1 0 2", d=ALL),
    lines("""
        f32[2,3] 0 1 1|f32[2,3] 1 1 2|f32[2,3] 1 2 2|f32[2,3] 1 -1 1|f32[2,3] 1 -4 1|f32[2,3] 1 0 0|f32[2,3] 1 0 -1
        f32[2,3] 2 0 1|f32[2,3] -1 0 3|f32[2,3] 1 3 0|f32[2,3] 1 4 0|f32[] 0 0 1|f32[2,3,4,5]{0,2,3,1} 1 0 2
        f32[2,3]{1,0} 0 0 1|f32[0,3] 1 0 2|f32[2,3,4,5]{0,2,3,1} 1 1 1
    """),
)
case(
    "as_strided_copy",
    product("{d}[2,3] [2,2] [1,2]", d=ALL),
    lines("""
        f32[6] [2,3] [3,1]|f32[6] [3,2] [1,3]|f32[6] [] []|f32[6] [2] [1] 3|f32[6] [2,2] [0,1]|f32[6] [0] [1]
        f32[6] [7] [1]|f32[6] [2] [1] 5|f32[6] [2,3] [1]|f32[6] [-1] [1]|f32[6] [2] [-1]
        f32[2,3,4,5]{0,2,3,1} [2,2] [1,2]|f32[6] [2] [1] none|f32[6] [2] [1] -1|f32[2,3] [2,1,3] [3,3,1]|f32[] [1] [1]
    """),
)
case(
    "diagonal_copy",
    product("{d}[2,3]", d=ALL),
    lines("""
        f32[3,3] 1|f32[3,3] -1|f32[3,3] 3|f32[3,3] 4|f32[3,3] -9|f32[2,3,4] 0 1 2|f32[2,3,4] 0 -1 0|f32[2,3,4] 1 2 1
        f32[2,3,4] 0 1 1|f32[2] 0|f32[] 0|f32[2,3] 0 0 2|f32[2,3] 0 -3 0|f32[2,3,4,5]{0,2,3,1} 0 2 3|f32[0,3]
        f32[2,3,4,5]{0,2,3,1}|f32[2,3]{1,0} 1
    """),
)
case("flip", product("{d}[2,3] [0]", d=ALL), DIMS, product("f32{s} [0]", s=LAYOUTS))
case(
    "roll",
    product("{d}[2,3] [1] [0]", d=ALL),
    product("f32{s} [1]", s=SHAPES + LAYOUTS),
    lines("""
        f32[2,3] [1,2] [0,1]|f32[2,3] [1] []|f32[2,3] [1,2]|f32[2,3] [1] [0,1]|f32[2,3] [] []|f32[2,3] [1] [2]
        f32[2,3] [1] [-1]|f32[2,3] [1] [-3]|f32[2,3] [1,1] [0,0]|f32[] [1] [0]|f32[2,3,4,5]{0,2,3,1} [1] [1]
        f32[0] [1] [0]
    """),
)
case(
    "tril",
    product("{d}[2,3]", d=ALL),
    product("f32{s} 1", s=SHAPES + LAYOUTS),
    lines("f32[3,3] -1|f32[3,3] 5|f32[3]|f32[]"),
)

# Matrix products.
case(
    "mm",
    product("{d}[2,3] {d}[3,4]", d=ALL),
    product("{a}[2,3] {b}[3,4]", a="f16 f32 i64", b="f16 f32 i64"),
    lines("""
        f32[2,0] f32[0,3]|f32[0,2] f32[2,3]|f32[2,3] f32[2,3]|f32[2] f32[2,3]|f32[2,3] f32[3]|f32[1,2,3] f32[3,4]
        f32[1,1] f32[1,1]|f32[2,3]{1,0} f32[3,4]|f32[2,3] f32[3,4]{1,0}|f32[2,3]{1,0} f32[3,4]{1,0}|f32[2,3] f32[1,4]
    """),
)
case(
    "bmm",
    product("{d}[2,3,4] {d}[2,4,5]", d=ALL),
    lines("""
        f32[2,3,4] f16[2,4,5]|f32[2,3,4] f32[1,4,5]|f32[2,3,4] f32[2,3,5]|f32[2,3] f32[3,4]|f32[2,3,4] f32[4,5]
        f32[0,3,4] f32[0,4,5]|f32[2,3,0] f32[2,0,5]|f32[2,3,4]{0,2,1} f32[2,4,5]|f32[2,3,4] f32[2,4,5]{0,2,1}
        f32[2,3,4]{2,0,1} f32[2,4,5]{1,0,2}|f32[2,0,4] f32[2,4,5]
    """),
)
case(
    "addmm",
    product("{d}[4] {d}[2,3] {d}[3,4]", d=ALL),
    lines("""
        f32[2,4] f32[2,3] f32[3,4]|f32[] f32[2,3] f32[3,4]|f32[1,4] f32[2,3] f32[3,4]|f32[2,1] f32[2,3] f32[3,4]
        f32[3] f32[2,3] f32[3,4]|f32[4] f32[2,3] f32[2,4]|f32[4] f32[2] f32[2,4]|f32[4] f32[2,3] f32[3,4] 2
        f32[4] f32[2,3] f32[3,4] 0.5 2.5|f32[4] f32[2,0] f32[0,4]|f16[4] f32[2,3] f32[3,4]|f32[4] f32[2,3] f16[3,4]
        f32[2,4]{1,0} f32[2,3] f32[3,4]|f32[4] f32[2,3]{1,0} f32[3,4]{1,0}|f32[1,2,4] f32[2,3] f32[3,4]
        f32[4] f32[0,3] f32[3,4]|i32[4] i32[2,3] i32[3,4] 1.5 1.5|f32[1] f32[2,3] f32[3,4]
    """),
)
case(
    "linear",
    product("{d}[2,3] {d}[4,3] {d}[4]", d=ALL),
    product("f32{x} f32[4,3] {b}", x="[3] [2,3] [5,2,3] [6,5,2,3] [0,3] [2,0,3] [2] [] [2,4]", b="none f32[4]"),
    lines("""
        f32[2,3] f32[4,3]|f32[2,3] f32[3]|f32[3] f32[3]|f32[2,3] f32[3] f32[1]|f32[2,3] f32[4,3] f32[1]
        f32[2,3] f32[4,3] f32[3]|f32[2,3] f32[4,3] f32[]|f32[2,3] f16[4,3]|f32[2,3]{1,0} f32[4,3]
        f32[2,3] f32[4,3]{1,0}|f32[2,3,4,5]{0,2,3,1} f32[6,5]|f32[2,3,4,5]{0,2,3,1} f32[6,5] f32[6]
        f32[2,3,4]{2,0,1} f32[6,4]|f32[2,3] f32[1,4,3]|f32[2,3] f32[0,3]|f32[2,0] f32[4,0] f32[4]
        f32[2,3] f32[4,3] f32[2,4]|f32[2,3] f32[4,3] f16[4]
    """),
)
case(
    "_cdist_forward",
    product("{d}[5,3] {d}[4,3] 2.0 none", d=ALL),
    lines("""
        f32[2,5,3] f32[2,4,3] 2.0 0|f32[1,5,3] f32[2,4,3] 1.0 1|f32[2,5,3] f32[4,3] 2.0 2|f32[5,3] f32[4,2] 2.0 none
        f32[3] f32[4,3] 2.0 none|f32[0,3] f32[4,3] 2.0 none|f32[5,0] f32[4,0] 2.0 none
        f32[2,1,5,3] f32[3,4,3] inf none|f32[2,5,3] f32[3,4,3] 2.0 none|f32[5,3] f32[4,3] -1.0 none
        f32[5,3] f32[4,3] 0.0 3|f32[5,3] f64[4,3] 2.0 none|f32[5,3]{1,0} f32[4,3] 2.0 none
        f32[2,5,3]{2,0,1} f32[2,4,3] 2.0 none
    """),
)
case(
    "_pdist_forward",
    product("{d}[5,3] 2.0", d=ALL),
    lines(
        "f32[5,3]|f32[1,3]|f32[0,3]|f32[2,3] 1.0|f32[5,0]|f32[5]|f32[5,3,2]|f32[5,3]{1,0}|f32[5,3] inf|f32[5,3] -1.0"
    ),
)

# Convolution: input, weight, bias, stride, padding, dilation, transposed, output_padding, groups.
CONV = lines("""
        f32[1,2,8] f32[4,2,3] none [1] [0] [1] false [0] 1|f32[1,2,8] f32[4,2,3] f32[4] [2] [1] [1] false [0] 1
        f32[1,2,8] f32[4,1,3] none [1] [0] [2] false [0] 2
        f32[1,2,8,9] f32[4,2,3,3] none [1,1] [0,0] [1,1] false [0,0] 1
        f32[1,2,8,9] f32[4,2,3,3] f32[4] [2,1] [1,0] [1,2] false [0,0] 1
        f32[3,4,8,9] f32[4,1,3,3] f32[4] [1,1] [1,1] [1,1] false [0,0] 4
        f32[3,4,8,9] f32[6,2,3,2] none [3,2] [2,1] [2,3] false [0,0] 2
        f32[1,2,8,9] f32[4,2,3,3] none [2] [1] [1] false [0] 1
        f32[1,2,6,7,8] f32[4,2,3,3,3] none [1,1,1] [0,0,0] [1,1,1] false [0,0,0] 1
        f32[1,2,6,7,8] f32[4,2,1,2,3] f32[4] [1,2,3] [0,1,2] [1,1,2] false [0,0,0] 1
        f32[2,3,5,5]{0,2,3,1} f32[4,3,3,3] none [1,1] [0,0] [1,1] false [0,0] 1
        f32[2,3,5,5] f32[4,3,3,3]{0,2,3,1} none [1,1] [0,0] [1,1] false [0,0] 1
        f32[2,3,5,5]{0,2,3,1} f32[4,3,3,3]{0,2,3,1} f32[4] [1,1] [0,0] [1,1] false [0,0] 1
        f32[2,4,5,5]{0,2,3,1} f32[4,1,3,3] f32[4] [1,1] [0,0] [1,1] false [0,0] 4
        f32[2,3,5,5]{0,2,3,1} f32[4,3,5,5] none [1,1] [0,0] [1,1] false [0,0] 1
        f32[2,3,5,6,7]{0,2,3,4,1} f32[4,3,2,2,2] none [1,1,1] [0,0,0] [1,1,1] false [0,0,0] 1
        f32[2,3,5,5]{3,2,1,0} f32[4,3,3,3] none [1,1] [0,0] [1,1] false [0,0] 1
        f32[2,3,8]{0,2,1} f32[4,3,3] none [1] [0] [1] false [0] 1|f32[1,2,8] f32[2,4,3] none [1] [0] [1] true [0] 1
        f32[1,2,8] f32[2,4,3] f32[4] [2] [1] [1] true [1] 1|f32[1,4,8] f32[4,3,3] f32[6] [2] [1] [2] true [1] 2
        f32[1,2,8,9] f32[2,4,3,3] none [1,1] [0,0] [1,1] true [0,0] 1
        f32[1,2,8,9] f32[2,4,3,2] f32[4] [2,3] [1,0] [1,2] true [1,2] 1
        f32[1,4,8,9] f32[4,1,3,3] none [2,2] [1,1] [1,1] true [0,1] 4
        f32[1,2,8,9]{0,2,3,1} f32[2,4,3,3] none [1,1] [0,0] [1,1] true [0,0] 1
        f32[1,2,3,4,5] f32[2,4,3,3,3] none [2,1,1] [0,1,0] [1,1,1] true [1,0,0] 1
        f32[0,2,8,9] f32[4,2,3,3] none [1,1] [0,0] [1,1] false [0,0] 1
        f32[2,8,9] f32[4,2,3,3] none [1,1] [0,0] [1,1] false [0,0] 1
        f32[2,8] f32[4,2,3] f32[4] [1] [0] [1] false [0] 1|f32[2,8,9] f32[2,4,3,3] none [1,1] [0,0] [1,1] true [0,0] 1
        f32[1,2,8] f32[4,2,9] none [1] [0] [1] false [0] 1|f32[1,2,8] f32[4,3,3] none [1] [0] [1] false [0] 1
        f32[1,2,8] f32[4,2,3] f32[3] [1] [0] [1] false [0] 1|f32[1,2,8] f32[4,2,3] none [0] [0] [1] false [0] 1
        f32[1,2,8] f32[4,2,3] none [1] [-1] [1] false [0] 1|f32[1,2,8] f32[4,2,3] none [1] [0] [0] false [0] 1
        f32[1,2,8] f32[4,2,3] none [1,1] [0] [1] false [0] 1|f32[1,2,8] f32[4,2,3] none [1] [0] [1] false [0] 0
        f32[1,2,8] f32[3,1,3] none [1] [0] [1] false [0] 2|f32[1,2] f32[4,2] none [] [] [] false [] 1
        f32[1,2,8] f32[4,2,3] none [1] [0] [1] false [1] 1|f32[1,2,8] f32[2,4,3] none [2] [0] [1] true [2] 1
        f32[1,2,8] f32[4,2,3] f32[4,1] [1] [0] [1] false [0] 1|f32[1,2,8,9] f32[4,2,3] none [1] [0] [1] false [0] 1
        f32[1,3,8] f32[2,4,3] none [1] [0] [1] true [0] 1|f32[1,2,8] f32[4,2,3] f16[4] [1] [0] [1] false [0] 1
        f32[1,2,8] f16[4,2,3] none [1] [0] [1] false [0] 1
        f32[1,2,1,1]{0,2,3,1} f32[4,2,1,1] none [1,1] [0,0] [1,1] false [0,0] 1
        f32[2,1,5,5]{0,2,3,1} f32[4,1,3,3] none [1,1] [0,0] [1,1] false [0,0] 1
        f32[1,2,8,8] f32[4,2,1,1] none [1,1] [0,0] [1,1] false [0,0] 1
        f32[2,3,5,5] f32[4,3,1,1] none [1,1] [0,0] [1,1] false [0,0] 1
        f32[1,0,8] f32[4,0,3] none [1] [0] [1] false [0] 1|f32[1,2,8] f32[0,2,3] none [1] [0] [1] false [0] 1
    """)
case("convolution", product("{d}[1,2,8] {d}[4,2,3] {d}[4] [1] [0] [1] false [0] 1", d=ALL), CONV)
BACKWARD = lines("""
        f32[1,4,6] f32[1,2,8] f32[4,2,3] [4] [1] [0] [1] false [0] 1
        f32[1,4,6,7] f32[1,2,8,9] f32[4,2,3,3] [4] [1,1] [0,0] [1,1] false [0,0] 1
        f32[1,4,10] f32[1,2,8] f32[2,4,3] [4] [1] [0] [1] true [0] 1
        f32[1,4,6,7] f32[1,2,8,9] f32[4,2,3,3] none [1,1] [0,0] [1,1] false [0,0] 1
        f32[2,4,3,3]{0,2,3,1} f32[2,3,5,5]{0,2,3,1} f32[4,3,3,3] [4] [1,1] [0,0] [1,1] false [0,0] 1
        f32[1,4,3] f32[1,4,6] f32[4,1,3] [0] [2] [1] [1] false [0] 4
        f32[2,4,3,3] f32[2,3,5,5] f32[4,3,3,3]{0,2,3,1} [4] [1,1] [0,0] [1,1] false [0,0] 1
        f32[1,4,5,5,5] f32[1,2,6,6,6] f32[4,2,2,2,2] [4] [1,1,1] [0,0,0] [1,1,1] false [0,0,0] 1
    """)
case(
    "convolution_backward",
    product("{c} {m}", c=BACKWARD, m="[true,true,true] [true,false,false] [false,true,true] [false,false,true]"),
    product("{d}[1,4,6] {d}[1,2,8] {d}[4,2,3] [4] [1] [0] [1] false [0] 1 [true,true,true]", d="f16 bf16 f64"),
)

# Pooling and resampling.
POOLS = """
    [1,2,8,9] [2,8,9] [1,2,8,9]{0,2,3,1} [2,3,8,9]{0,2,3,1} [0,2,8,9] [2,0,8,9] [1,2,0,9] [8,9] [1,1,2,8,9]
    [2,3,8,9]{3,2,1,0} [2,1,8,9]{0,2,3,1} [2,3,2,2]{0,2,3,1}
""".split()
POOL = lines("""
    [2,2]|[3,3] [2,2]|[3,2] [2,1] [1,1]|[2]|[3] [2] [1]|[2,2] []|[2,2] [1,1] [2,2]|[9,9]|[2,2] [0,0]
    [2,2] [1,1] [-1,0]|[2,2,2]|[0,2]|[2,2] [1,1,1]|[8,9]|[2,2] [3,3] [1,1]|[]|[2,2] [1]
    """)
case(
    "avg_pool2d",
    product("{d}[1,2,8,9] [2,2]", d=ALL),
    product("f32{s} [2,2]", s=POOLS),
    product("f32[1,2,8,9] {p}", p=POOL),
    product("f32[1,2,{h},{w}] [{k},{k}] [{s},{s}] [1,1] {c}", h="7 8", w="5 6", k="2 3", s="1 2 3", c="true false"),
    lines("""
        f32[1,2,8,9] [2,2] [2,2] [0,0] true false|f32[1,2,8,9] [2,2] [2,2] [0,0] false true 3
        f32[1,2,8,9] [2,2] [2,2] [0,0] false true 0|f32[1,2,8,9] [2,2] [2,2] [0,0] false true none
        """),
)
case(
    "max_pool2d_with_indices",
    product("{d}[1,2,8,9] [2,2]", d=ALL),
    product("f32{s} [2,2]", s=POOLS),
    product("f32[1,2,8,9] {p}", p=POOL),
    product("f32[1,2,{h},6] [3,2] [{s},2] [1,1] [{d},1] {c}", h="7 8 9", s="1 2 3", d="1 2", c="true false"),
    lines("f32[1,2,8,9] [2,2] [1,1] [0,0] [0,1]|f32[1,2,8,9] [2,2] [1,1] [0,0] [2]|f32[1,2,8,9] [2,2] [] [0,0] [4,5]"),
)
case(
    "max_pool2d_with_indices_backward.grad_input",
    product("{d}[1,2,4,4] {d}[1,2,8,8] [2,2] [2,2] [0,0] [1,1] false i64[1,2,4,4]", d=ALL),
    lines("""
        f32[2,4,4] f32[2,8,8] [2,2] [2,2] [0,0] [1,1] false i64[2,4,4]
        f32[1,2,5,5] f32[1,2,9,9] [2,2] [2,2] [0,0] [1,1] true i64[1,2,5,5]
        f32[1,2,3,3] f32[1,2,8,8] [2,2] [2,2] [0,0] [1,1] false i64[1,2,3,3]
        f32[2,3,4,4]{0,2,3,1} f32[2,3,8,8]{0,2,3,1} [2,2] [2,2] [0,0] [1,1] false i64[2,3,4,4]{0,2,3,1}
        f32[2,3,4,4] f32[2,3,8,8]{0,2,3,1} [2,2] [] [0,0] [1,1] false i64[2,3,4,4]
        f32[8,8] f32[8,8] [2,2] [2,2] [0,0] [1,1] false i64[4,4]
        f32[1,2,4,4] f32[1,2,8,8] [2] [2] [0] [1] false i64[1,2,4,4]
        f16[1,2,4,4] f32[1,2,8,8] [2,2] [2,2] [0,0] [1,1] false i64[1,2,4,4]
        f32[1,2,4,4] f32[1,2,8,8] [2,2] [2,2] [0,0] [1,1] false i64[1,2,3,4]
    """),
)
case(
    "_adaptive_avg_pool2d",
    product("{d}[1,2,8,9] [2,2]", d=ALL),
    product("f32{s} [2,3]", s=POOLS),
    lines("""
        f32[1,2,8,9] [1,1]|f32[1,2,8,9] [3]|f32[1,2,8,9] [9,12]|f32[1,2,8,9] [0,0]|f32[1,2,8,9] [-1,2]
        f32[2,3,8,9]{0,2,3,1} [1,1]|f32[1,2,8,9] [2,2,2]|f32[1,2,8,9] []
        """),
)
case(
    "_upsample_bilinear2d_aa",
    product("{d}[1,2,4,5] [8,9] {a}", d=ALL, a="true false"),
    product("f32{s} [4,5] false", s=POOLS),
    lines("""
        f32[1,2,4,5] [8,10] false 2.0 2.0|f32[1,2,4,5] [8,10] false none 2.0|f32[1,2,4,5] [0,4] false
        f32[1,2,4,5] [8] false|f32[1,2,4,5] [-1,4] false|f32[1,2,4,5] [8,9,10] false|f32[2,3,4,5]{0,2,3,1} [8,10] true
    """),
)
case(
    "upsample_bilinear2d.vec_out",
    product("{d}[1,2,4,5] [8,9] false none", d=ALL),
    product("f32{s} [4,5] false none", s=POOLS),
    product(
        "f32[1,2,4,5] none {a} {f}",
        a="true false",
        f="[2.0,2.0] [1.5,0.5] [2.5,3.1] [0.1,1.0] [0.3,0.3] [2.0] [-1.0,2.0]",
    ),
    lines("""
        f32[1,2,4,5] none false none|f32[1,2,4,5] [8,9] false [2.0,2.0]|f32[1,2,4,5] [0,3] false none
        f32[1,2,4,5] [8] false none|f32[2,3,4,5]{0,2,3,1} none true [2.0,2.0]
        """),
)
case(
    "upsample_nearest2d.vec_out",
    product("{d}[1,2,4,5] [8,9] none", d=ALL),
    product("f32{s} [4,5] none", s=POOLS),
    product("f32[1,2,4,5] none {f}", f="[2.0,2.0] [1.5,0.5] [2.5,3.1] [0.1,1.0] [0.3,0.3] [2.0] [-1.0,2.0]"),
    lines("""
        f32[1,2,4,5] none none|f32[1,2,4,5] [8,9] [2.0,2.0]|f32[1,2,4,5] [0,3] none|f32[1,2,4,5] [8] none
        f32[2,3,4,5]{0,2,3,1} none [2.0,2.0]|f32[2,5,4,5]{0,2,3,1} [8,8] none
        """),
)
case(
    "grid_sampler_2d",
    product("{d}[1,2,4,5] {d}[1,3,6,2] 0 0 false", d=ALL),
    lines("""
        f32[1,2,4,5] f32[1,3,6,2] 1 1 true|f32[1,2,4,5] f32[1,3,6,2] 2 2 true|f32[1,2,4,5] f32[2,3,6,2] 0 0 false
        f32[1,2,4,5] f32[1,3,6,3] 0 0 false|f32[1,2,4,5] f32[1,3,6] 0 0 false|f32[1,2,4,5] f16[1,3,6,2] 0 0 false
        f32[2,3,4,5]{0,2,3,1} f32[2,3,6,2] 0 0 false|f32[1,2,0,5] f32[1,3,6,2] 0 0 false
        f32[1,2,4,5] f32[1,0,6,2] 0 0 false|f32[0,2,4,5] f32[0,3,6,2] 0 0 false|f32[1,2,4,5] f32[1,3,6,2] 5 0 false
        f32[1,2,4,5,6] f32[1,3,6,7,3] 0 0 false|f32[2,3,4,5]{0,2,3,1} f32[2,6,7,2]{0,2,3,1} 0 0 false
    """),
)
case(
    "pixel_shuffle",
    product("{d}[1,8,2,3] 2", d=ALL),
    lines("""
        f32[8,2,3] 2|f32[4,2,3] 2|f32[2,3] 1|f32[1,2,8,2,3] 2|f32[1,7,2,3] 2|f32[1,9,2,3] 3|f32[1,8,2,3] 1
        f32[1,8,2,3] 0|f32[1,8,2,3] -2|f32[0,4,2,3] 2|f32[2,8,2,3]{0,2,3,1} 2|f32[3] 1|f32[2,3,4] 5|f32[1,0,2,3] 2
        """),
)
case(
    "pixel_unshuffle",
    product("{d}[1,2,4,6] 2", d=ALL),
    lines("""
        f32[2,4,6] 2|f32[4,6] 2|f32[1,2,3,4,6] 2|f32[1,2,4,5] 2|f32[1,2,3,6] 2|f32[1,2,9,6] 3|f32[1,2,4,6] 1
        f32[1,2,4,6] 0|f32[1,2,4,6] -2|f32[0,2,4,6] 2|f32[2,3,4,6]{0,2,3,1} 2|f32[3] 1|f32[1,2,0,4] 2
        """),
)
for rank in [1, 2, 3]:
    sizes = [5, 6, 7][:rank]
    text = lambda *lead: "[" + ",".join(map(str, [*lead, *sizes])) + "]"
    zero, one = "[" + ",".join(["0"] * 2 * rank) + "]", "[" + ",".join(["1"] * 2 * rank) + "]"
    asymmetric = "[" + ",".join(str(i) for i in range(2 * rank)) + "]"
    negative = "[" + ",".join(["-1"] * 2 * rank) + "]"
    last = (
        ["f32[2,3,5,6]{0,2,3,1} " + one]
        if rank == 2
        else ["f32[2,3,5,6,7]{0,2,3,4,1} " + one] if rank == 3 else ["f32[2,3,5]{0,2,1} " + one]
    )
    for kind in ["reflection", "replication"]:
        case(
            f"{kind}_pad{rank}d",
            product("{d}" + text(2, 3) + " " + one, d=ALL),
            product("f32{s} {p}", s=[text(2, 3), text(3)], p=[zero, one, asymmetric, negative]),
            [
                f"f32{text()} {one}",
                f"f32{text(2, 2, 3)} {one}",
                f"f32{text(2, 3)} [1]",
                f"f32{text(2, 3)} [1,1,1]",
                f"f32{text(2, 3)} []",
                f"f32{text(0, 3)} {one}",
                f"f32{text(2, 0)} {one}",
                f"f32{text(0)} {one}",
            ],
            last,
            [
                f"f32{text(2, 3)} [" + ",".join(["5"] * 2 * rank) + "]",
                f"f32{text(2, 3)} [" + ",".join(["4"] * 2 * rank) + "]",
                f"f32{text(2, 3)} [" + ",".join(["-3"] * 2 * rank) + "]",
            ],
        )
case(
    "constant_pad_nd",
    product("{d}[2,3] [1,1]", d=ALL),
    product("f32[2,3] [1,1] {v}", v="true 2 1.5"),
    lines("""
        f32[2,3] [1,2,3,4]|f32[2,3] []|f32[2,3] [0,0]|f32[2,3] [-1,0]|f32[2,3] [-2,-1]|f32[2,3] [-2,-2]|f32[2,3] [1]
        f32[2,3] [1,1,1,1,1,1]|f32[] []|f32[] [1,1]|f32[0] [1,1]|f32[2,0] [1,0]|f32[2,3,4,5]{0,2,3,1} [1,1]
        f32[2,3,4,5]{0,2,3,1} [1,1,2,2,3,3]|f32[2,3]{1,0} [1,1]|f32[2,3,4,5,6] [0,1,1,0]|i32[2] [1,1] 1.5
        f32[2,3,4]{2,0,1} [1,0]|f32[2,3,4,5]{0,2,3,1} [0,0]|f32[2,3,4] [-1,2,-1,-1]
    """),
)
case(
    "_fft_r2c",
    product("{d}[2,6] [1] 0 true", d=ALL),
    product("f32{s} [1] 0 {o}", s="[2,5] [2,6] [2,1] [2,3,4] [2,3,4]{2,0,1} [0,4] [2,3]{1,0}", o="true false"),
    lines("""
        f32[4,6] [0,1] 1 true|f32[4,6] [1,0] 2 true|f32[4,6] [0] 0 true|f32[4,6] [-1] 0 true|f32[4,6] [2] 0 true
        f32[4,6] [] 0 true|f32[] [0] 0 true|f32[2,0] [1] 0 true|f32[2,3,4,5] [2,3] 0 true
        f32[2,3,4,5]{0,2,3,1} [2,3] 0 true|f32[2,3,4,5] [3,2] 0 false|f32[4] [0] 3 true|f32[4,6] [0,0] 0 true
    """),
)
case(
    "_fft_c2r",
    product("{d}[2,4] [1] 0 6", d=[*ALL, "c128", "c32"]),
    lines("""
        c64[2,4] [1] 0 7|c64[2,4] [0] 0 2|c64[2,4] [0] 0 3|c64[2,4] [0,1] 1 6|c64[2,4] [1,0] 2 2|c64[2,4] [-1] 0 6
        c64[2,4] [2] 0 6|c64[2,4] [] 0 6|c64[2,4] [1] 0 0|c64[2,4] [1] 0 -1|c64[2,4] [1] 0 1|c64[2,4] [1] 0 12
        c64[2,3,4]{2,0,1} [2] 0 6|c64[2,3,4,5]{0,2,3,1} [2,3] 0 8|c64[0,4] [1] 0 6|c64[2,0] [1] 0 1
        c64[2,4]{1,0} [0] 0 2|c64[3] [0] 0 4
    """),
)

# Views.
case(
    "expand_copy",
    product("{d}[2,1] [2,3]", d=ALL),
    lines("""
        f32[] []|f32[] [3]|f32[1] [4]|f32[2,1] [5,2,3]|f32[2,1] [-1,3]|f32[2,1] [2,-1]|f32[2,1] [-1,2,3]|f32[2,3] [3]
        f32[2,3] [2,4]|f32[1] [0]|f32[0] [1]|f32[2,1] [2,3] true|f32[2,1] [-2,3]|f32[2,3]{1,0} [2,3]
        f32[2,3]{1,0} [4,2,3]|f32[2,3,4,5]{0,2,3,1} [2,3,4,5]|f32[1,3,1,1]{0,2,3,1} [2,3,4,5]
        f32[2,3,4,5]{0,2,3,1} [1,2,3,4,5]|f32[2,3,4,1]{0,2,3,1} [2,3,4,5]|f32[2,1,3] [2,4,3]|f32[1,3] [4,3]
        f32[2,3] [2,1]|f32[2,1]{1,0} [2,3]
    """),
)
VIEW = lines("""
        f32[2,3] [6]|f32[2,3] [3,2]|f32[2,3] [-1]|f32[2,3] [3,-1]|f32[2,3] [-1,-1]|f32[2,3] [4]|f32[2,3] [-1,4]
        f32[2,3] [1,2,1,3]|f32[] []|f32[] [1]|f32[1] []|f32[0] [0,3]|f32[0] [-1]|f32[0,3] [-1,3]|f32[0,3] [-1,0]
        f32[0] [2,0]|f32[2,3] []|f32[2,3] [-2,-3]|f32[2,3] [0]|f32[2,3,4,5] [6,20]|f32[2,3]{1,0} [2,3]
        f32[2,3]{1,0} [6]|f32[2,3]{1,0} [2,3,1]|f32[2,3,4,5]{0,2,3,1} [2,3,4,5]|f32[2,3,4,5]{0,2,3,1} [2,3,20]
        f32[2,3,4,5]{0,2,3,1} [2,60]|f32[2,3,4,5]{0,2,3,1} [1,2,3,4,5]|f32[2,3,4]{1,2,0} [2,12]
        f32[2,3,4]{1,2,0} [2,3,2,2]|f32[2,3,4]{2,0,1} [6,4]|f32[2,3,4,5]{0,2,3,1} [2,3,4,5,1]|f32[2,3] [3,-2]
        f32[2,1,4,4]{0,2,3,1} [2,4,4]|f32[2,0,3] [0]|f32[4] [2,2]|f32[2,3] [6,-1]|f32[2,3] [9223372036854775807,2]
    """)
case("view_copy executorch_prim::et_view.default", product("{d}[2,3] [6]", d=ALL), VIEW)
case(
    "permute_copy",
    product("{d}[2,3] [1,0]", d=ALL),
    lines("""
        f32[] []|f32[3] [0]|f32[3] [-1]|f32[2,3] [0,1]|f32[2,3,4] [2,0,1]|f32[2,3,4] [-1,0,1]|f32[2,3,4] [0,2,1]
        f32[2,3,4,5] [0,2,3,1]|f32[2,3,4,5] [0,3,1,2]|f32[2,3,4,5]{0,2,3,1} [0,2,3,1]|f32[2,3,4,5]{0,2,3,1} [0,3,1,2]
        f32[2,3] [0]|f32[2,3] [0,0]|f32[2,3] [0,2]|f32[2,3] [0,-3]|f32[2,3] [0,1,2]|f32[2,3]{1,0} [1,0]|f32[0,3] [1,0]
        f32[2,3,4,5,6] [4,3,2,1,0]|f32[2,3,4,5]{0,2,3,1} [0,1,2,3]|f32[1,3,1,5] [0,2,3,1]
    """),
)
case(
    "transpose_copy.int_out",
    product("{d}[2,3] 0 1", d=ALL),
    lines("""
        f32[] 0 0|f32[] 0 -1|f32[] 0 1|f32[3] 0 0|f32[3] 0 1|f32[2,3] 1 1|f32[2,3] -1 -2|f32[2,3] 0 2|f32[2,3] -3 0
        f32[2,3,4] 0 2|f32[2,3,4,5] 1 3|f32[2,3,4,5]{0,2,3,1} 1 3|f32[2,3,4,5]{0,2,3,1} 2 3|f32[2,3]{1,0} 0 1
        f32[0,3] 0 1|f32[2,3,4]{2,0,1} 0 1
        """),
)
case(
    "unsqueeze_copy",
    product("{d}[2,3] 1", d=ALL),
    lines("""
        f32[] 0|f32[] -1|f32[] 1|f32[2,3] 0|f32[2,3] 2|f32[2,3] -1|f32[2,3] -3|f32[2,3] 3|f32[2,3] -4|f32[0] 0
        f32[2,3]{1,0} 0|f32[2,3]{1,0} 1|f32[2,3]{1,0} 2|f32[2,3,4]{2,0,1} 1|f32[2,3,4,5]{0,2,3,1} 0
        f32[2,3,4,5]{0,2,3,1} 1|f32[2,3,4,5]{0,2,3,1} 4
        """),
)
case(
    "squeeze_copy.dim_out",
    product("{d}[2,1] 1", d=ALL),
    lines("""
        f32[] 0|f32[] -1|f32[] 1|f32[1] 0|f32[2,3] 0|f32[2,1,3] 1|f32[2,1,3] -2|f32[2,1,3] 3|f32[2,1,3] -4
        f32[1,1,1] 1|f32[0,1] 1|f32[2,3,1,5]{0,2,3,1} 2|f32[2,3,4,5]{0,2,3,1} 1|f32[1,3,4,5]{0,2,3,1} 0
        f32[2,1]{1,0} 0
        """),
)
case(
    "squeeze_copy.dims_out",
    product("{d}[2,1] [1]", d=ALL),
    lines("""
        f32[] []|f32[] [0]|f32[1] [0]|f32[2,1,3,1] [1,3]|f32[2,1,3,1] [-1,-3]|f32[2,1,3,1] [0,1]|f32[2,1,3,1] []
        f32[2,1,3,1] [4]|f32[2,1,3,1] [1,1]|f32[1,1] [0,1]|f32[1,3,1,5]{0,2,3,1} [0,2]|f32[2,3,4,5]{0,2,3,1} [1]
        f32[0,1] [1]|f32[2,3,1,1]{0,2,3,1} [2,3]|f32[2,1,3,1] 1
        """),
)
case(
    "unfold_copy",
    product("{d}[2,5] 1 2 1", d=ALL),
    lines("""
        f32[5] 0 2 2|f32[5] 0 5 1|f32[5] 0 6 1|f32[5] 0 0 1|f32[5] 0 2 0|f32[5] 0 -1 1|f32[] 0 1 1|f32[] 0 0 1
        f32[2,5] 2 1 1|f32[2,5] -1 3 2|f32[2,5] 0 2 3|f32[2,3,4,5]{0,2,3,1} 1 2 1|f32[0] 0 0 1|f32[2,3,4] 1 2 1
        f32[2,5]{1,0} 0 1 1|f32[5] 0 2 -1
        """),
)
case(
    "repeat",
    product("{d}[2,3] [2,2]", d=ALL),
    lines("""
        f32[] []|f32[] [3]|f32[3] [2]|f32[3] [4,2]|f32[2,3] [2]|f32[2,3] []|f32[2,3] [0,1]|f32[2,3] [1,1]
        f32[2,3] [2,1,1]|f32[0] [3]|f32[2,3] [-1,1]|f32[2,3,4,5]{0,2,3,1} [1,2,1,1]|f32[2,3,4,5]{0,2,3,1} [1,1,1,1]
        f32[2,3]{1,0} [1,2]|f32[2,3,4,5]{0,2,3,1} [2,1,1,1,1]|f32[1,1] [2,3]
        """),
)
case(
    "glu",
    product("{d}[2,4] 1", d=ALL),
    lines("""
        f32[2,4]|f32[4,3] 0|f32[2,3]|f32[]|f32[2,4] 2|f32[2,4] -2|f32[2,4] -3|f32[0,2]|f32[2,0]
        f32[2,4,4,5]{0,2,3,1} 1|f32[2,4]{1,0}|f32[1] 0|f32[2,2,2,2,2] 2|f32[2,2,4,5]{0,2,3,1} 1
        """),
)
case("sym_size.int", ONE_DIM, product("{d}[2,3] 1", d=SOME))

# Concatenation and splitting.
case(
    "cat",
    product("<{a}[2,3];{b}[4,3]>", a=SOME, b=SOME),
    product("<{a}[3];{b}[0]>", a="f32 i32", b="f32 f64 b8"),
    lines("""
        <f32[2,3]>|<f32[2,3];f32[2,3]> 1|<f32[2,3];f32[2,3]> -1|<f32[2,3];f32[2,4];f32[2,5]> 1|<f32[2,3];f32[2,3]> 2
        <f32[2,3];f32[2,3]> -3|<f32[2,3];f32[3,3]> 1|<f32[2,3];f32[2]>|<f32[];f32[]>|<>|<f32[0];f32[2,3]> 1
        <f32[2,3];f32[0]>|<f32[0];f32[0]>|<f32[0,3];f32[2,3]>|<f32[2,0];f32[2,3]>|<f32[2,3]{1,0};f32[2,3]{1,0}>
        <f32[2,3]{1,0};f32[2,3]>|<f32[2,3,4,5]{0,2,3,1};f32[2,3,4,5]{0,2,3,1}> 1
        <f32[2,3,4,5]{0,2,3,1};f32[2,3,4,5]> 1|<f32[2,3,4,5];f32[2,3,4,5]{0,2,3,1}> 1
        <f32[2,3,4,5,6]{0,2,3,4,1};f32[2,3,4,5,6]{0,2,3,4,1}> 1|<f32[2,1,4,4]{0,2,3,1};f32[2,1,4,4]{0,2,3,1}> 1
        <f32[2,3,4,5]{0,2,3,1};f32[2,1,4,5]{0,2,3,1}> 1|<u8[2];i8[2];i16[2]>|<i64[2];f16[2];bf16[2]>
        <f32[2,3,4]{2,0,1};f32[2,3,4]{2,0,1}>|<f32[1];f32[1];f32[1];f32[1]>|<f32[0];f32[2,3,4,5]{0,2,3,1}> 1
        <f32[2,3,4,5]{0,2,3,1}> 1
    """),
)
case(
    "stack",
    product("<{a}[2,3];{b}[2,3]>", a=SOME, b=SOME),
    lines("""
        <f32[2,3]>|<f32[2,3];f32[2,3]> 1|<f32[2,3];f32[2,3]> 2|<f32[2,3];f32[2,3]> -1|<f32[2,3];f32[2,3]> -3
        <f32[2,3];f32[2,3]> 3|<f32[2,3];f32[2,3]> -4|<f32[2,3];f32[3,2]>|<f32[2,3];f32[3]>|<f32[];f32[]>|<>
        <f32[0];f32[0]>|<f32[2,3]{1,0};f32[2,3]{1,0}>|<f32[2,3]{1,0};f32[2,3]{1,0}> -1
        <f32[2,3,4,5]{0,2,3,1};f32[2,3,4,5]{0,2,3,1}>|<f32[2,3,4,5]{0,2,3,1};f32[2,3,4,5]{0,2,3,1}> 1
        <f32[2,3,4]{1,2,0};f32[2,3,4]{1,2,0}> 1|<f32[1];f32[1]>|<i32[2];f32[2];f64[2]>|<f32[0];f32[2]>
    """),
)
case(
    "split_copy.Tensor_out",
    product("{d}[4,3] 2", d=ALL),
    lines("""
        f32[5,3] 2|f32[5,3] 5|f32[5,3] 9|f32[5,3] 2 1|f32[5,3] 2 -1|f32[5,3] 2 2|f32[5,3] 0|f32[5,3] -1|f32[0,3] 2
        f32[0,3] 0|f32[] 1|f32[2,3,4,5]{0,2,3,1} 2 1|f32[2,4]{1,0} 2 1|f32[2,4,4,5]{0,2,3,1} 2 1|f32[3] 1
        f32[2,3,4,5]{0,2,3,1} 1
        """),
)
case(
    "split_with_sizes_copy",
    product("{d}[4,3] [1,3]", d=ALL),
    lines("""
        f32[5,3] [5]|f32[5,3] [2,2,1]|f32[5,3] [2,2]|f32[5,3] [3,3]|f32[5,3] [1,2] 1|f32[5,3] [1,2] -1
        f32[5,3] [1,2] 2|f32[5,3] [0,5]|f32[5,3] [-1,6]|f32[5,3] []|f32[0,3] []|f32[0,3] [0]|f32[] [1]
        f32[2,3,4,5]{0,2,3,1} [1,2] 1|f32[2,4]{1,0} [2,2] 1
        """),
)
case(
    "unbind_copy.int_out",
    product("{d}[2,3]", d=ALL),
    lines("""
        f32[2,3] 1|f32[2,3] -1|f32[2,3] 2|f32[2,3] -3|f32[]|f32[] 0|f32[3]|f32[0,3]|f32[2,0] 0|f32[2,3,4,5]{0,2,3,1} 1
        f32[2,3,4,5]{0,2,3,1}|f32[2,3]{1,0} 1|f32[1,3]|f32[2,3,4]{2,0,1} 2
        """),
)

# Quantized.
case(
    "quantized_decomposed::quantize_per_tensor.out",
    product("{d}[2,3] 0.1 0 {r}", d=ALL, r=["0 255 @u8", "-128 127 @i8"]),
    product("f32{s} 0.1 0 -128 127 @i8", s=SHAPES + LAYOUTS),
    lines("""
        f32[2] 0.1 0 -32768 32767 @i16|f32[2] 0.1 0 -128 127 @i32|f32[2] 0.1 0 0 65535 @u16|f32[2] 0.1 0 0 256 @u8
        f32[2] 0.1 0 -1 255 @u8|f32[2] 0.1 0 -128 127 @f32|f32[2] 0.1 0 0 15 @u8
        """),
)
case(
    "quantized_decomposed::quantize_per_tensor.Tensor_out",
    product("{d}[2,3] f32[] i64[] {r}", d=ALL, r=["0 255 @u8", "-128 127 @i8"]),
    product("f32{s} f32[1] i64[1] -128 127 @i8", s=SHAPES + LAYOUTS),
    lines("""
        f32[2] f64[] i32[] -32768 32767 @i16|f32[2] f32[2] i64[1] -128 127 @i8|f32[2] f32[1] i64[2] -128 127 @i8
        f32[2] f32[1] i64[1] 0 256 @u8|f32[2] f32[0] i64[0] 0 255 @u8
        """),
)
case(
    "quantized_decomposed::dequantize_per_tensor.out",
    product("{d}[2,3] 0.1 0 {r}", d=ALL, r=["0 255 @u8", "-128 127 @i8"]),
    product("i8{s} 0.1 0 -128 127 @i8", s=SHAPES + LAYOUTS),
    product("u8[2] 0.1 0 0 255 @u8 @{o}", o=ALL),
    lines("i16[2] 0.1 0 -32768 32767 @i16|i32[2] 0.1 0 -128 127 @i32|u8[2] 0.1 0 0 256 @u8|u8[2] 0.1 0 0 255 @u8 none"),
)
case(
    "quantized_decomposed::dequantize_per_tensor.Tensor_out",
    product("{d}[2,3] f32[] i64[] {r}", d=ALL, r=["0 255 @u8", "-128 127 @i8"]),
    product("i8{s} f32[1] i64[1] -128 127 @i8", s=SHAPES + LAYOUTS),
    product("u8[2] f32[1] i32[1] 0 255 @u8 @{o}", o=ALL),
    lines("""
        i16[2] f64[] i64[] -32768 32767 @i16|i8[2] f32[2] i64[1] -128 127 @i8|i8[2] f32[1] i64[2] -128 127 @i8
        u8[2] f32[1] i64[1] 0 255 @u8 none|f32[2] f32[1] i64[1] 0 255 @u8
        """),
)
case(
    "quantized_decomposed::quantize_per_channel.out",
    product("{d}[2,3] f32[3] i64[3] 1 {r}", d=ALL, r=["0 255 @u8", "-128 127 @i8"]),
    lines("""
        f32[2,3,4,5] f32[2] i64[2] 0 -128 127 @i8|f32[2,3,4,5]{0,2,3,1} f32[3] i64[3] 1 -128 127 @i8
        f32[2,3] f32[3] i64[3] 2 -128 127 @i8|f32[2,3] f32[3] i64[3] -1 -128 127 @i8
        f32[2,3] f32[2] i64[2] 1 -128 127 @i8|f32[2,3] f32[3] i64[2] 1 -128 127 @i8
        f32[0,3] f32[3] i64[3] 1 -128 127 @i8|f32[3] f32[3] i32[3] 0 -128 127 @i8
        f32[2,3] f64[3] i64[3] 1 -128 127 @i8|f32[2,3] f32[3,1] i64[3] 1 -128 127 @i8
        f32[2,3] f32[3] i64[3] 1 0 256 @u8|f32[2,3]{1,0} f32[2] i64[2] 0 -128 127 @i8
        f32[2,3] f32[3] f32[3] 1 -128 127 @i8|f32[2,3,4]{2,0,1} f32[3] i64[3] 1 -128 127 @i8
        f32[2,3] f32[] i64[] 1 -128 127 @i8
    """),
)
case(
    "quantized_decomposed::dequantize_per_channel.out",
    product("{d}[2,3] f32[3] i64[3] 1 {r}", d=ALL, r=["0 255 @u8", "-128 127 @i8"]),
    product("i8[2,3] f32[3] i64[3] 1 -128 127 @i8 @{o}", o=ALL),
    lines("""
        i8[2,3,4,5] f32[2] i64[2] 0 -128 127 @i8|i8[2,3,4,5]{0,2,3,1} f32[3] i64[3] 1 -128 127 @i8
        i8[2,3] f32[3] none 1 -128 127 @i8|i8[2,3] f32[3] i64[3] 2 -128 127 @i8|i8[2,3] f32[3] i64[3] -1 -128 127 @i8
        i8[2,3] f32[2] i64[2] 1 -128 127 @i8|i8[0,3] f32[3] i64[3] 1 -128 127 @i8|i8[3] f32[3] i32[3] 0 -128 127 @i8
        i8[2,3] f64[3] i64[3] 1 -128 127 @i8|i8[2,3]{1,0} f32[2] i64[2] 0 -128 127 @i8
        i8[2,3] f32[3] f32[3] 1 -128 127 @i8|i8[2,3,4]{2,0,1} f32[3] none 1 -128 127 @i8 @f16
        i8[2,3] f32[3] i64[3] 1 -128 127 @i8 none
    """),
)
case(
    "quantized_decomposed::quantize_per_token.out",
    product("{d}[2,3] f32[2,1] i64[2,1] {r}", d=ALL, r=["0 255 @u8", "-128 127 @i8"]),
    lines("""
        f32[2,3,4] f32[2,3,1] i64[2,3,1] -128 127 @i8|f32[2,3,4,5]{0,2,3,1} f32[2,3,4,1] i64[2,3,4,1] -128 127 @i8
        f32[3] f32[1] i64[1] -128 127 @i8|f32[2,3] f32[1,1] i64[1,1] -128 127 @i8
        f32[2,3] f32[3,1] i64[3,1] -128 127 @i8|f32[2,3] f64[2,1] i64[2,1] -128 127 @i8
        f32[2,3] f32[2] i64[2] -128 127 @i8|f32[0,3] f32[0,1] i64[0,1] -128 127 @i8
        f32[2,3] f32[2,1] i64[2,1] 0 256 @u8|f32[2,3] f32[2,1] i8[2,1] -128 127 @i8
        f32[2,3]{1,0} f32[2,1] i64[2,1] -128 127 @i8|f32[2,3] f32[2,1] i64[2,1] -32768 32767 @i16
    """),
)
case(
    "quantized_decomposed::dequantize_per_token.out",
    product("{d}[2,3] f32[2,1] i64[2,1] {r} @f32", d=ALL, r=["0 255 @u8", "-128 127 @i8"]),
    product("i8[2,3] f32[2,1] i64[2,1] -128 127 @i8 @{o}", o=ALL),
    lines("""
        i8[2,3,4] f32[2,3,1] i64[2,3,1] -128 127 @i8 @f32
        i8[2,3,4,5]{0,2,3,1} f32[2,3,4,1] i64[2,3,4,1] -128 127 @i8 @f32|i8[3] f32[1] i64[1] -128 127 @i8 @f16
        i8[2,3] f32[3,1] i64[3,1] -128 127 @i8 @f32|i8[2,3] f64[2,1] i64[2,1] -128 127 @i8 @f32
        i8[0,3] f32[0,1] i64[0,1] -128 127 @i8 @f32|i8[2,3]{1,0} f32[2,1] f32[2,1] -128 127 @i8 @f32
        i8[2,3] f32[1] i64[1] -128 127 @i8 @f32
    """),
)
case(
    "quantized_decomposed::choose_qparams.Tensor_out",
    product("{d}[2,3] {r}", d=ALL, r=["0 255 0.1 @u8", "-128 127 0.1 @i8"]),
    product("f32{s} -128 127 0.1 @i8", s=SHAPES + LAYOUTS),
    lines("f32[2] 127 -128 0.1 @i8|f32[2] 0 0 0.1 @u8|f32[2] 0 15 0.1 @u8|f32[2] -8 7 0.1 @i32|f32[2] 0 255 0.1 @f32"),
)
case(
    "quantized_decomposed::choose_qparams_per_token_asymmetric.out",
    product("{d}[2,3] @i8", d=ALL),
    product("f32{s} @i8", s=SHAPES + LAYOUTS + AMBIGUOUS),
    lines("f32[2,3] @u8|f32[2,3] @i16|f32[2,3] @f32"),
)
case(
    "quantized_decomposed::add.out",
    product("{d}[2,3] " + "0.1 0 {r} {d}[2,3] 0.2 1 {r} 0.3 2 {r}", d=ALL, r=["0 255", "-128 127"]),
    ["i8{} 0.1 0 -128 127 i8{} 0.1 0 -128 127 0.1 0 -128 127".format(*p.split(":")) for p in BROADCASTS],
    lines("""
        i8[2] 0.1 0 -128 127 u8[2] 0.1 0 0 255 0.1 0 -128 127|i8[2] 0.1 0 -128 127 i8[2] 0.1 0 -128 127 0.1 0 0 255
        u8[2] 0.1 0 0 256 u8[2] 0.1 0 0 255 0.1 0 0 255|u8[2] 0.1 0 0 15 u8[2] 0.1 0 0 15 0.1 0 0 15
        """),
)
for bits, pack, low, high in [("byte", 1, -128, 127), ("4bit", 2, -8, 7), ("2bit", 4, -2, 1)]:
    w = "i8" if bits == "byte" else "u8"
    q = f"{low} {high}"
    cases = product(w + "[5,4] {s}[5] {z} " + q + " i64[2]", s="f16 f32 bf16 f64 i32", z="none f32[5] f16[5]")
    cases += product(
        w + "[5,4] f32[5] none " + q + " {i}",
        i="i64[] i64[0] i64[2,3] i64[2,3,4] i32[2] f32[2] u8[2] i64[2,3]{1,0}".split(),
    )
    cases += [f"{w}[5,4] {c}" for c in lines(f"""
        f32[5,1] none {q} i64[2]|f32[5,2] none {q} i64[2]|f32[5,4] f32[5,4] {q} i64[2]|f32[5,3] none {q} i64[2]
        f32[4] none {q} i64[2]|f32[] none {q} i64[2]|f32[5,2] f32[5] {q} i64[2]|f32[5] f32[4] {q} i64[2]
        f32[5] none -7 7 i64[2]|f32[5] none 0 255 i64[2]|f32[5,2] f32[5,2] {q} i64[7]
    """)]
    cases += [
        f"{c} f32[5] none {q} i64[2]"
        for c in "i8[5,4] u8[5,4] i32[5,4] f32[5,4] i8[5] u8[5,4,2] u8[5,0] u8[5,4]{1,0}".split()
    ]
    case(f"quantized_decomposed::embedding_{bits}.out", cases)
    # Torch rejects the default None of `dtype`.
    case(
        f"quantized_decomposed::embedding_{bits}.dtype_out",
        [c + " @f16" for c in cases],
        product(w + "[5,4] {s}[5] none " + q + " i64[2] {d}", s="f32 f16", d="@f16 @f32 @bf16 @f64 @i32"),
    )
# Input and scales have the same element type.
case(
    "quantized_decomposed::mixed_linear.out",
    product("{a}[2,3] i8[4,3] {a}[4] none", a="f16 bf16 f32"),
    product("f32[2,3] i8[4,3] f32[4] {z} {d}", z="none f32[4]", d="none @f32 @f16 @bf16"),
    lines("""
        f32[2,4] i8[4,3] f32[4] none|f32[2,3] i8[4,3] f32[3] none|f32[2,3] i8[4] f32[4] none
        f32[0,3] i8[4,3] f32[4] none|f32[2,3]{1,0} i8[4,3] f32[4] none|f32[1,1] i8[1,1] f32[1] none
    """),
)
case(
    "quantized_decomposed::mixed_mm.out",
    product("{a}[2,3] i8[3,4] {a}[3] none", a="f16 bf16 f32"),
    lines("""
        f32[2,3] i8[3,4] f32[3] f32[3]|f32[3] i8[3,4] f32[3] none|f32[5,2,3] i8[3,4] f32[3] none
        f32[2,4] i8[3,4] f32[3] none|f32[2,3] i8[3,4] f32[4] none|f32[2,3] i8[3] f32[3] none
        f32[0,3] i8[3,4] f32[3] none|f32[2,3]{1,0} i8[3,4] f32[3] none|f32[1,1] i8[1,1] f32[1] none
    """),
)

# Numbers.
NUMBERS = product("{a} {b}", a="0 1 7 -7 2.5 9223372036854775807", b="1 2 -2 2.5 4.0")
for name in "add eq floordiv ge gt le lt mul sub truediv".split():
    case(f"executorch_prim::{name}.Scalar", NUMBERS)
case(
    "executorch_prim::mod.Scalar executorch_prim::mod.int executorch_prim::floordiv.int",
    product("{a} {b}", a="0 1 7 8", b="1 2 3"),
    lines("7 0"),
)
case("executorch_prim::floordiv.Scalar executorch_prim::truediv.Scalar", lines("7 0"))
case("executorch_prim::sym_max.Scalar executorch_prim::sym_min.Scalar", product("{a} {b}", a="0 1 -7 9", b="1 2 -2"))
case("executorch_prim::neg.Scalar", lines("0|1|-1|2.5|-2.5|7|9223372036854775807|0.0|100|-100"))
case(
    "executorch_prim::ceil.Scalar executorch_prim::round.Scalar executorch_prim::trunc.Scalar",
    lines("0.0|0.5|1.5|2.5|-0.5|-1.5|-2.5|2.4|2.6|-2.6|1e3"),
)
case("executorch_prim::sym_float.Scalar", lines("0|1|-1|2.5|-2.5|7|9223372036854775807|0.0|100|-100"))
case("executorch_prim::sym_int.Scalar", lines("0|1|-1|2.5|-2.5|7|9223372036854775807|0.0|100|-100"))
case("executorch_prim::sym_not.Scalar", lines("true|false"))
case("executorch_prim::sym_ite.Scalar", product("{b} {t} {f}", b="true false", t="1 2.5 true", f="3 4.5 false"))
case(
    "executorch_prim::et_copy_index.tensor",
    lines("""
        f32[5,3] f32[3] 0|f32[5,3] f32[3] 4|f32[5] f32[] 1|f32[5,3,2] f32[3,2] 2|f32[0,3] f32[3] 0|f16[5,3] f16[3] 1
        i64[5,3] i64[3] 1|b8[1] b8[] 0|f32[5,3,2,2] f32[3,2,2] 1|c64[5] c64[] 3
    """),
)

TOKEN = re.compile(r"(\w+)(\[[\d,]*\])(\{[\d,]*\})?$")
PRIM = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "truediv": operator.truediv,
    "mod": operator.mod,
    "neg": operator.neg,
    "eq": operator.eq,
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "lt": operator.lt,
    "ceil": math.ceil,
    "round": round,
    "trunc": math.trunc,
    "sym_float": float,
    "sym_int": int,
    "sym_max": max,
    "sym_min": min,
    "sym_not": operator.not_,
    "sym_ite": lambda b, t, f: t if b else f,
}


def quantized_add(a, a_scale, a_zero, a_min, a_max, b, b_scale, b_zero, b_min, b_max, scale, zero, low, high):
    ops = torch.ops.quantized_decomposed
    assert a.dtype in (torch.uint8, torch.int8), "the kernel takes no other element types"
    left = ops.dequantize_per_tensor.default(a, a_scale, a_zero, a_min, a_max, a.dtype)
    right = ops.dequantize_per_tensor.default(b, b_scale, b_zero, b_min, b_max, a.dtype)
    return ops.quantize_per_tensor.default(left + right, scale, zero, low, high, a.dtype)


def mixed_linear(x, weight, scales, zero_points, dtype=None):
    weight = torch.ops.quantized_decomposed.dequantize_per_channel(
        weight, scales, zero_points, 0, -128, 127, weight.dtype, out_dtype=x.dtype
    )
    return torch.ops.aten.linear(x, weight).to(dtype or x.dtype)


def mixed_mm(x, weight, scales, zero_points):
    weight = torch.ops.quantized_decomposed.dequantize_per_channel(
        weight, scales, zero_points, 0, -128, 127, weight.dtype, out_dtype=x.dtype
    )
    return torch.ops.aten.mm(x, weight)


# Operators that have no implementation in Python, by the operators that they replace.
REPLACED = {
    "quantized_decomposed::add.out": quantized_add,
    "quantized_decomposed::mixed_linear.out": mixed_linear,
    "quantized_decomposed::mixed_mm.out": mixed_mm,
    "executorch_prim::et_view.default": torch.ops.aten.view_copy.default,
}


class Unordered(Exception):
    """A result whose strides have no dim_order."""


def parse(text):
    """Returns the value of an argument."""
    if match := TOKEN.match(text):
        dtype, sizes, order = match.groups()
        sizes = [int(size) for size in sizes[1:-1].split(",") if size]
        order = [int(dim) for dim in order[1:-1].split(",")] if order else list(range(len(sizes)))
        return torch.empty_strided(sizes, stride_from_dim_order(sizes, order), dtype=DTYPES[dtype])
    if text.startswith("<"):
        return [parse(item) for item in text[1:-1].split(";") if item]
    if text.startswith("["):
        return [parse(item) for item in text[1:-1].split(",") if item]
    if text.startswith("@"):
        return DTYPES[text[1:]]
    if text.startswith('"'):
        return text[1:-1]
    for words in [FORMATS, {"none": None, "true": True, "false": False}]:
        if text in words:
            return words[text]
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


def tensor_text(tensor):
    sizes, strides = list(tensor.shape), tensor.stride()
    if any(stride == 0 for stride in strides):
        raise Unordered(f"{sizes} {strides}")
    order = list(dim_order_from_stride(strides))
    comma = lambda items: ",".join(map(str, items))
    return f"{NAMES[tensor.dtype]}[{comma(sizes)}]" + ("" if order == sorted(order) else "{" + comma(order) + "}")


def result_text(result):
    if isinstance(result, torch.Tensor):
        return tensor_text(result)
    if result is None:
        return "none"
    if isinstance(result, int) and not isinstance(result, bool):
        return str(result) if -(2**63) <= result < 2**63 else "error"
    return "scalar"


def overload(namespace, packet, name):
    return getattr(getattr(getattr(torch.ops, namespace), packet), name or "default")


def functional(name):
    """Returns the functional variant of an operator, and the names of its arguments in the order of the stack."""
    namespace, rest = name.split("::")
    packet, _, overload_name = rest.partition(".")
    if namespace == "quantized_decomposed":
        # Torch lacks the out variants, which only the runtime registers.
        variant = overload(namespace, packet, overload_name.lower().removesuffix("out").removesuffix("_"))
        return variant, [arg.name for arg in variant._schema.arguments]
    target = overload(namespace, packet, overload_name)
    ins = [arg for arg in target._schema.arguments if not arg.is_out]
    names = [arg.name for arg in ins]
    if namespace == "aten" and packet.endswith("_") and not packet.startswith("_"):
        return overload(namespace, packet[:-1], overload_name), names
    if all(arg.is_out is False for arg in target._schema.arguments) and not any(
        a.alias_info for a in target._schema.arguments
    ):
        return target, names
    found = []
    for candidate in getattr(getattr(torch.ops, namespace), packet).overloads():
        variant = getattr(getattr(getattr(torch.ops, namespace), packet), candidate)
        arguments = {arg.name: arg for arg in variant._schema.arguments}
        if any(arg.is_out for arg in arguments.values()) or any(n not in arguments for n in names):
            continue
        extra = [arg for arg in arguments.values() if arg.name not in names]
        if all(str(arguments[a.name].type) == str(a.type) for a in ins) and all(
            e.kwarg_only and e.has_default_value() for e in extra
        ):
            found.append((len(extra), candidate, variant))
    if not found:
        raise LookupError(f"{name} has no functional variant")
    return min(found, key=lambda item: item[:2])[2], names


def call(name, args):
    """Returns the results of an operator, in words."""
    namespace, rest = name.split("::")
    packet = rest.split(".")[0]
    if name in REPLACED:
        return [result_text(REPLACED[name](*args))]
    if name == "executorch_prim::et_copy_index.tensor":
        return []
    if namespace == "executorch_prim":
        return [result_text(PRIM[packet](*args))]
    if name == "aten::sym_numel":
        return [result_text(args[0].numel())]
    if name == "aten::sym_size.int":
        return [result_text(args[0].size(args[1]))]
    variant, names = functional(name)
    keywords = {arg.name for arg in variant._schema.arguments if arg.kwarg_only}
    given = dict(zip(names, args))
    if namespace == "quantized_decomposed":
        # Their Python implementations do not know the defaults of their schemas.
        given |= {
            arg.name: arg.default_value for arg in variant._schema.arguments[len(args) :] if arg.has_default_value()
        }
    # The parameters that precede a keyword are positional in all schemas.
    positional = [value for key, value in given.items() if key not in keywords]
    result = variant(*positional, **{key: value for key, value in given.items() if key in keywords})
    if isinstance(result, (list, tuple)) and str(variant._schema.returns[0].type) == "List[Tensor]":
        return ["<" + ";".join(result_text(item) for item in result) + ">"]
    return [result_text(item) for item in result] if isinstance(result, tuple) else [result_text(result)]


# Errors of execution that depend on the values of tensors, or on what the installed kernels implement.
NO_VERDICT = re.compile(
    "not implemented for|not supported|unsupported|doesn't support|no kernel"
    "|ZeroDivision|index out of range|out of bounds|allocated size|overflow",
    re.I,
)


def executes(name, args):
    """Returns whether torch executes a call with tensors of zeros; None if the failure is not one of the arguments."""
    zero = lambda value: (
        value.zero_()
        if isinstance(value, torch.Tensor)
        else [zero(item) for item in value] if isinstance(value, list) else value
    )
    try:
        call(name, [zero(parse(arg)) for arg in args])
    except Unordered:
        return True
    except Exception as error:
        return None if isinstance(error, NotImplementedError) or NO_VERDICT.search(str(error)) else False
    return True


def record(name, text, report):
    args = text.split()
    with FakeTensorMode(), torch.no_grad():
        try:
            values = [parse(arg) for arg in args]
        except Exception as error:
            raise ValueError(f"{name} {text}: {error}") from error
        # Where sizes are 1, several dim_orders have the strides of a tensor; the recorded one is the exporter's.
        stated = " ".join(
            tensor_text(value) if isinstance(value, torch.Tensor) else arg for arg, value in zip(args, values)
        )
        try:
            results = " ".join(call(name, values))
        except (DataDependentOutputException, DynamicOutputShapeException):
            results = "data-dependent"
        except (Unordered, LookupError) as error:
            print(f"{name} {text}: {type(error).__name__} {error}", file=sys.stderr)
            return None
        except Exception as error:
            if report:
                print(f"{name} {text}: {type(error).__name__} {' '.join(str(error).split())[:200]}", file=sys.stderr)
            results = "error"
    with torch.no_grad():
        if executes(name, args) not in (results != "error", None):
            if report:
                print(f"{name} {text}: omitted, fake tensors give {results}", file=sys.stderr)
            return None
    return f" {stated} -> {results}".rstrip()


def judge(path):
    """Prints the calls that torch accepts with these outs, then the number of all by rule, results and verdict."""
    counts = {}
    for line in dict.fromkeys(pathlib.Path(path).read_text().splitlines()):
        rules, memory, name, rest = line.split(" ", 3)
        args, _, outs = rest.partition("->")
        try:
            found = record(name, args.strip(), False)
        except (ValueError, RuntimeError, KeyError):
            found = None
        # Sizes and element types, without dim_orders, which the runtime compares for itself.
        plain = lambda text: re.sub(r"\{[^}]*\}", "", text).split()
        results = None if found is None else found.rpartition("->")[2].strip()
        match results:
            case None:
                verdict = "no verdict"
            case "error":
                verdict = "torch rejects it"
            case "data-dependent":
                verdict = "depends on data"
            case _:
                verdict = "torch accepts it" if not outs.strip() or plain(outs) == plain(results) else "other results"
        key = rules, memory, verdict
        counts[key] = counts.get(key, 0) + 1
        if verdict == "torch accepts it":
            print(line)
    for (rules, memory, verdict), number in sorted(counts.items()):
        print(f"{number:7} {rules} {memory}: {verdict}")


def main():
    if "--judge" in sys.argv:
        return judge(sys.argv[-1])
    names = [line.split()[0] for line in (ROOT / "crates/pte-operators/src/releases/v1_5_1/operators.table").read_text().splitlines()]
    selected = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    for name in sorted(set(CASES) ^ set(names)):
        print(f"{name}: {'has no cases' if name in names else 'is not in the table'}", file=sys.stderr)
    torch.manual_seed(0)
    version = lambda module: module.__version__.split("+")[0]
    from importlib.metadata import version as installed

    out = [f"# Written by lab/inference.py with torch {version(torch)}, executorch {installed('executorch')}."]
    for name in names:
        if selected and name not in selected:
            continue
        out.append(name)
        recorded = [record(name, text, "--errors" in sys.argv) for text in dict.fromkeys(CASES.get(name, []))]
        out += dict.fromkeys(line for line in recorded if line is not None)
    text = "\n".join(out) + "\n"
    if selected:
        print(text, end="")
    else:
        (ROOT / "crates/pte-operators/tests/inference/cases.txt").write_text(text)


main()
