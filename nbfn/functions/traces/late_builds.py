"""Advises how to build a Keras object before the trace in which it creates its variables.

An optimizer creates its slots in its first step, a layer its weights in its first call. Both can be
built before the function is called.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

_MAX_FRAMES = 400
_KERAS = ("keras.", "tf_keras.")
_ADVICE = {
    "BaseOptimizer": "Build the optimizer before: `optimizer.build(model.trainable_variables)`",
    "_BaseOptimizer": "Build the optimizer before: `optimizer.build(model.trainable_variables)`",
    "Layer": "Call the layer or the model once before, so that its variables are there",
}
"""The advice, by the base class of the object: the optimizers of Keras 3 and tf_keras, layers."""


def build_advice() -> str | None:
    """Returns the advice on the Keras object that creates a variable on this thread now."""
    for owner in _keras_objects():
        for base in type(owner).__mro__:
            if base.__name__ in _ADVICE and base.__module__.startswith(_KERAS):
                return _ADVICE[base.__name__]
    return None


def undo_builds() -> None:
    """Lets optimizers whose build fails now be built again later.

    Keras marks an optimizer as built before its variables are created: `BaseOptimizer.build` does,
    which each optimizer calls first in its own (Keras 3.15).
    """
    for owner in _keras_objects("build"):
        bases = {base.__name__ for base in type(owner).__mro__}
        if bases & {"BaseOptimizer", "_BaseOptimizer"} and getattr(owner, "built", False):
            owner.built = False


def _keras_objects(function: str | None = None) -> Iterator[Any]:
    """Yields the objects whose methods of Keras run, innermost first.

    Args:
        function: The name of the method; None for any.
    """
    frame = sys._getframe(2)
    for _ in range(_MAX_FRAMES):
        if frame.f_globals.get("__name__", "").startswith(_KERAS) and (
            function is None or frame.f_code.co_name == function
        ):
            yield frame.f_locals.get("self")
        if frame.f_back is None:
            return
        frame = frame.f_back
