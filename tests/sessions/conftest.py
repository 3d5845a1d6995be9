"""Names that stand for a notebook's."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The namespace of a notebook, empty."""
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    return main.__dict__
