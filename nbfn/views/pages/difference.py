"""The differences of two traces side by side, as an outline."""

from __future__ import annotations

from collections.abc import Mapping

from nbfn.functions.retraces.diff import TraceDiff
from nbfn.functions.traces.capture import Capture
from nbfn.outlines.outline import MAX_CELL, Outline, Table
from nbfn.text import apart

_Rows = list[tuple[str, str, str]]


def difference_outline(diff: TraceDiff) -> Outline:
    """Returns the outline of two traces: a table for each kind of difference, in two columns."""
    sides = sides_of(diff)
    if diff.same:
        return Outline(f"{sides[0]} and {sides[1]} do the same")
    causes: _Rows = []
    lines = []
    for cause in diff.causes:
        if cause.path is None or cause.old is None or cause.new is None:
            lines.append(cause.sentence)
        else:
            causes.append((cause.path, cause.old, cause.new))
    tables: dict[tuple[str, str], _Rows] = {
        ("made for", "what"): causes,
        ("captures", "name"): _captures(diff),
        ("operations by type", "type"): [
            (kind, str(before), str(after)) for kind, (before, after) in diff.types.items()
        ],
        ("constants", "operation"): [(each.name, each.old, each.new) for each in diff.constants],
        ("operations", "name"): _names(diff.removed, diff.added),
        ("changed operations", "operation"): [
            (f"{each.name}: {each.what}", *apart(each.old, each.new, MAX_CELL))
            for each in diff.changed
        ],
        ("size", "of the graph"): [
            (what, f"{before:,}", f"{after:,}")
            for what, (before, after) in (("operations", diff.operations), ("bytes", diff.nbytes))
            if before != after
        ],
    }
    return Outline(
        f"{sides[0]} → {sides[1]}",
        lines,
        [
            Table(title, (what, *sides), rows, open=True, kind="sides")
            for (title, what), rows in tables.items()
        ],
    )


def sides_of(diff: TraceDiff) -> tuple[str, str]:
    """Returns the titles of the two traces."""
    old, new = diff.numbers
    if old == new:  # of two functions
        return f"first: trace {old}", f"second: trace {new}"
    return f"trace {old}", f"trace {new}"


def _captures(diff: TraceDiff) -> _Rows:
    """Returns the captures of only one trace; two of one name are side by side."""
    rows: _Rows = []
    added = list(diff.added_captures)
    for capture in diff.removed_captures:
        same = next((each for each in added if each.name == capture.name), None)
        if same is not None:
            added.remove(same)
        rows.append(
            (capture.name, _thing(capture), "" if same is None else _another(capture, same))
        )
    return rows + [(each.name, "", _thing(each)) for each in added]


def _another(old: Capture, new: Capture) -> str:
    text = _thing(new)
    return f"another {text}" if text == _thing(old) else text


def _thing(capture: Capture) -> str:
    return str(capture).removeprefix(f"{capture.name}: ")


def _names(removed: Mapping[str, str], added: Mapping[str, str]) -> _Rows:
    rows = [(name, kind, "") for name, kind in removed.items()]
    return rows + [(name, "", kind) for name, kind in added.items()]
