"""``nn.jit``: a method of a module as a traced function, also inside a pure application."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from nbfn.modules.fields import is_module
from nbfn.modules.filters import Filter
from nbfn.modules.inner_store import Streams, same_streams
from nbfn.modules.lift_axes import flatten, is_array, pack
from nbfn.modules.lift_target import transformed
from nbfn.modules.lift_values import places_in, scope_of
from nbfn.modules.lifting import Lift
from nbfn.modules.naming import fingerprint

_EVERYTHING = Filter.of(True)
_CACHE_SIZE = 256


def jit(
    target: Any, methods: Sequence[str] | Mapping[str, Any] | None = None, **options: Any
) -> Any:
    """Traces a module's method once for each configuration and kind of input.

    Values, variables and random draws are those of the method itself. A bound module needs this
    only in part of a model: ``tf.function`` around its call does the same for the whole.

    Args:
      target: a module class, or a function whose first argument is a module.
      methods: for a class, the methods to transform.
      **options: of ``tf.function``, such as ``jit_compile=True``.

    Returns:
      The transformed class (``JitDense``) or function.

    Raises:
      TransformError: a module was hidden in a closure, or the target is no module class or
        function.

    Implements: Flax Module lifecycle, section "Functionalization".
    """
    cache: OrderedDict[Hashable, Any] = OrderedDict()
    lock = threading.Lock()

    def call(fn: Callable[..., Any], module: Any, *args: Any, **kwargs: Any) -> Any:
        lift = Lift("nn.jit", (module, args, kwargs))
        if lift.is_creating():
            return lift.once(fn, (module, *args), kwargs)
        once = _Call(lift, fn, module, args, kwargs)
        key = once.key()
        with lock:
            found = cache.pop(key, None) or once.traced(options)
            cache[key] = found
            if len(cache) > _CACHE_SIZE:
                cache.popitem(last=False)
        return once.finish(*found)

    return transformed(target, "nn.jit", "Jit", call, methods)


class _Call:
    """One call of a traced method."""

    def __init__(
        self, lift: Lift, fn: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.lift, self.fn, self.module, self.form = lift, fn, module, [list(args), kwargs]
        self.streams = same_streams(lift.store)
        self.variables = lift.leaves(_EVERYTHING)
        self.leaves = flatten(self.form)
        self.arrays = [i for i, leaf in enumerate(self.leaves) if is_array(leaf)]
        self.inputs = [
            list(self.variables.values()),
            [tf.convert_to_tensor(self.leaves[i]) for i in self.arrays],
            {name: stream.key for name, stream in self.streams.items()},
            {name: _vector(stream.counts) for name, stream in self.streams.items()},
        ]

    def key(self) -> Hashable:
        """What decides whether an earlier trace serves."""
        store = self.lift.store
        static = [leaf for i, leaf in enumerate(self.leaves) if i not in self.arrays]
        shapes = [
            (t.dtype.name, tuple(t.shape.as_list())) if t.shape.rank is not None else None
            for t in flatten(self.inputs)
        ]
        return (
            # A method is what it is; a function made here may have other values in its closure.
            self.fn if hasattr(self.fn, "__nbfn_wrapped__") else fingerprint(self.fn),
            tuple(_named(thing) for thing in places_in([self.module, static])),
            fingerprint([leaf for leaf in static if not places_in(leaf)]),
            repr(_blank(self.form)),
            tuple(self.arrays),
            tuple(self.variables),
            tuple(shapes),
            tuple((n, tuple(sorted(s.slots.items()))) for n, s in self.streams.items()),
            (store.mutable, store.initializing, store.keeps_sown, store.sown is not None),
        )

    def traced(self, options: Mapping[str, Any]) -> tuple[Any, Any, list[Any], dict[Any, int]]:
        """The traced function, its output's form, what it writes, and what it draws."""
        told: list[Any] = []

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
            return [tf.convert_to_tensor(leaf) for leaf in flatten([output, list(writes.values())])]

        traced = tf.function(body, **options).get_concrete_function(*self.inputs)
        return traced, told[0], told[1], told[2]

    def finish(self, traced: Any, form: Any, writes: list[Any], drawn: dict[Any, int]) -> Any:
        """Calls the traced function and keeps what it wrote."""
        results = traced(*tf.nest.flatten(self.inputs))
        output, written = pack(form, results)
        for (name, path), draws in drawn.items():
            self.lift.store.advance(name, path, draws)
        self.lift.commit(dict(zip(writes, written, strict=True)))
        return output


def _vector(counts: Any) -> Any:
    given = list(counts) if isinstance(counts, (list, tuple)) else counts
    return tf.convert_to_tensor(given, tf.int32)


def _named(thing: Any) -> Hashable:
    return scope_of(thing).path, fingerprint(thing) if is_module(thing) else repr(thing)


def _blank(value: Any) -> Any:
    return pack(value, [0] * len(flatten(value)))
