"""Finds devices that are requested and do not exist, in place of which TensorFlow uses others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnWarning, report_failure
from nbfn.site import warn
from nbfn.text import join

_reported: set[str] = set()


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
    known = [tf.DeviceSpec.from_string(name) for name in there]
    listed = join([f"{each.device_type}:{each.device_index}" for each in known])
    for device, spec in local.items():
        index = spec.device_index or 0
        is_there = any((e.device_type, e.device_index) == (spec.device_type, index) for e in known)
        if not is_there and not _tensorflow.is_custom_device(device):
            yield (
                device,
                f"the device {spec.device_type}:{index} is requested but does not exist, "
                f"so this runs elsewhere. There is {listed}",
            )


def warn_of_missing_device(device: str) -> None:
    """Warns once if eager code enters the scope of a device that does not exist."""
    try:
        if not tf.config.get_soft_device_placement():  # TensorFlow's own error says so
            return
        for _, sentence in missing_devices([device]):
            if sentence not in _reported:
                _reported.add(sentence)
                warn(sentence)
    except NbfnWarning:  # the user's warning filters make it an error
        raise
    except Exception as error:
        report_failure(f"could not look whether the device {device} exists", error)
