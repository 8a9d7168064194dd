"""ExecuTorch reads and executes what the module writes. Needs the package executorch: left out without it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy
import pte_emit
import pytest
from pte_emit.__main__ import main

from conftest import EXAMPLES
from test_program import linear_program

pytest.importorskip("executorch.runtime")
torch: Any = pytest.importorskip("torch")


def deserialized(data: bytes) -> Any:
    program = pytest.importorskip("executorch.exir._serialize._program")
    file = program.deserialize_pte_binary(data)
    return getattr(file, "program", file)


def executed(path: Path, method: str, inputs: list[Any], data: Path | None = None) -> list[Any]:
    from executorch.runtime import Runtime, Verification

    program = Runtime.get().load_program(path, verification=Verification.InternalConsistency, data_path=data)
    loaded = program.load_method(method)
    assert loaded is not None
    return [output.numpy() if hasattr(output, "numpy") else output for output in loaded.execute(inputs)]


def test_a_program_built_from_nothing_is_executed(tmp_path: Path) -> None:
    [path] = linear_program().write(tmp_path / "linear.pte")
    x = numpy.array([[1, -2, 3, -4]], numpy.float32)
    weight = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    [y] = executed(Path(path), "forward", [torch.from_numpy(x)])
    assert numpy.allclose(y, numpy.maximum(x @ weight.T + 1, 0))


def test_a_program_built_from_nothing_is_read() -> None:
    program = deserialized(linear_program().to_bytes())
    [plan] = program.execution_plan
    assert plan.name == "forward" and [operator.name for operator in plan.operators] == ["aten::permute_copy", "aten::addmm", "aten::relu"]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_programs_that_the_module_writes_are_read(path: Path) -> None:
    assembly = pte_emit.open(path).assemble()
    if assembly.program is None:
        pytest.skip("no methods")
    names = [method.name for method in pte_emit.open(path).program().methods]
    assert [plan.name for plan in deserialized(pte_emit.open(path).program().to_bytes()).execution_plan] == names


def test_parts_that_are_added_and_removed_are_executed(linear: Path, tmp_path: Path) -> None:
    x = torch.tensor([[1.0, -2.0, 3.0, -4.0]])
    yaml = pte_emit.open(linear)
    for model in (yaml, pte_emit.open(yaml.assemble().program or b"")):
        [path] = model.assemble().write(tmp_path / "before.pte")
        [before] = executed(Path(path), "forward", [x])
        program = model.program()
        method = program["forward"]
        negative = method.add_tensor("float32", [1, 3])
        method.add_call("aten::neg.out", [method.outputs[0], negative, negative])
        method.outputs.append(negative)
        method.values.insert(0, 7)
        [path] = program.write(tmp_path / "added.pte")
        first, second = executed(Path(path), "forward", [x])
        assert numpy.array_equal(first, before) and numpy.array_equal(second, -before)
        del method.outputs[0], method.instructions[-1], method.values[0]
        method.outputs[0] = method.values[method["aten::relu.out"].args[0]]
        del method.instructions[2]
        [path] = program.write(tmp_path / "removed.pte")
        [product] = executed(Path(path), "forward", [x])
        assert numpy.array_equal(numpy.maximum(product, 0), before)


def test_a_changed_program_computes_something_else(linear: Path, tmp_path: Path) -> None:
    program = pte_emit.open(linear).program()
    forward = program["forward"]
    weight, bias = forward.constants["weight"], forward.constants["bias"]
    weight.data, bias.data = weight.data * -2, bias.data + 1
    [path] = program.write(tmp_path / "changed.pte")
    x = numpy.array([[1, 2, 3, 4]], numpy.float32)
    [y] = executed(Path(path), "forward", [torch.from_numpy(x)])
    assert numpy.allclose(y, numpy.maximum(x @ weight.data.T + bias.data, 0), atol=1e-6)


def test_edited_programs_compute_the_same(linear: Path, tmp_path: Path) -> None:
    model = pte_emit.open(linear)
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    [before] = model.assemble().write(tmp_path / "before.pte")
    [expected] = executed(Path(before), "forward", [x])
    optimized, _ = pte_emit.optimize(model)
    merged, _ = pte_emit.merge([model, pte_emit.open(EXAMPLES / "add.yaml")], renames=[{}, {"forward": "add"}])
    extracted, _ = pte_emit.extract(merged.model(), ["forward"])
    for number, program in enumerate([optimized, merged, extracted]):
        [path] = program.write(tmp_path / f"{number}.pte")
        [found] = executed(Path(path), "forward", [x])
        assert numpy.allclose(found, expected)


def test_weights_of_another_file_are_loaded(linear: Path, tmp_path: Path) -> None:
    written = pte_emit.open(linear).assemble(external_data=True).write(tmp_path / "linear.pte")
    weights = {name: array * 3 for name, array in pte_emit.load_ptd(written[1]).items()}
    assert sorted(weights) == ["bias", "weight"]
    pte_emit.save_ptd(tmp_path / "other.ptd", {"unused": b"\1", **weights})
    x = numpy.array([[1, 2, 3, 4]], numpy.float32)
    [y] = executed(Path(written[0]), "forward", [torch.from_numpy(x)], tmp_path / "other.ptd")
    assert numpy.allclose(y, numpy.maximum(x @ weights["weight"].T + weights["bias"], 0), atol=1e-5)


FIXTURE = """# a fixture
methods:
  forward:
    values:
      weight: {tensor: float32, data: [0.5, 2, -1]}  # by hand
      x: {tensor: float32, sizes: [3]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::mul.out, args: [x, weight], out: y}
    tests:
      - inputs: [[1, 2, 3]]   # small
"""


def test_a_blessed_fixture_shows_a_changed_weight(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.yaml"
    path.write_text(FIXTURE)
    monkeypatch.delenv("PTE_EMIT_RUNNER", raising=False)

    def command(*more: str) -> int:
        monkeypatch.setattr(sys, "argv", ["pte-emit", "test", str(path), "--timeout", "300", *more])
        return main()

    assert command("--bless") == 0
    assert path.read_text() == FIXTURE.replace("# small\n", "# small\n        outputs: [[0.5, 4, -3]]\n")
    path.write_text(path.read_text().replace("[0.5, 2, -1]", "[0.5, 2.5, -1]"))
    capfd.readouterr()
    assert command() == 1
    assert "output 0 at [1]: expected 4.0, found 5.0 (error 1.000e0, " in capfd.readouterr().out


def test_the_runner_of_the_package_runs_examples() -> None:
    for name in ["channels_last", "dtypes", "scalars", "linear_external"]:
        report = pte_emit.run_tests(EXAMPLES / f"{name}.yaml", timeout=300)
        assert [test.result for test in report.tests] == ["passed"] * len(report.tests), report


def test_the_runner_of_the_package_records(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(FIXTURE)
    new.write_text(FIXTURE.replace("[0.5, 2, -1]", "[0.5, 2.5, -1]"))
    monkeypatch.delenv("PTE_EMIT_RUNNER", raising=False)

    def command(other: Path) -> int:
        monkeypatch.setattr(sys, "argv", ["pte-emit", "diff", "--numeric", str(old), str(other), "--timeout", "300"])
        return main()

    assert command(old) == 0
    assert "no instruction computes other values" in capfd.readouterr().out
    assert command(new) == 1
    assert "methods.forward.instructions[0]: aten::mul.out" in capfd.readouterr().out


def test_errors_of_the_runtime_have_their_codes() -> None:
    source = b"""
methods:
  f:
    values: {x: {tensor: float32, sizes: [1]}, y: {tensor: float32, sizes: [1]}}
    inputs: [x]
    outputs: [y]
    instructions: [{kernel: mine::f.out, args: [x, y, y]}]
    tests: [{inputs: [[1]]}]
"""
    [test] = pte_emit.run_tests(pte_emit.open(source), timeout=300).tests
    assert test.error is not None and test.error.message == "`load f` fails with 0x14 OperatorMissing", test
