"""Weights as arrays: .ptd and .safetensors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy
import pte_emit
import pytest

ml_dtypes: Any = pytest.importorskip("ml_dtypes")

NAMES = ["u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", "?", "u2", "u4", "u8"]


def arrays() -> dict[str, Any]:
    found = {name: numpy.arange(6).reshape(2, 3).astype(name) for name in NAMES}
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        found[name] = numpy.arange(6).reshape(2, 3).astype(getattr(ml_dtypes, name))
    found["scalar"] = numpy.array(7, numpy.int64)
    found["empty"] = numpy.zeros((0, 3), numpy.float32)
    return found


@pytest.mark.parametrize("extension", [".ptd", ".safetensors"])
def test_all_element_types_return(extension: str, tmp_path: Path) -> None:
    saved = arrays()
    if extension == ".ptd":
        pte_emit.save_ptd(tmp_path / "w.ptd", saved)
    else:
        saved = {key: array for key, array in saved.items() if array.dtype.kind != "c"}
        pte_emit.save_safetensors(tmp_path / "w.safetensors", saved)
    path = tmp_path / f"w{extension}"
    for source in (path, str(path), path.read_bytes()):
        loaded = pte_emit.load_ptd(source)
        assert loaded.keys() == saved.keys()
        for key, array in saved.items():
            assert (loaded[key].dtype, loaded[key].shape) == (array.dtype, array.shape), key
            assert loaded[key].tobytes() == array.tobytes(), key
    if extension == ".ptd":
        assert pte_emit.open(path).check().errors == 0


def test_arrays_are_views_of_the_file(tmp_path: Path) -> None:
    pte_emit.save_ptd(tmp_path / "w.ptd", {"w": numpy.ones((64, 64), numpy.float32)})
    loaded = pte_emit.load_ptd(tmp_path / "w.ptd")["w"]
    assert not loaded.flags.writeable and not loaded.flags.owndata
    with pytest.raises(ValueError):
        loaded[0] = 0
    private = pte_emit.load_ptd(tmp_path / "w.ptd", mode="c")["w"]
    private[0] = 0
    assert loaded[0, 0] == 1
    # Memory of an open file stays readable after it is deleted.
    os.unlink(tmp_path / "w.ptd")
    assert loaded.sum() == 64 * 64


def test_channels_last_arrays_keep_their_order(tmp_path: Path) -> None:
    array = numpy.arange(48, dtype=numpy.float32).reshape(2, 2, 4, 3).transpose(0, 3, 1, 2)
    pte_emit.save_ptd(tmp_path / "w.ptd", {"w": array})
    loaded = pte_emit.load_ptd(tmp_path / "w.ptd")["w"]
    assert loaded.strides == array.strides and numpy.array_equal(loaded, array)


def test_bytes_are_entries_without_a_type(tmp_path: Path) -> None:
    pte_emit.save_ptd(tmp_path / "w.ptd", {"blob": b"\1\2\3", "w": numpy.ones(2, numpy.int8)})
    loaded = pte_emit.load_ptd(tmp_path / "w.ptd")
    assert list(loaded) == ["w"] and bytes(loaded.blobs["blob"]) == b"\1\2\3"
    pte_emit.save_ptd(tmp_path / "again.ptd", loaded)
    again = pte_emit.load_ptd(tmp_path / "again.ptd")
    assert (list(again), list(again.blobs)) == (["w"], ["blob"]) and again["w"].dtype == numpy.int8


def test_equal_arrays_are_stored_once(tmp_path: Path) -> None:
    array = numpy.random.default_rng(0).random(1 << 16)
    pte_emit.save_ptd(tmp_path / "one.ptd", {"a": array})
    pte_emit.save_ptd(tmp_path / "two.ptd", {"a": array, "b": array.copy()})
    one, two = (os.path.getsize(tmp_path / name) for name in ("one.ptd", "two.ptd"))
    assert two < one + 1000


def test_other_implementations_agree(tmp_path: Path) -> None:
    reference = pytest.importorskip("safetensors.numpy")
    saved = {key: array for key, array in arrays().items() if key in ("f4", "i8", "f2", "?", "empty", "scalar")}
    pte_emit.save_safetensors(tmp_path / "ours.safetensors", saved)
    for key, array in reference.load_file(tmp_path / "ours.safetensors").items():
        assert numpy.array_equal(array, saved[key]) and array.dtype == saved[key].dtype
    reference.save_file(saved, tmp_path / "theirs.safetensors")
    for key, array in pte_emit.load_safetensors(tmp_path / "theirs.safetensors").items():
        assert numpy.array_equal(array, saved[key]) and array.dtype == saved[key].dtype


def test_metadata_return_as_metadata(tmp_path: Path) -> None:
    reference = pytest.importorskip("safetensors")
    numpy_files = pytest.importorskip("safetensors.numpy")
    numpy_files.save_file({"a": numpy.ones((2, 2), "f4")}, tmp_path / "in.safetensors", metadata={"format": "pt"})
    loaded = pte_emit.load_safetensors(tmp_path / "in.safetensors")
    assert list(loaded) == ["a"]
    pte_emit.save_ptd(tmp_path / "between.ptd", loaded)
    pte_emit.save_safetensors(tmp_path / "out.safetensors", pte_emit.load_ptd(tmp_path / "between.ptd"))
    assert list(numpy_files.load_file(tmp_path / "out.safetensors")) == ["a"]
    with reference.safe_open(tmp_path / "out.safetensors", "np") as file:
        assert file.metadata() == {"format": "pt"}


def test_malformed_files_are_named_with_their_key(tmp_path: Path, linear: Path) -> None:
    saved = {"w": numpy.arange(6, dtype=numpy.float32).reshape(2, 3)}
    pte_emit.save_ptd(tmp_path / "w.ptd", saved)
    for field, value, found in [
        ("sizes[0]", "7", "24 bytes for float32"),
        ("sizes[0]", "-2", "has no size in bytes"),
        ("dim_order[0]", "1", "expected an order of 2 dimensions"),
        ("scalar_type", "99", "has no size in bytes"),
    ]:
        yaml = "named_data: {w: {tensor: float32, sizes: [2, 3], data: [0, 1, 2, 3, 4, 5]}}\n"
        yaml += f"raw: {{set: {{'named_data[0].tensor_layout.{field}': {value}}}}}\n"
        data = pte_emit.assemble(yaml).data[""]
        (tmp_path / "bad.ptd").write_bytes(data)
        for source, name in ((tmp_path / "bad.ptd", "bad.ptd"), (data, "<bytes>")):
            with pytest.raises(pte_emit.Error, match=f"{name}: error: w: .*{found}"):
                pte_emit.load_ptd(source)
    examples = linear.parent / "malformed"
    files = sorted(examples.glob("**/*.yaml"))
    for path in files:
        if not path.stem.startswith("ptd_"):
            continue
        for data in pte_emit.open(path).assemble().data.values():
            (tmp_path / "bad.ptd").write_bytes(data)
            try:
                pte_emit.load_ptd(tmp_path / "bad.ptd")
            except pte_emit.Error as error:
                assert "bad.ptd" in str(error)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (numpy.ones((4, 4))[:, ::2], ValueError, "w: the array is not contiguous"),
        (numpy.ones((4, 4)).T[1:], ValueError, "not contiguous"),
        (numpy.ones(4, ">f8"), TypeError, "big-endian"),
        (numpy.array(["a"]), TypeError, "no element type"),
        (numpy.array([object()]), TypeError, "no element type"),
        (numpy.array(["2026-01-01"], "M8[D]"), TypeError, "no element type"),
        (numpy.zeros(2, [("a", "f4"), ("b", "f4")]), TypeError, "no element type"),
        ([1.0, 2.0], TypeError, "expected an array of numpy, found list"),
        (None, TypeError, "found NoneType"),
        (3.0, TypeError, "found float"),
    ],
)
def test_other_values_are_exceptions(value: Any, error: type[Exception], text: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=text):
        pte_emit.save_ptd(tmp_path / "w.ptd", {"w": value})
    assert list(tmp_path.iterdir()) == []


def test_closed_buffers_are_exceptions(tmp_path: Path) -> None:
    view = memoryview(b"123")
    view.release()
    with pytest.raises(ValueError):
        pte_emit.save_ptd(tmp_path / "w.ptd", {"w": view})
    with pytest.raises(ValueError):
        pte_emit.open(view)
    strided = memoryview(b"123456")[::2]
    with pytest.raises(BufferError, match="contiguous"):
        pte_emit.save_ptd(tmp_path / "w.ptd", {"w": strided})
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_exceptions(tmp_path: Path, linear: Path) -> None:
    with pytest.raises(pte_emit.Error, match="expected a .ptd"):
        pte_emit.load_ptd(pte_emit.open(linear).assemble().program or b"")
    with pytest.raises(ValueError, match="found text"):
        pte_emit.load_ptd(linear)
    with pytest.raises(FileNotFoundError):
        pte_emit.load_ptd(tmp_path / "missing.ptd")
    with pytest.raises(FileNotFoundError):
        pte_emit.save_ptd(tmp_path / "missing" / "w.ptd", {"w": numpy.ones(2)})
    with pytest.raises(TypeError, match="expected str"):
        pte_emit.save_ptd(tmp_path / "w.ptd", {1: numpy.ones(2)})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="mode='w'"):
        pte_emit.load_ptd(tmp_path / "w.ptd", mode="w")


def test_a_ptd_has_a_tensor(tmp_path: Path) -> None:
    path = tmp_path / "empty.ptd"
    with pytest.raises(ValueError, match="has a tensor at least"):
        pte_emit.save_ptd(path, {})
    assert not path.exists()
