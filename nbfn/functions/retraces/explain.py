"""Explains why a call found no trace: the causes of a miss, against all nearest traces.

The causes come from the trace cache's key, leaf by leaf. Every differing leaf is reported, and
every trace that is equally near.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from nbfn.functions.traces.capture import short_device
from nbfn.functions.traces.cause import Cause, Kind, Wanted
from nbfn.functions.traces.context import Context, Strategy
from nbfn.functions.traces.key import (
    Key,
    Leaf,
    ObjectLeaf,
    TensorLeaf,
    ValueLeaf,
    number_fits,
)
from nbfn.site import cell_that_set, reached_from_cells
from nbfn.state.state import Change, Source
from nbfn.state.values.fingerprints import ABSENT, UNDEFINED, another
from nbfn.text import INTERNAL, apart, shorten, sizes, with_article

if TYPE_CHECKING:
    from nbfn.functions.traces.trace import Trace

_WEIGHT = {
    "python_type": 2,
    "rank": 2,
    "object_identity": 2,
    "alias": 2,
    "dtype": 3,
    "structure": 4,
}
"""The weight of a difference of this kind in the distance of a trace; others count 1.

A heuristic: see ``tests/functions/retraces/test_explain.py``.
"""

_TYPE = Cause("context", "a value that the function captures by reference has another type")

Shape = tuple[int | None, ...]

_MANY = 3
"""From this number, causes of one kind within one argument are reported as one."""

_FEW = 5
"""Maximum number of values or shapes of an argument that are listed."""

_MAX_SIDE = 200
"""Maximum number of characters of the old and of the new value in a sentence."""


def explain(wanted: Wanted, traces: Sequence[Trace]) -> tuple[tuple[Cause, ...], tuple[Trace, ...]]:
    """Compares a miss with every trace in the cache, oldest first.

    Returns:
        The causes against the newest of the nearest traces, and all nearest traces.
    """
    if not traces:
        return (), ()
    scores = [_score(trace, wanted) for trace in traces]
    best = min(scores)
    nearest = [trace for trace, score in zip(traces, scores, strict=True) if score == best]
    causes = all_differences(nearest[-1], wanted)
    if not causes:
        changed = nearest[-1].state.changes(wanted.state.fingerprints)
        causes = (_cause_in_owner(changed[0][0]) if changed else _TYPE,)
    return tuple(_with_history(c, wanted.key, traces) for c in causes), tuple(nearest)


def _score(trace: Trace, wanted: Wanted) -> int:
    """Returns the distance of a trace; builds no text, as there may be many traces."""
    score = sum(_WEIGHT.get(code, 1) for _, code in _codes(trace.key, wanted.key))
    if trace.context != wanted.context:
        score += len(list(_context_causes(trace.context, wanted.context)))
        score += len(trace.state.differences(wanted.state))
    return score


def all_differences(trace: Trace, wanted: Wanted) -> tuple[Cause, ...]:
    """Returns every difference between what a trace was made for and what is wanted."""
    of_arguments = differences(trace.key, wanted.key)
    others = tuple(f"{c.path}." for c in of_arguments if c.code == "object_identity")
    changed = stale_causes(trace.state.differences(wanted.state))
    return (
        *of_arguments,
        *_context_causes(trace.context, wanted.context),
        # Changes below a different object are not reported separately.
        *(cause for cause in changed if not str(cause.path).startswith(others)),
    )


def stale_causes(changed: Iterable[Change]) -> tuple[Cause, ...]:
    """Returns the causes for Python state that a trace read and that has changed."""
    causes = []
    for source, (old, new) in changed:
        was, now = old.text, new.text
        module, found, _ = source.route.partition(":")
        at = module if found else None
        read = f"{source.kind} `{reached_from_cells(at, source.name)[1]}`"
        sentence = f"{read} was {was}, is {now}"
        if was == now and new.kind in ("object", "variable", "tensor"):
            now = another(new)
            cell = cell_that_set(at, source.name)
            number = None if cell is None else cell.execution_count
            where = f", set in In [{number}]" if number else ""
            sentence = f"{read} is {now}{where}"
        elif was == now:
            sentence = f"{read} has changed: {now}"
        kind = new.kind
        if source.kind == "setting" or (new in (ABSENT, UNDEFINED) and old.kind == "object"):
            kind = "object"
        causes.append(Cause("stale", sentence, source.name, was, now, source.kind, kind, at))
    return tuple(causes)


def _cause_in_owner(source: Source) -> Cause:
    """Returns the cause for a change in Keras's private state, naming the object that has it."""
    owner = source.name.rpartition(".")[0] or source.name
    return Cause("stale", f"`{owner}` has other settings than before", owner, kind="object")


def _context_causes(old: Context | None, new: Context | None) -> Iterator[Cause]:
    if old is None or new is None:
        return
    if old.device != new.device:
        before, after = (short_device(c.device) if c.device else "none" for c in (old, new))
        yield Cause("device", f"the device scope was {before}, is {after}", None, before, after)
    if old.strategy != new.strategy:
        yield _strategy_cause(old.strategy, new.strategy)
    if old.graph != new.graph:
        was, now = ("in a tf.Graph" if each.graph else "eagerly" for each in (old, new))
        now = "in another tf.Graph" if old.graph and new.graph else now
        yield Cause("context", f"it was called {was}, is called {now}", None, was, now)
    if old.summaries != new.summaries:
        yield Cause("summaries", "the summary writer or its condition differs")
    was_shared, is_shared = dict(old.shared), dict(new.shared)
    for path in {**was_shared, **is_shared}:
        if was_shared.get(path) != is_shared.get(path):
            another = "another" if path in was_shared else "one"
            sentence = f"`{path}` is {another} of the variables that the code itself reads"
            if path not in is_shared:
                sentence = f"`{path}` was one of the variables that the code itself reads"
            yield Cause("alias", sentence, path, kind="variable")


def _strategy_cause(old: Strategy | None, new: Strategy | None) -> Cause:
    was, now = ("none" if each is None else each.label for each in (old, new))
    if old is not None and new is not None and ((old.label, old.number) == (new.label, new.number)):
        was, now = ("a replica" if each.is_replica else "across replicas" for each in (old, new))
    elif was == now:
        now = f"another {now} object"
    return Cause("strategy", f"the strategy was {was}, is {now}", None, was, now)


def differences(old: Key, new: Key) -> tuple[Cause, ...]:
    """Returns every difference between two keys, outermost first; combines many sizes."""
    causes = (_describe(path, code, old, new) for path, code in _codes(old, new))
    return combined(causes, "shape", "shapes in `{}` differ")


def combined(causes: Iterable[Cause], code: str, what: str) -> tuple[Cause, ...]:
    """Combines causes of one code that concern many parts of an argument, such as variables.

    Args:
        causes: The causes.
        code: The code of those to combine.
        what: Says what they are, with a place for the argument.
    """
    groups: dict[Any, list[Cause]] = {}
    for n, each in enumerate(causes):
        is_part = each.code == code and each.path is not None
        groups.setdefault(each.argument if is_part else n, []).append(each)
    found: list[Cause] = []
    for group in groups.values():
        if len(group) < _MANY:
            found += group
        else:
            first, argument = group[0], group[0].argument
            sentence = f"{len(group)} {what.format(argument)}, such as {first.sentence}"
            found.append(replace(first, sentence=sentence, path=argument))
    return tuple(found)


def _codes(old: Key, new: Key) -> Iterator[tuple[str, str]]:
    """Yields the path and the code of every difference between two keys, outermost first."""
    if old.containers == new.containers and old.leaves.keys() == new.leaves.keys():
        for path, leaf in new.leaves.items():
            if old.leaves[path].token != leaf.token:
                for code in _codes_of_leaf(old.leaves[path], leaf):
                    yield path, code
        return
    replaced: list[str] = []
    for path in {**old.containers, **old.leaves, **new.containers, **new.leaves}:
        if replaced and any(path.startswith(root) and path[len(root)] in ".[" for root in replaced):
            continue
        if old.containers.get(path) != new.containers.get(path):
            replaced.append(path)
            yield path, "structure"
        elif path in old.leaves and path in new.leaves:
            if old.leaves[path].token != new.leaves[path].token:
                for code in _codes_of_leaf(old.leaves[path], new.leaves[path]):
                    yield path, code
        elif path not in old.containers:
            yield path, "structure"


def _codes_of_leaf(old: Leaf, new: Leaf) -> tuple[str, ...]:
    """Returns the codes of the differences of two leaves."""
    if isinstance(old, TensorLeaf) and isinstance(new, TensorLeaf):
        return _codes_of_tensor(old, new)
    if isinstance(old, TensorLeaf) and old.takes(new):
        return ()
    if isinstance(old, ValueLeaf) and isinstance(new, ValueLeaf):
        return ("python_type" if type(old.value) is not type(new.value) else "python_value",)
    both = isinstance(old, ObjectLeaf) and isinstance(new, ObjectLeaf)
    return ("object_identity" if both else "python_type",)


def _codes_of_tensor(old: TensorLeaf, new: TensorLeaf) -> tuple[str, ...]:
    if old.kind != new.kind:
        return ("python_type",)
    if old.serves(new):
        return ()
    codes: tuple[str, ...] = () if old.dtype == new.dtype else ("dtype",)
    if old.shape is not None and not _fits(old.shape, new.shape):
        same_rank = new.shape is None or len(old.shape) == len(new.shape)
        codes += ("shape" if same_rank else "rank",)
    return codes or ("alias" if old.kind == "Variable" else "structure",)


def _fits(open_shape: Shape, shape: Shape | None) -> bool:
    """Returns whether a shape is compatible with one that may have open sizes."""
    return (
        shape is not None
        and len(shape) == len(open_shape)
        and all(a in (None, b) for a, b in zip(open_shape, shape, strict=True))
    )


def _describe(path: str, code: str, old: Key, new: Key) -> Cause:
    """Returns a difference as a cause, in words."""
    before, after = old.leaves.get(path), new.leaves.get(path)
    if path.startswith(INTERNAL):
        return Cause(code, f"the loop was over {before}, is over {after}")
    if code == "alias":
        sentence = f"`{path}`: the same variable is passed for other parameters than before"
        return Cause("alias", sentence, path)
    if isinstance(before, TensorLeaf) and isinstance(after, TensorLeaf):
        if code == "python_type":
            return _leaf_cause(
                code, path, "kind of tensor", str(before), str(after), _number(before, after)
            )
        if code == "dtype":
            return _leaf_cause(code, path, "dtype", str(before.dtype), str(after.dtype))
        if code == "shape":
            return _leaf_cause(code, path, "shape", sizes(before.shape), sizes(after.shape))
        if code == "rank":
            was, now = (
                "unknown" if s is None else f"{len(s)} {sizes(s)}"
                for s in (before.shape, after.shape)
            )
            return _leaf_cause(code, path, "rank", was, now)
        if code == "structure":
            return _leaf_cause(code, path, *_differing_property(before.spec, after.spec))
    if isinstance(before, ValueLeaf) and isinstance(after, ValueLeaf) and code == "python_value":
        kind = "field" if after.in_spec else _number(before, after)
        return _leaf_cause(code, path, "Python value", before.text, after.text, kind)
    if code == "structure":
        was = old.containers.get(path) or str(before or "absent")
        now = new.containers.get(path) or str(after or "absent")
        if "absent" in (was, now):
            passed = "passed" if was == "absent" else "not passed"
            return Cause(code, f"`{path}` is {passed}, unlike before", path, was, now)
        return _leaf_cause(code, path, "structure", was, now, _sequence(old, new, path))
    if isinstance(before, ObjectLeaf) and isinstance(after, ObjectLeaf):
        was, now = with_article(before.type_name), with_article(after.type_name)
        sentence = f"`{path}` is another {after.type_name}"
        if was != now:
            sentence = f"`{path}` was {was}, is {now}"
        code_alone = before.type_name == after.type_name == "function"
        return Cause(code, sentence, path, was, now, kind="function" if code_alone else None)
    what = "kind of argument"
    if code == "python_type" and isinstance(before, ValueLeaf) and isinstance(after, ValueLeaf):
        what = "Python type"
    return _leaf_cause(code, path, what, str(before), str(after), _number(before, after))


def _number(*leaves: Leaf | None) -> Kind:
    """Returns ``"number"`` if one tensor can replace all of them, and ``"scalar"`` if one does.

    A scalar tensor does if the other is a number that it can represent.
    """
    if all(map(_is_number, leaves)):
        return "number"
    tensors = [each for each in leaves if isinstance(each, TensorLeaf)]
    is_scalar = [(each.kind, each.shape) for each in tensors] == [("Tensor", ())]
    fits = [
        number_fits(each.value, tensors[0].spec.dtype)
        for each in leaves
        if is_scalar and isinstance(each, ValueLeaf)
    ]
    return "scalar" if fits == [True] else None


def _is_number(leaf: Leaf | None) -> bool:
    if isinstance(leaf, TensorLeaf):
        return leaf.takes_numbers
    whole = isinstance(leaf, ValueLeaf) and isinstance(leaf.value, int)
    dtype = tf.int32 if whole else tf.float32
    return isinstance(leaf, ValueLeaf) and number_fits(leaf.value, dtype)


def _sequence(old: Key, new: Key, path: str) -> Kind:
    """Returns ``"sequence"`` if both are lists, or both tuples, of different lengths."""
    kinds = [each.containers.get(path, "").partition(" of ")[0] for each in (old, new)]
    return "sequence" if kinds in (["list"] * 2, ["tuple"] * 2) else None


def _differing_property(old: Any, new: Any) -> tuple[str, str, str]:
    """Returns the property in which two specifications of one kind differ, and its values."""
    for name in dir(type(old)):
        if not name.startswith("_") and isinstance(getattr(type(old), name), property):
            was, now = (repr(getattr(each, name, None)) for each in (old, new))
            if was != now:
                return name, was, now
    return "type", shorten(str(old)), shorten(str(new))


def _leaf_cause(code: str, path: str, what: str, old: str, new: str, kind: Kind = None) -> Cause:
    old, new = apart(old, new, _MAX_SIDE)
    return Cause(code, f"`{path}`: {what} was {old}, is {new}", path, old, new, kind=kind)


def _with_history(cause: Cause, key: Key, traces: Sequence[Trace]) -> Cause:
    """Adds how often this argument has changed, which distinguishes a drift from one change."""
    if cause.code not in ("python_value", "shape") or cause.path is None:
        return cause
    of_values = cause.code == "python_value"
    seen: dict[str, None] = {}
    for each in [*(trace.key for trace in traces), key]:
        leaf = each.leaves.get(cause.path)
        if of_values and isinstance(leaf, ValueLeaf):
            seen[leaf.text] = None
        elif not of_values and isinstance(leaf, TensorLeaf):
            seen[sizes(leaf.shape)] = None
    if len(seen) < 3:
        return cause
    kind = "values" if of_values else "shapes"
    listed = f": {', '.join(map(shorten, seen))}" if len(seen) <= _FEW else ""
    sentence = f"{cause.sentence} ({len(seen)} different {kind} so far{listed})"
    return replace(cause, sentence=sentence)
