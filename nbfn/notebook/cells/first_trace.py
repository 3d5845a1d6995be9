"""What a trace that makes variables changes, and the next must find.

A call that makes variables is traced twice. An attribute that says that something has been made,
``self.w = tf.Variable(...)`` or ``self.is_made = True``, must be there in the second trace, as it
is in each later eager run. All else is put back, because the second trace counts and logs again;
what it does not do again, as what belongs to the making, is done once after it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from nbfn.notebook.cells.contents import Content, holds_graph_tensor
from nbfn.notebook.cells.kinds import LITERALS
from nbfn.notebook.cells.objects import ABSENT
from nbfn.notebook.cells.paths import Path


def stays(before: Any, now: Any, is_new: Callable[[Any], bool]) -> bool:
    """Whether a value stays where the trace has put it.

    Args:
        before: What was there; `ABSENT` if nothing was.
        now: What is there.
        is_new: Whether something is, or holds, a variable that was not there before.
    """
    if holds_graph_tensor(now) or now is ABSENT:
        return False
    return is_new(now) or before is ABSENT or before is None or before is False


def without_what_stays(
    before: Content, now: Content, is_new: Callable[[Any], bool]
) -> tuple[Content, Content]:
    """What is to be given back, and instead of what.

    Args:
        before: What something held.
        now: What has changed of it.
        is_new: As for `stays`.
    """
    named = {
        name: item
        for name, item in now.attributes.items()
        if not stays(before.attribute(name), item, is_new)
    }
    if now.how == "append" and isinstance(before.items, list):
        before = replace(before, items=[*before.items, *filter(_is_made, now.items)])
        now = replace(now, items=[item for item in now.items if not _is_made(item)])
    elif now.how == "set" and isinstance(before.items, dict):
        kept = {
            key: item
            for key, item in now.items.items()
            if stays(before.items.get(key, ABSENT), item, is_new)
        }
        before = replace(before, items={**before.items, **kept})
        now = replace(now, items={k: item for k, item in now.items.items() if k not in kept})
    elif is_new(now.items):
        now = replace(now, items=None)
    return before, replace(now, attributes=named)


def what_is_left(change: Content, done: Content | None) -> Content:
    """What remains of a change when another, which was made after it, is taken away."""
    named = {
        name: item
        for name, item in change.attributes.items()
        if not (holds_graph_tensor(item) or (done is not None and name in done.attributes))
    }
    again = done is not None and done.items is not None
    if again or holds_graph_tensor(change.items):
        return Content(None, named)
    return replace(change, attributes=named)


def without_left(changes: Mapping[Path, Content], left: Collection[Path]) -> dict[Path, Content]:
    """Changes, but for those of what has been left, and of what is below that."""
    found = {}
    for path, content in changes.items():
        if not any(path[: len(each)] == each for each in left):
            named = {
                name: item
                for name, item in content.attributes.items()
                if (*path, ("attribute", name)) not in left
            }
            found[path] = replace(content, attributes=named)
    return found


def _is_made(item: Any) -> bool:
    return not isinstance(item, LITERALS) and not holds_graph_tensor(item)
