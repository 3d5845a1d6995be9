"""Decides whether a statement may be part of a segment, from the current values of its names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import tensorflow as tf

from nbfn.code import package_of
from nbfn.functions.effects.abstract_values import (
    TENSOR,
    AbstractValue,
    CodeScope,
    is_library_class,
    is_tensor,
    names_in,
)
from nbfn.functions.effects.call_inspector import CallInspector
from nbfn.functions.effects.finder import SEGMENT, Finder

NO_TENSOR = "uses no tensor"


@dataclass(frozen=True)
class Verdict:
    """The result for one statement.

    Attributes:
        reason: Why it is Python's; None if it may be part of a segment.
        reads: Names of the namespace that the called functions read.
    """

    reason: str | None
    reads: frozenset[str] = frozenset()


def judge(node: ast.stmt, namespace: Mapping[str, Any], tapes: frozenset[str]) -> Verdict:
    """Returns the verdict on a statement that Python runs next or has just run.

    Args:
        node: The statement; for a ``with`` only the tape that it opens is judged.
        namespace: The namespace of the cell.
        tapes: Tapes whose gradients may be taken in a segment.
    """
    scope = CodeScope(names_in(namespace, {}))
    if isinstance(node, ast.With):
        opened = node.items[0].context_expr
        is_tape = isinstance(opened, ast.Call) and scope.value(opened.func).is_one_of(
            tf.GradientTape
        )
        return Verdict(None if is_tape else "enters a context")
    finder = Finder(SEGMENT, namespace)
    found = list(finder.walk(scope, tapes).visit(node))
    if found:  # the effect of the outermost call comes last
        decisive = found[-1] if found[-1].reason.is_effect else found[0]
        return Verdict(str(decisive))
    before = CodeScope(names_in(namespace, {}))
    read = [
        before.value(each)
        for each in ast.walk(node)
        if isinstance(each, ast.Name | ast.Attribute) and isinstance(each.ctx, ast.Load)
    ]
    # Keras numbers symbolic tensors, and a layer records each call on one; tracing would add one.
    if any(_holds(each, _is_symbolic) for value in read for each in value.objects):
        return Verdict("builds a Keras model")
    if not _has_tensor(node, before, read):
        return Verdict(NO_TENSOR)
    return Verdict(None, frozenset(finder.reads))


def inspector_of(
    nodes: Sequence[ast.stmt],
    own: CodeType,
    namespace: Mapping[str, Any],
    before: Mapping[str, Any],
    writes: Sequence[str],
) -> CallInspector:
    """Builds the inspector of a trace of statements that Python has just run.

    Args:
        nodes: The statements.
        own: The code of the function that is traced.
        namespace: The namespace of the cell, after the run.
        before: The values that the statements read, before the run.
        writes: The names that they write.
    """
    names = {**namespace, **before}
    finder = Finder(SEGMENT, namespace)
    walk = finder.walk(CodeScope(names_in(names, {})))
    for _ in walk.block(nodes):  # only for the functions that it meets
        pass
    return CallInspector(finder, own, names, writes)


def _has_tensor(node: ast.stmt, scope: CodeScope, read: Sequence[AbstractValue]) -> bool:
    """Returns whether a statement uses tensors, or calls functions that create some."""
    if isinstance(node, ast.AugAssign):
        read = [*read, scope.value(node.target)]
    for value in read:
        if value is TENSOR or any(_holds(o, is_tensor) for o in value.objects):
            return True
        if any(is_library_class(type(o)) for o in value.objects):
            return True
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            modules = (getattr(o, "__module__", None) for o in scope.value(each.func).objects)
            if any(package_of(module) in ("tensorflow", "keras") for module in modules):
                return True
    return False


def _is_symbolic(value: Any) -> bool:
    return type(value).__name__ == "KerasTensor"  # by name: Keras may not be imported


def _holds(value: Any, is_one: Callable[[Any], bool], depth: int = 3) -> bool:
    """Returns whether a value satisfies a predicate, or contains one that does."""
    if is_one(value):
        return True
    if depth and isinstance(value, list | tuple | dict):
        # The first ones only: a statement is judged again at each run, and a list may have
        # millions.
        items = value.values() if isinstance(value, dict) else value
        return any(_holds(each, is_one, depth - 1) for each in list(items)[:16])
    return False
