"""Finds the syntax tree of a function's code."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import tokenize
from types import CodeType
from typing import Any


def source_of(code: CodeType) -> ast.FunctionDef | ast.Lambda | None:
    """Returns the syntax tree of a function's code, with the line numbers of its file.

    Returns:
        None if there is no source, or if it is ambiguous which function it is.
    """
    return _source_of(code, code.co_filename)


@functools.lru_cache(1024)
def _source_of(code: CodeType, file: str) -> ast.FunctionDef | ast.Lambda | None:
    # `file` is part of the cache key: CPython does not compare file names of code objects.
    first = code.co_firstlineno
    try:
        lines = inspect.getblock(linecache.getlines(file)[first - 1 :])
        text = "".join(lines)
        is_indented = text[:1].isspace()
        tree = ast.parse(f"if 1:\n{text}" if is_indented else text)
    except (SyntaxError, IndexError, ValueError, tokenize.TokenError):
        return None
    ast.increment_lineno(tree, first - 1 - is_indented)
    kind: Any = ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef
    found = [node for node in ast.walk(tree) if isinstance(node, kind) and _is_of(node, code)]
    # Of functions the outermost begins at the first line; of lambdas, each of a line may be meant.
    return found[0] if len(found) == 1 or (found and kind is ast.FunctionDef) else None


def _is_of(node: ast.FunctionDef | ast.Lambda, code: CodeType) -> bool:
    count = code.co_argcount + code.co_kwonlyargcount
    has_name = getattr(node, "name", "<lambda>") == code.co_name
    return has_name and set(code.co_varnames[:count]) <= set(parameters(node.args))


def parameters(arguments: ast.arguments) -> list[str]:
    """Returns the names of a function's parameters."""
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    return [each.arg for each in every]
