"""Tracks the rows of variables that were sent, under the names that they have now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import chain

from nbfn.protocol import VariableRecord
from nbfn.sessions.messages.sent_rows import SentRows

Rows = Mapping[str, VariableRecord]

VARIABLE = "variable-"
"""Prefix of the ids of variables among the ids of captures."""


class HolderCounts:
    """Counts the holders of each capture: traces, and the notebook's names.

    Attributes:
        variables: Number of held variables.
        nbytes: Their size in bytes.
    """

    def __init__(self) -> None:
        self.variables = 0
        self.nbytes = 0
        self._counts: Counter[str] = Counter()
        self._sizes: dict[str, int] = {}
        self._fewer: set[str] = set()

    def __contains__(self, id: object) -> bool:
        return id in self._counts

    def without(self, ids: Iterable[str]) -> tuple[int, int]:
        """Returns the number and size in bytes of the variables, except those with `ids`."""
        left = [self._sizes.get(id, 0) for id in ids if id.startswith(VARIABLE)]
        return self.variables - len(left), self.nbytes - sum(left)

    def add(self, sizes: Iterable[tuple[str, int | None]]) -> None:
        """Adds a holder of these ids, given with sizes in bytes."""
        for id, nbytes in sizes:
            self._counts[id] += 1
            if id not in self._sizes:
                self._sizes[id] = nbytes or 0
                self._count(id, 1)

    def drop(self, ids: Iterable[str]) -> None:
        """Removes a holder of these ids."""
        for id in ids:
            self._counts[id] -= 1
            self._fewer.add(id)

    def take_dropped(self) -> set[str]:
        """Removes and returns the ids that have lost their last holder since the last call."""
        dropped = {id for id in self._fewer if self._counts[id] <= 0}
        self._fewer.clear()
        for id in dropped:
            del self._counts[id]
            self._count(id, -1)
            del self._sizes[id]
        return dropped

    def _count(self, id: str, by: int) -> None:
        if id.startswith(VARIABLE):
            self.variables += by
            self.nbytes += by * self._sizes[id]


class SentVariables:
    """The captures of traces, and the variables that the notebook's names lead to.

    A variable that the notebook names has that name in all rows.

    Args:
        sent: The rows as last sent.
        functions: What was sent of each function, by id.

    Attributes:
        renamed: The rows of variables by their current names, if these differ from those of the
            captures; replaced when a name changes.
    """

    def __init__(self, sent: Rows, functions: Mapping[str, SentRows]) -> None:
        self.renamed: Rows = {}
        self._sent = sent
        self._functions = functions
        self._holders = HolderCounts()
        self._named: Mapping[str, int | None] = {}
        self._obsolete: frozenset[str] = frozenset()

    def __contains__(self, id: object) -> bool:
        return id in self._holders

    def with_current_names(self, rows: Rows) -> dict[str, VariableRecord]:
        """Replaces rows of captures that have a current name in the notebook."""
        return {id: self.renamed.get(id, row) for id, row in rows.items()}

    def replace_captures(self, old: SentRows, now: SentRows) -> None:
        """Counts the captures of a function's traces, which have changed."""
        for id in old.traces.keys() - now.traces.keys():
            self._holders.drop(capture.id for capture in old.traces[id])
        for id in now.traces.keys() - old.traces.keys():
            self._holders.add((capture.id, capture.nbytes) for capture in now.traces[id])

    def put_named(
        self, named: Mapping[str, int | None], rows: Rows, put: dict[str, VariableRecord]
    ) -> None:
        """Adds the variables that the notebook's names lead to: sizes of all, rows of the first."""
        if named is self._named:
            return
        before, self._named = self._named, named
        self._holders.add((id, nbytes) for id, nbytes in named.items() if id not in before)
        self._holders.drop(id for id in before if id not in named)
        sent_ids = self._sent.keys() | put.keys()
        renamed_before, self.renamed = self.renamed, {**rows, **self._namesakes(rows, sent_ids)}
        unnamed = (renamed_before.keys() - self.renamed.keys()) & sent_ids
        sent = {**self._sent, **put}
        current = {**self.renamed, **self._rows_of(unnamed)}
        put.update((id, row) for id, row in current.items() if sent.get(id) != row)

    def drop(
        self, obsolete: Iterable[str], put: dict[str, VariableRecord], removed: list[str]
    ) -> None:
        """Removes rows of captures that have no holder, or are obsolete.

        It restores those of captures that are current again.
        """
        dropped = self._holders.take_dropped()
        before = self._obsolete
        self._obsolete = frozenset(id for id in obsolete if id in self._holders)
        for id in self._obsolete & put.keys():
            del put[id]
        current = {id for id in before - self._obsolete if id in self._holders}
        put.update(self.with_current_names(self._rows_of(current)))
        removed.extend((dropped | self._obsolete) & self._sent.keys())

    def totals(self) -> tuple[int, int]:
        """Returns the number of current variables, and their size in bytes."""
        return self._holders.without(self._obsolete)

    def _namesakes(self, rows: Rows, sent_ids: Collection[str]) -> dict[str, VariableRecord]:
        """Returns rows of sent captures that share a name with a named variable.

        A loaded model's variables keep the names of the notebook that saved it.
        """
        taken = {row.name for row in rows.values()}
        found: dict[str, VariableRecord] = {}
        for sent in self._functions.values():
            captures = chain.from_iterable(sent.traces.values())
            ids = {each.id for each in captures if each.name in taken and each.id in sent_ids}
            same = ids - rows.keys() - found.keys() - self._named.keys()
            if sent.row is not None:
                for id, row in self._rows_of(same).items():
                    name = f"{sent.row.name}.captures/{row.name}"
                    found[id] = row.model_copy(update={"name": name})
        return found

    def _rows_of(self, ids: Collection[str]) -> dict[str, VariableRecord]:
        """Returns the rows of some captures, named as when they were traced."""
        if not ids:
            return {}
        from nbfn.sessions.messages.records import variable_rows

        traces = (each.traces for each in self._functions.values())
        return variable_rows(chain.from_iterable(t.values() for t in traces), ids)
