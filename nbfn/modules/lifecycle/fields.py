"""The fields of module classes, and modules in their values."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, MappingProxyType
from typing import Any

from nbfn.code import is_generated
from nbfn.errors import NbfnError
from nbfn.modules.errors import ArgumentError, did_you_mean, show_names

_ABSENT = object()


def make_dataclass(cls: type, kw_only: bool = False) -> None:
    """Turns a module class into a dataclass whose last fields are ``parent`` and ``name``."""
    dataclasses.dataclass(eq=False, repr=False, kw_only=kw_only)(cls)
    fields: dict[str, Any] = cls.__dataclass_fields__  # type: ignore[attr-defined]
    for last in ("parent", "name"):
        fields[last] = fields.pop(last)
    construct = cls.__init__  # type: ignore[misc]

    changes_fields = not cls.__post_init__.__module__.startswith("nbfn.")  # type: ignore[attr-defined]

    @functools.wraps(construct)
    def init(self: Any, /, *args: Any, **kwargs: Any) -> None:
        if not self.__dict__["_internal"].built:  # otherwise it is the child of an earlier call
            try:
                init.__wrapped__(self, *args, **kwargs)  # autoreload replaces it; see methods.wrap
            except TypeError as error:
                unknown = [n for n in kwargs if n not in cls.__dataclass_fields__]  # type: ignore[attr-defined]
                if unknown and not isinstance(error, NbfnError):
                    raise _no_argument(cls, unknown) from None
                raise
            if changes_fields:
                _keep_arguments(self, init.__wrapped__, args, kwargs)

    cls.__init__ = init  # type: ignore[misc]
    cls.__field_names__ = tuple(  # type: ignore[attr-defined]
        f.name for f in dataclasses.fields(cls) if f.init and f.name not in ("parent", "name")
    )


def own_init(cls: Any) -> Any | None:
    """Returns the ``__init__`` that a class, or one of its bases, defines itself."""
    init = inspect.unwrap(cls.__init__)
    is_made = not isinstance(init, FunctionType) or is_generated(init)
    return None if is_made or init.__module__.startswith("nbfn.") else init


def _no_argument(cls: Any, unknown: list[str]) -> ArgumentError:
    fields = cls.__field_names__
    hint = cls._argument_hints(unknown) or "".join(did_you_mean(name, fields) for name in unknown)
    return ArgumentError(
        f"{cls.__name__} got an unexpected keyword argument {show_names(unknown)}"
        + (f".{hint}" if hint else f"; it has {show_names(fields)}")
    )


def _keep_arguments(module: Any, construct: Any, args: Any, kwargs: Any) -> None:
    """Keeps the arguments that ``__post_init__`` replaced, for making clones."""
    arguments = inspect.signature(construct).bind(module, *args, **kwargs).arguments
    for name in module.__field_names__:
        before, now = arguments.get(name, _ABSENT), module.__dict__.get(name)
        if before is _ABSENT:
            default = module.__dataclass_fields__[name].default
            before = now if default is dataclasses.MISSING else default
        if before is not now and not holds_modules(before) and not holds_modules(now):
            module._internal.given[name] = before


def is_module(value: Any) -> bool:
    """Returns whether a value is an instance of an nbfn module."""
    return hasattr(type(value), "__field_names__")


def modules_in(value: Any, name: str = "") -> Iterator[tuple[Any, str]]:
    """Yields the modules in nested containers, with the names that `map_modules` passes."""
    if is_module(value):
        yield value, name
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from modules_in(value[key], f"{name}_{key}")
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from modules_in(item, f"{name}_{i}")


def holds_modules(value: Any) -> bool:
    """Returns whether a value is a module or a container with a module inside."""
    return any(True for _ in modules_in(value))


def map_modules(fn: Callable[[Any, str], Any], value: Any, name: str) -> Any:
    """Replaces modules in nested containers by ``fn(module, name)``; makes containers immutable.

    The second item of ``self.layers = [a, b]`` is ``layers_1``; the dict entry ``"x"`` is
    ``layers_x``.
    """
    if is_module(value):
        return fn(value, name)
    if isinstance(value, Mapping):
        keys = sorted(value, key=str)
        mapped = {k: map_modules(fn, value[k], f"{name}_{k}") for k in keys}
        return MappingProxyType({k: mapped[k] for k in value})
    if isinstance(value, (list, tuple)):
        items = [map_modules(fn, v, f"{name}_{i}") for i, v in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def field_values(module: Any) -> dict[str, Any]:
    """Returns the values of a module's fields, without ``parent`` and ``name``."""
    own = module.__dict__
    # Instances made before autoreload added a field to the class have its default.
    return {n: own[n] if n in own else getattr(type(module), n) for n in module.__field_names__}


def init_fields(module: Any) -> dict[str, Any]:
    """Returns the construction arguments of a module: the fields before anything changed them."""
    return {**field_values(module), **module._internal.given}
