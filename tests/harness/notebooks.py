"""Notebooks on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook


def write(path: Path, *cells: str, kernel: str | None = None, tags: Sequence[str] = ()) -> Path:
    """Writes a notebook; its cells have the ids cell-0, cell-1, …, and the last has the tags."""
    made = [new_code_cell(source, id=f"cell-{n}") for n, source in enumerate(cells)]
    if tags:
        made[-1].metadata.tags = list(tags)
    metadata = {"kernelspec": {"name": kernel, "display_name": "Python 3"}} if kernel else {}
    nbformat.write(new_notebook(cells=made, metadata=metadata), path)
    return path
