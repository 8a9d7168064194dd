"""Programs with one property of the format each: whether a release reads it, ignores it, or rejects it."""

from cases import written

# Element types by their code.
TYPES = """uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool qint8 quint8 qint32 bfloat16 quint4x2
quint2x4 bits1x8 bits2x4 bits4x2 bits8 bits16 float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz uint16 uint32 uint64""".split()

RELU = """methods:
  forward:
    values:
      x: {tensor: float32, sizes: [4]}
      y: {tensor: float32, sizes: [4]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::relu.out, args: [x], out: y}
"""

# A constant that the output depends on.
CONSTANT = """methods:
  forward:
    values:
      c: {tensor: float32, data: [1, 2, 3, 4]%s}
      x: {tensor: float32, sizes: [4]}
      y: {tensor: float32, sizes: [4]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::mul.out, args: [x, c], out: y}
"""

DELEGATE = """methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2, 4]}
      y: {tensor: float32, sizes: [2, 3]}
    delegates:
      part:
        backend: XnnpackBackend%s
        graph:
          values:
            x: {datatype: fp32, sizes: [2, 4]}
            f: {datatype: fp32, sizes: [3, 4], %s}
          inputs: [x]
          outputs: [y]
          nodes:
            - {fully_connected: {input: x, filter: f, output: y}}
    inputs: [x]
    outputs: [y]
    instructions:
      - {delegate: part, args: [x, y]}
"""

STATE = """methods:
  forward:
    values:
      s: {tensor: float32, sizes: [4], mutable: true%s}
      x: {tensor: float32, sizes: [4]}
      y: {tensor: float32, sizes: [4]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::add.out, args: [s, x], out: t}
      - {kernel: aten::copy_, args: [s, t], out: s}
      - {kernel: aten::clone.out, args: [s, null], out: y}
"""

NUMBERS = ", ".join(str(number % 5) for number in range(12))
NAMED = f"named_data:\n  k: {{align: 16, data: {{numbers: [{NUMBERS}], dtype: float32}}%s}}\n"


def with_tensor(more, memory=""):
    text = RELU.replace("x: {tensor: float32, sizes: [4]}", "x: {tensor: float32, sizes: [4]%s}" % more, 1)
    return text.replace("    inputs:", memory + "    inputs:", 1)


def programs():
    """(name, YAML) of each property."""
    yield "header.none", "layout: {header: none}\n" + RELU
    yield "header.24", "layout: {header: 24, base_alignment: 128}\n" + CONSTANT % ""
    yield "header.32", CONSTANT % ""
    yield "header.64", "layout: {header: 64}\n" + CONSTANT % ""
    yield "constants.segment", CONSTANT % ""
    yield "constants.inline", "layout: {constants: inline}\n" + CONSTANT % ""
    yield "constants.external", CONSTANT % ", external: true"
    yield "constants.external_in_two_files", (CONSTANT % ", external: one").replace(
        "x: {tensor: float32, sizes: [4]}", "x: {tensor: float32, data: [5, 6, 7, 8], external: two}"
    ).replace("inputs: [x]", "inputs: []")
    yield "delegates.segment", DELEGATE % ("", f"data: {{numbers: [{NUMBERS}], dtype: float32}}")
    yield "delegates.inline", DELEGATE % ("\n        inline: true", f"data: {{numbers: [{NUMBERS}], dtype: float32}}")
    yield "named_data.program", DELEGATE % ("", "key: k") + NAMED % ""
    yield "named_data.external", DELEGATE % ("", "key: k") + NAMED % ", external: true"
    both = (DELEGATE % ("", "key: k") + NAMED % "").replace("    values:\n", "    values:\n      c: {tensor: float32, data: [1, 2, 3], external: true}\n", 1)
    both = both.replace("outputs: [y]\n    instr", "outputs: [z]\n    instr")
    yield "named_data.program_beside_external", both.replace(
        "      - {delegate: part, args: [x, y]}\n", "      - {delegate: part, args: [x, y]}\n      - {kernel: aten::mul.out, args: [y, c], out: z}\n"
    )
    yield "state.planned", STATE % ""
    yield "state.initial", STATE % ", data: [1, 2, 3, 4]"
    yield "state.external", STATE % ", data: [1, 2, 3, 4], external: true"
    yield "state.pool_2", STATE % ", memory: {pool: 2}"
    yield "device.cpu", with_tensor(", device: cpu")
    yield "device.cuda", with_tensor(", device: cuda")
    yield "device.buffer_cpu", with_tensor("", "    memory: {non_const_buffer_device: [{buffer_idx: 1, device: cpu}]}\n")
    yield "device.buffer_cuda", with_tensor("", "    memory: {non_const_buffer_device: [{buffer_idx: 1, device: cuda}]}\n")
    yield "tensor.extra_tensor_info", with_tensor(", extra_tensor_info: true")
    yield "tensor.name", with_tensor(", name: n")
    yield "tensor.dynamic_bound", RELU.replace("sizes: [4]", "sizes: [4], dynamism: dynamic_bound")
    yield "tensor.dynamic_unbound", RELU.replace("sizes: [4]", "sizes: [4], dynamism: dynamic_unbound")
    yield "tensor.input_unplanned", with_tensor(", memory: none")
    yield "tensor.output_unplanned", RELU.replace("y: {tensor: float32, sizes: [4]}", "y: {tensor: float32, sizes: [4], memory: none}")
    yield "serializer.flatc", "layout: {builder: flatc}\n" + CONSTANT % ""
    yield "strings.shared", "layout: {strings: shared}\n" + CONSTANT % ""
    yield "segment_alignment.4096", "layout: {segment_alignment: 4096}\n" + CONSTANT % ""
    yield "tensor_alignment.4096", "layout: {tensor_alignment: 4096}\n" + CONSTANT % ""
    yield "ptd.alignment.4096", "layout: {segment_alignment: 4096}\n" + CONSTANT % ", external: true"
    yield "ptd.serializer.exir", "layout: {ptd_builder: exir}\n" + CONSTANT % ", external: true"
    two = RELU.replace("methods:\n  forward:", "methods:\n  backward:") + RELU.removeprefix("methods:\n")
    yield "methods.two", two
    yield "method.without_container", RELU + "raw:\n  set:\n    methods.forward.container_meta_type: absent\n"
    absent = "raw:\n  set:\n    \"methods.forward.delegates[0].compile_specs\": absent\n"
    yield "delegates.without_options", DELEGATE % ("", f"data: {{numbers: [{NUMBERS}], dtype: float32}}") + absent
    outputs = RELU.replace("outputs: [y]", "outputs: [y, n, e, f, s, z]")
    yield "values.literals_as_outputs", outputs.replace("    values:\n", "    values:\n      n: 3\n      e: 0.5\n      f: true\n      s: text\n      z: null\n")
    yield "values.int_input", RELU.replace("    values:\n", "    values:\n      n: 3\n").replace("inputs: [x]", "inputs: [x, n]")
    yield "instructions.jump_and_move", JUMP
    for name in TYPES:
        yield f"type.{name}", TYPED % name


JUMP = """methods:
  forward:
    values:
      x: {tensor: float32, sizes: [4]}
      p: {tensor: bool, data: true}
      y: {tensor: float32, sizes: [4]}
      z: {tensor: float32, sizes: [4]}
    inputs: [x]
    outputs: [z]
    instructions:
      - {kernel: aten::relu.out, args: [x], out: y}
      - {jump_false: {cond: p, to: otherwise}}
      - {move: {from: y, to: z}}
      - {jump_false: {cond: false, to: end}}
      - {label: otherwise, kernel: aten::neg.out, args: [y], out: z}
      - {label: end}
"""

TYPED = """methods:
  forward:
    values:
      c: {tensor: %s, sizes: [4], data: {fill: 0}}
      x: {tensor: float32, sizes: [4]}
      y: {tensor: float32, sizes: [4]}
    inputs: [x]
    outputs: [y, c]
    instructions:
      - {kernel: aten::relu.out, args: [x], out: y}
"""


def cases(folder):
    return written(folder / "features", programs())
