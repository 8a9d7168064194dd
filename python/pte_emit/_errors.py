"""Exceptions. The extension module creates them."""

from __future__ import annotations


class Diagnostic:
    """A message about an input, with its position if the input is YAML.

    ``severity`` is ``"error"`` or ``"warning"``; ``code`` is stable, such as ``"Y-10"``, and ``name`` is the code in words. ``label`` says what is
    at the position, ``help`` what to do. ``file`` is the name of the input; ``line`` and ``column`` count from 1, and are None without a position.
    """

    __slots__ = ("severity", "code", "name", "message", "label", "help", "file", "line", "column")

    def __init__(
        self,
        severity: str,
        code: str,
        name: str,
        message: str,
        label: str = "",
        help: str | None = None,
        file: str = "",
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.severity = severity
        self.code = code
        self.name = name
        self.message = message
        self.label = label
        self.help = help
        self.file = file
        self.line = line
        self.column = column

    def __repr__(self) -> str:
        place = "" if self.line is None else f" at {self.line}:{self.column}"
        return f"<{self.severity} {self.code}{place}: {self.message}>"


class Error(Exception):
    """An input that cannot be read, assembled or written.

    ``diagnostics`` are the messages; ``rendered`` draws them with the lines of the source.

    >>> import pte_emit
    >>> try:
    ...     pte_emit.assemble("methods: {forward: {values: {x: {tensor: float23, sizes: [2]}}}}")
    ... except pte_emit.Error as error:
    ...     found = error.diagnostics[0]
    >>> found.name, found.line, found.column, found.help
    ('unknown-word', 1, 42, 'did you mean `float32`?')
    """

    diagnostics: list[Diagnostic]
    rendered: str

    @classmethod
    def _of(cls, text: str, rendered: str, diagnostics: list[Diagnostic]) -> Error:
        error = cls(text)
        error.diagnostics = diagnostics
        error.rendered = rendered
        return error

    def _without(self, pattern: str, words: str) -> Error:
        """Returns the error with words in place of what a pattern matches."""
        import re

        for diagnostic in self.diagnostics:
            diagnostic.message = re.sub(pattern, words, diagnostic.message)
        return self._of(re.sub(pattern, words, str(self)), re.sub(pattern, words, self.rendered), self.diagnostics)


class FileError(Error, OSError):
    """A file that cannot be opened, read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file that does not exist.

    >>> import pte_emit
    >>> pte_emit.open("missing.pte")
    Traceback (most recent call last):
    pte_emit._errors.MissingFileError: error: cannot read missing.pte: No such file or directory (os error 2)
    """
