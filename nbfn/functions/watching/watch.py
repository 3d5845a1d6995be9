"""`watch`: observes tf.functions, Keras models and modules made elsewhere, unchanged.

`discover` observes every tf.function that traces. Nothing in TensorFlow is replaced: it calls a
list of callbacks with each new concrete function.
"""

from __future__ import annotations

import functools
import threading
import weakref
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError, NbfnWarning, report_failure
from nbfn.functions.calls.record import RecordView
from nbfn.functions.inside.instrument import instrument_here
from nbfn.functions.recording.registry import register
from nbfn.functions.traced.traced_function import TracedFunction
from nbfn.functions.watching.data_functions import warn_of_data_function
from nbfn.functions.watching.function_origin import origin_of
from nbfn.functions.watching.watched_function import WatchedFunction
from nbfn.functions.watching.watched_object import WatchedObject, is_keras_model, tf_functions
from nbfn.state.values.introspection import Fetch
from nbfn.text import shorten


class WatchError(NbfnError, TypeError):
    """An object has no tf.function to watch."""


# Reentrant: `observe` registers the observer, which may collect garbage and run finalizers.
_lock = threading.RLock()
_observers: weakref.WeakKeyDictionary[Any, Fetch] = weakref.WeakKeyDictionary()
"""Maps each function to a reference to its observer.

An observer that keeps its function alive is held weakly here: otherwise neither would be freed.
"""
_groups: weakref.WeakSet[WatchedObject] = weakref.WeakSet()
_discovering = False


def watch(obj: Any) -> Any:
    """Observes a tf.function, a Keras model or a module made elsewhere, without changing it.

    Args:
        obj: A ``tf.function``; a Keras model, whose train, test and predict functions are found
            when Keras makes them; or a ``tf.Module`` or other object with tf.functions as methods
            or attributes.

    Returns:
        An observer with ``.traces``, ``.retraces``, ``.calls``, ``.hits``, ``.captures`` and
        ``.explain`` like a `TracedFunction`. The observer of a tf.function is called like the
        function, and keeps it alive, so that ``f = nbfn.watch(f)`` works. For an object with
        several tf.functions, ``.functions`` holds an observer of each by name. Observers and traced
        functions are returned as they are.

    Raises:
        WatchError: If there is no tf.function in it.
    """
    observer = _observer_of(obj)
    function = observer.function if isinstance(observer, WatchedFunction) else None
    if function is not None:
        observer.keep()
        with _lock:
            _observers[function] = weakref.ref(observer)
    return observer


def watched_objects() -> list[WatchedObject]:
    """Returns the observers of objects that are alive."""
    with _lock:
        return list(_groups)


def _observer_of(obj: Any) -> Any:
    if isinstance(obj, (TracedFunction, RecordView, WatchedObject)):
        return obj
    if isinstance(obj, _tensorflow.Function):
        return observe(obj, hits=True)
    if isinstance(obj, tf.types.experimental.ConcreteFunction):
        raise WatchError(
            f"`{obj.name}` is a concrete function, which is one trace and never retraces; watch "
            "the tf.function that it came from"
        )
    if is_keras_model(obj) or tf_functions(obj):
        group = WatchedObject(obj, functools.partial(observe, hits=True))
        with _lock:
            _groups.add(group)
        if is_keras_model(obj):
            _tensorflow.add_trace_callback(_on_concrete)
        return group
    raise WatchError(
        f"there is no tf.function in {type(obj).__name__} {shorten(repr(obj))}; expected a "
        "tf.function, a Keras model, or an object with tf.functions as methods or attributes"
    )


def watched(obj: Any) -> Any | None:
    """Returns the observer of an object, or the object itself if nbfn made it; None if it has none.

    A tf.function, Keras model or module without an observer is watched from now on.
    """
    with _lock:
        for group in list(_groups):
            if group.object is obj:
                return group
    try:
        return _observer_of(obj)
    except WatchError:
        return None


def observe(
    function: Any, name: str | None = None, owner: Any = None, *, hits: bool
) -> WatchedFunction:
    """Returns the observer of a tf.function; each has one."""
    with _lock:
        observer = _known_observer(function)
        if observer is None:
            strong = observer = WatchedFunction(function, name, owner)
            _observers[function] = lambda: strong
            register(observer)
    if hits:
        observer.count_hits()
    return observer


def _known_observer(function: Any) -> WatchedFunction | None:
    fetch = _observers.get(function)
    return None if fetch is None else fetch()


def discover() -> bool:
    """Observes every user tf.function, and those of Keras models, that traces from now on.

    Their traces, causes and costs are recorded; hits only after `watch` was called. Functions of
    TensorFlow, of other parts of Keras and of nbfn itself are excluded.

    Returns:
        Whether TensorFlow notifies of new traces; if not, only watched functions are observed.
    """
    global _discovering
    _discovering = True
    return _tensorflow.add_trace_callback(_on_concrete)


def stop_discovering() -> None:
    """Reverts `discover`. Functions found so far stay listed."""
    global _discovering
    _discovering = False
    with _lock:
        if not any(group.is_late for group in _groups):
            _tensorflow.remove_trace_callback(_on_concrete)


def _on_concrete(concrete: Any) -> None:
    """Called by TensorFlow with each new concrete function."""
    if instrument_here() is not None:  # a trace for looking inside is temporary
        return
    try:
        _see(concrete)
    except NbfnWarning:  # the user's warning filters make it an error
        raise
    except Exception as error:
        report_failure("could not look at a new trace, whose function goes on as usual", error)


def _see(concrete: Any) -> None:
    if _discovering:
        warn_of_data_function(concrete)
    function = _tensorflow.tracing_function()
    if isinstance(function, (TracedFunction, _tensorflow.UnlistedFunction, type(None))):
        return
    with _lock:
        groups = [group for group in _groups if group.is_late]
    for group in groups:
        group.refresh()
    observer = _known_observer(function)
    if observer is None:
        if not _discovering:
            return
        origin = origin_of(function)
        if origin is None:
            return
        observer = observe(function, origin.name, origin.owner, hits=False)
    if not observer.counts_hits:
        observer.traced(concrete)
