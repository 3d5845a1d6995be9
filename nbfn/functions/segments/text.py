"""The text of a cell as blocks of statements, and as Python that asks before each statement.

A cell stays Python. Its code is compiled once, with a question in front of every statement::

    if run.may(block, number): loss = loss_of(model(x), y)

which is true where the statement is to be executed as it stands, and false where a segment that
holds it has just run as a graph. So loops, branches, errors and tracebacks are Python's own.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
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
    ast.ClassDef: "defines a class",
    ast.Delete: "deletes a name",
    ast.Assert: "asserts",
    ast.Raise: "raises",
    ast.Break: "leaves a loop",
    ast.Continue: "goes on with a loop",
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
        is_tape: Whether it is a ``with`` whose tape may lie inside a segment.
        blocks: The blocks in it.
    """

    node: ast.stmt
    text: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    fixed: str | None
    is_tape: bool = False
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
        has_result: Whether the cell ends in an expression.
        accumulates: Whether forward accumulators may be open in it.
    """

    blocks: list[Block]
    code: CodeType
    has_result: bool
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
    body = list(copy.deepcopy(body))
    has_result = isinstance(body[-1], ast.Expr)
    if has_result:
        last = body[-1]
        target = ast.Name(RESULT, ast.Store())
        body[-1] = ast.copy_location(ast.Assign([target], last.value), last)  # type: ignore[attr-defined]
        ast.fix_missing_locations(body[-1])
    loads = _loads_by_name(body)
    blocks: list[Block] = []
    _block(body, blocks, loads, guarded=False)
    tree = ast.Module(_asking(blocks[0]), type_ignores=[])
    names = {
        node.attr for each in body for node in ast.walk(each) if isinstance(node, ast.Attribute)
    }
    return AnalysedCell(blocks, compiled(tree), has_result, "ForwardAccumulator" in names)


def _block(
    body: Sequence[ast.stmt], blocks: list[Block], loads: dict[str, int], *, guarded: bool
) -> Block:
    """A block; `guarded`, if the cell catches what is raised directly in it."""
    block = Block(len(blocks), [])
    blocks.append(block)
    for node in body:
        reads, writes = names_of([node])
        fixed = None
        tape = _tape_of(node)
        is_tape = tape is not None and _is_closed(node, tape, body, loads)
        if not isinstance(node, _CANDIDATES) and not is_tape:
            fixed = _PLAIN.get(type(node), "is Python's")
        elif guarded:
            fixed = "has its errors caught"
        elif isinstance(node, ast.AnnAssign) and (node.value is None or not node.simple):
            fixed = "declares a name"
        statement = Statement(node, ast.unparse(node), reads, writes, fixed, is_tape)
        if isinstance(node, _COMPOUND | ast.Match):
            for part in bodies_of(node):
                catches = isinstance(node, ast.Try) and bool(node.handlers) and part is node.body
                statement.blocks.append(_block(part, blocks, loads, guarded=catches))
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
        if statement.writes == (RESULT,) or RESULT in statement.writes:
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


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


# Names ------------------------------------------------------------------------------------


def names_of(body: Sequence[ast.AST]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names that statements read before they write them, and those that they write."""
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    for node in body:
        _names(node, reads, writes)
    return tuple(reads), tuple(writes)


def _names(node: ast.AST, reads: dict[str, None], writes: dict[str, None]) -> None:
    match node:
        case ast.Name():
            if isinstance(node.ctx, ast.Load):
                if node.id not in writes:
                    reads[node.id] = None
            else:
                writes[node.id] = None
        case ast.Assign():
            _in_order(reads, writes, node.value, *node.targets)
        case ast.AugAssign():
            if isinstance(node.target, ast.Name) and node.target.id not in writes:
                reads[node.target.id] = None
            _in_order(reads, writes, node.value, node.target)
        case ast.AnnAssign():
            _in_order(reads, writes, node.annotation, node.value, node.target)
        case ast.For():
            _in_order(reads, writes, node.iter, node.target, *node.body, *node.orelse)
        case ast.NamedExpr():
            _in_order(reads, writes, node.value, node.target)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
            _scope(node, reads, writes)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            _comprehension(node, reads, writes)
        case ast.Import() | ast.ImportFrom():
            for alias in node.names:
                writes[(alias.asname or alias.name).partition(".")[0]] = None
        case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
            if node.name:
                writes[node.name] = None
            _in_order(reads, writes, *ast.iter_child_nodes(node))
        case _:
            _in_order(reads, writes, *ast.iter_child_nodes(node))


def _in_order(reads: dict[str, None], writes: dict[str, None], *nodes: ast.AST | None) -> None:
    for node in nodes:
        if node is not None:
            _names(node, reads, writes)


def _scope(node: Any, reads: dict[str, None], writes: dict[str, None]) -> None:
    """What a function or class in the code reads of the names around it."""
    inner_reads: dict[str, None] = {}
    inner: dict[str, None] = {}
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    if hasattr(node, "args"):
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        every += [each for each in (node.args.vararg, node.args.kwarg) if each is not None]
        _in_order(reads, writes, *node.args.defaults, *node.args.kw_defaults)
        inner.update(dict.fromkeys(each.arg for each in every))
    _in_order(reads, writes, *getattr(node, "decorator_list", ()), *getattr(node, "bases", ()))
    for each in body:
        _names(each, inner_reads, inner)
    for name in inner_reads:
        if name not in writes:
            reads[name] = None
    if hasattr(node, "name"):
        writes[node.name] = None


def _comprehension(node: Any, reads: dict[str, None], writes: dict[str, None]) -> None:
    inner: dict[str, None] = {}
    inner_reads: dict[str, None] = {}
    for each in node.generators:
        _in_order(inner_reads, inner, each.iter, each.target, *each.ifs)
    parts = (getattr(node, name, None) for name in ("key", "value", "elt"))
    _in_order(inner_reads, inner, *parts)
    for name in inner_reads:
        if name not in writes:
            reads[name] = None
    walrus = (each for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
    writes.update(dict.fromkeys(each.target.id for each in walrus))


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


def _is_closed(node: ast.stmt, tape: str, body: Sequence[ast.stmt], loads: dict[str, int]) -> bool:
    """Whether a tape is used only further down in its block, and once for gradients."""
    position = [each is node for each in body].index(True)
    uses = _loads_by_name(body[position:]).get(tape, 0)
    if uses != loads.get(tape, 0) or not uses:
        return False
    gradients = 0
    for each in body[position:]:
        for call in ast.walk(each):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                of = call.func.value
                if isinstance(of, ast.Name) and of.id == tape:
                    uses -= call.func.attr in ("gradient", "jacobian", "watch")
                    gradients += call.func.attr in ("gradient", "jacobian")
    scopes = (each for part in body[position:] for each in ast.walk(part))
    deep = any(tape in _loads_by_name([each]) for each in scopes if isinstance(each, _SCOPES))
    return uses == 0 and gradients == 1 and not deep


def taped(statement: Statement) -> str | None:
    """The name of the tape of a ``with`` that may lie inside a segment."""
    return _tape_of(statement.node) if statement.is_tape else None


def _loads_by_name(body: Sequence[ast.AST]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in body:
        for node in ast.walk(each):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found[node.id] = found.get(node.id, 0) + 1
    return found
