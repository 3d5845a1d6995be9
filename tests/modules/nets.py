"""What several tests of modules use: a small network, and comparisons."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from nbfn import nn
from nbfn.modules.variables.tree import leaves

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


WAYS = ("apply", "apply traced", "bound", "bound traced")


def called(
    way: str, module: Any, variables: Any, *args: Any, rngs: Any = None, mutable: Any = ()
) -> tuple[Any, Any]:
    """What a call of a module gives, and its state afterwards, in one of the `WAYS`."""
    wrap = tf.function if way.endswith("traced") else lambda call: call
    if way.startswith("bound"):
        model = module.bind(variables, rngs=rngs)
        return wrap(lambda *args: model(*args))(*args), model.state
    return wrap(lambda *args: module.apply(variables, *args, rngs=rngs, mutable=mutable))(*args)


def values_of(module: Any) -> dict[str, Any]:
    """The values of a bound module's variables, with those of its random streams."""
    return {name: tf.identity(each) for name, each in module.named_variables().items()}


def put_back(module: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        module.named_variables()[name].assign(value)


def near(a: Any, b: Any, atol: float = 1e-5, rtol: float | None = None) -> None:
    tf.nest.assert_same_structure(a, b)
    for x, y in zip(tf.nest.flatten(a), tf.nest.flatten(b), strict=True):
        tf.debugging.assert_near(x, y, atol=atol, rtol=rtol)


def shapes(tree: Any) -> Any:
    return tf.nest.map_structure(lambda leaf: tuple(leaf.shape), tree)


def put(layer: Any, variables: Any) -> None:
    """Gives a Keras layer the values of a module's variables, by leaf name."""
    values = {path[-1]: value for path, value in leaves(variables)}
    for weight in layer.weights:
        if weight.name in values:
            weight.assign(values[weight.name])
