"""Reuses the children of compact methods, which are constructed again in each call.

Below a bound module, a child with the same class, name and arguments already exists with its
variables, so it is returned instead of a new one.
"""

from __future__ import annotations

from typing import Any

from nbfn.code import PLAIN
from nbfn.modules.lifecycle import method_stack


def may_be_reused(kwargs: dict[str, Any]) -> bool:
    """Returns whether a module under construction belongs to a compact method of a bound one."""
    parent = method_stack.current_module()
    if parent is None or "parent" in kwargs:
        return False
    scope = parent._internal.scope
    return scope is not None and scope.store.bound


def known_child(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns the child that an earlier call of the running method made with these arguments.

    The module that is constructed `may_be_reused`.
    """
    here = method_stack.here
    parent = here.modules[-1]
    table, internal = here.tables.get(id(parent)), parent._internal
    if table is None or table.kind != "compact":
        return None
    names = table.names
    chosen = kwargs.get("name") if kwargs else None
    name = names.next_auto(cls) if chosen is None else chosen
    child = internal.children.get(name)
    if type(child) is not cls:
        return None
    arguments = child._internal.arguments
    if arguments is None:
        return None
    if (args or arguments[0]) and not (
        len(args) == len(arguments[0]) and all(map(_is_same, args, arguments[0]))
    ):
        return None
    if (kwargs or arguments[1]) and not (
        len(kwargs) == len(arguments[1])
        and all(k in arguments[1] and _is_same(v, arguments[1][k]) for k, v in kwargs.items())
    ):
        return None
    if not names.take_free(name, None, internal.names):
        return None  # the usual construction raises the error
    if chosen is None:
        names.count(cls)
    return child


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and type(a) in PLAIN and a == b)
