"""Shared with the tests of cells: a cell that runs plainly and in segments."""

from __future__ import annotations

from tests.notebook.cells.conftest import notebook
from tests.notebook.conftest import always_traced

__all__ = ["always_traced", "notebook"]
