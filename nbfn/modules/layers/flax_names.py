"""Maps Flax's names of layers and arguments to Keras's, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Container, Iterable

import keras

_TRAINING = "training= of the call, with the opposite meaning"
_RENAMED = {
    "features": ("filters",),
    "kernel_init": ("kernel_initializer", "depthwise_initializer"),
    "bias_init": ("bias_initializer", "beta_initializer"),
    "scale_init": ("gamma_initializer",),
    "embedding_init": ("embeddings_initializer",),
    "recurrent_kernel_init": ("recurrent_initializer",),
    "gate_fn": ("recurrent_activation",),
    "activation_fn": ("activation",),
    "use_scale": ("scale",),
    "use_bias": ("center",),
    "kernel_dilation": ("dilation_rate",),
    "feature_group_count": ("groups",),
    "num_groups": ("groups",),
    "broadcast_dims": ("noise_shape",),
    "dropout_rate": ("dropout",),
    "qkv_features": ("key_dim",),
    "out_features": ("output_shape",),
    "param_dtype": ("dtype",),
}
"""The possible fields for each of Flax's names; the first one that the layer has is meant."""
_ELSEWHERE = {
    "deterministic": _TRAINING,
    "use_running_average": _TRAINING,
    "rngs": "rngs= of init, apply or bind",
    "precision": "tf.config.experimental.enable_tensor_float_32_execution",
}
_REMARKS = {
    "param_dtype": "; a policy such as dtype='mixed_bfloat16' has float32 variables",
    "qkv_features": " for each head, qkv_features // num_heads",
}

_LAYERS = {
    "Conv": "nn.Conv1D, nn.Conv2D or nn.Conv3D",
    "ConvTranspose": "nn.Conv1DTranspose, nn.Conv2DTranspose or nn.Conv3DTranspose",
    "ConvLocal": "nn.Keras of a Keras layer",
    "Einsum": "nn.EinsumDense",
    "InstanceNorm": "nn.GroupNorm(groups=-1)",
    "MultiHeadDotProductAttention": "nn.MultiHeadAttention",
    "SelfAttention": "nn.MultiHeadAttention",
    "OptimizedLSTMCell": "nn.LSTMCell",
    "avg_pool": "nn.AveragePooling1D, nn.AveragePooling2D or nn.AveragePooling3D",
    "max_pool": "nn.MaxPooling1D, nn.MaxPooling2D or nn.MaxPooling3D",
    "dot_product_attention": "keras.ops.dot_product_attention",
    "one_hot": "tf.one_hot",
    "logsumexp": "tf.reduce_logsumexp",
    "standardize": "keras.ops.normalize",
}


def advice(name: str, names: Collection[str]) -> str:
    """Returns what to write instead of a name that `nbfn.nn` does not have; empty if unknown.

    Args:
        name: The missing name.
        names: The names that there are.
    """
    if name in _LAYERS:
        return f": it is Flax's name; here it is {_LAYERS[name]}"
    if isinstance(getattr(keras.layers, name, None), type):
        return f"; as a module, this layer of Keras is nn.Keras(keras.layers.{name}(...))"
    plain = {each.replace("_", "").lower(): each for each in names}
    close = difflib.get_close_matches(name.replace("_", "").lower(), plain, n=1)
    return f"; did you mean nn.{plain[close[0]]}?" if close else ""


def in_keras(names: Iterable[str], fields: Container[str]) -> str:
    """Returns a sentence for each of Flax's names with the corresponding field."""
    found = []
    for name in names:
        field = next((field for field in _RENAMED.get(name, ()) if field in fields), None)
        there = f"{field}={_REMARKS.get(name, '')}" if field else _ELSEWHERE.get(name)
        if there is not None:
            found.append(f" {name!r} is Flax's name; here it is {there}.")
    return "".join(found)
