"""Every difference of a miss is named, so that all remedies together mend it."""

from __future__ import annotations

import copy
import functools
import linecache
import os
import sys
import types
import warnings
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, settings

import nbfn
from nbfn.functions.retraces.remedy import CallDescription, remedy_for
from tests.harness.messages import warns

EXAMPLES = int(os.environ.get("NBFN_FUZZ", "60"))
FILE = "a_file_of_the_users.py"
CALL = "f(x, y=y, n=n)"


class Pair(tf.experimental.ExtensionType):
    first: tf.Tensor
    count: int = 1


class Thing:
    """An object, which keys traces of its own."""

    def __deepcopy__(self, memo: Any) -> Thing:
        return self


THINGS = [Thing(), Thing()]
TENSORS = st.builds(
    lambda shape, dtype: np.ones(shape, dtype),
    st.sampled_from([(), (2,), (3,), (2, 1), (3, 1)]),
    st.sampled_from(["float32", "float64", "int32"]),
)
LEAVES = st.one_of(TENSORS, st.sampled_from([1, 2, 2.5, True, "a", "b", None, *THINGS]))
ARGUMENTS = st.one_of(
    TENSORS,
    LEAVES,
    st.lists(LEAVES, min_size=1, max_size=3),
    st.dictionaries(st.sampled_from("ab"), LEAVES, min_size=1),
    st.builds(lambda t, n: Pair(t.astype("f"), n), TENSORS, st.integers(0, 1)),
    st.builds(
        lambda n, short: tf.data.Dataset.range(4).batch(n, drop_remainder=short),
        st.sampled_from([2, 3]),
        st.booleans(),
    ),
)


def run(code: str, space: dict[str, Any]) -> None:
    linecache.cache[FILE] = (len(code), None, code.splitlines(keepends=True), FILE)
    exec(compile(code, FILE, "exec"), space)


def applied(retrace: Any, before: dict[str, Any], space: dict[str, Any]) -> bool:
    """Does by hand what the causes without code ask for; answers whether `relax` is asked for."""
    space["before"] = before
    for cause in retrace.causes:
        path = cause.path
        if cause.code == "dtype":
            exec(f"{path} = tf.cast({path}, '{cause.old}')", space)
        elif "ass" in str(remedy_for(CallDescription("f"), [cause])):
            name = path.split(".")[0].split("[")[0]
            space[name] = before[name]
    return "et one trace serve" in retrace.remedy.sentence


@hypothesis.given(st.data())
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_call_that_does_all_that_is_said_is_a_hit(data: Any) -> None:
    first = {name: data.draw(ARGUMENTS, name) for name in "xyn"}
    second = {
        name: data.draw(st.one_of(st.just(value), ARGUMENTS), name) for name, value in first.items()
    }
    f = nbfn.function(lambda x, y, n: 0, autograph=False)
    space: dict[str, Any] = {"f": f, "tf": tf}
    with warnings.catch_warnings():
        warnings.simplefilter("error", nbfn.NbfnWarning)
        run(CALL, {**space, **first})
        space |= copy.deepcopy({k: v for k, v in second.items() if not hasattr(v, "element_spec")})
        space = {**second, **space}
        f.known_as = "f"
        run(CALL, space)
        if not f.retraces:
            return
        retrace = f.retraces[-1]
        if any(cause.code == "shape" and "None" in str(cause.new) for cause in retrace.causes):
            return  # the new trace serves every size, so there is nothing to change
        assert retrace.remedy is not None
        call = CALL
        if retrace.remedy.code is not None:
            try:
                run(retrace.remedy.code, space)
            except nbfn.NbfnError as error:
                pytest.fail(f"{error} after {retrace}")
            call = next((c for c in retrace.remedy.code.splitlines() if c.startswith("f(")), CALL)
        elif applied(retrace, first, space):
            made = len(f.retraces)
            run(CALL, space)
            if len(f.retraces) > made:
                try:
                    f.relax()
                except nbfn.NbfnError as error:
                    pytest.fail(f"{error} after {retrace}")
        hits = f.hits
        run(call, space)
        assert f.hits == hits + 1, (str(retrace), [str(r) for r in f.retraces])


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("g(x, y)", "g(tf.cast(x, tf.float32), y)"),
        ("g(y=y, x=[0, 1])", "g(y=y, x=tf.cast([0, 1], tf.float32))"),
        ("print(g(\n  x * 2,\n  y))", "g(tf.cast(x * 2, tf.float32), y)"),
        ("[g(each, y) for each in [x]]", "g(tf.cast(each, tf.float32), y)"),
        ("model.g(x, y)", "model.g(tf.cast(x, tf.float32), y)"),
        ("g(*[x, y])", None),
        ("map_over(g, x, y)", None),
    ],
)
def test_the_call_is_written_with_its_casts(call: str, code: str | None) -> None:
    space: dict[str, Any] = {
        "nbfn": nbfn,
        "tf": tf,
        "x": tf.constant([0, 1]),
        "y": tf.constant(2.0),
        "map_over": lambda function, *args: function(*args),
    }
    run("class Model:\n  @nbfn.function\n  def g(self, x, y): return y\nmodel = Model()", space)
    run("g = nbfn.function(lambda x, y: y)\ng.known_as = 'g'", space)
    f = space["model"].g if "model" in call else space["g"]
    f(tf.constant([0.0, 1.0]), 2.0 if "=" in call else tf.constant(2.0))
    if "[0, 1]" in call:
        space["y"], call = 2.0, call.replace("[0, 1]", "np.array([0, 1], 'i')")
        space["np"], code = np, str(code).replace("[0, 1]", "np.array([0, 1], 'i')")
    run(call, space)
    remedy = f.retraces[-1].remedy
    assert remedy.code == code
    assert ("tf.cast(…, tf.float32)" in remedy.sentence) == (code is None)
    if code is not None:
        hits = f.hits
        run(f"each = x\n{code}", space)
        assert f.hits == hits + 1


def test_a_dry_run_writes_the_call() -> None:
    space: dict[str, Any] = {"g": nbfn.function(lambda x: x), "x": np.ones([2])}
    space["g"].known_as = "g"
    space["g"](tf.ones([2]))
    run("found = g.explain(x)", space)
    assert space["found"].remedy.code == "g(tf.cast(x, tf.float32))"
    assert str(space["found"]).endswith("before the call: g(tf.cast(x, tf.float32))")


def test_a_number_that_changes_is_kept_in_a_variable() -> None:
    space: dict[str, Any] = {"nbfn": nbfn, "tf": tf, "__name__": "__main__", "rate": 0.5}
    run(
        "class Model:\n  scale = 2.0\n  @nbfn.function\n  def g(self, x):\n"
        "    return x * rate * self.scale\nmodel = Model()",
        space,
    )
    run("model.g(tf.constant(1.)); rate, model.scale = 0.25, 3.; model.g(tf.constant(1.))", space)
    (retrace,) = space["model"].g.retraces
    code = retrace.remedy.code
    assert code == "rate = tf.Variable(rate)\nmodel.scale = tf.Variable(model.scale)"
    run(f"{code}\nmodel.g(tf.constant(1.)); rate.assign(4.); model.scale.assign(5.)", space)
    hits = space["model"].g.hits
    assert space["model"].g(tf.constant(1.0)) == 20.0
    assert space["model"].g.hits == hits + 1


@pytest.mark.parametrize(
    ("code", "values"),
    [
        ("x * n", (2, 3)),  # a tf.Variable of int32 times float32 is an error
        ("tf.add_n([x] * n)", (2, 3)),
        ("x if n == 'a' else -x", ("a", "b")),
        ("tf.add_n([x * each for each in n])", ([1.0], [1.0, 2.0])),
    ],
)
def test_a_value_that_no_variable_can_hold_is_to_be_passed(code: str, values: Any) -> None:
    space: dict[str, Any] = {"nbfn": nbfn, "tf": tf, "__name__": "__main__"}
    run(f"f = nbfn.function(lambda x: {code})", space)
    for space["n"] in values:
        space["f"](tf.constant(1.0))
    (retrace,) = space["f"].retraces
    assert retrace.remedy.code is None
    assert retrace.remedy.sentence == "Pass `n` as an argument"


def test_the_code_stands_wherever_the_cause_stands() -> None:
    f = nbfn.function(lambda x: x, max_traces=1)
    f.known_as = "f"
    f(tf.ones([1]))
    with warns(nbfn.NbfnWarning):
        f(tf.ones([2]))
    assert "f.relax()" in str(f.retraces[-1])
    assert "f.relax()" in repr(f.retraces)
    f(tf.ones([3]))
    assert "f.relax()" in str(f.retraces[0])
    assert repr(f.retraces).count("f.relax()") == 1


def test_code_names_nothing_that_the_caller_does_not_have() -> None:
    class Config:
        rate = 0.1

    @nbfn.function
    def step(x: Any, config: Any) -> Any:
        return x * config.rate

    mine = Config()
    for mine.rate in (0.1, 0.2):
        step(tf.constant(1.0), mine)
    assert step.retraces[-1].remedy.code is None

    class Trainer:
        def __init__(self) -> None:
            self.train = nbfn.function(self._train)

        def _train(self, x: Any) -> Any:
            return x

    trainer = Trainer()
    for size in (1, 2):
        trainer.train(tf.ones([size]))
    assert trainer.train.retraces[-1].remedy.code is None


def test_not_a_number_is_reported_as_such() -> None:
    f = nbfn.function(lambda x, n: x * n)
    f(tf.constant(1.0), 1.0)
    f(tf.constant(1.0), float("nan"))
    assert "is nan" in str(f.retraces[-1])


def test_a_constant_of_a_helper_module_is_reached_through_the_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    helper: Any = types.ModuleType("a_helper_of_the_users")
    exec("SCALE = 2.0\ndef scaled(x): return x * SCALE", vars(helper))
    helper.__file__ = "/home/user/a_helper_of_the_users.py"
    monkeypatch.setitem(sys.modules, "a_helper_of_the_users", helper)
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf, "nbfn": nbfn}
    exec("import a_helper_of_the_users as hm\nf = nbfn.function(lambda x: hm.scaled(x))", space)
    for names, code in (
        (space, "hm.SCALE = tf.Variable(hm.SCALE)"),
        ({**space, "hm": None}, None),
    ):
        space["f"](tf.constant(1.0))
        helper.SCALE *= 2.0
        monkeypatch.setattr("nbfn.site.cells_namespace", lambda n=names: n)
        space["f"](tf.constant(1.0))
        remedy = space["f"].retraces[-1].remedy.code
        assert remedy == (code or "import a_helper_of_the_users\n" + IMPORTED)
    value = float(helper.SCALE)
    exec(remedy, space)
    assert space["f"](tf.constant(1.0)).numpy() == value
    assert isinstance(helper.SCALE, tf.Variable)


IMPORTED = "a_helper_of_the_users.SCALE = tf.Variable(a_helper_of_the_users.SCALE)"


def test_what_is_said_of_a_call_that_is_not_made_holds_then() -> None:
    @nbfn.function
    def double(x):
        return x * 2

    double(tf.ones([1]))
    waiting = double.explain(tf.ones([2])).remedy
    assert str(waiting) == (
        "Let one trace serve every size of `x`, once this call has traced: double.relax()"
    )
    double(tf.ones([2]))
    assert (
        str(double.retraces[-1].remedy) == "Let one trace serve every size of `x`: double.relax()"
    )
    assert double.explain(tf.ones([3])).remedy == double.retraces[-1].remedy
    double.relax()
    assert double.explain(tf.ones([3])).trace is double.traces[-1]


def test_code_names_no_function_without_a_name() -> None:
    def scaled(by, x):
        return by * x

    class Scaled:
        def __call__(self, x):
            return 2 * x

    for python in (functools.partial(scaled, 2), Scaled()):
        unnamed = [nbfn.function(python)]
        unnamed[0](tf.ones([1])), unnamed[0](tf.ones([2]))
        assert unnamed[0].retraces[0].remedy.code is None
