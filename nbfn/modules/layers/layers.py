"""Keras layers as module classes: ``nn.Dense``, ``nn.Conv2D``, ``nn.BatchNorm`` and others.

The fields of each are the arguments of the Keras layer, except where the table says otherwise.
Nothing is re-implemented: the layers run as ``keras_layer`` describes.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import keras
import numpy as np
import tensorflow as tf

from nbfn.modules.initializers import Initializer
from nbfn.modules.layers.flax_names import in_keras
from nbfn.modules.layers.keras_layer import KerasModule
from nbfn.modules.layers.layer_types import TYPES, keras_data_format
from nbfn.modules.layers.part_names import snake_case
from nbfn.modules.lifecycle.fields import field_values
from nbfn.modules.lifecycle.methods import nowrap
from nbfn.modules.variables.keys import key

# Arguments of Keras layers without meaning here: names come from the module's place, seeds from
# random streams, and weights are neither quantized nor adapted in place.
_LEFT_OUT = ("self", "name", "seed", "lora_rank", "lora_alpha", "quantization_config", "dtype")


class KerasLayer(KerasModule):
    """Base class of the ready-made layers: the fields are the arguments of a Keras class.

    Attributes:
      wraps: the Keras class.
      keywords: its keyword for each field with another name.
    """

    wraps = keras.Layer
    keywords: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def _argument_hints(cls, names: Iterable[str]) -> str:
        return in_keras(names, cls.__field_names__)

    @nowrap
    def make_layer(self) -> Any:
        """Returns a new Keras layer with this module's fields."""
        fields = field_values(self)
        # Without this name, Keras would number the layer differently each time that a cell runs.
        return self.wraps(
            name=snake_case(type(self).__name__),
            **{self.keywords.get(n, n): _for_keras(n, value) for n, value in fields.items()},
        )


class _Embedding(KerasLayer):
    """An embedding that can also be used as an output layer."""

    def attend(self, query: Any) -> tf.Tensor:
        """Computes the scalar products of a query with all embeddings, as for a tied output layer.

        Args:
          query: a float tensor of shape [..., features].

        Returns:
          A tensor of shape [..., num_embeddings].

        Implements: Flax Linen, ``nn.Embed.attend``.
        """
        scope = self._scope("attend")
        if not scope.has("params", "embeddings"):
            # Makes them, or raises an error that says what is missing.
            self(tf.zeros([1], tf.int32))
        query = tf.convert_to_tensor(query)
        table = tf.cast(scope.live("params", "embeddings"), query.dtype)
        return tf.einsum("...f,nf->...n", query, table)


class _KeyedInitializer(keras.initializers.Initializer):  # type: ignore[misc]
    """Adapts an initializer of nbfn to Keras."""

    def __init__(self, initializer: Initializer) -> None:
        self._initializer = initializer
        # As in Keras, from Python's `random`, which is seeded with the module's key in a build.
        self._seed = random.getrandbits(63)

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> tf.Tensor:
        return self._initializer(key(self._seed), shape, dtype or tf.float32)


def _for_keras(field: str, value: Any) -> Any:
    if field == "data_format":
        return keras_data_format(value)
    if isinstance(value, np.generic):
        return value.item()  # Keras accepts Python numbers only
    return _KeyedInitializer(value) if isinstance(value, Initializer) else value


def layer(
    wraps: Any,
    name: str = "",
    rename: Mapping[str, str] | None = None,
    collection: str = "state",
    takes_vectors: bool = False,
    base: type[KerasLayer] = KerasLayer,
    leave_out: Sequence[str] = (),
) -> Any:
    """Builds a module class for a Keras class.

    Args:
      wraps: the Keras class.
      name: the name of the module class, if it is another one.
      rename: a field's name for a keyword of the Keras class.
      collection: the collection of untrainable weights.
      takes_vectors: whether it can be called with one example, as in a function that is mapped.
      base: the base class.
      leave_out: arguments of the Keras class that do not become fields.
    """
    name, rename = name or wraps.__name__, rename or {}
    formatted = "data_format" in inspect.signature(wraps.__init__).parameters
    namespace: dict[str, Any] = {
        "__annotations__": {},
        "__doc__": (
            f"``keras.layers.{wraps.__name__}`` as a module.\n\n"
            f"Fields and call arguments are the layer's"
            + "".join(f"; ``{keyword}`` is ``{field}``" for keyword, field in rename.items())
            + ". ``data_format`` may be TensorFlow's ``nhwc`` or ``nchw``" * formatted
            + f".\n\nKeras's documentation:\n\n{inspect.getdoc(wraps)}\n"
        ),
        "__module__": __name__,
        "__qualname__": name,
        "wraps": wraps,
        "keywords": {field: keyword for keyword, field in rename.items()},
        "collection": collection,
        "takes_vectors": takes_vectors,
    }
    for parameter in inspect.signature(wraps.__init__).parameters.values():
        if parameter.name in (*_LEFT_OUT, *leave_out) or parameter.kind is parameter.VAR_KEYWORD:
            continue
        field = rename.get(parameter.name, parameter.name)
        namespace["__annotations__"][field] = TYPES.get(field, Any)
        if parameter.default is not parameter.empty:
            namespace[field] = parameter.default
    namespace["__annotations__"]["dtype"] = Any
    namespace["dtype"] = None
    return type(name, (base,), namespace)


_l = keras.layers

Dense = layer(_l.Dense, rename={"units": "features"}, takes_vectors=True)
EinsumDense = layer(_l.EinsumDense)
Embed = layer(
    _l.Embedding,
    "Embed",
    {"input_dim": "num_embeddings", "output_dim": "features"},
    base=_Embedding,
)

Conv1D = layer(_l.Conv1D)
Conv2D = layer(_l.Conv2D)
Conv3D = layer(_l.Conv3D)
Conv1DTranspose = layer(_l.Conv1DTranspose)
Conv2DTranspose = layer(_l.Conv2DTranspose)
Conv3DTranspose = layer(_l.Conv3DTranspose)
DepthwiseConv1D = layer(_l.DepthwiseConv1D)
DepthwiseConv2D = layer(_l.DepthwiseConv2D)
SeparableConv1D = layer(_l.SeparableConv1D)
SeparableConv2D = layer(_l.SeparableConv2D)

BatchNorm = layer(_l.BatchNormalization, "BatchNorm", collection="batch_stats")
LayerNorm = layer(_l.LayerNormalization, "LayerNorm")
GroupNorm = layer(_l.GroupNormalization, "GroupNorm")
RMSNorm = layer(_l.RMSNormalization, "RMSNorm")

LSTM = layer(_l.LSTM)
GRU = layer(_l.GRU)
SimpleRNN = layer(_l.SimpleRNN)
MultiHeadAttention = layer(_l.MultiHeadAttention)

Dropout = layer(_l.Dropout)
SpatialDropout1D = layer(_l.SpatialDropout1D)
SpatialDropout2D = layer(_l.SpatialDropout2D)
GaussianNoise = layer(_l.GaussianNoise)
GaussianDropout = layer(_l.GaussianDropout)

Flatten = layer(_l.Flatten)
Reshape = layer(_l.Reshape)
Permute = layer(_l.Permute)
UpSampling2D = layer(_l.UpSampling2D)
ZeroPadding2D = layer(_l.ZeroPadding2D)
MaxPooling1D = layer(_l.MaxPooling1D)
MaxPooling2D = layer(_l.MaxPooling2D)
MaxPooling3D = layer(_l.MaxPooling3D)
AveragePooling1D = layer(_l.AveragePooling1D)
AveragePooling2D = layer(_l.AveragePooling2D)
AveragePooling3D = layer(_l.AveragePooling3D)
GlobalMaxPooling1D = layer(_l.GlobalMaxPooling1D)
GlobalMaxPooling2D = layer(_l.GlobalMaxPooling2D)
GlobalAveragePooling1D = layer(_l.GlobalAveragePooling1D)
GlobalAveragePooling2D = layer(_l.GlobalAveragePooling2D)
