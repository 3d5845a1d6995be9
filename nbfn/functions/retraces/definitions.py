"""Which functions have been defined before under the same name, and whether their code changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nbfn.code import plain_function
from nbfn.functions.retraces.trace_causes import FIRST
from nbfn.functions.traces.cause import Cause
from nbfn.site import Cell, Site, current_cell
from nbfn.state.bytecode.digest import digest

MAX_IN_A_LOOP = 3
"""Functions of one code that are traced and not called again, before that is told."""


@dataclass
class Definition:
    """A code that functions have been made of.

    Only a digest of it is kept, so that the old functions and their graphs can be freed.

    Attributes:
        code: The digest of the code, and its first line.
        made: How many functions have been made of it.
        cell: The run of a cell in which the newest was made; None outside of cells.
        traced: How many of those that were made in this run have been traced.
        reused: Whether one of those was called again.
        site: Where the newest was traced.
    """

    code: Any
    made: int = 0
    cell: Cell | None = None
    traced: int = 0
    reused: bool = False
    site: Site | None = None

    @property
    def first_cause(self) -> Cause:
        """Why the newest function's first trace will be needed."""
        times = f" ({self.made} made so far)" if self.made > 2 else ""
        sentence = f"first call of a new function object with the same code{times}"
        return Cause("new_function", sentence)

    def note_first_trace(self, site: Site) -> bool:
        """Counts a function that is traced for the first time; answers whether to warn now."""
        if site != self.site:  # another line, and so no loop
            self.site, self.traced = site, 0
        self.traced += 1
        return self.traced == MAX_IN_A_LOOP and not self.reused


_seen: dict[tuple[str, str], Definition] = {}


def define(python_function: Callable[..., Any]) -> tuple[Cause, Definition | None]:
    """Remembers a definition, and says why its first trace will be needed."""
    function = plain_function(python_function)
    code = getattr(function, "__code__", None)
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", "")
    if code is None or module is None:
        return FIRST, None
    known, before = (digest(code), code.co_firstlineno), _seen.get((module, name))
    if before is None or before.code != known:
        definition = _seen[module, name] = Definition(known)
    else:
        definition = before
    definition.made += 1
    cell = current_cell()
    if definition.cell != cell:
        definition.cell, definition.traced, definition.reused = cell, 0, False
    if definition.made > 1:
        return definition.first_cause, definition
    if before is None or "<locals>" in name or name == "<lambda>":
        return FIRST, definition
    return Cause("new_code", "new code: the function was defined again"), definition
