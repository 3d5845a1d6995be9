"""``apply`` and its special case ``init``: pure functions around a module.

``apply`` clones the module, attaches the clone to a ``TensorStore`` with the variables, runs the
method, and returns the output with the mutable collections. The clone cannot be used afterwards.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from nbfn._tensorflow import call_as_here
from nbfn.modules.errors import InstanceError, MethodError, UnknownAttributeError
from nbfn.modules.lifecycle import method_stack
from nbfn.modules.lifecycle.binding import attach, check_built, clone, unbound
from nbfn.modules.lifecycle.fields import is_module
from nbfn.modules.lifecycle.interception import wanted_outputs
from nbfn.modules.variables.filters import DenyList, Filter, FilterLike
from nbfn.modules.variables.keys import check_rngs
from nbfn.modules.variables.scope import Scope
from nbfn.modules.variables.store import Draws, TensorStore
from nbfn.modules.variables.tree import check_variables
from nbfn.text import shorten

INIT_MUTABLE = DenyList("intermediates")


class Application:
    """One application of a module, as a context manager.

    Attributes:
      module: the clone.
      function: the function to call with the arguments.
      store: the variables.
    """

    def __init__(
        self,
        module: Any,
        variables: Any,
        rngs: Any,
        method: Any,
        mutable: FilterLike,
        initializing: bool = False,
        capture_intermediates: Any = False,
    ) -> None:
        """Checks the arguments and attaches a clone.

        Raises:
          InstanceError: ``module`` is not a module, for instance because the class was passed.
            PostInitError, VariablesTypeError, VariablesStructureError, RngError, FilterError,
            MethodError, UnknownAttributeError: an argument is invalid.
        """
        check_instance(module)
        wanted = wanted_outputs(capture_intermediates)
        self._pure = mutable is False and not initializing and wanted is None
        streams = {name: Draws(key) for name, key in check_rngs(rngs).items()}
        writable = Filter.of(mutable)
        if wanted is not None:
            writable |= Filter.of("intermediates")
        store = TensorStore(check_variables(variables), streams, writable, initializing)
        store.wanted = wanted
        self.store = store
        with method_stack.entered(None):
            self.module = clone(unbound(module))
            attach(self.module, Scope(store))
            self.function = method_of(self.module, method)

    def __enter__(self) -> None:
        """Prevents modules made inside from having a parent outside."""
        method_stack.here.modules.append(None)

    def __exit__(self, *error: object) -> None:
        """Closes the store: the clone cannot be used any more."""
        method_stack.here.modules.pop()
        self.store.closed = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function; AutoGraph converts it as if it were called directly."""
        with self:
            output = call_as_here(self.function, args, kwargs)
        # With the mutable collections if any were requested.
        return output if self._pure else (output, self.store.result())


def check_instance(module: Any) -> None:
    """Raises `InstanceError` for other values, `PostInitError` for an unfinished module."""
    if not is_module(module):
        raise InstanceError(
            f"Expected an instance of nn.Module, found {shorten(repr(module))}. Construct the "
            "module first: MyModule(...).init(key, x), not MyModule.init(key, x)."
        )
    check_built(module)


def method_of(module: Any, method: Any) -> Callable[..., Any]:
    """Resolves ``method=`` for an attached module.

    Args:
      module: the module.
      method: None for ``__call__``; the name of a method or of a callable submodule; a method; or
        any function whose first parameter receives the module.

    Returns:
      A function of the remaining arguments.

    Raises:
      UnknownAttributeError: there is no such method.
      MethodError: it cannot be called, or not with a module.
    """
    label = type(module).__name__
    if method is None:
        if not callable(module):
            raise UnknownAttributeError(
                f"{label} defines no __call__. Define it, or pass method= with another method."
            )
        bound: Callable[..., Any] = module.__call__
        return bound
    if isinstance(method, str):
        found = getattr(module, method)
        if not callable(found):
            raise MethodError(
                f"method={method!r}: {label}.{method} is {shorten(repr(found))}, which cannot be "
                "called."
            )
        return found  # type: ignore[no-any-return]
    if not callable(method):
        raise MethodError(
            f"method must be a name, a method or a function, found {shorten(repr(method))} for "
            f"{label}."
        )
    function = getattr(method, "__func__", method)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = None
    if parameters is not None and not any(
        p.kind is not p.KEYWORD_ONLY and p.kind is not p.VAR_KEYWORD for p in parameters
    ):
        raise MethodError(
            f"method={function!r} takes no positional argument, but it must take the module "
            f"({label}) as its first."
        )
    return functools.partial(function, module)


def apply(fn: Callable[..., Any], module: Any, mutable: FilterLike = False) -> Callable[..., Any]:
    """Returns a pure function from ``fn(module, *args)``.

    Args:
      fn: receives a module with variables, and may call any of its methods.
      module: the module; it is not changed.
      mutable: as in ``Module.apply``.

    Returns:
      ``applied(variables, *args, rngs=None, **kwargs)``, with the results of ``Module.apply``.

    Implements: Flax Module lifecycle, section "Lifecycle".
    """

    def applied(variables: Mapping[str, Any], *args: Any, rngs: Any = None, **kwargs: Any) -> Any:
        run = Application(module, variables, rngs, fn, mutable)
        return run(*args, **kwargs)

    return applied


def init_with_output(
    fn: Callable[..., Any], module: Any, mutable: FilterLike = INIT_MUTABLE
) -> Callable[..., Any]:
    """Like ``init``, but the returned function also returns the output: ``(y, variables)``."""

    def initialized(rngs: Any, *args: Any, **kwargs: Any) -> Any:
        run = Application(module, {}, rngs, fn, mutable, True)
        return run(*args, **kwargs)

    return initialized


def init(
    fn: Callable[..., Any], module: Any, mutable: FilterLike = INIT_MUTABLE
) -> Callable[..., Any]:
    """Returns a function that makes the variables used by ``fn(module, *args)``.

    Args:
      fn: receives the module, and may call any of its methods.
      module: the module; it is not changed.
      mutable: the collections to make; by default all except ``intermediates``.

    Returns:
      ``initialize(rngs, *args, **kwargs)``, which returns the variables.

    Implements: Flax Module lifecycle, section "Compact control flow".
    """

    def initialize(rngs: Any, *args: Any, **kwargs: Any) -> Any:
        run = Application(module, {}, rngs, fn, mutable, True)
        return run(*args, **kwargs)[1]

    return initialize
