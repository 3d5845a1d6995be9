"""``nn.NormalizingActivation``: normalization and activation in one module."""

from __future__ import annotations

from typing import Any

import keras

from nbfn.modules.containers.composite import Composite
from nbfn.modules.containers.parts import parts_of
from nbfn.modules.errors import PartError, did_you_mean, show_names
from nbfn.modules.layers.layers import BatchNorm, GroupNorm, LayerNorm

_NORMALIZATIONS = {"batch_norm": BatchNorm, "layer_norm": LayerNorm, "group_norm": GroupNorm}


class NormalizingActivation(Composite):
    """Normalizes, then activates; or in reverse order.

    Example::

      conv_unit = nn.NormalizingActivation(activation="relu", normalization="batch_norm")
      nn.Sequential([nn.Conv2D(64, 3, use_bias=not conv_unit.absorbs_bias), conv_unit])

    Attributes:
      activation: the name of a Keras activation, any callable, or None.
      normalization: ``"batch_norm"``, ``"layer_norm"``, ``"group_norm"``, the ``Config`` of a
        layer such as ``nn.BatchNorm.Config(momentum=0.9)``, a module or a callable, or None.
      activate_before_normalize: whether the activation comes first.

    Implements: Merlin Design Document, section "Explicitness".
    """

    activation: Any = "relu"
    normalization: Any = "batch_norm"
    activate_before_normalize: bool = False

    @property
    def absorbs_bias(self) -> bool:
        """Whether a bias just before this has no effect, because batch norm removes it."""
        if self.activate_before_normalize:
            return False
        parts = _normalization(self.normalization)
        return len(parts) == 1 and isinstance(parts[0], BatchNorm)

    def configure(self, config: Any) -> Any:
        """Returns the two parts in order."""
        activation = config.activation
        if isinstance(activation, str):
            activation = keras.activations.get(activation)
        both = [_normalization(config.normalization), activation]
        return both[::-1] if config.activate_before_normalize else both


def _normalization(value: Any) -> list[Any]:
    if isinstance(value, str):
        if value not in _NORMALIZATIONS:
            raise PartError(
                f"There is no normalization {value!r}, only {show_names(_NORMALIZATIONS)}."
                f"{did_you_mean(value, _NORMALIZATIONS)}"
            )
        return [_NORMALIZATIONS[value]()]
    return parts_of(value)
