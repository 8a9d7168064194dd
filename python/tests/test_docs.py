"""The Python blocks of docs/python.md run one after the other."""

from __future__ import annotations

import pytest

from conftest import ROOT


def test_the_blocks_of_the_page_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "python.md").read_text()
    lines, inside = [], False
    # Lines outside of blocks are empty, so that tracebacks have the lines of the page.
    for line in page.splitlines():
        is_fence = line.startswith("```")
        lines.append(line if inside and not is_fence else "")
        inside = line == "```python" if is_fence else inside
    assert sum(map(bool, lines)) > 40
    exec(compile("\n".join(lines), "docs/python.md", "exec"), {})
