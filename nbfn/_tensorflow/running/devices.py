"""TensorFlow's devices: the memory that it counts, and the scopes that eager code enters."""

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


def entered_devices() -> list[str]:
    """Returns the devices whose scopes eager code has entered, by full name, in order.

    TensorFlow keeps the scopes of ``with tf.device`` that it has parsed. Empty if it does not.
    """
    parsed = getattr(_context, "_device_parsing_cache", None)
    if not isinstance(parsed, dict):
        return []
    return list(dict.fromkeys(scope[0] for scope in list(parsed.values())))


def is_custom_device(name: str) -> bool:
    """Returns whether a device was registered besides those that TensorFlow lists."""
    check = getattr(_context, "is_custom_device", None)
    return check is not None and bool(check(name))
