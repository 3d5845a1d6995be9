"""Restores the line numbers of functions that autoreload has compiled.

Autoreload compiles a changed function apart from its file, so its code begins at line 1. The code
of functions below keeps its former lines. Both name the file, where ``inspect.getsource``, and so
AutoGraph, would read the text of another function (IPython 9.18,
https://github.com/ipython/ipython/issues/15359).
"""

from __future__ import annotations

import ast
import warnings
from collections import defaultdict
from collections.abc import Iterator
from types import CodeType, FunctionType

from nbfn.state.bytecode.digest import digest


class FileFunctions:
    """The code of all functions in a file.

    Args:
        text: The text of the file.
        file: The file's name for the code.

    Raises:
        SyntaxError, ValueError: If it cannot be compiled.
    """

    def __init__(self, text: str, file: str) -> None:
        self._by_digest: dict[str, list[CodeType]] = defaultdict(list)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the import has already warned
            tree = ast.parse(text, file)
            code = compile(tree, file, "exec", dont_inherit=True)
            # Autoreload compiles the `ast.unparse` of one function: without imports, knowledge of
            # which changes the bytecode of calls, and for a new one with its own `__future__`.
            alone = ast.unparse(_NoImports().visit(tree))
            forms = [
                compile(alone, file, "exec", flags, dont_inherit=True)
                for flags in (0, annotations.compiler_flag)
            ]
        for own, other in (pair for form in forms for pair in _pairs(code, form)):
            for each in {digest(own), digest(other)}:
                self._by_digest[each].append(own)

    def restore_code(self, function: FunctionType) -> bool:
        """Replaces a function's code by the file's code for it, if equivalent.

        Returns:
            Whether the file has equivalent code.
        """
        code = function.__code__
        found = self._by_digest.get(digest(code), [])
        if found and _place(code) not in map(_place, found):
            named = [own for own in found if own.co_qualname == function.__qualname__]
            function.__code__ = (named or found)[0]
        return bool(found)


class _NoImports(ast.NodeTransformer):
    """Removes imports at module level."""

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Import | ast.ImportFrom):
            return ast.copy_location(ast.Pass(), node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return node
        return self.generic_visit(node)


def _pairs(left: CodeType, right: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yields the nested functions of two equivalent codes in pairs."""
    inner = [[c for c in each.co_consts if isinstance(c, CodeType)] for each in (left, right)]
    if [c.co_name for c in inner[0]] != [c.co_name for c in inner[1]]:
        return
    for pair in zip(*inner, strict=True):
        yield pair
        yield from _pairs(*pair)


def _place(code: CodeType) -> tuple[str, int, bytes]:
    return code.co_filename, code.co_firstlineno, code.co_linetable
