"""Results that are a title and a table or two, as outlines."""

from __future__ import annotations

from dataclasses import replace

from nbfn import protocol
from nbfn.functions.calls.placement import Run
from nbfn.functions.calls.value_summary import is_finite, summarize
from nbfn.functions.checking.check import Check
from nbfn.functions.signatures.cover import Cover
from nbfn.functions.traces.capture import Captures
from nbfn.functions.traces.cause import Remedy, Retraces
from nbfn.functions.traces.trace import Traces
from nbfn.outlines.function_outline import (
    all_traces_table,
    captures_table,
    retraces_table,
)
from nbfn.outlines.outline import Outline, Table, Words, advice, place
from nbfn.sessions.contents.statistics import statistics_outline as statistics_outline
from nbfn.sessions.export.preflight import Preflight
from nbfn.sessions.messages.records import code_place, retrace_record, trace_record
from nbfn.text import count, data_size, join
from nbfn.views.pages.inside import numerics_outline, values_outline
from nbfn.views.pages.placement_outline import placement_outline

_NOT_FINITE = "the result has NaN or infinity"


def captures_outline(captures: Captures, title: str | None = None) -> Outline:
    """Returns the outline of captures; its title is their number by default."""
    summary = count(len(captures), "capture")
    sizes = [each.nbytes for each in captures if each.nbytes is not None]
    if sizes:
        summary += f", {data_size(sum(sizes))}"
    lines = [
        f"`{each.name}` no longer exists; only its trace refers to it"
        for each in captures
        if not each.is_alive
    ]
    rows = [protocol.VariableRecord.of(each) for each in captures]
    table = captures_table(rows, open=True)
    if title is None:
        return Outline(summary, lines, (table,))
    return Outline(title, [summary, *lines], (table,))


def traces_outline(traces: Traces) -> Outline:
    """Returns the outline of a function's traces."""
    return Outline(
        count(len(traces), "trace"), (), (all_traces_table([*map(trace_record, traces)]),)
    )


def retraces_outline(retraces: Retraces) -> Outline:
    """Returns the outline of a function's retraces."""
    table = retraces_table([*map(retrace_record, retraces)], newest=None)
    return Outline(count(len(retraces), "retrace"), (), (table,))


def not_finite_outline(call: str) -> Outline:
    """Returns the line below a call's result that has NaN or infinity."""
    return Outline("", [_numerics_button(call)], ())


def _numerics_button(call: str) -> Words:
    return protocol.Phrase(
        text=f"{_NOT_FINITE}: find where it comes from", code=f"%tf_numerics {call}"
    )


def run_outline(run: Run) -> Outline:
    """Returns the outline of a watched call: its result, and where it ran."""
    lines: list[Words] = []
    if run.numerics is None and not is_finite(run.value):
        if run.call is None:
            lines.append(f"{_NOT_FINITE}; `numerics=True` finds where it comes from")
        else:
            lines.append(_numerics_button(run.call))
    return Outline(
        f"returned {summarize(run.value)}",
        lines,
        (),
        [
            *([] if run.numerics is None else [replace(numerics_outline(run.numerics), open=True)]),
            *([] if run.values is None else [replace(values_outline(run.values), open=True)]),
            replace(placement_outline(run.placement), open=True),
        ],
    )


def check_outline(check: Check) -> Outline:
    """Returns the outline of a check."""
    compared = f"its result and {count(check.variables, 'variable')} compared"
    if check.ok:
        title = f"`{check.function}` does the same eagerly and traced"
    else:
        number = count(len(check.differences), "thing")
        title = f"`{check.function}` does {number} differently when it is traced"
    rows = [(place(code_place(each.site)), each.kind, each.sentence) for each in check.differences]
    return Outline(
        title,
        [compared, *(f"note: {note}" for note in check.notes)],
        (Table("differences", ("where", "kind", "what"), rows, open=True),),
        [] if check.numerics is None else [replace(numerics_outline(check.numerics), open=True)],
        verdict="passed" if check.ok else "failed",
    )


def preflight_outline(found: Preflight) -> Outline:
    """Returns the outline of a preflight: reasons to refuse the export, and remarks."""
    if not found:
        return Outline("ready to export", verdict="passed")
    fatal = [each for each in found if each.is_fatal]
    remarks = [each for each in found if not each.is_fatal]
    return Outline(
        f"{count(len(fatal), 'obstacle')}, {count(len(remarks), 'remark')}",
        (),
        [
            Table(
                title,
                ("function", "what", "what to do"),
                [(f"`{each.function}`", each.what, each.remedy) for each in problems],
                open=True,
            )
            for title, problems in (("the export is refused", fatal), ("remarks", remarks))
        ],
        verdict="refused" if fatal else "passed",
    )


def suggestion_outline(cover: Cover) -> Outline:
    """Returns the outline of a suggestion."""
    numbers = [str(number) for number in cover.numbers]
    if len(numbers) == 1:
        return Outline(f"`{cover}`", [f"covers trace {numbers[0]} alone"])
    lines = [f"covers traces {join(numbers)}"]
    if cover.code is None:
        return Outline(f"`{cover}`", lines)
    remedy = advice(Remedy("Let one trace serve what they serve", cover.code))
    return Outline(f"`{cover}`", [*lines, remedy])
