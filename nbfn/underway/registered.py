"""Notifies listeners of each newly observed function; usable before TensorFlow is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_listeners: list[Callable[[Any], None]] = []


def on_registered(listener: Callable[[Any], None]) -> None:
    """Registers a listener that is called with each observed function when it is made."""
    _listeners.append(listener)


def notify_registered(function: Any) -> None:
    """Calls the listeners with a newly observed function."""
    for listener in _listeners:
        listener(function)
