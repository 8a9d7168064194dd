"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# The tests may run in a copy.
ROOT = Path(os.environ.get("PTE_EMIT_REPOSITORY") or Path(__file__).resolve().parents[2])
EXAMPLES = ROOT / "examples"


@pytest.fixture
def linear() -> Path:
    """The linear layer among the examples."""
    return EXAMPLES / "linear.yaml"
