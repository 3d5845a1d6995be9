"""What a call would find, as an outline."""

from __future__ import annotations

from nbfn.functions.recording.explanation import Explanation
from nbfn.views.outline import Outline, Table, Words, advice


def explanation_outline(explanation: Explanation, call: str | None = None) -> Outline:
    """What the page of an explanation says; without the call's text, the verdict is its title."""
    verdict, why = _verdict(explanation)
    said: list[Words] = [why] if call is None else [f"{verdict}: {why}"]
    if explanation.remedy is not None:
        said.append(advice(explanation.remedy))
    return Outline(call or verdict, said, _sides(explanation))


def _verdict(explanation: Explanation) -> tuple[str, str]:
    trace, nearest = explanation.trace, explanation.nearest
    if trace is not None:
        return "a hit", f"trace {trace.number} would serve ({trace.signature or 'no arguments'})"
    why = "; ".join(cause.sentence for cause in explanation.causes)
    if not nearest:
        return "would trace", why
    numbers = ", ".join(str(each.number) for each in nearest)
    return "would retrace", f"{why} (nearest: trace {numbers})"


def _sides(explanation: Explanation) -> tuple[Table, ...]:
    """What the nearest trace has beside what the call brings, where a sentence is not enough."""
    rows = [
        (cause.path, cause.code.replace("_", " "), cause.old, cause.new)
        for cause in explanation.causes
        if cause.path is not None and cause.old is not None and cause.new is not None
    ]
    if len(rows) < 2 or not explanation.nearest:
        return ()
    first, *others = explanation.nearest
    header = ("what", "differs in", "nearest" if others else f"trace {first.number}", "this call")
    return (Table("differences", header, rows, open=True, compares=True),)
