"""Programs as objects: read, changed, built, written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pte_emit
import pytest

from conftest import EXAMPLES


def linear_program() -> pte_emit.Program:
    forward = pte_emit.MethodBuilder("forward")
    x = forward.input("float32", [1, 4])
    weight = forward.constant(numpy.arange(12, dtype=numpy.float32).reshape(3, 4), name="weight")
    bias = forward.constant(numpy.ones(3, numpy.float32), name="bias")
    transposed = forward.call("aten::permute_copy.out", weight, [1, 0])
    product = forward.call("aten::addmm.out", bias, x, transposed, 1, 1)
    forward.output(forward.call("aten::relu.out", product))
    return pte_emit.Program.build(forward)


def test_the_linear_layer_is_built_from_nothing(tmp_path: Path) -> None:
    program = linear_program()
    [path] = program.write(tmp_path / "linear.pte")
    model = pte_emit.open(path)
    assert model.check().errors == 0
    operators = [instruction.operator for instruction in model.program()["forward"].instructions]
    assert operators == ["aten::permute_copy.out", "aten::addmm.out", "aten::relu.out"]
    assert program.to_bytes() == Path(path).read_bytes()


def test_the_parts_of_a_program_can_be_read(linear: Path) -> None:
    program = pte_emit.open(linear).program()
    assert program.test_count == 3
    [method] = program.methods
    assert method.name == "forward" and repr(program) == "<pte_emit.Program: `forward`>"
    assert [value.name for value in method.inputs + method.outputs] == ["x", "y"]
    kinds = {value.kind for value in method.values}
    assert {"Tensor", "Int"} <= kinds
    weight = method.constants["weight"]
    assert (weight.dtype, weight.sizes, weight.dim_order, weight.nbytes) == ("float32", (3, 4), (0, 1), 48)
    assert weight.has_data and not weight.is_external and not weight.is_dynamic and weight.memory is None
    assert weight.data.shape == (3, 4) and not weight.data.flags.writeable
    relu = method.instructions[2]
    assert (relu.kind, relu.operator, relu.moved, relu.destination) == ("kernel", "aten::relu.out", None, None)
    assert method.values[relu.args[0]].name == "mm"


def test_a_file_that_is_read_and_written_has_the_same_bytes() -> None:
    for path in sorted(EXAMPLES.glob("*.yaml")):
        before = pte_emit.open(path).assemble().program
        if before is not None:
            assert pte_emit.open(before).program().to_bytes() == before, path


def test_constants_instructions_and_numbers_can_be_changed(linear: Path) -> None:
    program = pte_emit.open(linear).program()
    forward = program["forward"]
    forward.name = "run"
    weight = forward.constants["weight"]
    weight.data = weight.data * 2
    relu = forward.instructions[2]
    relu.operator = "aten::abs.out"
    number = forward.values[forward.instructions[1].args[3]]
    assert (number.kind, number.value) == ("Int", 1)
    number.value = 3
    changed = program.model()
    assert changed.check().errors == 0
    after = changed.program()["run"]
    assert after.instructions[2].operator == "aten::abs.out"
    assert numpy.array_equal(after.values[weight.index].tensor.data, weight.data)  # type: ignore[union-attr]
    assert any(value.value == 3 for value in after.values)
    assert pte_emit.open(linear).program()["forward"].instructions[2].operator == "aten::relu.out"


def test_a_constant_without_dimensions_is_changed(tmp_path: Path) -> None:
    values = "c: {tensor: float32, sizes: [], data: 3}, x: {tensor: float32, sizes: [2]}"
    call = "{kernel: aten::mul.out, args: [x, c], out: y}"
    yaml = f"methods: {{f: {{values: {{{values}}}, inputs: [x], outputs: [y], instructions: [{call}]}}}}"
    scale = pte_emit.open(yaml.encode()).program()["f"].constants["c"]
    for new in (numpy.array(5, numpy.float32), scale.data * 2, numpy.float32(7)):
        scale.data = new
        assert scale.data.shape == () and scale.data == new
    pte_emit.save_ptd(tmp_path / "w.ptd", {"c": scale.data * 2})
    assert pte_emit.load_ptd(tmp_path / "w.ptd")["c"] == 14
    forward = pte_emit.MethodBuilder("forward")
    forward.output(forward.constant(scale.data * 2, name="c"))


# An attribute is computed when it is read: changes of a list would be lost.
def test_attributes_of_a_program_are_no_lists_that_lose_changes(linear: Path) -> None:
    model = pte_emit.open(linear)
    program = model.program()
    method = program["forward"]
    relu = method.instructions[2]
    objects = [model, model.assemble(), program, method, method.values[0], method.inputs[0].tensor, relu]
    for item in objects:
        for name in dir(item):
            found = None if name.startswith("_") else getattr(item, name)
            assert not isinstance(found, (list, dict)), f"{type(item).__name__}.{name}"
    with pytest.raises(AttributeError):
        relu.args.append(1)  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        method.constants.pop("weight")  # type: ignore[attr-defined]
    relu.args = [*relu.args[:1], relu.args[1]]
    assert isinstance(relu.args, tuple)


def test_a_program_is_a_collection_of_its_methods(linear: Path) -> None:
    program = pte_emit.open(linear).program()
    assert (list(program), len(program), "forward" in program, "other" in program) == (["forward"], 1, True, False)
    again, other = program["forward"], pte_emit.open(linear).program()["forward"]
    assert again == program.methods[0] and again != other and len({again, program.methods[0], other}) == 2
    assert again.inputs[0] == again.inputs[0] != again.outputs[0]
    assert again.instructions[1] == again.instructions[1] != again.instructions[0]


def test_one_of_two_equal_constants_is_changed() -> None:
    forward = pte_emit.MethodBuilder("forward")
    ones = numpy.ones(4, numpy.float32)
    a, b = forward.constant(ones, name="a"), forward.constant(ones, name="b")
    forward.output(forward.call("aten::add.out", a, b, 1))
    program = pte_emit.open(pte_emit.Program.build(forward).to_bytes()).program()
    first, second = (value.tensor for value in program["forward"].values if value.tensor and value.tensor.has_data)
    first.data = first.data + 1
    assert (first.data.tolist(), second.data.tolist()) == ([2.0] * 4, [1.0] * 4)


def test_wrong_changes_are_exceptions_and_change_nothing(linear: Path) -> None:
    program = pte_emit.open(linear).program()
    before = program.to_bytes()
    forward = program["forward"]
    weight, relu = forward.constants["weight"], forward.instructions[2]
    with pytest.raises(ValueError, match=r"expected float32 \[3, 4\], found float64 \[3, 4\]"):
        weight.data = weight.data.astype(numpy.float64)
    with pytest.raises(ValueError, match=r"found float32 \[4, 3\]"):
        weight.data = weight.data.T
    with pytest.raises(TypeError, match="found list"):
        weight.data = weight.data.tolist()
    with pytest.raises(TypeError, match="big-endian"):
        weight.data = weight.data.astype(">f4")
    with pytest.raises(ValueError, match="no data"):
        forward.inputs[0].tensor.data = numpy.ones((1, 4), numpy.float32)  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="no value has the index 99"):
        relu.args = [99]
    with pytest.raises(ValueError):
        relu.args = [1 << 40]
    number = next(value for value in forward.values if value.kind == "Int")
    for wrong in (True, 1.5, "1", None):
        with pytest.raises(TypeError):
            number.value = wrong  # type: ignore[assignment]
    with pytest.raises(OverflowError):
        number.value = 1 << 80
    with pytest.raises(KeyError):
        program["backward"]
    assert program.to_bytes() == before


def test_lists_delegates_and_data_types_of_a_builder() -> None:
    forward = pte_emit.MethodBuilder("forward")
    x = forward.input("float32", [8, 4], dynamic=True)
    clamped = forward.call("aten::clamp.out", x, None, 6.0, dtype="float32", sizes=[8, 4])
    both = forward.call("aten::cat.out", [clamped, x], 1)
    values, indices = forward.inferred(), forward.inferred()
    forward.call_into("aten::topk.values", (both, 2), [values, indices])
    count = forward.state(numpy.zeros(1, numpy.int64), name="counter")
    forward.call_into("aten::add.Scalar_out", (count, 1), [count])
    out = forward.tensor("float32", [8, 2])
    forward.call_delegate("MyBackend", b"payload", [values, out])
    forward.output(out)
    forward.output(indices)
    program = pte_emit.Program.build(forward)
    method = program["forward"]
    assert (method.delegates[0].backend, method.delegates[0].payload) == ("MyBackend", b"payload")
    method.delegates[0].payload = b"another"
    assert program.model().payload("forward/part0") == b"another"
    assert method.inputs[0].tensor is not None and method.inputs[0].tensor.is_dynamic


def test_a_builder_is_used_again_after_an_error_and_for_another_program() -> None:
    forward, other = pte_emit.MethodBuilder("forward"), pte_emit.MethodBuilder("forward")
    x, y = forward.input("float32", [2]), forward.inferred()
    forward.output(y)
    with pytest.raises(pte_emit.Error, match="duplicate method name"):
        pte_emit.Program.build(forward, other)
    with pytest.raises(pte_emit.Error, match="forward"):
        pte_emit.Program.build(forward)
    forward.call_into("aten::relu.out", [x], [y])
    built = pte_emit.Program.build(forward)
    assert pte_emit.Program.build(forward).to_bytes() == built.to_bytes() and len(built[0]) == 1


def test_an_element_type_is_an_argument() -> None:
    forward = pte_emit.MethodBuilder("forward")
    x = forward.input("float32", [2])
    dtype = pte_emit.DType("float32")
    forward.output(forward.call("aten::empty.out", [2], None, dtype="float32", sizes=[2]))
    forward.output(x)
    assert dtype == pte_emit.DType("float32") != pte_emit.DType("int8") and dtype.name == "float32"
    with pytest.raises(ValueError, match="float23"):
        pte_emit.DType("float23")
    assert pte_emit.Program.build(forward).methods


def test_wrong_arguments_of_a_builder_are_exceptions() -> None:
    forward, other = pte_emit.MethodBuilder("forward"), pte_emit.MethodBuilder("other")
    x = forward.input("float32", [2])
    for wrong in (object(), [object()], [x, 1], b"bytes", {1: 2}):
        with pytest.raises(TypeError):
            forward.call("aten::relu.out", wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        forward.call("aten::relu.out", x, dtype="float32")
    with pytest.raises(OverflowError):
        forward.call("aten::add.out", x, 1 << 70)
    with pytest.raises(TypeError):
        pte_emit.Program.build(1)  # type: ignore[arg-type]
    other.output(x)
    with pytest.raises(pte_emit.Error) as failed:
        pte_emit.Program.build(other)
    assert failed.value.diagnostics[0].name == "foreign-value"
    for message, operator, arguments, keywords in (
        ("did you mean aten::relu.out", "aten::relu.outt", [x], {}),
        (r"2 results \(values, indices\).*call_into", "aten::topk.values", [x, 1], {}),
        ("no argument `alpa`: expected self, other, alpha", "aten::add.out", [x, x], {"alpa": 1}),
        ("`alpha` is given twice", "aten::add.out", [x, x, 1], {"alpha": 2}),
        ("`other` is missing", "aten::add.out", [x], {"alpha": 2}),
        ("expected at most 1: self", "aten::relu.out", [x, x], {}),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            forward.call(operator, *arguments, **keywords)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="2 results"):
        forward.call_into("aten::topk.values", [x, 1], [x])


def test_numpy_and_keywords_are_arguments_of_a_builder() -> None:
    def build(alpha: Any, dims: Any, sizes: Any) -> bytes:
        forward = pte_emit.MethodBuilder("forward")
        x = forward.input("float32", sizes)
        y = forward.call("aten::add.out", x, other=x, alpha=alpha)
        forward.output(forward.call("aten::permute_copy.out", y, dims))
        forward.output(forward.call("aten::sum.IntList_out", y, [0], dtype=pte_emit.DType("float64")))
        return pte_emit.Program.build(forward).to_bytes()

    plain = build(2, [1, 0], [2, 3])
    assert plain == build(numpy.int64(2), numpy.array([1, 0]), numpy.array([2, 3]))
    assert plain == build(numpy.array(2), range(1, -1, -1), (numpy.int32(2), 3))
    sums = pte_emit.open(plain).program()[0].outputs[1].tensor
    assert sums is not None and (sums.dtype, sums.shape) == ("float64", (3,))
