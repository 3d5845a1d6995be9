"""Interrupts at chosen points of nbfn's own code, as a Ctrl-C at that moment would be one.

Python looks for signals where a function begins or goes on, after each call, and where a loop
begins anew; nowhere else. So a point is one of these.
"""

from __future__ import annotations

import dis
import functools
import itertools
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import nbfn

_NBFN = str(Path(nbfn.__file__).parent) + os.sep
_SEED = 20


class _Points:
    """Counts the points of nbfn's that are passed on this thread, and interrupts at one of them."""

    def __init__(self, at: int) -> None:
        self.count = 0
        self.place = ""
        self._at = at

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(_NBFN):
            return None
        frame.f_trace_opcodes = True
        if event == "call" or (
            event == "opcode" and frame.f_lasti in _where_signals_are_seen(frame.f_code)
        ):
            self.count += 1
            if self.count == self._at:
                file = frame.f_code.co_filename.removeprefix(_NBFN)
                self.place = f"{file}:{frame.f_lineno} in {frame.f_code.co_name}"
                raise KeyboardInterrupt
        return self


@functools.cache
def _where_signals_are_seen(code: CodeType) -> frozenset[int]:
    """The offsets of the instructions that follow a call or begin a loop.

    An interrupt is raised by the call. So an instruction counts only if what is raised there is
    caught where it is if the call raises it.
    """
    read = dis.Bytecode(code)
    instructions = list(read)

    def caught(offset: int) -> int | None:
        entries = (each for each in read.exception_entries if each.start <= offset < each.end)
        return next((entry.target for entry in entries), None)

    offsets = set()
    for instruction, following in itertools.pairwise(instructions):
        seen: int | None = None
        if instruction.opname.startswith("CALL"):
            seen = following.offset
        elif instruction.opname == "JUMP_BACKWARD":
            seen = instruction.argval
        if seen is not None and caught(seen) == caught(instruction.offset):
            offsets.add(seen)
    return frozenset(offsets)


def points_in(work: Callable[[], Any]) -> int:
    """How many points of nbfn's are passed in some work."""
    return _run(work, 0).count


def interrupted_at(number: int, work: Callable[[], Any]) -> str:
    """Does some work, interrupted at the n-th point of nbfn's that is passed in it.

    Returns:
        The file and line of the point; empty if the work passes fewer.
    """
    return _run(work, number).place


def some(count: int, sample: int) -> list[int]:
    """Some of the numbers from 1 to a count, the same each time; as many as NBFN_POINTS says."""
    sample = int(os.environ.get("NBFN_POINTS", sample))
    return sorted(random.Random(_SEED).sample(range(1, count + 1), min(sample, count)))


def _run(work: Callable[[], Any], at: int) -> _Points:
    points = _Points(at)
    before = sys.gettrace()
    sys.settrace(points)
    try:
        work()
    except KeyboardInterrupt:
        assert points.place, "an interrupt that nobody asked for"
    finally:
        sys.settrace(before)
    return points
