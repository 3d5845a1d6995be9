"""Children of compact methods, constructed anew in each call and yet the same.

A compact method constructs its children in each call. Below a bound module the child of the same
class, name and arguments exists already, with its variables, so it is not made again.
"""

from __future__ import annotations

from typing import Any

from nbfn.modules import context

_PLAIN = frozenset([int, float, bool, str, bytes, type(None)])


def may_reuse(kwargs: dict[str, Any]) -> bool:
    """Whether a module that is being constructed belongs to a compact method of a bound one."""
    parent = context.current_module()
    if parent is None or "parent" in kwargs:
        return False
    scope = parent._life.scope
    return scope is not None and scope.store.bound


def known_child(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The child that an earlier call of the running method made with these arguments, or None."""
    parent = context.current_module()
    table = context.table_of(parent)
    if table is None or table.kind != "compact":
        return None
    names = table.names
    chosen = kwargs.get("name")
    name = names.next_auto(cls) if chosen is None else chosen
    child = parent._life.children.get(name)
    if type(child) is not cls or child._life.arguments is None:
        return None
    before, options = child._life.arguments
    if len(before) != len(args) or options.keys() != kwargs.keys():
        return None
    if not all(map(_is_same, args, before)):
        return None
    if not all(_is_same(value, options[key]) for key, value in kwargs.items()):
        return None
    if names.taken(name, None) or parent._life.names.taken(name, None):
        return None  # the usual way says what is wrong
    if chosen is None:
        names.auto(cls)
    names.take(name, None)
    return child


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and type(a) in _PLAIN and a == b)
