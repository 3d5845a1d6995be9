"""A small network for the tests of bound modules."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from nbfn import nn

ones = nn.initializers.ones_init()
X = tf.constant([[1.0, 2.0]])


class Linear(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x):
        w = self.param("kernel", nn.initializers.normal(1.0), (x.shape[-1], self.features))
        return x @ w


class Net(nn.Module):
    """Two layers, one declared in setup and one inline, and a counter of calls."""

    width: int = 3

    def setup(self):
        self.hidden = Linear(self.width)
        self.calls = self.variable("stats", "calls", lambda: tf.zeros([], tf.int32))

    @nn.compact
    def __call__(self, x):
        if self.is_mutable_collection("stats") and not self.is_initializing():
            self.calls.value += 1
        return Linear(1)(self.hidden(x))


def scaled(variables: Any, factor: float) -> dict[str, Any]:
    params = tf.nest.map_structure(lambda v: factor * v, variables["params"])
    return {**variables, "params": params}
