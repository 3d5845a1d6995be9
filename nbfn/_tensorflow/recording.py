"""What a tf.GradientTape records besides operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from tensorflow.python.eager import record as _record
except ImportError:
    _record = None


def record_gradient(outputs: list[Any], inputs: list[Any], gradient: Callable[..., Any]) -> bool:
    """Lets tapes take gradients from outputs to inputs of which they are not computed.

    Args:
        outputs: Tensors.
        inputs: Tensors that have the outputs' gradients.
        gradient: From the outputs' gradients to those of the inputs.

    Returns:
        Whether it could; False where TensorFlow has no such thing.
    """
    record = getattr(_record, "record_operation", None)
    if record is None:
        return False
    record("Kept", outputs, inputs, gradient)
    return True
