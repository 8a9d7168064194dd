"""The base classes of results, their creation from JSON, and their pictures for notebooks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, ClassVar, Generic, SupportsIndex, TypeVar, get_args, overload

T = TypeVar("T")

# Items of a list, and characters of a string, in a `repr`.
_ITEMS, _CHARACTERS = 3, 80


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

    def __str__(self) -> str:
        return _TEXTS.get(type(self).__name__, _text)(self)

    def _repr_html_(self) -> str:
        return _PICTURES.get(type(self).__name__, _details)(self)


class Listing(Result, Generic[T]):
    """A result with a list, which it has the items, the length and the iterator of. ``in`` takes an item, or its name, rule or path."""

    __slots__ = ()
    # The attributes that lead to the list.
    _listed: ClassVar[tuple[str, ...]] = ()

    def _items(self) -> list[T]:
        items: list[Any] = [self]
        for name in self._listed:
            items = [item for parent in items for item in getattr(parent, name) or ()]
        return items

    def __len__(self) -> int:
        return len(self._items())

    def __iter__(self) -> Iterator[T]:
        return iter(self._items())

    @overload
    def __getitem__(self, at: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: Any) -> Any:
        return self._items()[at]

    def __contains__(self, item: object) -> bool:
        if isinstance(item, str):
            return any(item == getattr(own, name, None) for own in self for name in ("rule", "name", "path"))
        return item in self._items()


def _short(value: Any) -> str:
    if isinstance(value, Result):
        return f"{type(value).__name__}(...)"
    if isinstance(value, list) and value and isinstance(value[0], Result):
        return f"[{len(value)} {type(value[0]).__name__}]"
    if isinstance(value, list) and len(value) > _ITEMS:
        return f"[{', '.join(_short(item) for item in value[:_ITEMS])}, ... {len(value)} items]"
    if isinstance(value, dict) and len(value) > _ITEMS:
        return f"{{{len(value)} items}}"
    if isinstance(value, str) and len(value) > _CHARACTERS:
        return repr(value[:_CHARACTERS]) + "..."
    return repr(value)


# In a text: attributes that come first, items of a list, characters of a line.
_FIRST = ("file", "name", "method", "path", "rule", "operator", "bytes")
_LINES, _WIDE = 12, 240


def _results(value: Any) -> list[Result]:
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, Result)]


def _line(result: Result, without: Sequence[str] = ()) -> str:
    """A result in a line: its attributes that say something."""

    def word(name: str, value: Any) -> str:
        if isinstance(value, Result):
            return f"{name} ({_line(value)})"
        return f"{name} {value if name in _FIRST and not isinstance(value, list) else _short(value)}"

    names = sorted(result.__slots__, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
    found = ((name, getattr(result, name)) for name in names if name not in without)
    return ", ".join(word(name, value) for name, value in found if not (value is None or value is False or value in ("", [], {})))


def _text(result: Result) -> str:
    """A result in a few lines: one for itself, and one for each of the results in it."""
    inner = {name: items for name in result.__slots__ if (items := _results(getattr(result, name)))}
    lines = [f"{type(result).__name__}: {_line(result, tuple(inner))}".rstrip(": ")]
    for name, items in inner.items():
        lines += [f"  {name}: {_line(item)}" for item in items[:_LINES]]
        lines += [f"  {name}: {len(items) - _LINES} more"] if len(items) > _LINES else []
    return "\n".join(line if len(line) <= _WIDE else line[:_WIDE] + "..." for line in lines)


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
    # A key that is called as a renamed attribute is one of the rest.
    attributes = {renamed.get(key, key): item for key, item in value.items() if key not in renamed.values()}
    for key, inner in made._made.items():
        if key in value:
            attributes[renamed.get(key, key)] = _make(inner, value[key])
    if made._rest is not None:
        known = {renamed.get(key, key) for key in value} & set(made.__slots__)
        others = {key: item for key, item in value.items() if renamed.get(key, key) not in made.__slots__ or key in renamed.values()}
        attributes = {key: item for key, item in attributes.items() if key in known}
        attributes[made._rest] = others
    return made(**attributes)


def _has_keys(made: Any, value: dict[str, Any]) -> bool:
    keys = {made._renamed.get(key, key) for key in value}
    return keys <= set(made.__slots__) <= keys | set(made._optional)


def typed(name: str, text: str) -> Any:
    """Creates the object of a class of ``results`` from JSON, or those of a list."""
    from . import results

    made = getattr(results, name)
    return _make(made if isinstance(made, type) else get_args(made), json.loads(text))


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
    head = f"<p>{_totals(found)}</p>"
    entries = [entry for file in found.files for entry in file.findings]
    rows: list[list[object]] = [[entry.level, entry.rule, entry.path or "", entry.message] for entry in entries[:_ROWS]]
    return head + (_table(["level", "rule", "path", "message"], rows) if rows else "") + _more(len(entries))


def _findings_text(found: Any) -> str:
    def line(file: Any, entry: Any) -> str:
        rule = f"[{entry.rule}]" if entry.rule else ""
        return ": ".join(filter(None, [file.file, f"{entry.severity or entry.level}{rule}", entry.path, entry.message]))

    lines = [line(file, entry) for file in found.files for entry in file.findings]
    return "\n".join([*lines, _totals(found)])


def _totals(found: Any) -> str:
    counts = [(found.errors, "error"), (found.warnings, "warning"), (found.notes, "note")]
    return ", ".join(f"{count} {noun if count == 1 else noun + 's'}" for count, noun in counts)


def _named(name: str, value: Any) -> str:
    """A list of results as a table with a column for each attribute that is not a result."""
    items = value[:_ROWS]
    columns = [column for column in items[0].__slots__ if not _has_results([getattr(item, column, None) for item in items])]
    rows: list[list[object]] = [[_cell(getattr(item, column, None)) for column in columns] for item in items]
    table = _table(columns, rows) + _more(len(value))
    return f"<details><summary>{escape(name)}: {len(value)}</summary>{table}</details>"


def _has_results(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_results(item) for item in value)
    return isinstance(value, Result)


def _cell(value: Any) -> object:
    return "" if value is None else value if isinstance(value, (str, int, float)) else _short(value)


def _details(result: Any) -> str:
    """A result as a table of its numbers and words, with its lists below."""
    values = [(name, getattr(result, name)) for name in result.__slots__]
    rows: list[list[object]] = [[name, _cell(value)] for name, value in values if value is not None and not _has_results(value)]
    parts = [_table([type(result).__name__, ""], rows)]
    for name, value in values:
        if isinstance(value, Result):
            parts.append(f"<details><summary>{escape(name)}</summary>{_details(value)}</details>")
        elif _has_results(value):
            parts.append(_named(name, value))
    return "".join(parts)


# Colours that are seen on white and on black; text and lines have the colour of the page.
_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#8c8c8c")


def _bar(parts: list[tuple[str, int]]) -> str:
    """Draws shares of a whole as a bar, with their names and numbers below."""
    total, shapes, words, x = sum(count for _, count in parts), [], [], 0.0
    for number, (name, count) in enumerate(parts):
        colour = _COLOURS[number % len(_COLOURS)]
        width = _WIDTH * count / max(total, 1)
        text = f"{escape(name)}: {count:,} bytes ({100 * count / max(total, 1):.1f} %)"
        shapes.append(f'<rect x="{x:.1f}" width="{width:.1f}" height="24" fill="{colour}"><title>{text}</title></rect>')
        words.append(f'<span style="white-space:nowrap"><span style="color:{colour}">&#9632;</span> {text}</span>')
        x += width
    svg = f'<svg width="{_WIDTH}" height="24" role="img" style="border:1px solid #8888">{"".join(shapes)}</svg>'
    return f"<div>{svg}<div>{' '.join(words)}</div></div>"


def _largest(parts: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The largest shares, and the rest as one."""
    parts = sorted((part for part in parts if part[1]), key=lambda part: -part[1])
    kept, rest = parts[: len(_COLOURS) - 1], parts[len(_COLOURS) - 1 :]
    return [*kept, (f"{len(rest)} more", sum(count for _, count in rest))] if rest else kept


def _size(size: Any) -> str:
    def node(item: Any, whole: int) -> str:
        text = f"{escape(item.name)}: {item.bytes:,} bytes"
        share = f'<progress max="{max(whole, 1)}" value="{item.bytes}"></progress> '
        if not item.children:
            return f"<div>{share}{text}</div>"
        inner = "".join(node(child, whole) for child in item.children[:_ROWS]) + _more(len(item.children))
        return f'<details><summary>{share}{text}</summary><div style="margin-left:1.5em">{inner}</div></details>'

    bar = _bar(_largest([(item.name, item.bytes) for item in size.children]))
    nodes = "".join(node(item, size.bytes) for item in size.children[:_ROWS]) + _more(len(size.children))
    return f"<h4>{escape(size.file)}: {size.bytes:,} bytes</h4>{bar}{nodes}"


def _inspection(found: Any) -> str:
    parts = [f"<h4>{escape(found.file)}: {found.format}, {found.bytes:,} bytes</h4>"]
    segments = sum(segment.bytes for segment in found.segments)
    parts.append(_bar(_largest([("metadata", found.metadata_bytes), ("segments", segments)])))
    for method in found.methods or []:
        head = f"{method.name}: {method.instructions} instructions, {method.planned_bytes:,} bytes planned"
        values: list[list[object]] = [
            [kind, value.name, value.type] for kind in ("inputs", "outputs") for value in getattr(method, kind)
        ]
        calls: list[list[object]] = [[name, count] for name, count in sorted(method.operators.items(), key=lambda item: -item[1])]
        parts.append(f"<h4>{escape(head)}</h4>{_table(['', 'name', 'type'], values)}{_table(['operator', 'calls'], calls[:_ROWS])}")
        parts += [_named("delegates", method.delegates)] if method.delegates else []
    if found.constants:
        parts.append(f"<h4>constants</h4>{_bar(_largest([(item.type, item.bytes) for item in found.constants]))}")
    rest = [name for name in ("segments", "keys", "duplicates", "tests") if getattr(found, name)]
    return "".join(parts) + "".join(_named(name, getattr(found, name)) for name in rest)


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
    shape = f'<polygon points="{line}" fill="{_COLOURS[0]}"/>'
    return f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" style="border:1px solid #8888">{shape}</svg>'


def _memory(memory: Any) -> str:
    parts = []
    for method in memory.methods:
        parts.append(f"<h4>{escape(method.name)}: {method.planned} bytes planned, {method.total.bytes} in total</h4>")
        pools = [(f"pool {pool.pool}", pool.bytes) for pool in method.pools]
        rest = [("method allocator", method.method_allocator.bytes), ("delegates", method.delegate_bytes)]
        parts.append(_bar(_largest([*pools, *rest])))
        for pool in method.pools:
            label = f"pool {pool.pool} ({pool.device}): {pool.bytes} bytes, at least {pool.lower_bound}; peak: {pool.peak.event}"
            parts.append(f"<p>{escape(label)}</p>{_pool(pool, len(method.instructions) + 2)}")
    return "".join(parts)


_PICTURES = {
    "Differences": _differences,
    "FileSize": _size,
    "Findings": _findings,
    "Inspection": _inspection,
    "ProgramMemory": _memory,
}
_TEXTS = {"Findings": _findings_text}
