"""What a call would find, and what one has found, as outlines."""

from __future__ import annotations

from collections.abc import Sequence

from nbfn.functions.recording.explanation import Explanation
from nbfn.functions.traces.cause import Cause, Retrace
from nbfn.outlines.outline import Outline, Table, Words, advice
from nbfn.protocol import Phrase
from nbfn.text import duration


def explanation_outline(explanation: Explanation, call: str | None = None) -> Outline:
    """Returns the outline of an explanation; without the call's text, its title is the verdict."""
    verdict, why = explanation.verdict
    page = explanation.causes[0].page if explanation.causes else None
    lines: list[Words] = [Phrase(text=why if call is None else f"{verdict}: {why}", page=page)]
    if explanation.remedy is not None:
        lines.append(advice(explanation.remedy))
    numbers = [trace.number for trace in explanation.nearest]
    return Outline(call or verdict, lines, _sides(explanation.causes, numbers))


def retrace_outline(retrace: Retrace) -> Outline:
    """Returns the outline of a retrace."""
    lines: list[Words] = [Phrase(text=each.sentence, page=each.page) for each in retrace.causes]
    if retrace.remedy is not None:
        lines.append(advice(retrace.remedy))
    took = f"{duration(retrace.trace_seconds)} to trace"
    title = f"retrace {retrace.number} ({retrace.site}, {took})"
    return Outline(title, lines, _sides(retrace.causes, retrace.nearest))


def _sides(causes: Sequence[Cause], nearest: Sequence[int]) -> tuple[Table, ...]:
    """Returns the nearest trace beside the call, where a sentence is not enough."""
    rows = [
        (cause.path, cause.code.replace("_", " "), cause.old, cause.new)
        for cause in causes
        if cause.path is not None and cause.old is not None and cause.new is not None
    ]
    if len(rows) < 2 or not nearest:
        return ()
    first, *others = nearest
    header = ("what", "differs in", "nearest" if others else f"trace {first}", "this call")
    return (Table("differences", header, rows, open=True, kind="sides"),)
