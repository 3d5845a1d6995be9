"""Where a traced cell cannot do what an eager one does: said under the cell, by line."""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.functions.stance import stance_of
from nbfn.notebook.cells.cell import TracedCell
from nbfn.notebook.cells.frames import cell_name
from nbfn.notebook.cells.kinds import is_tensor
from nbfn.notebook.cells.outputs import VALUE
from nbfn.notebook.cells.paths import as_text
from nbfn.notebook.cells.refusal import refuse_endless
from nbfn.notebook.remarks.code_walk import findings_in
from nbfn.notebook.remarks.findings import Finding
from nbfn.notebook.remarks.plain_names import PlainName, plain_names

MAX_LINES = 6
"""Effects that are named one by one; where there are more, those of a kind are named together."""

_MAX_TEXTS = 1000
_GRAPH_TEXT = re.compile(
    r"Tensor\(\"[^\"\n]*:\d+\", (shape=[^\n]*, )?dtype=\w+|<tf\.Tensor '[^'\n]*:\d+' shape="
)
_TEXT_ADVICE = "tf.strings.format and tf.print write values"


@dataclass(frozen=True)
class Remarks:
    """What may differ from an eager run of a cell.

    Attributes:
        findings: What Python does in it, and in the functions that it calls.
        arrays: The names of the notebook's arrays.
        tensors: The names of its tensors.
        plain: The names that it would leave as plain values of Python.
        lines_of: The lines on which it assigns each name.
        caught: The names that it gives to exceptions in branches and loops, and their lines.
    """

    findings: tuple[Finding, ...]
    arrays: frozenset[str] = frozenset()
    tensors: frozenset[str] = frozenset()
    plain: tuple[PlainName, ...] = ()
    lines_of: Mapping[str, range] = field(default_factory=dict)
    caught: Mapping[str, int] = field(default_factory=dict)

    def refuse_endless(self, autograph: bool, stance: Any = None) -> None:
        """Refuses a cell that would never end.

        Args:
            autograph: Whether loops become the graph's.
            stance: The stance that the cell runs under, if it has one of its own.

        Raises:
            UsageError: Naming the line.
        """
        if stance_of("", stance) == "eager" or tf.config.functions_run_eagerly():
            return
        for each in self.findings:
            if each.is_sure and (each.kind == "endless" or (each.kind == "loop" and not autograph)):
                refuse_endless(each, f"{_lines([each.line])}: `{each.what}`{_place([each])}")

    def lines(self, traced_cell: TracedCell, value: Any = None) -> list[str]:
        """What to say after a run, which gave this value."""
        if traced_cell.outputs.ran_eagerly:
            return list(self._missing(traced_cell))
        hit = traced_cell.traced.recorder.last == "hit"
        effects = self._of("effect")
        if hit:
            said = _grouped(effects, lambda what: f"{what} did not run, because a trace was there")
        else:
            sure = [each for each in effects if each.is_sure]
            said = _grouped(sure, lambda what: f"{what} ran because the cell was traced")
            unsure = [each for each in effects if not each.is_sure]
            said += _grouped(unsure, lambda what: f"{what} runs only while the cell is traced")
        said += _grouped(
            self._texts_of_arguments(traced_cell),
            lambda what: f"the text of {what} is of the graph's tensor, and not of its value",
            _TEXT_ADVICE,
        )
        said += [
            f"line {each.line}: `{each.what}` {each.advice}"
            for each in self._of("number")
            if each.root in traced_cell.inputs or each.root not in self.arrays
        ]
        said += self._texts(traced_cell, value)
        said += self._tensors(traced_cell)
        arrays = [name for name in traced_cell.inputs if name in self.arrays]
        if arrays and not hit:
            names = ", ".join(f"`{name}`" for name in arrays)
            said.append(
                f"{names}: a NumPy array is a tensor in a traced cell, and so is its result"
            )
        said += [
            f"line {line}: `{name}` stays as it was; an eager cell takes it away once it was caught"
            for name, line in self.caught.items()
            if name in traced_cell.inputs and name in traced_cell.outputs.namespace
        ]
        said.sort(key=_first_line)
        rest = (self._kept, self._computed_twice, self._missing)
        return [*said, *(each for what in rest for each in what(traced_cell))]

    @staticmethod
    def _computed_twice(traced_cell: TracedCell) -> Iterator[str]:
        """What a run has changed twice, because it made variables and so took two traces.

        It is what one run makes of it; what the second trace has computed of it is not.
        """
        parts = traced_cell.outputs.latest
        changes = parts.changes if parts is not None else {}
        for path in traced_cell.outputs.left:
            *owner, (kind, name) = path
            again = changes.get(tuple(owner))
            if again is not None and kind == "attribute" and name in again.attributes:
                yield (
                    f"`{as_text(path)}` was changed by a run that made variables, which takes "
                    "two traces: what else the run made of it is as of a second run"
                )

    @staticmethod
    def _kept(traced_cell: TracedCell) -> Iterator[str]:
        """What each trace makes once, where each eager run makes another."""
        parts = traced_cell.outputs.latest
        for name, kind in (parts.kept if parts is not None else {}).items():
            what = "the value of the last line" if name == VALUE else f"`{name}`"
            yield f"{what} ({kind}) is made while the cell is traced; later runs leave the same one"

    def _of(self, kind: str) -> list[Finding]:
        return [each for each in self.findings if each.kind == kind]

    def _texts_of_arguments(self, traced_cell: TracedCell) -> list[Finding]:
        """The texts, without those of tensors that the cell has by reference."""
        held = self.tensors - {*traced_cell.inputs}
        return [each for each in self._of("text") if each.root not in held]

    def _texts(self, traced_cell: TracedCell, value: Any) -> Iterator[str]:
        """Strings that the run has left, and that hold the text of a tensor of the graph."""
        known = {each.line for each in self._texts_of_arguments(traced_cell)}
        left = {name: traced_cell.outputs.namespace.get(name) for name in self.lines_of}
        for name, each in {**left, VALUE: value}.items():
            lines = self.lines_of.get(name, range(0))
            if known.isdisjoint(lines) and any(map(_GRAPH_TEXT.search, _strings(each))):
                if name == VALUE:
                    if not known and not any(each is other for other in left.values()):
                        yield _of_a_text("the value of the last line")
                else:
                    yield f"line {lines[0]}: {_of_a_text(f'`{name}`')}"

    def _tensors(self, traced_cell: TracedCell) -> Iterator[str]:
        """Names that hold a tensor, where an eager run leaves a plain value of Python."""
        known = {each.line for each in self._of("number")}
        for each in self.plain:
            value: Any = traced_cell.outputs.namespace.get(each.name)
            if is_tensor(value) and value.shape.rank == 0 and each.line not in known:
                why = " because TensorFlow decides its value" if each.is_constant else ""
                yield (
                    f"line {each.line}: `{each.name}` is a tensor{why}; "
                    f"an eager cell leaves {_python_class(value)}"
                )

    @staticmethod
    def _missing(traced_cell: TracedCell) -> Iterator[str]:
        for name in sorted(traced_cell.omitted):
            yield (
                f"`{name}` is not left in the notebook, because a loop gives it its first value; "
                "assign it above the loop"
            )
        for name in traced_cell.lost:
            what = "the value of the last line" if name == VALUE else f"`{name}`"
            yield f"{what} ended with the trace, and is not left in the notebook"

    def show(self, traced_cell: TracedCell, value: Any = None) -> None:
        """Displays what there is to say, as text and as HTML."""
        said = self.lines(traced_cell, value)
        if said:
            from IPython.display import display

            from nbfn.views.outline import Outline

            outline = Outline("This cell differs from an eager one:", said)
            display({"text/plain": outline.text(), "text/html": outline.html()}, raw=True)


def _first_line(sentence: str) -> float:
    found = re.match(r"lines? (\d+)", sentence)
    return float(found[1]) if found else math.inf


def remarks_on(body: Sequence[ast.stmt], namespace: Mapping[str, Any]) -> Remarks:
    """Finds what may differ.

    Args:
        body: The cell's statements, with the cell's line numbers.
        namespace: The notebook's names, before the cell runs.
    """
    values = list(namespace.items())
    arrays = frozenset(n for n, value in values if isinstance(value, (np.ndarray, np.generic)))
    tensors = frozenset(name for name, value in values if is_tensor(value))
    lines: dict[str, range] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Call):
                for name in _assigned(node):
                    lines.setdefault(name, range(node.lineno, (node.end_lineno or 0) + 1))
    try:
        findings = findings_in(body, namespace)
    except Exception:  # what the user's objects hold may be anything; the cell must run
        findings = ()
    plain = plain_names(body, namespace)
    return Remarks(findings, arrays, tensors, plain, lines, dict(_caught(body)))


def _caught(body: Sequence[ast.stmt]) -> Iterator[tuple[str, int]]:
    """Names of exceptions in what AutoGraph makes functions of, to which they are local."""
    for node in (each for statement in body for each in ast.walk(statement)):
        if isinstance(node, ast.If | ast.For | ast.While):
            for each in ast.walk(node):
                if isinstance(each, ast.ExceptHandler) and each.name is not None:
                    yield each.name, each.lineno


def _assigned(node: ast.AST) -> Iterator[str]:
    """Names that a statement assigns, or to whose content a call may add."""
    targets: list[Any] = getattr(node, "targets", None) or [getattr(node, "target", None)]
    if isinstance(node, ast.Call):
        targets = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    for target in targets:
        for each in ast.walk(target):
            if isinstance(each, ast.Name):
                yield each.id


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    """The strings in a value, and in the lists, tuples and dicts that it is made of."""
    if isinstance(value, str):
        yield value
    elif type(value) in (list, tuple, dict) and depth < 3:
        items = list(value.values() if isinstance(value, dict) else value)
        for item in items[-_MAX_TEXTS:]:
            yield from _strings(item, depth + 1)


def _of_a_text(what: str) -> str:
    return f"{what} holds the text of a tensor of the graph, and not of its value; {_TEXT_ADVICE}"


def _python_class(value: Any) -> str:
    dtype = value.dtype
    if dtype.is_integer:
        return "an int"
    return "a bool" if dtype.is_bool else "a float" if dtype.is_floating else "a str"


def _grouped(
    findings: Iterable[Finding], sentence: Callable[[str], str], advice: str = ""
) -> list[str]:
    """A sentence for each effect; one for all with the same advice, where there are many."""
    groups: dict[Any, list[Finding]] = {}
    for each in findings:
        inside = each.inside and (each.inside.function, each.inside.file)
        groups.setdefault((each.what, inside, each.advice), []).append(each)
    if len(groups) > MAX_LINES:
        merged: dict[Any, list[Finding]] = {}
        for group in groups.values():
            merged.setdefault(group[0].advice, []).extend(group)
        groups = merged
    said = []
    for group in groups.values():
        named = {
            f"`{each.what}`{_place([e for e in group if _alike(e, each)])}": 0 for each in group
        }
        what = list(named)
        if len(what) > MAX_LINES:
            what = [*what[: MAX_LINES - 1], f"{len(what) - MAX_LINES + 1} more"]
        text = sentence(_and(what))
        said.append(f"{_lines(e.line for e in group)}: {text}; {group[0].advice or advice}")
    return said


def _alike(left: Finding, right: Finding) -> bool:
    insides = [each.inside and (each.inside.function, each.inside.file) for each in (left, right)]
    return left.what == right.what and insides[0] == insides[1]


def _place(findings: Sequence[Finding]) -> str:
    """Where in a function of the user's it is; empty where the cell itself does it."""
    inside = findings[0].inside
    if inside is None:
        return ""
    file = cell_name(inside.file) or os.path.basename(inside.file)
    lines = _lines(each.inside.line for each in findings if each.inside)
    return f" in `{inside.function}` ({file}, {lines})"


def _lines(numbers: Iterable[int]) -> str:
    found = [str(number) for number in sorted(set(numbers))]
    return f"line {found[0]}" if len(found) == 1 else f"lines {_and(found)}"


def _and(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
