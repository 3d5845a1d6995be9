"""The output contract of a trace: every name gets the value that Python would give it.

A trace is accepted only if its outputs are of the kinds that Python has just produced: a tensor of
the same dtype, a nest of the same structure, a Python constant of the same type and value, the same
object. The recipe that is built on the way assembles these values at each later call.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.effects.abstract_values import is_tensor, is_variable
from nbfn.functions.segments.analysis import RESULT
from nbfn.text import with_article

_CONSTANTS = (
    *(bool, int, float, complex, str, bytes, type(None), range, slice, type(...)),
    *(tf.DType, tf.TensorShape, np.dtype, type),
)
_CONTAINERS = (list, tuple, dict)
Build = Callable[[Mapping[str, Any], Mapping[str, Any], list[Any]], Any]
"""Makes a value from a call's results and arguments, and from the values made before it."""


RESULT_NAME = "result"
"""The name of the cell's last value among the function's results."""


class NotKeptError(Exception):
    """A name would get another value than Python gave it.

    Attributes:
        reason: The difference.
        name: The name; empty if it is not about a name.
        line: The line that causes it; 0 if it is not known.
    """

    def __init__(self, reason: str, name: str = "", line: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.name = name
        self.line = line


@dataclass(frozen=True)
class Recipe:
    """How to assemble the values of the names that a segment writes, after a call of its trace.

    Attributes:
        builds: Make the values. A value that several names or nests share is made once.
        names: The names, each with the index of its value.
    """

    builds: tuple[Build, ...]
    names: tuple[tuple[str, int], ...]

    def values(self, results: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the values of the names.

        Args:
            results: The results of the trace.
            arguments: The arguments of the call, by name.
        """
        values: list[Any] = []
        for build in self.builds:
            values.append(build(results, arguments, values))
        return {name: values[number] for name, number in self.names}


class OutputContract:
    """Compares the outputs of a trace with what Python produced, while it is traced.

    Args:
        expected: The names that Python wrote, and their values.
        arguments: The arguments of Python's run, by name.

    Attributes:
        results: The results of the trace, by name.
        recipe: How the names are assembled from them; None until they were compared.
    """

    def __init__(self, expected: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        self.results: dict[str, Any] = {}
        self.recipe: Recipe | None = None
        self._expected = expected
        self._paths: dict[int, list[tuple[Any, ...]]] = {}
        self._symbols: Mapping[str, Any] = {}
        self._builds: list[Build] = []
        self._indices: dict[int, tuple[int, Any]] = {}
        self._alive: list[Any] = []  # keeps ids valid
        for name, value in arguments.items():
            self._note(value, (name,))

    def _note(self, value: Any, path: tuple[Any, ...], depth: int = 0) -> None:
        if is_tensor(value) or isinstance(value, (*_CONTAINERS, np.ndarray)):
            self._paths.setdefault(id(value), []).append(path)
            self._alive.append(value)
        if depth < 4 and type(value) in _CONTAINERS:  # `is_argument` accepts no deeper nest
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for key, each in items:
                self._note(each, (*path, key), depth + 1)

    def begin(self, symbols: Mapping[str, Any]) -> None:
        """Takes the symbolic arguments of the trace, by name."""
        self._symbols = symbols

    def keep(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the results of the trace, by name; builds the recipe.

        Args:
            values: The names and their values while tracing.

        Raises:
            NotKeptError: If one of them would get another value.
        """
        names = tuple((n, self._index_of(n, v, self._expected[n])) for n, v in values.items())
        self.recipe = Recipe(tuple(self._builds), names)
        return self.results

    def _index_of(self, name: str, got: Any, expected: Any) -> int:
        """Returns the index of a value among those that the recipe makes."""
        # Equal constants are often one object, so identity shows no relation of their names.
        if id(expected) not in self._indices or isinstance(expected, _CONSTANTS):
            build = self._build(name, got, expected)
            self._indices[id(expected)] = len(self._builds), got
            self._builds.append(build)
            self._alive.extend((expected, got))
        number, earlier = self._indices[id(expected)]
        if not (isinstance(expected, _CONSTANTS) or _is_same(got, earlier)):
            raise _broken(name, "as the object of another name, depending on a value")
        return number

    def _build(self, name: str, got: Any, expected: Any) -> Build:
        paths = self._paths.get(id(expected), ())
        for path in paths:  # also if a graph would copy it: the name keeps its object
            if _is_same(got, _at_path(self._symbols, path)):
                return lambda _, arguments, __: _at_path(arguments, path)
        # Which object Python returned may depend on a value, as in `if norm < limit`.
        if paths and got is not expected:
            raise _broken(name, "as an existing object, depending on a value")
        if isinstance(expected, tf.GradientTape):
            return _used_tape
        if is_tensor(got) and is_tensor(expected) and not is_variable(expected):
            return self._tensor(name, got, expected)
        if got is expected and (
            is_tensor(expected) or not isinstance(expected, _CONSTANTS + _CONTAINERS)
        ):
            return _object(name, expected)
        if got is expected and isinstance(expected, _CONTAINERS) and not _is_constant(expected):
            raise _broken(name, "as an existing object")
        if is_tensor(got) or is_tensor(expected) or type(got) is not type(expected):
            raise _broken(name, f"as {_describe(expected)}")
        if isinstance(expected, _CONSTANTS):
            # By text, too: 0.0 equals -0.0.
            if got is not expected and not (got == expected and repr(got) == repr(expected)):
                raise _broken(name, f"as {expected!r}, where a graph gives {got!r}")
            return lambda *_: expected
        if isinstance(expected, _CONTAINERS):
            return self._container(name, got, expected)
        raise _broken(name, f"as {_describe(expected)}")

    def _tensor(self, name: str, got: Any, expected: Any) -> Build:
        is_plain = isinstance(expected, tf.Tensor)
        if not (isinstance(got, tf.Tensor) if is_plain else type(got) is type(expected)):
            raise _broken(name, f"as {_describe(expected)}")
        if getattr(got, "dtype", None) != getattr(expected, "dtype", None):
            raise _broken(name, f"as {expected.dtype.name}, where a graph gives {got.dtype.name}")
        if is_plain and not expected.shape.is_compatible_with(got.shape):
            raise _broken(name, "with another shape than a graph")
        if is_plain and expected.dtype in (tf.resource, tf.variant):
            raise _broken(name, f"as a {expected.dtype.name} tensor")
        key = own = RESULT_NAME if name == RESULT else name
        number = len(self.results)
        while key in self.results or (key != own and key in self._expected):
            key, number = f"{own}_{number}", number + 1
        self.results[key] = got
        attributes = attributes_of(expected)
        if not attributes:
            return lambda results, *_: results[key]
        now = vars(got)
        parts = {each: self._index_of(key, now.get(each), v) for each, v in attributes.items()}

        def build(results: Mapping[str, Any], _: Any, values: Sequence[Any]) -> Any:
            for each, number in parts.items():
                setattr(results[key], each, values[number])
            return results[key]

        return build

    def _container(self, name: str, got: Any, expected: Any) -> Build:
        if len(got) != len(expected):
            raise _broken(
                name, f"as {_describe(expected)} of {len(expected)}, and a graph of {len(got)}"
            )
        cls = type(expected)
        if isinstance(expected, dict):
            keys = list(expected)
            if list(got) != keys or not all(isinstance(key, _CONSTANTS) for key in keys):
                raise _broken(name, "with other keys than a graph")
            numbers = [self._index_of(name, got[key], expected[key]) for key in keys]
            make = (lambda values: dict(zip(keys, values, strict=True))) if cls is dict else None
        else:
            numbers = [self._index_of(name, m, k) for m, k in zip(got, expected, strict=True)]
            make = cls if cls in (list, tuple) else getattr(cls, "_make", None)
        if make is None:
            raise _broken(name, f"as {_describe(expected)}")
        return lambda _, __, values: make([values[number] for number in numbers])


def _is_constant(value: Any) -> bool:
    """Returns whether a value is a nest of tuples of constants, whose identity does not matter."""
    if type(value) is tuple:
        return all(map(_is_constant, value))
    return isinstance(value, _CONSTANTS)


def _object(name: str, expected: Any) -> Build:
    how = f"as {_describe(expected)}"
    try:
        reference = weakref.ref(expected)
    except TypeError:
        raise _broken(name, how) from None

    def build(*_: Any) -> Any:
        value = reference()
        if value is None:
            raise _broken(name, f"{how} that no longer exists")
        return value

    return build


def attributes_of(value: Any) -> dict[str, Any]:
    """Returns the attributes that were set on an eager tensor.

    Keras keeps a mask, and the logits of a softmax, in attributes (Keras 3.15).
    """
    if not isinstance(value, tf.Tensor) or not vars(value):
        return {}
    # `tf.zeros` sets this one (TensorFlow 2.21), which changes no result.
    return {name: each for name, each in vars(value).items() if name != "_is_zeros_tensor"}


def check_values(expected: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Raises a `NotKeptError` if a graph has computed another value than Python.

    AutoGraph makes tensors of Python's numbers, and Keras takes other ways in a graph. Rounding may
    differ, and grow in a loop: only values that differ by more than a hundredth are others.
    """
    for name, value in expected.items():
        for ours, theirs in zip(_tensors_in(values[name]), _tensors_in(value), strict=False):
            if not _is_near(np.asarray(ours), np.asarray(theirs)):
                raise _broken(name, "with another value than a graph")


def _tensors_in(value: Any) -> list[Any]:
    parts = tf.nest.flatten(value, expand_composites=True)
    return [each for each in parts if isinstance(each, tf.Tensor)]


def _is_near(one: Any, other: Any) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype == tf.bfloat16.as_numpy_dtype:  # no inexact number for NumPy
        one, other = one.astype(np.float32), other.astype(np.float32)
    if not np.issubdtype(one.dtype, np.inexact):
        return one.dtype.kind not in "biuSO" or bool(np.array_equal(one, other))
    finite = np.isfinite(other)
    size = np.max(np.abs(other[finite]), initial=0.0)
    return bool(np.allclose(one, other, rtol=0.01, atol=0.01 * size + 1e-6, equal_nan=True))


def _at_path(arguments: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        arguments = arguments[key]
    return arguments


def _is_same(one: Any, other: Any) -> bool:
    """Returns whether two values of a trace are identical for all values of its tensors."""
    if one is other:
        return True
    if is_tensor(one) and is_tensor(other):
        parts = [tf.nest.flatten(each, expand_composites=True) for each in (one, other)]
        roots = [list(map(_tensorflow.skip_identities, each)) for each in parts]
        return len(roots[0]) == len(roots[1]) and all(map(operator.is_, *roots))
    if type(one) is not type(other):
        return False
    if isinstance(one, _CONTAINERS):
        if len(one) != len(other) or (isinstance(one, dict) and list(one) != list(other)):
            return False
        items = [each.values() if isinstance(each, dict) else each for each in (one, other)]
        return all(map(_is_same, *items))
    return isinstance(one, _CONSTANTS) and bool(one == other)


def _used_tape(*_: Any) -> Any:
    """Returns a used tape: a non-persistent tape gives gradients only once."""
    with tf.GradientTape() as tape:
        pass
    tape.gradient((), ())
    return tape


def _broken(name: str, how: str) -> NotKeptError:
    what = "the last value" if name == RESULT else f"`{name}`"
    return NotKeptError(f"leaves {what} {how}", name)


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "a NumPy array"
    if isinstance(value, np.generic):
        return f"a NumPy {type(value).__name__}"
    return with_article(type(value).__name__)
