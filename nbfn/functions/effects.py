"""Where the source of a function has effects that no graph repeats: prints, writes, draws."""

from __future__ import annotations

import ast
import inspect
import textwrap
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from nbfn.functions.reads import is_the_users, reads

_MAX_FUNCTIONS = 100
_MUTATORS = frozenset(
    {
        *("append", "extend", "insert", "pop", "popleft", "appendleft", "remove", "clear", "sort"),
        *("reverse", "add", "discard", "update", "setdefault", "popitem", "write", "fill", "put"),
        *("symmetric_difference_update", "difference_update", "intersection_update", "subtract"),
    }
)
_OUTPUT = frozenset({"print", "input", "display"})


@dataclass(frozen=True)
class Effect:
    """One place in the source.

    Attributes:
        kind: ``"print"``, ``"write"`` or ``"draw"``.
        target: What is written or drawn from, as the source says it.
        file: The source file.
        line: The line in it, from 1.
    """

    kind: str
    target: str
    file: str
    line: int


def plain(python_function: Any) -> Any:
    """The Python function itself, without decorators, and unbound."""
    function = inspect.unwrap(python_function)
    return getattr(function, "__func__", function)


def with_helpers(python_function: Any) -> list[Any]:
    """A function and the functions of the user's that its code names, directly or not."""
    found: list[Any] = []
    waiting = [plain(python_function)]
    while waiting and len(found) < _MAX_FUNCTIONS:
        function = waiting.pop(0)
        if not hasattr(function, "__code__") or any(each is function for each in found):
            continue
        found.append(function)
        for value in named(function).values():
            inner = plain(getattr(value, "python_function", value))
            if isinstance(inner, FunctionType) and is_the_users(inner.__module__):
                waiting.append(inner)
    return found


def named(function: Any) -> dict[str, Any]:
    """The globals and closed-over variables that a function's code names, with their values."""
    values = {}
    for name in sorted(reads(function.__code__).globals | _stored(function)):
        if name in function.__globals__:
            values[name] = function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            values[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    return values


def _stored(function: Any) -> set[str]:
    return {name for name in function.__code__.co_names if name in function.__globals__}


def effects(functions: Iterable[Any]) -> list[Effect]:
    """Every effect in the source of some functions; nothing for one without source."""
    return [effect for function in functions for effect in _effects(function)]


def _effects(function: Callable[..., Any]) -> Iterator[Effect]:
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):
        return
    file = function.__code__.co_filename
    drawing = {name for name, value in named(function).items() if is_random(value)}
    shared = {
        name
        for node in ast.walk(tree)
        if isinstance(node, (ast.Global, ast.Nonlocal))
        for name in node.names
    }
    for node in ast.walk(tree):
        for kind, target in _of(node, shared, drawing):
            yield Effect(kind, target, file, node.lineno + max(first, 1) - 1)  # type: ignore[attr-defined]


def _of(node: ast.AST, shared: set[str], drawing: set[str]) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _OUTPUT:
            yield "print", node.func.id
        elif isinstance(node.func, ast.Attribute):
            text = ast.unparse(node.func)
            if text.split(".")[0] in drawing:
                yield "draw", text.rpartition(".")[0]
            if node.func.attr in _MUTATORS:
                yield "write", ast.unparse(node.func.value)
    elif isinstance(node, (ast.Assign, ast.Delete)):
        for target in node.targets:
            yield from _written(target, shared)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        yield from _written(node.target, shared)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield "write", node.target.id  # in place, where the value is a list


def _written(target: ast.expr, shared: set[str]) -> Iterator[tuple[str, str]]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _written(each, shared)
    elif isinstance(target, ast.Starred):
        yield from _written(target.value, shared)
    elif isinstance(target, ast.Name):
        if target.id in shared:
            yield "write", target.id
    elif isinstance(target, ast.Attribute):
        yield "write", ast.unparse(target)
    elif isinstance(target, ast.Subscript):
        yield "write", ast.unparse(target.value)


def is_random(value: Any) -> bool:
    """Whether this is Python's or NumPy's source of random numbers."""
    if isinstance(value, ModuleType):
        return value.__name__ in ("random", "numpy", "numpy.random")
    return type(value).__module__.split(".")[0] in ("random", "numpy") and (
        hasattr(value, "bit_generator") or hasattr(value, "getstate") or hasattr(value, "get_state")
    )


def line_of(place: str, kind: str, found: Iterable[Effect]) -> Effect | None:
    """The effect that wrote to a place, such as ``self.log``; None if the source does not say."""
    candidates = [effect for effect in found if effect.kind == kind]
    for effect in candidates:
        if effect.target == place:
            return effect
    for effect in candidates:
        longer, shorter = sorted((effect.target, place), key=len, reverse=True)
        if longer.startswith(shorter) and longer[len(shorter)] in ".[":
            return effect
    return None
