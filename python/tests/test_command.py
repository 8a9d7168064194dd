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


ECHO = """#!/bin/sh
echo program ok
while read -r command rest; do
    case $command in
        input) echo input ok; value=${rest#* };;
        outputs) echo outputs 1; echo "output 0 $value";;
        *) echo "$command ok";;
    esac
done
"""


def test_files_of_numpy_and_pictures(tmp_path: Path) -> None:
    """The expected arrays are those of NumPy and Pillow: a runner returns its input, which is read from a file and written to others."""
    import numpy as np
    from PIL import Image

    (tmp_path / "echo.sh").write_text(ECHO)
    pixels = np.random.default_rng(7).integers(0, 256, (6, 9, 4), dtype=np.uint8)
    pictures = {}
    for mode in ("L", "RGB", "RGBA"):
        pictures[mode] = Image.fromarray(pixels).convert(mode)
        pictures[mode].save(tmp_path / f"{mode}.png")
    pictures["RGB"].save(tmp_path / "p.jpg", quality=95)

    def echo(dtype: str, shape: list[int], value: str, *options: str) -> np.ndarray:
        tensor = f"{{tensor: {dtype}, sizes: {shape}}}"
        call = "{kernel: aten::clone.out, args: [x, null], out: y}"
        source = tmp_path / "echo.yaml"
        source.write_text(
            f"methods: {{forward: {{values: {{x: {tensor}, y: {tensor}}}, inputs: [x], outputs: [y], instructions: [{call}]}}}}"
        )
        out = tmp_path / "out.npz"
        command: list[str | Path] = ["run", source, "-i", f"x=@{tmp_path / value}", "--runner", f"sh {tmp_path / 'echo.sh'}"]
        for name in (out, out.with_suffix(".npy")):
            done = run(*command, "--save-outputs", name, *options)
            assert done.returncode == 0, done.stderr
        archive = np.load(out)
        assert archive.files == ["y"]
        assert np.array_equal(archive["y"], np.load(out.with_suffix(".npy")))
        assert run(*command, "--expected", out).returncode == 0
        found: np.ndarray = archive["y"]
        assert list(found.shape) == shape
        return found

    for dtype in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64"):
        array = (np.arange(24).reshape(2, 3, 4) % 3).astype(dtype)
        np.savez(tmp_path / "a.npz", other=array[0], x=array)
        np.savez_compressed(tmp_path / "b.npz", np.asfortranarray(array))
        for name in ("a.npz:x", "b.npz", "b.npz:arr_0"):
            found = echo(dtype, [2, 3, 4], name)
            assert found.dtype == array.dtype and np.array_equal(found, array)

    for mode, channels in (("L", 1), ("RGB", 3), ("RGBA", 4)):
        expected = np.asarray(pictures[mode]).reshape(6, 9, channels)
        assert np.array_equal(echo("uint8", [1, 6, 9, channels], f"{mode}.png")[0], expected)
        first = expected.transpose(2, 0, 1)
        assert np.array_equal(echo("uint8", [channels, 6, 9], f"{mode}.png"), first)
        assert np.array_equal(echo("int8", [1, channels, 6, 9], f"{mode}.png")[0], first.astype(int) - 128)
        assert np.array_equal(echo("float32", [1, channels, 6, 9], f"{mode}.png")[0], first / np.float32(255))
        half = echo("float16", [1, channels, 6, 9], f"{mode}.png")[0]
        assert np.array_equal(half, (first / np.float32(255)).astype(np.float16))
    assert np.array_equal(echo("uint8", [6, 9], "RGB.png"), np.asarray(pictures["RGB"].convert("L")))
    # Decoders of JPEG may differ by rounding, and filters of other programs, too.
    found = echo("uint8", [1, 6, 9, 3], "p.jpg")[0].astype(int)
    assert np.abs(found - np.asarray(Image.open(tmp_path / "p.jpg"))).max() <= 2
    found = echo("uint8", [1, 4, 5, 3], "RGB.png:resize")[0].astype(int)
    assert np.abs(found - np.asarray(pictures["RGB"].resize((5, 4), Image.Resampling.BILINEAR))).max() <= 1
