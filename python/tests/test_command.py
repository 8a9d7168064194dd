"""The command, the import, and generated code."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pte_emit
import pytest

from conftest import ROOT


def run(*arguments: str | Path, module: bool = False) -> subprocess.CompletedProcess[str]:
    script = Path(sysconfig.get_path("scripts")) / "pte-emit"
    command: list[str | Path] = [sys.executable, "-m", "pte_emit"] if module else [script]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)


def test_the_command_is_that_of_the_crate(linear: Path, tmp_path: Path) -> None:
    for module in (False, True):
        version = run("--version", module=module)
        assert version.stdout == f"pte-emit {pte_emit.__version__} (ExecuTorch {pte_emit.EXECUTORCH})\n"
    assert run(linear, "-o", tmp_path / "linear.pte").returncode == 0
    assert (tmp_path / "linear.pte").read_bytes() == pte_emit.open(linear).assemble().program
    checked = run("check", tmp_path / "linear.pte")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert run("check", tmp_path / "missing.pte").returncode == 3
    assert run("--no-such-option").returncode == 2


def test_the_json_of_the_command_is_that_of_the_results(linear: Path) -> None:
    import json

    model = pte_emit.open(linear)
    for command, result in (("inspect", model.inspect()), ("size", model.size()), ("memory", model.memory()), ("kernels", model.kernels())):
        option = ["--json"] if command != "kernels" else ["--format", "json"]
        printed = run(command, linear, *option)
        if printed.returncode == 2:
            printed = run(command, linear, "--format", "json")
        assert json.loads(printed.stdout) == json.loads(json.dumps(result.to_dict())), command


def test_an_import_loads_few_modules() -> None:
    code = "import sys; before = set(sys.modules); import pte_emit; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) <= {"__future__", "pte_emit", "pte_emit._errors", "pte_emit._pte_emit"}


def test_numpy_is_needed_for_arrays_only(linear: Path) -> None:
    code = """
import sys
sys.modules["numpy"] = None
import pte_emit
assert pte_emit.open(sys.argv[1]).check().errors == 0
for use in (lambda: pte_emit.load_ptd(b""), lambda: pte_emit.open(sys.argv[1]).program()["forward"].constants["bias"].data):
    try:
        use()
    except ImportError as error:
        print(error)
"""
    out = subprocess.run([sys.executable, "-c", code, linear], capture_output=True, text=True, check=True).stdout
    assert out == "numpy is needed for arrays: pip install numpy\n" * 2


def test_all_names_are_there() -> None:
    assert all(getattr(pte_emit, name) is not None for name in pte_emit.__all__)
    assert set(pte_emit.__all__) == set(dir(pte_emit))
    with pytest.raises(AttributeError, match="no attribute 'load'"):
        getattr(pte_emit, "load")
    assert all(hasattr(pte_emit.results, name) for name in pte_emit.results.__all__)


def test_everything_public_is_described() -> None:
    for name in pte_emit.__all__:
        item = getattr(pte_emit, name)
        if name in ("EXECUTORCH", "__version__"):
            continue
        assert item.__doc__, name
        for attribute in dir(item) if isinstance(item, type) and not issubclass(item, Exception) else []:
            if not attribute.startswith("_") and item.__module__ == "pte_emit":
                assert getattr(item, attribute).__doc__, f"{name}.{attribute}"


def test_the_classes_of_results_are_those_of_the_schemas() -> None:
    generator = ROOT / "python" / "generate_results.py"
    subprocess.run([sys.executable, generator, "--check"], check=True)
