"""Where the operations of a call ran, device by device, as an outline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from nbfn import protocol
from nbfn.functions.calls.placement import Copy, PlacedOperation, Placement
from nbfn.functions.traces.capture import short_device
from nbfn.outlines.outline import Outline, Table, Words
from nbfn.sessions.session_placement import Memory, SessionPlacement
from nbfn.text import count, data_size

_TEXT_ROWS = 20
_TEXT_OF_DEVICE = 8
"""Number of rows that the text has of what ran on one device."""
_NAMES = 10


def placement_outline(placement: Placement, call: str | None = None) -> Outline:
    """Returns the outline of a placement; without the call's text, its title is the counts."""
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
                        data_size(each.nbytes),
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
        diagram=_diagram(placement.devices, placement.copies),
    )


def session_placement_outline(placement: SessionPlacement) -> Outline:
    """Returns the outline of all devices."""
    operations = placement.operations
    lines: list[Words] = []
    if placement.unwatched:
        names = f"`{'`, `'.join(placement.unwatched[:_NAMES])}`"
        lines.append(f"no call of {names} was watched; `%tf_placement f(x)` watches one")
    devices = [
        (
            short_device(name),
            placement.replicas.get(name, ""),
            data_size(memory.variables),
            data_size(memory.current),
            data_size(memory.peak),
            f"{operations.get(short_device(name), 0):,}",
        )
        for name, memory in placement.memory.items()
    ]
    functions = [
        (
            name,
            ", ".join(f"{device}: {number:,}" for device, number in each.devices.items()),
            f"{sum(operation.ran_elsewhere for operation in each.operations):,}",
            f"{len(each.copies):,}",
        )
        for name, each in placement.functions.items()
    ]
    return Outline(
        f"{count(len(placement.memory), 'device')}, "
        f"{count(len(placement.functions), 'watched function')}",
        lines,
        (
            Table(
                "devices",
                ("device", "replica", "variables", "in use", "peak", "operations"),
                devices,
                open=True,
            ),
            Table(
                "watched calls",
                ("function", "operations", "not where asked for", "copies"),
                functions,
                open=True,
            ),
        ),
        diagram=_diagram(
            {short_device(name): operations.get(short_device(name), 0) for name in placement.memory}
            | operations,
            [copy for each in placement.functions.values() for copy in each.copies],
            {
                short_device(name): list(_memory_lines(each))
                for name, each in placement.memory.items()
            },
        ),
    )


def _memory_lines(memory: Memory) -> Iterator[str]:
    """Returns what a device holds, in words; memory in use where TensorFlow counts it."""
    yield f"{data_size(memory.variables)} of variables"
    if memory.current is not None and memory.peak is not None:
        yield f"{data_size(memory.current)} in use, {data_size(memory.peak)} at most"


def _diagram(
    operations: Mapping[str, int],
    copies: Iterable[Copy],
    notes: Mapping[str, Sequence[str]] | None = None,
) -> protocol.Diagram | None:
    """Returns a diagram of the devices and of what was copied between them."""
    moved: dict[tuple[str, str], list[Copy]] = {}
    for copy in copies:
        moved.setdefault((copy.source, copy.target), []).append(copy)
    ends = {device: 0 for pair in moved for device in pair}
    devices = ends | dict(operations)
    if len(devices) < 2:
        return None
    return protocol.Diagram(
        nodes=[
            protocol.DiagramNode(
                id=device,
                kind="device",
                label=device,
                lines=[
                    count(number, "operation"),
                    *(notes[device] if notes and device in notes else ()),
                ],
            )
            for device, number in devices.items()
        ],
        edges=[
            protocol.DiagramEdge(source=source, target=target, label=_copies_text(both))
            for (source, target), both in moved.items()
        ],
    )


def _copies_text(copies: Sequence[Copy]) -> str:
    sizes = [copy.nbytes for copy in copies if copy.nbytes is not None]
    at_least = "" if len(sizes) == len(copies) else "at least "
    size = f", {at_least}{data_size(sum(sizes))}" if sizes else ""
    return f"{count(len(copies), 'tensor')}{size}"


def _device(name: str, operations: Sequence[PlacedOperation], is_only: bool) -> Outline:
    """Returns a group for a device: the kinds of operations that ran there, then each operation."""
    kinds = Counter(each.type for each in operations)
    first = {each.type: each.name for each in reversed(operations)}
    rows = [(kind, f"{number:,}", first[kind]) for kind, number in kinds.most_common()]
    return Outline(
        f"{name}: {count(len(operations), 'operation')}",
        (),
        (
            Table(
                "types",
                ("type", "operations", "the first"),
                rows,
                open=True,
                text_rows=_TEXT_OF_DEVICE,
            ),
            Table(
                "operations",
                ("name", "type", "asked for"),
                [(each.name, each.type, each.requested) for each in operations],
                text_rows=_TEXT_OF_DEVICE,
            ),
        ),
        open=is_only,
    )
