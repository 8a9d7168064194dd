"""Arrays of numpy and the bytes of tensors. numpy is imported here only: the other modules work without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import numpy
except ImportError as error:  # pragma: no cover
    raise ImportError("numpy is needed for arrays: pip install numpy") from error

if TYPE_CHECKING:
    from collections.abc import Sequence

# Element types of numpy by name; in ml_dtypes if numpy does not have them.
NUMPY = {
    "uint8": "u1",
    "int8": "i1",
    "int16": "i2",
    "int32": "i4",
    "int64": "i8",
    "float16": "f2",
    "float32": "f4",
    "float64": "f8",
    "complex64": "c8",
    "complex128": "c16",
    "bool": "?",
    "uint16": "u2",
    "uint32": "u4",
    "uint64": "u8",
}
ML_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")


def dtype_of(name: str) -> Any:
    """Returns the element type of numpy with the name of an element type.

    >>> dtype_of("float32")
    dtype('float32')
    """
    if name in NUMPY:
        return numpy.dtype(NUMPY[name])
    if name in ML_DTYPES:
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError(f"arrays of {name} need the package ml_dtypes: pip install ml_dtypes") from None
        return numpy.dtype(getattr(ml_dtypes, name))
    raise TypeError(f"numpy has no element type for {name}")


def name_of(dtype: Any) -> str:
    """Returns the name of the element type of an array.

    >>> import numpy
    >>> name_of(numpy.dtype("<i8"))
    'int64'
    """
    if not dtype.isnative:
        raise TypeError(f"big-endian elements ({dtype.str}): pass array.astype(array.dtype.newbyteorder('='))")
    name = "bool" if dtype.kind == "b" else dtype.name
    if name not in NUMPY and name not in ML_DTYPES:
        raise TypeError(f"no element type of tensors for {dtype}")
    return str(name)


def shaped(flat: Any, sizes: Sequence[int], dim_order: Sequence[int]) -> Any:
    """Returns a view with these sizes of elements in an order of dimensions."""
    order = list(dim_order) or list(range(len(sizes)))
    if order == list(range(len(sizes))):
        return flat.reshape(sizes)
    if sorted(order) != list(range(len(sizes))):
        raise ValueError(f"dim_order {order} is no order of {len(sizes)} dimensions")
    return flat.reshape([sizes[dim] for dim in order]).transpose([order.index(dim) for dim in range(len(sizes))])


def of_bytes(data: bytes, dtype: str, sizes: Sequence[int], dim_order: Sequence[int]) -> Any:
    """Returns the elements of a tensor as a read-only array, a view of the bytes."""
    return shaped(numpy.frombuffer(data, dtype_of(dtype)), sizes, dim_order)


def order_of(array: Any) -> list[int]:
    """Returns the order of the dimensions of an array in memory: contiguous or channels-last."""
    rank = array.ndim
    if array.flags.c_contiguous:
        return list(range(rank))
    last = [0, *range(2, rank), 1]
    if rank in (4, 5) and array.transpose(last).flags.c_contiguous:
        return last
    raise ValueError("the array is not contiguous: pass numpy.ascontiguousarray(array)")


def raw(array: Any, order: Sequence[int]) -> Any:
    """Returns the bytes of an array in an order of dimensions, as an array without a copy."""
    flat = array.transpose(order).reshape(-1)
    return flat.view(numpy.uint8) if flat.size else numpy.empty(0, numpy.uint8)


def whole(array: Any) -> Any:
    """Returns what has an element at every place."""
    if isinstance(array, numpy.ma.MaskedArray):
        raise TypeError("a masked array has no elements where it is masked: pass array.filled(VALUE)")
    return array


def an_array(array: Any) -> Any:
    whole(array)
    # Arithmetic of arrays without dimensions returns scalars of numpy.
    if isinstance(array, numpy.generic):
        array = numpy.asarray(array)
    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"expected an array of numpy, found {type(array).__name__}")
    return array


def described(array: Any) -> tuple[str, list[int], Any]:
    """Returns the element type, the sizes and the bytes of a contiguous array."""
    array = an_array(array)
    if not array.flags.c_contiguous:
        raise ValueError("the array is not contiguous: pass numpy.ascontiguousarray(array)")
    return name_of(array.dtype), list(array.shape), raw(array, range(array.ndim))


def to_bytes(array: Any, dtype: str, sizes: Sequence[int], dim_order: Sequence[int]) -> Any:
    """Returns the bytes of an array that replaces the elements of a tensor."""
    array = an_array(array)
    found = name_of(array.dtype)
    if (found, list(array.shape)) != (dtype, list(sizes)):
        raise ValueError(f"expected {dtype} {list(sizes)}, found {found} {list(array.shape)}")
    order = list(dim_order) or list(range(array.ndim))
    return raw(array, order)
