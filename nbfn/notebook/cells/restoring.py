"""What one call left, in the order in which the notebook can take it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from nbfn.notebook.cells import contents
from nbfn.notebook.cells.contents import Content, content_of
from nbfn.notebook.cells.joining import Joining
from nbfn.notebook.cells.objects import ABSENT
from nbfn.notebook.cells.parts import GONE, Defined, Known, Parts, within
from nbfn.notebook.cells.paths import Path, find


@dataclass(frozen=True)
class Left:
    """What one call left.

    Attributes:
        results: The results by name.
        changes: Each gives what has changed of something that was there before.
        lost: Names whose value did not outlive the trace.
    """

    results: dict[str, Any]
    changes: list[Callable[[], None]]
    lost: list[str]

    def apply(self, namespace: dict[str, Any]) -> None:
        """Puts it into the notebook; after an interrupt, once more."""
        for change in self.changes:
            change()
        namespace.update(self.results)


def restore(parts: Parts, returned: Any, namespace: dict[str, Any]) -> Left:
    """Puts together what one call left.

    Args:
        parts: The parts of the trace that served.
        returned: What the graph returned.
        namespace: The notebook's names. A class that the cell defines is defined anew, with the
            names that the cell leaves, so these are there when this ends.
    """
    joining = Joining(
        returned,
        lambda path: _found(namespace, path),
        lambda part: _defined(namespace, part),
    )
    changed = {path: _found(namespace, path) for path in parts.changes}
    everything = list(parts.all())
    for part in everything:
        if isinstance(part, Known):
            joining.join(part)  # before its name is given to something else
    results: dict[str, Any] = {}
    pending = sorted(
        (part for part in everything if isinstance(part, Defined)),
        key=lambda part: part.code.co_firstlineno,
    )
    before = {
        path: content_of(value)
        for path, value in changed.items()
        if pending and path and value is not GONE
    }
    while True:
        waiting = {id(part) for part in pending}
        for name, part in parts.results.items():
            if name not in results and not any(id(each) in waiting for each in within(part)):
                results[name] = joining.join(part)
        if not pending:
            break
        namespace.update(_kept(results))
        joining.join(pending.pop(0))
    for path, content in before.items():
        now = contents.changed(changed[path], content)
        if now is not None:  # by a statement that has run again; the trace tells of it too
            contents.put_back(changed[path], content, now)
    changes = [
        contents.change_of(changed[path], _joined(joining, content))
        for path, content in parts.changes.items()
        if changed[path] is not GONE
    ]
    ordered = {name: results[name] for name in parts.results}
    return Left(_kept(ordered), changes, [n for n, value in ordered.items() if value is GONE])


def _kept(results: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in results.items() if value is not GONE}


def _joined(joining: Joining, content: Content) -> Content:
    items = joining.join(content.items)
    named = {name: joining.join(part) for name, part in content.attributes.items()}
    if items is GONE:
        return Content(None, _kept(named))
    return replace(content, items=items, attributes=_kept(named))


def _found(namespace: dict[str, Any], path: Path) -> Any:
    try:
        return find(namespace, path) if path else namespace
    except (LookupError, AttributeError, ValueError):  # the notebook has changed since
        return GONE


def _defined(namespace: dict[str, Any], part: Defined) -> Any:
    before = namespace.get(part.name, ABSENT)
    try:
        exec(part.code, namespace)
        return namespace[part.name]
    except Exception:  # it read a name that the cell has taken away since
        return GONE
    finally:
        if before is ABSENT:
            namespace.pop(part.name, None)
        else:
            namespace[part.name] = before
