"""Rewrites expressions that AutoGraph cannot convert as equivalent statements on the same lines.

These are ``:=`` and nested conditionals that only follow names, constants and operators; ``match``
on values; and ``else`` of loops. An expression stays as it is if rewriting would change the order
in which user code runs; AutoGraph then refuses it as usual.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nbfn._tensorflow.base import internal

try:
    import gast as _gast  # type: ignore[import-untyped]
except ImportError:
    _gast = None
_anno = internal("autograph.pyct.anno")

gast: Any = _gast
"""The syntax trees that AutoGraph uses with all Python versions; None if not installed."""

Node = Any
"""A node of a ``gast`` tree."""

_Transformer: Any = getattr(gast, "NodeTransformer", object)


class _MeaningError(Exception):
    """Raised for a statement whose meaning would change."""


def rewritten(function: Node, namer: Any) -> Node:
    """Rewrites a function's syntax tree so that AutoGraph can convert it.

    Args:
        function: The function; returned unchanged if it needs no rewriting.
        namer: AutoGraph's namer, which makes names that the function does not use.
    """
    if gast is None or not isinstance(function, gast.FunctionDef) or is_readable(function, gast):
        return function
    try:
        changed = _Rewriter(namer).visit(copy.deepcopy(function))
    except Exception:  # AutoGraph reports what it cannot convert
        return function
    return changed


def is_readable(tree: Node, kinds: Any) -> bool:
    """Returns whether a syntax tree needs no rewriting.

    Args:
        tree: The tree.
        kinds: The module of its nodes' classes, ``ast`` or ``gast``.
    """
    # AutoGraph of TensorFlow 2.21 refuses `else` of loops (unsupported_features_checker.py), and
    # has no converter for `match`, nor for a conditional in another (conditional_expressions.py).
    return not any(
        isinstance(node, kinds.NamedExpr | kinds.Match)
        or (isinstance(node, kinds.For | kinds.While) and node.orelse)
        or _is_nested_conditional(node, kinds)
        or _has_only_constants(node, kinds)
        for node in kinds.walk(tree)
    )


def _has_only_constants(node: Node, kinds: Any) -> bool:
    """Returns whether a function consists of constants such as ``...``, which AutoGraph drops."""
    # It takes the first constant for the docstring, and would put the rest, nothing, into a `with`
    # (converters/functions.py, TensorFlow 2.21).
    return isinstance(node, kinds.FunctionDef) and all(
        isinstance(each, kinds.Expr) and isinstance(each.value, kinds.Constant)
        for each in node.body
    )


def _is_nested_conditional(node: Node, kinds: Any) -> bool:
    return isinstance(node, kinds.IfExp) and any(
        isinstance(each, kinds.IfExp)
        for way in (node.body, node.orelse)
        for each in kinds.walk(way)
    )


_SCOPES = ("Lambda", "ListComp", "SetComp", "DictComp", "GeneratorExp")
_FIRST_EVALUATED = {
    **dict.fromkeys(("Assign", "AugAssign", "AnnAssign", "Expr", "Return"), "value"),
    **dict.fromkeys(("If", "While", "Assert"), "test"),
    "For": "iter",
    "Match": "subject",
    "Raise": "exc",
    "withitem": "context_expr",
}
"""The field that a statement evaluates first, by the statement's class."""


class _Rewriter(_Transformer):  # type: ignore[misc]
    """Rewrites the statements of one function, innermost first."""

    def __init__(self, namer: Any) -> None:
        self._namer = namer

    def visit(self, node: Node) -> Any:
        """Returns the statements that replace a node, or the node itself."""
        self.generic_visit(node)
        if not isinstance(node, gast.stmt):
            return node
        if _has_only_constants(node, gast):
            node.body.append(_placed(gast.Pass(), node.body[-1]))
            return node
        try:
            found = self._statements(copy.deepcopy(node))
        except _MeaningError:
            return node
        return found if len(found) > 1 else found[0]

    def _statements(self, node: Node) -> list[Node]:
        lifting = _Lifting(self)
        if isinstance(node, gast.AugAssign):  # it reads its target before its value
            lifting.passes(node.target)
        first = node.items[0] if isinstance(node, gast.With) else node
        field = _FIRST_EVALUATED.get(type(first).__name__)
        if field is not None and getattr(first, field) is not None:
            setattr(first, field, lifting.lift(getattr(first, field)))
        before = lifting.before
        if isinstance(node, gast.Match):
            return [*before, *self._match(node)]
        if isinstance(node, gast.While) and before:
            if any(_exits(node.body, gast.Continue)):
                raise _MeaningError
            node.body += copy.deepcopy(before)
        if isinstance(node, gast.For | gast.While) and node.orelse:
            return [*before, *self._loop(node)]
        return [*before, node]

    def assigning(self, name: Node, value: Node, like: Node) -> list[Node]:
        """Builds an assignment of an expression, rewritten."""
        found = self.visit(_assigned(name, value, like))
        return found if isinstance(found, list) else [found]

    def fresh(self, stem: str, like: Node) -> Node:
        """Returns a name that the function does not use."""
        return _name(self._namer.new_symbol(stem, ()), like)

    def _loop(self, node: Node) -> list[Node]:
        """Moves the ``else`` of a loop after it."""
        otherwise, node.orelse = node.orelse, []
        if not any(_exits(node.body, gast.Break)):
            return [node, *otherwise]
        left = self.fresh("left_early", node)
        node.body = _marking(node.body, left)
        test = _placed(gast.UnaryOp(gast.Not(), copy.deepcopy(left)), node)
        return [_assigned(left, False, node), node, _if(test, otherwise, [], node)]

    def _match(self, node: Node) -> list[Node]:
        subject = self.fresh("matched", node)
        chain: list[Node] = []
        for case in reversed(node.cases):
            test, bound = self._pattern(case.pattern, subject)
            body = [*(_assigned(name, subject, case.pattern) for name in bound), *case.body]
            if case.guard is not None:
                if bound or _binds(case.guard):
                    raise _MeaningError
                both = [test, case.guard] if test is not None else []
                test = _placed(gast.BoolOp(gast.And(), both), case.guard) if both else case.guard
            chain = body if test is None else [_if(test, body, chain, case.pattern)]
        return [_assigned(subject, node.subject, node), *chain]

    def _pattern(self, pattern: Node, subject: Node) -> tuple[Node | None, list[Node]]:
        """Returns the condition of a pattern, None if it always matches, and the names it binds."""
        own = copy.deepcopy(subject)
        if isinstance(pattern, gast.MatchValue):
            return _placed(gast.Compare(own, [gast.Eq()], [pattern.value]), pattern), []
        if isinstance(pattern, gast.MatchSingleton):
            value = gast.Constant(pattern.value, None)
            return _placed(gast.Compare(own, [gast.Is()], [value]), pattern), []
        if isinstance(pattern, gast.MatchAs):
            test, bound = None, list[Node]()
            if pattern.pattern is not None:
                test, bound = self._pattern(pattern.pattern, subject)
            return test, [*bound, _name(pattern.name, pattern)] if pattern.name else bound
        if isinstance(pattern, gast.MatchOr):
            parts = [self._pattern(each, subject) for each in pattern.patterns]
            tests = [test for test, bound in parts if not bound]
            if len(tests) < len(parts):
                raise _MeaningError
            either = None if None in tests else _placed(gast.BoolOp(gast.Or(), tests), pattern)
            return either, []
        raise _MeaningError


class _Lifting:
    """Extracts the parts of one expression that must become statements.

    Only names, constants and operators may be evaluated before these parts, so that user code runs
    in the same order.

    Attributes:
        before: The extracted statements.
    """

    def __init__(self, rewriter: _Rewriter) -> None:
        self.before: list[Node] = []
        self._rewriter = rewriter
        self._read: set[str] = set()
        self._called = False

    def passes(self, node: Node) -> None:
        """Records that an expression is evaluated before the following ones."""
        self._read |= {each.id for each in gast.walk(node) if isinstance(each, gast.Name)}
        self._called = self._called or not isinstance(node, gast.Name | gast.Constant)

    def lift(self, node: Node) -> Node:
        """Extracts from an expression that is always evaluated; returns the rest."""
        if isinstance(node, gast.NamedExpr):
            self._may_move(node.target.id)
            value = self._moved(node.value)
            self.before.append(_assigned(node.target, value, node))
            self._read.add(node.target.id)
            return _name(node.target.id, node)
        if isinstance(node, gast.IfExp) and _needs_statements(node):
            self._may_move(None)
            test = self._moved(node.test)
            result = self._rewriter.fresh("chosen", node)
            ways = [self._rewriter.assigning(result, way, way) for way in (node.body, node.orelse)]
            self.before.append(_if(test, ways[0], ways[1], node))
            return copy.deepcopy(result)
        if isinstance(node, gast.BoolOp | gast.Compare | gast.IfExp):
            parts = [each for each in gast.iter_child_nodes(node) if isinstance(each, gast.expr)]
            # The others are evaluated conditionally.
            sure = 2 if isinstance(node, gast.Compare) else 1
            if any(map(_needs_statements, parts[sure:])):
                raise _MeaningError
            lifted = list(map(self.lift, parts[:sure]))
            if isinstance(node, gast.Compare):
                node.left, node.comparators[0] = lifted
            elif isinstance(node, gast.BoolOp):
                node.values[0] = lifted[0]
            else:
                node.test = lifted[0]
            self._called = True
            return node
        if isinstance(node, gast.Name) or type(node).__name__ in _SCOPES:
            self.passes(node)
            return node
        for name, value in gast.iter_fields(node):
            if isinstance(value, gast.AST):
                setattr(node, name, self.lift(value))
            elif isinstance(value, list):
                setattr(node, name, [self.lift(v) if isinstance(v, gast.AST) else v for v in value])
        if isinstance(node, gast.Call | gast.Subscript | gast.Await | gast.Yield | gast.YieldFrom):
            self._called = True
        return node

    def _moved(self, node: Node) -> Node:
        """Extracts from an expression that becomes a statement; returns the rest."""
        read = set(self._read)
        left = self.lift(node)
        self._called, self._read = False, read
        return left

    def _may_move(self, target: str | None) -> None:
        if self._called or target in self._read:
            raise _MeaningError


def _binds(node: Node) -> bool:
    """Returns whether an expression contains ``:=``."""
    return any(isinstance(each, gast.NamedExpr) for each in gast.walk(node))


def _needs_statements(node: Node) -> bool:
    """Returns whether a part must become a statement; ignores the test of a conditional."""
    if isinstance(node, gast.IfExp):
        return _is_nested_conditional(node, gast) or _binds(node.body) or _binds(node.orelse)
    return _binds(node) or any(_is_nested_conditional(each, gast) for each in gast.walk(node))


def _exits(body: Sequence[Node], kind: Any) -> Iterator[Node]:
    """Yields the ``break`` or ``continue`` statements of the loop with this body."""
    for node in body:
        if isinstance(node, kind):
            yield node
        elif isinstance(node, gast.For | gast.While):
            yield from _exits(node.orelse, kind)
        elif not isinstance(node, gast.FunctionDef | gast.ClassDef):
            yield from _exits(list(gast.iter_child_nodes(node)), kind)


def _marking(body: Iterable[Node], flag: Node) -> list[Node]:
    """Inserts an assignment of a flag before each ``break`` of a loop."""
    marked: list[Node] = []
    for node in body:
        if isinstance(node, gast.Break):
            marked.append(_assigned(flag, True, node))
        inner = ["orelse"] if isinstance(node, gast.For | gast.While) else _BLOCKS
        for name in () if isinstance(node, gast.FunctionDef | gast.ClassDef) else inner:
            if isinstance(getattr(node, name, None), list):
                setattr(node, name, _marking(getattr(node, name), flag))
        marked.append(node)
    return marked


_BLOCKS = ["body", "orelse", "finalbody", "handlers"]
"""The fields of statements with nested statements; exception handlers have a body again."""


def _placed(node: Node, like: Node) -> Node:
    """Gives a new node the location of another, including AutoGraph's origin."""
    gast.copy_location(node, like)
    for each in gast.walk(node):
        if not hasattr(each, "lineno"):
            gast.copy_location(each, like)
        origin = _anno.getanno(like, _anno.Basic.ORIGIN, default=None)
        if origin is not None and not _anno.hasanno(each, _anno.Basic.ORIGIN):
            _anno.setanno(each, _anno.Basic.ORIGIN, origin)
    return node


def _name(name: str, like: Node) -> Node:
    return _placed(gast.Name(name, gast.Load(), None, None), like)


def _assigned(name: Node, value: Any, like: Node) -> Node:
    """Builds an assignment of an expression or a constant."""
    if not isinstance(value, gast.AST):
        value = gast.Constant(value, None)
    target = _placed(gast.Name(name.id, gast.Store(), None, None), like)
    return _placed(gast.Assign([target], copy.deepcopy(value), None), like)


def _if(test: Node, body: list[Node], orelse: list[Node], like: Node) -> Node:
    return _placed(gast.If(test, body or [gast.Pass()], orelse), like)
