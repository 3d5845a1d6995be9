"""Expressions that AutoGraph cannot convert, put as statements of the same meaning and lines.

What cannot be put so without changing the order in which the user's code runs stays as it is, and
AutoGraph refuses it as it always does.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nbfn._tensorflow.autograph.nodes import (
    Node,
    assigned,
    compared,
    gast,
    if_statement,
    name_of,
    placed,
)


class _MeaningError(Exception):
    """A statement whose meaning would change."""


def rewritten(function: Node, namer: Any) -> Node:
    """The syntax tree of a function, with what AutoGraph cannot convert put as statements.

    Args:
        function: The function; one that needs no change is returned as it is.
        namer: AutoGraph's, which makes names that the function does not use.
    """
    if gast is None or not isinstance(function, gast.FunctionDef) or is_readable(function, gast):
        return function
    try:
        changed = copy.deepcopy(function)
        if _says_nothing(changed):
            changed.body.append(placed(gast.Pass(), changed.body[-1]))
        changed.body = list(_Rewriter(namer).block(changed.body))
    except Exception:  # AutoGraph says what it cannot convert
        return function
    return changed


def is_readable(tree: Node, kinds: Any) -> bool:
    """Whether a syntax tree holds nothing that would be put otherwise.

    Args:
        tree: The tree.
        kinds: The module of its nodes' classes, ``ast`` or ``gast``.
    """
    return not any(
        isinstance(node, kinds.NamedExpr | kinds.Match)
        or (isinstance(node, kinds.For | kinds.While) and node.orelse)
        or _is_nested_conditional(node, kinds)
        or _says_nothing(node, kinds)
        for node in kinds.walk(tree)
    )


def _says_nothing(node: Node, kinds: Any = gast) -> bool:
    """Whether a function has no statement but constants, such as ``...``, which AutoGraph drops."""
    return isinstance(node, kinds.FunctionDef) and all(
        isinstance(each, kinds.Expr) and isinstance(each.value, kinds.Constant)
        for each in node.body
    )


def _is_nested_conditional(node: Node, kinds: Any = gast) -> bool:
    return isinstance(node, kinds.IfExp) and any(
        isinstance(each, kinds.IfExp)
        for way in (node.body, node.orelse)
        for each in _unscoped(way, kinds)
    )


def _unscoped(node: Node, kinds: Any) -> Iterator[Node]:
    """A node and what is in it, outside lambdas and comprehensions."""
    yield node
    if not isinstance(
        node, kinds.Lambda | kinds.ListComp | kinds.SetComp | kinds.DictComp | kinds.GeneratorExp
    ):
        for child in kinds.iter_child_nodes(node):
            yield from _unscoped(child, kinds)


class _Rewriter:
    """Rewrites the statements of one function."""

    def __init__(self, namer: Any) -> None:
        self._namer = namer

    def block(self, statements: Iterable[Node]) -> Iterator[Node]:
        """The statements that stand for these."""
        for statement in statements:
            try:
                yield from self._statement(copy.deepcopy(statement))
            except _MeaningError:
                yield statement

    def _statement(self, node: Node) -> list[Node]:
        if isinstance(node, gast.While):
            return self._while(node)
        if isinstance(node, gast.For):
            before, node.iter = self._lifted(node.iter)
            return [*before, *self._loop(node)]
        if isinstance(node, gast.Match):
            before, node.subject = self._lifted(node.subject)
            return [*before, *self._match(node)]
        before = []
        field = _FIRST_EVALUATED.get(type(node).__name__)
        if isinstance(node, gast.With):
            before, node.items[0].context_expr = self._lifted(node.items[0].context_expr)
        elif field is not None and getattr(node, field) is not None:
            if isinstance(node, gast.AugAssign):
                _must_not_be_bound(node.target, node.value)
            before, value = self._lifted(getattr(node, field))
            setattr(node, field, value)
        for name in ("body", "orelse", "finalbody"):
            if isinstance(getattr(node, name, None), list):
                setattr(node, name, list(self.block(getattr(node, name))))
        for handler in getattr(node, "handlers", ()):
            handler.body = list(self.block(handler.body))
        if _says_nothing(node):
            node.body.append(placed(gast.Pass(), node.body[-1]))
        return [*before, node]

    # Expressions ----------------------------------------------------------------------

    def _lifted(self, expression: Node) -> tuple[list[Node], Node]:
        """What must run before an expression, and what is left of it."""
        lifting = _Lifting(self)
        left = lifting.lift(expression)
        return lifting.before, left

    def fresh(self, stem: str, like: Node) -> Node:
        """A name that the function does not use."""
        return placed(gast.Name(self._namer.new_symbol(stem, ()), gast.Load(), None, None), like)

    # Loops -----------------------------------------------------------------------------

    def _while(self, node: Node) -> list[Node]:
        before, node.test = self._lifted(node.test)
        if before and any(_exits(node.body, gast.Continue)):
            raise _MeaningError
        again = copy.deepcopy(before)
        rest = self._loop(node)
        node.body += again
        return [*before, *rest]

    def _loop(self, node: Node) -> list[Node]:
        """A loop, and after it what its ``else`` does."""
        node.body = list(self.block(node.body))
        if not node.orelse:
            return [node]
        otherwise, node.orelse = list(self.block(node.orelse)), []
        if not any(_exits(node.body, gast.Break)):
            return [node, *otherwise]
        left = self.fresh("left_early", node)
        node.body = _marking(node.body, left)
        test = placed(gast.UnaryOp(gast.Not(), copy.deepcopy(left)), node)
        return [assigned(left, False, node), node, if_statement(test, otherwise, [], node)]

    # Match -----------------------------------------------------------------------------

    def _match(self, node: Node) -> list[Node]:
        subject = self.fresh("matched", node)
        chain: list[Node] = []
        for case in reversed(node.cases):
            test, bound = self._pattern(case.pattern, subject)
            body = [*(assigned(n, subject, case.pattern) for n in bound), *self.block(case.body)]
            if case.guard is not None:
                if bound or _binds(case.guard):
                    raise _MeaningError
                both = [each for each in (test, case.guard) if each is not None]
                test = (
                    both[0] if len(both) == 1 else placed(gast.BoolOp(gast.And(), both), case.guard)
                )
            chain = body if test is None else [if_statement(test, body, chain, case.pattern)]
        return [assigned(subject, node.subject, node), *chain]

    def _pattern(self, pattern: Node, subject: Node) -> tuple[Node | None, list[Node]]:
        """The condition under which a pattern matches, None if always, and the names it binds."""
        own = copy.deepcopy(subject)
        if isinstance(pattern, gast.MatchValue):
            return compared(own, gast.Eq(), pattern.value, pattern), []
        if isinstance(pattern, gast.MatchSingleton):
            value = placed(gast.Constant(pattern.value, None), pattern)
            return compared(own, gast.Is(), value, pattern), []
        if isinstance(pattern, gast.MatchAs):
            test, bound = None, list[Node]()
            if pattern.pattern is not None:
                test, bound = self._pattern(pattern.pattern, subject)
            if pattern.name is not None:
                bound = [*bound, name_of(pattern.name, pattern)]
            return test, bound
        if isinstance(pattern, gast.MatchOr):
            parts = [self._pattern(each, subject) for each in pattern.patterns]
            if any(bound for _, bound in parts):
                raise _MeaningError
            tests = [test for test, _ in parts]
            if any(test is None for test in tests):
                return None, []
            return placed(gast.BoolOp(gast.Or(), tests), pattern), []
        raise _MeaningError


class _Lifting:
    """Takes from one expression what has to be a statement of its own.

    What is evaluated before it must be names, constants and operators, so that nothing of the
    user's runs in another order.

    Attributes:
        before: The statements.
    """

    def __init__(self, rewriter: _Rewriter) -> None:
        self.before: list[Node] = []
        self._rewriter = rewriter
        self._read: set[str] = set()
        self._called = False

    def lift(self, node: Node) -> Node:
        """What is left of an expression that is surely evaluated now."""
        if isinstance(node, gast.NamedExpr):
            self._may_move(node.target.id)
            value = self._moved(node.value)
            self.before.append(assigned(name_of(node.target.id, node), value, node))
            self._read.add(node.target.id)
            return name_of(node.target.id, node)
        if isinstance(node, gast.IfExp):
            return self._conditional(node)
        if isinstance(node, gast.BoolOp):
            return self._partly(node, "values", 1)
        if isinstance(node, gast.Compare):
            node.left = self.lift(node.left)
            return self._partly(node, "comparators", 1)
        if isinstance(node, gast.Name):
            self._read.add(node.id)
            return node
        if any(True for _ in _scopes(node)):
            self._called = True  # its generators run code
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
        """What is left of an expression that becomes a statement."""
        read = set(self._read)
        left = self.lift(node)
        self._called, self._read = False, read
        return left

    def _may_move(self, target: str | None) -> None:
        if self._called or target in self._read:
            raise _MeaningError

    def _partly(self, node: Node, field: str, sure: int) -> Node:
        """Lifts the parts that are surely evaluated; the others may hold nothing to lift."""
        parts = getattr(node, field)
        if any(_binds(part) or _is_nested_conditional(part) for part in parts[sure:]):
            raise _MeaningError
        setattr(node, field, [self.lift(part) for part in parts[:sure]] + parts[sure:])
        self._called = self._called or len(parts) > sure
        return node

    def _conditional(self, node: Node) -> Node:
        if not (_is_nested_conditional(node) or _binds(node.body) or _binds(node.orelse)):
            node.test = self.lift(node.test)
            self._called = True
            return node
        self._may_move(None)
        node.test = self._moved(node.test)
        result = self._rewriter.fresh("chosen", node)
        ways = [
            list(self._rewriter.block([assigned(result, way, way)]))
            for way in (node.body, node.orelse)
        ]
        self.before.append(if_statement(node.test, ways[0], ways[1], node))
        return copy.deepcopy(result)


def _scopes(node: Node) -> Iterator[Node]:
    if isinstance(
        node, gast.Lambda | gast.ListComp | gast.SetComp | gast.DictComp | gast.GeneratorExp
    ):
        yield node


def _binds(node: Node) -> bool:
    """Whether an expression holds a ``:=``."""
    return any(isinstance(each, gast.NamedExpr) for each in gast.walk(node))


def _must_not_be_bound(target: Node, value: Node) -> None:
    """Refuses ``x += (x := 1)``, which reads the old value."""
    names = {each.id for each in gast.walk(target) if isinstance(each, gast.Name)}
    bound = {each.target.id for each in gast.walk(value) if isinstance(each, gast.NamedExpr)}
    if (names & bound) or (bound and not isinstance(target, gast.Name)):
        raise _MeaningError


def _exits(body: Sequence[Node], kind: Any) -> Iterator[Node]:
    """The ``break`` or ``continue`` statements that belong to the loop of this body."""
    for node in body:
        if isinstance(node, kind):
            yield node
        elif isinstance(node, gast.For | gast.While):
            yield from _exits(node.orelse, kind)
        elif not isinstance(node, gast.FunctionDef | gast.ClassDef):
            yield from _exits(list(gast.iter_child_nodes(node)), kind)


def _marking(body: Sequence[Node], flag: Node) -> list[Node]:
    """A loop's body that says in a flag that it is left by ``break``."""
    marked: list[Node] = []
    for node in body:
        if isinstance(node, gast.Break):
            marked.append(assigned(flag, True, node))
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(node, name, None)
            own = name == "orelse" or not isinstance(node, gast.For | gast.While)
            if (
                isinstance(inner, list)
                and own
                and not isinstance(node, gast.FunctionDef | gast.ClassDef)
            ):
                setattr(node, name, _marking(inner, flag))
        for handler in getattr(node, "handlers", ()):
            handler.body = _marking(handler.body, flag)
        marked.append(node)
    return marked


_FIRST_EVALUATED = {
    "Assign": "value",
    "AugAssign": "value",
    "AnnAssign": "value",
    "Expr": "value",
    "Return": "value",
    "If": "test",
    "Assert": "test",
    "Raise": "exc",
}
"""The expression that a statement evaluates first, by the statement's name."""
