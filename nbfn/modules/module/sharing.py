"""``nn.share_scope``: two modules with one scope; and ``nn.merge_param``."""

from __future__ import annotations

from typing import Any

from nbfn.modules.errors import NameInUseError, UnboundModuleError, show_names


def share_scope(module: Any, other: Any) -> None:
    """Makes two modules keep their variables at the same place.

    Both use the scope of ``other``, or that of ``module`` if ``other`` is below it. So a wrapper
    can add parameters next to those of the module that it wraps::

      class LoRA(nn.Module):
        def setup(self):
          self.inner = nn.Dense(3)
          nn.share_scope(self, self.inner)  # params: kernel, bias, a, b

    Args:
      module: a module with variables, usually ``self`` in ``setup``.
      other: another one of the same application.

    Raises:
      UnboundModuleError: one of them is unbound.
      NameInUseError: both already have something with the same name.
      TypeError: one of them is no module.

    Implements: Flax Linen, ``nn.share_scope``.
    """
    for each in (module, other):
        if not hasattr(each, "_internal"):
            raise TypeError(f"nn.share_scope shares the variables of modules; found {each!r}")
        if each._internal.scope is None:
            raise UnboundModuleError(
                f"nn.share_scope needs modules with variables, but {each!r} is unbound. Call it in "
                "setup or in a compact method."
            )
    here, there = module._internal.scope, other._internal.scope
    inside = there.path[: len(here.path)] == here.path
    target, moved = (module, other) if inside else (other, module)
    _check_names(target, moved)
    _move(moved, target._internal.scope)
    for name, collections in moved._internal.names.held().items():
        for collection in collections:
            target._internal.names.take(name, collection)
    moved._internal.names = target._internal.names


def _check_names(target: Any, moved: Any) -> None:
    ours = target._internal.names
    inner = moved.name if moved.parent is target else None
    clashes = [
        name
        for name, collections in moved._internal.names.held().items()
        if name != inner and any(ours.taken(name, collection) for collection in collections)
    ]
    if clashes:
        raise NameInUseError(
            f"{target._internal.scope} and {moved._internal.scope} both have "
            f"{show_names(clashes)}, so they cannot share one place. Rename them in one "
            "of the modules."
        )


def _move(module: Any, scope: Any) -> None:
    """Moves a module and those below it to another scope."""
    old = module._internal.scope
    module._internal.scope = scope
    for name, child in module._internal.children.items():
        if child._internal.scope.path == (*old.path, name):
            _move(child, scope.child(name))


def merge_param(name: str, a: Any, b: Any) -> Any:
    """Returns the one of two values that is not None: an argument of a field or of a call.

    Args:
      name: the argument's name, for the error.
      a: the value of the field.
      b: the value of the call.

    Raises:
      ValueError: both are None, or neither is.

    Implements: Flax Linen, ``nn.merge_param``.
    """
    if a is None and b is None:
        raise ValueError(
            f"{name!r} must be given, either as a field of the module or as an argument of the "
            "call; both are None."
        )
    if a is not None and b is not None:
        raise ValueError(
            f"{name!r} was given twice: {a!r} as a field of the module, {b!r} as an argument of "
            "the call. Leave one of them None."
        )
    return b if a is None else a
