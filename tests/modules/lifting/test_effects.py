"""Random draws and written variables inside each transformation, against the plain call."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises
from tests.modules.nets import WAYS, called, near, ones

X = tf.random.stateless_normal([4, 3], nn.key(9))
RNGS = {"noise": nn.key(3)}


class Noisy(nn.Module):
    """Draws twice, and writes a variable that exists and one that does not."""

    @nn.compact
    def __call__(self, x):
        total = self.variable("sums", "total", lambda: tf.zeros([]))
        if not self.is_initializing():
            total.value += 1.0
            self.put_variable("sums", "last", self.get_variable("sums", "last", 0.0) + 2.0)
        w = self.param("w", nn.initializers.constant(2.0), [])
        noise = tf.random.stateless_normal([2], self.make_rng("noise"))
        return w * x + noise[0] + tf.random.stateless_normal([], self.make_rng("noise"))


def call(m, x):
    return m(x)


def summed(m, x):
    return tf.reduce_sum(m(x))


SLICED = {
    "variable_axes": {"params": None, "losses": 0, "seen": 0},
    "split_rngs": {"params": False},
}
SHARED = {"params": None, "sums": None}
FORMS: dict[str, Any] = {
    "jit": nn.jit(call),
    "remat": nn.remat(call),
    "remat with a policy": nn.remat(call, lambda module, method: True),
    "map_variables": nn.map_variables(call),
    "cond": lambda m, x: nn.cond(tf.constant(True), call, lambda m, x: x, m, x),
    "switch": lambda m, x: nn.switch(tf.cast(m.w0, tf.int32), [lambda m, x: x, call], m, x),
    "while_loop": lambda m, x: nn.while_loop(
        lambda m, c: c[0] < 1,
        lambda m, c: (c[0] + 1, m(c[1])),
        m,
        (0, x),
        carry_variables="sums",
        split_rngs={"noise": False},
    )[1],
    "vjp": lambda m, x: nn.vjp(call, m, x)[0],
    "jvp": lambda m, x: nn.jvp(call, m, (x,), (x,))[0],
    "custom_vjp": nn.custom_vjp(call, lambda m, x: nn.vjp(call, m, x), lambda r, g: r(g)),
    "scan": lambda m, x: nn.scan(
        lambda m, c: (m(c), None),
        variable_broadcast="params",
        variable_carry="sums",
        split_rngs={"noise": False},
        length=1,
    )(m, x)[0],
    "plain": call,
}


class Thrice(nn.Module):
    """A transformed call, a plain one, and a transformed one, on one module."""

    form: str

    def setup(self):
        self.inner = Noisy()

    def __call__(self, x):
        if self.is_initializing():
            return self.inner(x)
        object.__setattr__(self.inner, "w0", tf.constant(1.0))
        form = FORMS[self.form]
        return form(self.inner, x), self.inner(x), form(self.inner, x)


START = Thrice("plain").init({"params": nn.key(0), **RNGS}, X)
EXISTING = {**START, "sums": {"inner": {"total": tf.zeros([]), "last": tf.zeros([])}}}


@functools.cache
def twice(form: str, how: str) -> Any:
    """The outputs of two calls, and the sums after them; of pure calls, of one."""
    module = Thrice(form)
    wrap = tf.function if how.endswith("traced") else lambda call: call
    if how.startswith("bound"):
        bound = module.bind(EXISTING, rngs=RNGS)
        call = wrap(lambda x: (bound(x), bound(x)))
        return call(X), tf.nest.map_structure(tf.identity, bound.state["sums"])
    return wrap(lambda: module.apply(EXISTING, X, rngs=RNGS, mutable=["sums"]))()


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("form", [name for name in FORMS if name != "plain"])
def test_draws_and_writes_are_those_of_the_plain_call(form: str, how: str) -> None:
    near(twice(form, how), twice("plain", how))


@pytest.mark.parametrize("form", ["jit", "remat", "map_variables", "cond", "vjp", "jvp"])
def test_a_variable_that_is_made_inside_exists_afterwards(form: str) -> None:
    _, updated = Thrice(form).apply(START, X, rngs=RNGS, mutable=["sums"])
    near(updated, {"sums": {"inner": {"total": 3.0, "last": 6.0}}})


@pytest.mark.parametrize("form", [name for name in FORMS if name != "plain"])
def test_a_collection_that_is_immutable_outside_is_so_inside(form: str) -> None:
    with raises(nn.ImmutableCollectionError):
        Thrice(form).apply(EXISTING, X, rngs=RNGS, mutable=["other"])


@pytest.mark.parametrize("how", ["apply", "apply traced", "bound"])
def test_slices_that_share_a_stream_draw_what_a_single_call_draws(how: str) -> None:
    class Draws(nn.Module):
        def __call__(self, x):
            return x + tf.random.stateless_normal([], self.make_rng("noise"))

    class Twice(nn.Module):
        mapped: bool

        def setup(self):
            self.inner = Draws()

        def __call__(self, x):
            each = nn.vmap(lambda m, x: m(x), {}, {"noise": False}) if self.mapped else call
            return each(self.inner, x), self.inner(x), each(self.inner, x)

    def run(mapped: bool) -> Any:
        module = Twice(mapped)
        if how == "bound":
            bound = module.bind({}, rngs=RNGS)
            return bound(X), bound(X)
        apply = lambda: module.apply({}, X, rngs=RNGS)  # noqa: E731
        return (tf.function(apply) if "traced" in how else apply)()

    near(run(True), run(False))


def test_init_of_slices_and_steps_counts_shared_draws_once() -> None:
    class Random(nn.Module):
        @nn.compact
        def __call__(self, carry, x=None):
            self.param("w", nn.initializers.normal(1.0), [3])
            return carry + tf.random.stateless_normal([], self.make_rng("noise")), None

    class After(nn.Module):
        kind: str

        @nn.compact
        def __call__(self, x):
            options = {"split_rngs": {"params": True, "noise": False}}
            if self.kind == "scan":
                inner = nn.scan(Random, {"params": 0}, length=3, **options)(name="inner")
            elif self.kind == "vmap":
                inner = nn.vmap(Random, {"params": 0}, axis_size=3, in_axes=None, **options)(
                    name="inner"
                )
            else:
                inner = Random(name="inner")
            inner(x)
            return inner.make_rng("noise")

    rngs = {"params": nn.key(0), **RNGS}
    expected = After("plain").init_with_output(rngs, X)[0]
    for kind in ("scan", "vmap"):
        key = After(kind).init_with_output(rngs, X)[0]
        assert key.numpy().tolist() == expected.numpy().tolist()


def test_a_loop_that_does_not_turn_draws_nothing() -> None:
    class Loops(nn.Module):
        def __call__(self, n):
            def body(m, turn):
                m.make_rng("noise")
                return turn + 1

            nn.while_loop(lambda m, t: t < n, body, self, 0, split_rngs={"noise": False})
            return tf.random.stateless_uniform([], self.make_rng("noise"))

    class Plain(nn.Module):
        def __call__(self, n):
            if n:
                self.make_rng("noise")
            return tf.random.stateless_uniform([], self.make_rng("noise"))

    for n in (0, 1, 3):
        expected = Plain().apply({}, n, rngs=RNGS)
        near(Loops().apply({}, n, rngs=RNGS), expected)
        near(tf.function(lambda n: Loops().apply({}, n, rngs=RNGS))(tf.constant(n)), expected)
        near(tf.function(Loops().bind({}, rngs=RNGS))(tf.constant(n)), expected)


def test_slices_may_not_write_what_they_share_while_others_are_made() -> None:
    class Writes(nn.Module):
        @nn.compact
        def __call__(self, x):
            self.param("w", nn.initializers.normal(1.0), [3])
            self.variable("sums", "n", lambda: tf.zeros([])).value += 1.0
            return x

    module = nn.vmap(
        Writes, {"params": 0, "sums": None}, {"params": True}, axis_size=2, in_axes=None
    )
    with raises(nn.ImmutableCollectionError):
        module().init(nn.key(0), X)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("how", ["apply", "apply traced", "bound"])
def test_variables_are_written_along_their_axis(how: str, axis: int) -> None:
    class Adds(nn.Module):
        @nn.compact
        def __call__(self, x):
            total = self.variable("sums", "total", lambda: tf.zeros([3]))
            if not self.is_initializing():
                total.value += x
            return x

    module = nn.vmap(Adds, {"sums": axis}, {})()
    start = module.init(nn.key(0), X)
    assert start["sums"]["total"].shape == ((4, 3) if axis == 0 else (3, 4))
    _, after = called(how, module, start, X, mutable=["sums"])
    near(after["sums"]["total"], X if axis == 0 else tf.transpose(X))


def test_the_condition_of_a_loop_may_only_read() -> None:
    class Loops(nn.Module):
        def __call__(self, x):
            def condition(m, c):
                m.put_variable("sums", "n", tf.ones([]))
                return c < 3

            return nn.while_loop(condition, lambda m, c: c + 1, self, 0, carry_variables="sums")

    with raises(nn.ImmutableCollectionError):
        Loops().apply({"sums": {"n": tf.zeros([])}}, X, mutable=["sums"])


@pytest.mark.parametrize("form", [name for name in FORMS if name not in ("plain", "while_loop")])
def test_what_is_mutable_outside_is_so_inside(form: str) -> None:
    seen: list[bool] = []

    class Asks(nn.Module):
        def __call__(self, x):
            seen.append(self.is_mutable_collection("sums"))
            return x

    class Outer(nn.Module):
        def setup(self):
            self.inner = Asks()

        def __call__(self, x):
            object.__setattr__(self.inner, "w0", tf.constant(1.0))
            return FORMS[form](self.inner, x)

    for mutable in ("sums", "other"):
        Outer().apply({"sums": {"n": tf.zeros([])}}, X, mutable=[mutable])
        assert set(seen) == {mutable == "sums"}
        seen.clear()


@pytest.mark.parametrize("transform", [nn.remat, nn.map_variables], ids=["remat", "map_variables"])
def test_a_copy_of_a_module_is_gone_afterwards(transform: Any) -> None:
    kept: list[Any] = []

    def keeps(m, x):
        kept.append(m)
        return m(x)

    dense = nn.Dense(2).bind(nn.Dense(2).init(nn.key(0), X))
    transform(keeps)(dense, X)
    with pytest.raises(nn.ScopeClosedError):
        kept[0](X)


@pytest.mark.parametrize("lift", [nn.jit, nn.remat, lambda cls: nn.vmap(cls, **SLICED)])
def test_what_is_sown_is_combined_with_what_was_sown_before(lift: Any) -> None:
    class Regularized(nn.Module):
        @nn.compact
        def __call__(self, x):
            self.sow("losses", "sum", tf.reduce_sum(x), reduce_fn=tf.add, init_fn=lambda: 0.0)
            self.sow("seen", "x", x)
            return self.param("w", ones, []) * x

    class Top(nn.Module):
        def setup(self):
            self.part = lift(Regularized)()

        def __call__(self, x):
            return self.part(self.part(x))

    params = {"params": Top().init(nn.key(0), X)["params"]}
    _, applied = Top().apply(params, X, mutable=["losses", "seen"])
    bound = Top().bind(params)
    for _ in range(2):
        with bound.capture() as sown:
            bound(X)
        near(sown, applied)
    assert len(sown["seen"]["part"]["x"]) == 2
