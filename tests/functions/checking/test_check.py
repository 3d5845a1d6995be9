"""`check`: what a function does differently when it is traced, within tolerance."""

from __future__ import annotations

import collections
import logging
import math
import random
import warnings
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.checking.check import CheckError, check
from tests.harness.messages import raises

log: list[object] = []
seen: set[int] = set()
history = {"loss": [0.0]}
counts: collections.Counter[str] = collections.Counter()
calls = 0
weight = tf.Variable(2.0, name="weight")
generator = np.random.default_rng(3)
older, own = np.random.RandomState(0), random.Random(0)


def run(function, *args, **kwargs):
    return check(function, args, kwargs)


def line_of(text: str) -> int:
    with open(__file__) as file:
        return next(i for i, line in enumerate(file, 1) if line.rstrip().endswith(f"# {text}"))


def only(report):
    (difference,) = report.differences
    return difference


def test_the_same_eagerly_and_traced() -> None:
    bias = tf.Variable([1.0, 2.0], name="bias")

    @nbfn.function
    def step(x, scale=2.0):
        bias.assign_add(x)
        total = tf.constant(0.0)
        for value in x:
            total += value * weight
        return {"total": total * scale, "pair": (x, bias + 0.0), "number": 3, "none": None}

    report = run(step, tf.ones([2]), scale=3.0)
    assert isinstance(report, nbfn.Check)
    assert report.ok
    assert bool(report)
    assert report.variables == 2
    assert bias.numpy().tolist() == [1.0, 2.0]
    assert "`step` does the same eagerly and traced (its result and 2 variables" in str(report)
    assert (step.calls, step.traces, step.retraces) == (0, (), ())


def test_prints_are_counted_by_line() -> None:
    @nbfn.function
    def chatty(x):
        for _ in range(3):
            print("step")  # noqa: T201 # three prints
        tf.print("stays", output_stream="file:///dev/null")
        logging.getLogger("chatty").debug("quiet")
        return x

    difference = only(run(chatty, tf.ones([])))
    assert (difference.kind, difference.name) == ("effect", "print")
    assert "writes 3 lines at each eager call, and 0 lines" in difference.sentence
    assert difference.site.line == line_of("three prints")
    assert "use tf.print" in str(difference)


def append(x):
    log.append(x.shape)  # appends
    return x


def assign_global(x):
    global calls
    calls += 1  # assigns
    return x


def into_dict(x):
    history["loss"].append(1.0)  # nested
    return x


def into_set(x):
    seen.add(len(x.shape))  # adds
    return x


def count_up(x):
    counts["calls"] += 1  # counts
    return x


def through_a_helper(x):
    return append(x)


@pytest.mark.parametrize(
    ("function", "name", "text"),
    [
        (append, "log", "appends"),
        (assign_global, "calls", "assigns"),
        (into_dict, "history['loss']", "nested"),
        (into_set, "seen", "adds"),
        (count_up, "counts", "counts"),
        (through_a_helper, "log", "appends"),
    ],
)
def test_writes_to_globals_name_the_line_and_are_put_back(function, name, text) -> None:
    before = (list(log), calls, history["loss"][:], set(seen), dict(counts))
    difference = only(run(nbfn.function(function), tf.ones([2])))
    assert difference.kind == "effect"
    assert name.startswith(difference.name)
    assert difference.site.line == line_of(text)
    assert difference.site.file == __file__
    assert before == (log, calls, history["loss"], seen, dict(counts))


def test_a_closure_that_counts() -> None:
    made = 0

    @nbfn.function
    def counting(x):
        nonlocal made
        made += 1  # nonlocal
        return x + 0.0

    difference = only(run(counting, tf.ones([])))
    assert (difference.name, difference.site.line) == ("made", line_of("nonlocal"))
    assert made == 0


def test_an_argument_that_is_changed() -> None:
    @nbfn.function
    def pushes(items, x):
        items.append(x)  # pushes
        return x

    items = [tf.constant(1.0)]
    report = run(pushes, items, tf.constant(2.0))
    found = {(d.kind, d.name): d for d in report.differences}
    assert found["effect", "items"].site.line == line_of("pushes")
    assert "traced it raises ValueError" in found["error", "the call"].sentence
    assert len(items) == 1


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.scale = tf.Variable(3.0, name="scale")
        self.calls = 0
        self.last = None
        self.made = None

    @nbfn.function
    def step(self, x):
        self.calls += 1  # attribute
        return x * self.scale.assign_add(1.0)

    @nbfn.function
    def leaky(self, x):
        self.last = x * 2.0  # leaks
        return x

    @nbfn.function
    def creates(self, x):
        if self.made is None:
            self.made = tf.Variable(5.0, name="made")
        return self.made.assign_add(x)

    @nbfn.function
    def clean(self, x):
        return x * self.scale


def test_a_method_and_its_attributes() -> None:
    model = Model()
    difference = only(run(model.step, tf.constant(1.0)))
    assert (difference.name, difference.site.line) == ("self.calls", line_of("attribute"))
    assert (model.calls, float(model.scale)) == (0, 3.0)
    assert model.step(tf.constant(1.0)).numpy() == 4.0
    assert run(model.clean, tf.constant(1.0)).ok


def test_a_tensor_that_leaks() -> None:
    model = Model()
    report = run(model.leaky, tf.constant(1.0))
    kinds = {difference.kind: difference for difference in report.differences}
    assert set(kinds) == {"effect", "leak"}
    assert kinds["leak"].name == "self.last"
    assert kinds["leak"].site.line == line_of("leaks")
    assert "`mul:0`, a tensor of the graph" in kinds["leak"].sentence
    assert model.last is None


def test_variables_made_on_the_first_call_stay_with_their_initial_value() -> None:
    model = Model()
    assert run(model.creates, tf.constant(1.0)).ok
    assert float(model.made) == 5.0
    assert model.creates(tf.constant(1.0)).numpy() == 6.0
    assert run(model.creates, tf.constant(1.0)).ok
    assert float(model.made) == 6.0


def test_a_stale_branch_gives_another_value_and_another_variable() -> None:
    total = tf.Variable(0.0, name="total")

    @nbfn.function
    def branch(x):
        if tf.executing_eagerly():
            total.assign_add(1.0)
            return x + 1.0
        total.assign_add(2.0)
        return x + 2.0

    report = run(branch, tf.constant([1.0, 2.0]))
    assert [(d.kind, d.name) for d in report.differences] == [
        ("value", "the result"),
        ("variable", "total"),
    ]
    assert "differs in 2 of 2 elements, by up to 1" in report.differences[0].sentence
    assert "is 1 eagerly, and 2 traced afterwards" in report.differences[1].sentence
    assert report.differences[0].site.line is not None
    assert float(total) == 0.0


def test_an_error_in_one_run_puts_everything_back() -> None:
    state = tf.Variable(1.0)

    @nbfn.function
    def fails(x):
        state.assign(9.0)
        log.append(1)
        if tf.executing_eagerly():
            raise KeyError("eager only")  # raises
        return x

    report = run(fails, tf.ones([]))
    errors = [d for d in report.differences if d.kind == "error"]
    assert "eagerly it raises KeyError: 'eager only'; traced it returns" in errors[0].sentence
    assert errors[0].site.line == line_of("raises")
    assert float(state) == 1.0
    assert log == []


def test_code_that_cannot_be_traced() -> None:
    @nbfn.function
    def numpy_only(x):
        return x.numpy() + 1.0  # needs a value

    difference = only(run(numpy_only, tf.ones([])))
    assert difference.kind == "error"
    assert "eagerly it returns; traced it raises" in difference.sentence
    assert difference.site.line == line_of("needs a value")


def test_the_same_error_both_ways_is_no_difference() -> None:
    @nbfn.function
    def fails(x):
        raise ValueError("always")

    report = run(fails, tf.ones([]))
    assert report.ok
    assert report.notes == ("both runs raised ValueError",)


def test_what_cannot_be_put_back_is_said() -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)

    @nbfn.function
    def inserts(key):
        table.insert(key, tf.constant(1, tf.int64))
        return table.size()

    report = run(inserts, tf.constant("a"))
    assert any("LookupTableInsertV2" in note for note in report.notes)


def test_signatures_and_local_state() -> None:
    @nbfn.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def signed(x):
        return x * 2.0

    assert run(signed, [1.0, 2.0]).ok
    assert signed.traces == ()

    @nbfn.function(local_state=True)
    def local(x):
        v = tf.Variable(1.0)
        v.assign_add(x)
        return v + 0.0

    assert run(local, tf.constant(1.0)).ok


@pytest.mark.parametrize("make", [nbfn.function, lambda f: nbfn.watch(tf.function(f))])
@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((True,), {}), ((), {"scale": 3.0}), ((True,), {"scale": 3.0, "bias": 1.0})],
)
def test_some_arguments_have_defaults_and_others_are_given(make, args, kwargs) -> None:
    def scaled(x, training=False, mask=None, *, scale=2.0, **others):
        y = x * scale if training else x * 1.0
        return y + sum(others.values())

    function, x, expected = make(scaled), tf.ones([2]), scaled(1.0, *args, **kwargs)
    assert function.check(x, *args, **kwargs)
    assert function.run(x, *args, **kwargs).value.numpy().tolist() == [expected] * 2
    assert not any("raised" in note for note in function.values(x, *args, **kwargs).notes)
    assert not function.numerics(x, *args, **kwargs).notes
    with nbfn.stance("check_numerics"):
        assert function(x, *args, **kwargs)[0] == expected


def test_it_is_seen_nowhere(monkeypatch) -> None:
    from nbfn.functions.recording.registry import live_functions
    from nbfn.functions.watching import watch

    f = nbfn.function(lambda x: x + 1.0)
    f(tf.ones([]))
    before = {each.id for each in live_functions()}
    seen_meanwhile = []
    monkeypatch.setattr(watch, "origin_of", seen_meanwhile.append)
    watch.discover()
    try:
        assert run(f, tf.ones([2])).ok
    finally:
        watch.stop_discovering()
    assert seen_meanwhile == []
    assert {each.id for each in live_functions()} == before
    assert (f.calls, f.hits, len(f.traces)) == (1, 0, 1)


def test_a_loop_over_a_dataset_is_in_the_graph() -> None:
    data = tf.data.Dataset.range(4)

    @nbfn.function
    def total(x):
        for each in data:
            x += each
        return x

    assert run(total, tf.constant(0, tf.int64)).ok


def test_bad_input_is_refused_by_name() -> None:
    f = nbfn.function(lambda x: x)
    with raises(CheckError):
        run(f)
    with raises(CheckError):
        check(3, (), {})  # type: ignore[arg-type]


def test_an_interrupt_leaves_functions_traced(monkeypatch) -> None:
    """One that comes as soon as TensorFlow has been set to run functions eagerly."""
    switch = tf.config.run_functions_eagerly

    def interrupted(run_eagerly: bool) -> None:
        switch(run_eagerly)
        if run_eagerly:
            raise KeyboardInterrupt

    monkeypatch.setattr(tf.config, "run_functions_eagerly", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(nbfn.function(lambda x: x * 2), tf.constant(1.0))
    assert not tf.config.functions_run_eagerly()


# Values ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "small", "large"),
    [
        (tf.float64, 1e-11, 1e-6),
        (tf.float32, 1e-7, 1e-2),
        (tf.float16, 1e-3, 1e-1),
        (tf.bfloat16, 1e-2, 5e-1),
    ],
)
def test_the_tolerance_is_that_of_the_dtype(dtype, small, large) -> None:
    def off_by(amount):
        @nbfn.function
        def body(x):
            return x if tf.executing_eagerly() else x + tf.cast(amount, dtype)

        return run(body, tf.ones([3], dtype))

    assert off_by(small).ok
    assert not off_by(large).ok


def test_structures_dtypes_shapes_and_composite_tensors() -> None:
    @nbfn.function
    def body(x, kind):
        eager = tf.executing_eagerly()
        if kind == "structure":
            return (x, x) if eager else [x]
        if kind == "dtype":
            return {"y": x if eager else tf.cast(x, tf.int32)}
        if kind == "shape":
            return {"y": x if eager else x[tf.newaxis]}
        return tf.RaggedTensor.from_row_lengths(x, [1, 1] if eager else [2, 0])

    x = tf.constant([1.0, 2.0])
    assert "has the structure" in only(run(body, x, "structure")).sentence
    dtype = only(run(body, x, "dtype"))
    assert dtype.name == "the result['y']"
    assert "is float32 eagerly, and int32 traced" in dtype.sentence
    assert "has the shape (2,) eagerly, and (1, 2) traced" in only(run(body, x, "shape")).sentence
    assert "component 1" in only(run(body, x, "ragged")).name


def test_random_numbers_of_python_and_numpy() -> None:
    @nbfn.function
    def draws(x):
        return x * random.random()  # python draw

    @nbfn.function
    def draws_numpy(x):
        return x * np.random.rand()  # numpy draw

    @nbfn.function
    def draws_generator(x):
        return x * generator.random()  # generator draw

    @nbfn.function
    def draws_older(x):
        return x * older.rand()  # older draw

    @nbfn.function
    def draws_own(x):
        return x * own.random()  # own draw

    for function, name, text in (
        (draws, "random", "python draw"),
        (draws_numpy, "np.random", "numpy draw"),
        (draws_generator, "generator", "generator draw"),
        (draws_older, "older", "older draw"),
        (draws_own, "own", "own draw"),
    ):
        states = (
            *(random.getstate(), np.random.get_state()[2], generator.bit_generator.state),
            *(older.get_state()[2], own.getstate()),
        )
        difference = only(run(function, tf.ones([])))
        assert difference.name == name
        if name in ("random", "np.random"):
            assert difference.site.line == line_of(text)
        after = (
            *(random.getstate(), np.random.get_state()[2], generator.bit_generator.state),
            *(older.get_state()[2], own.getstate()),
        )
        assert states == after


def test_random_numbers_of_tensorflow_are_no_difference() -> None:
    @nbfn.function
    def hidden(x):
        return x + tf.random.uniform([3])

    report = run(hidden, tf.ones([3]))
    assert report.ok
    assert "draws from the hidden state of tf.random (RandomUniform)" in report.notes[0]

    shared = tf.random.Generator.from_seed(1)

    @nbfn.function
    def explicit(x):
        return x + shared.normal([3]) + tf.random.stateless_uniform([3], [1, 2])

    before = shared.state.numpy().tolist()
    report = run(explicit, tf.ones([3]))
    assert report.ok
    assert report.notes == ()
    assert shared.state.numpy().tolist() == before


def test_keras_optimizers_seed_generators_and_moving_statistics_are_put_back() -> None:
    model = keras.Sequential(
        [
            keras.layers.Dense(3, use_bias=False),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.5, seed=7),
        ]
    )
    optimizer = keras.optimizers.Adam(0.1)
    x = tf.random.stateless_normal([8, 2], [1, 2])

    @nbfn.function
    def train(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x, training=True) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    train(x)
    values = [v.numpy() for v in [*model.variables, *optimizer.variables]]
    report = run(train, x)
    assert report.ok, str(report)
    assert report.variables >= len(values)
    after = [v.numpy() for v in [*model.variables, *optimizer.variables]]
    assert all(np.array_equal(a, b) for a, b in zip(values, after, strict=True))


def test_nan_in_one_of_two_results_gives_no_warning() -> None:
    @nbfn.function
    def f(x):
        return x if tf.inside_function() else x * math.nan

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "differs in 2 of 2 elements" in f.check(tf.ones([2])).differences[0].sentence
        assert "nan" in f.check(tf.ones([])).differences[0].sentence


def test_names_that_a_run_creates_are_taken_back() -> None:
    def make() -> Any:
        if False:
            held = None

        def step(x):
            global made_here
            nonlocal held
            made_here = held = 1
            return x

        return step, lambda: held

    step, read = make()
    report = run(nbfn.function(step), tf.ones([2]))
    assert {each.name for each in report.differences} == {"held", "made_here"}
    assert "made_here" not in globals()
    with pytest.raises(NameError):
        read()
    traced = nbfn.function(step)
    traced(tf.ones([2]))
    assert read() == globals().pop("made_here") == 1


def test_what_tables_and_iterators_give_is_not_compared() -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)

    @nbfn.function
    def counted(words):
        table.insert(words, table.lookup(words) + 1)
        return table.lookup(words)

    @nbfn.function
    def following(numbers):
        return next(numbers)

    for report in (
        run(counted, tf.constant(["a"])),
        run(following, iter(tf.data.Dataset.range(9))),
    ):
        assert report.ok
        assert "were not compared" in str(report)


class Created(tf.Module):
    """Creates variables in its first call, the second one below other operations."""

    made: Any = None

    def __call__(self, x):
        if self.made is None:
            self.made = [tf.Variable(tf.random.stateless_uniform([2, 4], [1, 2]))]
            hidden = tf.nn.relu(x @ self.made[0])
            self.made.append(tf.Variable(tf.random.stateless_uniform([4, 1], [3, 4])))
            return hidden @ self.made[1]
        return tf.nn.relu(x @ self.made[0]) @ self.made[1]


@pytest.mark.parametrize("look", ["check", "values", "numerics"])
@pytest.mark.parametrize("made_again", [False, True])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("kind", ["keras", "module"])
def test_variables_that_a_look_creates_have_values(
    look, made_again: bool, nested: bool, kind: str
) -> None:
    def make():
        if kind == "module":
            return Created()
        layers = [keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)]
        return keras.Sequential(layers)

    model, rate = make(), tf.Variable(0.1)

    @nbfn.function
    def inner(x):
        return model(x)

    @nbfn.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((inner(x) if nested else model(x)) ** 2)
        variables = model.trainable_variables
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(rate * gradient)
        return loss

    x = tf.constant([[1.0, 2.0], [3.0, -4.0]])
    if made_again:
        step(x)
        model = make()
    looked = getattr(step, look)(x)
    assert look == "values" or looked.ok, looked
    before = tf.reduce_mean(model(x) ** 2)
    assert np.isclose(step(x), before)
    assert not np.isclose(step(x), before)
