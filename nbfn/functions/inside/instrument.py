"""Traces functions again with a listener for each operation.

The second trace belongs to a private function with the same Python, so that the user's own traces
and counts do not change. Functions that it calls are traced again, too: existing traces would
contain operations that the listener did not see.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError, report_failure
from nbfn.functions.checking.check import trial_of
from nbfn.functions.checking.trial import Trial
from nbfn.functions.recording import stance
from nbfn.functions.recording.recorded import Recorded


class CannotLookInsideError(NbfnError, NotImplementedError):
    """This version of TensorFlow does not report which operations are made."""


class Instrument:
    """Traces functions again, and calls a listener with each new operation."""

    def __init__(self, listener: _tensorflow.Listener) -> None:
        if not _tensorflow.CAN_LISTEN:
            raise CannotLookInsideError(
                f"TensorFlow {tf.__version__} does not report new operations, so nbfn "
                "cannot look inside of a graph; tf.debugging.enable_check_numerics() may help"
            )
        self._heard_graphs: set[str] = set()
        self._listener = listener
        self._clones: weakref.WeakKeyDictionary[Any, dict[int, Any]] = weakref.WeakKeyDictionary()

    def function(self, function: Any) -> Any:
        """Returns a private tf.function with the Python and options of a function, without XLA."""
        # A clone for each state, because a plain tf.function does not trace again when it changes.
        state = function.recorder.guards.state
        clones = self._clones.setdefault(function, {})
        if state not in clones:
            clone = clones[state] = _tensorflow.untraced_copy(function, Instrumented)
            # XLA compiles a function as a whole: no callback could run in it.
            clone._jit_compile = None
            # Weakly: a clone that kept its function alive would keep the entry in `_clones`, too.
            clone.original, clone.instrument = weakref.ref(function), weakref.ref(self)
        return clones[state]

    def call(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Calls a function and those it calls: eagerly, or in the graph that is being made."""
        specs, args, kwargs = function.prepared(args, kwargs)
        with self.attached():
            clone = self.function(function)
            if specs is args:
                return clone(*args, **kwargs)
            return clone.get_concrete_function(*specs, **kwargs)(*args, **kwargs)

    @contextlib.contextmanager
    def trial(self, function: Recorded, args: Any, kwargs: Any) -> Iterator[Trial]:
        """Listens during the trial of a function, whose variables are created before.

        The listener adds operations between those of the program, so TensorFlow could not lift
        initial values out of the first trace (2.21): the variables, and the layers that have them,
        would stay without values.

        Raises:
            CheckError: If the arguments do not fit the function.
        """
        with trial_of(function, args, kwargs) as trial:
            trial.create_variables()
            with self.attached():
                yield trial

    @contextlib.contextmanager
    def attached(self, eagerly: bool = False) -> Iterator[None]:
        """Listens to traces on this thread; with `eagerly` to eager operations, too."""
        if _here.instrument is self:
            yield
            return
        before, _here.instrument = _here.instrument, self
        try:
            with (
                # With `eagerly` a stance's block has set the context variable already, perhaps in
                # an earlier cell, whose context is another one: it could not be reset here.
                contextlib.nullcontext() if eagerly else stance.within("check_numerics"),
                self.listening() if eagerly else contextlib.nullcontext(),
            ):
                yield
        finally:
            _here.instrument = before

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Calls the listener with each operation that is made on this thread.

        Entered for a trace, not for each call: to find all tf.functions takes 0.1 s or more.
        """
        if _here.listening is self:
            yield
            return
        before, _here.listening = _here.listening, self
        try:
            with (
                _tensorflow.traced_again(but=_tensorflow.ScopedFunction),
                _tensorflow.listening(self._heard),
            ):
                yield
        finally:
            _here.listening = before

    def hidden_in(self, graph: Any) -> list[str]:
        """Returns the names of functions that a graph calls and that were not traced again."""
        graphs = (each for each in _tensorflow.graphs_in(graph) if each is not graph)
        # TensorFlow renames the graphs of a loop or branch when it builds a gradient (while_v2.py,
        # cond_v2.py, TensorFlow 2.21).
        called = [str(each.name).removesuffix("_rewritten") for each in graphs]
        return [name for name in dict.fromkeys(called) if name not in self._heard_graphs]

    def _heard(self, new: _tensorflow.NewOperation) -> Any:
        try:
            if new.operation is not None:
                graph = str(getattr(new.operation.graph, "name", ""))
                if graph not in self._heard_graphs and not _tensorflow.trace_without_xla():
                    return None
                self._heard_graphs.add(graph)
            return self._listener(new)
        except NbfnError:  # the stance stops at an eager operation
            raise
        except Exception as error:
            report_failure(f"could not look at an operation `{new.type}`", error)
            return None


class _Here(threading.local):
    instrument: Instrument | None = None
    listening: Instrument | None = None


_here = _Here()


def instrument_here() -> Instrument | None:
    """Returns the instrument attached on this thread; None if there is none."""
    return _here.instrument


class Instrumented(_tensorflow.UnlistedFunction):
    """A private function of an `Instrument`, traced like the original."""

    original: Callable[[], Any]
    instrument: Callable[[], Instrument | None]

    def within_trace(self, call: functools.partial[Any]) -> Any:
        """Traces like the original, and listens."""
        original, instrument = self.original(), self.instrument()
        if original is None or instrument is None:
            return call()
        with instrument.listening():
            return original.within_trace(call, self)
