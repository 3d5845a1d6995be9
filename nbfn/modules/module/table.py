"""A module and its variables as a plain-text table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from nbfn.modules.module.lazy import walk
from nbfn.modules.variables.tree import leaves

_HEAD = ("Path", "Module", "Parameters", "Other variables", "Count")


def table(top: Any, depth: int | None = None) -> str:
    """One row for each module that has been used, parents first, and the totals.

    Args:
      top: a module with variables.
      depth: how many levels of modules get a row; None for all.
    """
    rows = [_HEAD]
    for module in walk(top):
        level = len(module.path) - len(top.path)
        if depth is not None and level > depth:
            continue
        whole = level == depth
        parts: dict[tuple[str, ...], list[tuple[str, tuple[str, ...], Any]]] = {(): []}
        for collection, path, leaf in _own(module, whole=whole):
            at = () if whole else path[:-1]  # a module that no call has made yet
            parts.setdefault(at, []).append((collection, path[len(at) :], leaf))
        for at, own in parts.items():
            rows.append(_row((*module.path, *at), "" if at else type(module).__name__, own))
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    everything = [leaf for _, leaf in leaves(top.state.get("params", {}))]
    total = sum(math.prod(leaf.shape) for leaf in everything)
    size = sum(math.prod(leaf.shape) * leaf.dtype.size for leaf in everything)
    return "\n".join([*lines, f"Total: {total:,} parameters, {size:,} bytes"])


def _row(
    path: tuple[str, ...], label: str, own: list[tuple[str, tuple[str, ...], Any]]
) -> tuple[str, str, str, str, str]:
    params, others, count = [], [], 0
    for collection, at, leaf in own:
        shape = ", ".join("?" if n is None else str(n) for n in leaf.shape)
        text = f"{'/'.join(at)}: {leaf.dtype.name}[{shape}]"
        if collection == "params":
            params.append(text)
            count += math.prod(leaf.shape)
        else:
            others.append(f"{text} ({collection})")
    number = f"{count:,}" if params else ""
    return "/".join(path) or "/", label, ", ".join(params), ", ".join(others), number


def _own(module: Any, whole: bool) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    children = {} if whole else module._known_children()
    for collection, tree in module.state.items():
        for path, leaf in leaves(tree):
            if path[0] not in children:
                yield collection, path, leaf
