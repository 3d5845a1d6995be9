"""How Python makes a value like one again: of what it is made, and what is filled in later."""

from __future__ import annotations

import copy
import functools
import random
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from nbfn.functions.reads import is_the_users
from nbfn.notebook.cells.objects import (
    attributes,
    fill_items,
    is_object,
    items,
    maker,
    needs,
    owner_of,
    set_attribute,
)
from nbfn.notebook.cells.parts import GONE


@dataclass(frozen=True)
class Recipe:
    """How a value is made again.

    Attributes:
        make: Makes it, of what it needs.
        needed: What it needs, each by a step that leads to it.
        rest: The rest, likewise, which may lead back to it.
        fill: Gives it the rest.
    """

    make: Callable[..., Any]
    needed: Mapping[Any, Any] = field(default_factory=dict)
    rest: Mapping[Any, Any] = field(default_factory=dict)
    fill: Callable[[Any, list[Any]], None] | None = None


_COPIED = (random.Random, np.random.Generator, np.random.RandomState, array)
_EMPTY: tuple[Any, ...] = ([], (), "", range(0), {}, {}.values(), {}.items(), set())
_ITERATORS: set[type] = {
    *map(type, map(iter, _EMPTY)),
    *(zip, map, filter, enumerate, reversed, type(reversed([]))),
}
_DESCRIPTORS: dict[type, tuple[str, ...]] = {
    MethodType: ("__func__", "__self__"),
    property: ("fget", "fset", "fdel", "__doc__"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
}
_OF_AUTOGRAPH = {"autograph_info__", "ag_module", "ag_source_map"}


def recipe_of(value: Any) -> Recipe | None:
    """How a value is made again; None if it cannot be."""
    cls = type(value)
    if isinstance(value, np.ndarray):
        return _array(value)
    if cls in _DESCRIPTORS:
        return Recipe(cls, _numbered(getattr(value, name) for name in _DESCRIPTORS[cls]))
    if cls is functools.partial:
        return Recipe(_partial, _numbered((value.func, value.args, value.keywords)))
    if cls is CellType:
        held = attributes(value)
        return Recipe(CellType, {}, held, filling(None, 0, list(held)))
    if cls in _ITERATORS:
        return _iterator(value)
    if cls in _COPIED:
        return Recipe(functools.partial(copy.deepcopy, copy.deepcopy(value)))
    if is_object(value):
        return _object(value)
    return _tracked(value) if isinstance(value, (list, dict, set, tuple)) else None


def _tracked(value: Any) -> Recipe | None:
    """What TensorFlow or Keras puts around a container of the user's, who gets the container."""
    if not type(value).__module__.startswith(("tensorflow.", "keras.")):
        return None
    if isinstance(value, tuple):
        return Recipe(_tuple, _numbered(value))
    if isinstance(value, dict):
        keys = list(value)
        return Recipe(dict, {}, _numbered(value.values()), filling(keys, len(keys), []))
    cls = list if isinstance(value, list) else set
    return Recipe(cls, {}, _numbered(value), filling(None, len(value), []))


def _tuple(*values: Any) -> tuple[Any, ...]:
    return values


def _object(value: Any) -> Recipe:
    """A container, or an object of a class of the user's."""
    cls, make = type(value), maker(value)
    needed = _numbered(needs(value))
    content = items(value)
    keys = list(content) if isinstance(content, dict) else None
    own = _numbered(content or ()) if keys is None else dict(content)
    if keys is not None and not all(isinstance(key, str) for key in keys):
        own = _numbered(content.values())
    named = attributes(value)
    fill = filling(keys, len(own), list(named))
    if is_the_users(cls.__module__):
        inner = {f"[{step}]": item for step, item in needed.items()}
        rest = {f"[{step}]": item for step, item in own.items()}
        return Recipe(make, {"class": cls, **inner}, {**rest, **named}, fill)
    if named:
        own = {f"[{step}]": item for step, item in own.items()}
    return Recipe(functools.partial(make, cls), needed, {**own, **named}, fill)


def filling(
    keys: Sequence[Any] | None, size: int, names: Sequence[str]
) -> Callable[[Any, list[Any]], None]:
    """Fills in items, as many as `size`, by `keys` if it is a dict; and then attributes."""

    def fill(made: Any, rest: list[Any]) -> None:
        own = rest[:size]
        if keys is not None:
            fill_items(made, dict(zip(keys, own, strict=True)))
        elif size:
            fill_items(made, own)
        for name, item in zip(names, rest[size:], strict=True):
            if item is not GONE:
                set_attribute(made, name, item)

    return fill


def _partial(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return functools.partial(function, *args, **keywords)


def _iterator(value: Any) -> Recipe:
    """An iterator, as far as it is at the end of the trace."""
    make, needed, *state = value.__reduce__()

    def fill(made: Any, rest: list[Any]) -> None:
        made.__setstate__(*rest)

    if not state:
        return Recipe(make, _numbered(needed))
    return Recipe(make, _numbered(needed), {len(needed): state[0]}, fill)


def function_recipe(function: FunctionType, code: CodeType) -> Recipe:
    """A function, with other code that does the same.

    Args:
        function: The function.
        code: The code. Of the names that it takes from a function around it, `function` has the
            values.
    """
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closed = [cells.get(name) or CellType() for name in code.co_freevars]
    named = {name: item for name, item in vars(function).items() if name not in _OF_AUTOGRAPH}
    scope, name, doc = function.__globals__, function.__name__, function.__doc__
    qualified = function.__qualname__
    if qualified == function.__code__.co_qualname:
        qualified = code.co_qualname

    def make(*closure: CellType) -> FunctionType:
        made = FunctionType(code, scope, name, None, closure)
        made.__doc__, made.__qualname__ = doc, qualified
        return made

    def fill(made: FunctionType, rest: list[Any]) -> None:
        made.__defaults__, made.__kwdefaults__, made.__annotations__, *others = rest
        vars(made).update(zip(named, others, strict=True))

    own = (function.__defaults__, function.__kwdefaults__, function.__annotations__)
    rest = {f"[{n}]": item for n, item in enumerate((*own, *named.values()))}
    return Recipe(make, _numbered(closed), rest, fill)


def _array(value: np.ndarray) -> Recipe:
    """An array; a view stays a view of what it looks at."""
    owner = owner_of(value)
    contiguous = owner.flags.c_contiguous or owner.flags.f_contiguous
    is_view = owner is not value and isinstance(owner, type(value)) and contiguous
    if value.dtype.hasobject:
        blank = functools.partial(np.empty, value.shape, value.dtype)
        return Recipe(blank, {}, _numbered(value.ravel()), _fill_array)
    return Recipe(_viewing(value, owner), {0: owner}) if is_view else Recipe(value.copy().copy)


def _fill_array(made: np.ndarray, rest: list[Any]) -> None:
    for number, item in enumerate(rest):
        made.flat[number] = item


def _viewing(value: np.ndarray, owner: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Makes a view, as one is of its owner, of another owner."""
    shape, strides, dtype = value.shape, value.strides, value.dtype
    offset = value.__array_interface__["data"][0] - owner.__array_interface__["data"][0]

    def view(of: np.ndarray) -> np.ndarray:
        memory = (of if of.flags.c_contiguous else of.T).reshape(-1).view(np.uint8)
        made: np.ndarray = np.ndarray(shape, dtype, memory, offset, strides)
        made.flags.writeable = made.flags.writeable and of.flags.writeable
        return made

    return view


def _numbered(values: Iterable[Any]) -> dict[Any, Any]:
    return dict(enumerate(values))
