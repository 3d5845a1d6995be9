"""The ways that lead from a name of the notebook to what it holds."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from nbfn.notebook.cells.objects import CELL, attributes, owner_of

Path = tuple[Any, ...]
"""Steps, each a kind and a key: a name, an item, an attribute, a name of a closure."""


def function_of(value: Any) -> FunctionType | None:
    """The Python function of a function, traced or not; None for anything else."""
    if hasattr(type(value), "python_function"):
        value = value.python_function
    return value if inspect.isfunction(value) else None


def find(namespace: Mapping[str, Any], path: Path) -> Any:
    """What a path leads to."""
    value: Any = None
    for kind, key in path:
        if kind == "name":
            value = namespace[key]
        elif kind == "module":
            value = sys.modules[key]
        elif kind == "item":
            value = value[key]
        elif kind == "attribute":
            value = attributes(function_of(value) or value)[key]
        elif kind == "class":
            value = type(value)
        elif kind == "partial":
            value = getattr(value, key)
        elif kind == "memory":
            value = owner_of(value)
        elif kind == "referent":
            value = value()
        elif kind == "owner":
            value = value.__self__
        elif kind == "default":
            value = function_of(value).__defaults__[key]  # type: ignore[union-attr,index]
        elif kind == "keyword":
            value = function_of(value).__kwdefaults__[key]  # type: ignore[union-attr,index]
        else:
            function: Any = function_of(value)
            value = function.__closure__[function.__code__.co_freevars.index(key)]
    return value


def as_text(path: Path) -> str:
    """A path as the user would write it."""
    text = ""
    for kind, key in path:
        if kind == "attribute" and key == CELL:
            continue
        text += {"item": f"[{key!r}]", "attribute": f".{key}"}.get(kind, str(key))
    return text
