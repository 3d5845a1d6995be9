"""What Python does in a cell, and in the user's functions that it calls, and no graph does."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FunctionType
from typing import Any

import tensorflow as tf

from nbfn.notebook.cells.inputs import is_tensor_or_array
from nbfn.notebook.cells.kinds import is_tensor, is_variable
from nbfn.notebook.remarks.called import Callee, callees
from nbfn.notebook.remarks.effects import effect_of, effect_of_storing, is_iterator_of_python, shown
from nbfn.notebook.remarks.findings import Finding, Inside
from nbfn.notebook.remarks.running_order import RunningOrder
from nbfn.notebook.remarks.sources import source_of
from nbfn.notebook.remarks.standing import (
    TENSOR,
    GoneThrough,
    Known,
    Method,
    Of,
    Scope,
    Standing,
    builtin,
    class_of,
    is_dataset,
    scope_of_function,
    stands_for_tensor,
)

MAX_FUNCTIONS = 200
"""Functions that one walk goes into, at most."""

MAX_DEPTH = 30
"""Functions within each other that a walk goes into, at most."""

_CONSUMERS = (list, tuple, set, frozenset, dict, sorted, sum, max, min, functools.reduce)
_CALLING_BACK = (tf.py_function, tf.numpy_function, tf.compat.v1.py_func)
_CALLERS = (map, filter, tf.map_fn, tf.scan, tf.foldl, tf.foldr, tf.cond, tf.while_loop)
_NUMBERS = (int, float, range)
_ENDLESS = ("endless", "loop")
_TEXTS = (str, repr, format)


def findings_in(body: Sequence[ast.stmt], namespace: Mapping[str, Any]) -> tuple[Finding, ...]:
    """What Python does in a cell, and in the functions of the user's that it calls.

    Args:
        body: The cell's statements, with the cell's line numbers.
        namespace: The notebook's names, before the cell runs.
    """

    def outer(name: str) -> Standing:
        if name not in namespace:
            return builtin(name)
        # It becomes an argument; one that an object or another function holds does not.
        return TENSOR if is_tensor(namespace[name]) else Known(namespace[name])

    walk = _Walk(Scope(outer), _Memory())
    walk.block(body)
    return tuple(walk.findings)


class _Memory:
    """What was found in each function, so that it is gone through once for each kind of call."""

    def __init__(self) -> None:
        self._found: dict[Any, tuple[Finding, ...]] = {}
        self._alive: list[Any] = []
        self._depth = 0

    def inside(self, function: FunctionType, given: Mapping[str, Standing]) -> tuple[Finding, ...]:
        """What is found in a function that is called with these arguments."""
        key = (id(function), tuple((name, _identity(each)) for name, each in given.items()))
        if key not in self._found:
            if len(self._found) >= MAX_FUNCTIONS or self._depth >= MAX_DEPTH:
                return ()
            self._found[key] = ()  # it may call itself
            self._alive.append((function, given))
            self._depth += 1
            self._found[key] = tuple(self._look_into(function, given))
            self._depth -= 1
        return self._found[key]

    def _look_into(
        self, function: FunctionType, given: Mapping[str, Standing]
    ) -> Iterator[Finding]:
        code = function.__code__
        node = source_of(code)
        if node is None:
            return
        own = frozenset((*code.co_varnames, *code.co_cellvars))
        walk = _Walk(scope_of_function(function, own, given), self)
        walk.is_own = False
        if isinstance(node, ast.Lambda):
            walk.visit(node.body)
        else:
            walk.block(node.body)
        for each in walk.findings:
            place = Inside(function.__name__, code.co_filename, each.line)
            yield each if each.inside else replace(each, inside=place)


class _Walk(RunningOrder):
    """Walks one piece of code.

    Attributes:
        findings: What was found.
        is_own: Whether the code is the cell's.
    """

    def __init__(self, scope: Scope, memory: _Memory) -> None:
        super().__init__(scope)
        self.findings: list[Finding] = []
        self.is_own = True
        self._memory = memory
        self._is_muted = False

    def _find(self, kind: Any, node: ast.expr | ast.stmt, what: str, advice: str = "") -> None:
        self.findings.append(Finding(kind, node.lineno, what, advice, is_sure=self.is_sure))

    # Assignments and loops ----------------------------------------------------------------

    def stored(self, target: ast.expr, standing: Standing) -> None:
        what = f"{ast.unparse(target)} = …"
        if isinstance(target, ast.Tuple | ast.List) and is_dataset(standing):
            self._find("endless", target, f"{', '.join(map(ast.unparse, target.elts))} = …")
        elif isinstance(target, ast.Attribute | ast.Subscript):
            advice = effect_of_storing(self.scope.of(target.value))
            if advice is not None:
                self._find("effect", target, what, advice)

    def looped(self, node: ast.For, over: Standing) -> None:
        what = f"for … in {ast.unparse(node.iter)}"
        if class_of(over) is GoneThrough or self._is_endless_generator(node.iter):
            self._find("endless", node, what)
        elif is_dataset(over):
            self._find("loop", node, what)
        elif is_iterator_of_python(over):
            self._find("effect", node, what, "a tf.data.Dataset goes on at each call")
        self._special(over, node, "__iter__", "__next__")

    def entered(self, node: ast.With, standing: Standing) -> None:
        self._special(standing, node, "__enter__", "__exit__")

    # Calls --------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> None:
        called = self.scope.of(node.func)
        if _is_one_of(called, _CALLING_BACK):
            for each in (*node.args[1:], *(k.value for k in node.keywords if k.arg != "func")):
                self.visit(each)
            return
        arguments = [self.scope.of(each) for each in node.args]
        advice = effect_of(called, arguments, bool(node.args or node.keywords))
        if advice is not None and not self.is_handling:
            self._find("effect", node, shown(node.func), advice)
        with self._muted(advice is not None):
            self.generic_visit(node)
            self._text_of_arguments(node, called)
        self._consume(node, called)
        if _is_one_of(called, _NUMBERS):
            self._number_of(node, arguments)
        for callee in callees(called) if advice is None else ():
            self._enter(node, callee, callee.given(node, self.scope))
        if _is_one_of(called, _CALLERS):
            for callee in (each for argument in arguments for each in callees(argument)):
                self._enter(node, callee, callee.own)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        found = self.scope.of(node)
        if isinstance(found, Method) and isinstance(found.function, property):
            for callee in callees(found):
                self._enter(node, callee, callee.own)

    def _special(self, owner: Standing, node: ast.stmt, *names: str) -> None:
        for callee in (each for name in names for each in callees(owner, name)):
            self._enter(node, callee, callee.own)

    def _enter(
        self, node: ast.expr | ast.stmt, callee: Callee, given: Mapping[str, Standing]
    ) -> None:
        is_lazy = bool(callee.function.__code__.co_flags & inspect.CO_GENERATOR)
        for each in self._memory.inside(callee.function, given):
            if is_lazy and each.kind in _ENDLESS:
                continue
            is_muted = self.is_handling or (self._is_muted and each.kind == "text")
            if not is_muted:
                is_sure = each.is_sure and self.is_sure
                self.findings.append(replace(each, line=node.lineno, is_sure=is_sure))

    # Data sets ----------------------------------------------------------------------------

    def _consume(self, node: ast.Call, called: Standing) -> None:
        consumes = _is_one_of(called, _CONSUMERS)
        if isinstance(called, Method):
            consumes = called.name in ("extend", "update", "join")
            consumes = consumes and class_of(called.owner) in (list, set, dict, str)
        starred = [each.value for each in node.args if isinstance(each, ast.Starred)]
        if (consumes and self._has_dataset(node.args)) or self._has_dataset(starred):
            alone = len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp)
            parts = [node.func, node.args[0]] if alone else [node]
            self._find("endless", node, "".join(map(ast.unparse, parts)))

    def _has_dataset(self, nodes: Iterable[ast.expr]) -> bool:
        return any(
            is_dataset(self.scope.of(each)) or self._is_endless_generator(each) for each in nodes
        )

    def _is_endless_generator(self, node: ast.expr) -> bool:
        """Whether it calls a generator function, which AutoGraph leaves as it is."""
        if not isinstance(node, ast.Call):
            return False
        return any(
            found.kind in _ENDLESS and found.is_sure
            for callee in callees(self.scope.of(node.func))
            if callee.function.__code__.co_flags & inspect.CO_GENERATOR
            for found in self._memory.inside(callee.function, callee.given(node, self.scope))
        )

    def visit_ListComp(self, node: ast.expr) -> None:
        if not isinstance(node, ast.GeneratorExp) and self._has_dataset([_first(node)]):
            self._find("endless", node, ast.unparse(node))
        super().visit_ListComp(node)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def visit_List(self, node: ast.List | ast.Tuple | ast.Set) -> None:
        if self._has_dataset(each.value for each in node.elts if isinstance(each, ast.Starred)):
            self._find("endless", node, ast.unparse(node))
        self.generic_visit(node)

    visit_Tuple = visit_Set = visit_List

    # Texts --------------------------------------------------------------------------------

    @contextmanager
    def _muted(self, is_muted: bool = True) -> Iterator[None]:
        """Of texts inside nothing is said: they are part of something that is said, or raised."""
        before, self._is_muted = self._is_muted, self._is_muted or is_muted
        try:
            yield
        finally:
            self._is_muted = before

    def visit_Raise(self, node: ast.Raise | ast.Assert) -> None:
        with self._muted():
            self.generic_visit(node)

    visit_Assert = visit_Raise

    def _text(self, node: ast.expr) -> None:
        standing = self.scope.of(node)
        # A tensor that an object holds is no argument: it is eager while a graph is made.
        is_held = isinstance(standing, Known) and not is_variable(standing.value)
        if stands_for_tensor(standing) and not is_held and not self._is_muted:
            root = node.id if isinstance(node, ast.Name) and self.is_own else ""
            found = Finding("text", node.lineno, ast.unparse(node), "", None, self.is_sure, root)
            self.findings.append(found)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> None:
        self.generic_visit(node)
        self._text(node.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod) and issubclass(class_of(self.scope.of(node.left)), str):
            parts = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            for each in parts:
                self._text(each)

    def _text_of_arguments(self, node: ast.Call, called: Standing) -> None:
        makes_text = _is_one_of(called, _TEXTS)
        if isinstance(called, Method) and issubclass(class_of(called.owner), str):
            makes_text = called.name == "format"
        for each in (*node.args, *(k.value for k in node.keywords)) if makes_text else ():
            self._text(each)

    def _number_of(self, node: ast.Call, arguments: Iterable[Standing]) -> None:
        for each, standing in zip(node.args, arguments, strict=True):
            is_array = isinstance(standing, Known) and is_tensor_or_array(standing.value)
            if self.is_own and (is_array or stands_for_tensor(standing)):
                function = ast.unparse(node.func)
                what = "numbers" if function == "range" else "a number"
                advice = f"of a tensor gives tensors here, not {what}"
                root = each.id if isinstance(each, ast.Name) else ""
                self.findings.append(
                    Finding("number", node.lineno, shown(node.func), advice, root=root)
                )
                return


def _is_one_of(called: Standing, values: Iterable[Any]) -> bool:
    return isinstance(called, Known) and any(called.value is each for each in values)


def _first(node: ast.expr) -> ast.expr:
    """What a comprehension goes through."""
    generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
    return generators[0].iter


def _identity(standing: Standing) -> Any:
    if isinstance(standing, Known):
        return id(standing.value)
    return standing.cls if isinstance(standing, Of) else id(standing)
