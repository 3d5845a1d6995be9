"""What is put around a module's methods: context, lazy setup, compact declarations.

The wrapper is one ``with`` statement around the call, so that AutoGraph converts it together with
the user's method; everything behind it is closed to AutoGraph.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, cast

import tensorflow as tf

from nbfn._tensorflow import unconverted
from nbfn.modules import context
from nbfn.modules.errors import PropertyError, UnboundModuleError
from nbfn.modules.interception import around
from nbfn.modules.setup import prepare

F = TypeVar("F", bound=Callable[..., Any])


def opaque(fn: F) -> F:
    """Marks a function of nbfn as none of AutoGraph's business."""
    return cast("F", tf.autograph.experimental.do_not_convert(fn))


def marked(fn: F) -> F:
    """The same for what is called often and calls no function of the user's that may be traced."""
    return cast("F", unconverted(fn))


def compact(fn: F) -> F:
    """Lets a method declare submodules and variables where it uses them.

    Submodules are bound as they are constructed, and named ``Dense_0``, ``Dense_1``, ... in the
    order of construction unless ``name=`` says otherwise. Calling the method again finds the same
    variables. Compact methods may call each other and ``super()``: they count on together.

    Implements: Flax Module lifecycle, section "Compact Modules".
    """
    return cast("F", wrap(fn, compact=True))


def nowrap(fn: F) -> F:
    """Leaves a method as it is: no lazy setup, no context of its own.

    It can be called on an unbound module, and submodules that it constructs belong to its caller.
    """
    fn.__nbfn_nowrap__ = True  # type: ignore[attr-defined]
    return fn


def wrap(
    fn: Callable[..., Any], compact: bool = False, label: str | None = None
) -> Callable[..., Any]:
    """The method as a module runs it."""
    label = label or fn.__name__

    @functools.wraps(fn)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        with Call(self, label, compact, fn) as run:
            return run(self, *args, **kwargs)

    method.__nbfn_wrapped__ = True  # type: ignore[attr-defined]
    return method


class Call:
    """One call of a module's method, as a context manager."""

    __slots__ = ("compact", "fn", "label", "module", "opened", "previous", "scope_name")

    def __init__(self, module: Any, label: str, compact: bool, fn: Callable[..., Any]) -> None:
        """Notes what is called.

        Args:
          module: the module.
          label: the method's name, for the names of graph operations and for errors.
          compact: whether the method may declare.
          fn: the method as the class defines it.
        """
        self.fn = fn
        self.module = module
        self.label = label
        self.compact = compact

    def __enter__(self) -> Callable[..., Any]:
        """Runs ``setup`` if it is due and makes the module the current one.

        Returns:
          What to call in the method's place: a function of the module and the arguments.

        Raises:
          UnboundModuleError: a compact method of an unbound module.
        """
        module = self.module
        life = module._life
        self.scope_name = None
        self.opened = False
        if life.scope is not None:
            life.scope.store.check_open(life.scope.path)
            if not life.ready:
                prepare(module)
            if not tf.executing_eagerly():
                name = module.name or type(module).__name__
                label = name if self.label == "__call__" else f"{name}.{self.label}"
                # A module's name may hold characters that an operation's may not.
                allowed = re.sub(r"[^A-Za-z0-9_.-]", "_", label).lstrip("_-")
                self.scope_name = tf.name_scope(allowed or "module")
                self.scope_name.__enter__()
        elif self.compact:
            raise UnboundModuleError(
                f"{type(module).__name__}.{self.label} is compact, so it can only run on a bound "
                f"module. Use {type(module).__name__}(...).init(key, ...) and .apply(variables, "
                "...), or .bind(variables)."
            )
        context.push(module)
        if self.compact:
            previous, self.opened = context.open_compact(module)
            self.previous = previous
        if context.interceptors() or (life.scope is not None and life.scope.store.wanted):
            return around(module, self.fn, self.label)
        return self.fn

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Undoes ``__enter__``."""
        if self.opened:
            context.swap_table(self.module, self.previous)
        context.pop()
        if self.scope_name is not None:
            self.scope_name.__exit__(kind, error, trace)


def wrap_setup(fn: Callable[..., Any], kind: str) -> Callable[..., Any]:
    """``setup`` (or ``declare``) as a module runs it: once, and only when it is due."""

    @functools.wraps(fn)
    def method(self: Any) -> None:
        table = context.table_of(self)
        if table is not None and table.kind == kind:
            run = around(self, fn, kind) if context.interceptors() else fn
            run(self)
        elif self._life.scope is not None:
            prepare(self)
        else:
            raise UnboundModuleError(
                f"{type(self).__name__}.{kind} cannot be called on an unbound module. It runs by "
                "itself when init, apply or bind need it."
            )

    method.__nbfn_wrapped__ = True  # type: ignore[attr-defined]
    return method


def wrap_property(prop: property, owner: str) -> property:
    """A property whose own ``AttributeError`` is not mistaken for a missing attribute."""
    getter = prop.fget
    if getter is None:
        return prop

    @functools.wraps(getter)
    def read(self: Any) -> Any:
        try:
            return getter(self)
        except AttributeError as error:
            raise PropertyError(
                f"The property {owner}.{getter.__name__} raised AttributeError: {error}"
            ) from error

    return property(read, prop.fset, prop.fdel, prop.__doc__)


def wrap_class(cls: type) -> None:
    """Wraps what a module class itself defines."""
    for name, value in list(vars(cls).items()):
        if isinstance(value, property):
            setattr(cls, name, wrap_property(value, cls.__name__))
        elif inspect.isfunction(value) and not _is_exempt(name, value):
            if name in ("setup", "declare"):
                setattr(cls, name, wrap_setup(value, name))
            else:
                setattr(cls, name, wrap(value))


def _is_exempt(name: str, fn: Callable[..., Any]) -> bool:
    if hasattr(fn, "__nbfn_wrapped__") or hasattr(fn, "__nbfn_nowrap__"):
        return True
    return name != "__call__" and name.startswith("__") and name.endswith("__")
