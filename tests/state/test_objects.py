"""Guards find what code reaches through objects, bound methods, arguments, slots and containers."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import gc
import sys
import weakref
from types import SimpleNamespace
from typing import Any

import keras
import pytest
import tensorflow as tf

import nbfn
from tests.harness.messages import warns

ONE = tf.constant(1.0)


def test_places_of_one_name_are_distinguished() -> None:
    def make(k: float) -> Any:
        def h(x: Any) -> Any:
            return x * k

        return h

    h1, h2 = make(1.0), make(2.0)
    f = nbfn.function(lambda x: h1(x) + h2(x))
    assert float(f(ONE)) == 3.0
    h1 = make(5.0)
    assert float(f(ONE)) == 7.0
    h2 = make(4.0)
    assert float(f(ONE)) == 9.0


def test_an_attribute_that_appears_on_the_instance_or_the_class() -> None:
    class C:
        hook: Any = None

        @nbfn.function
        def m(self, x: Any) -> Any:
            scale = self.scale if hasattr(self, "scale") else 1.0  # type: ignore[attr-defined]
            return (x if self.hook is None else self.hook(x)) * scale

    c = C()
    assert float(c.m(ONE)) == 1.0
    c.hook = lambda x: x * 3.0
    assert float(c.m(ONE)) == 3.0
    c.scale = 2.0  # type: ignore[attr-defined]
    assert float(c.m(ONE)) == 6.0
    del c.hook, c.scale  # type: ignore[attr-defined]
    assert float(c.m(ONE)) == 1.0
    assert len(c.m.traces) == 3
    C.scale = 5.0  # type: ignore[attr-defined]
    assert float(c.m(ONE)) == 5.0


def test_an_attribute_that_hides_one_of_the_class_is_one_change() -> None:
    class Level:
        value = 1.0

    level = Level()
    f = nbfn.function(lambda x: x * level.value)
    f(ONE)
    level.value = 3.0
    assert float(f(ONE)) == 3.0
    level.value = 4.0
    f(ONE)
    del level.value
    assert f.explain(ONE).trace is f.traces[0]
    Level.value = 5.0
    assert float(f(ONE)) == 5.0
    sentences = [[cause.sentence for cause in each.causes] for each in f.retraces]
    assert sentences[0] == ["attribute `level.value` was 1.0, is 3.0"]
    assert len(sentences[1]) == len(sentences[2]) == 1


def test_a_method_that_an_object_hides_is_named() -> None:
    class Scaler:
        def forward(self, x: Any) -> Any:
            return x * 2.0

    scaler = Scaler()
    f = nbfn.function(lambda x: scaler.forward(x))
    f(ONE)
    scaler.forward = lambda x: x * 5.0  # type: ignore[method-assign]
    assert float(f(ONE)) == 5.0
    (cause,) = f.retraces[-1].causes
    assert cause.sentence == "attribute `scaler.forward` was function forward, is function <lambda>"


def test_bound_methods_callable_objects_and_partials_that_are_traced() -> None:
    class T:
        def __init__(self) -> None:
            self.lr = 1.0
            self.step = nbfn.function(self._step)

        def _step(self, x: Any) -> Any:
            return x * self.lr

        def __call__(self, x: Any) -> Any:
            return x * self.lr

    t = T()
    h = nbfn.function(functools.partial(lambda o, x: x * o.lr, t))
    called = nbfn.function(t)
    for lr in (1.0, 0.5, 1.0):
        t.lr = lr
        assert [float(each(ONE)) for each in (t.step, called, h)] == [lr] * 3
    assert [len(each.traces) for each in (t.step, called, h)] == [2, 2, 2]


def test_what_object_arguments_and_function_arguments_lead_to() -> None:
    class M(tf.Module):
        def __init__(self) -> None:
            self.w, self.scale = tf.Variable(1.0), 2.0

        def loss(self, x: Any) -> Any:
            return x * self.w * self.scale

    k = 2.0
    model, helper = M(), lambda x: x * k
    step = nbfn.function(lambda model, x: model.loss(x))
    apply = nbfn.function(lambda g, x: g(x))
    assert (float(step(model, ONE)), float(apply(helper, ONE))) == (2.0, 2.0)
    model.scale, k = 3.0, 5.0
    assert str(step.explain(model, ONE)).startswith(
        "would retrace: attribute `model.scale` was 2.0"
    )
    assert (float(step(model, ONE)), float(apply(helper, ONE))) == (3.0, 5.0)


rates = [1.0]


class Rate(contextlib.ContextDecorator):
    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __enter__(self) -> None:
        rates.append(self.rate)

    def __exit__(self, *error: object) -> None:
        rates.pop()


def test_a_context_manager_as_a_decorator() -> None:
    @contextlib.contextmanager
    def at_rate(config: dict[str, float]) -> Any:
        rates.append(config["rate"] * factor)
        yield
        rates.pop()

    config, factor, manager = {"rate": 2.0}, 1.0, Rate(2.0)
    by_generator = nbfn.function(at_rate(config)(lambda x: x * rates[-1]))
    by_class = manager(lambda x: x * rates[-1])
    f = nbfn.function(lambda x: by_class(x))
    assert (float(by_generator(ONE)), float(f(ONE))) == (2.0, 2.0)
    config["rate"], manager.rate = 3.0, 3.0
    assert (float(by_generator(ONE)), float(f(ONE))) == (3.0, 3.0)
    factor = 2.0
    assert (float(by_generator(ONE)), float(f(ONE))) == (6.0, 3.0)
    assert (len(by_generator.traces), len(f.traces)) == (3, 2)


@dataclasses.dataclass(slots=True)
class Slots:
    lr: float


@pytest.mark.filterwarnings("ignore:.*has retraced:nbfn.NbfnWarning")
def test_slots_and_objects_at_one_address() -> None:
    cfg: Any = Slots(1.0)
    f = nbfn.function(lambda x: x * cfg.lr, max_traces=None)
    assert float(f(ONE)) == 1.0
    cfg.lr = 2.0
    assert float(f(ONE)) == 2.0
    results = []
    for value in range(3, 7):
        cfg = None
        cfg = Slots(float(value))
        results.append(float(f(ONE)))
    assert results == [3.0, 4.0, 5.0, 6.0]


def test_defaults_of_helpers_and_arguments_of_partials() -> None:
    def h(x: Any, k: Any = None, d: Any = {"a": 1.0}) -> Any:  # noqa: B006
        return x * d["a"] * (1.0 if k is None else k.rate)

    bound = SimpleNamespace(rate=2.0)
    g = functools.partial(h, k=bound)
    f = nbfn.function(lambda x: h(x) + g(x))
    assert float(f(ONE)) == 3.0
    h.__defaults__[1]["a"] = 2.0  # type: ignore[index]
    assert float(f(ONE)) == 6.0
    bound.rate = 3.0
    assert float(f(ONE)) == 8.0


def test_defaults_of_a_deleted_helper_are_not_kept_alive() -> None:
    class Config:
        rate = 2.0

    def helper(x: Any, config: Any = Config()) -> Any:  # noqa: B008
        return x * config.rate

    f = nbfn.function(lambda x: helper(x))  # noqa: F821
    assert [float(f(ONE)) for _ in range(3)] == [2.0] * 3
    config = weakref.ref(helper.__defaults__[0])  # type: ignore[index]
    del helper
    gc.collect()
    assert config() is None


class Chain:
    def __getattr__(self, name: str) -> Any:
        return Chain()

    def __call__(self, x: Any) -> Any:
        return x


class Angry:
    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)

    def __call__(self, x: Any) -> Any:
        return x

    @property
    def __name__(self) -> str:
        raise RuntimeError("no name")


class AngryText(str):
    __slots__ = ()

    def __hash__(self) -> int:
        raise RuntimeError("no hash")


class AngryDict(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        raise RuntimeError("no items")


@pytest.mark.parametrize("number", range(5))
def test_strange_objects_break_no_call(number: int) -> None:
    odd = type("Odd", (), {"__dict__": 3})()
    value = (Chain(), Angry(), [AngryText("a")], AngryDict(a=1), odd)[number]
    f = nbfn.function(lambda x: x if value is not None else -x, autograph=False)
    assert [float(f(ONE)) for _ in range(3)] == [1.0] * 3


def test_a_guard_that_fails_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("no way out")

    f = nbfn.function(lambda x: x + 1)
    monkeypatch.setattr("nbfn.functions.guards.state_of", fail)
    with warns(nbfn.NbfnWarning):
        assert float(f(ONE)) == 2.0
    assert float(f(ONE)) == 2.0
    assert f.hits == 1


def test_an_object_that_decorates_a_function_has_a_state_of_its_own() -> None:
    class Scaled:
        def __init__(self, function: Any, scale: float) -> None:
            functools.update_wrapper(self, function)
            self.function, self.scale = function, scale

        def __call__(self, x: Any) -> Any:
            return self.function(x) * self.scale

    def plus_one(x: Any) -> Any:
        return x + 1.0

    scaled = Scaled(plus_one, 2.0)
    f = nbfn.function(lambda x: scaled(x))
    assert [float(f(ONE)) for _ in range(2)] == [4.0, 4.0]
    scaled.scale = 3.0
    assert float(f(ONE)) == 6.0
    scaled = Scaled(plus_one, 5.0)
    assert float(f(ONE)) == 10.0


def test_the_items_of_a_container_with_traced_methods() -> None:
    class Options(dict[str, float]):
        @nbfn.function
        def scale(self, x: Any) -> Any:
            return x * self["scale"]

    options = Options(scale=2.0)
    assert [float(options.scale(ONE)) for _ in range(2)] == [2.0, 2.0]
    options["scale"] = 3.0
    assert float(options.scale(ONE)) == 3.0


@pytest.mark.skipif(
    (3, 12) <= sys.version_info < (3, 12, 4),
    reason="`inspect.getattr_static` keeps classes alive (CPython's issue 118013)",
)
def test_no_cache_keeps_a_class_alive() -> None:
    def called() -> Any:
        class Slotted:
            __slots__ = ("__weakref__", "k")

        held = Slotted()
        held.k = 2.0
        f = nbfn.function(lambda x: x * held.k)
        assert float(f(tf.ones([]))) == 2.0
        return weakref.ref(Slotted)

    reference = called()
    gc.collect()
    assert reference() is None


def test_a_loss_that_compile_was_given() -> None:
    scale = 1.0

    def loss(y: Any, p: Any) -> Any:
        return scale * tf.reduce_mean(p - y)

    model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", loss)
    x = tf.ones([2, 2])
    f = nbfn.function(lambda x: model.compute_loss(x, tf.zeros([2, 1]), model(x)))
    for scale in (1.0, 5.0):
        assert float(f(x)) == 2.0 * scale


def test_classes_of_values_that_are_compared_are_not_kept() -> None:
    class Mode(enum.IntEnum):
        FAST = 1

    class Sizes(list[int]):
        pass

    space: dict[str, Any] = {"__name__": "__main__", "mode": Mode.FAST, "sizes": Sizes([2])}
    # TensorFlow keeps classes of what it converts to tensors.
    exec("def f(x): return x * (3.0 if mode == 1 else 5.0) + float(sizes[0])", space)
    f = nbfn.function(space["f"], autograph=False)
    assert float(f(ONE)) == 5.0
    alive = [weakref.ref(Mode), weakref.ref(Sizes)]
    space["mode"], space["sizes"] = 2, [3]
    del Mode, Sizes
    assert float(f(ONE)) == 8.0
    gc.collect()
    assert [each() for each in alive] == [None, None]
