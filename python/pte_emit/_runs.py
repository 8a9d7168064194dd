"""Tests of programs in a runner."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import _pte_emit
from ._pte_emit import Model

if TYPE_CHECKING:
    from .results import TestReport

_Path = str | os.PathLike[str]


def run_tests(
    source: Model | _Path,
    *,
    runner: str | Sequence[str] | None = None,
    select: str | Sequence[str] = (),
    timeout: float = 60.0,
    with_files: _Path | Sequence[_Path] = (),
) -> TestReport:
    """Runs the tests of YAML or of a ``.bpte``, each in a process of its own, and compares the outputs with the expected ones.

    ``source`` is a path or a model. ``runner`` is the command of a runner, as a string for a shell or as words; by default that of the environment
    variable ``PTE_EMIT_RUNNER``, or else ExecuTorch's Python package, which ``pip install 'pte-emit[runtime]'`` installs. ``select`` are names of
    tests (``"forward/0"``) or of methods, or patterns with ``*``; ``timeout`` is in seconds for each test; ``with_files`` are ``.ptd`` files with
    data that the program refers to.

    A test that cannot be run has an ``error``; one whose outputs differ has a ``comparison`` with the first element that does.

    >>> import pte_emit
    >>> model = pte_emit.open(b"methods: {seven: {outputs: [7], tests: [{outputs: [7]}, {outputs: [8]}]}}")
    >>> answers = "echo program ok; while read c r; do case $c in outputs) echo outputs 1; echo output 0 int 7;; *) echo $c ok; esac; done"
    >>> report = pte_emit.run_tests(model, runner=["sh", "-c", answers])
    >>> [test.result for test in report.tests]
    ['passed', 'failed']
    >>> difference = report.tests[1].comparison.difference
    >>> difference.output, difference.expected, difference.found
    (0, '8', '7')
    """
    model = source if isinstance(source, Model) else _pte_emit.open(source)
    if runner is None:
        runner = os.environ.get("PTE_EMIT_RUNNER") or [sys.executable, "-m", "pte_emit.runner"]
    words = shlex.split(runner) if isinstance(runner, str) else list(runner)
    with tempfile.TemporaryDirectory(prefix="pte-emit-test-") as folder:
        return model.run_tests(words, folder, select=select, timeout=timeout, with_files=with_files)
