"""nn.map_variables: tied, quantized and scaled variables."""

from __future__ import annotations

import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises
from tests.modules.nets import near

X = tf.random.stateless_normal([4, 3], nn.key(9))
RNGS = {"dropout": nn.key(1)}


def test_map_variables_ties_weights() -> None:
    def transpose(variables):
        return {"params": {"kernel": tf.transpose(variables["params"]["kernel"])}}

    class Tied(nn.Module):
        @nn.compact
        def __call__(self, x):
            dense = nn.Dense(2, use_bias=False, name="dense")
            hidden = dense(x)
            back = nn.map_variables(
                lambda m, h: tf.matmul(h, m.get_variable("params", "kernel")), trans_in_fn=transpose
            )
            return back(dense, hidden)

    variables = Tied().init(nn.key(0), X)
    kernel = variables["params"]["dense"]["kernel"]
    near(Tied().apply(variables, X), X @ kernel @ tf.transpose(kernel))


def test_map_variables_as_a_class_makes_and_sees_them() -> None:
    def sign(variables):
        return tf.nest.map_structure(tf.sign, variables)

    module = nn.map_variables(nn.Dense, "params", trans_in_fn=sign, init=True)(2)
    variables = module.init(nn.key(0), X)
    near(variables, nn.Dense(2).init(nn.key(0), X))
    near(module.apply(variables, X), X @ tf.sign(variables["params"]["kernel"]))
    bound = module.bind(variables)
    near(tf.function(lambda x: bound(x))(X), module.apply(variables, X))
    with raises(nn.NotFoundError):
        nn.map_variables(nn.Dense, trans_in_fn=sign)(2).init(nn.key(0), X)
    with raises(nn.TransformError):
        nn.map_variables(nn.Dense, trans_in_fn=lambda v: 3)(2).apply(variables, X)


def test_map_variables_writes_through_the_inverse() -> None:
    class Counter(nn.Module):
        @nn.compact
        def __call__(self):
            count = self.variable("counts", "n", lambda: tf.zeros([]))
            count.value += 1.0
            return count.value

    def times(factor):
        return lambda variables: tf.nest.map_structure(lambda v: v * factor, variables)

    module = nn.map_variables(
        Counter, "counts", trans_in_fn=times(10.0), trans_out_fn=times(0.1), mutable=True
    )()
    y, updated = module.apply({"counts": {"n": tf.constant(2.0)}}, mutable=["counts"])
    assert float(y) == 21.0
    tf.debugging.assert_near(updated["counts"]["n"], 2.1)


def test_a_transformed_function_as_a_branch_of_a_traced_condition() -> None:
    doubled = nn.map_variables(
        lambda m, x: m(x), "params", trans_in_fn=lambda v: tf.nest.map_structure(lambda t: 2 * t, v)
    )

    class Either(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.cond(x[0, 0] < 9.0, doubled, doubled, nn.Dense(2, name="dense"), x)

    x = tf.ones([1, 3])
    variables = {"params": {"dense": {"kernel": tf.ones([3, 2]), "bias": tf.ones([2])}}}
    expected = 2.0 * (x @ tf.ones([3, 2]) + 1.0)
    tf.debugging.assert_near(Either().apply(variables, x), expected)
    traced = tf.function(lambda x: Either().apply(variables, x), autograph=False)
    tf.debugging.assert_near(traced(x), expected)
