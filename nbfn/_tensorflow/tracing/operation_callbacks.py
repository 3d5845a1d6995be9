"""Listens to operations as they are created, and maps gradients to operations.

TensorFlow calls the operation callbacks of a thread with each created operation, also in loops,
branches and gradients. Tensors that they return replace the operation's outputs.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

import tensorflow as tf

from nbfn._tensorflow.base import Function, internal
from nbfn._tensorflow.tracing.cache import TraceCache
from nbfn._tensorflow.tracing.foreign_functions import (
    COMPILED,
    attributes_of_trace,
    trace_frames,
)
from nbfn._tensorflow.tracing.tracing import initialization, restore_initialization

_callbacks: Any = internal("framework.op_callbacks", "add_op_callback", "remove_op_callback")

CAN_LISTEN = _callbacks is not None
"""Whether TensorFlow calls `Listener`s. If not, `listening` does nothing."""

_GRADIENT_OF_TAPE = os.path.join("eager", "backprop.py"), "_gradient_function"
_GRADIENT_OF_GRAPH = os.path.join("ops", "gradients_util.py"), "_GradientsHelper"
_TAPE = f"{os.sep}eager{os.sep}backprop.py", f"{os.sep}ops{os.sep}gradients_util.py"


class NewOperation(NamedTuple):
    """An operation that was just created; if it ran eagerly, `operation` is None."""

    type: str
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    operation: Any | None
    frame: FrameType
    """The frame of TensorFlow that created it."""


Listener = Callable[[NewOperation], Sequence[Any] | None]
"""Called with each new operation; returns tensors that replace its outputs, or None."""


class Differentiated(NamedTuple):
    """The operation whose gradient is being built, as far as TensorFlow keeps it.

    For the gradient of a graph, it is `operation`. A tape keeps only its type, and the inputs and
    outputs that the gradient needs.
    """

    type: str
    operation: Any | None
    tensors: Sequence[Any]


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Calls a listener with each operation that is created on this thread in the block."""
    if not CAN_LISTEN:
        yield
        return

    def made(
        kind: Any,
        inputs: Sequence[Any],
        attributes: Any,  # noqa: ARG001 # passed by TensorFlow
        outputs: Sequence[Any],
        op_name: str | None = None,
        graph: Any = None,
    ) -> Sequence[Any] | None:
        kind = str(tf.compat.as_str(kind))  # eager operations such as Keras's MatMul give bytes
        if graph is None:
            if kind.startswith("__"):  # the execution of a graph
                return None
            operation = None
        else:
            operation = outputs[0].op if outputs else graph.get_operation_by_name(op_name)
        return listener(NewOperation(kind, inputs, outputs, operation, sys._getframe(1)))

    # TensorFlow calls no callback while one runs, so a listener may create operations.
    _callbacks.add_op_callback(made)
    try:
        yield
    finally:
        # The user's code may have called `clear_op_callbacks`.
        with contextlib.suppress(KeyError):
            _callbacks.remove_op_callback(made)


@contextlib.contextmanager
def traced_again(but: type) -> Iterator[None]:
    """Makes every tf.function trace again in the block, without XLA; restores them after it.

    TensorFlow has no list of its functions, and a listener does not see the operations of existing
    traces. A function created in the block loses the traces made in it.

    Args:
        but: A class of functions that are not changed.
    """
    before = {id(each): each for each in _functions(but)}
    with contextlib.ExitStack() as stack:
        for function in before.values():
            stack.callback(_set_traces_aside(function))
        stack.callback(_let_compile_again)
        try:
            yield
        finally:
            for function in _functions(but):
                if id(function) not in before:
                    function._function_cache.clear()


def _functions(but: type) -> list[Any]:
    """Returns all tf.functions; checks `type`, as a proxy's ``__class__`` may differ."""
    objects = gc.get_objects()
    # Each class is asked once: the metaclass of a tf.function runs Python (TensorFlow 2.21), and a
    # profiler, such as that of `values`, sees each call.
    classes = set(map(type, objects))
    kinds = {kind for kind in classes if issubclass(kind, Function) and not issubclass(kind, but)}
    found = itertools.compress(objects, map(kinds.__contains__, map(type, objects)))
    return [each for each in found if _has_traces(each)]


def _has_traces(function: Any) -> bool:
    """Returns whether a function has the attributes that are set aside."""
    needed = ("_function_cache", "_jit_compile", "_omit_frequent_tracing_warning")
    return all(name in vars(function) for name in needed)


_CONFIGURATIONS = ("_variable_creation_config", "_no_variable_creation_config")


def _set_traces_aside(function: Any) -> Callable[[], None]:
    """Gives a function an empty cache; returns a callable that restores its own."""
    cache, first = function._function_cache, initialization(function)
    jit_compile, mute = function._jit_compile, function._omit_frequent_tracing_warning
    # The tracing options hold the cache and the request for XLA, too (TensorFlow 2.21).
    configurations = {id(c): c for n in _CONFIGURATIONS if (c := getattr(function, n, None))}
    saved = [(each, each.function_cache, each.attributes) for each in configurations.values()]
    function._function_cache, function._jit_compile = TraceCache(), None
    function._omit_frequent_tracing_warning = True
    for each, _, attributes in saved:
        each.function_cache = function._function_cache
        each.attributes = {k: v for k, v in (attributes or {}).items() if k != COMPILED}

    def restore() -> None:
        function._function_cache, function._jit_compile = cache, jit_compile
        function._omit_frequent_tracing_warning = mute
        for each, own, attributes in saved:
            each.function_cache, each.attributes = own, attributes
        if first is not None:
            restore_initialization(function, first)

    return restore


_uncompiled: list[dict[str, Any]] = []


def trace_without_xla() -> bool:
    """Makes the trace in progress on this thread run without XLA.

    Returns:
        Whether it does.
    """
    for attributes in map(attributes_of_trace, trace_frames()):
        if isinstance(attributes, dict) and attributes.pop(COMPILED, None):
            _uncompiled.append(attributes)
        elif attributes.get(COMPILED):
            return False
    return True


def _let_compile_again() -> None:
    while _uncompiled:
        _uncompiled.pop()[COMPILED] = True


def differentiated(frame: FrameType | None) -> Differentiated | None:
    """Returns the operation whose gradient is built by a frame of TensorFlow, or None."""
    if frame is None:
        return None
    code = frame.f_code
    # The names of the local variables are those of TensorFlow 2.21.
    if code.co_name == _GRADIENT_OF_TAPE[1] and code.co_filename.endswith(_GRADIENT_OF_TAPE[0]):
        variables = frame.f_locals
        tensors = [*(variables.get("outputs") or ()), *(variables.get("inputs") or ())]
        return Differentiated(
            str(variables.get("op_name")), None, [t for t in tensors if tf.is_tensor(t)]
        )
    if code.co_name == _GRADIENT_OF_GRAPH[1] and code.co_filename.endswith(_GRADIENT_OF_GRAPH[0]):
        operation = frame.f_locals.get("op")
        if operation is not None:
            return Differentiated(operation.type, operation, ())
    return None


def makes_gradients(frame: FrameType) -> bool:
    """Returns whether a frame belongs to TensorFlow's code for gradients."""
    return frame.f_code.co_filename.endswith(_TAPE)
