"""What a thread is doing in TensorFlow, read from its frames by another thread."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from nbfn._tensorflow.base import Function
from nbfn._tensorflow.elsewhere import TRACES, owner_of_trace
from nbfn.site import GENERATED

_OURS = f"{os.sep}tensorflow{os.sep}python{os.sep}"
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


def frames(thread: int) -> list[FrameType]:
    """The frames of a thread, outermost first; empty if there is no such thread."""
    found = []
    frame = sys._current_frames().get(thread)
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found[::-1]


def samples(stack: list[FrameType]) -> Iterator[Sample]:
    """The tf.functions that are called, and those that are traced, outermost first."""
    for frame in stack:
        if _is_tensorflows(frame, TRACES):
            function, graph = owner_of_trace(frame), frame.f_locals.get("func_graph")
            if function is not None and graph is not None:
                yield Sample(function, graph, id(frame))
        elif frame.f_code in _calls:
            function = frame.f_locals.get("self")
            if isinstance(function, Function):
                yield Sample(function, None, id(frame))


def original(stack: list[FrameType]) -> Iterator[tuple[str, int]]:
    """File and line of each frame, innermost first, also where AutoGraph has converted the code."""
    maps = [_source_map(frame) for frame in stack]
    for position in range(len(stack) - 1, -1, -1):
        frame = stack[position]
        file, line = frame.f_code.co_filename, frame.f_lineno
        if GENERATED not in file:
            yield file, line
            continue
        for source_map in reversed(maps[:position]):
            if (file, line) in source_map:
                yield source_map[file, line]
                break


def _source_map(frame: FrameType) -> dict[tuple[str, int], tuple[str, int]]:
    """Where the lines come from of the function that AutoGraph calls in this frame."""
    if not _is_tensorflows(frame, "converted_call"):
        return {}
    known: Any = getattr(frame.f_locals.get("converted_f"), "ag_source_map", None) or {}
    try:
        return {
            (place.filename, place.lineno): (origin.loc.filename, origin.loc.lineno)
            for place, origin in known.items()
        }
    except AttributeError:
        return {}


def operation_count(graph: Any) -> int:
    """The number of operations in a graph that is being made."""
    return len(graph.get_operations())


def compiles_with_xla() -> bool:
    """Whether what is traced on this thread will be compiled with XLA; False if that is unknown."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if _is_tensorflows(frame, TRACES):
            options = frame.f_locals.get("tracing_options")
            attributes = getattr(options, "attributes", None) or {}
            if attributes.get("_XlaMustCompile"):
                return True
        frame = frame.f_back
    return False
