"""The package has what the commands have: every command is a function, and every option an argument or stated here."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pte_emit
import pytest

from conftest import EXAMPLES, ROOT

# Functions of commands. A word says why there is none.
COMMANDS: dict[str, str | list[Callable[..., Any]]] = {
    "assemble": [pte_emit.assemble],
    "dump": [pte_emit.Model.to_yaml],
    "check": [pte_emit.Model.check],
    "explain": [pte_emit.explain],
    "annotate": [pte_emit.Model.annotate],
    "inspect": [pte_emit.Model.inspect, pte_emit.Model.delegation],
    "memory": [pte_emit.Model.memory],
    "kernels": [pte_emit.Model.kernels, pte_emit.kernels],
    "size": [pte_emit.Model.size],
    "payload-list": [pte_emit.Model.payloads],
    "payload-show": [pte_emit.Model.payloads],
    "payload-extract": [pte_emit.Model.payload],
    "payload-replace": [pte_emit.replace_payload],
    "weights-list": [pte_emit.Model.weights],
    "weights-rename": [pte_emit.rename_weights],
    "weights-set": [pte_emit.set_weights],
    "manifest": [pte_emit.Model.manifest],
    "verify": [pte_emit.verify],
    "diff": [pte_emit.Model.diff, pte_emit.compare_runs],
    "profile": [pte_emit.Model.profile],
    "golden": [pte_emit.Model.golden],
    "report": [pte_emit.Model.report],
    "optimize": [pte_emit.optimize],
    "ops": [pte_emit.ops],
    "generate": [pte_emit.generate, pte_emit.generate_corpus],
    "reduce": [pte_emit.reduce],
    "embed": [pte_emit.embed],
    "merge": [pte_emit.merge],
    "extract": [pte_emit.extract],
    "rename": [pte_emit.rename],
    "run": [pte_emit.run, pte_emit.compare_runs],
    "runner": "a group",
    "runner-install": "installs a program for the machine, which run() and run_tests() find",
    "runner-list": "of what is installed",
    "runner-path": "of what is installed",
    "runner-remove": "of what is installed",
    "strip": [pte_emit.strip],
    "metadata-get": [pte_emit.Model.metadata],
    "metadata-set": [pte_emit.set_metadata],
    "metadata-remove": [pte_emit.remove_metadata],
    "outputs": "a group",
    "outputs-add": [pte_emit.change_outputs],
    "outputs-remove": [pte_emit.change_outputs],
    "io": [pte_emit.quantize_io, pte_emit.convert_io],
    "tests": "a group",
    "tests-add": [pte_emit.add_test],
    "bound": [pte_emit.bound],
    "firmware": [pte_emit.Model.firmware],
    "test": [pte_emit.run_tests, pte_emit.with_outputs],
    "schema": [pte_emit.json_schema],
    "fmt": [pte_emit.Model.formatted],
    "lsp": "of an editor",
    "completions": "of a shell",
    "view": "of a browser",
    "man": "of a terminal",
    "payload": "a group",
    "weights": "a group",
    "metadata": "a group",
}

# Options of several commands that are no arguments of their functions.
SHARED = {
    "color": "of a terminal",
    "quiet": "of a terminal",
    "help": "of a terminal",
    "limit": "results have all rows",
    "format": "results are objects, which have to_dict()",
    "json": "results are objects, which have to_dict()",
    "output": "results are objects, or have write()",
    "force": "files are replaced, as Python does",
    "dry-run": "nothing is written before write()",
    "depfile": "of a build",
    "deny-warnings": "Assembly.warnings and Findings.warnings have them",
    "define": "of open() and assemble()",
    "confine": "of open() and assemble()",
    "max-size": "of assemble()",
    "with": "of open(with_files=)",
    "ops": "of check(operators=)",
    "for-runtime": "of assemble() and write()",
}

# Options of a command that have another name, or are no arguments.
OTHERS: dict[tuple[str, str], str] = {
    ("assemble", "strip-tests"): "strip(only='tests')",
    ("assemble", "to"): "the extension of the path of write()",
    ("bound", "input"): "=inputs",
    ("bound", "static"): "=all_static",
    ("fmt", "shortest"): "=computed",
    ("fmt", "explicit"): "=computed",
    ("fmt", "check"): "a comparison with the text of the file",
    ("check", "all-notes"): "=limit",
    ("check", "read-data"): "=data",
    ("check", "build"): "=profile",
    ("check", "list-targets"): "the error about an unknown name has them",
    ("check", "print-target"): "a file to begin with",
    ("diff", "abi"): "of memory(), whose figures a budget has",
    ("diff", "budget"): "a comparison of two results of memory() and size()",
    ("diff", "compare-data"): "=data",
    ("diff", "method"): "=methods",
    ("diff", "numeric"): "compare_runs()",
    ("diff", "processor"): "of memory()",
    ("diff", "with-a"): "of open(with_files=)",
    ("diff", "with-b"): "of open(with_files=)",
    ("dump", "data"): "=inline",
    ("dump", "exact"): "assemble() gives the bytes to compare",
    ("dump", "folder"): "load_ptd() and constants have data",
    ("dump", "stats"): "of a terminal",
    ("embed", "any"): "not about models",
    ("explain", "method"): "=methods",
    ("extract", "method"): "=methods",
    ("firmware", "for"): "=platform",
    ("firmware", "method"): "=methods",
    ("generate", "corpus"): "=folder",
    ("golden", "compare-data"): "=data",
    ("generate", "to"): "programs are objects",
    ("inspect", "delegation"): "delegation()",
    ("inspect", "read-data"): "=data",
    ("kernels", "union"): "kernels() always joins",
    ("memory", "max"): "a comparison in Python",
    ("merge", "prefix"): "=renames",
    ("merge", "rename"): "=renames",
    ("optimize", "explain"): "the result has the instructions",
    ("optimize", "only"): "=passes",
    ("optimize", "runner"): "of compare_runs()",
    ("optimize", "timeout"): "of compare_runs()",
    ("optimize", "verify"): "compare_runs() of the model and the result",
    ("profile", "by"): "results have all rows",
    ("profile", "input"): "of run(save_etdump=)",
    ("profile", "method"): "=methods",
    ("profile", "random"): "of run(save_etdump=)",
    ("profile", "run"): "run(save_etdump=)",
    ("profile", "runner"): "of run(save_etdump=)",
    ("profile", "timeout"): "of run(save_etdump=)",
    ("reduce", "candidate"): "the bytes of the program",
    ("reduce", "crashes"): "the function decides",
    ("reduce", "expect"): "the function decides",
    ("reduce", "runner"): "the function decides",
    ("reduce", "timeout"): "the function decides",
    ("rename", "method"): "=renames",
    ("size", "max-bytes"): "a comparison in Python",
    ("payload-show", "schema"): "YAML of a payload; payloads in Python are bytes",
    ("report", "method"): "=methods",
    ("report", "to"): "=format",
    ("weights-set", "from"): "=weights",
    ("run", "all"): "results have all elements",
    ("run", "compare"): "compare_runs()",
    ("run", "expected"): "numpy.allclose()",
    ("run", "input"): "=inputs",
    ("run", "save-outputs"): "save_safetensors()",
    ("run", "times"): "Model.profile(save_etdump)",
    ("io", "input-type"): "=inputs",
    ("io", "output-type"): "=outputs",
    ("io", "quantized"): "quantize_io()",
    ("tests-add", "input"): "=inputs",
    ("test", "bless"): "with_outputs() returns the YAML",
    ("size", "levels"): "=dimensions",
}


def options(page: Path) -> set[str]:
    [synopsis] = re.findall(r"\.SH SYNOPSIS\n(.*)", page.read_text())
    return {option.replace("\\", "") for option in re.findall(r"\\fB\\-\\-([a-z\\-]+)\\fR", synopsis)}


def arguments(functions: list[Callable[..., Any]]) -> set[str]:
    return {name for function in functions for name in inspect.signature(function).parameters}


def test_every_command_and_option_is_in_the_package(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "pte_emit", "man", "-o", tmp_path / "man"], check=True)
    pages = {path.stem.removeprefix("pte-emit-"): path for path in (tmp_path / "man").iterdir() if "-" in path.stem.removeprefix("pte-emit")}
    assert set(pages) == set(COMMANDS)
    with pytest.raises(TypeError) as unknown:
        pte_emit.assemble("methods: {}", no_such_option=1)
    layout = set(re.findall(r"[a-z_]+", str(unknown.value)))
    missing, used, stale = [], set(), []
    for command, functions in COMMANDS.items():
        if isinstance(functions, str):
            continue
        known = arguments(functions) | (layout if command == "assemble" else set())
        for option in options(pages[command]):
            other = OTHERS.get((command, option))
            used.add((command, option))
            if option.replace("-", "_") in known or (other and (other[0] != "=" or other[1:] in known)):
                stale += [(command, option)] if other and option.replace("-", "_") in known else []
            elif option not in SHARED or other:
                missing.append((command, option))
    assert (missing, stale, set(OTHERS) - used) == ([], [], set())


def test_messages_name_arguments_in_place_of_options() -> None:
    known = {name for functions in COMMANDS.values() if not isinstance(functions, str) for name in arguments(functions)}
    with pytest.raises(TypeError) as unknown:
        pte_emit.assemble("methods: {}", no_such_option=1)
    known |= set(re.findall(r"[a-z_]+", str(unknown.value)))
    source = (ROOT / "python/src/error.rs").read_text()
    renamed = dict(re.findall(r'\("([a-z -]+)", "([a-z_]+)=', source))
    sources = [path for folder in ("src", "crates") for path in sorted((ROOT / folder).rglob("*.rs"))]
    for path in sources:
        # `runner install` is no function.
        if {"cli", "tests", "install.rs"} & set(path.parts):
            continue
        for line in path.read_text().splitlines():
            if line.strip().startswith("//"):
                continue
            for text in re.findall(r"`--([a-z-]+(?: [a-z]+)?)", line):
                option = text.split(" ")[0]
                name = renamed.get(text, renamed.get(option, option.replace("-", "_")))
                assert name in known or option == "etdump", f"{path}: {line}"


def test_docstrings_name_arguments() -> None:
    functions = [function for functions in COMMANDS.values() if not isinstance(functions, str) for function in functions]
    for text in [*(function.__doc__ or "" for function in functions), Path(pte_emit.results.__file__).read_text()]:
        # The runner has --etdump.
        assert not re.search(r"(?<!`)`--(?!etdump)", text), text


def test_a_message_names_arguments(tmp_path: Path) -> None:
    [program, data] = pte_emit.open(EXAMPLES / "linear.yaml").assemble(external_data=True).write(tmp_path / "linear.pte")
    with pytest.raises(pte_emit.Error) as failed:
        pte_emit.open(program).manifest()
    for text in (str(failed.value), failed.value.rendered, failed.value.diagnostics[0].message):
        assert "`with_files=`" in text and "--with" not in text
    custom = (EXAMPLES / "add.yaml").read_text().replace("aten::add.out", "my::add.out").encode()
    with pytest.raises(pte_emit.Error, match="`operators=`"):
        pte_emit.open(custom).check()
    custom = custom.replace(b"    inputs:", b"      z: {tensor: float32, sizes: [2, 2]}\n    inputs:", 1)
    assert any("`operators=`" in (finding.expected or "") for finding in pte_emit.open(custom).check())
    assert not pte_emit.open(custom).check(operators="my::add.out self:T other:T out:T!").errors


def test_checks_for_a_target_and_memory_of_a_processor(linear: Path, tmp_path: Path) -> None:
    model = pte_emit.open(linear)
    assert not model.check(target="wheel-1.5.1")
    (tmp_path / "board.yaml").write_text("operators: [aten::addmm.out, aten::permute_copy.out]")
    assert "R-1" in model.check(target=tmp_path / "board.yaml")
    with pytest.raises(pte_emit.Error, match="wheel-1.5.1"):
        model.check(target="no-such-board")
    graph = pte_emit.open(EXAMPLES / "xnnpack_linear.yaml")
    assert graph.memory(processor="arm64").processor == "arm64" != graph.memory().processor
    with pytest.raises(ValueError, match="x86-avx512"):
        graph.memory(processor="z80")  # type: ignore[arg-type]
    older = model.assemble(for_runtime="0.4.0").program
    assert older and "0.4.0" in (pte_emit.open(older).inspect().releases or [])


def test_kernels_in_all_forms(linear: Path) -> None:
    both = [linear, EXAMPLES / "add.yaml"]
    assert {"aten::add.out", "aten::addmm.out"} <= {kernel.name for kernel in pte_emit.kernels(both)}
    assert pte_emit.kernels(both, form="list").startswith("aten::add.out,aten::addmm.out,")
    assert "operators:" in pte_emit.kernels(both, form="yaml")
    assert "INCLUDE_ATEN_ADD_OUT" in pte_emit.kernels(both, form="headers")["selected_prim_ops.h"]


def test_parts_are_stripped_renamed_and_described(linear: Path) -> None:
    program, removed = pte_emit.strip(linear, only="tests")
    assert removed == {"tests": 3} and program.test_count == 0
    assert set(pte_emit.strip(linear)[1]) == {"traces", "names", "handles", "tests", "unused"}
    assert list(pte_emit.rename(linear, {"forward": "linear"})) == ["linear"]
    with pytest.raises(pte_emit.Error, match="backward"):
        pte_emit.rename(linear, {"backward": "linear"})
    described = pte_emit.set_metadata(linear, {"get_eos_id": 2, "metadata.author": "me", "get_flag": numpy.bool_(True)}).model()
    assert described.metadata() == {"get_eos_id": 2, "metadata.author": "me", "get_flag": True}
    assert described.metadata("metadata.*") == {"metadata.author": "me"}
    lists = pte_emit.set_metadata(linear, {"get_dims": [[1, 8], [5, 5]], "get_shape": numpy.array([[1, 8, 1]])})
    assert lists.model().metadata("get_dims") == {"get_dims": [[1, 8], [5, 5]]}
    tensor = lists["get_shape"].outputs[0].tensor
    assert tensor is not None and (tensor.dtype, tensor.data.tolist()) == ("int64", [[1, 8, 1]])
    assert pte_emit.remove_metadata(described, ["get_*"]).model().metadata() == {"metadata.author": "me"}


def test_weights_and_payloads_are_replaced_and_verified(linear: Path, tmp_path: Path) -> None:
    model = pte_emit.open(linear)
    manifest = model.manifest()
    assert not pte_emit.verify(model, manifest) and len(manifest) == 2
    arrays = {"weight": numpy.ones((3, 4), numpy.float32), "b": numpy.ones(3, numpy.float32)}
    pte_emit.save_safetensors(tmp_path / "w.safetensors", arrays)
    program, changes = pte_emit.set_weights(model, tmp_path / "w.safetensors", map={"bias": "b"})
    assert {change.name for change in changes} == {"weight", "bias"}
    assert program[0].constants["weight"].data.sum() == 12
    assert {difference.name for difference in pte_emit.verify(program.model(), manifest)} >= {"weight", "bias"}
    with pytest.raises(pte_emit.Error, match="`map=`"):
        pte_emit.set_weights(model, tmp_path / "w.safetensors")
    graph = pte_emit.open(EXAMPLES / "xnnpack_linear.yaml")
    [payload] = graph.payloads()
    assert pte_emit.replace_payload(graph, payload.name, b"new")[0].delegates[0].payload == b"new"
    with pytest.raises(TypeError, match="weights="):
        pte_emit.replace_payload(graph, payload.name)
    with pytest.raises(pte_emit.Error, match="the source has no payloads"):
        model.payload("x")


def test_errors_operators_and_times_are_explained(linear: Path) -> None:
    assert pte_emit.explain("0x14")[0].name == "OperatorMissing" and len(pte_emit.explain()) > 10
    [missing] = pte_emit.explain("OperatorMissing", model=linear)
    assert missing.programs and missing.programs[0]
    with pytest.raises(pte_emit.Error, match="no such"):
        pte_emit.explain("no such thing")
    [add] = pte_emit.ops("aten::add.out")
    assert isinstance(add, pte_emit.results.OperatorDescription) and add.arguments[2].name == "alpha"
    assert isinstance(pte_emit.ops("xnnpack::conv2d")[0], pte_emit.results.NodeDescription)
    etdump = ROOT / "crates/pte-etdump/tests/recorded/linear.etdump"
    times = pte_emit.open(linear).profile(etdump, etdump.read_bytes())
    assert "forward" in times and times[0].executions.count == 2
    assert times[0].executions.compared is not None and times[0].executions.compared.ratio == 1
    assert "linear" in str(pte_emit.open(linear).report(etdump=etdump))
    firmware, files = pte_emit.open(linear).firmware("zephyr")
    assert {file.path for file in firmware.files} == set(files) and "CONFIG_EXECUTORCH" in files["pte-emit.conf"]
    assert "$schema" in pte_emit.json_schema()


def test_programs_are_generated_and_reduced(tmp_path: Path) -> None:
    pte_emit.generate_corpus(tmp_path / "corpus")
    assert (tmp_path / "corpus/manifest.json").exists()
    first, second = pte_emit.generate(7, count=2, instructions=5)
    assert first.to_bytes() == pte_emit.generate(7, instructions=5)[0].to_bytes() != second.to_bytes()
    assert first.model().check().errors == 0
    seen: list[int] = []

    def has_relu(program: bytes) -> bool:
        seen.append(len(program))
        return any("aten::relu.out" in method for method in pte_emit.open(program).program().methods)

    model = pte_emit.open(EXAMPLES / "linear.yaml")
    small, complete = pte_emit.reduce(model, has_relu)
    assert complete and len(small.program()[0]) == 1 and len(seen) > 1 and not small.check().errors
    assert not pte_emit.reduce(model, has_relu, max_runs=2)[1]
    with pytest.raises(pte_emit.Error, match="not true"):
        pte_emit.reduce(model, lambda program: False)
    with pytest.raises(ZeroDivisionError):
        pte_emit.reduce(model, lambda program: 1 / 0)


def test_a_method_is_executed(linear: Path) -> None:
    # A runner that answers with what it was sent.
    script = """echo program ok; while read command rest; do case $command in
        input) sent=${rest#* }; echo input ok;;
        outputs) echo outputs 1; echo output 0 $sent;; *) echo $command ok;; esac; done"""
    runner = ["sh", "-c", script]
    x = numpy.array([[1, 2, 3, 4]], numpy.float32)
    for value in (x, x.tolist(), "1,2,3,4"):
        found = pte_emit.run(linear, {"x": value}, runner=runner, repeat=2)
        assert (found.method, list(found.outputs), len(found.times)) == ("forward", ["y"], 2)
        assert numpy.array_equal(found.outputs["y"], x) and found.outputs["y"].dtype == x.dtype
    assert pte_emit.run(linear, {0: numpy.float32(2)}, runner=runner).outputs["y"].tolist() == [[2.0] * 4]
    assert pte_emit.run(linear, runner=runner).outputs["y"].tolist() == [[1.0] * 4]
    with pytest.raises(pte_emit.Error, match="no input `z`"):
        pte_emit.run(linear, {"z": 1}, runner=runner)


def test_two_programs_are_compared_by_their_runs(linear: Path) -> None:
    recorded = ROOT / "crates/pte-etdump/tests/recorded"
    script = f"""echo program ok; while read command rest; do case $command in
        load|input|execute) echo $command ok;;
        outputs) echo outputs 1; echo output 0 tensor 6 1,3 0,1 60f1b63e00000000346c0a3e;; esac; done
        cp {recorded}/linear.etdump $2; cp {recorded}/linear.values $4"""
    found = pte_emit.compare_runs(linear, linear, runner=["sh", "-c", script, "sh"])
    assert found.equal and found[0].compared == 3
