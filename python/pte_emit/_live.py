"""Lists of parts of a program. They are views: changes are written to the program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableSequence, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload

if TYPE_CHECKING:
    from ._pte_emit import Method, Tensor

T = TypeVar("T")


class Elements(MutableSequence[T]):
    """Inputs, outputs, values, instructions or delegates of a method. A ``str`` finds the first with this name.

    An assigned value or instruction is copied. Objects of the one that it replaces still have what that was, so that ``a[i], a[j] = a[j], a[i]`` swaps;
    they can be read and assigned, but not changed.
    """

    __slots__ = ("_method", "_parts")

    def __init__(self, method: Method, parts: str) -> None:
        self._method = method
        self._parts = parts

    def __len__(self) -> int:
        return self._method._count(self._parts)

    def _index(self, at: Any) -> int:
        count = len(self)
        if isinstance(at, str):
            found = self._method._find(self._parts, at)
            if found is None:
                raise KeyError(at)
            return found
        index = at.__index__()
        if not -count <= index < count:
            raise IndexError(f"index {index}: the method has {count} {self._parts}")
        return int(index % count)

    @overload  # type: ignore[override]
    def __getitem__(self, at: SupportsIndex | str) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return tuple(self[index] for index in range(*at.indices(len(self))))
        return self._method._part(self._parts, self._index(at))

    def __setitem__(self, at: Any, item: Any) -> None:
        if isinstance(at, slice):
            raise TypeError("slices cannot be assigned")
        self._method._replace(self._parts, self._index(at), item)

    def __delitem__(self, at: Any) -> None:
        if isinstance(at, slice):
            for index in sorted(range(*at.indices(len(self))), reverse=True):
                del self[index]
        else:
            self._method._remove(self._parts, self._index(at))

    def insert(self, index: int, value: Any) -> None:
        """Inserts an item before an index."""
        count = len(self)
        self._method._insert(self._parts, max(index + count, 0) if index < 0 else min(index, count), value)

    def append(self, value: Any) -> None:
        """Adds an item at the end."""
        self.insert(len(self), value)

    def extend(self, values: Iterable[Any]) -> None:
        """Adds items at the end: all, or none if one is refused."""
        count = len(self)
        try:
            for value in list(values):
                self.append(value)
        except BaseException:
            del self[count:]
            raise

    def pop(self, index: int = -1) -> T:
        """Removes an input or output and returns it. Other parts are gone when they are removed."""
        if self._parts not in ("inputs", "outputs"):
            raise TypeError(f"pop() would return one of the {self._parts} that is gone: use del")
        return super().pop(index)

    def reverse(self) -> None:
        """Reverses inputs or outputs."""
        if self._parts not in ("inputs", "outputs"):
            raise TypeError(f"the order of {self._parts} is that of the method")
        self.assign(tuple(reversed(self)))

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Returns the index of an item."""
        try:
            return super().index(value, start, len(self) if stop is None else stop)
        except ValueError:
            raise ValueError(f"{value!r} is not among the {self._parts}") from None

    def remove(self, value: Any) -> None:
        """Removes the first item that equals a value."""
        del self[self.index(value)]

    def assign(self, items: Iterable[Any]) -> None:
        """Replaces all items."""
        new = list(items)
        for number, item in enumerate(new):
            self.insert(number, item)
        del self[len(new) :]

    def __contains__(self, item: object) -> bool:
        if isinstance(item, str):
            return self._method._find(self._parts, item) is not None
        return any(item == own for own in self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Iterable[T]) -> tuple[T, ...]:
        return (*self, *other)

    def __repr__(self) -> str:
        first = ", ".join(repr(item) for item in self[:3])
        return f"[{first}, ... {len(self)} {self._parts}]" if len(self) > 3 else f"[{first}]"


class Constants(Mapping[str, "Tensor"]):
    """Constants of a method by name."""

    __slots__ = ("_method",)

    def __init__(self, method: Method) -> None:
        self._method = method

    def __getitem__(self, name: str) -> Tensor:
        index = self._method._find("values", name)
        tensor: Tensor | None = None if index is None else self._method.values[index].tensor
        if tensor is None or not tensor.has_data:
            # The name of one without a name, or of several.
            tensor = self._method.values[self._method._constants()[name]].tensor
        assert tensor is not None
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._method._constants())

    def __len__(self) -> int:
        return len(self._method._constants())

    def __repr__(self) -> str:
        return repr(dict(self))
