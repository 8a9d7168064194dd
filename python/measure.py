"""Measures the installed package: time of the import, and of writing 1 GiB of weights compared with numpy's tofile.

    python measure.py [FOLDER]

The files are written to FOLDER, or to a temporary folder. Prints the least of several runs, in seconds.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy
import pte_emit

GIB = 1 << 30
RUNS = 5


def start(code: str) -> float:
    """Time of a Python process."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - begin


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def least(*works: Callable[[], float], runs: int = RUNS) -> list[float]:
    """The least time of each, which take turns."""
    times = [[work() for work in works] for _ in range(runs)]
    return [min(column) for column in zip(*times)]


def main() -> None:
    empty, imported = least(lambda: start("pass"), lambda: start("import pte_emit"), runs=20)
    print(f"import: {(imported - empty) * 1000:.1f} ms more than the {empty * 1000:.1f} ms of Python")
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as name:
        folder = Path(name)
        for count in (1, 64):
            rng = numpy.random.default_rng(count)
            parts = [rng.integers(0, 1 << 63, GIB // 8 // count) for _ in range(count)]
            weights = {f"w{number}": part for number, part in enumerate(parts)}
            whole = parts[0] if count == 1 else numpy.concatenate(parts)
            ours, theirs = least(
                lambda: timed(lambda: pte_emit.save_ptd(folder / "w.ptd", weights)),
                lambda: timed(lambda: whole.tofile(folder / "w.bin")),
            )
            print(f"save_ptd of 1 GiB in {count} tensors: {ours:.3f} s, tofile {theirs:.3f} s, ratio {ours / theirs:.2f}")
            (loaded,) = least(lambda: timed(lambda: pte_emit.load_ptd(folder / "w.ptd")))
            print(f"load_ptd: {loaded * 1000:.1f} ms")


if __name__ == "__main__":
    main()
