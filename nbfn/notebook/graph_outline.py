"""The graph of a trace as an outline, and as a file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError

from nbfn.functions import Trace
from nbfn.functions.text import count
from nbfn.notebook.options import unquoted
from nbfn.views.outline import Outline, Table

MAX_ROWS = 200


def graph_outline(function: Any, trace: Trace) -> Outline:
    """What is said of a graph: how many operations of each type, and each operation."""
    operations = trace.graph.get_operations()
    types = Counter(operation.type for operation in operations)
    rows = [
        (
            operation.name,
            operation.type,
            ", ".join(tensor.op.name for tensor in operation.inputs),
            ", ".join(f"{each.dtype.name}{_shape(each.shape)}" for each in operation.outputs),
        )
        for operation in operations[:MAX_ROWS]
    ]
    said = [
        count(len(operations), "operation"),
        ", ".join(f"{number} {kind}" for kind, number in types.most_common(8)),
    ]
    if len(operations) > MAX_ROWS:
        said.append(f"the first {MAX_ROWS} are listed; --save writes all")
    return Outline(
        f"{function.label}, trace {trace.number} ({trace.signature or 'no arguments'})",
        said,
        (Table("operations", ("name", "type", "inputs", "outputs"), rows),),
    )


def _shape(shape: Any) -> str:
    if shape.rank is None:
        return "[...]"
    return f"[{', '.join('None' if size is None else str(size) for size in shape)}]"


def save_graph(trace: Trace, file: str) -> None:
    """Writes the GraphDef as text.

    Raises:
        UsageError: If the file is there already, or cannot be written.
    """
    try:
        with Path(unquoted(file) or "").open("x", encoding="utf-8") as target:
            target.write(str(trace.graph_def()))
    except OSError as error:
        raise UsageError(f"--save: {error}") from None
