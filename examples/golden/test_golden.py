"""A test of an export: the program is what ``add.yaml`` says. ``BLESS=1 pytest`` writes what it is now into that file."""

from collections.abc import Callable
from pathlib import Path

import pte_emit


def export(path: Path, operator: str = "aten::add.out") -> None:
    """Stands for an exporter."""
    forward = pte_emit.MethodBuilder("forward")
    x, y = forward.input("float32", [2, 2]), forward.input("float32", [2, 2])
    forward.output(forward.call(operator, x, y))
    pte_emit.Program.build(forward).write(path)


def test_the_program_is_the_golden_one(golden: Callable[..., None], tmp_path: Path) -> None:
    export(tmp_path / "add.pte")
    golden("add.yaml", tmp_path / "add.pte")
