"""Functions around methods, and captured outputs."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises


class Net(nn.Module):
    def setup(self):
        self.first = nn.Dense(3, kernel_initializer="ones")
        self.second = nn.Dense(1, kernel_initializer="ones")

    def encode(self, x):
        return self.first(x)

    def __call__(self, x):
        return self.second(self.encode(x))

    @nn.nowrap
    def plain(self):
        return "plain"


X = tf.ones([1, 2])


@pytest.fixture
def variables() -> Any:
    return Net().init(nn.key(0), X)


def test_every_method_is_intercepted_from_outside_in(variables: Any) -> None:
    log = []

    def watch(next_fun, args, kwargs, context):
        log.append((type(context.module).__name__, context.method_name))
        return next_fun(*args, **kwargs)

    with nn.intercept_methods(watch):
        Net().apply(variables, X)
        Net().plain()
    assert log == [
        ("Net", "setup"),
        ("Net", "__call__"),
        ("Net", "encode"),
        ("Dense", "__call__"),
        ("Dense", "__call__"),
    ]
    Net().apply(variables, X)
    assert len(log) == 5


def test_the_last_one_entered_is_next_to_the_method(variables: Any) -> None:
    def times(factor):
        def interceptor(next_fun, args, kwargs, context):
            y = next_fun(*args, **kwargs)
            return y * factor + 1.0 if isinstance(context.module, nn.Dense) else y

        return interceptor

    plain = Net().apply(variables, X, method="encode")
    with nn.intercept_methods(times(2.0)), nn.intercept_methods(times(10.0)):
        both = Net().apply(variables, X, method="encode")
    tf.debugging.assert_near(both, (plain * 10.0 + 1.0) * 2.0 + 1.0)


def test_arguments_may_be_changed_and_calls_left_out(variables: Any) -> None:
    def skip(next_fun, args, kwargs, context):
        if context.module.name == "second":
            return args[0]
        return next_fun(*args, **kwargs)

    with nn.intercept_methods(skip):
        tf.debugging.assert_equal(Net().apply(variables, X), tf.fill([1, 3], 2.0))

    def original(next_fun, args, kwargs, context):
        return context.orig_method(*args, **kwargs)

    with nn.intercept_methods(skip), nn.intercept_methods(original):
        assert Net().apply(variables, X).shape == (1, 3)


def test_super_calls_are_intercepted_too() -> None:
    class Base(nn.Module):
        def __call__(self, x):
            return x + 1.0

    class Derived(Base):
        def __call__(self, x):
            return super().__call__(x) * 2.0

    log = []

    def watch(next_fun, args, kwargs, context):
        log.append(context.method_name)
        return next_fun(*args, **kwargs)

    with nn.intercept_methods(watch):
        assert Derived().apply({}, 1.0) == 4.0
    assert log == ["__call__", "__call__"]


def test_an_error_takes_the_interceptor_off_and_other_threads_have_none(variables: Any) -> None:
    log = []

    def watch(next_fun, args, kwargs, context):
        log.append(threading.get_ident())
        return next_fun(*args, **kwargs)

    def run() -> None:
        with nn.intercept_methods(watch):
            thread = threading.Thread(target=Net().apply, args=(variables, X))
            thread.start()
            thread.join()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()
    Net().apply(variables, X)
    assert log == []


def test_interception_of_a_bound_module_in_a_trace(variables: Any) -> None:
    bound = Net().bind(variables)

    def negate(next_fun, args, kwargs, context):
        y = next_fun(*args, **kwargs)
        return -y if context.module is bound and context.method_name == "__call__" else y

    with nn.intercept_methods(negate):
        traced = tf.function(lambda x: bound(x)).get_concrete_function(X)
    tf.debugging.assert_equal(traced(X), -bound(X))


def test_captured_outputs(variables: Any) -> None:
    y, state = Net().apply(variables, X, capture_intermediates=True)
    seen = state["intermediates"]
    assert set(state) == {"intermediates"}
    assert set(seen) == {"__call__", "first", "second"}
    tf.debugging.assert_equal(seen["__call__"][0], y)
    tf.debugging.assert_equal(seen["first"]["__call__"][0], tf.fill([1, 3], 2.0))

    def only_encode(module, name):
        return name == "encode"

    _, state = Net().apply(
        variables, X, capture_intermediates=only_encode, mutable=["params"], method="__call__"
    )
    assert set(state) == {"intermediates", "params"}
    assert set(state["intermediates"]) == {"encode"}


def test_outputs_that_are_no_values_are_not_captured() -> None:
    class Odd(nn.Module):
        def __call__(self, x):
            return self.none(x), x

        def none(self, x):
            return None

    _, state = Odd().apply({}, X, capture_intermediates=lambda module, name: True)
    assert state == {}


def test_a_bound_module_captures_in_a_block(variables: Any) -> None:
    bound = Net().bind(variables)
    with bound.capture(outputs=True) as seen:
        bound(X)
        bound(X)
    assert len(seen["intermediates"]["first"]["__call__"]) == 2
    with bound.capture() as seen:
        bound(X)
    assert seen == {}


def test_perturbations_give_gradients_of_intermediate_values() -> None:
    class Perturbed(nn.Module):
        @nn.compact
        def __call__(self, x):
            h = nn.Dense(3, kernel_initializer="ones")(x)
            h = self.perturb("h", h)
            return tf.reduce_sum(h**2)

    module = Perturbed()
    variables = module.init(nn.key(0), X)
    tf.debugging.assert_equal(variables["perturbations"]["h"], tf.zeros([1, 3]))
    zero = variables["perturbations"]["h"]
    with tf.GradientTape() as tape:
        tape.watch(zero)
        loss = module.apply(variables, X)
    tf.debugging.assert_equal(tape.gradient(loss, zero), tf.fill([1, 3], 4.0))

    params = {"params": variables["params"]}
    tf.debugging.assert_equal(module.apply(params, X), loss)
    with raises(nn.VariableNotFoundError):
        module.apply({**params, "perturbations": {"g": zero}}, X)
    with raises(nn.VariableNotFoundError):
        module.apply({**params, "perturbations": {}}, X)
    assert "perturbations" in module.lazy_init(nn.key(0), tf.TensorSpec([1, 2]))
    assert "perturbations" not in module.init(nn.key(0), X, mutable=["params"])
