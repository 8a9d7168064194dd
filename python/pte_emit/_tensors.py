"""Weights as arrays of numpy: ``.ptd`` and ``.safetensors``."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

# First: without numpy it says what to install.
from . import _arrays

import numpy

from ._pte_emit import data_entries, write_data
from ._pte_emit import open as open_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from typing_extensions import Buffer, Self


class Weights(dict[str, "NDArray[Any]"]):
    """Tensors by key. ``blobs`` has the entries without an element type as bytes by key: data of delegates, and the JSON of the ``__metadata__`` of
    a ``.safetensors``. Saving writes both. In a ``with`` block, the mapped file is closed at its end, or when the last array of it is gone."""

    blobs: dict[str, memoryview]
    _mapped: Any = None

    def __init__(self, *tensors: Any, blobs: Mapping[str, Any] | None = None) -> None:
        super().__init__(*tensors)
        self.blobs = {key: memoryview(data) for key, data in (blobs or {}).items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.clear()
        self.blobs.clear()
        mapped, self._mapped = self._mapped, None
        if mapped is not None:
            with contextlib.suppress(BufferError):
                mapped.close()


def load_ptd(source: str | os.PathLike[str] | bytes, *, mode: str = "r") -> Weights:
    """Loads the tensors of a ``.ptd`` or ``.safetensors`` by key.

    The arrays are views of the mapped file: nothing is read before it is used. They are read-only; with ``mode="c"`` they can be changed, without
    a change of the file. A file must not change as long as its arrays are used.

    >>> import numpy, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.ptd")
    >>> save_ptd(path, {"fc.weight": numpy.ones((2, 3), numpy.float32), "program": b"..."})
    >>> load_ptd(path)["fc.weight"].sum()
    np.float32(6.0)
    >>> bytes(load_ptd(path).blobs["program"])
    b'...'
    """
    if mode not in ("r", "c"):
        raise ValueError(f"mode={mode!r}: expected 'r' or 'c'")
    model = open_model(source)
    if model.is_text:
        raise ValueError(f"{model.name}: expected a .ptd or .safetensors, found text")
    entries = data_entries(model)
    mapped = _mapped(source, mode) if any(offset is not None for _, _, offset, _, _ in entries) else None
    weights = Weights()
    weights._mapped = mapped
    for key, layout, offset, size, data in entries:
        try:
            found = _array(mapped, layout, offset, size, data, mode)
        except TypeError as error:
            raise TypeError(f"{model.name}: {key}: {error}") from None
        if layout is None:
            weights.blobs[key] = memoryview(found)
        else:
            weights[key] = found
    return weights


load_safetensors = load_ptd


def _mapped(path: Any, mode: str) -> Any:
    import mmap

    with open(path, "rb") as file:
        access = mmap.ACCESS_READ if mode == "r" else mmap.ACCESS_COPY
        return mmap.mmap(file.fileno(), 0, access=access)


def _array(mapped: Any, layout: Any, offset: int | None, size: int, data: bytes | None, mode: str) -> Any:
    dtype, sizes, order = layout or ("uint8", [size], [0])
    element = _arrays.dtype_of(dtype)
    if size == 0:
        flat = numpy.empty(0, element)
    elif offset is None:
        flat = numpy.frombuffer(data or b"" if mode == "r" else bytearray(data or b""), element)
    else:
        flat = numpy.frombuffer(mapped, element, size // element.itemsize, offset)
    return _arrays.shaped(flat, sizes, order)


def save_ptd(path: str | os.PathLike[str], tensors: Mapping[str, NDArray[Any] | numpy.generic | Buffer], **layout: Any) -> None:
    """Writes tensors to a ``.ptd``: a map of keys to arrays of numpy, or bytes for data without an element type.

    The file is replaced when all of it is written. Arrays must be contiguous, or channels-last; their bytes are written without a copy of them,
    and equal ones once. The other arguments are options of the layout, such as ``segment_alignment``.

    >>> import numpy
    >>> save_ptd("weights.ptd", {"w": numpy.ones((2, 3), ">f4")})
    Traceback (most recent call last):
    TypeError: w: big-endian elements (>f4): pass array.astype(array.dtype.newbyteorder('='))
    """
    _save(path, ".ptd", tensors, layout)


def save_safetensors(path: str | os.PathLike[str], tensors: Mapping[str, NDArray[Any] | numpy.generic | Buffer]) -> None:
    """Writes tensors to a ``.safetensors``, as ``save_ptd`` to a ``.ptd``. Bytes with the key ``__metadata__`` are the JSON of its metadata.

    >>> import numpy
    >>> save_safetensors("weights.ptd", {"w": numpy.ones(2)})
    Traceback (most recent call last):
    ValueError: weights.ptd: expected a path that ends with .safetensors
    """
    _save(path, ".safetensors", tensors, {})


def _save(path: Any, extension: str, tensors: Mapping[str, Any], layout: dict[str, Any]) -> None:
    if not str(os.fspath(path)).endswith(extension):
        raise ValueError(f"{os.fspath(path)}: expected a path that ends with {extension}")
    entries = []
    if not tensors and extension == ".ptd":
        raise ValueError(f"{os.fspath(path)}: a .ptd has a tensor at least")
    for key, value in {**tensors, **getattr(tensors, "blobs", {})}.items():
        if not isinstance(key, str):
            raise TypeError(f"expected str as keys, found {type(key).__name__}")
        try:
            entries.append((key, *_entry(value)))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{key}: {error}") from None
    write_data(path, entries, **layout)


def _entry(value: Any) -> tuple[tuple[str, list[int], bytes] | None, Any]:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return None, value
    array = _arrays.an_array(value)
    name, order = _arrays.name_of(array.dtype), _arrays.order_of(array)
    return (name, list(array.shape), bytes(order)), _arrays.raw(array, order)
