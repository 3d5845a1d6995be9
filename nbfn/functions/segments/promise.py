"""What a trace promises: that every name comes out as Python gave it, and is put back so.

A trace is accepted only if what it would leave is of the kinds that Python has just left: a tensor
of the same dtype, a nest of the same structure, a Python constant of the same type and value, the
same object. The recipe that is made on the way puts those values together at each later call.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.functions.effects.values import is_tensor
from nbfn.functions.segments.text import RESULT

_CONSTANTS = (
    *(bool, int, float, complex, str, bytes, type(None), range, slice, type(...)),
    *(tf.DType, tf.TensorShape, np.dtype, type),
)
_CONTAINERS = (list, tuple, dict)
Build = Callable[["Making"], Any]
"""Makes a value of what a call has given and returned."""


RESULT_NAME = "result"
"""The name of the cell's last value among what its function returns."""


class NotKeptError(Exception):
    """A name that would come out otherwise than Python gave it.

    Attributes:
        name: The name.
        reason: How.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(reason)
        self.name = name
        self.reason = reason


@dataclass
class Making:
    """The values that are put together after one call.

    Attributes:
        results: What the trace returned.
        arguments: The arguments of the call, by name.
    """

    results: Mapping[str, Any]
    arguments: Mapping[str, Any]
    _made: dict[Build, Any] = field(default_factory=dict)

    def value(self, build: Build) -> Any:
        """One value; what shared an object shares it again."""
        if build not in self._made:
            self._made[build] = build(self)
        return self._made[build]


@dataclass(frozen=True)
class Recipe:
    """How the names that a segment writes are put together after a call of its trace.

    Attributes:
        names: The names, each with how its value is made.
    """

    names: tuple[tuple[str, Build], ...]

    def values(self, results: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the names.

        Args:
            results: What the trace returned.
            arguments: The arguments of the call, by name.
        """
        making = Making(results, arguments)
        return {name: making.value(build) for name, build in self.names}


class Promise:
    """Compares what a trace would leave with what Python left, while it is traced.

    Args:
        left: The names that Python wrote, and their values.
        given: The arguments, by name, as Python had them.
    """

    def __init__(self, left: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        self._left = left
        self._paths: dict[int, tuple[Any, ...]] = {}
        self._alive: list[Any] = []
        for name, value in given.items():
            self._note(value, (name,))
        self.results: dict[str, Any] = {}
        self._builds: dict[int, Build] = {}
        self.recipe: Recipe | None = None

    def _note(self, value: Any, path: tuple[Any, ...], depth: int = 0) -> None:
        if is_tensor(value) or isinstance(value, (*_CONTAINERS, np.ndarray)):
            self._paths.setdefault(id(value), path)
            self._alive.append(value)
        if depth < 4 and type(value) in _CONTAINERS:
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for key, each in items:
                self._note(each, (*path, key), depth + 1)

    def keep(self, made: Mapping[str, Any]) -> dict[str, Any]:
        """The results of the trace, by name; notes how the names are made of them.

        Args:
            made: The names and the values that they have while the trace is made.

        Raises:
            NotKeptError: If one of them would come out otherwise.
        """
        names = []
        for name, value in made.items():
            names.append((name, self._build(name, value, self._left[name])))
        self.recipe = Recipe(tuple(names))
        return self.results

    def _build(self, name: str, made: Any, left: Any) -> Build:
        known = self._builds.get(id(left))
        if known is not None and not isinstance(left, _CONSTANTS):
            return known
        build = self._new(name, made, left)
        self._builds[id(left)] = build
        self._alive.append(left)
        return build

    def _new(self, name: str, made: Any, left: Any) -> Build:
        path = self._paths.get(id(left))
        if path is not None:
            return _of_argument(path)
        if isinstance(left, tf.GradientTape):
            return _spent_tape
        if is_tensor(made) or is_tensor(left):
            return self._tensor(name, made, left)
        if type(made) is not type(left):
            raise NotKeptError(name, f"leaves {_shown(name)} as {_a(left)}")
        if isinstance(left, _CONSTANTS):
            same = made is left or (made == left and repr(made) == repr(left))
            if not same:
                raise NotKeptError(
                    name, f"leaves {_shown(name)} as {left!r}, and a graph as {made!r}"
                )
            return lambda _: left
        if isinstance(left, _CONTAINERS):
            return self._container(name, made, left)
        if made is left:
            return self._object(name, left)
        raise NotKeptError(name, f"leaves {_shown(name)} as {_a(left)}")

    def _tensor(self, name: str, made: Any, left: Any) -> Build:
        if isinstance(left, tf.Variable) or not is_tensor(left) or not is_tensor(made):
            if made is left:
                return self._object(name, left)
            raise NotKeptError(name, f"leaves {_shown(name)} as {_a(left)}")
        plain = isinstance(left, tf.Tensor)
        if plain != isinstance(made, tf.Tensor) or (not plain and type(made) is not type(left)):
            raise NotKeptError(name, f"leaves {_shown(name)} as {_a(left)}")
        if getattr(made, "dtype", None) != getattr(left, "dtype", None):
            raise NotKeptError(
                name,
                f"leaves {_shown(name)} as {left.dtype.name}, and a graph as {made.dtype.name}",
            )
        if plain and not left.shape.is_compatible_with(made.shape):
            raise NotKeptError(name, f"leaves {_shown(name)} with another shape than a graph")
        if isinstance(left, tf.Tensor) and left.dtype in (tf.resource, tf.variant):
            raise NotKeptError(name, f"leaves {_shown(name)} as a {left.dtype.name} tensor")
        key = RESULT_NAME if name == RESULT else name
        if key in self.results:
            key = f"{key}_{len(self.results)}"
        self.results[key] = made
        return lambda making: making.results[key]

    def _container(self, name: str, made: Any, left: Any) -> Build:
        if len(made) != len(left):
            raise NotKeptError(
                name,
                f"leaves {_shown(name)} as {_a(left)} of {len(left)}, and a graph of {len(made)}",
            )
        if isinstance(left, dict):
            if list(made) != list(left) or not all(isinstance(k, _CONSTANTS) for k in left):
                raise NotKeptError(name, f"leaves {_shown(name)} with other keys than a graph")
            keys = list(left)
            values = [self._build(name, made[k], left[k]) for k in keys]
        else:
            values = [self._build(name, m, k) for m, k in zip(made, left, strict=True)]
        cls = type(left)
        if cls is dict:
            return lambda m: dict(zip(keys, map(m.value, values), strict=True))
        if cls in (list, tuple):
            return lambda m: cls(map(m.value, values))
        if issubclass(cls, tuple) and hasattr(cls, "_make"):
            make = cls._make
            return lambda m: make(map(m.value, values))
        raise NotKeptError(name, f"leaves {_shown(name)} as {_a(left)}")

    def _object(self, name: str, left: Any) -> Build:
        try:
            reference = weakref.ref(left)
        except TypeError:
            raise NotKeptError(name, f"leaves {_shown(name)} as {_a(left)}") from None

        def build(_: Making) -> Any:
            value = reference()
            if value is None:
                raise NotKeptError(
                    name, f"leaves {_shown(name)} as {_a(left)} that no longer exists"
                )
            return value

        return build


def _of_argument(path: tuple[Any, ...]) -> Build:
    name, *rest = path

    def build(making: Making) -> Any:
        value = making.arguments[name]
        for key in rest:
            value = value[key]
        return value

    return build


def _spent_tape(_: Making) -> Any:
    with tf.GradientTape() as tape:
        pass
    tape.gradient((), ())
    return tape


def _shown(name: str) -> str:
    return "the last value" if name == RESULT else f"`{name}`"


def _a(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "a NumPy array"
    if isinstance(value, np.generic):
        return f"a NumPy {type(value).__name__}"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeio' else 'a'} {name}"
