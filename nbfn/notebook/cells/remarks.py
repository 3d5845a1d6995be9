"""What a traced function does only while it is traced: said under the cell that defines it."""

from __future__ import annotations

from types import FunctionType

from nbfn.functions import TracedFunction
from nbfn.functions.effects.finder import Effect, Finder
from nbfn.views.outline import Outline

MAX_LINES = 6


def remarks_on(function: TracedFunction) -> None:
    """Displays, by line, what no hit of a function repeats, and what to write instead."""
    said = remarks(function)
    if said:
        from IPython.display import display

        outline = Outline(f"`{function.label}` does this only while it is traced:", said)
        display({"text/plain": outline.text(), "text/html": outline.html()}, raw=True)


def remarks(function: TracedFunction) -> list[str]:
    """A sentence for each line of a function with effects that no hit repeats."""
    python_function = function.python_function
    if not isinstance(python_function, FunctionType):
        return []
    try:
        found = list(Finder(strict=False).in_function(python_function))
    except Exception:  # the user's objects may do anything; the cell has run
        return []
    own = python_function.__name__
    lines: dict[str, None] = {}
    for effect in found:
        if effect.reason.is_effect:
            lines[_sentence(effect, own)] = None
    said = list(lines)
    if len(said) > MAX_LINES:
        said = [*said[: MAX_LINES - 1], f"and {len(said) - MAX_LINES + 1} more"]
    return said


def _sentence(effect: Effect, own: str) -> str:
    text = effect.reason.text if effect.function == own else str(effect)
    advice = f"; {effect.reason.advice}" if effect.reason.advice else ""
    line = effect.inner if effect.function == own else effect.line
    return f"line {line} {text}{advice}"
