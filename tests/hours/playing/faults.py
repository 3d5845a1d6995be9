"""Faults that hours have found and that are not mended yet, as reasons of expectations."""

from __future__ import annotations

CUSTOM_GRADIENTS = "TensorFlow keeps the graph of each gradient of a tf.custom_gradient"
GONE_CODE = "traces of constants of a helper file that were edited are kept"
