"""Records where the operations of a call really ran, and what was copied between devices.

TensorFlow leaves ``op.device`` empty unless the user requested a device; the device that each
operation was assigned is only in the partition graphs of a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.calls.operation_times import Times, own_name, times_of
from nbfn.functions.calls.value_summary import summarize
from nbfn.functions.traces.capture import nbytes_of, short_device
from nbfn.text import count
from nbfn.underway.spent import spent_here

_PLUMBING = {"_Arg", "_Retval", "NoOp", "_HostSend", "_HostRecv", "_Send", "_Recv"}
_SENDS = {"_Send", "_HostSend"}


@dataclass(frozen=True)
class PlacedOperation:
    """An operation and the device it ran on.

    Attributes:
        name: Its name in the optimised graph.
        type: Its type, such as ``MatMul``.
        device: The device it ran on, in short form such as ``CPU:0``.
        requested: The device that the user requested; empty if none.
    """

    name: str
    type: str
    device: str
    requested: str

    @property
    def ran_elsewhere(self) -> bool:
        """Whether the user requested a device of another type or number."""
        asked = tf.DeviceSpec.from_string(self.requested)
        kind, _, index = self.device.rpartition("/")[2].partition(":")
        if asked.device_type not in (None, kind):
            return True
        return asked.device_index is not None and str(asked.device_index) != index


@dataclass(frozen=True)
class Copy:
    """A tensor that was copied from one device to another.

    Attributes:
        tensor: Its name.
        source: The device that had it, in short form.
        target: The device that needed it.
        nbytes: Its size in bytes; None where its shape is not static.
    """

    tensor: str
    source: str
    target: str
    nbytes: int | None = None

    def __str__(self) -> str:
        size = "" if self.nbytes is None else f" ({self.nbytes:,} bytes)"
        return f"{self.source} -> {self.target}: {self.tensor}{size}"


@dataclass(frozen=True)
class Placement:
    """The placement of one call.

    Attributes:
        operations: Every operation that ran, except data movement and bookkeeping.
        copies: Every copy between devices.
    """

    operations: tuple[PlacedOperation, ...]
    copies: tuple[Copy, ...]

    @property
    def devices(self) -> dict[str, int]:
        """The number of operations on each device."""
        return dict(Counter(operation.device for operation in self.operations))

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{device}: {count(number, 'operation')}" for device, number in self.devices.items()
        )
        copies = f"{len(self.copies)} {'copy' if len(self.copies) == 1 else 'copies'}"
        lines = [f"<placement {counts or 'unknown'}; {copies} between devices>"]
        lines += [f"  {copy}" for copy in self.copies]
        return "\n".join(lines)


@dataclass(frozen=True)
class Run:
    """The result of one observed call.

    Attributes:
        value: What the call returned.
        metadata: TensorFlow's ``RunMetadata``; None where TensorFlow does not collect it.
        placement: Where its operations ran.
        times: The time of each operation, if requested; None also if TensorFlow does not report it.
        numerics: The operations that gave NaN or infinity, if requested.
        values: Intermediate values by the user's names, if requested.
        call: The text of the call that it was; None if it is not known.
    """

    value: Any
    metadata: Any = field(repr=False)
    placement: Placement
    times: Times | None = None
    numerics: Any = None
    values: Any = field(default=None, repr=False)
    call: str | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        number = count(len(self.placement.operations), "operation")
        return f"<run: {summarize(self.value)}; {number} on {', '.join(self.placement.devices)}>"


def run(
    concrete: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *, timed: bool = False
) -> Run:
    """Runs a concrete function and reads the placement from the partition graphs.

    These are collected on a function's first run only, so the trace runs inside a new function; the
    Python function does not run again. If timed, TensorFlow's profiler keeps an event of about 100
    bytes for each execution of each operation until the call is over.

    Raises:
        ProfilerBusyError: If it is to be timed while a profiler is running.
    """
    watched = _tensorflow.tf_function(lambda: concrete(*args, **kwargs), autograph=False)
    _tensorflow.mute_tracing_warning(watched)  # meant for user functions
    times = None
    if timed:
        (value, executed), metadata = _tensorflow.run_collecting(
            lambda: _tensorflow.run_profiled(watched)
        )
        times = None if executed is None else times_of(concrete, executed, metadata)
    else:
        value, metadata = _tensorflow.run_collecting(watched)
    operations = concrete.graph.get_operations()
    requested = {op.name: op.device for op in operations if op.device}
    outputs = [tensor for op in operations for tensor in op.outputs]
    sizes = {tensor.name: nbytes_of(tensor.shape, tensor.dtype) for tensor in outputs}
    placement = placement_of(metadata, requested, sizes, concrete.inputs)
    spent = spent_here()
    spent.watched += metadata is not None
    spent.copies += len(placement.copies)
    spent.copied_nbytes += sum(copy.nbytes or 0 for copy in placement.copies)
    return Run(value, metadata, placement, times)


def placement_of(
    metadata: Any,
    requested: Mapping[str, str],
    sizes: Mapping[str, int | None],
    inputs: Sequence[Any] = (),
) -> Placement:
    """Reads the placement from a ``RunMetadata``.

    `requested` maps operations to the devices that the user requested; `sizes` maps tensor names to
    bytes, where known; `inputs` are those of the graph that was called.
    """
    nodes = list(_nodes(metadata))
    names = _names_of_arguments(nodes, inputs)
    operations: list[PlacedOperation] = []
    copies: list[Copy] = []
    for node in nodes:
        name = own_name(node.name)
        if node.op in _SENDS:
            source, target = (node.attr[key].s.decode() for key in ("send_device", "recv_device"))
            sent = node.input[0] if node.input else node.name
            # A control edge between devices is sent as an empty tensor of this name.
            if source != target and "/ctrl/" not in sent:
                tensor = names.get(sent) or own_name(sent.lstrip("^"))
                size = sizes.get(tensor if ":" in tensor else f"{tensor}:0")
                copies.append(Copy(tensor, short_device(source), short_device(target), size))
        elif node.op not in _PLUMBING:
            operations.append(
                PlacedOperation(name, node.op, short_device(node.device), requested.get(name, ""))
            )
    return Placement(tuple(operations), tuple(copies))


def _nodes(metadata: Any) -> Iterator[Any]:
    for graphs in getattr(metadata, "function_graphs", ()):
        for partition in graphs.partition_graphs:
            yield from partition.node


def _names_of_arguments(nodes: Sequence[Any], inputs: Sequence[Any]) -> dict[str, str]:
    """Maps ``unknown``, ``unknown_0``, ... of the enclosing function to the graph's own names.

    A tensor that is passed twice is one argument there, and the numbers no longer match: then
    nothing is renamed.
    """
    arguments = {node.name: node.attr["index"].i for node in nodes if node.op == "_Arg"}
    if len(arguments) != len(inputs):
        return {}
    return {name: inputs[index].op.name for name, index in arguments.items()}
