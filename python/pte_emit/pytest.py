"""Plugin of pytest, which the package registers: assembles YAML in tests, and runs the ``tests:`` of YAML files in a runtime.

* The fixture ``pte_emit_assemble`` assembles YAML that a test states inline.
* The fixture ``pte_emit_run`` runs the tests of YAML, a file or a model, and fails with the first element that differs.
* The fixture ``golden`` compares a program with a golden YAML: ``golden("model.yaml", program)``. The option ``--pte-emit-bless``, or ``BLESS=1``
  in the environment, writes it.
* The marker ``pte_emit`` runs the tests of a file before a test: ``@pytest.mark.pte_emit("model.yaml")``.
* Files that the setting ``pte_emit_files`` names, such as ``fixtures/*.yaml``, are collected: each is a test.

The runner is that of ``--pte-emit-runner``, the setting ``pte_emit_runner``, or the default of ``pte_emit.run_tests``.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from . import Assembly, Model
    from .results import OutputDifference, TestReport


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option and the settings."""
    what = "command of the runner of pte-emit's tests"
    parser.getgroup("pte-emit").addoption("--pte-emit-runner", metavar="COMMAND", help=what)
    parser.getgroup("pte-emit").addoption("--pte-emit-bless", action="store_true", help="write golden YAML that differs or is missing")
    parser.addini("pte_emit_runner", what, default="")
    parser.addini("pte_emit_files", "patterns of YAML files whose tests are run", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
    text = "pte_emit(path, select=(), timeout=60.0): runs the tests of a YAML or .bpte file, relative to that of the test, before the test"
    config.addinivalue_line("markers", text)


def _opened(source: str | os.PathLike[str] | Model, folder: Path) -> Model:
    """Returns the model of YAML, of a path relative to a folder, or of a model."""
    from . import Model, open

    if isinstance(source, Model):
        return source
    if isinstance(source, str) and "\n" in source:
        return open(textwrap.dedent(source).encode(), name="<inline>", folder=folder)
    return open(folder / source)


def _run(config: pytest.Config, folder: Path, source: str | os.PathLike[str] | Model, **options: Any) -> TestReport:
    from . import Error, run_tests

    options.setdefault("runner", config.getoption("--pte-emit-runner") or config.getini("pte_emit_runner") or None)
    try:
        report = run_tests(_opened(source, folder), **options)
    except Error as error:
        # Of the YAML, not of a function here.
        pytest.fail(error.rendered or str(error), pytrace=False)
    failures = list(_failures(report))
    if failures:
        pytest.fail("\n".join([f"{report.file}: {len(failures)} of {len(report.tests)} tests did not pass", *failures]), pytrace=False)
    return report


def _failures(report: TestReport) -> Iterable[str]:
    """Describes the tests that did not pass."""
    for test in report.tests:
        name = f"  {test.method}/{test.index}: "
        difference = test.comparison.difference if test.comparison else None
        if test.error:
            yield "\n".join([name + test.error.message, *(f"    | {line}" for line in test.error.log)])
        elif difference:
            yield name + _described(difference)
        elif test.result != "passed":
            yield name + "there are no expected outputs; `pte_emit.with_outputs` returns the YAML with those that are found"


def _described(difference: OutputDifference) -> str:
    where = "the outputs" if difference.output is None else f"output {difference.output}"
    at = "" if difference.element is None else f" at {difference.element}"
    kind = "" if difference.kind in ("element", "value", "no_memory") else f", {difference.kind}"
    text = f"{where}{at}{kind}: expected {difference.expected}, found {difference.found}"
    if difference.error is not None and difference.tolerance is not None:
        text += f" (error {difference.error:.3e}, tolerance {difference.tolerance:.3e})"
    if difference.differing is not None:
        text += f"; {difference.differing} of {difference.elements} elements differ"
    return text


@pytest.fixture
def pte_emit_assemble(request: pytest.FixtureRequest) -> Callable[..., Assembly]:
    """Assembles YAML, by default with paths relative to the file of the test; takes the options of ``pte_emit.assemble``."""
    from . import assemble

    def assembled(yaml: str, **options: Any) -> Assembly:
        options.setdefault("folder", request.path.parent)
        return assemble(textwrap.dedent(yaml), **options)

    return assembled


@pytest.fixture
def pte_emit_run(request: pytest.FixtureRequest) -> Callable[..., TestReport]:
    """Runs the tests of YAML of several lines, of a path relative to the file of the test, or of a model, and fails if one does not pass. Takes
    the options of ``pte_emit.run_tests``."""

    def run(source: str | os.PathLike[str] | Model, **options: Any) -> TestReport:
        return _run(request.config, request.path.parent, source, **options)

    return run


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Compares a program (bytes, a path, or a model) with the golden YAML of a path relative to the file of the test, and fails with what differs,
    first by meaning, then as a diff of the YAML. Takes the options of ``Model.golden``."""
    from . import Error, open

    def compare(path: str | os.PathLike[str], produced: bytes | str | os.PathLike[str] | Model, **options: Any) -> None:
        options.setdefault("bless", request.config.getoption("--pte-emit-bless") or os.environ.get("BLESS") in ("1", "true", "yes"))
        try:
            model = open(produced, name="<produced>") if isinstance(produced, bytes) else _opened(produced, request.path.parent)
            report = model.golden(request.path.parent / path, **options)
        except Error as error:
            pytest.fail(error.rendered or str(error), pytrace=False)
        if report:
            pytest.fail(f"{report}`--pte-emit-bless`, or BLESS=1 in the environment, writes this change", pytrace=False)

    return compare


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Runs the files of the markers of a test, before the test."""
    for marker in reversed(list(pyfuncitem.iter_markers("pte_emit"))):
        if not marker.args or not isinstance(marker.args[0], (str, os.PathLike)):
            pytest.fail("the marker `pte_emit` needs the path of a file with tests: @pytest.mark.pte_emit(\"model.yaml\")", pytrace=False)
        _run(pyfuncitem.config, pyfuncitem.path.parent, *marker.args, **marker.kwargs)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collects the files that the setting ``pte_emit_files`` names."""
    patterns = parent.config.getini("pte_emit_files")
    if any(file_path.match(pattern) for pattern in patterns):
        collector: pytest.Collector = YamlFile.from_parent(parent, path=file_path)
        return collector
    return None


class YamlFile(pytest.File):
    """A YAML or .bpte file."""

    def collect(self) -> Iterable[pytest.Item]:
        """Returns the only test of the file."""
        yield YamlTests.from_parent(self, name="tests")


class YamlTests(pytest.Item):
    """The tests of a file."""

    def runtest(self) -> None:
        """Runs them."""
        _run(self.config, self.path.parent, self.path)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Returns the position for messages."""
        return self.path, None, f"{self.path.name}: tests"
