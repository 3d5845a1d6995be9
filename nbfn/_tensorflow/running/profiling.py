"""Times the operations of a call with TensorFlow's profiler.

``RunMetadata`` of TensorFlow 2 has no step statistics. The profiler has an event for each execution
of an operation. It writes them to a file, which takes 10 ms (TensorFlow 2.21).
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
    # Not public, but there is no public reader of the profiler's files (TensorFlow 2.21).
    from tensorflow.tsl.profiler.protobuf import xplane_pb2
except ImportError:
    xplane_pb2 = None

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
    if not hasattr(xplane_pb2, "XSpace"):
        degraded("how long operations take")
        return call(), None
    with tempfile.TemporaryDirectory(prefix="nbfn-") as folder:
        try:
            tf.profiler.experimental.start(folder)
        except tf.errors.AlreadyExistsError:
            raise ProfilerBusyError(
                "another profiler is running; stop it first, as with "
                "tf.profiler.experimental.stop()"
            ) from None
        try:
            result = call()
        finally:
            tf.profiler.experimental.stop()
        files = list(Path(folder).rglob("*.xplane.pb"))
        spaces = [xplane_pb2.XSpace.FromString(file.read_bytes()) for file in files]
    return result, [each for space in spaces for each in _of_space(space)]


def _of_space(space: Any) -> Iterator[Executed]:
    for plane in space.planes:
        for line in plane.lines:
            for event in line.events:
                # Of these, only operations have a display name; the name is ``name:type`` (2.21).
                about = plane.event_metadata[event.metadata_id]
                long_name = about.name if about.display_name else ""
                device = plane.name if "/device:" in plane.name else ""
                if device:
                    names = {plane.stat_metadata[e.metadata_id].name: e for e in event.stats}
                    found = [names[each] for each in _ANNOTATIONS if each in names][:1]
                    texts = [e.str_value or plane.stat_metadata[e.ref_value].name for e in found]
                    # Nested scopes are joined by "::"; the last is the operation's.
                    long_name = "".join(texts).rpartition("::")[2]
                name, _, kind = long_name.rpartition(":")
                if name and kind.isidentifier():
                    start = line.timestamp_ns * 1000 + event.offset_ps
                    lane = f"{plane.id} {line.id}"
                    yield Executed(lane, device, name, kind, start, event.duration_ps)
