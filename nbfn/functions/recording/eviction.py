"""Drops traces, and gives the memory of their graphs back.

RFC "Functions, not Sessions", section "CAUTION: Too many traces".
"""

from __future__ import annotations

import ctypes
import functools
import gc
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbfn.functions.recording.recorded import Recorded
from nbfn.text import count

if TYPE_CHECKING:
    from nbfn.functions.traces.trace import Trace


@dataclass(frozen=True)
class Freed:
    """What `free` did.

    Attributes:
        traces: Traces that were dropped.
        nbytes: Bytes by which the process's resident memory became smaller; 0 where it cannot be
            measured. Other threads change it too.
    """

    traces: int
    nbytes: int

    def __repr__(self) -> str:
        dropped = count(self.traces, "trace")
        return f"{dropped} dropped, {self.nbytes / 2**20:.1f} MiB given back"


def evict(function: Recorded, trace: Trace) -> None:
    """Takes a trace out of a function's cache. Raises ValueError if it is not there."""
    recorder = function.recorder
    concrete = trace._concrete()
    if concrete is None or recorder.traces.get(id(concrete)) is not trace:
        raise ValueError(f"trace {trace.number} is not in the cache of `{function.label}`")
    function.discard(concrete)
    recorder.forget(concrete)


def evict_least_recently_used(function: Recorded, number: int) -> None:
    """Evicts this many traces, those first that only created variables and serve no call."""
    spare = sorted(function.traces, key=lambda trace: (trace.serves_calls, trace.last_used))
    for trace in spare[:number]:
        evict(function, trace)


def free(function: Recorded) -> Freed:
    """Drops every trace of a function and gives the memory back to the system."""
    before = _resident()
    traces = function.traces
    for trace in traces:
        evict(function, trace)
    gc.collect()
    trim = _malloc_trim()
    if trim is not None:
        trim(0)
    return Freed(len(traces), max(before - _resident(), 0))


@functools.cache
def _malloc_trim() -> ctypes._NamedFuncPointer | None:
    """Glibc keeps freed memory for itself until it is told to give it back."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None


def _resident() -> int:
    """Resident memory of this process in bytes; 0 where the system does not tell."""
    try:
        import resource

        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (ImportError, OSError, ValueError, IndexError):
        return 0


def collect_garbage() -> None:
    """Frees what nothing refers to any more, if it was not done just before.

    A Keras model is a cycle. When a notebook makes it again, the old one stays until Python's
    collector next looks at old objects, which with TensorFlow loaded may take hours, and with it
    stay its traces. To look takes 0.1 s; no more than a twentieth of the time is spent on it.
    """
    global _collect_after
    started = time.perf_counter()
    if started >= _collect_after:
        gc.collect()
        ended = time.perf_counter()
        _collect_after = ended + PATIENCE * (ended - started)


PATIENCE = 20
_collect_after = 0.0
