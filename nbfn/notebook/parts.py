"""The results of a traced cell, parted into the graph's tensors and Python values, and joined."""

from __future__ import annotations

import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.naming import named_leaves
from nbfn.notebook.kinds import is_named_tuple, is_tensor, is_variable

_LITERALS = (bool, int, float, complex, str, bytes, type(None), np.generic)
_DICTS = (dict, OrderedDict, defaultdict)
Path = tuple[Any, ...]
_STREAMS = (tf.data.Dataset, tf.data.Iterator, tf.TensorArray)


@dataclass(frozen=True)
class Slot:
    """Stands for a tensor: where it is in what the graph returns."""

    path: Path


@dataclass(frozen=True)
class Known:
    """Stands for something the notebook had before: the way that leads to it."""

    path: Path


@dataclass
class Node:
    """Stands for a container.

    Attributes:
        make: Makes an empty container, or one of the items if it cannot be filled later.
        keys: The keys of a dict.
        children: What stands for the items.
    """

    make: Callable[..., Any]
    keys: tuple[Any, ...] | None = None
    children: list[Any] = field(default_factory=list)


class _Gone:
    """Stands for a Python object that did not outlive the trace, such as a gradient tape."""


GONE = _Gone()


class Held:
    """An object that the cell made, or that it gave another name."""

    def __init__(self, value: Any) -> None:
        self._strong = value
        try:
            self._weak: Any = weakref.ref(value)
        except TypeError:
            self._weak = None

    def get(self) -> Any:
        """The object, or `GONE`."""
        if self._weak is None:
            return self._strong
        target = self._weak()
        return GONE if target is None else target

    def loosen(self) -> None:
        """Lets go of the object, if it can be held weakly."""
        if self._weak is not None:
            self._strong = None


class Parting:
    """Parts the values of one trace; what is one object in two places stays one.

    Args:
        known: What the notebook had before, by ``id``: the way that leads to it.
        namespace: The notebook's names, which lead to its variables.
        local_state: Whether other variables end with the call.
    """

    def __init__(
        self,
        known: Mapping[int, Path],
        namespace: Mapping[str, Any],
        local_state: bool = False,
    ) -> None:
        self._known = known
        self._local_state = local_state
        self._namespace = namespace
        self._done: dict[int, tuple[Any, Any]] = {}
        self._alive: list[Any] = []

    def part(self, value: Any, at: Path) -> tuple[Any, Any]:
        """Parts a value that the graph returns at a place.

        Returns:
            What stands for the value, and what the graph returns: the value's tensors in its own
            structure, or None if there are none.
        """
        if id(value) in self._known:
            return Known(self._known[id(value)]), None
        if id(value) in self._done:
            return self._done[id(value)]
        parted = self._part(value, at)
        if not isinstance(value, _LITERALS):
            self._done[id(value)] = parted
            self._alive.append(value)  # an id may be used again
        return parted

    def _part(self, value: Any, at: Path) -> tuple[Any, Any]:
        if isinstance(value, tf.GradientTape):
            return GONE, None
        if isinstance(value, tf.Variable):
            return self._variable(value, at)
        if is_variable(value):
            return Held(value), None
        if isinstance(value, _STREAMS):
            return self._stream(value, at)
        if isinstance(value, tf.Operation):  # eagerly there is none
            return None, None
        if isinstance(value, np.ndarray):
            return value.copy(), None
        if isinstance(value, (*_LITERALS, type, tf.DType, tf.TensorShape)):
            return value, None
        if is_tensor(value):
            return Slot(at), value
        if type(value) in _DICTS:
            return self._dict(value, at)
        if is_named_tuple(value):
            return self._items(value, Node(_named(type(value))), at)
        if isinstance(value, (list, tuple)) or type(value) in (set, frozenset, deque):
            return self._items(value, Node(type(value)), at)
        return Held(value), None

    def _variable(self, value: Any, at: Path) -> tuple[Any, Any]:
        """A variable; what ``assign`` returns in a graph is one more, with the same handle."""
        assigned = _tensorflow.is_assigned_variable(value)
        if tf.executing_eagerly() or not (assigned or self._local_state):
            return Held(value), None
        read = tf.identity(value) if assigned else None
        for leaf in named_leaves(iter(list(self._namespace.items()))).values():
            if isinstance(leaf, tf.Variable) and leaf.handle is value.handle:
                return Held(leaf), read
        if self._local_state:
            return (Slot(at), read) if assigned else (GONE, None)
        return Held(value), read

    def _stream(self, value: Any, at: Path) -> tuple[Any, Any]:
        """A data set of the graph is returned; its iterator or tensor array would be dead."""
        is_array = isinstance(value, tf.TensorArray)
        parts = [value.flow] if is_array else tf.nest.flatten(value, expand_composites=True)
        if not any(tf.is_symbolic_tensor(part) for part in parts):
            return Held(value), None
        return (Slot(at), value) if isinstance(value, tf.data.Dataset) else (GONE, None)

    def _items(self, value: Any, node: Node, at: Path) -> tuple[Any, Any]:
        self._done[id(value)] = (node, None)
        returned = []
        for number, item in enumerate(value):
            child, skeleton = self.part(item, (*at, number))
            node.children.append(child)
            returned.append(skeleton)
        return node, _or_none(returned)

    def _dict(self, value: Any, at: Path) -> tuple[Any, Any]:
        make: Any = type(value)
        if isinstance(value, defaultdict):
            factory = value.default_factory
            make = lambda: defaultdict(factory)  # noqa: E731
        node = Node(make, tuple(value))
        self._done[id(value)] = (node, None)
        named = all(isinstance(key, str) for key in value)
        returned: dict[Any, Any] = {}
        for number, (key, item) in enumerate(value.items()):
            place = key if named else number
            child, returned[place] = self.part(item, (*at, place))
            node.children.append(child)
        kept = _or_none(list(returned.values()))
        return node, kept if kept is None or not named else returned


def _or_none(returned: list[Any]) -> list[Any] | None:
    return None if all(item is None for item in returned) else returned


def _named(cls: Any) -> Callable[..., Any]:
    return lambda items: cls(*items)


class Joining:
    """Puts values together again after one call.

    Args:
        returned: What the graph returned.
        find: Finds what the notebook had before, by the way that leads to it.
    """

    def __init__(self, returned: Any, find: Callable[[Path], Any]) -> None:
        self._returned = returned
        self._find = find
        self._done: dict[int, Any] = {}

    def join(self, part: Any) -> Any:
        """The value that a part stands for; `GONE` if a piece of it is."""
        if isinstance(part, Slot):
            value = self._returned
            for step in part.path:
                value = value[step]
            return value
        if isinstance(part, Known):
            return self._find(part.path)
        if isinstance(part, Held):
            return part.get()
        if isinstance(part, np.ndarray):
            return self._once(part, part.copy)
        if isinstance(part, Node):
            return self._done[id(part)] if id(part) in self._done else self._container(part)
        return part

    def _once(self, part: Any, make: Callable[[], Any]) -> Any:
        if id(part) not in self._done:
            self._done[id(part)] = make()
        return self._done[id(part)]

    def _container(self, node: Node) -> Any:
        made: Any = None
        if node.keys is not None or node.make is list:
            made = self._done[id(node)] = node.make()
        items = [self.join(child) for child in node.children]
        if any(item is GONE for item in items):
            self._done[id(node)] = GONE
            return GONE
        if node.keys is not None:
            made.update(zip(node.keys, items, strict=True))
        elif made is not None:
            made.extend(items)
        else:
            made = self._done[id(node)] = node.make(items)
        return made


def loosen(part: Any, seen: set[int] | None = None) -> None:
    """Lets go of the objects in a part, now that the notebook has them."""
    seen = set() if seen is None else seen
    if isinstance(part, Held):
        part.loosen()
    elif isinstance(part, Node) and id(part) not in seen:
        seen.add(id(part))
        for item in part.children:
            loosen(item, seen)
