"""Modules and variables among the arguments of a transformed function; ``nn.Partial``."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from nbfn._tensorflow import call_as_here
from nbfn.modules.lifecycle.fields import field_values, is_module
from nbfn.modules.variables.scope import Variable


@dataclasses.dataclass(frozen=True)
class Partial:
    """A function with its first arguments, whose modules are visible to transformations.

    A closure hides a module from a transformation, ``Partial(fn, [module])`` does not. A
    ``functools.partial``, or any dataclass whose fields hold the modules, also works.

    Attributes:
      fn: called with ``args`` and the arguments of the partial.
      args: the first arguments; modules, tensors, or anything else.

    Implements: Flax Module lifecycle, section "Practical consequences".
    """

    fn: Callable[..., Any]
    args: Any = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function."""
        return call_as_here(self.fn, (*self.args, *args), kwargs)


def has_place(value: Any) -> bool:
    """Returns whether a value is a module with variables, or a reference to a variable."""
    if isinstance(value, Variable):
        return True
    return is_module(value) and value._internal.scope is not None


def map_places(fn: Callable[[Any], Any], value: Any) -> Any:
    """Replaces values that have a place, in containers, partials and dataclasses, by ``fn(value)``.

    Values without such parts are returned unchanged.
    """
    if has_place(value):
        return fn(value)
    if is_module(value):
        return value
    if isinstance(value, functools.partial):
        args, keywords = map_places(fn, value.args), map_places(fn, value.keywords)
        changed = args is not value.args or keywords is not value.keywords
        return functools.partial(value.func, *args, **keywords) if changed else value
    if isinstance(value, Mapping):
        mapped = {key: map_places(fn, item) for key, item in value.items()}
        return value if all(mapped[key] is value[key] for key in mapped) else mapped
    if isinstance(value, (list, tuple)):
        items = [map_places(fn, item) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.init]
        parts = {name: map_places(fn, getattr(value, name)) for name in names}
        if any(parts[name] is not getattr(value, name) for name in names):
            return dataclasses.replace(value, **parts)
    return value


def places_in(value: Any) -> list[Any]:
    """Returns the values that have a place, also in the fields of modules, each once."""
    found: dict[int, Any] = {}

    def note(thing: Any) -> Any:
        if id(thing) not in found:
            found[id(thing)] = thing
            if is_module(thing):
                for part in field_values(thing).values():
                    map_places(note, part)
        return thing

    map_places(note, value)
    return list(found.values())


def scope_of(thing: Any) -> Any:
    """Returns the scope of a module, or of a variable's module."""
    return thing._scope if isinstance(thing, Variable) else thing._internal.scope
