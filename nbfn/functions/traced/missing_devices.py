"""Finds devices that are requested and do not exist, in place of which TensorFlow uses others."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnWarning
from nbfn.text import join

_seen: set[str] = set()
"""The devices that eager code had asked for when the last cell ended."""


def missing_devices(requested: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yields each requested device that does not exist, as requested, and a sentence about it."""
    specs = {device: tf.DeviceSpec.from_string(device) for device in requested}
    local = {
        device: spec
        for device, spec in specs.items()
        if spec.device_type is not None and spec.job in (None, "localhost")
    }
    if not local:
        return
    there = [device.name for device in tf.config.list_logical_devices()]
    here = [tf.DeviceSpec.from_string(name) for name in there]
    listed = join([f"{each.device_type}:{each.device_index}" for each in here])
    for device, spec in local.items():
        index = spec.device_index or 0
        is_there = any((e.device_type, e.device_index) == (spec.device_type, index) for e in here)
        if not is_there and not _tensorflow.is_custom_device(device):
            yield (
                device,
                f"the device {spec.device_type}:{index} is requested but does not exist, "
                f"so this runs elsewhere. Available: {listed}",
            )


def warn_of_entered_devices(source: str) -> None:
    """Warns, once for each, of devices that a cell has asked for in eager code and do not exist.

    Args:
        source: The code of the cell, in which the line is looked for.
    """
    new = [device for device in _tensorflow.entered_devices() if device not in _seen]
    _seen.update(new)
    if not tf.config.get_soft_device_placement():  # TensorFlow's own error says so
        return
    for device, sentence in missing_devices(new):
        number = _line_of(tf.DeviceSpec.from_string(device), source)
        warnings.warn_explicit(sentence, NbfnWarning, "this cell", number)


def note_entered_devices() -> None:
    """Excludes the devices that were asked for so far."""
    _seen.update(_tensorflow.entered_devices())


def _line_of(device: tf.DeviceSpec, source: str) -> int:
    """Returns the first line that names a device; the first line of all if none does."""
    # A heuristic, by the text: see tests/notebook/cells/test_missing_devices.py.
    names = (f"{device.device_type}:{device.device_index}", str(device.device_type))
    lines = list(enumerate(source.upper().split("\n"), 1))
    found = (n for name in names for n, line in lines if "DEVICE(" in line and name in line)
    return next(found, 1)
