"""Wraps the methods of modules: context, lazy setup, compact declarations.

AutoGraph does not convert the wrapper, which belongs to nbfn, but the method inside.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

import tensorflow as tf

from nbfn._tensorflow import call_as_here
from nbfn.code import wraps
from nbfn.modules.errors import PropertyError, UnboundModuleError
from nbfn.modules.lifecycle import method_stack
from nbfn.modules.lifecycle.interception import around
from nbfn.modules.lifecycle.last_call import begin, recording
from nbfn.modules.lifecycle.setup import prepare

F = TypeVar("F", bound=Callable[..., Any])


def compact(fn: F) -> F:
    """Lets a method declare submodules and variables where it uses them.

    Submodules are bound as they are constructed, and named ``Dense_0``, ``Dense_1``, ... in the
    order of construction unless ``name=`` says otherwise. Calling the method again finds the same
    variables. Compact methods may call each other and ``super()``; they share the numbering.

    Implements: Flax Module lifecycle, section "Compact Modules".
    """
    return cast("F", wrap(fn, compact=True))


def compact_if_bound(fn: F) -> F:
    """Like ``compact``, but the method also runs on an unbound module."""
    return cast("F", wrap(fn, compact=None))


def nowrap(fn: F) -> F:
    """Leaves a method without lazy setup and without its own context.

    It can be called on an unbound module, and submodules that it constructs belong to its caller.
    """
    _check(fn).__nbfn_nowrap__ = True  # type: ignore[attr-defined]
    return fn


def enters(fn: F) -> F:
    """Marks a function that enters the module itself, as a transformation does."""
    fn.__nbfn_enters__ = True  # type: ignore[attr-defined]
    return fn


def is_entered(fn: Any) -> bool:
    """Returns whether a function enters the module itself, so that callers must not."""
    return hasattr(fn, "__nbfn_wrapped__") or hasattr(fn, "__nbfn_enters__")


def _check(fn: F) -> F:
    if not callable(fn):
        raise TypeError(f"the decorator is for methods of a module; found {fn!r}")
    return fn


def wrap(
    fn: Callable[..., Any], compact: bool | None = False, label: str | None = None
) -> Callable[..., Any]:
    """Wraps a method as a module runs it."""
    label = label or _check(fn).__name__

    # IPython's autoreload changes attributes of functions, but not closures (IPython 9). So the
    # wrapper always calls `__wrapped__`.
    @wraps(fn)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = enter(self, label, compact, method.__wrapped__, args, kwargs)
        try:
            return call_as_here(call[0], (self, *args), kwargs)
        finally:
            leave(self, call)

    if method.__name__ == "<lambda>":
        method.__name__ = "call"  # otherwise AutoGraph looks for a lambda in this file
    method.__nbfn_wrapped__ = True  # type: ignore[attr-defined]
    return method


# The function to call instead of the method, the open name scope, whether a table was opened, and
# the table that was open before.
Entered = tuple[Callable[..., Any], Any, bool, "method_stack.Declarations | None"]


def enter(
    module: Any, label: str, compact: bool | None, fn: Callable[..., Any], args: Any, kwargs: Any
) -> Entered:
    """Prepares the run of a method: runs ``setup`` if necessary and makes the module current.

    With ``compact``, the method may declare; None means that it may, but also runs unbound.

    Returns:
      The function to call instead of the method, with the module and the arguments, and further
      state for ``leave``.

    Raises:
      UnboundModuleError: a compact method of an unbound module.
    """
    here, internal = method_stack.here, module._internal
    scope, scope_name = internal.scope, None
    wanted = None
    if scope is not None:
        store = scope.store
        if store.closed or store.suspended:
            store.check_open(scope.path)
        if not internal.ready:
            prepare(module)
        if not tf.executing_eagerly():
            # Only in graphs: operations that run eagerly have no names.
            scope_name = _name_scope(module, label)
        wanted = store.wanted
        if not here.modules and store.bound and label == "__call__":
            begin(scope, args, kwargs)
    elif compact:
        raise UnboundModuleError(
            f"{type(module).__name__}.{label} is compact, so it can only run on a bound "
            f"module. Use {type(module).__name__}(...).init(key, ...) and .apply(variables, "
            "...), or .bind(variables)."
        )
    opened, previous = False, None
    if compact is not False:
        tables, key = here.tables, id(module)
        previous = tables.get(key)
        if previous is None or previous.kind != "compact":
            tables[key] = method_stack.Declarations("compact")
            opened = True
    here.modules.append(module)
    if here.interceptors or wanted is not None:
        fn = around(module, fn, label)
    if here.noting is not None and label == "__call__":
        fn = recording(fn)
    return fn, scope_name, opened, previous


def leave(module: Any, call: Entered) -> None:
    """Undoes ``enter`` after a method has run or failed."""
    here = method_stack.here
    _, scope_name, opened, previous = call
    if opened:
        if previous is None:
            del here.tables[id(module)]
        else:
            here.tables[id(module)] = previous
    here.modules.pop()
    if not here.modules:
        here.noting = None
    if scope_name is not None:
        scope_name.__exit__(None, None, None)


def _name_scope(module: Any, label: str) -> Any:
    name = module.__dict__["name"] or type(module).__name__
    text = name if label == "__call__" else f"{name}.{label}"
    # A module's name may contain characters that names of operations may not.
    allowed = re.sub(r"[^A-Za-z0-9_.-]", "_", text).lstrip("_-")
    opened = tf.name_scope(allowed or "module")
    opened.__enter__()
    return opened


def wrap_setup(fn: Callable[..., Any], kind: str) -> Callable[..., Any]:
    """Wraps ``setup`` or ``declare`` so that it runs once, when needed."""

    @wraps(fn)
    def method(self: Any) -> None:
        table = method_stack.table_of(self)
        if table is not None and table.kind == kind:
            run = method.__wrapped__
            run = around(self, run, kind) if method_stack.here.interceptors else run
            call_as_here(run, (self,), {})
        elif self._internal.scope is not None:
            prepare(self)
        else:
            raise UnboundModuleError(
                f"{type(self).__name__}.{kind} cannot be called on an unbound module. It runs by "
                "itself when init, apply or bind need it."
            )

    method.__nbfn_wrapped__ = True  # type: ignore[attr-defined]
    return method


def reraise_hidden(descriptor: Any, module: Any, name: str) -> None:
    """Calls a descriptor again, and raises its ``AttributeError`` as a `PropertyError`."""
    try:
        descriptor.__get__(module, type(module))
    except AttributeError as error:
        raise PropertyError(
            f"The property {type(module).__name__}.{name} raised AttributeError: {error}"
        ) from error


def wrap_class(cls: type) -> None:
    """Wraps the methods that a module class itself defines."""
    for name, value in list(vars(cls).items()):
        if inspect.isfunction(value) and not is_exempt(name, value):
            setattr(cls, name, wrapped(name, value))


def wrapped(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the wrapper of a method."""
    return wrap_setup(fn, name) if name in ("setup", "declare") else wrap(fn)


def is_exempt(name: str, fn: Callable[..., Any]) -> bool:
    """Returns whether a function of a class must not be wrapped, or is already."""
    if hasattr(fn, "__nbfn_wrapped__") or hasattr(fn, "__nbfn_nowrap__"):
        return True
    return name != "__call__" and name.startswith("__") and name.endswith("__")
