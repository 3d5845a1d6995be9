"""``init`` and ``apply``: results, purity, methods and filters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises

ones = nn.initializers.ones_init()
X = tf.constant([1.0, 2.0])


class Net(nn.Module):
    """One parameter, one statistic, one sown value."""

    @nn.compact
    def __call__(self, x, scale=1.0):
        w = self.param("w", nn.initializers.normal(1.0), x.shape)
        count = self.variable("stats", "count", lambda: tf.zeros([]))
        if self.is_mutable_collection("stats"):
            count.value += 1.0
        self.sow("intermediates", "h", x * w)
        return x * w * scale

    def double(self, x):
        return 2.0 * self(x)

    def fixed(self):
        return self.get_variable("stats", "count")


@pytest.fixture
def variables() -> dict[str, Any]:
    return Net().init(nn.key(0), X)


def test_init_makes_all_collections_but_intermediates(variables: Any) -> None:
    assert variables.keys() == {"params", "stats"}
    everything = Net().init(nn.key(0), X, mutable=True)
    assert everything.keys() == {"params", "stats", "intermediates"}
    assert Net().init(nn.key(0), X, mutable=["params", "stats"]).keys() == {"params", "stats"}


def test_init_and_apply_differ_in_is_initializing() -> None:
    class Asking(nn.Module):
        @nn.compact
        def __call__(self):
            return self.is_initializing()

    assert Asking().init_with_output(nn.key(0))[0] is True
    assert Asking().apply({}, mutable=True)[0] is False
    assert Asking().bind({})() is False


def test_init_with_output_gives_both(variables: Any) -> None:
    y, made = Net().init_with_output(nn.key(0), X)
    tf.debugging.assert_equal(made["params"]["w"], variables["params"]["w"])
    tf.debugging.assert_equal(y, X * variables["params"]["w"])


@pytest.mark.parametrize(
    ("mutable", "collections"),
    [
        ([], set()),
        ("stats", {"stats"}),
        (["stats", "absent"], {"stats"}),
        (True, {"params", "stats", "intermediates"}),
        (nn.DenyList("params"), {"stats", "intermediates"}),
        (nn.DenyList(True), set()),
    ],
)
def test_what_mutable_returns(variables: Any, mutable: Any, collections: set[str]) -> None:
    y, updated = Net().apply(variables, X, mutable=mutable)
    assert updated.keys() == collections
    assert y.shape == (2,)
    if "stats" in collections:
        assert float(updated["stats"]["count"]) == 2.0


def test_mutable_false_returns_the_output_alone(variables: Any) -> None:
    assert tf.is_tensor(Net().apply(variables, X))
    assert tf.is_tensor(Net().apply(variables, X, mutable=False))


def test_apply_changes_none_of_its_inputs(variables: Any) -> None:
    inner = {k: dict(v) for k, v in variables.items()}
    first = Net().apply(variables, X, mutable=True)
    second = Net().apply(variables, X, mutable=True)
    tf.nest.map_structure(tf.debugging.assert_equal, first, second)
    assert {k: dict(v) for k, v in variables.items()} == inner
    first[1]["stats"]["count"] = None
    assert float(variables["stats"]["count"]) == 1.0


def test_arrays_and_tf_variables_are_values_too(variables: Any) -> None:
    expected = Net().apply(variables, X)
    arrays = tf.nest.map_structure(np.asarray, variables)
    tf.debugging.assert_equal(Net().apply(arrays, X), expected)
    held = tf.nest.map_structure(tf.Variable, variables)
    y, updated = Net().apply(held, X, mutable=["stats"])
    tf.debugging.assert_equal(y, expected)
    assert isinstance(updated["stats"]["count"], tf.Tensor)
    assert float(held["stats"]["count"]) == 1.0


def test_gradients_reach_the_variables(variables: Any) -> None:
    w = tf.Variable(variables["params"]["w"])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(Net().apply({**variables, "params": {"w": w}}, X))
    tf.debugging.assert_equal(tape.gradient(y, w), X)


def test_apply_in_a_traced_function_traces_once(variables: Any) -> None:
    traces = []

    @tf.function
    def f(v, x):
        traces.append(1)
        return Net().apply(v, x)

    for scale in (1.0, 2.0):
        v = {**variables, "params": {"w": variables["params"]["w"] * scale}}
        tf.debugging.assert_near(f(v, X), Net().apply(v, X))
    assert traces == [1]


def test_equal_modules_share_a_trace_as_arguments(variables: Any) -> None:
    traces = []

    @tf.function
    def f(module, v, x):
        traces.append(1)
        return module.apply(v, x)

    a, b = Net(), Net()
    f(a, variables, X)
    f(b, variables, X)
    assert traces == [1]


def test_methods(variables: Any) -> None:
    net, y = Net(), Net().apply(variables, X)
    for method in ("double", Net.double, net.double, lambda m, x: 2.0 * m(x)):
        tf.debugging.assert_equal(net.apply(variables, X, method=method), 2.0 * y)
    tf.debugging.assert_equal(net.apply(variables, X, method=None, scale=3.0), 3.0 * y)


def test_a_submodule_as_method() -> None:
    class Outer(nn.Module):
        def setup(self):
            self.inner = Net()

        def __call__(self, x):
            return self.inner(x)

    made = Outer().init(nn.key(0), X)
    tf.debugging.assert_equal(Outer().apply(made, X, method="inner"), Outer().apply(made, X))


def test_bad_methods(variables: Any) -> None:
    class Silent(nn.Module):
        value: int = 1

    with raises(nn.UnknownAttributeError) as raised:
        Silent().apply({})
    assert isinstance(raised.value, nn.LifecycleError)
    with raises(AttributeError):
        Net().apply(variables, X, method="doubel")
    with raises(nn.MethodError):
        Silent().apply({}, method="value")
    with raises(nn.MethodError):
        Net().apply(variables, method=lambda: 1)
    with raises(nn.MethodError):
        Net().apply(variables, method=3)


def test_functional_forms(variables: Any) -> None:
    def twice(m, x, *, scale=1.0):
        return m(x, scale) + m(x, scale)

    made = nn.init(twice, Net())(nn.key(0), X)
    tf.debugging.assert_equal(made["params"]["w"], variables["params"]["w"])
    y, made = nn.init_with_output(twice, Net())(nn.key(0), X, scale=2.0)
    tf.debugging.assert_equal(y, 4.0 * X * made["params"]["w"])
    y, updated = nn.apply(twice, Net(), mutable="stats")(variables, X)
    assert float(updated["stats"]["count"]) == 3.0
    tf.debugging.assert_equal(y, nn.apply(twice, Net())(variables, X))


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        pytest.param([1], nn.VariablesTypeError, id="a list"),
        pytest.param({"params": 1}, nn.VariablesTypeError, id="params: 1"),
        pytest.param({1: {}}, nn.VariablesTypeError, id="1: {}"),
        pytest.param({"params": {"a": {2: 0}}}, nn.VariablesTypeError, id="2: 0"),
        pytest.param(
            {"params": {"params": {"w": X}}}, nn.VariablesStructureError, id="params: params"
        ),
    ],
)
def test_malformed_variables(bad: Any, error: type[Exception]) -> None:
    for use in (Net().apply, Net().bind):
        with raises(error):
            use(bad, X) if use == Net().apply else use(bad)


def test_missing_variables_say_what_there_is(variables: Any) -> None:
    with raises(nn.CollectionNotFoundError):
        Net().apply({"stats": variables["stats"]}, X)
    with raises(nn.ParamNotFoundError):
        Net().apply({"params": {"ww": X}}, X)
    with raises(nn.VariableNotFoundError):
        Net().apply({**variables, "stats": {"other": X}}, X)

    class Outer(nn.Module):
        @nn.compact
        def __call__(self, x):
            return Net(name="encoder")(x)

    with raises(nn.ParamNotFoundError):
        Outer().apply({"params": {"encodr": {"w": X}}}, X)
    assert isinstance(nn.ParamNotFoundError(""), LookupError)


def test_a_parameter_of_another_shape_is_refused(variables: Any) -> None:
    with raises(nn.ParamShapeError):
        Net().apply(variables, tf.ones([3]))

    class Odd(nn.Module):
        size: int

        @nn.compact
        def __call__(self):
            return self.param("w", lambda key, sizes: tf.zeros([sizes[0] + 1]), [self.size])

    made = Odd(2).init(nn.key(0))
    assert Odd(2).apply(made).shape == (3,)
    with raises(nn.ParamShapeError):
        Odd(4).apply(made)


def test_a_bad_filter_is_refused(variables: Any) -> None:
    for bad in (3, {"params": True}, [1]):
        with raises(nn.FilterError):
            Net().apply(variables, X, mutable=bad)


def test_nothing_survives_an_apply() -> None:
    kept: dict[str, Any] = {}

    class Leaking(nn.Module):
        @nn.compact
        def __call__(self, x):
            kept["module"] = self
            kept["variable"] = self.variable("stats", "n", lambda: x)
            return x

    Leaking().init(nn.key(0), X)
    for use in (
        lambda: kept["module"](X),
        lambda: kept["module"].get_variable("stats", "n"),
        lambda: kept["variable"].value,
    ):
        with raises(nn.ScopeClosedError):
            use()


def test_an_error_in_a_call_leaves_the_next_one_alone(variables: Any) -> None:
    class Failing(nn.Module):
        @nn.compact
        def __call__(self, x):
            Net()(x)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Failing().init(nn.key(0), X)
    assert nn.Dense(2).parent is None
    assert Net().apply(variables, X).shape == (2,)


class Keyless(nn.Module):
    @nn.compact
    def __call__(self, x):
        return x + self.variable("state", "count", lambda: tf.constant(2.0)).value


@pytest.mark.parametrize("rngs", [{}, None], ids=["{}", "None"])
def test_what_draws_nothing_needs_no_key(rngs: Any) -> None:
    want = {"state": {"count": tf.constant(2.0)}}
    x = tf.constant(1.0)
    assert Keyless().init(rngs, x) == want
    assert Keyless().init_with_output(rngs, x) == (3.0, want)
    assert nn.init(lambda module, x: module(x), Keyless())(rngs, x) == want
    assert Keyless().lazy_init(rngs, tf.TensorSpec([])) == want
    assert list(Keyless().module_paths(rngs, x)) == [""]
    assert "count" in Keyless().tabulate(rngs, x)


def test_a_missing_key_is_asked_of_the_call_that_lacks_it() -> None:
    class Draws(nn.Module):
        stream: str = "params"

        @nn.compact
        def __call__(self, x):
            return x, self.make_rng(self.stream)

    with raises(nn.RngError):
        Draws().init({}, 1.0)
    with raises(nn.RngError):
        Draws("noise").init(None, 1.0)
    with raises(nn.RngError):
        nn.Dense(3).init({}, tf.ones([1, 2]))
    with raises(nn.RngError):
        Draws("noise").apply({}, 1.0)


def test_a_path_that_leads_nowhere_says_what_there_is() -> None:
    with raises(nn.PathNotFoundError):
        Keyless()["a"]
    with raises(nn.PathNotFoundError):
        Keyless().bind(Keyless().init({}, 1.0))["a"]
