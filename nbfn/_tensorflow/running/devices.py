"""What TensorFlow has in the memory of devices, where it counts that."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from nbfn._tensorflow.base import internal

_context = internal("eager.context")


def counted_memory(device: str) -> tuple[int, int] | None:
    """Bytes that TensorFlow has on a device now, and the most that it has had there.

    None where it does not count. TensorFlow answers with zeros for a CPU.
    """
    if "CPU" in device:
        return None
    try:
        info = tf.config.experimental.get_memory_info(device.removeprefix("/device:"))
    except (ValueError, RuntimeError, tf.errors.OpError):
        return None
    return int(info["current"]), int(info["peak"])


def memory_of_devices() -> dict[str, tuple[int, int]]:
    """The same of each device on which TensorFlow counts, by full name.

    Nothing as long as TensorFlow has not begun to compute: to ask it for its devices would begin
    that, and devices could no longer be configured.
    """
    safe = getattr(_context, "context_safe", None)
    context: Any = safe() if safe is not None else None
    if not getattr(context, "_initialized", False):
        return {}
    names = [device.name for device in tf.config.list_logical_devices()]
    found = {name: counted_memory(name) for name in names}
    return {name: counted for name, counted in found.items() if counted is not None}
