"""Hostile input: mutated files and wrong types raise exceptions; they do not abort, hang, or panic."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pte_emit
import pytest

from conftest import EXAMPLES

SEED = int(os.environ.get("PTE_EMIT_PYTHON_SEED", "1"))
MUTANTS = int(os.environ.get("PTE_EMIT_PYTHON_MUTANTS", "40"))

# What may be raised for an input that is not what it should be. RuntimeError, which stands for a panic, is not among
# them.
EXPECTED = (pte_emit.Error, ValueError, TypeError, OverflowError)

QUESTIONS: list[Callable[[pte_emit.Model], object]] = [
    lambda model: model.check().to_dict(),
    lambda model: model.inspect(data=True).to_dict(),
    lambda model: model.memory()._repr_html_(),
    lambda model: model.size().to_dict(),
    lambda model: model.diff(model)._repr_html_(),
    lambda model: model.weights().to_dict(),
    lambda model: model.kernels().to_dict(),
    lambda model: model.payloads(),
    lambda model: model.to_yaml(),
    lambda model: model.annotate(),
    lambda model: model.report(),
    lambda model: everything(model.program()),
    lambda model: changed(model.program()),
    lambda model: [model.size()._repr_html_(), model.inspect()._repr_html_(), model.weights()._repr_html_()],
    lambda model: [model.manifest().to_dict(), model.metadata()],
    lambda model: pte_emit.strip(model),
    lambda model: pte_emit.explain("0x14", model=model),
    lambda model: model.program().to_bytes(max_size=1 << 24),
    lambda model: pte_emit.optimize(model),
    lambda model: pte_emit.extract(model, ["*"]),
    lambda model: pte_emit.embed(model, "model", facts=True),
    lambda model: pte_emit.load_ptd(model.assemble(max_size=1 << 24).data.get("", b"")),
]


def everything(program: pte_emit.Program) -> None:
    """Reads all attributes of all parts of a program."""
    for method in program.methods:
        for part in [*method.values, *method.instructions, *method.delegates, *method.constants.values()]:
            for name in dir(part):
                if not name.startswith("_"):
                    try:
                        getattr(part, name)
                    except EXPECTED:
                        pass
            repr(part)


def changed(program: pte_emit.Program) -> None:
    """Adds and removes parts of a program."""
    changes: list[Callable[[Any], object]] = [
        lambda parts: parts.insert(0, parts[0]),
        lambda parts: parts.pop(0),
        lambda parts: parts.append(parts[0]),
    ]
    for method in program.methods:
        for parts in (method.values, method.instructions, method.inputs, method.outputs):
            for change in changes:
                try:
                    change(parts)
                except (*EXPECTED, IndexError):
                    pass
    program.to_bytes(max_size=1 << 24)


def samples() -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name in ("linear", "if_else", "kv_cache", "xnnpack_linear", "lists"):
        assembly = pte_emit.open(EXAMPLES / f"{name}.yaml").assemble()
        found[f"{name}.pte"] = assembly.program or b""
        if name == "linear":
            found["linear.bpte"] = assembly.bundled
            found["linear.ptd"] = pte_emit.open(EXAMPLES / f"{name}.yaml").assemble(external_data=True).data[""]
            found["linear.yaml"] = (EXAMPLES / f"{name}.yaml").read_bytes()
    return found


def mutated(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(out))
        match rng.randrange(5):
            case 0:
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                out[at : at + 4] = rng.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\1\0\0\0"])
            case 2:
                del out[at:]
            case 3:
                del out[at : at + rng.randrange(1, 9)]
            case 4:
                out[at:at] = rng.randbytes(rng.randrange(1, 9))
        if not out:
            return b"\0"
    return bytes(out)


@pytest.mark.parametrize("name", sorted(samples()))
def test_mutated_files_are_exceptions_or_answers(name: str) -> None:
    rng = random.Random(f"{SEED} {name}")
    data = samples()[name]
    for number in range(MUTANTS):
        mutant = mutated(data, rng)
        try:
            model = pte_emit.open(mutant)
        except EXPECTED:
            continue
        question = QUESTIONS[number % len(QUESTIONS)]
        try:
            question(model)
        except EXPECTED:
            pass


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("malformed/*.yaml"))[::9], ids=lambda path: path.stem)
def test_malformed_files_are_exceptions_or_answers(path: Path) -> None:
    assembly = pte_emit.open(path).assemble()
    for file in filter(None, [assembly.program, *assembly.data.values()]):
        for question in QUESTIONS:
            try:
                question(pte_emit.open(file))
            except EXPECTED:
                pass


WRONG: list[Any] = [None, 1, -1, 1 << 80, 1.5, "", "\0", "x", b"", b"\xff", [], [None], {}, {"a": None}, object(), float("nan"), numpy.ones(2)]


def test_wrong_types_are_exceptions(linear: Path) -> None:
    model = pte_emit.open(linear)
    builder = pte_emit.MethodBuilder("forward")
    program = model.program()
    functions: list[Callable[[Any], object]] = [
        pte_emit.open,
        pte_emit.assemble,
        lambda value: pte_emit.open(b"methods: {}", define=value),
        lambda value: pte_emit.open(b"methods: {}", document=value),
        lambda value: pte_emit.optimize(value),
        lambda value: pte_emit.merge(value),
        lambda value: pte_emit.merge([model, model], renames=value),
        lambda value: pte_emit.extract(model, value),
        lambda value: pte_emit.bound(model, inputs=value),
        lambda value: pte_emit.embed(model, value, style=value),
        lambda value: model.check(profile=value, with_files=value),
        lambda value: model.size(dimensions=value),
        lambda value: model.diff(value),
        lambda value: model.report(format=value),
        lambda value: model.payload(value),
        lambda value: model.assemble(segment_alignment=value, header=value),
        lambda value: model.assemble(external_data=value, with_files=value, max_size=value),
        lambda value: builder.input(value, value),
        lambda value: builder.input("float32", value),
        lambda value: builder.constant(value),
        lambda value: builder.call(value, value),
        lambda value: builder.call_into("aten::relu.out", value, value),
        lambda value: builder.call_delegate("B", value, value),
        lambda value: program[value],
        lambda value: program["forward"][value],
        lambda value: value in program or value in program["forward"],
        lambda value: program["forward"].values.insert(0, value),
        lambda value: program["forward"].outputs.append(value),
        lambda value: program["forward"].instructions.append(value),
        lambda value: program["forward"].add_tensor("float32", value, name=value),
        lambda value: program["forward"].add_call("aten::relu.out", value, index=value),
        lambda value: program["forward"]._remove("inputs", value),
        lambda value: program["forward"]._insert("outputs", value, 0),
        lambda value: program["forward"]._replace("instructions", value, program["forward"][0]),
        lambda value: pte_emit.explain(value, model=value),
        lambda value: pte_emit.ops(value),
        lambda value: pte_emit.kernels(model, form=value),
        lambda value: pte_emit.generate(value, operators=value),
        lambda value: pte_emit.reduce(model, value),
        lambda value: pte_emit.rename(model, value),
        lambda value: pte_emit.strip(model, only=value),
        lambda value: pte_emit.set_metadata(model, value),
        lambda value: pte_emit.set_metadata(model, {"get_x": value}),
        lambda value: pte_emit.set_weights(model, value),
        lambda value: pte_emit.replace_payload(model, value, value),
        lambda value: pte_emit.verify(model, value),
        lambda value: model.profile(value),
        lambda value: model.firmware(value),
        lambda value: model.check(target=value),
        lambda value: model.check(operators=value),
        lambda value: model.annotate(range=value),
        lambda value: model.metadata(value),
        lambda value: setattr(program["forward"].instructions[0], "args", value),
        lambda value: setattr(program["forward"].values[0], "value", value),
        lambda value: pte_emit.load_ptd(value),
        lambda value: pte_emit.save_ptd("/nonexistent/w.ptd", value),
        lambda value: pte_emit.save_ptd(value, {"w": numpy.ones(2)}),
    ]
    for function in functions:
        for value in WRONG:
            try:
                function(value)
            except (*EXPECTED, OSError, AttributeError, KeyError, IndexError, BufferError):
                pass


def test_sizes_that_overflow_are_exceptions() -> None:
    builder = pte_emit.MethodBuilder("forward")
    x = builder.input("float32", [2**31 - 1] * 4)
    builder.output(builder.call("aten::relu.out", x))
    with pytest.raises(pte_emit.Error):
        pte_emit.Program.build(builder).to_bytes()
    with pytest.raises(OverflowError):
        pte_emit.MethodBuilder("forward").input("float32", [2**31])
