"""``nn.compact_name_scope``: a compact method with its own scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from nbfn.code import wraps
from nbfn.modules.errors import UnboundModuleError
from nbfn.modules.lifecycle import method_stack
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
    internal = module._internal
    if internal.scope is None:
        raise UnboundModuleError(
            f"{type(module).__name__}.{name} is compact, so it can only run on a module with "
            "variables. Use init, apply or bind."
        )
    table = method_stack.table_of(module)
    child = internal.children.get(name)
    if table is not None and table.kind == "compact" and not table.names.is_name_scope(name):
        if internal.names.taken(name, None) or table.names.taken(name, None):
            raise name_in_use(module, name, None, internal.names, table.names)
        table.names.take_name_scope(name)
    elif internal.names.taken(name, None):
        raise name_in_use(module, name, None, internal.names)
    if child is not None and child._internal.scope.store is internal.scope.store:
        return child
    twin = object.__new__(type(module))
    twin.__dict__.update(module.__dict__)
    twin.__dict__["_internal"] = inner = type(internal)()
    inner.built = inner.ready = True
    inner.scope, inner.given = internal.scope.child(name), internal.given
    twin.__dict__["_children"] = inner.children
    internal.children[name] = twin
    return twin
