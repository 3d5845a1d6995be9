"""The functions and classes that a cell's text defines, as they are without a trace.

In a traced cell a function that it defines closes over the graph's tensors, and its code is what
AutoGraph made. What is left in the notebook is what an eager cell leaves: the code as it is
written, whose names are the notebook's.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

from nbfn import _tensorflow
from nbfn.notebook.cells.refusal import same_scope
from nbfn.notebook.cells.syntax import compiled
from nbfn.site import GENERATED

_DEFINITIONS = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Definitions:
    """What the text of one cell defines.

    Args:
        body: The statements of the cell, as they are without a function around them.
        file: The file under which the text of these statements is known.
        function_file: The file of the function that the cell became.
        function_name: That function's name.
        flags: What the notebook has imported from ``__future__``.

    Attributes:
        function_file: As given.
    """

    def __init__(
        self,
        body: Sequence[ast.stmt],
        file: str,
        function_file: str,
        function_name: str,
        flags: int = 0,
    ) -> None:
        self._flags = flags
        self._body = body
        self._file = file
        self.function_file = function_file
        self._nested = re.compile(rf"^(.+\.)?(tf__)?{function_name}(_\d+)?\.<locals>\.")

    def statement(self, name: str) -> CodeType | None:
        """The one statement of the cell that defines a name as a class or function, compiled."""
        found = [
            node
            for node in same_scope(self._body)
            if isinstance(node, _DEFINITIONS) and node.name == name
        ]
        if len(found) != 1:
            return None
        tree = ast.Module([found[0]], type_ignores=[])
        code: CodeType = compiled(tree, self._file, self._flags)
        return code

    def statement_of(self, cls: type) -> CodeType | None:
        """The statement of the cell that defines a class; None if it is not the cell's."""
        name = self._nested.sub("", cls.__qualname__)
        return self.statement(name) if name != cls.__qualname__ else None

    def code_of(self, function: FunctionType) -> CodeType | None:
        """The code, as it is written, of a function that was defined while the cell was traced.

        Returns:
            None if it was not, or if that cannot be told.
        """
        code = function.__code__
        places = {(code.co_filename, code.co_firstlineno)}
        if GENERATED in code.co_filename:
            places = _tensorflow.origins(code)
        files = {file for file, _ in places}
        if len(files) != 1 or (
            code.co_filename in files and code.co_filename != self.function_file
        ):
            return None
        lines = {line for _, line in places}
        found = [each for each in self._codes(files.pop()) if _is_written_as(code, each, lines)]
        smallest = min((_length(each) for each in found), default=0)
        found = [each for each in found if _length(each) == smallest]
        if len(found) < 2 or all(each == found[0] for each in found):
            return found[0] if found else None
        made = [each for each in _generated(code) if _tensorflow.origins(each) == places]
        return found[made.index(code)] if len(made) == len(found) and code in made else None

    def _codes(self, file: str) -> list[CodeType]:
        """All code that the text of a file defines."""
        try:
            if file == self.function_file:
                tree: Any = ast.Module(list(self._body), type_ignores=[])
                return list(_nested(compiled(tree, self._file, self._flags)))
            text = "".join(linecache.getlines(file))
            return list(_nested(compiled(text, file, self._flags)))
        except (SyntaxError, ValueError):
            return []


def _generated(code: CodeType) -> list[CodeType]:
    """Code in the file that AutoGraph wrote, with the name and parameters of a piece of it."""
    try:
        with open(code.co_filename, encoding="utf-8") as file:
            written = compiled(file.read(), code.co_filename, 0)
    except (OSError, SyntaxError, ValueError):
        return []
    return [
        each
        for each in _nested(written)
        if each.co_name == code.co_name and _parameters(each) == _parameters(code)
    ]


def _nested(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _nested(constant)


def _is_written_as(code: CodeType, written: CodeType, lines: set[int]) -> bool:
    """Whether code may have been made from other code, by its name, parameters and lines."""
    return (
        code.co_name == written.co_name
        and _parameters(code) == _parameters(written)
        and all(written.co_firstlineno <= line <= _last(written) for line in lines)
    )


def _parameters(code: CodeType) -> tuple[Any, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    stars = code.co_flags & (0x04 | 0x08)
    named = code.co_varnames[: count + bool(stars & 0x04) + bool(stars & 0x08)]
    return (named, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, stars)


def _last(code: CodeType) -> int:
    own = [line for _, _, line in code.co_lines() if line is not None]
    return max([*own, *(_last(each) for each in _nested(code)), code.co_firstlineno])


def _length(code: CodeType) -> int:
    return _last(code) - code.co_firstlineno
