"""Finds Python loops through a dataset, whose iterator never ends while it is traced.

A heuristic, by the syntax: see ``tests/functions/traced/test_early_warnings.py``.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import tensorflow as tf

from nbfn.code import closure, is_user_module, package_of
from nbfn.functions.effects.abstract_values import CodeScope, is_library_class, names_in
from nbfn.functions.effects.syntax_trees import source_of
from nbfn.state.values.fingerprints import is_a

_ENDING = ("itertools",)
"""Modules whose iterators AutoGraph supports, or that may end by themselves."""


def endless_loop(function: Any, args: Sequence[Any]) -> tuple[int, str, str] | None:
    """Returns the first loop over a Python iterator that wraps a dataset, such as a progress bar.

    Returns:
        Its line, the callee and the dataset as source text; None if there is none.
    """
    if not isinstance(function, FunctionType) or not is_user_module(function.__module__):
        return None
    code = function.__code__
    names: dict[str, Any] = dict(zip(code.co_varnames, args, strict=False))
    namespace = function.__globals__
    names |= {name: namespace[name] for name in code.co_names if name in namespace}
    names |= closure(function)
    if not any(map(_is_data, names.values())):
        return None
    scope = CodeScope(names_in(names, {}))
    tree = source_of(code)
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, ast.For | ast.comprehension):
            continue
        match node.iter:
            case ast.Call(called, [ast.Name(data), *_]) if _is_data(names.get(data)):
                if any(map(_iterates_over_argument, scope.value(called).objects)):
                    return node.iter.lineno, ast.unparse(called), data
    return None


def _is_data(value: Any) -> bool:
    return is_a(value, (tf.data.Dataset, tf.data.Iterator))


def _iterates_over_argument(called: Any) -> bool:
    """Returns whether this is a user class or generator that iterates over its argument."""
    module = getattr(called, "__module__", None)
    if module in (None, "builtins") or package_of(module) in _ENDING:
        return False
    if isinstance(called, type):
        return not is_library_class(called) and hasattr(called, "__iter__")
    return inspect.isgeneratorfunction(called)
