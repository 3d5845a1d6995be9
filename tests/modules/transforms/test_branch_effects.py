"""nn.cond and nn.switch: the effects of the branch that is chosen, and of no other."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn
from tests.modules.nets import put_back, values_of

X = tf.ones([2, 3])
EVERY = ["init", "init traced", "apply", "apply traced", "bound", "bound traced"]


class Steps(nn.Module):
    """Each branch adds another number, sows, draws, and reads what was there before."""

    weighted: bool = False

    @nn.compact
    def __call__(self, index):
        count = self.variable("state", "count", lambda: tf.constant(0.0))
        self.sow("seen", "before", count.value)

        def adding(step, draws):
            def branch(m, x):
                count = m.variable("state", "count", lambda: tf.constant(0.0))
                count.value += step
                m.sow("seen", "inside", tf.constant(step))
                for _ in range(draws):
                    x = x + tf.random.stateless_normal([], m.make_rng("noise"))
                return x

            return branch

        x = nn.Dense(3)(X) if self.weighted else X
        x = nn.switch(index, [adding(1.0, 1), adding(10.0, 2), adding(100.0, 0)], self, x)
        return x + tf.random.stateless_normal([], self.make_rng("noise"))


RNGS = {"params": nn.key(0), "noise": nn.key(1)}


def runner(module: Any, how: str, variables: Any) -> Any:
    """Calls the module; gives its output, and all variables after it, as nested dicts."""
    wrap = tf.function if how.endswith("traced") else lambda call: call
    if how.startswith("init"):
        return wrap(lambda *args: module.init_with_output(RNGS, *args))
    if how.startswith("apply"):
        return wrap(lambda *args: module.apply(variables, *args, rngs=RNGS, mutable=True))
    bound = module.bind(variables, rngs=RNGS, mutable=True)
    start, call = values_of(bound), wrap(lambda *args: bound(*args))

    def run(*args: Any) -> tuple[Any, Any]:
        put_back(bound, start)
        with bound.capture() as sown:
            output = call(*args)
        return output, {**bound.state, **sown}

    return run


START = {"state": {"count": tf.constant(0.0)}}


@pytest.mark.parametrize(
    ("how", "weighted"),
    # Keras makes variables outside of graphs only.
    [(how, w) for how in EVERY for w in (False, True) if not (w and how == "init traced")],
)
def test_the_writes_of_one_branch(how: str, weighted: bool) -> None:
    module = Steps(weighted)
    params = module.init(RNGS, tf.constant(2))["params"] if weighted else {}
    run = runner(module, how, {"params": params, **START})
    for index, count in ((0, 1.0), (1, 10.0), (2, 100.0), (7, 100.0)):
        assert float(run(tf.constant(index))[1]["state"]["count"]) == count


def test_init_and_apply_and_bind_draw_the_same() -> None:
    runs = [runner(Steps(), how, START) for how in EVERY]
    for index in range(3):
        first, *others = (run(tf.constant(index))[0] for run in runs)
        for output in others:
            tf.debugging.assert_equal(output, first)


@pytest.mark.parametrize("how", ["init", "apply", "bound"])
def test_what_one_branch_sows(how: str) -> None:
    run = runner(Steps(), how, START)
    for index, step in enumerate((1.0, 10.0, 100.0)):
        _, after = run(tf.constant(index))
        assert [float(value) for value in after["seen"]["inside"]] == [step]


def test_a_bound_module_without_parameters_keeps_the_writes_of_one_branch() -> None:
    class Gate(nn.Module):
        @nn.compact
        def __call__(self, x, on):
            n = self.variable("state", "n", lambda: 0.0)

            def inc(m, x):
                m.put_variable("state", "n", m.get_variable("state", "n") + 1.0)
                return x

            nn.cond(on, inc, lambda m, x: x, self, x)
            return n.value

    bound = Gate().bind({"state": {"n": 0.0}}, mutable=True)
    assert [float(bound(X, False)) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert [float(bound(X, True)) for _ in range(3)] == [1.0, 2.0, 3.0]


class Example(nn.Module):
    """The example in Linen's documentation of ``nn.cond``."""

    @nn.compact
    def __call__(self, x, pred):
        self.variable("state", "true_count", lambda: 0)
        self.variable("state", "false_count", lambda: 0)

        def true_fn(mdl, x):
            mdl.variable("state", "true_count").value += 1
            return nn.Dense(2, name="dense")(x)

        def false_fn(mdl, x):
            mdl.variable("state", "false_count").value += 1
            return -nn.Dense(2, name="dense")(x)

        return nn.cond(pred, true_fn, false_fn, self, x)


@pytest.mark.parametrize("how", [each for each in EVERY if each != "init traced"])
def test_linens_own_example(how: str) -> None:
    start = Example().init(nn.key(0), X, pred=tf.constant(True))
    assert (int(start["state"]["true_count"]), int(start["state"]["false_count"])) == (1, 0)
    given = {"params": start["params"], "state": {"true_count": 0, "false_count": 0}}
    run = runner(Example(), how, given)
    for pred in (True, False):
        output, after = run(X, tf.constant(pred))
        counts = int(after["state"]["true_count"]), int(after["state"]["false_count"])
        assert counts == ((1, 0) if pred else (0, 1))
        dense = nn.Dense(2).apply({"params": after["params"]["dense"]}, X)
        tf.debugging.assert_near(output, dense if pred else -dense)


def test_a_branch_that_is_not_chosen_leaves_its_variables_as_they_are_made() -> None:
    class Apart(nn.Module):
        @nn.compact
        def __call__(self, x, on):
            def one(m, x):
                made = m.variable("state", "one", lambda: tf.constant(5.0))
                made.value += 1.0
                m.put_variable("state", "never declared", tf.constant(1.0))
                return nn.Dense(2, name="first")(x)

            def other(m, x):
                return nn.Dense(2, name="second")(x)

            return nn.cond(on, one, other, self, x)

    off = Apart().init(nn.key(0), X, tf.constant(False))
    on = Apart().init(nn.key(0), X, tf.constant(True))
    assert off["params"].keys() == on["params"].keys() == {"first", "second"}
    assert {name: float(value) for name, value in off["state"].items()} == {"one": 5.0}
    assert {name: float(value) for name, value in on["state"].items()} == {
        "one": 6.0,
        "never declared": 1.0,
    }


@pytest.mark.parametrize("transform", ["while_loop", "scan", "vmap", "remat", "jit"])
def test_other_transforms_may_declare_what_their_method_declared(transform: str) -> None:
    class Outer(nn.Module):
        @nn.compact
        def __call__(self, x):
            n = self.variable("state", "n", lambda: tf.constant(0.0))
            w = self.param("w", nn.initializers.ones, (3,))

            def body(m, x):
                m.variable("state", "n").value += 1.0
                return x * m.param("w", nn.initializers.ones, (3,))

            if transform == "while_loop":
                if self.is_initializing():
                    return x
                x = nn.while_loop(
                    lambda m, c: c[0] < 2,
                    lambda m, c: (c[0] + 1, body(m, c[1])),
                    self,
                    (tf.constant(0), x),
                    carry_variables="state",
                )[1]
            elif transform == "scan":
                looped = nn.scan(
                    lambda m, c, _: (body(m, c), None),
                    variable_broadcast="params",
                    variable_carry="state",
                    split_rngs={"params": False},
                    length=2,
                )
                x, _ = looped(self, x, None)
            elif transform == "vmap":
                mapped = nn.vmap(
                    lambda m, x: x * m.param("w", nn.initializers.ones, (3,)),
                    variable_axes={"params": None, "state": None},
                    split_rngs={"params": False},
                )
                x = mapped(self, x)
            else:
                x = {"remat": nn.remat, "jit": nn.jit}[transform](body)(self, x)
            return x + 0.0 * n.value + 0.0 * w

    variables = Outer().init(nn.key(0), X)
    start = {"params": variables["params"], "state": {"n": tf.constant(0.0)}}
    output, after = Outer().apply(start, X, mutable=["state"])
    tf.debugging.assert_near(output, X)
    turns = {"while_loop": 2.0, "scan": 2.0, "vmap": 0.0}.get(transform, 1.0)
    assert float(after["state"]["n"]) == turns


def test_jit_makes_what_a_flag_asks_for_later() -> None:
    class Optional(nn.Module):
        @nn.jit
        @nn.compact
        def __call__(self, x, weighted):
            return nn.Dense(2)(x) if weighted else x

    bound = Optional().bind({}, rngs={"params": nn.key(0)}, mutable=True)
    for _ in range(2):
        tf.debugging.assert_equal(bound(X, False), X)
    assert bound(X, True).shape == (2, 2)
    assert set(bound.state["params"]) == {"Dense_0"}
