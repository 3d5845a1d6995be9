"""The variables of a session, what else traces have captured, and other objects, as an outline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from nbfn import protocol
from nbfn.outlines.function_outline import captures_table
from nbfn.outlines.outline import Outline, Table
from nbfn.text import count, data_size, tensor_type

HEADER = ("name", "dtype and shape", "size", "device", "captured by")

Users = Mapping[str, Sequence[str]]
"""The names of the functions whose traces capture a variable, by its id."""


def variables_outline(rows: protocol.Rows, totals: protocol.Totals, captured_by: Users) -> Outline:
    """Returns the variables by the notebook's names, other captures, and other objects."""
    others = [each for each in rows.variables.values() if each.kind != "variable"]
    lines = [] if totals.variables else ["the notebook has no variables"]
    tables = (
        variables_table(rows, totals, captured_by),
        replace(captures_table(others), title="other captures", open=False),
        objects_table(rows),
    )
    return Outline("variables", lines, tables)


def objects_table(rows: protocol.Rows) -> Table:
    """Returns the lookup tables, datasets, iterators and optimizers, one row each."""
    return Table(
        "tables, datasets, iterators, optimizers",
        ("name", "class"),
        [(each.id, each.label.lstrip("_")) for each in rows.objects.values()],
    )


def variables_table(rows: protocol.Rows, totals: protocol.Totals, captured_by: Users) -> Table:
    """Returns the variables: one row each in text, a tree of their names on pages."""
    variables = [each for each in rows.variables.values() if each.kind == "variable"]
    table = [_row(each, each.name, captured_by) for each in variables]
    tree = _Tree(captured_by)
    tree.add(_group(variables), 0)
    return Table(
        "variables",
        HEADER,
        table,
        total=max(totals.variables, len(table)),
        open=True,
        kind="tree",
        page_only=frozenset((2,)),
        page_rows=tree.rows,
        depths=tree.depths,
        closed=tree.closed,
    )


def users_of(rows: protocol.Rows) -> dict[str, list[str]]:
    """Returns the users of each variable, as far as the rows of traces are known."""
    found: dict[str, dict[str, None]] = {}
    for trace in rows.traces.values():
        function = rows.functions.get(trace.function)
        for id in trace.captures if function else ():
            found.setdefault(id, {})[function.name if function else ""] = None
    return {id: list(names) for id, names in found.items()}


def _row(variable: protocol.VariableRecord, name: str, captured_by: Users) -> tuple[str, ...]:
    return (
        name,
        tensor_type(variable.dtype, variable.shape),
        data_size(variable.nbytes),
        variable.device,
        ", ".join(captured_by.get(variable.id, ())),
    )


@dataclass
class _Group:
    """Variables whose names begin alike, such as all of ``model/hidden``."""

    groups: dict[str, _Group] = field(default_factory=dict)
    variables: list[protocol.VariableRecord] = field(default_factory=list)


def _group(variables: Sequence[protocol.VariableRecord]) -> _Group:
    root = _Group()
    for variable in variables:
        group = root
        for name in variable.name.split("/")[:-1]:
            group = group.groups.setdefault(name, _Group())
        group.variables.append(variable)
    return root


class _Tree:
    """The rows of a tree of names: groups first, then the variables beside them."""

    def __init__(self, captured_by: Users) -> None:
        self.rows: list[tuple[str, ...]] = []
        self.depths: list[int] = []
        self.closed: set[int] = set()
        self._captured_by = captured_by

    def add(self, group: _Group, depth: int) -> list[protocol.VariableRecord]:
        """Adds the rows of a group, and returns all variables in it."""
        inside: list[protocol.VariableRecord] = []
        for first, below in group.groups.items():
            path, inner = [first], below
            while len(inner.groups) == 1 and not inner.variables:
                ((name, inner),) = inner.groups.items()
                path.append(name)
            number = len(self.rows)
            self._append((), depth)
            found = self.add(inner, depth + 1)
            nbytes = sum(each.nbytes or 0 for each in found)
            what = count(len(found), "variable")
            self.rows[number] = ("/".join(path), what, data_size(nbytes), "", "")
            # An optimizer has many variables, none of them trainable; so they are folded.
            if not any(each.trainable for each in found):
                self.closed.add(number)
            inside += found
        for variable in group.variables:
            name, type, *rest = _row(variable, variable.name.split("/")[-1], self._captured_by)
            note = "" if variable.trainable else ", not trainable"
            self._append((name, type + note, *rest), depth)
        return inside + group.variables

    def _append(self, row: tuple[str, ...], depth: int) -> None:
        self.rows.append(row)
        self.depths.append(depth)
