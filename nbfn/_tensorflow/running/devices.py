"""TensorFlow's memory on devices, where it counts it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from nbfn._tensorflow.base import internal

_context = internal("eager.context")


def counted_memory(device: str) -> tuple[int, int] | None:
    """Returns the current and the peak bytes of TensorFlow on a device.

    None if it does not count. For a CPU, TensorFlow would return zeros.
    """
    if "CPU" in device:
        return None
    try:
        info = tf.config.experimental.get_memory_info(device.removeprefix("/device:"))
    except (ValueError, RuntimeError, tf.errors.OpError):
        return None
    return int(info["current"]), int(info["peak"])


def memory_of_devices() -> dict[str, tuple[int, int]]:
    """Returns current and peak bytes of each device where TensorFlow counts, by full name.

    Empty until TensorFlow's context is initialised: listing devices would initialise it, after
    which devices cannot be configured.
    """
    safe = getattr(_context, "context_safe", None)
    context: Any = safe() if safe is not None else None
    if not getattr(context, "_initialized", False):
        return {}
    names = [device.name for device in tf.config.list_logical_devices()]
    found = {name: counted_memory(name) for name in names}
    return {name: counted for name, counted in found.items() if counted is not None}
