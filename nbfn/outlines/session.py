"""The retraces of a session by their cause, and its devices, as outlines."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nbfn import protocol
from nbfn.outlines.outline import Outline, Table, Words, advice, place, reason
from nbfn.text import count, data_size, duration

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
                ("retraces", "function", "cause", "to trace", "newest", "remedy"),
                [
                    (
                        f"{len(some):,}",
                        _name(rows, id),
                        reason(some[-1].causes[:1]).model_copy(update={"text": kind}),
                        duration(_seconds(some)),
                        place(some[-1].cell),
                        _advice(some[-1]),
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


SECTIONS: Mapping[str, Callable[[protocol.State, protocol.Totals], Outline]] = {
    "retraces": retraces_outline,
    "devices": devices_outline,
}
"""The outlines that are parts of the session's view, by their targets."""
