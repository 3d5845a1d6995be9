"""Python that a graph calls when it runs, and which is therefore no part of a trace."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from types import (
    BuiltinMethodType,
    CodeType,
    FunctionType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

from nbfn import _tensorflow
from nbfn.site import GENERATED


@dataclass(frozen=True)
class GraphTime:
    """What is known to run at graph time, because a trace has given it to ``py_function``.

    A function that the traced code also calls itself counts as run at graph time all the same.

    Attributes:
        codes: The code of functions.
        lines: Each line of the functions that AutoGraph had converted before they were given, as
            file, line and name of the function.
        holders: Ids of what these functions change though the traced code names it, such as ``log``
            of ``py_function(log.append, …)``. TensorFlow keeps what it was given for as long as its
            default graph lives, so no other object gets such an id.
    """

    codes: frozenset[CodeType] = frozenset()
    lines: frozenset[tuple[str, int, str]] = frozenset()
    holders: frozenset[int] = frozenset()

    def runs(self, code: CodeType) -> bool:
        """Returns whether this code runs at graph time."""
        if code in self.codes:
            return True
        file, name = code.co_filename, code.co_name
        return bool(self.lines) and any(
            (file, line, name) in self.lines for _, _, line in code.co_lines()
        )

    def changes(self, value: Any) -> bool:
        """Returns whether what this object holds may change at graph time."""
        return id(value) in self.holders

    def and_of(self, functions: Collection[Callable[..., Any]]) -> GraphTime:
        """The same with what these functions run and change as well."""
        if not functions:
            return self
        codes, lines, holders = set(self.codes), set(self.lines), set(self.holders)
        for part in (part for function in functions for part in _parts(function)):
            if issubclass(type(part), FunctionType):
                codes.add(part.__code__)
                if GENERATED in part.__code__.co_filename:
                    name = part.__code__.co_name
                    lines |= {(*place, name) for place in _tensorflow.origins(part.__code__)}
            else:
                holders.add(id(part))
        return GraphTime(frozenset(codes), frozenset(lines), frozenset(holders))


NOTHING = GraphTime()
"""Nothing is known to run at graph time."""


def _parts(function: Any) -> Iterator[Any]:
    """The functions of which a function is made, and the objects that are bound to them."""
    while function is not None:
        kind = type(function)  # `isinstance` asks the value, which may run code of the user's
        if issubclass(kind, functools.partial):
            yield from (*function.args, *function.keywords.values())
            function = function.func
        elif issubclass(kind, MethodType):
            function = function.__func__
        elif issubclass(kind, FunctionType):
            yield function
            function = vars(function).get("__wrapped__")
        elif issubclass(kind, (BuiltinMethodType, MethodWrapperType)):
            if not issubclass(type(function.__self__), ModuleType):
                yield function.__self__
            return
        else:
            function = vars(kind).get("__call__")
