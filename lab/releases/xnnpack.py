"""Programs for XnnpackBackend, one for each operation, element type and property of a payload: which of them a release runs."""

from cases import written

IMAGE = [1, 4, 4, 4]
UNARY = """softmax sigmoid clamp floor square_root ceiling hardswish negate square abs reciprocal_square_root log gelu tanh exp sin copy
cos""".split()
BINARY = "add subtract multiply div minimum maximum".split()
# The element type of the tensor that is an argument.
TENSORS = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "qint8": "int8", "quint8": "uint8", "int32": "int32"}
KERNEL = "kernel_height: 2, kernel_width: 2"
POOL = "pooling_height: 2, pooling_width: 2, stride_height: 2, stride_width: 2, dilation_height: 1, dilation_width: 1"


def quantization(kind):
    return ", scale: 0.125, zero_point: 0" if kind in ("qint8", "quint8", "qint32") else ""


def program(inputs, nodes, output, values=(), named=(), options="", delegate=""):
    """YAML of a program; `inputs` and `output` are (name, element type, sizes), `values` and `named` lines."""
    tensors = [f"      {name}: {{tensor: {TENSORS[kind]}, sizes: {sizes}}}" for name, kind, sizes in [*inputs, output]]
    typed = [f"            {name}: {{datatype: {kind}, sizes: {sizes}{quantization(kind)}}}" for name, kind, sizes in [*inputs, output]]
    names = ", ".join(name for name, _, _ in inputs)
    lines = ["methods:", "  forward:", "    values:", *tensors, "    delegates:", "      part:", f"        backend: XnnpackBackend{delegate}"]
    lines += ["        graph:", "          values:", *typed, *(f"            {line}" for line in values)]
    lines += [f"          inputs: [{names}]", f"          outputs: [{output[0]}]", *([f"          {options}"] if options else [])]
    lines += ["          nodes:", *(f"            - {{{node}}}" for node in nodes)]
    lines += [f"    inputs: [{names}]", f"    outputs: [{output[0]}]", "    instructions:", f"      - {{delegate: part, args: [{names}, {output[0]}]}}"]
    if named:
        lines += ["named_data:", *(f"  {line}" for line in named)]
    return "\n".join(lines) + "\n"


def one(kind="fp32", sizes=IMAGE, name="x"):
    return [(name, kind, list(sizes))]


def weights(name, sizes, kind="fp32", more=""):
    return f"{name}: {{datatype: {kind}, sizes: {sizes}{more}, data: {{random: {{seed: 1}}}}}}"


def operations():
    """(name, YAML) of a graph for each operation."""
    image, y = one(), ("y", "fp32", IMAGE)
    for name in UNARY:
        bounds = ", output_min: -1, output_max: 1" if name == "clamp" else ""
        yield name, program(image, [f"{name}: {{input: x, output: y}}{bounds}"], y)
    yield "elu", program(image, ["elu: {input: x, output: y, alpha: 0.5}"], y)
    yield "leaky_relu", program(image, ["leaky_relu: {input: x, output: y, negative_slope: 0.5}"], y)
    two = [*one(), *one(name="z")]
    for name in BINARY:
        yield name, program(two, [f"{name}: {{input1: x, input2: z, output: y}}"], y)
    slope = "slope: {datatype: fp32, sizes: [4], data: [1, 2, 3, 4]}"
    yield "prelu", program(image, ["prelu: {input1: x, input2: slope, output: y}"], y, [slope], delegate="\n        inline: true")
    yield "static_transpose", program(image, ["static_transpose: {input: x, output: y, perm: [0, 3, 1, 2]}"], y)
    yield "static_reshape", program(image, ["static_reshape: {input: x, output: y, new_shape: [4, 16]}"], ("y", "fp32", [4, 16]))
    part = "static_slice: {input: x, output: y, offsets: [0, 1, 1, 0], sizes: [1, 2, 2, 4]}"
    yield "static_slice", program(image, [part], ("y", "fp32", [1, 2, 2, 4]))
    pad = "static_constant_pad: {input: x, output: y, pre_paddings: [0, 1, 1, 0], post_paddings: [0, 1, 1, 0], padding_value: 2}"
    yield "static_constant_pad", program(image, [pad], ("y", "fp32", [1, 6, 6, 4]))
    resize = "static_resize_bilinear2d: {input: x, output: y, new_height: 8, new_width: 8}"
    yield "static_resize_bilinear2d", program(image, [resize], ("y", "fp32", [1, 8, 8, 4]))
    for name in "avg_pooling2d", "max_pooling2d":
        yield name, program(image, [f"{name}: {{input: x, output: y, {POOL}}}"], ("y", "fp32", [1, 2, 2, 4]))
    yield "global_avg_pooling2d", program(image, ["global_avg_pooling2d: {input: x, output: y, flags: 64}"], ("y", "fp32", [1, 1, 1, 4]))
    yield "arg_max_pooling2d", INDICES.replace("int64", "int32")
    for count in range(2, 6):
        names = [f"x{number}" for number in range(1, count + 1)]
        inputs = [item for name in names for item in one(name=name)]
        words = ", ".join(f"input{number}: x{number}" for number in range(1, count + 1))
        yield f"concatenate{count}", program(inputs, [f"concatenate{count}: {{{words}, axis: 3, output: y}}"], ("y", "fp32", [1, 4, 4, 4 * count]))
    matrices = [*one(sizes=[2, 3, 4]), *one(sizes=[2, 4, 5], name="z")]
    yield "batch_matrix_multiply", program(matrices, ["batch_matrix_multiply: {input1: x, input2: z, output: y}"], ("y", "fp32", [2, 3, 5]))
    product = ["fully_connected: {input: x, filter: f, output: y}"]
    yield "fully_connected", program(one(sizes=[2, 4]), product, ("y", "fp32", [2, 3]), [weights("f", [3, 4])])
    conv = f"conv2d: {{input: x, filter: f, bias: b, output: y, {KERNEL}, group_input_channels: 4, group_output_channels: 3}}"
    yield "conv2d", program(image, [conv], ("y", "fp32", [1, 3, 3, 3]), [weights("f", [3, 2, 2, 4]), weights("b", [3])])
    depth = f"depthwise_conv2d: {{input: x, filter: f, bias: b, output: y, {KERNEL}, group_input_channels: 1, group_output_channels: 1, groups: 4}}"
    yield "depthwise_conv2d", program(image, [depth], ("y", "fp32", [1, 3, 3, 4]), [weights("f", [1, 2, 2, 4]), weights("b", [4])])
    transposed = f"conv_transpose2d: {{input: x, filter: f, bias: b, output: y, {KERNEL}, group_input_channels: 4, group_output_channels: 3}}"
    yield "conv_transpose2d", program(image, [transposed], ("y", "fp32", [1, 5, 5, 3]), [weights("f", [3, 2, 2, 4]), weights("b", [3])])
    there = ["convert: {input: x, output: q}", "convert: {input: q, output: y}"]
    yield "convert", program(image, there, y, [f"q: {{datatype: qint8, sizes: {IMAGE}, scale: 0.125, zero_point: 0}}"])
    attention = "scaled_dot_product_attention: {query: x, key: k, value: v, scale: s, mask: m, output: y}"
    heads = [*one(sizes=[1, 2, 3, 4]), *one(sizes=[1, 2, 3, 4], name="k"), *one(sizes=[1, 2, 3, 4], name="v")]
    heads += [*one(sizes=[4], name="s"), *one(sizes=[3, 3], name="m")]
    yield "scaled_dot_product_attention", program(heads, [attention], ("y", "fp32", [1, 2, 3, 4]))


def types():
    """(name, YAML) of a graph for each element type of values."""
    for kind in "fp16", "bf16", "qint8", "quint8", "int32":
        two = [*one(kind), *one(kind, name="z")]
        yield f"type.{kind}.add", program(two, ["add: {input1: x, input2: z, output: y}"], ("y", kind, IMAGE))
    x, y, product = one(sizes=[2, 32]), ("y", "fp32", [2, 3]), "fully_connected: {input: x, filter: f, output: y}"
    for kind in "fp16", "bf16":
        typed = [weights("f", [3, 32], kind)]
        yield f"type.{kind}.fully_connected", program(one(kind, [2, 32]), [product], ("y", kind, [2, 3]), typed)
        yield f"type.{kind}.fp32", program(one(kind, [2, 32]), [product], ("y", kind, [2, 3]), [weights("f", [3, 32])])
    for kind in "qint8", "quint8":
        value = f"q: {{datatype: {kind}, sizes: {IMAGE}, scale: 0.125, zero_point: 0}}"
        yield f"type.{kind}.convert", program(one(), ["convert: {input: x, output: q}", "convert: {input: q, output: y}"], ("y", "fp32", IMAGE), [value])
    scales = ", scales: [0.5, 0.25, 1]"
    static = ["q: {datatype: qint8, sizes: [2, 32], scale: 0.125, zero_point: 0}", "p: {datatype: qint8, sizes: [2, 3], scale: 0.5, zero_point: 0}"]
    nodes = ["convert: {input: x, output: q}", "fully_connected: {input: q, filter: f, bias: b, output: p}", "convert: {input: p, output: y}"]
    bias = "b: {datatype: qcint32, scales: [0.0625, 0.03125, 0.125], data: [1, 2, 3]}"
    yield "type.qcint8.static", program(x, nodes, y, [*static, weights("f", [3, 32], "qcint8", scales), bias])
    tensor = [weights("f", [3, 32], "qint8", ", scale: 0.5, zero_point: 0"), "b: {datatype: qint32, scale: 0.0625, zero_point: 0, data: [1, 2, 3]}"]
    yield "type.qint8.static", program(x, nodes, y, [*static, *tensor])
    dynamic = ["convert: {input: x, output: q}", "fully_connected: {input: q, filter: f, output: y}"]
    for kind in "qdint8", "qpint8":
        value = f"q: {{datatype: {kind}, sizes: [2, 32], num_nonbatch_dims: 1}}"
        yield f"type.{kind}.qcint8", program(x, dynamic, y, [value, weights("f", [3, 32], "qcint8", scales)])
    value = "q: {datatype: qdint8, sizes: [2, 32], num_nonbatch_dims: 1}"
    packed = "data: {fill: 137}"
    yield "type.qdint8.qcint4", program(x, dynamic, y, [value, f"f: {{datatype: qcint4, sizes: [3, 32]{scales}, {packed}}}"])
    groups = ", group_size: 32, scales: [0.5, 0.25, 1]"
    yield "type.qdint8.qbint4", program(x, dynamic, y, [value, f"f: {{datatype: qbint4, sizes: [3, 32]{groups}, {packed}}}"])


CHANNELS_LAST = """methods:
  forward:
    values:
      x: {tensor: float32, sizes: [1, 2, 3, 3], dim_order: [0, 2, 3, 1]}
      y: {tensor: float32, sizes: [1, 2, 3, 3], dim_order: [0, 2, 3, 1]}
    delegates:
      part:
        backend: XnnpackBackend
        graph:
          values:
            x: {datatype: fp32, sizes: [1, 3, 3, 2]}
            y: {datatype: fp32, sizes: [1, 3, 3, 2]}
          inputs: [x]
          outputs: [y]
          nodes:
            - {negate: {input: x, output: y}}
    inputs: [x]
    outputs: [y]
    instructions:
      - {delegate: part, args: [x, y]}
"""


INDICES = """methods:
  forward:
    values:
      x: {tensor: float32, sizes: [1, 4, 4, 2]}
      y: {tensor: float32, sizes: [1, 2, 2, 2]}
      i: {tensor: int64, sizes: [1, 2, 2, 2]}
    delegates:
      part:
        backend: XnnpackBackend
        graph:
          values:
            x: {datatype: fp32, sizes: [1, 4, 4, 2]}
            i: {datatype: int32}
          inputs: [x]
          outputs: [y, i]
          nodes:
            - {arg_max_pooling2d: {input: x, pooling_height: 2, pooling_width: 2, output_value: y, output_index: i}}
    inputs: [x]
    outputs: [y, i]
    instructions:
      - {delegate: part, args: [x, y, i]}
"""


def properties():
    """(name, YAML) of a graph for each property of a payload."""
    x, y = one(sizes=[2, 4]), ("y", "fp32", [2, 3])
    product, filter_ = ["fully_connected: {input: x, filter: f, output: y}"], [weights("f", [3, 4])]
    yield "payload.inline", program(x, product, y, filter_, delegate="\n        inline: true")
    yield "payload.identifier_XN00", program(x, product, y, filter_, options="identifier: XN00")
    yield "payload.without_named_keys", program(x, product, y, filter_, options="named_keys: false")
    yield "payload.without_header", program(x, product, y, filter_, options="header: false")
    numbers = ", ".join(str(number % 5) for number in range(12))
    key, named = ["f: {datatype: fp32, sizes: [3, 4], key: k}"], [f"k: {{align: 16, data: {{numbers: [{numbers}], dtype: float32}}}}"]
    yield "payload.named_constant", program(x, product, y, key, named)
    yield "payload.bounds_of_fully_connected", program(x, [product[0] + ", output_min: 0, output_max: 1"], y, filter_)
    dynamic = ["convert: {input: x, output: q}", "fully_connected: {input: q, filter: f, output: y}"]
    value = "q: {datatype: qdint8, sizes: [2, 4], num_nonbatch_dims: 1}"
    yield "payload.scales_as_constant", program(x, dynamic, y, [value, weights("f", [3, 4], "qcint8", ", scales: {data: [0.5, 0.25, 1]}")])
    scales = ["s: {align: 16, data: {numbers: [0.5, 0.25, 1], dtype: float32}}"]
    yield "payload.scales_as_named", program(x, dynamic, y, [value, weights("f", [3, 4], "qcint8", ", scales: {key: s}")], scales)
    yield "payload.argument_channels_last", CHANNELS_LAST
    yield "payload.other_number_of_sizes", program(x, product, y, filter_) + "raw:\n  set:\n    methods.forward.delegates.part.payload.values.x.num_dims: 6\n"
    slope, weights_of_slope = "slope: {datatype: fp32, sizes: [4], key: slope}", "slope: {data: {numbers: [1, 2, 3, 4], dtype: float32}, align: 16}"
    yield "payload.prelu_of_named_constant", program(one(), ["prelu: {input1: x, input2: slope, output: y}"], ("y", "fp32", IMAGE), [slope], [weights_of_slope])
    yield "payload.indices_as_longs", INDICES
    value = f"q: {{datatype: qdint8, sizes: {IMAGE}, num_nonbatch_dims: 3}}"
    conv = f"conv2d: {{input: q, filter: f, bias: b, output: y, {KERNEL}, group_input_channels: 4, group_output_channels: 3}}"
    typed = [value, weights("f", [3, 2, 2, 4], "qcint8", ", scales: [0.5, 0.25, 1]"), weights("b", [3])]
    yield "type.qdint8.convolution", program(one(), ["convert: {input: x, output: q}", conv], ("y", "fp32", [1, 3, 3, 3]), typed)
    two = [*one(), *one(name="z")]
    image = ("y", "fp32", IMAGE)
    yield "payload.bounds_of_add", program(two, ["add: {input1: x, input2: z, output: y}, output_min: 0, output_max: 1"], image)
    yield "payload.bounds_of_maximum", program(two, ["maximum: {input1: x, input2: z, output: y}, output_min: 0, output_max: 1"], image)
    extra = "add: {input1: x, input2: z, output: y}, extra: [{slot: 4, bytes: {numbers: [1], dtype: int32}}]"
    yield "payload.newer_field", program(two, [extra], image)
    yield "payload.newer_operation", program(two, ["unknown: {tag: 60}, extra: [{slot: 0, bytes: {numbers: [1], dtype: int32}}]"], image)


def graphs():
    return [*operations(), *types(), *properties()]


def cases(folder):
    return written(folder / "xnnpack", graphs())
