"""The graph of a trace as a file."""

from __future__ import annotations

from pathlib import Path

from IPython.core.error import UsageError

from nbfn.functions import Trace
from nbfn.notebook.cells.options import unquoted


def save_graph(trace: Trace, file: str) -> None:
    """Writes the GraphDef as text, or JSON for Model Explorer if the name ends with ``.json``.

    Raises:
        UsageError: If the file is there already, or cannot be written.
    """
    path = Path(unquoted(file) or "")
    try:
        with path.open("x", encoding="utf-8") as target:
            target.write(_as_json(trace) if path.suffix == ".json" else str(trace.graph_def()))
    except OSError as error:
        raise UsageError(f"--save: {error}") from None


def _as_json(trace: Trace) -> str:
    from nbfn.functions.graphs.model_explorer import model_explorer
    from nbfn.functions.graphs.operations import graph_of

    return model_explorer(f"trace {trace.number}", graph_of(trace))
