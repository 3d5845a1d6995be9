"""Analyses the text of a cell: the names it reads and assigns, and whether it only displays."""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import symtable
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType

from nbfn.code import names_in_code, with_inner
from nbfn.state.bytecode.reads import GLOBALS, names_assigned_first


@dataclass(frozen=True)
class CellCode:
    """The code of a cell.

    Attributes:
        code: What runs when the cell runs: everything except the bodies of functions it defines.
        reads: The names that this code reads before it assigns them.
        own: The names that it assigns before reading.
        assigns: The names that it assigns.
        imports: Those of them that only imports assign.
        defines: Maps each name that only ``def`` or ``class`` assigns to the names in its
            decorators, defaults and bases.
        named: Every name and attribute in the text, including the bodies of functions.
        shows: Whether it only displays values or imports.
        sets: Whether it only sets attributes, items or variables of objects.
    """

    code: CodeType
    reads: frozenset[str]
    own: frozenset[str]
    assigns: frozenset[str]
    imports: frozenset[str]
    defines: Mapping[str, frozenset[str]]
    named: frozenset[str]
    shows: bool
    sets: bool


# `CellLog` recognises a cell that was not edited by the identity of the result.
@functools.lru_cache(256)
def cell_code(text: str) -> CellCode | None:
    """Analyses the text of a cell without magics; returns None if it cannot be compiled."""
    try:
        table = symtable.symtable(text, "<cell>", "exec")
        tree = ast.parse(text)
        # A cell may await at its top level (IPython 9.18).
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(tree, "<cell>", "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):  # another language, or a cell that failed to compile
        return None
    at_once = _run_at_once(code)
    first = names_assigned_first(code)
    read = frozenset(_loaded_names(at_once))
    assigns = frozenset(
        each.get_name()
        for each in table.get_symbols()
        if each.is_assigned() or each.is_imported() or each.is_namespace()
    )
    imports = {each.get_name() for each in table.get_symbols() if each.is_imported()}
    defined = _definitions(tree)
    return CellCode(
        code=at_once,
        reads=read - first,
        own=read & first,
        assigns=assigns,
        imports=frozenset(imports - _assigned_names(tree) - defined.keys()),
        defines=defined,
        named=frozenset(names_in_code(code)),
        shows=_only_shows(tree),
        sets=all(map(_sets, tree.body)),
    )


def _run_at_once(code: CodeType) -> CodeType:
    """Returns code without the bodies of named functions; lambdas stay, as they may be called."""
    return code.replace(
        co_consts=tuple(
            (None if _is_named_function(each) else _run_at_once(each))
            if isinstance(each, CodeType)
            else each
            for each in code.co_consts
        )
    )


def _is_named_function(code: CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_OPTIMIZED) and not code.co_name.startswith("<")


def _loaded_names(code: CodeType) -> Iterator[str]:
    for part in with_inner(code):
        yield from (e.argval for e in dis.get_instructions(part) if e.opname in GLOBALS)


def _assigned_names(tree: ast.Module) -> set[str]:
    return {name for each in ast.walk(tree) for name in _names(each, ast.Store)}


def _definitions(tree: ast.Module) -> dict[str, frozenset[str]]:
    assigned = _assigned_names(tree)
    return {
        each.name: frozenset(
            name for part in _made_of(each) for node in ast.walk(part) for name in _names(node)
        )
        for each in tree.body
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and each.name not in assigned
    }


def _made_of(defined: ast.AST) -> Iterator[ast.AST]:
    """Yields the parts of a definition that run when it is made: not the bodies of functions."""
    if isinstance(defined, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from (*defined.decorator_list, defined.args)
    elif isinstance(defined, ast.ClassDef):
        yield from (*defined.decorator_list, *defined.bases, *defined.keywords)
        for each in defined.body:
            yield from _made_of(each)
    else:
        yield defined


def _names(node: ast.AST, context: type[ast.expr_context] = ast.Load) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, context):
        yield node.id


def _only_shows(tree: ast.Module) -> bool:
    """Returns whether a cell only reads values, displays some, and imports."""
    return bool(tree.body) and all(
        isinstance(each, ast.Import | ast.ImportFrom)
        or (isinstance(each, ast.Expr) and all(map(_only_reads, ast.walk(each.value))))
        for each in tree.body
    )


def _only_reads(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Name):
            return called.id in _SHOWING
        return isinstance(called, ast.Attribute) and called.attr in _SHOWING_METHODS
    return not isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)


def _sets(statement: ast.stmt) -> bool:
    """Returns whether a statement only sets state, as ``model.trainable = False`` does."""
    parts: list[ast.expr] = []
    match statement:
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()], value=value):
            parts = [*statement.targets, value]
        case ast.Expr(ast.Call(ast.Attribute(value=target, attr=name), values, [])):
            parts = [target, *values] if name in _SETTING_METHODS else [statement.value]
        case ast.Expr(ast.Constant()):
            return True
        case _:
            return False
    return not any(isinstance(each, ast.Call) for part in parts for each in ast.walk(part))


_SETTING_METHODS = frozenset({"assign", "assign_add", "assign_sub", "append", "extend", "update"})
_SHOWING = frozenset(
    {"print", "display", "repr", "str", "len", "type", "vars", "dir", "help", "isinstance"}
    | {"int", "float", "bool", "round", "min", "max", "sum", "sorted", "list", "dict", "set"}
)
# A heuristic by name: methods of NumPy, pandas, Keras and nbfn that change nothing. Tested by
# `test_a_cell_that_only_shows_something_is_not_run_again`.
_SHOWING_METHODS = frozenset(
    {"summary", "head", "tail", "describe", "info", "numpy", "item", "tolist", "keys", "values"}
    | {"items", "mean", "sum", "min", "max", "format", "join", "get_weights", "explain", "tabulate"}
    | {"relax"}
)
