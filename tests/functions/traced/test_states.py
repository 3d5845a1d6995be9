"""A state, a function: what is made again creates its variables in the same traced step.

Eager and traced training are compared, a few steps for each model that is made.
"""

from __future__ import annotations

import functools
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import keras
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.traces.created_variables import LateVariableError

X = tf.random.stateless_normal([8, 3], [1, 2])
Y = tf.reduce_sum(X, 1, keepdims=True)
TIMES = 3


def built() -> Any:
    return keras.Sequential([keras.layers.Input([3]), keras.layers.Dense(4), keras.layers.Dense(1)])


def unbuilt() -> Any:
    return keras.Sequential([keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])


class Subclassed(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = keras.layers.Dense(4, activation="relu")
        self.last = keras.layers.Dense(1)

    def call(self, x: Any) -> Any:
        return self.last(self.hidden(x))


class Lazy(tf.Module):
    """A module that makes its variables when it is first called."""

    def __init__(self) -> None:
        super().__init__()
        self.weight: Any = None

    def __call__(self, x: Any) -> Any:
        if self.weight is None:
            self.weight = tf.Variable(tf.fill([3, 1], 0.5))
        return x @ self.weight


def train(model: Any, optimizer: Any, metric: Any) -> Any:
    with tf.GradientTape() as tape:
        output = model(X)
        loss = tf.reduce_mean((output - Y) ** 2)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    metric.update_state(loss)
    return loss


def pieces(make: Callable[[], Any], seed: int) -> tuple[Any, Any, Any]:
    keras.utils.set_random_seed(seed)
    return make(), keras.optimizers.Adam(0.05), keras.metrics.Mean()


def trained(step: Callable[..., Any], model: Any, optimizer: Any, metric: Any) -> list[float]:
    """The losses of some steps, and what eager code finds of the model afterwards."""
    found = [float(step()) for _ in range(4)]
    after = float(tf.reduce_sum(model(X))), float(train(model, optimizer, metric))
    return [*found, *after, float(metric.result())]


@functools.cache
def eagerly_trained(make: Callable[[], Any], seed: int) -> list[float]:
    parts = pieces(make, seed)
    return trained(lambda: train(*parts), *parts)


@pytest.mark.parametrize("make", [built, unbuilt, Subclassed, Lazy])
@pytest.mark.parametrize("way", ["globals", "arguments", "method"])
def test_what_is_made_again_trains_as_in_python(make: Callable[[], Any], way: str) -> None:
    space: dict[str, Any] = {"__name__": "__main__", "train": train}
    exec("def step():\n    return train(model, optimizer, metric)", space)
    of_globals, of_arguments = nbfn.function(space["step"]), nbfn.function(train)

    class Trainer:
        def __init__(self, *parts: Any) -> None:
            self.parts = parts

        @nbfn.function
        def step(self) -> Any:
            return train(*self.parts)

    def traced_step(parts: Any) -> Callable[[], Any]:
        if way == "globals":
            space.update(zip(("model", "optimizer", "metric"), parts, strict=True))
            return of_globals
        if way == "method":
            trainer.parts = parts
            return trainer.step
        return lambda: of_arguments(*parts)

    trainer = Trainer()
    for seed in range(TIMES):
        parts = pieces(make, seed)
        traced = trained(traced_step(parts), *parts)
        assert traced == pytest.approx(eagerly_trained(make, seed), rel=1e-4, abs=1e-5)
    function = {"globals": of_globals, "arguments": of_arguments, "method": trainer.step}[way]
    assert function.calls == 4 * TIMES


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
def test_states_that_cannot_come_back_are_freed() -> None:
    space: dict[str, Any] = {"__name__": "__main__", "train": train}
    exec("def step():\n    return train(model, optimizer, metric)", space)
    step = nbfn.function(space["step"], max_traces=None)
    models = []
    for seed in range(6):
        space.update(zip(("model", "optimizer", "metric"), pieces(unbuilt, seed), strict=True))
        models.append(weakref.ref(space["model"]))
        step()
        step()
        gc.collect()
    step()
    assert [each() is not None for each in models] == [False] * 5 + [True]
    assert len(step.traces) <= 4
    assert len(step._states) <= 3


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
@pytest.mark.parametrize("make", [built, unbuilt, Subclassed])
def test_settings_are_guarded_after_what_the_first_trace_has_built(make: Any) -> None:
    space: dict[str, Any] = {"__name__": "__main__", "train": train}
    exec("def step():\n    return train(model, optimizer, metric)", space)
    step = nbfn.function(space["step"], max_traces=None)
    for seed in range(2):
        space.update(zip(("model", "optimizer", "metric"), pieces(make, seed), strict=True))
        step()
        hidden = space["model"].layers[0]
        hidden.trainable = False
        kept = hidden.get_weights()[0]
        step()
        assert (hidden.get_weights()[0] == kept).all()


def test_a_value_that_comes_back_is_served_by_its_trace() -> None:
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf, "made": {}, "rate": 1.0}
    exec(
        "def step(x):\n"
        "    if rate not in made:\n"
        "        made[rate] = tf.Variable(rate)\n"
        "    return x * made[rate]",
        space,
    )
    step = nbfn.function(space["step"], autograph=False)
    for rate in (1.0, 2.0, 1.0, 2.0, 3.0, 1.0):
        space["rate"] = rate
        assert float(step(tf.constant(2.0))) == 2.0 * rate
    space["rate"] = 3.0
    made = len(step.traces)
    for _ in range(2):
        assert float(step(tf.constant(2.0))) == 6.0
    assert len(step.traces) == made


def test_a_function_that_makes_variables_at_each_trace_is_refused_as_ever() -> None:
    made = []

    @nbfn.function(autograph=False)
    def grow(x: Any) -> Any:
        made.append(tf.Variable(1.0))
        return x + made[-1]

    with pytest.raises(LateVariableError):
        grow(tf.constant(1.0))


def test_a_refused_variable_is_compared_with_those_of_the_newest_model() -> None:
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf}
    code = "def step(x):\n    if not made or x.shape[0] > 1:\n"
    code += "        made.append(tf.Variable(1.0, name=name))\n    return x + made[0]"
    exec(code, space)
    step = nbfn.function(space["step"], autograph=False)
    for space["name"] in ("old", "new"):
        space["made"] = []
        step(tf.ones([1]))
    with pytest.raises(LateVariableError, match="On the first it created `new`"):
        step(tf.ones([2]))


def test_a_failed_first_call_of_a_state_may_be_made_again() -> None:
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf, "fails": False}
    exec("def step(x):\n    y = model(x)\n    if fails: raise KeyError('no')\n    return y", space)
    step = nbfn.function(space["step"], autograph=False)
    space["model"] = unbuilt()
    step(X)
    space["model"], space["fails"] = unbuilt(), True
    with pytest.raises(KeyError):
        step(X)
    space["model"], space["fails"] = unbuilt(), False
    gc.collect()  # no trace is left
    assert step(X).shape == (8, 1)
    assert step(X).shape == (8, 1)


def test_threads_begin_states_of_their_own() -> None:
    step = nbfn.function(train, max_traces=None)
    losses: dict[int, list[float]] = {}

    def work(number: int) -> None:
        parts = made[number]
        losses[number] = [float(step(*parts)) for _ in range(3)]

    expected = []
    for seed in range(4):
        parts = pieces(built, seed)
        expected.append([float(train(*parts)) for _ in range(3)])
    made = [pieces(built, seed) for seed in range(4)]
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [losses[n] for n in range(4)] == [pytest.approx(each, rel=1e-4) for each in expected]


def test_traces_of_code_that_was_written_again_are_freed() -> None:
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf}
    exec("def helper(x):\n    return x * 0.0\ndef f(x):\n    return helper(x)", space)
    f = nbfn.function(space["f"], max_traces=None)
    for n in range(1, 6):
        f(X)
        exec(f"def helper(x):\n    return x * {n}.0", space)
        assert float(tf.reduce_sum(f(X))) == pytest.approx(n * float(tf.reduce_sum(X)), rel=1e-4)
    assert len(f.traces) == 1
    assert len(f.retraces) == f.recorder.retrace_count == 1
    assert f.recorder.retraces_made == 5


def test_a_function_that_is_another_for_a_while_keeps_its_trace() -> None:
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf}
    code = "def double(x):\n    return x * 2.0\ndef half(x):\n    return x / 2.0\n"
    exec(code + "use = double\ndef f(x):\n    return use(x)", space)
    f = nbfn.function(space["f"])
    for _ in range(3):
        for name in ("double", "half"):
            space["use"] = space[name]
            f(X)
    assert (len(f.traces), f.recorder.made) == (2, 2)


LOOKS = {
    "check": lambda f, x: f.check(x),
    "check with numerics": lambda f, x: f.check(x, numerics=True),
    "explain": lambda f, x: f.explain(x),
    "lines": nbfn.lines,
    "numerics": lambda f, x: f.numerics(x),
    "relax": lambda f, x: f.relax(),
    "run": lambda f, x: f.run(x, values=True, numerics=True),
    "suggest": lambda f, x: f.suggest(),
    "values": lambda f, x: f.values(x),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_a_function_can_be_inspected_after_its_model_was_made_again(look) -> None:
    class Model(tf.Module):
        def __init__(self):
            self.weight = tf.Variable([2.0])

        def __call__(self, x):
            return x * self.weight

    model = Model()
    f = nbfn.function(lambda x: model(x))
    x = tf.ones([3])
    f(x)
    for value in (3.0, 4.0):
        model = Model()
        model.weight.assign([value])
        gc.collect()
        look(f, x)
        assert f(x).numpy().tolist() == [value] * 3
