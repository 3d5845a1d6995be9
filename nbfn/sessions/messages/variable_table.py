"""The table of variables: what traces have captured, and what the notebook's names lead to."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from nbfn.protocol import VariableRecord
from nbfn.sessions.messages.sent_rows import SentRows

if TYPE_CHECKING:
    from nbfn.functions import Capture

Rows = Mapping[str, VariableRecord]


class VariableTable:
    """The captures of traces, and the variables that the notebook's names lead to.

    A variable that the notebook names has that name in all rows. A capture that shares the name of
    another variable has the name of its function too: a loaded model's variables keep the names of
    the notebook that saved it.

    Attributes:
        rows: The rows, by id; of many only the last.
        renamed: Rows with a name that the capture does not have; replaced when one changes.
        total: Number of variables.
        nbytes: Their size in bytes.
    """

    def __init__(self) -> None:
        self.rows: Rows = {}
        self.renamed: Rows = {}
        self.total = 0
        self.nbytes = 0
        self._made_of: tuple[object, ...] = ()
        self._named: Rows = {}
        self._namesakes: set[str] = set()
        self._known: dict[str, tuple[Capture, VariableRecord]] = {}

    def update(
        self,
        functions: Sequence[SentRows],
        sizes: Mapping[str, int | None],
        named: Rows,
        obsolete: Collection[str],
        most: int | None,
    ) -> bool:
        """Builds the table again if something has changed.

        Args:
            functions: What was sent of each function.
            sizes: The size of each variable that the notebook names, in bytes.
            named: The rows of the first of these.
            obsolete: Ids of captures that are not listed.
            most: Maximum number of rows.

        Returns:
            Whether something has changed.
        """
        made_of = (sizes, named, obsolete, *(each.captured for each in functions))
        # By identity, which costs little: these mappings are replaced when they change.
        if len(made_of) == len(self._made_of) and all(map(operator.is_, made_of, self._made_of)):
            return False
        self._made_of = made_of
        captures: dict[str, Capture] = {}
        for sent in functions:
            captures.update(sent.captured)
        for id in obsolete:
            captures.pop(id, None)
        others = [
            c.nbytes for id, c in captures.items() if c.kind == "variable" and id not in sizes
        ]
        self.total = len(sizes) + len(others)
        self.nbytes = sum(filter(None, (*sizes.values(), *others)))
        if named is not self._named:
            # Only then: before the names are read again, one may lead to a new variable.
            taken = {row.name for row in named.values()}
            self._namesakes = {id for id, c in captures.items() if c.name in taken} - sizes.keys()
            self._named = named
        renamed, rows = dict(named), dict[str, VariableRecord]()
        for id in list({**captures, **sizes})[-most if most is not None else 0 :]:
            if id in named:
                rows[id] = named[id]
            elif id in captures:
                rows[id] = self._row_of(captures[id])
                if id in self._namesakes:
                    name = _name_in_function(functions, captures[id])
                    rows[id] = renamed[id] = rows[id].model_copy(update={"name": name})
        self._known = {id: known for id, known in self._known.items() if id in rows}
        self.rows = rows
        if renamed != self.renamed:
            self.renamed = renamed
        return True

    def _row_of(self, capture: Capture) -> VariableRecord:
        """Returns the row of a capture; the same object as for the last table."""
        known, row = self._known.get(capture.id, (None, None))
        if known is not capture or row is None:
            row = VariableRecord.of(capture)
            self._known[capture.id] = capture, row
        return row


def _name_in_function(functions: Sequence[SentRows], capture: Capture) -> str:
    """Returns the name of a capture with that of the first function that has it."""
    rows = (each.row for each in functions if capture.id in each.captured)
    row = next(filter(None, rows), None)
    return capture.name if row is None else f"{row.name}.captures/{capture.name}"
