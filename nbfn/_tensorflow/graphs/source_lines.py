"""The lines of user code that make the operations of a graph."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from types import CodeType
from typing import Any

from nbfn._tensorflow.base import internal
from nbfn._tensorflow.operation_types import HIDDEN_STATE
from nbfn.code import is_library
from nbfn.site import GENERATED

_tf_stack = internal("util.tf_stack")

_CALLING = os.path.join("eager", "polymorphic_function")
"""The folder in TensorFlow's source that calls a function's Python."""

Place = tuple[str, int]
"""A file and a line in it."""


def current_user_line() -> Place | None:
    """Returns file and line of the running user code, also if AutoGraph has converted it."""
    # TensorFlow's stack has the user's lines in place of those that AutoGraph generated.
    stack = _tf_stack.extract_stack() if _tf_stack is not None else traceback.extract_stack()
    return next((place for place in _places(stack) if _is_users(place)), None)


def place_of_operation(op: Any, *, in_function: bool = False) -> Place | None:
    """Returns the innermost line of user code that made an operation; None if unknown.

    With `in_function`, lines that only called the function do not count: TensorFlow makes its
    arguments and results.
    """
    found = None
    for frame in op.traceback or ():
        place = str(frame.filename), int(frame.lineno)
        if in_function and _CALLING in place[0]:
            found = None  # the frames so far are the caller's
        elif _is_users(place):
            found = place
    return found


def user_lines_of(op: Any) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
    """Returns the lines of user code that led to an operation, and all lines; innermost first."""
    places = tuple(_places(op.traceback))
    return tuple(filter(_is_users, places)), places


def line_of_random_draw(graph: Any, code: CodeType) -> int | None:
    """Returns the line of a function at which a graph draws from hidden state directly.

    Args:
        graph: The graph.
        code: The code of the traced function.
    """
    for op in graph.get_operations():
        if op.type not in HIDDEN_STATE:
            continue
        line = None
        for frame in op.traceback or ():
            if frame.filename == code.co_filename and frame.name == code.co_name:
                line = frame.lineno
            elif line is not None and not _is_tensorflows(frame.filename):
                line = None
                break
        if line is not None:
            return int(line)
    return None


def line_within(op: Any, code: CodeType) -> int | None:
    """Returns the line of code from which an operation comes; None if from elsewhere."""
    here = code.co_filename, code.co_name
    lines = [each.lineno for each in op.traceback or () if (each.filename, each.name) == here]
    return int(lines[-1]) if lines else None


def _places(stack: Any) -> Iterator[Place]:
    for frame in reversed(list(stack or ())):
        yield str(frame.filename), int(frame.lineno)


def _is_users(place: Place) -> bool:
    return not is_library(place[0]) and GENERATED not in place[0]


_OWN = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


def _is_tensorflows(file: str) -> bool:
    """Returns whether a file is TensorFlow's or nbfn's, or generated."""
    return f"{os.sep}tensorflow{os.sep}" in file or file.startswith(("<", _OWN))
