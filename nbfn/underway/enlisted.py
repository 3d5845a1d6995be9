"""Who is told of each function that begins to be observed; known before TensorFlow is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_listeners: list[Callable[[Any], None]] = []


def on_enlisted(listener: Callable[[Any], None]) -> None:
    """Has a listener called with each observed function when it is made."""
    _listeners.append(listener)


def tell_enlisted(function: Any) -> None:
    """Tells the listeners of a function."""
    for listener in _listeners:
        listener(function)
