"""What traces bake in of Keras: attributes of its objects, such as ``trainable``, and its settings.

The guards of functions take libraries as they are. A notebook changes these between runs.
"""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from nbfn.code import PLAIN
from nbfn.functions.effects.values import package
from nbfn.functions.guards.fingerprints import Fingerprint
from nbfn.functions.guards.guard_set import Source
from nbfn.serial import serial

_SETTINGS = ("floatx", "epsilon", "image_data_format")
_LEFT_OUT = frozenset({"_loss_ids", "_losses", "_called", "_saved_model_inputs_spec", "seed"})


class Objects:
    """The objects that a segment calls; their attributes and the settings when last looked at.

    Attributes:
        alive: The objects, by id, held weakly.
    """

    def __init__(self) -> None:
        self.alive: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._state: tuple[Any, ...] = ()
        self._epoch = -1

    def watch(self, objects: Mapping[int, Any]) -> None:
        """Watches these objects from now on, as well as those of before."""
        for key, value in objects.items():
            with contextlib.suppress(TypeError):
                self.alive[key] = value
        self._state = self._now()

    def hold(self, epoch: int) -> bool:
        """Whether all is as at the last look; looks again only in a new epoch."""
        if epoch == self._epoch:
            return True
        state = self._now()
        same, self._state, self._epoch = state == self._state, state, epoch
        return same

    def fingerprints(self) -> dict[Source, Fingerprint]:
        """Fingerprints of attributes and settings, for the guards of the function."""
        found = {}
        for number, (name, attribute, value) in enumerate(self._state):
            source = Source("attribute", f"{name}.{attribute}", str(number))
            found[source] = Fingerprint(value, repr(value))
        return found

    def _now(self) -> tuple[Any, ...]:
        held = (each for value in list(self.alive.values()) for each in _attributes(value))
        return (*_settings(), *held)


def _settings() -> Iterator[tuple[str, str, Any]]:
    keras = sys.modules.get("keras")
    if keras is not None:
        for name in _SETTINGS:
            yield "keras.config", name, getattr(keras.config, name)()


def _attributes(value: Any) -> Iterator[tuple[str, str, Any]]:
    parts = [value]
    if hasattr(value, "_flatten_layers"):
        parts = list(value._flatten_layers())
    for part in parts:
        name = getattr(part, "name", None) or type(part).__name__
        for attribute, held in list(getattr(part, "__dict__", {}).items()):
            if attribute in _LEFT_OUT:
                continue
            if type(held) in PLAIN:
                yield str(name), attribute.lstrip("_"), held
            elif package(type(held).__module__) == "keras" or callable(held):
                yield str(name), attribute.lstrip("_"), serial(held)
