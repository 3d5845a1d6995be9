"""Saves, compares and restores the Python state that functions can reach."""

from __future__ import annotations

import contextlib
import enum
import random
from collections import ChainMap, UserDict, UserList, UserString, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import CellType, FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import numpy as np
import tensorflow as tf

from nbfn.code import is_user_module
from nbfn.state.helpers import named_values
from nbfn.state.values.fingerprints import content_of, is_immutable
from nbfn.state.values.introspection import own_attributes
from nbfn.state.values.random_numbers import random_state, restore_random_state
from nbfn.state.values.referents import HOLDERS

# A trial copies and compares all of it, so the time has a bound. What lies deeper, or in larger
# containers, is neither reported nor restored.
_MAX_DEPTH = 6
_MAX_ITEMS = 10_000
_WITH_USER_DATA: tuple[type, ...] = (
    *(*HOLDERS, UserDict, UserList, UserString, ChainMap, enum.Enum),
    *(WeakKeyDictionary, WeakValueDictionary, WeakSet),
)
_MISSING = object()


@dataclass(frozen=True)
class _Holder:
    """An object whose content can change.

    Attributes:
        name: The expression by which the code reaches it.
        read: Returns a copy of its content.
        put: Restores a content.
        separator: The text between its name and that of a part; None if parts have no names.
    """

    name: str
    read: Callable[[], Any]
    put: Callable[[Any], None]
    separator: str | None = None

    def place(self, key: Any) -> str:
        """Returns the expression for a part; for the whole if parts have no names."""
        return self.name if self.separator is None else f"{self.name}{self.separator}{key}"

    def changes(self, before: Any, after: Any) -> Iterator[tuple[str, Any]]:
        """Yields each part that differs: its name, and its new value."""
        if self.separator is None:
            if content(before) != content(after):
                yield self.name, after
            return
        # Not a set: changes are reported in the order of the attributes.
        for key in {**before, **after}:
            old, new = before.get(key, _MISSING), after.get(key, _MISSING)
            if old is not new and content(old) != content(new):
                yield self.place(key), new


class SavedState:
    """A copy of what some functions, their owner and their arguments can reach.

    It includes the state of random numbers. Elements are kept alive until the copy is dropped.
    """

    def __init__(self, functions: Iterable[Any], reachable: Mapping[str, Any]) -> None:
        self._holders: list[_Holder] = []
        self._seen: set[int] = set()
        for function in functions:
            self._add_names(function)
        for name, value in reachable.items():
            self._walk(name, value, 0)
        self._saved = [holder.read() for holder in self._holders]
        self._random = random_state()

    def changes(self) -> dict[str, Any]:
        """Returns what has changed since, by the name of the place, with the new values."""
        found: dict[str, Any] = {}
        for holder, before in zip(self._holders, self._saved, strict=True):
            for name, new in holder.changes(before, holder.read()):
                found.setdefault(name, new)
        return found

    def drawn(self) -> list[str]:
        """Returns the sources of random numbers that were drawn from since."""
        now = random_state()
        return [name for name, state in self._random.items() if now[name] != state]

    def restore(self) -> None:
        """Restores everything, except variables and layers that were created since."""
        for holder, before in zip(self._holders, self._saved, strict=True):
            holder.put(before)
        restore_random_state(self._random)

    def symbolic(self) -> dict[str, Any]:
        """Returns graph tensors that Python state now holds, by the name of the place."""
        found: dict[str, Any] = {}
        for holder in self._holders:
            content = holder.read()
            if isinstance(content, (list, set)):
                content = dict(enumerate(content))
            for key, value in content.items() if isinstance(content, dict) else ():
                if tf.is_tensor(value) and tf.is_symbolic_tensor(value):
                    found.setdefault(holder.place(key), value)
        return found

    def _add_names(self, function: Any) -> None:
        names, namespace = set(function.__code__.co_names), function.__globals__

        def read() -> dict[str, Any]:
            return {name: namespace[name] for name in names if name in namespace}

        def put(saved: dict[str, Any]) -> None:
            _restore_items(namespace, saved, added=read().keys() - saved.keys())

        self._holders.append(_Holder("", read, put, ""))
        cells = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, cells, strict=False):
            self._add_cell(name, cell)
        for name, value in named_values(function).items():
            self._walk(name, value, 0)

    def _add_cell(self, name: str, cell: CellType) -> None:
        def read() -> dict[str, Any]:
            try:
                return {name: cell.cell_contents}
            except ValueError:  # the cell is empty
                return {}

        def put(saved: dict[str, Any]) -> None:
            now = read()
            if _keeps(now.get(name)):
                return
            if name in saved:
                cell.cell_contents = saved[name]
            elif name in now:
                del cell.cell_contents

        if id(cell) not in self._seen:
            self._seen.add(id(cell))
            self._holders.append(_Holder("", read, put, ""))

    def _walk(self, name: str, value: Any, depth: int) -> None:
        if depth > _MAX_DEPTH or isinstance(value, (ModuleType, FunctionType, type)):
            return
        if is_immutable(value) or id(value) in self._seen or tf.is_tensor(value):
            return
        self._seen.add(id(value))
        holder = _holder(name, value)
        if holder is not None:
            self._holders.append(holder)
        for part, child in _parts(name, value):
            self._walk(part, child, depth + 1)


def _holder(name: str, value: Any) -> _Holder | None:
    if isinstance(value, (list, deque, set, bytearray, dict)) and len(value) > _MAX_ITEMS:
        return None
    if isinstance(value, set):
        # All are restored in place, because user code may hold further references to them.
        return _Holder(name, lambda: set(value), lambda old: _refill(value, value.update, old))
    if isinstance(value, (list, deque, bytearray)):
        return _Holder(name, lambda: list(value), lambda old: _refill(value, value.extend, old))
    if isinstance(value, dict):
        return _Holder(
            name,
            lambda: dict(value),
            lambda old: _restore_items(value, old, value.keys() - old.keys()),
        )
    if isinstance(value, np.ndarray) and value.flags.writeable and value.dtype != object:
        return _Holder(name, value.copy, lambda old: np.copyto(value, old))
    if isinstance(value, np.random.Generator):
        bits = value.bit_generator
        return _Holder(name, lambda: bits.state, lambda old: setattr(bits, "state", old))
    if isinstance(value, np.random.RandomState):
        return _Holder(name, lambda: _state_of(value), value.set_state)
    if isinstance(value, random.Random):
        return _Holder(name, value.getstate, value.setstate)
    if _has_state(value):
        return _Holder(name, lambda: _attributes(value), lambda old: _put_into(value, old), ".")
    return None


def _state_of(source: np.random.RandomState) -> dict[str, Any]:
    """Returns a state that can be compared: its numbers as a tuple, in place of an array."""
    found: Any = source.get_state(legacy=False)
    return {**found, "state": {**found["state"], "key": tuple(found["state"]["key"].tolist())}}


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f"{name}[{key!r}]", item) for key, item in list(value.items())[:_MAX_ITEMS])
    elif isinstance(value, (list, tuple, deque)):
        yield from ((f"{name}[{i}]", item) for i, item in enumerate(list(value)[:_MAX_ITEMS]))
    if _has_state(value):
        yield from ((f"{name}.{key}", item) for key, item in _attributes(value).items())


def _has_state(value: Any) -> bool:
    """Returns whether this is an instance of a user class, or of a Python class with user data."""
    return is_user_module(type(value).__module__) or issubclass(type(value), _WITH_USER_DATA)


def _attributes(value: Any) -> dict[str, Any]:
    return {key: item for key, item in own_attributes(value).items() if not _is_tracking(key)}


def _put_into(value: Any, saved: Mapping[str, Any]) -> None:
    """Restores attributes in the dictionary of an object and in its slots."""
    own = getattr(value, "__dict__", {})
    now = own_attributes(value)
    _restore_items(
        own, {key: old for key, old in saved.items() if key in own}, own.keys() - saved.keys()
    )
    for key, old in saved.items():
        if key not in own and now.get(key, _MISSING) is not old:
            object.__setattr__(value, key, old)


def _is_tracking(name: str) -> bool:
    """Returns whether TensorFlow or Keras use this attribute for bookkeeping."""
    # `_self_`: Trackable (TensorFlow 2.21). `_obj_reference`: the older Keras within TensorFlow.
    # `_tracker`: layers, metrics and optimizers of Keras 3.15.
    return name.startswith(("_self_", "_tf_", "_keras_", "_obj_reference", "_tracker"))


def _refill(value: Any, fill: Callable[[Any], Any], old: Any) -> None:
    # `==` of lists would compare items, which for arrays and tensors is no single truth value.
    same = isinstance(value, set) and value == old
    if not same and list(map(id, value)) != list(map(id, old)):
        value.clear()
        fill(old)


def _restore_items(target: dict[str, Any], saved: Mapping[str, Any], added: Iterable[Any]) -> None:
    """Restores items and removes new ones; keeps variables, what holds some, and bookkeeping."""
    for key, old in saved.items():
        if target.get(key, _MISSING) is not old and not _keeps(target.get(key)):
            target[key] = old
    for key in added:
        if not _keeps(target[key]) and not _is_tracking(str(key)):
            del target[key]


def _keeps(value: Any) -> bool:
    if isinstance(value, (list, tuple, dict)):
        items = value.values() if isinstance(value, dict) else value
        return any(_keeps(item) for item in items)
    # A tf.function may create variables in its first call only (TensorFlow 2.21): what a run has
    # created and the restoring took away could never be created again.
    return isinstance(value, (tf.Variable, tf.Module)) or (
        type(value).__module__.startswith("keras.") and not isinstance(value, type)
    )


def content(value: Any) -> Any:
    """Returns a value that is equal for equal contents; tensors are compared by value."""
    if tf.is_tensor(value) and not isinstance(value, tf.Variable) and hasattr(value, "numpy"):
        # Tensors of dtype resource or variant have no form in NumPy (TensorFlow 2.21).
        with contextlib.suppress(AttributeError, NotImplementedError, tf.errors.OpError):
            value = value.numpy()
    return content_of(value)
