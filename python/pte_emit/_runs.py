"""Programs in a runner, and manifests."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _pte_emit
from ._errors import Error
from ._pte_emit import Model, Program

if TYPE_CHECKING:
    from ._pte_emit import _Source
    from .results import Manifest, NumericComparison, TestReport, Verification

_Path = str | os.PathLike[str]


def _installed(release: str | None) -> list[str] | None:
    path = _pte_emit.installed_runner(release)
    return None if path is None else [str(path)]


def _words(runner: str | Sequence[str] | None) -> list[str]:
    """Returns the command of a runner."""
    if runner is None:
        runner = os.environ.get("PTE_EMIT_RUNNER") or _installed(None) or [sys.executable, "-m", "pte_emit.runner"]
    elif isinstance(runner, str):
        runner = _installed(runner) or runner
    return shlex.split(runner) if isinstance(runner, str) else list(runner)


@contextlib.contextmanager
def _command(runner: str | Sequence[str] | None) -> Iterator[list[str]]:
    """Returns the command of a runner of several processes. That of the package imports ExecuTorch once, where a process can fork."""
    is_own = runner is None and not os.environ.get("PTE_EMIT_RUNNER") and not _installed(None)
    if is_own and hasattr(os, "fork"):
        from . import _server

        with _server.started() as words:
            yield words
    else:
        yield _words(runner)


@contextlib.contextmanager
def _folder(prefix: str) -> Iterator[str]:
    """Returns a folder for files of a call, whose paths errors do not have."""
    with tempfile.TemporaryDirectory(prefix=prefix) as folder:
        try:
            yield folder
        except Error as error:
            # A file that is wrong is an array of the caller.
            path = re.escape(folder)
            raise error._without(rf"{path}/input\d+\.npy", "the array")._without(path + "/?", "") from None


def run_tests(
    source: Model | Program | _Path,
    *,
    runner: str | Sequence[str] | None = None,
    select: str | Sequence[str] = (),
    timeout: float = 60.0,
    with_files: _Path | Sequence[_Path] = (),
) -> TestReport:
    """Runs the tests of YAML or of a ``.bpte``, each in a process of its own, and compares the outputs with the expected ones.

    ``source`` is a path or a model. ``runner`` is the command of a runner, as a string for a shell or as words; by default that of the environment
    variable ``PTE_EMIT_RUNNER``, that of ``pte-emit runner install``, or else ExecuTorch's Python package, which
    ``pip install 'pte-emit[runtime]'`` installs. ``select`` are names of tests (``"forward/0"``) or of methods, or patterns with ``*``; ``timeout`` is in seconds for each test;
    ``with_files`` are ``.ptd`` files with data that the program refers to.

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
    model = _model(source)
    with _folder("pte-emit-test-") as folder, _command(runner) as words:
        return model.run_tests(words, folder, select=select, timeout=timeout, with_files=with_files)


def _model(source: Model | Program | _Path) -> Model:
    """Returns a model, that of a program, or that of a file."""
    if isinstance(source, Program):
        return source.model()
    return source if isinstance(source, Model) else _pte_emit.open(source)


class TappedValue(NamedTuple):
    """A value that an instruction computed: the number of the instruction, its operator or delegate, the number of its execution, which is more than
    0 only in loops, and the name of the value."""

    instruction: int
    label: str
    execution: int
    name: str
    value: Any


class RunOutputs(NamedTuple):
    """What a method computed: its name, its outputs by name, the seconds of each execution, and the values of ``tap``."""

    method: str
    outputs: dict[str, Any]
    times: list[float]
    taps: Sequence[TappedValue] = ()

    def __str__(self) -> str:
        lines = [f"{self.method}: {len(self.times)} execution{'s'[len(self.times) == 1 :]}, the fastest in {min(self.times, default=0) * 1000:.3g} ms"]
        for name, value in self.outputs.items():
            shape = f"{value.dtype} {list(value.shape)}: " if hasattr(value, "dtype") else ""
            text = " ".join(str(value).split())
            lines.append(f"  {name}: {shape}{text[:80]}{'...' if len(text) > 80 else ''}")
        return "\n".join(lines)


def run(
    source: Model | Program | _Path,
    inputs: Mapping[str | int, Any] | Sequence[Any] | None = None,
    *,
    method: str | None = None,
    runner: str | Sequence[str] | None = None,
    random: int | None = None,
    repeat: int = 1,
    tap: str | Sequence[str] = (),
    save_etdump: _Path | None = None,
    timeout: float = 60.0,
    with_files: _Path | Sequence[_Path] = (),
) -> RunOutputs:
    """Executes a method in a runner, by default ``forward`` or the only one that computes.

    ``inputs`` are arrays, numbers for all elements, lists, or words such as ``"random"``, by name or number, or in order. Others are ones, or random numbers of
    the seed ``random``. The loaded method is executed ``repeat`` times, and keeps its state. ``tap`` are names of values, patterns with ``*``, or numbers
    of instructions as text, whose values the runtime records in the last execution. ``save_etdump`` is a file for the times that the runtime records. ``runner`` is as in ``run_tests``. Tensors are arrays of numpy.

    >>> import pte_emit
    >>> model = pte_emit.open(b"methods: {forward: {outputs: [7]}}")
    >>> answers = "echo program ok; while read c r; do case $c in outputs) echo outputs 1; echo output 0 int 7;; *) echo $c ok; esac; done"
    >>> list(pte_emit.run(model, method="forward", runner=["sh", "-c", answers]).outputs.values())
    [7]
    """
    model = _model(source)
    with _folder("pte-emit-run-") as folder:
        if repeat < 1:
            raise ValueError(f"repeat: expected 1 or more, found {repeat}")
        name, outputs, times, taps = model.run(
            _words(runner),
            folder,
            inputs=_inputs(inputs, folder),
            method=method,
            random=random,
            repeat=repeat,
            tap=tap,
            etdump=save_etdump,
            timeout=timeout,
            with_files=with_files,
        )
        return RunOutputs(name, outputs, times, [TappedValue(*value) for value in taps])


def add_test(
    source: Model | Program | _Path,
    inputs: Mapping[str | int, Any] | Sequence[Any] | None = None,
    *,
    method: str | None = None,
    bless: bool = False,
    runner: str | Sequence[str] | None = None,
    random: int | None = None,
    timeout: float = 60.0,
    with_files: _Path | Sequence[_Path] = (),
) -> Program:
    """Returns the program with one more test, which a ``.bpte`` has. ``inputs`` and ``random`` are as in ``run``; with ``bless``, the method is executed in a
    runner, and its outputs are the expected ones.

    >>> import pte_emit
    >>> program = pte_emit.add_test(pte_emit.open(b"methods: {seven: {outputs: [7]}}"), method="seven")
    >>> program["seven"].name
    'seven'
    """
    model = _model(source)
    with _folder("pte-emit-run-") as folder:
        words = _words(runner) if bless else None
        return model.add_test(
            words, folder, inputs=_inputs(inputs, folder), method=method, random=random, timeout=timeout, with_files=with_files
        )


def _inputs(inputs: Mapping[str | int, Any] | Sequence[Any] | None, folder: str) -> dict[str, str]:
    """Returns inputs as text by name or number; arrays are written to the folder."""
    given = inputs if isinstance(inputs, Mapping) else dict(enumerate(inputs or ()))
    return {str(name): _input(name, value, Path(folder) / f"input{number}.npy") for number, (name, value) in enumerate(given.items())}


def _input(name: str | int, value: Any, path: Path) -> str:
    """Returns an input as text; an array is written to a file."""
    if isinstance(value, str):
        return value
    if hasattr(value, "dtype"):
        import numpy

        from . import _arrays

        try:
            array = numpy.asarray(_arrays.whole(value))
            dtype = _arrays.name_of(array.dtype)
        except TypeError as error:
            raise TypeError(f"input {name!r}: {error}") from None
        if array.shape and dtype in _arrays.NUMPY:
            numpy.save(path, array)
            return f"@{path}"
    return json.dumps(value.tolist() if hasattr(value, "tolist") else value)


def with_outputs(
    source: Model | Program | _Path,
    *,
    runner: str | Sequence[str] | None = None,
    timeout: float = 60.0,
    with_files: _Path | Sequence[_Path] = (),
) -> tuple[str, dict[Path, bytes]]:
    """Runs the tests of YAML as ``run_tests``, and returns the YAML with the outputs that were found as the expected ones, where they differ or are
    missing, and the contents of files with large outputs by path, relative to the folder of the YAML. Nothing is written.

    >>> import pte_emit
    >>> model = pte_emit.open(b"methods: {seven: {outputs: [7], tests: [{outputs: [8]}]}}")
    >>> answers = "echo program ok; while read c r; do case $c in outputs) echo outputs 1; echo output 0 int 7;; *) echo $c ok; esac; done"
    >>> pte_emit.with_outputs(model, runner=["sh", "-c", answers])
    ('methods: {seven: {outputs: [7], tests: [{outputs: [7]}]}}', {})
    """
    model = _model(source)
    outputs = Path(model.name).stem + ".outputs"
    with _folder("pte-emit-test-") as folder, _command(runner) as words:
        return model.with_outputs(words, folder, outputs, timeout=timeout, with_files=with_files)


def compare_runs(
    older: Model | Program | _Path,
    newer: _Source,
    *,
    runner: str | Sequence[str] | None = None,
    methods: str | Sequence[str] = (),
    seed: int = 0,
    generate_inputs: bool = False,
    inputs: Mapping[str | int, Any] | Sequence[Any] | None = None,
    random: int | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    timeout: float = 60.0,
) -> NumericComparison:
    """Runs two programs on the same inputs in a runner that records values (``--etdump FILE --debug-buffer FILE``), and compares the values of
    instructions that correspond, and the outputs. ``runner`` is as in ``run_tests``.

    The inputs are those of the first test of a method, or random ones of a ``seed``: without tests, or with ``generate_inputs``. ``inputs`` and
    ``random`` are as in ``run``, and replace both; inputs that are not given are ones then. ``atol`` and ``rtol`` are the differences of floating point numbers that count as equal.
    """
    model = _model(older)
    with _folder("pte-emit-compare-") as folder:
        return model.compare_runs(
            newer,
            _words(runner),
            folder,
            methods=methods,
            seed=seed,
            generate_inputs=generate_inputs,
            inputs=None if inputs is None else _inputs(inputs, folder),
            random=random,
            atol=atol,
            rtol=rtol,
            timeout=timeout,
        )


def verify(source: Model | Program | _Path, manifest: Manifest | dict[str, Any] | _Path, *, with_files: _Path | Sequence[_Path] = ()) -> Verification:
    """Compares the contents of a file with a manifest: a result of ``Model.manifest``, its JSON, or a path of that.

    >>> import pte_emit
    >>> model = pte_emit.open(b"methods: {seven: {outputs: [7]}}")
    >>> pte_emit.verify(model, model.manifest()).differences
    []
    """
    model = _model(source)
    if isinstance(manifest, (str, os.PathLike)):
        with open(manifest, encoding="utf-8") as file:
            return model._verify(file.read(), os.fspath(manifest), with_files=with_files)
    return model._verify(json.dumps(manifest if isinstance(manifest, dict) else manifest.to_dict()), "manifest", with_files=with_files)
