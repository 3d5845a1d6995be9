"""Remarks on what a function does only while it is traced, by line, with advice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from nbfn.code import is_user_module, plain_function
from nbfn.functions.effects.abstract_values import value_of
from nbfn.functions.effects.finder import TRACED_FUNCTION, Effect, Finder
from nbfn.functions.effects.rules import LOOPS_OVER_DATA
from nbfn.state.helpers import with_helpers

MAX_LINES = 6
# A heuristic: see `says_that_it_is_traced` in tests/functions/traced/test_early_warnings.py.
_TRACING = re.compile(r"\b(re-?)?trac(e|ed|es|ing)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Remarks:
    """The remarks on one function.

    Attributes:
        lines: A sentence for each line of code.
        are_prints: Whether all of them are about output, so that nothing is lost before the first
            hit.
    """

    lines: tuple[str, ...] = ()
    are_prints: bool = False


def remarks(python_function: Any, owner: Any = None, graph_time: Sequence[Any] = ()) -> Remarks:
    """Returns remarks on the effects in a user function that no hit repeats.

    Prints whose text says that the function is being traced are intended, and left out.

    Args:
        python_function: The function.
        owner: Its instance, if it is a method.
        graph_time: Functions that it passes to ``tf.py_function`` and similar; these run at each
            call.
    """
    function = plain_function(python_function)
    if not isinstance(function, FunctionType) or not is_user_module(function.__module__):
        return Remarks()
    try:
        skipped = [helper for each in graph_time for helper in with_helpers(each)]
        arguments = {} if owner is None else {function.__code__.co_varnames[0]: value_of(owner)}
        finder = Finder(TRACED_FUNCTION, skipped=[*graph_time, *skipped])
        found = list(finder.effects_in(function, arguments))
    except Exception:  # inspecting user objects may raise anything
        return Remarks()
    # AutoGraph converts a loop over a dataset to a loop of the graph.
    found = [e for e in found if e.reason.is_effect and e.reason is not LOOPS_OVER_DATA]
    meant = {e.inner for e in found if e.reason.kind == "print" and _TRACING.search(e.text)}
    found = [e for e in found if e.reason.kind != "print" or e.inner not in meant]
    lines = list(dict.fromkeys(_sentence(effect, function.__name__) for effect in found))
    if len(lines) > MAX_LINES:
        lines = [*lines[: MAX_LINES - 1], f"and {len(lines) - MAX_LINES + 1} more"]
    return Remarks(tuple(lines), all(effect.reason.kind == "print" for effect in found))


def _sentence(effect: Effect, own: str) -> str:
    text = effect.reason.text if effect.function == own else str(effect)
    advice = f"; {effect.reason.advice}" if effect.reason.advice else ""
    line = effect.inner if effect.function == own else effect.line
    return f"line {line} {text}{advice}"
