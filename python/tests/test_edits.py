"""Functions that change programs."""

from __future__ import annotations

from pathlib import Path

import pte_emit
import pytest

from conftest import EXAMPLES


def test_optimize_needs_less_memory(linear: Path) -> None:
    model = pte_emit.open(linear)
    program, done = pte_emit.optimize(model)
    [method] = done.methods
    before, after = method.instructions
    assert (before, after) == (3, 2) and method.changes[0].change == "folded"
    assert len(program["forward"].instructions) == after
    assert program.model().check().errors == 0
    _, without = pte_emit.optimize(model, passes=["memory"])
    assert without.methods[0].changes == []
    with pytest.raises(ValueError, match="folding, identity, memory"):
        pte_emit.optimize(model, passes=["fold"])


def test_bound_lowers_the_bounds_of_an_input() -> None:
    model = pte_emit.open(EXAMPLES / "dynamic_batch.yaml")
    program, done = pte_emit.bound(model, inputs=["x=2x2x2"])
    assert (done.method, done.removed_tests) == ("forward", 2)
    assert (done.bounded.inputs[0].before, done.bounded.inputs[0].after) == ([4, 2, 2], [2, 2, 2])
    assert program["forward"].inputs[0].tensor is not None
    assert program["forward"].inputs[0].tensor.sizes == (2, 2, 2)
    with pytest.raises(ValueError, match="no bounds"):
        pte_emit.bound(model)
    with pytest.raises(pte_emit.Error, match="no input"):
        pte_emit.bound(model, inputs=["nothing=2"])
    with pytest.raises(ValueError):
        pte_emit.bound(model, inputs=["x"])


def test_merge_and_extract_are_inverse(linear: Path) -> None:
    first, second = pte_emit.open(linear), pte_emit.open(EXAMPLES / "add.yaml")
    both, merged = pte_emit.merge([first, second], renames=[{"forward": "linear"}, {"forward": "add"}])
    assert [(method.name, method.original) for method in merged.methods] == [("add", "forward"), ("linear", "forward")]
    assert [method.name for method in both.methods] == ["add", "linear"]
    only, extracted = pte_emit.extract(both.model(), ["lin*"])
    assert (extracted.methods, extracted.removed_methods) == (["linear"], ["add"])
    assert [method.name for method in only.methods] == ["linear"]
    with pytest.raises(pte_emit.Error):
        pte_emit.merge([first, second])
    with pytest.raises(ValueError, match="1 maps for 2 models"):
        pte_emit.merge([first, second], renames=[{}])
    with pytest.raises(pte_emit.Error):
        pte_emit.extract(first, ["nothing"])


def test_an_edit_does_not_lose_overrides() -> None:
    yaml = EXAMPLES.joinpath("add.yaml").read_text() + "\nraw: {set: {version: 7}}\n"
    model = pte_emit.open(yaml.encode())
    if model.assemble().program == pte_emit.open(EXAMPLES / "add.yaml").assemble().program:
        pytest.fail("the override has no effect")
    for change in (lambda: pte_emit.optimize(model), lambda: model.program()):
        with pytest.raises(pte_emit.Error, match="raw:"):
            change()


def test_embed_returns_sources(linear: Path) -> None:
    model = pte_emit.open(linear)
    files = pte_emit.embed(model, "linear", symbol="my_model", facts=True)
    assert sorted(files) == ["linear.c", "linear.h"]
    assert "my_model" in files["linear.c"] and '#include "linear.h"' in files["linear.c"]
    with pytest.raises(ValueError, match='style="d": expected one of c, arm'):
        pte_emit.embed(model, "linear", style="d")
    with pytest.raises(ValueError):
        pte_emit.embed(model, "linear", symbol="no symbol")


def test_outputs_and_their_types_are_changed(linear: Path) -> None:
    program, changed = pte_emit.change_outputs(linear, add="mm")
    assert changed.outputs == ["y", "mm"] and len(program["forward"].outputs) == 2
    with pytest.raises(pte_emit.Error, match="no output `z`"):
        pte_emit.change_outputs(linear, remove=["z"])
    program, quantized = pte_emit.quantize_io(EXAMPLES / "xnnpack_quantized_convolution.yaml")
    assert [(value.name, value.scalar_type, value.scale) for value in quantized.values] == [("x", "int8", 0.5), ("y", "int8", 0.5)]
    with pytest.raises(pte_emit.Error, match="no input is quantized"):
        pte_emit.quantize_io(linear)
    program, converted = pte_emit.convert_io(linear, inputs={"x": "uint8"}, outputs={"y": "float16"}, normalize={"x": (127.5, [127.5])})
    assert [(value.name, value.scalar_type, value.calls) for value in converted.values] == [("x", "uint8", 3), ("y", "float16", 1)]
    program, converted = pte_emit.convert_io(linear, quantize={"x": (0.5, 3), "y": (0.25, 128, "uint8")})
    assert [(value.name, value.scalar_type, value.calls) for value in converted.values] == [("x", "int8", 1), ("y", "uint8", 1)]
    program, converted = pte_emit.convert_io(program.model(), dequantize={"x": (0.5, 3)})
    assert [(value.name, value.scalar_type) for value in converted.values] == [("x", "float32")]
    with pytest.raises(pte_emit.Error, match="int8 has no zero point 128"):
        pte_emit.convert_io(linear, quantize={"x": (0.5, 128)})
    with pytest.raises(ValueError, match="expected an element type"):
        pte_emit.convert_io(linear, quantize={"x": (0.5, 3, "image")})
    program = pte_emit.rename_weights(EXAMPLES / "linear_external.yaml", {"l.*": "head.*"})
    assert sorted(weight.name for weight in program.model().weights().weights) == ["head.bias", "head.weight"]
    with pytest.raises(pte_emit.Error, match="no weight `z`"):
        pte_emit.rename_weights(EXAMPLES / "linear_external.yaml", {"z": "y"})
    with pytest.raises(ValueError, match="x: expected an element type"):
        pte_emit.convert_io(linear, inputs={"x": "image"})
