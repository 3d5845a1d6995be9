"""``nn.intercept_methods``: functions around all module methods; and captured outputs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn._tensorflow import call_as_here
from nbfn.modules.lifecycle import method_stack
from nbfn.modules.variables.tree import leaves

Interceptor = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any], "Intercepted"], Any]


@dataclass(frozen=True)
class Intercepted:
    """An intercepted call.

    Attributes:
      module: the module whose method is called.
      method_name: the method's name.
      orig_method: the method as the class defines it, bound to the module; calling it bypasses all
        interceptors.
    """

    module: Any
    method_name: str
    orig_method: Callable[..., Any]


@contextlib.contextmanager
def intercept_methods(interceptor: Interceptor) -> Iterator[None]:
    """Puts a function around the methods of all modules, on this thread, in a ``with`` block.

    Methods marked with ``nn.nowrap``, properties and special methods other than ``__call__`` are
    not intercepted. With nested blocks, the outermost function is called first.

    Args:
      interceptor: called as ``interceptor(next_fun, args, kwargs, context)``, where ``context`` has
        ``module``, ``method_name`` and ``orig_method``; returns what the method should return, for
        instance ``next_fun(*args, **kwargs)``.

    Implements: Flax Linen, ``nn.intercept_methods``.
    """
    stack = method_stack.here.interceptors
    stack.append(interceptor)
    try:
        yield
    finally:
        stack.pop()


def around(module: Any, fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Returns a function that calls a method through all interceptors."""

    def original(*args: Any, **kwargs: Any) -> Any:
        return call_as_here(fn, (module, *args), kwargs)

    intercepted = Intercepted(module, name, original)
    chain: Callable[..., Any] = original
    for interceptor in reversed(method_stack.here.interceptors):
        chain = _step(interceptor, chain, intercepted)

    def call(_: Any, *args: Any, **kwargs: Any) -> Any:
        output = chain(*args, **kwargs)
        _keep(module, name, output)
        return output

    return call


def _step(
    interceptor: Interceptor, following: Callable[..., Any], intercepted: Intercepted
) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return call_as_here(interceptor, (following, args, kwargs, intercepted), {})

    return call


def _keep(module: Any, name: str, output: Any) -> None:
    """Sows the output if outputs of such calls are requested."""
    scope = module._internal.scope
    wanted = None if scope is None else scope.store.wanted
    if wanted is not None and wanted(module, name) and _is_value(output):
        module.sow("intermediates", name, output)


def _is_value(output: Any) -> bool:
    found = [leaf for _, leaf in leaves(output)]
    return bool(found) and all(
        tf.is_tensor(leaf) or isinstance(leaf, (bool, int, float, np.ndarray, np.generic))
        for leaf in found
    )


def wanted_outputs(spec: Any) -> Callable[[Any, str], bool] | None:
    """Returns a predicate for captured outputs.

    Args:
      spec: False for none, True for those of ``__call__``, or a function of module and method name.
    """
    if spec is True:
        return lambda _, name: name == "__call__"
    return spec or None
