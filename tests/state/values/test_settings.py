"""Settings of Keras's objects that a trace has baked in: a changed one is a miss that names it."""

from __future__ import annotations

import functools
import gc
import importlib
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

import nbfn
from nbfn.state.state import State

X = tf.random.stateless_normal([4, 3], [1, 2])


@pytest.fixture(autouse=True)
def _epsilon() -> Iterator[None]:
    kept = keras.config.epsilon()
    yield
    keras.config.set_epsilon(kept)


def network() -> Any:
    return keras.Sequential(
        [
            keras.layers.Input([3]),
            keras.layers.Dense(4, activation="relu", name="hidden"),
            keras.layers.BatchNormalization(name="norm"),
            keras.layers.Dense(1, name="last"),
        ]
    )


class Scaled(keras.layers.Layer):
    """A layer with parts of its own, and what no call reads."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = keras.layers.Dense(2)
        self.factor, self.seen, self.note = 1.0, 0, ""
        self(X)

    def call(self, x: Any) -> Any:
        self.seen += 1
        return self.inner(x) * self.factor


def steps(*, built: bool = True) -> tuple[Any, Any, Any]:
    """A model, its optimizer, and a step that trains it."""
    model, optimizer = network(), keras.optimizers.SGD(0.1)
    if built:
        optimizer.build(model.trainable_variables)

    @nbfn.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x, training=True) ** 2)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return model, optimizer, step


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda m, o: setattr(m.layers[0], "trainable", False), "model.layers[0].trainable"),
        (lambda m, o: setattr(m.layers[0].kernel, "trainable", False), "model.layers[0].kernel"),
        (lambda m, o: setattr(m.layers[0], "activation", tf.nn.tanh), "model.layers[0].activation"),
        (lambda m, o: setattr(m.layers[1], "momentum", 0.5), "model.layers[1].momentum"),
        (lambda m, o: setattr(o, "clipnorm", 0.1), "optimizer.clipnorm"),
        (lambda m, o: m.pop(), "model.layers"),
        (lambda m, o: keras.config.set_epsilon(0.1), "keras.config.epsilon()"),
    ],
)
def test_a_changed_setting_is_a_cause(change: Callable[[Any, Any], Any], name: str) -> None:
    model, optimizer, step = steps()
    step(X)
    step(X)
    assert (len(step.traces), step.hits) == (1, 1)
    change(model, optimizer)
    step(X)
    assert len(step.traces) == 2
    assert any(str(cause.path).startswith(name) for cause in step.retraces[-1].causes)


def test_a_frozen_layer_learns_no_more() -> None:
    model, _, step = steps()
    step(X)
    hidden = model.layers[0]
    hidden.trainable = False
    kept = hidden.get_weights()[0]
    step(X)
    assert (hidden.get_weights()[0] == kept).all()
    hidden.trainable = True
    step(X)
    assert len(step.traces) == 2  # the first serves again
    assert (hidden.get_weights()[0] != kept).any()


def test_what_no_call_reads_is_no_setting() -> None:
    layer, model = Scaled(), network()
    f = nbfn.function(lambda x: layer(x) + model(x))
    f(X)
    layer.note, layer.seen = "seen", 7
    model.compile("sgd", "mse")
    model.fit(X, tf.zeros([4, 1]), verbose=0)
    model.optimizer.learning_rate = 0.5
    layer.inner(X)
    f(X)
    assert (len(f.traces), f.hits) == (1, 1)


def test_parts_of_layers_and_arguments_are_guarded() -> None:
    layer = Scaled()
    f = nbfn.function(lambda layer, x: layer(x))
    f(layer, X)
    layer.inner.use_bias = False  # read when the layer is built, and not by its calls
    f(layer, X)
    assert len(f.traces) == 1
    layer.inner.activation = tf.nn.relu
    assert "layer.inner.activation" in str(f.explain(layer, X))
    assert (f(layer, X) >= 0.0).numpy().all()
    assert len(f.traces) == 2


def test_settings_keep_nothing_alive() -> None:
    space: dict[str, Any] = {"__name__": "__main__", "model": network()}
    exec("def f(x):\n    return model(x)", space)
    f = nbfn.function(space["f"], autograph=False)
    f(X)
    gone = weakref.ref(space.pop("model"))
    space["model"] = network()
    f(X)
    for trace in f.traces[:1]:
        f.evict(trace)
    del trace
    gc.collect()
    assert gone() is None


def test_an_unchanged_model_is_looked_at_without_a_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, step = steps()
    step(X)
    step(X)

    def walked(*_: Any) -> State:
        raise AssertionError("a walk")

    monkeypatch.setattr("nbfn.functions.guards.state_of", walked)
    step(X)
    assert step.hits == 2


def test_what_an_optimizer_creates_in_its_first_step_is_no_change_of_the_users() -> None:
    _, optimizer, step = steps(built=False)
    step(X)
    optimizer.clipnorm = 1.0
    step(X)
    (cause,) = step.retraces[-1].causes
    assert "clipnorm" in cause.sentence
    optimizer.clipnorm = None  # and so as in the first call
    step(X)
    assert step.recorder.retrace_count == 1


@pytest.mark.parametrize("named", ["keras.ops", "keras", "tf.keras.ops"])
def test_a_setting_of_keras_is_read_by_whatever_is_named(named: str) -> None:
    import keras

    space = {"__name__": "__main__", "tf": tf, "keras": keras, "ops": keras.ops, "K": keras}
    made = {"keras.ops": "ops.zeros(2)", "keras": "K.ops.zeros(2)"}.get(named, f"{named}.zeros(2)")
    exec(f"def f(x):\n    return {made}", space)
    f = nbfn.function(space["f"], autograph=False)
    assert f(tf.constant(1.0)).dtype == f(tf.constant(1.0)).dtype == tf.float32
    before = keras.config.floatx()
    try:
        keras.config.set_floatx("float64")
        assert f(tf.constant(1.0)).dtype == tf.float64
    finally:
        keras.config.set_floatx(before)


LIBRARY = """
import functools

import keras
import tensorflow as tf


def scoped(method):
    def run(self, *args):
        return method(self, *args)

    return run


class Scaled(tf.Module):
    def __init__(self, by):
        self.by, self.parts, self.seen = by, [Shifted(0.0), Shifted(1.0)], 0

    @scoped
    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x * self.by


class Kernel(tf.Module):
    def __call__(self, x):
        return self.between(x, x)


class Shifted(tf.Module):
    def __init__(self, by):
        self.by = by

    @property
    def weights(self):
        raise ValueError("there are none yet")

    def __call__(self, x):
        return x + self.by


class Lambda(keras.layers.Layer):
    def __init__(self, function):
        super().__init__()

        @functools.wraps(function)
        def wrapped(*args):
            return function(*args)

        self.function = wrapped

    def call(self, x):
        return self.function(x)


def closing_over(inner):
    def called(x):
        return inner(x)

    return called


class Chain:
    def __init__(self, inner):
        self._parameters = {"inner": inner}

    def run(self, x):
        inner = self._parameters["inner"]
        return inner.run(x) if isinstance(inner, Chain) else inner(x)


class Powered(keras.layers.Layer):
    exponent = 1.0

    def call(self, x):
        return x ** self.exponent
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A library with modules of TensorFlow's and Keras's kinds."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "a_library_of_modules.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module("a_library_of_modules")
    del sys.modules["a_library_of_modules"]


def test_what_a_library_s_code_reads_of_its_modules_is_a_setting(library: Any) -> None:
    scaled = library.Scaled(2.0)

    @nbfn.function
    def f(x: Any) -> Any:
        return scaled(x)

    def changed(expected: float, cause: str) -> None:
        assert f(tf.constant(1.0)).numpy() == expected
        assert f(tf.constant(1.0)).numpy() == expected
        assert str(f.retraces[-1].causes[0]) == cause

    assert f(tf.constant(1.0)).numpy() == 4.0
    scaled.by = 3.0
    changed(6.0, "setting `scaled.by` was 2.0, is 3.0")
    scaled.parts[0].by = 1.0
    changed(9.0, "setting `scaled.parts[0].by` was 0.0, is 1.0")
    scaled.parts.append(library.Shifted(7.0))
    changed(30.0, "setting `scaled.parts` was 2 parts, is 3 parts")
    scaled.seen += 1  # no method reads it
    f(tf.constant(1.0))
    assert len(f.retraces) == 3


def test_what_a_library_s_code_reads_of_its_keras_layers_is_a_setting(library: Any) -> None:
    model = keras.Sequential([library.Powered()])
    model.layers[0].exponent = 2.0

    @nbfn.function
    def f(x: Any) -> Any:
        return model(x)

    assert f(tf.constant([3.0])).numpy() == 9.0
    model.layers[0].exponent = 3.0
    assert f(tf.constant([3.0])).numpy() == 27.0
    assert str(f.retraces[0].causes[0]) == "setting `model.layers[0].exponent` was 2.0, is 3.0"


def test_functions_and_objects_that_a_library_s_object_was_given_are_read(library: Any) -> None:
    by = 2.0

    def target(x: Any) -> Any:
        return x * by

    class Target:
        def __init__(self) -> None:
            self.by = 5.0

        def __call__(self, x: Any) -> Any:
            return x * self.by

    called = Target()
    chains = library.Chain(library.Chain(target)), library.Chain(called)
    first, second = chains

    @nbfn.function
    def f(x: Any) -> Any:
        return first.run(x), second.run(x)

    def results() -> list[float]:
        return [float(each) for each in f(tf.constant(1.0))]

    assert results() == [2.0, 5.0]
    by = 3.0
    assert results() == results() == [3.0, 5.0]
    assert str(f.retraces[0].causes[0]) == "closure `by` was 2.0, is 3.0"
    called.by = 7.0
    assert results() == results() == [3.0, 7.0]
    assert len(f.retraces) == 2


def test_a_user_s_function_in_a_library_s_wrapper_is_no_plain_setting(library: Any) -> None:
    by = 2.0
    model = keras.Sequential([library.Lambda(lambda x: x * by)])

    @nbfn.function
    def f(x: Any) -> Any:
        return model(x)

    assert f(tf.constant([1.0])).numpy() == 2.0
    by = 3.0
    assert f(tf.constant([1.0])).numpy() == 3.0
    assert str(f.retraces[0].causes[0]) == "closure `by` was 2.0, is 3.0"


def test_methods_that_a_library_calls_of_a_user_s_subclass_are_read(library: Any) -> None:
    power = 1.0

    class Mine(library.Kernel):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.by = 2.0

        def between(self, x: Any, y: Any) -> Any:
            return self.by * (x * y) ** power

    kernel = Mine()

    @nbfn.function
    def f(x: Any) -> Any:
        return kernel(x)

    assert f(tf.constant(2.0)).numpy() == 8.0
    kernel.by = 3.0
    assert f(tf.constant(2.0)).numpy() == 12.0
    power = 2.0
    assert f(tf.constant(2.0)).numpy() == 48.0
    causes = [str(each.causes[0]) for each in f.retraces]
    expected = ["attribute `kernel.by` was 2.0, is 3.0", "closure `power` was 1.0, is 2.0"]
    assert causes == expected


def test_the_step_of_a_user_s_optimizer_is_read() -> None:
    class Mine(keras.optimizers.Optimizer):  # type: ignore[misc]
        factor = 1.0

        def update_step(self, gradient: Any, variable: Any, rate: Any) -> None:
            self.assign_sub(variable, self.factor * gradient)

    weight, optimizer = tf.Variable(0.0), Mine(0.1)
    optimizer.build([weight])

    @nbfn.function
    def step() -> None:
        optimizer.apply([tf.constant(1.0)], [weight])

    step()
    optimizer.factor = 10.0
    step()
    assert weight.numpy() == -11.0


def test_a_user_s_function_that_a_library_s_decorator_closes_over_is_read(library: Any) -> None:
    by = 2.0

    class Mine(tf.Module):
        @library.scoped  # type: ignore[untyped-decorator]
        def __call__(self, x: Any) -> Any:
            return x * by

    mine = Mine()

    @nbfn.function
    def f(x: Any) -> Any:
        return mine(x)

    assert f(tf.constant(1.0)).numpy() == 2.0
    by = 3.0
    assert f(tf.constant(1.0)).numpy() == 3.0


class Times:
    """A user's object that is called, or whose method is."""

    def __init__(self) -> None:
        self.by = 2.0

    def __call__(self, x: Any) -> Any:
        return x * self.by

    def product(self, x: Any) -> Any:
        return x * self.by


class TimesLayer(keras.layers.Layer):
    """A user's layer."""

    def __init__(self) -> None:
        super().__init__()
        self.by = 2.0

    def call(self, x: Any) -> Any:
        return x * self.by


@pytest.mark.parametrize(
    "wrap",
    [
        *(tf.recompute_grad, tf.grad_pass_through, keras.remat),
        *(tf.autograph.experimental.do_not_convert, "closing_over"),
    ],
)
@pytest.mark.parametrize("kind", ["object", "method", "layer", "partial"])
def test_objects_that_a_library_s_wrapper_calls_are_read(
    library: Any, wrap: Any, kind: str
) -> None:
    times = TimesLayer() if kind == "layer" else Times()
    called: Any = times.product if kind == "method" else times
    if kind == "partial":
        called = functools.partial(lambda times, x: times(x), times)
    wrapped = library.closing_over(called) if wrap == "closing_over" else wrap(called)
    outer = nbfn.function(lambda x: wrapped(x))
    itself = nbfn.function(wrapped)
    one = tf.constant([1.0])
    for times.by in (2.0, 3.0, 5.0):
        assert [float(f(one)[0]) for f in (outer, itself, outer, itself)] == [times.by] * 4
    assert [len(f.traces) for f in (outer, itself)] == [3, 3]


def test_a_method_with_a_gradient_of_its_own_is_read() -> None:
    class Mine:
        by = 2.0

        def clipped(self, x: Any) -> Any:
            return x * self.by, lambda upstream: upstream * self.by

    mine = Mine()
    clipped = tf.custom_gradient(mine.clipped)

    @nbfn.function
    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = clipped(x)
        return tape.gradient(y, x)

    for mine.by in (2.0, 3.0):
        assert float(gradient(tf.constant(1.0))) == mine.by


def test_the_step_of_fit_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf, "function", nbfn.function)
    factor = 1.0

    class Mine(keras.Model):  # type: ignore[misc]
        def train_step(self, data: Any) -> Any:
            return {"factor": tf.constant(factor), "mean": tf.reduce_mean(data)}

    model = Mine()
    model.compile()
    for factor in (1.0, 4.0):
        assert model.fit(X, verbose=0).history["factor"] == [factor]
