"""What Python does in a cell and no graph does: one record for each place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Inside:
    """A line of a function of the user's."""

    function: str
    file: str
    line: int


@dataclass(frozen=True)
class Finding:
    """Something that Python does, and no graph.

    Attributes:
        kind: ``"effect"``: it happens while the cell is traced only. ``"text"``: a text is made of
            a tensor; ``"number"``: a number. ``"endless"``: Python goes through a data set to its
            end; ``"loop"``: it does so in a statement that AutoGraph puts into the graph.
        line: The cell's line.
        what: The code, shortened.
        advice: What to do instead of an effect.
        inside: The line of the user's function in which it happens, if the cell's line calls one.
        is_sure: Whether it surely happens when the cell is traced.
        root: The name by which the cell reaches the tensor of a text or a number.
    """

    kind: Literal["effect", "text", "number", "endless", "loop"]
    line: int
    what: str
    advice: str = ""
    inside: Inside | None = None
    is_sure: bool = True
    root: str = ""
