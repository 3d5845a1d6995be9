"""Where the operations of a call ran, device by device, as an outline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nbfn.functions.calls.placement import PlacedOperation, Placement
from nbfn.modules.module.rows import show_bytes
from nbfn.text import count
from nbfn.views.outline import Outline, Table

_TEXT_ROWS = 20


def placement_outline(placement: Placement, call: str | None = None) -> Outline:
    """What the page of a placement says; without the call's text, counts are its title."""
    title = call
    if title is None:
        number = count(len(placement.operations), "operation")
        title = f"placement: {number} on {count(len(placement.devices), 'device')}"
    elsewhere = [each for each in placement.operations if each.ran_elsewhere]
    return Outline(
        title,
        [] if placement.operations else ["no operation ran"],
        (
            Table(
                "not where it was asked for",
                ("operation", "type", "asked for", "ran on"),
                [(each.name, each.type, each.requested, each.device) for each in elsewhere],
                open=True,
                text_rows=_TEXT_ROWS,
            ),
            Table(
                "copies between devices",
                ("tensor", "size", "from", "to"),
                [
                    (
                        each.tensor,
                        "" if each.nbytes is None else show_bytes(each.nbytes),
                        each.source,
                        each.target,
                    )
                    for each in placement.copies
                ],
                open=True,
                text_rows=_TEXT_ROWS,
            ),
        ),
        [
            _device(
                device,
                [each for each in placement.operations if each.device == device],
                is_only=len(placement.devices) == 1,
            )
            for device in sorted(placement.devices)
        ],
    )


def _device(name: str, operations: Sequence[PlacedOperation], is_only: bool) -> Outline:
    """One device: what kinds of operations ran there, and behind them each."""
    kinds = Counter(each.type for each in operations)
    first = {each.type: each.name for each in reversed(operations)}
    rows = [(kind, f"{number:,}", first[kind]) for kind, number in kinds.most_common()]
    return Outline(
        f"{name}: {count(len(operations), 'operation')}",
        (),
        (
            Table("types", ("type", "operations", "the first"), rows, open=True),
            Table(
                "operations",
                ("name", "type", "asked for"),
                [(each.name, each.type, each.requested) for each in operations],
                text_rows=_TEXT_ROWS,
            ),
        ),
        open=is_only,
    )
