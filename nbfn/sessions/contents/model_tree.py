"""Builds the outline of a model: the tree of its parts and variables."""

from __future__ import annotations

from collections.abc import Iterator

from nbfn.modules.module.rows import Row
from nbfn.outlines.outline import Outline, Table
from nbfn.sessions.contents.model import Model, Norms
from nbfn.text import data_size, significant, tensor_type

_HEADER = ("part", "what", "notes", "size", "change", "gradient", "parameters")


def model_outline(model: Model) -> Outline:
    """Builds the outline of a model."""
    parameters = model.parameters
    table = Table(
        "parts",
        _HEADER,
        [_row(row, model, parameters[row.path]) for row in model.rows],
        open=True,
        kind="tree",
        page_only=frozenset({_HEADER.index("parameters")}),
        depths=[row.depth for row in model.rows],
    )
    return Outline(model.title, [model.sizes], (table,))


def _row(row: Row, model: Model, parameters: int | None) -> tuple[str, ...]:
    norms = model.norms.get(row.path, Norms())
    change, gradient = norms.relative_change, norms.gradient_norm
    changed = "from zero" if change is None and norms.change else ""
    if change is not None:
        changed = f"{significant(change * 100, 3)} %" if change else "none"
    is_variable = row.kind == "variable"
    return (
        row.name if row.path else model.name or "/",
        tensor_type(row.dtype, row.shape) if is_variable else row.label,
        ", ".join(_notes(row, model)),
        data_size(row.nbytes) if row.nbytes and row.same_as is None else "",
        changed,
        "" if gradient is None else f"{gradient:.3g}",
        f"{parameters:,}" if parameters else "",
    )


def _notes(row: Row, model: Model) -> Iterator[str]:
    if row.kind == "variable":
        if row.label != "params":
            yield row.label
        elif not row.trainable:
            yield "frozen"
    elif row.gives or row.takes:
        yield f"{row.takes} → {row.gives}"
    if row.same_as is not None:
        yield f"the same as {'/'.join(row.same_as) or '/'}"
    if row.path in (model.unused or ()):
        yield "in no trace"
