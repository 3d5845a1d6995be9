"""Formats a module and its variables as a plain-text table."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from nbfn.modules.module.rows import rows_of
from nbfn.text import tensor_type

_HEAD = ("Path", "Module", "Parameters", "Other variables", "Count")


def table(top: Any, depth: int | None = None) -> str:
    """Returns a table with a row for each used module, parents first, and the totals.

    Args:
      top: a module with variables.
      depth: number of levels of modules that get a row; None for all.
    """
    lines: dict[tuple[str, ...], tuple[str, list[str], list[str], list[int]]] = {}
    rows = rows_of(top)
    for row in rows:
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
            size = tf.TensorShape(row.shape).num_elements()
            if row.same_as is None and size is not None:
                counts.append(size)
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
    total = sum(sum(counts) for _, _, _, counts in lines.values())
    once = [row for row in rows if row.label == "params" and row.same_as is None]
    nbytes = sum(row.nbytes or 0 for row in once)
    more = "" if all(row.nbytes is not None for row in once) else ", and those of unknown shape"
    return "\n".join([*text_lines, f"Total: {total:,} parameters, {nbytes:,} bytes{more}"])
