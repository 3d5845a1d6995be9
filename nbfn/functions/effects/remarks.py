"""What a function does only while it is traced, by line, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from nbfn.code import is_user_module, plain_function
from nbfn.functions.effects.finder import Effect, Finder
from nbfn.functions.effects.reach import with_helpers
from nbfn.functions.effects.rules import GOES_THROUGH_DATA
from nbfn.functions.effects.values import known

MAX_LINES = 6
_TRACING = re.compile(r"\b(re-?)?trac(e|ed|es|ing)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Remarks:
    """What a function does only while it is traced.

    Attributes:
        lines: A sentence for each line of code.
        are_prints: Whether all of them only show something: nothing is lost before the first hit.
    """

    lines: tuple[str, ...] = ()
    are_prints: bool = False


def remarks(python_function: Any, owner: Any = None, graph_time: Sequence[Any] = ()) -> Remarks:
    """The effects in a function of the user's that no hit repeats, by line.

    What is printed to say that the function is traced is meant so, and left out.

    Args:
        python_function: The function.
        owner: The instance whose method it is, if it is one.
        graph_time: What it gives to ``tf.py_function`` and its like, and so runs at each call.
    """
    function = plain_function(python_function)
    if not isinstance(function, FunctionType) or not is_user_module(function.__module__):
        return Remarks()
    try:
        skipped = [each for given in graph_time for each in with_helpers(given)]
        given = {} if owner is None else {function.__code__.co_varnames[0]: known(owner)}
        finder = Finder(strict=False, skipped=[*graph_time, *skipped])
        found = list(finder.in_function(function, given))
    except Exception:  # the user's objects may do anything when they are looked at
        return Remarks()
    # AutoGraph makes a loop of the graph of one over data.
    found = [e for e in found if e.reason.is_effect and e.reason is not GOES_THROUGH_DATA]
    found = [e for e in found if e.reason.kind != "print" or not _TRACING.search(e.text)]
    said = list(dict.fromkeys(_sentence(effect, function.__name__) for effect in found))
    if len(said) > MAX_LINES:
        said = [*said[: MAX_LINES - 1], f"and {len(said) - MAX_LINES + 1} more"]
    return Remarks(tuple(said), all(effect.reason.kind == "print" for effect in found))


def _sentence(effect: Effect, own: str) -> str:
    text = effect.reason.text if effect.function == own else str(effect)
    advice = f"; {effect.reason.advice}" if effect.reason.advice else ""
    line = effect.inner if effect.function == own else effect.line
    return f"line {line} {text}{advice}"
