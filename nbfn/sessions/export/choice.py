"""Chooses which traces of a function become signatures of a SavedModel, and names them.

A SavedModel takes no Python arguments: their values are baked in. So each set of Python values
becomes a signature whose name contains the values. Sizes that varied between calls stay open.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from nbfn.code import plain_function
from nbfn.errors import NbfnError
from nbfn.functions import Trace, TracedFunction
from nbfn.functions.signatures.cover import RelaxError, cover
from nbfn.functions.signatures.sizes import advice_on_sizes
from nbfn.functions.traces.cause import Cause
from nbfn.functions.traces.key import Key, Leaf, TensorLeaf, ValueLeaf
from nbfn.sessions.export.resources import ExportError
from nbfn.sessions.export.subjects import input_signature, saved_form
from nbfn.sessions.session import Function as Subject
from nbfn.site import warn
from nbfn.text import join, sizes

_OPEN = Cause("export", "traced for the sizes that varied, to be saved")
_MAX_NAME = 60


def chosen_traces(name: str, function: Subject) -> dict[str, Any]:
    """Returns the concrete functions to save for a function, by signature name.

    Traces that differ only in sizes become one signature in which these sizes are open; if the code
    cannot be traced for open sizes, each becomes one. The trace for the defaults of all Python
    arguments has the function's own name; names of others contain what they were made for.

    Raises:
        ExportError: If the function was never traced and has no input signature, or if it has
            parameters but no trace has an input.
    """
    if not function.traces and input_signature(function) is not None:
        return {_identifier(name): saved_form(function).get_concrete_function()}
    serving = [trace for trace in function.traces if trace.serves_calls] or function.traces
    usable = [trace for trace in serving if trace.is_keyed]
    if not usable:
        raise ExportError(
            f"`{name}` was never called, so nbfn does not know its input signature; call it "
            "once, or define it with input_signature="
        )
    alike: dict[Any, list[Trace]] = {}
    for trace in usable:
        alike.setdefault(_but_for_sizes(trace.key), []).append(trace)
    constant = [traces for traces in alike.values() if not _has_inputs(traces[-1])]
    if len(constant) == len(alike):
        raise ExportError(
            f"`{name}` {_without_inputs(constant[-1][-1].key)}, so the model would have no input "
            "and always return the same. Call it with tensors, as in tf.constant(...), and export "
            f"it again; if intended, pass signatures={{'{name}': {name}.traces[-1]}}"
        )
    for traces in constant:
        arguments = _without_inputs(traces[-1].key)
        warn(f"left out of the model: the trace of `{name}` that {arguments}, and so has no input")
    groups = [
        each
        for traces in alike.values()
        if traces not in constant
        for each in _with_open_sizes(function, traces)
    ]
    labels = _names(name, function, [key for key, _ in groups])
    return dict(zip(labels, (concrete for _, concrete in groups), strict=True))


def requested(function: Subject, args: Any, kwargs: Any) -> Any:
    """Returns the concrete function for some specifications, traced if necessary."""
    if isinstance(function, TracedFunction):
        return function.request(args, kwargs, _OPEN)
    return saved_form(function).get_concrete_function(*args, **kwargs)


def fixed_sizes(concrete: Mapping[str, Any]) -> list[str]:
    """Describes the inputs of signatures that accept only one size because all calls had it."""
    texts: list[str] = []
    labels: list[tuple[str, str]] = []
    seen: dict[tuple[str, str], set[str]] = {}
    for name, each in concrete.items():
        specs = each.structured_input_signature[1] or {}
        args = each.structured_input_signature[0]
        leaves = dict(zip(each.function_type.parameters, args, strict=False)) | specs
        for path, spec in leaves.items():
            shape = getattr(spec, "shape", None)
            if shape is not None and shape.rank:
                place = str(getattr(each.graph, "name", name)), path
                seen.setdefault(place, set()).add(str(shape))
                if shape.is_fully_defined():
                    labels.append(place)
                    texts.append(f"`{path}` of `{name}` is always {sizes(shape)}")
    return [text for text, place in zip(texts, labels, strict=True) if len(seen[place]) == 1]


def _but_for_sizes(key: Key) -> Any:
    """Returns a value that is equal for traces that differ only in sizes."""
    leaves: list[tuple[object, ...]] = []
    for path, leaf in key.leaves.items():
        if isinstance(leaf, TensorLeaf):
            rank = None if leaf.shape is None else len(leaf.shape)
            leaves.append((path, leaf.kind, leaf.dtype, rank))
        else:
            leaves.append((path, leaf.token))
    return tuple(leaves), tuple(key.containers.items())


def _with_open_sizes(function: Subject, traces: Sequence[Trace]) -> list[tuple[Key, Any]]:
    """Returns one concrete function that serves all traces, if possible, or else each its own."""
    newest = traces[-1]
    if len(traces) == 1:
        return [(newest.key, newest.concrete_function)]
    for trace in reversed(traces):
        if all(_serves(trace.key, other.key) for other in traces):
            return [(trace.key, trace.concrete_function)]
    try:
        general = cover(traces)
        general_trace = requested(function, *general.arguments)
        found = (each.key for each in function.traces if each.live_concrete() is general_trace)
        return [(next(found, newest.key), general_trace)]
    except (RelaxError, NbfnError, TypeError, ValueError) as error:  # the code needs the sizes
        advice = advice_on_sizes(function.python_function, traces)
        # AutoGraph's message begins with the lines of user code, and ends with the error itself.
        reason = advice or str(error).strip().rpartition("\n")[2].strip()
        warn(
            f"`{function.label}` becomes {len(traces)} signatures, as it cannot be traced with the "
            f"sizes open that calls had: {reason}"
        )
        return [(trace.key, trace.concrete_function) for trace in traces]


def _serves(key: Key, other: Key) -> bool:
    pairs = ((leaf, other.leaves[path]) for path, leaf in key.leaves.items())
    return all(
        a.serves(b) for a, b in pairs if isinstance(a, TensorLeaf) and isinstance(b, TensorLeaf)
    )


def _names(name: str, function: Subject, keys: Sequence[Key]) -> list[str]:
    """Names each key by its differences from the others, leaving out defaults."""
    defaults = {path: str(ValueLeaf(value)) for path, value in _defaults(function).items()}
    for describe in (_kind, str):  # with sizes only if necessary
        texts = [{path: describe(leaf) for path, leaf in key.leaves.items()} for key in keys]
        shared = set.intersection(*(set(each.items()) for each in texts))
        labels = []
        for each in texts:
            own = [item for item in each.items() if item not in shared]
            parts = [f"{path}_{_word(text)}" for path, text in own if defaults.get(path) != text]
            more = _identifier("_".join(["", *parts])).rstrip("_")
            labels.append(f"{_identifier(name)}{more}"[:_MAX_NAME])
        if len(set(labels)) == len(labels):
            return labels
    return [f"{_identifier(name)}_{number}" for number in range(1, len(keys) + 1)]


def _identifier(text: str) -> str:
    return re.sub(r"\W+", "_", text)


def _kind(leaf: Leaf) -> str:
    return str(leaf.dtype or leaf.kind) if isinstance(leaf, TensorLeaf) else str(leaf)


def _word(text: str) -> str:
    """Converts a leaf to a part of a name: ``int 5`` to ``5``, ``str 'neg'`` to ``neg``."""
    return text if "[" in text else text.split(" ", 1)[-1].replace("-", "minus_").strip("'")


def _defaults(function: Subject) -> dict[str, Any]:
    try:
        parameters = inspect.signature(plain_function(function.python_function)).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {each.name: each.default for each in parameters if each.default is not each.empty}


def _has_inputs(trace: Trace) -> bool:
    leaves = trace.key.leaves.values()
    return not leaves or any(isinstance(leaf, TensorLeaf) for leaf in leaves)


def _without_inputs(key: Key) -> str:
    arguments = [f"`{path}` = {leaf}" for path, leaf in key.leaves.items()]
    listed = join(arguments[:3]) + (", ..." if len(arguments) > 3 else "")
    return f"was called with Python values only ({listed})"
