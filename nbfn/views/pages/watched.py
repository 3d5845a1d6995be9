"""An observed object as an outline of its functions."""

from __future__ import annotations

from nbfn.functions.watching.watched_object import WatchedObject
from nbfn.text import count
from nbfn.views.function import function_outline
from nbfn.views.outline import Outline


def watched_outline(watched: WatchedObject) -> Outline:
    """What the page of an observed object says."""
    functions = list(watched.functions.values())
    lines = []
    if watched.object is None:
        lines.append("it no longer exists; nothing but nbfn referred to it")
    elif not functions:
        lines.append(
            "Keras makes its functions when it is first fitted, evaluated or asked to predict"
            if watched.is_late
            else "it has no tf.function"
        )
    groups = [function_outline(each, open=len(functions) == 1) for each in functions]
    return Outline(f"{watched.label}: {count(len(functions), 'function')}", lines, (), groups)
