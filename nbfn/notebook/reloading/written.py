"""Code as a file has it, and functions that get the lines of theirs back.

IPython's autoreload compiles a changed function apart from its file, so its code begins at line 1;
the code of the functions below keeps the lines that it had. Both name the file, where
``inspect.getsource`` and so AutoGraph then read another function's text.
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
"""Whether a docstring in code is as indented as it is written."""


class Written:
    """The code of all functions in a file.

    Args:
        text: What is in the file.
        file: The file's name, which the code gets.

    Raises:
        SyntaxError: It cannot be compiled.
        ValueError: Likewise.
    """

    def __init__(self, text: str, file: str) -> None:
        self._by_name: dict[str, list[tuple[CodeType, tuple[CodeType, ...]]]] = defaultdict(list)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the import has said so
            tree = ast.parse(text, file)
            code = compile(tree, file, "exec", dont_inherit=True)
            # Autoreload compiles what `ast.unparse` writes of one function: no future statement
            # tells how, and calls of what the module imports are not known as such.
            alone = compile(ast.unparse(_NoImports().visit(tree)), file, "exec", dont_inherit=True)
        for own, other in _pairs(code, alone):
            self._by_name[own.co_name].append((own, (_bare(own), _bare(other))))

    def puts_back(self, function: FunctionType) -> bool:
        """Gives a function the code that the file has for it, if that does the same.

        Returns:
            Whether there is such code.
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
    """Takes the imports out of a module, those in its functions and classes excepted."""

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Import | ast.ImportFrom):
            return ast.copy_location(ast.Pass(), node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return node
        return self.generic_visit(node)


def _pairs(left: CodeType, right: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The functions nested in two codes of one meaning."""
    inner = [[c for c in each.co_consts if isinstance(c, CodeType)] for each in (left, right)]
    if [c.co_name for c in inner[0]] != [c.co_name for c in inner[1]]:
        return
    for pair in zip(*inner, strict=True):
        yield pair
        yield from _pairs(*pair)


def _bare(code: CodeType) -> CodeType:
    """Code without its place: equal if it does the same."""
    constants = [_bare(each) if isinstance(each, CodeType) else each for each in code.co_consts]
    is_named = not code.co_name.startswith("<")
    if _KEEPS_INDENTATION and is_named and constants and isinstance(constants[0], str):
        constants[0] = inspect.cleandoc(constants[0])  # autoreload indents methods anew
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
