"""Determines the causes of a new trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nbfn import _tensorflow
from nbfn.functions.calls.call import Call
from nbfn.functions.retraces.explain import combined, explain
from nbfn.functions.traces.cause import Cause, Wanted
from nbfn.functions.traces.key import Key, TensorLeaf
from nbfn.text import sizes

if TYPE_CHECKING:
    from nbfn.functions.traces.trace import Trace

FIRST = Cause("first_trace", "first call")
VARIABLE_CREATION = Cause("variable_creation", "first call: traced once to create its variables")
EMPTY = Cause("evicted", "the cache was empty: its traces were evicted")
FAILED = Cause("after_failure", "the trace before this one failed, and was not kept")
REQUESTED = Cause("requested", "requested with get_concrete_function")
EXPORT = Cause("export", "traced again to be saved")


def causes_of(
    call: Call | None, key: Key, traces: Sequence[Trace], first: Cause
) -> tuple[tuple[Cause, ...], tuple[Trace, ...]]:
    """Returns the causes of a new trace; `first` if there was none before.

    Returns:
        The causes, and the traces nearest to what was needed; none if it is not a retrace.
    """
    if _tensorflow.saving():
        return (EXPORT,), ()
    if call is not None and call.reason is not None:
        return (call.reason,), ()
    if call is not None and call.added:
        if call.trace is not None:  # the first of two: it created variables
            first, call.trace.cause = call.trace.cause, VARIABLE_CREATION
        return (first,), ()
    if not traces:
        return (first,), ()
    if call is None or not (call.counts or call.explains):
        return (REQUESTED,), ()
    wanted = call.wanted or Wanted(key)
    causes, nearest = explain(wanted, traces)
    return (*causes, *_widening_causes(wanted.key, key)), nearest


def _widening_causes(wanted: Key, actual: Key) -> tuple[Cause, ...]:
    """Returns the causes for arguments that ``reduce_retracing`` made more general."""
    found = []
    for path, leaf in actual.leaves.items():
        needed = wanted.leaves.get(path)
        if not (isinstance(leaf, TensorLeaf) and isinstance(needed, TensorLeaf)):
            continue
        if leaf.spec != needed.spec and leaf.shape != needed.shape:
            old, new = sizes(needed.shape), sizes(leaf.shape)
            sentence = f"`{path}`: the new trace serves {new} too, widened by reduce_retracing"
            found.append(Cause("widened", sentence, path, old, new))
    return combined(found, "widened", "shapes in `{}` are open now")
