"""Variables, filters, random streams and sowing inside modules."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from nbfn import nn
from nbfn.errors import NbfnError
from nbfn.modules.variables.filters import Filter
from nbfn.modules.variables.keys import path_number
from tests.harness.messages import raises


class Draw(nn.Module):
    stream: str = "noise"

    def __call__(self, n=1):
        return tf.stack([self.make_rng(self.stream) for _ in range(n)])


class Draws(nn.Module):
    def setup(self):
        self.a = Draw()
        self.b = Draw()

    def __call__(self, order="ab"):
        return {name: getattr(self, name)() for name in order}


def rows(keys: Any) -> list[tuple[int, ...]]:
    return [tuple(row) for row in tf.reshape(keys, [-1, 2]).numpy().tolist()]


def call(body: Any, variables: Any = None, **kwargs: Any) -> Any:
    class Body(nn.Module):
        @nn.compact
        def __call__(self):
            return body(self)

    return Body().apply(variables or {}, **kwargs)


def test_variable_reads_and_writes() -> None:
    def body(m):
        state = m.variable("stats", "n", lambda start: start, 1)
        assert state.is_mutable()
        before = state.value
        state.value = before + 5
        return int(before), int(state.value)

    output, updated = call(body, mutable=["stats"])
    assert output == (1, 6)
    assert int(updated["stats"]["n"]) == 6


def test_a_variable_without_initializer_must_exist() -> None:
    with raises(nn.CollectionNotFoundError):
        call(lambda m: m.variable("stats", "n"), mutable=True)
    assert int(call(lambda m: m.variable("stats", "n").value, {"stats": {"n": 3}})) == 3


def test_get_has_and_put() -> None:
    def body(m):
        assert m.get_variable("stats", "n", "default") == "default"
        assert not m.has_variable("stats", "n")
        m.put_variable("stats", "n", {"x": 1.0, "y": {"z": 2.0}})
        m.put_variable("stats", "n", {"y": {"w": 3.0}})
        assert m.has_variable("stats", "n")
        return m.get_variable("stats", "n")

    value, _ = call(body, mutable=True)
    assert {k: float(v) for k, v in value["y"].items()} == {"z": 2.0, "w": 3.0}
    assert float(value["x"]) == 1.0


def test_writing_an_immutable_collection_is_refused() -> None:
    def write(m):
        m.variable("stats", "n").value = 2

    with raises(nn.ImmutableCollectionError):
        call(write, {"stats": {"n": 1}})
    with pytest.raises(nn.ImmutableCollectionError):
        call(lambda m: m.put_variable("stats", "n", 2), {"stats": {"n": 1}})


def test_structures_are_variables_too() -> None:
    def body(m):
        pair = m.param("pair", lambda key: (tf.zeros([2]), {"b": tf.ones([3])}))
        return pair[1]["b"]

    assert call(body, mutable=True, rngs=nn.key(0))[0].shape == (3,)


def test_state_inside_apply_is_the_modules_own_tree() -> None:
    class Inner(nn.Module):
        @nn.compact
        def __call__(self):
            self.param("w", nn.initializers.ones_init(), ())
            return {c: list(t) for c, t in self.state.items()}

    assert call(lambda m: Inner()(), mutable=True, rngs=nn.key(0))[0] == {"params": ["w"]}


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("has_variable", ("stats", "n")),
        ("get_variable", ("stats", "n")),
        ("put_variable", ("stats", "n", 1)),
        ("is_mutable_collection", ("stats",)),
        ("variable", ("stats", "n")),
        ("param", ("n", nn.initializers.ones)),
        ("sow", ("stats", "n", 1)),
        ("make_rng", ()),
        ("has_rng", ("params",)),
        ("is_initializing", ()),
        ("unbind", ()),
        ("named_variables", ()),
        ("reseed", (0,)),
    ],
)
def test_an_unbound_module_has_no_variables_or_streams(name: str, args: Any) -> None:
    with raises(nn.UnboundModuleError):
        getattr(Draw(), name)(*args)


FILTERS: list[tuple[Any, set[str]]] = [
    (False, set()),
    (True, {"a", "b", "c"}),
    ("a", {"a"}),
    (["a", "b"], {"a", "b"}),
    ({"b"}, {"b"}),
    ((), set()),
    (nn.DenyList("a"), {"b", "c"}),
    (nn.DenyList(["a", "b"]), {"c"}),
    (nn.DenyList(True), set()),
    (nn.DenyList(False), {"a", "b", "c"}),
    (nn.DenyList(nn.DenyList("a")), {"a"}),
]


@pytest.mark.parametrize(("spec", "names"), FILTERS)
def test_filters_select(spec: Any, names: set[str]) -> None:
    assert {n for n in "abc" if n in Filter.of(spec)} == names


def test_filter_algebra_is_set_algebra() -> None:
    def names(f: Filter) -> set[str]:
        return {n for n in "abc" if n in f}

    for (x, in_x), (y, in_y) in itertools.product(FILTERS, FILTERS):
        left, right = Filter.of(x), Filter.of(y)
        assert names(left | right) == in_x | in_y
        assert names(left & right) == in_x & in_y
        assert names(left - right) == in_x - in_y
        assert names(~left) == {"a", "b", "c"} - in_x


def test_an_empty_filter_is_false() -> None:
    assert not Filter.of([])
    assert not Filter.of(nn.DenyList(True))
    assert Filter.of(nn.DenyList("a"))


# -- random streams --------------------------------------------------------------------------------


def test_key_is_a_stateless_key() -> None:
    assert nn.key(0).dtype == tf.int32
    assert nn.key(0).shape == (2,)
    seeds = [0, 1, -1, 2**31, 2**32, 2**63, 2**64 - 2]
    assert len({rows(nn.key(s))[0] for s in seeds}) == len(seeds)
    assert tf.random.split(nn.key(3), 2).shape == (2, 2)
    for bad in ("0", 1.5, None):
        with raises(nn.RngError):
            nn.key(bad)


def test_draws_depend_on_path_and_count_alone() -> None:
    rngs = {"noise": nn.key(0)}
    ab, ba = Draws().apply({}, "ab", rngs=rngs), Draws().apply({}, "ba", rngs=rngs)
    assert rows(ab["a"]) == rows(ba["a"])
    assert rows(ab["b"]) == rows(ba["b"])
    keys = rows(Draw().apply({}, 3, rngs=rngs)) + rows(ab["a"]) + rows(ab["b"])
    assert len(set(keys)) == 5
    assert rows(Draw().apply({}, 3, rngs={"noise": nn.key(1)}))[0] not in keys


def test_paths_cannot_be_confused() -> None:
    numbers = [path_number(p) for p in [("ab", "c"), ("a", "bc"), ("abc",), ("a", "b", "c"), ()]]
    assert len(set(numbers)) == 5


def test_a_second_call_draws_again() -> None:
    class Twice(nn.Module):
        def setup(self):
            self.d = Draw()

        def __call__(self):
            return tf.concat([self.d(), self.d()], 0)

    assert len(set(rows(Twice().apply({}, rngs={"noise": nn.key(0)})))) == 2


def test_params_stands_in_for_a_missing_stream() -> None:
    a = Draw().apply({}, rngs=nn.key(0))
    assert rows(a) == rows(Draw("params").apply({}, rngs=nn.key(0)))
    assert call(lambda m: (m.has_rng("params"), m.has_rng("noise")), rngs=nn.key(0)) == (
        True,
        False,
    )
    with raises(nn.RngError):
        Draws().apply({}, rngs={"other": nn.key(0)})


@pytest.mark.parametrize(
    "bad", [0, "key", {"noise": 3}, {1: nn.key(0)}, tf.zeros([3], tf.int32), tf.zeros([2])]
)
def test_malformed_rngs(bad: Any) -> None:
    with pytest.raises(nn.RngError):
        Draw().apply({}, rngs=bad)
    with pytest.raises(nn.RngError):
        Draw().bind({}, rngs=bad)


def test_init_needs_a_key() -> None:
    with raises(nn.RngError):
        Draw().init(None)


def test_draws_are_the_same_eager_and_traced() -> None:
    traced = tf.function(lambda key: Draws().apply({}, rngs={"noise": key}))
    for seed in (0, 1):
        eager = Draws().apply({}, rngs={"noise": nn.key(seed)})
        assert rows(traced(nn.key(seed))["b"]) == rows(eager["b"])


# -- sowing ----------------------------------------------------------------------------------------


class Sower(nn.Module):
    @nn.compact
    def __call__(self, x):
        kept = [self.sow("seen", "h", x), self.sow("seen", "h", 2 * x)]
        self.sow("total", "sum", x, reduce_fn=lambda a, b: a + b, init_fn=lambda: tf.zeros([]))
        return kept


def test_sow_appends_if_somebody_wants_it() -> None:
    kept, updated = Sower().apply({}, tf.constant(3.0), mutable=["seen", "total"])
    assert kept == [True, True]
    assert [float(v) for v in updated["seen"]["h"]] == [3.0, 6.0]
    assert float(updated["total"]["sum"]) == 3.0
    assert Sower().apply({}, tf.constant(3.0)) == [False, False]


def test_sow_in_a_bound_module_is_captured_per_block() -> None:
    bound = Sower().bind({})
    assert bound(tf.constant(1.0)) == [False, False]
    for x in (1.0, 2.0):
        with bound.capture() as sown:
            bound(tf.constant(x))
        assert [float(v) for v in sown["seen"]["h"]] == [x, 2 * x]
    assert bound.state == {}

    @tf.function
    def traced(x):
        with bound.capture() as sown:
            bound(x)
        return sown["total"]["sum"]

    assert float(traced(tf.constant(5.0))) == 5.0


@pytest.mark.parametrize("value", [2.0, 2, np.float32(2.0), np.float64(2.0)])
def test_a_plain_number_is_a_value(value: Any) -> None:
    class Scaled(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            return x * tf.cast(self.param("scale", nn.initializers.ones, ()), x.dtype)

    variables = {"params": {"scale": value}}
    tf.debugging.assert_equal(Scaled().apply(variables, tf.ones([2])), 2.0 * tf.ones([2]))
    tf.debugging.assert_equal(Scaled().bind(variables)(tf.ones([2])), 2.0 * tf.ones([2]))


def test_errors_about_large_values_are_short() -> None:
    large = tf.zeros([100, 100]).numpy().tolist()
    model = nn.Dense(2)
    for wrong in (
        lambda: model.init(large, tf.zeros([1, 2])),
        lambda: model.apply({}, tf.zeros([1, 2]), mutable=large),
        lambda: model.apply({}, tf.zeros([1, 2]), method=large),
    ):
        with pytest.raises(NbfnError) as caught:
            wrong()
        assert len(str(caught.value)) < 400
