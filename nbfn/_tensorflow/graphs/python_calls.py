"""Finds the Python functions that a graph calls: ``py_function``, ``numpy_function``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any

from nbfn._tensorflow.base import internal
from nbfn._tensorflow.operation_types import all_nodes
from nbfn.code import closure

_script_ops = internal("ops.script_ops")

PYTHON_CALLS = frozenset({"EagerPyFunc", "PyFunc", "PyFuncStateless"})
"""The operations of ``tf.py_function`` and ``tf.numpy_function`` (TensorFlow 2.21)."""
_registry: Any = getattr(_script_ops, "_py_funcs", None)


def graph_time_functions(graph: Any) -> list[Callable[..., Any]]:
    """Returns the user functions that a graph, including nested ones, calls in Python.

    Returns:
        The functions as given to ``tf.py_function`` and similar; empty if the internals are
        missing.
    """
    # Serialising a graph is slow, and most programs have no such function.
    if not hasattr(_registry, "size") or not hasattr(_registry, "get") or not _registry.size():
        return []
    # The registry holds them weakly; the graphs keep them alive (TensorFlow 2.21).
    calls = (node for node in all_nodes(graph.as_graph_def()) if node.op in PYTHON_CALLS)
    registered = (_registry.get(call.attr["token"].s.decode()) for call in calls)
    return [passed for each in registered if each is not None for passed in _given(each)]


def _given(registered: Any) -> Iterator[Callable[..., Any]]:
    """Yields the user functions inside TensorFlow's wrappers."""
    waiting, seen = [registered], set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if not _is_tensorflows(each):
            yield each
            continue
        for name in ("_func", "_generator"):  # of py_function, and of from_generator
            waiting += [getattr(each, name)] if hasattr(each, name) else []
        if isinstance(each, FunctionType):
            waiting += filter(_may_hold, closure(each).values())


def _is_tensorflows(value: Any) -> bool:
    function = value.__func__ if isinstance(value, MethodType) else value
    if isinstance(function, FunctionType):
        module = function.__globals__.get("__name__")
    else:
        module = type(value).__module__
    return str(module).startswith("tensorflow.")


def _may_hold(value: Any) -> bool:
    """Returns whether a value may be, or contain, a user function."""
    if _is_tensorflows(value) and hasattr(value, "_generator"):
        return True
    return callable(value) and not isinstance(value, type)
