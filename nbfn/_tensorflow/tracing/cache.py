"""The observed trace cache of a tf.function, with stricter keys than TensorFlow's."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import tensorflow as tf

from nbfn._tensorflow.base import degraded, saving, tf_function
from nbfn._tensorflow.tracing.trace_types import (
    ContainerNode,
    ObjectNode,
    TensorNode,
    ValueNode,
    nodes,
)


class CacheObserver(Protocol):
    """Receives the look-ups in one function's trace cache, on the calling thread."""

    def context_key(self, function_type: Any) -> Any:
        """Returns what the key contains besides the arguments; hashable."""

    def context_key_after_trace(self, concrete: Any) -> Any:
        """Returns the same for a new trace, after tracing."""

    def on_hit(self, concrete: Any) -> None:
        """Called when a look-up found this trace."""

    def on_miss(self, function_type: Any) -> None:
        """Called when a look-up found nothing; a trace for this type is made next."""

    def equivalent(self, concrete: Any) -> Any | None:
        """Returns an older, equivalent trace that is used instead of a new one."""

    def on_added(self, concrete: Any) -> None:
        """Called when a new trace is in the cache."""


def _cache_class() -> type | None:
    cache = getattr(tf_function(lambda: None), "_function_cache", None)
    needed = ("lookup", "add", "delete", "generalize", "values", "clear", "_primary")
    if cache is None or not all(hasattr(cache, name) for name in needed):
        return None
    return type(cache)


TraceCache: Any = _cache_class() or object
"""The class of trace caches; ``object`` if TensorFlow's cannot be observed."""


# Not an `Exception`: TensorFlow's error handlers (`filter_traceback`, TensorFlow 2.21) and those of
# user code in ``__tf_tracing_type__`` must let it pass.
class LookedUp(BaseException):
    """Ends a dry run where tracing would begin; never leaves nbfn.

    Attributes:
        concrete: The found trace, or None.
        function_type: The type that was looked up.
    """

    def __init__(self, concrete: Any, function_type: Any) -> None:
        super().__init__()
        self.concrete = concrete
        self.function_type = function_type


class DryCache(TraceCache):
    """A trace cache whose look-ups can end where tracing would begin."""

    def __init__(self) -> None:
        super().__init__()
        self._dry = threading.local()

    def look_up(self, work: Callable[[], Any]) -> LookedUp | None:
        """Calls a function that looks something up on this thread, but traces nothing.

        Returns:
            The look-up; None if there was none.
        """
        # Not a context manager: an interrupt while it is left would keep the dry run on.
        self._dry.on = True
        try:
            work()
        except LookedUp as looked_up:
            return looked_up.with_traceback(None)  # the traceback would keep the arguments alive
        finally:
            self._dry.on = False
        return None

    def end_dry_run(self, concrete: Any, function_type: Any) -> None:
        """Raises `LookedUp` if this thread makes a dry run."""
        if getattr(self._dry, "on", False):
            raise LookedUp(concrete, function_type)


class ObservedCache(DryCache):
    """A trace cache that notifies an observer, with stricter keys than TensorFlow's.

    TensorFlow compares Python arguments with ``==``, so ``1``, ``1.0`` and ``True`` share a trace,
    and an object with a permissive ``__eq__`` may get the trace of another. Here the context part
    of the key also contains the type of each Python value, the identity of each object, and the
    observer's `context_key`.
    """

    def __init__(self, observer: CacheObserver) -> None:
        super().__init__()
        self._observer = observer

    def lookup(self, function_type: Any, context: Any = None) -> Any:
        context_key = self._observer.context_key(function_type)
        context = _strict(context, function_type, context_key)
        found = super().lookup(function_type, context)
        if found is None and saving():
            # In this order, as the comparison without names visits all traces.
            found = self._lookup_unnamed(function_type, context)
        self.end_dry_run(found, function_type)
        if found is None:
            self._observer.on_miss(function_type)
        else:
            self._observer.on_hit(found)
        return found

    def _lookup_unnamed(self, function_type: Any, context: Any) -> Any:
        """Looks up a trace whose specs differ only in names.

        A SavedModel requests traces with specs named as the parameters, which would otherwise run
        the Python code again.
        """
        wanted = _without_names(function_type)
        for (key_context, candidate), concrete in self._primary.items():
            if key_context == context and _without_names(candidate) == wanted:
                return concrete
        return None

    def add(self, fn: Any, context: Any = None) -> None:
        # Only now is it known what the Python code read, so the key of the miss is not that of the
        # trace.
        context_key = self._observer.context_key_after_trace(fn)
        older = self._observer.equivalent(fn)
        # An older trace that does the same gets a second key.
        super().add(older or fn, _strict(context, fn.function_type, context_key))
        if older is None:
            self._observer.on_added(fn)

    # Asked with ``reduce_retracing``. With the strict context, only traces whose Python values have
    # the same types and identities are generalised together.
    # Here TensorFlow passes the context first, to all other methods last (TensorFlow 2.21).
    def generalize(self, context: Any, function_type: Any) -> Any:
        context_key = self._observer.context_key(function_type)
        return super().generalize(_strict(context, function_type, context_key), function_type)

    def discard(self, concrete: Any) -> bool:
        """Removes a trace from all keys; returns whether it was there."""
        keys = [key for key, value in list(self._primary.items()) if value is concrete]
        for context, function_type in keys:
            with contextlib.suppress(KeyError):  # another thread has deleted a trace meanwhile
                self.delete(function_type, context)
                if not self._dispatch_dict[context].targets:  # it holds the call's Python values
                    del self._dispatch_dict[context]
        return bool(keys)

    def values(self) -> list[Any]:
        # Without repetitions: `add` may have put one trace under several keys.
        return list(dict.fromkeys(super().values()))


def _without_names(function_type: Any) -> list[Any]:
    return [(path, _without_name(node)) for path, node in nodes(function_type)]


def _without_name(node: Any) -> Any:
    if isinstance(node, ContainerNode):
        return node.kind
    if isinstance(node, TensorNode) and isinstance(node.spec, tf.TensorSpec):
        return tf.TensorSpec(node.spec.shape, node.spec.dtype)
    if isinstance(node, ValueNode):
        return type(node.value), node.value
    return node.reference() if isinstance(node, ObjectNode) else node


def _strict(context: Any, function_type: Any, context_key: Any) -> Any:
    context = _outside_saving(context)
    if not hasattr(context, "_replace"):
        return context
    values = tuple(_values(function_type))
    return context._replace(context=(context.context, values, context_key))


def _outside_saving(context: Any) -> Any:
    """Removes the variable policy from a context if it is the default.

    While a SavedModel is written, the policy is part of TensorFlow's key, so the Python code would
    run again although the default policy changes nothing.
    """
    eager: Any = getattr(context, "context", None)
    policy = getattr(eager, "variable_policy", None)
    if policy is None or getattr(policy, "value", policy) is not None:
        return context
    return context._replace(context=eager._replace(variable_policy=None))


def _values(function_type: Any) -> Iterator[Any]:
    """Yields what distinguishes Python arguments: type and value, or identity.

    The values are repeated here, where they are hashed, because TensorFlow compares a call with
    each trace of a context in turn.
    """
    for _, node in nodes(function_type):
        if isinstance(node, ValueNode):
            yield type(node.value)
            # By text, because 0.0 equals -0.0 and NaN does not equal itself.
            is_odd = isinstance(node.value, float) and (node.value == 0 or math.isnan(node.value))
            yield str(node.value) if is_odd else node.value
        elif isinstance(node, ObjectNode):
            # An id may be that of an object that was freed. TensorFlow's own part of the key, which
            # compares the weak references, then differs.
            yield id(node.reference())
        elif isinstance(node, ContainerNode) and node.kind == "dict":
            yield frozenset(node.children)  # the keys as text: 1 and True are equal


def observe(function: Any, observer: CacheObserver) -> bool:
    """Installs an observed trace cache in a function without traces.

    Returns:
        Whether it is observed. If not, only public API provides its traces.
    """
    if TraceCache is object:
        degraded("which trace serves a call")
        return False
    if len(function._function_cache):
        # The tracing options, which the first call makes, refer to the cache that it has already.
        return False
    function._function_cache = ObservedCache(observer)
    return True


def new_cache() -> dict[str, Any]:
    """Returns the attributes that hold a trace cache, for a function created without one."""
    fresh, names = vars(tf_function(lambda: None)), ("_function_cache", "_function_captures")
    return {name: fresh[name] for name in names if name in fresh}


def discard(function: Any, concrete: Any) -> bool:
    """Removes a trace from an observed function's cache; returns whether it was there."""
    cache = getattr(function, "_function_cache", None)
    # A tf.function keeps its first trace outside of the cache, too (TensorFlow 2.21).
    if getattr(function, "_concrete_variable_creation_fn", None) is concrete:
        function._concrete_variable_creation_fn = None
    return isinstance(cache, ObservedCache) and cache.discard(concrete)


def concrete_functions(function: Any) -> list[Any]:
    """Returns the traces in a function's cache, oldest first; empty if they cannot be read."""
    cache: Any = getattr(function, "_function_cache", None)
    return list(cache.values()) if hasattr(cache, "values") else []


def mute_tracing_warning(function: Any) -> None:
    """Disables TensorFlow's own warning about frequent retracing for one function."""
    if hasattr(function, "_omit_frequent_tracing_warning"):
        # It counts functions with equal code as one, so it warns of cells that are run again, and
        # names no cause (https://github.com/tensorflow/tensorflow/issues/43555).
        # `recording/limit.py` warns.
        function._omit_frequent_tracing_warning = True
