"""Recurrent cells and nn.RNN, against Keras's recurrent layers."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nbfn import nn

X = tf.random.stateless_normal([3, 5, 2], nn.key(7))
CELLS = {
    "lstm": (nn.LSTMCell, keras.layers.LSTM),
    "gru": (nn.GRUCell, keras.layers.GRU),
}


def flat(tree: Any) -> Any:
    return tf.nest.flatten(tree)


def near(a: Any, b: Any) -> None:
    for one, other in zip(flat(a), flat(b), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.fixture(params=CELLS, scope="module")
def kind(request: Any) -> Any:
    return request.param


@pytest.fixture(scope="module")
def variables(kind: str) -> Any:
    return nn.RNN(CELLS[kind][0](4)).init(nn.key(0), X)


def by_keras(kind: str, variables: Any, x: Any, **options: Any) -> Any:
    layer = CELLS[kind][1](4, return_sequences=True, return_state=True, **options)
    layer.build(x.shape)
    params = variables["params"]["cell"]
    layer.set_weights([params[name] for name in ("kernel", "recurrent_kernel", "bias")])
    y, *states = layer(x)
    return tuple(reversed(states)) if len(states) > 1 else states[0], y


def test_a_sequence_and_its_carry_are_those_of_keras(kind: str, variables: Any) -> None:
    cell = CELLS[kind][0](4)
    carry, y = by_keras(kind, variables, X)
    near(nn.RNN(cell).apply(variables, X), y)
    near(nn.RNN(cell, return_carry=True).apply(variables, X), (carry, y))
    model = nn.RNN(cell).bind(variables)
    near(model(X), y)
    near(tf.function(model)(X), y)
    near(tf.function(model, input_signature=[tf.TensorSpec([None, None, 2])])(X), y)


def test_a_cell_takes_one_step_with_any_batch(kind: str, variables: Any) -> None:
    cell = CELLS[kind][0](4)
    own = {"params": variables["params"]["cell"]}
    for batch in ([], [3], [2, 3]):
        x = tf.random.stateless_normal([*batch, 2], nn.key(1))
        carry = cell.initialize_carry(nn.key(0), x.shape)
        assert {tuple(part.shape) for part in flat(carry)} == {(*batch, 4)}
        assert not np.any(flat(carry)[0])
        new, y = cell.apply(own, carry, x)
        tf.nest.assert_same_structure(new, carry)
        want, _ = by_keras(kind, variables, tf.reshape(x, [-1, 1, 2]))
        near([tf.reshape(part, [-1, 4]) for part in flat(new)], want)
        hidden = new[1] if kind == "lstm" else new
        near(y, hidden)


def test_a_carry_goes_on_where_it_was(kind: str, variables: Any) -> None:
    rnn = nn.RNN(CELLS[kind][0](4), return_carry=True)
    first, y1 = rnn.apply(variables, X[:, :2])
    last, y2 = rnn.apply(variables, X[:, 2:], initial_carry=first)
    near((last, tf.concat([y1, y2], 1)), rnn.apply(variables, X))


def test_time_may_be_the_first_axis(kind: str, variables: Any) -> None:
    rnn, y = nn.RNN(CELLS[kind][0](4)), nn.RNN(CELLS[kind][0](4)).apply(variables, X)
    turned = tf.transpose(X, [1, 0, 2])
    near(tf.transpose(rnn.apply(variables, turned, time_major=True), [1, 0, 2]), y)
    near(rnn.clone(time_major=True).apply(variables, turned)[:, 0], y[0])
    near(rnn.apply(variables, X[0]), y[0])  # one sequence, without a batch
    near(rnn.apply(variables, X[tf.newaxis]), y[tf.newaxis])


def test_a_reversed_sequence(kind: str, variables: Any) -> None:
    rnn = nn.RNN(CELLS[kind][0](4), reverse=True, return_carry=True)
    carry, y = by_keras(kind, variables, tf.reverse(X, [1]))
    near(rnn.apply(variables, X), (carry, y))
    near(rnn.apply(variables, X, keep_order=True), (carry, tf.reverse(y, [1])))
    near(rnn.apply(variables, X, reverse=False), by_keras(kind, variables, X))


@pytest.mark.parametrize("reverse", [False, True])
def test_each_sequence_ends_at_its_length(kind: str, variables: Any, reverse: bool) -> None:
    rnn = nn.RNN(CELLS[kind][0](4), return_carry=True, reverse=reverse, keep_order=True)
    start = tf.nest.map_structure(tf.ones_like, rnn.apply(variables, X)[0])
    lengths = tf.constant([3, 5, 0])
    options = {"seq_lengths": lengths, "initial_carry": start}
    carry, y = rnn.apply(variables, X, **options)
    for i, length in enumerate(lengths.numpy()):
        own = tf.nest.map_structure(lambda part, i=i: part[i], start)
        at_end = tf.nest.map_structure(lambda part, i=i: part[i], carry)
        if length:
            want, outputs = rnn.apply(variables, X[i, :length], initial_carry=own)
            near((at_end, y[i, :length]), (want, outputs))
        else:
            near(at_end, own)
    pairs = {"seq_lengths": tf.stack([lengths, lengths])}
    two = rnn.apply(variables, tf.stack([X, X]), **pairs)
    one = rnn.apply(variables, X, seq_lengths=lengths)
    near(tf.nest.map_structure(lambda part: part[1], two[0]), one[0])


def test_unroll_is_what_scan_takes(kind: str, variables: Any) -> None:
    rnn = nn.RNN(CELLS[kind][0](4))
    config = nn.RNN.Config(cell=rnn.cell, unroll=True)
    near(nn.RNN(**config).apply(variables, X), rnn.apply(variables, X))


def test_gradients_reach_cells_and_inputs(kind: str, variables: Any) -> None:
    model = nn.RNN(CELLS[kind][0](4)).bind(variables)
    with tf.GradientTape() as tape:
        tape.watch(X)
        loss = tf.reduce_sum(model(X))
    gradients = tape.gradient(loss, [X, *model.trainable_variables])
    assert all(g is not None and np.abs(g).max() > 0 for g in gradients)


def test_a_cell_of_ones_own_in_an_rnn() -> None:
    class Sum(nn.Module):
        def initialize_carry(self, rng, input_shape):
            return tf.zeros(input_shape)

        @nn.compact
        def __call__(self, carry, x):
            carry = carry + x * self.param("scale", nn.initializers.ones, [])
            return carry, carry

    rnn = nn.RNN(Sum())
    variables = rnn.init(nn.key(0), X)
    near(rnn.apply(variables, X), tf.cumsum(X, axis=1))


def test_cells_are_scanned_as_in_flax(kind: str, variables: Any) -> None:
    cls = CELLS[kind][0]
    options = {"variable_broadcast": "params", "split_rngs": {"params": False}}
    scanned = nn.scan(cls, in_axes=1, out_axes=1, **options)(4)
    own = {"params": variables["params"]["cell"]}
    carry = scanned.initialize_carry(None, X[:, 0].shape)
    near(scanned.apply(own, carry, X), by_keras(kind, variables, X))
