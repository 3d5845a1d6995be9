"""Times the operations of a call with TensorFlow's profiler.

``RunMetadata`` of TensorFlow 2 has no step statistics. The profiler has an event for each execution
of an operation. The internal profiler session is used because it returns events in memory; the
public `tf.profiler.experimental` only writes them to files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

from nbfn._tensorflow.base import degraded
from nbfn.errors import NbfnError

try:
    from tensorflow.python.profiler.internal import _pywrap_profiler
    from tensorflow.tsl.profiler.protobuf import trace_events_pb2
except ImportError:
    _pywrap_profiler = trace_events_pb2 = None
try:
    from tensorflow.tsl.profiler.protobuf import xplane_pb2
except ImportError:
    xplane_pb2 = None

_OPTIONS = {"host_tracer_level": 2, "python_tracer_level": 0, "device_tracer_level": 1}
"""The defaults of `tf.profiler.experimental.ProfilerOptions` (TensorFlow 2.21)."""

_ANNOTATIONS = ("kernel_annotation", "tf_op")
"""The statistics that name the operation of a kernel on a device."""


class ProfilerBusyError(NbfnError, RuntimeError):
    """Raised if another profiler is running; TensorFlow supports one at a time."""


class Executed(NamedTuple):
    """One execution of an operation, or a kernel of it on a device. Times are in picoseconds."""

    lane: str
    """The thread that executed it, or the stream of the device."""
    device: str
    """The device; empty for the host, which also launches kernels of other devices."""
    name: str
    """Its name in the optimised graph."""
    type: str
    start: int
    duration: int


def run_profiled(call: Callable[[], Any]) -> tuple[Any, Sequence[Executed] | None]:
    """Makes a call and returns its result and the executions; None instead if unsupported.

    Raises:
        ProfilerBusyError: If a profiler is already running; in this case nothing is called.
    """
    if hasattr(_pywrap_profiler, "ProfilerSession") and hasattr(trace_events_pb2, "Trace"):
        session: Any = _pywrap_profiler.ProfilerSession()
        _begin(session.start, "", _OPTIONS)
        try:
            result = call()
        finally:
            data = session.stop()
        return result, list(_of_trace(trace_events_pb2.Trace.FromString(data)))
    if not hasattr(xplane_pb2, "XSpace"):
        degraded("how long operations take")
        return call(), None
    with tempfile.TemporaryDirectory(prefix="nbfn-") as folder:
        _begin(tf.profiler.experimental.start, folder)
        try:
            result = call()
        finally:
            tf.profiler.experimental.stop()
        files = list(Path(folder).rglob("*.xplane.pb"))
        spaces = [xplane_pb2.XSpace.FromString(file.read_bytes()) for file in files]
    return result, [each for space in spaces for each in _of_space(space)]


def _begin(start: Callable[..., None], *args: Any) -> None:
    try:
        start(*args)
    except tf.errors.AlreadyExistsError:
        raise ProfilerBusyError(
            "another profiler is running; stop it first, as with tf.profiler.experimental.stop()"
        ) from None


def _of_trace(trace: Any) -> Iterator[Executed]:
    devices = {number: device.name for number, device in trace.devices.items()}
    for event in trace.trace_events:
        lane, name = f"{event.device_id} {event.resource_id}", devices.get(event.device_id, "")
        times = event.timestamp_ps, event.duration_ps
        yield from _executions(lane, name, event.args.get("long_name", ""), event.args, times)


def _of_space(space: Any) -> Iterator[Executed]:
    for plane in space.planes:
        for line in plane.lines:
            for event in line.events:
                about = plane.event_metadata[event.metadata_id]
                names = {plane.stat_metadata[each.metadata_id].name: each for each in event.stats}
                facts = {
                    name: each.str_value or plane.stat_metadata[each.ref_value].name
                    for name, each in names.items()
                    if name in _ANNOTATIONS
                }
                start = line.timestamp_ns * 1000 + event.offset_ps
                long_name = about.name if about.display_name else ""
                times = start, event.duration_ps
                yield from _executions(f"{plane.id} {line.id}", plane.name, long_name, facts, times)


def _executions(
    lane: str, plane: str, long_name: str, facts: Any, times: tuple[int, int]
) -> Iterator[Executed]:
    """Yields the execution of an event if it is one: its long name is ``name:type``."""
    device = plane if "/device:" in plane else ""
    if device:
        names = [facts[each] for each in _ANNOTATIONS if each in facts]
        # Nested scopes are joined by "::"; the last is the operation's.
        long_name = names[0].rpartition("::")[2] if names else ""
    name, colon, kind = long_name.rpartition(":")
    if colon and name and kind.isidentifier():
        yield Executed(lane, device, name, kind, *times)
