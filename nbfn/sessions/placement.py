"""The devices of a session: what each holds, what ran there, and what was copied between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.calls.placement import Placement
from nbfn.text import count


@dataclass(frozen=True)
class Memory:
    """What a device holds, in bytes.

    Attributes:
        variables: Of the session's variables.
        current: Of all that TensorFlow has there now; None where it does not count, as on a CPU.
        peak: The most that TensorFlow has had there; None likewise.
    """

    variables: int
    current: int | None = None
    peak: int | None = None


@dataclass(frozen=True, repr=False)
class SessionPlacement:
    """What the devices of a session hold, and what ran on them in the calls that were watched.

    Attributes:
        memory: What each device holds, by its full name.
        replicas: Which replica of the strategy each device is, by its full name.
        functions: Where the operations of each function's newest watched call ran.
        unwatched: The functions with a trace of which no call was watched.
    """

    memory: Mapping[str, Memory]
    replicas: Mapping[str, str]
    functions: Mapping[str, Placement]
    unwatched: tuple[str, ...]

    @property
    def operations(self) -> dict[str, int]:
        """How many operations ran on each device, by its short name."""
        found: Counter[str] = Counter()
        for placement in self.functions.values():
            found.update(placement.devices)
        return dict(found)

    def __repr__(self) -> str:
        lines = [f"{name}: {placement!r}" for name, placement in self.functions.items()]
        return "\n".join([count(len(self.memory), "device"), *lines])


def session_placement(
    named: Iterable[tuple[str, Any]], memory: Mapping[str, Memory], strategy: Any
) -> SessionPlacement:
    """Looks at the functions and devices of a session.

    Args:
        named: The functions, with the notebook's names.
        memory: What each device holds, by its full name.
        strategy: The ``tf.distribute`` strategy that is used, or None.
    """
    functions = dict(named)
    placements = {name: function.recorder.placement for name, function in functions.items()}
    return SessionPlacement(
        memory,
        _replicas(memory, strategy),
        {name: placement for name, placement in placements.items() if placement is not None},
        tuple(
            name
            for name, function in functions.items()
            if function.traces and placements[name] is None
        ),
    )


def _replicas(devices: Iterable[str], strategy: Any) -> dict[str, str]:
    """Names each device that a replica of the strategy computes on."""
    if strategy is None:
        return {}
    workers = getattr(strategy.extended, "worker_devices", ())
    return {
        device: f"replica {number}"
        for device in devices
        for number, worker in enumerate(workers)
        if worker.endswith(device) or device.endswith(worker)
    }


def memory_of(devices: Iterable[str], variables: Iterable[tf.Variable]) -> dict[str, Memory]:
    """What each device holds, by its full name."""
    held: dict[str, int] = dict.fromkeys(devices, 0)
    for variable in variables:
        for part in getattr(variable, "values", (variable,)):  # one for each replica of a strategy
            if part.dtype not in (tf.string, tf.resource, tf.variant):
                place = _full_name(part.device, held)
                nbytes = part.dtype.size * (part.shape.num_elements() or 0)
                held[place] = held.get(place, 0) + nbytes
    return {
        device: Memory(nbytes, *(_tensorflow.counted_memory(device) or ()))
        for device, nbytes in held.items()
    }


def _full_name(device: str, known: Iterable[str]) -> str:
    """The name by which TensorFlow lists a device: a local one without job and task."""
    return next((each for each in known if device.endswith(each)), device)
