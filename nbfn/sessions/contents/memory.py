"""What devices hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import tensorflow as tf

from nbfn import _tensorflow


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


def memory_of(devices: Iterable[str], variables: Iterable[tf.Variable]) -> dict[str, Memory]:
    """What each device holds, by its full name."""
    held: dict[str, int] = dict.fromkeys(devices, 0)
    for variable in variables:
        for part in getattr(variable, "values", (variable,)):  # one for each replica of a strategy
            if part.dtype not in (tf.string, tf.resource, tf.variant):
                place = _full_name(part.device, held)
                held[place] = held.get(place, 0) + part.dtype.size * _elements(part.shape)
    return {
        device: Memory(nbytes, *(_tensorflow.counted_memory(device) or ()))
        for device, nbytes in held.items()
    }


def _full_name(device: str, known: Iterable[str]) -> str:
    """The name by which TensorFlow lists a device: a local one without job and task."""
    return next((each for each in known if device.endswith(each)), device)


def _elements(shape: tf.TensorShape) -> int:
    return shape.num_elements() or 0
