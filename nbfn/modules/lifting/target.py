"""The targets of transformations: module classes, methods, and functions of modules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbfn.code import wraps
from nbfn.modules.errors import TransformError, show_names
from nbfn.modules.lifecycle.fields import is_module
from nbfn.modules.lifecycle.methods import enters, nowrap

Transformation = Callable[..., Any]


def transform(
    target: Any,
    label: str,
    prefix: str,
    call: Transformation,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Returns the transformed class or function.

    Args:
      target: a subclass of ``nn.Module``, or a function whose first argument is a module; as a
        decorator of a method, the method.
      label: the transformation, such as ``"nn.vmap"``.
      prefix: put before the name of a class: ``Vmap`` makes ``VmapDense``.
      call: called as ``call(fn, options, module, *args, **kwargs)`` in place of ``fn``.
      methods: for a class, the methods to transform, by default ``__call__``; or a dict of methods
        with the options that differ for each.
      options: the options of the transformation.

    Raises:
      TransformError: the target is something else, such as a module instance; there is no such
        method or option.
    """
    options = options or {}
    if isinstance(target, type) and hasattr(target, "__field_names__"):
        return _class(target, label, prefix, call, methods, options)
    if isinstance(target, functools.partial) and isinstance(target.func, type):
        transformed = transform(target.func, label, prefix, call, methods, options)
        return functools.partial(transformed, *target.args, **target.keywords)
    if is_module(target):
        raise TransformError(
            f"{label} got the instance {target!r}. Give it the class ({label}("
            f"{type(target).__name__}, ...)), or a function that takes the module: "
            f"{label}(lambda m, x: m(x), ...)(module, x)."
        )
    if not callable(target) or isinstance(target, type):
        raise TransformError(
            f"{label} transforms a module class or a function of a module, not {target!r}."
        )
    if methods is not None:
        raise TransformError(f"{label}: methods= is for module classes, not for {target!r}.")
    return _function(target, call, options)


def _function(
    fn: Callable[..., Any], call: Transformation, options: Mapping[str, Any]
) -> Callable[..., Any]:
    @wraps(fn)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        return call(fn, options, *args, **kwargs)

    # `wraps` copies this mark, but the transformed function does not enter the module itself.
    lifted.__dict__.pop("__nbfn_wrapped__", None)
    return nowrap(enters(lifted))


def _class(
    target: Any,
    label: str,
    prefix: str,
    call: Transformation,
    methods: Any,
    options: Mapping[str, Any],
) -> type:
    names = ("__call__",) if methods is None else tuple(methods)
    missing = [name for name in names if not callable(getattr(target, name, None))]
    if missing:
        raise TransformError(f"{label}: {target.__name__} has no method {missing[0]!r}.")
    own = dict(methods) if isinstance(methods, Mapping) else {name: {} for name in names}
    for name, chosen in own.items():
        unknown = chosen.keys() - options.keys() if isinstance(chosen, Mapping) else {chosen}
        if unknown:
            raise TransformError(
                f"{label}: methods[{name!r}] holds {show_names(map(str, unknown))}, but it must be "
                f"a dict of options of {label}: {show_names(options)}."
            )
    lifted = {
        name: _function(getattr(target, name), call, {**options, **own[name]}) for name in names
    }
    return type(
        f"{prefix}{target.__name__}",
        (target,),
        {
            **lifted,
            "__module__": target.__module__,
            "__doc__": target.__doc__,
            "__untransformed__": target,
        },
    )
