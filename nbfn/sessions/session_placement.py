"""The devices of a session: memory, the operations that ran there, and copies between them."""

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
    """The memory used on a device, in bytes.

    Attributes:
        variables: By the session's variables.
        current: By TensorFlow in total; None where it does not count, as on a CPU.
        peak: The maximum of `current` so far; None where TensorFlow does not count it.
    """

    variables: int
    current: int | None = None
    peak: int | None = None


@dataclass(frozen=True, repr=False)
class SessionPlacement:
    """The memory of a session's devices, and what ran on them in watched calls.

    Attributes:
        memory: The memory of each device, by full name.
        replicas: The replica of the strategy that each device computes, by full name.
        functions: The placement of each function's newest watched call.
        unwatched: Functions with a trace but without a watched call.
    """

    memory: Mapping[str, Memory]
    replicas: Mapping[str, str]
    functions: Mapping[str, Placement]
    unwatched: tuple[str, ...]

    @property
    def operations(self) -> dict[str, int]:
        """Number of operations that ran on each device, by short name."""
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
    """Builds the placement of a session.

    Args:
        named: The functions, with the notebook's names.
        memory: The memory of each device, by full name.
        strategy: The ``tf.distribute`` strategy in use, or None.
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
    """Names each device that computes a replica of the strategy."""
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
    """Returns the memory of each device, by full name."""
    nbytes_by_device: dict[str, int] = dict.fromkeys(devices, 0)
    for variable in variables:
        for part in getattr(variable, "values", (variable,)):  # one per replica under a strategy
            if part.dtype not in (tf.string, tf.resource, tf.variant):
                # TensorFlow lists local devices without job and task.
                listed = (each for each in nbytes_by_device if part.device.endswith(each))
                place = next(listed, part.device)
                nbytes = part.dtype.size * (part.shape.num_elements() or 0)
                nbytes_by_device[place] = nbytes_by_device.get(place, 0) + nbytes
    return {
        device: Memory(nbytes, *(_tensorflow.counted_memory(device) or ()))
        for device, nbytes in nbytes_by_device.items()
    }
