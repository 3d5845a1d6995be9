"""The types of each module's inputs and outputs in the last call, for the tree in a notebook.

They are recorded when a bound module is called from outside with other shapes than before, so other
calls cost almost nothing. No tensors are kept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from nbfn._tensorflow import call_as_here
from nbfn.modules.lifecycle import method_stack
from nbfn.modules.variables.scope import Scope
from nbfn.modules.variables.tree import leaves
from nbfn.text import tensor_type


def begin(scope: Scope, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Starts recording a call from outside if its shapes are new."""
    store: Any = scope.store
    try:
        shapes = [getattr(value, "shape", None) for value in args]
        if kwargs:
            shapes += [getattr(value, "shape", None) for value in kwargs.values()]
        last = store.called.get(scope.path)
        if last is not None and len(last) == len(shapes) and all(map(_is_same, last, shapes)):
            return
        store.called[scope.path] = shapes
    except Exception:  # arguments may be anything, and recording must not break a call
        return
    method_stack.here.noting = store.shapes


def recording(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method that also records its inputs and outputs."""

    def call(module: Any, *args: Any, **kwargs: Any) -> Any:
        output = call_as_here(fn, (module, *args), kwargs)
        note(module, args, kwargs, output)
        return output

    return call


def note(module: Any, args: Any, kwargs: Any, output: Any) -> None:
    """Records the types of a module's inputs and outputs."""
    noting, scope = method_stack.here.noting, module._internal.scope
    if noting is not None and scope is not None:
        with contextlib.suppress(Exception):  # recording must not break a call
            noting[scope.path] = (types_text([list(args), kwargs]), types_text(output))


def types_text(value: Any) -> str:
    """Formats the dtypes and shapes of tensors and arrays in nested containers."""
    return ", ".join(
        tensor_type(tf.as_dtype(leaf.dtype).name, tf.TensorShape(leaf.shape))
        for _, leaf in leaves(value)
        if tf.is_tensor(leaf) or hasattr(leaf, "__array__")
    )


def _is_same(one: Any, other: Any) -> bool:
    return one is other or bool(one == other)
