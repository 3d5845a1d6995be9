"""A module as an outline: the tree of its submodules and variables."""

from __future__ import annotations

from nbfn.functions.text import count
from nbfn.modules import Module
from nbfn.modules.rows import Row
from nbfn.views.outline import Outline, Table

_INDENT = "\u2003"
"""An em space: leading plain ones would be lost in HTML."""


def module_outline(module: Module) -> Outline:
    """What the view of a module says."""
    rows = module.describe()
    variables = [row for row in rows if row.kind == "variable" and row.same_as is None]
    lines = [_sizes(rows[0], len(variables)) if variables else "unbound: it has no variables"]
    table = Table(
        "tree",
        ("name", "is a", "shape", "dtype", "bytes"),
        [
            (
                _INDENT * len(row.path) + row.name,
                row.label if row.same_as is None else f"the same as {'/'.join(row.same_as) or '/'}",
                "" if row.kind == "module" else str(list(row.shape or ())),
                row.dtype,
                "" if row.nbytes is None else f"{row.nbytes:,}",
            )
            for row in rows
        ],
    )
    return Outline(type(module).__name__, lines, (table,))


def _sizes(top: Row, variables: int) -> str:
    size = "" if top.nbytes is None else f", {top.nbytes:,} bytes"
    return count(variables, "variable") + size
