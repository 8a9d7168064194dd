"""Golden YAML: ``Model.golden``, and the fixture of the plugin of pytest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pte_emit
import pytest

from conftest import EXAMPLES

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def not_blessing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BLESS", raising=False)


def test_a_model_is_compared_with_golden_yaml(tmp_path: Path) -> None:
    linear = pte_emit.open(EXAMPLES / "linear.yaml")
    other = pte_emit.open(linear.text.replace("relu.out", "neg.out").encode(), name="other.yaml") if linear.text else linear
    golden = tmp_path / "linear.yaml"
    with pytest.raises(pte_emit.Error, match="does not exist; `bless=`"):
        linear.golden(golden)
    shutil.copy(EXAMPLES / "linear.yaml", golden)
    assert linear.golden(golden) is None
    report = other.golden(golden)
    assert report is not None and report.index("meaning: 3 differences") < report.index("--- ") < report.index("+      - {kernel: aten::neg.out")
    assert other.golden(golden, only="data") is None
    assert other.golden(golden, bless=True) is None and other.golden(golden) is None
    assert golden.read_text().count("#") == (linear.text or "").count("#")


def test_the_example_passes_fails_and_is_blessed(pytester: pytest.Pytester) -> None:
    for path in (EXAMPLES / "golden").glob("*.*"):
        if path.suffix in (".py", ".yaml"):
            shutil.copy(path, pytester.path)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    test, golden = pytester.path / "test_golden.py", pytester.path / "add.yaml"
    test.write_text(test.read_text().replace("aten::add.out", "aten::sub.out"))
    done = pytester.runpytest_subprocess()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["meaning: 3 differences", "--- *add.yaml", "+*aten::sub.out*", "*`--pte-emit-bless`, or BLESS=1*"])
    assert "def compare(" not in done.stdout.str()
    old = golden.read_text()
    pytester.runpytest_subprocess("--pte-emit-bless").assert_outcomes(passed=1)
    assert golden.read_text().count("#") == old.count("#") and "aten::sub.out" in golden.read_text()
    golden.write_text(old)
    command = [sys.executable, "-m", "pytest", "-q"]
    for no in ["0", "false", "no"]:
        assert subprocess.run(command, cwd=pytester.path, env={**os.environ, "BLESS": no}).returncode == 1
    assert golden.read_text() == old
    subprocess.run(command, cwd=pytester.path, env={**os.environ, "BLESS": "1"}, check=True)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_bytes_models_and_missing_files(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pte_emit

        def test_bytes(golden):
            program = pte_emit.assemble("methods: {seven: {outputs: [7]}}").program
            golden("new.yaml", program, bless=True)
            golden("new.yaml", program)
            golden("new.yaml", pte_emit.open(program))
            golden("new.yaml", "methods: {seven: {outputs: [7]}}\\n")

        def test_missing(golden): golden("missing.yaml", pte_emit.open(b"methods: {seven: {outputs: [7]}}"))
        """
    )
    done = pytester.runpytest_subprocess()
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*missing.yaml: the golden YAML does not exist*"])
