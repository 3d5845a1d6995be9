"""TensorFlow's devices: the memory that it counts, and the scopes that eager code enters."""

from __future__ import annotations

from collections.abc import Callable
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


class _Scopes(dict[Any, Any]):
    """A cache of device scopes that reports each new one."""

    def __init__(self, known: dict[Any, Any], report: Callable[[str], None]) -> None:
        super().__init__(known)
        self._report = report

    def __setitem__(self, names: Any, scope: Any) -> None:
        super().__setitem__(names, scope)
        self._report(scope[0])


def on_new_scope(report: Callable[[str], None] | None) -> bool:
    """Reports each device whose scope eager code enters, by full name, when it first does.

    TensorFlow keeps the scopes of ``with tf.device`` that it has parsed, so that entering one again
    costs what it did.

    Args:
        report: What to call; None stops it.

    Returns:
        Whether this TensorFlow keeps them.
    """
    known = getattr(_context, "_device_parsing_cache", None)
    if not isinstance(known, dict):
        return False
    _context._device_parsing_cache = dict(known) if report is None else _Scopes(known, report)
    return True


def is_custom_device(name: str) -> bool:
    """Returns whether a device was registered besides those that TensorFlow lists."""
    asked = getattr(_context, "is_custom_device", None)
    return asked is not None and bool(asked(name))
