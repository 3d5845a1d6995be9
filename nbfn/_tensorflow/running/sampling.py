"""The tf.functions in the frames of a thread: which are called, and which are traced."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from nbfn._tensorflow.autograph.source_map import original_line
from nbfn._tensorflow.base import Function
from nbfn._tensorflow.tracing.foreign_functions import TRACES, building_seconds, owner_of_trace
from nbfn.code import is_library
from nbfn.site import GENERATED
from nbfn.stacks import Line

_OURS = f"{os.sep}tensorflow{os.sep}python{os.sep}"
_RUNS_PYTHON = "func_graph_from_py_func"
"""The function of TensorFlow's that runs the Python of what is traced."""
_RUNS_GRAPH, _CONTEXT = "call_function", f"{_OURS}eager{os.sep}context.py"
"""The function of TensorFlow's that runs a graph, and its file."""
_calls: set[CodeType] = {inspect.unwrap(Function.__call__).__code__}


@dataclass(frozen=True)
class Sample:
    """A function that a thread is in.

    Attributes:
        function: The tf.function.
        graph: The graph that is being made; None while the function runs.
        identity: Differs between two calls, or traces, that are alive at the same time.
    """

    function: Any
    graph: Any | None
    identity: int


def is_call(method: Any) -> None:
    """Says that in the frames of this method its first argument, a tf.function, is called."""
    _calls.add(inspect.unwrap(method).__code__)


def _is_tensorflows(frame: FrameType, name: str) -> bool:
    """Whether this is TensorFlow's function of that name.

    Of no other frame are the local variables read: on Python 3.12 and older that writes them into
    the dict that the user's ``locals()`` has given.
    """
    return frame.f_code.co_name == name and _OURS in frame.f_code.co_filename


def samples(stack: Iterable[FrameType]) -> Iterator[Sample]:
    """The tf.functions that are called, and those that are traced, outermost first.

    Args:
        stack: Frames of this thread, or of an error's traceback; never those of a thread that runs.
    """
    for frame in stack:
        if _is_tensorflows(frame, TRACES):
            function, graph = owner_of_trace(frame), frame.f_locals.get("func_graph")
            if function is not None and graph is not None:
                yield Sample(function, graph, id(frame))
        elif frame.f_code in _calls:
            function = frame.f_locals.get("self")
            if isinstance(function, Function):
                yield Sample(function, None, id(frame))


def traced_in(stack: list[Line]) -> tuple[str, float] | None:
    """The outermost function that a thread traces, by its stack alone.

    Returns:
        The name of its Python function, as far as that can be told, and a number that is another
        for another trace; None if the thread traces nothing.
    """
    lines = iter(reversed(stack))
    seconds = building_seconds()
    if seconds is None or not any(_OURS in at.file and at.function == _RUNS_PYTHON for at in lines):
        return None
    for at in lines:
        is_loaded = at.function == "<module>"  # what AutoGraph has written, and not what it runs
        if not is_loaded and (GENERATED in at.file or not is_library(at.file)):
            return original(at).function, seconds
    return "a tf.function", seconds


def runs_in(stack: list[Line]) -> bool:
    """Whether a thread waits for a graph that runs, by its stack alone."""
    return any(at.function == _RUNS_GRAPH and at.file.endswith(_CONTEXT) for at in stack)


def original(at: Line) -> Line:
    """The user's line that AutoGraph has made this one from; the line itself if it did not."""
    found = original_line(at.file, at.line) if GENERATED in at.file else None
    return at if found is None else Line(*found)


def operation_count(graph: Any) -> int:
    """The number of operations in a graph that is being made."""
    return len(graph.get_operations())


def compiles_with_xla() -> bool:
    """Whether what is traced on this thread will be compiled with XLA; False if that is unknown."""
    for frame, _ in traceback.walk_stack(sys._getframe(1)):
        if _is_tensorflows(frame, TRACES):
            options = frame.f_locals.get("tracing_options")
            attributes = getattr(options, "attributes", None) or {}
            if attributes.get("_XlaMustCompile"):
                return True
    return False
