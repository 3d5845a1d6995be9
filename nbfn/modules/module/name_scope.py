"""``nn.compact_name_scope``: a compact method with its own scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from nbfn.code import wraps
from nbfn.modules.errors import UnboundModuleError
from nbfn.modules.lifecycle import context
from nbfn.modules.lifecycle.methods import wrap
from nbfn.modules.lifecycle.naming import name_in_use

F = TypeVar("F", bound=Callable[..., Any])


def compact_name_scope(fn: F) -> F:
    """Like ``nn.compact``, but declarations of the method are below the method's name.

    So several compact methods of one module do not share automatic names: the variables of
    ``Dense_0`` in ``encode`` are at ``encode/Dense_0``. Fields and attributes of ``setup`` still
    belong to the module.

    Implements: Flax Linen, ``nn.compact_name_scope``.
    """
    inside = wrap(fn, compact=True)

    @wraps(fn)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        # As in `wrap`, since autoreload may replace `__wrapped__`.
        inside.__wrapped__ = method.__wrapped__  # type: ignore[attr-defined]
        return inside(_twin(self, fn.__name__), *args, **kwargs)

    return cast("F", method)


def _twin(module: Any, name: str) -> Any:
    """Returns a copy of a module whose scope is one level below."""
    life = module._life
    if life.scope is None:
        raise UnboundModuleError(
            f"{type(module).__name__}.{name} is compact, so it can only run on a module with "
            "variables. Use init, apply or bind."
        )
    table = context.table_of(module)
    known = life.children.get(name)
    if table is not None and table.kind == "compact" and not table.names.twin(name):
        if life.names.taken(name, None) or table.names.taken(name, None):
            raise name_in_use(module, name, None, life.names, table.names)
        table.names.take_twin(name)
    elif life.names.taken(name, None):
        raise name_in_use(module, name, None, life.names)
    if known is not None and known._life.scope.store is life.scope.store:
        return known
    made = object.__new__(type(module))
    made.__dict__.update(module.__dict__)
    made.__dict__["_life"] = twin = type(life)()
    twin.built = twin.ready = True
    twin.scope, twin.given = life.scope.child(name), life.given
    made.__dict__["_children"] = twin.children
    life.children[name] = made
    return made
