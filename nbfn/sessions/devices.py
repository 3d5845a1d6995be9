"""The logical devices that TensorFlow can place operations on."""

from __future__ import annotations

import tensorflow as tf

from nbfn import protocol
from nbfn.functions import live_functions
from nbfn.sessions.feed import feed


def tell_devices() -> None:
    """Tells the feed of the devices, if a trace exists.

    Listing them initialises TensorFlow's context, after which devices cannot be configured; a trace
    has done so already.
    """
    if any(function.recorder.traces for function in live_functions()):
        rows = {
            device.name: protocol.DeviceRecord(id=device.name, kind=device.device_type)
            for device in tf.config.list_logical_devices()
        }
        environment = feed().environment
        environment.tensorflow, environment.devices = tf.__version__, rows
