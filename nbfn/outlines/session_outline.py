"""A session, its retraces by their cause and its devices as outlines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from nbfn import protocol
from nbfn.outlines.outline import Outline, Table, Words, advice, place, reason
from nbfn.outlines.variables_outline import (
    Users,
    objects_table,
    users_of,
    variables_outline,
    variables_table,
)
from nbfn.protocol import Phrase
from nbfn.text import count, data_size, duration, percent

AUTO = "`%tf_auto` is on: cells without a magic of their own run in segments"

_KINDS: Mapping[protocol.CauseCode, str] = {
    "variable_creation": "it creates variables",
    "new_code": "new code",
    "new_function": "defined again",
    "new_instance": "another instance",
    "after_failure": "after a failure",
    "python_value": "value",
    "python_type": "kind",
    "object_identity": "another object",
    "stale": "changed",
    "device": "another device",
    "strategy": "another strategy",
    "summaries": "another summary writer",
    "context": "another context",
    "alias": "one variable by two names",
    "xla_compile": "compiled by XLA",
}
"""Names of causes in counts, where they are not the code itself."""

_OF_ARGUMENTS = ("shape", "rank", "dtype", "structure", "python_value", "python_type")
"""Causes of an argument."""


MEANINGS = {name: field.description for name, field in protocol.Totals.model_fields.items()}
"""The definition of each total."""


@dataclass(frozen=True)
class SessionState:
    """The state from which the outlines of a session are drawn.

    Attributes:
        rows: Its rows; of some tables only the newest.
        totals: How much there is of everything.
        auto: Whether ``%tf_auto`` is on.
        users: Returns which functions capture a variable, if `rows` do not have all traces.
    """

    rows: protocol.Rows
    totals: protocol.Totals
    auto: bool = False
    users: Callable[[], Users] | None = None

    def captured_by(self) -> Users:
        """Returns the names of the functions whose traces capture a variable, by its id."""
        return users_of(self.rows) if self.users is None else self.users()


def session_outline(state: SessionState) -> Outline:
    """Returns what is shown of a session as a whole."""
    rows, totals = state.rows, state.totals
    inside = {id for cell in rows.cells.values() for id in cell.functions}
    functions = [
        (each.title, *_counts([each])) for each in rows.functions.values() if each.id not in inside
    ]
    numbers = (
        (totals.functions, "function"),
        (totals.cells, "cell"),
        (totals.models, "model"),
        (totals.variables, "variable"),
    )
    models = [(each.id, each.label.lstrip("_")) for each in rows.models.values()]
    return Outline(
        "session: " + ", ".join(count(number, noun) for number, noun in numbers),
        [
            *([AUTO] if state.auto else []),
            *_totals_line(totals),
            *_time_lines(rows.runs.values(), totals),
        ],
        (
            Table(
                "functions",
                ("function", *_COUNTS),
                functions,
                total=totals.functions,
            ),
            Table(
                "cells",
                ("cell", *_COUNTS, "runs as"),
                [
                    (
                        cell.name,
                        *_counts(
                            [each for id in cell.functions if (each := rows.functions.get(id))]
                        ),
                        cell.sentence,
                    )
                    for cell in rows.cells.values()
                ],
                total=totals.cells,
            ),
            Table("models", ("name", "class"), models),
            replace(variables_table(rows, totals, state.captured_by()), open=False),
            objects_table(rows),
        ),
    )


_COUNTS = ("traces", "calls", "hits", "retraces")


def _counts(functions: Sequence[protocol.FunctionRecord]) -> list[str]:
    """Returns the sums of some functions' counts; empty where one is not counted."""
    columns = [[getattr(each, name) for each in functions] for name in _COUNTS]
    return ["" if None in column else f"{sum(column):,}" for column in columns]


def totals_outline(state: SessionState) -> Outline:
    """Returns the line of totals that a view of the session begins with."""
    totals = state.totals
    size = data_size(totals.trace_nbytes + totals.variable_nbytes)
    hint = f"Graphs {data_size(totals.trace_nbytes)}, variables {data_size(totals.variable_nbytes)}"
    facts = _totals_facts(totals)
    return Outline(
        "totals",
        [AUTO] if state.auto else [],
        facts=[*facts, Phrase(text=size, hint=hint)] if facts else [],
    )


def _totals_facts(totals: protocol.Totals) -> list[Phrase]:
    if not totals.traces:
        return []
    facts = {
        f"{noun}s": count(getattr(totals, f"{noun}s"), noun)
        for noun in ("call", "hit", "trace", "retrace")
    }
    facts["trace_seconds"] = f"{duration(totals.trace_seconds)} to trace"
    return [Phrase(text=text, hint=MEANINGS[name]) for name, text in facts.items()]


def _totals_line(totals: protocol.Totals) -> list[Words]:
    facts = _totals_facts(totals)
    if not facts:
        return []
    hint = "\n".join(f"{each.text}: {each.hint}" for each in facts)
    return [Phrase(text=", ".join(each.text for each in facts), hint=hint)]


def _time_lines(runs: Collection[protocol.RunRecord], totals: protocol.Totals) -> list[str]:
    """Returns how the time of the notebook's cells was spent."""
    seconds = totals.run_seconds
    if not seconds:
        return []
    parts = (
        ("tracing", sum(run.tracing for run in runs)),
        ("running graphs", sum(run.graph for run in runs)),
        (
            "Python and everything else",
            sum(max(run.seconds - run.tracing - run.graph, 0) for run in runs),
        ),
    )
    shares = ", ".join(f"{percent(each / seconds)} {name}" for name, each in parts)
    lines = [
        f"where the time went: {duration(seconds)} in {count(totals.runs, 'run')} of cells: "
        f"{shares}"
    ]
    watched = sum(run.watched for run in runs)
    if watched:
        copies = sum(run.copies for run in runs)
        lines.append(
            f"copies between devices: {copies:,} in {count(watched, 'watched call')}; of other "
            "calls they are not known"
        )
    return lines


def retraces_outline(state: SessionState) -> Outline:
    """Returns the newest retrace, and all of them by function and cause, the costliest first."""
    rows, totals = state.rows, state.totals
    retraces = sorted(rows.retraces.values(), key=lambda each: each.time)
    if not retraces:
        return Outline("retraces", ["no call has retraced"])
    groups: dict[tuple[str, str], list[protocol.RetraceRecord]] = {}
    for each in retraces:
        groups.setdefault((each.function, _kind(each)), []).append(each)
    costliest = sorted(groups.items(), key=lambda one: -_seconds(one[1]))
    last, left = retraces[-1], totals.retraces - len(retraces)
    return Outline(
        "retraces",
        [f"{count(left, 'older retrace')} not listed"] if left > 0 else [],
        (
            Table(
                "by cause",
                ("function", "cause", "retraces", "to trace", "newest", "remedy"),
                [
                    (
                        _name(rows, id),
                        reason(some[-1].causes[:1]).model_copy(update={"text": kind}),
                        f"{len(some):,}",
                        duration(_seconds(some)),
                        place(some[-1].cell),
                        _advice(some[-1]),
                    )
                    for (id, kind), some in costliest
                ],
                open=True,
            ),
        ),
        call="retrace",
        status=reason(last.causes, f"`{_name(rows, last.function)}` retraced last: "),
        facts=[f"{duration(last.trace_seconds)} to trace", place(last.cell)],
    )


def _advice(retrace: protocol.RetraceRecord) -> Words:
    if retrace.settled:
        return "settled: its trace has been replaced"
    return advice(retrace.remedy, retrace.cell)


def _name(rows: protocol.Rows, id: str) -> str:
    function = rows.functions.get(id)
    return "" if function is None else function.name


def _seconds(retraces: list[protocol.RetraceRecord]) -> float:
    return sum(each.trace_seconds for each in retraces)


def _kind(retrace: protocol.RetraceRecord) -> str:
    if not retrace.causes:
        return "unknown"
    cause = retrace.causes[0]
    kind = _KINDS.get(cause.code, cause.code.replace("_", " "))
    if cause.path is None:
        return kind
    if cause.code in _OF_ARGUMENTS:
        return f"{kind} of `{cause.path}`"
    return f"`{cause.path}` has changed" if cause.code == "stale" else kind


def devices_outline(state: SessionState) -> Outline:
    """Returns the devices that TensorFlow can place operations on, and what each holds."""
    rows, totals = state.rows, state.totals
    if not rows.devices:
        later = "when the cell has ended" if totals.traces else "once a function has been traced"
        return Outline("devices", [f"listed {later}"])
    sizes_by_device: dict[str, list[int]] = {}
    variables = [each for each in rows.variables.values() if each.kind == "variable"]
    for each in variables:
        sizes_by_device.setdefault(each.device, []).append(each.nbytes or 0)
    table = []
    for device in rows.devices.values():
        sizes = sizes_by_device.get(device.name, [])
        size = data_size(sum(sizes)) if sizes else ""
        table.append((device.name, device.kind, f"{len(sizes):,}", size))
    left = totals.variables - len(variables)
    return Outline(
        "devices",
        [f"without {count(left, 'variable')} of which no row is kept"] if left > 0 else [],
        (Table("devices", ("device", "kind", "variables", "size"), table, open=True),),
    )


@dataclass(frozen=True)
class Section:
    """A part of the session's view.

    Attributes:
        draw: Returns its outline.
        inputs: Returns what the outline is made of; it is drawn again when that is something else.
    """

    draw: Callable[[SessionState], Outline]
    inputs: Callable[[SessionState], tuple[object, ...]]


def _names(rows: protocol.Rows) -> list[str]:
    return [each.name for each in rows.functions.values()]


VARIABLES = "variables"
"""The target of the outline of the variables and of other objects with state."""

SECTIONS: Mapping[str, Section] = {
    # Some totals, such as the time of the running cell, change more often than the words.
    "totals": Section(totals_outline, lambda shown: (totals_outline(shown),)),
    "retraces": Section(
        retraces_outline,
        lambda shown: (
            [*shown.rows.retraces.values()],
            _names(shown.rows),
            shown.totals.retraces,
        ),
    ),
    # The rows of traces change with each call, but never what they have captured.
    VARIABLES: Section(
        lambda shown: variables_outline(shown.rows, shown.totals, shown.captured_by()),
        lambda shown: (
            [*shown.rows.variables.values()],
            [*shown.rows.objects.values()],
            [*shown.rows.traces],
            _names(shown.rows),
            shown.totals.traces,
            shown.totals.variables,
        ),
    ),
    "devices": Section(
        devices_outline,
        lambda shown: (
            [*shown.rows.devices.values()],
            [*shown.rows.variables.values()],
            shown.totals.traces > 0,
            shown.totals.variables,
        ),
    ),
}
"""The parts of the session's view, by the targets of their outlines."""
