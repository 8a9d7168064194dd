"""The wheel: its licences, its page, how it is compiled."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from typing import Any

import pytest

from conftest import ROOT


def toml(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text())


def test_the_licences_are_those_of_the_repository() -> None:
    for name in ("LICENSE-APACHE", "LICENSE-MIT"):
        assert (ROOT / "python" / name).read_bytes() == (ROOT / name).read_bytes()
    installed = metadata.distribution("pte-emit")
    if not installed.metadata["License-Expression"]:
        pytest.skip("the package is not installed from a wheel")
    names = [str(path) for path in installed.files or []]
    assert sorted(name.rpartition("/")[2] for name in names if "/licenses/" in name) == ["LICENSE-APACHE", "LICENSE-MIT"]
    # It would have paths of the machine that built the wheel.
    assert not any("/sboms/" in name for name in names)


def test_links_of_the_page_work_elsewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "python/README.md").read_text())
    address = toml("Cargo.toml")["workspace"]["package"]["repository"]
    own = [link.removeprefix(f"{address}/blob/HEAD/") for link in links if link.startswith(address)]
    assert len(links) > 1 and all(link.startswith("https://") for link in links)
    assert own and all((ROOT / path).exists() for path in own)


def test_the_package_is_compiled_as_the_command() -> None:
    assert toml("python/Cargo.toml")["profile"]["release"] == toml("Cargo.toml")["profile"]["release"]
