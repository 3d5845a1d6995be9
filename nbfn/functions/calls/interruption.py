"""Interrupts a loop that a graph runs, on Ctrl-C or the kernel's interrupt.

Python handles a signal between its own instructions, but a graph runs in TensorFlow's C++: an
endless loop there could only be stopped by killing the kernel. So while a graph with a loop runs,
another thread is notified of the signal and cancels the run. TensorFlow does not do this itself:
https://github.com/tensorflow/tensorflow/issues/28786.

A hit that dispatch serves is `interruptible`; in other calls the recorder allows it with
`may_stop_run_of`, once the trace is found or made.
"""

from __future__ import annotations

import functools
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from nbfn import _tensorflow
from nbfn.functions.traces.trace import Trace
from nbfn.text import count, duration

_Value = TypeVar("_Value")


class Interruption:
    """Stops one call on an interrupt of the main thread, after `may_stop`."""

    _cancellation: _tensorflow.Cancellation | None = None
    _listens = False
    _timer: threading.Timer | None = None
    _timed_out = False

    def may_stop(self, seconds: float | None = None) -> None:
        """Lets an interrupt stop what the call runs from now on.

        Does nothing if another canceller is active, another reader of signals is installed, or
        SIGINT has a custom handler.

        Args:
            seconds: Time after which it is also stopped, with a TimeoutError; None for no limit.
        """
        listens = _python_handles_interrupts()
        if (
            self._cancellation is not None
            or not (listens or seconds is not None)
            or _tensorflow.has_other_canceller()
            or _tensorflow.plain_eager_device() is None
        ):
            return
        cancellation = _tensorflow.Cancellation()
        self._listens = listens and _listener().listen(cancellation)
        if self._listens or seconds is not None:
            self._cancellation = cancellation
            cancellation.enter()
        if seconds is not None:
            self._timer = threading.Timer(seconds, self._time_out)
            self._timer.start()

    def may_stop_run_of(self, trace: Trace | None) -> None:
        """Lets an interrupt stop the run of a trace, which comes next, if that is safe."""
        # In a graph nothing runs, and to find out what is safe takes time.
        if trace is None or _tensorflow.plain_eager_device() is None:
            return
        if trace.can_be_stopped:
            self.may_stop()

    def _time_out(self) -> None:
        self._timed_out = True
        if self._cancellation is not None:
            self._cancellation.cancel()

    def __enter__(self) -> Interruption:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        cancellation = self._cancellation
        if self._timer is not None:
            self._timer.cancel()
        if cancellation is None:
            return
        cancellation.leave()
        if self._listens:
            _listener().end()
        # The interrupt came while TensorFlow raised the error of the cancelled run, and is lost in
        # that error or chained with it. It is raised again, alone.
        if isinstance(error, Exception | KeyboardInterrupt) and cancellation.is_cancelled:
            if self._timed_out:
                raise TimeoutError("it took too long") from None
            raise KeyboardInterrupt from None


def _python_handles_interrupts() -> bool:
    """Returns whether Python's own handler raises an interrupt on this thread."""
    return (
        # Python sets and runs signal handlers on the main thread only.
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Defers an interrupt inside the block to its end, for updates that must be whole."""
    if not _python_handles_interrupts():
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if came:
            raise KeyboardInterrupt


def interruptible(trace: Trace, call: Callable[..., _Value]) -> Callable[..., _Value]:
    """Returns what calls the graph of a trace so that an interrupt stops it, if that is safe."""
    if not trace.can_be_stopped:
        return call

    @functools.wraps(call)
    def run(*args: Any) -> _Value:
        __tracebackhide__ = True
        with Interruption() as interruption:
            interruption.may_stop()
            return call(*args)

    return run


def add_note(
    interrupt: KeyboardInterrupt,
    name: str,
    is_traced: bool,
    since: float | None = None,
    graph: Any = None,
) -> None:
    """Adds to an interrupt what it has interrupted.

    Args:
        interrupt: The interrupt.
        name: The name of the function.
        is_traced: Whether the function was traced; if not, it ran.
        since: When tracing began, on the performance counter, if known.
        graph: The graph that was made, if known.
    """
    what = "ran; variables keep what it has assigned to them"
    if is_traced:
        took = "" if since is None else f" for {duration(time.perf_counter() - since)}"
        size = "" if graph is None else f", at {count(len(graph.get_operations()), 'operation')}"
        what = f"was traced{took}{size}"
    interrupt.add_note(f"interrupted while `{name}` {what}")


class _Listener:
    """A thread that Python's own signal handler wakes, and that cancels what runs.

    Python's C-level handler writes to the wakeup socket at once; Python-level handlers run only
    after the graph.
    """

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._lock = threading.Lock()
        self._cancellation: _tensorflow.Cancellation | None = None
        # A daemon, because it waits for ever and must not keep the process alive.
        threading.Thread(target=self._run, name="nbfn-interrupts", daemon=True).start()

    def listen(self, cancellation: _tensorflow.Cancellation) -> bool:
        """Makes a signal cancel a run, unless other code reads signals."""
        # A process has one such descriptor; an asyncio loop with signal handlers sets its own.
        earlier = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        if earlier not in (-1, self._writer.fileno()):
            signal.set_wakeup_fd(earlier)
            return False
        self._cancellation = cancellation
        return True

    def end(self) -> None:
        """Stops cancelling on signals; discards a signal that was not read."""
        # In this order: nothing is written any more, then what was written is discarded. Otherwise
        # a late signal would cancel the next run.
        signal.set_wakeup_fd(-1)
        with self._lock:
            self._cancellation = None
            self._read()

    def _run(self) -> None:
        while True:
            select.select([self._reader], [], [])
            with self._lock:
                # `end` must not return between the two, or a run that begins then would be
                # cancelled.
                if signal.SIGINT in self._read() and self._cancellation is not None:
                    self._cancellation.cancel()

    def _read(self) -> bytes:
        try:
            return self._reader.recv(4096)
        except BlockingIOError:
            return b""


@functools.cache
def _listener() -> _Listener:
    return _Listener()
