"""Formats a module and its variables as a plain-text table."""

from __future__ import annotations

import math
from typing import Any

from nbfn.modules.module.rows import rows_of
from nbfn.modules.variables.tree import leaves
from nbfn.text import tensor_type

_HEAD = ("Path", "Module", "Parameters", "Other variables", "Count")


def table(top: Any, depth: int | None = None) -> str:
    """Returns a table with a row for each used module, parents first, and the totals.

    Args:
      top: a module with variables.
      depth: number of levels of modules that get a row; None for all.
    """
    lines: dict[tuple[str, ...], tuple[str, list[str], list[str], list[int]]] = {}
    for row in rows_of(top):
        if row.kind == "module":
            # Structures, and modules that no call has created yet, get a row for their variables.
            if row.label and (depth is None or row.depth <= depth):
                lines[row.path] = row.label, [], [], []
            continue
        at = row.path[:-1][:depth]
        _, params, others, counts = lines.setdefault(at, ("", [], [], []))
        text = f"{'/'.join(row.path[len(at) :])}: {tensor_type(row.dtype, row.shape)}"
        if row.label == "params":
            params.append(text)
            counts.append(math.prod(n or 0 for n in row.shape or ()))
        else:
            others.append(f"{text} ({row.label})")
    cells = [_HEAD]
    for path, (label, params, others, counts) in lines.items():
        where, count = "/".join((*top.path, *path)) or "/", f"{sum(counts):,}" if counts else ""
        cells.append((where, label, ", ".join(params), ", ".join(others), count))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    text_lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    text_lines.insert(1, "  ".join("-" * width for width in widths))
    everything = [leaf for _, leaf in leaves(top.state.get("params", {}))]
    total = sum(math.prod(leaf.shape) for leaf in everything)
    size = sum(math.prod(leaf.shape) * leaf.dtype.size for leaf in everything)
    return "\n".join([*text_lines, f"Total: {total:,} parameters, {size:,} bytes"])
