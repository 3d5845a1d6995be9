"""Evicts traces, and returns the memory of their graphs to the system.

RFC "Functions, not Sessions", section "CAUTION: Too many traces".
"""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbfn import _tensorflow
from nbfn.functions.recording.recorded import Recorded
from nbfn.text import count

if TYPE_CHECKING:
    from nbfn.functions.traces.trace import Trace


@dataclass(frozen=True)
class Freed:
    """The result of `free`.

    Attributes:
        traces: Traces that were dropped.
        nbytes: Bytes by which the process's resident memory shrank; 0 where it cannot be measured.
            Other threads affect it too.
    """

    traces: int
    nbytes: int

    def __repr__(self) -> str:
        dropped = count(self.traces, "trace")
        return f"{dropped} dropped, {self.nbytes / 2**20:.1f} MiB given back"


def evict(function: Recorded, trace: Trace) -> bool:
    """Removes a trace from a function's cache; returns False if another thread has done so."""
    concrete = trace.live_concrete()
    if concrete is None or not function.recorder.forget(trace, concrete):
        return False
    function.discard(concrete)
    function.recorder.on_cache_change()
    return True


def evict_least_recently_used(function: Recorded, number: int) -> None:
    """Evicts `number` traces, first those that only created variables and serve no call."""
    spare = sorted(function.traces, key=lambda trace: (trace.serves_calls, trace.last_used))
    for trace in spare[:number]:
        evict(function, trace)


def drop_all(function: Recorded) -> None:
    """Removes all traces from a function's cache, also those that are not recorded."""
    for trace in function.traces:
        evict(function, trace)
    for concrete in _tensorflow.concrete_functions(function):
        function.discard(concrete)
    function.recorder.on_cache_change()


def free(function: Recorded) -> Freed:
    """Evicts all traces of a function and returns the memory to the system."""
    before = _resident()
    traces = function.traces
    for trace in traces:
        evict(function, trace)
    # A graph and its tensors refer to each other, so only the collector frees them.
    gc.collect()
    trim = _malloc_trim()
    if trim is not None:
        trim(0)
    return Freed(len(traces), max(before - _resident(), 0))


@functools.cache
def _malloc_trim() -> ctypes._NamedFuncPointer | None:
    """Returns glibc's ``malloc_trim``, without which glibc keeps freed memory; None elsewhere."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # TypeError: `CDLL(None)` on Windows
        return None


def _resident() -> int:
    """Returns the resident memory of this process in bytes; 0 if the system does not report it."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def collect_garbage() -> None:
    """Runs Python's garbage collector, at most a twentieth of the time.

    A Keras model is a reference cycle. When a notebook creates it again, the old one and its traces
    stay until Python collects the oldest generation, which with TensorFlow loaded may take hours.
    One collection takes 0.1 s.
    """
    global _collect_after
    started = time.perf_counter()
    if started >= _collect_after:
        gc.collect()
        ended = time.perf_counter()
        _collect_after = ended + PATIENCE * (ended - started)


PATIENCE = 20
_collect_after = 0.0
