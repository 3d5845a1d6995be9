"""Reads the stack of a thread from another thread while it runs."""

from __future__ import annotations

import gc
import itertools
import operator
import sys
from typing import NamedTuple

MAX_DEPTH = 1000
"""Maximum number of frames read, the innermost first."""


class StackFrame(NamedTuple):
    """A frame of a thread's stack."""

    file: str
    line: int
    function: str


_read = operator.attrgetter("f_code.co_filename", "f_lineno", "f_code.co_name")
# CPython may switch threads between two bytecode instructions. If the observed thread runs, its
# frames end, and `f_back` of a frame may refer to reused memory: walking the stack in a Python loop
# crashed kernels. So one call into C reads the whole stack as strings and numbers without a thread
# switch. Before Python 3.12, the garbage collector may run when a frame object is created, and may
# run finalizers, which are Python code.
_COLLECTS_IN_C = sys.version_info < (3, 12)


def stack_of(thread: int) -> list[StackFrame]:
    """Returns the frames of a thread, innermost first; empty if the thread does not exist.

    No objects of the thread are kept, executed or changed.
    """
    top = map(operator.methodcaller("get", thread), map(operator.call, (sys._current_frames,)))
    steps = itertools.chain(top, itertools.repeat("f_back", MAX_DEPTH))
    frames = itertools.accumulate(steps, getattr)
    found: list[tuple[str, int, str]] = []
    suspends = _COLLECTS_IN_C and gc.isenabled()
    if suspends:
        gc.disable()
    try:
        found.extend(map(_read, frames))
    except AttributeError:  # `f_back` of the outermost frame is None
        pass
    finally:
        if suspends:
            gc.enable()
    return [StackFrame(*each) for each in found]
