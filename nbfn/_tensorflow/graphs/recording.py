"""Whether tapes record, and what they record besides operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbfn._tensorflow.base import internal

_record = internal("eager.record")
_tfe = internal("pywrap_tfe")

_no_tape: Callable[[], bool] | None = getattr(_tfe, "TFE_Py_TapeSetIsEmpty", None)


def is_recording() -> bool:
    """Whether a tape is open on this thread; true also where TensorFlow does not tell."""
    return _no_tape is None or not _no_tape()


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
