"""What a function does only while it is traced, by line, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from nbfn.code import is_user_module, plain_function
from nbfn.functions.effects.finder import Effect, Finder
from nbfn.functions.effects.rules import GOES_THROUGH_DATA
from nbfn.functions.effects.texts import texts_of_tensors
from nbfn.functions.effects.values import known
from nbfn.state.helpers import with_helpers

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


def remarks(
    python_function: Any,
    owner: Any = None,
    graph_time: Sequence[Any] = (),
    tensors: Collection[str] = (),
) -> Remarks:
    """The effects in a function of the user's that no hit repeats, by line.

    What is printed to say that the function is traced is meant so, and left out.

    Args:
        python_function: The function.
        owner: The instance whose method it is, if it is one.
        graph_time: What it gives to ``tf.py_function`` and its like, and so runs at each call.
        tensors: Those of its parameters that are tensors.
    """
    function = plain_function(python_function)
    if not isinstance(function, FunctionType) or not is_user_module(function.__module__):
        return Remarks()
    try:
        skipped = [each for given in graph_time for each in with_helpers(given)]
        given = {} if owner is None else {function.__code__.co_varnames[0]: known(owner)}
        finder = Finder(strict=False, skipped=[*graph_time, *skipped])
        found = list(finder.in_function(function, given))
        texts = list(texts_of_tensors(function, tensors))
    except Exception:  # the user's objects may do anything when they are looked at
        return Remarks()
    # AutoGraph makes a loop of the graph of one over data.
    found = [e for e in found if e.reason.is_effect and e.reason is not GOES_THROUGH_DATA]
    meant = {e.inner for e in found if e.reason.kind == "print" and _TRACING.search(e.text)}
    found = [e for e in found if e.reason.kind != "print" or e.inner not in meant]
    texts = [each for each in texts if each[0] not in meant]
    said = list(dict.fromkeys(_sentence(effect, function.__name__) for effect in found))
    told = {effect.inner for effect in found if effect.function == function.__name__}
    said += dict.fromkeys(_of_text(*each) for each in texts if each[0] not in told)
    if len(said) > MAX_LINES:
        said = [*said[: MAX_LINES - 1], f"and {len(said) - MAX_LINES + 1} more"]
    are_prints = not texts and all(effect.reason.kind == "print" for effect in found)
    return Remarks(tuple(said), are_prints)


def _of_text(line: int, name: str) -> str:
    return f"line {line} makes a text of the tensor `{name}`; tf.strings.format does at each call"


def _sentence(effect: Effect, own: str) -> str:
    text = effect.reason.text if effect.function == own else str(effect)
    advice = f"; {effect.reason.advice}" if effect.reason.advice else ""
    line = effect.inner if effect.function == own else effect.line
    return f"line {line} {text}{advice}"
