"""The text of a cell as blocks of statements, and as Python that asks before each statement.

A cell stays Python. Its code is compiled once, with a question in front of every statement::

    if run.may(block, number): loss = loss_of(model(x), y)

which is true where the statement is to be executed as it stands, and false where a segment that
holds it has just run as a graph. So loops, branches, errors and tracebacks are Python's own.
"""

from __future__ import annotations

import ast
import copy
import dis
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

RESULT = "nbfn·result"
"""Stands for the value of the cell's last expression, among the names that a segment writes."""

_RUN = "nbfn·run"
_BODIES = ("body", "orelse", "finalbody")
_CANDIDATES = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr
_COMPOUND = ast.For | ast.While | ast.If | ast.Try | ast.With
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
_PLAIN = {
    ast.For: "a loop",
    ast.While: "a loop",
    ast.If: "a decision",
    ast.Try: "catches errors",
    ast.With: "enters a context",
    ast.Import: "imports",
    ast.ImportFrom: "imports",
    ast.FunctionDef: "defines a function",
    ast.ClassDef: "defines a class; @nbfn.function above a method traces it",
    ast.Delete: "deletes a name",
    ast.Assert: "asserts",
    ast.Raise: "raises",
    ast.Break: "leaves a loop",
    ast.Continue: "continues a loop",
    ast.Pass: "does nothing",
    ast.Match: "a decision",
}


@dataclass(eq=False)
class Statement:
    """A statement of a cell.

    Attributes:
        node: The statement.
        text: Its text, the same for the same code on other lines.
        reads: Names that it reads before it writes them.
        writes: Names that it writes.
        fixed: Why it is Python's whatever the names stand for; None if that depends on them.
        tape: The name of the tape that it opens, if it is a ``with`` that may lie in a segment.
        blocks: The blocks in it.
    """

    node: ast.stmt
    text: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    fixed: str | None
    tape: str | None = None
    blocks: list[Block] = field(default_factory=list)

    @property
    def lines(self) -> range:
        """Its lines."""
        return range(self.node.lineno, (self.node.end_lineno or self.node.lineno) + 1)

    @property
    def head(self) -> range:
        """Its lines without those of the blocks in it."""
        if not self.blocks:
            return self.lines
        first = self.blocks[0].statements[0].node.lineno
        return range(self.node.lineno, max(first, self.node.lineno + 1))


@dataclass(eq=False)
class Block:
    """A list of statements.

    Attributes:
        number: Its number in the cell.
        statements: The statements.
    """

    number: int
    statements: list[Statement]


@dataclass(eq=False)
class AnalysedCell:
    """What is known of a cell's text alone; it is made once for a text.

    Attributes:
        blocks: Every block, by number; the cell's body is the first.
        code: The cell, asking before each statement.
        accumulates: Whether forward accumulators may be open in it.
    """

    blocks: list[Block]
    code: CodeType
    accumulates: bool

    def statements(self) -> Iterator[Statement]:
        """Every statement, in the order of the text."""
        yield from self._of(self.blocks[0])

    def _of(self, block: Block) -> Iterator[Statement]:
        for statement in block.statements:
            yield statement
            for inner in statement.blocks:
                yield from self._of(inner)

    def bound_to(self, run: Any, file: str = "") -> CodeType:
        """The code, asking one run of the cell.

        Args:
            run: Has `may` and `end`, and takes `result`.
            file: The file under which tracebacks find it; empty for that of the first run.
        """
        return _bound(self.code, run, file or self.code.co_filename)


def _bound(code: CodeType, run: Any, file: str) -> CodeType:
    if code.co_filename == file and _RUN not in code.co_consts:
        return code
    constants = tuple(
        run if each == _RUN else _bound(each, run, file) if isinstance(each, CodeType) else each
        for each in code.co_consts
    )
    return code.replace(co_consts=constants, co_filename=file)


def analysed(body: Sequence[ast.stmt], compiled: Callable[[ast.Module], CodeType]) -> AnalysedCell:
    """Analyses a cell.

    Args:
        body: The cell's statements.
        compiled: Compiles a module of them.
    """
    body = list(body)
    last = body[-1]
    if isinstance(last, ast.Expr):
        target = ast.copy_location(ast.Name(RESULT, ast.Store()), last)
        body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    blocks: list[Block] = []
    _block(body, blocks, body, guarded=False)
    tree = ast.Module(_asking(blocks[0]), type_ignores=[])
    nodes = [node for each in body for node in ast.walk(each)]
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return AnalysedCell(blocks, compiled(tree), "ForwardAccumulator" in names)


def _block(
    body: Sequence[ast.stmt], blocks: list[Block], cell: Sequence[ast.stmt], *, guarded: bool
) -> Block:
    """A block; `guarded`, if the cell catches what is raised directly in it."""
    block = Block(len(blocks), [])
    blocks.append(block)
    for node in body:
        reads, writes = names_of([node])
        fixed = None
        tape = _tape_of(node)
        if tape is not None and not _is_closed(node, tape, body, cell):
            tape = None
        if not isinstance(node, _CANDIDATES) and tape is None:
            fixed = _PLAIN.get(type(node), "is plain Python")
        elif guarded:
            fixed = "is inside `try`"
        elif isinstance(node, ast.AnnAssign) and (node.value is None or not node.simple):
            fixed = "declares a name"
        statement = Statement(node, ast.unparse(node), reads, writes, fixed, tape)
        if isinstance(node, _COMPOUND | ast.Match):
            for part in bodies_of(node):
                catches = isinstance(node, ast.Try) and bool(node.handlers) and part is node.body
                statement.blocks.append(_block(part, blocks, cell, guarded=catches))
        block.statements.append(statement)
    return block


def bodies_of(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements in a statement."""
    for name in _BODIES:
        if getattr(node, name, None):
            yield getattr(node, name)
    for each in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield each.body


def _asking(block: Block) -> list[ast.stmt]:
    """The statements of a block, each with the question in front of it."""
    asked: list[ast.stmt] = []
    for number, statement in enumerate(block.statements):
        node = copy.copy(statement.node)
        if isinstance(node, ast.Global) or _is_future(node):
            asked.append(node)
            continue
        inner = iter(statement.blocks)
        for name in _BODIES if statement.blocks else ():
            if getattr(node, name, None):
                setattr(node, name, _asking(next(inner)))
        for group in ("handlers", "cases"):
            if getattr(node, group, None) and statement.blocks:
                parts = [copy.copy(each) for each in getattr(node, group)]
                for part in parts:
                    part.body = _asking(next(inner))
                setattr(node, group, parts)
        if RESULT in statement.writes:
            node.targets = [_attribute("result", node, ast.Store())]  # type: ignore[attr-defined]
        question = _call("may", statement.node, block.number, number)
        asked.append(ast.copy_location(ast.If(question, [node], []), statement.node))
    last = block.statements[-1].node
    asked.append(ast.copy_location(ast.Expr(_call("end", last, block.number)), last))
    return asked


def _attribute(name: str, at: ast.AST, context: ast.expr_context) -> ast.expr:
    run = ast.copy_location(ast.Constant(_RUN), at)
    return ast.copy_location(ast.Attribute(run, name, context), at)


def _call(name: str, at: ast.stmt, *numbers: int) -> ast.expr:
    arguments: list[ast.expr] = [ast.copy_location(ast.Constant(n), at) for n in numbers]
    return ast.copy_location(ast.Call(_attribute(name, at, ast.Load()), arguments, []), at)


def same_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Statements and expressions outside functions and classes."""
    for node in nodes:
        yield node
        if not isinstance(node, _SCOPES):
            yield from same_scope(ast.iter_child_nodes(node))


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


# Names ------------------------------------------------------------------------------------


def names_of(body: Sequence[ast.stmt]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names that statements read before they write them, and those that they write."""
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    kept = [each for each in body if not _is_future(each)]
    if kept:  # in a loop, where `break` may stand
        always = ast.copy_location(ast.Constant(value=True), kept[0])
        loop = ast.copy_location(ast.While(always, kept, []), kept[0])
        code = compile(ast.Module([loop], []), "<names>", "exec", dont_inherit=True)
        _names(code, reads, writes, own=writes)
    return tuple(reads), tuple(writes)


def _names(
    code: CodeType, reads: dict[str, None], writes: dict[str, None], own: dict[str, None]
) -> None:
    """Adds the names of compiled code, whose instructions come in the order of evaluation.

    Args:
        code: The code.
        reads: The names that were read.
        writes: The names that were written.
        own: The same, if the code is the statements' own; else those that it finds written.
    """
    for each in dis.get_instructions(code):
        name = each.argval
        if isinstance(name, CodeType):
            is_comprehension = name.co_name.startswith("<") and name.co_name != "<lambda>"
            _names(name, reads, writes if is_comprehension else {}, dict(own))
        elif each.opname in ("LOAD_NAME", "LOAD_GLOBAL") and name not in own:
            reads[name] = None
        elif each.opname in ("STORE_NAME", "DELETE_NAME"):
            own[name] = None
        elif each.opname == "STORE_GLOBAL":
            writes[name] = own[name] = None


# Tapes ------------------------------------------------------------------------------------


def _tape_of(node: ast.stmt) -> str | None:
    """The name of the tape that a ``with`` opens, if it opens one that is not persistent."""
    if not (isinstance(node, ast.With) and len(node.items) == 1):
        return None
    item = node.items[0]
    opened, name = item.context_expr, item.optional_vars
    if not (isinstance(opened, ast.Call) and isinstance(name, ast.Name)):
        return None
    if opened.args or any(k.arg != "watch_accessed_variables" for k in opened.keywords):
        return None
    function = opened.func
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name.id if called == "GradientTape" else None


def _is_closed(
    node: ast.stmt, tape: str, body: Sequence[ast.stmt], cell: Sequence[ast.stmt]
) -> bool:
    """Whether a tape is used only further down in its block, and once for gradients."""
    further = body[[each is node for each in body].index(True) :]
    calls = [
        each
        for each in same_scope(further)
        if isinstance(each, ast.Call)
        and isinstance(each.func, ast.Attribute)
        and isinstance(each.func.value, ast.Name)
        and each.func.value.id == tape
        and each.func.attr in ("gradient", "jacobian", "watch")
    ]
    gradients = [each for each in calls if each.func.attr != "watch"]  # type: ignore[attr-defined]
    names = (each for part in cell for each in ast.walk(part) if isinstance(each, ast.Name))
    uses = [each for each in names if each.id == tape and isinstance(each.ctx, ast.Load)]
    return len(uses) == len(calls) and len(gradients) == 1
