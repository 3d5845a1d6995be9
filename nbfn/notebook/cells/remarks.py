"""What a traced function does only while it is traced: said under the cell that defines it."""

from __future__ import annotations

from nbfn.functions import TracedFunction
from nbfn.functions.effects.remarks import remarks
from nbfn.views.outline import Outline


def remarks_on(function: TracedFunction) -> None:
    """Displays, by line, what no hit of a function repeats, and what to write instead."""
    said = remarks(function.python_function)
    function.remarked = True
    if said:
        from IPython.display import display

        outline = Outline(f"`{function.label}` does this only while it is traced:", said)
        display({"text/plain": outline.text(), "text/html": outline.html()}, raw=True)
