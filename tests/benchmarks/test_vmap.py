"""What an eager nn.vmap costs after its first call; see `make bench`.

Each group holds one work by `nn.vmap` and by `tf.vectorized_map` in a tf.function, which is traced
once; the budget is a ratio of 2. Called eagerly, `tf.vectorized_map` itself traces each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn

WIDTH, MEMBERS = 64, 4
X = tf.ones([16, WIDTH])


class Block(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        h = nn.relu(nn.Dense(WIDTH)(x))
        return nn.Dense(WIDTH)(h)


def bound(module: Any) -> Any:
    return module.bind(module.init(nn.key(0), X))


def by_hand(params: Any, x: Any) -> Any:
    first, second = params["Dense_0"], params["Dense_1"]
    x = tf.nn.relu(tf.linalg.matmul(x, first["kernel"]) + first["bias"])
    return tf.linalg.matmul(x, second["kernel"]) + second["bias"]


def ensemble() -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Members with parameters of their own, one batch for all."""
    axes = {"variable_axes": {"params": 0}, "split_rngs": {"params": True}}
    members = bound(nn.vmap(Block, in_axes=None, axis_size=MEMBERS, **axes)())
    params = members.state["params"]

    @tf.function
    def hand(x: Any) -> Any:
        held = tf.nest.map_structure(lambda v: v.value(), params)
        return tf.vectorized_map(lambda own: by_hand(own, x), held)

    return members, hand


def examples() -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Parameters for all, one example after the other."""
    axes = {"variable_axes": {"params": None}, "split_rngs": {"params": False}}
    model = bound(nn.vmap(Block, **axes)())
    params = model.state["params"]

    @tf.function
    def hand(x: Any) -> Any:
        return tf.vectorized_map(lambda row: by_hand(params, row[tf.newaxis])[0], x)

    return model, hand


@pytest.mark.parametrize("kind", ["tf.vectorized_map", "nn.vmap"])
@pytest.mark.parametrize("work", [ensemble, examples], ids=["ensemble", "examples"])
def test_eager_vmap(benchmark: Any, work: Any, kind: str) -> None:
    benchmark.group = f"vmap: eager call, {work.__name__}"
    mapped, hand = work()
    tf.debugging.assert_near(mapped(X), hand(X), atol=1e-5)
    benchmark(mapped if kind == "nn.vmap" else hand, X)
