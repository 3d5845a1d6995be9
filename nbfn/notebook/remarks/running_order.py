"""A walk through code in the order in which it runs, that knows what its names stand for."""

# ruff: noqa: D102  (the methods are those of ast.NodeVisitor)

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from nbfn.notebook.cells.names import names_of
from nbfn.notebook.remarks.sources import parameters
from nbfn.notebook.remarks.standing import Known, Local, Scope, Standing, class_of, module_of

_PLAIN = (bool, int, float, str, type(None))
_ENDING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_CALLING_BACK = ("py_function", "numpy_function", "py_func")


class RunningOrder(ast.NodeVisitor):
    """Visits what runs, once; ways that Python surely does not take are left out.

    Functions that the code itself defines are visited where they are defined, if it names them.

    Attributes:
        scope: What names stand for at the place that is visited.
        is_sure: Whether the place that is visited surely runs.
        is_handling: Whether it runs only after an error.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.is_sure = True
        self.is_handling = False
        self._mentioned: set[str] = set()

    def stored(self, target: ast.expr, standing: Standing) -> None:
        """Is told of each target of an assignment, and what it is given."""

    def looped(self, node: ast.For, over: Standing) -> None:
        """Is told of each ``for`` statement, and what it goes over."""

    def entered(self, node: ast.With, standing: Standing) -> None:
        """Is told of each context manager of a ``with`` statement."""

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Visits statements; those after one that may leave the block may not run."""
        was_sure = self.is_sure
        self._mentioned.update(_mentioned(body))
        for statement in body:
            undecided = isinstance(statement, ast.Try) or (
                isinstance(statement, ast.If) and self.scope.truth(statement.test) is None
            )
            self.visit(statement)
            if undecided and _may_end(statement):
                self.is_sure = False
        self.is_sure = was_sure

    @contextmanager
    def unsure(self) -> Iterator[None]:
        """What is visited inside may not run."""
        was_sure, self.is_sure = self.is_sure, False
        try:
            yield
        finally:
            self.is_sure = was_sure

    # Names --------------------------------------------------------------------------------

    def _store(self, target: ast.expr, standing: Standing) -> None:
        if isinstance(target, ast.Name):
            self.scope.names[target.id] = standing
        elif isinstance(target, ast.Tuple | ast.List):
            for each in target.elts:
                self._store(each, None)
        elif isinstance(target, ast.Starred):
            self._store(target.value, None)
        elif isinstance(target, ast.Attribute | ast.Subscript):
            self.visit(target.value)
        self.stored(target, standing)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        standing = self.scope.of(node.value)
        for target in node.targets:
            self._store(target, standing)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self._store(node.target, self.scope.of(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        whole = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        self._store(node.target, self.scope.of(whole))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self._store(node.target, self.scope.of(node.value))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.split(".")[0]
            self.scope.names[alias.asname or name] = _module(name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            module = None if node.level else _module(node.module or "")
            found = vars(module.value).get(alias.name) if module is not None else None
            self.scope.names[alias.asname or alias.name] = None if found is None else Known(found)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.scope.names[node.name] = None if node.decorator_list else Local(node)
        if node.name in self._mentioned:
            self._nested(parameters(node.args), node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._nested(parameters(node.args), [ast.copy_location(ast.Expr(node.body), node.body)])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.scope.names[node.name] = None
        if node.name in self._mentioned:
            self._nested([], node.body)

    def _nested(self, own: Iterable[str], body: list[ast.stmt]) -> None:
        names = frozenset(own) | frozenset(names_of(body).bound)
        with self._inside(names), self.unsure():
            self.block(body)

    @contextmanager
    def _inside(self, own: frozenset[str]) -> Iterator[None]:
        outer = self.scope
        self.scope = Scope(outer.__getitem__, own)
        try:
            yield
        finally:
            self.scope = outer

    # Ways ---------------------------------------------------------------------------------

    def visit_If(self, node: ast.If | ast.IfExp) -> None:
        self.visit(node.test)
        way = self.scope.truth(node.test)
        if way is not None:
            self._either(node.body if way else node.orelse)
            return
        before = dict(self.scope.names)
        with self.unsure():
            self._either(node.body)
            first, self.scope.names = self.scope.names, before
            self._either(node.orelse)
        self.scope.join(first, self.scope.names)

    visit_IfExp = visit_If

    def _either(self, part: Sequence[ast.stmt] | ast.expr) -> None:
        if isinstance(part, ast.expr):
            self.visit(part)
        else:
            self.block(part)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.visit(node.values[0])
        stops = isinstance(node.op, ast.Or)
        was_sure = self.is_sure
        for before, each in zip(node.values, node.values[1:], strict=False):
            way = self.scope.truth(before)
            if way is stops:
                break
            self.is_sure = self.is_sure and way is not None
            self.visit(each)
        self.is_sure = was_sure

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        if self.scope.truth(node.test) is not False:
            with self.unsure():
                self._turns(node)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self.looped(node, self.scope.of(node.iter))
        self._store(node.target, None)
        self._turns(node)

    def _turns(self, node: ast.For | ast.While) -> None:
        for name in names_of(node.body).bound:  # each turn may give it another value
            if class_of(self.scope[name]) in _PLAIN:
                self.scope.names[name] = None
        before = dict(self.scope.names)
        self.block(node.body)
        self.scope.join(before, self.scope.names)
        self.block(node.orelse)

    def visit_Try(self, node: ast.Try) -> None:
        self.block(node.body)
        was_handling, self.is_handling = self.is_handling, True
        with self.unsure():
            for handler in node.handlers:
                self.block(handler.body)
        self.is_handling = was_handling
        self.block(node.orelse)
        self.block(node.finalbody)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            self.visit(item.context_expr)
            standing = self.scope.of(item.context_expr)
            self.entered(node, standing)
            if item.optional_vars is not None:
                is_file = module_of(class_of(standing)) == "_io"
                self._store(item.optional_vars, standing if is_file else None)
        self.block(node.body)

    def visit_ListComp(self, node: ast.expr) -> None:
        generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
        self.visit(generators[0].iter)
        targets = (inner for each in generators for inner in ast.walk(each.target))
        names = frozenset(each.id for each in targets if isinstance(each, ast.Name))
        with self._inside(names), self.unsure():
            for each in generators[1:]:
                self.visit(each.iter)
            for part in (*(test for each in generators for test in each.ifs), *_parts(node)):
                self.visit(part)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp


def _parts(node: ast.AST) -> Iterator[ast.expr]:
    for name in ("key", "value", "elt"):
        part = getattr(node, name, None)
        if isinstance(part, ast.expr):
            yield part


def _module(name: str) -> Known | None:
    found = sys.modules.get(name)
    return None if found is None else Known(found)


def _mentioned(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names that some code reads, but not to let the graph call back to Python by them."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        called = node.func if isinstance(node, ast.Call) else None
        if not (isinstance(called, ast.Attribute) and called.attr in _CALLING_BACK):
            yield from _mentioned(ast.iter_child_nodes(node))


def _may_end(node: ast.AST) -> bool:
    """Whether a statement may leave the block that it is in."""
    if isinstance(node, _ENDING):
        return True
    return not isinstance(node, _SCOPES) and any(map(_may_end, ast.iter_child_nodes(node)))
