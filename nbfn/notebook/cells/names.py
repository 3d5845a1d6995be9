"""Which names a cell reads before it writes them, and which it leaves behind."""

from __future__ import annotations

import ast
import symtable
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass
class Names:
    """The names of a cell, each list in the order of first appearance.

    Attributes:
        reads: Names read before the cell surely wrote them.
        writes: Names that the cell surely wrote when it ends.
        may_write: Names that it writes on some way through it only.
        deletes: Names that it surely took away when it ends.
        may_delete: Names that it takes away on some way through it only.
        extended: Names that it writes by augmented assignment only, such as ``total += 1``.
    """

    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    may_write: list[str] = field(default_factory=list)
    deletes: list[str] = field(default_factory=list)
    may_delete: list[str] = field(default_factory=list)
    extended: list[str] = field(default_factory=list)

    @property
    def bound(self) -> tuple[str, ...]:
        """Every name that the cell writes or takes away, on whatever way."""
        return (*self.writes, *self.may_write, *self.deletes, *self.may_delete)


class Foresight(Protocol):
    """Tells which branches and loops surely run."""

    def enters(self, loop: ast.For | ast.While, written: Collection[str]) -> bool:
        """Whether a loop runs at least once, where the names in `written` are not known."""

    def decides(self, test: ast.expr, written: Collection[str]) -> bool | None:
        """Which way a branch goes; None if it is not known."""


def names_of(body: Iterable[ast.stmt], foresight: Foresight | None = None) -> Names:
    """Finds the names of a cell's statements, in the order in which they run.

    Args:
        body: The statements.
        foresight: Tells what runs for the values that the notebook has now; without it, every
            branch and loop may be skipped.
    """
    flow = _Flow(foresight)
    flow.run(body)
    state = flow.state
    return Names(
        reads=flow.reads,
        writes=[name for name, value in state.items() if value is _WRITTEN],
        may_write=[name for name in flow.assigned if name not in state],
        deletes=[name for name in flow.deleted if state.get(name) is _DELETED],
        may_delete=[name for name in flow.deleted if name not in state],
        extended=[name for name in flow.extended if name not in flow.replaced],
    )


_WRITTEN, _DELETED = "written", "deleted"


class _Flow(ast.NodeVisitor):
    """Walks statements in the order of execution and keeps what became of each name so far."""

    def __init__(self, foresight: Foresight | None) -> None:
        self._foresight = foresight
        self.reads: list[str] = []
        self.state: dict[str, str] = {}
        self.assigned: dict[str, None] = {}
        self.deleted: dict[str, None] = {}
        self.extended: dict[str, None] = {}
        self.replaced: dict[str, None] = {}

    def run(self, body: Iterable[ast.AST]) -> None:
        for node in body:
            self.visit(node)

    def _read(self, name: str) -> None:
        if self.state.get(name) is not _WRITTEN and name not in self.reads:
            self.reads.append(name)

    def _write(self, name: str) -> None:
        self.state.pop(name, None)
        self.state[name] = _WRITTEN
        self.assigned.setdefault(name)
        self.replaced.setdefault(name)

    def _delete(self, name: str) -> None:
        self.state[name] = _DELETED
        self.deleted.setdefault(name)

    def _branches(self, *branches: Iterable[ast.AST]) -> None:
        """Runs alternatives; only what becomes of a name in all of them is sure."""
        before = dict(self.state)
        results = []
        for branch in branches:
            self.state = dict(before)
            self.run(branch)
            results.append(self.state)
        first, *others = results
        self.state = {
            name: value
            for name, value in first.items()
            if all(each.get(name) is value for each in others)
        }

    # Names -----------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._read(node.id)
        elif isinstance(node.ctx, ast.Store):
            self._write(node.id)
        else:
            self._read(node.id)
            self._delete(node.id)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        self.run(node.targets)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            self.visit(node.value)
            self.visit(node.target)
            return
        name = node.target.id
        self._read(name)
        self.visit(node.value)
        replaced = name in self.replaced
        self._write(name)
        self.extended.setdefault(name)
        if not replaced:
            del self.replaced[name]

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._write(alias.asname or alias.name.split(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self._write(alias.asname or alias.name)

    # Statements that may be skipped -----------------------------------------------------

    def visit_If(self, node: ast.If) -> None:
        written = self._written()
        self.visit(node.test)
        taken = self._foresight.decides(node.test, written) if self._foresight else None
        if taken is None:
            self._branches(node.body, node.orelse)
        else:
            self.run(node.body if taken else node.orelse)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        self._branches([node.body], [node.orelse])

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.visit(node.values[0])
        self._branches(node.values[1:], [])

    def visit_While(self, node: ast.While) -> None:
        enters = self._enters(node)
        self.visit(node.test)
        self._loop(node.body, enters)
        self.run(node.orelse)

    def visit_For(self, node: ast.For) -> None:
        enters = self._enters(node)
        self.visit(node.iter)
        self._loop([node.target, *node.body], enters)
        self.run(node.orelse)

    def _written(self) -> set[str]:
        return {*self.assigned, *self.deleted}

    def _enters(self, node: ast.For | ast.While) -> bool:
        return self._foresight is not None and self._foresight.enters(node, self._written())

    def _loop(self, body: Sequence[ast.AST], enters: bool) -> None:
        """Runs a loop's body; of one that is entered, what comes before it may be left is sure."""
        sure = next((n for n, each in enumerate(body) if _leaves_loop(each)), len(body))
        if enters:
            self.run(body[:sure])
            body = body[sure:]
        self._branches(body, [])

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
        self._branches([*node.body, *node.orelse], *([handler] for handler in node.handlers))
        self.run(node.finalbody)

    visit_TryStar = visit_Try

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars is not None:
                self.visit(item.optional_vars)
        if any(_suppresses(item.context_expr) for item in node.items):
            self._branches(node.body, [])
        else:
            self.run(node.body)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.visit(node.type)
        if node.name is not None:
            self._write(node.name)
        self.run(node.body)
        if node.name is not None:
            self._delete(node.name)

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        last = node.cases[-1]
        exhaustive = (
            last.guard is None
            and isinstance(last.pattern, ast.MatchAs)
            and last.pattern.pattern is None
        )
        self._branches(*([case] for case in node.cases), *([] if exhaustive else [[]]))

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self.generic_visit(node)
        if node.name is not None:
            self._write(node.name)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name is not None:
            self._write(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.generic_visit(node)
        if node.rest is not None:
            self._write(node.rest)

    # Nested scopes ----------------------------------------------------------------------

    def _nested(self, node: ast.AST) -> None:
        for name in _free_names(node):
            self._read(name)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._nested(node)
        self._write(node.name)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _definition
    visit_Lambda = _nested

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> None:
        self._nested(node)
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                self.visit_Name(inner.target)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


def _leaves_loop(node: ast.AST) -> bool:
    """Whether a statement may end a turn of the loop that it is in."""
    if isinstance(node, ast.Break | ast.Continue):
        return True
    children = ast.iter_child_nodes(node)
    if isinstance(node, ast.For | ast.While):  # an inner loop's own `else` is left with the outer
        children = iter(node.orelse)
    return any(_leaves_loop(child) for child in children)


def _suppresses(node: ast.expr) -> bool:
    """Whether a context is ``contextlib.suppress``, which ends its block early in silence."""
    called = node.func if isinstance(node, ast.Call) else node
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)
    return name == "suppress"


def _free_names(node: ast.AST) -> list[str]:
    """Names that a nested scope takes from outside it."""
    text = textwrap.indent(ast.unparse(node), " ")
    (outer,) = symtable.symtable(f"def outer():\n{text}", "<cell>", "exec").get_children()
    shared = {each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr)}
    return list(dict.fromkeys(_taken(outer, frozenset(), shared)))


def _taken(
    scope: symtable.SymbolTable, bound: frozenset[str], shared: Collection[str] = ()
) -> Iterator[str]:
    """Names that a scope reads and that neither it nor one around it binds.

    Args:
        scope: The scope.
        bound: What the scopes around it bind.
        shared: What the scope binds for the scope around it too, by ``:=`` in a comprehension.
    """
    symbols = scope.get_symbols()
    if scope.get_type() != "class":
        own = {each.get_name() for each in symbols if each.is_local()}
        inner = bound | own.difference(shared)
    else:
        inner = bound
    for symbol in symbols:
        name = symbol.get_name()
        outside = symbol.is_global() or symbol.is_free()
        if symbol.is_referenced() and outside and name not in bound:
            yield name
    for child in scope.get_children():
        yield from _taken(child, inner)
