"""Runs a workload of first calls in a fresh process; prints the seconds of processor time it took.

``python -m tests.programs.first_calls nested nbfn.function``
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

Decorator = Callable[..., Any]


def nested(function: Decorator) -> None:
    """Forty functions that call each other in chains of four, with two shapes each."""
    import tensorflow as tf

    for _ in range(10):

        @function
        def scale(x: Any) -> Any:
            return x * 2.0

        @function
        def shift(x: Any) -> Any:
            return scale(x) + 1.0

        @function
        def both(x: Any) -> Any:
            return shift(x) + scale(x)

        @function
        def outer(x: Any) -> Any:
            return tf.reduce_sum(both(x))

        outer(tf.ones([2]))
        outer(tf.ones([3]))


def methods(function: Decorator) -> None:
    """Methods of twenty modules that call each other."""
    import tensorflow as tf

    class Model(tf.Module):
        def __init__(self) -> None:
            self.weight = tf.Variable(tf.ones([4, 4]))

        @function
        def call(self, x: Any) -> Any:
            return tf.nn.relu(x @ self.weight)

        @function
        def loss(self, x: Any) -> Any:
            return tf.reduce_mean(self.call(x) ** 2)

        @function
        def step(self, x: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = self.loss(x)
            self.weight.assign_sub(0.1 * tape.gradient(loss, self.weight))
            return loss

    for _ in range(20):
        model = Model()
        model.step(tf.ones([2, 4]))


def closures(function: Decorator) -> None:
    """Sixty closures made in a loop, each traced and called within another function."""
    import tensorflow as tf

    def made(rate: float) -> Any:
        @function
        def scaled(x: Any) -> Any:
            return x * rate

        return scaled

    for n in range(60):
        scaled = made(float(n))

        @function
        def outer(x: Any, scaled: Any = scaled) -> Any:
            return scaled(x) + 1.0

        outer(tf.ones([2]))


def loops(function: Decorator) -> None:
    """Loops of graphs around traced bodies."""
    import tensorflow as tf

    for _ in range(15):

        @function
        def body(x: Any) -> Any:
            if tf.reduce_sum(x) > 10.0:
                x = x / 2.0
            return x + 1.0

        @function
        def simulate(x: Any, steps: Any) -> Any:
            for _ in tf.range(steps):
                x = body(x)
            return x

        simulate(tf.ones([2]), tf.constant(5))


def small(function: Decorator) -> None:
    """Sixty traces of small functions."""
    import tensorflow as tf

    @function
    def power(x: Any, n: int) -> Any:
        return x**n

    for n in range(1, 11):
        power(tf.ones([n]), 2)
    for _ in range(50):
        function(lambda x: x + 1.0)(tf.ones([2]))


WORKLOADS = {each.__name__: each for each in (nested, methods, closures, loops, small)}


def main(workload: str, kind: str) -> None:
    """Runs a workload with ``tf.function`` or ``nbfn.function``."""
    import warnings

    import tensorflow as tf

    import nbfn

    warnings.simplefilter("ignore")
    tf.get_logger().setLevel("ERROR")
    tf.reduce_sum(tf.ones([2]) * 2.0)
    # What every process loads once, with its first trace.
    function: Decorator = nbfn.function if kind == "nbfn.function" else tf.function
    function(lambda x: x)(1.0)
    started = time.process_time()
    WORKLOADS[workload](function)
    print(time.process_time() - started)


if __name__ == "__main__":
    main(*sys.argv[1:])
