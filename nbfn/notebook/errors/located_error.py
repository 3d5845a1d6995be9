"""An error, with the place in user code where it happened."""

from __future__ import annotations

import ast
import functools
import linecache
import re
from collections.abc import Iterator, Mapping
from types import FrameType, TracebackType
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.code import is_installed
from nbfn.notebook.errors.messages import parse_message
from nbfn.notebook.frames import CodeLine, function_around, is_users, lines_in, tree_of, walk


class LocatedError:
    """An error and its place.

    Attributes:
        error: The error.
        message: Its message, without quoted lines of code.
        line: The innermost line of user code.
        namespace: The notebook's names.
        named: Lines of user code that the message mentions apart from quoted frames.
    """

    def __init__(
        self, error: BaseException, traceback: TracebackType | None, namespace: Mapping[str, Any]
    ) -> None:
        self.error = error
        self.namespace = namespace
        _, self.message, quoted = parse_message(error)
        self.named: list[CodeLine] = [] if quoted else lines_in(str(error))[::-1]
        entries = list(walk(traceback))
        own = [e for e in entries if is_users(e.tb_frame.f_code.co_filename)]
        # Frames of user-installed packages are shown, but advice is for code that the user can
        # edit.
        own = [e for e in own if not is_installed(e.tb_frame.f_code.co_filename)] or own
        quoted = [line for line in quoted if not is_installed(line.file)] or quoted
        self.line: CodeLine | None = quoted[-1] if quoted else None
        if self.line is None and own:
            code = own[-1].tb_frame.f_code
            self.line = CodeLine(code.co_filename, own[-1].tb_lineno, code.co_name)

    @property
    def place(self) -> str:
        """The place as the beginning of a sentence."""
        return "" if self.line is None else f"line {self.line.number}: "

    def operands(self) -> Iterator[tuple[str, Any]]:
        """Yields names on the failing line and their tensors."""
        if self.line is None:
            return
        for name in dict.fromkeys(_expressions(self.source().strip())):
            value = self.value_of(name)
            # AutoGraph's placeholder of an undefined name has every attribute: itself.
            is_typed = isinstance(getattr(value, "dtype", None), str | np.dtype | tf.DType)
            if is_typed and hasattr(value, "shape"):  # layers have a dtype and no shape
                yield name, value

    def value_of(self, name: str) -> Any:
        """Returns the value of a name, or of names joined by dots, on the failing line."""
        first, *attributes = name.split(".")
        value = self._scope.get(first)
        for attribute in attributes:
            value = getattr(value, attribute, None)
        return value

    def integer_start(self, name: str) -> tuple[int, int] | None:
        """Returns the integer that code above the failing line assigns to a name, and the line.

        Code of another function, or outside of the function that fails, is not searched.
        """
        tree = None if self.line is None else tree_of(self.line.file)
        if tree is None or self.line is None:
            return None
        found = None
        for node in ast.walk(function_around(tree, self.line.number) or tree):
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Constant)
                and type(node.value.value) is int
                and name in map(ast.unparse, node.targets)
                and node.lineno < self.line.number
            ):
                found = node.value.value, node.lineno
        return found

    def unsupported(self) -> str | None:
        """Returns a construct in the failing function or cell that AutoGraph cannot convert."""
        tree = None if self.line is None else tree_of(self.line.file)
        if tree is None or self.line is None:
            return None
        for node in ast.walk(function_around(tree, self.line.number) or tree):
            match node:
                case ast.NamedExpr():
                    kind = "`:=`"
                case ast.Match():
                    kind = "`match`"
                case ast.For(orelse=[_, *_]) | ast.While(orelse=[_, *_]):
                    kind = "`else` of a loop"
                case ast.IfExp(body=ast.IfExp()) | ast.IfExp(orelse=ast.IfExp()):
                    kind = "a conditional in another"
                case _:
                    continue
            return f"{kind} (line {node.lineno})"
        return None

    def source(self) -> str:
        """Returns the line of code; empty if there is none."""
        return "" if self.line is None else linecache.getline(self.line.file, self.line.number)

    def functions(self) -> Iterator[str]:
        """Returns the names of the functions that ran when the error was raised."""
        return (frame.f_code.co_name for frame in self._frames())

    def owners(self) -> set[str]:
        """Returns the class names, including base classes, of methods that ran at the error."""
        found = (frame.f_locals.get("self") for frame in self._frames())
        return {base.__name__ for owner in found for base in type(owner).__mro__}

    def _frames(self) -> Iterator[FrameType]:
        """Yields the frames of the error and of the errors during whose handling it was raised."""
        error: BaseException | None = self.error
        while error is not None:
            yield from (entry.tb_frame for entry in walk(error.__traceback__))
            # Not `__cause__`, which is None after `raise … from None`; the context stays.
            error = error.__context__

    @functools.cached_property
    def _scope(self) -> dict[str, Any]:
        """The values of the notebook's names, overridden by those of the failing function."""
        found = dict(self.namespace)
        for frame in self._frames():
            # AutoGraph names a converted function `tf__` and its name (TensorFlow 2.21).
            if self.line and frame.f_code.co_name.removeprefix("tf__") == self.line.function:
                found.update(frame.f_locals)
        return found


def _expressions(source: str) -> Iterator[str]:
    """Yields names and dotted names in a line, as far as it can be parsed alone."""
    for text in (source, source.rstrip(":"), f"{source} pass"):
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.AugAssign):
                yield ast.unparse(node.target)  # is read too
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                yield ast.unparse(node)
        return
    yield from re.findall(r"[A-Za-z_][\w.]*", source)
