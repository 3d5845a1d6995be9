"""The graph of a trace as a file."""

from __future__ import annotations

from pathlib import Path

from IPython.core.error import UsageError

from nbfn.functions import Trace
from nbfn.notebook.cells.options import unquoted


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
