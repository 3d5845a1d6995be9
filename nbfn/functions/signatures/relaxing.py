"""Replaces traces: several by a general one, a stale one by a new one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from nbfn.functions.recording.eviction import evict
from nbfn.functions.recording.recorded import Recorded
from nbfn.functions.retraces.explain import differences
from nbfn.functions.retraces.remedy import SIZES, is_declared
from nbfn.functions.signatures.cover import (
    Cover,
    RelaxError,
    buckets,
    cover,
    signature_of,
    with_objects,
)
from nbfn.functions.signatures.sizes import advice_on_sizes
from nbfn.functions.traces.cause import Cause
from nbfn.functions.traces.key import TensorLeaf, ValueLeaf
from nbfn.text import numbered, reasons

if TYPE_CHECKING:
    from nbfn.functions.traces.trace import Trace


def suggest(function: Recorded) -> Cover:
    """Returns the least general signature that covers the newest similar traces."""
    return replace(_newest_cover(function)[0], code=_relaxing(function))


def _relaxing(function: Recorded) -> str | None:
    """Returns the code that lets one trace serve more calls; None if there is none."""
    recorder = function.recorder
    name = recorder.reference_expression()
    if recorder.spread is not None or (name is None and recorder.relaxing is None):
        return None
    return recorder.relaxing or f"{name}.relax()"


def relax(function: Recorded) -> Trace:
    """Makes one trace that covers the others, and evicts these."""
    general, covered = _newest_cover(function)
    if len(_serving(function)) == 1:
        covered[0].relaxed_at = covered[0].hits
        return covered[0]
    if not _differ(covered):
        raise RelaxError(_nothing(function))
    reason = Cause("relaxed", f"relaxed, in place of {numbered('trace', general.numbers)}")
    concrete, general = _trace(function, general, reason, covered)
    relaxed = function.recorder.traces[id(concrete)]
    general = replace(general, number_paths=_numbers_in(covered, relaxed))
    function.relaxed = general.among(function.relaxed)
    function.converts = tuple(each for each in function.relaxed if each.converted)
    general.mark(relaxed)
    creation = [trace for trace in function.traces if not trace.serves_calls]
    for trace in [*creation, *covered]:
        if trace.live_concrete() is not concrete:
            evict(function, trace)
    function.recorder.settle(relaxed)
    relaxed.relaxed_at = relaxed.hits
    return relaxed


def _numbers_in(covered: Sequence[Trace], relaxed: Trace) -> frozenset[str]:
    """Returns the paths of tensors that have replaced numbers."""
    return frozenset(
        path
        for trace in covered
        for path, leaf in trace.key.leaves.items()
        if isinstance(relaxed.key.leaves.get(path), TensorLeaf)
        and (isinstance(leaf, ValueLeaf) or (isinstance(leaf, TensorLeaf) and leaf.takes_numbers))
    )


def renew(function: Recorded) -> tuple[Trace, ...]:
    """Makes new traces in place of stale ones."""
    recorder = function.recorder
    if recorder.guards.on_stale != "retrace":
        return ()
    renewed = []
    for trace in function.traces:
        causes = recorder.staleness.changes_since(trace)
        concrete = trace.live_concrete()
        if not causes or concrete is None:
            continue
        current = [e for e in function.traces if not recorder.staleness.changes_since(e)]
        replaced = any(trace.differs_in_state_alone(e.key, e.context) for e in current)
        if trace.serves_calls and not replaced:
            # TensorFlow knows a declared signature, whose specifications may have no names.
            has_signature = function.input_signature is not None
            args, kwargs = ((), {}) if has_signature else with_objects(signature_of(trace))
            reason = Cause("stale", reasons(causes))
            fresh = recorder.traces[id(function.request(args, kwargs, reason))]
            if fresh is trace:
                continue
            renewed.append(fresh)
        evict(function, trace)
    return tuple(dict.fromkeys(renewed))


def _serving(function: Recorded) -> list[Trace]:
    return [trace for trace in function.traces if trace.serves_calls]


def _newest_cover(function: Recorded) -> tuple[Cover, list[Trace]]:
    """Returns the cover of the newest trace that is similar to an older one, and all it covers.

    If no traces are similar, it is the cover of the newest one.
    """
    serving = _serving(function)
    # From the newest backwards: what the user calls now matters more than earlier kinds of calls.
    for end in range(len(serving), 1, -1):
        general, covered = _cover(function, serving[:end])
        if _differ(covered):
            return general, covered
    return _cover(function, serving)


def _cover(function: Recorded, serving: Sequence[Trace]) -> tuple[Cover, list[Trace]]:
    usable = _usable(function, serving)
    general = cover(usable)
    return general, [trace for trace in usable if trace.number in general.numbers]


def _differ(covered: Sequence[Trace]) -> bool:
    """Returns whether traces differ in more than their states, which no new trace could serve."""
    return any(differences(covered[-1].key, each.key) for each in covered[:-1])


def _usable(function: Recorded, serving: Sequence[Trace]) -> list[Trace]:
    """Returns the traces for the newest values of arguments that are declared by value."""
    by_value = function.recorder.by_value
    return [
        each
        for each in serving
        if not any(
            is_declared(cause, by_value) and cause.code not in SIZES
            for cause in differences(serving[-1].key, each.key)
        )
    ]


def _trace(
    function: Recorded, general: Cover, reason: Cause, covered: Sequence[Trace]
) -> tuple[Any, Cover]:
    """Traces for a general signature; tries other dtypes for its numbers if that fails."""
    attempts = [general, *general.others()] if general.converted else [general]
    failure: Exception | None = None
    for attempt in attempts:
        try:
            concrete = function.request(*attempt.arguments, reason)
            _check_results(function, concrete, covered)
            return concrete, attempt
        except Exception as error:  # user code may raise anything while it is traced
            failure = failure or error
    advice = [advice_on_sizes(function.python_function, function.traces), buckets(function.traces)]
    raise RelaxError(
        f"`{function.label}` cannot be traced for {general!r}, because its code needs what the "
        f"signature leaves open: {_last_line(failure).rstrip('.')}. "
        f"{'. Or: '.join(filter(None, advice))}"
    ) from failure


def _check_results(function: Recorded, concrete: Any, covered: Sequence[Trace]) -> None:
    """Refuses a trace with results of another structure: `[x] * n` is a product for a tensor."""
    for trace in covered:
        older = trace.live_concrete()
        try:
            if older is not None:
                tf.nest.assert_same_structure(older.structured_outputs, concrete.structured_outputs)
        except (TypeError, ValueError):
            evict(function, function.recorder.traces[id(concrete)])
            raise ValueError("its results would have another structure") from None


def _nothing(function: Recorded) -> str:
    causes = function.retraces[-1].causes if function.retraces else ()
    is_state = not _differ(_serving(function))
    otherwise = (
        "they differ in Python state alone" if is_state else "their arguments differ in kind"
    )
    why = reasons(causes) or otherwise
    return f"no signature covers more than one trace of `{function.label}`: {why}"


def _last_line(error: Exception | None) -> str:
    text = str(error).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else repr(error)
