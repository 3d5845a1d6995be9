"""What something changeable holds, kept so that a change can be told and taken back."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.notebook.cells.kinds import is_tensor
from nbfn.notebook.cells.objects import (
    ABSENT,
    CONTAINERS,
    Elements,
    append_items,
    attributes,
    fill_items,
    has_attributes,
    is_plain,
    items,
    set_attribute,
    set_items,
)


@dataclass(frozen=True)
class Content:
    """What something holds, or what has changed of it.

    Attributes:
        items: A plain copy of its items; None if it has none, or they have not changed.
        attributes: Its attributes, `ABSENT` for those that were taken away.
        how: What the items are: ``"all"`` of them; all of them, each time anew (``"refill"``);
            those to ``"append"``; a dict of those to ``"set"``, by key or number, or a set of those
            to add.
        removed: Keys or members that are gone, where the items are those to set.
    """

    items: Any
    attributes: dict[str, Any]
    how: str = "all"
    removed: tuple[Any, ...] = ()

    @property
    def is_absolute(self) -> bool:
        """Whether all items are told, whatever they were before."""
        return self.how == "all" and self.items is not None

    def attribute(self, name: str) -> Any:
        """An attribute, or `ABSENT`."""
        return self.attributes.get(name, ABSENT)


_NONE: dict[str, Any] = {}


def content_of(value: Any) -> Content:
    """What a container, an array, an object, a class, a function or a module holds now."""
    if type(value) is list or type(value) is dict:
        return Content(value.copy(), _NONE)
    return Content(items(value), attributes(value) if _shows_attributes(value) else {})


def _shows_attributes(value: Any) -> bool:
    if isinstance(value, (type, CellType, FunctionType, ModuleType)):
        return True
    if isinstance(value, (*CONTAINERS, np.ndarray)):  # a library's may keep notes of its own
        return is_plain(type(value)) and has_attributes(value)
    return has_attributes(value)


def parts_of(content: Content) -> Iterator[tuple[tuple[str, Any], Any]]:
    """The items and attributes, each with the step that leads to it."""
    if isinstance(content.items, dict):
        yield from ((("item", key), item) for key, item in content.items.items())
    elif isinstance(content.items, (list, deque)):
        yield from ((("item", number), item) for number, item in enumerate(content.items))
    yield from ((("attribute", name), item) for name, item in content.attributes.items())


def changed(
    value: Any, before: Content, counts: Callable[[str | None, Any], bool] = lambda *_: True
) -> Content | None:
    """What has changed; None if nothing has that counts.

    Args:
        value: The value.
        before: What it held.
        counts: Says it of the items, by None, or an attribute, by its name, and its new value.
    """
    now = content_of(value)
    if not now.attributes and not before.attributes and _same_items(before.items, now.items):
        return None
    new = {n: item for n, item in now.attributes.items() if item is not before.attribute(n)}
    gone = dict.fromkeys(before.attributes.keys() - now.attributes.keys(), ABSENT)
    attributes = {name: item for name, item in {**new, **gone}.items() if counts(name, item)}
    same = _same_items(before.items, now.items) or not counts(None, now.items)
    if same and not attributes:
        return None
    return Content(None, attributes) if same else _change(before.items, now.items, attributes)


def _change(before: Any, now: Any, attributes: dict[str, Any]) -> Content:
    """The least that makes the items of before those of now.

    What else the user puts there later, which the trace knows nothing of, then stays.
    """
    if isinstance(now, np.ndarray) and not now.dtype.hasobject:
        return Content(_elements(before, now), attributes, "set")
    if isinstance(now, dict):
        items = {k: item for k, item in now.items() if k not in before or item is not before[k]}
        gone = tuple(key for key in before if key not in now)
        if list(now) == [key for key in before if key in now] + [k for k in now if k not in before]:
            return Content(items, attributes, "set", gone)
    elif isinstance(now, set):
        return Content(now - before, attributes, "set", tuple(before - now))
    elif isinstance(now, (list, deque, bytearray, array)):
        old, new = list(before), list(now)
        if _alike(new[: len(old)], old):
            return Content(new[len(old) :], attributes, "append")
        if isinstance(now, deque) and (added := _pushed(old, new)):
            return Content(new[-added:], attributes, "append")
        if len(old) == len(new):
            items = {n: item for n, item in enumerate(new) if item is not old[n]}
            return Content(items, attributes, "set")
    return Content(now, attributes)


def _alike(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))


def _pushed(old: list[Any], new: list[Any]) -> int:
    """How many items were appended to a full deque; 0 if something else was done."""
    if len(old) == len(new):
        for added in range(1, len(old) + 1):
            if _alike(old[added:], new[: len(new) - added]):
                return added
    return 0


def _elements(before: np.ndarray, now: np.ndarray) -> Elements:
    old, new = (
        np.ascontiguousarray(each).reshape(-1).view(np.uint8).reshape(each.size, -1)
        for each in (before, now)
    )
    numbers = np.flatnonzero((old != new).any(axis=1))
    return Elements(numbers, now.reshape(-1)[numbers])


def _same_items(before: Any, now: Any) -> bool:
    if isinstance(before, np.ndarray):
        if before.dtype != now.dtype or now.dtype.hasobject:
            return before.dtype == now.dtype and _alike(list(before.flat), list(now.flat))
        return bool(before.tobytes() == now.tobytes())
    if isinstance(before, dict):
        return list(before) == list(now) and all(now[key] is before[key] for key in before)
    if isinstance(before, (list, deque)):
        return _alike(before, now)
    return bool(before == now)


def put_back(value: Any, before: Content, now: Content) -> None:
    """Gives back what has changed."""
    if now.items is not None:
        fill_items(value, before.items)
    for name in now.attributes:
        set_attribute(value, name, before.attribute(name))


def change_of(value: Any, content: Content) -> Callable[[], None]:
    """Gives what has changed to a value, as it is now; done twice, it is as if done once."""
    size = len(value) if content.how == "append" else 0
    if content.how == "append" and isinstance(value, deque):
        content = replace(content, items=[*value, *content.items], how="all")

    def change() -> None:
        if content.how == "append":
            append_items(value, content.items, size)
        elif content.how == "set":
            set_items(value, content.items, content.removed)
        elif content.items is not None:
            fill_items(value, content.items)
        for name, item in content.attributes.items():
            set_attribute(value, name, item)

    return change


# Tensors of a graph --------------------------------------------------------------------


def is_graph_tensor(value: Any) -> bool:
    """Whether a value is a tensor of a graph, which means nothing outside it."""
    return is_tensor(value) and not _is_eager(value)


def _is_eager(value: Any) -> bool:
    parts = tf.nest.flatten(value, expand_composites=True)
    return all(hasattr(part, "numpy") for part in parts)


def holds_graph_tensor(value: Any) -> bool:
    """Whether a value is, or is a nest with, a tensor of a graph."""
    return any(is_graph_tensor(leaf) for leaf in leaves(value))


def leaves(value: Any) -> list[Any]:
    """The leaves of a nest; none if the user's classes in it do not let it be flattened."""
    try:
        return list(tf.nest.flatten(value))
    except Exception:  # they may do anything
        return []
