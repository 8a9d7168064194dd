"""The base class of results, their creation from JSON, and their pictures for notebooks."""

from __future__ import annotations

import json
from html import escape
from typing import Any, ClassVar

# Items of a list in a `repr`.
_ITEMS = 3


class Result:
    """A result as an object with typed attributes. Results with equal attributes are equal."""

    __slots__: tuple[str, ...] = ("_absent",)
    # Class of the objects in an attribute, by its key in JSON; "tuple" and "tuples" for arrays of a fixed length.
    _made: ClassVar[dict[str, Any]] = {}
    _renamed: ClassVar[dict[str, str]] = {}
    _optional: ClassVar[tuple[str, ...]] = ()
    # Attribute that has the keys without an attribute of their own.
    _rest: ClassVar[str | None] = None

    def __init__(self, **attributes: Any) -> None:
        # Attributes without a key in JSON, which are None.
        self._absent = {name for name in self._optional if name not in attributes}
        for name in self.__slots__:
            if name in attributes:
                setattr(self, name, attributes.pop(name))
            elif name in self._absent:
                setattr(self, name, None)
            else:
                raise TypeError(f"{type(self).__name__} lacks {name!r}")
        if attributes:
            raise TypeError(f"{type(self).__name__} has no {sorted(attributes)[0]!r}")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = (f"{name}={_short(getattr(self, name))}" for name in self.__slots__)
        return f"{type(self).__name__}({', '.join(fields)})"

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as dictionaries and lists, as in the JSON of the command.

        >>> from pte_emit.results import MemoryPeak
        >>> MemoryPeak(time=1, event="aten::relu.out").to_dict()
        {'event': 'aten::relu.out', 'time': 1}
        """
        keys: dict[str, str] = {attribute: key for key, attribute in self._renamed.items()}
        names = [name for name in self.__slots__ if name not in self._absent]
        plain: dict[str, Any] = {keys.get(name, name): _plain(getattr(self, name)) for name in names}
        others: dict[str, Any] = {} if self._rest is None else plain.pop(self._rest)
        return {**plain, **others}

    def _repr_html_(self) -> str:
        picture = _PICTURES.get(type(self).__name__)
        return f"<pre>{escape(repr(self))}</pre>" if picture is None else picture(self)


def _short(value: Any) -> str:
    if isinstance(value, list) and len(value) > _ITEMS:
        return f"[{', '.join(repr(item) for item in value[:_ITEMS])}, ... {len(value)} items]"
    return repr(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _make(made: Any, value: Any) -> Any:
    """Makes objects of what JSON has in their place, in lists, too: of a class, or of the first of several classes that has the keys."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if made == "tuple":
        return tuple(value)
    if made == "tuples":
        return [tuple(item) for item in value]
    if isinstance(value, list):
        return [_make(made, item) for item in value]
    if isinstance(made, tuple):
        made = next(one for one in made if _has_keys(one, value))
    renamed = made._renamed
    attributes = {renamed.get(key, key): item for key, item in value.items()}
    for key, inner in made._made.items():
        if key in value:
            attributes[renamed.get(key, key)] = _make(inner, value[key])
    if made._rest is not None:
        others = {key: attributes.pop(key) for key in list(attributes) if key not in made.__slots__}
        attributes[made._rest] = others
    return made(**attributes)


def _has_keys(made: Any, value: dict[str, Any]) -> bool:
    keys = {made._renamed.get(key, key) for key in value}
    return keys <= set(made.__slots__) <= keys | set(made._optional)


def typed(name: str, text: str) -> Any:
    """Creates the object of a class of ``results`` from JSON."""
    from . import results

    return _make(getattr(results, name), json.loads(text))


class Report:
    """A report: a page for a browser, or a graph for another viewer. ``str`` returns its text; a notebook shows the page."""

    __slots__ = ("text", "format")

    def __init__(self, text: str, format: str) -> None:
        self.text = text
        self.format = format

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<pte_emit.Report: {self.format}, {len(self.text)} characters>"

    def save(self, path: Any) -> None:
        """Writes the text to a file.

        >>> Report("<html></html>", "html")
        <pte_emit.Report: html, 13 characters>
        """
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text)

    def _repr_html_(self) -> str:
        if self.format != "html":
            return f"<pre>{escape(self.text)}</pre>"
        page = escape(self.text, quote=True)
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts" style="width:100%;height:640px;border:0"></iframe>'


def _table(head: list[str], rows: list[list[object]]) -> str:
    cells = "".join(f"<th>{escape(text)}</th>" for text in head)
    lines = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
    return f"<table><tr>{cells}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


# Rows of a table in a notebook.
_ROWS = 200


def _more(count: int) -> str:
    return f"<p>{count - _ROWS} more</p>" if count > _ROWS else ""


def _differences(found: Any) -> str:
    if found.equal:
        return "<p>no differences</p>"
    rows: list[list[object]] = []
    for item in found.differences[:_ROWS]:
        sides = [part.value if part is not None else "" for part in (item.left, item.right)]
        rows.append([item.area, item.kind, item.topic, item.path, *sides])
    head = ["area", "kind", "topic", "path", "before", "after"]
    return _table(head, rows) + _more(len(found.differences))


def _findings(found: Any) -> str:
    head = f"<p>{found.errors} errors, {found.warnings} warnings, {found.notes} notes</p>"
    entries = [entry for file in found.files for entry in file.findings]
    rows: list[list[object]] = [[entry.level, entry.rule, entry.path or "", entry.message] for entry in entries[:_ROWS]]
    return head + (_table(["level", "rule", "path", "message"], rows) if rows else "") + _more(len(entries))


# Size of the picture of a pool, in pixels.
_WIDTH, _HEIGHT = 480, 80


def _pool(pool: Any, times: int) -> str:
    """Draws the bytes of a pool that are alive over the instructions."""
    highest = max(pool.bytes, 1)
    points, before = [], 0
    for time, count in pool.timeline:
        x = _WIDTH * time / max(times, 1)
        points += [f"{x:.1f},{_HEIGHT - _HEIGHT * before / highest:.1f}", f"{x:.1f},{_HEIGHT - _HEIGHT * count / highest:.1f}"]
        before = count
    points.append(f"{_WIDTH},{_HEIGHT - _HEIGHT * before / highest:.1f}")
    line = " ".join(["0," + str(_HEIGHT), *points, f"{_WIDTH},{_HEIGHT}"])
    shape = f'<polygon points="{line}" fill="#4c78a8"/>'
    return f'<svg width="{_WIDTH}" height="{_HEIGHT}" style="border:1px solid #ccc">{shape}</svg>'


def _memory(memory: Any) -> str:
    parts = []
    for method in memory.methods:
        parts.append(f"<h4>{escape(method.name)}: {method.planned} bytes planned, {method.total.bytes} in total</h4>")
        for pool in method.pools:
            label = f"pool {pool.pool} ({pool.device}): {pool.bytes} bytes, at least {pool.lower_bound}; peak: {pool.peak.event}"
            parts.append(f"<p>{escape(label)}</p>{_pool(pool, len(method.instructions) + 2)}")
    return "".join(parts)


_PICTURES = {"Differences": _differences, "Findings": _findings, "ProgramMemory": _memory}
