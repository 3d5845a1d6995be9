"""`diff`: compares two traces, or the newest traces of two functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.retraces.explain import all_differences
from nbfn.functions.traces.capture import Capture
from nbfn.functions.traces.cause import Cause, Wanted
from nbfn.text import count, shorten

if TYPE_CHECKING:
    from nbfn.functions.traces.trace import Trace

MAX_LISTED = 10


@dataclass(frozen=True)
class OperationChange:
    """One property of an operation of both traces that differs.

    Attributes:
        name: The operation's name.
        what: What differs: ``"value"``, ``"type"``, ``"inputs"``, or the name of an attribute.
        old: What the first trace has.
        new: What the second has.
    """

    name: str
    what: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.name}: {self.what} {self.old} -> {self.new}"


@dataclass(frozen=True)
class TraceDiff:
    """The differences of a second trace from a first.

    Attributes:
        numbers: The numbers of the two traces.
        causes: Differences of their keys and states: why one could not serve the other's calls.
        removed_captures: What only the first captures.
        added_captures: What only the second captures.
        types: Types of operations whose number differs, with the numbers, called functions
            included.
        removed: Names of operations that only the first has, with their types.
        added: The same for the second.
        constants: Constants with another value.
        changed: Operations with another type, other inputs or other attributes.
        operations: Number of operations of each, without called functions.
        nbytes: Size of the GraphDef of each, in bytes.
        traces: The two traces; their graphs may have been freed.
    """

    numbers: tuple[int, int]
    causes: tuple[Cause, ...]
    removed_captures: tuple[Capture, ...]
    added_captures: tuple[Capture, ...]
    types: dict[str, tuple[int, int]]
    removed: dict[str, str]
    added: dict[str, str]
    constants: tuple[OperationChange, ...]
    changed: tuple[OperationChange, ...]
    operations: tuple[int, int]
    nbytes: tuple[int, int]
    traces: tuple[Trace, Trace]

    @property
    def same(self) -> bool:
        """Whether both traces compute the same from the same arguments and captures."""
        captures = self.removed_captures or self.added_captures
        graph = self.types or self.removed or self.added or self.constants or self.changed
        return not (self.causes or captures or graph)

    def __repr__(self) -> str:
        old, new = self.numbers
        if self.same:
            return f"trace {old} and trace {new} do the same"
        lines = [f"trace {old} -> trace {new}"]
        lines += _section("made for", [cause.sentence for cause in self.causes])
        captures = [f"- {each}" for each in self.removed_captures]
        lines += _section("captures", captures + [f"+ {each}" for each in self.added_captures])
        types = [f"{name}: {before} -> {after}" for name, (before, after) in self.types.items()]
        lines += _section("operations by type", types)
        names = [f"- {name} ({kind})" for name, kind in self.removed.items()]
        names += [f"+ {name} ({kind})" for name, kind in self.added.items()]
        lines += _section("operations", names)
        lines += _section("constants", [str(each) for each in self.constants])
        lines += _section("changed operations", [str(each) for each in self.changed])
        sizes = " -> ".join(count(number, "operation") for number in self.operations)
        before, after = self.nbytes
        return "\n".join([*lines, f"  size: {sizes}, {before:,} -> {after:,} bytes"])


def diff(a: Any, b: Any) -> TraceDiff:
    """Compares two traces: their keys, captures and operations.

    RFC "Functions, not Sessions", section "Derived/Related Graphs".

    Args:
        a: A trace, or a function, whose newest trace is compared.
        b: The same.

    Returns:
        The differences; ``str`` of it is readable.

    Raises:
        TypeError: If one is neither a trace nor a traced or watched function.
        ValueError: If a function has no trace yet.
        EvictedError: If a trace has left the cache.
    """
    trace, other = _trace_of(a), _trace_of(b)
    old, new = trace.graph_def(), other.graph_def()
    before, after = ({node.name: node for node in each.node} for each in (old, new))
    common = [name for name in before if name in after]
    constants: list[OperationChange] = []
    changed: list[OperationChange] = []
    for name in common:
        for change in _changes(before[name], after[name]):
            (constants if change.what == "value" else changed).append(change)
    mine, theirs = ({capture.id: capture for capture in t.captures} for t in (trace, other))
    return TraceDiff(
        numbers=(trace.number, other.number),
        causes=_causes(trace, other),
        removed_captures=tuple(c for id, c in mine.items() if id not in theirs),
        added_captures=tuple(c for id, c in theirs.items() if id not in mine),
        types=_different_counts(_types(old), _types(new)),
        removed={name: node.op for name, node in before.items() if name not in after},
        added={name: node.op for name, node in after.items() if name not in before},
        constants=tuple(constants),
        changed=tuple(changed),
        operations=(trace.operations, other.operations),
        nbytes=(trace.nbytes, other.nbytes),
        traces=(trace, other),
    )


def _trace_of(subject: Any) -> Trace:
    if hasattr(subject, "graph_def"):
        return subject  # type: ignore[no-any-return]
    traces = getattr(subject, "traces", None)
    if not isinstance(traces, tuple):
        raise TypeError(
            f"expected a trace or a traced function to compare, found {type(subject).__name__}"
        )
    if not traces:
        raise ValueError(f"`{subject.label}` has no trace yet; call it first")
    return traces[-1]  # type: ignore[no-any-return]


def _causes(trace: Trace, other: Trace) -> tuple[Cause, ...]:
    """Returns why one could not serve the other's calls, except for different code."""
    wanted = Wanted(other.key, other.context, other.state)
    return tuple(each for each in all_differences(trace, wanted) if each.source != "code")


def _types(definition: Any) -> Counter[str]:
    """Counts operations by type, in called functions too.

    Gradients are stored as functions beside the graph; they are not counted.
    """
    found = Counter(node.op for node in definition.node)
    for function in _tensorflow.reachable_functions(definition.node, definition.library).values():
        found.update(node.op for node in function.node_def)
    return found


def _different_counts(old: Mapping[str, int], new: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    pairs = {kind: (old.get(kind, 0), new.get(kind, 0)) for kind in {**old, **new}}
    return {kind: pair for kind, pair in sorted(pairs.items()) if pair[0] != pair[1]}


def _changes(old: Any, new: Any) -> Iterator[OperationChange]:
    """Yields the differences of two operations of one name.

    Called functions get a new name in each trace, so their names are not compared.
    """
    if old.op != new.op:
        yield OperationChange(old.name, "type", old.op, new.op)
        return
    if list(old.input) != list(new.input):
        yield OperationChange(
            old.name, "inputs", *(", ".join(node.input) or "none" for node in (old, new))
        )
    if old.device != new.device:
        yield OperationChange(old.name, "device", old.device or "any", new.device or "any")
    for key in sorted({*old.attr, *new.attr}):
        before, after = (node.attr.get(key) for node in (old, new))
        if before == after or key.startswith("_"):
            continue
        if before is not None and after is not None and _names_functions(before, after):
            continue
        yield OperationChange(old.name, key, _attribute(before), _attribute(after))


def _names_functions(*values: Any) -> bool:
    return all(value.HasField("func") or value.list.func for value in values)


def _attribute(value: Any) -> str:
    if value is None:
        return "absent"
    kind = value.WhichOneof("value")
    if kind == "tensor":
        return shorten(repr(tf.make_ndarray(value.tensor).tolist()))
    if kind == "type":
        return str(tf.dtypes.as_dtype(value.type).name)
    if kind == "shape":
        return str(tf.TensorShape(value.shape))
    if kind == "list":
        return shorten(str(value.list))
    return shorten(repr(getattr(value, kind))) if kind else "unset"


def _section(title: str, items: list[str]) -> list[str]:
    if not items:
        return []
    more = len(items) - MAX_LISTED
    listed = [f"    {item}" for item in items[:MAX_LISTED]]
    return [f"  {title}:", *listed, *([f"    ... and {more} more"] if more > 0 else [])]
