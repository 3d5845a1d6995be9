"""Traces of ``nn.jit``: one for each configuration and kind of input, kept for later."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import keras
import tensorflow as tf

from nbfn._tensorflow import Conversion, no_autograph_fast, tf_function
from nbfn.modules.lifecycle import context
from nbfn.modules.lifecycle.naming import fingerprint
from nbfn.modules.lifting.arguments import places_in
from nbfn.modules.lifting.axes import as_tensor, flatten, is_array, pack
from nbfn.modules.lifting.inner_store import Streams, same_streams
from nbfn.modules.lifting.lifting import Lift, named, what
from nbfn.modules.variables.filters import Filter

_EVERYTHING = Filter.of(True)
_CACHE_SIZE = 256
# One for all, because a transformation is often made anew in each call of a compact method.
_cache: OrderedDict[Hashable, Any] = OrderedDict()
_lock = threading.Lock()


def call_traced(
    lift: Lift,
    fn: Callable[..., Any],
    module: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: Mapping[str, Any],
) -> Any:
    """Calls a function by way of a trace; of an earlier one if it fits.

    Args:
      lift: the state of the modules.
      fn: the function.
      module: its first argument.
      args: its other arguments.
      kwargs: its keyword arguments.
      options: of ``tf.function``.
    """
    once = _Call(lift, fn, module, args, kwargs)
    if context.interceptors() or lift.store.wanted is not None:
        # What looks on at calls is part of the trace, and is gone after it.
        return once.finish(*once.traced(options))
    key = (lift.label, what(fn), fingerprint(dict(options)), once.key())
    with _lock:
        found = _cache.pop(key, None)
    if found is None:
        # Without the lock: another thread may trace what this trace waits for.
        found = once.traced(options)
    if found[0].captured_inputs:
        return once.finish(*found)  # kept, it would keep the user's tensors and variables alive
    with _lock:
        _cache[key] = found
        if len(_cache) > _CACHE_SIZE:
            _cache.popitem(last=False)
    return once.finish(*found)


class _Call:
    """One call of a traced method."""

    def __init__(
        self, lift: Lift, fn: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.lift, self.fn, self.module, self.form = lift, fn, module, [list(args), kwargs]
        self.streams = same_streams(lift.store)
        self.variables = lift.leaves(_EVERYTHING)
        self.leaves = flatten(self.form)
        # A variable is taken by reference, as tf.function does.
        self.arrays = [
            i
            for i, leaf in enumerate(self.leaves)
            if is_array(leaf) and not isinstance(leaf, tf.Variable)
        ]
        self.inputs = [
            list(self.variables.values()),
            [as_tensor(self.leaves[i]) for i in self.arrays],
            {name: stream.key for name, stream in self.streams.items()},
            {name: _vector(stream.counts) for name, stream in self.streams.items()},
        ]

    def key(self) -> Hashable:
        """What decides whether an earlier trace serves."""
        store = self.lift.store
        static = [leaf for i, leaf in enumerate(self.leaves) if i not in self.arrays]
        shapes = [tf.type_spec_from_value(tensor) for tensor in flatten(self.inputs)]
        return (
            tuple(named(thing) for thing in places_in([self.module, static])),
            fingerprint([leaf for leaf in static if not places_in(leaf)]),
            repr(_blank(self.form)),
            tuple(self.arrays),
            tuple(self.variables),
            tuple(shapes),
            keras.config.dtype_policy().name,
            tuple((n, tuple(sorted(s.slots.items()))) for n, s in self.streams.items()),
            (store.mutable, store.initializing, store.keeps_sown, store.sown is not None),
        )

    def traced(self, options: Mapping[str, Any]) -> tuple[Any, Any, list[Any], dict[Any, int]]:
        """The traced function, its output's form, what it writes, and what it draws."""
        told: list[Any] = []
        self.lift.user = Conversion(by_default=options.get("autograph", True))

        @no_autograph_fast
        def body(variables: Any, arrays: Any, keys: Any, counts: Any) -> Any:
            values = list(self.leaves)
            for i, tensor in zip(self.arrays, arrays, strict=True):
                values[i] = tensor
            args, kwargs = pack(self.form, values)
            streams: Streams = {
                name: dataclasses.replace(s, key=keys[name], counts=counts[name])
                for name, s in self.streams.items()
            }
            held = dict(zip(self.variables, variables, strict=True))
            output, inner = self.lift.run(
                self.fn, (self.module, *args), kwargs, held, streams, _EVERYTHING
            )
            writes = inner.writes()
            told[:] = [[_blank(output), _blank(list(writes.values()))], list(writes), inner.drawn]
            return [as_tensor(leaf) for leaf in flatten([output, list(writes.values())])]

        traced = tf_function(body, **options).get_concrete_function(*self.inputs)
        return traced, told[0], told[1], told[2]

    def finish(self, traced: Any, form: Any, writes: list[Any], drawn: dict[Any, int]) -> Any:
        """Calls the traced function and keeps what it wrote."""
        results = traced(*self.inputs)
        output, written = pack(form, results)
        for (name, path), draws in drawn.items():
            self.lift.store.advance(name, path, draws)
        self.lift.commit(dict(zip(writes, written, strict=True)))
        return output


def _vector(counts: Any) -> Any:
    given = list(counts) if isinstance(counts, (list, tuple)) else counts
    return tf.convert_to_tensor(given, tf.int32)


def _blank(value: Any) -> Any:
    return pack(value, [0] * len(flatten(value)))
