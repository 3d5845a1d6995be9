"""Caches traces of ``nn.jit`` and eager ``nn.vmap`` by configuration and kind of input."""

from __future__ import annotations

import dataclasses
import functools
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from types import FunctionType
from typing import Any

import keras
import tensorflow as tf

from nbfn._tensorflow import (
    Conversion,
    flat_call,
    plain_eager_device,
    tensor_keys,
    tf_function,
)
from nbfn.code import is_user_module
from nbfn.modules.lifecycle import method_stack
from nbfn.modules.lifecycle.fields import field_values, is_module
from nbfn.modules.lifecycle.naming import configuration
from nbfn.modules.lifting.arguments import has_place, places_in, scope_of
from nbfn.modules.lifting.axes import flatten, is_array, pack
from nbfn.modules.lifting.inner_store import Streams
from nbfn.modules.lifting.lifting import Leaf, Lift
from nbfn.modules.lifting.observation import (
    TransformationCall,
    leaves_of,
    notify,
    observers,
    owner_of,
)
from nbfn.modules.variables.tree import as_tensor
from nbfn.serial import serial
from nbfn.state.guarded import GuardedState
from nbfn.state.state import State
from nbfn.state.values.fingerprints import is_immutable
from nbfn.state.values.random_numbers import random_state
from nbfn.state.walk import state_of

_CACHE_SIZE = 256
# For one key, traces differ in the Python state that they have read, or in where their modules
# were.
_MAX_STATES = 16
# Global, because a transformation is often created again in each call of a compact method.
_cache: OrderedDict[Hashable, list[_Kept]] = OrderedDict()
_lock = threading.Lock()
# Traces that captured tensors or variables, which they keep alive: each lives as long as the traced
# function, like those of a tf.function.
_capturing: weakref.WeakKeyDictionary[Any, dict[Hashable, _Kept]] = weakref.WeakKeyDictionary()
# The state that a function reads; read again only after a change.
_states: weakref.WeakKeyDictionary[Any, dict[Any, State]] = weakref.WeakKeyDictionary()


def call_traced(
    lift: Lift,
    fn: Callable[..., Any],
    module: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: Mapping[str, Any],
    implicit_for: Callable[..., Any] | None = None,
) -> Any:
    """Calls a function through a trace, reusing an earlier one if it fits.

    Args:
      lift: the state of the modules.
      fn: the function.
      module: its first argument.
      args: its other arguments.
      kwargs: its keyword arguments.
      options: the options of ``tf.function``.
      implicit_for: the user's function inside `fn` if the trace was not requested; then a trace is
        not kept if the function has Python effects.
    """
    once = _Call(lift, fn, module, args, kwargs)
    if method_stack.here.interceptors or lift.store.wanted is not None:
        # Interceptors and captures run during the trace, so it must not be reused.
        return once.finish(once.traced(options))
    key = (lift.label, _what(fn), configuration(dict(options)), once.key())
    place = once.place()
    reads = functools.partial(once.reads, implicit_for or fn)
    now = reads()
    with _lock:
        entries = _cache.get(key, [])
        if entries:
            _cache.move_to_end(key)
    capturing = _of(_capturing, implicit_for or fn)
    for each in (*entries, *filter(None, [capturing.get(key)])):
        # Modules of one configuration share a trace if nothing in it depends on their place.
        fits = not each.trace.placed or each.place == place
        if fits and not each.state.changes(now.fingerprints):
            once.notify(implicit_for or fn, each.trace, each.state)
            return once.finish(each.trace)
    # Without the lock, because this trace may wait for another thread's trace.
    before, state = random_state(), GuardedState(0, now.fingerprints)
    started = time.perf_counter()
    trace = once.traced(options)
    seconds = time.perf_counter() - started
    # A symbolic tensor, unlike an eager one, has no attribute `numpy` (TensorFlow 2.21).
    if any(not hasattr(each, "numpy") for each in trace.concrete.captured_inputs):
        return once.finish(trace)  # it captures tensors of the surrounding graph
    after = reads().fingerprints
    changed = state.changes(after)
    if implicit_for is not None and (changed or now.opaque or random_state() != before):
        return once.finish(trace)  # it has Python effects, so it runs as Python each time
    state.note_changes([source for source, _ in changed if source in after], after)
    entry = _Kept(trace, place, state)
    with _lock:
        if trace.concrete.captured_inputs:
            capturing[key] = entry
        else:
            _cache[key] = [entry, *_cache.get(key, [])][:_MAX_STATES]
            if len(_cache) > _CACHE_SIZE:
                _cache.popitem(last=False)
    once.notify(implicit_for or fn, trace, state, seconds)
    return once.finish(trace)


@dataclasses.dataclass(frozen=True)
class _Kept:
    """A trace with its dependencies besides the key.

    Attributes:
      trace: the trace.
      place: where its modules were.
      state: the Python state that it read.
    """

    trace: _Trace
    place: Hashable
    state: GuardedState


@dataclasses.dataclass(frozen=True)
class _Trace:
    """A traced call.

    Attributes:
      concrete: the traced function, of a flat list of tensors.
      run: the same, for plain eager calls.
      form: the structure of its results: the output, the writes, and the initial values.
      writes: the variables that it wrote, each as its module's index and the path from there.
      made: the variables that it made, likewise.
      drawn: how often each path drew from each stream.
      placed: whether the trace depends on the modules' places: by draws, paths or names.
    """

    concrete: Any
    run: Callable[[list[Any]], Any]
    form: Any
    writes: list[Any]
    made: list[Any]
    drawn: dict[Any, int]
    placed: bool


class _Call:
    """One call of a traced method.

    Attributes:
      leaves: its arguments, flat.
      arrays: the positions of those that become inputs of the trace.
      static: the other arguments.
      inputs: the variables, the arrays, the keys of the streams, and their counts.
      shapes: the keys of `inputs`; None unless all are plain eager tensors.
    """

    def __init__(
        self, lift: Lift, fn: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.lift, self.fn, self.module, self.form = lift, fn, module, [list(args), kwargs]
        self.streams, self.variables = lift.streams, lift.variables
        self.leaves = flatten(self.form)
        # Variables are captured by reference, as tf.function does.
        self.arrays = [
            i
            for i, leaf in enumerate(self.leaves)
            if is_array(leaf) and not isinstance(leaf, tf.Variable)
        ]
        self.static = [leaf for i, leaf in enumerate(self.leaves) if i not in self.arrays]
        self.inputs = [
            *self.variables.values(),
            *(as_tensor(self.leaves[i]) for i in self.arrays),
            *(stream.key for stream in self.streams.values()),
            *(_vector(stream.counts) for stream in self.streams.values()),
        ]
        self.device = plain_eager_device()
        self.shapes = tensor_keys(self.inputs)

    def notify(
        self, fn: Any, trace: _Trace, state: GuardedState, seconds: float | None = None
    ) -> None:
        """Notifies the observers of the trace that serves the call, and its cost if it is new."""
        if observers:
            args: Any
            kwargs: Any
            args, kwargs = self.form
            leaves = functools.partial(leaves_of, fn, self.module, args, kwargs)
            owner = owner_of(fn, self.module)
            notify(
                TransformationCall(
                    self.lift.label, fn, owner, trace.concrete, leaves, state, seconds
                )
            )

    def key(self) -> Hashable:
        """Returns the key that decides whether an earlier trace fits."""
        return (
            tuple(
                (self._inside(("", scope_of(thing).path)), _key_of(thing))
                for thing in places_in([self.module, self.static])
            ),
            configuration([leaf for leaf in self.static if not places_in(leaf)]),
            *self._inputs_key(),
        )

    def reads(self, fn: Any) -> State:
        """Returns the Python state that the function and its modules read."""
        roots: list[tuple[str, Any]] = [("", fn)]
        for thing in filter(is_module, places_in([self.module, self.static])):
            roots.append((type(thing).__name__, type(thing)))
            roots += [(f"self.{n}", v) for n, v in field_values(thing).items() if not has_place(v)]
        roots += [("", leaf) for leaf in self.static if not has_place(leaf)]
        roots = [(name, value) for name, value in roots if not is_immutable(value)]
        # An id may be reused after its object's end. Then `holds` is false, because its checks go
        # through weak references; a state that keeps objects alive is not cached.
        place = tuple((name, id(value)) for name, value in roots)
        states = _of(_states, fn)
        state = states.get(place)
        if state is None or not state.holds():
            state = state_of(roots)
            if len(states) >= _MAX_STATES:
                states.clear()
            if not state.keeps:
                states[place] = state
        return state

    def _inputs_key(self) -> tuple[Hashable, ...]:
        store = self.lift.store
        shapes = self.shapes or map(tf.type_spec_from_value, self.inputs)
        # The counts of draws are part of the place.
        count = len(self.inputs) - len(self.streams)
        return (
            repr(_blank(self.form)),
            tuple(self.arrays),
            tuple(map(self._inside, self.variables)),
            tuple(shapes)[:count],
            tuple(self.streams),
            self.device,
            # A layer made during the trace has chosen its dtype by this policy.
            keras.config.dtype_policy().name,
            (store.mutable, store.initializing, store.keeps_sown, store.sown is not None),
        )

    def place(self) -> Hashable:
        """Returns the paths of the modules, and the paths that have drawn."""
        streams = self.streams.items()
        slots = ((n, tuple(sorted(s.slots.items())), s.later is None) for n, s in streams)
        return tuple(self.lift.roots), tuple(slots)

    def _inside(self, leaf: Leaf) -> Any:
        """Returns a variable's collection, its module's index and the path below the module."""
        collection, path = leaf
        roots = enumerate(self.lift.roots)
        index, root = next((i, r) for i, r in roots if path[: len(r)] == r)
        return collection, index, path[len(root) :]

    def _outside(self, leaf: Any) -> Leaf:
        collection, index, path = leaf
        return collection, (*self.lift.roots[index], *path)

    def traced(self, options: Mapping[str, Any]) -> _Trace:
        """Traces the call."""
        found: dict[str, Any] = {}
        self.lift.user = Conversion(by_default=options.get("autograph", True))
        counts = [len(self.variables), len(self.arrays), len(self.streams)]

        def body(*tensors: Any) -> Any:
            rest = iter(tensors)
            variables, arrays, keys = ([next(rest) for _ in range(n)] for n in counts)
            values = list(self.leaves)
            for i, tensor in zip(self.arrays, arrays, strict=True):
                values[i] = tensor
            args, kwargs = pack(self.form, values)
            streams: Streams = {
                name: dataclasses.replace(stream, key=key, counts=next(rest))
                for (name, stream), key in zip(self.streams.items(), keys, strict=True)
            }
            by_leaf = dict(zip(self.variables, variables, strict=True))
            output, inner = self.lift.run(self.fn, (self.module, *args), kwargs, by_leaf, streams)
            writes = inner.writes()
            results = [output, list(writes.values()), list(inner.made.values())]
            found.update(
                form=_blank(results),
                writes=list(map(self._inside, writes)),
                made=list(map(self._inside, inner.made)),
                drawn=inner.drawn,
                placed=bool(inner.drawn) or inner.placed,
            )
            return [as_tensor(leaf) for leaf in flatten(results)]

        # AutoGraph converts only the user's function, in `lift.user`.
        traced = tf_function(body, **{**options, "autograph": False})
        concrete = traced.get_concrete_function(*self.inputs)
        return _Trace(concrete, flat_call(concrete), **found)

    def finish(self, trace: _Trace) -> Any:
        """Runs a trace and commits what it wrote."""
        lift, inputs = self.lift, self.inputs
        if not trace.placed:
            # It ignores the counts, but needs as many as there were at the place where it was made.
            first = len(inputs) - len(self.streams)
            counters = trace.concrete.inputs[first : len(inputs)]
            unused = [
                tf.zeros(each.shape, each.dtype) if each.shape.is_fully_defined() else counts
                for each, counts in zip(counters, inputs[first:], strict=True)
            ]
            inputs = [*inputs[:first], *unused]
        plain = self.device is not None and self.shapes is not None
        results = trace.run(inputs) if plain else trace.concrete(*inputs)
        output, written, initial = pack(trace.form, results)
        for (name, path), draws in trace.drawn.items():
            lift.store.advance(name, path, draws)
        created = dict(zip(map(self._outside, trace.made), initial, strict=True))
        written = dict(zip(map(self._outside, trace.writes), written, strict=True))
        lift.commit(written, created if lift.store.initializing else None)
        return output


def _of(tables: weakref.WeakKeyDictionary[Any, dict[Any, Any]], function: Any) -> dict[Any, Any]:
    """Returns the entry of a function, which is dropped with the function."""
    try:
        return tables.setdefault(function, {})
    except TypeError:  # a callable object without hash or weak references
        return {}


def _what(function: Any) -> Hashable:
    """Returns a key for what a function does, without the state that it reads."""
    number: Hashable = serial(function)
    if hasattr(function, "__nbfn_wrapped__"):  # a method is compared by identity
        return number
    if isinstance(function, functools.partial):
        return _what(function.func), tuple(map(_what, function.args)), _what(function.keywords)
    if isinstance(function, FunctionType) and is_user_module(function.__module__):
        # A function defined in each call; its closure is part of the state instead.
        own = configuration([function.__defaults__, function.__kwdefaults__])
        return function.__code__, own
    return configuration(function)


def _key_of(thing: Any) -> Hashable:
    """Returns a key for a module's configuration, or for a variable."""
    if not is_module(thing):
        return thing.collection, thing.name
    # A class transformed in a method is a new class in each call.
    cls = getattr(type(thing), "__untransformed__", type(thing))
    return serial(cls), configuration(list(field_values(thing).values()))


def _vector(counts: Any) -> Any:
    plain = list(counts) if isinstance(counts, (list, tuple)) else counts
    return tf.convert_to_tensor(plain, tf.int32)


def _blank(value: Any) -> Any:
    return pack(value, [0] * len(flatten(value)))
