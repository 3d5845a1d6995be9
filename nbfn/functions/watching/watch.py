"""`watch`: observes tf.functions, Keras models and modules made elsewhere, unchanged.

`discover` sees every tf.function that traces. Nothing in TensorFlow is replaced: it calls a list of
callbacks with each new concrete function.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError, NbfnWarning, tell_failure
from nbfn.functions.calls.record import RecordView
from nbfn.functions.inside.instrument import instrument_here
from nbfn.functions.recording.registry import enlist
from nbfn.functions.traced.traced_function import TracedFunction
from nbfn.functions.watching.data_functions import warn_of_data_function
from nbfn.functions.watching.origin import origin_of
from nbfn.functions.watching.watched_function import WatchedFunction
from nbfn.functions.watching.watched_object import WatchedObject, is_model, tf_functions
from nbfn.state.values.introspection import Fetch
from nbfn.text import shorten


class WatchError(NbfnError, TypeError):
    """An object has no tf.function that could be watched."""


_lock = threading.RLock()
_observers: weakref.WeakKeyDictionary[Any, Fetch] = weakref.WeakKeyDictionary()
"""Fetches the observer of each function. One that keeps its function is held weakly here: else
neither would ever be freed."""
_groups: weakref.WeakSet[WatchedObject] = weakref.WeakSet()
_discovering = False


def watch(obj: Any) -> Any:
    """Observes a tf.function, a Keras model or a module made elsewhere, which stays as it is.

    Args:
        obj: A ``tf.function``; a Keras model, whose train, test and predict functions are found
            when Keras makes them; or a ``tf.Module`` or other object with tf.functions as methods
            or attributes.

    Returns:
        An observer that answers ``.traces``, ``.retraces``, ``.calls``, ``.hits``, ``.captures``
        and ``.explain`` as a `TracedFunction` does. The observer of a tf.function is called as the
        function is, and keeps it alive, so that ``f = nbfn.watch(f)`` works. For an object with
        several tf.functions, ``.functions`` holds an observer of each by name. What nbfn itself
        observes is returned as it is.

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
    """The observers of objects that are alive."""
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
    if is_model(obj) or tf_functions(obj):
        group = WatchedObject(obj, _observe_hits)
        with _lock:
            _groups.add(group)
        if is_model(obj):
            _tensorflow.on_trace(_traced)
        return group
    raise WatchError(
        f"there is no tf.function in {type(obj).__name__} {shorten(repr(obj))}; expected a "
        "tf.function, a Keras model, or an object with tf.functions as methods or attributes"
    )


def watched(obj: Any) -> Any | None:
    """What observes an object: itself, if nbfn made it; None if nothing does.

    A tf.function, Keras model or module that is only now asked for is watched from now on.
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
    """The observer of a tf.function, one for each."""
    with _lock:
        observer = _known(function)
        if observer is None:
            made = observer = WatchedFunction(function, name, owner)
            _observers[function] = lambda: made
            enlist(observer)
    if hits:
        observer.count_hits()
    return observer


def _known(function: Any) -> WatchedFunction | None:
    fetch = _observers.get(function)
    return None if fetch is None else fetch()


def _observe_hits(function: Any, name: str, owner: Any) -> WatchedFunction:
    return observe(function, name, owner, hits=True)


def discover() -> bool:
    """Sees every tf.function of the user's, and of Keras models, that traces from now on.

    Their traces, causes and costs are recorded; calls that are hits only once `watch` is asked.
    Functions of TensorFlow, of other parts of Keras and of nbfn itself are left out.

    Returns:
        Whether TensorFlow tells of new traces; if not, only watched functions are seen.
    """
    global _discovering
    _discovering = True
    return _tensorflow.on_trace(_traced)


def stop_discovering() -> None:
    """Takes back `discover`. What has been seen stays listed."""
    global _discovering
    _discovering = False
    with _lock:
        if not any(group.is_late for group in _groups):
            _tensorflow.off_trace(_traced)


def _traced(concrete: Any) -> None:
    """Is called by TensorFlow with each new concrete function."""
    if instrument_here() is not None:  # the trace is gone with what looks into it
        return
    try:
        _see(concrete)
    except NbfnWarning:  # Python's filters make it an error, as the user has asked
        raise
    except Exception as error:
        tell_failure("could not look at a new trace, whose function goes on as usual", error)


def _see(concrete: Any) -> None:
    if _discovering:
        warn_of_data_function(concrete)
    function = _tensorflow.tracing_function()
    if isinstance(function, (TracedFunction, _tensorflow.UnlistedFunction, type(None))):
        return
    with _lock:
        groups = [group for group in _groups if group.is_late]
    for group in groups:
        group.look()
    observer = _known(function)
    if observer is None:
        if not _discovering:
            return
        origin = origin_of(function)
        if origin is None:
            return
        observer = observe(function, origin.name, origin.owner, hits=False)
    if not observer.counts_hits:
        observer.traced(concrete)
