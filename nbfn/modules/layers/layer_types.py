"""Types and constants of arguments of Keras layers, which have no annotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from nbfn.modules.errors import DataFormatError, did_you_mean, show_names

Size = int | tuple[int, ...]
DataFormat = Literal[
    "nhwc", "nchw", "nwc", "ncw", "ndhwc", "ncdhw", "channels_last", "channels_first"
]
Function = str | Callable[..., Any] | None

_COUNTS = ("units", "features", "filters", "num_heads", "key_dim", "groups", "input_dim")
_SIZES = ("kernel_size", "pool_size", "dilation_rate", "size", "cropping_size")
_SWITCHES = (
    *("use_bias", "center", "scale", "return_sequences", "return_state", "go_backwards"),
    *("stateful", "unroll", "mask_zero", "synchronized", "keepdims", "supports_masking"),
)
_NUMBERS = ("rate", "momentum", "epsilon", "dropout", "recurrent_dropout", "stddev")

TYPES: dict[str, Any] = {
    **dict.fromkeys(_COUNTS, int),
    **dict.fromkeys(_SIZES, Size),
    **dict.fromkeys(_SWITCHES, bool),
    **dict.fromkeys(_NUMBERS, float),
    "strides": Size | None,
    "padding": Literal["valid", "same", "causal"] | Size | tuple[tuple[int, int], ...],
    "output_padding": Size | None,
    "data_format": DataFormat | None,
    "activation": Function,
    "recurrent_activation": Function,
    "axis": int | tuple[int, ...],
    "value_dim": int | None,
    "cropping": Size | tuple[tuple[int, int], ...],
    "depth_multiplier": int,
    "output_shape": Size | None,
    "target_shape": tuple[int, ...],
    "noise_shape": tuple[int | None, ...] | None,
}
"""The annotation of a field by the argument's name; ``Any`` for all others."""

_ORDERS = {
    **dict.fromkeys(("nhwc", "nwc", "ndhwc"), "channels_last"),
    **dict.fromkeys(("nchw", "ncw", "ncdhw"), "channels_first"),
}


def keras_data_format(value: Any) -> Any:
    """Returns Keras's constant for one of TensorFlow's: ``channels_last`` for ``nhwc``.

    Raises:
      DataFormatError: it is neither TensorFlow's nor Keras's.

    Implements: Merlin Design Document, section "Consistency".
    """
    if value is None:
        return None
    orders = {**_ORDERS, **{order: order for order in _ORDERS.values()}}
    if not isinstance(value, str) or value.lower() not in orders:
        raise DataFormatError(
            f"data_format={value!r} is not an order of axes, expected one of {show_names(orders)}."
            f"{did_you_mean(str(value).lower(), orders)}"
        )
    return orders[value.lower()]
