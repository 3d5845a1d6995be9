"""The stack of a thread, read by another thread while it runs on."""

from __future__ import annotations

import gc
import itertools
import operator
import sys
from typing import NamedTuple

MAX_DEPTH = 1000
"""Frames that are read at most, the innermost first."""


class Line(NamedTuple):
    """A line at which a thread is: file, line, and name of the function's code."""

    file: str
    line: int
    function: str


_read = operator.attrgetter("f_code.co_filename", "f_lineno", "f_code.co_name")
# CPython lets another thread run between two of its own instructions. While that thread runs, its
# frames end, and a reference from one to the next leads into memory that is used for something
# else: walking it with a Python loop crashed kernels. So one call into C reads the whole stack,
# keeps nothing but texts and numbers, and lets no thread run in between. Before Python 3.12 the
# garbage collector may run when a frame object is made, and with it finalizers, which are Python.
_COLLECTS_IN_C = sys.version_info < (3, 12)


def stack_of(thread: int) -> list[Line]:
    """The lines at which a thread is, innermost first; empty if there is no such thread.

    Nothing of the thread's is kept, run or changed.
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
    except AttributeError:  # the outermost frame has none behind it
        pass
    finally:
        if suspends:
            gc.enable()
    return [Line(*each) for each in found]
