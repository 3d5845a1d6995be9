"""`preflight`: finds problems of an export before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions import Capture, Trace, TracedFunction
from nbfn.functions.signatures.sizes import advice_on_sizes
from nbfn.functions.traced.graph_problems import LARGE_CONSTANT
from nbfn.functions.traces.key import ObjectLeaf
from nbfn.sessions.cluster.once import is_spread
from nbfn.sessions.export.resources import ExportError
from nbfn.sessions.export.signature import obstacles
from nbfn.sessions.export.subjects import input_signature, subjects
from nbfn.sessions.session import Function as Subject
from nbfn.sessions.session import session
from nbfn.text import count


@dataclass(frozen=True)
class Problem:
    """A problem or remark about an export.

    Attributes:
        function: The function's name in the model.
        is_fatal: Whether the export is refused because of it.
        what: What the problem is.
        remedy: What to do about it.
    """

    function: str
    is_fatal: bool
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"`{self.function}` {self.what}; {self.remedy}"


class Preflight(tuple[Problem, ...]):
    """The results of `preflight`, fatal problems first."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self:
            return "<nbfn preflight: ready to export>"
        fatal = sum(each.is_fatal for each in self)
        found = f"{count(fatal, 'obstacle')}, {count(len(self) - fatal, 'remark')}"
        lines = [f"  {'refused' if each.is_fatal else 'note'}: {each}" for each in self]
        return "\n".join([f"<nbfn preflight: {found}>", *lines])


def preflight(functions: Any = None, *more: Any) -> Preflight:
    """Finds what would go wrong in an export, each with a remedy; traces and runs nothing.

    Args:
        functions: What to export, as for `export`.
        *more: Further items.

    Raises:
        ExportError: If there is nothing to export, or an item cannot be exported.
    """
    chosen = subjects([functions, *more] if more else functions, session(), {})
    return _preflight(chosen, {})


def refuse(chosen: Mapping[str, Subject], specs: Mapping[str, Any]) -> None:
    """Refuses an export that would fail.

    Raises:
        ExportError: If there are fatal problems; lists them all.
    """
    found = _preflight(chosen, specs)
    fatal = [each for each in found if each.is_fatal]
    if fatal:
        error = ExportError("\n".join(map(str, fatal)))
        error.problems = found
        raise error


def _preflight(chosen: Mapping[str, Subject], specs: Mapping[str, Any]) -> Preflight:
    found = [each for name, f in chosen.items() for each in _of_function(name, f, bool(specs))]
    unique = dict.fromkeys(found)
    return Preflight(sorted(unique, key=lambda each: not each.is_fatal))


def _of_function(name: str, function: Subject, has_specs: bool) -> Iterator[Problem]:
    refused, noted = partial(Problem, name, True), partial(Problem, name, False)
    if not function.traces:
        if input_signature(function) is None and not has_specs:
            yield refused(
                "was never called, so nbfn does not know its input signature",
                "call it once, or define it with input_signature=",
            )
        return
    if isinstance(function, TracedFunction):
        stale = function.changed_globals()
        if stale:
            yield noted(
                f"has read {', '.join(stale)}, which has changed since",
                "export retraces it first",
            )
    if any(is_spread(trace) for trace in function.traces):
        return  # The export retraces it for one device.
    serving = [trace for trace in function.traces if trace.serves_calls]
    advice = advice_on_sizes(getattr(function, "python_function", None), serving)
    if advice is not None and not any(_is_open(trace) for trace in serving):
        yield noted(
            "reads sizes that differ from call to call, and becomes a signature for each", advice
        )
    for trace in function.traces:
        if trace.serves_calls and (trace.is_keyed or trace is function.traces[-1]):
            yield from _of_trace(name, trace)


def _is_open(trace: Trace) -> bool:
    """Returns whether a trace has an argument of open size."""
    shapes = (getattr(leaf, "shape", None) for leaf in trace.key.leaves.values())
    return any(None in shape for shape in shapes if shape is not None)


def _of_trace(name: str, trace: Trace) -> Iterator[Problem]:
    refused, noted = partial(Problem, name, True), partial(Problem, name, False)
    for path, leaf in trace.key.leaves.items():
        if isinstance(leaf, ObjectLeaf) and leaf.is_collected:
            yield refused(
                f"was traced for the object `{path}`, which no longer exists",
                "keep the object in a name, and call the function again",
            )
        elif isinstance(leaf, ObjectLeaf):
            yield noted(
                f"was traced for the object `{path}`, which is baked in",
                "after loading it can be called by its signature only",
            )
    if (concrete := trace.live_concrete()) is not None:
        yield from (refused(*each) for each in obstacles(concrete))
    for capture in trace.captures:
        if not capture.is_alive:
            yield refused(
                f"uses `{capture.name}`, which no longer exists",
                "call it again, so that it is traced for what is there now",
            )
        elif capture.dtype == "variant":
            yield refused(
                f"captures {_capture_name(capture)}a dataset, which a SavedModel cannot hold",
                "loop over the dataset outside, and export a function of one batch",
            )
        elif capture.kind == "resource" and _is_iterator(capture.value):
            yield refused(
                f"captures {_capture_name(capture)}an iterator, which a SavedModel cannot hold",
                "call next() outside, and pass the batch to the function",
            )
    yield from _of_graph(name, trace.graph_def())


def _capture_name(capture: Capture) -> str:
    return "" if capture.name.startswith("unnamed ") else f"`{capture.name}`, "


def _is_iterator(handle: Any) -> bool:
    parts = map(_tensorflow.iterator_parts, session().iterators.values())
    return any(handle is each[1] for each in parts if each is not None)


def _of_graph(name: str, definition: Any) -> Iterator[Problem]:
    refused, noted = partial(Problem, name, True), partial(Problem, name, False)
    nodes = list(_tensorflow.all_nodes(definition))
    kinds = {node.op for node in nodes}
    if any(kind.startswith("Collective") for kind in kinds):
        yield refused(
            "communicates between devices, and would block on a single device",
            "export a function of what one replica computes",
        )
    if kinds.intersection(_tensorflow.PYTHON_CALLS):
        yield refused(
            "calls Python while it runs (py_function, numpy_function), which no other process has",
            "write that part with TensorFlow's operations, or do it outside of the function",
        )
    random = sorted(kinds & _tensorflow.HIDDEN_STATE)
    if random:
        yield noted(
            f"draws random numbers from hidden state ({', '.join(random)})",
            "only shapes of its outputs can be compared; tf.random.stateless_* is verified",
        )
    for node in nodes:
        if node.op == "Const" and node.attr["value"].tensor.ByteSize() > LARGE_CONSTANT:
            size = node.attr["value"].tensor.ByteSize() / 1e6
            yield noted(
                f"holds a constant of {size:.0f} MB (`{node.name}`), once for each trace",
                "make it a tf.Variable, which all traces share",
            )
    for device in sorted({node.device for node in nodes if node.device}):
        spec = tf.DeviceSpec.from_string(device)
        if spec.device_type not in (None, "CPU") or spec.job not in (None, "localhost"):
            yield noted(
                f"places operations on {device}",
                "a machine without that device runs them elsewhere, or not at all",
            )
