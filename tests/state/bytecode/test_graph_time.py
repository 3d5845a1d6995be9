"""Python that a graph calls when it runs is no part of its trace."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn

n = 0
log: list[float] = []
stats = {"calls": 0.0}
SCALE = 2.0


def count(a):
    global n
    n += 1
    return np.float32(n)


decorated = tf.numpy_function(Tout=tf.float32)(count)
eager = tf.py_function(Tout=tf.float32)(count)


class Env:
    """An environment whose state changes with each step."""

    def __init__(self) -> None:
        self.steps, self.seen, self.limit = 0, [], 10

    def step(self, a):
        self.steps += 1
        self.seen.append(float(a))
        return np.float32(self.steps)

    def __call__(self, a):
        return self.step(a)


env = Env()


def into(stack: list[float], a):
    stack.append(float(a))
    return np.float32(len(stack))


def remember(a, stack=[]):  # noqa: B006
    stack.append(float(a))
    return np.float32(len(stack))


def counting_itself(a):
    counting_itself.calls = getattr(counting_itself, "calls", 0) + 1
    return np.float32(counting_itself.calls)


def closed_over():
    total = 0

    def add(a):
        nonlocal total
        total += 1
        return np.float32(total)

    def step(x):
        return tf.numpy_function(add, [x], tf.float32)

    return step


def step_lambda(x):
    return tf.numpy_function(lambda a: np.float32(count(a)), [x], tf.float32)


def step_decorated(x):
    return decorated(x)


def step_eager(x):
    return eager(x)


def step_named(x):
    return tf.numpy_function(count, [x], tf.float32)


def step_inner(x):
    def inner(a):
        return np.float32(len(log) + count(a))

    if x > 100.0:  # AutoGraph converts this function
        x = x + 1.0
    return tf.py_function(inner, [x], tf.float32)


def step_method(x):
    return tf.numpy_function(env.step, [x], tf.float32)


def step_object(x):
    return tf.numpy_function(env, [x], tf.float32)


def step_list(x):
    tf.numpy_function(log.append, [x], [])
    return x


def step_dict(x):
    tf.numpy_function(stats.__setitem__, ["calls", x], [])
    return x


def step_partial(x):
    return tf.numpy_function(functools.partial(into, log), [x], tf.float32)


def step_default(x):
    return tf.numpy_function(remember, [x], tf.float32)


def step_attribute(x):
    return tf.numpy_function(counting_itself, [x], tf.float32)


def step_in_a_loop(x):
    for _ in tf.range(2):
        x = tf.ensure_shape(tf.numpy_function(count, [x], tf.float32), [])
    return x


def step_in_a_data_set(x):
    numbers = tf.data.Dataset.range(2).map(lambda i: tf.numpy_function(count, [i], tf.float32))
    return x + numbers.reduce(0.0, lambda a, b: a + b)


def numbers():
    yield count(0)


def step_generator(x):
    spec = tf.TensorSpec([], tf.float32)
    return x + tf.data.Dataset.from_generator(numbers, output_signature=spec).reduce(0.0, tf.add)


inner_function = tf.function(step_named)


def step_in_a_function(x):
    return inner_function(x) + 1.0


STEPS = [value for name, value in sorted(globals().items()) if name.startswith("step_")]


@pytest.mark.parametrize(
    ("step", "autograph"),
    [
        pytest.param(step, autograph, id=f"{step.__name__}-{autograph}")
        for step in [*STEPS, closed_over()]
        for autograph in (True, False)
        if autograph or step not in (step_inner, step_in_a_loop)
    ],
)
def test_what_it_changes_makes_no_trace(step: Any, autograph: bool) -> None:
    f = nbfn.function(step, autograph=autograph)
    for _ in range(5):
        f(tf.constant(1.0))
    assert (len(f.traces), f.hits) == (1, 4), f.retraces


def test_what_the_trace_itself_reads_is_guarded() -> None:
    own = SimpleNamespace(env=Env(), scale=2.0)

    @nbfn.function
    def step(x):
        if own.env.limit > 5:  # the environment's, but Python's
            x = x * own.scale
        return tf.numpy_function(own.env.step, [x], tf.float32) * x

    assert [float(step(tf.constant(1.0))) for _ in range(3)] == [2.0, 4.0, 6.0]
    assert len(step.traces) == 1
    own.scale = 3.0
    assert float(step(tf.constant(1.0))) == 12.0
    own.env.limit = 1
    assert float(step(tf.constant(1.0))) == 5.0
    assert [retrace.causes[0].sentence for retrace in step.retraces] == [
        "attribute `own.scale` was 2.0, is 3.0",
        "attribute `own.env.limit` was 10, is 1",
    ]


def test_another_function_or_holder_is_another_trace() -> None:
    space: dict[str, Any] = {"tf": tf, "np": np, "log": [], "__name__": "__main__"}
    exec(
        "def add(a): return np.float32(1.0)\n"
        "def step(x):\n"
        "    tf.numpy_function(log.append, [x], [])\n"
        "    return tf.numpy_function(add, [x], tf.float32)",
        space,
    )
    step = nbfn.function(space["step"], autograph=False)
    assert [float(step(tf.constant(1.0))) for _ in range(3)] == [1.0] * 3
    exec("def add(a): return np.float32(2.0)", space)
    assert float(step(tf.constant(1.0))) == 2.0
    first, space["log"] = space["log"], []
    step(tf.constant(1.0))
    step(tf.constant(1.0))
    assert (len(first), len(space["log"])) == (4, 2)
    assert len(step.traces) == 3
    assert "`log`" in step.retraces[-1].causes[0].sentence


class Scaled:
    """What a subclass inherits is what runs."""

    def __init__(self) -> None:
        self.scale = np.float32(2.0)

    def __call__(self, a: Any) -> Any:
        return a * self.scale


class Inherited(Scaled):
    pass


@pytest.mark.parametrize("called", [float, np.float32, np.square, Inherited()])
def test_classes_c_functions_and_objects_are_called(called: Any) -> None:
    step = nbfn.function(
        lambda x: tf.numpy_function(called, [x], tf.float64 if called is float else tf.float32)
    )
    expected = [float(called(np.float32(3.0)))] * 2
    assert [float(step(tf.constant(3.0))) for _ in range(2)] == expected
    assert (len(step.traces), step.hits) == (1, 1)


def test_the_traces_of_before_still_serve() -> None:
    @nbfn.function
    def step(x, at_graph_time=False):
        if at_graph_time:
            return tf.numpy_function(count, [x], tf.float32)
        return x * SCALE

    step(tf.constant(1.0))
    step(tf.constant(1.0), True)
    step(tf.constant(1.0), True)
    step(tf.constant(1.0))
    assert [trace.hits for trace in step.traces] == [1, 1]
