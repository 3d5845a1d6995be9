"""What costs users time is reported in time, once, at their line; and what is meant is not."""

from __future__ import annotations

import datetime
import functools
import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.traced import early_warnings

log: list[Any] = []
state: dict[str, Any] = {}
ONE = tf.constant(1.0)


@pytest.fixture(autouse=True)
def reported() -> Iterator[list[str]]:
    """The warnings of nbfn's that a test gives rise to."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", nbfn.NbfnWarning)
        texts = _Texts(caught)
        yield texts  # type: ignore[misc]


class _Texts:
    def __init__(self, caught: Any) -> None:
        self._caught = caught

    def __iter__(self) -> Iterator[str]:
        return (str(w.message) for w in self._caught if w.category is nbfn.NbfnWarning)


def prints(x: Any) -> Any:
    print("x is", x)  # noqa: T201
    return x


def says_that_it_is_traced(x: Any) -> Any:
    print(f"Tracing for {x}")  # noqa: T201
    return x


FROZEN = keras.layers.Dense(1)
OPTIMIZER = keras.optimizers.SGD(0.5)
PENALIZED = keras.Sequential(
    [keras.layers.Input([1]), keras.layers.Dense(1, kernel_regularizer="l2", name="dense")]
)


def sets_a_rate(x: Any) -> Any:
    OPTIMIZER.learning_rate = x
    return x


def calls_a_penalized_model(x: Any) -> Any:
    return tf.reduce_sum(PENALIZED(tf.reshape(x, [1, 1]))) + tf.add_n(PENALIZED.losses)


def freezes(x: Any) -> Any:
    FROZEN.trainable = False
    return x


def appends(x: Any) -> Any:
    log.append(x.shape)
    return x


def draws(x: Any) -> Any:
    return x + np.random.normal()


def helped(x: Any) -> Any:
    return appends(x)


def reads_the_environment(x: Any) -> Any:
    return x * len(os.environ["PATH"])


def gets_from_the_environment(x: Any) -> Any:
    return x * float(os.environ.get("A_RATE", "1"))


class Acts:
    def __add__(self, x: Any) -> Any:
        log.append(x.shape)
        return x

    def __getitem__(self, key: int) -> Any:
        log.append(key)
        return 1.0


class Base:
    def __call__(self, x: Any) -> Any:
        log.append(x.shape)
        return x


class Derived(Base):
    def __call__(self, x: Any) -> Any:
        return super().__call__(x) * 2.0


acts, derived = Acts(), Derived()


@functools.singledispatch
def chosen(value: Any, x: Any) -> Any:
    return x


@chosen.register
def _(value: float, x: Any) -> Any:
    log.append(value)
    return x


def adds_an_object(x: Any) -> Any:
    return acts + x


def takes_an_item(x: Any) -> Any:
    return x * acts[0]


def dispatches(x: Any) -> Any:
    return chosen(2.0, x)


def calls_a_base(x: Any) -> Any:
    return derived(x)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (adds_an_object, "`__add__` calls log.append()"),
        (takes_an_item, "`__getitem__` calls log.append()"),
        (dispatches, "`_` calls log.append()"),
        (calls_a_base, "`__call__` calls log.append()"),
        (reads_the_environment, "reads os.environ; read it above the function"),
        (gets_from_the_environment, "reads os.environ; read it above the function"),
        (freezes, "stores into `FROZEN`; return the value"),
        (appends, "calls log.append(); return the value, or use a tf.Variable"),
        (draws, "draws from NumPy's random numbers; tf.random draws at each call"),
        (helped, "`appends` calls log.append()"),
    ],
)
def test_a_side_effect_is_reported_with_the_first_trace_and_once(
    function: Any, said: str, reported: Any
) -> None:
    f = nbfn.function(function)
    f(ONE)
    (text,) = reported
    assert text.startswith(f"`{function.__name__}` does this only while it is traced:\n  line ")
    assert said in text
    f(ONE)
    f(tf.ones([2]))
    assert len(list(reported)) == 1


def test_a_print_is_reported_when_a_call_first_goes_without(reported: Any) -> None:
    f = nbfn.function(prints)
    f(ONE)
    assert list(reported) == []
    f(tf.ones([2]))
    assert list(reported) == []
    for _ in range(2):
        f(ONE)
    (text,) = reported
    assert "prints; tf.print writes at each call" in text


class Model(tf.Module):
    v: Any = None

    def add(self, x: Any) -> Any:
        return x + 1

    @nbfn.function
    def creates(self, x: Any) -> Any:
        if self.v is None:
            self.v = tf.Variable(1.0)
        if not hasattr(self, "w"):
            self.w = tf.Variable(2.0)
        return self.add(x) * self.v * self.w


@tf.numpy_function(Tout=tf.float32)
def counted(x: Any) -> Any:
    log.append(x)
    return np.float32(len(log))


def through_python(x: Any) -> Any:
    y = tf.py_function(lambda a: log.append(a) or a, [x], tf.float32)
    return counted(x) + y


def through_a_nested_function(x: Any) -> Any:
    def note(value: Any) -> Any:
        log.append(value)
        return value

    return tf.py_function(note, [x], tf.float32)


def reads_nothing(x: Any) -> Any:
    options = json.loads('{"scale": 2.0}')
    return x * options["scale"] * datetime.timedelta(seconds=3).total_seconds()


def over_data(x: Any) -> Any:
    for each in tf.data.Dataset.range(3):
        x += tf.cast(each, tf.float32)
    return x


def keeps(x: Any) -> Any:
    if "v" not in state:
        state["v"] = tf.Variable(1.0)
    return x * state["v"]


@pytest.mark.parametrize(
    "function",
    [
        *(through_python, through_a_nested_function, reads_nothing, over_data, keeps),
        *(says_that_it_is_traced, sets_a_rate, calls_a_penalized_model),
    ],
)
def test_what_is_meant_is_not_reported(function: Any, reported: Any) -> None:
    f = nbfn.function(function)
    for _ in range(2):
        f(ONE)
    assert list(reported) == []


MODEL = Model()


def test_a_method_knows_the_methods_of_its_object(reported: Any) -> None:
    MODEL.creates(ONE)
    assert list(reported) == []


def test_a_failure_to_look_is_reported_and_breaks_no_call(reported: Any, monkeypatch: Any) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(early_warnings, "remarks", fail)
    again = FunctionType(prints.__code__.replace(), globals(), "prints")
    assert float(nbfn.function(again)(ONE)) == 1.0
    (text,) = reported
    assert "could not look for what `prints` does only while traced" in text


def test_five_retraces_in_ten_calls(reported: Any) -> None:
    f = nbfn.function(lambda x: x, max_traces=None)
    for size in range(6):
        assert list(reported) == []
        f(tf.ones([size]))
    (text,) = reported
    assert "has retraced 5 times in 6 calls; all share a cause: `x`: shape was" in text
    for size in range(6, 12):
        f(tf.ones([size]))
    assert len(list(reported)) == 1


def test_few_retraces_in_many_calls_are_not_reported(reported: Any) -> None:
    f = nbfn.function(lambda x: x)
    for size in range(8):
        for _ in range(4):
            f(tf.ones([size]))
    assert list(reported) == []


def test_few_retraces_of_several_instances_are_not_reported(reported: Any) -> None:
    class Model:
        @nbfn.function
        def step(self, x: Any) -> Any:
            return x

    calls = {Model(): 30, Model(): 11, Model(): 12}
    for size in range(8):
        for model, often in calls.items():
            for _ in range(often):
                model.step(tf.ones([size]))
    assert list(reported) == []


def test_a_number_that_goes_on_changing_is_reported_however_slowly(reported: Any) -> None:
    f = nbfn.function(lambda x, step: x)
    f.known_as = "f"
    for step in range(6):
        for _ in range(10):
            f(ONE, step)
    (text,) = reported
    assert "`step`: Python value was 4, is 5" in text
    assert text.endswith(": f.relax()")


def test_functions_made_in_a_loop(reported: Any) -> None:
    for n in range(5):
        made = nbfn.function(lambda x: x + n)  # noqa: B023
        made(ONE)
    (text,) = reported
    assert "was made 3 times, and each was traced and called once. Make it once, above" in text
    assert made.traces[0].cause.sentence == (
        "first call of a new function object with the same code (5 made so far)"
    )


def test_functions_that_are_made_again_and_used_are_not_reported(reported: Any) -> None:
    for n in range(5):
        made = nbfn.function(lambda x: x + n)  # noqa: B023
        made(ONE)
        made(ONE)
    assert list(reported) == []


def test_what_runs_at_each_call_is_not_reported(reported: list[str]) -> None:
    pull = nbfn.function(lambda it: next(it))
    data = iter(tf.data.Dataset.range(5))
    assert [int(pull(data)) for _ in range(2)] == [0, 1]
    first = nbfn.function(lambda batch: next(iter(batch.values())) * 2)
    first({"a": ONE})

    @nbfn.function
    def filled(x: Any) -> Any:
        mask = np.zeros(3, "float32")
        mask[0] = 1
        return x * mask

    filled(ONE)
    assert list(reported) == []


BIG = np.ones([300, 10_000], "float32")


def test_a_large_constant_is_reported_and_mended_by_what_is_reported(reported: Any) -> None:
    space: dict[str, Any] = {"tf": tf, "BIG": BIG, "__name__": "__main__"}
    code = "def f(x, k): return tf.reduce_sum(BIG @ x) * k"
    exec(code, space)
    f = nbfn.function(space["f"])
    for k in (1.0, 2.0):
        f(tf.ones([10_000, 1]), k)
    (text,) = reported
    assert "`BIG` as a constant of 12 MB, which each trace copies" in text
    assert "BIG = tf.Variable(BIG)," in text
    exec("BIG = tf.Variable(BIG)", space)
    exec(code, space)
    nbfn.function(space["f"])(tf.ones([10_000, 1]), 1.0)
    assert len(list(reported)) == 1


def test_draws_that_come_out_equal(reported: Any) -> None:
    tf.random.set_seed(3)

    @nbfn.function
    def equal() -> Any:
        outside = tf.random.uniform([])
        inside = tf.constant(0.0)
        for _ in tf.range(1):
            inside = tf.random.uniform([])
        return outside, inside

    outside, inside = equal()
    assert outside == inside
    (text,) = reported
    first = equal.python_function.__code__.co_firstlineno
    assert f"lines {first + 2} and {first + 5}: 2 draws with the same seed are equal" in text

    @nbfn.function
    def mended() -> Any:
        outside = tf.random.uniform([], seed=1)
        inside = tf.constant(0.0)
        for _ in tf.range(1):
            inside = tf.random.uniform([], seed=2)
        return outside, inside

    outside, inside = mended()
    assert outside != inside

    @nbfn.function
    def chosen(x: Any) -> Any:
        return tf.random.uniform([]) if x > 0 else -tf.random.uniform([])

    chosen(ONE)
    assert len(list(reported)) == 1


LIBRARY = """
import tensorflow as tf

def draw():
    return tf.random.uniform([])

def chain():
    state = tf.random.uniform([])
    for _ in tf.range(1):
        state += tf.random.uniform([])
    return state

class Mapper:
    def __init__(self):
        self._points = tf.zeros([2])

    @property
    def points(self):
        return self._points

    @points.setter
    def points(self, value):
        self._points = value
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An installed package."""
    file = tmp_path_factory.mktemp("site-packages", numbered=False) / "sampling.py"
    file.write_text(LIBRARY)
    spec = importlib.util.spec_from_file_location("sampling", file)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["sampling"] = made
    spec.loader.exec_module(made)
    yield made
    del sys.modules["sampling"]


class Link:
    def __init__(self, mapper: Any) -> None:
        self.mapper = mapper
        self.kept: Any = None

    @nbfn.function
    def sent(self, x: Any) -> Any:
        self.mapper.points = x * 2.0
        return self.mapper.points

    @nbfn.function
    def keeps(self, x: Any) -> Any:
        self.kept = x * 2.0
        return x


def test_what_a_library_does_with_a_tensor_that_it_is_given_is_its_own(
    library: Any, reported: Any
) -> None:
    link = Link(library.Mapper())
    link.sent(tf.ones([2]))
    assert list(reported) == []
    link.keeps(tf.ones([2]))
    (text,) = reported
    assert "stores into `self`; return the value, or use a tf.Variable" in text


def test_draws_inside_one_call_of_a_library_are_its_own(library: Any, reported: Any) -> None:
    tf.random.set_seed(3)

    @nbfn.function
    def sampled() -> Any:
        return library.chain()

    sampled()
    assert list(reported) == []

    @nbfn.function
    def apart() -> Any:
        outside = library.draw()
        inside = tf.constant(0.0)
        for _ in tf.range(1):
            inside = library.draw()
        return outside, inside

    outside, inside = apart()
    assert outside == inside
    (text,) = reported
    first = apart.python_function.__code__.co_firstlineno
    assert f"lines {first + 2} and {first + 5}: 2 draws with the same seed are equal" in text

    @nbfn.function
    def repeated() -> Any:
        return [tf.random.uniform([], seed=5) for _ in range(2)]

    repeated()
    assert len(list(reported)) == 2


def test_a_device_that_is_not_there(reported: Any) -> None:
    @nbfn.function
    def placed(x: Any) -> Any:
        with tf.device("GPU:7"):
            y = x * 2
        with tf.device("CPU:0"):
            return y * 2

    placed(ONE)
    (text,) = reported
    line = placed.python_function.__code__.co_firstlineno + 3
    assert f"line {line}: the device GPU:7 is requested but does not exist" in text
    assert "Available: CPU:0" in text


class Bar:
    def __init__(self, iterable: Any) -> None:
        self.iterable = iterable

    def __iter__(self) -> Any:
        for i, each in enumerate(self.iterable):
            if i == 3:  # else it never ends
                return
            yield each


def limited(iterable: Any) -> Any:
    yield from Bar(iterable)


@pytest.mark.parametrize("bar", [Bar, limited])
def test_a_progress_bar_around_a_data_set_is_reported_before_it_hangs(
    bar: Any, reported: Any
) -> None:
    seen: list[int] = []

    @nbfn.function
    def summed(data: Any) -> Any:
        total = tf.constant(0, tf.int64)
        for each in bar(data):
            seen.append(len(list(reported)))
            total += each
        return total

    summed(tf.data.Dataset.range(5))
    assert seen == [1, 1, 1]
    line = summed.python_function.__code__.co_firstlineno + 3
    assert f"line {line}: `bar` iterates in Python over `data`, which never ends" in next(
        iter(reported)
    )


def test_loops_over_data_that_end_are_not_reported(reported: Any) -> None:
    @nbfn.function
    def summed(data: Any) -> Any:
        total = tf.constant(0, tf.int64)
        for _, each in enumerate(data):
            total += each
        for each in nbfn.progress(data):
            total += each
        for each, _ in zip(data.take(2), data, strict=False):
            total += each
        return total

    assert int(summed(tf.data.Dataset.range(5))) == 21
    assert list(reported) == []


def test_retraces_that_the_signature_declares_do_not_count(reported: Any) -> None:
    signature = [nbfn.TRACE_ON_NEW_VALUE, nbfn.PYTHON_VALUE]
    f = nbfn.function(lambda n, x: x * n, input_signature=[signature[0], tf.TensorSpec(None)])
    for n in range(1, 7):
        f(n, tf.ones([1]))
    with tf.device("CPU:0"):
        f(6, tf.ones([1]))
    assert list(reported) == []
