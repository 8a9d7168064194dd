"""Tests of programs in runners that are scripts: run_tests, the command, and the plugin of pytest."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import pte_emit
import pytest
from pte_emit.__main__ import main

pytest_plugins = ["pytester"]

SEVEN = """
methods:
  seven:
    outputs: [7]
    tests: [{outputs: [7]}]
"""

# A runner whose methods return 7.
RUNNER = """
import sys
print("program ok", flush=True)
for line in sys.stdin:
    command = line.split()[0]
    print("outputs 1\\noutput 0 int 7" if command == "outputs" else f"{command} ok", flush=True)
"""


@pytest.fixture
def runner(tmp_path: Path) -> list[str]:
    path = tmp_path / "runner.py"
    path.write_text(RUNNER)
    return [sys.executable, str(path)]


def test_results_are_typed(runner: list[str]) -> None:
    model = pte_emit.open(SEVEN.replace("[{outputs: [7]}]", "[{outputs: [8]}, {inputs: [1]}]").encode())
    report = pte_emit.run_tests(model, runner=runner)
    first, second = report.tests
    assert (first.method, first.index, first.result) == ("seven", 0, "failed")
    assert first.comparison is not None and first.comparison.difference is not None
    assert first.comparison.difference.found == "7"
    assert second.error is not None and second.error.kind == "invalid-test"
    assert [test.index for test in pte_emit.run_tests(model, runner=runner, select="seven/1").tests] == [1]


def test_a_path_and_a_command_line_are_accepted(runner: list[str], tmp_path: Path) -> None:
    path = tmp_path / "seven.yaml"
    path.write_text(SEVEN)
    report = pte_emit.run_tests(path, runner=f"'{runner[0]}' '{runner[1]}'")
    assert [test.result for test in report.tests] == ["passed"]


def test_errors_are_exceptions_or_results(runner: list[str]) -> None:
    model = pte_emit.open(SEVEN.encode())
    with pytest.raises(pte_emit.Error, match="no test or method matches"):
        pte_emit.run_tests(model, runner=runner, select="eight")
    with pytest.raises(ValueError, match="positive number"):
        pte_emit.run_tests(model, runner=runner, timeout=0)
    with pytest.raises(ValueError, match="no words"):
        pte_emit.run_tests(model, runner=[])
    [test] = pte_emit.run_tests(model, runner=[sys.executable, "-c", "import os; os.abort()"]).tests
    assert test.error is not None and test.error.kind == "signal"
    [test] = pte_emit.run_tests(model, runner=[sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.5).tests
    assert test.error is not None and test.error.kind == "timeout"


def test_errors_of_runs_have_no_paths_of_temporary_files(linear: Path) -> None:
    talks = ["sh", "-c", 'echo bad "$@"', "runner"]
    for inputs, message in (
        ([numpy.ones((1, 5), numpy.float32)], r"input `x`: the array has sizes \[1, 5\]"),
        ([numpy.ones((1, 4))], "input `x`: the array has element type float64"),
        ([numpy.ones((1, 4), numpy.float32)], "found `bad model.pte`"),
    ):
        with pytest.raises(pte_emit.Error, match=message) as failed:
            pte_emit.run(linear, inputs, runner=talks)
        texts = str(failed.value), failed.value.rendered, *(item.message for item in failed.value.diagnostics)
        assert not any("pte-emit-run-" in text or "input0" in text for text in texts)
    for wrong in (numpy.array([object()]), numpy.ones((1, 4), ">f4")):
        with pytest.raises(TypeError, match="input 'x': "):
            pte_emit.run(linear, {"x": wrong}, runner=talks)


def test_the_runner_of_the_package_says_what_is_missing(tmp_path: Path) -> None:
    # Without ExecuTorch; with it, the program is unreadable.
    (tmp_path / "empty.pte").write_bytes(b"")
    [test] = pte_emit.run_tests(pte_emit.open(SEVEN.encode()), runner=[sys.executable, "-m", "pte_emit.runner", "--wrong"]).tests
    assert test.error is not None and "unexpected argument '--wrong'" in "\n".join(test.error.log)


def test_the_command_finds_this_python(runner: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "seven.yaml"
    path.write_text(SEVEN)
    monkeypatch.setenv("PTE_EMIT_RUNNER", f"'{runner[0]}' '{runner[1]}'")
    monkeypatch.setattr(sys, "argv", ["pte-emit", "test", str(path)])
    assert main() == 0


def test_the_plugin_shows_the_message_about_invalid_yaml(pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", bad=SEVEN.replace("outputs: [7]\n", "outputs: [x]\n"))
    pytester.makepyfile("def test_missing(pte_emit_run): pte_emit_run('missing.yaml')")
    pytester.makeini("[pytest]\npte_emit_files = *.yaml\n")
    done = pytester.runpytest_subprocess()
    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(["*unknown value `x`*", "*outputs: [[]x[]]*", "*cannot read *missing.yaml*"])
    assert "Traceback" not in done.stdout.str() and "def _run(" not in done.stdout.str()


# A package that answers as ExecuTorch's does, and is slow to import.
EXECUTORCH = """
import os, pathlib
with open(os.environ["IMPORTED"], "a") as log:
    log.write("imported ")

class Verification:
    InternalConsistency = Minimal = 0

class Runtime:
    get = classmethod(lambda cls: cls())
    method_names = {"seven"}

    def load_program(self, path, verification):
        assert pathlib.Path(path).read_bytes()[4:8] == b"ET12"
        return self

    load_method = lambda self, name: self
    verification = None

    def execute(self, inputs):
        if "crash" in os.environ:
            os.abort()
        return [7]
"""


def test_executorch_is_imported_once_for_all_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("executorch", "torch", "executorch-0.0.dist-info"):
        (tmp_path / folder).mkdir()
    (tmp_path / "executorch/runtime.py").write_text(EXECUTORCH)
    (tmp_path / "torch/__init__.py").write_text("class Tensor: pass")
    (tmp_path / "executorch-0.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: executorch\nVersion: 0.0\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("IMPORTED", str(tmp_path / "log"))
    monkeypatch.delenv("PTE_EMIT_RUNNER", raising=False)
    monkeypatch.setenv("PTE_EMIT_CACHE", str(tmp_path / "cache"))
    model = pte_emit.open(SEVEN.replace("[{outputs: [7]}]", "[{outputs: [7]}, {outputs: [8]}, {outputs: [7]}]").encode())
    assert [test.result for test in pte_emit.run_tests(model)] == ["passed", "failed", "passed"]
    assert (tmp_path / "log").read_text() == "imported "
    monkeypatch.setenv("crash", "1")
    tests = pte_emit.run_tests(model).tests
    assert [test.error.kind for test in tests if test.error] == ["signal"] * 3


def test_an_installed_runner_is_found(runner: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTE_EMIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PTE_EMIT_RUNNER", raising=False)
    for release in ("1.5.0", "1.5.1"):
        path = tmp_path / "cache/runners" / release / "runner"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\nexec '{runner[0]}' '{runner[1]}'\n")
        path.chmod(0o755)
    for name in (None, "1.5.0"):
        assert pte_emit.run_tests(pte_emit.open(SEVEN.encode()), runner=name).tests[0].result == "passed"


def test_the_plugin(pytester: pytest.Pytester, runner: list[str]) -> None:
    pytester.makepyfile(
        f"""
        import pte_emit, pytest

        SEVEN = {SEVEN!r}

        def test_inline(pte_emit_assemble, pte_emit_run):
            assert pte_emit_assemble(SEVEN).program is not None
            assert pte_emit_run(SEVEN).tests[0].result == "passed"
            pte_emit_run(pte_emit.open("good.yaml"))
            with pytest.raises(pytest.fail.Exception, match="output 0: expected 8, found 7"):
                pte_emit_run("bad.yaml")

        @pytest.mark.pte_emit("good.yaml")
        def test_good(): pass

        @pytest.mark.pte_emit("bad.yaml", select="seven")
        def test_bad(): pass
        """
    )
    pytester.makefile(".yaml", good=SEVEN, bad=SEVEN.replace("{outputs: [7]}", "{outputs: [8]}"))
    pytester.makeini("[pytest]\npte_emit_files = *.yaml\n")
    done = pytester.runpytest_subprocess("--strict-markers", "--pte-emit-runner", f"'{runner[0]}' '{runner[1]}'")
    done.assert_outcomes(passed=3, failed=2)
    done.stdout.fnmatch_lines(["*bad.yaml: 1 of 1 tests did not pass*", "*seven/0: output 0: expected 8, found 7*"])


def test_programs_lists_and_maps_are_accepted(runner: list[str]) -> None:
    model = pte_emit.open(SEVEN.encode())
    program = model.program()
    assert list(pte_emit.run(program, [], method="seven", runner=runner).outputs.values()) == [7]
    assert pte_emit.verify(program, model.manifest().to_dict()).differences == []
    with pytest.raises(ValueError, match="repeat: expected 1 or more"):
        pte_emit.run(model, method="seven", repeat=0, runner=runner)


def test_a_test_is_added_with_what_a_runner_returns(linear: Path, tmp_path: Path) -> None:
    script = tmp_path / "ones.py"
    script.write_text(RUNNER.replace("int 7", "tensor 6 1,3 0,1 0000803f0000803f0000803f"))
    runner = [sys.executable, str(script)]
    tests = pte_emit.strip(linear, only="tests")[0].model()
    for bless, results in ((True, ["passed"]), (False, ["no_outputs"])):
        program = pte_emit.add_test(tests, [numpy.ones((1, 4), numpy.float32)], bless=bless, runner=runner)
        program.write(tmp_path / f"{bless}.bpte")
        report = pte_emit.run_tests(tmp_path / f"{bless}.bpte", runner=runner)
        assert [test.result for test in report.tests] == results
    outputs = pte_emit.run(tests, runner=runner)
    assert [value.tolist() for value in outputs.outputs.values()] == [[[1, 1, 1]]] and list(outputs.taps) == []
