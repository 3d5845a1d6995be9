"""Guards: a call traces again when what its trace has baked in has changed."""

from __future__ import annotations

import functools
import gc
import math
import warnings
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from tests.harness.messages import raises, warns

CODE = """
import math
import functools
import itertools

runs = itertools.count()  # no two graphs are the same

class Options:
    kind = "plain"
    def __init__(self): self.rate = 1.0
    @property
    def double(self): return self.rate * factor

options = Options()
number, text, items, table, array = 1, "a", [1, {2}], {"a": [1]}, np.zeros(3)
large = np.zeros([300, 300], np.float32)
factor, offset = 2.0, 0.5
variable, tensor = tf.Variable(1.0), tf.constant(1.0)

def deep(x): return x * number

def helper(x, scale=1.0): return deep(x) * scale + math.pi

shifted = functools.partial(helper, scale=3.0)

class Net(tf.Module):
    def __init__(self): self.weight = tf.Variable(1.0)
    def __call__(self, x): return x * self.weight + offset

net = Net()

def f(x):
    inner = lambda: items
    [text, table, array, large, options.double, options.kind, variable, tensor, inner()]
    return helper(x) + shifted(x) + net(x) + tf.constant(next(runs), tf.float32) * 0.0
"""


@pytest.fixture
def space() -> dict[str, Any]:
    names = {"np": np, "tf": tf, "__name__": "__main__"}
    exec(CODE, names)
    names["f"] = nbfn.function(names["f"], autograph=False)
    names["f"](tf.constant(1.0))
    return names


def test_nothing_has_changed(space) -> None:
    f = space["f"]
    space["variable"].assign(5.0)
    space["net"].weight.assign(3.0)
    space["number"] = 1
    space["items"] = [1, {2}]
    space["table"] = {"a": [1]}
    space["np"] = None
    exec("def deep(x): return x * number", space)
    f(tf.constant(1.0))
    assert (len(f.traces), f.hits) == (1, 1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("number = 2", "global `number` was 1, is 2"),
        ("number = 1.0", "global `number` was 1, is 1.0"),
        ("number = True", "global `number` was 1, is True"),
        ("text = 'b'", "global `text` was 'a', is 'b'"),
        ("text = b'a'", "global `text` was 'a', is b'a'"),
        ("del text", "global `text` was 'a', is absent"),
        ("items[1].add(3)", "global `items` was [1, {2}], is [1, {2, 3}]"),
        ("table['a'].append(2)", "global `table` was {'a': [1]}, is {'a': [1, 2]}"),
        ("array[0] = 5", "global `array` was [0.0, 0.0, 0.0], is [5.0, 0.0, 0.0]"),
        ("large[:] = 1", "global `large` has changed: an array float32[300, 300]"),
        ("options.rate = 2.0", "attribute `options.rate` was 1.0, is 2.0"),
        ("Options.kind = 'new'", "attribute `Options.kind` was 'plain', is 'new'"),
        ("options = Options()", "global `options` is another Options"),
        ("factor = 3.0", "global `factor` was 2.0, is 3.0"),
        ("offset = 0.0", "global `offset` was 0.5, is 0.0"),
        ("variable = tf.Variable(1.0)", "global `variable` is another tf.Variable"),
        ("tensor = tf.constant(2.0)", "global `tensor` is another tensor"),
        ("def deep(x): return x * 2", "global `deep` has changed: function deep"),
        ("def helper(x, scale=2.0): return deep(x) * scale", "global `helper` has changed"),
        ("deep.__code__ = (lambda x: x).__code__", "global `deep` has changed"),
        ("shifted = functools.partial(helper, scale=4.0)", "global `shifted` has changed"),
        ("Net.__call__ = lambda self, x: x", "attribute `Net.__call__` was function __call__, is"),
    ],
)
def test_a_change_traces_again_and_is_named(space, change: str, sentence: str) -> None:
    f = space["f"]
    f(tf.constant(2.0))
    exec(change, space)
    if "del" in change:
        with pytest.raises(NameError):
            f(tf.constant(1.0))
        return
    f(tf.constant(1.0))
    assert f.recorder.made == 2
    causes = f.retraces[-1].causes
    assert {cause.code for cause in causes} == {"stale"}
    assert any(str(cause).startswith(sentence) for cause in causes), list(map(str, causes))
    f(tf.constant(1.0))
    assert (f.calls, f.hits) == (4, 2)


def test_a_value_that_changes_back_finds_its_first_trace(space) -> None:
    f, x = space["f"], tf.constant(1.0)
    first = float(f(x))
    space["number"] = 5
    assert float(f(x)) != first
    space["number"] = 1
    assert float(f(x)) == first
    assert len(f.traces) == 2
    assert f.last_trace is f.traces[0]


def test_a_change_without_effect_makes_no_trace_after_a_gradient(space) -> None:
    space |= {"nbfn": nbfn, "rate": 0.5}
    exec("@nbfn.function\ndef g(x): return tf.sin(x) * (x if rate < 9.0 else 0.0)", space)
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = space["g"](x)
    tape.gradient(y, x)
    for space["rate"] in (1.0, 2.0):
        space["g"](x)
    assert len(space["g"].traces) == 1


def test_closures_and_their_later_values() -> None:
    rate = 1.0

    @nbfn.function
    def f(x: Any) -> Any:
        return x * rate

    assert float(f(tf.constant(2.0))) == 2.0
    rate = 3.0
    assert float(f(tf.constant(2.0))) == 6.0
    assert str(f.retraces[0].causes[0]) == "closure `rate` was 1.0, is 3.0"


def test_an_attribute_of_self() -> None:
    class Model(tf.Module):
        def __init__(self) -> None:
            self.k, self.unread = 1, 1

        @nbfn.function
        def __call__(self, x: Any) -> Any:
            return x * self.k

    one, other = Model(), Model()
    x = tf.constant(1.0)
    one(x), other(x)
    one.k, one.unread, other.unread = 9, 2, 2
    assert (float(one(x)), float(other(x))) == (9.0, 1.0)
    assert str(one.__call__.retraces[0].causes[0]) == "attribute `self.k` was 1, is 9"
    assert other.__call__.retraces == ()


def test_an_attribute_of_an_argument() -> None:
    class Params:
        multiply = True

    params = Params()

    @nbfn.function
    def f(x: Any, y: Any) -> Any:
        return x * 2.0 if y.multiply else x + 2.0

    assert float(f(tf.constant(3.0), params)) == 6.0
    params.multiply = False
    assert float(f(tf.constant(3.0), params)) == 5.0
    assert str(f.retraces[0].causes[0]) == "attribute `y.multiply` was True, is False"
    del params.multiply
    assert float(f(tf.constant(3.0), params)) == 6.0
    assert len(f.traces) == 2


def test_a_function_that_counts_its_own_traces() -> None:
    count, log, store = 0, [], SimpleNamespace(traces=0)

    @nbfn.function
    def f(x: Any) -> Any:
        nonlocal count
        count += 1
        log.append(count)
        store.traces += 1
        return x + 1

    for size in (1, 2, 1, 2, 1):
        f(tf.ones([size]))
    assert (count, log, store.traces, len(f.traces)) == (2, [1, 2], 2, 2)


def test_a_variable_created_through_a_global_on_the_first_call() -> None:
    space: dict[str, Any] = {"tf": tf, "v": None, "__name__": "__main__"}
    code = "def f(x):\n global v\n if v is None:\n  v = tf.Variable(1.0)\n"
    code += " return tf.cast(x, 'float32')"
    exec(code + " + v", space)
    f = nbfn.function(space["f"], autograph=False)
    assert float(f(tf.constant(1.0))) == 2.0
    assert float(f(tf.constant(2))) == 3.0
    assert float(f(tf.constant(1.0))) == 2.0
    assert len(f.traces) == 3


def test_globals_that_are_not_read_and_attributes_that_look_like_globals(space) -> None:
    code = "def g(x): return tf.reduce_sum(x)\nreduce_sum, unread = 1, 1"
    exec(code, space)
    g = nbfn.function(space["g"], autograph=False)
    g(tf.ones([2]))
    space["reduce_sum"], space["unread"] = 2, 2
    g(tf.ones([2]))
    assert len(g.traces) == 1


def test_on_stale_warn_uses_the_old_value_and_says_so_once(space) -> None:
    f = nbfn.function(space["deep"], autograph=False, on_stale="warn")
    assert float(f(tf.constant(2.0))) == 2.0
    space["number"] = 5
    with warns(nbfn.NbfnWarning) as warned:
        assert float(f(tf.constant(2.0))) == 2.0
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(f(tf.constant(2.0))) == 2.0


def test_on_stale_raise(space) -> None:
    f = nbfn.function(space["deep"], autograph=False, on_stale="raise")
    for _ in range(2):
        f(tf.constant(2.0))
    space["number"] = 5
    for _ in range(2):
        with raises(nbfn.StaleTraceError):
            f(tf.constant(2.0))
    space["number"] = 1
    assert float(f(tf.constant(2.0))) == 2.0


@pytest.mark.parametrize("on_stale", ["warn", "raise"])
def test_a_dry_run_says_that_the_trace_is_stale(on_stale) -> None:
    namespace = {"rate": 2.0, "__name__": "__main__"}
    exec("def scaled(x): return x * rate", namespace)
    f = nbfn.function(namespace["scaled"], autograph=False, on_stale=on_stale)
    f(tf.constant(1.0))
    text = "a hit: trace 1 would serve (x: float32[])"
    assert repr(f.explain(tf.constant(1.0))) == text
    namespace["rate"] = 3.0
    change = ", and it is stale: global `rate` was 2.0, is 3.0"
    assert repr(f.explain(tf.constant(1.0))) == text + change


def test_on_stale_ignore_is_tensorflows_behaviour(space) -> None:
    f = nbfn.function(space["deep"], autograph=False, on_stale="ignore")
    f(tf.constant(2.0))
    space["number"] = 5
    assert float(f(tf.constant(2.0))) == 2.0
    assert len(f.traces) == 1
    with raises(ValueError):
        nbfn.function(space["deep"], on_stale="never")


def test_recursion_and_cycles_end() -> None:
    names: dict[str, Any] = {"nbfn": nbfn, "__name__": "__main__"}
    exec("def a(x): return b(x)\ndef b(x): return a(x)\nloop = []\nloop.append(loop)", names)
    exec("def f(x): return (x, loop, a, f)[0]", names)
    f = nbfn.function(names["f"], autograph=False)
    f(tf.constant(1))
    assert f.changed_globals() == []


def test_nothing_of_the_users_is_kept_alive(space) -> None:
    import gc
    import weakref

    f, x = space["f"], tf.constant(1.0)
    f(x)
    gone = [weakref.ref(space[name]) for name in ("options", "net", "deep", "array")]
    for name in ("options", "net", "deep", "array"):
        del space[name]
    for trace in f.traces:
        f.evict(trace)
    gc.collect()
    assert [reference() for reference in gone] == [None] * 4


def test_what_a_trace_asks_for_at_each_call_is_no_part_of_it() -> None:
    @nbfn.function
    def f() -> Any:
        graph: Any = tf.compat.v1.get_default_graph()
        return graph._experimental_capture_side_input_by_ref("value", lambda: value)

    value = 1
    assert int(f()) == 1
    value = 2
    assert int(f()) == 2
    assert len(f.traces) == 1


def test_what_a_partial_binds_is_guarded() -> None:
    def scale(by: Any, x: Any) -> Any:
        return x * by[0]

    by = [2]
    f = nbfn.function(functools.partial(scale, by))
    assert f(tf.constant(1)).numpy() == 2
    by[0] = 3
    assert f(tf.constant(1)).numpy() == 3


def test_a_guarded_namespace_is_not_kept() -> None:
    class Big:
        pass

    held: dict[str, Any] = {}
    f = nbfn.function(lambda x: x * held["cfg"].k)
    held["cfg"] = SimpleNamespace(k=2, data=Big())
    data = weakref.ref(held["cfg"].data)
    assert f(tf.constant(1)).numpy() == 2
    held["cfg"].k = 3
    assert f(tf.constant(1)).numpy() == 3
    held.clear()
    del f
    gc.collect()
    assert data() is None


def test_helpers_with_a_custom_gradient_are_guarded() -> None:
    by = 1.0

    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        return x * by, lambda dy: dy * by

    f = nbfn.function(lambda x: scaled(x))
    assert f(tf.constant(2.0)).numpy() == 2.0
    by = 5.0
    assert f(tf.constant(2.0)).numpy() == 10.0


def test_a_library_s_attribute_guards_none_of_the_user_s() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.losses: list[float] = []

        @nbfn.function
        def step(self, x: Any) -> Any:
            return tf.keras.losses.mse(x, x + 1)

    trainer = Trainer()
    for _ in range(3):
        trainer.losses.append(float(trainer.step(tf.ones([2]))))
    assert len(trainer.step.traces) == 1


def test_what_only_graph_time_or_print_reads_is_not_guarded_in_a_closure() -> None:
    log: list[Any] = []

    @nbfn.function
    def noted(x: Any) -> Any:
        return tf.py_function(lambda a: (log.append(1), a)[1], [x], tf.float32)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nbfn.NbfnWarning)

        @nbfn.function
        def shown(x: Any) -> Any:
            print(log)  # noqa: T201
            return x

        for f in (noted, shown):
            for _ in range(3):
                f(tf.constant(1.0))
                log.append(0)
            assert len(f.traces) == 1


def test_what_is_named_while_it_is_printed_is_guarded() -> None:
    weight = [2]

    @nbfn.function
    def f(x: Any) -> Any:
        print(kept := weight)  # noqa: T201
        return x * kept[0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nbfn.NbfnWarning)
        assert f(tf.constant(1)).numpy() == 2
        weight[0] = 3
        assert f(tf.constant(1)).numpy() == 3


def test_a_shape_that_is_passed_on_guards_the_shape_alone() -> None:
    array = np.zeros((3, 2))
    f = nbfn.function(lambda x: x + tf.zeros(array.shape))
    f(tf.constant(1.0))
    array[0] = 1
    f(tf.constant(1.0))
    assert len(f.traces) == 1
    array = np.zeros((2, 2))
    assert f(tf.constant(1.0)).shape == (2, 2)


@pytest.mark.parametrize(
    "change",
    [
        lambda f: setattr(f, "__code__", (lambda x, by=[2.0]: x - by[0]).__code__),
        lambda f: setattr(f, "__defaults__", ([3.0],)),
        lambda f: f.__defaults__[0].append(f.__defaults__[0].pop() + 1.0),
    ],
    ids=["its code, as autoreload does", "its defaults", "what a default holds"],
)
def test_what_an_argument_s_function_does_is_guarded(change) -> None:
    def scaled(x: Any, by: Any = [2.0]) -> Any:  # noqa: B006
        return x * by[0]

    @nbfn.function
    def f(x: Any, function: Any) -> Any:
        return function(x)

    x = tf.constant(5.0)
    for _ in range(2):
        assert float(f(x, scaled)) == 10.0
    change(scaled)
    assert float(f(x, scaled)) == float(scaled(x)) != 10.0
    assert str(f.retraces[0].causes[0]).startswith("code `function` has changed")


def test_what_a_partial_among_the_arguments_binds_is_guarded() -> None:
    part = functools.partial(lambda x, by: x * by, by=2.0)
    f = nbfn.function(lambda x, functions: functions["scaled"](x))
    for _ in range(2):
        assert float(f(tf.constant(5.0), {"scaled": part})) == 10.0
    part.keywords["by"] = 3.0
    assert float(f(tf.constant(5.0), {"scaled": part})) == 15.0


def in_a_context(part: Any) -> ContextVar[Any]:
    held = ContextVar[Any]("held")
    held.set(part)
    return held


def test_an_argument_with_slots_and_without_weak_references() -> None:
    class Params:
        __slots__ = ("scale",)

    params = Params()
    params.scale = 2.0
    f = nbfn.function(lambda x, y: x * y.scale)
    assert float(f(tf.constant(3.0), params)) == 6.0
    params.scale = 4.0
    assert float(f(tf.constant(3.0), params)) == 12.0
    assert str(f.retraces[0].causes[0]) == "attribute `y.scale` was 2.0, is 4.0"


@pytest.mark.parametrize("holds", [lambda part: {"a": part}.values(), in_a_context])
def test_an_argument_that_shows_what_another_holds(holds: Callable[[Any], Any]) -> None:
    class Part:
        scale = 2.0

    part = Part()

    def scaled(x: Any, held: Any) -> Any:
        return x * (held.get() if isinstance(held, ContextVar) else next(iter(held))).scale

    f, held = nbfn.function(scaled), holds(part)
    assert float(f(tf.constant(3.0), held)) == 6.0
    part.scale = 4.0
    assert float(f(tf.constant(3.0), held)) == 12.0


@pytest.mark.parametrize("kind", ["object", "class", "function", "module"])
def test_an_attribute_in_the_place_of_another_one(kind: str) -> None:
    class Options:
        pass

    def options() -> None: ...

    module = ModuleType("options")
    made = {"object": Options(), "class": Options, "function": options, "module": module}
    holder: Any = made[kind]
    holder.other = 0
    f = nbfn.function(lambda x: x * getattr(holder, "scale", 1.0), autograph=False)
    assert float(f(2.0)) == 2.0
    del holder.other
    holder.scale = 3.0
    assert float(f(2.0)) == 6.0
    holder.unread = 1
    del holder.scale
    assert float(f(2.0)) == 2.0
    assert len(f.traces) == 2


def test_something_else_in_the_place_of_a_library() -> None:
    space: dict[str, Any] = {"lib": math, "__name__": "__main__"}
    exec("def f(x): return x * lib.pi", space)
    f = nbfn.function(space["f"], autograph=False)
    values = []
    for lib in (math, SimpleNamespace(pi=3.0), math, math):
        space["lib"] = lib
        values.append(float(f(1.0)))
    assert values == pytest.approx([math.pi, 3.0, math.pi, math.pi])
    assert len(f.traces) == 2
