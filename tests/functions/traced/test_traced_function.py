"""A traced function is a tf.function, and counts what happens to it."""

from __future__ import annotations

import copy
import functools
import gc
import pickle
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn import _tensorflow
from nbfn.functions import TracedFunction
from nbfn.functions.traces.trace import EvictedError
from tests.harness.messages import raises, warns


def double(x):
    return x * 2


def test_it_is_a_tf_function() -> None:
    f = nbfn.function(lambda x: x + 1)
    assert isinstance(f, TracedFunction)
    assert isinstance(f, tf.types.experimental.PolymorphicFunction)
    assert isinstance(f, type(tf.function(lambda: 0)))


def test_as_a_decorator_with_and_without_options() -> None:
    @nbfn.function
    def plain(x):
        """Doubles."""
        return x * 2

    @nbfn.function(autograph=False, max_traces=2)
    def with_options(x):
        return x * 3

    assert plain.__name__ == "plain"
    assert plain.__doc__ == "Doubles."
    assert plain(tf.constant(2)).numpy() == 4
    assert with_options(tf.constant(2)).numpy() == 6
    assert with_options.options["max_traces"] == 2


def test_calls_hits_and_traces_are_counted() -> None:
    f = nbfn.function(lambda x: x + 1)
    for length in (1, 1, 2, 1, 2):
        f(tf.ones([length]))
    assert (f.calls, f.hits) == (5, 3)
    assert [trace.hits for trace in f.traces] == [2, 1]
    assert [trace.number for trace in f.traces] == [1, 2]
    assert all(trace.trace_seconds > 0 and trace.run_seconds > 0 for trace in f.traces)
    assert len(f.retraces) == 1


def test_an_object_with_a_permissive_eq_gets_no_other_ones_trace() -> None:
    class Scale:
        def __init__(self, value):
            self.value = value

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 0

    f = nbfn.function(lambda x, scale: x * scale.value)
    two, five = Scale(2.0), Scale(5.0)
    assert f(tf.constant(1.0), two).numpy() == 2.0
    assert f(tf.constant(1.0), five).numpy() == 5.0


def test_decorated_functions_among_the_arguments_keep_their_decorators() -> None:
    def times(factor: float) -> Any:
        def decorate(function: Any) -> Any:
            @functools.wraps(function)
            def wrapper(x: Any) -> Any:
                return function(x) * factor

            return wrapper

        return decorate

    def plus_one(x: Any) -> Any:
        return x + 1.0

    double, triple = times(2.0)(plus_one), times(3.0)(plus_one)
    f = nbfn.function(lambda x, functions: functions["first"](x) + functions["rest"][0](x))
    for _ in range(2):  # a trace, and a hit
        assert float(f(tf.constant(1.0), {"first": double, "rest": [triple]})) == 10.0
        assert float(f(tf.constant(1.0), {"first": triple, "rest": [plus_one]})) == 8.0
    assert (len(f.traces), f.hits) == (2, 2)
    concrete = f.get_concrete_function(tf.constant(1.0), {"first": double, "rest": [double]})
    assert float(concrete(tf.constant(1.0))) == 8.0
    tf.config.run_functions_eagerly(True)
    try:
        assert float(f(tf.constant(1.0), {"first": double, "rest": [triple]})) == 10.0
    finally:
        tf.config.run_functions_eagerly(False)


def test_methods_have_one_cache_for_each_instance() -> None:
    class Doubler(tf.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = tf.Variable(factor)

        @nbfn.function
        def __call__(self, x):
            return self.factor * x

        @nbfn.function
        def step(self, x):
            return self.factor + x

    two, three = Doubler(2.0), Doubler(3.0)
    assert two.step(tf.constant(1.0)).numpy() == 3.0
    assert three.step(tf.constant(1.0)).numpy() == 4.0
    assert two(tf.constant(2.0)).numpy() == 4.0
    assert (two.step.calls, three.step.calls) == (1, 1)
    assert two.step.label == "Doubler.step"
    assert two.step.owner is two


def test_variables_created_on_the_first_call_make_two_traces_and_no_retrace() -> None:
    class Counter:
        count = None

        @nbfn.function
        def step(self):
            if self.count is None:
                self.count = tf.Variable(0)
            return self.count.assign_add(1)

    counter = Counter()
    assert [counter.step().numpy() for _ in range(3)] == [1, 2, 3]
    assert [t.cause.code for t in counter.step.traces] == ["variable_creation", "new_instance"]
    assert len(counter.step.retraces) == 0
    assert (counter.step.calls, counter.step.hits) == (3, 2)


def test_a_failing_trace_leaves_cache_and_counters_as_they_were() -> None:
    f = nbfn.function(lambda x: tf.reshape(x, [2, 3]))
    f(tf.ones([6]))
    before = repr(f)
    for _ in range(2):
        with pytest.raises(ValueError, match="reshape"):
            f(tf.ones([7]))
    assert repr(f) == before
    f(tf.ones([6]))
    assert f.hits == 1


def test_a_failing_first_trace_that_created_a_variable_can_be_repeated() -> None:
    state: dict[str, tf.Variable] = {}
    attempts = []

    @nbfn.function
    def f(x):
        attempts.append(1)
        if "v" not in state:
            variable = tf.Variable(2.0)
            if len(attempts) == 1:
                raise ValueError("not yet")
            state["v"] = variable
        return state["v"] * x

    with pytest.raises(ValueError, match="not yet"):
        f(tf.constant(3.0))
    assert (f.calls, f.traces) == (0, ())
    assert f(tf.constant(3.0)).numpy() == 6.0


def test_a_call_that_fails_when_it_runs_counts() -> None:
    @nbfn.function
    def f(x):
        tf.debugging.assert_positive(x)
        return x

    f(tf.constant(1.0))
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.constant(-1.0))
    assert (f.calls, f.hits, len(f.traces)) == (2, 1, 1)


def test_it_maps_over_a_dataset() -> None:
    f = nbfn.function(lambda x: x * 2)
    assert list(tf.data.Dataset.range(3).map(f).as_numpy_iterator()) == [0, 2, 4]


def test_get_concrete_function_is_no_call_and_no_retrace() -> None:
    f = nbfn.function(lambda x: x + 1)
    f(tf.ones([2]))
    concrete = f.get_concrete_function(tf.TensorSpec([None]))
    assert (f.calls, len(f.retraces)) == (1, 0)
    assert f.traces[1].concrete_function is concrete
    assert f.traces[1].cause.code == "requested"
    f(tf.ones([5]))
    assert f.traces[1].hits == 1


def test_attributes_of_a_callable_object_hide_no_method() -> None:
    class Model:
        def __init__(self):
            self.run = self._run_eagerly = self.note = 3

        def __call__(self, x):
            return x + 1

    f = nbfn.function(Model())
    assert f.run(tf.constant(1)).value.numpy() == 2
    with nbfn.stance("eager"):
        assert f(tf.constant(1)).numpy() == 2
    assert f.note == tf.function(Model()).note == 3


@pytest.mark.parametrize("calls", [0, 1])
def test_pickle_and_deepcopy_start_afresh(calls: int) -> None:
    f = nbfn.function(double)
    for _ in range(calls):
        f(tf.constant(2.0))
    for copied in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
        assert copied(tf.constant(2)).numpy() == 4
        assert copied.calls == 1
        assert copied.id != f.id
    assert f.calls == calls


def test_functions_called_inside_functions() -> None:
    inner = nbfn.function(lambda x: x + 1)
    outer = nbfn.function(lambda x: inner(inner(x)))
    assert outer(tf.constant(1)).numpy() == 3
    assert outer(tf.constant(5)).numpy() == 7
    assert (outer.calls, outer.hits) == (2, 1)
    assert len(inner.traces) == 1


def test_evicted_traces_are_gone() -> None:
    f = nbfn.function(lambda x: x + 1)
    f(tf.ones([2]))
    f(tf.ones([3]))
    first = f.traces[0]
    f.evict(first)
    gc.collect()
    assert [trace.number for trace in f.traces] == [2]
    with raises(EvictedError):
        first.graph_def()
    with raises(ValueError):
        f.evict(first)
    f(tf.ones([2]))
    assert [trace.number for trace in f.traces] == [2, 3]


def test_without_tensorflows_internals_calls_still_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbfn._tensorflow.tracing.cache.TraceCache", object)
    _tensorflow.degraded.cache_clear()
    with warns(nbfn.NbfnWarning):
        f = nbfn.function(lambda x: x * 2)
    assert [f(tf.ones([n])).shape for n in (1, 2, 1)] == [[1], [2], [1]]
    assert (f.calls, f.hits, len(f.traces)) == (3, 1, 2)
    assert f.retraces[0].causes[0].code == "shape"
    _tensorflow.degraded.cache_clear()


def test_a_failing_recorder_never_breaks_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    f = nbfn.function(lambda x: x * 2)
    monkeypatch.setattr("nbfn.functions.calls.call.key_of", lambda _: 1 / 0)
    with warns(nbfn.NbfnWarning):
        assert f(tf.constant(2)).numpy() == 4
    assert f(tf.constant(3)).numpy() == 6


def test_a_recorder_that_has_failed_goes_on_at_the_next_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    f = nbfn.function(lambda x: x * 2)
    with monkeypatch.context() as broken:
        broken.setattr("nbfn.functions.recording.recorder.causes_of", lambda _: 1 / 0)
        with warns(nbfn.NbfnWarning):
            f(tf.constant(2))
    f(tf.constant(3))  # is served by a trace that could not be noted
    f(tf.constant(1.0))
    f(tf.constant(2.0))
    assert (f.calls, f.hits, [trace.hits for trace in f.traces]) == (2, 1, [1])


def test_bad_options_are_refused() -> None:
    with raises(ValueError):
        nbfn.function(lambda x: x, max_traces=0)
    with raises(ValueError):
        nbfn.function(lambda x: x, on_limit="explode")
    with raises(TypeError):
        nbfn.function(3)
    with raises(TypeError):
        nbfn.function(lambda x: x, no_such_option=1)
    with raises(TypeError):
        nbfn.function(max_trace=3)


def test_a_method_whose_object_is_gone() -> None:
    class Trainer:
        rate = 2.0

        @nbfn.function
        def step(self, x: Any) -> Any:
            return x * self.rate

    trainer = Trainer()
    step = trainer.step
    assert float(step(tf.constant(1.0))) == 2.0
    trainer = Trainer()
    gc.collect()
    for _ in range(2):
        with raises(nbfn.NbfnError):
            step(tf.constant(1.0))
    assert float(trainer.step(tf.constant(1.0))) == 2.0
