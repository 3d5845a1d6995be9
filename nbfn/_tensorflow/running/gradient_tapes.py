"""Gradient tapes: whether one records, and custom records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbfn._tensorflow.base import internal

_record = internal("eager.record")
_tfe = internal("pywrap_tfe")

_no_tape: Callable[[], bool] | None = getattr(_tfe, "TFE_Py_TapeSetIsEmpty", None)


def is_recording() -> bool:
    """Returns whether a tape is open on this thread; True if unknown."""
    return _no_tape is None or not _no_tape()


def record_gradient(outputs: list[Any], inputs: list[Any], gradient: Callable[..., Any]) -> bool:
    """Records a custom gradient from outputs to inputs that did not compute them.

    Args:
        outputs: Tensors.
        inputs: Tensors that receive the gradients.
        gradient: Maps the outputs' gradients to the inputs' gradients.

    Returns:
        Whether it was recorded; False if the internals are missing.
    """
    record = getattr(_record, "record_operation", None)
    if record is None:
        return False
    record("Kept", outputs, inputs, gradient)
    return True
