"""Lists methods that ``nn.jit`` and eager ``nn.vmap`` trace among the session's functions."""

from __future__ import annotations

import threading
import weakref
from types import CodeType
from typing import Any

import tensorflow as tf

from nbfn.code import plain_function
from nbfn.functions.calls.record import Record, RecordView, next_id
from nbfn.functions.recording.registry import register, unregister
from nbfn.functions.retraces.explain import explain
from nbfn.functions.retraces.trace_causes import FIRST
from nbfn.functions.traces.cause import Cause, Wanted
from nbfn.functions.traces.key import Key, Leaf, TensorLeaf, ValueLeaf
from nbfn.modules.lifting.observation import TransformationCall, observers
from nbfn.serial import serial
from nbfn.site import call_site, definition_site
from nbfn.state.guarded import GuardedState
from nbfn.state.values.introspection import reference_to
from nbfn.text import count, parameters_text

_SETTING = Cause("context", "variables, device, mutable collections or dtype policy differ")
_lock = threading.RLock()
_methods: dict[tuple[int, str], TransformedMethod] = {}
"""By the serial number of the code, and the transformation with its owner; ends with the code."""


class TransformedMethod(RecordView):
    """The record of a method, or function of modules, that a transformation traces.

    Attributes:
        id: Unique in this process.
        site: Where the method is defined.
        parameters: Its parameters as text.
    """

    counts_hits = True

    def __init__(self, first: TransformationCall) -> None:
        function = plain_function(first.function)
        name = ".".join(filter(None, (first.owner, function.__name__)))
        self.id = next_id("observed")
        self.site = definition_site(function.__code__)
        self.parameters = parameters_text(function)
        self.recorder = Record(f"{first.label}({name})")
        self.recorder.function_id = self.id
        self._function = reference_to(function) or (lambda: None)
        register(self)

    @property
    def python_function(self) -> Any | None:
        """The wrapped Python function; None if it was garbage-collected."""
        return self._function()

    def note(self, observation: TransformationCall) -> None:
        """Records a call."""
        record = self.recorder
        with record.lock:
            record.prune()
            trace = record.traces.get(id(observation.concrete))
            if trace is None:
                trace = self._add(observation)
                record.add_call(trace, 0.0, hit=False)
            else:
                record.add_call(trace, 0.0, hit=True)

    def _add(self, observation: TransformationCall) -> Any:
        record = self.recorder
        leaves: dict[str, Leaf] = {
            path: _leaf(value) for path, value in observation.leaves().items()
        }
        key = Key(leaves, {}, tuple(leaves))
        state = GuardedState(1, observation.state.fingerprints, observation.state.exempt)
        others = list(record.traces.values())
        causes, nearest = explain(Wanted(key, None, state), others) if others else ((FIRST,), ())
        if others and not _differs(key, state, nearest[-1]):
            causes = (_SETTING,)
        trace = record.add_trace(
            observation.concrete, key, causes[0], call_site(), observation.seconds or 0.0, iter(())
        )
        trace.state = state
        if others:
            record.add_retrace(trace, causes, nearest, lambda: None)
        return trace

    def __repr__(self) -> str:
        record = self.recorder
        numbers = [(record.calls, "call"), (record.hits, "hit"), (len(self.traces), "trace")]
        text = ", ".join(count(number, noun) for number, noun in numbers)
        return f"<{self.label}{self.parameters}: {text}>"


def _leaf(value: Any) -> Leaf:
    return TensorLeaf(value) if isinstance(value, tf.TypeSpec) else ValueLeaf(value)


def _differs(key: Key, state: GuardedState, trace: Any) -> bool:
    own = {path: leaf.token for path, leaf in key.leaves.items()}
    tokens = {path: leaf.token for path, leaf in trace.key.leaves.items()}
    return own != tokens or bool(trace.state.differences(state))


def note(observation: TransformationCall) -> None:
    """Records a call of a transformed method."""
    code = getattr(plain_function(observation.function), "__code__", None)
    if code is None:  # a callable object has no code
        return
    key = (serial(code), f"{observation.label} {observation.owner}")
    with _lock:
        method = _methods.get(key)
        if method is None:
            _unregister_replaced(code, key[1])
            method = _methods[key] = TransformedMethod(observation)
            # By default, finalizers also run when Python exits, where nothing has to be removed.
            weakref.finalize(code, _methods.pop, key, None).atexit = False
    method.note(observation)


def _unregister_replaced(code: CodeType, name: str) -> None:
    """Delists what a cell defined the last time that it ran: equal code, but not the same."""
    for (_, other), method in list(_methods.items()):
        if other == name and getattr(method.python_function, "__code__", None) in (None, code):
            unregister(method)


def observe_transformations() -> None:
    """Lists the methods that ``nn.jit`` and eager ``nn.vmap`` trace from now on."""
    if note not in observers:
        observers.append(note)


def stop_observing_transformations() -> None:
    """Undoes `observe_transformations`; methods that were seen stay listed."""
    if note in observers:
        observers.remove(note)
