"""Every Keras layer through nn.Keras: the outputs, losses and updates of the layer itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nbfn import nn

L = keras.layers
VECTOR, SEQUENCE, IMAGE, VOLUME = (4, 3), (2, 6, 3), (2, 8, 8, 3), (2, 4, 4, 4, 2)
PAIR = [VECTOR, VECTOR]

# By name: the arguments, and the shape (or shapes, or the values) of the inputs.
PLAIN: dict[str, tuple[dict[str, Any], Any]] = {
    "Activation": ({"activation": "tanh"}, VECTOR),
    "ActivityRegularization": ({"l2": 0.1}, VECTOR),
    "Add": ({}, PAIR),
    "AdditiveAttention": ({}, [SEQUENCE, SEQUENCE]),
    "Attention": ({"use_scale": True}, [SEQUENCE, SEQUENCE]),
    "Average": ({}, PAIR),
    "AveragePooling1D": ({"pool_size": 2}, SEQUENCE),
    "AveragePooling2D": ({"pool_size": 2}, IMAGE),
    "AveragePooling3D": ({"pool_size": 2}, VOLUME),
    "AdaptiveAveragePooling1D": ({"output_size": 3}, SEQUENCE),
    "AdaptiveAveragePooling2D": ({"output_size": 4}, IMAGE),
    "AdaptiveMaxPooling2D": ({"output_size": 4}, IMAGE),
    "BatchNormalization": ({}, VECTOR),
    "CategoryEncoding": ({"num_tokens": 5}, [[0, 1], [2, 3]]),
    "CenterCrop": ({"height": 4, "width": 4}, IMAGE),
    "Concatenate": ({}, PAIR),
    "Conv1D": ({"filters": 4, "kernel_size": 3, "activation": "relu"}, SEQUENCE),
    "Conv1DTranspose": ({"filters": 4, "kernel_size": 3}, SEQUENCE),
    "Conv2D": ({"filters": 4, "kernel_size": 3, "kernel_regularizer": "l2"}, IMAGE),
    "Conv2DTranspose": ({"filters": 4, "kernel_size": 3}, IMAGE),
    "Conv3D": ({"filters": 4, "kernel_size": 2}, VOLUME),
    "Conv3DTranspose": ({"filters": 4, "kernel_size": 2}, VOLUME),
    "ConvLSTM1D": ({"filters": 2, "kernel_size": 2}, (2, 3, 6, 2)),
    "ConvLSTM2D": ({"filters": 2, "kernel_size": 2}, (2, 3, 6, 6, 2)),
    "Cropping1D": ({}, SEQUENCE),
    "Cropping2D": ({"cropping": 2}, IMAGE),
    "Cropping3D": ({}, VOLUME),
    "Dense": ({"units": 5, "activity_regularizer": "l1"}, VECTOR),
    "DepthwiseConv1D": ({"kernel_size": 3}, SEQUENCE),
    "DepthwiseConv2D": ({"kernel_size": 3}, IMAGE),
    "Discretization": ({"bin_boundaries": [0.0, 0.5]}, VECTOR),
    "Dot": ({"axes": 1}, PAIR),
    "ELU": ({}, VECTOR),
    "EinsumDense": ({"equation": "ab,bc->ac", "output_shape": 5}, VECTOR),
    "Embedding": ({"input_dim": 7, "output_dim": 3, "mask_zero": True}, [[0, 1], [2, 6]]),
    "Flatten": ({}, SEQUENCE),
    "GRU": ({"units": 4}, SEQUENCE),
    "GlobalAveragePooling1D": ({}, SEQUENCE),
    "GlobalAveragePooling2D": ({"keepdims": True}, IMAGE),
    "GlobalAveragePooling3D": ({}, VOLUME),
    "GlobalMaxPooling1D": ({}, SEQUENCE),
    "GlobalMaxPooling2D": ({}, IMAGE),
    "GlobalMaxPooling3D": ({}, VOLUME),
    "GroupNormalization": ({"groups": 3}, VECTOR),
    "GroupQueryAttention": (
        {"head_dim": 4, "num_query_heads": 2, "num_key_value_heads": 1},
        [SEQUENCE, SEQUENCE],
    ),
    "Hashing": ({"num_bins": 4}, [[1, 2], [3, 4]]),
    "Identity": ({}, VECTOR),
    "LSTM": ({"units": 4, "return_sequences": True}, SEQUENCE),
    "Lambda": ({"function": lambda x: x * 2.0}, VECTOR),
    "LayerNormalization": ({}, VECTOR),
    "LeakyReLU": ({}, VECTOR),
    "Masking": ({}, SEQUENCE),
    "MaxPooling1D": ({}, SEQUENCE),
    "MaxPooling2D": ({}, IMAGE),
    "MaxPooling3D": ({}, VOLUME),
    "Maximum": ({}, PAIR),
    "Minimum": ({}, PAIR),
    "MultiHeadAttention": ({"num_heads": 2, "key_dim": 3}, [SEQUENCE, SEQUENCE]),
    "Multiply": ({}, PAIR),
    "Normalization": ({"mean": 1.0, "variance": 2.0}, VECTOR),
    "PReLU": ({}, VECTOR),
    "Permute": ({"dims": (2, 1)}, SEQUENCE),
    "RMSNormalization": ({}, VECTOR),
    "ReLU": ({}, VECTOR),
    "RepeatVector": ({"n": 3}, VECTOR),
    "Rescaling": ({"scale": 2.0}, VECTOR),
    "Reshape": ({"target_shape": (3, 1)}, VECTOR),
    "Resizing": ({"height": 4, "width": 4}, IMAGE),
    "SeparableConv1D": ({"filters": 4, "kernel_size": 3}, SEQUENCE),
    "SeparableConv2D": ({"filters": 4, "kernel_size": 3}, IMAGE),
    "SimpleRNN": ({"units": 4}, SEQUENCE),
    "Softmax": ({}, VECTOR),
    "Subtract": ({}, PAIR),
    "UnitNormalization": ({}, VECTOR),
    "UpSampling1D": ({}, SEQUENCE),
    "UpSampling2D": ({}, IMAGE),
    "UpSampling3D": ({}, VOLUME),
    "ZeroPadding1D": ({}, SEQUENCE),
    "ZeroPadding2D": ({}, IMAGE),
    "ZeroPadding3D": ({}, VOLUME),
}

# Layers around layers, made by a function.
WRAPPED: dict[str, tuple[Callable[[], Any], Any]] = {
    "Bidirectional": (lambda: L.Bidirectional(L.LSTM(3)), SEQUENCE),
    "TimeDistributed": (lambda: L.TimeDistributed(L.Dense(2)), SEQUENCE),
    "RNN": (lambda: L.RNN([L.LSTMCell(3), L.GRUCell(2)]), SEQUENCE),
    "SpectralNormalization": (lambda: L.SpectralNormalization(L.Dense(2)), VECTOR),
    "Pipeline": (lambda: L.Pipeline([L.Rescaling(2.0), L.Rescaling(0.5)]), IMAGE),
    "keras.Sequential": (
        lambda: keras.Sequential([L.Dense(4), L.BatchNormalization(), L.Dense(2)]),
        VECTOR,
    ),
}

# Layers that draw random numbers while training: the draws are nbfn's, so only their kind agrees.
RANDOM: dict[str, tuple[dict[str, Any], Any]] = {
    "AlphaDropout": ({"rate": 0.5}, VECTOR),
    "Dropout": ({"rate": 0.5}, VECTOR),
    "GaussianDropout": ({"rate": 0.5}, VECTOR),
    "GaussianNoise": ({"stddev": 1.0}, VECTOR),
    "RandomBrightness": ({"factor": 0.5, "value_range": (0.0, 1.0)}, IMAGE),
    "RandomContrast": ({"factor": 0.5}, IMAGE),
    "RandomCrop": ({"height": 4, "width": 4}, IMAGE),
    "RandomFlip": ({}, IMAGE),
    "RandomRotation": ({"factor": 0.3}, IMAGE),
    "RandomTranslation": ({"height_factor": 0.3, "width_factor": 0.3}, IMAGE),
    "RandomZoom": ({"height_factor": 0.3}, IMAGE),
    "SpatialDropout1D": ({"rate": 0.5}, SEQUENCE),
    "SpatialDropout2D": ({"rate": 0.5}, IMAGE),
    "SpatialDropout3D": ({"rate": 0.5}, VOLUME),
}


def example(spec: Any) -> Any:
    if isinstance(spec, tuple):
        return tf.abs(tf.random.stateless_normal(spec, nn.key(3)))
    if isinstance(spec[0], tuple):
        return [example(part) for part in spec]
    return tf.constant(spec)


def arguments(layer: Any, inputs: Any) -> list[Any]:
    """Attention layers of the newer kind take query and value apart."""
    apart = isinstance(layer, (L.MultiHeadAttention, getattr(L, "GroupQueryAttention", ())))
    return inputs if apart else [inputs]


def cases() -> list[Any]:
    plain = [
        pytest.param(lambda n=n, kw=kw: getattr(L, n)(**kw), spec, id=n)
        for n, (kw, spec) in PLAIN.items()
        if hasattr(L, n)
    ]
    wrapped = [
        pytest.param(make, spec, id=n)
        for n, (make, spec) in WRAPPED.items()
        if hasattr(L, n) or "." in n
    ]
    return plain + wrapped


@pytest.mark.parametrize(("make", "spec"), cases())
def test_outputs_losses_and_updates_are_the_layers(make: Any, spec: Any) -> None:
    layer, inputs = make(), example(spec)
    args = arguments(layer, inputs)
    layer(*args)  # builds it, so that its weights are the initial values
    module = nn.Keras(layer)
    variables = module.init(nn.key(0), *args)
    for training in (False, True):
        y, updated = module.apply(variables, *args, training=training, mutable=True)
        # After init and apply the layer is as it was; now it may run by itself.
        expected = layer(*args, training=training)
        tf.nest.map_structure(near, y, expected)
        losses = updated.pop("losses", {"loss": ()})["loss"]
        near(list(losses), [float(loss) for loss in layer.losses])
        weights = [w.value for w in layer.weights if "seed_generator" not in w.path]
        near(total(tf.nest.flatten(updated)), total(weights))


def near(a: Any, b: Any) -> None:
    assert np.asarray(a).dtype.kind == np.asarray(b).dtype.kind
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def total(values: list[Any]) -> float:
    return sum(float(tf.reduce_sum(tf.cast(value, tf.float32))) for value in values)


@pytest.mark.parametrize("name", [n for n in RANDOM if hasattr(L, n)])
def test_random_layers_draw_from_their_stream(name: str) -> None:
    kwargs, spec = RANDOM[name]
    x = example(spec)
    module = nn.Keras(lambda: getattr(L, name)(**kwargs))
    one, again, other = (
        module.apply({}, x, training=True, rngs={"dropout": nn.key(k)}) for k in (1, 1, 2)
    )
    np.testing.assert_allclose(one, again)
    assert not np.allclose(one, other) or name in ("RandomFlip", "RandomCrop")
    layer = getattr(L, name)(**kwargs)
    calm = module.apply({}, x, training=False)
    np.testing.assert_allclose(calm, layer(x, training=False), atol=1e-5)
    assert one.shape == layer(x, training=True).shape


def test_a_functional_model_goes_through_the_lifecycle() -> None:
    keras.utils.set_random_seed(0)
    inputs = keras.Input([8, 8, 3])
    x = L.BatchNormalization()(L.Conv2D(4, 3)(inputs))
    x = L.Dropout(0.5)(L.Flatten()(x))
    model = keras.Model(inputs, [L.Dense(2)(x), x])
    images = example(IMAGE)
    module = nn.Keras(model)
    variables = module.init(nn.key(0), images)
    np.testing.assert_allclose(module.apply(variables, images)[0], model(images)[0], rtol=1e-5)

    bound = module.bind(variables, rngs={"dropout": nn.key(0)})
    before = model.get_weights()
    optimizer = keras.optimizers.Adam(0.003)
    optimizer.build(bound.trainable_variables)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((bound(images, training=True)[0] - 1.0) ** 2)
        grads = tape.gradient(loss, bound.trainable_variables)
        optimizer.apply_gradients(zip(grads, bound.trainable_variables, strict=True))
        return loss

    def error():
        return float(tf.reduce_mean((bound(images, training=True)[0] - 1.0) ** 2))

    first = np.mean([error() for _ in range(5)])
    for _ in range(40):
        step()
    assert np.mean([error() for _ in range(5)]) < first
    for a, b in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float64"])
def test_policies_are_the_layers(policy: str) -> None:
    layer = L.Dense(3, dtype=policy)
    layer(tf.ones([1, 4]))
    module = nn.Dense(3, dtype=policy)
    x = np.ones([2, 4])
    variables = module.init(nn.key(0), x)
    assert variables["params"]["kernel"].dtype == layer.kernel.dtype
    assert module.apply(variables, x).dtype == layer(x).dtype


def test_ready_layers_have_signatures_and_documentation() -> None:
    import inspect

    signature = inspect.signature(nn.Conv2D)
    assert list(signature.parameters)[:3] == ["filters", "kernel_size", "strides"]
    assert signature.parameters["padding"].default == "valid"
    assert "features" in inspect.signature(nn.Dense).parameters
    assert "2D convolution layer" in nn.Conv2D.__doc__
    assert "``units`` is ``features``" in nn.Dense.__doc__
    assert "filters" in dir(nn.Conv2D(3, 3))
