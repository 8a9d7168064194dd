"""Python's own protocols: sequences, copies, pickles, paths, texts."""

from __future__ import annotations

import copy
import pickle
import re
import time
from pathlib import Path
from typing import Any

import numpy
import pte_emit
import pytest

from conftest import EXAMPLES


def test_programs_and_methods_are_sequences(linear: Path) -> None:
    program = pte_emit.open(linear).program()
    method = program[0]
    assert program["forward"] == program[-1] == method and method in program and "backward" not in program
    assert (len(method), list(method), method[0]) == (3, list(method.instructions), method.instructions[0])
    assert "aten::relu.out" in method and "aten::abs.out" not in method and method[2] in method
    assert method["aten::relu.out"] == method[2] and hash(method) == hash(program[0])
    assert method.values["weight"].tensor == method.constants["weight"] and method.constants["weight"].shape == (3, 4)
    for wrong, error in ((1, IndexError), (-2, IndexError), ("other", KeyError), (1.5, TypeError)):
        with pytest.raises(error):
            program[wrong]  # type: ignore[index]
    with pytest.raises(IndexError, match="3 instructions"):
        method.instructions[3]


def test_results_are_sequences_and_have_texts() -> None:
    model = pte_emit.open(EXAMPLES / "malformed" / "constant_out_of_range.yaml")
    found = pte_emit.open(model.assemble().program or b"").check()
    first = found[0]
    assert len(found) == len(found.findings) > 0 and list(found) == found.findings and first in found
    assert first.rule in found and "X-999" not in found and not pte_emit.open(EXAMPLES / "add.yaml").check()
    lines = str(found).splitlines()
    assert (lines[-1], found.errors) == ("1 error, 0 warnings, 0 notes", 1)
    assert first.message in lines[0] and f"[{first.rule}]" in lines[0]
    assert "FileFindings(" not in repr(found) and "[1 FileFindings]" in repr(found)
    assert [weight.name for weight in pte_emit.open(EXAMPLES / "linear.yaml").weights()] == ["weight", "bias"]
    assert "weight" in pte_emit.open(EXAMPLES / "linear.yaml").weights()


def test_results_print_what_is_in_them(linear: Path) -> None:
    model = pte_emit.open(linear)
    edits = (pte_emit.optimize(model)[1], pte_emit.merge([model])[1], pte_emit.extract(model, "forward")[1])
    for result, words in (
        (model.inspect(), "file .*linear.pte.*constants: bytes 60.*methods: name forward.*instructions 3"),
        (model.size(dimensions=["segment"]), r"bytes \d+.*children: name FlatBuffer, bytes \d+"),
        (model.memory(), r"total: bytes \d+"),
        (model.memory().methods[0], "name forward.*pools: bytes 80"),
        (model.weights(), "weights: name weight, bytes 48.*weights: name bias"),
        (model.kernels(), "operators: name aten::addmm.out"),
        (model.diff(EXAMPLES / "add.yaml"), r"differences: path methods.forward.inputs.0..*value 'float32 \[1, 4\]'.*\d+ more"),
        (model.firmware("zephyr")[0], "platform 'zephyr'.*pools: name .*bytes"),
        (pte_emit.ops("relu")[0], "name aten::"),
        (pte_emit.explain("0x12")[0], "InvalidArgument.*causes"),
        (pte_emit.verify(model, model.manifest()), "entries 2"),
        *zip(edits, ("methods: name forward.*planner", "original 'forward'", r"methods \['forward'\]")),
    ):
        text = str(result)
        assert re.search(words, text, re.DOTALL) and not text.startswith(repr(result)), text
        assert len(text.splitlines()) < 40 and max(map(len, text.splitlines())) < 260
    outputs = pte_emit.RunOutputs("forward", {"y": numpy.ones((2, 100), numpy.float32), "n": 7}, [0.001])
    assert str(outputs).splitlines()[0] == "forward: 1 execution, the fastest in 1 ms"
    assert re.search(r"y: float32 \[2, 100\]: \[\[1. 1. .*\.\.\.\n  n: 7$", str(outputs))
    values = [repr(value) for value in model.program()[0].values]
    assert "<pte_emit.Value 6: IntList (4, 5)>" in values and "<pte_emit.Value 4: Int 1>" in values


def test_models_programs_and_results_are_copied_and_pickled(linear: Path, tmp_path: Path) -> None:
    model = pte_emit.open(linear)
    [path] = model.assemble().write(tmp_path / "linear.pte")
    for original in (model, pte_emit.open(path), pte_emit.open(Path(path).read_bytes(), name="linear.pte")):
        for other in (copy.copy(original), copy.deepcopy(original), pickle.loads(pickle.dumps(original))):
            assert (other.name, other.text, other.format) == (original.name, original.text, original.format)
            assert other.diff(original).equal
    pickled = pickle.dumps(pte_emit.open(path))
    Path(path).unlink()
    assert pickle.loads(pickled).check().errors == 0
    program = model.program()
    twin = copy.deepcopy(program)
    twin[0].name = "twin"
    assert (program[0].name, twin[0].name) == ("forward", "twin")
    memory = model.memory()
    assert pickle.loads(pickle.dumps(memory)) == copy.deepcopy(memory) == memory


def test_a_path_is_accepted_where_a_model_is(linear: Path) -> None:
    model, text = pte_emit.open(linear), str(linear)
    assert model.diff(text).equal and model.diff(linear).equal and model.diff(model.program()).equal
    assert pte_emit.optimize(text)[1] == pte_emit.optimize(linear)[1]
    assert pte_emit.merge([text, EXAMPLES / "add.yaml"], renames=[{}, {"forward": "add"}])[0]["add"]
    assert pte_emit.extract(text, "forward")[0]["forward"] and pte_emit.embed(linear, "linear")
    assert str(model.report(before=text))
    with pytest.raises(FileNotFoundError):
        model.diff("missing.pte")
    with pytest.raises(TypeError):
        model.diff(1)  # type: ignore[arg-type]


def external(folder: Path) -> list[Path]:
    return [Path(path) for path in pte_emit.open(EXAMPLES / "linear.yaml").assemble(external_data=True).write(folder / "linear.pte")]


def test_external_tensors_have_data_with_their_file(tmp_path: Path) -> None:
    program, data = external(tmp_path)
    assert not pte_emit.open(program).program()[0].constants
    expected = pte_emit.load_ptd(data)["weight"]
    for model in (pte_emit.open(program, with_files=data), pte_emit.open(program, with_files=[str(data)])):
        weight = model.program()[0].constants["weight"]
        assert weight.is_external and weight.has_data and numpy.array_equal(weight.data, expected)
        assert {item.name: item.bytes for item in model.weights()}["weight"] == 48
    weight = pte_emit.open(program).program(with_files=data)[0].constants["weight"]
    with pytest.raises(ValueError, match="internal_data=True"):
        weight.data = weight.data * 2
    inside = pte_emit.open(program).assemble(with_files=str(data), internal_data=True).program or b""
    assert set(pte_emit.open(inside).program()[0].constants) == {"weight", "bias"}


def test_files_of_open_are_kept_by_its_program_and_what_edits_return(tmp_path: Path) -> None:
    path, data = external(tmp_path)
    expected = pte_emit.load_ptd(data)["weight"]
    file = pte_emit.open(path, with_files=data)
    for model in (file, pte_emit.open(file.to_yaml().encode(), with_files=data)):
        edited = [pte_emit.optimize(model)[0], pte_emit.merge([model])[0], pte_emit.rename(model, {"forward": "f"})]
        for program in (model.program(), *edited, model.program().model().program()):
            assert numpy.array_equal(program[0].constants["weight"].data, expected)
            [written] = program.write(tmp_path / "inside.pte", internal_data=True)
            assert numpy.array_equal(pte_emit.open(written).program()[0].constants["weight"].data, expected)
        inside = pte_emit.open(model.assemble(internal_data=True).program or b"")
        assert set(inside.program()[0].constants) == {"weight", "bias"}


def test_data_outside_have_the_names_of_the_source(tmp_path: Path) -> None:
    values = "x: {tensor: float32, sizes: [2]}, scale: {tensor: float32, sizes: [2], data: [3, 4]}"
    call = "{kernel: aten::mul.out, args: [x, scale], out: y}"
    model = pte_emit.open(f"methods: {{f: {{values: {{{values}}}, inputs: [x], outputs: [y], instructions: [{call}]}}}}".encode())
    for number, program in enumerate((model.program(), pte_emit.optimize(model)[0])):
        program[0].values.insert(0, 7)
        _, data = program.write(tmp_path / f"{number}.pte", external_data=True)
        assert list(pte_emit.load_ptd(data)) == ["scale"]
        assert program.assemble(external_data="s.ptd=scale").data
    # Whether its names were looked at or not.
    file = pte_emit.open(model.assemble().program or b"").program()
    unread = file.assemble(external_data=True).data[""]
    assert file[0].values[0].name and file.assemble(external_data=True).data[""] == unread


def test_values_of_a_file_have_the_names_that_are_printed(linear: Path) -> None:
    model = pte_emit.open(linear)
    file = pte_emit.open(model.assemble().program or b"")
    method = file.program()["forward"]
    printed = file.to_yaml()
    assert all(value.name and value.name in printed for value in method.values if value.tensor)
    assert set(method.constants) == {item.name for item in file.weights()}
    optimized, _ = pte_emit.optimize(model)
    assert optimized[0].inputs[0].name == "x"


def test_bytes_are_recognised_by_content_and_name(tmp_path: Path) -> None:
    (tmp_path / "a.pte").write_bytes(b"")
    for content in (b"", b"hello", b"\x00\x01"):
        model = pte_emit.open(content, name="a.pte")
        assert not model.is_text and model.check().errors == 1 and "H-1" in model.check()
    assert not pte_emit.open(tmp_path / "a.pte").is_text
    assert pte_emit.open(b"methods: {}", name="a.yaml").is_text


def test_weights_close_their_file(tmp_path: Path) -> None:
    path = tmp_path / "w.ptd"
    pte_emit.save_ptd(path, {"w": numpy.ones(4, numpy.float32)})
    with pte_emit.load_ptd(path) as weights:
        mapped = weights._mapped
        assert weights["w"].sum() == 4
    assert mapped.closed and not weights
    with pte_emit.load_ptd(path) as weights:
        kept = weights["w"]
    assert kept.sum() == 4


def test_parts_are_added_and_removed(linear: Path) -> None:
    yaml = pte_emit.open(linear)
    for model in (yaml, pte_emit.open(yaml.assemble().program or b"")):
        program = model.program()
        method = program["forward"]
        [y] = method.outputs
        z = method.add_tensor("float32", [1, 3], name="z")
        call = method.add_call("aten::abs.out", [y, z, z])
        assert method.instructions[-1] == call and call.args == (y.index, z.index, z.index) and z.name == "z"
        method.outputs.append(z)
        changed = program.model()
        assert changed.check().errors == 0 and len(changed.program()[0].outputs) == 2
        with pytest.raises(ValueError, match="is used"):
            del method.values[z.index]
        method.outputs = [y]
        del method.instructions[-1]
        del method.values[z.index]
        assert program.model().diff(model.program(), only="meaning").equal


def test_values_of_all_kinds_are_added_and_renumbered(linear: Path) -> None:
    program = pte_emit.open(linear).program()
    method = program["forward"]
    before = [value.name for value in method.values if value.tensor]
    for item in (7, True, 2.5, "text", None, numpy.float32(3), numpy.ones((2, 3), numpy.int32)):
        method.values.insert(0, item)
    kinds = [value.kind for value in method.values[:7]]
    assert kinds == ["Tensor", "Double", "Null", "String", "Double", "Bool", "Int"]
    assert method.values[0].tensor is not None and method.values[0].tensor.data.tolist() == [[1] * 3] * 2
    assert [value.name for value in method.values if value.tensor][1:] == before
    changed = program.model()
    assert changed.check().errors == 0 and changed.program()[0].instructions[2].operator == "aten::relu.out"
    method.values.append([method.values[6], method.values[6]])
    assert (method.values[-1].kind, method.values[-1].value) == ("IntList", (6, 6))
    del method.values[-1]
    del method.values[:7]
    assert program.to_bytes() == pte_emit.open(linear).program().to_bytes()


def test_parts_are_swapped_and_objects_of_replaced_ones_keep_what_they_were(linear: Path) -> None:
    method = pte_emit.open(linear).program()["forward"]
    calls, values = method.instructions, method.values
    names = [call.operator for call in calls]
    calls[0], calls[1], calls[2] = calls[1], calls[2], calls[0]
    assert [call.operator for call in calls] == [*names[1:], names[0]]
    calls[2], calls[0] = calls[0], calls[2]
    sizes = values[0].tensor.sizes, values[1].tensor.sizes  # type: ignore[union-attr]
    values[0], values[1] = values[1], values[0]
    assert (values[1].tensor.sizes, values[0].tensor.sizes) == sizes  # type: ignore[union-attr]
    old, tensor = calls[1], values[0].tensor
    calls[1], values[0] = calls[0], 7
    assert (old.operator, old.args) != (calls[1].operator, calls[1].args) and tensor is not None and tensor.sizes == sizes[1]
    for item, name, value in ((old, "args", []), (old, "operator", "aten::abs.out"), (tensor, "data", tensor.data)):
        with pytest.raises(ValueError, match="was replaced"):
            setattr(item, name, value)
    calls[1] = old
    assert calls[1].operator == old.operator
    # What another object changes is assigned, too.
    first, again = calls[0], calls[0]
    again.operator = "aten::abs.out"
    calls.append(first)
    assert calls[-1].operator == "aten::abs.out"


def test_errors_about_numbers_name_the_argument(linear: Path) -> None:
    model = pte_emit.open(linear)
    method, forward = model.program()[0], pte_emit.MethodBuilder("forward")
    x = forward.input("float32", [2])
    for name, call in (
        ("limit", lambda: model.check(limit=-1)),
        ("max_size", lambda: model.assemble(max_size=-1)),
        ("max_shard_size", lambda: model.assemble(max_shard_size=-1)),
        ("sizes", lambda: forward.input("float32", [1 << 40])),
        ("alpha", lambda: forward.call("aten::add.out", x, x, alpha=1 << 70)),
        ("other", lambda: forward.call("aten::add.out", x, 1 << 70)),
        ("dims", lambda: forward.call("aten::permute_copy.out", x, [1 << 70])),
        ("value", lambda: method.values.insert(0, 1 << 80)),
        ("value", lambda: setattr(method.values[4], "value", 1 << 80)),
    ):
        with pytest.raises(OverflowError) as failed:
            call()
        assert failed.value.__notes__ == [f"while processing '{name}'"]
    for wrong in (-1, 1 << 70, 99):
        with pytest.raises(ValueError, match=f"no value has the index {wrong}: the method has 11"):
            method.instructions[0].args = [wrong]


def test_masked_arrays_are_refused(linear: Path, tmp_path: Path) -> None:
    model, forward = pte_emit.open(linear), pte_emit.MethodBuilder("forward")
    method, x = model.program()[0], forward.input("float32", [1, 2])
    masked: Any = numpy.ma.masked_array(numpy.ones((1, 4), numpy.float32), mask=numpy.ones((1, 4), bool))
    for call in (
        lambda: forward.constant(masked),
        lambda: forward.call("aten::permute_copy.out", x, masked),
        lambda: forward.call("aten::add.out", x, numpy.ma.masked),
        lambda: setattr(method.constants["weight"], "data", masked),
        lambda: setattr(method.values[4], "value", numpy.ma.masked),
        lambda: method.values.append(masked),
        lambda: pte_emit.set_metadata(model, {"a": masked}),
        lambda: pte_emit.save_ptd(tmp_path / "w.ptd", {"a": masked}),
        lambda: pte_emit.run(model, [masked], runner="none"),
    ):
        with pytest.raises(TypeError, match=r"masked array .*array.filled"):
            call()


def test_jumps_follow_their_instructions() -> None:
    program = pte_emit.open(EXAMPLES / "loop.yaml").program()
    method = next(method for method in program.methods if any(call.destination for call in method))
    targets = [call.destination for call in method if call.destination is not None]
    method.instructions.insert(0, method.instructions[0])
    assert [call.destination for call in method if call.destination is not None] == [(to or 0) + 1 for to in targets]
    del method.instructions[0]
    assert [call.destination for call in method if call.destination is not None] == targets


def test_an_index_does_not_build_the_list() -> None:
    calls = "".join(f"- {{kernel: aten::relu.out, args: [v{number}], out: v{number + 1}}}\n" for number in range(4000))
    yaml = "methods: {f: {values: {v0: {tensor: float32, sizes: [1]}}, inputs: [v0], outputs: [v4000], instructions: CALLS}}"
    method = pte_emit.open(yaml.replace("CALLS", f"[{', '.join(line[2:] for line in calls.splitlines())}]").encode()).program()[0]
    assert len(method) == 4000

    def seconds(work: object) -> float:
        begin = time.perf_counter()
        for _ in range(100):
            work()  # type: ignore[operator]
        return time.perf_counter() - begin

    whole = min(seconds(lambda: tuple(method.instructions[:400])) for _ in range(3))
    one = min(seconds(lambda: (method.instructions[3999], method.values[4000])) for _ in range(3))
    assert one < whole / 20


def test_html_has_pictures_and_tables_for_light_and_dark(linear: Path) -> None:
    model = pte_emit.open(linear)
    for pictured in (model.inspect(), model.size(dimensions=["segment", "kind", "tensor"]), model.memory()):
        html = pictured._repr_html_()
        assert "<svg" in html and "<rect" in html and "aten::addmm.out" in model.inspect()._repr_html_()
    report = pte_emit.optimize(linear)[1]
    for listed in (model.weights(), model.kernels(), model.manifest(), report, model.inspect().constants[0]):  # type: ignore[index]
        html = listed._repr_html_()
        assert "<table>" in html and "<pre>" not in html
    for result in (model.inspect(), model.size(), model.memory(), model.weights()):
        # Text has the colour of the page: only marks have one of their own.
        assert not re.search(r'(?<!<span style="white-space:nowrap"><span style=")color:(?!#[0-9a-f]{6}">&#9632;)|background', result._repr_html_())
        assert len(result._repr_html_()) < 100_000


def test_lists_of_parts_end_and_refuse_what_would_lose_parts(linear: Path) -> None:
    method = pte_emit.open(linear).program()["forward"]
    method.outputs.extend(method.outputs)
    assert [value.index for value in method.outputs] == [method.outputs[0].index] * 2
    with pytest.raises(TypeError):
        method.inputs.extend([method.values[0], "none"])
    assert len(method.inputs) == 1
    for change in (method.instructions.reverse, method.instructions.pop, method.values.pop):
        with pytest.raises(TypeError):
            change()
    method.outputs.pop()
    with pytest.raises(ValueError, match="is not among the outputs"):
        method.outputs.remove(method.values[0])
