"""Finds the trace of a repeated call by a cheap key, without TensorFlow's binding of arguments.

Most of the cost of a hit in TensorFlow is Python that binds arguments and builds a key. Here the
key is computed from cheap attributes of the arguments. It is at least as fine as TensorFlow's, and
an entry is only made from a result of TensorFlow's own look-up, so the two never disagree. Anything
unusual (variables, composite tensors, graphs, strategies) has no cheap key and is looked up by
TensorFlow. A NumPy array is keyed as the tensor that TensorFlow converts it to. An object is keyed
by identity; what the code reads of it is guarded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.calls.interruption import interruptible
from nbfn.functions.guards import Guards, ObjectGuards
from nbfn.functions.traces.key import ObjectLeaf
from nbfn.functions.traces.trace import Trace

MAX_ENTRIES = 1024

_LITERALS = frozenset({bool, int, str, bytes, type(None)})
_ARRAYS = frozenset({np.ndarray, np.float32, np.float64, np.int32, np.int64})


@dataclass(frozen=True, slots=True)
class Entry:
    """A trace, and the order in which tensors of a call are passed to it.

    Attributes:
        trace: The trace.
        call: Runs its graph on a list of inputs.
        order: For each input of the graph, the position of its tensor among those of the call.
        objects: The guards of the objects among the arguments; None for no objects.
    """

    trace: Trace
    call: Callable[[list[Any]], Any]
    order: tuple[int, ...]
    objects: ObjectGuards | None = None


class _Identity(NamedTuple):
    """The ``id`` of an object in a cheap key, which differs from an equal int."""

    identity: int


class Dispatch:
    """The dispatch table of one function.

    Attributes:
        entries: The entries, by cheap key. A change of the trace cache replaces the whole dict, so
            that a call which began before it cannot add an entry.
    """

    def __init__(self) -> None:
        # Without a lock: each access is one operation on a dict, which is atomic in CPython.
        self.entries: dict[Any, Entry] = {}
        self._is_disabled: bool | None = None

    def find(
        self, args: Any, kwargs: Any, state: int, guards: Guards
    ) -> tuple[Entry, list[Any]] | None:
        """Returns the entry for a call and the call's tensors; None if there is no entry."""
        if not self.entries:
            return None
        device = _tensorflow.plain_eager_device()
        if device is None:
            return None
        tensors: list[Any] = []
        key = cheap_key(args, kwargs, tensors, state, device)
        if key is None:
            return None
        entry = self.entries.get(key)
        if entry is None or not (entry.objects is None or guards.hold(entry.objects)):
            return None
        return entry, tensors

    def remember(
        self,
        function: Any,
        trace: Trace,
        entries: dict[Any, Entry],
        args: Any,
        kwargs: Any,
        state: int,
    ) -> None:
        """Adds an entry for a call that TensorFlow's look-up has served.

        `entries` and `state` are those at the start of the call.
        """
        if self._is_disabled is None:
            self._is_disabled = _has_mutable_default(function.python_function)
        if self._is_disabled:
            return
        concrete = trace.live_concrete()
        device = _tensorflow.plain_eager_device()
        if concrete is None or device is None or trace.context is None:
            return
        if trace.context.summaries is not None:  # the writer is not in the cheap key
            return
        if _tensorflow.calls_back():  # operation callbacks would see the operations that run below
            return
        tensors: list[Any] = []
        key = cheap_key(args, kwargs, tensors, state, device)
        guards, existing = function.recorder.guards, entries.get(key)
        if key is None or (
            existing and (existing.objects is None or guards.hold(existing.objects))
        ):
            return
        leaves = trace.key.leaves.values()
        identities = {leaf.identity for leaf in leaves if isinstance(leaf, ObjectLeaf)}
        if identities != {part.identity for part in key if type(part) is _Identity}:
            return  # TensorFlow keys it by something else
        objects = None
        if identities:
            objects = guards.of_objects(_tensorflow.objects(concrete.function_type))
            if objects is None:
                return
        # Each argument needs a tensor of its own: an array is converted to a new one each time, and
        # if one tensor is passed twice, nothing else shows which argument feeds which input.
        args, kwargs = tf.nest.map_structure(_copy, (args, kwargs))
        tensors.clear()
        cheap_key(args, kwargs, tensors)
        inputs = _tensorflow.flat_inputs(function, concrete, args, kwargs)
        if inputs is None:
            return
        positions = {id(tensor): i for i, tensor in enumerate(tensors)}
        order = tuple(positions.get(id(tensor), -1) for tensor in inputs)
        if -1 in order:
            return
        # All at once: to keep an order of use would cost each hit.
        if len(entries) >= MAX_ENTRIES:
            entries.clear()
        run = interruptible(trace, _tensorflow.flat_call(concrete))
        entries[key] = Entry(trace, run, order, objects)

    def invalidate(self) -> None:
        """Removes all entries, because the trace cache has changed."""
        self.entries = {}


def _copy(value: Any) -> Any:
    if type(value) is _tensorflow.EagerTensor or type(value) in _ARRAYS:
        return tf.identity(value)
    return value


def _has_mutable_default(python_function: Callable[..., Any]) -> bool:
    """Returns whether a default value, which is in no cheap key, may be mutated."""
    try:
        parameters = inspect.signature(python_function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(each.default is not each.empty and _is_mutable(each.default) for each in parameters)


def _is_mutable(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_is_mutable, value))
    return isinstance(value, np.ndarray) or tf.nest.is_nested(value)


def cheap_key(args: Any, kwargs: Any, tensors: list[Any], state: int = 0, device: str = "") -> Any:
    """Returns the key of a call, hashable; None if the call has none.

    The tensors among the arguments are appended to `tensors`, in order.
    """
    key: list[Any] = [len(args), state, device]
    for value in args:
        if not _add_to_key(value, key, tensors):
            return None
    for name, value in kwargs.items():
        key.append(name)
        if not _add_to_key(value, key, tensors):
            return None
    return tuple(key)


def _add_to_key(value: Any, key: list[Any], tensors: list[Any]) -> bool:
    """Appends a value to the key, and its tensors to `tensors`; False if it has no cheap key."""
    kind = type(value)
    if kind is _tensorflow.EagerTensor:
        spec = _tensorflow.tensor_key(value)
        if spec is None:
            return False
        key.append(spec)
        tensors.append(value)
    elif kind in _LITERALS:
        key.append(kind)
        key.append(value)
    elif kind is float:
        if value != value:  # an entry with NaN in its key would never be found
            return False
        key.append(float)
        key.append(value or str(value))  # 0.0 and -0.0 are equal, their texts are not
    elif kind in _ARRAYS:
        return _add_to_key(tf.convert_to_tensor(value), key, tensors)
    elif kind is dict:
        key.append(dict)
        key.append(tuple(map(type, value)))  # 1 and True are equal
        key.append(tuple(value))
        return _add_all_to_key(value.values(), key, tensors)
    elif kind is list or kind is tuple:
        key.append(kind)
        key.append(len(value))
        return _add_all_to_key(value, key, tensors)
    elif kind is _tensorflow.Iterator:  # Keras passes one to each step
        parts = _tensorflow.iterator_parts(value)
        if parts is None:
            return False
        key.append(parts[0])
        tensors.append(parts[1])
    # Its class decides the key: variables, composite tensors, and classes of the user.
    elif hasattr(kind, "__tf_tracing_type__"):
        return False
    else:
        key.append(_Identity(id(value)))
    return True


def _add_all_to_key(values: Collection[Any], key: list[Any], tensors: list[Any]) -> bool:
    keys = _tensorflow.tensor_keys(values)
    if keys is not None:
        key.extend(keys)
        tensors.extend(values)
        return True
    return all(_add_to_key(value, key, tensors) for value in values)
