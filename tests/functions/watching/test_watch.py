"""Functions, models and modules made elsewhere, observed and unchanged."""

from __future__ import annotations

import functools
import gc
import threading
import weakref

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.recording.registry import live_functions
from nbfn.functions.watching.watch import WatchError
from nbfn.functions.watching.watched_object import AmbiguousError
from tests.harness.messages import raises

weight = tf.Variable(3.0, name="weight")


def listed(observer) -> bool:
    return any(each is observer for each in live_functions())


def test_hits_traces_and_retraces_of_a_plain_function() -> None:
    @tf.function
    def f(x, n=1):
        return x * weight + float(n)

    watched = nbfn.watch(f)
    for length in (1, 1, 2, 1):
        assert f(tf.ones([length])).numpy().tolist() == [4.0] * length
    f(tf.ones([1]), 5)
    assert (watched.calls, watched.hits) == (5, 2)
    assert [trace.hits for trace in watched.traces] == [2, 0, 0]
    assert [trace.cause.code for trace in watched.traces] == [
        "first_trace",
        "shape",
        "python_value",
    ]
    assert all(trace.trace_seconds > 0 for trace in watched.traces)
    first, second = watched.retraces
    assert str(first.causes[0]) == "`x`: shape was [1], is [2]"
    assert "reduce_retracing=True" in first.remedy.sentence
    assert (second.causes[0].old, second.causes[0].new) == ("1", "5")
    assert first.site.line == line_of("for length in")
    assert [capture.name for capture in watched.captures] == ["weight"]
    assert watched.label == "f"
    assert watched.parameters == "(x, n=1)"
    assert listed(watched)
    assert "5 calls, 2 hits, 3 traces, 2 retraces" in repr(watched)


def line_of(text: str) -> int | None:
    with open(__file__) as file:
        lines = file.read().splitlines()
    return next(i for i, line in enumerate(lines, 2) if text in line)


def test_what_is_seen_inside_is_recorded() -> None:
    @tf.function
    def double(x):
        y = x * 2.0
        return y + 1.0

    watched = nbfn.watch(double)
    watched.values(tf.ones([2]))
    nbfn.lines(watched, tf.ones([2]))
    assert watched.recorder.values
    assert watched.recorder.lines


def test_functions_of_all_kinds_are_listed_in_the_order_of_creation() -> None:
    plain = tf.function(lambda x: x + 1)
    made = [nbfn.function(lambda x: x), nbfn.watch(plain), nbfn.function(lambda x: x)]
    assert [each for each in live_functions() if each in made] == made


def test_the_function_stays_what_it_was() -> None:
    @tf.function
    def f(x):
        return x + 1

    kind, attributes = type(f), set(vars(f))
    watched = nbfn.watch(f)
    assert f(tf.constant(1)).numpy() == 2
    assert type(f) is kind
    assert set(vars(f)) - attributes <= {"_concrete_variable_creation_fn"}
    assert f.experimental_get_tracing_count() == 1
    assert nbfn.watch(f) is watched
    assert nbfn.watch(watched) is watched


def test_the_observer_takes_the_name_of_the_function() -> None:
    @tf.function
    def f(x):
        return x + 1

    dead = weakref.ref(f)
    for _ in range(2):
        f = nbfn.watch(f)
        gc.collect()
        assert f(tf.constant(1)).numpy() == 2
        assert f.explain(tf.constant(1)).trace.number == 1
    assert (f.calls, f.hits) == (2, 1)
    del f
    gc.collect()
    assert dead() is None


def test_who_drops_the_observer_finds_it_again() -> None:
    f = tf.function(lambda x: x + 1)
    nbfn.watch(f)
    gc.collect()
    f(tf.constant(1))
    assert nbfn.watch(f).calls == 1


def test_traces_from_before_are_listed_and_serve() -> None:
    @tf.function
    def f(x):
        return x + 1

    f(tf.ones([1]))
    f(tf.ones([2]))
    watched = nbfn.watch(f)
    assert [trace.cause.code for trace in watched.traces] == ["unknown", "unknown"]
    assert watched.calls == 0
    f(tf.ones([2]))
    f(tf.ones([3]))
    assert (watched.calls, watched.hits) == (2, 1)
    assert [trace.hits for trace in watched.traces] == [0, 1, 0]
    assert watched.traces[2].cause.sentence.startswith("`x`: shape was [2], is [3]")
    assert f.experimental_get_tracing_count() == 3


def test_explain_traces_and_runs_nothing() -> None:
    log = []

    @tf.function
    def f(x):
        log.append(1)
        return x + 1

    watched = nbfn.watch(f)
    assert str(watched.explain(tf.ones([1]))).startswith("would trace: first call")
    assert log == []
    f(tf.ones([1]))
    assert watched.explain(tf.ones([1])).trace is watched.traces[0]
    missing = watched.explain(tf.ones([1], tf.int32))
    assert missing.trace is None
    assert [cause.code for cause in missing.causes] == ["dtype"]
    assert (len(log), watched.calls, len(watched.traces)) == (1, 1, 1)
    with pytest.raises(TypeError):
        watched.explain()


def test_requests_are_no_calls() -> None:
    @tf.function
    def f(x):
        return x + 1

    watched = nbfn.watch(f)
    f.get_concrete_function(tf.TensorSpec([None], tf.float32))
    assert (watched.calls, len(watched.traces)) == (0, 1)
    f.get_concrete_function(tf.TensorSpec([None], tf.float32))
    f.get_concrete_function(tf.TensorSpec([None], tf.int32))
    assert (watched.calls, len(watched.traces)) == (0, 2)
    assert watched.traces[1].cause.code == "requested"
    f(tf.ones([4]))
    assert (watched.calls, watched.hits) == (1, 1)


def test_a_failed_trace_is_not_counted() -> None:
    @tf.function
    def f(x):
        if x.shape[0] == 2:
            raise ValueError("no pairs")
        return x + 1

    watched = nbfn.watch(f)
    f(tf.ones([1]))
    with pytest.raises(ValueError, match="no pairs"):
        f(tf.ones([2]))
    f(tf.ones([3]))
    assert (watched.calls, len(watched.traces)) == (2, 2)


class Counter(tf.Module):
    def __init__(self):
        super().__init__()
        self.total = None

    @tf.function
    def add(self, amount):
        if self.total is None:
            self.total = tf.Variable(0.0, name="total")
        return self.total.assign_add(amount)


def test_a_module_with_one_method() -> None:
    counter, other = Counter(), Counter()
    watched = nbfn.watch(counter)
    for amount in (1.0, 2.0):
        counter.add(tf.constant(amount))
    other.add(tf.constant(1.0))
    assert list(watched.functions) == ["add"]
    assert (watched.calls, watched.hits, len(watched.traces)) == (2, 1, 2)
    assert watched.traces[0].cause.code == "variable_creation"
    assert len(watched.retraces) == 0
    assert [capture.name for capture in watched.captures] == ["self/total"]
    assert watched.explain(tf.constant(1.0)).trace is watched.traces[1]
    assert watched["add"].label == "Counter.add" or watched["add"].label == "counter.add"


def test_an_object_with_several_functions_says_which_to_ask() -> None:
    module = tf.Module()
    module.double = tf.function(lambda x: x * 2)
    module.triple = tf.function(lambda x: x * 3)
    watched = nbfn.watch(module)
    module.double(tf.constant(1))
    module.triple(tf.constant(1))
    assert watched.calls == 2
    assert watched["triple"].explain(tf.constant(1)).trace is not None
    with raises(AmbiguousError):
        watched.explain(tf.constant(1))
    with raises(KeyError):
        watched["halve"]


def test_what_a_traced_function_answers_it_answers_too() -> None:
    w = tf.Variable(2.0)
    f = tf.function(lambda x: x * w)
    watched = nbfn.watch(f)
    assert float(watched(tf.constant(1.0))) == 2.0
    f(tf.ones([3]))
    assert str(watched.suggest()) == "(tf.TensorSpec(None, tf.float32),)"
    assert watched.check(tf.constant(1.0)).variables == 1
    assert watched.run(tf.constant(1.0)).placement.devices
    general = watched.graph_function(tf.TensorSpec([None], tf.float32))
    assert general is watched.traces[-1]
    assert f(tf.ones([7])).shape == (7,)
    assert watched.traces[-1].hits == 1
    with raises(AttributeError):
        watched.relax()


def test_a_method_is_checked_on_its_object() -> None:
    counter = Counter()
    counter.add(tf.constant(1.0))
    watched = nbfn.watch(counter)["add"]
    assert watched.check(tf.constant(1.0)).variables == 1
    assert float(counter.total) == 1.0


def test_a_bound_method_and_a_decorated_function_are_examined_as_they_are() -> None:
    class Model:
        def step(self, x):
            return x * 2.0

    def logarithm_of(function):
        @functools.wraps(function)
        def wrapped(x):
            return tf.math.log(function(x))

        return wrapped

    step, x = nbfn.watch(tf.function(Model().step)), tf.constant([1.0, 2.0])
    assert step.check(x).ok
    assert step.run(x).value.numpy().tolist() == [2.0, 4.0]
    watched = nbfn.watch(tf.function(logarithm_of(lambda x: x - 1.0)))
    assert len(watched.numerics(x).findings) == 1


def test_counts_are_exact_under_threads() -> None:
    f = tf.function(lambda x: x + 1)
    watched = nbfn.watch(f)
    inputs = [tf.ones([length]) for length in (1, 2, 3)]
    for x in inputs:
        f(x)

    def work():
        for _ in range(20):
            for x in inputs:
                f(x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (watched.calls, watched.hits) == (243, 240)
    assert [trace.hits for trace in watched.traces] == [80, 80, 80]


def test_what_nbfn_made_is_its_own_observer() -> None:
    f = nbfn.function(lambda x: x + 1)
    assert nbfn.watch(f) is f
    wrapped = nbfn.wrap_function(lambda x: x + 1, tf.TensorSpec([], tf.int32))
    assert nbfn.watch(wrapped) is wrapped


@pytest.mark.parametrize("obj", [3, print, [1], tf.Module(), type("Plain", (), {})()])
def test_what_cannot_be_watched(obj) -> None:
    with raises(WatchError):
        nbfn.watch(obj)


def test_a_concrete_function_is_refused() -> None:
    f = tf.function(lambda x: x + 1)
    concrete = f.get_concrete_function(tf.constant(1))
    with raises(WatchError):
        nbfn.watch(concrete)


def test_a_request_of_a_function_that_creates_variables_is_no_call() -> None:
    made: list[tf.Variable] = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(2.0))
        return x * made[0]

    watched = nbfn.watch(f)
    f.get_concrete_function(tf.ones([2]))
    assert watched.calls == 0


def test_it_is_examined_with_its_own_options() -> None:
    @tf.function(autograph=False)
    def f(x):
        return x if x > 0 else -x

    watched = nbfn.watch(f)
    assert "OperatorNotAllowedInGraphError" in str(watched.check(tf.constant(1.0)))
