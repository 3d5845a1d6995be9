"""Detects functions that are defined again under the same name, and whether their code changed."""

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
"""Warns at this number of functions with the same code, each traced and called once."""


@dataclass
class Definition:
    """Code from which functions were made.

    Only a digest of the code is kept, so that old functions and their graphs can be freed.

    Attributes:
        code: The digest of the code, and its first line.
        made: Number of functions made from it.
        cell: The run of a cell in which the newest was made; None outside of cells.
        traced: Number of those made in this run that have been traced.
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
        """The cause of the newest function's first trace."""
        times = f" ({self.made} made so far)" if self.made > 2 else ""
        sentence = f"first call of a new function object with the same code{times}"
        return Cause("new_function", sentence)

    def note_first_trace(self, site: Site) -> bool:
        """Counts a function's first trace; returns whether to warn."""
        if site != self.site:  # another line: not in a loop
            self.site, self.traced = site, 0
        self.traced += 1
        return self.traced == MAX_IN_A_LOOP and not self.reused


# By name: TensorFlow's own detector goes by code, and so takes functions of equal code for one.
_seen: dict[tuple[str, str], Definition] = {}


def record_definition(python_function: Callable[..., Any]) -> tuple[Cause, Definition | None]:
    """Records a definition, and returns the cause of its first trace."""
    function = plain_function(python_function)
    code = getattr(function, "__code__", None)
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", "")
    if code is None or module is None:
        return FIRST, None
    identity, before = (digest(code), code.co_firstlineno), _seen.get((module, name))
    if before is None or before.code != identity:
        definition = _seen[module, name] = Definition(identity)
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
