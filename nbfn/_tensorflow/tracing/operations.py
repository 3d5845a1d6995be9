"""Operations at the moment when a graph gets them, and whose gradient an operation belongs to.

TensorFlow calls the operation callbacks of a thread with each operation that is made, also in
loops, branches and gradients. What they return takes the place of the operation's outputs.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

import tensorflow as tf

from nbfn._tensorflow.base import Function, internal
from nbfn._tensorflow.tracing.cache import TraceCache
from nbfn._tensorflow.tracing.foreign_functions import TRACES
from nbfn._tensorflow.tracing.tracing import initialization, restore_initialization

_callbacks: Any = internal("framework.op_callbacks")

CAN_LISTEN = hasattr(_callbacks, "add_op_callback") and hasattr(_callbacks, "remove_op_callback")
"""Whether TensorFlow calls `Listener`s. Where it does not, `listening` listens to nothing."""

_GRADIENT_OF_TAPE = os.path.join("eager", "backprop.py"), "_gradient_function"
_GRADIENT_OF_GRAPH = os.path.join("ops", "gradients_util.py"), "_GradientsHelper"
_TAPE = f"{os.sep}eager{os.sep}backprop.py", f"{os.sep}ops{os.sep}gradients_util.py"


class NewOperation(NamedTuple):
    """An operation that was just made.

    Eagerly it was executed just now: then it has no `operation`.
    """

    type: str
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    operation: Any | None
    frame: FrameType
    """The frame that made it, of TensorFlow's."""


Listener = Callable[[NewOperation], Sequence[Any] | None]
"""Is given each new operation; returns tensors to take the place of its outputs, or None."""


class Differentiated(NamedTuple):
    """The operation whose gradient is being made, as far as TensorFlow keeps it.

    `operation` is it, where the gradient is that of a graph. A tape keeps its type, and those of
    its inputs and outputs that the gradient needs.
    """

    type: str
    operation: Any | None
    tensors: Sequence[Any]


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Calls a listener with each operation that is made on this thread in the with-block."""
    if not CAN_LISTEN:
        yield
        return

    def made(
        kind: str,
        inputs: Sequence[Any],
        attributes: Any,  # noqa: ARG001 # TensorFlow gives it
        outputs: Sequence[Any],
        op_name: str | None = None,
        graph: Any = None,
    ) -> Sequence[Any] | None:
        if graph is None:
            if kind.startswith("__"):  # a graph that was executed
                return None
            operation = None
        else:
            operation = outputs[0].op if outputs else graph.get_operation_by_name(op_name)
        return listener(NewOperation(kind, inputs, outputs, operation, sys._getframe(1)))

    _callbacks.add_op_callback(made)
    try:
        yield
    finally:
        with contextlib.suppress(KeyError):
            _callbacks.remove_op_callback(made)


@contextlib.contextmanager
def traced_anew(but: type) -> Iterator[None]:
    """Has every tf.function trace again in the with-block, and without XLA; then as it was.

    TensorFlow knows no list of its functions, and a trace that is there brings operations that no
    listener has seen. A function that is made in the block loses the traces that it made there.

    Args:
        but: A class of functions that stay as they are.
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
    """Every tf.function there is. The class is asked for, since a proxy answers for another."""
    kinds = (each for each in gc.get_objects() if issubclass(type(each), Function))
    return [each for each in kinds if not issubclass(type(each), but) and _has_traces(each)]


def _has_traces(function: Any) -> bool:
    """Whether a function has what is set aside; of another TensorFlow it is left as it is."""
    needed = ("_function_cache", "_jit_compile", "_omit_frequent_tracing_warning")
    return all(name in vars(function) for name in needed)


_CONFIGURATIONS = ("_variable_creation_config", "_no_variable_creation_config")


def _set_traces_aside(function: Any) -> Callable[[], None]:
    """Gives a function an empty cache; returns what gives it its own back."""
    cache, first = function._function_cache, initialization(function)
    jit_compile, mute = function._jit_compile, function._omit_frequent_tracing_warning
    configurations = {id(c): c for n in _CONFIGURATIONS if (c := getattr(function, n, None))}
    saved = [(each, each.function_cache, each.attributes) for each in configurations.values()]
    function._function_cache, function._jit_compile = TraceCache(), None
    function._omit_frequent_tracing_warning = True
    for each, _, attributes in saved:
        each.function_cache = function._function_cache
        each.attributes = {k: v for k, v in (attributes or {}).items() if k != _COMPILED}

    def put_back() -> None:
        function._function_cache, function._jit_compile = cache, jit_compile
        function._omit_frequent_tracing_warning = mute
        for each, own, attributes in saved:
            each.function_cache, each.attributes = own, attributes
        if first is not None:
            restore_initialization(function, first)

    return put_back


_COMPILED = "_XlaMustCompile"
_uncompiled: list[dict[str, Any]] = []


def trace_without_xla() -> bool:
    """Has what is traced on this thread run without XLA, if it was to be compiled.

    Returns:
        Whether it does.
    """
    for frame, _ in traceback.walk_stack(sys._getframe(1)):
        if frame.f_code.co_name == TRACES:
            attributes = getattr(frame.f_locals.get("tracing_options"), "attributes", None)
            if isinstance(attributes, dict) and attributes.pop(_COMPILED, None):
                _uncompiled.append(attributes)
            elif attributes and attributes.get(_COMPILED):
                return False
    return True


def _let_compile_again() -> None:
    while _uncompiled:
        _uncompiled.pop()[_COMPILED] = True


def differentiated(frame: FrameType | None) -> Differentiated | None:
    """The operation whose gradient is made by a frame of TensorFlow's; None for other frames."""
    if frame is None:
        return None
    code = frame.f_code
    if code.co_name == _GRADIENT_OF_TAPE[1] and code.co_filename.endswith(_GRADIENT_OF_TAPE[0]):
        known = frame.f_locals
        tensors = [*(known.get("outputs") or ()), *(known.get("inputs") or ())]
        return Differentiated(
            str(known.get("op_name")), None, [t for t in tensors if tf.is_tensor(t)]
        )
    if code.co_name == _GRADIENT_OF_GRAPH[1] and code.co_filename.endswith(_GRADIENT_OF_GRAPH[0]):
        operation = frame.f_locals.get("op")
        if operation is not None:
            return Differentiated(operation.type, operation, ())
    return None


def makes_gradients(frame: FrameType) -> bool:
    """Whether a frame is one of those in which TensorFlow makes gradients."""
    return frame.f_code.co_filename.endswith(_TAPE)


def captured_from(tensor: Any) -> Any:
    """What a placeholder of a graph takes the value of, in the outermost graph or eagerly.

    Returns:
        The tensor itself if it captures nothing.
    """
    while tf.is_symbolic_tensor(tensor) and tensor.op.type == "Placeholder":
        captures = getattr(tensor.graph, "captures", ())
        outer = next((each for each, inner in captures if inner is tensor), None)
        if outer is None:
            break
        tensor = outer
    return tensor
