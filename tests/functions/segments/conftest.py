"""Shared with the tests of cells: a shell, and a cell that runs plainly and in segments."""

from __future__ import annotations

from tests.notebook.cells.conftest import notebook
from tests.notebook.conftest import always_traced, environment, refused, run, shell

__all__ = ["always_traced", "environment", "notebook", "refused", "run", "shell"]
