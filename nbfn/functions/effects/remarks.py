"""What a function does only while it is traced, by line, and what to write instead."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from nbfn.code import is_user_module, plain_function
from nbfn.functions.effects.finder import Effect, Finder
from nbfn.functions.effects.reach import with_helpers
from nbfn.functions.effects.rules import GOES_THROUGH_DATA
from nbfn.functions.effects.values import known

MAX_LINES = 6


def remarks(python_function: Any, owner: Any = None, graph_time: Sequence[Any] = ()) -> list[str]:
    """A sentence for each line of a function of the user's with effects that no hit repeats.

    Args:
        python_function: The function.
        owner: The instance whose method it is, if it is one.
        graph_time: What it gives to ``tf.py_function`` and its like, and so runs at each call.
    """
    function = plain_function(python_function)
    if not isinstance(function, FunctionType) or not is_user_module(function.__module__):
        return []
    try:
        skipped = [each for given in graph_time for each in with_helpers(given)]
        given = {} if owner is None else {function.__code__.co_varnames[0]: known(owner)}
        finder = Finder(strict=False, skipped=[*graph_time, *skipped])
        found = list(finder.in_function(function, given))
    except Exception:  # the user's objects may do anything when they are looked at
        return []
    lines: dict[str, None] = {}
    for effect in found:
        # AutoGraph makes a loop of the graph of one over data.
        if effect.reason.is_effect and effect.reason is not GOES_THROUGH_DATA:
            lines[_sentence(effect, function.__name__)] = None
    said = list(lines)
    if len(said) > MAX_LINES:
        said = [*said[: MAX_LINES - 1], f"and {len(said) - MAX_LINES + 1} more"]
    return said


def _sentence(effect: Effect, own: str) -> str:
    text = effect.reason.text if effect.function == own else str(effect)
    advice = f"; {effect.reason.advice}" if effect.reason.advice else ""
    line = effect.inner if effect.function == own else effect.line
    return f"line {line} {text}{advice}"
