"""Why a call found no trace: the causes of a miss, against all nearest traces.

The causes are taken from the real key, leaf by leaf. Every differing leaf is reported, and every
trace that is equally near.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbfn.functions.key import Key, Leaf, ObjectLeaf, TensorLeaf, ValueLeaf
from nbfn.functions.remedy import Remedy
from nbfn.site import Site

if TYPE_CHECKING:
    from nbfn.functions.trace import Trace

_WEIGHT = {
    "shape": 1,
    "python_value": 1,
    "python_type": 2,
    "rank": 2,
    "object_identity": 2,
    "alias": 2,
    "dtype": 3,
    "structure": 4,
}


@dataclass(frozen=True)
class Cause:
    """One reason why a call found no trace.

    Attributes:
        code: The kind of cause, a `nbfn.protocol.CauseCode`.
        sentence: The cause in words, with the user's own names.
        path: Path of the argument that differs, if one does.
        old: What the nearest trace was made for.
        new: What the call brought.
    """

    code: str
    sentence: str
    path: str | None = None
    old: str | None = None
    new: str | None = None

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Retrace:
    """A call that found no trace although the function had one.

    Attributes:
        number: Its number among the function's retraces, from 1.
        causes: Every difference from the nearest trace.
        nearest: The numbers of all nearest traces.
        trace: The number of the trace that the call made.
        site: The calling cell and line.
        trace_seconds: What tracing cost.
        remedy: What to change, where something can be.
    """

    number: int
    causes: tuple[Cause, ...]
    nearest: tuple[int, ...]
    trace: int
    site: Site
    trace_seconds: float
    remedy: Remedy | None

    def __str__(self) -> str:
        reasons = "; ".join(cause.sentence for cause in self.causes)
        text = f"retrace {self.number} ({self.site}, {self.trace_seconds * 1e3:.0f} ms): {reasons}"
        return text if self.remedy is None else f"{text}. {self.remedy.sentence}"


def explain(key: Key, traces: Sequence[Trace]) -> tuple[tuple[Cause, ...], tuple[Trace, ...]]:
    """Compares a missed key with every trace.

    Args:
        key: The key that was not found.
        traces: The traces in the cache, oldest first.

    Returns:
        The causes against the newest of the nearest traces, and all nearest traces.
    """
    scored = [(differences(trace.key, key), trace) for trace in traces]
    if not scored:
        return (), ()
    best = min(_score(causes) for causes, _ in scored)
    nearest = [(causes, trace) for causes, trace in scored if _score(causes) == best]
    causes = nearest[-1][0]
    if not causes:
        causes = (Cause("context", "the context differs: another graph, device or strategy"),)
    return tuple(_with_history(c, key, traces) for c in causes), tuple(t for _, t in nearest)


def _score(causes: Sequence[Cause]) -> int:
    return sum(_WEIGHT.get(cause.code, 1) for cause in causes)


def differences(old: Key, new: Key) -> tuple[Cause, ...]:
    """Every difference between two keys, outermost first."""
    causes: list[Cause] = []
    replaced: list[str] = []
    for path in {**old.containers, **old.leaves, **new.containers, **new.leaves}:
        if any(path.startswith(root) and path[len(root)] in ".[" for root in replaced):
            continue
        before = old.containers.get(path)
        after = new.containers.get(path)
        if before is not None or after is not None:
            if before != after:
                replaced.append(path)
                causes.append(_structure(path, old, new))
            continue
        if path not in old.leaves or path not in new.leaves:
            causes.append(_structure(path, old, new))
        else:
            cause = _leaf(path, old.leaves[path], new.leaves[path])
            if cause is not None:
                causes.append(cause)
    return tuple(causes)


def _structure(path: str, old: Key, new: Key) -> Cause:
    before = old.containers.get(path) or str(old.leaves.get(path, "absent"))
    after = new.containers.get(path) or str(new.leaves.get(path, "absent"))
    return _cause("structure", path, "structure", before, after)


def _leaf(path: str, old: Leaf, new: Leaf) -> Cause | None:
    if isinstance(old, TensorLeaf) and isinstance(new, TensorLeaf):
        return _tensor(path, old, new)
    if isinstance(old, ValueLeaf) and isinstance(new, ValueLeaf):
        if old.same(new):
            return None
        if type(old.value) is not type(new.value):
            return _cause("python_type", path, "Python type", str(old), str(new))
        return _cause("python_value", path, "Python value", repr(old.value), repr(new.value))
    if isinstance(old, ObjectLeaf) and isinstance(new, ObjectLeaf):
        if old.alive and old.identity == new.identity:
            return None
        return _cause("object_identity", path, "another object", str(old), str(new))
    return _cause("python_type", path, "kind of argument", str(old), str(new))


def _tensor(path: str, old: TensorLeaf, new: TensorLeaf) -> Cause | None:
    if old.spec == new.spec or old.spec.is_subtype_of(new.spec):
        return None
    if old.kind != new.kind:
        return _cause("python_type", path, "kind of tensor", str(old), str(new))
    if old.dtype != new.dtype:
        return _cause("dtype", path, "dtype", str(old.dtype), str(new.dtype))
    if old.shape != new.shape:
        if old.shape is not None and new.shape is not None and len(old.shape) != len(new.shape):
            before, after = (f"{len(s)} {s}" for s in (old.shape, new.shape))
            return _cause("rank", path, "rank", before, after)
        return _cause("shape", path, "shape", str(old.shape), str(new.shape))
    if old.kind == "Variable":
        return Cause(
            "alias",
            f"`{path}`: the same variable is passed for other parameters than before",
            path,
        )
    return _cause("structure", path, "type", str(old.spec), str(new.spec))


def _cause(code: str, path: str, what: str, old: str, new: str) -> Cause:
    return Cause(code, f"`{path}`: {what} was {old}, is {new}", path, old, new)


def _with_history(cause: Cause, key: Key, traces: Sequence[Trace]) -> Cause:
    """Adds how often this argument has changed, which tells a drift from a single change."""
    if cause.code not in ("python_value", "shape") or cause.path is None:
        return cause
    seen: dict[str, None] = {}
    for each in [*(trace.key for trace in traces), key]:
        leaf = each.leaves.get(cause.path)
        if isinstance(leaf, ValueLeaf):
            seen[repr(leaf.value)] = None
        elif isinstance(leaf, TensorLeaf):
            seen[str(leaf.shape)] = None
    if len(seen) < 3:
        return cause
    values = list(seen)
    listed = ", ".join(values[:5]) + (", ..." if len(values) > 5 else "")
    kind = "value" if cause.code == "python_value" else "shape"
    sentence = f"{cause.sentence} ({len(values)} different {kind}s so far: {listed})"
    return Cause(cause.code, sentence, cause.path, cause.old, cause.new)
