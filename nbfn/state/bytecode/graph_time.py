"""Python that a graph calls when it runs, which its trace does not depend on."""

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
    """Code known to run at graph time, because a trace has passed it to ``py_function``.

    A function that the traced code also calls directly still counts as run at graph time.

    Attributes:
        codes: The code of functions.
        lines: Lines of functions that AutoGraph had converted before they were passed, as file,
            line and name of the function.
        holders: Ids of objects that these functions change although the traced code names them,
            such as ``log`` of ``py_function(log.append, …)``. TensorFlow keeps these objects alive
            as long as its default graph, so the ids are not reused.
    """

    # By code, not by function: a function that is defined in the traced code is another object in
    # each trace.
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
        """Returns whether the content of this object may change at graph time."""
        return id(value) in self.holders

    def and_of(self, functions: Collection[Callable[..., Any]]) -> GraphTime:
        """Returns a copy that includes what these functions run and change."""
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
    """Yields the functions that a callable consists of, and the objects bound to them."""
    while function is not None:
        kind = type(function)  # `isinstance` reads `__class__`, which may run user code
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
            # Calls of classes and of C code end in slots, whose own `__call__` is a slot again.
            call = next((vars(c)["__call__"] for c in kind.__mro__ if "__call__" in vars(c)), None)
            function = call if issubclass(type(call), FunctionType) else None
