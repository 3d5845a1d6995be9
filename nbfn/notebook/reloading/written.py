"""Restores the line numbers of functions that autoreload has compiled.

Autoreload compiles a changed function apart from its file, so its code begins at line 1. The code
of functions below keeps its former lines. Both name the file, where ``inspect.getsource``, and so
AutoGraph, would read the text of another function (IPython 9.18,
https://github.com/ipython/ipython/issues/15359).
"""

from __future__ import annotations

import ast
import inspect
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from types import CodeType, FunctionType

_KEEPS_INDENTATION = sys.version_info < (3, 13)
"""Whether the docstring in code keeps the indentation of the source."""


class FileFunctions:
    """The code of all functions in a file.

    Args:
        text: The text of the file.
        file: The file's name for the code.

    Raises:
        SyntaxError: If it cannot be compiled.
        ValueError: Likewise.
    """

    def __init__(self, text: str, file: str) -> None:
        self._by_name: dict[str, list[tuple[CodeType, tuple[CodeType, ...]]]] = defaultdict(list)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the import has already warned
            tree = ast.parse(text, file)
            code = compile(tree, file, "exec", dont_inherit=True)
            # Autoreload compiles the `ast.unparse` of one function: without `__future__` imports,
            # and without knowledge of imported modules, which changes the bytecode of calls.
            alone = compile(ast.unparse(_NoImports().visit(tree)), file, "exec", dont_inherit=True)
        for own, other in _pairs(code, alone):
            self._by_name[own.co_name].append((own, (_bare(own), _bare(other))))

    def restore_code(self, function: FunctionType) -> bool:
        """Replaces a function's code by the file's code for it, if equivalent.

        Returns:
            Whether the file has equivalent code.
        """
        code = function.__code__
        known = self._by_name.get(code.co_name)
        bare = _bare(code) if known else code
        found = [own for own, forms in known or () if bare in forms]
        if found and not any(_is_same_place(own, code) for own in found):
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


def _bare(code: CodeType) -> CodeType:
    """Removes everything from code that depends on its place in the file."""
    constants = [_bare(each) if isinstance(each, CodeType) else each for each in code.co_consts]
    is_named = not code.co_name.startswith("<")
    if _KEEPS_INDENTATION and is_named and constants and isinstance(constants[0], str):
        # Autoreload changes the indentation of methods.
        constants[0] = inspect.cleandoc(constants[0])
    return code.replace(
        co_filename="",
        co_firstlineno=1,
        co_linetable=b"",
        co_qualname=code.co_name,
        co_flags=code.co_flags & ~annotations.compiler_flag,
        co_consts=tuple(constants),
    )


def _is_same_place(left: CodeType, right: CodeType) -> bool:
    return (
        left.co_filename == right.co_filename
        and left.co_firstlineno == right.co_firstlineno
        and left.co_linetable == right.co_linetable
    )
