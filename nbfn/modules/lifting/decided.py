"""What decides how a trace comes out, as a key that keeps nothing of the user's alive.

A kept trace bakes in Python state: the code of functions and classes, what they close over, the
globals that they name, and the attributes of objects. The key holds plain values as they are, and
for everything else a number that no other object ever gets.
"""

from __future__ import annotations

import functools
import inspect
import random
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn._tensorflow import EagerTensor
from nbfn.code import PLAIN, closure, is_user_module, names_in_code
from nbfn.modules.lifecycle.fields import is_module
from nbfn.serial import serial

_LIBRARY = (tf.DType, tf.TensorShape, tf.TypeSpec, np.dtype)
_AS_THEY_ARE = frozenset(["tensorflow", "keras", "nbfn", "numpy", "builtins"])
"""Libraries whose objects nobody changes; those of Keras say what they are."""
_MAX_PARTS = 2000
_MAX_BYTES = 1 << 16
# What dataclasses and module classes have besides what the user wrote.
_SKIPPED = frozenset(
    [
        *("__init__", "__dict__", "__weakref__", "__module__", "__doc__", "__annotations__"),
        *("__dataclass_fields__", "__dataclass_params__", "__match_args__", "__config__"),
        *("__field_names__", "__hooks__", "__qualname__", "__static_attributes__"),
        *("__firstlineno__", "__annotate__", "__annotate_func__"),
    ]
)


class TooMuchError(Exception):
    """There is more state than is worth comparing in each call."""


def decided_by(*values: Any) -> Hashable:
    """A key that stays equal as long as nothing has changed that code can read from the values.

    Raises:
      TooMuchError: it would be too large.
    """
    return _Walk().all_of(values)


def random_state() -> Hashable:
    """Where the random numbers of Python and NumPy are, which code draws without a trace of it."""
    return random.getstate(), repr(np.random.get_state(legacy=False))


class _Walk:
    """One walk over values; each object is taken once."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no id is used twice meanwhile

    def all_of(self, values: Any) -> Hashable:
        return tuple([self.of(value) for value in values])

    def of(self, value: Any) -> Hashable:
        kind = type(value)
        if kind in PLAIN:
            return (kind, value)
        if kind is tuple:
            return self.all_of(value)
        number = self._seen.get(id(value))
        if number is not None:
            return number
        self._seen[id(value)] = number = len(self._seen)
        self._kept.append(value)
        if number > _MAX_PARTS:
            raise TooMuchError
        take = _TAKEN.get(kind)
        if take is None:
            # Asked in this order only for what is of no exact type above.
            take = next((t for k, t in _TAKEN.items() if isinstance(value, k)), _Walk._object)
        return (kind.__name__, *take(self, value))

    def _items(self, value: Any) -> tuple[Hashable, ...]:
        if len(value) > _MAX_PARTS:
            raise TooMuchError
        own = () if type(value) in _TAKEN else (serial(type(value)),)
        if isinstance(value, Mapping):
            return (*own, self.all_of(value), self.all_of(value.values()))
        return (*own, self.all_of(value))

    def _array(self, value: Any) -> tuple[Hashable, ...]:
        if value.nbytes > _MAX_BYTES or value.dtype.hasobject:
            raise TooMuchError
        return (value.dtype.str, value.shape, value.tobytes())

    def _method(self, method: Any) -> tuple[Hashable, ...]:
        return (self.of(method.__func__), self.of(getattr(method, "__self__", None)))

    def _partial(self, partial: Any) -> tuple[Hashable, ...]:
        return (self.of(partial.func), self.of(partial.args), self.of(partial.keywords))

    def _property(self, value: property) -> tuple[Hashable, ...]:
        return (self.of(value.fget), self.of(value.fset))

    def _object(self, value: Any) -> tuple[Hashable, ...]:
        if isinstance(value, _LIBRARY):
            return (value,)
        if tf.is_tensor(value):
            return (serial(value),)
        if is_module(value):
            own = serial(value) if value._life.scope is not None else None
            fields = [value.__dict__[name] for name in value.__field_names__]
            return (own, self.of(type(value)), self.all_of(fields))
        if callable(getattr(value, "get_config", None)):
            try:
                return (serial(value), self.of(value.get_config()))
            except NotImplementedError:
                raise TooMuchError from None
        if isinstance(value, np.random.Generator):
            return (serial(value), self.of(value.bit_generator.state))
        if hasattr(type(value), "__next__") or isinstance(value, np.random.RandomState):
            raise TooMuchError  # it gives something else each time
        if type(value).__module__.split(".")[0] in _AS_THEY_ARE:
            return (serial(value),)
        shows = hasattr(value, "__dict__") or is_user_module(type(value).__module__)
        if type(value).__hash__ is None and not shows:
            raise TooMuchError  # it can change, and does not show how
        return (serial(value), self.of(type(value)), *self._attributes(value))

    def _itself(self, value: Any) -> tuple[Hashable, ...]:
        return (serial(value),)

    def _function(self, function: FunctionType) -> tuple[Hashable, ...]:
        inner = function.__dict__.get("__wrapped__")
        if inner is not None and hasattr(function, "__nbfn_wrapped__"):
            return (self.of(inner),)  # a method of a module; what is around it is nbfn's
        found: list[Hashable] = [serial(function.__code__)]
        held: list[Any] = [function.__defaults__, function.__kwdefaults__, inner]
        if function.__closure__:
            held += closure(function).values()
        if is_user_module(function.__module__):
            space = function.__globals__
            names = list(dict.fromkeys(names_in_code(function.__code__)))
            for name in names:
                if name in space:
                    value = space[name]
                    own = isinstance(value, ModuleType) and is_user_module(value.__name__)
                    held.append(self._module(value, names) if own else value)
        return (*found, *(self.of(value) for value in held if value is not None))

    def _module(self, module: ModuleType, names: list[str]) -> list[Any]:
        """What the code may read from one of the user's modules."""
        return [vars(module)[name] for name in names if name in vars(module)]

    def _class(self, cls: type) -> tuple[Hashable, ...]:
        found: list[Hashable] = [serial(cls)]
        for base in cls.__mro__:
            if base.__module__[:5] != "nbfn." and is_user_module(base.__module__):
                items = list(vars(base).items())
                found += [(n, self.of(value)) for n, value in items if n not in _SKIPPED]
        return tuple(found)

    def _attributes(self, value: Any) -> Iterator[Hashable]:
        held = inspect.getattr_static(value, "__dict__", None)
        yield self.of(vars(value) if held is not None else None)
        for base in type(value).__mro__:
            slots = vars(base).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                    yield self.of(getattr(value, name))


_TAKEN: dict[type, Callable[[_Walk, Any], tuple[Hashable, ...]]] = {
    FunctionType: _Walk._function,
    ModuleType: _Walk._itself,
    EagerTensor: _Walk._itself,
    dict: _Walk._items,
    list: _Walk._items,
    type: _Walk._class,
    property: _Walk._property,
    MethodType: _Walk._method,
    staticmethod: _Walk._method,
    classmethod: _Walk._method,
    functools.partial: _Walk._partial,
    np.ndarray: _Walk._array,
    np.generic: _Walk._array,
    tuple: _Walk._items,
    set: _Walk._items,
    frozenset: _Walk._items,
    deque: _Walk._items,
    Mapping: _Walk._items,  # type: ignore[type-abstract]
}
