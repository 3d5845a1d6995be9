"""Which names a cell reads before it writes them, and which it leaves behind."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable
from dataclasses import dataclass, field


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


def names_of(body: Iterable[ast.stmt]) -> Names:
    """Finds the names of a cell's statements, in the order in which they run."""
    flow = _Flow()
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

    def __init__(self) -> None:
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
        self.visit(node.test)
        self._branches(node.body, node.orelse)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        self._branches([node.body], [node.orelse])

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.visit(node.values[0])
        self._branches(node.values[1:], [])

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self._branches(node.body, [])
        self.run(node.orelse)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._branches([node.target, *node.body], [])
        self.run(node.orelse)

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


def _suppresses(node: ast.expr) -> bool:
    """Whether a context is ``contextlib.suppress``, which ends its block early in silence."""
    called = node.func if isinstance(node, ast.Call) else node
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)
    return name == "suppress"


def _free_names(node: ast.AST) -> list[str]:
    """Names that a nested scope takes from outside it."""
    table = symtable.symtable(ast.unparse(node), "<cell>", "exec")
    defined = getattr(node, "name", None)
    found: dict[str, None] = {}
    pending = [table]
    while pending:
        scope = pending.pop(0)
        for symbol in scope.get_symbols():
            outside = scope is table or symbol.is_global() or symbol.is_free()
            if symbol.is_referenced() and outside and symbol.get_name() != defined:
                found.setdefault(symbol.get_name())
        pending += scope.get_children()
    return list(found)
