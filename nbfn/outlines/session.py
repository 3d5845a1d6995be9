"""A session, its retraces by their cause and its devices as outlines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from nbfn import protocol
from nbfn.outlines.function import title
from nbfn.outlines.outline import Outline, Table, Words, advice, place, reason
from nbfn.outlines.variables import variables_outline, variables_table
from nbfn.text import count, data_size, duration, percent

AUTO = "`%tf_auto` is on: cells without a magic of their own run in segments"

_KINDS: Mapping[protocol.CauseCode, str] = {
    "variable_creation": "it creates variables",
    "new_code": "new code",
    "new_function": "defined again",
    "new_instance": "another instance",
    "evicted": "evicted",
    "after_failure": "after a failure",
    "shape": "shape",
    "rank": "rank",
    "dtype": "dtype",
    "structure": "structure",
    "python_value": "value",
    "python_type": "kind",
    "object_identity": "another object",
    "stale": "changed",
    "device": "another device",
    "strategy": "another strategy",
    "summaries": "another summary writer",
    "context": "another context",
    "alias": "the same tensor twice",
    "widened": "widened",
    "xla_compile": "compiled by XLA",
}
"""What kinds of causes are called where they are counted."""

_OF = ("shape", "rank", "dtype", "structure", "python_value", "python_type")
"""Those that are of an argument."""


def session_outline(
    rows: protocol.State,
    totals: protocol.Totals,
    *,
    auto: bool = False,
    others: Mapping[str, str] | None = None,
) -> Outline:
    """Returns what is shown of a session as a whole.

    Args:
        rows: Its rows.
        totals: How much there is of everything.
        auto: Whether ``%tf_auto`` is on.
        others: The classes of its tables, datasets, iterators and optimizers, by name.
    """
    inside = {id for cell in rows.cells.values() for id in cell.functions}
    functions = [
        (
            title(each),
            *(f"{number:,}" for number in (each.traces, each.calls, each.hits, each.retraces)),
        )
        for each in rows.functions.values()
        if each.id not in inside
    ]
    numbers = (
        (totals.functions, "function"),
        (totals.cells, "cell"),
        (len(rows.models), "module"),
        (totals.variables, "variable"),
    )
    models = [(each.id, each.label.lstrip("_")) for each in rows.models.values()]
    return Outline(
        "session: " + ", ".join(count(number, noun) for number, noun in numbers),
        [
            *([AUTO] if auto else []),
            *([_totals_line(totals)] if totals.traces else []),
            *_time_lines(rows.runs.values()),
        ],
        (
            Table(
                "functions",
                ("function", "traces", "calls", "hits", "retraces"),
                functions,
                total=totals.functions,
            ),
            Table(
                "cells",
                ("cell", "runs as"),
                [(each.name, each.sentence) for each in rows.cells.values()],
                total=totals.cells,
            ),
            Table("modules", ("name", "class"), models),
            replace(variables_table(rows, totals), open=False),
            Table(
                "tables, datasets, iterators, optimizers",
                ("name", "class"),
                list((others or {}).items()),
            ),
        ),
    )


def _totals_line(totals: protocol.Totals) -> str:
    counted = ", ".join(
        count(getattr(totals, noun + "s"), noun) for noun in ("call", "hit", "trace", "retrace")
    )
    return f"{counted}, {duration(totals.trace_seconds)} to trace"


def _time_lines(rows: Collection[protocol.RunRecord]) -> list[str]:
    """Where the time of the notebook's cells went; nothing before one has ended."""
    ended = [run for run in rows if not run.running]
    seconds = sum(run.seconds for run in ended)
    if not seconds:
        return []
    parts = (
        ("tracing", sum(run.tracing for run in ended)),
        ("running graphs", sum(run.graph for run in ended)),
        (
            "Python and everything else",
            sum(max(run.seconds - run.tracing - run.graph, 0) for run in ended),
        ),
    )
    cells = count(sum(run.runs for run in ended), "run")
    shares = ", ".join(f"{percent(each / seconds)} {name}" for name, each in parts)
    lines = [f"where the time went: {duration(seconds)} in {cells} of cells: {shares}"]
    watched = sum(run.watched for run in ended)
    if watched:
        copies = sum(run.copies for run in ended)
        lines.append(
            f"copies between devices: {copies:,} in {count(watched, 'watched call')}; of other "
            "calls they are not known"
        )
    return lines


def retraces_outline(rows: protocol.State, totals: protocol.Totals) -> Outline:
    """Returns the newest retrace, and all of them by function and cause, the dearest first."""
    retraces = sorted(rows.retraces.values(), key=lambda each: each.time)
    if not retraces:
        return Outline("retraces", ["no call has retraced"])
    groups: dict[tuple[str, str], list[protocol.RetraceRecord]] = {}
    for each in retraces:
        groups.setdefault((each.function, _kind(each)), []).append(each)
    dearest = sorted(groups.items(), key=lambda one: -_seconds(one[1]))
    last, left = retraces[-1], totals.retraces - len(retraces)
    lines = [_advice(last), f"{count(left, 'older retrace')} not listed" if left > 0 else ""]
    return Outline(
        "retraces",
        [line for line in lines if line],
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
                        "see above" if some[-1] is last else _advice(some[-1]),
                    )
                    for (id, kind), some in dearest
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


def _name(rows: protocol.State, id: str) -> str:
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
    if cause.code in _OF:
        return f"{kind} of `{cause.path}`"
    return f"`{cause.path}` has changed" if cause.code == "stale" else kind


def devices_outline(rows: protocol.State, totals: protocol.Totals) -> Outline:
    """Returns the devices that TensorFlow can place operations on, and what each holds."""
    if not rows.devices:
        later = "when the cell has ended" if totals.traces else "once a function has been traced"
        return Outline("devices", [f"listed {later}"])
    held: dict[str, list[int]] = {}
    for each in rows.variables.values():
        held.setdefault(each.device, []).append(each.nbytes or 0)
    table = []
    for device in rows.devices.values():
        sizes = held.get(device.name, [])
        size = data_size(sum(sizes)) if sizes else ""
        table.append((device.name, device.kind, f"{len(sizes):,}", size))
    return Outline(
        "devices",
        (),
        (Table("devices", ("device", "kind", "variables", "size"), table, open=True),),
    )


@dataclass(frozen=True)
class Section:
    """A part of the session's view.

    Attributes:
        draw: Returns its outline.
        inputs: Returns what the outline is made of; it is drawn again when that is something else.
    """

    draw: Callable[[protocol.State, protocol.Totals], Outline]
    inputs: Callable[[protocol.State, protocol.Totals], tuple[object, ...]]


def _names(rows: protocol.State) -> list[str]:
    return [each.name for each in rows.functions.values()]


SECTIONS: Mapping[str, Section] = {
    "retraces": Section(
        retraces_outline,
        lambda rows, totals: ([*rows.retraces.values()], _names(rows), totals.retraces),
    ),
    # The rows of traces change with each call, but never what they have captured.
    "variables": Section(
        variables_outline,
        lambda rows, totals: (
            [*rows.variables.values()],
            [*rows.traces],
            _names(rows),
            totals.variables,
        ),
    ),
    "devices": Section(
        devices_outline,
        lambda rows, totals: (
            [*rows.devices.values()],
            [*rows.variables.values()],
            totals.traces > 0,
        ),
    ),
}
"""The parts of the session's view, by the targets of their outlines."""
