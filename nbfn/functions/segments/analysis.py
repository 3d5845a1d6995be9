"""Splits a cell into blocks of statements, and compiles it with a condition on each statement.

A cell stays Python. Its code is compiled once for a text::

    if run.runs_as_python(block, number): loss = loss_of(model(x), y)

It is true if Python is to execute the statement, and false if a segment with it has just run as a
graph. So loops, branches, errors and tracebacks are Python's own.
"""

from __future__ import annotations

import ast
import copy
import dis
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from nbfn.functions.effects.statement import Verdict, judge

RESULT = "nbfn·result"
"""The name of the cell's last value among the names that a segment writes."""

_RUN = "nbfn·run"
_BODIES = ("body", "orelse", "finalbody")
_CANDIDATES = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr
_COMPOUND = ast.For | ast.While | ast.If | ast.Try | ast.With | ast.Match
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
PLAIN = {
    ast.For: "a loop",
    ast.While: "a loop",
    ast.If: "a branch",
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
    ast.Match: "a branch",
}
"""Why statements of these types are always Python's."""


@dataclass(eq=False)
class Statement:
    """A statement of a cell, and its current verdict.

    Attributes:
        node: The statement.
        fixed: Why it is always Python's; None if that depends on the values of its names.
        tape: The name of the tape that it opens, if it is a ``with`` that may be in a segment.
        blocks: The blocks in it.
        following: The one after it in its block.
        has_run: Whether it has run as Python; only recorded in lazily traced cells.
        text: Its source text, equal for the same code on other lines.
        reads: Names that it reads before it writes them.
        writes: Names that it writes.
        reason: Why it was Python's in its last run; None if it was not.
    """

    node: ast.stmt
    fixed: str | None
    tape: str | None
    blocks: list[list[Statement]] = field(default_factory=list)
    following: Statement | None = None
    has_run: bool = False

    def __post_init__(self) -> None:
        # Unparsed, so that comments and spaces make no difference.
        self.text = ast.unparse(self.node)
        self.reads, self.writes = names_of([self.node])
        self.reason = self.fixed
        self._kinds: tuple[Any, ...] | None = None

    @property
    def lines(self) -> range:
        """Its lines."""
        return range(self.node.lineno, (self.node.end_lineno or self.node.lineno) + 1)

    @property
    def head(self) -> range:
        """Its lines without those of its blocks."""
        if not self.blocks:
            return self.lines
        first = self.blocks[0][0].node.lineno
        return range(self.node.lineno, max(first, self.node.lineno + 1))

    @property
    def is_always_python(self) -> bool:
        """Whether it is always Python's and cannot become a graph loop."""
        return self.fixed is not None and not isinstance(self.node, ast.For)

    def verdict(self, namespace: Mapping[str, Any], tapes: frozenset[str]) -> Verdict:
        """Judges whether it may be in a segment now; cached for the types of its names."""
        if self.fixed is not None:
            return Verdict(self.fixed)
        kinds = self._kinds_now(namespace)
        if self.reason is not None and kinds == self._kinds:
            return Verdict(self.reason)
        try:
            found = judge(self.node, namespace, tapes)
        except Exception as error:  # inspecting user objects may raise anything
            found = Verdict(f"cannot be looked into: {type(error).__name__}")
        self._kinds, self.reason = kinds, found.reason
        return found

    def becomes_python(self, reason: str, namespace: Mapping[str, Any] | None) -> None:
        """Marks it as Python's.

        With a namespace this lasts until the type of a name changes; with None for this run only.
        """
        self._kinds = None if namespace is None else self._kinds_now(namespace)
        self.reason = reason

    def stays_python(self, reason: str) -> None:
        """Marks it as Python's permanently, because of a statement in its body."""
        self.fixed = self.reason = reason

    def _kinds_now(self, namespace: Mapping[str, Any]) -> tuple[Any, ...]:
        # An id may be reused. This is harmless: only verdicts for Python are cached.
        values = [namespace.get(name) for name in self.reads]
        return tuple((type(each), id(each) if callable(each) else 0) for each in values)


@dataclass(eq=False)
class AnalysedCell:
    """A cell's text, analysed.

    Attributes:
        blocks: All blocks, by number; the cell's body is the first.
        code: The compiled cell, with a condition on each statement.
        accumulates: Whether forward accumulators may be open in it.
    """

    blocks: list[list[Statement]]
    code: CodeType
    accumulates: bool

    def statements(self) -> list[Statement]:
        """Returns all statements, in the order of the text."""
        every = (statement for block in self.blocks for statement in block)
        return sorted(every, key=lambda each: (each.node.lineno, each.node.col_offset))

    def bound_to(self, run: Any, file: str = "") -> CodeType:
        """Returns the code, bound to the run that its conditions call.

        Args:
            run: Has `runs_as_python` and `end`, and accepts `result`.
            file: The file name for tracebacks; empty for that of the first run.
        """
        return _bound(self.code, run, file or self.code.co_filename)


def _bound(code: CodeType, run: Any, file: str) -> CodeType:
    if code.co_filename == file and _RUN not in code.co_consts:
        return code
    constants = tuple(
        # A constant, not a global: a name of the cell could hide that, and the cell would see it.
        run if each == _RUN else _bound(each, run, file) if isinstance(each, CodeType) else each
        for each in code.co_consts
    )
    return code.replace(co_consts=constants, co_filename=file)


def analyse_cell(
    body: Sequence[ast.stmt], compile_module: Callable[[ast.Module], CodeType]
) -> AnalysedCell:
    """Analyses a cell.

    Args:
        body: The cell's statements.
        compile_module: Compiles a module of them.
    """
    body = list(body)
    last = body[-1]
    if isinstance(last, ast.Expr):
        target = ast.copy_location(ast.Name(RESULT, ast.Store()), last)
        body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    reader = _Reader(body)
    code = compile_module(ast.Module(reader.instrumented(body), type_ignores=[]))
    # A heuristic, by the text: see tests/functions/segments/test_tapes.py.
    accumulates = any("ForwardAccumulator" in each.text for each in reader.blocks[0])
    return AnalysedCell(reader.blocks, code, accumulates)


class _Reader:
    """Reads the blocks of a cell.

    Attributes:
        blocks: The blocks read so far.
    """

    def __init__(self, cell: Sequence[ast.stmt]) -> None:
        self.blocks: list[list[Statement]] = []
        self._cell = cell

    def instrumented(self, body: Sequence[ast.stmt], *, guarded: bool = False) -> list[ast.stmt]:
        """Reads a block; returns its statements, each with a condition.

        Args:
            body: The statements.
            guarded: Whether the cell catches errors raised directly in them.
        """
        block: list[Statement] = []
        number = len(self.blocks)
        self.blocks.append(block)
        conditional: list[ast.stmt] = []
        for index, node in enumerate(body):
            tape = _closed_tape(body[index:], self._cell)
            statement = Statement(node, _fixed_reason(node, tape, guarded=guarded), tape)
            if block:
                block[-1].following = statement
            block.append(statement)
            executed = self._instrument_statement(statement)
            # `from __future__` may only be at the top of a module, not below an `if`.
            if not (isinstance(node, ast.Global) or _is_future(node)):
                condition = _call("runs_as_python", node, number, index)
                executed = ast.copy_location(ast.If(condition, [executed], []), node)
            conditional.append(executed)
        conditional.append(ast.copy_location(ast.Expr(_call("end", body[-1], number)), body[-1]))
        return conditional

    def _instrument_statement(self, statement: Statement) -> ast.stmt:
        """Returns a statement with its blocks instrumented and its result passed to the run."""
        node: Any = copy.copy(statement.node)
        if RESULT in statement.writes:
            node.targets = [_attribute("result", node, ast.Store())]
        parts = [node] if isinstance(node, _COMPOUND) else []
        for group in ("handlers", "cases"):
            if parts and hasattr(node, group):
                setattr(node, group, [copy.copy(each) for each in getattr(node, group)])
                parts += getattr(node, group)
        for part in parts:
            for name in _BODIES:
                if getattr(part, name, None):
                    is_caught = part is node and name == "body" and getattr(node, "handlers", None)
                    number = len(self.blocks)
                    inner = self.instrumented(getattr(part, name), guarded=bool(is_caught))
                    setattr(part, name, inner)
                    statement.blocks.append(self.blocks[number])
        executed: ast.stmt = node
        return executed


def _fixed_reason(node: ast.stmt, tape: str | None, *, guarded: bool) -> str | None:
    if not isinstance(node, _CANDIDATES) and tape is None:
        return PLAIN.get(type(node), "is plain Python")
    if guarded:
        return "is inside `try`"
    is_declaration = isinstance(node, ast.AnnAssign) and (node.value is None or not node.simple)
    return "declares a name" if is_declaration else None


def _attribute(name: str, at: ast.AST, context: ast.expr_context) -> ast.expr:
    run = ast.copy_location(ast.Constant(_RUN), at)
    return ast.copy_location(ast.Attribute(run, name, context), at)


def _call(name: str, at: ast.stmt, *numbers: int) -> ast.expr:
    arguments: list[ast.expr] = [ast.copy_location(ast.Constant(n), at) for n in numbers]
    return ast.copy_location(ast.Call(_attribute(name, at, ast.Load()), arguments, []), at)


def same_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yields statements and expressions outside nested functions and classes."""
    for node in nodes:
        yield node
        if not isinstance(node, _SCOPES):
            yield from same_scope(ast.iter_child_nodes(node))


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _closed_tape(further: Sequence[ast.stmt], cell: Sequence[ast.stmt]) -> str | None:
    """Returns the name of the tape that a ``with`` opens, if a graph could contain all its uses.

    The tape is not persistent, and is only used later in the same block, once for gradients.

    Args:
        further: The statement, and the following ones of its block.
        cell: The cell's statements.
    """
    match further[0]:
        case ast.With([ast.withitem(ast.Call(opener, [], keywords), ast.Name(tape))]):
            options = {each.arg for each in keywords}
        case _:
            return None
    is_tape = ast.unparse(opener).rpartition(".")[2] == "GradientTape"
    if not is_tape or not options <= {"watch_accessed_variables"}:
        return None
    names = (each for part in cell for each in ast.walk(part) if isinstance(each, ast.Name))
    uses = [each for each in names if each.id == tape and isinstance(each.ctx, ast.Load)]
    calls = []
    for each in same_scope(further):
        match each:
            case ast.Call(ast.Attribute(ast.Name(name), method)) if name == tape:
                calls.append(method)
    gradients = calls.count("gradient") + calls.count("jacobian")
    is_closed = gradients == 1 and gradients + calls.count("watch") == len(uses)
    return tape if is_closed else None


def names_of(body: Sequence[ast.stmt]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the names that statements read before writing them, and those that they write."""
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    statements = [each for each in body if not _is_future(each)]
    if statements:  # in a loop, where `break` is valid
        always = ast.copy_location(ast.Constant(value=True), statements[0])
        loop = ast.copy_location(ast.While(always, statements, []), statements[0])
        # Not with the `annotations` of this file, under which no annotation is evaluated.
        code = compile(ast.Module([loop], []), "<names>", "exec", dont_inherit=True)
        _names(code, reads, writes, own=writes)
    return tuple(reads), tuple(writes)


def _names(
    code: CodeType, reads: dict[str, None], writes: dict[str, None], own: dict[str, None]
) -> None:
    """Adds the names of compiled code, whose instructions are in the order of evaluation.

    Args:
        code: The code.
        reads: The names that were read.
        writes: The names that were written.
        own: Names written so far: `writes` for the statements' own code, else a copy.
    """
    for each in dis.get_instructions(code):
        name = each.argval
        if isinstance(name, CodeType):
            # CPython inlines comprehensions since 3.12 (PEP 709), but no generator expressions.
            is_comprehension = name.co_name.startswith("<") and name.co_name != "<lambda>"
            _names(name, reads, writes if is_comprehension else {}, dict(own))
        elif each.opname in ("LOAD_NAME", "LOAD_GLOBAL") and name not in own:
            reads[name] = None
        elif each.opname in ("STORE_NAME", "DELETE_NAME"):
            own[name] = None
        elif each.opname == "STORE_GLOBAL":
            writes[name] = own[name] = None
